"""Speed of supervised learning against the loop that one writes by hand in PyTorch, at equal batches.

    OMP_NUM_THREADS=1 python -m experiments.benchmarks.supervised

The straightforward loop is that of the tutorials: windows of an endless stream of trials for each sequence of the
batch; `nn.LSTM` and a linear read-out over the window; cross-entropy over all steps; Adam. Its windows come from trials
described one at a time, from trials written out by hand in NumPy, and from this toolkit's Dataset. Each contestant
learns from the same number of steps per update with the same network. They take turns in one process and one thread;
times are CPU times, and a ratio is taken in each round. With --threads 2 the learner shares its work among two threads,
the loops still have one, and times are those of the clock: nothing else should run.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import nn

import neurogym
from neurogym.envs.multi import make_multi
from neurogym.vector import make_vec
from ngym_cli import processes
from ngym_cli.agents.algorithms.sb3 import TrialVecEnv
from ngym_cli.agents.supervised.learner import Supervised

Make = Callable[[], gym.Env]
CASES: dict[str, tuple[Make, int, int, int]] = {  # environment, sequences, steps of each, units
    "random dots": (lambda: neurogym.make("PerceptualDecisionMaking-v0"), 16, 100, 64),
    "context": (
        lambda: neurogym.make("ContextDecisionMaking-v0", use_expl_context=True, timing={"delay": 0}),
        32,
        22,
        128,
    ),
    "yang19": (lambda: make_multi("yang19", dim_ring=2), 32, 100, 128),
}


class TrialByTrial:
    """Batches from a cache that is filled with one trial after the other, (time, batch, ...)."""

    def __init__(self, make: Make, batch_size: int, seq_len: int, windows: int = 16) -> None:
        self.envs = [make() for _ in range(batch_size)]
        for i, env in enumerate(self.envs):
            env.reset(seed=i)
        steps = windows * seq_len
        self.inputs = np.zeros((steps, batch_size, *self.envs[0].observation_space.shape), np.float32)
        self.targets = np.zeros((steps, batch_size), np.int64)
        self.seq_len, self.at = seq_len, steps

    def __call__(self) -> tuple[np.ndarray, np.ndarray]:
        if self.at >= len(self.targets):
            for i in range(len(self.envs)):
                self.fill(i)
            self.at = 0
        self.at += self.seq_len
        return self.inputs[self.at - self.seq_len : self.at], self.targets[self.at - self.seq_len : self.at]

    def fill(self, i: int) -> None:
        at = 0
        while at < len(self.targets):
            ob, gt = self.trial(self.envs[i].unwrapped)
            n = min(len(gt), len(self.targets) - at)
            self.inputs[at : at + n, i], self.targets[at : at + n, i] = ob[:n], gt[:n]
            at += n

    def trial(self, env: Any) -> tuple[np.ndarray, np.ndarray]:
        """One trial, described on its own as `new_trial` of a user's task does it."""
        trials = env.make_trials(1)
        return trials.ob, trials.gt


class ByHand(TrialByTrial):
    """The same with trials of random dots written out in six lines of NumPy: less than any toolkit does."""

    rng = np.random.default_rng(0)

    def trial(self, env: Any) -> tuple[np.ndarray, np.ndarray]:
        ob, gt = np.zeros((22, 3), np.float32), np.zeros(22, np.int64)
        side, coh = self.rng.integers(2), env.cohs[self.rng.integers(len(env.cohs))]
        ob[:21, 0], gt[21] = 1, 1 + side
        ob[1:21, 1:] = 0.5 + coh / 200 * np.cos(env.theta - env.theta[side])
        ob[1:21, 1:] += env.sigma * self.rng.standard_normal((20, 2))
        return ob, gt


def in_blocks(make: Make, batch_size: int, seq_len: int) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    """This toolkit's Dataset, which makes trials in blocks."""
    return neurogym.Dataset(make(), batch_size=batch_size, seq_len=seq_len, seed=0)


SOURCES = {"one trial at a time": TrialByTrial, "by hand": ByHand, "Dataset": in_blocks}


class Network(nn.Module):
    """An LSTM and a linear read-out."""

    def __init__(self, inputs: int, units: int, actions: int) -> None:
        super().__init__()
        self.lstm, self.linear = nn.LSTM(inputs, units), nn.Linear(units, actions)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(self.lstm(x)[0])


def straightforward(source: Any, make: Make, batch_size: int, seq_len: int, units: int) -> Callable[[int], None]:
    """The hand-written loop."""
    dataset, env = source(make, batch_size, seq_len), make()
    network = Network(env.observation_space.shape[0], units, int(env.action_space.n))
    optimizer, criterion = torch.optim.Adam(network.parameters(), lr=1e-2), nn.CrossEntropyLoss()

    def updates(n: int) -> None:
        for _ in range(n):
            inputs, targets = (torch.from_numpy(array) for array in dataset())
            optimizer.zero_grad()
            outputs = network(inputs)
            loss = criterion(outputs.reshape(-1, outputs.shape[-1]), targets.flatten())
            loss.backward()
            optimizer.step()

    return updates


def ours(
    make: Make, batch_size: int, seq_len: int, units: int, reset: str
) -> tuple[Callable[[int], None], list[float]]:
    """The learner, behaviour between updates included, and where the seconds spent on making trials are noted."""
    venv = TrialVecEnv(make_vec(make, 64), reset)
    size = {"batch_size": batch_size, "seq_len": seq_len}
    model = Supervised("RecurrentPolicy", venv, policy_kwargs={"units": units}, seed=0, device="cpu", **size)
    spent, batch = [0.0], model.batch

    def timed() -> Any:
        began = clock()
        trials = batch()
        spent[0] += clock() - began
        return trials

    model.batch = timed  # type: ignore[method-assign]
    model.learn(1)
    return lambda n: model.learn(n * batch_size * seq_len, reset_num_timesteps=False) and None, spent


def clock() -> float:
    """Seconds of CPU time, or where threads share the work of the clock."""
    return time.process_time() if processes.learning_threads() == 1 else time.perf_counter()


def measure(case: str, rounds: int, updates: int) -> dict[str, Any]:
    """Milliseconds per update of each contestant, and ratios of the loops' to ours over rounds."""
    make, *size = CASES[case]
    loops = [name for name in SOURCES if name != "by hand" or case == "random dots"]
    contestants = {name: straightforward(SOURCES[name], make, *size) for name in loops}
    spent: dict[str, list[float]] = {}
    for name, reset in (("ours, reset at each trial", "trial"), ("ours, never reset", "never")):
        contestants[name], spent[name] = ours(make, *size, reset)
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():
        run(updates)
    for noted in spent.values():
        noted[0] = 0.0
    for _ in range(rounds):
        for name, run in contestants.items():
            began = clock()
            run(updates)
            times[name].append((clock() - began) / updates * 1e3)
    return {
        name: {
            "ms_per_update": float(np.median(seconds)),
            **{f"over {loop}": spread(np.array(times[loop]) / seconds) for loop in loops if name in spent},
            **({"making_trials": round(spent[name][0] / (sum(seconds) * updates / 1e3), 3)} if name in spent else {}),
        }
        for name, seconds in times.items()
    }


def spread(ratios: np.ndarray) -> list[float]:
    """Median, least and greatest."""
    return [round(float(value), 2) for value in (np.median(ratios), ratios.min(), ratios.max())]


def main() -> None:
    """Print a table and, with --json, the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    processes.set_learning_threads(arguments.threads)
    results = {case: measure(case, arguments.rounds, arguments.updates) for case in CASES}
    if arguments.json:
        json.dump(results, sys.stdout, indent=2)
        return
    for case, contestants in results.items():
        print(case)
        for name, numbers in contestants.items():
            line = f"  {name:<26}{numbers['ms_per_update']:8.2f} ms an update"
            for key, ratio in numbers.items():
                if key.startswith("over"):
                    line += f"; {ratio[0]:.1f} ({ratio[1]:.1f}-{ratio[2]:.1f}) times {key}"
            print(line + (f"; {numbers['making_trials']:.0%} making trials" if "making_trials" in numbers else ""))


if __name__ == "__main__":
    main()
