"""Tasks about where to look for reward, and for how long."""

from itertools import groupby, pairwise

import numpy as np
import pytest

import neurogym as ngym


def foraging(trials, choose, **kwargs):
    """Records and choices of trials of DynamicForaging; ``choose(record, rng)`` gives the side, 1 or 2."""
    env, rng = ngym.make("DynamicForaging-v0", **kwargs).unwrapped, np.random.default_rng(0)
    env.reset(seed=0)
    results = []
    while len(results) < trials:
        info = env.step(choose(env.trial, rng) if env.in_period("decision") else 0)[4]
        if info["new_trial"]:
            results.append(info)
    return results


def at_random(_, rng):
    return int(rng.integers(1, 3))


def test_coupled_blocks_alternate_and_have_the_length_that_was_asked_for():
    result = foraging(600, at_random, block_dur=(10, 15), pairs=[(0.4, 0.05), (0.3, 0.1)])
    blocks = [
        (pair, len(list(piece)))
        for pair, piece in groupby((i["trial"]["p_left"], i["trial"]["p_right"]) for i in result)
    ]
    assert {pair for pair, _ in blocks} == {(0.4, 0.05), (0.05, 0.4), (0.3, 0.1), (0.1, 0.3)}
    assert all(10 <= n <= 15 for _, n in blocks[:-1])
    richer = [left > right for (left, right), _ in blocks]
    assert all(a != b for a, b in pairwise(richer))


def test_uncoupled_sides_change_by_themselves_and_are_never_both_at_the_lowest():
    result = foraging(1500, at_random, blocks="uncoupled", baiting=False)
    p = np.array([(i["trial"]["p_left"], i["trial"]["p_right"]) for i in result])
    assert set(np.unique(p)) == {0.1, 0.5, 0.9} and not (p == 0.1).all(axis=1).any()
    changes = np.diff(p, axis=0) != 0
    assert (changes.sum(axis=0) > 30).all() and changes.all(axis=1).sum() < 10
    for side in (0, 1):
        lengths = np.diff(np.flatnonzero(changes[:, side]))
        assert lengths.min() >= 20 and lengths.max() <= 35


@pytest.mark.parametrize("baiting", [True, False])
def test_a_bait_waits_until_it_is_collected(baiting):
    result = foraging(1500, lambda *_: 1, baiting=baiting)
    waits = np.array([i["trial"]["reward_right"] for i in result])  # nobody comes to the right side
    assert (waits[np.argmax(waits) :]).all() == baiting
    chosen = np.array([i["trial"]["reward_left"] for i in result])
    p = np.array([i["trial"]["p_left"] for i in result])
    assert chosen[p == 0.4].mean() == pytest.approx(0.4, abs=0.06) and chosen[p == 0.05].mean() < 0.1


def test_the_poorer_side_becomes_the_right_one_when_it_was_left_alone_for_long():
    result = foraging(400, lambda trial, _: trial["ground_truth"], block_dur=(400, 400))
    truth = [i["trial"]["ground_truth"] for i in result]
    runs = [len(list(piece)) for _, piece in groupby(truth[20:])]
    assert set(runs[1:-1]) == {1, 9}  # 1 - 0.95^10 is the first above 0.4
    income = np.mean([i["trial_reward"] for i in result])
    assert income == pytest.approx(0.424, abs=0.07)


def test_walks_have_the_spread_that_they_are_made_of(make_trials):
    _, trials = make_trials("DriftingBandit-v0", n=20_000, walk="gaussian")
    value = np.stack([trials.info[f"value{k}"] for k in range(4)], axis=1)
    step = value[1:] - 0.9836 * value[:-1] - (1 - 0.9836) * 0.5
    assert step.std() == pytest.approx(0.028, rel=0.02) and value.mean() == pytest.approx(0.5, abs=0.03)
    _, bounded = make_trials("DriftingBandit-v0", n=5000)
    value = bounded.info["value0"]
    assert value.min() == 0 and value.max() == 1
    inside = (value[1:] > 0) & (value[1:] < 1) & (np.abs(value[:-1] - 0.5) < 0.1)
    assert np.diff(value)[inside].std() == pytest.approx(0.15, rel=0.1)


def test_payoffs_of_a_drifting_bandit_scatter_around_the_mean_of_the_arm(play):
    env = ngym.make("DriftingBandit-v0", walk="gaussian", rewards={"correct": 2.0, "fail": 1.0}).unwrapped
    result = play(env, lambda _: 1, trials=3000)
    error = np.array([i["trial_reward"] - 1 - i["trial"]["value1"] for i in result])
    assert error.mean() == pytest.approx(0, abs=0.003) and error.std() == pytest.approx(0.04, rel=0.1)


@pytest.mark.parametrize(
    ("decay", "travel", "best", "rate"), [(0.1, 500, 9, 0.4454), (0.1, 2000, 15, 0.2332), (0.05, 2000, 23, 0.3259)]
)
def test_the_best_stay_follows_the_marginal_value_theorem(decay, travel, best, rate):
    env = ngym.make("PatchLeaving-v0", richness=[1.0], decay=decay, timing={"travel": travel - 100}).unwrapped
    n = np.arange(1, 100)
    rates = np.cumsum(np.exp(-decay * (n - 1))) / (n + travel / 100)
    assert rates.max() == pytest.approx(rate, abs=1e-4) == env.best_rate()
    assert env.stay(1.0, env.best_rate()) == best == n[rates.argmax()]


def test_all_patches_are_left_at_one_rate(make_trials):
    env, trials = make_trials("PatchLeaving-v0")
    left_at = trials.info["richness"] * np.exp(-0.1 * trials.info["best_stay"])
    assert len(set(trials.info["best_stay"])) == 3
    assert (left_at <= env.best_rate()).all() and (left_at * np.exp(0.1) > env.best_rate()).all()


def test_a_stay_pays_its_harvests_and_scores_by_its_deviation_from_the_best(play):
    env = ngym.make("PatchLeaving-v0", richness=[1.0]).unwrapped
    best = int(env.stay(1.0, env.best_rate()))
    for extra, score in ((0, 1), (1, 1), (-1, 1), (2, 1 - 1 / best), (-best, 1 / best)):
        stay = 10 + best + extra
        (info,) = play(env, lambda env, stay=stay: int(env.t_ind >= stay), trials=1)
        assert info["performance"] == pytest.approx(score)
        assert info["trial_reward"] == pytest.approx(np.exp(-0.1 * np.arange(best + extra)).sum())
    (info,) = play(env, lambda _: 0, trials=1)  # the empty patch is left by itself
    assert info["performance"] == 0 and info["trial_steps"] == 10 + env.stay(1.0, 0.01) + 1


@pytest.mark.parametrize(
    ("task", "wrong"),
    [
        ("DynamicForaging-v0", {"blocks": "alone"}),
        ("DynamicForaging-v0", {"pairs": [(0.4, 1.2)]}),
        ("DynamicForaging-v0", {"levels": (0.1, 0.9)}),
        ("DynamicForaging-v0", {"block_dur": (30, 20)}),
        ("DriftingBandit-v0", {"walk": "straight"}),
        ("DriftingBandit-v0", {"noise": -1}),
        ("PatchLeaving-v0", {"decay": 0}),
        ("PatchLeaving-v0", {"richness": []}),
        ("AuditoryComparison-v0", {"pairs": [(1.0, 1.0)]}),
    ],
)
def test_arguments_that_make_no_sense_are_refused(task, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ngym.make(task, **wrong)


def test_neither_sound_alone_tells_which_was_louder(make_trials, shown_values):
    _env, trials = make_trials("AuditoryComparison-v0", n=4000, sigma=0)
    first, second = trials.info["s1"], trials.info["s2"]
    assert (np.abs(first - second) == 1).all()
    assert np.array_equal(trials.info["ground_truth"], np.where(first > second, 2, 1))
    for level in (-1.0, 0.0, 1.0):
        assert trials.info["ground_truth"][first == level].mean() == pytest.approx(1.5, abs=0.06)
    assert np.array_equal(shown_values(trials, "stimulus1", 1, step=3)[:, 0], first)
    assert np.array_equal(shown_values(trials, "stimulus2", 1)[:, 0], second)
    assert (shown_values(trials, "delay", 1) == 0).all()
