"""Lever presses in number: after a signal, before a poke for the reward, and with thirst and rest."""

from __future__ import annotations

import numpy as np

from neurogym.envs.task import (
    ProgrammedTask,
    Rule,
    StepResult,
    TaskInfo,
    TrialEnv,
    Trials,
    rules,
    spaces,
    usual_arguments,
)
from neurogym.parameters.arguments import Count, PositiveProbability
from neurogym.wrappers.tasks import Traits

LONGEST_WAIT = 30  #: steps


class LeverPress(TrialEnv):
    """Wait for a signal, then press a lever ``n_press`` times without a pause.

    The signal comes with probability ``p_signal`` at each step and is shown for one step only; the presses have to be
    counted. Pressing before the signal is punished; a pause between presses ends the trial without a reward.

    Args:
        n_press: Presses needed, the first of them when the signal is shown.
        p_signal: Probability that a step of waiting is the last.

    Raises:
        ValueError: If ``n_press`` is less than 1 or ``p_signal`` is not a probability above 0.
    """

    metadata = TaskInfo(
        tags=["go-no-go", "motor", "working memory", "supervised"],
        necessary=("signal",),
    )
    default_rewards = {"abort": -1.0, "correct": 10.0, "fail": 0.0}
    rule = Rule(fixate=("wait",), answer=(), hold=0)

    @usual_arguments(tables=("rewards",), abort=False)
    def __init__(self, n_press: Count = 4, p_signal: PositiveProbability = 0.5):
        self.n_press, self.p_signal = n_press, p_signal
        self.conditions = {"wait": np.arange(1, LONGEST_WAIT + 1)}
        self.observation_space = spaces.channels({"signal": 0}, -1, 1)
        self.action_space = spaces.Discrete(2, name={"wait": 0, "press": 1})

    @property
    def optimal_reward(self) -> float:
        """Average reward per step of the best policy."""
        return self.rewards["correct"] / (1 / self.p_signal + self.n_press)

    def _new_trials(self, trials: Trials) -> None:
        p = self.p_signal * (1 - self.p_signal) ** np.arange(LONGEST_WAIT)
        wait = trials.draw("wait", p=p / p.sum())
        trials.add_period(["wait", "press", "last"], [wait * self.dt, (self.n_press - 1) * self.dt, self.dt])
        signal = trials.ends["wait"]
        trials.go, trials.go_period = signal, "press"
        trials.add_ob(lambda rows: rows.step == signal[rows.trial], ["press", "last"], where="signal")
        trials.set_groundtruth(1, ["press", "last"])
        trials.set_action_reward(["press", "last"], 0, trials.reward("fail"))
        trials.set_action_reward("last", 1, trials.reward("correct"), performance=1.0)


POKE, PRESS = 0, 1


class _CountedPresses(ProgrammedTask):
    """Base of tasks in which ``n_press`` presses are needed before a poke."""

    n_press: int
    _left: int

    @property
    def left(self) -> int:
        """Presses still needed."""
        return self.n_press if self.t_ind == 0 else self._left

    def _count(self, action: int) -> bool:
        """Count a press; whether the action is a poke after all presses."""
        left = self.left
        self._left = max(0, left - (action == PRESS))
        return bool(action == POKE and left == 0)


class LeverPressWithPoke(_CountedPresses):
    """Press a lever ``n_press`` times, then poke. The remaining presses are not shown and must be counted.

    A trial ends with the rewarded poke, or when its time is over. A poke that comes too early is a step wasted, and so
    is a press too many. Performance is the smallest number of steps, n_press + 1, over the number taken.

    Args:
        timing: Replaces entries of ``default_timing`` (ms); ``trial`` is the longest time to earn a reward.
        n_press: Presses needed.
        show_count: Show the number of presses left in place of a constant.

    Raises:
        ValueError: If ``n_press`` is less than 1.
    """

    metadata = TaskInfo(tags=["motor", "working memory"], necessary=())
    default_timing = {"trial": 3000}
    default_rewards = {"correct": 1.0}

    @usual_arguments(abort=False)
    def __init__(self, n_press: Count = 4, show_count: bool = False):
        self.n_press, self.show_count, self._left = n_press, show_count, n_press
        self.observation_space = spaces.channels({"count": 0}, 0, max(1, n_press))
        self.action_space = spaces.Discrete(2, name={"poke": POKE, "press": PRESS})

    @property
    def optimal_reward(self) -> float:
        """Average reward per step of the best policy."""
        return self.rewards["correct"] / (self.n_press + 1)

    @property
    def optimal_random_reward(self) -> float:
        """Average reward per step of the best policy that presses with constant probability."""
        p = np.sqrt(self.n_press) / (1 + np.sqrt(self.n_press))
        return self.rewards["correct"] * p * (1 - p) / (self.n_press * (1 - p) + p)

    def _new_trials(self, trials: Trials) -> None:
        trials.add_period("trial", min_steps=self.n_press + 1)
        trials.add_ob(self.n_press if self.show_count else 1, "trial")

    def _step(self, action: int) -> StepResult:
        rewarded = self._count(action)
        if rewarded:
            self.performance = (self.n_press + 1) / (self.t_ind + 1)
            self.report(rules.CORRECT)
        if self.show_count:
            self.ob[self.t_ind + 1 :] = self._left
        return self.ob_now, self.rewards["correct"] if rewarded else 0.0, False, False, {"new_trial": rewarded}

    def oracle(self) -> int:
        """Press as often as needed, then poke."""
        return PRESS if self.left else POKE


REST = 2
SATED = -8.0  #: hidden thirst after a drink; it grows by 1 per step on average, and is felt between 0 and 1


class LeverPressWithPokeRest(_CountedPresses):
    """Press a lever ``n_press`` times, then poke for a drink whose value grows with thirst.

    Presses and pokes cost effort, rest is free. Thirst grows from step to step and starts from far below zero after a
    drink, so that resting first is worthwhile. A trial ends with a drink, or when its time is over; thirst lasts.
    Performance is what the trial earned over what it can earn at most.

    Args:
        timing: Replaces entries of ``default_timing`` (ms); ``trial`` is the longest time to earn a drink.
        n_press: Presses needed.

    Raises:
        ValueError: If ``n_press`` is less than 1.
    """

    metadata = TaskInfo(
        tags=["motor", "value-based", "working memory"],
        history_dependent=True,
        necessary=("thirst",),
    )
    default_timing = {"trial": 3000}
    default_rewards = {"correct": 2.0, "effort": -0.1}

    @usual_arguments(abort=False)
    def __init__(self, n_press: Count = 4):
        self.n_press, self._left, self._thirst = n_press, n_press, 1.0
        self.conditions = {"thirst": ("uniform", (0, 1))}
        self.observation_space = spaces.channels({"thirst": 0}, 0, 1)
        self.action_space = spaces.Discrete(3, name={"poke": POKE, "press": PRESS, "rest": REST})

    def start_session(self) -> None:
        """A session begins thirsty."""
        self._thirst = 1.0

    @property
    def traits(self) -> Traits:
        """Capabilities; thirst depends on what was done in all trials before."""
        return super().traits._replace(ahead=False, follows_agent=True)

    @property
    def thirst(self) -> float:
        """Perceived thirst, 0 to 1."""
        return min(max(float(self._thirst), 0.0), 1.0)

    def _new_trials(self, trials: Trials) -> None:
        if "thirst" in trials.given:
            self._thirst = float(trials.draw("thirst")[0])
        trials.info["thirst"] = np.full(trials.n, self.thirst)
        trials.add_period("trial", min_steps=20 + self.n_press)
        trials.add_ob(self.thirst, "trial")

    def _step(self, action: int) -> StepResult:
        reward = 0.0 if action == REST else self.rewards["effort"]
        drinks = self._count(action)
        if drinks:
            reward += self.rewards["correct"] * self.thirst
            most = self.rewards["correct"] + (self.n_press + 1) * self.rewards["effort"]
            self.performance = float(np.clip((self.session.trial_reward + reward) / most, 0, 1))
            self.report(rules.CORRECT)
            self._thirst = SATED
        self._thirst += 0.8 + 0.4 * self.np_random.random()
        self.ob[self.t_ind + 1 :] = self.thirst
        return self.ob_now, reward, False, False, {"new_trial": drinks}

    def oracle(self) -> int:
        """Press as often as needed, rest until thirst is full, then poke."""
        return PRESS if self.left else (POKE if self.thirst >= 1 else REST)
