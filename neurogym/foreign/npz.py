"""Arrays of npz and npy files of others, whose sizes are compared with the file before anything is read."""

from __future__ import annotations

import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from neurogym.foreign.isolation import DamagedFileError

#: Most arrays of a file, and most bytes of all arrays.
MOST_ARRAYS, LARGEST = 20_000, 8 << 30

#: What reading raises on damaged files.
DAMAGE = (
    *(OSError, ValueError, KeyError, TypeError, IndexError, EOFError, MemoryError, RuntimeError, NotImplementedError),
    *(SyntaxError, tokenize.TokenError, RecursionError, OverflowError, zipfile.BadZipFile, zlib.error, struct.error),
)


def read(path: Path, wanted: Callable[[str], bool] = lambda name: True) -> dict[str, np.ndarray]:
    """Read arrays of an npz file.

    Args:
        path: the file.
        wanted: whether an array is read.

    Returns:
        Arrays by name.

    Raises:
        DamagedFileError: if the file is damaged, encrypted, holds objects, or announces too many bytes.
        OSError: if the file cannot be opened.
    """
    with path.open("rb") as stream:
        try:
            with zipfile.ZipFile(stream) as file:
                members = {each.filename.removesuffix(".npy"): each for each in file.infolist()}
                if len(members) > MOST_ARRAYS:
                    raise DamagedFileError(f"holds {len(members):,} arrays; the limit is {MOST_ARRAYS:,}")
                selected = {name: member for name, member in members.items() if wanted(name)}
                size = sum(member.file_size for member in selected.values())
                if size > LARGEST:
                    raise DamagedFileError(f"announces {size:,} bytes; the limit is {LARGEST:,}")
                return {name: _array(file.open(member), member.file_size) for name, member in selected.items()}
        except DAMAGE as error:
            raise _damaged(error) from None


def names(path: Path) -> list[str]:
    """Return the names of the arrays of an npz file; errors as of `read`."""
    every: list[str] = []

    def note(name: str) -> bool:
        every.append(name)
        return False

    read(path, note)
    return every


def read_array(path: Path) -> np.ndarray:
    """Read the array of an npy file; errors as of `read`."""
    with path.open("rb") as stream:
        try:
            return _array(stream, path.stat().st_size)
        except DAMAGE as error:
            raise _damaged(error) from None


def _damaged(error: Exception) -> DamagedFileError:
    return DamagedFileError(" ".join(str(error).split()) or type(error).__name__)


def _array(stream: IO[bytes], size: int) -> np.ndarray:
    """Read an array after comparing the announced shape with the number of bytes."""
    with stream:
        version = npy.read_magic(stream)
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise ValueError(f"version {version} of the format of arrays is not known")
        header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = header(stream)
        if dtype.hasobject:
            raise ValueError("holds objects, not numbers and words")
        count = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or count > size:
            raise ValueError(f"an array announces {count:,} bytes and the file holds {size:,}")
        array = np.zeros(math.prod(shape), dtype)
        if count and stream.readinto(array.view(np.uint8)) < count:  # type: ignore[attr-defined]
            raise ValueError("ends in the middle of an array")
        return array.reshape(shape[::-1]).T if fortran else array.reshape(shape)
