"""Advantages, time limits, carried states and masks against plain NumPy and torch, from the papers, for all learners.

Generalised advantages are summed here as their definition says, A_t = sum_k (gamma lambda)^k delta_{t+k} (Schulman et
al. 2016, equation 16), not by the recursion that the learner uses. A step that a time limit cuts off is worth the value
of the observation that it leads to (Pardo et al. 2018, equation 6).
"""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch
from stable_baselines3.common.vec_env import DummyVecEnv

from ngym_cli.agents.algorithms.rollout import Experience
from ngym_cli.agents.from_config import make_model
from ngym_cli.agents.sequences import cut

LEARNERS = ("recurrent_ppo", "recurrent_a2c", "reinforce")


def definition(rewards, values, last_value, gamma, decay, stops, trial_ends, inter_trial_discount):
    """Return the advantages of one environment, as a sum over the coming steps.

    Args:
        rewards: of each step.
        values: of each state, before each step.
        last_value: of the state after the last step.
        gamma: discount of a step.
        decay: lambda.
        stops: whether the state resets after a step, so that nothing of what follows counts.
        trial_ends: whether a trial ends with a step, after which ``inter_trial_discount`` discounts.
        inter_trial_discount: discount from one trial to the next.
    """
    n = len(rewards)
    following = [*values[1:], last_value]
    step = [0.0 if stops[t] else inter_trial_discount if trial_ends[t] else gamma for t in range(n)]
    errors = [rewards[t] + step[t] * following[t] - values[t] for t in range(n)]
    results = []
    for t in range(n):
        total, weight = 0.0, 1.0
        for k in range(t, n):
            total += weight * errors[k]
            weight *= decay * step[k]
        results.append(total)
    return np.array(results)


class Counting(gym.Env):
    """Episodes of four steps whose observation is the step; the reward is that of the action."""

    observation_space = gym.spaces.Box(-1, 10, (2,), np.float32)
    action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self._seen(), {}

    def _seen(self):
        return np.array([self.t, 1.0], np.float32)

    def step(self, action):
        self.t += 1
        return self._seen(), float(action), False, False, {}


class Ending(Counting):
    """Episodes that end by themselves."""

    def step(self, action):
        seen, reward, *_ = super().step(action)
        return seen, reward, self.t == 4, False, {}


class Limited(Counting):
    """Episodes that a time limit cuts off."""

    def step(self, action):
        seen, reward, *_ = super().step(action)
        return seen, reward, False, self.t == 4, {}


def learner(algorithm, make, **settings):
    env = DummyVecEnv([make] * 2)
    defaults = {"n_steps": 11, "gamma": 0.9, **settings}
    return make_model(algorithm, env, "lstm", 8, None, defaults, seed=0, device="cpu")


def rollout_of(model):
    """Return the rollout before the first update."""
    saved = {}

    def look():
        rollout = model.rollout_buffer
        saved.update({k: np.array(getattr(rollout, k)) for k in ("rewards", "values", "starts", "ends", "advantages")})
        saved["returns"], saved["states"] = np.array(rollout.returns), [np.array(each) for each in rollout.states]

    model.train = look
    model.learn(model.n_steps * model.n_envs)
    return saved


@pytest.mark.parametrize("algorithm", LEARNERS)
@pytest.mark.parametrize("make", [Ending, Limited])
def test_advantages_are_those_of_the_definition(algorithm, make):
    settings = {"gae_lambda": 0.8} if algorithm != "reinforce" else {}
    model = learner(algorithm, make, **settings)
    decay = {"recurrent_ppo": 0.8, "recurrent_a2c": 0.8, "reinforce": 1.0}[algorithm]
    saved = rollout_of(model)
    for env in range(2):
        n = int(np.flatnonzero(saved["starts"][1:, env])[-1]) + 1  # up to the last reset: the rest needs a last value
        rows = slice(0, n)
        expected = definition(
            saved["rewards"][rows, env],
            saved["values"][rows, env],
            0.0,
            0.9,
            decay,
            saved["starts"][1:, env][rows],
            saved["ends"][rows, env],
            model.inter_trial_discount,
        )
        np.testing.assert_allclose(saved["advantages"][rows, env], expected, atol=1e-5)
        np.testing.assert_allclose(saved["returns"], saved["advantages"] + saved["values"], atol=1e-6)


def test_states_are_zero_after_a_reset_and_carried_on_elsewhere():
    model = learner("recurrent_ppo", Ending)
    saved = rollout_of(model)
    for array in saved["states"]:
        for env in range(2):
            starts = np.flatnonzero(saved["starts"][:-1, env])
            assert not array[starts][:, :, env].any()
            carried = np.setdiff1d(np.arange(1, 11), starts)
            assert np.abs(array[carried][:, :, env]).max(axis=(1, 2)).min() > 0
    model.rollout_buffer.carry_over()
    for array, before in zip(model.rollout_buffer.states, saved["states"], strict=True):
        np.testing.assert_array_equal(array[0], before[-1])


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("inter_trial_discount", [0.0, 0.7])
def test_the_discount_between_trials_applies_where_a_trial_ends(gamma, inter_trial_discount):
    rng, (n, envs) = np.random.default_rng(0), (9, 2)
    rollout = learner("recurrent_ppo", Ending, n_steps=n).rollout_buffer
    rollout.rewards[:], rollout.values[:] = rng.normal(size=(2, n, envs))
    rollout.ends[:], rollout.starts[:] = rng.random((n, envs)) < 0.4, False
    last = rng.normal(size=envs).astype(np.float32)
    rollout.estimate_advantages(last, gamma, 0.9, inter_trial_discount)
    for env in range(envs):
        expected = definition(
            rollout.rewards[:, env],
            rollout.values[:, env],
            last[env],
            gamma,
            0.9,
            np.zeros(n, bool),
            rollout.ends[:, env],
            inter_trial_discount,
        )
        np.testing.assert_allclose(rollout.advantages[:, env], expected, atol=1e-5)


def counted(algorithm, saved):
    """Return which steps are learned from: for REINFORCE, those of trials whose return is complete."""
    n = len(saved["rewards"])
    if algorithm != "reinforce":
        return np.ones((n, 2), bool)
    last = [int(np.flatnonzero(saved["starts"][1:, env])[-1]) for env in range(2)]
    return np.arange(n)[:, None] <= np.array(last)


def objective(model, rollout, counts):
    """Return the loss of a rollout, one step of one environment at a time, with torch's own cell and distribution.

    The first update of PPO has a ratio of 1 (Schulman et al. 2017, equation 7), so that all three learners follow
    -log pi(a) A + c_V (R - V)^2 - c_H H, averaged over the steps that count (Mnih et al. 2016, section 4).
    """
    policy, n = model.policy, len(rollout.rewards)
    cells = [torch.nn.LSTMCell(2, 8) for _ in policy.networks]
    for cell, net in zip(cells, policy.networks, strict=True):
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            delattr(cell, name)
            setattr(cell, name, getattr(net, f"{name}_l0"))
    advantages = torch.from_numpy(rollout.advantages)
    if model.normalize_advantage:
        chosen = advantages[torch.from_numpy(counts)]
        advantages = (advantages - chosen.mean()) / (chosen.std() + 1e-8)
    total = torch.zeros(())
    for env in range(2):
        states = [
            tuple(torch.from_numpy(rollout.states[2 * k + i][0, 0, env : env + 1].copy()) for i in (0, 1))
            for k in range(len(cells))
        ]
        for t in range(n):
            if rollout.starts[t, env]:
                states = [tuple(torch.zeros_like(each) for each in state) for state in states]
            seen = torch.from_numpy(rollout.obs[t, env : env + 1])
            states = [cell(seen, state) for cell, state in zip(cells, states, strict=True)]
            law = torch.distributions.Categorical(logits=policy.action_net(states[0][0]))
            value = policy.value_net(states[-1][0])[0, 0]
            if counts[t, env]:
                gain = law.log_prob(torch.from_numpy(rollout.actions[t, env : env + 1]))[0] * advantages[t, env]
                error = (float(rollout.returns[t, env]) - value) ** 2
                total = total - gain + model.vf_coef * error - model.ent_coef * law.entropy()[0]
    return total / counts.sum()


@pytest.mark.parametrize("algorithm", LEARNERS)
@pytest.mark.parametrize("make", [Ending, Limited])
@pytest.mark.parametrize("shared", [True, False])
def test_gradients_are_those_of_the_objective_step_by_step(algorithm, make, shared):
    env = DummyVecEnv([make] * 2)
    model = make_model(
        algorithm,
        env,
        "lstm",
        8,
        {"shared": shared},
        {"n_steps": 11, "gamma": 0.9, "ent_coef": 0.03},
        seed=1,
        device="cpu",
    )
    rollouts = []

    def compare():
        rollout = model.rollout_buffer
        saved = {"rewards": rollout.rewards, "starts": rollout.starts}
        counts = counted(algorithm, saved)
        expected = model.policy.gradient(objective(model, rollout, counts))
        batch = next(Experience(rollout, model.device).minibatches(cut(rollout.starts[:-1]), model.normalize_advantage))
        torch.testing.assert_close(model.policy.gradient(model.loss(batch)[0]), expected, atol=1e-5, rtol=1e-3)
        if model.compiled is not None:
            gradient, _ = model.compiled.gradient(cut(rollout.starts[:-1]), coefficients=model.coefficients())
            torch.testing.assert_close(gradient, expected, atol=1e-5, rtol=1e-3)
        rollouts.append(counts.all())

    model.train = compare
    model.learn(3 * model.n_steps * model.n_envs)  # the second and third begin within an episode, with carried states
    assert len(rollouts) == 3 and all(rollouts) == (algorithm != "reinforce")


@pytest.mark.parametrize("algorithm", LEARNERS)
def test_a_time_limit_is_worth_the_value_of_its_last_observation(algorithm):
    """The value is that of the critic, stepped on from the state before the limit with torch's own cell."""
    model = learner(algorithm, Limited)
    saved = rollout_of(model)
    rollout, policy = model.rollout_buffer, model.policy
    network = policy.networks[-1]
    cell = torch.nn.LSTMCell(2, 8)
    cell.load_state_dict({name.removesuffix("_l0"): value for name, value in network.state_dict().items()})
    for t in np.flatnonzero(saved["starts"][1:, 0]):
        k = 2 * (len(policy.networks) - 1)
        state = tuple(torch.from_numpy(rollout.states[k + i][t, 0, :1].copy()) for i in (0, 1))
        with torch.no_grad():
            for seen in (rollout.obs[t, :1], np.array([[4.0, 1.0]], np.float32)):  # the last observation of an episode
                state = cell(torch.from_numpy(np.asarray(seen, np.float32)), state)
            value = policy.value_net(state[0]).item()
        assert saved["rewards"][t, 0] == pytest.approx(float(rollout.actions[t, 0]) + 0.9 * value, abs=1e-5)
