"""Learners on a GPU, measured in at most six minutes and without network: one JSON, nothing else is written.

    python -m experiments.benchmarks.gpu --out gpu.json              # on the machine with the GPU
    python -m experiments.benchmarks.gpu --device cpu --tiny         # a trial of the script, in seconds

Recurrent PPO (RDM-v0, state carried over; rollouts of 32 steps, 4 epochs of 4 minibatches) by us on the GPU, by us on
all cores of the CPU, by sb3-contrib on the same GPU, and by the passes of torch's own network alone, forward and
backward over the steps of all epochs. Then the ways of acting and learning on the device against each other, supervised
learning of yang19, memory, losses and gradients against the CPU, and 300 updates with the same seed twice. What does
not fit into the time is left out and listed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

CELLS = ("lstm", "gru", "ctrnn")
UNITS, ENVIRONMENTS = (64, 256, 1024, 2048), (64, 1024, 4096)
MAIN = ("lstm", 1024, 1024)  #: network, units and environments of the goals
JSON = dict[str, Any]


class Sizes(NamedTuple):
    """Sizes of rollouts and updates, and seconds that rounds of a measurement are repeated for."""

    n_steps: int
    n_epochs: int
    n_minibatches: int
    seconds: float


FULL, TINY = Sizes(32, 4, 4, 1.0), Sizes(4, 1, 2, 0.0)


@dataclasses.dataclass
class Budget:
    """Time of the whole script and of one measurement (s), and what was left out."""

    total: float
    each: float
    sizes: Sizes = FULL
    began: float = dataclasses.field(default_factory=time.perf_counter)
    left_out: list[str] = dataclasses.field(default_factory=list)
    rates: dict[str, float] = dataclasses.field(default_factory=dict)

    @property
    def left(self) -> float:
        """Seconds left."""
        return self.total - (time.perf_counter() - self.began)

    def speed(self, name: str, kind: str, work: float, make: Callable[[], Callable[[], int]]) -> float | None:
        """Return steps per second, the median over some rounds after a first; None if there is no time.

        Args:
            name: of the measurement.
            kind: contestant, whose earlier measurements say how long this one takes.
            work: arithmetic of a round, in any unit.
            make: returns a function that does a round and returns the number of steps.
        """
        import torch

        expected = 2 * work / self.rates[kind] if kind in self.rates else 0.0
        if expected > min(self.each, self.left) or self.left < 2:
            self.left_out.append(name)
            return None
        try:
            run = make()
            run()
            rounds, began = [], time.perf_counter()
            while not rounds or (len(rounds) < 5 and time.perf_counter() - began < min(self.sizes.seconds, self.left)):
                start = time.perf_counter()
                steps = run()
                if torch.cuda.is_available():
                    torch.cuda.synchronize()
                seconds = time.perf_counter() - start
                rounds.append(steps / seconds)
        except RuntimeError as error:  # out of memory, for one
            self.left_out.append(f"{name}: {str(error).splitlines()[0]}")
            return None
        finally:
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
        self.rates[kind] = work / seconds
        return sorted(rounds)[len(rounds) // 2]


@dataclasses.dataclass(frozen=True)
class Case:
    """Network, units and environments, and the sizes of rollouts and updates."""

    network: str
    units: int
    n_envs: int
    device: str
    sizes: Sizes = FULL

    @property
    def work(self) -> float:
        """Products of a round."""
        gates = {"lstm": 4, "gru": 3}.get(self.network, 1)
        return gates * self.units * (self.units + 4) * self.n_envs * self.sizes.n_steps * (1 + 3 * self.sizes.n_epochs)

    @property
    def settings(self) -> JSON:
        """Hyperparameters."""
        n_steps, n_epochs, n_minibatches, _ = self.sizes
        batch = self.n_envs * n_steps // n_minibatches
        return {"n_steps": n_steps, "n_epochs": n_epochs, "batch_size": batch, "learning_rate": 1e-3}

    def venv(self) -> Any:
        """The environments."""
        from experiments.benchmarks.learner import environments, settings

        return environments(settings(False), self.n_envs)

    def ours(self, **network_args: Any) -> Any:
        """Our learner."""
        from ngym_cli.agents.from_config import make_model

        options = {"dt": 100.0} if self.network == "ctrnn" else {}
        options |= network_args
        network = (self.network, self.units, options)
        return make_model("recurrent_ppo", self.venv(), *network, self.settings, 100.0, seed=0, device=self.device)

    def contrib(self) -> Any:
        """sb3-contrib's learner."""
        from sb3_contrib import RecurrentPPO

        policy = {"lstm_hidden_size": self.units, "shared_lstm": True, "enable_critic_lstm": False, "net_arch": []}
        sizes = {**self.settings, "seed": 0, "device": self.device}
        return RecurrentPPO("MlpLstmPolicy", self.venv(), policy_kwargs=policy, **sizes)

    def kernel(self) -> Callable[[], int]:
        """The passes of torch's own network over the steps of all epochs."""
        import torch
        from torch import nn

        n_steps, n_epochs, n_minibatches, _ = self.sizes
        features, width = 4, max(1, self.n_envs // n_minibatches)
        kind = {"lstm": nn.LSTM, "gru": nn.GRU}.get(self.network, nn.RNN)
        network: Any = kind(features, self.units).to(self.device)
        inputs = torch.randn(n_steps, width, features, device=self.device)

        def run() -> int:
            for _ in range(n_epochs * n_minibatches):
                network.zero_grad(set_to_none=True)
                network(inputs)[0].sum().backward()
            return n_steps * self.n_envs

        return run


def turn(model: Any) -> Callable[[], int]:
    """A function that does a rollout with its updates and returns the number of steps."""
    steps = model.n_steps * model.n_envs
    model.learn(1)
    return lambda: model.learn(steps, reset_num_timesteps=False) and steps


def memory(device: str) -> float | None:
    """Largest memory of the device since the last call (MB)."""
    import torch

    if device == "cpu":
        return None
    peak = torch.cuda.max_memory_allocated() / 2**20
    torch.cuda.reset_peak_memory_stats()
    return round(peak, 1)


def grid(cases: list[tuple[str, int, int]], device: str, budget: Budget) -> Iterator[JSON]:
    """Speeds of all contestants, case by case."""
    for network, units, n_envs in cases:
        case, name = Case(network, units, n_envs, device, budget.sizes), f"{network} {units} x {n_envs}"
        memory(device)
        row: JSON = {"network": network, "units": units, "n_envs": n_envs}
        row["ours"] = budget.speed(f"ours {name}", "ours", case.work, lambda case=case: turn(case.ours()))
        row["memory_mb"] = memory(device)
        row["kernel"] = budget.speed(f"kernel {name}", "kernel", case.work, case.kernel)
        on_cpu = dataclasses.replace(case, device="cpu")
        row["ours_cpu"] = budget.speed(f"cpu {name}", "cpu", case.work, lambda case=on_cpu: turn(case.ours()))
        if network == "lstm":
            row["contrib"] = budget.speed(
                f"contrib {name}", "contrib", case.work, lambda case=case: turn(case.contrib())
            )
        yield row


def ways(main: tuple[str, int, int], device: str, budget: Budget) -> JSON:
    """Ways of acting and learning of the same learner: graphs or not, packed or padded, precision."""
    from ngym_cli.agents.device.acting import GRAPHS

    case = Case(*main, device, budget.sizes)
    seconds: JSON = {}

    def padded() -> Callable[[], int]:
        model = case.ours()
        for network in model.policy.networks:
            network.padded = True
        return turn(model)

    seconds["usual"] = budget.speed("usual", "ours", case.work, lambda: turn(case.ours()))
    seconds["padded"] = budget.speed("padded", "ours", case.work, padded)
    seconds["bf16"] = budget.speed("bf16", "ours", case.work, lambda: turn(case.ours(precision="bf16")))
    os.environ[GRAPHS] = "0"
    try:
        seconds["without graphs"] = budget.speed("no graphs", "ours", case.work, lambda: turn(case.ours()))
    finally:
        del os.environ[GRAPHS]
    return seconds


def shares(main: tuple[str, int, int], device: str, budget: Budget) -> JSON:
    """Seconds of a rollout with its updates: in all, of steps of environments (CPU) and of updates; medians."""
    import torch

    model = Case(*main, device, budget.sizes).ours()
    environments, steps, updates = model.env, list[float](), list[float]()

    def timed(call: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            began = time.perf_counter()
            result = call(*arguments)
            seconds.append(time.perf_counter() - began)
            return result

        return run

    def update(train: Callable[[], None] = model.train) -> None:
        train()
        if device != "cpu":
            torch.cuda.synchronize()

    environments.step, model.train = timed(environments.step, steps), timed(update, updates)
    totals = list[float]()
    learn = timed(turn(model), totals)
    for _ in range(2 if budget.sizes is TINY else 7):
        learn()
    of_rollout = [sum(steps[k : k + model.n_steps]) for k in range(0, len(steps), model.n_steps)]
    middle = {"total": totals[1:], "environments": of_rollout[2:], "updates": updates[2:]}
    return {name: sorted(seconds)[len(seconds) // 2] for name, seconds in middle.items()}


def parity(cells: tuple[str, ...], units: int, device: str, sizes: Sizes) -> JSON:
    """Differences of losses and gradients from those on the CPU, relative to the largest; in TF32 and without."""
    import torch

    results: JSON = {}
    for network in cells:
        model, on_device = (Case(network, units, 64, where, sizes).ours() for where in ("cpu", device))
        model.learn(model.n_steps * model.n_envs)
        on_device.policy.load_state_dict(model.policy.state_dict())
        segments = next(iter(model.minibatches()))
        batch = next(model.rollout_buffer.experience(torch.device("cpu")).minibatches(segments, True))
        loss, _ = model.loss(batch)
        gradient = model.policy.gradient(loss)
        for tf32 in (True, False):
            torch.backends.cudnn.allow_tf32 = tf32
            device_loss, _ = on_device.loss(_moved(batch, device))
            slopes = on_device.policy.gradient(device_loss).cpu()
            results[f"{network}, {'TF32' if tf32 else 'float32'}"] = {
                "loss": abs(device_loss.item() - loss.item()),
                "gradient": float((slopes - gradient).abs().max() / gradient.abs().max()),
            }
        torch.backends.cudnn.allow_tf32 = True
    return results


def _moved(data: Any, device: str) -> Any:
    """A copy of a dataclass of tensors on a device."""
    import torch

    if dataclasses.is_dataclass(data) and not isinstance(data, type):
        fields = {field.name: _moved(getattr(data, field.name), device) for field in dataclasses.fields(data)}
        return dataclasses.replace(data, **fields)
    if isinstance(data, tuple | list) and any(isinstance(each, torch.Tensor | None) for each in data):
        return type(data)(_moved(each, device) for each in data)
    return data.to(device) if isinstance(data, torch.Tensor) else data


def repeated(cells: tuple[str, ...], units: int, updates: int, device: str, sizes: Sizes) -> JSON:
    """Largest difference between the weights of two runs with the same seed, after so many updates."""
    from torch.nn.utils import parameters_to_vector

    results: JSON = {}
    for network in cells:
        weights = []
        for _ in range(2):
            model = Case(network, units, 64, device, sizes).ours()
            rollouts = -(-updates // (sizes.n_epochs * sizes.n_minibatches))
            model.learn(rollouts * model.n_steps * model.n_envs)
            weights.append(parameters_to_vector(model.policy.parameters()).detach())
        results[network] = float((weights[0] - weights[1]).abs().max())
    return results


def supervised(units: int, batch_size: int, device: str, budget: Budget) -> JSON:
    """Steps per second of supervised learning of yang19, on the device and on the CPU."""
    from ngym_cli.agents.from_config import build_venv, make_model
    from ngym_cli.config.model import from_dict

    def make(where: str) -> Callable[[], int]:
        venv = build_venv(from_dict({"task": "yang19", "reset_state": "trial", "alg": "supervised"}), 16)
        venv.seed(0)
        sizes = {"batch_size": batch_size, "seq_len": 100, "n_updates": 4, "n_steps": 4}
        model = make_model("supervised", venv, "gru", units, None, sizes, 100.0, seed=0, device=where)
        steps = 4 * batch_size * 100
        return lambda: model.learn(steps, reset_num_timesteps=False) and steps

    name, work = f"yang19 {units}", 3 * 4 * batch_size * 100 * units * units * 3.0
    return {
        "units": units,
        "ours": budget.speed(name, "supervised", work, lambda: make(device)),
        "ours_cpu": budget.speed(f"{name} cpu", "supervised cpu", work, lambda: make("cpu")),
    }


def goals(rows: list[JSON], main: tuple[str, int, int]) -> JSON:
    """Ratios of the case of the goals; None where a contestant is missing."""
    row = next((row for row in rows if (row["network"], row["units"], row["n_envs"]) == main), {})

    def ratio(above: float | None, below: float | None) -> float | None:
        return round(above / below, 3) if above and below else None

    return {
        "kernel over ours (at most 1.3)": ratio(row.get("kernel"), row.get("ours")),
        "ours over sb3-contrib (at least 5)": ratio(row.get("ours"), row.get("contrib")),
        "ours over our CPU (at least 3 on 16 cores)": ratio(row.get("ours"), row.get("ours_cpu")),
    }


def order(cells: tuple[str, ...], units: tuple[int, ...], n_envs: tuple[int, ...], main: Any) -> list[Any]:
    """All cases: the one of the goals, then LSTMs, then other cells, the smallest first."""
    cases = [(cell, u, n) for cell in cells for u, n in sorted(((u, n) for u in units for n in n_envs), key=_size)]
    return [main, *(case for case in cases if case != main)]


def _size(sizes: tuple[int, int]) -> int:
    return sizes[0] ** 2 * sizes[1]


def report(device: str, tiny: bool, seconds: float) -> JSON:
    """All measurements."""
    import torch

    from neurogym import kernels
    from ngym_cli import processes
    from ngym_cli.agents.algorithms.sb3 import Learner

    processes.set_learning_threads(None)
    torch.set_num_threads(max(1, processes.cores()))
    Learner.on_device = True if device == "cpu" else None
    shape = TINY if tiny else FULL
    cells, budget = CELLS, Budget(seconds, 1e9 if tiny else 12.0, shape)
    main, sizes, widths, updates = (("lstm", 8, 8), (8,), (8,), 4) if tiny else (MAIN, UNITS, ENVIRONMENTS, 300)
    small = 8 if tiny else 256
    result: JSON = {
        "device": torch.cuda.get_device_name() if device != "cpu" else platform.processor() or "cpu",
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "python": platform.python_version(),
        "cores": processes.cores(),
        "kernels": kernels.variant(),
        "settings": {**shape._asdict(), "task": "RDM-v0"},
    }
    result["parity with the CPU"] = parity(cells, small, device, shape)
    result["same seed twice"] = repeated(cells, min(small, 64), updates, device, shape)
    cases = order(cells, sizes, widths, main)
    rows = list(grid(cases[:1], device, budget))
    result["ways"] = ways(main, device, budget)
    result["seconds of a rollout"] = shares(main, device, budget)
    batch = 4 if tiny else 256
    result["supervised"] = [supervised(u, batch, device, budget) for u in ((8,) if tiny else (256, 1024))]
    rows += grid(cases[1:], device, budget)
    result |= {"grid": rows, "goals": goals(rows, main)}
    measured = [row for row in rows if row["ours"] and row["ours_cpu"]]
    names = ("network", "units", "n_envs")
    result["crossovers"] = [
        {"card": result["device"], **{name: row[name] for name in names}, "cpu": row["ours_cpu"], "gpu": row["ours"]}
        for row in measured
    ]
    return {**result, "left_out": budget.left_out, "seconds": round(budget.total - budget.left, 1)}


def main() -> None:
    """Measure, and print or write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="sizes that take seconds, to try the script")
    parser.add_argument("--seconds", type=float, default=330.0)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    result = json.dumps(report(arguments.device, arguments.tiny, arguments.seconds), indent=1)
    if arguments.out is not None:
        arguments.out.write_text(result + "\n", encoding="utf-8")
    else:
        sys.stdout.write(result + "\n")


if __name__ == "__main__":
    main()
