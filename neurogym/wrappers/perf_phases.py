"""Training phases that advance with performance."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import LEAVES
from neurogym.metadata import WrapperInfo
from neurogym.trials import Trials
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.sampling import choices_of


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

    metadata = WrapperInfo(
        description="counts training phases, which advance when a performance flag is set",
        order="inside compute_mean_perf, outside variable_nch",
    )
    ceiling_effect = LEAVES
    decides = ("phase",)
    inside_of = ("ComputeMeanPerf",)

    def __init__(
        self,
        env: gym.Env,
        start_ph: int | None = None,
        end_ph: int | None = None,
        step_ph: int | None = None,
        wait: int = 100,
        flag_key: str = "above_perf_th",
    ):
        self.end_ph = len(choices_of(env, "PerfPhases")) if end_ph is None else end_ph
        self.start_ph = min(3, self.end_ph) if start_ph is None else start_ph
        self.step_ph, self.wait, self.flag_key = 1 if step_ph is None else step_ph, wait, flag_key
        self.accepts = (flag_key,)  # type: ignore[misc]
        if self.start_ph > self.end_ph or self.step_ph < 1 or wait < 0:
            raise ValueError(
                f"expected start_ph <= end_ph, step_ph >= 1 and wait >= 0, got {self.start_ph}, {self.end_ph}, "
                f"{self.step_ph} and {wait}"
            )
        super().__init__(env)
        self.start_session()

    @property
    def is_adaptive(self) -> bool:
        """Return True: the flag depends on the agent."""
        return True

    def start_session(self) -> None:
        """Begin with the first phase."""
        self.phase, self._since = self.start_ph, 0

    def plan(self, n: int, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Advance if the flag is set, and pass on the phase."""
        rest = {name: value for name, value in given.items() if name != self.flag_key}
        self._since += n
        if self._since > self.wait and self.phase < self.end_ph and bool(given.get(self.flag_key, [False])[0]):
            self.phase, self._since = min(self.phase + self.step_ph, self.end_ph), 0
        wanted = any("phase" in wrapper.accepts for wrapper in self.task.wrappers)
        return {**rest, "phase": np.full(n, self.phase)} if wanted else rest

    def revise(self, trials: Trials) -> None:
        """Record the phase."""
        trials.info["perf_phases_phase"] = np.full(trials.n, self.phase)
