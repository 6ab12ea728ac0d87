"""ibl20 and roitman02: perceptual decision-making in one wrapper each."""

import numpy as np
import pytest

import neurogym as ngym
from neurogym.envs import registration


def test_ibl20_has_blocks_of_90_trials():
    env = ngym.make("perceptualdecisionmaking.ibl20-v0", timing={"stimulus": 200})
    env.reset(seed=0)
    side, block = [], []
    while len(side) < 720:
        info = env.step(env.unwrapped.oracle())[-1]
        if info["new_trial"]:
            side.append(info["trial"]["ground_truth"])
            block.append(info["trial"]["side_bias_block"])
    side, block = np.array(side), np.array(block)
    changes = np.flatnonzero(np.diff(block)) + 1
    assert set(np.diff(changes)) == {90}
    for value, p in ((0, 0.2), (1, 0.8)):
        assert np.mean(side[block == value]) == pytest.approx(p, abs=0.08)


def test_roitman02_answers_during_the_stimulus():
    env = ngym.make("perceptualdecisionmaking.roitman02-v0")
    env.reset(seed=0)
    for wait in (0, 3):
        choice = 1 + env.new_trial(coh=51.2)["ground_truth"]
        for _ in range(2 + wait):
            info = env.step(0)[-1]
            assert not info["new_trial"]
        _, reward, _, _, info = env.step(choice)
        assert (reward, info["performance"]) == (1.0, 1.0)
        assert info["rt"] == (1 + wait) * 100


def test_they_describe_themselves():
    for name in ("ibl20", "roitman02"):
        id_ = f"perceptualdecisionmaking.{name}-v0"
        meta = ngym.make(id_).unwrapped.metadata
        assert meta == registration.metadata(id_)
        assert meta["paper_link"].startswith("https://doi.org/")
