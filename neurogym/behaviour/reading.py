"""Reading tables of behaviour from CSV, Parquet and NWB files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from neurogym.analysis.animals import ColumnRule, map_column
from neurogym.analysis.trial_tables import as_table
from neurogym.behaviour import roles as of_columns
from neurogym.behaviour.roles import is_missed
from neurogym.behaviour.table import Behaviour, Session
from neurogym.messages.names import unknown

#: Names that a file with a column map may use, as for a comparison with animals, and the roles here.
TRIAL_ROW = {"performance": "correct", "env": "session", "coh": "stimuli", "outcome": "correct"}
YES = {"1", "1.0", "true", "yes", "correct", "right", "hit", "rewarded", "reward", "win", "success"}
NO = {"0", "0.0", "-1", "-1.0", "false", "no", "error", "incorrect", "wrong", "unrewarded", "loss", "failure", "fail"}
MOST_CHOICES = 12
SLOWEST = 60.0  #: largest median reaction time (s); larger numbers are taken as ms


class TableError(ValueError):
    """A table that cannot be read as behaviour; the message names column, row, what was found and expected."""


def read(
    path: str | PathLike[str],
    given: of_columns.Roles | None = None,
    columns: Mapping[str, ColumnRule] | None = None,
) -> Behaviour:
    """Read a table of behaviour.

    Args:
        path: CSV, Parquet or NWB file.
        given: columns of roles (see `neurogym.behaviour.roles.NAMES`; ``stimuli``: a sequence of names); what is not
            given is guessed. None as a value means that the table has no such column.
        columns: column map as of `neurogym.analysis.load_trials`; replaces the guess.

    Raises:
        TableError: if the file or the table is unfit.
    """
    table = _columns_of(Path(path))
    if columns:
        table, given = _mapped(table, columns, given or {})
    try:
        return from_columns(table, given, guessing=not columns)
    except TableError as error:
        raise TableError(f"{path}: {error}") from None


def from_columns(
    table: Mapping[str, np.ndarray], given: of_columns.Roles | None = None, guessing: bool = True
) -> Behaviour:
    """Return behaviour from columns of equal length; see `read`."""
    if not len(next(iter(table.values()), ())):
        raise TableError("found no rows, expected one for each trial")
    table = {name: values for name, values in table.items() if not _holds_lists(values)}
    found = of_columns.guess(table) if guessing else {"stimuli": ()}
    for role, name in (given or {}).items():
        if role not in (*of_columns.NAMES, "stimuli"):
            raise TableError(unknown("role", role, [*of_columns.NAMES, "stimuli"]))
        for each in () if name is None else [name] if isinstance(name, str) else name:
            if each not in table:
                raise TableError(unknown("column", each, table))
        taken = [name] if isinstance(name, str) else list(name or ())
        found = {key: value for key, value in found.items() if key == "stimuli" or value not in taken}
        found["stimuli"] = tuple(each for each in found["stimuli"] if each not in taken)  # type: ignore[attr-defined]
        if role == "stimuli":
            found[role] = tuple(taken)
        elif name is not None:
            found[role] = name
        else:
            found.pop(role, None)
    if "choice" not in found:
        raise TableError(f"found no column of choices among {', '.join(table)}; expected --choice COLUMN")
    return _Builder(table, found).build()


def _holds_lists(values: np.ndarray) -> bool:
    return values.ndim > 1 or any(isinstance(each, list | dict | np.ndarray) for each in values)


def _columns_of(path: Path) -> dict[str, np.ndarray]:
    """Return the columns of a file."""
    if not path.is_file():
        raise TableError(f"no such table of trials: {path}")
    kind = path.suffix.lower()
    try:
        if kind in (".nwb", ".h5", ".hdf5"):
            return _from_nwb(path)
        if kind in (".parquet", ".pq"):
            from pyarrow import parquet

            return dict(as_table(parquet.read_table(path)))
        from pyarrow import csv

        options = csv.ParseOptions(delimiter="\t" if kind in (".tsv", ".tab") else ",")
        return dict(as_table(csv.read_csv(path, parse_options=options)))
    except (OSError, KeyError, ValueError) as error:
        raise TableError(f"{path}: {' '.join(str(error).split())}") from None


def _from_nwb(path: Path) -> dict[str, np.ndarray]:
    import h5py

    with h5py.File(path) as file:
        if "intervals/trials" not in file:
            raise ValueError("found no table 'intervals/trials', expected trials as NWB keeps them")
        group: Any = file["intervals/trials"]
        if "id" not in group:
            raise ValueError("found no 'id' in 'intervals/trials', expected trials as NWB keeps them")
        n = len(group["id"])
        table = {}
        for name, data in group.items():
            single = isinstance(data, h5py.Dataset) and data.shape == (n,)
            if name != "id" and not name.endswith("_index") and single:
                values = data[:]
                table[name] = np.array([v.decode() for v in values], object) if values.dtype.kind in "OS" else values
        subject = file["general/subject/subject_id"][()] if "general/subject/subject_id" in file else b"subject"
    table.setdefault("subject", np.full(n, subject.decode() if isinstance(subject, bytes) else str(subject), object))
    return table


def _mapped(
    table: dict[str, np.ndarray], columns: Mapping[str, ColumnRule], given: of_columns.Roles
) -> tuple[dict[str, np.ndarray], of_columns.Roles]:
    """Return columns under the names of a column map, and the roles that the names stand for."""
    n = len(next(iter(table.values()), ()))
    known = {*of_columns.NAMES, *TRIAL_ROW}
    made: dict[str, np.ndarray] = {}
    roles: dict[str, str] = {}
    stimuli = []
    for name, rule in columns.items():
        if name == "stimuli" and isinstance(rule, list | tuple):
            made.update({each: map_column(each, each, table, n) for each in rule})
            stimuli += list(rule)
            continue
        made[name] = map_column(name, rule, table, n)
        if name in known and TRIAL_ROW.get(name, name) not in ("stimuli", *roles):
            roles[TRIAL_ROW.get(name, name)] = name
        elif name not in ("task", "rt_from") and of_columns.is_numeric(made[name]):
            stimuli.append(name)
    return made | {k: v for k, v in table.items() if k not in made}, {**roles, "stimuli": tuple(stimuli), **given}


class _Builder:
    """Sessions from columns with roles."""

    def __init__(self, table: Mapping[str, np.ndarray], roles: dict[str, Any]):
        self.table, self.roles = table, roles
        self.n = len(table[str(roles["choice"])])

    def build(self) -> Behaviour:
        choice, words = self.labels("choice", self.missing_rows())
        correct, truth = self.flags("correct"), np.full(self.n, -1, np.int64)
        if "ground_truth" in self.roles:
            truth = self.labels("ground_truth", np.zeros(self.n, bool), words)[0]
        if np.isnan(correct).all() and (truth >= 0).any():
            correct = np.where(truth >= 0, choice == truth, np.nan)
        if "ground_truth" not in self.roles and len(words) == 2:
            truth = np.where(np.isnan(correct) | (choice < 0), -1, np.where(correct == 1, choice, 1 - choice))
        correct = np.where(choice < 0, np.nan, correct)
        reward = self.numbers(self.roles["reward"]) if self.is_number("reward") else self.flags("reward")
        reward = np.where(choice < 0, 0.0, np.where(np.isnan(reward), correct, reward))
        names = tuple(self.roles["stimuli"])
        stimuli = np.stack([self.numbers(name) for name in names], 1) if names else np.zeros((self.n, 0))
        stimuli, names = _with_sign(stimuli, names, truth)
        rt = self.numbers(self.roles.get("rt"))
        rt = rt / 1000 if np.isfinite(rt).any() and np.nanmedian(rt) > SLOWEST else rt
        arrays = {"choice": choice, "reward": reward, "correct": correct, "truth": truth, "stimuli": stimuli, "rt": rt}
        for role in ("state", "choice2"):
            known = role in self.roles
            arrays[role] = self.labels(role, np.zeros(self.n, bool))[0] if known else np.full(self.n, -1)
        sessions = [
            Session(subject, name, **{key: value[rows] for key, value in arrays.items()})
            for subject, name, rows in self.groups()
        ]
        used = [*self.roles["stimuli"], *(value for key, value in self.roles.items() if key != "stimuli")]
        return Behaviour(
            tuple(sessions), words, names, dict(self.roles), tuple(name for name in self.table if name not in used)
        )

    def fail(self, name: str, row: int, found: object, expected: str) -> TableError:
        value = found.item() if isinstance(found, np.generic) else found
        return TableError(f"column {name!r}, row {row + 1}: found {value!r}, expected {expected}")

    def column(self, role: str) -> tuple[str, np.ndarray]:
        name = str(self.roles.get(role, role))
        return name, self.table[name]

    def is_number(self, role: str) -> bool:
        return role in self.roles and of_columns.is_numeric(self.column(role)[1])

    def missing_rows(self) -> np.ndarray:
        """Return a mask of trials marked as missed in another column."""
        gone = np.zeros(self.n, bool)
        for role in ("correct", "reward"):
            if role in self.roles and self.column(role)[1].dtype.kind == "O":
                words = [str(value).lower() for value in self.column(role)[1].tolist()]
                gone |= np.isin(words, ["miss", "missed", "abort", "aborted", "omission"])
        if "outcome" in self.table and self.table["outcome"].dtype.kind == "O":
            gone |= np.isin([str(value).lower() for value in self.table["outcome"].tolist()], ["miss", "abort"])
        return gone

    def labels(self, role: str, missing: np.ndarray, words: tuple[str, ...] = ()) -> tuple[np.ndarray, tuple[str, ...]]:
        """Return the index of each label and the labels in order."""
        name, values = self.column(role)
        keys: list[str | float | None] = []
        for value, gone in zip(values.tolist(), missing.tolist(), strict=True):
            key = None if gone or is_missed(value) else value.strip() if isinstance(value, str) else value
            keys.append(int(key) if isinstance(key, float) and key.is_integer() else key)
        known = {key for key in keys if key is not None}
        if {-1, 1} <= known <= {-1, 0, 1} and 0 in known:  # 0 between -1 and 1 is a trial without a choice
            keys, known = [None if key == 0 else key for key in keys], known - {0}
        if len({isinstance(key, str) for key in known}) > 1 or (not words and len(known) > MOST_CHOICES):
            raise TableError(
                f"column {name!r}: found {len(known)} different values, expected 2 to {MOST_CHOICES} {role}s"
            )
        order = words or tuple(
            str(key) for key in sorted(known, key=lambda key: str(key).lower() if isinstance(key, str) else key)
        )
        index = {word: k for k, word in enumerate(order)}
        if role == "choice" and len(order) < 2:
            found = repr(order[0]) if order else "no choice"
            raise TableError(f"column {name!r}: found {found} in all rows, expected at least two different choices")
        out = np.full(self.n, -1, np.int64)
        for row, key in enumerate(keys):
            if key is not None:
                if str(key) not in index:
                    raise self.fail(name, row, key, f"one of {', '.join(order)}")
                out[row] = index[str(key)]
        return out, order

    def numbers(self, name: str | None) -> np.ndarray:
        """Return a column as numbers, nan for empty entries; all nan without a column."""
        if name is None:
            return np.full(self.n, np.nan)
        values = self.table[name]
        if values.dtype.kind in "biuf":
            numbers = values.astype(float)
        else:
            numbers = np.full(self.n, np.nan)
            for row, value in enumerate(values.tolist()):
                if not is_missed(value):
                    try:
                        numbers[row] = float(value)
                    except (TypeError, ValueError):
                        raise self.fail(name, row, value, "a number") from None
        for at in np.flatnonzero(np.isinf(numbers)):
            raise self.fail(name, int(at), numbers[at], "a finite number")
        if name in self.roles["stimuli"]:
            for at in np.flatnonzero(np.isnan(numbers)):
                if not is_missed(self.table[self.roles["choice"]][at]):
                    raise self.fail(name, int(at), values[at], "a number")
        return numbers

    def flags(self, role: str) -> np.ndarray:
        """Return a yes/no column as 1 and 0, nan for empty entries."""
        out = np.full(self.n, np.nan)
        if role not in self.roles:
            return out
        name, values = self.column(role)
        for row, value in enumerate(values.tolist()):
            if is_missed(value):
                continue
            word = str(value).strip().lower()
            if word in YES or word in NO:
                out[row] = float(word in YES)
            elif isinstance(value, float) and 0 <= value <= 1:
                out[row] = float(value > 0.5)
            else:
                raise self.fail(name, row, value, "0 or 1")
        return out

    def counted_sessions(self, subject: list[str], trial: np.ndarray) -> list[str]:
        """Return the session of each row of a table without sessions: new where repeated numbers fall."""
        repeats = {}
        for who in dict.fromkeys(subject):
            own = trial[np.array(subject) == who]
            repeats[who] = len(np.unique(own)) < np.isfinite(own).sum()
        name, count = [], dict.fromkeys(repeats, 1)
        for row, who in enumerate(subject):
            if row and who == subject[row - 1] and repeats[who] and trial[row] <= trial[row - 1]:
                count[who] += 1
            name.append(str(count[who]))
        return name

    def groups(self) -> list[tuple[str, str, np.ndarray]]:
        """Return subject, name and rows of each session, rows in the order of the trials."""
        subject = ["subject"] * self.n
        if "subject" in self.roles:
            subject = [_word(value) for value in self.column("subject")[1].tolist()]
        trial = self.numbers(self.roles["trial"]) if self.is_number("trial") else np.full(self.n, np.nan)
        if "session" in self.roles:
            name = [_word(value) for value in self.column("session")[1].tolist()]
        else:
            name = self.counted_sessions(subject, trial)
        rows: dict[tuple[str, str], list[int]] = {}
        for row, key in enumerate(zip(subject, name, strict=True)):
            rows.setdefault(key, []).append(row)
        found = []
        for (who, what), these in rows.items():
            order = np.array(these)
            if np.isfinite(trial[order]).all():
                order = order[np.argsort(trial[order], kind="stable")]
                again = np.flatnonzero(np.diff(trial[order]) == 0)
                if len(again):
                    row = int(order[again[0] + 1])
                    expected = f"each trial number once in session {what} of {who}"
                    raise self.fail(str(self.roles["trial"]), row, int(trial[row]), expected)
            found.append((who, what, order))
        return found


def _word(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _with_sign(stimuli: np.ndarray, names: Sequence[str], truth: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Give a single strength without a side the side of the correct choice, where there are two choices."""
    strength = stimuli[:, 0] if stimuli.shape[1] == 1 else None
    if strength is None or np.nanmin(strength) < 0 or truth.max(initial=-1) > 1 or not (truth >= 0).any():
        return stimuli, tuple(names)
    known = truth >= 0
    with np.errstate(invalid="ignore", divide="ignore"):  # of constant columns, which encode nothing
        encodes_side = np.corrcoef(np.nan_to_num(strength[known]), truth[known])[0, 1] ** 2 > 0.01
    if encodes_side:
        return stimuli, tuple(names)
    return np.where(truth == 1, strength, -strength)[:, None], (f"signed {names[0]}",)
