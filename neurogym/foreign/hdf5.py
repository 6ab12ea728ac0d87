"""Data sets of HDF5 files of others: no links, nothing in another file, no more bytes than the file can hold.

The functions that take open files are for the process that may crash; `read` and `names` are for all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.foreign import isolation
from neurogym.foreign.isolation import DamagedFileError, Reply

if TYPE_CHECKING:
    import h5py

#: Most bytes of a data set; most bytes that any file may announce; most bytes for each byte that is stored.
LARGEST, ALWAYS_ALLOWED, MOST_PACKED = 64 << 30, 1 << 30, 1100


def names(path: Path, group: str = "") -> list[str]:
    """Return the names of the data sets in a group of a file; none if there is no such group.

    Raises:
        DamagedFileError: if the file cannot be read, or an entry is a link or announces too many bytes.
    """
    value, _ = isolation.call(f"{__name__}:_names", path, group, needs=["h5py"])
    return [str(name) for name in value]


def read(path: Path, wanted: Sequence[str], rows: int | None = None) -> dict[str, np.ndarray]:
    """Read data sets and attributes; those that the file lacks are left out.

    Args:
        path: the file.
        wanted: data sets, attributes (``group@attribute``), and groups, whose data sets are read.
        rows: first rows that are read; None for all.

    Returns:
        Arrays of numbers, or of words (objects), by full name.

    Raises:
        DamagedFileError: if the file cannot be read, or an entry is a link or announces too many bytes.
    """
    value, arrays = isolation.call(f"{__name__}:_read", path, list(wanted), rows, needs=["h5py"])
    numbers = iter(arrays)
    content = {}
    for name, shape, words in value:
        if words is None:
            content[str(name)] = next(numbers)
        else:
            content[str(name)] = np.array([*words, None], object)[:-1].reshape(shape)
    return content


def member_of(group: Any, name: str) -> Any:
    """Return a member that is stored in the file itself, or None.

    Args:
        group: an open group.
        name: path below the group.
    """
    import h5py

    for step in name.split("/"):
        if not isinstance(group, h5py.Group) or not isinstance(group.get(step, getlink=True), h5py.HardLink):
            return None
        try:
            group = group[step]
        except (KeyError, OSError, RuntimeError):
            return None
    if isinstance(group, h5py.Dataset) and (group.external or group.is_virtual):
        return None
    return group


def values_of(data: h5py.Dataset, rows: int | None = None) -> np.ndarray | None:
    """Return numbers or words (objects) of a data set; None for references and structures.

    Raises:
        DamagedFileError: if the data set announces more bytes than the file can hold.
    """
    import h5py

    if h5py.check_ref_dtype(data.dtype) is not None or data.dtype.kind not in "biufOSU":
        return None
    _refuse_large(data)
    array = np.asarray(data[()] if rows is None or not data.shape else data[:rows])
    if data.dtype.kind in "OS":
        if h5py.check_string_dtype(data.dtype) is None:
            return None
        return _words(array)
    enum = h5py.check_enum_dtype(data.dtype)
    if enum is not None:
        labels = {number: word for word, number in enum.items()}
        return np.array([*(labels.get(int(v), "") for v in array.ravel()), None], object)[:-1].reshape(array.shape)
    return array


def _refuse_large(data: h5py.Dataset) -> None:
    size, stored = int(np.prod(data.shape or (), dtype=object)) * data.dtype.itemsize, int(data.id.get_storage_size())
    if size > LARGEST or size > max(ALWAYS_ALLOWED, MOST_PACKED * stored):
        raise DamagedFileError(f"{data.name} announces {size:,} bytes, more than the file holds")


def _words(array: np.ndarray) -> np.ndarray:
    words = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in array.ravel()]
    return np.array([*words, None], object)[:-1].reshape(array.shape)


def _stored(file: h5py.File, name: str) -> Any:
    """Return an entry, or None if there is none.

    Raises:
        DamagedFileError: if the entry is a link, or its data lie in another file.
    """
    entry = member_of(file, name) if name else file
    if entry is None and file.get(name, getlink=True) is not None:
        raise DamagedFileError(f"{name} is a link or lies in another file; copy the data into the file")
    return entry


def _names(path: Path, group: str) -> Reply:
    import h5py

    with h5py.File(path, "r") as file:
        entries = _stored(file, group)
        listed = list(entries) if isinstance(entries, h5py.Group) else []
        stored = {name: _stored(entries, name) for name in listed}
        stored = {name: entry for name, entry in stored.items() if isinstance(entry, h5py.Dataset)}
        for entry in stored.values():
            _refuse_large(entry)
        return list(stored), []


def _read(path: Path, wanted: Sequence[str], rows: int | None) -> Reply:
    import h5py

    about: list[tuple[str, tuple[int, ...], list[str] | None]] = []
    arrays: list[np.ndarray] = []

    def add(name: str, array: np.ndarray | None) -> None:
        if array is not None and array.dtype == object:
            about.append((name, array.shape, array.ravel().tolist()))
        elif array is not None:
            about.append((name, array.shape, None))
            arrays.append(array)

    with h5py.File(path, "r") as file:
        for name in wanted:
            place, _, attribute = name.partition("@")
            entry = _stored(file, place)
            if attribute and entry is not None:
                array = np.asarray(entry.attrs[attribute]) if attribute in entry.attrs else None
                add(name, array if array is None or array.dtype.kind in "biuf" else _words(array))
            elif isinstance(entry, h5py.Dataset):
                add(name, values_of(entry, rows))
            elif entry is not None:
                for each in entry:
                    data = _stored(entry, each)
                    if isinstance(data, h5py.Dataset):
                        add(f"{name}/{each}".lstrip("/"), values_of(data, rows))
    return about, arrays
