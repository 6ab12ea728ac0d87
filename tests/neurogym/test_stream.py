"""An agent that is always right sees the same rows in a session, a data set and the supervised learner."""

import numpy as np
import pytest

import neurogym as ngym
from neurogym import wrappers as w
from neurogym.stream import GroundTruthStream
from neurogym.utils.data import Dataset


def rdm():
    return ngym.make("PerceptualDecisionMaking-v0", timing={"decision": 400})


STACKS = {
    "reward": lambda: w.PassReward(rdm()),
    "reward and action": lambda: w.PassAction(w.PassReward(rdm())),
    "truth": lambda: w.PassGT(rdm()),
    "reaction time": lambda: w.PassReward(w.ReactionTime(rdm(), urgency=-0.01)),
    "several": lambda: w.PassReward(ngym.make_multi("PerceptualDecisionMaking-v0+GoNogo-v0", pad=True)),
    "stepped": lambda: w.PassReward(w.BiasCorrection(rdm())),
    "programmed": lambda: w.PassAction(ngym.make("DualTask-v0")),
}


def session(env, n, seed):
    """Observations and right actions of ``n`` steps."""
    ob, _ = env.reset(seed=seed)
    obs, truths, lengths = [], [], []
    while len(obs) < n:
        obs.append(ob)
        truths.append(int(env.unwrapped.gt_now))
        ob, *_, info = env.step(truths[-1])
        if info["new_trial"]:
            lengths.append(info["trial_steps"])
    return np.array(obs), np.array(truths), lengths


def test_a_trial_has_as_many_rows_everywhere():
    env = STACKS["reward"]()
    assert set(session(env, 500, 0)[2]) == {22}
    assert set(Dataset(env, batch_size=8, aligned=True, seed=0).sample().mask.sum(0)) == {22}
    bare = rdm()  # nothing shows what the agent did: all rows can be kept
    assert set(Dataset(bare, batch_size=8, aligned=True, seed=0).sample().mask.sum(0)) == {25}


@pytest.mark.parametrize("stack", STACKS)
def test_rows_are_those_of_a_session(stack):
    """Made in the blocks of a session, they are the same numbers."""
    env, twin = STACKS[stack](), STACKS[stack]()
    obs, truths, _ = session(env, 150, seed=5)
    stream = GroundTruthStream(twin)
    stream.restart(5)
    visible = [stream.make(8 if k == 0 else 64) for k in range(2 if stream.makes_blocks else 40)]
    seen = np.concatenate([piece.ob for piece in visible])
    right = np.concatenate([piece.gt for piece in visible])
    n = min(len(obs), len(seen), len(visible[0].ob) if stack == "several" else len(seen))
    assert n > 60
    np.testing.assert_array_equal(right[:n], truths[:n])
    np.testing.assert_allclose(seen[:n], obs[:n], atol=1e-6)
