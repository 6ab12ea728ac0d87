import gymnasium as gym
import pytest

import neurogym as ngym
from neurogym.compat.changes import ALIASES
from neurogym.envs import registration


@pytest.mark.parametrize("alias", ALIASES)
def test_every_old_id_makes_the_present_task(alias):
    target, _kwargs = ALIASES[alias]
    assert target in registration.every_task()
    env = ngym.make(alias)
    assert type(env.unwrapped) is type(ngym.make(target).unwrapped)
    assert registration.resolve(alias) == target
    ob, _ = env.reset(seed=0)
    assert env.observation_space.contains(ob)
    by_gymnasium = gym.make(alias)
    assert by_gymnasium.observation_space == env.observation_space
    by_gymnasium.reset(seed=0)
    by_gymnasium.step(by_gymnasium.action_space.sample())


def test_parameters_of_an_old_id_can_be_replaced():
    assert ngym.make("RDM-v1").unwrapped.timing["fixation"] == 500
    assert ngym.make("PerceptualDecisionMaking1D-v0", dim_ring=8).action_space.n == 9
    assert ngym.make("Mante-v0").observation_space.shape == (7,)


def test_no_old_id_hides_a_task():
    assert not set(ALIASES) & set(registration.every_task())
