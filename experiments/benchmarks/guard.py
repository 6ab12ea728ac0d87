"""Ratios that must not get worse: what ngym is measured against takes turns with it, so that the machine cancels out.

    OMP_NUM_THREADS=1 python -m experiments.benchmarks.guard [--rounds 5] [--json]

Takes about two minutes on one core; `make guard` and CI run it. Seconds of the processor are counted. Each floor lies
well below what is measured (README next to this file) and well above what losing the compiled path, or stepping
environments one by one, would give. Exit code 1 if a median is below its floor.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

import neurogym as ngym
from experiments.benchmarks.learner import bare, ours, settings, turn
from experiments.benchmarks.variants import learning, stepping
from neurogym import kernels
from neurogym.vector import LoopVectorEnv
from neurogym.wrappers import PassAction, PassReward

Turn = Callable[[], int]


class Guard(NamedTuple):
    """Two contestants, and how many times as fast the first must be at least."""

    what: str
    first: Callable[[], Turn]
    second: Callable[[], Turn]
    floor: float


def one_by_one(num_envs: int = 64, steps: int = 40) -> Turn:
    """The same environments stepped one after the other."""
    batch = LoopVectorEnv([ngym.make("RDM-v0") for _ in range(num_envs)])
    return _steps(batch, num_envs, steps)


def side_by_side(num_envs: int = 64, steps: int = 1500) -> Turn:
    """A batch as learners step it."""
    return _steps(ngym.make_vec("RDM-v0", num_envs), num_envs, steps)


def with_infos(num_envs: int = 64, steps: int = 1500) -> Turn:
    """The same with the infos that Gymnasium asks for."""
    return _steps(ngym.make_vec("RDM-v0", num_envs), num_envs, steps, "step")


def _steps(batch: Any, num_envs: int, steps: int, by: str = "move") -> Turn:
    batch.reset(seed=0)
    batch.action_space.seed(0)
    actions = [batch.action_space.sample() for _ in range(64)]
    step = getattr(batch, by)

    def take() -> int:
        for t in range(steps):
            step(actions[t % 64])
        return steps * num_envs

    return take


#: Tasks of which a single environment is stepped, with the floor of the ratio to `plain_loop`.
PLAIN_STEPS = {
    "Bandit-v0": 0.11,
    "ReadySetGo-v0": 0.17,
    "MultiSensoryIntegration-v0": 0.17,
    "PerceptualDecisionMaking-v0": 0.17,
    "GoNogo-v0": 0.17,
    "DelayMatchSample-v0": 0.17,
    "ContextDecisionMaking-v0": 0.17,
}


def one_environment(task: str, steps: int = 8000) -> Turn:
    """A single environment that shows the last reward and action, as scripts step it."""
    env = PassAction(PassReward(ngym.make(task)))
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(64)]

    def take() -> int:
        for t in range(steps):
            env.step(actions[t % 64])
        return steps

    return take


def plain_loop(steps: int = 8000) -> Turn:
    """A loop of look-ups and short arrays, as any environment in Python has at least."""
    table = np.ones((100, 3), np.float32)

    def take() -> int:
        for t in range(steps):
            wide = np.empty(5, np.float32)
            wide[:3] = table[t % 100]
            wide[3] = table.item(t % 100, 1)
            wide[4] = 1
        return steps

    return take


def program(*arguments: str) -> Turn:
    """A program in a process of its own, from start to end."""

    def take() -> int:
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
        return 1

    return take


def listings() -> list[Guard]:
    """Commands that people wait for, over an import of NumPy and Typer."""
    imports = lambda: program("-c", "import numpy, typer")  # noqa: E731
    commands = {"list tasks": 0.24, "list wrappers": 0.24, "--help": 0.36}
    return [
        Guard(f"ngym {words} over imports", partial(program, "-m", "ngym_cli", *words.split()), imports, floor)
        for words, floor in commands.items()
    ]


def guards() -> list[Guard]:
    """All of them; those of compiled functions where there are any."""
    checks = [
        *listings(),
        *(
            Guard(f"a step of {task} over a loop", partial(one_environment, task), plain_loop, floor)
            for task, floor in PLAIN_STEPS.items()
        ),
        Guard("batch over environments one by one", side_by_side, one_by_one, 4.0),
        Guard("a step without infos over one with them", side_by_side, with_infos, 1.05),
    ]
    if kernels.variant() == kernels.PLAIN:
        return checks
    best = kernels.variant()
    return [
        *checks,
        Guard("learner over the bare loop, reset", lambda: turn(ours(settings(True)), 2), lambda: bare(True, 1), 1.8),
        Guard(
            "learner over the bare loop, carried", lambda: turn(ours(settings(False)), 2), lambda: bare(False, 1), 1.5
        ),
        Guard("learning, compiled over plain", lambda: learning(best), lambda: learning(kernels.PLAIN), 1.6),
        Guard("stepping, compiled over plain", lambda: stepping(best), lambda: stepping(kernels.PLAIN), 1.1),
    ]


def processor_seconds() -> float:
    """Seconds of the processor of this process and of all that it started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def measure(guard: Guard, rounds: int) -> list[float]:
    """Ratios of speed, one for each round; each contestant has had a turn before."""
    contestants = guard.first(), guard.second()
    for take in contestants:
        take()
    ratios = []
    for _ in range(rounds):
        speeds = []
        for take in contestants:
            began = processor_seconds()
            speeds.append(take() / (processor_seconds() - began))
        ratios.append(speeds[0] / speeds[1])
    return ratios


def main() -> None:
    """Print a line for each guard; exit with 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for guard in guards():
        ratios = measure(guard, arguments.rounds)
        median = float(np.median(ratios))
        rows.append({"what": guard.what, "median": median, "floor": guard.floor, "ratios": ratios})
        if not arguments.json:
            verdict = "ok" if median >= guard.floor else "TOO SLOW"
            spread = f"({min(ratios):.2f}-{max(ratios):.2f})"
            print(f"{guard.what:<44}{median:7.2f} {spread:<15} at least {guard.floor:<5}{verdict}", flush=True)
    if arguments.json:
        json.dump(rows, sys.stdout, indent=1)
    sys.exit(any(row["median"] < row["floor"] for row in rows))


if __name__ == "__main__":
    main()
