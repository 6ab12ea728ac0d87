"""Reading of untrusted files: sizes, depths, links and encodings are checked before anything is used."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import stat
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ngym_cli.errors import UserError, message_of, os_errors

if TYPE_CHECKING:
    import pyarrow as pa

#: Largest text file of a run (bytes); the largest that we write is the state in a checkpoint.
LARGEST_TEXT = 4 << 20

#: Deepest nesting of a configuration or record.
MAX_NESTING = 64

#: Largest configuration file (bytes).
LARGEST_TOML = 1 << 20

#: A part of a dotted key, and a dotted key as long as it goes. Nothing that was passed over is looked at again
#: (``*+``), so that the time is linear in the length of the text.
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_KEY = re.compile(rf"{_PART}(?:[ \t]*+\.[ \t]*+{_PART})*+")

#: Largest header of a file of weights (bytes), which names the arrays; and most arrays that are read, for which the
#: library takes about two seconds (and for five times as many twenty times as long).
LARGEST_HEADER = 8 << 20
MOST_ARRAYS = 20_000

#: Most files that a run folder may hold.
MOST_FILES = 100_000

#: Most rows, values and uncompressed bytes of one Parquet file.
MAX_PARQUET_ROWS = 20_000_000
MAX_PARQUET_VALUES = 1_000_000_000
MAX_PARQUET_BYTES = 4 << 30

#: Longest word in a trial table.
LONGEST_WORD = 4096


def check_folder(folder: Path, unseen: Collection[str] = ()) -> None:
    """Refuse a folder with a link that leads out of the folder or to itself, or with anything but files and folders.

    Args:
        folder: the folder.
        unseen: names of folders directly in it whose content is checked when it is used.

    Raises:
        UserError: names the first such entry.
    """
    root = folder.resolve()
    waiting, seen = [root], 0
    while waiting:
        with os_errors(f"cannot read folder {folder}"):
            entries = list(os.scandir(waiting.pop()))
        seen += len(entries)
        if seen > MOST_FILES:
            raise UserError(f"folder {folder} holds too many files; the limit is {MOST_FILES:,}")
        for entry in entries:
            path = Path(entry.path)
            if entry.is_symlink():
                _check_link(path, root, folder)
            elif entry.is_dir(follow_symlinks=False):
                if path.parent != root or path.name not in unseen:
                    waiting.append(path)
            elif not entry.is_file(follow_symlinks=False):
                raise UserError(f"{folder / path.relative_to(root)} is not a regular file; remove it")


def check_within(path: Path, folder: Path) -> None:
    """Refuse a path below a folder that a link on the way leads elsewhere.

    Raises:
        UserError: names the link.
    """
    for above in reversed([path, *path.parents]):
        if above != folder and above.is_relative_to(folder) and above.is_symlink():
            _check_link(folder.resolve() / above.relative_to(folder), folder.resolve(), folder)


def _check_link(path: Path, root: Path, folder: Path) -> None:
    name = folder / path.relative_to(root)
    try:
        target = path.resolve()
    except (OSError, RuntimeError):  # Python 3.11 and 3.12 raise RuntimeError
        target = path
    if target.is_symlink():
        raise UserError(f"{name} is a link to itself; remove the link")
    if not target.is_relative_to(root):
        raise UserError(f"{name} is a link that leads out of its folder; replace it by a copy of the file")


def read_text(path: Path, largest: int = LARGEST_TEXT) -> str:
    """Read a text file.

    Raises:
        UserError: if it is not a regular file, too large, or not UTF-8.
        OSError: if it cannot be read.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise UserError(f"{path} is not a regular file")
    if status.st_size > largest:
        raise UserError(f"{path} has {status.st_size:,} bytes; the limit is {largest:,}")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from None


def parse_json(text: str, path: Path) -> Any:
    """Parse JSON.

    Raises:
        UserError: if it is damaged or nested too deeply.
    """
    try:
        data = _shallow(json.loads(text), path)
        return _writable(data) if "\\ud" in text.lower() else data
    except RecursionError:
        raise UserError(f"{path} is nested too deeply for this Python") from None
    except ValueError as error:
        raise UserError(f"{path} is damaged: {message_of(error)}") from None


def _writable(data: object) -> object:
    """Return data with a question mark for each half of a surrogate pair, which no file or terminal takes."""
    if isinstance(data, dict):
        return {_writable(key): _writable(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_writable(item) for item in data]
    return data.encode("utf-8", "replace").decode() if isinstance(data, str) else data


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """Parse TOML.

    Raises:
        UserError: if it is damaged or nested too deeply.
    """
    for key in _KEY.findall(text):
        if key.count(".") >= MAX_NESTING and len(re.findall(_PART, key)) > MAX_NESTING:  # the parser would take minutes
            raise UserError(f"{path} has a key of too many parts; the limit is {MAX_NESTING}")
    try:
        return _shallow(tomllib.loads(text.replace("\r\n", "\n")), path)
    except RecursionError:
        raise UserError(f"{path} is nested too deeply for this Python") from None
    except ValueError as error:
        raise UserError(f"cannot read {path}: {message_of(error)}") from None


def _shallow(data: object, path: Path) -> Any:
    """Return data after a check of the nesting depth, level by level, because recursion could exhaust the stack."""
    level, depth = [data], 0
    while level:
        depth += 1
        if depth > MAX_NESTING:
            raise UserError(f"{path} is nested too deeply; the limit is {MAX_NESTING}")
        inner: list[object] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
        level = [item for item in inner if isinstance(item, dict | list)]
    return data


def read_parquet(path: Path) -> pa.Table:
    """Read a Parquet file as an Arrow table; columns of words stay dictionaries, so that none can swell.

    Raises:
        UserError: if it is missing, damaged, or says that it holds more than any trial table does.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        path.open("rb").close()  # names a missing file or a folder in the words of the system
        # A file of Arrow's own: a name may look like an address, and Arrow's threads need Python's lock for a file of
        # Python. A thread that asks for the lock while Python ends aborts the process (exit code 134).
        with pa.OSFile(os.fsencode(path)) as data, pq.ParquetFile(data) as file:
            meta = file.metadata
            groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
            chunks = [group.column(i) for group in groups for i in range(meta.num_columns)]
            size, values = sum(c.total_uncompressed_size for c in chunks), sum(c.num_values for c in chunks)
            if meta.num_rows > MAX_PARQUET_ROWS or values > MAX_PARQUET_VALUES or size > MAX_PARQUET_BYTES:
                limit = f"{MAX_PARQUET_ROWS:,} rows and {MAX_PARQUET_BYTES:,} bytes"
                raise UserError(f"{path} announces {meta.num_rows:,} rows and {size:,} bytes; the limit is {limit}")
            words = {chunk.path_in_schema for chunk in chunks if chunk.physical_type == "BYTE_ARRAY"}
            data.seek(0)
            table = pq.ParquetFile(data, read_dictionary=sorted(words)).read()
    except FileNotFoundError:
        raise UserError(f"no such trial table: {path}") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError, ValueError, MemoryError) as error:
        raise UserError(f"damaged trial table {path}: {(str(error).splitlines() or ['unreadable'])[0]}") from None
    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_dictionary(column.type) and any(_has_long_words(c.dictionary) for c in column.chunks):
            raise UserError(f"{path}: column {name} holds words that are too long; the limit is {LONGEST_WORD} letters")
    return table


def _has_long_words(words: pa.Array) -> bool:
    """Return whether any word exceeds the length limit."""
    if words.nbytes <= LONGEST_WORD:  # all together, as in our own files, which can be read without this import
        return False
    import pyarrow.compute as pc

    return bool((pc.max(pc.binary_length(words)).as_py() or 0) > LONGEST_WORD)


def read_json(path: Path) -> Any:
    """Read a JSON file of a run folder.

    Raises:
        UserError: if it is missing or damaged.
    """
    try:
        return parse_json(read_text(path), path)
    except FileNotFoundError:
        raise UserError(f"damaged run folder {path.parent}: {path.name} is missing") from None
    except OSError as error:
        raise UserError(f"damaged run folder {path.parent}: {path.name}: {error.strerror}") from None


def read_tensors(path: Path, library: str = "torch") -> dict[str, Any]:
    """Read a safetensors file as arrays by name.

    Args:
        path: the file.
        library: of the arrays, `torch` or `numpy`.

    Raises:
        UserError: if it is not one, or names more arrays than any that we write.
        OSError: if it cannot be read.
    """
    from safetensors import SafetensorError

    load = importlib.import_module(f"safetensors.{library}").load_file
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > LARGEST_HEADER:
            raise UserError(f"{path} is not a safetensors file: header {size:,} bytes; the limit is {LARGEST_HEADER:,}")
        if file.read(size).count(b'"dtype"') > MOST_ARRAYS:
            raise UserError(f"{path} names too many arrays; the limit is {MOST_ARRAYS:,}")
    try:
        return dict(load(path))
    except (SafetensorError, RuntimeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path} is not a safetensors file: {message_of(error)}") from None


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
