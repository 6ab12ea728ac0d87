"""What is learned from equals what an agent sees whose every action is right."""

import numpy as np
import pytest

import neurogym as ngym
from neurogym.envs.multi import make_multi
from neurogym.wrappers import wrapper_class
from ngym_cli.agents.supervised.material import TaskDraw, TrialStream, row_weights

TASKS = ["PerceptualDecisionMaking-v0", "ContextDecisionMaking-v0", "GoNogo-v0", "ReadySetGo-v0"]


def wrapped(task, *names, **kwargs):
    env = ngym.make(task, **kwargs)
    for name in names:
        env = wrapper_class(name)(env)
    return env


def stream(env, seed=0, **kwargs):
    return TrialStream(env, seed, row_weights, **kwargs)


@pytest.mark.parametrize("task", TASKS)
def test_a_session_of_right_actions_shows_the_same(task, monkeypatch):
    env = wrapped(task, "pass_reward", "pass_action")
    material = stream(env, seed=5, keep_rows=False).rows(300)
    # The stream and the session make trials in other blocks, so the session is fed the stream's own ones.
    copy_ = stream(env, seed=5, keep_rows=False)
    block = copy_.task.make_trials(copy_.state()["n"])
    inner = env.unwrapped
    monkeypatch.setattr("neurogym.engine.session.make_trials", lambda *arguments: block)
    ob, _ = env.reset(seed=0)
    seen, right = [], []
    while len(seen) < min(300, len(material)) and inner.num_tr <= block.n:
        seen.append(ob)
        right.append(inner.gt_now)
        ob, *_ = env.step(inner.gt_now)
    n = len(seen)
    assert n > 30
    assert np.array_equal(right, material.gt[:n])
    assert np.allclose(seen, material.ob[:n], atol=1e-6)


def test_trials_are_whole_and_in_order():
    env = ngym.make("ContextDecisionMaking-v0")
    uninterrupted, again = stream(env), stream(env)
    arrays = [uninterrupted.trials(200) for _ in range(5)]
    assert all(len(array) <= 200 and array.length.sum() == len(array) for array in arrays)
    everything = again.rows(sum(map(len, arrays)))
    assert np.array_equal(np.concatenate([array.ob for array in arrays]), everything.ob)


def test_the_state_of_a_stream_is_all_that_matters():
    env = wrapped("PerceptualDecisionMaking-v0", "pass_action")
    first = stream(env, seed=1, keep_rows=False)
    first.rows(77)
    second = stream(env, seed=2, keep_rows=False)
    second.set_state(first.state())
    ahead, behind = first.rows(5000), second.rows(5000)
    assert np.array_equal(ahead.ob, behind.ob) and np.array_equal(ahead.gt, behind.gt)


def test_tasks_are_drawn_by_weight():
    names = ["yang19.go-v0", "yang19.ctxdm1-v0", "yang19.dms-v0"]
    rng = np.random.default_rng(0)
    drawn = TaskDraw(names, {"ctxdm1": 5}, per_batch=False)(7000, rng)
    assert [np.mean(drawn == name) for name in names] == pytest.approx([1 / 7, 5 / 7, 1 / 7], abs=0.02)
    with pytest.raises(ValueError, match=r"ctxdm3.*ctxdm1"):
        TaskDraw(names, {"ctxdm3": 1}, per_batch=False)


def test_a_batch_can_have_one_task():
    env = make_multi("GoNogo-v0+ContextDecisionMaking-v0", pad=True)
    seen, several = set(), stream(env, draw=TaskDraw(env.unwrapped.names, {}, per_batch=True))
    for _ in range(20):
        cue = several.trials(400).ob[:, -2:]
        assert len(np.unique(cue, axis=0)) == 1
        seen.add(tuple(cue[0]))
    assert len(seen) == 2


def test_what_cannot_be_learned_from_is_refused():
    from neurogym import TrialEnv, spaces

    class Adaptive(TrialEnv):
        observation_space = spaces.Box(-1, 1, shape=(1,))
        action_space = spaces.Discrete(2)

        def trial_ended(self, info):
            self.easier = info["performance"] < 1

    with pytest.raises(ValueError, match="Adaptive depend on the agent"):
        stream(Adaptive())


def test_a_trial_has_as_many_rows_as_in_a_session():
    timing = {"decision": 400}
    bare = wrapped("PerceptualDecisionMaking-v0", timing=timing)  # nothing shows what the agent did: all rows are used
    assert set(stream(wrapped("PerceptualDecisionMaking-v0", "pass_reward", timing=timing)).trials(2000).length) == {22}
    assert set(stream(bare).trials(2000).length) == {25}
    assert set(stream(bare, keep_rows=False).trials(2000).length) == {22}
