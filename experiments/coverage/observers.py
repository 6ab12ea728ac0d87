"""Simulated observers: trials from known parameters, analysed, beside the truth.

Every function draws one experiment from ``rng``, with a share of the usual number of trials, and returns, by parameter,
the estimate and the true value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from neurogym import analysis
from neurogym.analysis.results import Curve, Estimate
from neurogym.behaviour.describe import describe
from neurogym.behaviour.models.base import Problem
from neurogym.behaviour.models.drifting import Drifting
from neurogym.behaviour.models.logistic import Features, Logistic
from neurogym.behaviour.table import Behaviour, session

Truths = dict[str, tuple[Estimate, float]]  #: by parameter, estimate and true value
Generator = np.random.Generator

COHERENCES = np.array([0, 3.2, 6.4, 12.8, 25.6, 51.2])
BOOT = 100


def fields(result: Any, **truth: float) -> Truths:
    """Return some fields of a result beside their true values."""
    return {name: (getattr(result, name), value) for name, value in truth.items()}


def at(curve: Curve, x: float) -> Estimate:
    """Return the point of a curve that is nearest to a place."""
    i = int(np.argmin(np.abs(curve.x - x)))
    return analysis.Estimate(curve.value[i], curve.low[i], curve.high[i], np.nan)


def signed(rng: Generator, n: int) -> np.ndarray:
    """Draw signed coherences (percent), shape (n,)."""
    return rng.choice(COHERENCES, n) * rng.choice([-1, 1], n)


def _psychometric(rng: Generator, model: Any, x: np.ndarray, fixed: dict[str, float], **truth: float) -> Truths:
    p = analysis.psychometric_function(x, model, **truth)
    fit = analysis.fit_psychometric(
        x, rng.random(len(x)) < p, model=model, n_boot=0, seed=int(rng.integers(1e6)), **fixed
    )
    return fields(fit, **{name: value for name, value in truth.items() if name not in fixed})


def _asymptotes(rng: Generator, *names: str) -> dict[str, float]:
    """Draw rates of guesses and lapses.

    Coverage of an interval of a rate goes up and down with the rate, because counts are whole numbers; the mean over
    rates is what a level can mean (Brown, Cai & DasGupta 2001, 10.1214/ss/1009213286).
    """
    return {name: float(rng.uniform(0.01, 0.1)) for name in names}


def probit(rng: Generator, share: float = 1.0) -> Truths:
    """Psychometric function of signed strength, four parameters."""
    rates = _asymptotes(rng, "guess", "lapse")
    return _psychometric(rng, "probit", signed(rng, int(1200 * share)), {}, threshold=1.5, slope=0.1, **rates)


def logistic(rng: Generator, share: float = 1.0) -> Truths:
    """The same with a logistic sigmoid."""
    rates = _asymptotes(rng, "guess", "lapse")
    return _psychometric(rng, "logistic", signed(rng, int(1200 * share)), {}, threshold=-2.0, slope=0.15, **rates)


def weibull(rng: Generator, share: float = 1.0) -> Truths:
    """Accuracy against strength."""
    x, rates = rng.choice(COHERENCES, int(1200 * share)), _asymptotes(rng, "lapse")
    return _psychometric(rng, "weibull", x, {"guess": 0.5}, threshold=8.0, slope=1.3, guess=0.5, **rates)


def diffusion_trials(
    rng: Generator,
    n: int,
    sensitivity: float = 0.25,
    bound: float = 0.7,
    residual_time: float = 350.0,
    dt: float = 2e-3,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return strength, reaction time (ms) and correctness of a drift-diffusion to symmetric bounds."""
    strength = np.repeat(COHERENCES, n)
    # A walk in steps overshoots its bound by 0.58 sqrt(dt) on average (Siegmund 1985).
    height = bound - 0.5826 * np.sqrt(dt)
    state, time, correct = np.zeros(len(strength)), np.zeros(len(strength)), np.zeros(len(strength), bool)
    running, step = np.arange(len(strength)), 0
    while len(running):
        step += 1
        state[running] += sensitivity * strength[running] * dt + np.sqrt(dt) * rng.standard_normal(len(running))
        ended = running[np.abs(state[running]) >= height]
        time[ended], correct[ended] = step * dt, state[ended] > 0
        running = running[np.abs(state[running]) < height]
    return strength, 1000 * time + residual_time + rng.normal(0, 30, len(time)), correct


def chronometric(rng: Generator, share: float = 1.0) -> Truths:
    """Diffusion to a bound from reaction times."""
    truth = {"sensitivity": 0.25, "bound": 0.7, "residual_time": 350.0}
    fit = analysis.fit_chronometric(
        *diffusion_trials(rng, int(120 * share), **truth), n_boot=BOOT, seed=int(rng.integers(1e6))
    )
    return fields(fit, **truth)


def outcomes(rng: Generator, share: float = 1.0) -> Truths:
    """Rates of outcomes, drawn around 0.6, 0.2, 0.15 and 0.05 (see `_asymptotes`), mean reaction time."""
    n, (correct, error, abort, miss) = int(400 * share), rng.dirichlet([24, 8, 6, 2])
    outcome = rng.choice(["correct", "error", "abort", "miss"], n, p=[correct, error, abort, miss])
    table = {"outcome": outcome, "rt": rng.gamma(9, 50, n)}
    (rates,), (times,) = analysis.rates(table), analysis.reaction_times(table)
    truth = {"accuracy": correct / (correct + error), "correct": correct, "abort": abort, "miss": miss}
    return {**fields(rates, **truth), **fields(times, mean=450.0)}


def history(rng: Generator, share: float = 1.0) -> Truths:
    """Choice history after correct and error trials."""
    n = int(6000 * share)
    stimulus = signed(rng, n) / 10
    side, win = np.zeros(n), np.zeros(n, bool)
    draws = rng.random(n)
    for t in range(n):
        drive = 0.8 * stimulus[t]
        if t > 3:
            repeats = [side[t - k] * side[t - k - 1] * win[t - k] * win[t - k - 1] for k in (2, 3)]
            if win[t - 1]:
                drive += 0.4 * side[t - 1] + side[t - 1] * (0.5 * repeats[0] + 0.3 * repeats[1])
            else:
                drive += -0.3 * side[t - 1] + side[t - 1] * (0.1 * repeats[0] + 0.06 * repeats[1])
        side[t] = 1 if draws[t] < expit(drive) else -1
        win[t] = side[t] == (np.sign(stimulus[t]) or rng.choice([-1, 1]))
    fit = analysis.choice_history(stimulus, side > 0, win, n_lags=3)
    weights = {name: (fit.after_correct.weights[name], value) for name, value in (("stimulus", 0.8), ("win_1", 0.4))}
    weights["lose_1"] = (fit.after_error.weights["lose_1"], -0.3)
    return weights | fields(fit, transition_after_correct=0.8, transition_after_error=0.16, reset_index=0.8)


def stay_shift(rng: Generator, share: float = 1.0) -> Truths:
    """Win-stay and lose-shift."""
    n = int(800 * share)
    choice, win = np.zeros(n), rng.random(n) < 0.6
    for t in range(1, n):
        choice[t] = choice[t - 1] if rng.random() < (0.85 if win[t - 1] else 0.3) else 1 - choice[t - 1]
    return fields(analysis.win_stay_lose_shift(choice, win), win_stay=0.85, lose_shift=0.7)


def kernel(rng: Generator, share: float = 1.0) -> Truths:
    """Psychophysical kernel."""
    weights = np.array([0.9, 0.7, 0.5, 0.3, 0.2, 0.1])
    stimulus = rng.normal(0, 1, (int(1500 * share), 6))
    choice = rng.random(len(stimulus)) < expit(0.2 + stimulus @ weights)
    result = analysis.psychophysical_kernel(stimulus, choice, dt=100)
    truth = {f"weight {t}": (at(result.weights, 100 * t), weights[t]) for t in (0, 5)}
    return truth | fields(result, bias=0.2, primacy=(2.1 - 0.6) / 2.7)


def context(rng: Generator, share: float = 1.0) -> Truths:
    """Relevant and irrelevant evidence."""
    n = int(1500 * share)
    evidence, relevant = rng.choice([-50, -15, -5, 5, 15, 50], (n, 2)), rng.integers(0, 2, n)
    rows = np.arange(n)
    drive = 0.06 * evidence[rows, relevant] + 0.015 * evidence[rows, 1 - relevant]
    result = analysis.context_use(evidence, rng.random(n) < expit(drive), relevant)
    return fields(result, relevant=0.06, irrelevant=0.015, selectivity=0.6)


def optimal_cues(rng: Generator, share: float = 1.0) -> Truths:
    """Two cues and both together."""
    sigma = {"auditory": 12.0, "visual": 18.0}
    sigma["both"] = 12 * 18 / np.hypot(12, 18)
    modality, strength = rng.choice(list(sigma), int(1800 * share)), signed(rng, int(1800 * share))
    choice = rng.normal(strength, np.vectorize(sigma.get)(modality)) > 0
    result = analysis.cue_combination(strength, choice, modality, lapse=0.0, n_boot=BOOT, seed=int(rng.integers(1e6)))
    truth = {f"sigma {name}": (result.sigma[name], value) for name, value in sigma.items()}
    weight = 18**2 / (12**2 + 18**2)
    return truth | fields(result, optimal_sigma=sigma["both"], ratio=1.0, optimal_weight=weight)


def weighted_cues(rng: Generator, share: float = 1.0) -> Truths:
    """Weights of two cues."""
    first, second = rng.normal(0, 10, (2, int(1200 * share)))
    choice = rng.random(len(first)) < expit(0.12 * first + 0.04 * second)
    return fields(analysis.cue_weights(first, second, choice), first=0.12, second=0.04, share=0.75)


def wager(rng: Generator, share: float = 1.0) -> Truths:
    """Evidence is judged by its sign and waived to the sure option where it is weak, as in Kiani & Shadlen."""
    strength, offered = rng.choice([3.2, 12.8], int(1200 * share)), rng.random(int(1200 * share)) < 0.5
    evidence = rng.normal(strength, 10)
    sure = offered & (np.abs(evidence) < 6)
    result = analysis.wagering(strength, offered, sure, evidence > 0, n_boot=200, seed=int(rng.integers(1e6)))
    p_sure, gain, waived = {}, {}, {}
    for c in (3.2, 12.8):
        p_sure[c] = norm.cdf(6, c, 10) - norm.cdf(-6, c, 10)
        waived[c] = 1 - p_sure[c]
        gain[c] = norm.sf(6, c, 10) / waived[c] - norm.sf(0, c, 10)
    advantage = sum(gain[c] * waived[c] for c in gain) / sum(waived.values())
    truth = {f"sure at {c}": (at(result.sure, c), p_sure[c]) for c in p_sure}
    return truth | fields(result, p_sure=np.mean(list(p_sure.values())), advantage=advantage)


def economy(rng: Generator, share: float = 1.0) -> Truths:
    """Indifference point of two goods."""
    offers = np.array([(1, 0), (3, 1), (2, 1), (1, 1), (1, 2), (1, 3), (1, 4), (1, 6), (0, 2)])
    a, b = offers[rng.integers(0, len(offers), int(900 * share))].T
    with np.errstate(divide="ignore"):
        chose_b = rng.random(len(a)) < norm.cdf(3 * (np.log(b) - np.log(a) - np.log(2.2)))
    result = analysis.indifference_point(a, b, chose_b, n_boot=BOOT, seed=int(rng.integers(1e6)))
    return fields(result, relative_value=2.2, steepness=3.0)


def interval(rng: Generator, share: float = 1.0) -> Truths:
    """Produced against instructed intervals."""
    target = rng.choice(np.arange(800, 1600, 80), int(400 * share)).astype(float)
    mean = 230 + 0.8 * target
    produced = rng.normal(mean, 0.1 * mean)
    result = analysis.interval_reproduction(target, produced, n_boot=200, seed=int(rng.integers(1e6)))
    levels = np.arange(800, 1600, 80)
    expected = 230 + 0.8 * levels
    variance = np.mean((0.1 * expected) ** 2)
    rmse = np.sqrt(variance + np.mean((expected - levels) ** 2))
    bias = np.mean(expected - levels)
    return fields(result, bias=bias, slope=0.8, weber_fraction=0.1, variability=np.sqrt(variance), rmse=rmse)


def planner(rng: Generator, share: float = 1.0) -> Truths:
    """Stay probabilities of the two-step task."""
    n = int(2000 * share)
    choice = np.zeros(n)
    common, reward = rng.random(n) < 0.8, rng.random(n) < 0.5
    drive = 0.6 + 0.3 * (2 * reward - 1) + 0.5 * (2 * reward - 1) * (2 * common - 1)
    stay = rng.random(n) < expit(drive)
    for t in range(1, n):
        choice[t] = choice[t - 1] if stay[t - 1] else 3 - choice[t - 1]
    result = analysis.two_step(choice, common, reward)
    p = {(r, c): expit(0.6 + 0.3 * r + 0.5 * r * c) for r in (1, -1) for c in (1, -1)}
    model_free = (p[1, 1] + p[1, -1] - p[-1, 1] - p[-1, -1]) / 2
    model_based = (p[1, 1] - p[1, -1] - p[-1, 1] + p[-1, -1]) / 2
    weights = result.regression.weights
    return fields(result, model_free=model_free, model_based=model_based) | {
        "stay after rewarded rare": (result.stay["rewarded_rare"], p[1, -1]),
        "reward": (weights["reward"], 0.3),
        "interaction": (weights["interaction"], 0.5),
    }


def bandit(rng: Generator, share: float = 1.0) -> Truths:
    """Regret over sessions."""
    n = int(30 * share)
    label = np.repeat(np.arange(n), 50)
    arms = np.tile([0.2, 0.7], (50 * n, 1))
    bias = rng.uniform(0.5, 0.9, n)
    curve = analysis.cumulative_regret(
        rng.random(50 * n) < bias[label], arms, session=label, n_boot=200, seed=int(rng.integers(1e6))
    )
    return {"regret after 50": (at(curve, 50), 50 * 0.3 * 0.5)}


def reversals(rng: Generator, share: float = 1.0) -> Truths:
    """Accuracy around reversals."""
    blocks = int(40 * share)
    best = np.repeat(np.arange(blocks) % 2, 25)
    since = np.tile(np.arange(25), blocks)
    p_correct = 0.9 - 0.8 * np.exp(-since / 4)
    choice = np.where(rng.random(len(best)) < p_correct, best, 1 - best)
    result = analysis.reversal_curve(choice, best, before=5, after=20)
    before = 1 - (0.9 - 0.8 * np.exp(-22 / 4))
    return {"before": (at(result.correct, -3), before)} | {
        f"trial {k}": (at(result.correct, k), 0.9 - 0.8 * np.exp(-k / 4)) for k in (0, 3, 15)
    }


def learners(rng: Generator, share: float = 1.0) -> Truths:
    """Learning curves of seeds."""
    steps = np.linspace(0, 1000, 60)
    seeds = int(24 * share)
    noise = rng.normal(0, 0.05, (seeds, 1))
    scores = 0.9 - 0.4 * np.exp(-steps / 200) + noise + rng.normal(0, 0.02, (seeds, 60))
    result = analysis.learning_curve([steps] * seeds, list(scores), n_boot=200, seed=int(rng.integers(1e6)))
    truth = 0.9 - 0.4 * np.exp(-500 / 200)
    return {"mean": (at(result.mean, 500), truth), "iqm": (at(result.iqm, 500), truth)}


def _choices(rng: Generator, trials: int, weight: float, bias: float, last: float, name: str = "1") -> Any:
    """Return a session of choices from weights of a stimulus, a constant and the last choice."""
    stimulus, choice, before = rng.choice([-1, -0.5, -0.25, 0, 0.25, 0.5, 1], trials), np.zeros(trials, int), 0
    draws = rng.random(trials)
    for t in range(trials):
        choice[t] = draws[t] < expit(weight * stimulus[t] + bias + last * before)
        before = 2 * choice[t] - 1
    right = np.where(stimulus == 0, rng.integers(0, 2, trials), stimulus > 0)
    rt = rng.gamma(6, 0.05, trials)
    return session(choice, name=name, stimuli=stimulus[:, None], correct=choice == right, rt=rt)


def weights(rng: Generator, share: float = 1.0, weight: float = 4.0) -> Truths:
    """Logistic regression on a stimulus, a constant and the last choice."""
    table = Behaviour((_choices(rng, int(1500 * share), weight, 0.3, 0.3),), ("0", "1"), ("x",))
    parameters = Logistic(1, past_stimuli=False).fit([Problem(table)])[0].parameters
    return _beside(parameters, {"bias": 0.3, "x": weight, "choice, 1 back": 0.3})


def drifting_weight(rng: Generator, share: float = 1.0, weights: Sequence[float] = (0.0, 3.0)) -> Truths:
    """Means of drifting weights that are constant, a weight of the stimulus for each choice; that of the first is 0."""
    x = rng.choice([-1, -0.5, -0.25, 0, 0.25, 0.5, 1], int(320 * share))
    choice = (np.outer(x, weights) + rng.gumbel(size=(len(x), len(weights)))).argmax(1)
    table = Behaviour((session(choice, stimuli=x[:, None]),), tuple(map(str, range(len(weights)))), ("x",))
    parameters = Drifting(0).fit([Problem(table)])[0].parameters
    truth = np.stack([np.zeros(len(weights)), weights], 1)[1:].ravel().tolist()
    return _beside(parameters, dict(zip(Features.of(table, 0).weight_names, truth, strict=True)))


def _beside(estimates: Mapping[str, Estimate], truth: Mapping[str, float]) -> Truths:
    return {name: (estimates[name], value) for name, value in truth.items()}


def sessions(rng: Generator, share: float = 1.0) -> Truths:
    """Description of 20 sessions with biases of their own."""
    trials = max(20, int(100 * share))
    rows = tuple(_choices(rng, trials, 2.0, 0.7 * rng.normal(), 0.0, str(k)) for k in range(20))
    (description,) = describe(Behaviour(rows, ("0", "1"), ("x",)))
    assert description.bias is not None
    return {"bias": (description.bias, 0.0), "share of 1": (description.choices["1"], 0.5)}


OBSERVERS: dict[str, Callable[..., Truths]] = {
    f.__name__: f
    for f in (
        probit,
        logistic,
        weibull,
        chronometric,
        outcomes,
        history,
        stay_shift,
        kernel,
        context,
        optimal_cues,
        weighted_cues,
        wager,
        economy,
        interval,
        planner,
        bandit,
        reversals,
        learners,
        drifting_weight,
        sessions,
    )
} | {
    "strong_weights": partial(weights, weight=4.0),
    "weak_weights": partial(weights, weight=0.5),
    "drifting_weights_three_choices": partial(drifting_weight, weights=(0.0, 3.0, -2.0)),
}
