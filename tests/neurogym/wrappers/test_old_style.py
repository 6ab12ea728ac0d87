"""Wrappers as scripts for NeuroGym write them: with ``step`` and ``new_trial`` of their own, and no hooks."""

import itertools

import numpy as np
import pytest

import neurogym as ngym
from neurogym import TrialWrapper, spaces
from neurogym.utils.data import Dataset
from neurogym.vector import make_vec
from neurogym.wrappers import PassReward, ScheduleEnvs


def rdm(**kwargs):
    return ngym.make("PerceptualDecisionMaking-v0", timing={"stimulus": 300, "decision": 200}, sigma=0, **kwargs)


class WiderStep(TrialWrapper):
    """Overrides ``step`` alone: appends how many steps there were, and the last reward."""

    def __init__(self, env):
        super().__init__(env)
        n = env.observation_space.shape[0]
        self.observation_space = spaces.Box(-np.inf, np.inf, shape=(n + 2,), dtype=np.float32)
        self.steps = 0

    def step(self, action):
        ob, reward, terminated, truncated, info = self.env.step(action)
        self.steps += 1
        return np.append(ob, [self.steps, reward]).astype(np.float32), reward, terminated, truncated, info


class Scaled(TrialWrapper):
    """Overrides ``step`` alone and keeps the space."""

    def step(self, action):
        ob, *rest = self.env.step(action)
        return (2 * ob, *rest)


class Swapped(TrialWrapper):
    """Sets ``self.ob`` and ``self.gt`` in ``new_trial``: mirrored, with another channel."""

    def __init__(self, env, wide=False):
        super().__init__(env)
        self.wide = wide
        if wide:
            self.observation_space = spaces.Box(-np.inf, np.inf, shape=(4,), dtype=np.float32)

    def new_trial(self, **kwargs):
        trial = self.env.new_trial(**kwargs)
        ob = self.ob[:, [0, 2, 1]]
        self.ob = np.column_stack([ob, np.full(len(ob), 9, np.float32)]) if self.wide else ob
        self.gt = np.array([0, 2, 1])[self.gt]
        return trial


def test_a_step_of_its_own_shapes_the_first_observation():
    env = WiderStep(rdm())
    ob, info = env.reset(seed=0)
    assert env.observation_space.contains(ob) and info == {} and env.steps == 0
    np.testing.assert_array_equal(ob[:3], env.unwrapped.ob[0])
    assert ob[4] == 0
    assert env.step(0)[0][3] == 1 == env.steps and env.unwrapped.t_ind == 1
    np.testing.assert_array_equal(Scaled(rdm()).reset(seed=0)[0], 2 * rdm().reset(seed=0)[0])


def test_such_wrappers_stack_and_batch():
    def make():
        return Scaled(WiderStep(PassReward(WiderStep(rdm()))))

    batch, env = make_vec(make, 2), make()
    obs, _ = batch.reset(seed=3)
    ob, _ = env.reset(seed=3)
    for _ in range(50):
        np.testing.assert_array_equal(obs[0], ob)
        obs, ob = batch.step([0, 0])[0], env.step(0)[0]


@pytest.mark.parametrize("wide", [False, True])
def test_what_is_set_in_new_trial_is_shown_and_right_and_paid(wide):
    env = Swapped(rdm(), wide)
    ob, _ = env.reset(seed=0)
    count = 0
    while count < 20:
        assert env.observation_space.contains(ob)
        np.testing.assert_array_equal(ob, env.ob[env.t_ind])
        if wide:
            assert ob[3] == 9
        truth = int(env.gt_now)
        if truth:
            assert truth == 2 - env.unwrapped.trial["ground_truth"]
        ob, reward, _, _, info = env.step(truth)
        assert info["gt"] == truth
        if info["new_trial"]:
            assert info["outcome"] == "correct" and reward == 1
            count += 1


@pytest.mark.parametrize("wide", [False, True])
def test_what_is_set_in_new_trial_reaches_a_data_set(wide):
    batch = Dataset(Swapped(rdm(), wide), batch_size=4, aligned=True, seed=0).sample()
    for b, trial in enumerate(batch.trials):
        answers = batch.targets[batch.targets[:, b] != 0, b]
        assert len(answers) == 2 and set(answers) == {2 - trial["ground_truth"]}
        rows = batch.mask[:, b] > 0
        if wide:
            assert np.all(batch.inputs[rows, b, 3] == 9)
        if trial["coh"]:
            visible = batch.inputs[rows, b][2]
            assert np.argmax(visible[1:3]) == 1 - trial["ground_truth"]


@pytest.mark.parametrize("wrap", [Scaled, WiderStep])
def test_a_schedule_takes_tasks_whose_wrapper_overrides_step(wrap):
    alone, several = wrap(rdm()), ScheduleEnvs([wrap(rdm()), wrap(rdm(cohs=[51.2]))], ngym.SequentialSchedule(2))
    assert several.observation_space.shape == alone.observation_space.shape
    ob, _ = several.reset(seed=0)
    tasks, cohs = [], set()
    for _ in range(300):
        assert several.observation_space.contains(ob)
        inner = several.tasks[several.i_env]
        expected = 2 * inner.ob_now if wrap is Scaled else inner.ob_now
        np.testing.assert_array_equal(ob[:3], expected)
        ob, _reward, _, _, info = several.step(int(several.gt_now))
        if info["new_trial"]:
            assert info["outcome"] == "correct" and info["performance"] == 1 and info["trial_reward"] == 1
            tasks.append(info["trial"]["task"])
            if tasks[-1].endswith("#2"):
                cohs.add(info["trial"]["coh"])
    assert all(first != second for first, second in itertools.pairwise(tasks)) and cohs == {51.2}
    first = Dataset(several, batch_size=2, seq_len=40, seed=1)()[0]
    assert np.array_equal(first, Dataset(several, batch_size=2, seq_len=40, seed=1)()[0])


class Constant(TrialWrapper):
    """Asks for one ground truth, by hook."""

    def __init__(self, env, truth):
        super().__init__(env)
        self.truth = truth

    def plan(self, n, conditions):
        return {**conditions, "ground_truth": np.full(n, self.truth)}


def test_hooks_are_those_of_the_stack_that_is_stepped():
    base = rdm()
    first, second = Constant(base, 0), Constant(base, 1)
    assert [w.truth for w in base.unwrapped.wrappers] == [1]  # a notebook cell run again: the first is abandoned
    for env, truth in ((second, 1), (first, 0), (second, 1)):
        env.reset(seed=0)
        for _ in range(60):
            assert env.unwrapped.trial["ground_truth"] == truth
            env.step(int(env.unwrapped.gt_now))
    inner = Constant(rdm(), 0)
    outer = PassReward(PassReward(inner))
    assert outer.reset(seed=0)[0].shape == (5,) and outer.step(0)[0].shape == (5,)
