"""Each task declares what it is about; the measures of known behaviour are the known numbers."""

import numpy as np
import pytest

from neurogym.analysis import from_trials
from neurogym.analysis.measures import MEASURES, measures
from neurogym.envs import registration
from neurogym.vector import make_vec

DECLARING = [id_ for id_ in registration.every_task() if registration.metadata(id_).get("measures")]


def values(names, table):
    return {each.id: each.value for each in measures(names, table)}


def acted(id_, act, steps=1500, n=16):
    """Return the trial table of an agent; ``act`` takes the environments and a generator."""
    batch = make_vec(lambda: registration.make(id_), n)
    batch.reset(seed=0)
    rng, pieces = np.random.default_rng(0), []
    for _ in range(steps):
        batch.step(act(batch, rng))
        finished = batch.finished
        if finished is not None:
            pieces.append({name: np.asarray(column) for name, column in finished.items()})
    table = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    return {**table, "trial": np.arange(len(table["env"]))}


def test_what_is_declared_exists():
    assert len(DECLARING) > 15
    for id_ in DECLARING:
        assert set(registration.metadata(id_)["measures"]) <= set(MEASURES), id_


def test_hits_false_alarms_and_d_prime():
    due = np.repeat([1, 0], 100)
    acts = np.r_[np.arange(100) < 84, np.arange(100) < 16].astype(int)
    outcome = np.where(due == 1, np.where(acts == 1, "correct", "miss"), np.where(acts == 1, "error", "correct"))
    result = values(("detection",), {"ground_truth": due, "choice": acts, "outcome": outcome})
    assert (result["hits"], result["false_alarms"]) == (0.84, 0.16)
    assert result["d_prime"] == pytest.approx(1.97, abs=0.03)


def test_a_bandit_that_chooses_at_random_loses_half_the_difference():
    table = acted("Bandit-v0", lambda batch, rng: rng.integers(2, size=16))
    result = values(("bandit",), table)
    assert result["regret"] == pytest.approx(0.3, abs=0.02)
    assert result["best_arm"] == pytest.approx(0.5, abs=0.03)
    best = values(("bandit",), acted("Bandit-v0", lambda batch, rng: np.zeros(16, int)))
    assert best == {"regret": 0, "best_arm": 1}


def test_intervals_have_slope_bias_and_weber_fraction():
    rng = np.random.default_rng(0)
    target = rng.choice([600, 800, 1000], 3000).astype(float)
    produced = target * 0.8 + 100 + rng.normal(size=3000) * 0.1 * target
    result = values(("interval",), {"production": target, "rt": produced, "outcome": np.full(3000, "correct")})
    assert result["slope"] == pytest.approx(0.8, abs=0.03)
    assert result["bias"] == pytest.approx(np.mean(produced - target), abs=1)
    assert result["weber_fraction"] == pytest.approx(0.113, abs=0.01)


def test_each_cued_gain_has_its_own_slope():
    rng = np.random.default_rng(0)
    measure, gain = rng.choice([600, 800, 1000], 4000).astype(float), rng.choice([1.0, 1.5], 4000)
    target = gain * measure
    produced = np.where(gain == 1, 0.8 * target + 160, 0.6 * target + 480) + rng.normal(size=4000) * 0.03 * target
    table = {"production": target, "gain": gain, "rt": produced, "outcome": np.full(4000, "correct")}
    result = values(("interval",), table)
    assert result["slope_1"] == pytest.approx(0.8, abs=0.03) and result["slope_1.5"] == pytest.approx(0.6, abs=0.03)
    first = values(("interval",), {**table, "gain": np.ones(4000)})
    assert set(first) == {"slope", "bias", "weber_fraction"}


def test_choices_have_a_bias_and_a_slope():
    rng = np.random.default_rng(0)
    signed = rng.choice([-20, -10, -5, 5, 10, 20], 4000)
    right = rng.random(4000) < 1 / (1 + np.exp(-0.3 * (signed - 2)))
    outcome = np.where(right == (signed > 0), "correct", "error")
    table = {"coh": np.abs(signed), "choice": np.where(right, 2, 1), "outcome": outcome}
    assert values(("psychometric",), table)["pse"] == pytest.approx(2, abs=0.6)


def test_two_senses_together_are_as_precise_as_each_allows():
    rng, sigma = np.random.default_rng(0), {"visual": 2.0, "auditory": 1.0, "both": 0.8**0.5}
    modality = np.repeat(list(sigma), 4000)
    rate = rng.integers(9, 17, size=12000).astype(float)
    seen = rate - 12.5 + rng.normal(size=12000) * np.array([sigma[name] for name in modality])
    outcome = np.where((seen > 0) == (rate > 12.5), "correct", "error")
    table = {"rate": rate, "modality": modality, "choice": np.where(seen > 0, 1, 2), "outcome": outcome}
    result = values(("cue_combination",), table)
    for name, true in sigma.items():
        assert result[f"sigma_{name}"] == pytest.approx(true, rel=0.08)
    assert result["optimal_sigma"] == pytest.approx(0.8**0.5, rel=0.08)
    assert result["sigma_ratio"] == pytest.approx(1, abs=0.08)


def with_history(resets, third=0.0, n=30_000):
    """Return trials of an agent that expects the last transition again, after errors unless it ``resets``."""
    rng = np.random.default_rng(0)
    truth, coh = rng.integers(2, size=n), rng.choice([0.0, 5.0, 10.0], n)
    choice, right = np.zeros(n, int), np.zeros(n, bool)
    for t in range(n):
        expects = 0.0
        if t > 2 and right[t - 2] and right[t - 3] and (right[t - 1] or not resets):
            repeated = choice[t - 2] == choice[t - 3]
            expects = (1 if repeated else -1) * (2 * choice[t - 1] - 1)
        p = 1 / (1 + np.exp(-(0.2 * coh[t] * (2 * truth[t] - 1) + expects)))
        choice[t] = rng.random() < p
        right[t] = choice[t] == truth[t]
    second = rng.random(n) < third
    outcome = np.where(right & ~second, "correct", "error")
    return {"coh": coh, "choice": np.where(second, 3, choice + 1), "outcome": outcome, "trial": np.arange(n)}


@pytest.mark.parametrize(("resets", "index"), [(False, 0), (True, 1)])
def test_the_reset_index_tells_who_forgets_after_an_error(resets, index):
    result = values(("history",), with_history(resets))
    assert result["after_correct"] == pytest.approx(1, abs=0.25)
    assert result["reset_index"] == pytest.approx(index, abs=0.25)


def test_of_several_alternatives_the_pair_in_play_is_looked_at():
    table = with_history(True, third=0.02)
    assert values(("history",), table) == {}  # three choices, and nothing says which two
    table["variable_nch_choices"] = np.full(len(table["trial"]), "1-2")
    assert values(("history",), table)["reset_index"] == pytest.approx(1, abs=0.25)


def test_trials_that_cannot_tell_give_no_measure():
    assert measures(MEASURES, {"choice": np.zeros(3), "outcome": np.full(3, "miss")}) == []


def test_the_sure_action_is_that_of_the_task():
    rng = np.random.default_rng(0)
    n = 4_000
    truth, offered = rng.integers(1, 5, n), rng.random(n) < 0.5
    sure = offered & (rng.random(n) < 0.4)
    table = {
        "trial": np.arange(n),
        "choice": np.where(sure, 5, truth),
        "wager": offered,
        "coh": rng.choice([6.4, 51.2], n),
        "outcome": np.where(sure, "none", "correct").astype(object),
    }
    (estimate, *_) = measures(["wagering"], table, sure=5)
    assert estimate.id == "sure" and estimate.value == pytest.approx(0.4, abs=0.03)


def test_intervals_count_from_the_cue_where_one_was_measured_before():
    table = {"rt": np.array([900.0]), "period_set": np.array([83.0])}
    assert from_trials.counted_from_cue(table)["rt"] == [900]
    assert from_trials.counted_from_cue({**table, "measure": np.array([1000.0])})["rt"] == [983]
