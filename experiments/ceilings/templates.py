"""Exact posterior for tasks that add Gaussian noise to one of finitely many noise-free trials.

With sigma = 0 the task itself lists the noise-free trials (templates) of a given timing. A noisy trial then has a
posterior over templates, and each action at the last step an expected reward; the best one is taken. The score is the
posterior expectation of its performance and reward (which has less variance than the outcome, and the same mean).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_ndtr, logsumexp

from experiments.ceilings.result import Ceiling, make, mean_and_error
from neurogym.core import TrialEnv
from neurogym.trials import Trials
from neurogym.utils.ngym_random import parse


def template_ceiling(
    task: str,
    timings: int = 40,
    trials: int = 500,
    draws: int = 6000,
    prior: dict[Any, float] | None = None,
    floor: bool = False,
    uniform: bool = False,
    method: str = "exact posterior over noise-free trials",
    **kwargs: Any,
) -> Ceiling:
    """Ceiling of a task with a declared rule that is answered at the last step at the latest.

    Args:
        task: Id.
        timings: Number of draws of the random durations; 1 if none is random.
        trials: Noisy trials for each.
        draws: Noise-free trials from which the templates are collected.
        prior: Probability of each ground truth, if the task draws them from a chain; default as drawn.
        floor: Whether observations are cut off at zero.
        uniform: Whether all templates are equally likely (else by how often they were drawn).
        method: What is said of the result.
        **kwargs: Parameters of the task.
    """
    noisy, clean = make(task, **kwargs), make(task, sigma=0, **kwargs)
    original = dict(noisy.timing)
    if all(parse(spec)[0] == "constant" for spec in original.values()):
        timings, trials = 1, timings * trials
    performance, reward = [], []
    for _ in range(timings):
        noisy.timing = dict(original)
        first = noisy.make_trials(1)
        for name in original:
            if name in first.starts and first.ends[name][0] > first.starts[name][0]:
                noisy.timing[name] = float(first.ends[name][0] - first.starts[name][0]) * noisy.dt
        clean.timing = noisy.timing
        scores = _score(noisy, clean, trials, draws, prior, floor, uniform)
        performance.append(scores[0])
        reward.append(scores[1])
    groups = [scores.mean() for scores in performance] if timings > 1 else performance[0]
    mean, error = mean_and_error(np.asarray(groups))
    return Ceiling(mean, float(np.mean([r.mean() for r in reward])), error, f"{method}, simulated")


def _make(env: TrialEnv, n: int, prior: dict[Any, float] | None) -> Trials:
    if prior is None:
        return env.make_trials(n)
    values = np.array(list(prior))
    return env.make_trials(n, ground_truth=values[env.np_random.choice(len(values), size=n, p=list(prior.values()))])


def _flat(trials: Trials) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Observations (n, steps * channels) and the payments at the last step, (n, actions) each."""
    steps = int(trials.length[0])
    assert (trials.length == steps).all(), "trials of one timing differ in length"
    last = trials.offset + steps - 1
    ob = trials.ob.reshape(trials.n, -1).astype(np.float64)
    return ob, trials.fields["reward"][last], trials.fields["performance"][last]


def _score(
    noisy: TrialEnv, clean: TrialEnv, trials: int, draws: int, prior: Any, floor: bool, uniform: bool
) -> tuple[np.ndarray, np.ndarray]:
    means, reward, performance = _flat(_make(clean, draws, prior))
    seen = _flat(_make(noisy, trials, prior))[0]
    whole = np.hstack([means, reward, performance])  # trials that look the same but need different answers count apart
    key = np.random.default_rng(0).standard_normal((whole.shape[1], 2))
    _, index, count = np.unique(np.round(whole @ key, 5), axis=0, return_index=True, return_counts=True)
    means, reward, performance = means[index], reward[index], performance[index]
    log_prior = np.zeros(len(index)) if uniform else np.log(count / count.sum())
    informative = np.array(
        [not np.isin(s.round(5), m.round(5)).all() for s, m in zip(seen[:40].T, means.T, strict=True)]
    )
    result = []
    for part in np.array_split(np.arange(len(seen)), max(1, len(seen) * len(index) // 4_000_000)):
        log_post = log_prior + _log_likelihood(seen[part], means, informative, noisy.sigma, floor)
        post = np.exp(log_post - logsumexp(log_post, axis=1, keepdims=True))
        expected, accuracy = post @ reward, post @ performance
        best = (expected + 1e-9 * accuracy).argmax(axis=1)
        chosen = np.arange(len(part)), best
        result.append((accuracy[chosen], expected[chosen]))
    return np.concatenate([r[0] for r in result]), np.concatenate([r[1] for r in result])


def _log_likelihood(
    seen: np.ndarray, means: np.ndarray, informative: np.ndarray, sigma: float, floor: bool
) -> np.ndarray:
    """Log-likelihood of each template, shape (trials, templates); noise-free cells must agree."""
    x, m = seen[:, informative], means[:, informative]
    if floor:
        cut = x <= 0
        inside = -0.5 * ((~cut) @ (m**2).T - 2 * (x * ~cut) @ m.T) / sigma**2
        return inside + cut @ log_ndtr(-m / sigma).T
    log = (x @ m.T - 0.5 * (m**2).sum(axis=1)) / sigma**2
    a, b = seen[:, ~informative], means[:, ~informative]
    apart = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    return np.where(apart > 1e-3, -np.inf, log)
