"""Learners of gains, losses, uncertainty and cues are recovered from their own behaviour."""

import jax
import numpy as np
import pytest

from neurogym.behaviour.models.agents import AgentPolicy
from neurogym.behaviour.models.bandits import ExperienceWeighted, FictiveLearner, Forager, KalmanBandit
from neurogym.behaviour.models.base import Problem, UnfitError, log_likelihoods, predict
from neurogym.behaviour.models.gains_losses import (
    GainLossLearner,
    OutcomeRepresentation,
    PvlDelta,
    ValuePlusPerseveration,
)
from neurogym.behaviour.models.learning import GoNoGo, QLearning, TwoStepLearner
from neurogym.behaviour.simulate import Gambles, GoNoGoWorld, ReversingBandit, gains_and_losses, iowa, simulate
from neurogym.behaviour.table import Behaviour, session

FOUR = Behaviour((session([0, 1], reward=[1, 0]),), choices=("a", "b", "c", "d"))
TWO = Behaviour((session([0, 1], reward=[1, 0], cue=[0, 1]),))


def walk(rng):
    """Return a bandit of four arms whose mean rewards walk, with noise of s.d. 1 (Daw et al. 2006)."""
    means = np.cumsum(rng.normal(0, 0.4, (1, 300, 4)), 1) * 0.5
    return Gambles(means + rng.normal(0, 1, means.shape), np.zeros(means.shape))


class Patches:
    """Patches whose first reward is near 1 and shrinks by about a fifth with each harvest; a new one after leaving."""

    def __init__(self, n, trials, rng):
        self.n, self.trials, self.stimuli = n, trials, np.zeros((n, trials, 0))
        self.truth, self.rng, self.left = np.full((n, trials), -1), rng, np.ones(n, bool)
        self.reward = np.ones(n)

    def outcome(self, t, choice, second):
        fresh, less = self.rng.normal(1, 0.1, self.n), self.reward * self.rng.uniform(0.7, 0.9, self.n)
        self.reward = np.where(self.left, fresh, np.where(choice == 1, self.reward, less))
        self.left = choice == 1
        return np.where(choice == 1, 0.0, self.reward), np.full(self.n, -1), np.full(self.n, -1)


#: Model, table, world, ranges of the parameters, and those that this many trials identify well.
CASES = {
    "gain-loss": (
        GainLossLearner("m"),
        FOUR,
        lambda rng: gains_and_losses(1, 300, 4, rng),
        {"alpha_gain": (0.1, 0.7), "alpha_loss": (0.1, 0.7), "rho_gain": (2, 8), "rho_loss": (2, 8)},
        ("alpha_gain", "alpha_loss", "rho_gain", "rho_loss"),
    ),
    "pvl-delta": (
        PvlDelta("m"),
        FOUR,
        lambda rng: iowa(1, 300, rng),
        {"A": (0.1, 0.6), "lambda": (0.3, 3), "c": (0.4, 1.5), "alpha": (0.4, 1.2)},
        ("c",),
    ),
    "orl": (
        OutcomeRepresentation("m"),
        FOUR,
        lambda rng: iowa(1, 300, rng),
        {"A_rew": (0.1, 0.6), "betaF": (-2, 4), "betaP": (-2, 4), "K'": (0.2, 0.8)},
        ("betaF", "betaP"),
    ),
    "vpp": (
        ValuePlusPerseveration("m"),
        FOUR,
        lambda rng: iowa(1, 300, rng),
        {"epsP": (-2, 2), "epsN": (-2, 2), "c": (0.5, 1.5), "w": (0.2, 0.8)},
        ("epsP",),
    ),
    "kalman": (
        KalmanBandit("m"),
        FOUR,
        walk,
        {"beta": (0.5, 3), "phi": (-1, 2), "kappa": (-0.5, 1.0), "decay": (0.9, 0.99)},
        ("beta", "kappa"),
    ),
    "ewa": (
        ExperienceWeighted("m"),
        TWO,
        lambda rng: ReversingBandit(1, 400, 2, rng),
        {"phi": (0.3, 0.95), "rho": (0.1, 0.9), "beta": (1, 5)},
        ("beta",),
    ),
    "fictive": (
        FictiveLearner("m"),
        TWO,
        lambda rng: ReversingBandit(1, 400, 2, rng),
        {"alpha": (0.1, 0.7), "alpha_fictive": (0.1, 0.7), "beta": (2, 6), "kappa": (-0.5, 1.0)},
        ("kappa",),
    ),
    "forager": (
        Forager("m", travel=3.0),
        TWO,
        lambda rng: Patches(1, 400, rng),
        {"beta": (2, 8), "kappa": (0.6, 0.95), "first": (0.7, 1.3), "average": (0.3, 0.7)},
        ("beta",),
    ),
    "go-no-go": (
        GoNoGo("m"),
        TWO,
        lambda rng: GoNoGoWorld(1, 400, rng),
        {"alpha": (0.1, 0.6), "rho": (2, 8), "b": (-1, 2), "pi": (-1, 2)},
        ("b", "pi", "rho"),
    ),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name != "forager")) for name in CASES])
def test_parameters_are_recovered(name):
    model, table, world, ranges, identified = CASES[name]
    rng, truths, data = np.random.default_rng(7), [], []
    parameters = model.parameters(table)
    for _ in range(10):
        values = {key: rng.uniform(*ends) for key, ends in ranges.items()}
        x = np.array([each.unbounded(values[each.name]) if each.name in values else each.mean for each in parameters])
        data.append(simulate(AgentPolicy(model, parameters, x, len(table.choices)), world(rng), table, rng))
        truths.append((values, AgentPolicy(model, parameters, x, len(table.choices))))
    fits = model.fit([Problem(each) for each in data])
    inside = []
    for key in ranges:
        estimates = [fit.parameters[key] for fit in fits]
        truth = [values[key] for values, _ in truths]
        if key in identified:
            assert np.corrcoef(truth, [each.value for each in estimates])[0, 1] > 0.4, key
        inside += [value in each for value, each in zip(truth, estimates, strict=True) if np.isfinite(each.low)]
    assert np.mean(inside) > 0.8
    for fit, (_, truth_policy), each in zip(fits, truths, data, strict=True):
        reached, true = (
            np.nansum(log_likelihoods(predict(used, each.sessions)[0], each.join("choice")))
            for used in (fit.policy, truth_policy)
        )
        assert reached > true - 5  # the maximum is about as likely as the truth, or more


@pytest.mark.parametrize(
    "name", ["ewa", *(pytest.param(name, marks=pytest.mark.long) for name in ("go-no-go", "forager"))]
)  # one scan steps all
def test_subjects_stepped_together_have_the_likelihood_of_each_alone(name):
    model, table, world, _, _ = CASES[name]
    rng = np.random.default_rng(3)
    parameters = model.parameters(table)
    policy = AgentPolicy(model, parameters, np.array([each.mean for each in parameters]), len(table.choices))
    first, last = (simulate(policy, world(rng), table, rng).sessions[0].part("1", slice(0, 60)) for _ in range(2))
    tables = [table.only(sessions) for sessions in ([first], [first.part("1", slice(0, 41))] * 2, [last])]
    x = np.array([each.mean for each in parameters]) + 0.3 * rng.standard_normal((3, len(parameters)))
    likelihoods = [model.posterior(Problem(each)) for each in tables]
    every = model.log_likelihoods(tables)
    values, gradients = every(x), jax.grad(lambda points: every(points).sum())(x)
    for k, each in enumerate(likelihoods):
        alone, gradient = each.log_likelihood(x[k])
        assert values[k] == pytest.approx(alone, rel=1e-9)
        np.testing.assert_allclose(gradients[k], gradient, rtol=1e-5, atol=1e-4)


def test_gains_and_losses_of_a_trial_count_separately():
    model = GainLossLearner("m")
    choice = np.tile([0, 1, 2, 3], 60)
    first = {"gain": np.ones(240), "loss": -np.ones(240), "reward": np.zeros(240)}
    none = {"gain": np.zeros(240), "loss": np.zeros(240), "reward": np.zeros(240)}
    predicted = []
    for columns in (first, none):
        data = Behaviour((session(choice, **columns),), choices=FOUR.choices)
        x = np.array(
            [each.unbounded(0.8) if each.name == "alpha_gain" else each.mean for each in model.parameters(data)]
        )
        predicted.append(predict(AgentPolicy(model, model.parameters(data), x, 4), data.sessions)[0])
    assert np.abs(predicted[0] - predicted[1]).max() > 0.1


def test_outcomes_in_points_are_refused_with_a_scale():
    data = Behaviour((session(np.tile([0, 1], 60), reward=np.tile([100.0, -50.0], 60)),))
    with pytest.raises(UnfitError, match="/100"):
        PvlDelta("pvl-delta").fit([Problem(data)])


@pytest.mark.parametrize(
    ("model", "per_outcome", "in_outcomes", "scale"),
    [
        (KalmanBandit("kalman"), ("beta",), (), 0.01),
        (GainLossLearner("gain-loss"), ("rho_gain", "rho_loss"), (), 100.0),
        *(
            pytest.param(*each, marks=pytest.mark.long)
            for each in (
                (QLearning("q", perseveration=True), ("beta",), (), 100.0),
                (ExperienceWeighted("ewa"), ("beta",), (), 100.0),
                (TwoStepLearner("hybrid"), ("beta1", "beta2"), ("p",), 0.01),
                (GoNoGo("go-no-go"), ("rho",), (), 0.01),
            )
        ),
    ],
)
def test_the_unit_of_outcomes_changes_only_what_depends_on_it(model, per_outcome, in_outcomes, scale):
    rng, n = np.random.default_rng(5), 80
    columns = {
        "reward": rng.choice([-1.0, 1.0], n),
        "state": rng.integers(0, 2, n),
        "choice2": rng.integers(0, 2, n),
        "cue": rng.integers(0, 3, n),
    }
    choice = rng.integers(0, 2, n)
    scaled = {**columns, "reward": scale * columns["reward"]}
    first, second = (
        model.fit([Problem(Behaviour((session(choice, **each),)), intervals=False)])[0] for each in (columns, scaled)
    )
    assert second.score == pytest.approx(first.score, abs=1e-3)
    for key, value in first.parameters.items():
        factor = 1 / scale if key in per_outcome else scale if key in in_outcomes else 1.0
        assert second.parameters[key].value == pytest.approx(factor * value.value, rel=0.02, abs=0.02 * factor), key
    assert not first.notes
    assert all(each in second.notes[0] for each in (*per_outcome, *in_outcomes))


def test_weights_of_evidence_in_small_units_are_not_shrunk():
    rng, n = np.random.default_rng(6), 300
    x = rng.choice([-1, -0.5, 0.5, 1], n)
    choice, reward = (rng.random(n) < 1 / (1 + np.exp(-3 * x))).astype(int), rng.integers(0, 2, n)
    model = QLearning("q")
    large, small = (
        model.fit([Problem(Behaviour((session(choice, reward=reward, stimuli=unit * x[:, None]),), stimuli=("x",)))])[0]
        for unit in (1.0, 0.001)
    )
    assert small.parameters["x"].value == pytest.approx(1000 * large.parameters["x"].value, rel=0.02)
