"""Members of environments that old tasks and scripts use."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurogym.compat.leniency import warn_once


def _built(name: str) -> property:
    """Flag whether the described or else the current trial has an array; set to False, the array is dropped."""

    def drop(task: OldMembers, built: bool) -> None:
        if not built:
            task._forget(name)

    return property(lambda task: task._has(name), drop)


class OldMembers:
    """Members of :class:`~neurogym.core.TrialEnv` for tasks written for older versions.

    Flags and limits of the trial under construction (``_ob_built``, ``_gt_built``, ``_tmax``), the methods that build
    its arrays (``_init_ob``, ``_init_gt``, ``_add_ob``), and epochs for periods.
    """

    _described: Any
    dt: float

    # -- the arrays of the trial ---------------------------------------------------------------------------------------

    _ob_built, _gt_built = _built("ob"), _built("gt")

    def _has(self, name: str) -> bool:
        trials = self._described if self._described is not None else self.cursor.block  # type: ignore[attr-defined]
        return trials is not None and name in trials.fields

    def _forget(self, name: str) -> None:
        """Drop an array of the described trial; the next use makes a new array."""
        if self._described is not None:
            self._described.fields.pop(name, None)

    @property
    def _tmax(self) -> float:
        """End of the last period so far (ms)."""
        known = self._described is not None or self.cursor.block is not None  # type: ignore[attr-defined]
        return float(self.this_trial.length[0] * self.dt) if known else 0.0  # type: ignore[attr-defined]

    @_tmax.setter
    def _tmax(self, value: float) -> None:
        if self._described is not None and "ob" not in self._described.fields:
            self._described.length[:] = self._described.steps(value)

    def _init_ob(self) -> None:
        """Fill the observations of the described trial with zeros."""
        self._forget("ob")
        _ = self.ob  # type: ignore[attr-defined]

    def _init_gt(self) -> None:
        """Fill the ground truth of the described trial with zeros."""
        self._forget("gt")
        _ = self.gt  # type: ignore[attr-defined]

    def _add_ob(self, value: Any, period: Any = None, where: Any = None, reset: bool = False) -> None:
        """:meth:`add_ob`, or with ``reset`` :meth:`set_ob`."""
        # not self.add_ob: a task that overrides it may call this
        (super().set_ob if reset else super().add_ob)(value, period, where)  # type: ignore[misc]

    # -- older names ---------------------------------------------------------------------------------------------------

    def add_epoch(self, *args: Any, **kwargs: Any) -> None:
        """Older name of ``add_period``."""
        self.add_period(*args, **kwargs)  # type: ignore[attr-defined]

    def in_epoch(self, period: str, t: float | None = None) -> bool:
        """Older name of ``in_period``."""
        return self.in_period(period, t)  # type: ignore[attr-defined]

    @property
    def obs(self) -> np.ndarray:
        """Older name of ``ob``."""
        return self.ob  # type: ignore[attr-defined]

    @property
    def obs_now(self) -> Any:
        """Older name of ``ob_now``."""
        return self.ob_now  # type: ignore[attr-defined]


def in_order(value: Any, period: Any) -> tuple[Any, Any]:
    """Value and period in that order, which was the other way round in early 2020: a value is never a word."""
    return (period, value) if isinstance(value, str) else (value, period)


def five_values(result: Any, task: object) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    """Result of ``_step`` in Gymnasium's form.

    Raises:
        ValueError: If it is neither five values nor the four of older versions (observation, reward, done, info).
    """
    count = len(result) if isinstance(result, tuple) else 1
    if count == 5:
        return result
    text = f"{type(task).__name__}._step returned {count} values; return five: observation, reward, terminated, "
    if count == 4 and isinstance(result[3], dict):
        warn_once(f"{text}truncated, info", "done is taken for terminated")
        ob, reward, done, info = result
        return ob, reward, bool(done), False, info
    raise ValueError(f"{text}truncated, info")


def forgive_reset(given: dict[str, Any]) -> None:
    """Warn of arguments of ``reset`` that are no more.

    Raises:
        TypeError: If an argument never existed.
    """
    for name in given:
        if name not in ("no_step", "step_fn"):
            raise TypeError(f"reset() got an unexpected keyword argument {name!r}")
        warn_once(f"reset({name}=...): reset takes no step, it returns the first observation", error=TypeError)
