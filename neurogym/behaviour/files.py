"""Files of trials in the formats of laboratories, single files, several files and folders, as columns."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from neurogym.behaviour import hdf5, matlab
from neurogym.behaviour.columns import Column, Columns, TableError, plain, rows_of
from neurogym.behaviour.conversion import from_arrow, from_mapping, from_records
from neurogym.behaviour.delimited import line_of, open_binary, read_text
from neurogym.behaviour.evidence import FILE

#: Entity of a BIDS file name, and the beginning of the names of files in the format ALF.
_ENTITY = re.compile(r"(?:^|_)([a-zA-Z]+)-([a-zA-Z0-9+.]+)")
ALF = "_ibl_trials."
ALF_FOLDER = re.compile(r"(?:([^/\\]+)[/\\]Subjects[/\\])?([^/\\]+)[/\\](\d{4}-\d\d-\d\d)[/\\](\d+)$")
REVISION = re.compile(r"#[^#/\\\\]+#")
TEXT = (".csv", ".tsv", ".tab", ".txt", ".dat")
ARROW = (".parquet", ".pq", ".pqt", ".feather", ".arrow", ".ft")
HDF5 = (".nwb", ".h5", ".hdf5")
FORMATS = (*TEXT, *ARROW, *HDF5, ".mat", ".json", ".jsonl")
LARGEST_JSON = 2**30  #: bytes


@dataclass
class Source:
    """Columns of one or several files.

    Attributes:
        columns: the columns.
        form: format of the files in words.
        left_out: number of lines that were left out, by reason.
        notes: remarks for the user.
        names: subject and session that the names of the files say, by column.
        line_of: number of the line that holds a row, from 0, and its file if there are several; None if files have no
            lines.
        identity: start and identifier of the session, if the file says them.
    """

    columns: Columns
    form: str = ""
    left_out: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    names: tuple[str, ...] = ()
    line_of: Callable[[int], str] | None = None
    identity: str = ""

    def locate(self, row: int) -> str:
        """Return the number of a row, and of its line, in words.

        Args:
            row: number of the row, from 0.
        """
        line = "" if self.line_of is None else self.line_of(row)
        return f"row {row + 1} ({line})" if line else f"row {row + 1}"


def read_source(path: Path | Sequence[Path]) -> Source:
    """Read a file, a folder or several of these.

    Raises:
        TableError: if there is no table or it cannot be read; the message begins with the file.
    """
    paths = [Path(path)] if isinstance(path, str | Path) else list(map(Path, path))
    files = [file for each in paths for file in _files(each)]
    if len(files) == 1:
        return _read(files[0], alone=len(paths) == 1 and paths[0].is_file())
    return _joined([(file, _read(file, alone=False)) for file in files])


def _files(path: Path) -> list[Path]:
    """Return the tables of a folder, or the file itself; a folder in the format ALF counts as one table."""
    if path.is_file():
        return [_alf_folder(path)] if path.name.startswith(ALF) and path.suffix == ".npy" else [path]
    if not path.is_dir():
        raise TableError(f"no such table of trials: {path}")
    alf = sorted({_alf_folder(file) for file in path.rglob(f"{ALF}*") if file.suffix in (".npy", ".pqt")})
    if alf:
        return alf
    bids = sorted(path.rglob("*_beh.tsv")) or sorted(path.rglob("*_events.tsv"))
    if bids:
        return bids
    every = sorted(
        file
        for file in path.rglob("*")
        if suffix_of(file) in FORMATS and file.is_file() and not file.name.startswith((".", "participants."))
    )
    kinds = {suffix_of(file) for file in every}
    if not every:
        raise TableError(f"{path}: found no table, expected files such as .csv, .tsv, .parquet, .mat, .nwb or .json")
    if len(kinds) > 1 and kinds != {".csv", ".tsv"}:
        raise TableError(f"{path}: found files of several formats ({', '.join(sorted(kinds))}); name those to read")
    return every


def _alf_folder(file: Path) -> Path:
    """Return the folder of a session in the format ALF, above folders of revisions such as ``#2025-03-03#``."""
    return file.parent.parent if REVISION.fullmatch(file.parent.name) else file.parent


def _read(path: Path, alone: bool) -> Source:
    try:
        source = _read_folder(path) if path.is_dir() else _READERS[_kind(path)](path)
    except TableError as error:
        raise TableError(f"{path}: {error}") from None
    except (OSError, KeyError, ValueError, RuntimeError, MemoryError, RecursionError, EOFError, zlib.error) as error:
        message = " ".join(str(error).split()) or type(error).__name__
        raise TableError(f"{path}: cannot be read: {message}; the file is damaged or incomplete") from None
    if not source.columns or not rows_of(source.columns):
        raise TableError(f"{path}: found no rows, expected one for each trial")
    _add_names(source, path, alone)
    return source


def suffix_of(path: Path) -> str:
    """Return the ending of the name of a file in lower case, without that of gzip."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _kind(path: Path) -> str:
    with open_binary(path) as file:
        start = file.read(8)
    packed = path.suffix.lower() == ".gz"
    if packed and (start.startswith((b"\x89HDF", b"PAR1", b"ARROW1", b"FEA1", b"MATLAB")) or suffix_of(path) == ".mat"):
        raise TableError("found a packed file of a binary format, expected CSV, TSV or JSON in .gz; unpack it (gunzip)")
    if start.startswith(b"\x89HDF"):
        return "hdf5" if path.suffix.lower() != ".mat" else "matlab"
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith((b"ARROW1", b"FEA1")):
        return "feather"
    if start.startswith(b"MATLAB") or path.suffix.lower() == ".mat":
        return "matlab"
    if suffix_of(path) in (".json", ".jsonl") or start.lstrip()[:1] in (b"[", b"{"):
        return "json"
    if path.suffix.lower() in (".xlsx", ".xls", ".ods") or start.startswith(b"PK"):
        raise TableError("found a spreadsheet or archive, expected a table; save the sheet as CSV")
    if path.suffix.lower() in (*HDF5, *ARROW):
        raise TableError(f"the content is not that of a file {path.suffix}")
    return "text"


def _text(path: Path) -> Source:
    columns, form, left_out = read_text(path)

    def words(row: int) -> str:
        line = line_of(path, form, row)
        return "" if line is None else f"line {line}"

    return Source(columns, form.describe(), left_out, line_of=words)


def _arrow(path: Path) -> Source:
    import pyarrow as pa
    from pyarrow import feather, parquet

    try:
        if _kind(path) == "parquet":
            return Source(from_arrow(parquet.read_table(path)), "Parquet")
        return Source(from_arrow(feather.read_table(path)), "Feather")
    except pa.ArrowException as error:
        raise TableError(f"{' '.join(str(error).split())}; the file is damaged or incomplete") from None


def _json(path: Path) -> Source:
    with open_binary(path) as file:
        content = file.read(LARGEST_JSON + 1)
    if len(content) > LARGEST_JSON:
        raise TableError("found more than 1 GB of JSON; write the table as CSV or Parquet")
    text = content.decode("utf-8-sig")
    try:
        data = json.loads(text)
    except json.JSONDecodeError:
        try:
            data = [json.loads(line) for line in text.splitlines() if line.strip()]
        except json.JSONDecodeError as error:
            raise TableError(f"no valid JSON: {error}") from None
    return Source(_from_json(data), "JSON")


def _from_json(data: Any) -> Columns:
    if isinstance(data, list) and data and all(isinstance(row, list) for row in data):
        data = [row for rows in data for row in rows]
    if isinstance(data, list) and all(isinstance(row, dict) for row in data):
        if data and all("trials" in row or "data" in row for row in data):
            key = "trials" if "trials" in data[0] else "data"
            data = [{**{k: v for k, v in row.items() if k != key}, **trial} for row in data for trial in row[key]]
        return from_records(data)
    if isinstance(data, dict):
        if "trials" in data and isinstance(data["trials"], list):
            return _from_json(data["trials"])
        if data and all(isinstance(values, list) for values in data.values()):
            return from_mapping(data)
    raise TableError("found JSON of another form, expected a list of trials or a list of values for each column")


def _matlab(path: Path) -> Source:
    return Source(matlab.read_matlab(path), "MATLAB")


def _hdf5(path: Path) -> Source:
    trials = hdf5.read_trials(path)
    if trials is not None:
        return Source(trials, "NWB", identity=hdf5.identity_of(path))
    return Source(matlab.largest_table(hdf5.read_structures(path)), "HDF5")


_READERS: dict[str, Callable[[Path], Source]] = {
    "text": _text,
    "parquet": _arrow,
    "feather": _arrow,
    "json": _json,
    "matlab": _matlab,
    "hdf5": _hdf5,
}


def _read_folder(folder: Path) -> Source:
    """Read a session in the format ALF: one Parquet table, or an array for each column; the last revision of each."""
    revisions = sorted((each for each in folder.iterdir() if REVISION.fullmatch(each.name)), reverse=True)
    folders = [*revisions, folder]
    tables = [file for each in folders for file in sorted(each.glob(f"{ALF}table*.pqt"))]
    if tables:
        source = _arrow(tables[0])
        source.form = "ALF, Parquet"
        columns = dict(source.columns)
    else:
        source, columns = Source({}, "ALF, arrays"), {}
    for file in (file for each in folders for file in sorted(each.glob(f"{ALF}*.npy"))):
        name = file.name.removeprefix(ALF).split(".")[0]
        values = np.load(file, allow_pickle=False)
        if values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1):
            columns.setdefault(name, Column.of_values(values.ravel()))
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise TableError(f"the arrays differ in length: {', '.join(f'{k} {n}' for k, n in lengths.items())}")
    return Source(columns, source.form)


def _constant(word: str, n: int) -> Column:
    return Column((word,), np.zeros(n, np.int32))


def _add_names(source: Source, path: Path, alone: bool) -> None:
    """Add subject and session that the name of a file says, where the table does not say them."""
    n = rows_of(source.columns)
    folder = path if path.is_dir() else _alf_folder(path) if path.name.startswith(ALF) else None
    labels: dict[str, str] = {}
    if folder is not None:
        where = folder.resolve()
        match = ALF_FOLDER.search(str(where.parent if where.name == "alf" else where))
        if match:
            labels = {"subject": match[2], "session": f"{match[3]}/{match[4]}"}
    else:
        entities = {key.lower(): value for key, value in _ENTITY.findall(path.name.split(".")[0])}
        if "sub" in entities:
            labels["subject"] = entities["sub"]
            runs = [entities[key] for key in ("ses", "run") if key in entities]
            if runs:
                labels["session"] = "/".join(runs)
            if "task" in entities and not alone:
                labels["task"] = entities["task"]
            _add_participant(source, path, entities["sub"])
    names = {plain(name) for name in source.columns}
    for name, word in labels.items():
        if name not in names:
            source.columns[name] = _constant(word, n)
            source.names = (*source.names, name)


def _add_participant(source: Source, path: Path, subject: str) -> None:
    """Add the columns of ``participants.tsv`` of a BIDS data set for a subject."""
    for folder in path.resolve().parents[:4]:
        table = folder / "participants.tsv"
        if not table.is_file():
            continue
        try:
            columns = read_text(table)[0]
        except TableError:
            return
        words, index = columns["participant_id"].texts if "participant_id" in columns else ((), np.zeros(0))
        rows = [k for k, at in enumerate(index) if at >= 0 and words[at].removeprefix("sub-") == subject]
        for name, column in columns.items():
            if rows and name != "participant_id" and name not in source.columns:
                value = column.entry(rows[0])
                if value is not None:
                    source.columns[name] = Column.of_values([value] * rows_of(source.columns))
        return


def _joined(read: list[tuple[Path, Source]]) -> Source:
    """Return several files as one table; columns that some lack are missing there."""
    sources = [source for _, source in read]
    notes = _told_apart(sources)
    counts = [rows_of(source.columns) for source in sources]
    names = dict.fromkeys(name for source in sources for name in source.columns)
    columns = {name: _concatenated([source.columns.get(name) for source in sources], counts) for name in names}
    stems = _short_names([path for path, _ in read])
    columns[FILE] = Column(tuple(stems), np.repeat(np.arange(len(stems)), counts).astype(np.int32))
    left_out: dict[str, int] = {}
    for source in sources:
        for reason, count in source.left_out.items():
            left_out[reason] = left_out.get(reason, 0) + count
    forms = dict.fromkeys(source.form for source in sources)
    naming = dict.fromkeys(name for source in sources for name in source.names)
    lacking = [name for name in names if any(name not in source.columns for source in sources)]
    notes += [f"columns that some files lack: {', '.join(lacking[:8])}"] if lacking else []
    ends = np.cumsum(counts)

    def words(row: int) -> str:
        k = int(np.searchsorted(ends, row, side="right"))
        line = "" if (find := sources[k].line_of) is None else find(row - int(ends[k]) + counts[k])
        return f"{line} of {read[k][0]}" if line else str(read[k][0])

    return Source(columns, f"{len(read)} files, {'; '.join(forms)}", left_out, notes, tuple(naming), words)


def _told_apart(sources: Sequence[Source]) -> list[str]:
    """Give sessions of one subject with one name, but another start or identifier, names of their own; say so."""
    files: dict[tuple[object, ...], list[Source]] = {}
    for source in sources:
        if source.identity and "session" in source.columns:
            names = [source.columns[name].entry(0) for name in ("subject", "session") if name in source.columns]
            files.setdefault(tuple(names), []).append(source)
    notes = []
    for called, same in files.items():
        identities = list(dict.fromkeys(source.identity for source in same))
        for source in same if len(identities) > 1 else ():
            name = f"{called[-1]} ({source.identity.partition(' ')[0]})"
            taken = [each for each in identities if each.partition(" ")[0] == source.identity.partition(" ")[0]]
            name = name if len(taken) == 1 else f"{called[-1]} ({source.identity})"
            source.columns["session"] = _constant(name, rows_of(source.columns))
        if len(identities) > 1:
            notes.append(
                f"{len(identities)} sessions of {called[0]} are called {called[-1]}: told apart by their start"
            )
    return notes


def _concatenated(entries: Sequence[Column | None], counts: Sequence[int]) -> Column:
    """Return one column from those of several files."""
    if all(entry is None or entry.codes is None for entry in entries):
        floats = [
            np.full(n, np.nan) if entry is None else entry.numbers for entry, n in zip(entries, counts, strict=True)
        ]
        return Column(floats=np.concatenate(floats))
    index: dict[str, int] = {}
    codes = []
    for entry, n in zip(entries, counts, strict=True):
        if entry is None:
            codes.append(np.full(n, -1, np.int32))
            continue
        words, at = entry.texts
        lookup = np.array([*(index.setdefault(word, len(index)) for word in words), -1], np.int32)
        codes.append(lookup[at])
    return Column(tuple(index), np.concatenate(codes))


def _short_names(paths: Sequence[Path]) -> list[str]:
    """Return the stems of files, with the folders above where stems are not distinct."""
    deepest = max(len(path.parts) for path in paths)
    for depth in range(1, deepest + 1):
        plain_paths = [path.with_name(path.name.removesuffix(".gz")).with_suffix("") for path in paths]
        names = ["/".join(path.parts[-depth:]) for path in plain_paths]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]
