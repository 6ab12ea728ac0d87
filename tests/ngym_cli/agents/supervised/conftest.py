"""Performance of policies."""

import copy

import numpy as np
import pytest

from neurogym.vector import make_vec
from ngym_cli.agents.acting import rollout
from ngym_cli.agents.algorithms.sb3 import TrialVecEnv
from ngym_cli.agents.trained import agent_for


@pytest.fixture
def performance():
    """Mean performance of a policy on fresh trials, every action the preferred one."""

    def measure(model, trials=2000, n_envs=64, seed=99):
        inside = model.env.venv.envs[0]
        venv = TrialVecEnv(make_vec(lambda: copy.deepcopy(inside), n_envs), model.env.reset_state)
        venv.seed(seed)
        scores = []
        for _ in rollout(venv, agent_for(model.policy, seed, deterministic=True)):
            if venv.finished is not None:
                scores.extend(venv.finished["performance"])
            if len(scores) >= trials:
                return float(np.mean(scores))
        raise AssertionError("a rollout has no end")

    return measure
