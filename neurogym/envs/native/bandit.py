"""Multi-armed bandits: with fixed arms, with new arms in every session, and with arms that drift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np

from neurogym.compat.members import without_periods
from neurogym.envs.blocks import SessionsInSequence, paid
from neurogym.envs.task import Rule, TaskInfo, TrialEnv, Trials, Vectors, spaces, usual_arguments
from neurogym.parameters.arguments import AtLeastTwo, Count, NonNegative, OneOf, Probabilities


class Arms(TrialEnv):
    """Base of bandits: a trial is a single step, in which one of ``n`` arms is chosen."""

    metadata = TaskInfo(
        tags=["n-alternative", "value-based", "learning"],
        needs_reward=True,
        probabilistic=True,
        necessary=("history",),
        measures=("bandit",),
    )
    rule = Rule(fixate=(), answer=None, hold=None)
    n: int

    def _set_arms(self, n: int) -> None:
        self.n = n
        self.action_space = spaces.Discrete(n, name={"choice": range(n)})

    def _offer(self, trials: Trials, payoff: np.ndarray, value: np.ndarray) -> None:
        """Reward each arm with its payoff; a choice is right if no arm has a higher value. Shapes (n, arms)."""
        best = value >= value.max(axis=1, keepdims=True) - 1e-12
        trials.add_period("decision", self.dt)
        trials.set_action_reward("decision", range(self.n), payoff, best.astype(float))


class Bandit(Arms):
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
        history_dependent=True,
        necessary=(),
        measures=("bandit",),
    )

    def __init__(
        self,
        dt: float = 100,
        n: Count = 2,
        p: Probabilities | None = None,
        rewards: Sequence[float] | None = None,
        timing: Mapping[str, object] | None = None,
    ):
        super().__init__(dt=dt)
        without_periods(self, timing)
        self._set_arms(n)
        self.p = np.where(np.arange(n) == 0, 0.8, 0.2) if p is None else np.asarray(p, dtype=float)
        self.magnitudes = np.ones(n) if rewards is None else np.asarray(rewards, dtype=float)
        if self.p.shape != (n,) or self.magnitudes.shape != (n,):
            raise ValueError(f"p and rewards need one entry for each of the {n} arms, got {p!r} and {rewards!r}")
        self.conditions = {"p": Vectors(n, 0, 1), "rewards": Vectors(n)}
        self.observation_space = spaces.channels({"fixation": 0})

    def _new_trials(self, trials: Trials) -> None:
        p, amounts = self._each(trials, "p", self.p), self._each(trials, "rewards", self.magnitudes)
        value = p * amounts
        trials.info.update({f"value{arm}": value[:, arm] for arm in range(self.n)})
        self._offer(trials, (trials.rng.random(p.shape) < p) * amounts, value)

    @staticmethod
    def _each(trials: Trials, name: str, usual: np.ndarray) -> np.ndarray:
        """Property of each arm in each trial, as requested or the default, shape (n, arms)."""
        rows = np.stack(list(trials.given[name])) if name in trials.given else np.tile(usual, (trials.n, 1))
        trials.info[name] = rows = rows.astype(float)
        return rows

    def oracle(self) -> int:
        """The arm with the highest expected reward."""
        return int(np.argmax(self.trial["p"] * self.trial["rewards"]))


LOWER = {"easy": 0.1, "medium": 0.25, "hard": 0.4}  #: probability of the worse of two arms
Arrangement = Annotated[str, OneOf(("independent", "correlated", *LOWER))]


class ChangingBandit(Arms, SessionsInSequence):
    """Find the best arm within a session; each session has new arms. A trial is a single step.

    The only channel is on in the first trial of a session. The last choice and reward must come from ``PassAction`` and
    ``PassReward``. Performance is 1 if the best arm was chosen.

    Args:
        arms: How the arms' probabilities are drawn: ``"independent"`` (uniform); with two arms also ``"correlated"``
            (p uniform, and 1 - p), ``"easy"`` (0.1 and 0.9 in random order), ``"medium"`` (0.25 and 0.75) and
            ``"hard"`` (0.4 and 0.6).
        n: Number of arms.
        session: Trials of a session.

    Raises:
        ValueError: If ``arms`` is unknown or needs two arms, or a number is too small.

    Source: Wang et al. 2016, Learning to reinforcement learn, arXiv 1611.05763.
    """

    metadata = Arms.metadata.replace(doi="10.48550/arXiv.1611.05763")
    default_rewards = {"correct": 1.0, "fail": 0.0}

    @usual_arguments(tables=("rewards",), abort=False)
    def __init__(self, arms: Arrangement = "independent", n: AtLeastTwo = 2, session: Count = 100):
        if n != 2 and arms != "independent":
            raise ValueError(f"arms={arms!r} needs two arms, got n={n!r}")
        self.arms, self.trials_per_session = arms, session
        self._set_arms(n)
        self.observation_space = spaces.channels({"start": 0})
        self.start_session()

    def start_session(self) -> None:
        """Draw new arms at the next trial."""
        self._done, self._p = 0, np.zeros(self.n)

    def _draw_arms(self, rng: np.random.Generator) -> np.ndarray:
        if self.arms == "independent":
            return rng.random(self.n)
        lower = rng.random() if self.arms == "correlated" else LOWER[self.arms]
        return rng.permutation([lower, 1 - lower])

    def _new_trials(self, trials: Trials) -> None:
        position = self.session_trials(trials)
        begins = position == 0
        arms = np.stack([self._p, *(self._draw_arms(trials.rng) for _ in range(np.count_nonzero(begins)))])
        p, self._p = arms[np.cumsum(begins)], arms[-1]
        best = p.argmax(axis=1)
        trials.info.update(ground_truth=best, session_trial=position, **{f"p{arm}": p[:, arm] for arm in range(self.n)})
        self._offer(trials, paid(trials, trials.rng.random(p.shape) < p), p)
        trials.add_ob(begins, "decision", where="start")
        trials.set_groundtruth(best, "decision")


ARMS_OF_WALK = {"bounded": 2, "gaussian": 4}  #: walk to default number of arms
WalkKind = Annotated[str, OneOf(ARMS_OF_WALK)]
WALK_SD = 0.15  #: s.d. of a step of the bounded walk, Miller et al. 2021
DECAY, CENTRE, DRIFT, NOISE = 0.9836, 0.5, 0.028, 0.04  #: Daw et al. 2006, whose payoffs run from 0 to 100 points


class DriftingBandit(Arms):
    """Choose one of several arms whose payoffs drift independently from trial to trial. A trial is a single step.

    The observation is always zero: what was chosen and paid must come from ``PassAction`` and ``PassReward``.
    Performance is 1 if the arm was chosen whose expected payoff is highest at present.

    Args:
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

    metadata = Arms.metadata.replace(doi="10.1101/461129")
    default_rewards = {"correct": 1.0, "fail": 0.0}

    @usual_arguments(tables=("rewards",), abort=False)
    def __init__(
        self,
        walk: WalkKind = "bounded",
        n: AtLeastTwo | None = None,
        drift: NonNegative | None = None,
        noise: NonNegative = NOISE,
    ):
        self.drift = (DRIFT if walk == "gaussian" else WALK_SD) if drift is None else drift
        self.walk, self.noise = walk, noise
        self._set_arms(ARMS_OF_WALK[walk] if n is None else int(n))
        self.observation_space = spaces.channels({"fixation": 0})
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
        correct, fail = trials.reward("correct")[:, None], trials.reward("fail")[:, None]
        self._offer(trials, fail + (correct - fail) * payoff, mean)
        trials.set_groundtruth(best, "decision")
