"""Simulated observers: trials from known parameters, analysed, beside the truth.

Every function draws one experiment from ``rng`` and returns, by parameter, the estimate and the true value.
"""

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from neurogym import analysis

COHERENCES = np.array([0, 3.2, 6.4, 12.8, 25.6, 51.2])
BOOT = 200


def fields(result, **truth):
    return {name: (getattr(result, name), value) for name, value in truth.items()}


def at(curve, x):
    i = int(np.argmin(np.abs(curve.x - x)))
    return analysis.Estimate(curve.value[i], curve.low[i], curve.high[i], np.nan)


def signed(rng, n):
    return rng.choice(COHERENCES, n) * rng.choice([-1, 1], n)


def _psychometric(rng, model, x, known, **truth):
    p = analysis.psychometric_function(x, model, **truth)
    fit = analysis.fit_psychometric(
        x, rng.random(len(x)) < p, model=model, n_boot=BOOT, seed=int(rng.integers(1e6)), **known
    )
    return fields(fit, **{name: value for name, value in truth.items() if name not in known})


def probit(rng):
    return _psychometric(rng, "probit", signed(rng, 1200), {}, threshold=1.5, slope=0.1, guess=0.03, lapse=0.05)


def logistic(rng):
    return _psychometric(rng, "logistic", signed(rng, 1200), {}, threshold=-2.0, slope=0.15, guess=0.04, lapse=0.02)


def weibull(rng):
    x = rng.choice(COHERENCES, 1200)
    return _psychometric(rng, "weibull", x, {"guess": 0.5}, threshold=8.0, slope=1.3, guess=0.5, lapse=0.02)


def diffusion_trials(rng, n, sensitivity=0.25, bound=0.7, residual_time=350.0, dt=1e-3):
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


def chronometric(rng):
    truth = {"sensitivity": 0.25, "bound": 0.7, "residual_time": 350.0}
    fit = analysis.fit_chronometric(*diffusion_trials(rng, 120, **truth), n_boot=BOOT, seed=int(rng.integers(1e6)))
    return fields(fit, **truth)


def outcomes(rng):
    outcome = rng.choice(["correct", "error", "abort", "miss"], 400, p=[0.6, 0.2, 0.15, 0.05])
    table = {"outcome": outcome, "rt": rng.gamma(9, 50, 400)}
    (rates,), (times,) = analysis.rates(table), analysis.reaction_times(table)
    return {**fields(rates, accuracy=0.75, correct=0.6, abort=0.15, miss=0.05), **fields(times, mean=450.0)}


def history(rng):
    n, stimulus = 6000, signed(rng, 6000) / 10
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


def stay_shift(rng):
    n, choice, win = 800, np.zeros(800), rng.random(800) < 0.6
    for t in range(1, n):
        choice[t] = choice[t - 1] if rng.random() < (0.85 if win[t - 1] else 0.3) else 1 - choice[t - 1]
    return fields(analysis.win_stay_lose_shift(choice, win), win_stay=0.85, lose_shift=0.7)


def kernel(rng):
    weights = np.array([0.9, 0.7, 0.5, 0.3, 0.2, 0.1])
    stimulus = rng.normal(0, 1, (1500, 6))
    choice = rng.random(1500) < expit(0.2 + stimulus @ weights)
    found = analysis.psychophysical_kernel(stimulus, choice, dt=100)
    truth = {f"weight {t}": (at(found.weights, 100 * t), weights[t]) for t in (0, 5)}
    return truth | fields(found, bias=0.2, primacy=(2.1 - 0.6) / 2.7)


def context(rng):
    evidence, relevant = rng.choice([-50, -15, -5, 5, 15, 50], (1500, 2)), rng.integers(0, 2, 1500)
    rows = np.arange(1500)
    drive = 0.06 * evidence[rows, relevant] + 0.015 * evidence[rows, 1 - relevant]
    found = analysis.context_use(evidence, rng.random(1500) < expit(drive), relevant)
    return fields(found, relevant=0.06, irrelevant=0.015, selectivity=0.6)


def optimal_cues(rng):
    sigma = {"auditory": 12.0, "visual": 18.0}
    sigma["both"] = 12 * 18 / np.hypot(12, 18)
    modality, strength = rng.choice(list(sigma), 1800), signed(rng, 1800)
    choice = rng.normal(strength, np.vectorize(sigma.get)(modality)) > 0
    found = analysis.cue_combination(strength, choice, modality, lapse=0.0, n_boot=BOOT, seed=int(rng.integers(1e6)))
    truth = {f"sigma {name}": (found.sigma[name], value) for name, value in sigma.items()}
    weight = 18**2 / (12**2 + 18**2)
    return truth | fields(found, optimal_sigma=sigma["both"], ratio=1.0, optimal_weight=weight)


def weighted_cues(rng):
    first, second = rng.normal(0, 10, (2, 1200))
    choice = rng.random(1200) < expit(0.12 * first + 0.04 * second)
    return fields(analysis.cue_weights(first, second, choice), first=0.12, second=0.04, share=0.75)


def wager(rng):
    """Evidence is judged by its sign and waived to the sure option where it is weak, as in Kiani & Shadlen."""
    strength, offered = rng.choice([3.2, 12.8], 1200), rng.random(1200) < 0.5
    evidence = rng.normal(strength, 10)
    sure = offered & (np.abs(evidence) < 6)
    found = analysis.wagering(strength, offered, sure, evidence > 0, n_boot=200, seed=int(rng.integers(1e6)))
    p_sure, gain, waived = {}, {}, {}
    for c in (3.2, 12.8):
        p_sure[c] = norm.cdf(6, c, 10) - norm.cdf(-6, c, 10)
        waived[c] = 1 - p_sure[c]
        gain[c] = norm.sf(6, c, 10) / waived[c] - norm.sf(0, c, 10)
    advantage = sum(gain[c] * waived[c] for c in gain) / sum(waived.values())
    truth = {f"sure at {c}": (at(found.sure, c), p_sure[c]) for c in p_sure}
    return truth | fields(found, p_sure=np.mean(list(p_sure.values())), advantage=advantage)


def economy(rng):
    offers = np.array([(1, 0), (3, 1), (2, 1), (1, 1), (1, 2), (1, 3), (1, 4), (1, 6), (0, 2)])
    a, b = offers[rng.integers(0, len(offers), 900)].T
    with np.errstate(divide="ignore"):
        chose_b = rng.random(900) < norm.cdf(3 * (np.log(b) - np.log(a) - np.log(2.2)))
    found = analysis.indifference_point(a, b, chose_b, n_boot=BOOT, seed=int(rng.integers(1e6)))
    return fields(found, relative_value=2.2, steepness=3.0)


def interval(rng):
    target = rng.choice(np.arange(800, 1600, 80), 400).astype(float)
    mean = 230 + 0.8 * target
    produced = rng.normal(mean, 0.1 * mean)
    found = analysis.interval_reproduction(target, produced, n_boot=200, seed=int(rng.integers(1e6)))
    levels = np.arange(800, 1600, 80)
    expected = 230 + 0.8 * levels
    variance = np.mean((0.1 * expected) ** 2)
    rmse = np.sqrt(variance + np.mean((expected - levels) ** 2))
    bias = np.mean(expected - levels)
    return fields(found, bias=bias, slope=0.8, weber_fraction=0.1, variability=np.sqrt(variance), rmse=rmse)


def planner(rng):
    n, choice = 2000, np.zeros(2000)
    common, reward = rng.random(n) < 0.8, rng.random(n) < 0.5
    drive = 0.6 + 0.3 * (2 * reward - 1) + 0.5 * (2 * reward - 1) * (2 * common - 1)
    stay = rng.random(n) < expit(drive)
    for t in range(1, n):
        choice[t] = choice[t - 1] if stay[t - 1] else 3 - choice[t - 1]
    found = analysis.two_step(choice, common, reward)
    p = {(r, c): expit(0.6 + 0.3 * r + 0.5 * r * c) for r in (1, -1) for c in (1, -1)}
    model_free = (p[1, 1] + p[1, -1] - p[-1, 1] - p[-1, -1]) / 2
    model_based = (p[1, 1] - p[1, -1] - p[-1, 1] + p[-1, -1]) / 2
    weights = found.regression.weights
    return fields(found, model_free=model_free, model_based=model_based) | {
        "stay after rewarded rare": (found.stay["rewarded_rare"], p[1, -1]),
        "reward": (weights["reward"], 0.3),
        "interaction": (weights["interaction"], 0.5),
    }


def bandit(rng):
    session = np.repeat(np.arange(30), 50)
    arms = np.tile([0.2, 0.7], (1500, 1))
    bias = rng.uniform(0.5, 0.9, 30)
    curve = analysis.cumulative_regret(
        rng.random(1500) < bias[session], arms, session=session, n_boot=200, seed=int(rng.integers(1e6))
    )
    return {"regret after 50": (at(curve, 50), 50 * 0.3 * 0.5)}


def reversals(rng):
    best = np.repeat(np.arange(40) % 2, 25)
    since = np.tile(np.arange(25), 40)
    p_correct = 0.9 - 0.8 * np.exp(-since / 4)
    choice = np.where(rng.random(1000) < p_correct, best, 1 - best)
    found = analysis.reversal_curve(choice, best, before=5, after=20)
    before = 1 - (0.9 - 0.8 * np.exp(-22 / 4))
    return {"before": (at(found.correct, -3), before)} | {
        f"trial {k}": (at(found.correct, k), 0.9 - 0.8 * np.exp(-k / 4)) for k in (0, 3, 15)
    }


def learners(rng):
    steps = np.linspace(0, 1000, 60)
    noise = rng.normal(0, 0.05, (24, 1))
    scores = 0.9 - 0.4 * np.exp(-steps / 200) + noise + rng.normal(0, 0.02, (24, 60))
    found = analysis.learning_curve([steps] * 24, list(scores), n_boot=200, seed=int(rng.integers(1e6)))
    truth = 0.9 - 0.4 * np.exp(-500 / 200)
    return {"mean": (at(found.mean, 500), truth), "iqm": (at(found.iqm, 500), truth)}


OBSERVERS = {
    f.__name__: f
    for f in (
        probit, logistic, weibull, chronometric, outcomes, history, stay_shift, kernel, context, optimal_cues,
        weighted_cues, wager, economy, interval, planner, bandit, reversals, learners,
    )
}  # fmt: skip


def coverage(observer, repetitions, seed=0):
    """Return, by parameter, the share of repetitions whose interval holds the truth, and the mean estimate."""
    inside = {}
    for rng in np.random.default_rng(seed).spawn(repetitions):
        for name, (estimate, truth) in OBSERVERS[observer](rng).items():
            inside.setdefault(name, []).append((truth in estimate, estimate.value, truth))
    return {name: np.mean(rows, axis=0) for name, rows in inside.items()}
