"""Writing of HDF5 files: an error of the disk is an error of Python, not the end of the process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import h5py


class _Sink:
    """File that HDF5 writes to and that never fails: the library crashes when a file cannot be closed.

    The first error is kept, and everything after it is discarded.

    Args:
        path: the file.
        mode: as of ``open``.
    """

    def __init__(self, path: Path, mode: str) -> None:
        self.error: OSError | None = None
        self._file: Any = path.open(mode, buffering=0)
        self.read, self.seek = self._file.read, self._file.seek  # by which h5py recognises a file
        self.tell, self.close = self._file.tell, self._file.close

    def readinto(self, buffer: Any) -> int:
        """Read bytes; none after an error."""
        return 0 if self.error else self._file.readinto(buffer) or 0

    def write(self, data: Any) -> int:
        """Write all bytes."""

        def write() -> None:
            rest = memoryview(data).cast("B")
            while len(rest):
                rest = rest[self._file.write(rest) :]

        self._attempt(write)
        return len(data)

    def truncate(self, size: int) -> int:
        """Change the size of the file."""
        self._attempt(lambda: self._file.truncate(size))
        return size

    def flush(self) -> None:
        """Do nothing: the file has no buffer."""

    def _attempt(self, action: Callable[[], object]) -> None:
        if self.error is None:
            try:
                action()
            except OSError as error:
                self.error = error


@contextlib.contextmanager
def open_to_write(path: Path, mode: str = "w") -> Iterator[tuple[h5py.File, Callable[[], None]]]:
    """Open an HDF5 file, and close it without a crash if the disk is full.

    Args:
        path: the file.
        mode: ``w`` for a new file, ``r+`` to add to a file.

    Yields:
        The file, and a function that raises an error of the disk as soon as there is one.

    Raises:
        OSError: if the file cannot be written.
    """
    import h5py

    sink = _Sink(path, "w+b" if mode == "w" else "r+b")

    def check() -> None:
        if sink.error is not None:
            raise OSError(sink.error.errno, sink.error.strerror, str(path))

    try:
        file = h5py.File(sink, mode)
        try:
            yield file, check
        except Exception:
            check()  # the cause of whatever the library says
            raise
        finally:
            with contextlib.suppress(Exception) if sink.error else contextlib.nullcontext():
                file.close()
        check()
    finally:
        sink.close()
