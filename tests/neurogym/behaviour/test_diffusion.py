"""Drift diffusion: parameters are recovered; omissions, anticipations, codes and reversed signs are read right."""

import time

import numpy as np
import pytest

from neurogym.behaviour.models import first_passage
from neurogym.behaviour.models.base import Problem, UnfitError, predict
from neurogym.behaviour.models.responses import DiffusionResponse
from neurogym.behaviour.models.times import TimedTrials, TimeSettings
from neurogym.behaviour.models.with_times import diffusion
from neurogym.behaviour.table import Behaviour, session

COHERENCES = (-0.512, -0.256, -0.128, -0.064, -0.032, 0.032, 0.064, 0.128, 0.256, 0.512)


def simulated(rng, n, **parameters):
    """Return evidence, choices and times of a diffusion to bounds, with contaminants."""
    p = {"k": 8.0, "A": 0.8, "t_R": 0.3, "x0": 0.0, "z": 0.5, "lapse": 0.02, **parameters}
    x = rng.choice(COHERENCES, n)
    bound, start = np.full(n, 2 * p["A"]), np.full(n, p["z"])
    choice, rt = first_passage.draw(p["k"] * (x - p["x0"]), bound, start, rng)
    contaminant = rng.random(n) < p["lapse"]
    choice = np.where(contaminant, rng.integers(0, 2, n), choice)
    return x, choice, np.where(contaminant, rng.uniform(0.1, 3, n), rt + p["t_R"])


def table(x, choice, rt, **columns):
    """Return a table of one session."""
    return Behaviour((session(choice, stimuli=np.asarray(x)[:, None], rt=rt, **columns),), stimuli=("coh",))


def fitted(behaviour, **options):
    return diffusion(**options).fit([Problem(behaviour)])[0]


@pytest.mark.long
def test_parameters_of_many_subjects_are_recovered_with_honest_intervals():
    rng = np.random.default_rng(3)
    truth, fits = [], []
    for _ in range(10):
        values = {
            "k": rng.uniform(4, 14),
            "A": rng.uniform(0.5, 1.2),
            "t_R": rng.uniform(0.2, 0.5),
            "x0": rng.normal(0, 0.05),
            "z": rng.uniform(0.35, 0.65),
            "lapse": rng.uniform(0.005, 0.08),
        }
        truth.append(values)
        fits.append(fitted(table(*simulated(rng, 700, **values))))
    inside = []
    for name, least in {"k": 0.95, "A": 0.95, "t_R": 0.95, "z": 0.9, "x0": 0.9, "lapse": 0.8}.items():
        values = np.array([each[name] for each in truth])
        estimates = [fit.parameters[name] for fit in fits]
        assert np.corrcoef(values, [each.value for each in estimates])[0, 1] > least
        inside += [value in each for value, each in zip(values, estimates, strict=True)]
    assert 0.87 < np.mean(inside) < 1.0


def test_a_thousand_trials_take_less_than_a_second():
    data = table(*simulated(np.random.default_rng(4), 1000))
    start = time.process_time()
    fitted(data)
    assert time.process_time() - start < 1.0


def test_omissions_at_a_deadline_are_informative_and_dropping_them_biases_the_fit():
    values = {"k": 4.0, "A": 1.1, "t_R": 0.3, "lapse": 0.0}
    counted, dropped = [], []
    for seed in range(2):
        x, choice, rt = simulated(np.random.default_rng(seed), 1500, **values)
        late = rt > 1.5
        assert 0.08 < late.mean() < 0.35
        data = table(x, np.where(late, -1, choice), np.where(late, np.nan, rt))
        for results, options in ((counted, {"deadline": 1.5}), (dropped, {})):
            fit = fitted(data, **options)
            results.append(
                [(fit.parameters[name].value - values[name]) / fit.parameters[name].se for name in ("k", "A")]
            )
    assert np.abs(np.mean(counted, 0)).max() < 1
    assert np.abs(np.mean(dropped, 0)).max() > 3


def test_evidence_for_the_other_choice_has_a_negative_drift_with_the_same_size():
    x, choice, rt = simulated(np.random.default_rng(7), 800)
    right, reversed_ = fitted(table(x, choice, rt)), fitted(table(-x, choice, rt))
    assert reversed_.parameters["k"].value == pytest.approx(-right.parameters["k"].value, rel=1e-3)
    assert reversed_.parameters["A"].value == pytest.approx(right.parameters["A"].value, rel=1e-3)
    assert any("negative" in note for note in reversed_.notes)


def test_times_without_relation_to_the_choices_are_marked_and_have_no_interval():
    rng = np.random.default_rng(8)
    n = 300
    fit = fitted(table(rng.choice(COHERENCES, n), rng.integers(0, 2, n), np.full(n, 0.5)))
    assert fit.marks
    for name in fit.marks:
        assert np.isnan([fit.parameters[name].low, fit.parameters[name].high]).all()
    assert all(each.high > each.low for name, each in fit.parameters.items() if name not in fit.marks)


def test_few_trials_are_warned_about_with_the_number():
    assert any(
        "60 trials for 6 parameters" in note for note in fitted(table(*simulated(np.random.default_rng(9), 60))).notes
    )


def test_drift_variability_and_ranges_are_found():
    rng, n = np.random.default_rng(10), 1500
    x = rng.choice(COHERENCES, n)
    evidence = (8 * x)[:, None]
    truth = {"A": 0.8, "t_R": 0.4, "z": 0.5, "lapse": 0.01, "eta": 1.5, "st": 0.2}
    choice, rt = DiffusionResponse({"sz": 0.0}).sample(evidence, {k: np.array(v) for k, v in truth.items()}, rng)
    fit = fitted(table(x, choice, rt), drift_sd=True, time_range=True)
    for name in ("k", "A", "t_R", "eta", "st"):
        value = {**truth, "k": 8.0}[name]
        assert abs(fit.parameters[name].value - value) < 3 * fit.parameters[name].se


def test_a_withheld_response_counts_until_the_deadline():
    rng, n = np.random.default_rng(11), 600
    x = rng.choice([-1.0, 1.0], n)
    values, settings = {"A": 0.8, "t_R": 0.3, "z": 0.5, "lapse": 0.02}, TimeSettings(deadline=2.0)
    choice, rt = DiffusionResponse().sample((2 * x + 0.3)[:, None], values, rng, settings)
    went = choice == 1
    fit = fitted(table(x, went.astype(int), np.where(went, rt, np.nan)), deadline=2.0)
    assert any("withheld" in note for note in fit.notes)
    assert abs(fit.parameters["A"].value - 0.8) < 3 * fit.parameters["A"].se
    assert abs(fit.parameters["k"].value - 2.0) < 3 * fit.parameters["k"].se


def test_densities_and_probabilities_of_a_fit_add_up():
    x, choice, rt = simulated(np.random.default_rng(12), 400)
    data = table(x, choice, rt)
    policy = fitted(data).policy
    grid = np.linspace(0.06, 6, 3000)
    settings = TimeSettings(longest=policy.settings.longest)
    evidence = policy.evidence_from(policy.inner.logits(None, np.full((len(grid), 1), 0.064)))
    values = {name: each[0] for name, each in policy.values(data.sessions).items()}
    trials = [TimedTrials(np.full(len(grid), side), grid, settings) for side in (0, 1)]
    logs = [policy.response.response.log(evidence, values, each) for each in trials]
    total = np.exp(logs).sum() * (grid[1] - grid[0])
    assert total == pytest.approx(1, abs=0.03)
    assert predict(policy, data.sessions)[0].sum(1) == pytest.approx(np.ones(400))


def test_several_stimuli_are_refused_with_a_way_on():
    data = Behaviour((session([0, 1] * 30, stimuli=np.ones((60, 2)), rt=np.full(60, 0.5)),), stimuli=("a", "b"))
    with pytest.raises(UnfitError, match=r"drift=a \+ b"):
        diffusion().fit([Problem(data)])


def test_an_answer_after_a_break_is_named_and_does_not_bend_the_model():
    x, choice, rt = simulated(np.random.default_rng(16), 800, lapse=0.03)
    before = fitted(table(x, choice, rt))
    assert not any("contaminants" in note for note in before.notes)
    after = fitted(table(np.r_[x, 0.128], np.r_[choice, 1], np.r_[rt, 300.0]))
    assert "the time of 1 trial exceeds" in " ".join(after.notes)
    for name, estimate in before.parameters.items():
        assert abs(after.parameters[name].value - estimate.value) < 0.75 * estimate.se
