"""Accumulators of pulses: against simulated paths and closed forms, recovered from simulated subjects."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat
from scipy.stats import norm

import neurogym as ngym
from neurogym.behaviour.describe import describe
from neurogym.behaviour.models.accumulator import NAMES, Accumulator, AccumulatorPolicy
from neurogym.behaviour.models.base import Problem, UnfitError
from neurogym.behaviour.questions import TableQuestion
from neurogym.behaviour.reading import TableError, read
from neurogym.behaviour.simulate import simulate, world_like
from neurogym.behaviour.table import Behaviour, Session, session

TRUTH = {"lambda": -0.5, "sigma_a": 1.0, "sigma_s": 0.8, "sigma_i": 0.5, "B": 6.0, "phi": 0.3, "tau_phi": 0.1}
TRUTH |= {"bias": 0.4, "lapse": 0.08}


def trains(n: int, rng: np.random.Generator, rate: float = 40.0, longest: float = 1.0) -> Session:
    """Return trials of Poisson pulses on two sides for .3 s or more, with the better side known."""
    duration, odds = rng.uniform(0.3, longest, n), rng.normal(0, 1.5, n)
    rates = rate / (1 + np.exp(np.stack([odds, -odds], 1)))
    pulses = np.cumsum(rng.exponential(1 / rates[..., None], (n, 2, 80)), 2)
    pulses[pulses > duration[:, None, None]] = np.nan
    count = np.isfinite(pulses).sum(2)
    truth = (count[:, 1] > count[:, 0]).astype(int)
    stimulus = (count[:, 1] - count[:, 0])[:, None].astype(float)
    return session(np.zeros(n, int), pulses=pulses, duration=duration, truth=truth, stimuli=stimulus)


def policy(bounded: bool = True, **changes: float) -> AccumulatorPolicy:
    values = TRUTH | changes
    return AccumulatorPolicy(np.array([values[name] for name in NAMES]), bounded)


def subject(n: int, seed: int, longest: float = 1.0, **changes: float) -> Behaviour:
    rng = np.random.default_rng(seed)
    data = trains(n, rng, longest=longest)
    choice = policy(**changes).simulate([data], rng)[0][0]
    chosen = session(choice, pulses=data.pulses, duration=data.duration, truth=data.truth, stimuli=data.stimuli)
    return Behaviour((chosen,), ("left", "right"), ("right-left",))


def paths(data: Session, trial: int, p: dict[str, float], n: int, dt: float = 1e-3) -> float:
    """Return the share of simulated paths of an accumulator that end above the criterion."""
    rng = np.random.default_rng(trial)
    pulses = sorted((t, side) for k, side in enumerate((-1, 1)) for t in data.pulses[trial, k] if np.isfinite(t))
    a, stuck = p["sigma_i"] * rng.standard_normal(n), np.zeros(n)
    size, last = 1.0, -np.inf
    for end in np.linspace(0, data.duration[trial], round(data.duration[trial] / dt) + 1)[1:]:
        a = a + p["lambda"] * a * dt + p["sigma_a"] * np.sqrt(dt) * rng.standard_normal(n)
        while pulses and pulses[0][0] <= end:
            time, side = pulses.pop(0)
            size, last = 1 + (size - 1) * np.exp(-(time - last) / p["tau_phi"]), time
            a = a + side * size * (1 + p["sigma_s"] * rng.standard_normal(n))
            size *= p["phi"]
        stuck = np.where((stuck == 0) & (np.abs(a) >= p["B"]), np.sign(a), stuck)
    above = np.where(stuck == 0, a > p["bias"], stuck > 0).mean()
    return p["lapse"] / 2 + (1 - p["lapse"]) * float(above)


@pytest.mark.parametrize(
    "changes",
    [
        {"lambda": 1.5, "B": 4.0, "sigma_i": 0.1},
        pytest.param({}, marks=pytest.mark.long),
        pytest.param({"sigma_a": 2.5, "B": 3.0, "phi": 0.9}, marks=pytest.mark.long),
        pytest.param({"B": 25.0, "phi": 0.1}, marks=pytest.mark.long),
    ],
)
def test_probabilities_are_those_of_simulated_paths(changes):
    data = trains(10, np.random.default_rng(1))
    computed = policy(**changes).predict([data])[0][:, 1]
    simulated = [paths(data, trial, TRUTH | changes, 20_000) for trial in range(10)]
    np.testing.assert_allclose(computed, simulated, atol=0.015)  # 4 standard errors of 20,000 paths


def test_without_a_bound_mean_and_variance_are_those_in_closed_form():
    data = session([0], pulses=[[[0.1, 0.35, np.nan], [0.05, 0.2, 0.4]]], duration=[0.5])
    times, side = np.array([0.05, 0.1, 0.2, 0.35, 0.4]), np.array([1, -1, 1, -1, 1])
    size, after = np.ones(5), 0.3
    for k, gap in enumerate(np.diff(times), 1):
        size[k] = 1 + (after - 1) * np.exp(-gap / 0.1)
        after = 0.3 * size[k]
    kept = size * np.exp(-0.5 * (0.5 - times))
    variance = 0.25 * np.exp(-0.5) + (1 - np.exp(-0.5)) + 0.64 * (kept**2).sum()
    expected = 0.04 + 0.92 * norm.cdf(((side * kept).sum() - 0.4) / np.sqrt(variance))
    assert policy(bounded=False).predict([data])[0][0, 1] == pytest.approx(expected, abs=1e-9)
    assert policy(B=60.0).predict([data])[0][0, 1] == pytest.approx(expected, abs=2e-3)


def test_pulses_at_once_cancel_and_a_far_bias_makes_no_choice():
    together = session([0], pulses=[[[0.1, 0.2], [0.1, 0.2]]], duration=[0.3])
    for bounded in (True, False):
        assert policy(bounded, bias=0.0).predict([together])[0][0, 1] == pytest.approx(0.5, abs=1e-6)
    assert policy(bias=5.9).predict([together])[0][0, 1] == pytest.approx(0.04, abs=0.01)


def test_known_parameters_are_found_in_intervals():
    inside, values = [], []
    for seed in range(2):
        fit = Accumulator(bound=False).fit([Problem(subject(900, seed, B=60.0))])[0]
        inside += [TRUTH[name] in each for name, each in fit.parameters.items() if name not in fit.marks]
        values.append([fit.parameters[name].value for name in ("lambda", "phi", "lapse")])
    assert np.mean(inside) >= 0.85 and len(inside) >= 12
    assert (np.abs(np.mean(values, 0) - [-0.5, 0.3, 0.08]) < [1.0, 0.15, 0.04]).all()


@pytest.mark.long
def test_a_bound_is_found_and_predicts_better_than_none():
    changes = {"B": 2.5, "sigma_a": 0.3, "sigma_i": 0.2, "sigma_s": 0.3, "phi": 1.0, "bias": 0.0, "lambda": 0.0}
    data = subject(250, 4, 0.5, **changes)
    bounded, free = (Accumulator(bound=bound, adaptation=False).fit([Problem(data)])[0] for bound in (True, False))
    assert bounded.score > free.score + 2
    assert 2.5 in bounded.parameters["B"] and bounded.parameters["B"].high < 6
    p = bounded.policy.predict(data.sessions)[0]
    assert bounded.score == pytest.approx(np.log(p[np.arange(250), data.sessions[0].choice]).sum(), abs=1e-6)
    stored = Accumulator().from_arrays(Accumulator().to_arrays(bounded.policy), data)
    np.testing.assert_allclose(stored.predict(data.sessions)[0], p)


@pytest.mark.long  # with the bound, a gradient is compiled for long
def test_the_gradient_is_that_of_the_log_likelihood():
    data = subject(24, 5, 0.5)
    likelihood = Accumulator().posterior(Problem(data))
    x = np.array([each.mean for each in likelihood.parameters])
    slope = likelihood.log_likelihood(x)[1]
    for k, step in enumerate(1e-5 * np.eye(len(x))):
        ends = [likelihood.log_likelihood(x + sign * step)[0] for sign in (1, -1)]
        assert slope[k] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-3, abs=1e-4)
    assert likelihood.pointwise(x).sum() == pytest.approx(likelihood.log_likelihood(x)[0])


def test_simulated_trials_have_the_pulses_of_the_table():
    data = subject(300, 6)
    rng = np.random.default_rng(0)
    simulated = simulate(policy(), world_like(data, 2, 400, rng), data, rng)
    each = simulated.sessions[1]
    assert each.pulses.shape == (400, 2, 80)
    np.testing.assert_array_equal(np.isfinite(each.pulses).sum(2) @ [-1, 1], each.stimuli[:, 0])
    assert each.correct.mean() > 0.7
    unknown = data.only([replace(data.sessions[0], truth=np.full(300, -1))])
    assert np.isfinite(simulate(policy(), world_like(unknown, 2, 40, rng), unknown, rng).sessions[1].pulses).any()


def test_tables_without_pulses_are_refused():
    with pytest.raises(UnfitError, match="needs the times of pulses"):
        Accumulator().check(Behaviour((session([0, 1]),)))


# -- tables -----------------------------------------------------------------------------------------------------------


def lists(n: int = 60, scale: float = 1.0) -> list[dict[str, object]]:
    """Return rows with lists of times."""
    data = subject(n, 7).sessions[0]
    sides = [[[round(t * scale, 4) for t in side if np.isfinite(t)] for side in trial] for trial in data.pulses]
    words = ["left", "right"]
    rows = zip(sides, data.duration, data.choice, strict=True)
    return [{"left": a, "right": b, "T": scale * d, "choice": words[c]} for (a, b), d, c in rows]


def as_csv(rows, path, text):
    columns = {"leftbups": "left", "rightbups": "right", "T": "T", "went": "choice"}
    frame = pd.DataFrame(rows).rename(columns={old: new for new, old in columns.items()})
    frame[["leftbups", "rightbups"]] = frame[["leftbups", "rightbups"]].map(text)
    frame.rename(columns={"went": "choice"}).to_csv(path, index=False)


@pytest.mark.parametrize("form", ["blanks", "json text", "json", "parquet", "cells", "structures", "frame"])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_lists_of_times_are_read_in_any_form(tmp_path, form, scale):
    rows = lists(scale=scale)
    source = tmp_path / f"clicks.{'mat' if form in ('cells', 'structures') else form.split()[0]}"
    if form in ("blanks", "json text"):
        source = tmp_path / "clicks.csv"
        as_csv(rows, source, json.dumps if form == "json text" else lambda times: " ".join(map(str, times)))
    elif form == "json":
        source.write_text(json.dumps(rows))
    elif form == "parquet":
        pd.DataFrame(rows).rename(columns={"left": "clicks_L", "right": "clicks_R"}).to_parquet(source)
    elif form == "frame":
        source = pd.DataFrame(rows).rename(columns={"left": "leftClicks", "right": "rightClicks"})
    else:
        cells = {
            f"{side}bups": np.array([*map(np.array, (r[side] for r in rows)), None], object)[:-1]
            for side in ("left", "right")
        }
        numbers = {
            "T": np.array([r["T"] for r in rows]),
            "pokedR": np.array([r["choice"] == "right" for r in rows]) * 1.0,
        }
        columns = {**cells, **numbers}
        content = (
            columns
            if form == "cells"
            else np.array(
                [tuple(v[k] for v in columns.values()) for k in range(60)], [(name, object) for name in columns]
            )
        )
        savemat(source, {"data": content})
    table = read(source)
    each = table.sessions[0]
    expected = [(len(row["left"]), len(row["right"])) for row in rows]
    np.testing.assert_array_equal(np.isfinite(each.pulses).sum(2), expected)
    assert each.pulses[0, 0, 0] == pytest.approx(rows[0]["left"][0] / scale, abs=1e-6)
    np.testing.assert_allclose(each.duration, [row["T"] / scale for row in rows])
    np.testing.assert_array_equal(each.stimuli[:, 0], [b - a for a, b in expected])
    again = read(source, columns=table.reading.column_map)
    np.testing.assert_array_equal(again.sessions[0].pulses, each.pulses)


def test_times_on_the_clock_of_a_session_count_from_the_first_pulse():
    rows = lists()
    for k, row in enumerate(rows):
        row["left"], row["right"] = ([10 * k + 3 + t for t in row[side]] for side in ("left", "right"))
    table = read(pd.DataFrame(rows).drop(columns="T"))
    assert np.nanmin(table.sessions[0].pulses, (1, 2)) == pytest.approx(0)
    assert any("points in time" in note for note in table.reading.notes)
    assert any("--duration" in note or "duration=" in note for note in table.reading.notes)


def test_pulses_favour_the_choice_of_their_side_whatever_the_order_of_the_choices():
    rows = lists(200)
    for row in rows:
        row["choice"] = {"left": 2, "right": 1}[row["choice"]]
    plain, turned = read(pd.DataFrame(lists(200))), read(pd.DataFrame(rows))
    assert turned.choices == ("1", "2") and turned.stimuli == ("left-right",)
    np.testing.assert_array_equal(turned.sessions[0].pulses, plain.sessions[0].pulses[:, ::-1])


def test_a_unit_that_is_not_clear_is_asked():
    rows = lists(scale=40.0)
    with pytest.raises(TableQuestion, match="left,right,ms"):
        read(pd.DataFrame(rows))
    table = read(pd.DataFrame(rows), {"pulses": ["left", "right", "ms"]})
    assert np.nanmax(table.sessions[0].pulses) < 0.05
    assert read(pd.DataFrame(rows), {"pulses": None}).sessions[0].pulses.size == 0


def test_bad_pulses_are_refused_in_one_line():
    rows = lists()
    rows[3]["left"] = [0.4, 0.1]
    assert read(pd.DataFrame(rows)).sessions[0].pulses.size == 0
    with pytest.raises(TableError, match="column 'left': expected lists of rising times"):
        read(pd.DataFrame(rows), {"pulses": ["left", "right"]})
    with pytest.raises(TableError, match="expected two columns"):
        read(pd.DataFrame(lists()), {"pulses": ["left"]})


def test_the_kernel_of_primacy_falls():
    data = subject(1500, 8, B=3.0, **{"lambda": 0.0, "phi": 1.0, "sigma_a": 0.3})
    kernel = describe(data)[0].kernel
    assert len(kernel.x) == 6 and kernel.value[0] > 2 * max(kernel.value[3], 0)
    assert describe(Behaviour((session([0, 1] * 40),)))[0].kernel is None


def test_trials_of_the_pulse_task_are_read_with_their_pulses():
    env = ngym.make("PulseDecisionMaking-v0")
    trials = [env.unwrapped.new_trial() for _ in range(80)]
    names = ("left_pulses", "right_pulses", "stimulus_duration")
    rows = [{name: trial[name] for name in names} | {"choice": 1 + trial["ground_truth"]} for trial in trials]
    table = read(pd.DataFrame(rows))
    each = table.sessions[0]
    counts = [(trial["count1"], trial["count2"]) for trial in trials]
    np.testing.assert_array_equal(np.isfinite(each.pulses).sum(2), counts)
    np.testing.assert_allclose(each.duration, 1.5)
