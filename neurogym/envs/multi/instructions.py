"""Instructions: a vector for each of several tasks, shown in place of a one-hot rule input."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import gymnasium as gym
import numpy as np

from neurogym import spaces
from neurogym.messages.names import unknown

if TYPE_CHECKING:
    from neurogym.trials import Trials

#: A file (.npy, .npz), a table (tasks x dimensions), or the number of dimensions of random vectors.
Instructions: TypeAlias = str | Path | int | Sequence[Sequence[float]] | np.ndarray

#: Seed of random instructions.
SEED = 0


def read_instructions(instructions: Instructions, n: int) -> np.ndarray:
    """Instruction vectors of several tasks (Riveland & Pouget 2024, 10.1038/s41593-024-01607-5).

    Args:
        instructions: A file (.npy; .npz with one array), a table (tasks x dimensions), or the number of dimensions of
            random vectors of length 1, the same on every call.
        n: Number of tasks.

    Returns:
        Array of shape (tasks, dimensions), float32.

    Raises:
        ValueError: If the file cannot be read, or the table does not have a row of finite numbers for each task.

    Example:
        >>> read_instructions(3, 2).shape
        (2, 3)
    """
    if isinstance(instructions, int | np.integer) and not isinstance(instructions, bool):
        if instructions < 1:
            raise ValueError(f"instructions need at least 1 dimension, got {instructions}")
        drawn = np.random.default_rng(SEED).standard_normal((n, instructions))
        return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
    source = f"instructions {instructions}" if isinstance(instructions, str | Path) else "instructions"
    table = _read(Path(instructions)) if isinstance(instructions, str | Path) else instructions
    try:
        rows = np.asarray(table, np.float32)
    except (TypeError, ValueError):
        raise ValueError(f"{source} must be a table of numbers (tasks x dimensions), a file or a number") from None
    if rows.ndim != 2 or len(rows) != n or not rows.shape[1]:
        raise ValueError(f"{source} must have a row for each of the {n} tasks, got an array of shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError(f"{source} must be finite numbers")
    return rows


def _read(path: Path) -> np.ndarray:
    """Array of a file."""
    if path.suffix not in (".npy", ".npz"):
        raise ValueError(f"instructions must be a .npy or .npz file, a table or a number of dimensions, got '{path}'")
    try:
        table = np.load(path, allow_pickle=False)
        if not isinstance(table, np.lib.npyio.NpzFile):
            return table
        with table:
            if len(table.files) != 1:
                raise ValueError(f"there are {len(table.files)} arrays, expected one")
            return table[table.files[0]]
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"instructions {path} cannot be read: {reason}") from None


class RuleInput:
    """Channels that show which of several tasks runs.

    Args:
        instructions: Vectors of the tasks, see :func:`read_instructions`; None: one-hot.
        n: Number of tasks.
        first: First of the channels.

    Raises:
        ValueError: See :func:`read_instructions`.
    """

    def __init__(self, instructions: Instructions | None, n: int, first: int):
        self.rows = None if instructions is None else read_instructions(instructions, n)
        self.n, self.first = n, first

    def appended_to(self, space: gym.Space[object]) -> spaces.Box:
        """Space with the channels, named ``task``."""
        if self.rows is None:
            return spaces.append_channels(space, "task", self.n, 0, 1)
        low, high = float(self.rows.min()), float(self.rows.max())
        return spaces.append_channels(space, "task", self.rows.shape[1], low, high)

    def show(self, trials: Trials, source: np.ndarray) -> None:
        """Write the channels of trials whose tasks have the indices ``source``, shape (trials,)."""
        rows = trials.rows()
        task = source[rows.trial]
        if self.rows is None:
            trials.ob[rows.index, self.first + task] = 1
        else:
            trials.ob[rows.index, self.first : self.first + self.rows.shape[1]] = self.rows[task]

    def tells(self, tasks: np.ndarray) -> bool:
        """Whether the tasks of these indices differ in the channels."""
        return self.rows is None or len(np.unique(self.rows[tasks], axis=0)) == len(tasks)


def index_by_name(names: Sequence[str]) -> dict[str, int]:
    """Return the index of each task by the name and by its middle part ("ctxdm1" of "yang19.ctxdm1-v0")."""
    short = {name.rpartition(".")[2].partition("-v")[0]: i for i, name in enumerate(names)}
    return {**short, **{name: i for i, name in enumerate(names)}}


def without(names: Sequence[str], held_out: str | Sequence[str] | None) -> np.ndarray:
    """Indices of the tasks that are presented, shape (presented,).

    Args:
        names: All tasks.
        held_out: Tasks that are not presented, None for none; see :func:`index_by_name`.

    Raises:
        ValueError: If a task does not exist, or none is left.
    """
    index = index_by_name(names)
    left = set(range(len(names)))
    for name in [held_out] if isinstance(held_out, str) else held_out or ():
        if name not in index:
            raise ValueError(unknown("task", str(name), names))
        left.discard(index[name])
    if not left:
        raise ValueError("all tasks are held out; at least one must be presented")
    return np.array(sorted(left), np.int64)
