"""Options of models of choices and times: contaminants, fixed parameters, codes, hidden states that set the bound."""

from dataclasses import replace

import numpy as np
import pytest

from neurogym.behaviour.models.ballistic import BallisticResponse
from neurogym.behaviour.models.base import Problem, UnfitError
from neurogym.behaviour.models.glm_hmm import GlmHmm
from neurogym.behaviour.models.learning import QLearning
from neurogym.behaviour.models.logistic import Logistic
from neurogym.behaviour.models.times import TimedTrials, TimeSettings
from neurogym.behaviour.models.with_times import TimedModel, diffusion, diffusion_response
from neurogym.behaviour.table import Behaviour, session

VALUES = {"A": 0.9, "t_R": 0.3, "z": 0.5, "lapse": 0.02}
RACE = {"B": 0.8, "s_0": 0.5, "t_R": 0.2, "v_0": 1.5, "lapse": 0.1}
LEARNER = QLearning("q")


def dots(n, seed=0, extra=0, **values):
    """Return choices about dots, with answers after 20 ms added at the end."""
    rng = np.random.default_rng(seed)
    x = rng.choice([-1.0, -0.4, 0.4, 1.0], n)
    choice, rt = diffusion_response().sample(2.5 * x[:, None], {**VALUES, **values}, rng)
    x, choice = np.r_[x, np.full(extra, 0.4)], np.r_[choice, np.arange(extra) % 2]
    return Behaviour(
        (session(choice, stimuli=x[:, None], rt=np.r_[rt, np.full(extra, 0.02)], reward=(choice == (x > 0)) * 1.0),),
        stimuli=("x",),
    )


MODELS = {
    "ddm": diffusion,
    "lba": lambda **options: TimedModel(Logistic(0), "lba", **options),
    "learner": lambda **options: TimedModel(LEARNER, "ddm", **options),
}


@pytest.mark.parametrize("name", ["ddm", *(pytest.param(name, marks=pytest.mark.long) for name in ("lba", "learner"))])
@pytest.mark.parametrize(
    "options",
    [{}, {"fastest": 0.0}, {"fastest": 0.0, "contaminants": "exponential"}],
    ids=["anticipations", "uniform", "exponential"],
)
def test_two_early_answers_among_two_thousand_move_nothing_by_a_standard_error(name, options):
    model = MODELS[name](**options)
    fits = [model.fit([Problem(dots(2000, 5, extra=extra))])[0] for extra in (0, 2)]
    before, after = (fit.parameters for fit in fits)
    shift = {key: abs(after[key].value - each.value) / each.se for key, each in before.items() if each.se > 0}
    assert any("2 trials with answers faster" in note for note in fits[1].notes) == ("fastest" not in options)
    assert len(shift) >= 4 and max(shift.values()) < 1


@pytest.mark.parametrize("scale", [0.0, 0.6])
@pytest.mark.parametrize("kind", ["omitted", "withheld"])
def test_likelihoods_of_answers_and_silence_add_up_to_one(scale, kind):
    withheld = 0 if kind == "withheld" else -1
    settings = TimeSettings(deadline=1.0, fastest=0.0, longest=1.5, withheld=withheld, scale=scale)
    grid = np.linspace(1e-4, 1.0, 801)
    cases = (
        (diffusion_response(lapse=0.1), {**VALUES, "lapse": 0.1}, np.array([0.7])),
        (diffusion_response(collapse="exponential"), {**VALUES, "lapse": 0.1, "c": 0.5}, np.array([0.7])),
        (BallisticResponse(2), RACE, np.array([0.0, 0.7])),
    )
    for response, values, evidence in cases:
        sides = (1,) if kind == "withheld" else (0, 1)
        choice = np.r_[np.repeat(sides, len(grid)), withheld]
        trials = TimedTrials(choice, np.r_[np.tile(grid, len(sides)), np.nan], settings)
        rows = np.tile(evidence, (len(choice), 1))
        p = np.exp(response.log(rows, values, trials))
        total = p[:-1].sum() * (grid[1] - grid[0]) + p[-1]
        assert total == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("scale", [0.0, 0.3])
def test_simulated_contaminants_have_the_times_of_the_likelihood(scale):
    rng, settings = np.random.default_rng(1), TimeSettings(deadline=2.0, longest=3.0, scale=scale)
    n = 20_000
    choice, rt = settings.observed(np.zeros(n, int), np.full(n, 0.5), np.ones(n), 2, rng)
    assert (choice < 0).mean() == pytest.approx(settings.contaminant_survival, abs=0.01)
    low, high = 0.2, 0.4
    expected = settings.contaminant_density(np.linspace(low, high, 100)).mean() * (high - low)
    assert ((rt > low) & (rt < high)).mean() == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("name", MODELS)
def test_codes_for_no_time_change_no_model_and_are_named(name):
    data, model = dots(300).sessions[0], MODELS[name]()
    data.rt[::40] = np.nan
    first = model.posterior(Problem(Behaviour((data,), stimuli=("x",))))
    x = first.mean + 0.1
    for code in (0.0, -1.0, -999.0, 999.0):
        coded = Behaviour((replace(data, rt=np.nan_to_num(data.rt, nan=code)),), stimuli=("x",))
        assert model.posterior(Problem(coded)).log_likelihood(x)[0] == first.log_likelihood(x)[0]
        assert f"reaction time {code:g} of 8 trials read as none" in model.settings(coded)[1]


def test_a_single_code_is_no_time_but_a_single_long_time_is_one():
    data = dots(300).sessions[0]
    for value, valid in ((999.0, 299), (9.9, 300), (25.0, 300)):
        data.rt[3] = value
        trials = diffusion().posterior(Problem(Behaviour((data,), stimuli=("x",)))).trials
        assert np.isfinite(trials.rt).sum() == valid


def test_fixed_parameters_make_a_simpler_model():
    data = Problem(dots(400))
    full = diffusion(drift_sd=True, start_range=True, time_range=True, fix={"sv": 0, "sz": 0, "st": 0}).fit([data])[0]
    simple = diffusion().fit([data])[0]
    assert full.parameters == simple.parameters
    fixed = diffusion(fix={"lapse": 0.02, "x0": 0, "start": 0.5}).fit([data])[0]
    assert set(fixed.parameters) == {"k", "A", "t_R"}
    assert fixed.parameters["A"].value == pytest.approx(simple.parameters["A"].value, abs=0.05)
    again = diffusion(fix={"lapse": 0.02, "x0": 0, "start": 0.5})
    policy = again.from_arrays(again.to_arrays(fixed.policy), data.table)
    np.testing.assert_allclose(
        policy.log_densities(data.table.sessions)[0], fixed.policy.log_densities(data.table.sessions)[0]
    )
    learner = TimedModel(LEARNER, fix={"alpha": 0.3}).fit([data])[0]
    assert "alpha" not in learner.parameters
    assert learner.policy.inner.values["alpha"] == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("fix", "words"), [({"lapse": 0.9}, "between 0 and 0.5"), ({"bound": 0}, "above 0"), ({"A": -1}, "above 0")]
)
def test_values_outside_the_range_are_refused(fix, words):
    with pytest.raises(UnfitError, match=words):
        diffusion(fix=fix)


def test_the_hidden_state_of_a_model_sets_the_bound():
    rng, rows = np.random.default_rng(2), []
    for k in range(4):
        state = np.repeat([0, 1, 0, 1], 60)  # engaged with a high bound, or biased with a low bound
        x = rng.choice([-1.0, 1.0], 240)
        values = {**VALUES, "A": np.where(state == 0, 1.4, 0.5)}
        choice, rt = diffusion_response().sample(np.where(state == 0, 2.5 * x, 2.0)[:, None], values, rng)
        rows.append(session(choice, name=str(k), stimuli=x[:, None], rt=rt))
    data = Problem(Behaviour(tuple(rows), stimuli=("x",)))
    plain = TimedModel(GlmHmm(2, 0)).fit([data])[0]
    model = TimedModel(GlmHmm(2, 0), vary={"bound": "state"})
    fit = model.fit([data])[0]
    effect = fit.parameters["log A: state_2"]
    assert effect.high < -0.5
    assert fit.details["joint"] > plain.details["joint"] + 50
    policy = model.from_arrays(model.to_arrays(fit.policy), data.table)
    for before, after in zip(fit.policy.log_densities(rows), policy.log_densities(rows), strict=True):
        np.testing.assert_allclose(before, after)
    with pytest.raises(UnfitError, match="column 'state'"):
        TimedModel(Logistic(0), vary={"bound": "state"}).fit([data])


def test_rates_that_are_never_positive_have_a_finite_likelihood():
    with np.errstate(all="raise", under="ignore"):
        trials = TimedTrials(np.array([0, 1, -1]), np.array([0.5, np.nan, np.nan]), TimeSettings(deadline=1.0))
        assert np.isfinite(BallisticResponse(2).log(np.zeros((3, 2)), {**RACE, "v_0": -60.0}, trials)).all()
