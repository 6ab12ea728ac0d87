"""Atomic writing of files and folders, and locks; nothing is removed or moved that ngym did not create.

While something is written, a hidden folder next to the target, ``.NAME.ngym-HOST-PID-STARTED-INODE``, holds the
unfinished files. The name states the writing process, so that leftovers of a killed process are recognised, and the
inode number of the hidden folder itself: a folder that was copied, unpacked or planted has another inode number and is
never touched.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import functools
import hashlib
import json
import os
import platform
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

from neurogym.messages.plain_data import plain
from ngym_cli.errors import InUseError, UserError, option, os_errors
from ngym_cli.files.written import is_ours
from ngym_cli.processes import start_of_process

if TYPE_CHECKING:
    from torch import Tensor

try:
    import fcntl
except ImportError:  # not a POSIX system: only the process named in the manifest protects a run there
    fcntl = None  # type: ignore[assignment]

#: Name of a hidden folder for unfinished files: target, writing process, and inode number of the hidden folder.
_WRITER = r"\..*\.ngym-(?P<host>[0-9a-f]{8})-(?P<pid>\d{1,10})-(?P<started>\w+)-"
_HIDDEN_NAME = re.compile(_WRITER + r"(?P<inode>\d{1,20})")

#: Name of a hidden folder in the instant before its inode number is known.
_UNNAMED = re.compile(_WRITER + r"[a-z0-9_]{8}")

#: Seconds without a change after which a hidden folder from another machine counts as a leftover.
LEFTOVER_AGE = 3600.0

#: Subfolder of the hidden folder for the replaced file or folder, until the new one is in place.
_OLD = "old"


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to a file and rename the temporary file when the block succeeds.

    An existing file is replaced; nothing is left behind when the block fails.

    Raises:
        UserError: if the path is a folder or another object that is not a file.
        OSError: if the file cannot be written.
    """
    refuse_non_file(path)
    with _holder(path) as holder:
        yield holder / path.name
        refuse_non_file(path)
        _rename_over(holder / path.name, path, holder)


@contextlib.contextmanager
def atomic_folder(path: Path, ours: Iterable[str] = ()) -> Iterator[Path]:
    """Yield a new folder that is moved to a path when the block succeeds, complete or not at all.

    Args:
        path: the place.
        ours: what a folder that is there may hold to be replaced: patterns of relative paths (``*`` matches any
            letters, slashes too), all of files that this program writes. None: no folder is replaced.

    Raises:
        FileExistsError: if something is there and ``ours`` is empty.
        UserError: if the existing file holds anything else.
        OSError: if it cannot be written.
    """
    patterns = tuple(ours)
    _refuse_foreign(path, patterns)
    with _holder(path) as holder:
        new = holder / path.name
        new.mkdir()
        yield new
        _refuse_foreign(path, patterns)
        if patterns and os.path.lexists(path):  # otherwise a file written there meanwhile stays
            (holder / _OLD).mkdir()
            path.rename(holder / _OLD / path.name)
        try:
            new.rename(path)
        except OSError:
            _put_back(holder)
            if path.exists():
                raise FileExistsError(17, "File exists", str(path)) from None
            raise


def _refuse_foreign(path: Path, ours: tuple[str, ...]) -> None:
    if not os.path.lexists(path):
        return
    if not ours:
        raise FileExistsError(17, "File exists", str(path))
    if path.is_symlink() or not path.is_dir():
        raise UserError(f"{path} is not a folder that ngym made; it will not be replaced")
    inside = foreign(path, ours)
    if inside is not None:
        raise UserError(f"{path} holds {inside}, which ngym did not write; it will not be replaced")


def foreign(folder: Path, ours: Iterable[str]) -> str | None:
    """Return the relative path of the first file in a folder that ngym did not write, or None.

    A link that leads nowhere (to itself or to a missing file) is not counted: no data is lost with such a link.

    Args:
        folder: the folder.
        ours: patterns of the files that ngym writes, as in ``atomic_folder``; unfinished files count as well, and files
            on the list of their folder.
    """
    patterns = tuple(ours)
    for path in _entries(folder):
        inside = path.relative_to(folder).as_posix()
        known = any(fnmatch.fnmatchcase(inside, pattern) for pattern in patterns)
        if not known and not is_broken_link(path) and not is_ours(path):
            return inside
    return None


def _entries(folder: Path) -> Iterator[Path]:
    """Yield all files and links below a folder in order, without following links or entering unfinished folders."""
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or not path.is_dir():
            yield path
        elif not _is_own_hidden(path):
            yield from _entries(path)


def is_broken_link(path: Path) -> bool:
    """Return whether a path is a link to itself or to a missing file."""
    try:
        return path.is_symlink() and not path.exists()
    except OSError:  # a loop of links
        return True


@contextlib.contextmanager
def _holder(path: Path) -> Iterator[Path]:
    """Yield a new hidden folder for unfinished files, after removing leftovers of dead processes next to the target."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pid = os.getpid()
    _clear_once(path.parent.absolute(), pid)
    prefix = f".{path.name[:40]}.ngym-{_this_host()}-{pid}-{_started(pid)}-"
    unnamed = Path(tempfile.mkdtemp(prefix=prefix, dir=path.parent))
    holder = unnamed
    try:
        holder = path.parent / f"{prefix}{unnamed.lstat().st_ino}"
        unnamed.rename(holder)
        with _naming(path, holder):
            yield holder
    finally:
        shutil.rmtree(unnamed, ignore_errors=True)
        shutil.rmtree(holder, ignore_errors=True)


@contextlib.contextmanager
def _naming(path: Path, holder: Path) -> Iterator[None]:
    """Let errors of the system name the file as the user knows it, not the hidden one."""
    try:
        yield
    except OSError as error:
        name = None if error.filename is None else Path(os.fsdecode(error.filename))
        if name is not None and not name.is_relative_to(holder):
            raise
        inside = path if name is None or name == holder else path.parent / name.relative_to(holder)
        error.filename, error.filename2 = str(inside), None
        raise


@functools.lru_cache(maxsize=4096)
def _clear_once(folder: Path, pid: int) -> None:
    """Remove leftovers at a process's first writing into a folder: later writings take a time that does not grow."""
    clear_leftovers(folder)


@functools.lru_cache(maxsize=1)
def _started(pid: int) -> str | None:
    """Return the start of this process; a forked process has another number."""
    return start_of_process(pid)


def _this_host() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _rename_over(new: Path, path: Path, holder: Path) -> None:
    """Rename a file and replace any existing file, also on network disks where a rename cannot replace."""
    try:
        new.replace(path)
        return
    except OSError:
        if not new.is_file() or not path.is_file():
            raise
    (holder / _OLD).mkdir()
    path.rename(holder / _OLD / path.name)
    try:
        new.rename(path)
    except OSError:
        _put_back(holder)
        raise


def _put_back(holder: Path) -> None:
    """Restore a replaced file or folder if the replacement never arrived."""
    old = holder / _OLD
    with contextlib.suppress(OSError):
        if old.is_symlink():
            return
        for entry in list(old.iterdir()):
            if not os.path.lexists(holder.parent / entry.name):
                entry.rename(holder.parent / entry.name)


def clear_leftovers(folder: Path, below: bool = False) -> None:
    """Remove unfinished files of killed processes and restore replaced files.

    Args:
        folder: the folder in which the killed processes wrote.
        below: whether all subfolders are searched as well.
    """
    with contextlib.suppress(OSError):
        for path in list(folder.rglob(".*.ngym-*") if below else folder.glob(".*.ngym-*")):
            if _is_left_over(path):
                _put_back(path)
                shutil.rmtree(path, ignore_errors=True)
            elif _is_unnamed_leftover(path):
                path.rmdir()  # fails, and so keeps the folder, if anything is inside


def _is_left_over(path: Path) -> bool:
    match = _HIDDEN_NAME.fullmatch(path.name)
    if match is None or not _is_own_hidden(path):
        return False
    if match["host"] != _this_host():
        return time.time() - path.stat().st_mtime > LEFTOVER_AGE
    return start_of_process(int(match["pid"])) != match["started"]


def _is_unnamed_leftover(path: Path) -> bool:
    """Return whether a hidden folder was made by a process that was killed before naming the folder by inode."""
    match = _UNNAMED.fullmatch(path.name)
    if match is None or match["host"] != _this_host() or path.is_symlink():
        return False
    return start_of_process(int(match["pid"])) != match["started"]


def _is_own_hidden(path: Path) -> bool:
    """Return whether a path is a hidden folder that ngym created at this place: of this user, with the inode named."""
    match = _HIDDEN_NAME.fullmatch(path.name)
    if match is None:
        return False
    status = path.lstat()
    is_ours = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    return stat.S_ISDIR(status.st_mode) and is_ours and status.st_ino == int(match["inode"])


def remove_folder(path: Path, ours: Iterable[str]) -> None:
    """Remove the files of a folder that this program wrote, and the folder unless other files remain.

    Args:
        path: the folder.
        ours: names of the files.
    """
    for name in ours:
        (path / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        path.rmdir()


def refuse_non_file(path: Path) -> None:
    """Refuse an output path that exists and is not a file.

    Raises:
        UserError: if there is a folder, a device or the like.
    """
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISDIR(mode) or path.is_dir():
        raise UserError(f"{path} is a folder; name a file in it")
    if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
        raise UserError(f"{path} is not a regular file; it will not be replaced")


def check_place(path: Path, overwrite: bool) -> None:
    """Refuse an output path that exists, unless the file may be overwritten.

    Raises:
        UserError: if there is a file and ``overwrite`` is not said, or something that is no file.
    """
    refuse_non_file(path)
    if os.path.lexists(path) and not overwrite:
        raise UserError(f"{path} exists; choose another place or pass {option('--overwrite')}")


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that appears as a whole or not at all.

    Libraries get an open file instead of a name, because a name may look like an address to them.
    """
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        yield file


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors that share no memory as a safetensors file.

    Raises:
        OSError: if it cannot be written, as on a full disk.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        save_file({name: value.detach().cpu().contiguous() for name, value in tensors.items()}, path)
    except SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        code = int(number[1]) if number else errno.EIO
        raise OSError(code, os.strerror(code), str(path)) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file as a whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, data: object) -> None:
    """Write a JSON file as a whole or not at all; numbers that JSON has not (nan, inf) become null."""
    write_text(path, json.dumps(plain(data), indent=2) + "\n")


# -- locks ------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Hold the lock of a run folder; the system releases the lock when the process ends, however that happens.

    Raises:
        InUseError: if another process holds the lock.
        UserError: if the folder cannot be read.
    """
    with _opened(folder) as handle:
        if not _lock(handle):
            raise InUseError(f"run folder {folder} is in use by another process")
        yield


@contextlib.contextmanager
def exclusive(file: Path) -> Iterator[None]:
    """Wait for and hold the lock of a file that is never replaced, while another file is read, changed and written.

    Without effect where files cannot be locked or there is no such file.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            handle = os.open(file, os.O_RDONLY)
            stack.callback(os.close, handle)
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def in_use(folder: Path) -> bool:
    """Return whether a process holds the lock of a folder."""
    try:
        with _opened(folder) as handle:
            return not _lock(handle)
    except UserError:
        return False


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    """Yield a handle of a folder; None where folders cannot be locked (Windows)."""
    if fcntl is None:
        yield None
        return
    with os_errors(f"cannot read run folder {folder}"):
        handle = os.open(folder, os.O_RDONLY)
    try:
        yield handle
    finally:
        os.close(handle)


def _lock(handle: int | None) -> bool:
    """Take the lock and return whether the lock was free; always true on file systems without locks."""
    if handle is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True
