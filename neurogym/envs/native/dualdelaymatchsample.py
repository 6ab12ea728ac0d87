"""Two samples, each tested after a cue."""

from __future__ import annotations

import numpy as np

from neurogym.envs.psychophysics import step_noise
from neurogym.envs.task import ProgrammedTask, StepResult, TaskInfo, Trials, rules, spaces, usual_arguments
from neurogym.parameters.arguments import NonNegative

ITEMS = (0.0, 0.5)  #: an item x is shown as (cos pi x, sin pi x)


class DualDelayMatchSample(ProgrammedTask):
    """Remember two samples; before each of two tests, a cue selects the sample for comparison.

    The first response in each test counts. Performance is the fraction of the two tests that were right.

    Args:
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).

    Source: Rose et al. 2016.
    """

    metadata = TaskInfo(
        doi="10.1126/science.aah7011",
        tags=["perceptual", "working memory", "two-alternative", "supervised"],
        necessary=("sample", "test1", "test2"),
    )
    default_timing = {
        name: 500 for name in ("fixation", "sample", "delay1", "cue1", "test1", "delay2", "cue2", "test2")
    }
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0}

    @usual_arguments()
    def __init__(self, sigma: NonNegative = 1.0):
        self.sigma = step_noise(sigma, self.dt)
        self._answered, self.choices = False, [1, 2]
        self.conditions = {
            "ground_truth1": (1, 2),
            "ground_truth2": (1, 2),
            "sample1": ITEMS,
            "sample2": ITEMS,
            "test_order": (0, 1),
        }
        self.observation_space = spaces.channels(
            {"fixation": 0, "stimulus1": [1, 2], "stimulus2": [3, 4], "cue1": 5, "cue2": 6}
        )
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "match": 1, "non-match": 2})

    def _new_trials(self, trials: Trials) -> None:
        order = trials.draw("test_order")
        tests = ["test1", "test2"]
        trials.add_ob(1, where="fixation")
        trials.set_ob(0, tests, where="fixation")
        for item in (1, 2):
            match, sample = trials.draw(f"ground_truth{item}"), trials.draw(f"sample{item}")
            test = trials.info[f"test{item}"] = np.where(match == 1, sample, 0.5 - sample)
            trials.add_ob(_code(sample), "sample", where=f"stimulus{item}")
            for position in (0, 1):  # item 1 is tested first if the order is 0
                is_tested = (order == 0) == (position == item - 1)
                trials.add_ob(is_tested, f"cue{position + 1}", where=f"cue{item}")
                trials.add_ob(is_tested[:, None] * _code(test), tests[position], where=f"stimulus{item}")
        first, second = trials.info["ground_truth1"], trials.info["ground_truth2"]
        trials.set_groundtruth(np.where(order == 0, first, second), "test1")
        trials.set_groundtruth(np.where(order == 0, second, first), "test2")
        trials.add_randn(0, self.sigma, ["sample", *tests], where=range(1, 5))
        trials.go, trials.go_period = trials.starts["test2"], "test2"

    def _step(self, action: int) -> StepResult:
        reward, ended = 0.0, False
        first, second = self.in_period("test1"), self.in_period("test2")
        if self.t_ind == 0:
            self._answered = False
        if action != 0 and not (first or second):
            reward, ended = self.break_fixation()
        elif action != 0 and (second or not self._answered):
            right, ended, self._answered = action == self.gt_now, second, True
            reward = self.rewards["correct" if right else "fail"]
            self.performance += 0.5 * right
            self.report(rules.CORRECT if self.performance == 1 else rules.ERROR)
        return self.ob_now, reward, False, False, {"new_trial": ended}


def _code(item: np.ndarray) -> np.ndarray:
    return np.column_stack([np.cos(np.pi * item), np.sin(np.pi * item)])
