"""Exact posterior for tasks that add Gaussian noise to noise-free trials from a finite set.

Without its noise a task itself lists the noise-free trials (templates) of a given timing. A noisy trial then has a
posterior over templates, and each action at the last step an expected performance and reward. The best performance
and the best reward belong to two observers, since changed rewards may make it better to skip a trial. A score is a
posterior expectation, which has less variance than the outcome and the same mean.

Wrappers may add noise: its variance adds to that of the task, cell by cell.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from neurogym.array_types import FloatArray, IntArray
from neurogym.core import TrialEnv
from neurogym.sampling.distributions import Distribution
from neurogym.scores import Score
from neurogym.trials import Trials

LEVEL = 0.01  #: below this probability counts speak against simple ratios
ENTRIES = 4_000_000  #: likelihoods that are held at a time
RESOLUTION = 1e-5  #: difference of two observations that counts as none
TIMINGS, TRIALS = 96, 400  #: draws of the random durations, and noisy trials of each


@dataclass(frozen=True)
class ObserverSettings:
    """Settings of a task's ideal observer.

    Attributes:
        draws: Noise-free trials from which the templates are collected.
        prior: Probability of each ground truth, if the task draws them from a chain; None: as drawn.
        floor: Whether observations are cut off at zero.
        said: Description of the method in the result.
    """

    draws: int = 6000
    prior: Mapping[object, float] | None = None
    floor: bool = False
    said: str = "exact posterior over noise-free trials"


REPEATING = "exact posterior in the long run (the kind of block is then known)"

#: Tasks with one answer, at the last step at the latest, and finitely many noise-free trials.
OBSERVED: dict[str, ObserverSettings] = {
    "AuditoryComparison-v0": ObserverSettings(),
    "ContextDecisionMaking-v0": ObserverSettings(),
    "DelayComparison-v0": ObserverSettings(),
    "DelayMatchSample-v0": ObserverSettings(),
    "DelayPairedAssociation-v0": ObserverSettings(),
    "GenTask-v0": ObserverSettings(),
    "NAltConditionalVisuomotor-v0": ObserverSettings(),
    "NAltPerceptualDecisionMaking-v0": ObserverSettings(),
    "PerceptualDecisionMaking-v0": ObserverSettings(),
    "PerceptualDecisionMakingDelayResponse-v0": ObserverSettings(),
    "PostDecisionWager-v0": ObserverSettings(),
    "Priors-v0": ObserverSettings(draws=2000, prior={1: 0.8, 2: 0.2}, said=REPEATING),
    "RDMHist-v0": ObserverSettings(prior={1: 0.8, 2: 0.2}, said=REPEATING),
    "RateDiscrimination-v0": ObserverSettings(floor=True),
    "ToneDetection-v0": ObserverSettings(),
    **{f"perceptualdecisionmaking.{name}-v0": ObserverSettings() for name in ("ibl20", "roitman02")},
    **{f"yang19.{name}-v0": ObserverSettings(draws=20_000) for name in ("dms", "dnms", "dmc", "dnmc")},
}


@dataclass(frozen=True)
class Scores:
    """Expected performance and reward of single trials, and the timing that each belongs to; shapes (trials,)."""

    performance: FloatArray
    reward: FloatArray
    group: IntArray

    @property
    def error(self) -> float:
        """Standard error of the mean performance: between timings, or between trials if there is a single timing."""
        groups = np.unique(self.group)
        each = np.array([self.performance[self.group == g].mean() for g in groups])
        values = each if len(groups) > 1 else self.performance
        return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


class IdealObserver:
    """Ideal observer of a task and of the wrappers that add noise.

    Args:
        env: The task, wrapped or not; it is not disturbed.
        settings: See :class:`ObserverSettings`.
        noises: The wrappers of the stack that add noise.
        seed: Of the trials that are drawn.
    """

    def __init__(self, env: TrialEnv, settings: ObserverSettings, noises: tuple[Any, ...] = (), seed: int = 0):
        self.settings, self.rng = settings, np.random.default_rng(seed)
        index = [env.wrappers.index(noise) for noise in noises]
        self.noisy, self.clean = copy.deepcopy(env), copy.deepcopy(env)
        self.sigma = float(getattr(env, "sigma", None) or 0.0)
        for env_copy in (self.noisy, self.clean):
            env_copy.reset(seed=seed)
            env_copy.stack.keep([env_copy.wrappers[i] for i in index])
        if self.sigma:
            self.clean.sigma = 0.0  # type: ignore[attr-defined]
        self._noises = self.noisy.wrappers

    @property
    def timed(self) -> bool:
        """Whether every trial has the same periods."""
        return all(Distribution.of(spec)[0] in ("constant", "until") for spec in self.noisy.timing.values())

    def timings(self, n: int) -> Iterator[int]:
        """Fix the durations of all trials to random draws, ``n`` times; once if durations are constant."""
        original = dict(self.noisy.timing)
        for k in range(1 if self.timed else n):
            self.noisy.timing = dict(original)
            first = self.noisy.make_trials(1)
            for name, spec in original.items():
                if name in first.starts and Distribution.of(spec)[0] not in ("constant", "until"):
                    self.noisy.timing[name] = float(first.ends[name][0] - first.starts[name][0]) * self.noisy.dt
            self.clean.timing = dict(self.noisy.timing)
            yield k
        self.noisy.timing = self.clean.timing = original

    def score(self, method: str) -> Score:
        """Return the mean performance and reward of the best observers, with the standard error of the performance."""
        scores = self.scores(TIMINGS, TRIALS)
        performance, reward = float(scores.performance.mean()), float(scores.reward.mean())
        return {"performance": performance, "reward": reward, "error": scores.error, "method": f"{method}, simulated"}

    def scores(self, timings: int, trials: int) -> Scores:
        """Scores of the observer with the task's own mixture of conditions.

        Args:
            timings: Draws of the random durations.
            trials: Noisy trials of each (of a task without random durations that many times as many).
        """
        from scipy.special import logsumexp

        size = trials * (timings if self.timed else 1)
        rows = []
        for k in self.timings(timings):
            templates = self._templates(_drawn(self.clean, self.settings.draws, self.settings.prior))
            seen, variance = self._seen(_drawn(self.noisy, size, self.settings.prior), templates)
            performance, reward = [], []
            for chunk in _chunks(len(seen), len(templates.weight)):
                log = np.log(templates.weight) + self._log_likelihood(seen[chunk], templates, variance)
                post = np.exp(log - logsumexp(log, axis=1, keepdims=True))
                expected, accuracy = post @ templates.reward, post @ templates.performance
                performance.append(accuracy.max(axis=1))
                reward.append(expected.max(axis=1))
            rows.append((np.concatenate(performance), np.concatenate(reward), np.full(size, k)))
        return Scores(*(np.concatenate(column) for column in zip(*rows, strict=True)))

    def likelihoods(self, timings: int, trials: int) -> tuple[FloatArray, IntArray]:
        """Log-likelihoods of trials, equally many per ground truth, under each ground truth.

        Args:
            timings: Draws of the random durations.
            trials: Trials of each timing and ground truth.

        Returns:
            Log-likelihood up to a constant of each trial, shape (n, choices), and the index of its ground truth (n,).

        Raises:
            ValueError: If not every ground truth has an answer of its own.
        """
        from scipy.special import logsumexp

        choices = np.asarray(self.noisy.choices)
        size = trials * (timings if self.timed else 1)
        logs, truths = [], []
        for _ in self.timings(timings):
            by_truth = np.repeat(np.arange(len(choices)), max(1, self.settings.draws // len(choices)))
            templates = self._templates(self.clean.make_trials(len(by_truth), ground_truth=choices[by_truth]), by_truth)
            if not templates.answers_are_unambiguous:
                raise ValueError("not every ground truth has an answer of its own")
            truth = np.repeat(np.arange(len(choices)), size)
            seen, variance = self._seen(self.noisy.make_trials(len(truth), ground_truth=choices[truth]), templates)
            for chunk in _chunks(len(seen), len(templates.weight)):
                log = np.log(templates.weight) + self._log_likelihood(seen[chunk], templates, variance)
                logs.append(np.stack([logsumexp(log[:, templates.truth == g], axis=1) for g in range(len(choices))], 1))
            truths.append(truth)
        return np.concatenate(logs), np.concatenate(truths)

    # -- parts --------------------------------------------------------------------------------------------------------

    def _templates(self, trials: Trials, truth: IntArray | None = None) -> _Templates:
        """Distinct noise-free trials; equal observations with different correct answers are separate templates."""
        means = _rows(trials)
        last = trials.offset + int(trials.length[0]) - 1
        reward, performance = trials.fields["reward"][last], trials.fields["performance"][last]
        labels = np.zeros(trials.n, np.int64) if truth is None else truth
        full = np.hstack([means, reward, performance, labels[:, None]])
        key = np.random.default_rng(0).standard_normal((full.shape[1], 2))
        _, index, count = np.unique(np.round(full @ key, 5), axis=0, return_index=True, return_counts=True)
        if truth is not None:  # weights within each ground truth
            weight = np.zeros(len(index))
            for g in np.unique(labels):
                weight[labels[index] == g] = _shares(count[labels[index] == g])
        else:
            weight = _shares(count)
        return _Templates(means[index], reward[index], performance[index], weight, labels[index])

    def _seen(self, trials: Trials, templates: _Templates) -> tuple[FloatArray, FloatArray]:
        """The observations with all noise, shape (n, cells), and the variance of each cell (0: without noise)."""
        seen, width = _rows(trials), trials.ob.shape[1]
        noisy = np.array([not _among(column, mean) for column, mean in zip(seen[:40].T, templates.mean.T, strict=True)])
        variance = self.sigma**2 * noisy
        for noise in self._noises:
            level, field = float(noise.std_noise), trials.fields[noise.noise_field][:, :width]
            drawn = _rows(trials, field)
            seen += level * drawn
            variance += level**2 * (drawn != 0).any(axis=0)
        return seen, variance

    def _log_likelihood(self, seen: FloatArray, templates: _Templates, variance: FloatArray) -> FloatArray:
        """Log-likelihood of each template, shape (trials, templates); noise-free cells must agree.

        Raises:
            ValueError: If no template agrees with a trial: noise-free trials are not a finite set.
        """
        from scipy.special import log_ndtr

        noisy = variance > RESOLUTION**2  # smaller noise is lost in the rounding of single precision
        spread, centre = np.sqrt(variance[noisy]), templates.mean[:, noisy].mean(axis=0)
        x, m = seen[:, noisy] / spread, templates.mean[:, noisy] / spread
        if self.settings.floor:
            cut = x <= 0
            inside = -0.5 * ((~cut) @ (m**2).T - 2 * (x * ~cut) @ m.T)
            log = inside + cut @ log_ndtr(-m).T
        else:  # around the mean template, because large numbers cancel badly
            x, m = x - centre / spread, m - centre / spread
            log = x @ m.T - 0.5 * (m**2).sum(axis=1)
        middle = templates.mean[:, ~noisy].mean(axis=0)
        a, b = seen[:, ~noisy] - middle, templates.mean[:, ~noisy] - middle
        distance = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
        differs = distance > max(1, a.shape[1]) * (2 * RESOLUTION) ** 2
        if differs.all(axis=1).any():
            raise ValueError("some trials are unlike all noise-free trials that were drawn")
        return np.asarray(np.where(differs, -np.inf, log))


@dataclass(frozen=True)
class _Templates:
    mean: FloatArray
    reward: FloatArray
    performance: FloatArray
    weight: FloatArray
    truth: IntArray

    @property
    def answers_are_unambiguous(self) -> bool:
        """Whether every ground truth has exactly one correct answer at the last step, and answers are distinct."""
        right = self.performance == 1
        answers = [np.unique(right[self.truth == g], axis=0) for g in np.unique(self.truth)]
        single = all(len(a) == 1 and a.sum() == 1 for a in answers)
        return single and len({int(a.argmax()) for a in answers}) == len(answers)


def _shares(count: IntArray) -> FloatArray:
    """Estimate probabilities from counts: ratios of numbers up to 12 if these fit, else observed frequencies."""
    from scipy.special import chdtrc

    for unit in range(1, 13):
        ratios = np.maximum(1, np.round(count * unit / np.median(count)))
        expected = ratios / ratios.sum() * count.sum()
        if chdtrc(len(count) - 1, float(((count - expected) ** 2 / expected).sum())) > LEVEL:
            return np.asarray(ratios / ratios.sum())
    return np.asarray(count / count.sum())


def _drawn(env: TrialEnv, n: int, prior: Mapping[object, float] | None) -> Trials:
    if prior is None:
        return env.make_trials(n)
    values = np.array(list(prior))
    return env.make_trials(n, ground_truth=values[env.np_random.choice(len(values), size=n, p=list(prior.values()))])


def _rows(trials: Trials, field: np.ndarray | None = None) -> FloatArray:
    """Reshape an array with a row per step to a row per trial, shape (n, steps * channels)."""
    steps = int(trials.length[0])
    if not (trials.length == steps).all():
        raise ValueError("trials of one timing differ in length")
    values = trials.ob if field is None else field
    return values[trials.offset[:, None] + np.arange(steps)].reshape(trials.n, -1).astype(np.float64)


def _among(values: FloatArray, reference: FloatArray) -> bool:
    """Whether all values occur in the noise-free trials."""
    return bool(np.isin(values.round(5), reference.round(5)).all())


def _chunks(n: int, templates: int) -> list[IntArray]:
    return np.array_split(np.arange(n), max(1, n * templates // ENTRIES))
