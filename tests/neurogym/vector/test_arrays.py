"""Batches give what single environments give, trial for trial."""

import copy

import gymnasium as gym
import numpy as np
import pytest

import neurogym as ngym
from neurogym import spaces
from neurogym.core import TrialEnv
from neurogym.rules import Rule
from neurogym.vector import LoopVectorEnv, TrialVectorEnv, make_vec
from neurogym.wrappers import PassAction, PassReward, ReactionTime, TimeOut
from tests.neurogym.wrappers.stacks import finished_row

STACKS = {
    "bare": lambda env: env,
    "history": lambda env: PassAction(PassReward(env)),
    "reaction": lambda env: PassAction(PassReward(ReactionTime(env, urgency=-0.01)), one_hot=True),
    "time out": lambda env: PassReward(TimeOut(env, time_out=700)),
}


class Moody(TrialEnv):
    """One trial at a time, of another length and with another record after an error."""

    default_timing = {"fixation": 200, "decision": 300}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0}
    rule = Rule()

    def __init__(self):
        super().__init__(abort=True)
        self.observation_space = spaces.channels({"cue": 0})
        self.action_space = spaces.Discrete(3)

    def _new_trial(self):
        side = int(self.rng.integers(1, 3))
        sorry = self.last is not None and self.last["outcome"] != "correct"
        self.add_period("fixation", 100 * (1 + self.num_finished % 3))
        self.add_period("decision", after="fixation")
        self.add_ob(side, "fixation", where="cue")
        self.set_groundtruth(side, "decision")
        count = {"earned": self.trial_reward, "broken": self.num_tr}
        return {"side": side, **({"sorry": self.last["rt"], "why": self.last["outcome"]} if sorry else count)}


def assert_same(a, b):
    assert np.array_equal(a, b) or (a != a and b != b), (a, b)


@pytest.mark.parametrize(
    ("id_", "stack", "kind"),
    [
        ("PerceptualDecisionMaking-v0", "bare", TrialVectorEnv),
        ("PerceptualDecisionMaking-v0", "history", TrialVectorEnv),
        ("PerceptualDecisionMaking-v0", "reaction", TrialVectorEnv),
        ("GoNogo-v0", "reaction", TrialVectorEnv),
        ("DelayComparison-v0", "history", TrialVectorEnv),
        ("ReadySetGo-v0", "history", TrialVectorEnv),
        ("Bandit-v0", "history", TrialVectorEnv),
        ("ReachingDelayResponse-v0", "history", LoopVectorEnv),
        ("MatchingPenny-v0", "history", TrialVectorEnv),
        ("PerceptualDecisionMaking-v0", "time out", TrialVectorEnv),
    ],
)
def test_batch_equals_single(id_, stack, kind, variant):
    def make():
        return STACKS[stack](ngym.make(id_))

    batch, singles = make_vec(make, 3), [make() for _ in range(3)]
    assert type(batch) is kind
    obs, _ = batch.reset(seed=7)
    assert obs.dtype == batch.single_observation_space.dtype and batch.single_observation_space.contains(obs[0])
    np.testing.assert_array_equal(obs, [env.reset(seed=7 + i)[0] for i, env in enumerate(singles)])
    batch.action_space.seed(0)
    ended = 0
    for _ in range(250):
        actions = batch.action_space.sample()
        obs, rewards, terminated, truncated, infos = batch.step(actions)
        assert not terminated.any() and not truncated.any()
        rows = []
        for i, env in enumerate(singles):
            ob, reward, _, _, info = env.step(actions[i])
            np.testing.assert_array_equal(ob, obs[i])
            assert reward == rewards[i] and info["new_trial"] == infos["new_trial"][i]
            if "gt" in info:
                np.testing.assert_array_equal(info["gt"], infos["gt"][i])
            if info["new_trial"]:
                rows.append(finished_row(i, info))
        if rows:
            assert set(rows[0]) == set(batch.finished)
            for name, column in batch.finished.items():
                for value, row in zip(column, rows, strict=True):
                    assert_same(value, row[name])
            ended += len(rows)
    assert ended > 10


def test_trials_made_one_at_a_time_keep_their_own_records():
    batch, looped = make_vec(Moody, 3), LoopVectorEnv([Moody() for _ in range(3)])
    assert type(batch) is TrialVectorEnv
    np.testing.assert_array_equal(batch.reset(seed=4)[0], looped.reset(seed=4)[0])
    rng, ended = np.random.default_rng(0), 0
    for _ in range(400):
        actions = rng.integers(3, size=3) * (rng.random(3) < 0.4)
        first, second = batch.step(actions), looped.step(actions)
        for a, b in zip(first[:4], second[:4], strict=True):
            np.testing.assert_array_equal(a, b)
        assert (batch.finished is None) == (looped.finished is None)
        for name, column in (looped.finished or {}).items():
            for value, same in zip(batch.finished[name], column, strict=True):
                assert_same(value, same)
            ended += len(column)
    assert ended > 100


def test_gymnasium_makes_batches():
    batch = gym.make_vec("PerceptualDecisionMaking-v0", num_envs=4, dt=20)
    assert isinstance(batch, TrialVectorEnv) and batch.dt == 20
    obs, _ = batch.reset(seed=0)
    assert obs.shape == (4, 3)
    same = ngym.make_vec("RDM-v0", 4, dt=20).reset(seed=0)[0]
    np.testing.assert_array_equal(obs, same)


def test_seeds_per_environment():
    batch = ngym.make_vec("RDM-v0", 3, timing={"fixation": 0})
    same = batch.reset(seed=[5, 5, 5])[0]
    np.testing.assert_array_equal(same[0], same[2])
    counted = batch.reset(seed=5)[0]
    np.testing.assert_array_equal(counted[0], same[0])
    assert not np.array_equal(counted[1], same[1])
    with pytest.raises(ValueError, match="need 3 seeds"):
        batch.reset(seed=[1, 2])


def test_wrong_calls_are_refused_and_change_nothing(variant):
    with pytest.raises(ValueError, match="at least 1"):
        ngym.make_vec("RDM-v0", 0)
    batch, untouched = (ngym.make_vec("RDM-v0", 2) for _ in range(2))
    batch.reset(seed=0), untouched.reset(seed=0)
    for actions in ([0, 3], [-1, 0], [0, 0, 0], [0.0, 1.0]):
        with pytest.raises(ValueError, match="expected 2 actions"):
            batch.step(np.array(actions))
    np.testing.assert_array_equal(batch.step(np.zeros(2, int))[0], untouched.step(np.zeros(2, int))[0])


def test_a_copy_goes_on_by_itself():
    batch = ngym.make_vec("RDM-v0", 4)
    batch.reset(seed=0)
    for _ in range(50):
        batch.step(np.zeros(4, int))
    copied = copy.deepcopy(batch)
    steps = [[env.step(np.full(4, t % 2)) for t in range(300)] for env in (batch, copied)]
    for first, second in zip(*steps, strict=True):
        np.testing.assert_array_equal(first[0], second[0])
        np.testing.assert_array_equal(first[1], second[1])


def test_environments_without_trials_are_looped():
    batch = make_vec(lambda: gym.make("CartPole-v1"), 2)
    assert isinstance(batch, LoopVectorEnv)
    batch.reset(seed=0)
    finals = 0
    for _ in range(200):
        obs, _, terminated, _, infos = batch.step(np.array([1, 1]))
        if terminated.any():
            finals += 1
            last = infos["final_obs"][np.flatnonzero(terminated)[0]]
            assert abs(last[2]) > 0.2 > abs(obs[np.flatnonzero(terminated)[0]][2])
    assert finals > 5


@pytest.mark.parametrize("use", ["step", "state"])
def test_a_batch_says_that_a_reset_is_missing(use):
    batch = make_vec(lambda: ngym.make("RDM-v0"), 2)
    assert isinstance(batch, TrialVectorEnv)
    with pytest.raises(gym.error.ResetNeeded, match="reset"):
        batch.step(np.zeros(2, int)) if use == "step" else batch.state()
