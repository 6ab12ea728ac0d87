"""Two-step tasks: in sessions, and with the reward at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from neurogym.compat.members import without_periods
from neurogym.compat.trial_env import NOW
from neurogym.envs.blocks import SessionsInSequence
from neurogym.envs.task import ProgrammedTask, StepResult, TaskInfo, Trials, rules, spaces, usual_arguments
from neurogym.parameters.arguments import Count, Probability

INFO = TaskInfo(
    tags=["two-alternative", "value-based", "learning"],
    needs_reward=True,
    probabilistic=True,
    necessary=("history",),
    measures=("two_step",),
)


class TwoStep(SessionsInSequence, ProgrammedTask):
    """Choose between two options that usually lead to different second stages, only one of which is usually rewarded.

    Which second stage is the better one switches at random, so that a rewarded rare transition speaks for the option
    that was not chosen. A trial is two steps: choose, then see the second stage and collect (any action). Sessions
    of ``session`` trials follow each other; a channel marks the first trial. The last choice and reward must come from
    ``PassAction`` and ``PassReward``. Performance says whether the option was chosen that usually leads to the better
    stage.

    Args:
        p_common: Probability of the common transition (option 1 to stage 1, option 2 to stage 2).
        p_reward: Probability that the better stage is rewarded; the other is rewarded with 1 - p_reward.
        p_switch: Probability, before each trial, that the better stage changes.
        session: Trials of a session; the better stage is drawn again in each.

    Raises:
        ValueError: If a probability is outside [0, 1] or a session has no trials.

    Source: Wang et al. 2018, 10.1038/s41593-018-0147-8, after Daw et al. 2011, 10.1016/j.neuron.2011.02.027.
    """

    metadata = INFO.replace(doi="10.1038/s41593-018-0147-8")
    default_rewards = {"correct": 1.0, "fail": 0.0, "miss": -0.1}

    @usual_arguments(tables=("rewards",), abort=False)
    def __init__(
        self,
        p_common: Probability = 0.8,
        p_reward: Probability = 0.9,
        p_switch: Probability = 0.025,
        session: Count = 100,
    ):
        self.p_common, self.p_reward, self.p_switch = p_common, p_reward, p_switch
        self.trials_per_session = session
        self.conditions = {"better": (1, 2), "common": (0, 1)}
        self.observation_space = spaces.channels({"choose": 0, "stage": [1, 2], "start": 3})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})
        self.start_session()

    def start_session(self) -> None:
        """Reset the better stage, which is drawn again at the next trial."""
        self._done, self._better = 0, 1

    def _better_stage(self, trials: Trials, first: np.ndarray) -> np.ndarray:
        """The better stage of each trial, drawn again in the ``first`` trials of a session."""
        switched = np.cumsum(trials.rng.random(trials.n) < np.where(first, 0.5, self.p_switch)) % 2 == 1
        better = np.where(switched, 3 - self._better, self._better)
        self._better = int(better[-1])
        return trials.given["better"].astype(int) if "better" in trials.given else better

    def _new_trials(self, trials: Trials) -> None:
        position = self.session_trials(trials)
        better = self._better_stage(trials, position == 0)
        trials.info.update(better=better, ground_truth=better, session_trial=position)
        trials.draw("common", (1, 0), p=(self.p_common, 1 - self.p_common))
        p = np.where(np.arange(1, 3) == better[:, None], self.p_reward, 1 - self.p_reward)
        trials.info["pays"] = trials.rng.random(p.shape) < p
        trials.add_period(["choice", "outcome"], [self.dt, self.dt])
        trials.go, trials.go_period = trials.starts["choice"], "choice"
        trials.add_ob(1, "choice", where="choose")
        trials.add_ob(position == 0, where="start")
        trials.set_groundtruth(better, "choice")

    def _step(self, action: int) -> StepResult:
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


COMMON = 0.8  #: probability of the common transition
PAYS = (0.1, 0.9)  #: probability of reward in the bad and in the good state
SWITCH = 0.025  #: probability per trial that good and bad state change places


class DawTwoStep(ProgrammedTask):
    """Choose between two actions that commonly lead to different states, only one of which is often rewarded.

    In the first step actions 1 and 2 lead to states 1 and 2, or rarely to the other; the reward of the state
    follows at once. In the second step the state is shown and the agent waits. The often rewarded state changes
    unannounced. Performance is 1 if the action commonly leads to the good state.

    Args:
        timing: Accepted for old scripts, with a warning; both steps last ``dt``.

    Source: Daw, Gershman, Seymour, Dayan & Dolan 2011; simplified as by Wang et al. 2018,
    10.1038/s41593-018-0147-8.
    """

    metadata = INFO.replace(doi="10.1016/j.neuron.2011.02.027")
    default_rewards = {"abort": -0.1, "correct": 1.0}
    no_rt = None  # a first step may end a trial, and Gymnasium's checker compares infos of first steps: nan is not nan

    @usual_arguments(tables=("rewards",), abort=False)
    def __init__(self, timing: Mapping[str, object] | None = None):
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

    def _step(self, action: int) -> StepResult:
        session = self.session
        cursor, trial = session.cursor, session.trial
        if cursor.row == cursor.first:  # the decision
            session.trial_choice = action, 0
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
