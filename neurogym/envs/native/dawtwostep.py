"""Two-step task with common and rare transitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from neurogym.envs.task import NOW, StepResult, TaskInfo, TrialEnv, Trials, rules, spaces, without_periods

COMMON = 0.8  #: probability of the common transition
PAYS = (0.1, 0.9)  #: probability of reward in the bad and in the good state
SWITCH = 0.025  #: probability per trial that good and bad state change places


class DawTwoStep(TrialEnv):
    """Choose between two actions that commonly lead to different states, only one of which is often rewarded.

    In the first step actions 1 and 2 lead to states 1 and 2, or rarely to the other; the reward of the state
    follows at once. In the second step the state is shown and the agent waits. The often rewarded state changes
    unannounced. Performance is 1 if the action commonly leads to the good state.

    Args:
        dt: Time step (ms).
        rewards: Replaces entries of ``default_rewards``.
        timing: Accepted for old scripts, with a warning; both steps last ``dt``.

    Source: Daw, Gershman, Seymour, Dayan & Dolan 2011; simplified as by Wang et al. 2018,
    10.1038/s41593-018-0147-8.
    """

    metadata = TaskInfo(
        doi="10.1016/j.neuron.2011.02.027",
        tags=["two-alternative", "value-based", "learning"],
        carries=True,
        needs_reward=True,
        necessary=("history",),
        measures=("two_step",),
        probabilistic=True,
    )
    default_rewards = {"abort": -0.1, "correct": 1.0}
    no_rt = None  # a first step may end a trial, and Gymnasium's checker compares infos of first steps: nan is not nan

    def __init__(self, dt: float = 100, rewards: dict | None = None, timing: Mapping[str, Any] | None = None):
        super().__init__(dt=dt, rewards=rewards)
        without_periods(self, timing)
        self._good, self._abort = 0, 0.0
        self.conditions = {"common": (False, True), "hi_state": (0, 1)}
        self.observation_space = spaces.channels({"fixation": 0, "state": [1, 2]})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

    def start_session(self) -> None:
        """Draw the good state."""
        self._good = int(self.np_random.integers(2))

    def _new_trials(self, trials: Trials) -> None:
        common = trials.draw("common", (True, False), p=(COMMON, 1 - COMMON))
        good = (self._good + np.cumsum(trials.rng.random(trials.n) < SWITCH)) % 2
        good = trials.info["hi_state"] = trials.given.get("hi_state", good)
        self._good = int(good[-1])
        # entry 0 means no choice
        trials.info["transition"] = np.where(common[:, None], [[0, 1, 2]], [[0, 2, 1]])
        chance = np.where(np.arange(2) == good[:, None], PAYS[1], PAYS[0])
        trials.info["reward"] = trials.reward("correct")[:, None] * (trials.rng.random((trials.n, 2)) < chance)
        trials.add_period(["decision", "outcome"], [self.dt, self.dt])
        trials.add_ob(1, "decision", where="fixation")
        self._abort = self.rewards["abort"]  # here, since looking it up takes as long as a tenth of a step

    def _step(self, action: Any) -> StepResult:
        cursor, trial = self.cursor, self.trial
        if cursor.row == cursor.first:  # the decision
            self.trial_choice = action, 0
            if action == 0:
                self.report(rules.ABORT)
                return NOW, self._abort, False, False, {"new_trial": True}
            state = trial["transition"].item(action)
            self.performance = float(action == trial["hi_state"] + 1)
            cursor.ob[cursor.row + 1, state] = 1
            return NOW, trial["reward"].item(state - 1), False, False, {"new_trial": False}
        reward = 0.0
        if action != 0:
            self.report(rules.ABORT)
            reward = self._abort
        self.report(rules.CORRECT if self.performance == 1 else rules.ERROR)
        return NOW, reward, False, False, {"new_trial": True}

    def oracle(self) -> int:
        """The action that leads commonly to the good state, then wait."""
        return self.trial["hi_state"] + 1 if self.in_period("decision") else 0
