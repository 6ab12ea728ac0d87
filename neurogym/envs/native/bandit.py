"""Multi-armed bandit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neurogym import spaces
from neurogym.core import TrialEnv
from neurogym.rules import Rule
from neurogym.trials import Trials


class Bandit(TrialEnv):
    """Choose one of n arms; each pays with its own probability. A trial is one step.

    The observation is always zero: what was chosen and paid must come from ``PassAction`` and ``PassReward``.

    Args:
        dt: Time step (ms).
        n: Number of arms.
        p: Probability that each arm pays, shape (n,). Default 0.5 for all.
        rewards: Amount each arm pays, shape (n,). Default 1 for all.

    Raises:
        ValueError: If ``p`` or ``rewards`` do not have one entry per arm, or a probability is outside [0, 1].

    Source: Wang et al. 2018, 10.1038/s41593-018-0147-8.
    """

    metadata = {
        "paper_name": "Prefrontal cortex as a meta-reinforcement learning system",
        "paper_link": "https://doi.org/10.1038/s41593-018-0147-8",
        "tags": ["n-alternative"],
        "description": "find the arm that pays best",
        "carries": True,
        "differences": ["performance says whether one of the best arms was chosen", "p must have one entry per arm"],
        "necessary": (),
    }
    rule = Rule(fixate=(), answer=None, hold=None)

    def __init__(
        self,
        dt: float = 100,
        n: int = 2,
        p: Sequence[float] | None = None,
        rewards: Sequence[float] | None = None,
    ):
        super().__init__(dt=dt)
        self.n = n
        self.p = np.full(n, 0.5) if p is None else np.asarray(p, dtype=float)
        self.magnitudes = np.ones(n) if rewards is None else np.asarray(rewards, dtype=float)
        if self.p.shape != (n,) or self.magnitudes.shape != (n,):
            raise ValueError(f"p and rewards need one entry for each of the {n} arms, got {p!r} and {rewards!r}")
        if np.any((self.p < 0) | (self.p > 1)):
            raise ValueError(f"p must lie between 0 and 1, got {p!r}")
        self.observation_space = spaces.Box(-np.inf, np.inf, shape=(1,), dtype=np.float32, name={"fixation": 0})
        self.action_space = spaces.Discrete(n, name={"choice": range(n)})

    def _new_trials(self, trials: Trials) -> None:
        value = self.p * self.magnitudes
        best = value >= value.max() - 1e-12
        trials.add_period("decision", self.dt)
        pays = trials.rng.random((trials.n, self.n)) < self.p
        for arm in range(self.n):
            trials.pay("decision", arm, pays[:, arm] * self.magnitudes[arm], float(best[arm]))

    def oracle(self) -> int:
        """The arm with the highest expected reward."""
        return int(np.argmax(self.p * self.magnitudes))
