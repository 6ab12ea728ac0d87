"""Speed of the learner and of batched stepping with every variant of the compiled functions, and with none.

    OMP_NUM_THREADS=1 python -m experiments.benchmarks.variants [--rounds 5] [--threads 1,2]

The variants take turns in one process; what is printed are ratios to the best variant, or to one thread, taken in each
round. The learner is that of `learner.py`, with the state reset at each trial; stepping is 256 environments of RDM-v0.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

import torch

import neurogym as ngym
from experiments.benchmarks.learner import ours, race, settings, spread, turn
from neurogym import kernels
from ngym_cli import processes


def learning(name: str, n_threads: int = 1) -> Callable[[], int]:
    """A function that trains for two rollouts with a variant and returns the number of steps."""
    with kernels.use(name):
        processes.set_learning_threads(n_threads)
        train = turn(ours(settings(reset=True)), 2)

    def run() -> int:
        processes.set_learning_threads(n_threads)
        with kernels.use(name):
            return train()

    return run


def stepping(name: str, num_envs: int = 256, steps: int = 500) -> Callable[[], int]:
    """A function that takes steps in a batch with a variant and returns their number."""
    batch = ngym.make_vec("RDM-v0", num_envs)
    batch.reset(seed=0)
    batch.action_space.seed(0)
    actions = [batch.action_space.sample() for _ in range(64)]

    def run() -> int:
        with kernels.use(name):
            for t in range(steps):
                batch.step(actions[t % 64])
        return steps * num_envs

    return run


def ratios(contestants: dict[Any, Callable[[], int]], to: Any, rounds: int) -> dict[str, dict[str, float]]:
    """Speed of each over that of one of them."""
    speed = race(contestants, rounds)
    return {str(who): spread(values / speed[to]) for who, values in speed.items()}


def main() -> None:
    """Run and print as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", default="1,2", help="numbers of threads, separated by commas")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    names = kernels.runnable()
    best = kernels.variant()
    rates = {
        "learning, over the best": ratios({name: learning(name) for name in names}, best, arguments.rounds),
        "stepping, over the best": ratios({name: stepping(name) for name in names}, best, arguments.rounds),
    }
    counts = [int(n) for n in arguments.threads.split(",")]
    rates["threads, over the first"] = ratios({n: learning(best, n) for n in counts}, counts[0], arguments.rounds)
    json.dump({"best": best, **rates}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
