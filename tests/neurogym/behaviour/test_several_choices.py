"""Hidden states and drifting weights with three and more choices: plain references, recovery, stored fits, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from neurogym.analysis.regression import log_chosen
from neurogym.behaviour.models.base import Problem, UnfitError, predict
from neurogym.behaviour.models.chains import Chain, TransitionInputs, state_logits
from neurogym.behaviour.models.drifting import Drifting
from neurogym.behaviour.models.glm_hmm import ChainPolicy, DriftingStatesPolicy, GlmHmm, expected_log_likelihood
from neurogym.behaviour.models.logistic import Features
from neurogym.behaviour.models.walks import Belief, Walk, WalkPosterior, learn, probabilities
from neurogym.behaviour.table import Behaviour, session

WORDS = ("a", "b", "c")
#: Weights (states, choices, predictors) of a state that follows the stimulus, and of one that prefers b.
STATES = np.array([[[0, 0], [0, 2.5], [0, -2.5]], [[0, 0], [2, 0], [-1, 0]]], float)


def softmax(logits):
    p = np.exp(logits - logits.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


def simulated(weights, sessions, trials, seed):
    """Return a table, and the state of each trial; the state changes in one trial of 25.

    Args:
        weights: function of trial and state, with a result of the shape (choices, 2).
        sessions: number of them.
        trials: of each session.
        seed: of all that is random.
    """
    rng, rows, states = np.random.default_rng(seed), [], np.zeros((sessions, trials), int)
    for k in range(sessions):
        x, choice = rng.normal(size=trials), np.zeros(trials, int)
        states[k] = np.cumsum(rng.random(trials) < 0.04) % 2
        for t in range(trials):
            choice[t] = rng.choice(3, p=softmax(weights(t, states[k, t]) @ [1, x[t]]))
        choice[rng.random(trials) < 0.02] = -1
        rows.append(session(choice, name=str(k), stimuli=x[:, None]))
    return Behaviour(tuple(rows), WORDS, ("x",)), states


def forward(chain, table):
    """Return the log-likelihood of all choices by the forward algorithm, written out."""
    total, weights = 0.0, np.concatenate([np.zeros((len(chain.weights), 1, 2)), chain.weights.reshape(-1, 2, 2)], 1)
    for each in table.sessions:
        state = chain.start
        for x, choice in zip(each.stimuli[:, 0], each.choice, strict=True):
            joint = state if choice < 0 else state * softmax(weights @ [1, x])[:, choice]
            total += np.log(joint.sum())
            state = joint / joint.sum() @ chain.transitions
    return total


def score(policy, table):
    rows = zip(predict(policy, table.sessions), table.sessions, strict=True)
    return sum(np.log(p[np.arange(len(p)), each.choice])[each.choice >= 0].sum() for p, each in rows)


def test_states_of_three_choices_are_recovered_and_scored_as_by_the_forward_algorithm():
    table, states = simulated(lambda _, state: STATES[state], 4, 300, 1)
    model = GlmHmm(2, 0)
    fit = model.fit([Problem(table)])[0]
    names = Features.of(table, 0).weight_names
    assert names == ("bias -> b", "x -> b", "bias -> c", "x -> c") == tuple(fit.details["names"])
    assert (fit.details["states"].argmax(-1) == states).mean() > 0.9  # the state of the stimulus is the first
    truth = {
        f"state {k + 1}: {name}": value for k in range(2) for name, value in zip(names, STATES[k, 1:].flat, strict=True)
    }
    assert sum(value in fit.parameters[name] for name, value in truth.items()) >= 7  # of eight
    assert np.abs([fit.parameters[name].value - value for name, value in truth.items()]).max() < 0.7
    assert 0.96 in fit.parameters["state 1: stay"] and 0.96 in fit.parameters["state 2: stay"]
    assert fit.score == pytest.approx(forward(fit.policy.chain, table), abs=1e-6)
    again = model.from_arrays(model.to_arrays(fit.policy), table)
    assert score(again, table) == pytest.approx(fit.score, abs=1e-6)  # filtered predictions multiply to the likelihood


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_a_choice_changes_weights_by_the_rule_of_bayes(choices, seed):
    rng, size = np.random.default_rng(seed), 2 * (choices - 1)
    root, mean, x = rng.normal(size=(size, size)) / 4, rng.normal(size=size), rng.normal(size=2)
    belief = Belief(mean[None], (root @ root.T)[None])
    draws = mean + rng.normal(size=(100_000, size)) @ root.T
    logits = np.pad(draws.reshape(len(draws), choices - 1, 2) @ x, ((0, 0), (1, 0)))
    p, choice = softmax(logits), int(rng.integers(choices))
    np.testing.assert_allclose(probabilities(belief, x[None])[0], p.mean(0), atol=0.008)
    (after, covariance), log = learn(belief, x[None], np.array([choice]))
    share = p[:, choice] / p[:, choice].sum()
    assert np.exp(log[0]) == pytest.approx(p[:, choice].mean(), abs=0.008)
    np.testing.assert_allclose(after[0], share @ draws, atol=0.03)
    np.testing.assert_allclose(covariance[0], np.cov(draws.T, aweights=share), atol=0.06)


def test_smoothed_weights_are_the_most_probable_ones():
    rng, walk = (
        np.random.default_rng(2),
        Walk(np.array([0.5, 1, 0, -1]), np.full(4, 0.5), np.array([0.1, 0.2, 0.1, 0.3])),
    )
    x, choice = np.column_stack([np.ones(12), rng.normal(size=12)]), rng.integers(-1, 3, 12)

    def loss(flat):
        w = flat.reshape(12, 4)
        p = softmax(np.pad(np.einsum("tkp,tp->tk", w.reshape(12, 2, 2), x), ((0, 0), (1, 0))))
        prior = ((w[0] - walk.mean) ** 2 / walk.start).sum() + (np.diff(w, axis=0) ** 2 / walk.step).sum()
        return 0.5 * prior - np.log(p[np.arange(12), choice])[choice >= 0].sum()

    expected = minimize(loss, np.tile(walk.mean, 12)).x.reshape(12, 4)
    result = WalkPosterior(x[None], choice[None], walk).smoothed(walk)
    np.testing.assert_allclose(result.mean[:, 0], expected, atol=1e-3)


def test_drifting_weights_of_three_choices_are_recovered():
    slopes = np.linspace(-2, 2, 250)
    table, _ = simulated(lambda t, _: np.array([[0, 0], [0.5, slopes[t]], [-0.5, 1.5]]), 2, 250, 3)
    model = Drifting(0)
    fit = model.fit([Problem(table)])[0]
    assert fit.details["weights"].shape == (250, 2, 4)
    assert np.corrcoef(fit.details["weights"][:, 0, 1], slopes)[0, 1] > 0.9
    error = np.abs(fit.details["weights"][..., 1] - slopes[:, None]) / fit.details["weights_sd"][..., 1]
    assert (error < 1.96).mean() > 0.85
    assert 1.5 in fit.parameters["x -> c"] and -0.5 in fit.parameters["bias -> c"]
    assert fit.parameters["sigma x -> b"].value > 3 * fit.parameters["sigma x -> c"].value
    again = model.from_arrays(model.to_arrays(fit.policy), table)
    assert score(again, table) == pytest.approx(fit.score, abs=1e-6)


def test_states_whose_weights_do_not_drift_are_those_of_a_chain():
    table, _ = simulated(lambda _, state: STATES[state], 2, 60, 4)
    features, flat = Features.of(table, 0), STATES[:, 1:].reshape(2, 4)
    chain = Chain(flat, np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.7, 0.3]), np.zeros((2, 0)))
    none = np.zeros_like(flat)
    drifting = DriftingStatesPolicy(
        features, flat, none, none, chain.transitions, chain.start, chain.inputs, TransitionInputs()
    )
    for still, moving in zip(
        predict(ChainPolicy(features, chain), table.sessions), predict(drifting, table.sessions), strict=True
    ):
        np.testing.assert_allclose(moving, still, atol=1e-5)
    assert score(ChainPolicy(features, chain), table) == pytest.approx(forward(chain, table))
    x, choice = (
        np.stack([features.matrix(each) for each in table.sessions]),
        np.stack([each.choice for each in table.sessions]),
    )
    known = Belief(np.tile(flat[0], (60, 2, 1)), np.zeros((60, 2, 4, 4)))
    plain = log_chosen(state_logits(chain.weights, x), choice[..., None])[..., 0]
    np.testing.assert_allclose(expected_log_likelihood(known, x, choice), plain, atol=1e-5)


def test_more_choices_than_a_model_takes_are_refused_in_one_line():
    seven = Behaviour((session(np.arange(70) % 7),), tuple("abcdefg"))
    GlmHmm(2).check(seven)
    three = Behaviour((session(np.arange(70) % 3),), WORDS)
    for model, table, words in (
        (Drifting(1), seven, "psytrack needs at most 6 choices; the table has 7"),
        (GlmHmm(2, drift=True), seven, "glm-hmm with drift needs at most 6 choices"),
        (GlmHmm(2, transition="choice"), three, "--transition choice needs two choices; the table has 3"),
    ):
        with pytest.raises(UnfitError, match=words):
            model.fit([Problem(table)])
