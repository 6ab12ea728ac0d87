"""Speed of acting and of the search for fixed points with torch imported and with torch blocked.

    OMP_NUM_THREADS=1 python -m experiments.benchmarks.torchless [--rounds 5] [--steps 2000]

Networks of 64 units are trained briefly; after that fresh processes take turns, one with torch imported first, one in
which importing torch fails. Each acts on 64 environments and searches points from 1,000 states. CPU seconds are
counted, without imports. The ratio is that of the medians: blocked over imported.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CELLS = ("lstm", "gru", "ctrnn")
TASK, STARTS, ENVIRONMENTS = "FlipFlop-v0", 1000, 64
USES = ("imported", "blocked")


def child(folder: str, cell: str, use: str, steps: int) -> dict[str, float]:
    """Return CPU seconds of acting and of the search in this process."""
    if use == "imported":
        import torch

        torch.set_num_threads(1)
    else:
        sys.modules["torch"] = None  # type: ignore[assignment]  # every import of torch fails from here on
    import numpy as np

    from ngym_cli import load
    from ngym_cli.agents.acting import rollout
    from ngym_cli.agents.dynamics import search_points
    from ngym_cli.agents.from_config import build_batch
    from ngym_cli.agents.trained import agent_for, load_to_act

    run = load(cell, Path(folder))
    actor: Any = load_to_act(run.run, run.config)[0]
    acted = rollout(build_batch(run.config, ENVIRONMENTS), agent_for(actor, 0))
    states = np.random.default_rng(0).uniform(-1, 1, (STARTS, run.system.units))
    for _ in range(20):
        next(acted)
    return {
        "acting": seconds(lambda: [next(acted) for _ in range(steps)]),
        "search": seconds(lambda: search_points(run.system, [states], np.zeros((1, 3)), STARTS, slow=None)),
    }


def seconds(do: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    began = time.process_time()
    do()
    return time.process_time() - began


def fresh(folder: str, cell: str, use: str, steps: int) -> dict[str, float]:
    """Return the CPU seconds measured in a fresh process."""
    command = [sys.executable, "-m", __spec__.name, "--child", folder, cell, use, "--steps", str(steps)]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(process.stdout.splitlines()[-1]))


def main() -> None:
    """Train, let both kinds of process take turns, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=2000, help="steps of the batch of environments")
    parser.add_argument("--child", nargs=3, metavar=("FOLDER", "CELL", "USE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        folder, cell, use = arguments.child
        print(json.dumps(child(folder, cell, use, arguments.steps)))
        return
    from ngym_cli import train

    print(f"{'network':<10}{'what':<10}{'imported (s)':>14}{'blocked (s)':>14}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for cell in CELLS:
            train(
                TASK,
                alg="supervised",
                network=cell,
                timesteps=50_000,
                eval_every=0,
                name=cell,
                runs_root=folder,
                progress=False,
            )
            rounds = [{use: fresh(folder, cell, use, arguments.steps) for use in USES} for _ in range(arguments.rounds)]
            for purpose in ("acting", "search"):
                with_torch, without = (statistics.median(each[use][purpose] for each in rounds) for use in USES)
                ratio = without / with_torch
                print(f"{cell:<10}{purpose:<10}{with_torch:>14.2f}{without:>14.2f}{ratio:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
