"""A curriculum for delayed perceptual decisions."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import unknown
from neurogym.metadata import WrapperInfo
from neurogym.trials import Trials
from neurogym.wrappers.base import task_of
from neurogym.wrappers.phased import Phased

CLEAR = 100.0  #: coherence of an unambiguous stimulus (percent)


class CurriculumLearning(Phased):
    """Train in five phases: no stimulus, a clear stimulus, punishment, delay, ambiguity.

    ===== =========================================================================================
    phase trials
    ===== =========================================================================================
    0     no stimulus; any answer is rewarded but one given more than ``max_num_reps`` times in a row
    1     unambiguous stimulus, no delay; errors cost nothing and do not end the trial
    2     the first answer counts, errors are punished
    3     with the delay
    4     with ambiguous stimuli and noise: the task as it is
    ===== =========================================================================================

    The trial's record has the phase as ``curriculumlearning_phase``.

    Args:
        env: A task with a declared rule and periods called ``stimulus`` and ``decision``.
        perf_w: Trials in the window.
        max_num_reps: How often the same answer may be given in a row in phase 0.
        init_ph: First phase.
        th: Fraction of correct trials at which a phase ends.

    Raises:
        ValueError: If the task does not fit or an argument is out of range.
    """

    metadata = WrapperInfo(
        doi="10.1038/s41586-019-0919-7",
        order="any",
    )
    ceiling_effect = unknown("the trials depend on the training phase")
    decides = ("the training phase", "coh")

    def __init__(self, env: gym.Env, perf_w: int = 1000, max_num_reps: int = 3, init_ph: int = 0, th: float = 0.8):
        timing = task_of(env, "CurriculumLearning").timing
        if "stimulus" not in timing:
            raise ValueError(f"CurriculumLearning needs a period called stimulus; {env.unwrapped} has {list(timing)}")
        if not hasattr(env.unwrapped.observation_space, "name"):
            raise TypeError(f"CurriculumLearning needs channels of the stimulus; {env.unwrapped} shows frames")
        super().__init__(env, 4, init_ph, max_num_reps, th, perf_w)

    def plan(self, n: int, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Set noise, coherence and delay."""
        self.silence(self.curr_ph < 4)
        asked = dict(given)
        if self.curr_ph < 4 and "coh" in self.task.conditions:
            asked["coh"] = np.full(n, CLEAR)
        if self.curr_ph < 3 and "delay" in self.task.timing:
            asked["period_delay"] = np.zeros(n)
        return asked

    def revise(self, trials: Trials) -> None:
        """Set stimuli and rewards for the present phase."""
        if self.curr_ph == 0:
            labels = [label for label in self.task.observation_space.name if label.startswith("stim")]
            for label in labels:
                trials.set_ob(0, "stimulus", where=label)
            self.reward_any(trials)
        elif self.curr_ph == 1:
            self.ignore_errors(trials)
        if self.curr_ph < 2:
            self.spare(trials)
        self.record(trials)
