"""Monitor the agent's performance and signal inner wrappers when thresholds are exceeded."""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import LEAVES
from neurogym.metadata import WrapperInfo
from neurogym.trials import Info, Trials
from neurogym.wrappers.base import TrialWrapper


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
    ceiling_effect = LEAVES
    decides = ("the performance flags",)

    def __init__(
        self,
        env: gym.Env,
        perf_th: Sequence[float] | float = (0.7,),
        perf_w: int = 100,
        key: Sequence[str] | str = ("above_perf_th",),
        cond_on_coh: bool = False,
    ):
        self.perf_th = [float(th) for th in np.atleast_1d(perf_th)]
        self.key = [key] if isinstance(key, str) else list(key)
        if len(self.key) != len(self.perf_th) or perf_w < 1:
            raise ValueError(f"expected one key per threshold and perf_w >= 1, got {key!r}, {perf_th!r}, {perf_w!r}")
        super().__init__(env)
        self.perf_w, self.cond_on_coh = perf_w, cond_on_coh
        self.start_session()

    def start_session(self) -> None:
        """Reset the record of the agent's performance."""
        self._window: list[float] = []
        self.mean_perf = 0.0

    @classmethod
    def links_trials(cls) -> bool:
        """Return False: the wrapper changes no trials."""
        return False

    def trial_ended(self, info: Info) -> None:
        """Count the trial."""
        if not self.cond_on_coh or info["trial"].get("coh") == 0:
            self._window = [*self._window, float(info["performance"])][-self.perf_w :]
        self.mean_perf = float(np.mean(self._window)) if len(self._window) == self.perf_w else 0.0

    def plan(self, n: int, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Set the flags."""
        flags = {key: np.full(n, self.mean_perf > th) for key, th in zip(self.key, self.perf_th, strict=True)}
        wanted = {name for wrapper in self.task.wrappers for name in wrapper.accepts}
        return {**given, **{key: flag for key, flag in flags.items() if key in wanted}}

    def revise(self, trials: Trials) -> None:
        """Record the mean."""
        trials.info["compute_mean_perf_mean"] = np.full(trials.n, self.mean_perf)
