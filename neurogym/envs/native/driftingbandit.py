"""Bandit whose arms drift: payoffs follow random walks."""

from __future__ import annotations

import numpy as np

from neurogym.envs.task import AtLeastTwo, NonNegative, Rule, TaskInfo, TrialEnv, Trials, spaces, unknown

ARMS = {"bounded": 2, "gaussian": 4}  #: walk to default number of arms
STEP = 0.15  #: s.d. of a step of the bounded walk, Miller et al. 2021
DECAY, CENTRE, DRIFT, NOISE = 0.9836, 0.5, 0.028, 0.04  #: Daw et al. 2006, whose payoffs run from 0 to 100 points


class DriftingBandit(TrialEnv):
    """Choose one of several arms whose payoffs drift independently from trial to trial. A trial is a single step.

    The observation is always zero: what was chosen and paid must come from ``PassAction`` and ``PassReward``.
    Performance is 1 if the arm was chosen whose expected payoff is highest at present.

    Args:
        dt: Time step (ms).
        rewards: Replaces entries of ``default_rewards``.
        walk: ``"bounded"``: the probability p that an arm pays takes a Gaussian step of s.d. ``drift`` and is clipped
            to [0, 1]. ``"gaussian"``: the mean payoff m of an arm becomes decay * m + (1 - decay) * 0.5 plus Gaussian
            noise of s.d. ``drift``, and the payoff is m plus Gaussian noise of s.d. ``noise`` (decay 0.9836; in Daw et
            al. 2006 the unit is 100 points).
        n: Number of arms; default 2 (bounded), 4 (gaussian).
        drift: S.d. of a step of the walk; default 0.15 (bounded), 0.028 (gaussian).
        noise: S.d. of payoffs around their mean, for the Gaussian walk.

    Raises:
        ValueError: If ``walk`` is unknown, or a number is too small.

    Source: Miller, Botvinick & Brody 2021 (bounded); Daw, O'Doherty, Dayan, Seymour & Dolan 2006,
    10.1038/nature04766 (gaussian).
    """

    metadata = TaskInfo(
        doi="10.1101/461129",
        tags=["n-alternative", "value-based", "learning"],
        carries=True,
        needs_reward=True,
        probabilistic=True,
        necessary=("history",),
        measures=("bandit",),
    )
    default_rewards = {"correct": 1.0, "fail": 0.0}
    rule = Rule(fixate=(), answer=None, hold=None)

    def __init__(
        self,
        dt: float = 100,
        rewards: dict | None = None,
        walk: str = "bounded",
        n: AtLeastTwo | None = None,
        drift: NonNegative | None = None,
        noise: NonNegative = NOISE,
    ):
        super().__init__(dt=dt, rewards=rewards)
        if walk not in ARMS:
            raise ValueError(unknown("walk", walk, ARMS))
        self.drift = (DRIFT if walk == "gaussian" else STEP) if drift is None else drift
        self.walk, self.n, self.noise = walk, ARMS[walk] if n is None else int(n), noise
        self.observation_space = spaces.channels({"fixation": 0})
        self.action_space = spaces.Discrete(self.n, name={"choice": range(self.n)})
        self._mean = np.full(self.n, CENTRE)

    def start_session(self) -> None:
        """Draw where each arm begins, from where the walk stays in the long run (bounded: uniformly)."""
        if self.walk == "bounded":
            self._mean = self.np_random.random(self.n)
        else:
            spread = self.drift / np.sqrt(1 - DECAY**2)
            self._mean = CENTRE + spread * self.np_random.standard_normal(self.n)

    def _next_mean(self, mean: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Expected payoff of each arm in the next trial; ``step`` is standard normal."""
        if self.walk == "bounded":
            return np.clip(mean + self.drift * step, 0, 1)
        return DECAY * mean + (1 - DECAY) * CENTRE + self.drift * step

    def _new_trials(self, trials: Trials) -> None:
        steps = trials.rng.standard_normal((trials.n, self.n))
        mean = np.empty((trials.n, self.n))
        for k in range(trials.n):
            mean[k] = self._mean
            self._mean = self._next_mean(self._mean, steps[k])
        if self.walk == "bounded":
            payoff = (trials.rng.random(mean.shape) < mean).astype(float)
        else:
            payoff = mean + self.noise * trials.rng.standard_normal(mean.shape)
        best = trials.info["ground_truth"] = mean.argmax(axis=1)
        trials.info.update({f"value{arm}": mean[:, arm] for arm in range(self.n)})
        trials.add_period("decision", self.dt)
        trials.set_groundtruth(best, "decision")
        correct, fail = trials.reward("correct"), trials.reward("fail")
        for arm in range(self.n):
            paid = fail + (correct - fail) * payoff[:, arm]
            trials.set_action_reward("decision", arm, paid, (mean[:, arm] == mean.max(axis=1)).astype(float))
