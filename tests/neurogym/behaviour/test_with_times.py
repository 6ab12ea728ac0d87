"""Learners, regressions, functions and other models that also predict times."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from neurogym.behaviour.models.agents import Agent, AgentPolicy
from neurogym.behaviour.models.ballistic import BallisticResponse
from neurogym.behaviour.models.base import Problem, UnfitError
from neurogym.behaviour.models.drifting import Drifting
from neurogym.behaviour.models.learning import QLearning
from neurogym.behaviour.models.logistic import Logistic
from neurogym.behaviour.models.parameters import real
from neurogym.behaviour.models.timed import ResponseParameters, TimedPolicy
from neurogym.behaviour.models.times import TimeSettings
from neurogym.behaviour.models.with_times import TimedModel, diffusion, diffusion_response, race
from neurogym.behaviour.simulate import ReversingBandit, simulate
from neurogym.behaviour.table import Behaviour, session

LEARNER = QLearning("q", perseveration=True)


def learners(n, response, values, response_values, arms=2, sessions=5, trials=200):
    """Return subjects that learn in a bandit and respond after some time."""
    rng, results = np.random.default_rng(0), []
    table = Behaviour((session([0, 1], reward=[1, 0]),), choices=tuple(map(str, range(arms))))
    parameters = LEARNER.parameters(table)
    for k in range(n):
        x = np.array([each.unbounded(values(k).get(each.name, 0.0)) for each in parameters])
        response_x = np.array([each.unbounded(response_values(k)[each.name]) for each in response.parameters])
        inner = AgentPolicy(LEARNER, parameters, x, arms)
        policy = TimedPolicy(inner, ResponseParameters(response), response_x, TimeSettings())
        results.append(simulate(policy, ReversingBandit(sessions, trials, arms, rng), table, rng))
    return results


def test_a_learner_is_recovered_from_choices_and_times():
    truth = {"alpha": (0.3, 0.6), "beta": (2.0, 4.0), "A": (0.8, 1.2), "t_R": (0.2, 0.4)}

    def value(name, k):
        return truth[name][k % 2] if name != "A" else truth[name][k // 2]

    subjects = learners(
        4,
        diffusion_response(),
        lambda k: {"alpha": value("alpha", k), "beta": value("beta", k), "kappa": 0.3},
        lambda k: {"A": value("A", k), "t_R": value("t_R", k), "z": 0.5, "lapse": 0.02},
        sessions=4,
        trials=150,
    )
    fits = TimedModel(LEARNER).fit([Problem(each) for each in subjects])
    for k, fit in enumerate(fits):
        for name in truth:
            assert abs(fit.parameters[name].value - value(name, k)) < 3.5 * fit.parameters[name].se


def test_three_options_race():
    response = BallisticResponse(3)
    values = {"B": 0.8, "s_0": 0.5, "t_R": 0.25, "v_0": 2.0, "lapse": 0.02}
    (data,) = learners(
        1, response, lambda k: {"alpha": 0.4, "beta": 3.0, "kappa": 0.3}, lambda k: values, arms=3, trials=120
    )
    fit = TimedModel(LEARNER, "lba").fit([Problem(data)])[0]
    for name, value in {"alpha": 0.4, "beta": 3.0, "t_R": 0.25}.items():
        assert abs(fit.parameters[name].value - value) < 3.5 * fit.parameters[name].se
    with pytest.raises(UnfitError, match="two choices"):
        TimedModel(LEARNER).fit([Problem(data)])


def test_intervals_of_a_race_are_credible_and_those_of_folds_cost_nothing():
    """Those of standard errors were symmetric and covered 86 % (see experiments/coverage)."""
    truth, inside = {"B": 0.9, "s_0": 0.5, "t_R": 0.25, "v_0": 2.0, "lapse": 0.02}, []
    for rng in np.random.default_rng(1).spawn(1):
        x = rng.choice([-1.0, -0.5, 0.5, 1.0], 200)
        choice, rt = BallisticResponse(2).sample(np.stack([-1.4 * x, 1.4 * x], axis=1), truth, rng)
        data = Behaviour((session(choice, stimuli=x[:, None], rt=rt),), stimuli=("x",))
        exact = race().fit([Problem(data)])[0].parameters
        inside.append([value in exact[name] for name, value in truth.items()])
    assert np.mean(inside) >= 0.8
    quick = race().fit([Problem(data, intervals=False)])[0].parameters
    assert [each.value for each in exact.values()] == [each.value for each in quick.values()]
    value, low, high = np.log([quick["t_R"].value, quick["t_R"].low, quick["t_R"].high])
    assert value - low == pytest.approx(high - value)
    value, low, high = np.log([exact["t_R"].value, exact["t_R"].low, exact["t_R"].high])
    assert value - low > 1.5 * (high - value)


@pytest.mark.long
def test_intervals_of_a_race_reach_the_tails_where_threshold_and_starts_make_up_for_each_other():
    """Ends of .35 (s_0) and 1.18 (B), found in the scale of the logarithms, covered 86 % of truths."""
    values = {"B": 0.93, "s_0": 0.56, "t_R": 0.24, "v_0": 2.3}
    rng = np.random.default_rng(4)
    x = rng.choice([-1.0, -0.5, 0.5, 1.0], 400)
    evidence = np.stack([-0.7 * x, 0.7 * x], axis=1)
    choice, rt = BallisticResponse(2).sample(evidence, {**values, "lapse": 0.02}, rng, TimeSettings(5.0))
    data = Behaviour((session(choice, stimuli=x[:, None], rt=rt),), stimuli=("x",))
    for seed in (0, 1):
        parameters = race(deadline=5.0).fit([Problem(data, seed)])[0].parameters
        assert parameters["B"].high > 1.3
        assert parameters["s_0"].low < 0.25
        assert parameters["t_R"].low < 0.18


def test_probabilities_of_the_race_agree_with_simulation():
    rng, response = np.random.default_rng(1), BallisticResponse(3)
    values = {"B": 0.8, "s_0": 0.5, "t_R": 0.2, "v_0": 1.5, "lapse": 0.05}
    evidence = np.tile([0.0, 0.5, 1.0], (30_000, 1))
    choice, rt = response.sample(evidence, values, rng)
    expected = response.probabilities(evidence[:1], values)[0]
    assert np.bincount(choice) / len(choice) == pytest.approx(expected, abs=0.01)
    assert expected.sum() == pytest.approx(1)
    assert np.quantile(rt, 0.01) > 0.2 or np.mean(rt < 0.2) < 0.05


def evidence_table(seed=2, sessions=4, trials=150):
    """Return a table of choices and times driven by a stimulus and by the previous choice."""
    rng, rows = np.random.default_rng(seed), []
    response = diffusion_response()
    values = {"A": 0.9, "t_R": 0.3, "z": 0.5, "lapse": 0.02}
    for k in range(sessions):
        x, before = rng.choice([-1.0, -0.4, 0.4, 1.0], trials), 0.0
        choice, rt = np.zeros(trials, int), np.zeros(trials)
        for t in range(trials):
            drift = np.array([[1.5 * x[t] + 0.8 * before]])
            (choice[t],), (rt[t],) = response.sample(drift, values, rng)
            before = 2.0 * choice[t] - 1
        rows.append(session(choice, name=str(k), stimuli=x[:, None], rt=rt))
    return Behaviour(tuple(rows), stimuli=("x",))


class Follower(Agent):
    """Follows the stimulus and the previous choice."""

    w, h = real(3.0), real(3.0)
    linear = needs_rewards = False

    def begin(self, p, n):
        return {"before": 0.0}

    def logits(self, p, state, trial):
        return jnp.array([0.0, p.w * trial.stimuli[0] + p.h * state.before])

    def update(self, p, state, trial):
        return {"before": 2.0 * trial.choice - 1}


def test_regression_function_and_drifting_weights_have_times():
    data = evidence_table()
    logistic = TimedModel(Logistic(1)).fit([Problem(data)])[0]
    function = TimedModel(Follower("own")).fit([Problem(data)])[0]
    for fit, names in ((logistic, ("x", "choice, 1 back")), (function, ("w", "h"))):
        for name, value in zip((*names, "A", "t_R"), (1.5, 0.8, 0.9, 0.3), strict=True):
            assert abs(fit.parameters[name].value - value) < 3.5 * fit.parameters[name].se
    drifting = TimedModel(Drifting(1)).fit([Problem(data)])[0]
    assert drifting.parameters["A"].value == pytest.approx(0.9, abs=0.1)
    assert drifting.details["joint"] == pytest.approx(logistic.details["joint"], abs=25)
    plain = diffusion().fit([Problem(data)])[0]
    assert logistic.details["joint"] > plain.details["joint"] + 20  # history is in the times as well


@pytest.mark.parametrize(
    "model",
    [TimedModel(Logistic(1)), TimedModel(LEARNER), TimedModel(Drifting(1)), diffusion()],
    ids=["logistic", "q", "psytrack", "ddm"],
)
def test_saved_policies_have_the_same_choices_and_times(model):
    data = evidence_table(sessions=2, trials=80)
    data = data.only([replace(each, reward=each.choice.astype(float)) for each in data.sessions])
    policy = model.fit([Problem(data)])[0].policy
    again = model.from_arrays(model.to_arrays(policy), data)
    for before, after in zip(policy.log_densities(data.sessions), again.log_densities(data.sessions), strict=True):
        np.testing.assert_allclose(before, after)


def test_a_search_that_leaves_the_support_at_once_goes_on():
    """The first step of races of fast answers was to the ends of all ranges, and the last."""
    rng = np.random.default_rng(0)
    coh = rng.choice([-0.5, -0.25, -0.05, 0.05, 0.25, 0.5], 300)
    choice = (rng.random(300) < 1 / (1 + np.exp(-6 * coh))).astype(int)
    rt = 0.3 + rng.gamma(3, 0.1 / (1 + np.abs(coh)))
    data = Behaviour((session(choice, stimuli=coh[:, None], rt=rt),), stimuli=("coh",))
    fit = race().fit([Problem(data)])[0]
    assert not fit.marks and 4 < fit.parameters["coh -> 1"].value < 9
