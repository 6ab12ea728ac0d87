"""Collapsing bounds: densities agree with closed forms and simulation; parameters are recovered."""

import itertools

import numpy as np
import pytest

from neurogym.behaviour.models import first_passage
from neurogym.behaviour.models.base import Problem, UnfitError
from neurogym.behaviour.models.collapsing import GRID, TIME, CollapsingResponse, bound_at, solve
from neurogym.behaviour.models.responses import FREE, DiffusionResponse
from neurogym.behaviour.models.times import TimedTrials, TimeSettings
from neurogym.behaviour.models.with_times import diffusion, diffusion_response
from neurogym.behaviour.table import Behaviour, session

VALUES = {"A": 1.3, "t_R": 0.3, "z": 0.55, "lapse": 0.02, "c": 0.8}
LONG = pytest.mark.long  # compiled functions of their own
CONSTANT = {name: VALUES[name] for name in ("A", "t_R", "z", "lapse")}


def walked(form, n, rng, step=5e-4):
    """Return choices and times of a random walk; a step may cross a bound unseen, which counts as closer (0.5826)."""
    x, choice, time = np.full(n, 0.1 * VALUES["A"]), np.full(n, -1), np.full(n, np.nan)
    times = np.arange(0, 8, step)
    edges = np.asarray(bound_at(form, times, VALUES["A"], VALUES["c"])) - 0.5826 * np.sqrt(step)
    for t, edge in zip(times, edges, strict=True):
        x += step + np.sqrt(step) * rng.standard_normal(n)
        ended = (choice < 0) & (np.abs(x) >= edge)
        choice[ended], time[ended] = x[ended] > 0, t
    return choice, time + VALUES["t_R"]


def test_bounds_that_do_not_collapse_have_the_density_of_the_closed_form():
    solution = solve("exponential", 0.9, 1e-12, 0.6)
    for side in (False, True):
        exact = first_passage.log_density(TIME, *(np.full(GRID, each) for each in (side, 0.0, 1.8, 0.6, 0.0)))
        np.testing.assert_allclose(np.exp(solution.log_density[int(side)]), np.exp(exact), atol=1e-6)


@pytest.mark.parametrize(
    "kind", ["timed", *(pytest.param(kind, marks=LONG) for kind in ("withheld", "untimed", "omitted"))]
)
def test_likelihoods_agree_with_those_of_constant_bounds(kind):
    rng, n = np.random.default_rng(0), 40
    evidence = rng.normal(0, 2, (n, 1))
    settings = TimeSettings(deadline=1.2, withheld=0 if kind == "withheld" else -1)
    choice = np.full(n, -1) if kind == "omitted" else np.zeros(n, int) if kind == "withheld" else rng.integers(0, 2, n)
    rt = rng.uniform(0.4, 1.1, n) if kind == "timed" else np.full(n, np.nan)
    trials = TimedTrials(choice, rt, settings)
    for eta in (0.0, 0.7):
        collapsing = CollapsingResponse("exponential", {"eta": eta, "c": 1e-12})
        constant = DiffusionResponse({"eta": eta, "sz": 0.0, "st": 0.0})
        first, second = (response.log(evidence, CONSTANT, trials) for response in (collapsing, constant))
        np.testing.assert_allclose(first, second, rtol=2e-3, atol=5e-3)


@pytest.mark.parametrize(
    "form", ["exponential", *(pytest.param(form, marks=LONG) for form in ("hyperbolic", "linear"))]
)
def test_simulated_times_have_the_density(form):
    rng, n = np.random.default_rng(1), 10_000
    response = CollapsingResponse(form, {"eta": 0.0})
    values = {**VALUES, "lapse": 0.0}
    p = response.probabilities(np.ones((1, 1)), values)[0, 1]
    edges, grid = np.linspace(0.4, 2.0, 9), np.linspace(0.4, 2.0, 801)
    trials = TimedTrials(np.ones(801, int), grid, FREE)
    density = np.exp(response.log(np.ones((801, 1)), values, trials))
    for choice, rt in (response.sample(np.ones((n, 1)), values, rng), walked(form, n, rng)):
        assert (choice == 1).mean() == pytest.approx(p, abs=0.012)
        for low, high in itertools.pairwise(edges):
            inside = (grid >= low) & (grid < high)
            expected = density[inside].mean() * (high - low)
            assert ((choice == 1) & (rt >= low) & (rt < high)).mean() == pytest.approx(expected, abs=0.012)
    assert bound_at(form, np.array(100.0), 1.0, 0.8) == pytest.approx(0.05)


def test_the_speed_of_the_collapse_is_recovered_and_improves_the_fit():
    rng, n = np.random.default_rng(2), 800
    x = rng.choice([-0.4, -0.1, 0.1, 0.4], n)
    choice, rt = CollapsingResponse("hyperbolic", {"eta": 0.0}).sample(5 * x[:, None], VALUES, rng)
    data = Behaviour((session(choice, stimuli=x[:, None], rt=rt),), stimuli=("coh",))
    fit, constant = (diffusion(collapse=form).fit([Problem(data)])[0] for form in ("hyperbolic", "none"))
    assert fit.details["joint"] > constant.details["joint"] + 5
    for name, value in {**{key: float(each) for key, each in VALUES.items()}, "k": 5.0}.items():
        assert abs(fit.parameters[name].value - value) < 3.5 * fit.parameters[name].se


def test_collapse_excludes_ranges_of_start_and_time():
    with pytest.raises(UnfitError, match="time_range"):
        diffusion_response(collapse="linear", time_range=True)


def test_the_slope_of_a_bound_that_varies_counts_all_trials():
    rng, n = np.random.default_rng(3), 60
    columns = {"stimuli": rng.normal(0, 1, (n, 1)), "rt": rng.uniform(0.4, 1.5, n)}
    data = session(rng.integers(0, 2, n), **columns, conditions={"block": np.array(n // 2 * ["a", "b"])})
    problem = Problem(Behaviour((data,), stimuli=("coh",)))
    posterior = diffusion(collapse="exponential", vary={"bound": "block"}).posterior(problem)
    x, step = posterior.mean, 1e-3 * np.array([each.name == "log A: block[T.b]" for each in posterior.parameters])
    ends = [posterior.log_likelihood(x + sign * step)[0] for sign in (1, -1)]
    assert posterior.log_likelihood(x)[1] @ step == pytest.approx((ends[0] - ends[1]) / 2, rel=0.05)
