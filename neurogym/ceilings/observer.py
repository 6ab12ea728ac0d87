"""Exact posterior for tasks that add Gaussian noise to noise-free trials from a finite set.

Without its noise a task itself lists the noise-free trials (templates) of a given timing. A noisy trial then has a
posterior over templates, and each action at the last step an expected performance and reward. The best performance
and the best reward belong to two observers, since changed rewards may make it better to skip a trial. A score is a
posterior expectation, which has less variance than the outcome and the same mean.

Wrappers may add noise: its variance adds to that of the task, cell by cell.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from neurogym.array_types import BoolArray, FloatArray, IntArray
from neurogym.ceilings.effects import ObserverSettings
from neurogym.core import TrialEnv
from neurogym.sampling.distributions import Distribution, values_of
from neurogym.scores import Score
from neurogym.trials import Trials

ENTRIES = 4_000_000  #: likelihoods that are held at a time
RESOLUTION = 1e-5  #: difference of two observations that counts as none
COARSE, UNLIKELY = 1e-3, 0.2  #: visible noise; share of samples that equal noise-free ones by chance
TIMINGS, TRIALS = 96, 400  #: draws of the random durations, and noisy trials of each

MOST = 20_000  #: combinations of conditions
METHOD = "exact posterior over noise-free trials"


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
        self.settings = settings
        index = [env.wrappers.index(noise) for noise in noises]
        self.noisy, self.clean = copy.deepcopy(env), copy.deepcopy(env)
        self.sigma = float(getattr(env, "sigma", None) or 0.0)
        for env_copy in (self.noisy, self.clean):
            env_copy.reset(seed=seed)
            env_copy.stack.keep([env_copy.wrappers[i] for i in index])
        if self.sigma:
            self.clean.sigma = 0.0
        self._noises = self.noisy.wrappers
        present = self.clean.make_trials(1).starts
        self._random = [name for name, spec in env.timing.items() if name in present and _varies(spec)]
        self.timed = not self._random  #: whether every trial has the same periods

    def timings(self, n: int) -> Iterator[int]:
        """Fix the durations of all trials to random draws, ``n`` times; once if durations are constant."""
        original = dict(self.noisy.timing)
        for k in range(1 if self.timed else n):
            self.noisy.timing = dict(original)
            first = self.noisy.make_trials(1)
            steps = {name: float(first.ends[name][0] - first.starts[name][0]) for name in self._random}
            self.noisy.update(timing={name: count * self.noisy.dt for name, count in steps.items()})
            self.clean.timing = dict(self.noisy.timing)
            yield k
        self.noisy.timing = self.clean.timing = original

    def score(self, method: str, timings: int = TIMINGS, trials: int = TRIALS) -> Score:
        """Return the mean performance and reward of the best observers, with the standard error of the performance."""
        scores = self.scores(timings, trials)
        performance, reward = float(scores.performance.mean()), float(scores.reward.mean())
        return {"performance": performance, "reward": reward, "error": scores.error, "method": f"{method}, simulated"}

    def scores(self, timings: int, trials: int) -> Scores:
        """Scores of the observer with the task's own mixture of conditions.

        Args:
            timings: Draws of the random durations.
            trials: Noisy trials of each (of a task without random durations that many times as many), at least.

        Raises:
            ValueError: If the observer does not fit these trials.
        """
        rows = []
        for k in self.timings(timings):
            templates = self._templates()
            made = self._made(self.noisy, trials * (timings if self.timed else 1))
            seen, variance = self._seen(made, templates)
            performance, reward = [], []
            for _, log in self._posterior(seen, templates, variance):
                post = np.exp(log - log.max(axis=1, keepdims=True))
                post /= post.sum(axis=1, keepdims=True)
                performance.append((post @ templates.performance).max(axis=1))
                reward.append((post @ templates.reward).max(axis=1))
            rows.append((np.concatenate(performance), np.concatenate(reward), np.full(len(seen), k)))
        return Scores(*(np.concatenate(column) for column in zip(*rows, strict=True)))

    def likelihoods(self, timings: int, trials: int) -> tuple[FloatArray, IntArray]:
        """Log-likelihoods of trials, equally many per ground truth, under each ground truth.

        Args:
            timings: Draws of the random durations.
            trials: Trials of each timing and ground truth.

        Returns:
            Log-likelihood up to a constant of each trial, shape (n, choices), and the index of its ground truth (n,).

        Raises:
            ValueError: If not every ground truth has an answer of its own, or the observer does not fit these trials.
        """
        from scipy.special import logsumexp

        choices = np.asarray(self.noisy.choices)
        size = trials * (timings if self.timed else 1)
        logs, truths = [], []
        for _ in self.timings(timings):
            templates = self._templates(choices)
            if not templates.answers_are_unambiguous:
                raise ValueError("not every ground truth has an answer of its own")
            truth = np.repeat(np.arange(len(choices)), size)
            made = self.noisy.make_trials(len(truth), ground_truth=choices[truth])
            seen, variance = self._seen(made, templates)
            for chunk, log in self._posterior(seen, templates, variance):
                logs.append(np.stack([logsumexp(log[:, templates.truth == g], axis=1) for g in range(len(choices))], 1))
                truths.append(truth[chunk])
        return np.concatenate(logs), np.concatenate(truths)

    # -- parts --------------------------------------------------------------------------------------------------------

    def _made(self, env: TrialEnv, draws: int) -> Trials:
        """Trials of every combination of the conditions, each as often as the others; ``draws`` at least."""
        values = {name: _listed(env.conditions[name]) for name in self.settings.conditions}
        combinations = list(itertools.product(*values.values()))
        if len(combinations) > MOST:
            raise ValueError(f"there are more than {MOST:,} kinds of noise-free trials")
        n = max(2, -(-draws // len(combinations))) * len(combinations)
        order = np.arange(n) % len(combinations)
        columns = {name: _column([each[k] for each in combinations])[order] for k, name in enumerate(values)}
        return env.make_trials(n, **columns)

    def _noise_free(self, choices: np.ndarray | None) -> tuple[Trials, IntArray]:
        """Noise-free trials and the index of the ground truth of each, 0 without ``choices``."""
        draws = max(self.settings.draws, 1)
        if choices is not None and not self.settings.conditions:
            truth = np.repeat(np.arange(len(choices)), draws)
            return self.clean.make_trials(len(truth), ground_truth=choices[truth]), truth
        trials = self._made(self.clean, draws)
        if choices is None:
            return trials, np.zeros(trials.n, np.int64)
        return trials, (np.asarray(trials.info["ground_truth"])[:, None] == choices).argmax(axis=1)

    def _templates(self, choices: np.ndarray | None = None) -> _Templates:
        """Distinct noise-free trials; equal observations with different correct answers are separate templates.

        Args:
            choices: Ground truths within each of which the weights add up to 1; None: all together.
        """
        trials, truth = self._noise_free(choices)
        means = _rows(trials)
        last = trials.offset + int(trials.length[0]) - 1
        reward, performance = trials.fields["reward"][last], trials.fields["performance"][last]
        full = np.hstack([means, reward, performance, truth[:, None]])
        if not np.isfinite(full).all():
            raise ValueError("observations or rewards are not numbers")
        key = np.random.default_rng(0).standard_normal((full.shape[1], 2))
        _, index, count = np.unique(np.round(full @ key, 5), axis=0, return_index=True, return_counts=True)
        total = np.bincount(truth[index], weights=count)
        return _Templates(means[index], reward[index], performance[index], count / total[truth[index]], truth[index])

    def _posterior(
        self, seen: FloatArray, templates: _Templates, variance: FloatArray
    ) -> Iterator[tuple[IntArray, FloatArray]]:
        """Parts of the trials, and their log posterior over templates up to a constant."""
        for chunk in _chunks(len(seen), len(templates.weight)):
            yield chunk, np.log(templates.weight) + self._log_likelihood(seen[chunk], templates, variance)

    def _seen(self, trials: Trials, templates: _Templates) -> tuple[FloatArray, FloatArray]:
        """The observations with all noise, shape (n, cells), and the variance of each cell (0: without noise)."""
        seen, width = _rows(trials), trials.ob.shape[1]
        some = seen[np.linspace(0, len(seen) - 1, 40).astype(int)]
        equal = np.array([_among(column, mean).mean() for column, mean in zip(some.T, templates.mean.T, strict=True)])
        noisy = equal < 1
        if self.sigma > COARSE and not self.settings.floor and np.any(equal[noisy] > UNLIKELY):
            raise ValueError("some trials have noise where others have none")
        if not self.timed and (self._noises or noisy.reshape(-1, width).any(axis=1).all()):
            raise ValueError("noise hides when the periods of a trial begin, whose durations vary")
        variance = np.where(noisy, self.sigma**2, 0.0)
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


def _listed(values: Any) -> list[Any]:
    """Values of a condition.

    Raises:
        ValueError: If they are a continuum.
    """
    if isinstance(values_of(values), Distribution):
        raise ValueError("a condition is drawn from a continuum")
    return list(values)


def _rows(trials: Trials, field: np.ndarray | None = None) -> FloatArray:
    """Reshape an array with a row per step to a row per trial, shape (n, steps * channels)."""
    steps = int(trials.length[0])
    if not (trials.length == steps).all():
        raise ValueError("trials of one timing differ in length")
    values = trials.ob if field is None else field
    return values[trials.offset[:, None] + np.arange(steps)].reshape(trials.n, -1).astype(np.float64)


def _varies(duration: object) -> bool:
    return Distribution.of(duration).kind not in ("constant", "until")


def _among(values: FloatArray, reference: FloatArray) -> BoolArray:
    """Whether each value occurs in the noise-free trials."""
    return np.isin(values.round(5), reference.round(5))


def _column(values: list[Any]) -> np.ndarray:
    """Conditions as an array with an entry per trial, also those that are tuples."""
    return np.fromiter(values, object, len(values)) if isinstance(values[0], tuple) else np.array(values)


def _chunks(n: int, templates: int) -> list[IntArray]:
    return np.array_split(np.arange(n), max(1, n * templates // ENTRIES))
