"""Gathering trials during a run and writing parts of the trial table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.analysis.trial_tables import Table
from ngym_cli.errors import UserError
from ngym_cli.runs.trial_table import (
    COLUMNS,
    FIXATION,
    PREVIOUS,
    concatenate,
    nullable,
    parts_in,
    read_trials,
    write_table,
)

if TYPE_CHECKING:
    from ngym_cli.config.model import RunConfig
    from ngym_cli.environments.properties import TaskProperties

#: Rows held in memory before a part is written.
ROWS_PER_PART = 50_000

#: Columns of trials that ended together, and the step of the run.
Chunk = tuple[Mapping[str, np.ndarray], int]


class TrialRecorder:
    """Collector of finished trials that writes ``part-*.parquet``.

    Args:
        folder: folder of the parts; None keeps the trials in memory only.
        task: id of the task, for trials that do not say their own.
        dt: time step in ms.
        n_envs: number of environments.
        rt_from: name of the period that reaction times count from, for trials that do not say their own.
        linked: whether neighbouring trials of an environment tell about each other, because the task carries something
            across trials or the agent's state is carried; intervals then come from sessions (column ``linked``).
        fixation_in: periods in which the task asks for fixation, in words.

    Attributes:
        constants: columns that are the same for every trial from now on (the stage of a curriculum).
        trials: number of trials recorded so far.
    """

    def __init__(
        self,
        folder: Path | None,
        task: str,
        dt: float,
        n_envs: int,
        rt_from: str = "",
        linked: bool = False,
        fixation_in: str = "",
    ):
        self.folder = folder
        self.defaults = {"task": task, "rt_from": rt_from, FIXATION: fixation_in}
        self.dt = dt
        self.constants: dict[str, object] = {"linked": True} if linked else {}
        self.trials = 0
        self.parts = 0
        self._fresh: list[Chunk] = []
        self._unwritten: list[Table] = []
        self._last: dict[str, list[object]] = {name: [None] * n_envs for name in PREVIOUS}
        self._extra: list[str] = []  # columns beyond the usual ones, in the order in which they appeared in the run

    @classmethod
    def of(cls, folder: Path | None, config: RunConfig, properties: TaskProperties, n_envs: int) -> TrialRecorder:
        """Return the recorder of the trials of a configuration, given the properties of the task."""
        linked = properties.history_dependent or config.reset_state != "trial"
        return cls(folder, config.task, properties.dt, n_envs, properties.rt_from, linked, properties.fixation_in)

    def describe(self, stage: int, task: str, properties: TaskProperties, anew: bool = False) -> None:
        """Set the stage of a curriculum to which the coming trials belong.

        Args:
            stage: number of the stage.
            task: id of its task.
            properties: properties of the task.
            anew: whether sessions begin anew.
        """
        self.constants["stage"] = stage
        self.defaults = {"task": task, "rt_from": properties.rt_from, FIXATION: properties.fixation_in}
        self.dt = properties.dt
        if anew:
            self._last = {name: [None] * len(values) for name, values in self._last.items()}

    def add(self, finished: Mapping[str, np.ndarray] | None, step: int) -> None:
        """Add the trials that ended in a step of the batch.

        Args:
            finished: equally long arrays, one entry per trial; None when no trial ended.
            step: steps taken in the run so far, over all environments, this one included.
        """
        if finished is not None:
            self._fresh.append((finished, step))

    def collect(self) -> Table:
        """Return the trials added since the last call as complete rows, and queue the rows for writing."""
        table = self._complete(self._fresh)
        self._fresh = []
        if len(table["trial"]):
            self._unwritten.append(table)
            if sum(len(unwritten_rows["trial"]) for unwritten_rows in self._unwritten) >= ROWS_PER_PART:
                self.flush()
        return table

    def flush(self) -> None:
        """Write unwritten trials as a single part."""
        if self._fresh:
            self.collect()
        if self._unwritten:
            self._write()

    def _write(self) -> None:
        if self.folder is not None:
            self._unwritten = [concatenate(self._unwritten)]  # frees the pieces before the Arrow table is made
            write_table(self._unwritten[0], self._part(self.parts))
            self.parts += 1
        self._unwritten = []

    def _require_fitting(self, fresh: list[Chunk], last: dict[str, list[object]]) -> None:
        """Refuse trials that do not match the environments."""
        n_envs = len(self._last[PREVIOUS[0]])
        if self.trials < 0 or self.parts < 0 or any(len(values) != n_envs for values in last.values()):
            raise ValueError(f"trials of other than {n_envs} environments")
        for chunk, _ in fresh:
            envs = np.asarray(chunk["env"])
            lengths = {len(values) for values in chunk.values()}
            if len(lengths) != 1 or envs.ndim != 1 or envs.dtype.kind not in "iu":
                raise ValueError("columns of trials that do not belong together")
            if len(envs) and not 0 <= envs.min() <= envs.max() < n_envs:
                raise ValueError(f"a trial of environment {envs.max()} of {n_envs}")

    def require_parts(self) -> None:
        """Raise an error if written parts are missing.

        Raises:
            UserError: if a part is missing.
        """
        existing = {path.name for path in parts_in(self.folder)} if self.folder is not None else set()
        for number in range(self.parts if self.folder is not None else 0):
            if self._part(number).name not in existing:
                raise UserError(f"damaged run folder: {self._part(number)} is missing")

    def _part(self, number: int) -> Path:
        return Path(self.folder or "") / f"part-{number:06d}.parquet"

    def count(self, env: int) -> int:
        """Return the number of trials of an environment recorded so far."""
        tables = [chunk for chunk, _ in self._fresh] + list(self._unwritten)
        if self.parts and self.folder is not None:
            tables.append(read_trials(self.folder, ["env"]))
        return sum(int(np.sum(table["env"] == env)) for table in tables)

    def state(self) -> dict[str, object]:
        """Return the state of coming rows, as plain data and arrays; complete rows are written first."""
        if self._unwritten:
            self._write()
        return {
            "trials": self.trials,
            "parts": self.parts,
            "constants": self.constants,
            "fresh": [[dict(chunk), step] for chunk, step in self._fresh],
            "last": self._last,
            "extra": self._extra,
        }

    def set_state(self, state: Mapping[str, Any] | None) -> None:
        """Restore the result of ``state``, or start afresh; later parts are removed."""
        if state is not None:
            self.trials, self.parts = int(state["trials"]), int(state["parts"])
            self.constants = dict(state["constants"])
            fresh = [(chunk, int(step)) for chunk, step in state["fresh"]]
            last = {name: list(state["last"][name]) for name in PREVIOUS}
            self._require_fitting(fresh, last)
            self._fresh, self._last = fresh, last
            self._extra = [str(name) for name in state.get("extra", ())]
            self.require_parts()
        if self.folder is not None and self.folder.is_dir():
            for path in parts_in(self.folder):
                if int(path.stem[5:]) >= self.parts:
                    path.unlink()

    def _complete(self, chunks: list[tuple[Mapping[str, np.ndarray], int]]) -> Table:
        """Join the reports of the environments and add the columns known to the run."""
        counts = [len(chunk["env"]) for chunk, _ in chunks]
        n = sum(counts)
        joined = concatenate([dict(chunk) for chunk, _ in chunks])
        joined["trial"] = np.arange(self.trials, self.trials + n)
        joined["step"] = np.repeat([step for _, step in chunks], counts) if chunks else np.zeros(0)
        joined["length_ms"] = joined.get("steps", np.zeros(n)) * float(self.dt)
        self.trials += n
        for name, value in {**self.defaults, **self.constants}.items():
            if name not in joined:
                joined[name] = np.full(n, value, object if isinstance(value, str) else None)
        table = {name: _column(joined.pop(name, None), kind, n) for name, kind in COLUMNS.items()}
        self._extra += [name for name in joined if name not in self._extra]
        table.update({name: joined[name] for name in self._extra if name in joined})
        self._add_previous(table)
        return table

    def _add_previous(self, table: Table) -> None:
        order = np.argsort(table["env"], kind="stable")
        places = list(zip(order.tolist(), table["env"][order].tolist(), strict=True))
        for name in PREVIOUS:
            now, previous, last = list(table[name]), [None] * len(order), self._last[name]
            for row, env in places:
                previous[row], last[env] = last[env], now[row]
            table[f"prev_{name}"] = nullable(previous)


def _column(values: np.ndarray | None, kind: type | None, n: int) -> np.ndarray:
    """Return a column with the right type; a missing column is filled with empty values."""
    if values is None:
        return np.full(n, np.nan) if kind is None else np.full(n, None if kind is object else 0, kind)
    if kind is not object and values.dtype == object and np.ndim(values[0] if n else 0):
        values = np.stack(list(values))
    return values if kind is None or values.ndim > 1 else values.astype(kind)
