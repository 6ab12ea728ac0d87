"""Short sessions and short trainings whose numbers say what the present code does for an item of a record.

    python -m experiments.records.behaviour < QUESTION     # as JSON: {"tasks": [...], "trainings": [...]}

A refactoring changes none of these numbers; a changed task, learner, default or seed does. Run in an earlier checkout,
the same file says whether that behaved the same, so it uses only what earlier checkouts have, too.

Numbers are rounded to three significant digits, and weights enter as two sums for each array, because processors round
in different ways. Sessions agree on all of them; of 284 trainings 6 were rounded differently on another processor
(avx512, too), so that their rows counted as out of date there: making them anew costs minutes and changes nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("OMP_NUM_THREADS", "1")

#: Steps of a session; of images, which are slow. Values of an observation from which it is an image.
STEPS, IMAGE_STEPS, IMAGE = 400, 40, 500

#: Updates of a short training, most steps of these updates, and trials of the evaluation afterwards.
UPDATES, MOST_STEPS, TRIALS = 3, 15_000, 20

#: Settings that were renamed: a new name does not make a row old.
FIRST_NAMES = {"inter_trial_discount": "trial_gamma"}

#: Seed of sessions and trainings, which no record uses.
SEED = 100

#: Columns of the table of training trials that enter.
COLUMNS = ("step", "performance", "reward", "choice")

#: Results of a run that enter.
RESULTS = ("performance", "reward_per_trial", "chance", "blind", "ceiling", "steps", "trials")


def rounded(values: Any) -> list[str]:
    """Return numbers as texts with three significant digits, the same for 0 and -0."""
    flat = np.asarray(values, np.float64).ravel()
    return [f"{value + 0.0:.2e}" for value in np.where(np.abs(flat) < 1e-12, 0.0, flat)]


def hashed(data: Any) -> str:
    """Return eight characters that change with plain data; settings enter under the names that they had at first."""
    return hashlib.sha256(json.dumps(_first_names(data), sort_keys=True, default=str).encode()).hexdigest()[:8]


def _first_names(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {FIRST_NAMES.get(key, key): _first_names(value) for key, value in data.items()}
    return [_first_names(value) for value in data] if isinstance(data, list | tuple) else data


def of_tasks(names: Sequence[str]) -> str:
    """Return eight characters that change with what sessions of tasks show and reward.

    Args:
        names: ids of tasks; a collection stands for all of its tasks.
    """
    return hashed([[id_, *session(id_)] for name in names for id_ in _members(name)])


def _members(name: str) -> list[str]:
    from neurogym.envs import registration
    from neurogym.envs.collections import COLLECTIONS

    return list(registration.get_collection(name)) if name in COLLECTIONS else [name]


def session(id_: str) -> Iterator[list[str]]:
    """Yield observation, reward and reports of each step of a session with random actions."""
    import neurogym as ngym
    from ngym_cli.config import extensions

    # A reference is a class in a paper's file.
    env = extensions.find_extension("task", id_)() if extensions.is_reference(id_) else ngym.make(id_)
    observation, _ = env.reset(seed=SEED)
    env.action_space.seed(SEED)
    yield rounded(observation)
    for _ in range(IMAGE_STEPS if np.size(observation) > IMAGE else STEPS):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        yield rounded(observation) + rounded(reward) + _reports(info)
        if terminated or truncated:
            observation, _ = env.reset()
            yield rounded(observation)


def _reports(info: Mapping[str, Any]) -> list[str]:
    """Return whether a trial has ended, how it was scored, and the right action."""
    reported = [info[name] for name in ("new_trial", "performance", "gt") if info.get(name) is not None]
    return [text for value in reported for text in rounded(value)]


def of_trainings(runs: Sequence[Mapping[str, Any]]) -> str:
    """Return eight characters that change with how runs train, evaluate and score.

    Args:
        runs: settings of each run, as in a recipe; defaults are completed for the whole number of steps, of which few
            are taken.
    """
    return hashed([training(settings) for settings in runs])


def training(settings: Mapping[str, Any]) -> list[Any]:
    """Return numbers of a few updates of a run and of a short evaluation."""
    from ngym_cli.agents.defaults import complete, resolve
    from ngym_cli.config import from_dict
    from ngym_cli.training import main_loop

    config, facts = resolve(from_dict({**settings, "seed": SEED}))
    config = complete(config, facts)
    short = {"timesteps": min(config.timesteps, MOST_STEPS, UPDATES * _update(config))}
    if "n_updates" in config.hyperparameters:
        short["hyperparameters"] = {**config.hyperparameters, "n_updates": 1}
    short["evaluation"] = config.evaluation.model_copy(update={"every": 0, "trials": TRIALS, "half_width": 0.0})
    short["checkpoint"] = config.checkpoint.model_copy(update={"every": 0})
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        outcome = main_loop.train(config.model_copy(update=short), Path(folder))
        if outcome.status == "interrupted":  # by a signal, which is meant for the whole program
            raise KeyboardInterrupt
        path = Path(outcome.run.path)
        manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
        results = {name: rounded(manifest[name]) for name in RESULTS if manifest.get(name) is not None}
        return [config.timesteps, config.n_envs, results, trials_of(path), weights_of(path)]


def _update(config: Any) -> int:
    """Return the number of steps that an update learns from."""
    hyperparameters = config.hyperparameters
    if "seq_len" in hyperparameters:
        return int(hyperparameters["batch_size"] * hyperparameters["seq_len"])
    return int(config.n_envs or 1) * int(hyperparameters.get("n_steps") or 1_000)


def trials_of(run: Path) -> dict[str, list[str]]:
    """Return the summary of each column of the table of training trials."""
    import pyarrow.parquet as pq

    tables = [pq.read_table(path) for path in sorted((run / "trials").glob("*.parquet"))]
    columns = [name for name in COLUMNS if all(name in table.column_names for table in tables)]
    return {
        name: summary([0 if value is None else value for table in tables for value in table.column(name).to_pylist()])
        for name in columns
    }


def weights_of(run: Path) -> list[list[str]]:
    """Return the summary of each array of weights, in an order that names do not decide."""
    from safetensors.numpy import load_file

    return sorted(summary(array) for array in load_file(run / "model" / "weights.safetensors").values())


def summary(values: Any) -> list[str]:
    """Return number, length and a weighted sum of numbers, so that each of them and their order enter."""
    flat = np.nan_to_num(np.asarray(values, np.float64).ravel())
    return [str(flat.size), *rounded([np.linalg.norm(flat), np.cos(np.arange(flat.size)) @ flat])]


def answers(question: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
    """Return the digests of tasks and trainings; in place of a digest, why there is none.

    Args:
        question: ``tasks``, a list of lists of ids; ``trainings``, a list of lists of settings.
    """

    def attempt(ask: Any, question: Any) -> str:
        try:
            return ask(question)
        except Exception as error:  # an earlier checkout may lack the task or a setting
            return f"{type(error).__name__}: {error}"

    return {
        "tasks": [attempt(of_tasks, names) for names in question["tasks"]],
        "trainings": [attempt(of_trainings, each) for each in question["trainings"]],
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(sys.stderr):
        found = answers(json.load(sys.stdin))
    print(json.dumps(found))
