"""Connections of a recurrent network from a file: mask, first weights, and names of regions. No torch here."""

from __future__ import annotations

import base64
import binascii
import csv
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from neurogym.foreign import npz
from ngym_cli.config.values import write_value
from ngym_cli.errors import UserError, check_known, message_of
from ngym_cli.files.reading import read_text

#: Arrays of a file, most regions, and most letters of the packed arrays, which the run's configuration holds.
ARRAYS, MOST_REGIONS, MOST_LETTERS = ("weights", "mask", "names"), 4096, 700_000


class Connectome(NamedTuple):
    """Connections among regions, each of which is a unit.

    Attributes:
        mask: zeros and ones (to, from).
        weights: first weights (to, from); None: drawn as in other networks.
        names: of the regions; empty if unknown.
    """

    mask: np.ndarray
    weights: np.ndarray | None
    names: tuple[str, ...]


def as_table(value: object) -> object:
    """Return the path of a file as the table that configurations hold; other values as they are.

    Raises:
        UserError: if the file cannot be read or its numbers are no connections.
    """
    if isinstance(value, Mapping):
        return value
    path = Path(text := write_value(value))
    read = {".npz": _read_npz, ".csv": _read_csv}.get(path.suffix)
    if read is None:
        raise UserError(f"connectome must be a file .npz or .csv, not '{text}'")
    try:
        connectome = read(path)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise UserError(f"{path}: {message_of(error)}") from None
    mask, weights, names = connectome
    table: dict[str, Any] = {"units": len(mask), "mask": _pack(np.packbits(mask.astype(bool)))}
    table |= {} if weights is None else {"weights": _pack(weights[mask > 0].astype("<f4"))}
    if sum(len(packed) for packed in table.values() if isinstance(packed, str)) > MOST_LETTERS:
        raise UserError(f"{path}: {len(mask)} regions with so many connections do not fit into a run's configuration")
    return {**table, "names": list(names)} if names else table


def from_table(table: Mapping[str, Any]) -> Connectome:
    """Return the connections in a table of a configuration.

    Raises:
        UserError: if the table was not made by `as_table`.
    """
    try:
        units = int(table["units"])
        if not 0 < units <= MOST_REGIONS:
            raise ValueError(units)
        bits = np.frombuffer(_unpack(table["mask"], -(-(units**2) // 8)), np.uint8)
        mask = np.unpackbits(bits)[: units**2].reshape(units, units).astype(np.float32)
        weights = None
        if "weights" in table:
            weights = np.zeros_like(mask)
            weights[mask > 0] = np.frombuffer(_unpack(table["weights"], 4 * int(mask.sum())), "<f4")
        return _checked(mask, weights, [str(name) for name in table.get("names", ())])
    except (KeyError, TypeError, ValueError, binascii.Error, zlib.error):
        raise UserError("connectome must be a file .npz or .csv; the table in this configuration is damaged") from None


def _checked(mask: np.ndarray | None, weights: np.ndarray | None, names: Sequence[str]) -> Connectome:
    """Return connections after a check of shapes and numbers.

    Raises:
        ValueError: says what is wrong.
    """
    for name, array in (("weights", weights), ("mask", mask)):
        if array is None:
            continue
        if array.ndim != 2 or array.shape[0] != array.shape[1] or not 0 < len(array) <= MOST_REGIONS:
            shape = " x ".join(map(str, array.shape)) or "a single number"
            raise ValueError(f"{name} must be a square matrix (to, from), not {shape}")
        if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite numbers")
        if not np.isfinite(array.astype(np.float32)).all():
            raise ValueError(f"{name} exceed single precision")
    if mask is None and weights is not None and np.isin(weights, (0, 1)).all():  # which connections exist, no strengths
        mask, weights = weights, None
    if mask is None:
        mask = np.asarray(weights != 0)
    if not np.isin(mask, (0, 1)).all():
        raise ValueError("mask must be zeros and ones")
    if not mask.any():
        raise ValueError("there is no connection")
    if weights is not None and (weights.shape != mask.shape or weights[mask == 0].any()):
        raise ValueError("mask and weights must have one shape, and weights no connection that the mask has not")
    if names and (len(names) != len(mask) or len(set(names)) != len(names)):
        raise ValueError(f"expected {len(mask)} different names of regions, got {len(set(names))}")
    return Connectome(
        mask.astype(np.float32), None if weights is None else weights.astype(np.float32), tuple(map(str, names))
    )


def _read_npz(path: Path) -> Connectome:
    arrays = npz.read(path)
    for name in arrays:
        check_known(f"array of {path}", name, ARRAYS)
    if not {"weights", "mask"} & set(arrays):
        raise ValueError("expected an array weights (to, from), mask, or both")
    names = arrays.get("names", np.zeros(0, str))
    if names.ndim != 1 or names.dtype.kind not in "US":
        raise ValueError("names must be a list of words")
    words = [name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name) for name in names.tolist()]
    return _checked(arrays.get("mask"), arrays.get("weights"), words)


def _read_csv(path: Path) -> Connectome:
    """Read a matrix (to, from) whose first line names the regions; a first column with the same names may precede."""
    lines = [[entry.strip() for entry in line] for line in csv.reader(read_text(path, 64 << 20).splitlines()) if line]
    names: list[str] = []
    if lines and not all(map(_is_number, lines[0])):
        names = lines.pop(0)
    if names and lines and (not names[0] or not any(_is_number(line[0]) for line in lines)):
        names = names[1:] if len(names) == len(lines[0]) else names
        for number, (line, name) in enumerate(zip(lines, names, strict=False), start=1):
            if line[0] != name:
                raise ValueError(f"row {number} is named '{line[0]}', not '{name}' as its column")
        lines = [line[1:] for line in lines]
    for number, line in enumerate(lines, start=1):
        if len(line) != len(lines[0]):
            raise ValueError(f"row {number} has {len(line)} entries, expected {len(lines[0])}")
        for entry in line:
            if not _is_number(entry):
                raise ValueError(f"row {number} has '{entry}', expected a number")
    return _checked(None, np.array(lines, float), names)


def _is_number(entry: str) -> bool:
    try:
        float(entry)
    except ValueError:
        return False
    return True


def _pack(array: np.ndarray) -> str:
    return base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()


def _unpack(text: str, size: int) -> bytes:
    """Return packed bytes of a known number."""
    data = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), size + 1)
    if len(data) != size:
        raise ValueError(size)
    return data
