"""Multi-armed bandit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from neurogym.envs.task import Rule, TaskInfo, TrialEnv, Trials, Vectors, spaces, without_periods


class Bandit(TrialEnv):
    """Choose one of n arms with different reward probabilities. A trial is a single step.

    The observation is always zero: the last choice and reward must come from ``PassAction`` and ``PassReward``.

    Args:
        dt: Time step (ms).
        n: Number of arms.
        p: Probability of reward of each arm, shape (n,). Default 0.8 for the first and 0.2 for the others.
        rewards: Reward of each arm, shape (n,). Default 1 for all.
        timing: Accepted for old scripts, with a warning; there are no periods to time.

    Probabilities and amounts of a trial can be requested: ``new_trial(p=(0.9, 0.1))``.

    Raises:
        ValueError: If ``p`` or ``rewards`` do not have one entry per arm, or a probability is outside [0, 1].

    Source: Wang et al. 2018.
    """

    metadata = TaskInfo(
        doi="10.1038/s41593-018-0147-8",
        tags=["n-alternative"],
        carries=True,
        necessary=(),
        measures=("bandit",),
    )
    rule = Rule(fixate=(), answer=None, hold=None)

    def __init__(
        self,
        dt: float = 100,
        n: int = 2,
        p: Sequence[float] | None = None,
        rewards: Sequence[float] | None = None,
        timing: Mapping[str, Any] | None = None,
    ):
        super().__init__(dt=dt)
        without_periods(self, timing)
        self.n = n
        self.p = np.where(np.arange(n) == 0, 0.8, 0.2) if p is None else np.asarray(p, dtype=float)
        self.magnitudes = np.ones(n) if rewards is None else np.asarray(rewards, dtype=float)
        if self.p.shape != (n,) or self.magnitudes.shape != (n,):
            raise ValueError(f"p and rewards need one entry for each of the {n} arms, got {p!r} and {rewards!r}")
        if np.any((self.p < 0) | (self.p > 1)):
            raise ValueError(f"p must lie between 0 and 1, got {p!r}")
        self.conditions = {"p": Vectors(n, 0, 1), "rewards": Vectors(n)}
        self.observation_space = spaces.channels({"fixation": 0})
        self.action_space = spaces.Discrete(n, name={"choice": range(n)})

    def _new_trials(self, trials: Trials) -> None:
        p, amounts = self._each(trials, "p", self.p), self._each(trials, "rewards", self.magnitudes)
        value = p * amounts
        trials.info.update({f"value{arm}": value[:, arm] for arm in range(self.n)})
        best = value >= value.max(axis=1, keepdims=True) - 1e-12
        trials.add_period("decision", self.dt)
        pays = trials.rng.random((trials.n, self.n)) < p
        for arm in range(self.n):
            trials.set_action_reward("decision", arm, pays[:, arm] * amounts[:, arm], best[:, arm].astype(float))

    @staticmethod
    def _each(trials: Trials, name: str, usual: np.ndarray) -> np.ndarray:
        """Property of each arm in each trial, as requested or the default, shape (n, arms)."""
        rows = np.stack(list(trials.given[name])) if name in trials.given else np.tile(usual, (trials.n, 1))
        trials.info[name] = rows = rows.astype(float)
        return rows

    def oracle(self) -> int:
        """The arm with the highest expected reward."""
        return int(np.argmax(self.trial["p"] * self.trial["rewards"]))
