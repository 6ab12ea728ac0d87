"""Typed tables of behaviour: subjects, sessions, trials; missed trials keep their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from neurogym.analysis.intervals import enough_groups
from neurogym.array_types import BoolArray, FloatArray, IntArray

NO_COLUMN: Any = np.zeros(0)  #: default of columns that a table does not have
#: Value of the columns of a session that a table does not have, and shapes after the trials of those without any value.
UNKNOWN: dict[str, float] = {
    **dict.fromkeys(("reward", "correct", "rt", "gain", "loss", "confidence", "duration"), np.nan),
    **dict.fromkeys(("truth", "state", "choice2", "cue"), -1),
    "scored": True,
}
EMPTY = {"stimuli": (0,), "pulses": (2, 0)}


@dataclass(frozen=True)
class Session:
    """Trials of a subject in order of occurrence.

    Attributes:
        subject: name of the subject.
        name: name of the session.
        choice: index of the choice, -1 for a missed trial, shape (trials,).
        reward: reward, or correctness where the table has no rewards; 0 after a miss, nan if unknown, shape (trials,).
        correct: 1 correct, 0 error, nan unknown or missed, shape (trials,).
        truth: index of the correct choice, -1 if unknown, shape (trials,).
        stimuli: values of each stimulus, shape (trials, stimuli).
        rt: reaction time in s, nan if unknown, shape (trials,).
        state: second-stage state of a two-step task (0, 1), -1 if there is none, shape (trials,).
        choice2: second-stage choice of a two-step task, -1 if there is none, shape (trials,).
        gain: amount won, 0 or more, 0 after a miss; nan where gains and losses are not separate, shape (trials,).
        loss: amount lost, 0 or less, 0 after a miss; nan where gains and losses are not separate, shape (trials,).
        cue: index of the cue that precedes the choice (as in go/no-go), -1 if there is none, shape (trials,).
        confidence: confidence judgement, nan if unknown, shape (trials,).
        scored: whether a fit counts the choice; a trial that does not count, as in a held-out block within a session,
            still leads to the state of the next one, shape (trials,).
        pulses: times of the pulses for the first and for the second choice, in s from the beginning of the stimulus,
            nan beyond the last, shape (trials, 2, pulses).
        duration: of the stimulus in s, nan if unknown, shape (trials,).
        conditions: further columns by name, numbers or words, shape (trials,) each.
    """

    subject: str
    name: str
    choice: IntArray
    reward: FloatArray = field(default_factory=lambda: NO_COLUMN)
    correct: FloatArray = field(default_factory=lambda: NO_COLUMN)
    truth: IntArray = field(default_factory=lambda: NO_COLUMN)
    stimuli: FloatArray = field(default_factory=lambda: NO_COLUMN)
    rt: FloatArray = field(default_factory=lambda: NO_COLUMN)
    state: IntArray = field(default_factory=lambda: NO_COLUMN)
    choice2: IntArray = field(default_factory=lambda: NO_COLUMN)
    gain: FloatArray = field(default_factory=lambda: NO_COLUMN)
    loss: FloatArray = field(default_factory=lambda: NO_COLUMN)
    cue: IntArray = field(default_factory=lambda: NO_COLUMN)
    confidence: FloatArray = field(default_factory=lambda: NO_COLUMN)
    scored: BoolArray = field(default_factory=lambda: NO_COLUMN)
    pulses: FloatArray = field(default_factory=lambda: NO_COLUMN)
    duration: FloatArray = field(default_factory=lambda: NO_COLUMN)
    conditions: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Fill the columns that the table does not have."""
        n = len(self.choice)
        absent = {name: np.full(n, value) for name, value in UNKNOWN.items()}
        absent |= {name: np.full((n, *shape), np.nan) for name, shape in EMPTY.items()}
        for name, values in absent.items():
            if getattr(self, name) is NO_COLUMN:
                object.__setattr__(self, name, values)

    def __len__(self) -> int:
        """Return the number of trials."""
        return len(self.choice)

    @property
    def scored_choice(self) -> IntArray:
        """Index of the choice in trials that a fit counts, -1 in others and for misses, shape (trials,)."""
        return np.where(self.scored, self.choice, -1)

    def part(self, name: str, where: slice) -> Session:
        """Return some consecutive trials as a session."""
        arrays: dict[str, Any] = {
            key: value[where] for key, value in vars(self).items() if isinstance(value, np.ndarray)
        }
        conditions = {key: value[where] for key, value in self.conditions.items()}
        return replace(self, name=name, conditions=conditions, **arrays)


def session(choice: Sequence[int] | IntArray, subject: str = "subject", name: str = "1", **columns: object) -> Session:
    """Return a session from arrays; what is not given is unknown.

    Args:
        choice: index of the choice of each trial, -1 for a miss.
        subject: name of the subject.
        name: name of the session.
        **columns: other attributes of `Session`.
    """
    conditions: Any = columns.pop("conditions", {})
    arrays: Any = {key: np.asarray(values, type(UNKNOWN.get(key, np.nan))) for key, values in columns.items()}
    return Session(subject, name, np.asarray(choice, np.int64), conditions=conditions, **arrays)


@dataclass(frozen=True)
class ColumnReading:
    """Meaning that was read from a column.

    Attributes:
        column: name of the column.
        role: role of the column; "condition" without a role of its own, "" if the column is not used.
        values: entries of the column in words.
        read_as: meaning of the entries in words.
        reason: why the column has its role: "named", the format, "name", "derived" or "file"; empty without a role.
    """

    column: str
    role: str
    values: str
    read_as: str
    reason: str = ""


@dataclass(frozen=True)
class Reading:
    """Account of how a table was read.

    Attributes:
        form: format of the file in words; empty for a table from Python.
        columns: a row for each column.
        left_out: number of rows or trials that were left out, by reason.
        notes: remarks that the user should see.
        column_map: content of a column file that reads the table in the same way.
    """

    form: str = ""
    columns: tuple[ColumnReading, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    column_map: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Behaviour:
    """Behaviour of subjects in sessions.

    Attributes:
        sessions: in the order of the table.
        choices: words of the table for the choices 0, 1, ...
        stimuli: names of the stimuli.
        roles: column of the table behind each role.
        unused: columns of the table without a role.
        reading: how the table was read; None for tables that were not read.
    """

    sessions: tuple[Session, ...]
    choices: tuple[str, ...] = ("0", "1")
    stimuli: tuple[str, ...] = ()
    roles: dict[str, object] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    reading: Reading | None = None

    @property
    def subjects(self) -> tuple[str, ...]:
        """Names of the subjects, in order of appearance."""
        return tuple(dict.fromkeys(each.subject for each in self.sessions))

    @property
    def n_trials(self) -> int:
        """Number of trials, misses included."""
        return sum(map(len, self.sessions))

    @cached_property
    def padded(self) -> Padded:
        """The sessions as rectangular arrays."""
        return padded(self.sessions)

    def only(self, sessions: Sequence[Session]) -> Behaviour:
        """Return a table with the given sessions."""
        return replace(self, sessions=tuple(sessions))

    def of(self, subject: str) -> Behaviour:
        """Return the sessions of a given subject."""
        return self.only([each for each in self.sessions if each.subject == subject])

    def by_subject(self) -> dict[str, Behaviour]:
        """Return the sessions of each subject, by name."""
        groups: dict[str, list[Session]] = {}
        for each in self.sessions:
            groups.setdefault(each.subject, []).append(each)
        return {name: self.only(sessions) for name, sessions in groups.items()}

    def join(self, name: str) -> np.ndarray:
        """Return an attribute of all sessions, concatenated."""
        return np.concatenate([getattr(each, name) for each in self.sessions])

    def session_numbers(self) -> IntArray:
        """Return the number of the session of each trial, in the order of `join`."""
        return np.repeat(np.arange(len(self.sessions)), [len(each) for each in self.sessions])

    def interval_groups(self, trials: np.ndarray) -> IntArray | None:
        """Return the subject of each of some trials, or its session where subjects are few, as groups of intervals.

        Args:
            trials: mask of the trials, in the order of `join`.

        Returns:
            None where sessions are few as well, so that intervals take trials as independent.
        """
        session = self.session_numbers()[trials]
        present = np.unique(session)
        subject = np.array([self.sessions[k].subject for k in present])
        labels = enough_groups(subject, present)
        return None if labels is None else labels[np.searchsorted(present, session)]

    def condition(self, name: str) -> np.ndarray:
        """Return a further column of the table of all sessions, concatenated.

        Raises:
            KeyError: if there is no such column.
        """
        return np.concatenate([each.conditions[name] for each in self.sessions])

    def blocks(self, n: int) -> list[IntArray]:
        """Return the number of the block of each trial of each session, shape (trials,) each.

        Blocks are the sessions; where these are fewer than ``n``, consecutive parts of each session with equal numbers
        of scored trials, for a total of at least ``n`` blocks.
        """
        cuts = -(-n // len(self.sessions)) if len(self.sessions) < n else 1
        numbers: list[IntArray] = []
        for k, each in enumerate(self.sessions):
            before: IntArray = np.cumsum(each.scored) - each.scored
            ends = np.linspace(0, int(each.scored.sum()), cuts + 1).astype(int)[1:-1]
            numbers.append(np.asarray(k * cuts + np.searchsorted(ends, before, side="right"), np.int64))
        return numbers


@dataclass(frozen=True)
class Padded:
    """Sessions as rectangular arrays; beyond the end of a session the choice is -1.

    Attributes:
        choice: shape (sessions, trials).
        reward: unknown rewards are 0, shape (sessions, trials).
        stimuli: unknown values are 0, shape (sessions, trials, stimuli).
        state: second-stage state, shape (sessions, trials).
        choice2: second-stage choice, shape (sessions, trials).
        gain: unknown gains are 0, shape (sessions, trials).
        loss: unknown losses are 0, shape (sessions, trials).
        cue: shape (sessions, trials).
        scored: whether a fit counts the choice, shape (sessions, trials).
        lengths: number of trials of each session.
    """

    choice: IntArray
    reward: FloatArray
    stimuli: FloatArray
    state: IntArray
    choice2: IntArray
    gain: FloatArray
    loss: FloatArray
    cue: IntArray
    scored: BoolArray
    lengths: IntArray


#: Values that fill rectangular arrays beyond the end of a session.
PADDING: dict[str, float] = {
    **dict.fromkeys(("choice", "state", "choice2", "cue"), -1),
    **dict.fromkeys(("reward", "stimuli", "gain", "loss"), 0),
    "scored": False,
}


def rectangle(pieces: Sequence[np.ndarray], value: float) -> np.ndarray:
    """Return arrays of different sizes as one array with a new first axis, filled up with a value."""
    out = np.full((len(pieces), *np.max([piece.shape for piece in pieces], axis=0)), value, pieces[0].dtype)
    for row, piece in zip(out, pieces, strict=True):
        row[tuple(map(slice, piece.shape))] = piece
    return out


def padded(sessions: Sequence[Session]) -> Padded:
    """Return sessions as rectangular arrays."""
    arrays = {name: rectangle([getattr(each, name) for each in sessions], value) for name, value in PADDING.items()}
    filled = {name: np.nan_to_num(values) if values.dtype.kind == "f" else values for name, values in arrays.items()}
    return Padded(**filled, lengths=np.array([len(each) for each in sessions]))
