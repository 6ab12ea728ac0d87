"""Speed of a run: expected duration by arithmetic, and a trial of environment and thread numbers."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.messages.plain_data import plain
from ngym_cli import processes, terminal
from ngym_cli.agents.algorithms import ALGORITHMS
from ngym_cli.agents.compiled.steps import WEIGHT_ROWS
from ngym_cli.agents.defaults import prepare, trials_along_training
from ngym_cli.agents.device import selection
from ngym_cli.agents.device.selection import Crossover
from ngym_cli.agents.from_config import build_model, build_venv, sequences_side_by_side
from ngym_cli.config.model import ResolvedConfig, RunConfig
from ngym_cli.config.trust import load
from ngym_cli.environments.properties import TaskProperties
from ngym_cli.errors import option
from ngym_cli.terminal import in_words, print_columns
from ngym_cli.training.prepare import new_run
from ngym_cli.training.request import BenchRequest

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

#: Numbers of environments and of threads.
Candidate = tuple[int, int]

#: Numbers of environments that are tried by default.
ENVIRONMENTS = (16, 64, 256)

#: Largest duration of the measurement in seconds, and the share of this time for preparing the candidates.
SECONDS, READY = 40.0, 0.5

#: Rounds on a GPU, of which the median counts.
DEVICE_TURNS = 3

#: Share of the greatest speed that counts as equal, in favour of fewer environments.
EQUAL_SPEED = 0.9

#: Steps of each environment in a turn, for algorithms without rollouts; otherwise a turn is a rollout.
STEPS = 256

#: Share of the rate of large matrix products that small networks reach in the compiled passes, what a step of an
#: environment takes in addition (s), and what starting, evaluating and writing take in any case (s).
REACHED, STEP, START = 0.5, 1.5e-6, 4.0


@dataclass(frozen=True)
class Timed:
    """Speed of a run with given numbers of environments and threads.

    Attributes:
        n_envs: environments.
        threads: threads that share the learning.
        speed: steps per second of rollouts and updates, the median of the turns.
        turns: number of turns.
    """

    n_envs: int
    threads: int
    speed: float
    turns: int


# -- by arithmetic ---------------------------------------------------------------------------------------------------


def expected(config: ResolvedConfig, properties: TaskProperties) -> float | None:
    """Return the expected seconds of a run, from the arithmetic of the network and the rate of this machine.

    Args:
        config: complete.
        properties: known properties of the task.

    Returns:
        None where the arithmetic is not sufficient: agents without a recurrent network, tasks that draw images,
        users' own parts, and learning in torch.
    """
    shape, algorithm = properties.observation_space.shape or (1,), ALGORITHMS.get(config.alg)
    images = len(properties.inner.observation_space.shape or ()) > 1  # drawn, even if a wrapper reduces them
    in_torch = config.network not in WEIGHT_ROWS or config.hyperparameters.get("value_temperature")
    if algorithm is None or not algorithm.recurrent or images or in_torch:
        return None
    features = int(np.prod(shape))
    units, layers = config.units, int(config.network_args.get("layers", 1))
    wide = WEIGHT_ROWS.get(config.network, 1) * units
    weights = wide * (features + units) + (layers - 1) * wide * 2 * units
    passes = 3 if algorithm.supervised else 1 + 3 * int(config.hyperparameters.get("n_epochs", 1))
    per_step = 2 * weights * passes / (REACHED * operations_per_second()) + STEP
    return START + per_step * config.timesteps


def operations_per_second() -> float:
    """Return floating-point operations a second of a matrix product, the best of some; takes a few milliseconds."""
    size = 256
    left, right = np.ones((2, size, size), np.float32)
    left @ right
    spent = []
    for _ in range(5):
        began = time.perf_counter()
        left @ right
        spent.append(time.perf_counter() - began)
    return 2 * size**3 / max(min(spent), 1e-9)


# -- by trying -------------------------------------------------------------------------------------------------------


def try_out(
    config: RunConfig,
    n_threads: int | None = None,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[ResolvedConfig, list[Timed], float]:
    """Train with different numbers of environments and threads, in turns, and time each.

    Args:
        config: configuration of the run; if the number of environments is set, only this number is tried.
        n_threads: the only number of threads that is tried; None: one, two, ... up to one on each core.
        seconds: largest duration.
        clock: returns the time (s).

    Returns:
        The complete configuration with the best number of environments; all that was tried, the best first (the fewest
        environments and threads of those that are about as fast as the fastest), then the others, the fastest first;
        and the seconds of the evaluations and the start of such a run.

    Raises:
        UserError: if the configuration does not work.
    """
    began = clock()
    threads_before = processes.learning_threads()
    processes.limit_torch()
    tried = prepare(config)
    numbers = [config.n_envs] if config.n_envs else ENVIRONMENTS
    counts = [n_threads] if n_threads else range(1, processes.cores() + 1)
    turns: dict[Candidate, Callable[[], float]] = {}
    configs: dict[int, ResolvedConfig] = {}
    try:
        for n_envs in numbers:
            if turns and clock() - began > READY * seconds:
                break
            configs[n_envs] = new_run(config.model_copy(update={"n_envs": n_envs}), tried=tried).config
            for count in counts:
                turns[n_envs, count] = make_turn(configs[n_envs], count, clock)
        speeds: dict[Candidate, list[float]] = {pair: [] for pair in turns}
        for pair in itertools.cycle(turns):  # each at least once
            if all(speeds.values()) and clock() - began >= seconds:
                break
            speeds[pair].append(turns[pair]())
    finally:
        processes.set_learning_threads(threads_before)
    timed_candidates = [
        Timed(n_envs, count, float(np.median(values)), len(values)) for (n_envs, count), values in speeds.items()
    ]
    most = max(timed.speed for timed in timed_candidates)
    timed_candidates.sort(key=lambda timed: (timed.speed < EQUAL_SPEED * most, timed.n_envs, timed.threads))
    timed_candidates[1:] = sorted(timed_candidates[1:], key=lambda timed: -timed.speed)
    best = configs[timed_candidates[0].n_envs]
    return best, timed_candidates, besides_learning(best, tried[1])


def make_turn(config: ResolvedConfig, n_threads: int, clock: Callable[[], float]) -> Callable[[], float]:
    """Return a function that trains briefly and returns the steps per second; the first turn is already done."""
    processes.set_learning_threads(n_threads)
    venv = build_venv(config, config.n_envs)
    model = build_model(config, venv)
    venv.seed(config.seed)
    each = steps_of_a_turn(model) * model.n_envs

    def take() -> float:
        processes.set_learning_threads(n_threads)
        before, began = model.num_timesteps, clock()
        model.learn(each, reset_num_timesteps=False)
        return (model.num_timesteps - before) / max(clock() - began, 1e-9)

    take()
    return take


def steps_of_a_turn(model: BaseAlgorithm) -> int:
    """Return the number of steps of each environment in a turn."""
    from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

    from ngym_cli.agents.supervised.learner import Supervised

    return model.n_steps if isinstance(model, OnPolicyAlgorithm | Supervised) else STEPS


def speed(config: ResolvedConfig) -> float:
    """Return the steps per second of processor time of a run with a single thread, measured briefly.

    Args:
        config: complete.

    Raises:
        UserError: if the configuration does not work.
    """
    return try_out(config, 1, 0.0, time.process_time)[1][0].speed


def besides_learning(config: ResolvedConfig, properties: TaskProperties) -> float:
    """Return the expected seconds of a run besides learning: start, and evaluations from the number of steps.

    Args:
        config: complete.
        properties: known properties of the task.
    """
    steps, every = config.timesteps, config.evaluation.every
    along = (steps - 1) // every * trials_along_training(config, properties) if every and steps else 0
    return START + (along + config.evaluation.trials) * max(properties.trial_steps, 1) * 2 * STEP


def bench(request: BenchRequest) -> dict[str, object]:
    """Find the fastest number of environments and threads for a run.

    Args:
        request: settings of the run, and how long may be tried.

    Returns:
        ``flags`` to add to the line, ``expected_seconds`` of the run with them, of which ``learning_seconds``,
        ``timesteps``, ``tried``, the best first, and ``device``, the comparison with the GPU; None without a GPU or
        where another device than ``auto`` was requested.

    Raises:
        UserError: if the configuration does not work.
    """
    config = load(request.config, request.settings, request.trust)
    card = installed_card() if config.device == "auto" else None
    on_cpu = config if card is None else config.model_copy(update={"device": "cpu"})
    best, candidates, rest = try_out(on_cpu, request.threads, request.seconds)
    crossover = None if card is None else measure_device(best, candidates[0].speed, card)
    faster = crossover is not None and crossover.gpu > crossover.cpu
    learning = best.timesteps / (crossover.gpu if crossover is not None and faster else candidates[0].speed)
    return {
        "task": best.task,
        "alg": best.alg,
        "flags": f"--n-envs {candidates[0].n_envs} --threads {candidates[0].threads}" + " --device cuda" * faster,
        "device": plain(crossover),
        "timesteps": best.timesteps,
        "learning_seconds": round(learning, 1),
        "expected_seconds": round(learning + rest, 1),
        "tried": plain(candidates),
    }


def installed_card() -> str | None:
    """Return the name of this machine's GPU; None if there is none."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def measure_device(config: ResolvedConfig, cpu: float, card: str, device: str = selection.CUDA) -> Crossover:
    """Measure the speed of a run on a device, and keep the comparison for ``--device auto``.

    Args:
        config: configuration of the run.
        cpu: steps per second on the CPU.
        card: name of the device's card.
        device: name of the device in torch.
    """
    take = make_turn(config.model_copy(update={"device": device}), processes.learning_threads(), time.perf_counter)
    gpu = float(np.median([take() for _ in range(DEVICE_TURNS)]))
    sequences = sequences_side_by_side(config)
    crossover = Crossover(card, str(config.network), config.units, sequences, cpu, gpu)
    selection.store(crossover)
    return crossover


def print_timed(outcome: Mapping[str, Any]) -> None:
    """Print the results of ``ngym_cli.training.timing.bench``."""
    steps = int(outcome["timesteps"])
    rows = [
        (str(row["n_envs"]), str(row["threads"]), f"{row['speed']:,.0f}", in_words(steps / row["speed"]))
        for row in outcome["tried"]
    ]
    print_columns(rows, ("environments", "threads", "steps a second", f"{steps:,} steps"), right=4)
    out = terminal.console()
    total, learning = in_words(outcome["expected_seconds"]), in_words(outcome["learning_seconds"])
    about = f"{steps:,} steps take about {total}, of which learning {learning}"
    out.print(f"\nbest: {outcome['flags']}; {about}", soft_wrap=True)
    if device := outcome["device"]:
        speeds = f"{device['gpu']:,.0f} steps a second on {device['card']}, {device['cpu']:,.0f} on the CPU"
        out.print(f"{speeds}; {option('--device auto')} follows this from now on", soft_wrap=True)
    if len({row["n_envs"] for row in outcome["tried"]}) > 1:
        more = "More environments mean longer rollouts and fewer updates in as many steps"
        out.print(f"{more}; the number of threads changes nothing but time.", soft_wrap=True)
