"""Models of choices recover what simulated subjects were made with, and predict from the past alone."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from neurogym.behaviour import reading
from neurogym.behaviour.models.agents import AgentPolicy
from neurogym.behaviour.models.base import Problem, UnfitError, log_likelihoods, predict
from neurogym.behaviour.models.chains import Chain, expected_states
from neurogym.behaviour.models.drifting import Drifting
from neurogym.behaviour.models.glm_hmm import ChainPolicy, GlmHmm
from neurogym.behaviour.models.learning import BayesianReversal, QLearning, TwoStepLearner, WinStayLoseShift
from neurogym.behaviour.models.logistic import Features, Logistic
from neurogym.behaviour.models.walks import Walk, WalkPosterior
from neurogym.behaviour.models.with_times import diffusion
from neurogym.behaviour.simulate import Decisions, ReversingBandit, TwoStepWorld, simulate, world_like
from neurogym.behaviour.table import Behaviour, session

DATA = Path(__file__).parents[3] / "experiments" / "data"
BANDIT = Behaviour((session([0, 1], reward=[1, 0]),))
TWO_STEP = Behaviour((session([0, 1], reward=[1, 0], state=[0, 1], choice2=[0, 1]),))


def subject(model, table, world, rng, **values):
    """Simulate a subject with given parameters; bias and stimulus weights are 0 unless given."""
    parameters = model.parameters(table)
    x = np.array([p.unbounded(values.get(p.name, 0.0)) for p in parameters])
    return simulate(AgentPolicy(model, parameters, x, 2), world, table, rng)


@pytest.mark.long
def test_a_value_learner_is_recovered():
    rng, model = np.random.default_rng(1), QLearning("q", perseveration=True)
    truth = [(rng.uniform(0.2, 0.8), rng.uniform(2, 6), rng.uniform(-0.5, 1)) for _ in range(12)]
    tables = [
        subject(model, BANDIT, ReversingBandit(1, 600, 2, rng), rng, alpha=a, beta=b, kappa=k) for a, b, k in truth
    ]
    fits = model.fit([Problem(table) for table in tables])
    result = np.array([[fit.parameters[name].value for name in ("alpha", "beta", "kappa")] for fit in fits])
    for k, least in enumerate((0.9, 0.8, 0.8)):
        assert np.corrcoef(result[:, k], np.array(truth)[:, k])[0, 1] > least
    inside = [
        value in fit.parameters[name]
        for fit, row in zip(fits, truth, strict=True)
        for name, value in zip(("alpha", "beta", "kappa"), row, strict=True)
    ]
    assert np.mean(inside) > 0.85


@pytest.mark.long
def test_the_weight_of_planning_is_recovered():
    rng, model = np.random.default_rng(2), TwoStepLearner("hybrid")
    weights = np.linspace(0.05, 0.95, 6)
    common = {"alpha1": 0.5, "alpha2": 0.5, "lambda": 0.6, "beta1": 6.0, "beta2": 4.0, "p": 0.1}
    tables = [subject(model, TWO_STEP, TwoStepWorld(1, 500, rng), rng, w=w, **common) for w in weights]
    result = [fit.parameters["w"].value for fit in model.fit([Problem(table) for table in tables])]
    assert np.corrcoef(result, weights)[0, 1] > 0.9


def test_hidden_states_are_recovered():
    rng = np.random.default_rng(3)
    features = Features(("l", "r"), ("s",), 0, False, 0.0)
    chain = Chain(np.array([[0.0, 6], [-2, 2], [2, 2]]), np.full((3, 3), 0.025) + 0.925 * np.eye(3), np.ones(3) / 3)
    stimuli = rng.choice([-1, -0.5, -0.25, 0.25, 0.5, 1], (80, 90))
    world = Decisions(stimuli[..., None], (stimuli > 0).astype(int))
    like = Behaviour((), ("l", "r"), ("s",))
    states, sessions = np.zeros((80, 90), int), []
    for k in range(80):
        choice = np.zeros(90, int)
        for t in range(90):
            row = chain.start if t == 0 else chain.transitions[states[k, t - 1]]
            states[k, t] = rng.choice(3, p=row)
            w = chain.weights[states[k, t]]
            choice[t] = rng.random() < 1 / (1 + np.exp(-(w[0] + w[1] * stimuli[k, t])))
        sessions.append(session(choice, name=str(k), stimuli=stimuli[k][:, None]))
    fit = GlmHmm(3, 0).fit([Problem(like.only(sessions))])[0]
    np.testing.assert_allclose(fit.policy.chain.weights[:, 0], chain.weights[:, 0], atol=0.5)
    np.testing.assert_allclose(np.diag(fit.policy.chain.transitions), 0.95, atol=0.03)
    truth = expected_states(
        chain, np.stack([np.ones_like(stimuli), stimuli], -1), np.stack([s.choice for s in sessions])
    )
    best = (truth.argmax(-1) == states).mean()
    assert (fit.details["states"].argmax(-1) == states).mean() > best - 0.02
    again = simulate(ChainPolicy(features, fit.policy.chain), world, like, rng)
    assert again.n_trials == 7200


def test_drifting_weights_are_recovered():
    rng, sigma, trials = np.random.default_rng(4), 2.0 ** -np.array([4, 5, 6]), 3000
    weights = np.cumsum(np.vstack([rng.normal(0, 1, 3), rng.normal(size=(trials - 1, 3)) * sigma]), 0)
    x = rng.normal(size=(trials, 3))
    choice = (rng.random(trials) < 1 / (1 + np.exp(-(x * weights).sum(1)))).astype(int)
    posterior = WalkPosterior(x[None], choice[None], Walk(np.zeros(3), np.ones(3), np.full(3, 0.02**2)))
    walk, _ = posterior.maximum()
    result = posterior.smoothed(walk)
    assert np.abs(np.log2(np.sqrt(walk.step) / sigma))[:2].max() < 0.5
    sd = np.sqrt(np.diagonal(result.covariance[:, 0], 0, 1, 2))
    assert (np.abs(result.mean[:, 0] - weights) < 1.96 * sd).mean() > 0.88


@pytest.mark.long
def test_the_diffusion_of_the_monkeys():
    table = reading.read(DATA / "roitman_shadlen_2002.csv")
    fit = diffusion(drift_sd=True, time_range=True).fit([Problem(table)])[0]
    assert fit.details["joint"] > diffusion().fit([Problem(table)])[0].details["joint"] + 500
    strength, p = np.abs(table.join("stimuli")[:, 0]), np.concatenate(predict(fit.policy, table.sessions))
    right = p[np.arange(len(p)), np.maximum(table.join("truth"), 0)]
    simulated = np.concatenate([rt for _, rt in fit.policy.simulate(table.sessions, np.random.default_rng(0))])
    for level, accuracy, time in ((0.064, 0.777, 0.775), (0.128, 0.941, 0.684), (0.512, 1.0, 0.423)):
        rows = np.isclose(strength, level)
        assert right[rows].mean() == pytest.approx(accuracy, abs=0.05)
        assert simulated[rows].mean() == pytest.approx(time, abs=0.07)


MODELS = [
    Logistic(2),
    Drifting(1),
    QLearning("q", 2, True, True),
    *(pytest.param(each, marks=pytest.mark.long) for each in (GlmHmm(2), WinStayLoseShift("s"), BayesianReversal("b"))),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_predictions_depend_on_the_past_alone(model):
    rng = np.random.default_rng(5)
    sessions = []
    for k in range(4):
        stimulus, choice = rng.normal(size=60), rng.integers(-1, 2, 60)
        sessions.append(session(choice, name=str(k), stimuli=stimulus[:, None], reward=rng.integers(0, 2, 60)))
    table = Behaviour(tuple(sessions), ("l", "r"), ("s",))
    policy = model.fit([Problem(table)])[0].policy
    before = predict(policy, sessions[:1])[0]
    np.testing.assert_allclose(before.sum(1), 1)
    each = sessions[0]
    changed = replace(each, choice=each.choice.copy(), reward=each.reward.copy())
    changed.choice[30:], changed.reward[30:] = 1 - np.abs(each.choice[30:]), 1 - each.reward[30:]
    after = predict(policy, [changed])[0]
    np.testing.assert_allclose(after[:31], before[:31])
    assert np.abs(after[31:] - before[31:]).max() > 1e-4


def test_three_choices():
    rng, q = np.random.default_rng(7), QLearning("q")
    like = Behaviour((), ("a", "b", "c"))
    choice = rng.integers(0, 3, 400)
    table = like.only([session(choice, reward=(choice == 1).astype(float))])
    for model in (Logistic(1), q, WinStayLoseShift("wsls")):
        p = predict(model.fit([Problem(table)])[0].policy, table.sessions)[0]
        assert p.shape == (400, 3)
        assert np.nanmean(log_likelihoods(p, choice)) > np.log(1 / 3) - 0.02
    with pytest.raises(UnfitError, match="needs two choices"):
        BayesianReversal("bayes").fit([Problem(table)])


def test_simulated_stimuli_without_a_correct_choice_are_those_of_the_table():
    stimuli = np.array([[-1.5], [0.5], [2.5]])
    world = world_like(
        Behaviour((session([0, 1, 2], stimuli=stimuli),), ("a", "b", "c"), ("x",)), 2, 50, np.random.default_rng(0)
    )
    assert world.stimuli.shape == (2, 50, 1) and set(world.stimuli.flat) == set(stimuli.flat)


def test_choices_after_errors_lean_to_a_side():
    rng, choice = np.random.default_rng(8), np.zeros(2000, int)
    reward = (rng.random(2000) < 0.5).astype(float)
    for t in range(1, 2000):
        choice[t] = rng.random() < (0.8 if reward[t - 1] == 0 else 0.5)
    fit = Logistic(1).fit([Problem(Behaviour((session(choice, reward=reward),)))])[0]
    assert -0.5 * np.log(4) in fit.parameters["outcome, 1 back"]
    old = {
        name: value for name, value in Logistic(1).to_arrays(fit.policy).items() if not name.endswith("plain_outcomes")
    }
    assert not Logistic(1).from_arrays(old, BANDIT).features.plain_outcomes  # as in fits of earlier versions


def test_models_say_what_they_need():
    table = Behaviour((session(np.tile([0, 1], 50)),))
    cases = ((QLearning("q"), "rewards"), (diffusion(), "reaction times"), (TwoStepLearner("h"), "rewards"))
    for model, words in cases:
        with pytest.raises(UnfitError, match=words):
            model.fit([Problem(table)])
