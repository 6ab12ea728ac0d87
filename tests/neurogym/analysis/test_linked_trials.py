"""Whatever is read from a trial table: where trials are linked, its intervals come from sessions."""

import dataclasses

import numpy as np
import pytest
from scipy.special import expit

from neurogym.analysis import Curve, Estimate, cue_combination, from_trials
from neurogym.analysis.measures import MEASURES
from neurogym.analysis.regression import regress_choice

SESSIONS, TRIALS = 24, 100


def table(seed=0):
    """Sessions that differ in side bias, quality and speed, with the columns of all analyses."""
    rng = np.random.default_rng(seed)
    env, n = np.repeat(np.arange(SESSIONS), TRIALS), SESSIONS * TRIALS
    bias, skill, slow = (rng.normal(0, sd, SESSIONS)[env] for sd in (1.0, 1.0, 60.0))
    coh, truth = rng.choice([5.0, 10.0, 20.0, 40.0], n), rng.integers(1, 3, n)
    second = rng.random(n) < expit(bias + (2 * truth - 3) * coh * 0.1 * np.exp(skill))
    choice = 1 + second
    sure = (rng.random(n) < 0.5) & (rng.random(n) < expit(bias - coh / 10))
    production = rng.choice([400.0, 600.0, 800.0], n)
    a, b = rng.integers(1, 5, n), rng.integers(1, 5, n)
    results = {
        "env": env,
        "trial": np.tile(np.arange(TRIALS), SESSIONS),
        "linked": np.full(n, True),
        "coh": coh,
        "choice": choice,
        "ground_truth": truth,
        "outcome": np.where(choice == truth, "correct", "error"),
        "rt": 900 - 8 * coh + slow + rng.normal(0, 40, n) + 500 / (1 + coh),
        "reward": rng.integers(0, 2, n),
        "production": production,
        "common": rng.integers(0, 2, n),
        "n_a": a,
        "n_b": b,
        "a_first": rng.integers(0, 2, n),
        "context": rng.integers(0, 2, n),
        "coh_1": rng.choice([0.0, 20.0], n),
        "coh_2": rng.choice([5.0, 20.0], n),
        "other_choice": rng.integers(1, 3, n),
        "wager": (sure | (rng.random(n) < 0.3)).astype(int),
        "sure_taken": sure,
        "p0": 0.4 + bias / 10,
        "p1": 0.6 - bias / 10,
    }
    return results


def produced(trials):
    return {**trials, "rt": trials["production"] + trials["rt"] - trials["rt"].mean()}


def wagered(trials):
    return {
        **trials,
        "choice": np.where(trials["sure_taken"], 3, trials["choice"]),
        "outcome": np.where(trials["sure_taken"], "sure", trials["outcome"]),
    }


def cues(trials):
    return {**trials, "coh_2": np.where(trials["coh_1"] == 0, trials["coh_2"], trials["coh_2"] - 5)}


def goods(trials):
    return {**trials, "a_first": np.ones(len(trials["env"]))}


def detected(trials):
    return {**trials, "choice": trials["choice"] - 1, "ground_truth": trials["ground_truth"] - 1}


ANALYSES = {
    "psychometric": lambda t: from_trials.psychometric(t, n_boot=40),
    "weibull": lambda t: from_trials.psychometric(t, model="weibull", n_boot=40),
    "chronometric": lambda t: from_trials.chronometric(t, n_boot=40),
    "choice_history": lambda t: from_trials.choice_history(t, n_lags=2).after_correct.weights["bias"],
    "context_use": lambda t: from_trials.context_use(t).by_context[0].weights["bias"],
    "cue_combination": lambda t: from_trials.cue_combination(cues(t), n_boot=40),
    "cue_weights": from_trials.cue_weights,
    "wagering": lambda t: from_trials.wagering(wagered(t), n_boot=40),
    "indifference_point": lambda t: from_trials.indifference_point(goods(t), n_boot=40),
    "interval_reproduction": lambda t: from_trials.interval_reproduction(produced(t), n_boot=40),
    "measure psychometric": MEASURES["psychometric"],
    "measure reaction": MEASURES["reaction"],
    "measure detection": lambda t: MEASURES["detection"](detected(t)),
    "measure interval": lambda t: MEASURES["interval"](produced(t)),
    "measure wagering": lambda t: MEASURES["wagering"](wagered(t)),
    "measure bandit": lambda t: MEASURES["bandit"](detected(t))[1:],
    "measure switching": lambda t: MEASURES["switching"](t)[:1],
}


def widths(result):
    """Widths of all intervals of a result, in the order of its fields."""
    if isinstance(result, list | tuple):
        return [width for each in result for width in widths(each)]
    if isinstance(result, dict):
        return widths(list(result.values()))
    if isinstance(result, Curve):
        return list(result.high - result.low)
    if isinstance(result, Estimate) or {"low", "high"} <= set(getattr(result, "__dataclass_fields__", ())):
        return [result.high - result.low]
    if dataclasses.is_dataclass(result):
        return [width for field in dataclasses.fields(result) for width in widths(getattr(result, field.name))]
    return []


@pytest.mark.parametrize("name", ANALYSES)
def test_intervals_of_linked_trials_are_wider(name):
    trials = table()
    wide, narrow = (
        np.array(widths(ANALYSES[name](each)))
        for each in (trials, {**trials, "linked": np.full(len(trials["env"]), None)})
    )
    valid = ~np.isnan(wide) & np.isfinite(narrow) & (narrow > 0)  # an open interval is wider
    assert valid.any()
    assert np.max(wide[valid] / narrow[valid]) > 1.15


def linked_choices(rng, sessions, trials, spread):
    label = np.repeat(np.arange(sessions), trials)
    x = rng.normal(size=sessions * trials) + rng.normal(0, spread, sessions)[label]
    p = expit(0.3 + x + rng.normal(0, spread, sessions)[label])
    return x, (rng.random(len(x)) < p).astype(float), label


@pytest.mark.long
def test_weights_of_a_regression_are_covered():
    rng = np.random.default_rng(0)
    x, y, _ = linked_choices(rng, 20_000, 20, 0.8)
    truth = regress_choice({"x": x}, y).weights
    covered = {True: [], False: []}
    for _ in range(200):
        x, y, label = linked_choices(rng, 16, 60, 0.8)
        for by_session in covered:
            result = regress_choice({"x": x}, y, groups=label if by_session else None).weights
            covered[by_session].append([truth[name].value in result[name] for name in ("bias", "x")])
    assert np.all(np.mean(covered[True], axis=0) >= 0.92) and np.all(np.mean(covered[True], axis=0) <= 0.985)
    assert np.mean(covered[False], axis=0)[0] < 0.8


@pytest.mark.long
def test_many_regressors_and_few_sessions_are_covered():
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(200):
        columns = {f"x{k}": rng.normal(size=16 * 60) for k in range(14)}
        y = rng.random(16 * 60) < expit(columns["x0"])
        result = regress_choice(columns, y, groups=np.repeat(np.arange(16), 60)).weights
        covered.append([1.0 in result["x0"], *(0.0 in result[f"x{k}"] for k in range(1, 14))])
    assert 0.93 <= np.mean(covered) <= 0.985


def test_a_single_session_tells_nothing_of_others():
    rng = np.random.default_rng(0)
    x, y, label = linked_choices(rng, 1, 200, 0.0)
    result = regress_choice({"x": x}, y, groups=label).weights["x"]
    assert np.isfinite(result.value) and result.low == -np.inf and result.high == np.inf


def reaction_times(rng, sessions, trials, slow):
    """Diffusion to a bound: sensitivity 0.05, bound 0.8, a residual time of 300 ms that differs by session."""
    from neurogym.analysis import mean_reaction_time
    from neurogym.analysis.chronometric import decision_variance

    label = np.repeat(np.arange(sessions), trials)
    x = rng.choice([3.2, 6.4, 12.8, 25.6, 51.2], len(label))
    sd = np.sqrt(decision_variance(x, 0.05, 0.8))
    mean = mean_reaction_time(x, 0.05, 0.8, 300)
    rt = mean + sd * rng.normal(size=len(x)) + rng.normal(0, slow, sessions)[label]
    return x, rt, (rng.random(len(x)) < expit(2 * 0.8 * 0.05 * x)).astype(float), label


@pytest.mark.long
def test_errors_of_times_outside_the_decision_are_those_between_sessions():
    from neurogym.analysis import fit_chronometric

    rng = np.random.default_rng(0)
    results = {True: [], False: []}
    for _ in range(16):
        x, rt, correct, label = reaction_times(rng, 20, 60, 250.0)
        for by_session in results:
            groups = label if by_session else None
            results[by_session].append(fit_chronometric(x, rt, correct, n_boot=30, groups=groups).residual_time)
    spread = np.std([each.value for each in results[True]], ddof=1)
    by_session, alone = (np.mean([each.se for each in results[way]]) for way in (True, False))
    assert 0.65 < by_session / spread < 2
    assert alone < 0.8 * by_session


@pytest.mark.long
def test_sigmas_of_cues_are_covered():
    """Bootstraps of few trials gave sigmas of single cues 89 %."""
    truth = {"a": 12.0, "b": 18.0, "both": 12 * 18 / np.hypot(12, 18)}
    covered = []
    for rng in np.random.default_rng(4).spawn(60):
        kind, x = rng.choice(list(truth), 450), rng.choice([-32, -16, -8, -4, 4, 8, 16, 32], 450)
        choice = rng.normal(x, [truth[each] for each in kind]) > 0
        result = cue_combination(x, choice, kind, lapse=0.0, n_boot=0)
        row = [value in result.sigma[name] for name, value in truth.items()]
        covered.append(
            [*row, truth["both"] in result.optimal_sigma, 1 in result.ratio, 9 / 13 in result.optimal_weight]
        )
    assert np.all(np.mean(covered, axis=0) >= 0.9) and np.mean(covered) < 0.98


def test_perfect_choices_of_a_cue_have_a_sigma_below_a_value_and_no_optimum():
    x, kind = np.tile([-3.0, -1.0, 1.0, 3.0], 90), np.repeat(["a", "b", "both"], 120)
    choice = (x > 0) ^ ((kind == "b") & (np.arange(360) % 7 == 0))
    result = cue_combination(x, choice, kind, lapse=0.0, n_boot=0)
    assert result.sigma["a"].value == 0 and 0 < result.sigma["a"].high < 1 < result.sigma["b"].value
    assert np.isnan(result.optimal_sigma.low) and np.isnan(result.ratio.value)
