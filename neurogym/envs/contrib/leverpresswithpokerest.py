"""Press a lever a number of times and poke for a drink; effort costs, thirst grows, rest is free."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurogym.envs.task import Count, StepResult, TaskInfo, TrialEnv, Trials, rules, spaces, usual_arguments

POKE, PRESS, REST = range(3)
SATED = -8.0  #: hidden thirst after a drink; it grows by 1 per step on average, and is felt between 0 and 1


class LeverPressWithPokeRest(TrialEnv):
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
        description="press a lever, then poke for a drink when thirsty, and rest in between",
        carries=True,
        differences=["a trial lasts until the drink, or until its time is over"],
        necessary=("thirst",),
    )
    default_timing = {"trial": 3000}
    default_rewards = {"correct": 2.0, "effort": -0.1}

    @usual_arguments(abort=False)
    def __init__(self, n_press: Count = 4):
        self.n_press, self._left, self._thirst = n_press, n_press, 1.0
        self.conditions = {"thirst": ("uniform", (0, 1))}
        self.observation_space = spaces.Box(0, 1, shape=(1,), dtype=np.float32, name={"thirst": 0})
        self.action_space = spaces.Discrete(3, name={"poke": POKE, "press": PRESS, "rest": REST})

    def start_session(self) -> None:
        """A session begins thirsty."""
        self._thirst = 1.0

    @property
    def is_adaptive(self) -> bool:
        """Thirst depends on what was done in all trials before."""
        return True

    @property
    def left(self) -> int:
        """Presses still needed."""
        return self.n_press if self.t_ind == 0 else self._left

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

    def _step(self, action: Any) -> StepResult:
        left = self.left
        reward = 0.0 if action == REST else self.rewards["effort"]
        drinks = action == POKE and left == 0
        if drinks:
            reward += self.rewards["correct"] * self.thirst
            most = self.rewards["correct"] + (self.n_press + 1) * self.rewards["effort"]
            self.performance = float(np.clip((self.trial_reward + reward) / most, 0, 1))
            self.report(rules.CORRECT)
            self._thirst = SATED
        self._left = max(0, left - (action == PRESS))
        self._thirst += 0.8 + 0.4 * self.np_random.random()
        self.ob[self.t_ind + 1 :] = self.thirst
        return self.ob_now, reward, False, False, {"new_trial": bool(drinks)}

    def oracle(self) -> int:
        """Press as often as needed, rest until thirst is full, then poke."""
        return PRESS if self.left else (POKE if self.thirst >= 1 else REST)
