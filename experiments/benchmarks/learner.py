"""Speed of the recurrent learner against sb3-contrib's and against a hand-written loop, at equal settings.

    OMP_NUM_THREADS=1 python -m experiments.benchmarks.learner

LSTM of 64 units shared by actor and critic, 64 environments, 128 steps, 4 epochs, 4 minibatches; RDM-v0 with
pass_reward, fixation 300, stimulus 500, decision 300 ms. The contestants take turns in one process; a ratio is taken in
each round. All step the same batch of this toolkit; sb3-contrib also Stable-Baselines3's DummyVecEnv of the same 64
environments, as without this toolkit. `kernel` is how fast any learner could be that spends time on nothing but
nn.LSTM, forward and backward over the steps of all epochs.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from sb3_contrib import RecurrentPPO as ContribRecurrentPPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv
from torch import nn

from experiments.benchmarks.bare import BareLoop
from ngym_cli.agents.algorithms.recurrent_ppo import RecurrentPPO
from ngym_cli.agents.from_config import build_venv
from ngym_cli.config.model import RunConfig, from_dict
from ngym_cli.config.tasks import find_task
from ngym_cli.environments.stack import make_env

SETTINGS: dict[str, Any] = {"n_steps": 128, "n_epochs": 4, "batch_size": 2048, "learning_rate": 1e-3, "seed": 0}
ROLLOUT = 128 * 64
CELLS = ("lstm", "gru", "rnn", "ctrnn", "ei_rnn")


def settings(reset: bool, **timing: int) -> RunConfig:
    """The task of the benchmark; periods in ms."""
    durations = {"fixation": 300, "stimulus": 500, "decision": 300, **timing}
    state = "trial" if reset else "never"
    return from_dict({"task": "RDM-v0", "wrappers": "pass_reward", "timing": durations, "reset_state": state})


def environments(config: RunConfig, n_envs: int = 64) -> VecEnv:
    """The batch of this toolkit."""
    venv = build_venv(config, n_envs)
    venv.seed(0)
    return venv


class EndOfTrial(gym.Wrapper):
    """Ends the episode with the trial, which is how a learner for episodes is made to reset its state."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        ob, reward, _, truncated, info = self.env.step(action)
        return ob, reward, info["new_trial"], truncated, info


def one_by_one(config: RunConfig, n_envs: int = 64) -> VecEnv:
    """Stable-Baselines3's batch of the same environments."""
    around = EndOfTrial if config.reset_state == "trial" else gym.Wrapper
    venv = DummyVecEnv([lambda: around(make_env(find_task(config.task), config)) for _ in range(n_envs)])
    venv.seed(0)
    return venv


def ours(config: RunConfig, network: str = "lstm", n_envs: int = 64, units: int = 64, **kwargs: Any) -> RecurrentPPO:
    """The learner that is measured."""
    policy = {"network": network, "units": units}
    return RecurrentPPO("RecurrentPolicy", environments(config, n_envs), policy_kwargs=policy, **{**SETTINGS, **kwargs})


def contrib(venv: VecEnv) -> ContribRecurrentPPO:
    """sb3-contrib with the same network and hyperparameters."""
    policy = {"lstm_hidden_size": 64, "shared_lstm": True, "enable_critic_lstm": False, "net_arch": []}
    return ContribRecurrentPPO("MlpLstmPolicy", venv, policy_kwargs=policy, **SETTINGS)


def turn(model: BaseAlgorithm, rollouts: int = 4) -> Callable[[], int]:
    """A function that does rollouts with their updates and returns the number of steps."""
    steps = rollouts * model.n_steps * model.n_envs  # type: ignore[attr-defined]
    model.learn(1)
    return lambda: model.learn(steps, reset_num_timesteps=False) and steps


def bare(reset: bool, rollouts: int = 3) -> Callable[[], int]:
    """The hand-written loop as such a function."""
    loop = BareLoop(environments(settings(reset)))
    loop.iterate()
    return lambda: len([loop.iterate() for _ in range(rollouts)]) * ROLLOUT


def kernel(n_time: int, width: int, features: int, steps: int = 3 * ROLLOUT, units: int = 64) -> Callable[[], int]:
    """As many passes of nn.LSTM, forward and backward, as so many steps have in their updates; nothing else."""
    lstm = nn.LSTM(features, units)
    inputs, state = torch.randn(n_time, width, features), torch.zeros(1, width, units)
    passes = SETTINGS["n_epochs"] * steps // (n_time * width)

    def run() -> int:
        for _ in range(passes):
            lstm(inputs, (state, state))[0].sum().backward()
        return steps

    return run


def race(contestants: Mapping[Any, Callable[[], int]], rounds: int) -> dict[Any, np.ndarray]:
    """Steps per second in each round, the contestants taking turns."""
    speed: dict[Any, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            began = time.perf_counter()
            steps = run()
            speed[name].append(steps / (time.perf_counter() - began))
    return {name: np.array(values) for name, values in speed.items()}


def spread(values: Any) -> dict[str, float]:
    """Median, smallest and largest."""
    return {"median": float(np.median(values)), "min": float(np.min(values)), "max": float(np.max(values))}


def learners(reset: bool, rounds: int) -> dict[str, Any]:
    """Speeds and ratios with the state carried over or reset at each trial."""
    config = settings(reset)
    venv = environments(config)
    length, width = (11, 186) if reset else (128, 16)  # of a minibatch of 2,048 steps
    speed = race(
        {
            "ours": turn(ours(config), 6),
            "sb3-contrib": turn(contrib(venv), 1),
            "sb3-contrib on DummyVecEnv": turn(contrib(one_by_one(config)), 1),
            "bare loop": bare(reset),
            "kernel": kernel(length, width, venv.observation_space.shape[0]),
        },
        rounds,
    )
    cells = race({cell: turn(ours(config, cell)) for cell in CELLS}, rounds)
    return {
        "steps per second": {who: spread(values) for who, values in speed.items()},
        "ours over": {who: spread(speed["ours"] / values) for who, values in speed.items() if who != "ours"},
        "cells over lstm": {cell: spread(cells[cell] / cells["lstm"]) for cell in CELLS[1:]},
    }


def large(rounds: int, n_envs: int = 1024, units: int = 512, n_steps: int = 16) -> dict[str, float]:
    """A large network in many environments, state carried: the learner's speed over that of passes of nn.LSTM alone."""
    config, width = settings(False), n_envs // 4
    model = ours(config, n_envs=n_envs, units=units, n_steps=n_steps, batch_size=n_steps * width)
    features = model.observation_space.shape[0]  # type: ignore[index]
    torch_alone = kernel(n_steps, width, features, n_steps * n_envs, units)
    speed = race({"ours": turn(model, 1), "kernel": torch_alone}, rounds)
    return spread(speed["ours"] / speed["kernel"])


def main() -> None:
    """Run and print as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    report = {
        "1,024 environments and 512 units, over kernel": large(rounds),
        "state carried": learners(False, rounds),
        "state reset at each trial": learners(True, rounds),
        "peak memory (MB)": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    json.dump(report, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
