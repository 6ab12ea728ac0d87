"""Nested structures: MATLAB and HDF5 files of vectors of one length, structure arrays, sessions of Bpod, trials of NWB.

Links of HDF5 files to other places are not followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.behaviour.arrays import of_other_lengths
from neurogym.behaviour.conversion import from_mapping, from_records, name_of_groups
from neurogym.behaviour.entries import TableError
from neurogym.behaviour.pulse_times import sides
from neurogym.behaviour.vocabulary import is_like
from neurogym.foreign.hdf5 import member_of, values_of

if TYPE_CHECKING:
    from pandas import DataFrame

DEEPEST = 6  #: levels of structures that are read and searched
TRIALS_GROUP = "intervals/trials"
MOSTLY = 0.5  #: share of trials that must enter a state of a side, so that states say the choice

Vectors = dict[str, Any]  #: arrays or lists of equal length by name


def read_matlab(path: Path) -> tuple[DataFrame, str, list[str]]:
    """Read the table of a MATLAB file, its form in words and remarks; v5 by SciPy, v7.3 by h5py.

    Raises:
        TableError: if the file has no equally long vectors, or holds a table object, which only MATLAB reads.
    """
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        data = loadmat(path, simplify_cells=True, chars_as_strings=True)
    except NotImplementedError:
        data = read_structures(path)
    except (MatReadError, TypeError, IndexError, MemoryError) as error:
        raise TableError(f"damaged MATLAB file: {error}") from None
    opaque = "__function_workspace__" in data or any("Opaque" in type(value).__name__ for value in data.values())
    content = {key: value for key, value in data.items() if not key.startswith("__")}
    if opaque and not list(_candidates(content, 0)):
        raise TableError("found an object that only MATLAB reads; save s = table2struct(T, 'ToScalar', true)")
    session = bpod_session(content)
    if session is not None:
        return from_mapping(session[0]), session[1], []
    table = largest_table(content)
    nested = {key: each for value in content.values() if isinstance(value, Mapping) for key, each in value.items()}
    return table, "MATLAB", of_other_lengths({**content, **nested}, len(table))


def largest_table(content: Mapping[str, Any]) -> DataFrame:
    """Return the largest table among nested structures.

    Raises:
        TableError: if there is none.
    """
    candidates = list(_candidates(content, 0))
    if not candidates:
        raise TableError("found no equally long vectors, expected a structure with a vector for each column")
    return max(candidates, key=lambda table: (table.shape[1] > 1, table.size))


def _candidates(data: object, depth: int) -> Iterator[DataFrame]:
    """Yield the tables among nested structures."""
    if depth > DEEPEST:
        return
    if isinstance(data, Mapping):
        for vectors in (*_matrices(data), *_tables(data)):
            yield from_mapping(vectors)
        structures = {name: each for name, each in data.items() if isinstance(each, dict)}
        members = {name: max(_tables(each), key=len, default={}) for name, each in structures.items()}
        if len(members) > 1 and len({frozenset(each) for each in members.values()}) == 1:
            yield from _joined([*members.values()], name_of_groups(members), [*members])
        for value in data.values():
            yield from _candidates(value, depth + 1)
    elif isinstance(data, list | np.ndarray) and len(records := _records(data)):
        paired = sides(records[0])
        if all(
            _is_scalar(value) or (name in paired and np.ndim(value) == 1)
            for row in records
            for name, value in row.items()
        ):
            yield from_records(records)
        else:
            yield from _joined(records, "element", np.arange(1.0, len(records) + 1))


def _records(data: Any) -> list[Mapping[str, Any]]:
    rows = list(data) if isinstance(data, list) or (data.dtype == object and data.ndim == 1) else []
    if not all(isinstance(row, Mapping) for row in rows):
        return []
    return [{name: None if _is_empty(value) else value for name, value in row.items()} for row in rows]


def _is_empty(value: object) -> bool:
    return isinstance(value, np.ndarray) and not value.size


def _joined(records: list[Mapping[str, Any]], name: str, keys: Sequence[Any] | np.ndarray) -> Iterator[DataFrame]:
    """Yield the table of several tables, with a column that says which each row is from."""
    import pandas as pd

    tables = [max(_tables(row), key=len, default=None) for row in records]
    if not all(tables):
        return
    frames = [pd.DataFrame(each, dtype=object) for each in tables]
    joined = pd.concat(frames, keys=keys, names=[name, None])
    rest = [] if name in joined else [name]
    yield from_mapping(joined.reset_index(rest))


def _matrices(data: Mapping[str, Any]) -> Iterator[Vectors]:
    """Yield the tables of matrices next to a list with the name of each column."""
    lists = [[str(each) for each in value] for value in data.values() if _is_names(value)]
    for value in data.values():
        if not isinstance(value, np.ndarray) or value.ndim != 2 or value.dtype.kind not in "biuf":
            continue
        for names in lists:
            if len(names) in value.shape and min(value.shape) > 1:
                matrix = value if value.shape[1] == len(names) else value.T
                yield dict(zip(names, matrix.T, strict=True))


def _is_names(value: object) -> bool:
    names = value.ravel().tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(names, list) or len(names) < 2 or not all(isinstance(each, str) for each in names):
        return False
    return len(set(names)) == len(names)


def _tables(data: Mapping[str, Any]) -> Iterator[Vectors]:
    """Yield the vectors of a structure, those of each length together, with its numbers and words as constants."""
    vectors: dict[int, Vectors] = {}
    constants: dict[str, Any] = {}
    for name, value in data.items():
        if _is_scalar(value):
            constants[str(name)] = value
            continue
        vector = _vector(value)
        if vector is not None and len(vector) > 1:
            vectors.setdefault(len(vector), {})[str(name)] = vector
    fixed = {name: value for name, value in constants.items() if value not in ("", None)}
    for n, table in vectors.items():
        yield {**table, **{name: [value] * n for name, value in fixed.items() if name not in table}}


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float | bool | np.generic | None) or (
        isinstance(value, np.ndarray) and value.ndim == 0
    )


def _vector(value: object) -> np.ndarray | None:
    """Return a vector of numbers or words, or None; empty cells are missing."""
    array = np.asarray(value, object) if isinstance(value, list) else value
    if not isinstance(array, np.ndarray) or not array.size:
        return None
    if array.ndim == 2 and 1 in array.shape:
        array = array.ravel()
    if array.ndim != 1 or array.dtype.kind not in "biufOSU":
        return None
    if array.dtype == object:
        cells = [None if _is_empty(cell) else cell for cell in array.tolist()]
        if any(isinstance(cell, list | dict) or (isinstance(cell, np.ndarray) and cell.ndim > 1) for cell in cells):
            return None
        array = np.array([*cells, None], object)[:-1]
    return array


def bpod_session(content: Mapping[str, Any]) -> tuple[Vectors, str] | None:
    """Return the trials of ``SessionData`` of Bpod and what they were read from, or None for other content.

    Choice and reward follow from the states that a trial entered.
    """
    session = content.get("SessionData")
    events = session.get("RawEvents") if isinstance(session, Mapping) else None
    trials = events.get("Trial") if isinstance(events, Mapping) else None
    if isinstance(trials, Mapping):
        trials = [trials]
    if trials is None or not all(isinstance(trial, Mapping) for trial in trials):
        return None
    entered = [_entered(trial.get("States", {})) for trial in trials]
    assert isinstance(session, Mapping)
    columns: Vectors = {}
    for name, values in session.items():
        if isinstance(values, np.ndarray) and values.shape == (len(entered),) and values.dtype.kind in "biuf":
            columns[name] = values
    names = dict.fromkeys(name for states in entered for name in states)
    answers = [name for name in names if not is_like(name, "other_state")]
    sides = [[name for name in answers if is_like(name, side)] for side in ("left", "right")]
    left, right = (np.array([bool(states & set(side)) for states in entered], bool) for side in sides)
    if all(sides) and np.mean(left ^ right) >= MOSTLY and not np.any(left & right):
        columns["choice"] = np.select([left, right], ["left", "right"], "")
        rewards = [name for name in answers if is_like(name, "reward_state") and not is_like(name, "no_reward_state")]
        if rewards:
            columns["reward"] = np.array([bool(states & set(rewards)) for states in entered]) * 1
        used = ", ".join(dict.fromkeys([*sides[0], *sides[1], *rewards]))
        return columns, f"Bpod; choice and reward are the states {used}"
    states_of_trials = {f"state {name}": np.array([name in states for states in entered]) * 1 for name in names}
    return columns | states_of_trials, "Bpod; columns say whether a trial entered a state"


def _entered(states: Mapping[str, Any]) -> set[str]:
    """Return the states that a trial entered: those with a time at which they begin."""
    return {name for name, times in states.items() if np.isfinite(np.ravel(np.asarray(times, float))[:1]).any()}


def read_trials(path: Path) -> DataFrame | None:
    """Return the trials of an NWB file, or None for another HDF5 file.

    Raises:
        TableError: if an NWB file has no table of trials.
    """
    import h5py

    with h5py.File(path, "r") as file:
        trials = member_of(file, TRIALS_GROUP)
        if isinstance(trials, h5py.Group):
            return _nwb(file, trials)
        if path.suffix.lower() == ".nwb":
            raise TableError(f"found no table {TRIALS_GROUP!r}, expected trials as NWB keeps them")
    return None


def identity_of(path: Path) -> str:
    """Return the start and the identifier of the session of an NWB file; empty if the file has none."""
    import h5py

    with h5py.File(path, "r") as file:
        members = [member_of(file, name) for name in ("session_start_time", "identifier")]
        words = [each[()] for each in members if isinstance(each, h5py.Dataset) and each.shape == ()]
    return " ".join(word.decode("utf-8", "replace") if isinstance(word, bytes) else str(word) for word in words)


def _nwb(file: Any, trials: Any) -> DataFrame:
    import h5py

    ids = member_of(trials, "id")
    if not isinstance(ids, h5py.Dataset) or ids.ndim != 1:
        raise TableError(f"found no 'id' in {TRIALS_GROUP!r}, expected trials as NWB keeps them")
    n, columns = len(ids), dict[str, Any]()
    for name in trials:
        data = member_of(trials, name)
        ragged = f"{name}_index" in trials or name.endswith("_index")
        if name != "id" and not ragged and isinstance(data, h5py.Dataset) and data.shape == (n,):
            values = values_of(data)
            if values is not None:
                columns[name] = values
    if not columns:
        raise TableError(f"found no columns in {TRIALS_GROUP!r}, expected a value for each trial")
    for name, member in (("subject", "general/subject/subject_id"), ("session", "general/session_id")):
        data = member_of(file, member)
        if isinstance(data, h5py.Dataset) and data.shape == () and name not in columns:
            word = values_of(data)
            columns[name] = [str(word)] * n
    return from_mapping(columns)


def read_structures(path: Path) -> dict[str, Any]:
    """Return the content of an HDF5 file, such as MATLAB v7.3, as nested dictionaries of vectors and words."""
    import h5py

    with h5py.File(path, "r") as file:
        return _structure(file, file, 0)


def _structure(group: Any, file: Any, depth: int) -> dict[str, Any]:
    import h5py

    content: dict[str, Any] = {}
    for name in group if depth <= DEEPEST else ():
        member = None if name.startswith("#") else member_of(group, name)
        if isinstance(member, h5py.Group):
            content[name] = _structure(member, file, depth + 1)
        elif isinstance(member, h5py.Dataset):
            content[name] = _entry(member, file, depth)
    return content


def _entry(data: Any, file: Any, depth: int) -> Any:
    """Return an entry of a structure: characters as a word, references to cells as their content."""
    import h5py

    kind = data.attrs.get("MATLAB_class", b"")
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    if data.attrs.get("MATLAB_empty", 0):
        return "" if kind == "char" else np.zeros(0)
    if h5py.check_ref_dtype(data.dtype) is not None:
        cells = []
        for reference in data[()].ravel():
            target = file[reference] if reference else None
            if isinstance(target, h5py.Dataset) and h5py.check_ref_dtype(target.dtype) is None:
                cells.append(_entry(target, file, depth + 1))
            elif isinstance(target, h5py.Group) and depth < DEEPEST:
                cells.append(_structure(target, file, depth + 1))
            else:
                cells.append(None)
        return [cell.item() if isinstance(cell, np.ndarray) and cell.size == 1 else cell for cell in cells]
    values = values_of(data)
    if values is None:
        return np.zeros(0)
    if kind == "char":
        return "".join(map(chr, values.T.ravel().astype(int)))
    if kind == "logical":
        values = values.astype(bool)
    values = values.T
    return values.item() if values.size == 1 else values
