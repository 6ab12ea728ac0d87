"""Descriptions: numbers of simulated behaviour lie within their intervals, by condition, stage and confidence too."""

import json
from dataclasses import replace

import numpy as np
import pytest

from neurogym.behaviour import describe as describing
from neurogym.behaviour import reading
from neurogym.behaviour.describe import describe
from neurogym.behaviour.metacognition import meta_d_prime
from tests.neurogym.behaviour import laboratories

TRUTH = {
    "pse": -laboratories.BIAS / laboratories.SLOPE,
    "slope": laboratories.SLOPE,
    "threshold": np.log(3) / laboratories.SLOPE,
    "lapse_low": laboratories.LAPSE / 2,
    "lapse_high": laboratories.LAPSE / 2,
}


def frame(rng, trials=400):
    d = laboratories.detection(rng, trials=trials)
    return {
        "mouse": d.subject,
        "session": d.session,
        "contrast": d.signed,
        "rt": d.seconds,
        "correct": d.correct,
        "choice": np.where(d.missed, np.nan, d.right),
    }


@pytest.mark.long
def test_simulated_truth_lies_within_intervals_as_often_as_they_say():
    inside = {name: 0 for name in TRUTH}
    for seed in range(40):
        estimate = describe(reading.read(frame(np.random.default_rng(seed))))[0]
        for name, value in TRUTH.items():
            inside[name] += value in getattr(estimate, name)
    assert 0.9 <= np.mean(list(inside.values())) / 40 <= 0.99, inside
    assert min(inside.values()) >= 34, inside


def test_reversed_codings_give_the_same_numbers():
    table = frame(np.random.default_rng(1))
    estimate = describe(reading.read(table))[0]
    reverse = describe(reading.read({**table, "contrast": -table["contrast"]}))[0]
    for name in TRUTH:
        assert getattr(estimate, name).value == pytest.approx(getattr(reverse, name).value, abs=1e-6), name
        assert TRUTH[name] in getattr(estimate, name), name
    assert np.all(np.diff(estimate.psychometric.value[[0, 4, 8]]) > 0)
    np.testing.assert_allclose(estimate.psychometric.value, reverse.psychometric.value)


def test_the_shift_between_blocks_is_found():
    rng = np.random.default_rng(2)
    n = 3000
    prior, stimulus = np.repeat([0.2, 0.8] * 5, n // 10), rng.choice([-1, -0.5, -0.25, 0, 0.25, 0.5, 1], n)
    right = rng.random(n) < 1 / (1 + np.exp(-(5 * stimulus - 2 * (prior - 0.5))))
    table = reading.read(
        {"choice": right * 1, "contrast": stimulus, "probabilityLeft": prior}, keep=["probabilityLeft"]
    )
    rows = describe(table, "probabilityLeft")[0].conditions
    assert [row.value for row in rows] == ["0.2", "0.8"] and rows[0].shift is None
    assert 0.24 in rows[1].shift and rows[1].shift.low > 0.1
    with pytest.raises(ValueError, match="expected at most"):
        wide = reading.read(
            {"choice": right * 1, "x": np.arange(n) % 40, "reward": right}, keep=["x"], given={"stimuli": ["x"]}
        )
        describe(wide, "x")


def test_stay_probabilities_and_transitions_of_a_two_step_task():
    rng = np.random.default_rng(3)
    n, choice, rows = 2000, 0, []
    for t in range(n):
        common = rng.random() < 0.7
        state, win = (choice if common else 1 - choice), rng.random() < 0.5
        names = ("session", "choice1", "state2", "choice2", "win")
        values = (t // 200, choice + 1, state + 2, 1 + rng.integers(2), int(win))
        rows.append(dict(zip(names, values, strict=True)))
        stay = 0.8 if win == common else 0.4
        choice = choice if rng.random() < stay else 1 - choice
    estimate = describe(reading.read(rows))[0].two_step
    assert 0.7 in estimate.common and len(estimate.common_by_session.x) == 10
    for name in ("common, rewarded", "rare, rewarded", "common, unrewarded", "rare, unrewarded"):
        value = 0.8 if name in ("common, rewarded", "rare, unrewarded") else 0.4
        assert estimate.stay[name].low - 0.03 < value < estimate.stay[name].high + 0.03
    assert estimate.regression["reward x transition"].low > 0.5 and 0 in estimate.regression["transition"]
    swapped = [{**row, "state2": 5 - row["state2"]} if row["session"] > 4 else row for row in rows]
    shares = describe(reading.read(swapped))[0].two_step.common_by_session.value
    assert abs(shares[:5].mean() - shares[5:].mean()) > 0.3


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_meta_d_is_d_for_an_ideal_observer_and_less_with_noise_on_confidence(noise):
    rng = np.random.default_rng(4)
    n, d = 20_000, 1.5
    truth = rng.integers(0, 2, n)
    x = rng.normal(np.where(truth, d / 2, -d / 2))
    choice = (x > 0.1).astype(int)
    seen = np.where(choice == 1, 1, -1) * (x - 0.1 + noise * rng.normal(size=n))
    rating = np.searchsorted([0.4, 0.9, 1.5], seen)
    sensitivity, meta, ratio = meta_d_prime(truth, choice, rating, 4)
    assert d in sensitivity
    assert (d in meta and 1 in ratio) if not noise else ratio.high < 0.9


def test_a_group_has_intervals_over_subjects():
    rng = np.random.default_rng(5)
    tables = []
    for subject, bias in enumerate(rng.normal(0, 1, 6)):
        stimulus = rng.choice([-1, -0.5, 0, 0.5, 1], 400)
        right = rng.random(400) < 1 / (1 + np.exp(-(4 * stimulus + bias)))
        tables += [
            {"subject": f"s{subject}", "choice": int(r), "contrast": s, "correct": int(r == (s > 0))}
            for r, s in zip(right, stimulus, strict=True)
        ]
    group, *each = describe(reading.read(tables))
    values = [private.pse.value for private in each]
    assert len(each) == 6 and group.pse.value == pytest.approx(np.mean(values))
    assert group.pse.se == pytest.approx(np.std(values, ddof=1) / np.sqrt(6))


def test_no_reward_is_printed_for_a_table_without_rewards_and_no_weight_that_is_only_the_prior():
    table = frame(np.random.default_rng(6), 60)
    assert describe(reading.read(table))[0].rewards is None
    sessions = [f"day {k}" for k in range(40)]
    pairs = {"session": np.repeat(sessions, 2), "choice": [0, 1] * 40, "reward": [1, 0, 0, 1] * 20}
    history = describe(reading.read(pairs))[0].history
    assert "choice, 1 back" in history and all("2 back" not in name for name in history)


def test_history_of_very_many_trials_comes_from_a_sample_of_sessions_which_is_said(monkeypatch):
    table = reading.read(frame(np.random.default_rng(8), trials=400))
    whole = describe(table.of("0"))[0]
    monkeypatch.setattr(describing, "LARGE", 400)
    part = describe(table.of("0"))[0]
    assert (whole.history_trials, part.history_trials) == (None, 400) and part.trials == 800
    assert whole.history["contrast"].value in part.history["contrast"]
    assert describe(table)[0].history_trials == 400


def test_descriptions_are_plain_data():
    estimate = describe(reading.read(frame(np.random.default_rng(7), 80)))
    json.dumps([each.to_dict() for each in estimate])
    assert replace(estimate[0], subject="x").subject == "x"
