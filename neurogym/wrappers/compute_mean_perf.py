"""Flags that signal an exceeded performance to inner wrappers, and phases that advance with a flag."""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import LEAVES
from neurogym.metadata import WrapperInfo
from neurogym.parameters.arguments import Count, Whole
from neurogym.trials import Info, Trials
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.hooks import Hooks
from neurogym.wrappers.sampling import choices_of, remembered


class ComputeMeanPerf(TrialWrapper):
    """Keep the mean performance of the last trials and pass on flags that mark exceeded thresholds.

    The trial's record has the mean before it as ``compute_mean_perf_mean`` (0 until the window is full).

    Args:
        env: The task, with the wrappers that look at the flags (``PerfPhases``) inside.
        perf_th: Thresholds.
        perf_w: Trials in the window.
        key: Name of the flag of each threshold.
        cond_on_coh: Whether only trials of coherence 0 count.

    Raises:
        ValueError: If there is not one flag per threshold or the window is empty.
    """

    metadata = WrapperInfo(order="outside perf_phases")
    hooks = Hooks(changes=("conditions", "record"), follows_agent=True)
    state = ("_window", "mean_perf")
    ceiling_effect = LEAVES
    decides = ("the performance flags",)

    def __init__(
        self,
        env: gym.Env,
        perf_th: Sequence[float] | float = (0.7,),
        perf_w: Count = 100,
        key: Sequence[str] | str = ("above_perf_th",),
        cond_on_coh: bool = False,
    ):
        self.perf_th = [float(th) for th in np.atleast_1d(perf_th)]
        self.key = [key] if isinstance(key, str) else list(key)
        if len(self.key) != len(self.perf_th):
            raise ValueError(f"expected one key per threshold, got {key!r} and {perf_th!r}")
        super().__init__(env)
        self.perf_w, self.cond_on_coh = perf_w, cond_on_coh
        self.start_session()

    def start_session(self) -> None:
        """Reset the record of the agent's performance."""
        self._window: list[float] = []
        self.mean_perf = 0.0

    def trial_ended(self, info: Info) -> None:
        """Count the trial."""
        if not self.cond_on_coh or info["trial"].get("coh") == 0:
            self._window = remembered(self._window, float(info["performance"]), self.perf_w)
        self.mean_perf = float(np.mean(self._window)) if len(self._window) == self.perf_w else 0.0

    def plan(self, n: int, conditions: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Set the flags."""
        flags = {key: np.full(n, self.mean_perf > th) for key, th in zip(self.key, self.perf_th, strict=True)}
        accepts = self.task.session.stack.accepts
        return {**conditions, **{key: flag for key, flag in flags.items() if key in accepts}}

    def revise(self, trials: Trials) -> None:
        """Record the mean."""
        trials.info["compute_mean_perf_mean"] = np.full(trials.n, self.mean_perf)


class PerfPhases(TrialWrapper):
    """Count phases: advance whenever a flag is set and enough trials have passed since the last advance.

    A ``Variable_nch`` inside takes the phase as the largest number of choices. The trial's record has it as
    ``perf_phases_phase``.

    Args:
        env: The task, wrapped or not.
        start_ph: First phase. Default 3, or the number of choices if that is less.
        end_ph: Last phase. Default the number of choices.
        step_ph: Phases to advance at a time.
        wait: Trials between changes.
        flag_key: Flag that a ``ComputeMeanPerf`` outside sets.

    Raises:
        ValueError: If the phases are not in order.
    """

    metadata = WrapperInfo(order="inside compute_mean_perf, outside variable_nch")
    hooks = Hooks(changes=("conditions", "record"), follows_agent=True, history_dependent=True)
    state = ("phase", "_since")
    ceiling_effect = LEAVES
    decides = ("phase",)
    inside_of = ("ComputeMeanPerf",)

    def __init__(
        self,
        env: gym.Env,
        start_ph: Whole | None = None,
        end_ph: Whole | None = None,
        step_ph: Count | None = None,
        wait: Whole = 100,
        flag_key: str = "above_perf_th",
    ):
        self.end_ph = len(choices_of(env, "PerfPhases")) if end_ph is None else end_ph
        self.start_ph = min(3, self.end_ph) if start_ph is None else start_ph
        self.step_ph, self.wait, self.flag_key = 1 if step_ph is None else step_ph, wait, flag_key
        self.accepts = (flag_key,)  # type: ignore[misc]
        if self.start_ph > self.end_ph:
            raise ValueError(f"expected start_ph <= end_ph, got {self.start_ph} and {self.end_ph}")
        super().__init__(env)
        self.start_session()

    def start_session(self) -> None:
        """Begin with the first phase."""
        self.phase, self._since = self.start_ph, 0

    def plan(self, n: int, conditions: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Advance if the flag is set, and pass on the phase."""
        rest = {name: value for name, value in conditions.items() if name != self.flag_key}
        self._since += n
        if self._since > self.wait and self.phase < self.end_ph and bool(conditions.get(self.flag_key, [False])[0]):
            self.phase, self._since = min(self.phase + self.step_ph, self.end_ph), 0
        return {**rest, "phase": np.full(n, self.phase)} if "phase" in self.task.session.stack.accepts else rest

    def revise(self, trials: Trials) -> None:
        """Record the phase."""
        trials.info["perf_phases_phase"] = np.full(trials.n, self.phase)
