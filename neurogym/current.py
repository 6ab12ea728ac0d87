"""The trial that an environment is in, or is describing: its time, periods, observations and ground truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.trials import InvalidOperationError, Trials
from neurogym.utils.generator import LegacyGenerator, generator_of
from neurogym.utils.names import unknown


class BaseEnv(gym.Env):
    """A Gymnasium environment with a time step.

    Args:
        dt: Time step in ms.

    Raises:
        ValueError: If ``dt`` is not a positive number.
    """

    metadata: dict[str, Any] = {"render_modes": []}
    observation_space: Any
    action_space: Any

    def __init_subclass__(cls, **kwargs: Any):
        """Let tasks leave out the metadata that Gymnasium asks for."""
        super().__init_subclass__(**kwargs)
        if "metadata" in cls.__dict__:
            cls.metadata = {"render_modes": [], **cls.metadata}

    def __init__(self, dt: float = 100):
        if not np.isscalar(dt) or isinstance(dt, str) or not np.isfinite(dt) or dt <= 0:
            raise ValueError(f"dt must be a positive number of ms, got {dt!r}")
        self.dt = dt
        self.performance: float = 0.0
        self.rewards: dict[str, Any] = {}

    @property
    def rng(self) -> LegacyGenerator:
        """The environment's one generator, which also answers to the names of the old ``RandomState``; can be set."""
        return LegacyGenerator(self.np_random)

    @rng.setter
    def rng(self, generator: Any) -> None:
        self.np_random = generator_of(generator)

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Start the generator and the action space from ``seed``; ``reset(seed=seed)`` does the same and more."""
        self.np_random = np.random.Generator(np.random.PCG64(seed))
        self._np_random_seed = -1 if seed is None else seed
        if hasattr(self, "action_space"):  # an old constructor may seed before it makes the spaces
            self.action_space.seed(seed)
        return [seed]

    def render(self) -> None:
        """Nothing is drawn; see :func:`neurogym.utils.plotting.plot_env`."""


class CurrentTrial(BaseEnv):
    """What scripts and tasks say about one trial, read from and written to the rows of its block."""

    def __init__(self, dt: float = 100):
        super().__init__(dt)
        self.tmax_default: float = 10_000
        self._block: Any = None  # the block of the current trial, its place there and its rows
        self._at = 0
        self._first = self._row = self._end = 0
        self._gt: np.ndarray | None = None
        self._building: Trials | None = None  # the block that _new_trial is describing

    @property
    def ob_now(self) -> Any:
        """Stands for the observation of the row that is current after the step."""
        return NOW

    @property
    def gt_now(self) -> Any:
        """Ground truth at the current row."""
        if self._gt is None:
            raise AttributeError(f"{type(self).__name__} has no ground truth")
        return self._gt[self._row]

    @property
    def t_ind(self) -> int:
        """Step within the trial."""
        return self._row - self._first

    @property
    def t(self) -> float:
        """Time within the trial (ms)."""
        return (self._row - self._first) * self.dt

    @property
    def tmax(self) -> float:
        """Length of the current trial (ms); can be set to end it sooner."""
        return (self._end - self._first) * self.dt if self._block is not None else self.tmax_default

    @tmax.setter
    def tmax(self, value: float) -> None:
        steps = max(1, int(value / self.dt + 1e-6))
        if self._building is not None or self._block is None:
            self.tmax_default = value
        else:
            self._end = min(self._first + steps, self._first + int(self._block.length[self._at]))

    def _limits(self) -> tuple[Trials, int]:
        trials = self._building if self._building is not None else self._block
        if trials is None:
            raise InvalidOperationError("there is no trial yet: call reset() or new_trial() first")
        return trials, 0 if self._building is not None else self._at

    @property
    def start_ind(self) -> dict[str, int]:
        """First step of each period."""
        trials, k = self._limits()
        return {name: int(start[k]) for name, start in trials.starts.items()}

    @property
    def end_ind(self) -> dict[str, int]:
        """Step after the last of each period."""
        trials, k = self._limits()
        return {name: int(end[k]) for name, end in trials.ends.items()}

    @property
    def start_t(self) -> dict[str, float]:
        """Start of each period (ms)."""
        return {name: step * self.dt for name, step in self.start_ind.items()}

    @property
    def end_t(self) -> dict[str, float]:
        """End of each period (ms)."""
        return {name: step * self.dt for name, step in self.end_ind.items()}

    def in_period(self, period: str, t: float | None = None) -> bool:
        """Whether time ``t`` (ms; default: now) lies in a period, start included, end excluded."""
        trials, k = self._limits()
        if period not in trials.starts:
            raise ValueError(unknown("period", period, trials.starts))
        step = self._row - self._first if t is None else t / self.dt
        return bool(trials.starts[period][k] <= step < trials.ends[period][k])

    def _view(self, name: str) -> np.ndarray:
        trials, k = self._limits()
        first = int(trials.offset[k]) if trials._rows or name in trials.fields else 0
        array = trials.ob if name == "ob" else trials.gt
        first = int(trials.offset[k])
        return array[first : first + int(trials.length[k])]

    @property
    def ob(self) -> np.ndarray:
        """Observations of the current trial, shape (steps, *observation shape); writable."""
        return self._view("ob")

    @ob.setter
    def ob(self, value: np.ndarray) -> None:
        self.ob[...] = value

    @property
    def gt(self) -> np.ndarray:
        """Ground truth of the current trial, shape (steps, *action shape); writable."""
        if self._building is None and self._gt is None:
            raise AttributeError(f"{type(self).__name__} has no ground truth")
        return self._view("gt")

    @gt.setter
    def gt(self, value: np.ndarray) -> None:
        self.gt[...] = value

    # -- describing one trial (templates, wrappers) -------------------------------------------------------------------

    def add_period(
        self, period: Any, duration: Any = None, before: Any = None, after: Any = None, **kwargs: Any
    ) -> None:
        """Add a period to the trial being described; see :meth:`neurogym.trials.Trials.add_period`."""
        if self._building is None:
            raise InvalidOperationError("add_period: the trial is complete; periods are added in _new_trial")
        self._building.add_period(period, duration, before, after, **kwargs)

    def sample_time(self, period: str) -> float:
        """A duration of a period (ms), drawn from ``timing`` and floored to whole steps."""
        trials = self._building if self._building is not None else Trials(self, 1)  # type: ignore[arg-type]
        return float(trials.sample_time(period)[0])

    def _span(self, period: str) -> slice:
        start, end = self.start_ind, self.end_ind
        if period not in start:
            raise ValueError(unknown("period", period, start))
        return slice(start[period], end[period])

    def view_ob(self, period: str | None = None) -> np.ndarray:
        """Writable rows of the observations in a period."""
        return self.ob if period is None else self.ob[self._span(period)]

    def view_groundtruth(self, period: str | None = None) -> np.ndarray:
        """Writable rows of the ground truth in a period."""
        return self.gt if period is None else self.gt[self._span(period)]

    def _edit_ob(self, change: Callable[[np.ndarray], Any], period: Any, where: Any) -> None:
        for name in [period] if period is None or isinstance(period, str) else period:
            view = self.view_ob(name)
            columns = self._limits()[0]._target(where, self.observation_space, "channel")
            if columns is None:
                view[...] = change(view)
            else:
                view[:, columns] = change(view[:, columns])

    def add_ob(self, value: Any, period: Any = None, where: Any = None) -> None:
        """Add to the observations of the current trial.

        Args:
            value: A number, an array that broadcasts against (rows, channels), or a callable of the present block.
            period: Name, names, or None for the whole trial.
            where: Label or indices of channels; None for all.
        """
        self._edit_ob(lambda block: block + (value(block) if callable(value) else np.asarray(value)), period, where)

    def set_ob(self, value: Any, period: Any = None, where: Any = None) -> None:
        """Like :meth:`add_ob`, but replaces what was there."""
        self._edit_ob(lambda block: value(block * 0) if callable(value) else np.asarray(value), period, where)

    def add_randn(self, mu: float = 0, sigma: float = 1, period: Any = None, where: Any = None) -> None:
        """Add Gaussian noise; ``sigma`` is the s.d. per step (divide by sqrt(dt) yourself)."""
        self._edit_ob(
            lambda block: block + mu + sigma * self.np_random.standard_normal(block.shape),
            period,
            where,
        )

    def set_groundtruth(self, value: Any, period: Any = None, where: str | None = None) -> None:
        """Set the right action in a period; with ``where``, ``value`` indexes the list under that label."""
        if where is not None:
            value = np.asarray(self._limits()[0]._target(where, self.action_space, "action"))[value]
        for name in [period] if period is None or isinstance(period, str) else period:
            self.view_groundtruth(name)[...] = value


class _Now:
    """Placeholder for the observation that is current after the step."""

    def __repr__(self) -> str:
        return "<observation of the current row>"

    def __deepcopy__(self, memo: dict) -> _Now:
        return self

    def __reduce__(self) -> str:
        return "NOW"


NOW = _Now()
