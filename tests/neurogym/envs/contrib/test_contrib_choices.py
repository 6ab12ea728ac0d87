"""Contributed choice tasks: contexts, blocks, opponents."""

import numpy as np
import pytest

import neurogym as ngym
from neurogym.envs.contrib.ibl import IBL_Block, IBLBlock
from neurogym.envs.contrib.matchingpenny import MatchingPenny


def made(name, n=2000, **kwargs):
    env = ngym.make(name, **kwargs).unwrapped
    env.reset(seed=0)
    return env, env.make_trials(n)


def test_context_stays_for_tens_of_trials():
    _, trials = made("ChangingEnvironment-v0", n=4000)
    changes = np.mean(np.diff(trials.info["context"]) != 0)
    assert changes == pytest.approx(0.05, abs=0.015)
    np.testing.assert_array_equal(trials.info["ground_truth"], trials.info["side"] + 2 * trials.info["context"])


def test_context_is_kept_from_block_to_block():
    env, _ = made("ChangingEnvironment-v0", n=10, cxt_ch_prob=0)
    contexts = {int(c) for _ in range(5) for c in env.make_trials(10).info["context"]}
    assert len(contexts) == 1
    assert env.new_trial(context=1 - contexts.pop())["context"] in (0, 1)


@pytest.mark.parametrize("cue", [False, True])
def test_both_stimulus_channels_carry_the_stimulus(cue):
    env, trials = made("ChangingEnvironment-v0", n=200, cxt_cue=cue, sigma=0)
    at = np.asarray(env.observation_space.name["stimulus"])
    visible = trials.ob[trials.offset + trials.starts["stimulus"]]
    for side in (1, 2):
        ours = trials.info["side"] == side
        np.testing.assert_allclose(visible[ours, at[side - 1]], (1 + trials.info["coh"][ours] / 100) / 2, atol=1e-6)
    if cue:
        np.testing.assert_array_equal(trials.ob[:, 0], trials.info["context"][trials.rows().trial])
        assert np.all(trials.ob[trials.rows("fixation").index, 1] == 1)


def test_context_switch_reverses_the_map():
    _, trials = made("ContextSwitch-v0")
    np.testing.assert_array_equal(trials.gt, trials.info["stimulus"] ^ trials.info["context"])
    np.testing.assert_array_equal(trials.ob.argmax(axis=1), trials.info["stimulus"])
    assert np.mean(np.diff(trials.info["context"]) != 0) == pytest.approx(0.1, abs=0.03)


def test_ibl_pays_the_side_that_is_shown():
    env, trials = made("IBL-v0", n=20_000)
    strong = trials.info["coh"] > 50
    assert np.mean(trials.ob.argmax(axis=1)[strong] == trials.gt[strong]) > 0.99
    ideal = np.mean(trials.ob.argmax(axis=1) == trials.gt)
    assert ideal == pytest.approx(env.ceiling()["performance"], abs=0.01)
    assert "block" not in trials.info


def test_ibl_blocks():
    assert IBL_Block is IBLBlock
    _, trials = made("IBLBlock-v0", n=6000)
    block, side = trials.info["block"], trials.gt
    assert set(block) == {0.2, 0.5, 0.8}
    assert np.all(np.diff(np.flatnonzero(np.diff(block))) % 200 == 0)
    for p in (0.2, 0.5, 0.8):
        assert np.mean(side[block == p]) == pytest.approx(p, abs=0.06)


def play(env, choose, trials=600):
    env.reset(seed=0)
    wins, last = [], (0, 0)
    for k in range(trials):
        action = choose(k, *last)
        info = env.step(action)[-1]
        wins.append(info["performance"])
        last = action, int(info["performance"])
    return np.mean(wins[trials // 3 :])


def test_opponents_of_matching_pennies():
    rng = np.random.default_rng(0)
    coin = rng.integers(2, size=600)

    def alternate(k, action, won):
        return k % 2

    def win_stay(k, action, won):
        return action if won else 1 - action

    for opponent in ("mean_action", "algorithm1", "algorithm2"):
        assert play(MatchingPenny(opponent_type=opponent), lambda k, *_: 1) < 0.1
        assert play(MatchingPenny(opponent_type=opponent), lambda k, *_: int(coin[k])) == pytest.approx(0.5, abs=0.1)
    assert play(MatchingPenny(opponent_type="random"), lambda k, *_: 1) == pytest.approx(0.5, abs=0.1)
    assert play(MatchingPenny(opponent_type="algorithm1"), alternate) < 0.1
    assert play(MatchingPenny(opponent_type="algorithm2"), win_stay) < 0.1
    with pytest.raises(ValueError, match="algorithm1"):
        MatchingPenny(opponent_type="algoritm1")


def test_matching_pennies_shows_what_the_opponent_did():
    env = MatchingPenny(opponent_type="random")
    ob, _ = env.reset(seed=3)
    assert not ob.any()
    for _ in range(20):
        ob, reward, _, _, info = env.step(1)
        assert ob.argmax() == info["gt"] == info["trial"]["opponent_action"]
        assert reward == (info["gt"] == 1)
