"""Whoever chooses actions in a batch of environments meets one interface, in training as in evaluation."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from ngym_cli.agents.acting import Act, rollout
from ngym_cli.agents.algorithms import ALGORITHMS
from ngym_cli.agents.defaults import prepare
from ngym_cli.agents.from_config import build_model, build_venv
from ngym_cli.agents.trained import agent_for
from ngym_cli.config.model import from_dict
from ngym_cli.errors import UserError

N = 3


def built(alg="recurrent_ppo", task="GoNogo-v0", **settings):
    config = prepare(from_dict({"task": task, "alg": alg, "units": 8, "n_envs": N, **settings}))[0]
    venv = build_venv(config, N)
    venv.seed(0)
    return build_model(config, venv), venv


def followed(model, venv, steps, **options):
    venv.seed(0)
    return [step.act for step in islice(rollout(venv, agent_for(model.policy, 0, **options)), steps)]


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("alg", ALGORITHMS)
def test_agents_of_all_algorithms_act_alike_for_one_seed_and_within_the_action_space(alg, deterministic):
    model, venv = built(alg)
    acts = followed(model, venv, 20, deterministic=deterministic)
    assert all(isinstance(act, Act) and act.actions.shape == (N,) for act in acts)
    assert all(venv.action_space.contains(np.int64(action)) for act in acts for action in act.actions)
    again = followed(model, venv, 20, deterministic=deterministic)
    assert all(np.array_equal(first.actions, another.actions) for first, another in zip(acts, again, strict=True))


def test_continuous_actions_are_drawn_within_their_bounds_and_recorded_as_taken():
    model, venv = built(task="ReachingDelayResponse-v0")
    acts = followed(model, venv, 20, deterministic=False)
    assert all(venv.action_space.contains(action) for act in acts for action in act.actions)
    assert any((act.actions != act.logits).any() for act in acts)


def test_a_recurrent_agent_acts_with_the_weights_that_it_was_made_with():
    model, venv = built()
    agent, observations = agent_for(model.policy, 0), venv.reset()
    state = agent.initial_state(N)
    before = agent.act(observations, state)[0].logits
    model.policy.action_net.bias.data += 1
    np.testing.assert_array_equal(agent.act(observations, state)[0].logits, before)
    renewed = agent_for(model.policy, 0)
    np.testing.assert_allclose(renewed.act(observations, state)[0].logits, before + 1, atol=1e-5)


def test_an_agent_acts_the_same_in_a_state_however_often_it_acted_before():
    model, venv = built()
    agent, observations = agent_for(model.policy, 0), venv.reset()
    first, state = agent.act(observations, agent.initial_state(N))
    again, _ = agent.act(observations, agent.restart(state, np.ones(N, bool)))
    np.testing.assert_array_equal(again.logits, first.logits)
    some = agent.restart(state, np.array([True, False, False]))
    assert all(
        not array[:, 0].any() and np.array_equal(array[:, 1:], old[:, 1:])
        for array, old in zip(some, state, strict=True)
    )


def test_perturbing_an_agent_leaves_others_with_the_same_weights_as_they_were():
    model, venv = built()
    actor, observations = model.policy.actor(), venv.reset()
    state = actor.initial_state(N)
    before = actor.act(observations, state)[0].logits

    def silence(before, after):
        for array in after:
            array[:] = 0

    perturbed = agent_for(actor, 0, perturb=silence).act(observations, state)[0]
    assert not np.array_equal(perturbed.logits, before)
    np.testing.assert_array_equal(actor.act(observations, state)[0].logits, before)


def test_a_memoryless_agent_has_nothing_to_perturb():
    model, _ = built("ppo")
    with pytest.raises(UserError, match="no hidden state"):
        agent_for(model.policy, 0, perturb=lambda before, after: None)
