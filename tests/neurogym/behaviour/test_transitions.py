"""Hidden states whose transitions depend on inputs; states that are empty are named."""

import itertools

import numpy as np
import pytest

from neurogym.behaviour.models.base import Problem, UnfitError, predict
from neurogym.behaviour.models.chains import Chain, expected_states
from neurogym.behaviour.models.drifting import Drifting
from neurogym.behaviour.models.glm_hmm import GlmHmm
from neurogym.behaviour.table import Behaviour, session


def switching(effect, sessions=20, trials=150, weights=((0.0, 4.0), (-2.0, 0.0))):
    """Return choices of an engaged and a biased state, to which errors lead by ``effect``.

    ``weights`` are bias and weight of the stimulus in each state.
    """
    rng, rows = np.random.default_rng(0), []
    for k in range(sessions):
        x, state = rng.choice([-1.0, 1.0], trials), 0
        choice, reward = np.zeros(trials, int), np.zeros(trials)
        for t in range(trials):
            bias, slope = weights[state]
            logit = bias + slope * x[t]
            choice[t] = rng.random() < 1 / (1 + np.exp(-logit))
            reward[t] = choice[t] == (x[t] > 0)
            odds = np.log(0.1 / 0.9) if state == 0 else np.log(0.85 / 0.15)
            state = int(rng.random() < 1 / (1 + np.exp(-(odds - effect * (reward[t] - 0.5)))))
        rows.append(session(choice, name=str(k), stimuli=x[:, None], reward=reward))
    return Behaviour(tuple(rows), stimuli=("x",))


def test_rewards_that_move_the_state_are_found_and_improve_the_fit():
    data = switching(3.0)
    plain, driven = (GlmHmm(2, 0, transition=inputs).fit([Problem(data)])[0] for inputs in (None, "reward"))
    assert driven.score > plain.score + 6
    assert driven.details["transition_weights"][1, 0] < -0.5
    assert any("reward" in note for note in driven.notes)
    again = GlmHmm(2, 0, transition="reward")
    policy = again.from_arrays(again.to_arrays(driven.policy), data)
    for before, after in zip(predict(driven.policy, data.sessions), predict(policy, data.sessions), strict=True):
        np.testing.assert_allclose(before, after)
    logs = [
        np.log(p[np.arange(len(s)), s.choice]).sum()
        for p, s in zip(predict(policy, data.sessions), data.sessions, strict=True)
    ]
    assert sum(logs) == pytest.approx(driven.score, rel=1e-6)  # filtered predictions multiply to the likelihood


def test_states_given_all_choices_are_those_of_all_paths():
    """Bayes' rule over the 2^5 paths of states, with transitions that depend on inputs and a missing choice."""
    rng = np.random.default_rng(1)
    chain = Chain(
        np.array([[0.0, 2.0], [-1.0, 0.5]]), np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.7, 0.3]), np.eye(2)[:, 1:]
    )
    x, inputs, choice = rng.standard_normal((1, 5, 2)), rng.standard_normal((1, 5, 1)), np.array([[0, 1, -1, 1, 0]])
    p = 1 / (1 + np.exp(-x[0] @ chain.weights.T))
    likelihood = np.where(choice[0][:, None] < 0, 1.0, np.where(choice[0][:, None] == 1, p, 1 - p))
    transitions = chain.after(inputs[0])
    expected = np.zeros((5, 2))
    for path in itertools.product(range(2), repeat=5):
        moves = np.prod([transitions[t, path[t], path[t + 1]] for t in range(4)])
        expected[range(5), path] += chain.start[path[0]] * moves * np.prod(likelihood[range(5), path])
    result = expected_states(chain, x, choice, inputs)[0]
    np.testing.assert_allclose(result, expected / expected.sum(1, keepdims=True), rtol=1e-9)


def test_an_empty_state_is_named_and_unknown_inputs_are_refused():
    rng = np.random.default_rng(2)
    x = rng.choice([-1.0, 1.0], 1500)
    choice = (rng.random(1500) < 1 / (1 + np.exp(-3 * x))).astype(int)
    data = Behaviour((session(choice, stimuli=x[:, None], reward=np.ones(1500)),), stimuli=("x",))
    with pytest.raises(UnfitError, match="unknown input 'rewrd'; expected reward, choice, x"):
        GlmHmm(2, 0, transition="rewrd").fit([Problem(data)])
    with pytest.raises(UnfitError, match="reward is the same"):
        GlmHmm(2, 0, transition="reward").fit([Problem(data)])
    with pytest.raises(UnfitError, match="drift=true"):
        GlmHmm(2, 0, sigma=0.0)


@pytest.mark.long
def test_states_have_the_same_numbers_in_folds_and_seeds():
    data = switching(1.0, sessions=8)
    pieces = [[each for k, each in enumerate(data.sessions) if k % 4 != fold] for fold in range(4)]
    numbered = []
    for seed in (0, 1):
        fits = GlmHmm(2, 0).fit(
            [*(Problem(data.only(each), seed + k) for k, each in enumerate(pieces)), Problem(data, seed)]
        )
        whole = fits[-1].details["weights"]
        for fit in fits:
            distance = ((fit.details["weights"][:, None] - whole) ** 2).sum(-1)
            assert distance.argmin(1).tolist() == [0, 1]
        numbered.append(whole)
    np.testing.assert_allclose(*numbered, atol=0.1)


def test_states_of_fewer_sessions_have_the_numbers_of_most_even_if_their_weights_order_them_otherwise():
    most = switching(1.0, sessions=16, weights=((1.5, 3.0), (-3.0, 0.0)))
    few = switching(1.0, sessions=8, weights=((1.5, 1.0), (-2.0, 2.5)))
    (alone,) = GlmHmm(2, 0).fit([Problem(few)])
    _, matched = GlmHmm(2, 0).fit([Problem(most), Problem(few)])
    np.testing.assert_allclose(matched.details["weights"], alone.details["weights"][::-1], atol=0.1)


def habitual(name, sensitivity, seed):
    """Return choices of a subject who is guided by the stimulus alone in a state, and by the last choice in another."""
    rng, rows = np.random.default_rng(seed), []
    for k in range(4):
        x, state, choice = rng.normal(size=200), 0, np.zeros(200, int)
        for t in range(200):
            last = 0 if t == 0 else 2 * choice[t - 1] - 1
            logit = 3.0 * x[t] if state == 0 else sensitivity * x[t] + 3.0 * last
            choice[t] = rng.random() < 1 / (1 + np.exp(-logit))
            state = state if rng.random() < 0.97 else 1 - state
        rows.append(session(choice, subject=name, name=str(k), stimuli=x[:, None]))
    return Behaviour(tuple(rows), stimuli=("x",))


def test_states_of_several_subjects_are_matched_by_their_weights():
    subjects = [habitual(str(k), sensitivity, k) for k, sensitivity in enumerate((1.0, 5.0, 1.5, 4.5))]
    fits = GlmHmm(2, 1).fit([Problem(each, intervals=False) for each in subjects])
    habit = np.array([fit.details["weights"][:, fit.details["names"].index("choice, 1 back")] for fit in fits])
    assert (habit[:, 1] > habit[:, 0] + 1).all()
    alone = [GlmHmm(2, 1).fit([Problem(each, intervals=False)])[0].details["weights"] for each in subjects]
    np.testing.assert_allclose(np.sort(alone[0], 0), np.sort(fits[0].details["weights"], 0), atol=1e-6)
    sensitive = [weights[:, 1].argmax() for weights in (fit.details["weights"] for fit in fits)]
    assert set(sensitive) == {0, 1}  # the rule for a single subject would number the states otherwise


def drifting_states(sessions=8, trials=300, seed=3):
    """Return choices of an engaged state whose bias drifts, and of a biased state; with the drifting bias."""
    rng, rows, biases = np.random.default_rng(seed), [], []
    for k in range(sessions):
        x, state, bias = rng.choice([-1.0, 1.0], trials), 0, np.cumsum(0.12 * rng.standard_normal(trials))
        choice = np.zeros(trials, int)
        for t in range(trials):
            logit = 3 * x[t] + bias[t] if state == 0 else -3.0
            choice[t] = rng.random() < 1 / (1 + np.exp(-logit))
            state = int(rng.random() < (0.03 if state == 0 else 0.93))
        rows.append(session(choice, name=str(k), stimuli=x[:, None]))
        biases.append(bias)
    return Behaviour(tuple(rows), stimuli=("x",)), biases


def score(policy, data):
    p = predict(policy, data.sessions)
    return sum(np.log(q[np.arange(len(s)), s.choice]).sum() for q, s in zip(p, data.sessions, strict=True))


def test_weights_that_drift_within_states_predict_new_sessions_better():
    data, _ = drifting_states()
    new, _ = drifting_states(seed=4)
    still, fit, walk = (
        model.fit([Problem(data)])[0] for model in (GlmHmm(2, 0), GlmHmm(2, 0, drift=True), Drifting(0))
    )
    assert score(fit.policy, new) > max(score(still.policy, new), score(walk.policy, new)) + 10
    sigma = {name: fit.parameters[f"state 1: sigma {name}"].value for name in ("bias", "x")}
    assert 0.04 < sigma["bias"] < 0.2 and sigma["x"] < sigma["bias"]
    assert np.isnan(fit.parameters["state 1: sigma bias"].low)  # too narrow where states are uncertain
    model = GlmHmm(2, 0, drift=True)
    assert score(model.from_arrays(model.to_arrays(fit.policy), data), new) == pytest.approx(score(fit.policy, new))


@pytest.mark.long
def test_without_drift_the_model_is_the_one_of_hidden_states():
    data, _ = drifting_states(sessions=4, trials=150)
    still, fixed = (model.fit([Problem(data)])[0] for model in (GlmHmm(2, 0), GlmHmm(2, 0, drift=True, sigma=0.0)))
    assert fixed.marks["state 1: sigma bias"] == "fixed"
    assert fixed.parameters["state 1: sigma bias"].value < 1e-5
    assert fixed.score == pytest.approx(still.score, abs=0.02 * data.n_trials)


def test_drift_rates_are_bounded_and_fixed():
    data, _ = drifting_states(sessions=3, trials=150)
    bounded, fixed = (
        Drifting(0, **options).fit([Problem(data)])[0] for options in ({"sigma_max": 0.03}, {"sigma": 0.05})
    )
    assert bounded.parameters["sigma bias"].value == pytest.approx(0.03)
    assert bounded.marks["sigma bias"] == "at its bound 0.03"
    assert fixed.parameters["sigma bias"].value == fixed.parameters["sigma x"].value == pytest.approx(0.05)


def test_states_that_choices_do_not_need_are_marked():
    rng = np.random.default_rng(1)
    noise = Behaviour((session(rng.integers(0, 2, 150)),))
    marks = GlmHmm(3, 1).fit([Problem(noise)])[0].marks
    assert sum(mark == "not identified" for name, mark in marks.items() if "stay" not in name) >= 3
