"""Speed of the recurrent learner against sb3-contrib's and against a hand-written loop, at equal settings.

    OMP_NUM_THREADS=1 python -m experiments.benchmarks.learner

LSTM of 64 units shared by actor and critic, 64 environments, 128 steps, 4 epochs, 4 minibatches; random dots with
fixation 300, stimulus 500, decision 300 ms. The contestants take turns in one process; a ratio is taken in each round.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sb3_contrib import RecurrentPPO as ContribRecurrentPPO
from stable_baselines3.common.base_class import BaseAlgorithm

from experiments.benchmarks.bare import BareLoop
from experiments.benchmarks.dots import RandomDots
from ngym_cli.algorithms.recurrent_ppo import RecurrentPPO

SETTINGS: dict[str, Any] = {"n_steps": 128, "n_epochs": 4, "batch_size": 2048, "learning_rate": 1e-3, "seed": 0}
TIMING = {"fixation": 3, "stimulus": 5, "decision": 3}
ROLLOUT = 128 * 64


def environment(reset: bool, n_envs: int = 64, **timing: int) -> RandomDots:
    """The task of the benchmark."""
    return RandomDots(n_envs, reset_each_trial=reset, **{**TIMING, **timing})


def ours(reset: bool, network: str = "lstm", **kwargs: Any) -> RecurrentPPO:
    """The learner that is measured."""
    return RecurrentPPO(
        "RecurrentPolicy", environment(reset), policy_kwargs={"network": network}, **{**SETTINGS, **kwargs}
    )


def contrib(reset: bool) -> ContribRecurrentPPO:
    """sb3-contrib with the same network and hyperparameters."""
    policy = {"lstm_hidden_size": 64, "shared_lstm": True, "enable_critic_lstm": False, "net_arch": []}
    return ContribRecurrentPPO("MlpLstmPolicy", environment(reset), policy_kwargs=policy, **SETTINGS)


def iterations(model: BaseAlgorithm) -> Callable[[int], None]:
    """A function that does n rollouts with their updates."""
    model.learn(ROLLOUT)
    return lambda n: model.learn(n * ROLLOUT, reset_num_timesteps=False)


def bare(reset: bool) -> Callable[[int], None]:
    """The hand-written loop as such a function."""
    loop = BareLoop(environment(reset))
    loop.iterate()
    return lambda n: [loop.iterate() for _ in range(n)] and None


def race(contestants: dict[str, tuple[Callable[[int], None], int]], rounds: int) -> dict[str, list[float]]:
    """Steps per second in each round, the contestants taking turns; each with its number of rollouts per turn."""
    speed: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, (run, n) in contestants.items():
            began = time.perf_counter()
            run(n)
            speed[name].append(n * ROLLOUT / (time.perf_counter() - began))
    return speed


def spread(values: Any) -> dict[str, float]:
    """Median, smallest and largest."""
    return {"median": float(np.median(values)), "min": float(np.min(values)), "max": float(np.max(values))}


def shares(model: RecurrentPPO, n: int = 10) -> dict[str, float]:
    """What part of the time goes into the environment, the rest of the rollout, and the update."""
    spent = {"environment": 0.0, "rollout": 0.0, "update": 0.0}

    def timed(owner: Any, method: str, part: str) -> None:
        original = getattr(owner, method)

        def call(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            result = original(*args, **kwargs)
            spent[part] += time.perf_counter() - began
            return result

        setattr(owner, method, call)

    timed(model.env, "step", "environment")
    timed(model, "collect_rollouts", "rollout")
    timed(model, "train", "update")
    model.learn(n * ROLLOUT)
    spent["rollout"] -= spent["environment"]
    total = sum(spent.values())
    return {part: seconds / total for part, seconds in spent.items()}


def report(rounds: int) -> dict[str, Any]:
    """All figures."""
    results: dict[str, Any] = {}
    for reset, name in ((False, "state carried"), (True, "state reset each trial")):
        speed = race(
            {
                "ours": (iterations(ours(reset)), 6),
                "sb3-contrib": (iterations(contrib(reset)), 1),
                "bare loop": (bare(reset), 3),
            },
            rounds,
        )
        mine = np.array(speed["ours"])
        results[name] = {
            "steps per second": {who: spread(values) for who, values in speed.items()},
            "over sb3-contrib": spread(mine / speed["sb3-contrib"]),
            "over bare loop": spread(mine / speed["bare loop"]),
            "shares": shares(ours(reset)),
        }
        cells = race({cell: (iterations(ours(reset, cell)), 4) for cell in CELLS}, rounds)
        over = {cell: spread(np.array(cells[cell]) / cells["lstm"]) for cell in CELLS[1:]}
        results[name]["over lstm"] = over
    results["peak memory (MB)"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return results


CELLS = ("lstm", "gru", "rnn", "ctrnn", "ei_rnn")


def main() -> None:
    """Run and print as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    json.dump(report(rounds), sys.stdout, indent=1)


if __name__ == "__main__":
    main()
