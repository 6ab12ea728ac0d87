"""How the time per step grows with environments, units, layers, length of trials and number of tasks.

    OMP_NUM_THREADS=1 python -m experiments.benchmarks.growth            # measures, writes growth.json and growth.svg
    OMP_NUM_THREADS=1 python -m experiments.benchmarks.growth --draw     # draws growth.svg from growth.json anew

`recurrent_ppo` with an LSTM, 4 epochs and the state reset at each trial; all but one thing are as usual (64
environments, 64 units, one layer, RDM-v0 with pass_reward). Seconds of the processor in one thread, so that other
programs matter less; medians of some turns after a first.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.benchmarks.training import built

HERE = Path(__file__).parent
RECORD, FIGURE = HERE / "growth.json", HERE / "growth.svg"
STEPS = 4096  # of a turn, in all environments together

#: Tasks that come in turn, as many as are requested.
TASKS = (
    "PerceptualDecisionMaking-v0",
    "GoNogo-v0",
    "DelayMatchSample-v0",
    "ContextDecisionMaking-v0",
    "Sternberg-v0",
    "DelayComparison-v0",
    "AntiReach-v0",
    "MultiSensoryIntegration-v0",
    "NAltPerceptualDecisionMaking-v0",
    "IntervalDiscrimination-v0",
    "MotorTiming-v0",
    "ProbabilisticReasoning-v0",
)

#: What grows: its name with the unit, the values, the settings that each stands for, and why it stops being linear.
GROWS: dict[str, tuple[tuple[int, ...], Any, str]] = {
    "environments": (
        (4, 16, 64, 256, 1024),
        lambda n: {"n_envs": n},
        "falls as calls are shared by more steps, until the arithmetic is all that is left",
    ),
    "units": (
        (16, 32, 64, 128, 256, 512),
        lambda n: {"units": n},
        "calls and environments below 64; above, the square of the units",
    ),
    "layers": ((1, 2, 3, 4), lambda n: {"network_args": {"layers": n}}, "linear: each layer adds as much arithmetic"),
    "stimulus (ms)": (
        (500, 2_000, 8_000, 32_000),
        lambda n: {"timing": {"stimulus": n}},
        "falls as fewer trials are reported; longer than a rollout nothing changes",
    ),
    "tasks": (
        (1, 2, 4, 8, 12),
        lambda n: {"task": "+".join(TASKS[:n]), "wrappers": "", "dt": 100},
        "the first step: several tasks have more inputs, and their trials are made one by one where they differ",
    ),
}


def time_per_step(settings: Mapping[str, Any], turns: int) -> float:
    """Median seconds of the processor per step of training."""
    run_settings = {"task": "RDM-v0", "wrappers": "pass_reward", "n_envs": 64, "reset_state": "trial", **settings}
    n_steps = max(4, STEPS // run_settings["n_envs"])
    run_settings["hyperparameters"] = {"n_steps": n_steps, "batch_size": STEPS // 4, "n_epochs": 4}
    model, _ = built(run_settings.pop("task"), run_settings.pop("wrappers"), **run_settings)
    size, rates = n_steps * model.n_envs, []
    for turn in range(turns + 1):
        began = time.process_time()
        model.learn(size, reset_num_timesteps=False)
        if turn:
            rates.append((time.process_time() - began) / size)
    return float(np.median(rates))


def draw(record: Mapping[str, Any]) -> None:
    """One panel for each thing that grows, with a line of what growing in proportion would look like."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    with plt.rc_context({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "ngym"}):
        figure, axes = plt.subplots(1, len(GROWS), figsize=(14, 2.8), layout="constrained", sharey=True)
        for axis, name in zip(axes, GROWS, strict=True):
            values = np.array([int(n) for n in record[name]])
            times = 1e6 * np.array(list(record[name].values()))
            axis.loglog(values, times, "o-", color="#0072b2", label="measured")
            if name in ("units", "layers"):
                axis.loglog(values, times[-1] * values / values[-1], ":", color="#888888", label="in proportion")
            if name == "units":
                axis.loglog(values, times[-1] * (values / values[-1]) ** 2, "--", color="#d55e00", label="squared")
            axis.set_xlabel(name)
            axis.set_xticks(values, [f"{n:,}" for n in values])
            axis.minorticks_off()
            if name in ("units", "layers"):
                axis.legend(frameon=False, fontsize=7)
        axes[0].set_ylabel("processor time per step (us)")
        figure.savefig(FIGURE, metadata={"Date": None})
        plt.close(figure)


def main() -> None:
    """Measure and draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--draw", action="store_true", help="draw what has been measured")
    arguments = parser.parse_args()
    if not arguments.draw:
        torch.set_num_threads(1)
        record: dict[str, dict[str, float]] = {}
        for name, (values, settings, _) in GROWS.items():
            record[name] = {}
            for value in values:
                record[name][str(value)] = microseconds = time_per_step(settings(value), arguments.turns)
                print(f"{name:<16}{value:>7,} {1e6 * microseconds:9.2f} us", flush=True)
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    draw(json.loads(RECORD.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
