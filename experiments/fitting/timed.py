"""Recovery of models of choices and times, and of learners of gains, losses and cues, from simulated subjects."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.agents import Agent, AgentPolicy
from neurogym.behaviour.models.bandits import ExperienceWeighted, FictiveLearner, KalmanBandit
from neurogym.behaviour.models.base import Fitted, Problem
from neurogym.behaviour.models.gains_losses import (
    GainLossLearner,
    OutcomeRepresentation,
    PvlDelta,
    ValuePlusPerseveration,
)
from neurogym.behaviour.models.learning import GoNoGo, QLearning
from neurogym.behaviour.models.timed import ResponseParameters, TimedPolicy
from neurogym.behaviour.models.times import TimeSettings
from neurogym.behaviour.models.with_times import TimedModel, diffusion, diffusion_response
from neurogym.behaviour.simulate import (
    Gambles,
    GoNoGoWorld,
    ReversingBandit,
    World,
    gains_and_losses,
    iowa,
    simulate,
)
from neurogym.behaviour.table import Behaviour, session
from ngym_cli.fitting import posterior, registry
from ngym_cli.fitting.group import Covariates, fit_groups
from ngym_cli.fitting.request import FitSettings
from ngym_cli.fitting.validation import FitData, prepared, validate

Row = dict[str, Any]
COHERENCES = (-0.512, -0.256, -0.128, -0.064, -0.032, 0.032, 0.064, 0.128, 0.256, 0.512)
TWO = Behaviour((session([0, 1], reward=[1, 0], cue=[0, 1]),))
FOUR = Behaviour((session([0, 1], reward=[1, 0]),), ("a", "b", "c", "d"))


def recovered(fits: list[Fitted], truths: list[dict[str, float]]) -> Row:
    """Return correlations with the truth by parameter, and the coverage of all intervals together."""
    row: Row = {}
    inside: list[bool] = []
    for name in truths[0]:
        truth = [each[name] for each in truths]
        estimates = [fit.parameters[name] for fit in fits]
        row[f"correlation {name}"] = round(float(np.corrcoef(truth, [each.value for each in estimates])[0, 1]), 4)
        inside += [value in each for value, each in zip(truth, estimates, strict=True) if np.isfinite(each.low)]
    return {**row, "coverage": round(float(np.mean(inside)), 4), "intervals": len(inside)}


def dots(rng: np.random.Generator, trials: int, values: Mapping[str, float], name: str = "1") -> Behaviour:
    """Return a subject who decides on the direction of dots by a diffusion."""
    x = rng.choice(COHERENCES, trials)
    choice, rt = diffusion_response().sample((values["k"] * (x - values["x0"]))[:, None], values, rng)
    return _judgements(choice, x[:, None], rt, name)


def _judgements(choice: np.ndarray, stimuli: FloatArray, rt: FloatArray, name: str = "1") -> Behaviour:
    return Behaviour((session(choice, subject=name, stimuli=stimuli, rt=rt),), stimuli=("coh",))


def _observer(rng: np.random.Generator) -> dict[str, float]:
    return {
        "k": rng.uniform(4, 14),
        "A": rng.uniform(0.5, 1.2),
        "t_R": rng.uniform(0.2, 0.5),
        "x0": rng.normal(0, 0.05),
        "z": rng.uniform(0.35, 0.65),
        "lapse": rng.uniform(0.005, 0.1),
    }


def ddm(seed: int, n: int = 50, trials: int = 1000) -> Row:
    """Recover diffusions of subjects, one by one and together."""
    rng = np.random.default_rng([seed, 11])
    truths = [_observer(rng) for _ in range(n)]
    problems = [Problem(dots(rng, trials, each), seed) for each in truths]
    began = time.process_time()
    fits = diffusion().fit(problems)
    seconds = time.process_time() - began
    began = time.process_time()
    together, _ = fit_groups(diffusion(), problems, 1, Covariates.none(n))
    hierarchical = time.process_time() - began
    row = {**recovered(fits, truths), "seconds per subject": round(seconds / n, 3)}
    shared = recovered(together, truths)
    return {
        **row,
        "coverage, hierarchical": shared["coverage"],
        "correlation lapse, hierarchical": shared["correlation lapse"],
        "seconds, hierarchical": round(hierarchical, 1),
    }


def _distance(fit: Fitted, truth: Mapping[str, float], names: tuple[str, ...]) -> list[float]:
    return [(fit.parameters[name].value - truth[name]) / fit.parameters[name].se for name in names]


def anticipations(seed: int, repeats: int = 10) -> Row:
    """Add two answers after 20 ms to 2,000, read as anticipations and as contaminants."""
    rng = np.random.default_rng([seed, 12])
    row: Row = {}
    for title, fastest in (("as anticipations", 0.05), ("as contaminants", 0.0)):
        shifts = []
        for _ in range(repeats):
            data = dots(rng, 2000, {**_observer(rng), "lapse": 0.0}).sessions[0]
            early = np.r_[data.choice, 0, 1], np.r_[data.stimuli, [[0.1], [0.1]]], np.r_[data.rt, 0.02, 0.02]
            tables = _judgements(data.choice, data.stimuli, data.rt), _judgements(*early)
            before, after = diffusion(fastest=fastest).fit(list(map(Problem, tables)))
            known = {name: each for name, each in before.parameters.items() if np.isfinite(each.se)}
            shifts.append([abs(after.parameters[name].value - each.value) / each.se for name, each in known.items()])
        row[f"largest shift (s.e.), {title}"] = round(max(map(max, shifts)), 3)
    return row


def omissions(seed: int, repeats: int = 20) -> Row:
    """Stop about one in ten trials at a deadline of 1.5 s: count the omissions, or leave them out."""
    truth = {"k": 5.0, "A": 1.0, "t_R": 0.3, "x0": 0.0, "z": 0.5, "lapse": 0.01}
    rng = np.random.default_rng([seed, 13])
    names, counted, dropped, late_share = ("k", "A", "t_R"), list[list[float]](), list[list[float]](), list[float]()
    for _ in range(repeats):
        data = dots(rng, 1500, truth).sessions[0]
        late = data.rt > 1.5
        late_share.append(float(late.mean()))
        choice, rt = np.where(late, -1, data.choice), np.where(late, np.nan, data.rt)
        table = _judgements(choice, data.stimuli, rt)
        for found, deadline in ((counted, 1.5), (dropped, 0.0)):
            found.append(_distance(diffusion(deadline=deadline).fit([Problem(table)])[0], truth, names))
    return {
        "share of omissions": round(float(np.mean(late_share)), 3),
        "largest bias (s.e.), counted": round(float(np.abs(np.mean(counted, 0)).max()), 3),
        "largest bias (s.e.), left out": round(float(np.abs(np.mean(dropped, 0)).max()), 3),
    }


def timed_learner(values: Mapping[str, float], rng: np.random.Generator, sessions: int, trials: int) -> Behaviour:
    """Return a value learner whose value difference drives a diffusion."""
    model, response = QLearning("q", perseveration=True), diffusion_response()
    parameters = model.parameters(TWO)
    x = np.array([each.unbounded(values.get(each.name, 0.0)) for each in parameters])
    response_x = np.array([each.unbounded(values[each.name]) for each in response.parameters])
    inner = AgentPolicy(model, parameters, x, 2)
    policy = TimedPolicy(inner, ResponseParameters(response), response_x, TimeSettings())
    return simulate(policy, ReversingBandit(sessions, trials, 2, rng), TWO, rng)


def _learner(rng: np.random.Generator) -> dict[str, float]:
    return {
        "alpha": rng.uniform(0.2, 0.7),
        "beta": rng.uniform(1.5, 5),
        "kappa": rng.uniform(-0.3, 0.6),
        "A": rng.uniform(0.7, 1.3),
        "t_R": rng.uniform(0.2, 0.5),
        "z": 0.5,
        "lapse": 0.02,
    }


def learner(seed: int, n: int = 50) -> Row:
    """Recover value learners from choices and times, and from choices alone."""
    rng = np.random.default_rng([seed, 14])
    truths = [_learner(rng) for _ in range(n)]
    problems = [Problem(timed_learner(each, rng, 4, 125), seed) for each in truths]
    model = QLearning("q", perseveration=True)
    names = ("alpha", "beta", "kappa", "A", "t_R")
    row = recovered(TimedModel(model).fit(problems), [{name: each[name] for name in names} for each in truths])
    alone = recovered(model.fit(problems), [{"alpha": each["alpha"]} for each in truths])
    return {**row, "correlation alpha, from choices alone": alone["correlation alpha"]}


def network(seed: int, sessions: int = 40, trials: int = 250) -> Row:
    """Fit a small network with times to a learner, and compare with the model that simulated."""
    rng = np.random.default_rng([seed, 15])
    settings = FitSettings.model_validate({"table": "", "seed": seed})
    data = prepared(FitData(timed_learner(_learner(rng), rng, sessions, trials), settings))
    scores = {}
    for label in ("q-learning:times=ddm", "gru:units=8:times=ddm"):
        (model,) = registry.build([label], (2,), 3).values()
        result = validate(model, data)
        scores[label] = float(np.nanmean(result.densities))
    first, second = scores.values()
    return {
        "true model": round(first, 4),
        "gru": round(second, 4),
        "nats below the true model": round(first - second, 4),
    }


def samples(seed: int, n: int = 50, sessions: int = 2, trials: int = 150, draws: int = 500) -> Row:
    """Sample the posterior of value learners and of their group by NUTS; needs NumPyro."""
    rng, model = np.random.default_rng([seed, 19]), QLearning("q")
    parameters, truths, tables = model.parameters(TWO), [], {}
    for k in range(n):
        x = np.array([rng.normal(-0.6, 0.7), rng.normal(1.1, 0.35), rng.normal(0, 0.2)])
        truths.append({each.name: float(each.value(value)) for each, value in zip(parameters, x, strict=True)})
        world = ReversingBandit(sessions, trials, 2, rng)
        tables[str(k)] = simulate(AgentPolicy(model, parameters, x, 2), world, TWO, rng)
    began = time.process_time()
    fits, (group,) = fit_groups(model, [Problem(table, seed) for table in tables.values()], 1, Covariates.none(n))
    record, _ = posterior.sample_model(model, tables, fits, group, draws, seed)
    seconds = time.process_time() - began
    rows = [
        (row, truth[name])
        for truth, of_subject in zip(truths, record["parameters"].values(), strict=True)
        for name, row in of_subject.items()
    ]
    return {
        "coverage": round(float(np.mean([row["low"] <= truth <= row["high"] for row, truth in rows])), 3),
        "largest R-hat": round(max(row["r_hat"] for row, _ in rows), 3),
        "least effective sample size": round(min(row["ess"] for row, _ in rows)),
        "divergences": record["divergences"],
        "seconds on one core": round(seconds, 1),
    }


def _walk(rng: np.random.Generator, trials: int) -> Gambles:
    """Return a bandit of four arms whose mean rewards walk, with noise of s.d. 1 (Daw et al. 2006)."""
    means = 0.2 * np.cumsum(rng.normal(0, 1, (1, trials, 4)), 1)
    return Gambles(means + rng.normal(0, 1, means.shape), np.zeros(means.shape))


#: Model, names of options, world, and ranges of the parameters of simulated subjects.
LEARNERS: dict[str, tuple[Agent, Behaviour, Callable[[np.random.Generator], World], dict[str, tuple[float, float]]]] = {
    "gain-loss": (
        GainLossLearner("m"),
        FOUR,
        lambda rng: gains_and_losses(1, 400, 4, rng),
        {"alpha_gain": (0.1, 0.7), "alpha_loss": (0.1, 0.7), "rho_gain": (2, 8), "rho_loss": (2, 8)},
    ),
    "pvl-delta": (
        PvlDelta("m"),
        FOUR,
        lambda rng: iowa(1, 300, rng),
        {"A": (0.1, 0.6), "lambda": (0.3, 3), "c": (0.4, 1.5), "alpha": (0.4, 1.2)},
    ),
    "orl": (
        OutcomeRepresentation("m"),
        FOUR,
        lambda rng: iowa(1, 300, rng),
        {"A_rew": (0.1, 0.6), "A_pun": (0.05, 0.4), "betaF": (-2, 4), "betaP": (-2, 4), "K'": (0.2, 0.8)},
    ),
    "vpp": (
        ValuePlusPerseveration("m"),
        FOUR,
        lambda rng: iowa(1, 300, rng),
        {"epsP": (-2, 2), "epsN": (-2, 2), "c": (0.5, 1.5), "w": (0.2, 0.8), "K": (0.2, 0.8)},
    ),
    "kalman": (
        KalmanBandit("m"),
        FOUR,
        lambda rng: _walk(rng, 400),
        {"beta": (0.5, 3), "phi": (-1, 2), "kappa": (-0.5, 1.0), "decay": (0.9, 0.99)},
    ),
    "ewa": (
        ExperienceWeighted("m"),
        TWO,
        lambda rng: ReversingBandit(1, 600, 2, rng),
        {"phi": (0.3, 0.95), "rho": (0.1, 0.9), "beta": (1, 5)},
    ),
    "fictive": (
        FictiveLearner("m"),
        TWO,
        lambda rng: ReversingBandit(1, 600, 2, rng),
        {"alpha": (0.1, 0.7), "alpha_fictive": (0.1, 0.7), "beta": (2, 6), "kappa": (-0.5, 1.0)},
    ),
    "go-no-go": (
        GoNoGo("m"),
        TWO,
        lambda rng: GoNoGoWorld(1, 480, rng),
        {"alpha": (0.1, 0.6), "rho": (2, 8), "b": (-1, 2), "pi": (-1, 2)},
    ),
}


def learners(name: str, n: int = 50) -> Callable[[int], Row]:
    """Return the recovery of a learner in the task that the model is for."""
    model, table, world, ranges = LEARNERS[name]

    def measured(seed: int) -> Row:
        rng = np.random.default_rng([seed, 16])
        parameters, truths, problems = model.parameters(table), list[dict[str, float]](), list[Problem]()
        for _ in range(n):
            truths.append({key: float(rng.uniform(*ends)) for key, ends in ranges.items()})
            x: FloatArray = np.array(
                [each.unbounded(truths[-1][each.name]) if each.name in ranges else each.mean for each in parameters]
            )
            data = simulate(AgentPolicy(model, parameters, x, len(table.choices)), world(rng), table, rng)
            problems.append(Problem(data, seed))
        return recovered(model.fit(problems), truths)

    return measured
