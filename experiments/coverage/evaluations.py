"""Simulated evaluations, populations and seeds: scores, decoding, similarity, confidence, and effects of covariates.

Functions draw one experiment, as those of `experiments.coverage.observers`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

from experiments.coverage.observers import BOOT, Generator, Truths
from experiments.fitting.simulated import BANDIT
from neurogym import analysis
from neurogym.analysis.intervals import clusters, mean_interval
from neurogym.analysis.results import Estimate
from neurogym.behaviour.metacognition import meta_d_prime
from neurogym.behaviour.models.agents import AgentPolicy
from neurogym.behaviour.models.base import Problem
from neurogym.behaviour.models.learning import WinStayLoseShift
from neurogym.behaviour.simulate import ReversingBandit, simulate
from neurogym.behaviour.table import session
from ngym_cli.fitting.group import Covariates, fit_groups
from ngym_cli.fitting.validation import scores
from ngym_cli.runs.summary import interval
from ngym_cli.sweeps.results import statistics


def performance(rng: Generator, share: float = 1.0) -> Truths:
    """Performance and reward of an evaluation, trials independent."""
    right = rng.random(int(400 * share)) < 0.85
    table = {"performance": right.astype(float), "reward": np.where(right, 1.0, -0.1) + rng.normal(0, 0.2, len(right))}
    return {
        "performance": (Estimate(np.nan, *interval(table)), 0.85),
        "reward": (Estimate(np.nan, *interval(table, "reward")), 0.85 - 0.015),
    }


def linked_performance(rng: Generator, share: float = 1.0) -> Truths:
    """Performance of an evaluation in sessions of different difficulty."""
    sessions, trials = int(48 * share), 40
    p = np.repeat(rng.beta(8, 2, sessions), trials)
    label = np.repeat(np.arange(sessions), trials)
    position = np.tile(np.arange(trials), sessions)
    table = {
        "performance": (rng.random(len(p)) < p).astype(float),
        "linked": np.ones(len(p), bool),
        "env": label,
        "session_trial": position,
        "trial": np.arange(len(p)),
    }
    return {"performance": (mean_interval(table["performance"], clusters(table)), 0.8)}


def held_out_scores(rng: Generator, share: float = 1.0) -> Truths:
    """Mean log-likelihood of two models over sessions, and their difference."""
    rows, right, wrong = [], [], []
    for k in range(int(40 * share)):
        p = expit(rng.normal(0.3 * rng.normal(), 1, 60))
        rows.append(session((rng.random(60) < p).astype(int), name=str(k)))
        right.append(np.stack([1 - p, p], 1))
        wrong.append(np.stack([1 - expit(0.5 * logit(p)), expit(0.5 * logit(p))], 1))
    row = scores({"right": np.concatenate(right), "wrong": np.concatenate(wrong)}, rows)
    truth = _expected_scores()
    return {
        "log-likelihood": (row["right"].log_likelihood, truth[0]),
        "difference": (row["wrong"].against_best, truth[1] - truth[0]),
    }


@cache
def _expected_scores() -> tuple[float, float]:
    x = np.linspace(-12, 12, 20001)
    weight, p = norm.pdf(x, 0, np.sqrt(1.09)) * (x[1] - x[0]), expit(x)
    q = expit(0.5 * x)
    first, second = (float(weight @ (p * np.log(each) + (1 - p) * np.log1p(-each))) for each in (p, q))
    return first, second


def seeds(rng: Generator, share: float = 1.0) -> Truths:
    """Mean and interquartile mean of performance over the seeds of a setting of a sweep."""
    row = statistics(rng.normal(0.8, 0.05, int(20 * share)))
    ends = {name: row[f"{name}_ci"] or (np.nan, np.nan) for name in ("mean", "iqm")}  # type: ignore[literal-required]
    return {name: (Estimate(np.nan, *pair), 0.8) for name, pair in ends.items()}


def decoder(rng: Generator, share: float = 1.0) -> Truths:
    """Accuracy of a linear discriminant of two units, one and a half standard deviations between the classes."""
    label = np.repeat([0, 1], int(200 * share))
    activity = rng.normal(0, 1, (len(label), 1, 2))
    activity[:, 0, 0] += 1.5 * label
    order = rng.permutation(len(label))
    found = analysis.decode(activity[order], label[order], seed=int(rng.integers(1e6)))
    return {"accuracy": (Estimate(found.accuracy[0], found.low[0], found.high[0]), float(norm.cdf(0.75)))}


def similar_geometries(rng: Generator, share: float = 1.0) -> Truths:
    """Agreement of dissimilarities of two populations that share half of their variance, over random conditions."""
    first, second = _populations(rng, int(32 * share))
    found = analysis.representational_similarity(
        first, second, n_permutations=1, n_boot=BOOT, metric="euclidean", seed=int(rng.integers(1e6))
    )
    return {"correlation": (found.correlation, _agreement())}


def _populations(rng: Generator, conditions: int) -> tuple[np.ndarray, np.ndarray]:
    shared = rng.normal(0, 1, (conditions, 6))
    first, second = (shared + rng.normal(0, 1, shared.shape) for _ in range(2))
    return first, second


@cache
def _agreement() -> float:
    patterns = _populations(np.random.default_rng(0), 1500)
    found = analysis.representational_similarity(*patterns, n_permutations=1, n_boot=2, metric="euclidean")
    return found.correlation.value


def confidence(rng: Generator, share: float = 1.0) -> Truths:
    """Sensitivity of choices and of ratings of confidence for an ideal observer of his own evidence."""
    truth = rng.integers(0, 2, int(2000 * share))
    evidence = rng.normal(1.5 * (truth - 0.5), 1)
    rating = np.digitize(np.abs(evidence), [0.5, 1.0, 1.7])
    d, meta, ratio = meta_d_prime(truth, (evidence > 0).astype(int), rating, 4)
    return {"d'": (d, 1.5), "meta-d'": (meta, 1.5), "M-ratio": (ratio, 1.0)}


def covariate(rngs: Sequence[Generator], share: float) -> list[Truths]:
    """Weight of a covariate of subjects on a parameter, all groups fitted in one call."""
    model, subjects = WinStayLoseShift("m"), 8 if share < 1 else 14
    values, parameters, problems = np.linspace(-1, 1, subjects), model.parameters(BANDIT), []
    for value in values:
        for rng in rngs:
            x = np.array([-1 + 0.5 * value + 0.4 * rng.normal(), -0.5 + 0.4 * rng.normal(), 0.0])
            world = ReversingBandit(1, 60, 2, rng)
            problems.append(Problem(simulate(AgentPolicy(model, parameters, x, 2), world, BANDIT, rng)))
    covariates = Covariates(("z",), values[:, None])
    effects = [group.effects() for group in fit_groups(model, problems, len(rngs), covariates)[1]]
    return [
        {name: (each[name]["z"], truth) for name, truth in (("epsilon_win", 0.5), ("epsilon_lose", 0.0))}
        for each in effects
    ]


EVALUATIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        performance,
        linked_performance,
        held_out_scores,
        seeds,
        decoder,
        similar_geometries,
        confidence,
    )
}
