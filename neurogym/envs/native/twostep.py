"""The two-step task in sessions."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurogym.envs.task import Count, Probability, StepResult, TaskInfo, TrialEnv, Trials, rules, spaces


class TwoStep(TrialEnv):
    """Choose between two options that usually lead to different second stages, only one of which is usually rewarded.

    Which second stage is the better one switches at random, so that a rewarded rare transition speaks for the option
    that was not chosen. A trial is two steps: choose, then see the second stage and collect (any action). Sessions
    of ``session`` trials follow each other; a channel marks the first trial. The last choice and reward must come from
    ``PassAction`` and ``PassReward``. Performance says whether the option was chosen that usually leads to the better
    stage.

    Args:
        dt: Time step (ms).
        rewards: Replaces entries of ``default_rewards``.
        p_common: Probability of the common transition (option 1 to stage 1, option 2 to stage 2).
        p_reward: Probability that the better stage is rewarded; the other is rewarded with 1 - p_reward.
        p_switch: Probability, before each trial, that the better stage changes.
        session: Trials of a session; the better stage is drawn again in each.

    Raises:
        ValueError: If a probability is outside [0, 1] or a session has no trials.

    Source: Wang et al. 2018, 10.1038/s41593-018-0147-8, after Daw et al. 2011, 10.1016/j.neuron.2011.02.027.
    """

    metadata = TaskInfo(
        doi="10.1038/s41593-018-0147-8",
        tags=["two-alternative", "value-based", "learning"],
        carries=True,
        needs_reward=True,
        probabilistic=True,
        necessary=("history",),
        measures=("two_step",),
    )
    default_rewards = {"correct": 1.0, "fail": 0.0, "miss": -0.1}

    def __init__(
        self,
        dt: float = 100,
        rewards: dict | None = None,
        p_common: Probability = 0.8,
        p_reward: Probability = 0.9,
        p_switch: Probability = 0.025,
        session: Count = 100,
    ):
        super().__init__(dt=dt, rewards=rewards)
        self.p_common, self.p_reward, self.p_switch, self.session = p_common, p_reward, p_switch, session
        self.conditions = {"better": (1, 2), "common": (0, 1)}
        self.observation_space = spaces.channels({"choose": 0, "stage": [1, 2], "start": 3})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})
        self.start_session()

    @property
    def trials_per_session(self) -> int:
        """Trials of a session."""
        return self.session

    def start_session(self) -> None:
        """Reset the better stage, which is drawn again at the next trial."""
        self._done, self._better = 0, 1

    def _better_stage(self, trials: Trials) -> np.ndarray:
        p = np.where((self._done + np.arange(trials.n)) % self.session == 0, 0.5, self.p_switch)
        switched = np.cumsum(trials.rng.random(trials.n) < p) % 2 == 1
        better = np.where(switched, 3 - self._better, self._better)
        self._better, self._done = int(better[-1]), self._done + trials.n
        if "better" in trials.given:
            better = trials.given["better"].astype(int)
        trials.info["better"] = better
        return better

    def _new_trials(self, trials: Trials) -> None:
        place = (self._done + np.arange(trials.n)) % self.session
        better = trials.info["ground_truth"] = self._better_stage(trials)
        trials.info["session_trial"] = place
        trials.draw("common", (1, 0), p=(self.p_common, 1 - self.p_common))
        p = np.where(np.arange(1, 3) == better[:, None], self.p_reward, 1 - self.p_reward)
        trials.info["pays"] = trials.rng.random(p.shape) < p
        trials.add_period(["choice", "outcome"], [self.dt, self.dt])
        trials.go, trials.go_period = trials.starts["choice"], "choice"
        trials.add_ob(1, "choice", where="choose")
        trials.add_ob(place == 0, where="start")
        trials.set_groundtruth(better, "choice")

    def _step(self, action: Any) -> StepResult:
        if self.t_ind == 0:
            self._chosen = int(action)
            self.choose(self._chosen)
            self._stage = self._chosen if self.trial["common"] else 3 - self._chosen
            if self._chosen:
                self.ob[1, self._stage] = 1
            return self.ob_now, 0.0, False, False, {"new_trial": False}
        if not self._chosen:
            self.report(rules.MISS)
            return self.ob_now, self.rewards["miss"], False, False, {"new_trial": True}
        good = self._chosen == self.trial["better"]
        self.performance = float(good)
        self.report(rules.CORRECT if good else rules.ERROR)
        paid = self.trial["pays"][self._stage - 1]
        return self.ob_now, self.rewards["correct" if paid else "fail"], False, False, {"new_trial": True}
