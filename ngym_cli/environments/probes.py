"""Wrappers that an evaluation puts around a task: when periods begin, which is on, and conditions in equal numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import gymnasium as gym
import numpy as np

from neurogym.core import TrialWrapper
from neurogym.sampling.distributions import Distribution
from neurogym.trials import Trials
from neurogym.wrappers.hooks import Hooks
from ngym_cli.environments.properties import inner_task
from ngym_cli.errors import UserError, unknown

#: Column with the time from the start of a trial at which a period begins, ms.
ONSET = "onset_"

#: Trials drawn to see which combinations of conditions a task has, and how many at a time.
TRIALS_SEEN, TRIALS_AT_ONCE = 4096, 128


class PeriodProbe(TrialWrapper):
    """Adds the onset of each period (ms) to the trial's record, and knows in which period each environment is.

    Onsets are nan in tasks whose periods follow what the agent does, since the record is written before the trial.

    Args:
        env: the whole stack.
        periods: periods to watch; see ``within``.

    Attributes:
        within: for each watched period whether it is on at the row observed last: an array (environments,) on a batch
            that is stepped as one, else a truth value.
    """

    metadata = {"description": "adds period onsets to the trial's record"}
    hooks = Hooks(changes=("record",), shows="nothing more; the masks of periods are updated")

    def __init__(self, env: gym.Env, periods: Sequence[str] = ()):
        super().__init__(env)
        self.periods = tuple(periods)
        self.within: dict[str, np.ndarray] = {}

    def revise(self, trials: Trials) -> None:
        """Write the onsets down, and mark the rows of the watched periods."""
        is_fixed = not inner_task(self).traits.observation_depends_on_step
        for name, start in trials.starts.items():
            trials.info[ONSET + name] = start * (float(trials.dt) if is_fixed else np.nan)
        for name in self.periods:
            if name not in trials.starts:
                raise UserError(str(unknown("period", name, trials.starts)))
            field = trials.fields["within_" + name] = np.zeros(trials.total, bool)
            field[trials.rows(name).index] = True

    def observe(self, ob: np.ndarray, action: object, reward: object, field: Callable[[str], np.ndarray]) -> np.ndarray:
        """Update the masks of environments in each watched period."""
        self.within = {name: field("within_" + name) for name in self.periods}
        return ob


class Balanced(TrialWrapper):
    """Cycles through the combinations of a task's conditions, so that each is met equally often, in random order.

    Args:
        env: the whole stack; conditions that a wrapper in it decides are left to it.
        cells: the combinations, condition to an array whose first axis is the combination.
        index: index of this environment in the batch.
        of: number of environments in the batch, which together present each combination equally often.
        seed: of the order.
    """

    metadata = {"description": "all combinations of conditions equally often"}
    hooks = Hooks(changes=("conditions",), history_dependent=True)

    def __init__(self, env: gym.Env, cells: dict[str, np.ndarray], index: int = 0, of: int = 1, seed: int = 0):
        super().__init__(env)
        self.cells, self.place, self.of, self.seed = cells, index, of, seed
        self.size = len(next(iter(cells.values())))
        self._next = 0

    def start_session(self) -> None:
        """Begin with the first combination."""
        self._next = 0

    def plan(self, n: int, conditions: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Conditions of the next trials."""
        trial = (self._next + np.arange(n)) * self.of + self.place
        self._next += n
        cell = np.empty(n, np.int64)
        for cycle in np.unique(trial // self.size):
            rows = trial // self.size == cycle
            order = np.random.default_rng([self.seed, int(cycle)]).permutation(self.size)
            cell[rows] = order[trial[rows] % self.size]
        return {**{name: values[cell] for name, values in self.cells.items()}, **conditions}


def combinations(env: gym.Env, task: str) -> dict[str, np.ndarray]:
    """Return the combinations of conditions that occur in a task, from trials drawn for the purpose.

    Args:
        env: the stack; it is seeded and reset.
        task: its name, for messages.

    Returns:
        Condition to values, one entry per combination; conditions drawn from a continuous distribution, and those that
        wrappers decide, are left out.

    Raises:
        UserError: if trials follow from those before, or no condition takes a few known values.
    """
    inner = inner_task(env)
    if inner.metadata.get("history_dependent"):
        raise UserError(f"{task} cannot be balanced: its conditions follow from trial to trial")
    decided = {name for wrapper in inner.wrappers for name in wrapper.decides}
    names = [name for name, values in inner.conditions.items() if name not in decided and not _continuous(values)]
    env.reset(seed=0)
    size = TRIALS_AT_ONCE if inner.session.stack.ahead else 1
    blocks = [inner.make_trials(size).info for _ in range(TRIALS_SEEN // TRIALS_AT_ONCE)]
    names = [name for name in names if all(name in block for block in blocks)]
    columns = {name: np.concatenate([np.asarray(block[name]) for block in blocks]) for name in names}
    columns = {name: values for name, values in columns.items() if values.dtype != object}
    if not columns:
        raise UserError(f"{task} cannot be balanced: none of its conditions takes a few known values")
    codes = [np.unique(values, axis=0, return_inverse=True)[1].ravel() for values in columns.values()]
    _, first = np.unique(np.stack(codes, axis=1), axis=0, return_index=True)
    return {name: values[first] for name, values in columns.items()}


def _continuous(values: object) -> bool:

    return isinstance(values, Distribution)
