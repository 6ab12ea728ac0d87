"""Which actions are refused, which forms they may have, and what an action does in a row."""

import gymnasium as gym
import numpy as np
import pytest

import neurogym as ngym
from neurogym import rules
from neurogym.envs.registration import every_task


def bad_actions(space):
    if isinstance(space, gym.spaces.Discrete):
        return [int(space.n) + 99, -1, int(space.n), 1.5, "1", None, np.array([0, 1])]
    bad = [np.zeros(space.shape[0] + 1, np.float32), np.full(space.shape, np.nan, np.float32), "left", None]
    return [*bad, space.high + 1, space.low - 1] if np.all(space.high < 1e30) else bad


@pytest.mark.parametrize("id_", every_task())
def test_a_bad_action_says_so_and_changes_nothing(id_):
    env, twin = ngym.make(id_), ngym.make(id_)
    env.reset(seed=0), twin.reset(seed=0)
    env.action_space.seed(0)
    for action in bad_actions(env.action_space):
        with pytest.raises(ValueError, match="is not in"):
            env.step(action)
    for _ in range(5):
        action = env.action_space.sample()
        first, two = env.step(action), twin.step(action)
        np.testing.assert_array_equal(first[0], two[0])
        assert first[1] == two[1]


@pytest.mark.parametrize("form", [int, np.int64, np.array, lambda a: np.array([a]), np.uint8])
def test_an_action_may_have_any_form_of_an_integer(form):
    for id_ in ("GoNogo-v0", "DualTask-v0"):
        env = ngym.make(id_)
        env.reset(seed=0)
        while not env.unwrapped.num_finished:
            env.step(form(1))
        assert type(env.unwrapped.last["choice"]) is int


def test_a_row_can_be_asked_what_an_action_does_there():
    """What a step does is said in one place, which other environments use."""
    for id_ in ("PerceptualDecisionMaking-v0", "DualDelayMatchSample-v0", "MatchingPenny-v0"):
        env, twin = (ngym.make(id_).unwrapped for _ in range(2))
        env.reset(seed=0), twin.reset(seed=0)
        for k in range(200):
            action = int(env.action_space.n) - 1 if k % 5 == 0 else 0
            event, reward, _ = twin.session.act_at(twin.cursor.row, action)
            before = env.cursor.row
            _, paid, _, _, info = env.step(action)
            assert reward == paid and (event >= rules.END) == info["new_trial"], id_
            if info["new_trial"]:
                assert rules.OUTCOMES[event & rules.OUTCOME] == info["outcome"]
                assert twin.performance == info["performance"] and twin.trial_reward == info["trial_reward"]
                twin.new_trial()
            else:
                assert env.cursor.row == before + 1
                twin.cursor.row += 1
