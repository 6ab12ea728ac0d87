"""Draw the ground truth independently in every trial."""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import Effect
from neurogym.ceilings.processes import Process
from neurogym.metadata import WrapperInfo
from neurogym.trials import Trials
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.sampling import check_probabilities, choices_of, draw, probability_rows, restrict


class RandomGroundTruth(TrialWrapper):
    """Draw the ground truth of every trial with given probabilities.

    The probabilities are in the trial's record as ``p``; ``new_trial(p=...)`` or a ``ScheduleAttr`` outside sets them.

    Args:
        env: A task with choices.
        p: Probability of each choice. Default uniform.

    Raises:
        AttributeError: If the task has no choices.
        ValueError: If ``p`` is not a distribution over the choices.
    """

    metadata = WrapperInfo(order="inside schedule_attr and variable_nch")
    accepts = ("p", "sel_chs")
    decides = ("ground_truth",)

    def __init__(self, env: gym.Env, p: Sequence[float] | None = None):
        self.choices = choices_of(env, "RandomGroundTruth")
        self.n_ch = len(self.choices)
        self.p = np.full(self.n_ch, 1 / self.n_ch) if p is None else np.asarray(p, dtype=float)
        check_probabilities(self.p, self.n_ch, "p")
        super().__init__(env)

    def effect_on_ceiling(self) -> Effect:
        """Effect on the ceiling of known probabilities of the correct answers."""
        return Effect("ground truth", process=Process.independent(self.p))

    def plan(self, n: int, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Draw the ground truth."""
        rest = {name: value for name, value in given.items() if name != "p"}
        p = probability_rows(given["p"], n) if "p" in given else np.broadcast_to(self.p, (n, self.n_ch))
        if "p" in given:
            check_probabilities(p, self.n_ch, "p")
        if "sel_chs" in given:
            p = restrict(p, self.choices, given["sel_chs"])
        self._drawn = p
        return {**rest, "ground_truth": self.choices[draw(self.task.np_random, p)]}

    def revise(self, trials: Trials) -> None:
        """Record the probabilities."""
        trials.info["p"] = self._drawn
