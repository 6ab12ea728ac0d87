"""Recovery of simulated subjects, and the speed of fitting a small network."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.agents import Agent, AgentPolicy
from neurogym.behaviour.models.base import Fitted, Problem, log_likelihoods, predict
from neurogym.behaviour.models.chains import Chain, expected_states
from neurogym.behaviour.models.drifting import Drifting
from neurogym.behaviour.models.glm_hmm import GlmHmm
from neurogym.behaviour.models.learning import QLearning, TwoStepLearner
from neurogym.behaviour.models.parameters import rate
from neurogym.behaviour.simulate import ReversingBandit, TwoStepWorld, World, simulate
from neurogym.behaviour.table import Behaviour, session
from ngym_cli.fitting import registry
from ngym_cli.fitting.request import FitSettings
from ngym_cli.fitting.validation import FitData, prepared, validate

Row = dict[str, Any]
BANDIT = Behaviour((session([0, 1], reward=[1, 0]),))
TWO_STEP = Behaviour((session([0, 1], reward=[1, 0], state=[0, 1], choice2=[0, 1]),))
#: Factor on the s.d. of priors with which maximum a posteriori is practically maximum likelihood.
FLAT = 5.0
LARGEST = 20.0  #: upper bound of inverse temperatures in maximum likelihood


def subject(model: Agent, like: Behaviour, world: World, rng: np.random.Generator, **values: float) -> Behaviour:
    """Return the behaviour of an agent with given parameters; all others are zero."""
    parameters = model.parameters(like)
    x = np.array([each.unbounded(values.get(each.name, 0.0)) for each in parameters])
    return simulate(AgentPolicy(model, parameters, x, len(like.choices)), world, like, rng)


def recovered(fits: list[Fitted], truth: dict[str, FloatArray]) -> Row:
    """Return the correlation of each parameter with the truth, and the coverage of all intervals together."""
    row: Row = {}
    inside = []
    for name, values in truth.items():
        estimates = [fit.parameters[name] for fit in fits]
        row[f"correlation {name}"] = round(float(np.corrcoef([each.value for each in estimates], values)[0, 1]), 4)
        inside += [value in each for value, each in zip(values, estimates, strict=True)]
    return {**row, "coverage": round(float(np.mean(inside)), 4), "intervals": len(inside)}


def q_learning(seed: int, n: int = 60, trials: int = 1000) -> Row:
    """Recover rate, inverse temperature and perseveration of value learners, also by maximum likelihood (beta < 20)."""
    rng, model = np.random.default_rng([seed, 1]), QLearning("q", perseveration=True)
    truth = {"alpha": rng.uniform(0.1, 0.9, n), "beta": rng.uniform(1, 8, n), "kappa": rng.normal(0, 0.5, n)}
    tables = [
        subject(
            model,
            BANDIT,
            ReversingBandit(1, trials, 2, rng),
            rng,
            **{name: float(values[k]) for name, values in truth.items()},
        )
        for k in range(n)
    ]
    row = recovered(model.fit([Problem(each, seed) for each in tables]), truth)
    model.own = tuple(rate("beta", LARGEST) if each.name == "beta" else each for each in model.own)
    parameters = model.parameters(BANDIT)
    flat = np.array([p.mean for p in parameters]), FLAT * np.array([p.sd for p in parameters])
    plain = recovered(model.fit([Problem(each, seed, flat) for each in tables]), truth)
    return {**row, **{f"{name}, maximum likelihood": plain[name] for name in plain if name.startswith("correlation")}}


def _planner(rng: np.random.Generator, w: float) -> dict[str, float]:
    return {
        "w": w,
        "alpha1": rng.uniform(0.3, 0.8),
        "alpha2": rng.uniform(0.3, 0.8),
        "lambda": rng.uniform(0.3, 0.9),
        "beta1": rng.uniform(3, 8),
        "beta2": rng.uniform(2.5, 6),
        "p": rng.normal(0.1, 0.1),
    }


def two_step(seed: int, n: int = 40, trials: int = 1000) -> Row:
    """Recover the parameters of hybrid learners whose weights go from 0 to 1."""
    rng, model = np.random.default_rng([seed, 2]), TwoStepLearner("hybrid")
    truths = [_planner(rng, float(w)) for w in np.linspace(0.02, 0.98, n)]
    tables = [subject(model, TWO_STEP, TwoStepWorld(1, trials, rng), rng, **each) for each in truths]
    fits = model.fit([Problem(each, seed) for each in tables])
    return recovered(fits, {name: np.array([each[name] for each in truths]) for name in truths[0]})


def two_step_models(seed: int, n: int = 20, trials: int = 1000) -> Row:
    """Tell model-free, model-based and hybrid (weights .35 to .65) learners apart by BIC."""
    rng = np.random.default_rng([seed, 3])
    learners = TwoStepLearner("model-free", 0.0), TwoStepLearner("model-based", 1.0), TwoStepLearner("hybrid")
    models = {each.name: each for each in learners}
    row: Row = {}
    for name, model in models.items():
        tables = []
        for _ in range(n):
            values = _planner(rng, float(rng.uniform(0.35, 0.65)))
            parameters = {key: value for key, value in values.items() if key in {p.name for p in model.own}}
            tables.append(subject(model, TWO_STEP, TwoStepWorld(1, trials, rng), rng, **parameters))
        problems = [Problem(each, seed) for each in tables]
        criteria = {
            candidate_name: [len(fit.parameters) * np.log(trials) - 2 * fit.score for fit in candidate.fit(problems)]
            for candidate_name, candidate in models.items()
        }
        best = np.array(list(criteria.values())).argmin(0)
        row[f"from {name}"] = {candidate_name: float((best == k).mean()) for k, candidate_name in enumerate(criteria)}
    shares = [row[f"from {name}"][name] for name in models]
    return {"diagonal": float(np.mean(shares)), "lowest": float(min(shares)), **row}


def hidden_states(seed: int, sessions: int = 100, trials: int = 90) -> Row:
    """Assign trials to the states of a chain of three: engaged, biased to either side."""
    rng = np.random.default_rng([seed, 4])
    weights = np.array([[0.0, 6], [-2, 2], [2, 2]])
    row: Row = {}
    for stay in (0.95, 0.98):
        transitions = np.full((3, 3), (1 - stay) / 2) + (1.5 * stay - 0.5) * np.eye(3)
        chain = Chain(weights, transitions, np.ones(3) / 3)
        stimuli = rng.uniform(-1, 1, (sessions, trials))
        states, choice = np.zeros((2, sessions, trials), int)
        for t in range(trials):
            rows = np.full((sessions, 3), 1 / 3) if t == 0 else transitions[states[:, t - 1]]
            states[:, t] = (rng.random((sessions, 1)) > rows.cumsum(1)).sum(1).clip(max=2)
            w = weights[states[:, t]]
            choice[:, t] = rng.random(sessions) < 1 / (1 + np.exp(-(w[:, 0] + w[:, 1] * stimuli[:, t])))
        x = np.stack([np.ones_like(stimuli), stimuli], -1)
        like = Behaviour((), ("left", "right"), ("s",))
        table = like.only([session(choice[k], name=str(k), stimuli=stimuli[k][:, None]) for k in range(sessions)])
        fit = GlmHmm(3, 0).fit([Problem(table, seed)])[0]
        ideal = expected_states(chain, x, choice).argmax(-1)
        share = float((fit.details["states"].argmax(-1) == states).mean())
        end = "" if stay == 0.98 else f", stay {stay}"
        row |= {
            f"states{end}": round(share, 4),
            f"states by the true chain{end}": float((ideal == states).mean()),
            f"largest error of a weight{end}": float(np.abs(fit.policy.chain.weights - weights).max()),
        }
    return row


def drifting(seed: int, trials: int = 5000) -> Row:
    """Follow four weights that drift by 2^-4 to 2^-7 per trial, as in the demonstration of PsyTrack; no bias."""
    rng, sigma = np.random.default_rng([seed, 5]), 2.0 ** -np.array([4.0, 5, 6, 7])
    weights = np.cumsum(np.vstack([rng.normal(0, 1, 4), rng.normal(size=(trials - 1, 4)) * sigma]), 0)
    x = rng.normal(size=(trials, 4))
    choice = rng.random(trials) < 1 / (1 + np.exp(-(x * weights).sum(1)))
    names = ("a", "b", "c", "d")
    table = Behaviour((session(choice.astype(int), stimuli=x),), ("left", "right"), names)
    fit = Drifting(0).fit([Problem(table, seed)])[0]
    at = [fit.policy.features.names.index(name) for name in names]
    mean, sd = (fit.details[key][:, 0][:, at] for key in ("weights", "weights_sd"))
    steps = [fit.parameters[f"sigma {name}"].value for name in names]
    return {
        "coverage": round(float((np.abs(mean - weights) < 1.96 * sd).mean()), 4),
        "largest error of log2 sigma": round(float(np.abs(np.log2(steps / sigma)).max()), 4),
    }


def _learners(seed: int, sessions: int, trials: int) -> tuple[Behaviour, Behaviour, AgentPolicy]:
    """Return training and test sessions of a value learner with forgetting, and its policy."""
    rng, model = np.random.default_rng([seed, 6]), QLearning("q", forgetting=True, perseveration=True)
    parameters = model.parameters(BANDIT)
    values = {"alpha": 0.5, "beta": 4.0, "phi": 0.3, "kappa": 0.3}
    x = np.array([each.unbounded(values.get(each.name, 0.0)) for each in parameters])
    policy = AgentPolicy(model, parameters, x, 2)
    train, test = (simulate(policy, ReversingBandit(n, trials, 2, rng), BANDIT, rng) for n in (sessions, 40))
    return train, test, policy


def _score(policy: Any, table: Behaviour) -> float:
    rows = zip(predict(policy, table.sessions), table.sessions, strict=True)
    return float(np.mean(np.concatenate([log_likelihoods(p, each.choice) for p, each in rows])))


def tiny_network(seed: int) -> Row:
    """Fit a gru of 2 units to 10,000 trials of a value learner with forgetting, score both on 20,000 new ones."""
    train, test, truth = _learners(seed, 20, 500)
    fit = registry.build(["gru"], (2,), 3)["gru:units=2"].fit([Problem(train, seed)])[0]
    network, true = _score(fit.policy, test), _score(truth, test)
    return {"nats below the true model": round(true - network, 5), "true model": round(true, 5)}


def speed(seed: int) -> Row:
    """Time five folds and three seeds of a gru of 2 units on 10,000 trials of a subject."""
    data = prepared(FitData(_learners(seed, 20, 500)[0], FitSettings.model_validate({"table": "", "seed": seed})))
    model = registry.build(["gru"], (2,), 3)["gru:units=2"]
    began, wall = time.process_time(), time.perf_counter()
    validate(model, data)
    return {
        "seconds on one core": round(time.process_time() - began, 1),
        "wall_seconds": round(time.perf_counter() - wall, 1),
    }
