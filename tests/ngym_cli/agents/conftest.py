"""Learners of small environments: a cue to be recalled, and small batches of trial-based tasks."""

import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv

import neurogym as ngym
from neurogym.vector import make_vec
from neurogym.wrappers import wrapper_class
from ngym_cli.agents.algorithms.sb3 import TrialVecEnv
from ngym_cli.agents.from_config import make_model


class Recall(VecEnv):
    """A cue in the first step, the answer in the last.

    `limit` cuts trials off after that many steps; `tells` says where a trial ended; `box` how many
    continuous actions there are, of which the first counts.
    """

    def __init__(self, n_envs=6, box=False, reset=True, longest=5, limit=None, seed=0, tells=False):
        actions = spaces.Box(-1, 1, (int(box),), np.float32) if box else spaces.Discrete(3)
        super().__init__(n_envs, spaces.Box(-2, 2, (3,), np.float32), actions)
        self.box, self.reset_state, self.longest, self.limit, self.tells = box, reset, longest, limit, tells
        if tells:
            self.trial_ended = np.zeros(n_envs, bool)
        self.rng = np.random.default_rng(seed)
        self.cue, self.left, self.age = (np.zeros(n_envs, int) for _ in range(3))
        self.infos = [{} for _ in range(n_envs)]
        self.finished = []

    def _new(self, env):
        self.cue[env] = self.rng.integers(1, 3, len(env))
        self.left[env] = self.rng.integers(2, self.longest + 1, len(env))
        self.age[env] = 0

    def _obs(self):
        display = np.where(self.age == 0, self.cue * 2 - 3, 0)
        noise = 0.1 * self.rng.standard_normal(self.num_envs)
        return np.stack([display, self.left == 1, noise], axis=1).astype(np.float32)

    def reset(self):
        self._new(np.arange(self.num_envs))
        return self._obs()

    def step_async(self, actions):
        self.actions = np.asarray(actions)

    def step_wait(self):
        last = self.left == 1
        right = 1 - np.abs(self.actions[:, 0] - (self.cue * 2 - 3)) if self.box else self.actions == self.cue
        rewards = np.where(last, right, 0).astype(np.float32)
        self.left -= 1
        self.age += 1
        obs = self._obs()
        cut_off = ~last & (self.age == self.limit)
        infos = list(self.infos)
        for i in np.flatnonzero(cut_off):
            infos[i] = {"TimeLimit.truncated": True, "terminal_observation": obs[i]}
        over = last | cut_off
        if self.tells:
            self.trial_ended = over
        if over.any():
            self.finished.extend(rewards[last])
            self._new(np.flatnonzero(over))
            obs = self._obs()
        return obs, rewards, over if self.reset_state else cut_off, infos

    def close(self):
        pass

    def get_attr(self, attr_name, indices=None):
        return [getattr(self, attr_name, None)] * self.num_envs

    def set_attr(self, attr_name, value, indices=None):
        setattr(self, attr_name, value)

    def env_method(self, method_name, *args, indices=None, **kwargs):
        return [getattr(self, method_name)(*args, **kwargs)] * self.num_envs

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False] * self.num_envs


@pytest.fixture(scope="session")
def recall():
    """Environments that need memory, with trials of unequal lengths."""
    return Recall


@pytest.fixture(scope="session")
def learner():
    """Build a supervised learner; `wrappers` are put on from the inside out."""

    def build(
        task="PerceptualDecisionMaking-v0",
        wrappers=(),
        reset="trial",
        network="lstm",
        units=16,
        seed=0,
        n_envs=4,
        task_args=None,
        network_args=None,
        make=None,
        **hyperparameters,
    ):
        def single():
            env = make() if make else ngym.make(task, **(task_args or {}))
            for name in wrappers:
                env = wrapper_class(name)(env)
            return env

        venv = TrialVecEnv(make_vec(single, n_envs), reset)
        venv.seed(seed)
        small = {"batch_size": 8, "seq_len": 40, "n_updates": 2, "n_steps": 8, **hyperparameters}
        dt = float(single().unwrapped.dt)
        return make_model("supervised", venv, network, units, network_args, small, dt, seed=seed, device="cpu")

    return build
