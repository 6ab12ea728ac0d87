"""Judging an interval by a rule that is hidden and changes between blocks."""

from __future__ import annotations

import numpy as np

from neurogym.envs.blocks import in_blocks
from neurogym.envs.task import Distribution, ProgrammedTask, StepResult, TaskInfo, Trials, spaces, usual_arguments
from neurogym.envs.timing import possible_durations
from neurogym.parameters.arguments import Probability

BLOCK = (10, 20)  #: fewest and most trials of a block


class HierarchicalReasoning(ProgrammedTask):
    """Report the rule believed to hold, then apply the rule to an interval between two flashes.

    Under rule 1 the response goes to the side of the flashes if the interval was long and away from it if it was short,
    under rule 0 the opposite. The rule changes every 10 to 20 trials without a sign. A trial is correct if the rule
    reported at the end of the rule period and the response are both right.

    Args:
        timing: Replaces entries of ``default_timing`` (ms); ``delay`` is the interval.
        hidden: Whether the rule is hidden. If not, the agent chooses the rule: any report of a rule is right, and the
            response is judged by the rule that was reported, as in training before rules were hidden.
        first_rule: Probability of rule 1 in each block, as in training with a single rule before rules change; none:
            the rules alternate.

    Source: Sarafyazd & Jazayeri 2019.
    """

    metadata = TaskInfo(
        doi="10.1126/science.aav8911",
        tags=["perceptual", "timing", "context dependent", "two-alternative", "supervised"],
        needs_reward=True,
        necessary=("history",),
    )
    default_timing = {
        "fixation": ("truncated_exponential", (600, 400, 800)),
        "rule_target": 1000,
        "fixation2": ("truncated_exponential", (600, 400, 900)),
        "flash1": 100,
        "delay": ("choice", (530, 610, 690, 770, 850, 930, 1010, 1090, 1170)),
        "flash2": 100,
        "decision": 700,
    }
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0}

    @usual_arguments()
    def __init__(self, hidden: bool = True, first_rule: Probability | None = None):
        self.hidden, self.first_rule = hidden, first_rule
        intervals = possible_durations(self.timing["delay"], self.dt)
        kind, values = Distribution.of(self.timing["delay"])
        if kind == "callable":
            raise ValueError("the delay needs a known distribution, whose median divides short from long")
        weighted = np.floor(values / self.dt + 1e-6) * self.dt if kind == "choice" else intervals
        self.mid_point = float(np.median(weighted))
        self._rule, self._left = 0, 0
        self.choices = [0, 1]
        self.conditions = {"rule": (0, 1), "stimulus": (0, 1), "interval": intervals}
        self.observation_space = spaces.channels({"fixation": 0, "rule": [1, 2], "stimulus": [3, 4]})
        self.action_space = spaces.Discrete(5, name={"fixation": 0, "rule": [1, 2], "choice": [3, 4]})

    def start_session(self) -> None:
        """Draw the rule of the first block."""
        self._rule, self._left = int(self.np_random.integers(2)), 0

    def _rules(self, trials: Trials) -> np.ndarray:
        """The hidden rule of each trial, shape (n,)."""

        def begin(present: int) -> tuple[int, int]:
            rule = 1 - present if self.first_rule is None else int(trials.rng.random() < self.first_rule)
            return rule, int(trials.rng.integers(BLOCK[0], BLOCK[1] + 1))

        hidden, self._rule, self._left = in_blocks(trials.n, self._rule, self._left, begin)
        return trials.given.get("rule", hidden)

    def _new_trials(self, trials: Trials) -> None:
        rule = trials.info["rule"] = self._rules(trials)
        interval = trials.sample_time("delay")
        interval = trials.info["interval"] = trials.given.get("interval", interval)
        stimulus = trials.draw("stimulus")
        undecided = trials.rng.uniform(-0.5, 0.5, trials.n)
        long = trials.info["long_interval"] = interval > self.mid_point + undecided
        pro = trials.info["pro_choice"] = long == rule
        trials.info["rule_choice"] = np.zeros(trials.n, int)
        durations = [interval if name == "delay" else None for name in self.default_timing]
        trials.add_period(list(self.default_timing), durations, min_steps={"flash1": 1, "flash2": 1})
        trials.add_ob(1, where="fixation")
        trials.set_ob(0, "decision", where="fixation")
        trials.add_ob(1, "rule_target", where="rule")
        trials.add_ob(np.arange(2) == stimulus[:, None], ["flash1", "flash2"], where="stimulus")
        trials.set_groundtruth(rule, "rule_target", where="rule")
        trials.set_groundtruth(np.where(pro, stimulus, 1 - stimulus), "decision", where="choice")

    def _step(self, action: int) -> StepResult:
        reward, ended = 0.0, False
        if self.in_period("rule_target"):
            self.trial["rule_choice"] = int(action)
            if not self.hidden and action in (1, 2):
                self._judge_by(int(action) - 1)
        elif self.in_period("decision"):
            if action != 0:
                right = action == self.gt_now and self.trial["rule_choice"] - 1 == self.trial["rule"]
                reward, ended = self.answer(bool(right))
        elif action != 0:
            reward, ended = self.break_fixation()
        return self.ob_now, reward, False, False, {"new_trial": ended}

    def _judge_by(self, rule: int) -> None:
        """Let a rule hold in the present trial, and the response that is right under it be the correct one."""
        stimulus, pro = self.trial["stimulus"], self.trial["long_interval"] == rule
        self.trial["rule"], self.trial["pro_choice"] = rule, pro
        self.set_groundtruth(stimulus if pro else 1 - stimulus, "decision", where="choice")
