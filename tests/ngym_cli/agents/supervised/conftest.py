"""Learners on small batches of trial-based tasks."""

import pytest

import neurogym as ngym
from neurogym.vector import make_vec
from neurogym.wrappers import wrapper_class
from ngym_cli.agents.from_config import make_model
from ngym_cli.environments.sb3_batch import TrialVecEnv


@pytest.fixture
def learner():
    """Build a supervised learner; `wrappers` are put on from the inside out."""

    def build(
        task="PerceptualDecisionMaking-v0", wrappers=(), reset="trial", network="lstm", units=16, seed=0, n_envs=4,
        task_args=None, network_args=None, make=None, **hyperparameters,
    ):  # fmt: skip
        def one():
            env = make() if make else ngym.make(task, **(task_args or {}))
            for name in wrappers:
                env = wrapper_class(name)(env)
            return env

        venv = TrialVecEnv(make_vec(one, n_envs), reset)
        venv.seed(seed)
        small = {"batch_size": 8, "seq_len": 40, "n_updates": 2, "n_steps": 8, **hyperparameters}
        dt = float(one().unwrapped.dt)
        return make_model("supervised", venv, network, units, network_args, small, dt, seed=seed, device="cpu")

    return build


@pytest.fixture
def performance():
    """Mean performance of a policy on fresh trials, every action the preferred one."""
    import numpy as np

    from ngym_cli.agents.trained import agent_for

    def measure(model, trials=2000, n_envs=64, seed=99):
        inside = model.env.venv.envs[0]
        import copy

        venv = TrialVecEnv(make_vec(lambda: copy.deepcopy(inside), n_envs), model.env.reset_state)
        venv.seed(seed)
        agent = agent_for(model.policy, n_envs, seed, deterministic=True)
        obs, starts, scores = venv.reset(), np.ones(n_envs, bool), []
        while len(scores) < trials:
            obs, _, starts, _ = venv.step(agent.act(obs, starts).actions)
            if venv.finished is not None:
                scores.extend(venv.finished["performance"])
        return float(np.mean(scores))

    return measure
