"""Bandit with new arms in every session."""

from __future__ import annotations

import numpy as np

from neurogym.envs.task import Rule, TaskInfo, TrialEnv, Trials, spaces

ARMS = ("independent", "correlated", "easy", "medium", "hard")
LOWER = {"easy": 0.1, "medium": 0.25, "hard": 0.4}


class ChangingBandit(TrialEnv):
    """Find the best arm within a session; each session has new arms. A trial is a single step.

    The only channel is on in the first trial of a session. The last choice and reward must come from ``PassAction`` and
    ``PassReward``. Performance is 1 if the best arm was chosen.

    Args:
        dt: Time step (ms).
        rewards: Replaces entries of ``default_rewards``.
        arms: How the arms' probabilities are drawn: ``"independent"`` (uniform); with two arms also ``"correlated"``
            (p uniform, and 1 - p), ``"easy"`` (0.1 and 0.9 in random order), ``"medium"`` (0.25 and 0.75) and
            ``"hard"`` (0.4 and 0.6).
        n: Number of arms.
        session: Trials of a session.

    Raises:
        ValueError: If ``arms`` is unknown or needs two arms, or a number is too small.

    Source: Wang et al. 2016, Learning to reinforcement learn, arXiv 1611.05763.
    """

    metadata = TaskInfo(
        doi="10.48550/arXiv.1611.05763",
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
        self, dt: float = 100, rewards: dict | None = None, arms: str = "independent", n: int = 2, session: int = 100
    ):
        super().__init__(dt=dt, rewards=rewards)
        if arms not in ARMS:
            raise ValueError(f"arms must be one of {', '.join(ARMS)}, got {arms!r}")
        if n < 2 or session < 1 or (n != 2 and arms != "independent"):
            raise ValueError(f"expected two arms (more if independent) and a session of trials, got {n!r}, {session!r}")
        self.arms, self.n, self.session = arms, n, session
        self.observation_space = spaces.channels({"start": 0})
        self.action_space = spaces.Discrete(n, name={"choice": range(n)})
        self.start_session()

    @property
    def trials_per_session(self) -> int:
        """Trials of a session."""
        return self.session

    def start_session(self) -> None:
        """Draw new arms at the next trial."""
        self._done, self._p = 0, np.zeros(self.n)

    def _draw_arms(self, rng: np.random.Generator) -> np.ndarray:
        if self.arms == "independent":
            return rng.random(self.n)
        lower = rng.random() if self.arms == "correlated" else LOWER[self.arms]
        return rng.permutation([lower, 1 - lower])

    def _new_trials(self, trials: Trials) -> None:
        place = (self._done + np.arange(trials.n)) % self.session
        begins = place == 0
        arms = np.stack([self._p, *(self._draw_arms(trials.rng) for _ in range(np.count_nonzero(begins)))])
        p = arms[np.cumsum(begins)]
        self._p = arms[-1]
        self._done += trials.n
        best = p.argmax(axis=1)
        trials.info.update(ground_truth=best, session_trial=place, **{f"p{k}": p[:, k] for k in range(self.n)})
        trials.add_period("decision", self.dt)
        trials.add_ob(place == 0, "decision", where="start")
        trials.set_groundtruth(best, "decision")
        pays = trials.rng.random(p.shape) < p
        for arm in range(self.n):
            paid = np.where(pays[:, arm], trials.reward("correct"), trials.reward("fail"))
            trials.set_action_reward("decision", arm, paid, (best == arm).astype(float))
