"""Checkpoints: all that the coming steps of a run depend on, as safetensors and JSON, never a pickle.

A checkpoint is a folder ``checkpoints/step_<12 digits>/``, complete or absent:

| file | what |
|---|---|
| `weights.safetensors` | the weights of the policy |
| `state.safetensors` | optimiser, recurrent states, experience, environments, generators, trials not yet in a part |
| `state.json` | everything else, and a checksum of the two |

It is taken between the end of an update and the next rollout, so that training resumes as if never interrupted.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ngym_cli.environments.trial_batch import trials_of
from ngym_cli.errors import UserError, one_line
from ngym_cli.files import reading
from ngym_cli.files.reading import digest
from ngym_cli.files.writing import atomic_folder, remove_folder, write_json, write_tensors
from ngym_cli.runs import records

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.vec_env import VecEnv
    from torch import Tensor

CHECKPOINTS_FOLDER = "checkpoints"
WEIGHTS, ARRAYS, STATE = "weights.safetensors", "state.safetensors", "state.json"
CHECKPOINT_FILES = (WEIGHTS, ARRAYS, STATE)
BEST = "best.json"
FORMAT = 2

#: Largest ``state.json`` that is read (bytes).
LARGEST_STATE = 256 << 20

_DAMAGE = (OSError, ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError, MemoryError)


@dataclass(frozen=True)
class Saved:
    """A checkpoint that has been read.

    Attributes:
        path: its folder.
        step: steps taken in the run when it was made.
        tensors: all arrays by name.
        learner: the rest of the learner's state.
        environments: state of the batch of environments.
        session: state of the run's records.
    """

    path: Path
    step: int
    tensors: dict[str, Tensor]
    learner: dict[str, Any]
    environments: dict[str, Any]
    session: dict[str, Any]


def folder_of(step: int) -> str:
    """Return the name of the checkpoint of a step."""
    return f"step_{step:012d}"


def write(folder: Path, step: int, model: BaseAlgorithm, venv: VecEnv, session: Mapping[str, object]) -> Path:
    """Write a checkpoint.

    Args:
        folder: the run's folder of checkpoints.
        step: steps taken in the run.
        model: the learner, between an update and the next rollout.
        venv: the environments that it learns from.
        session: state of the run's records, plain data and arrays.

    Returns:
        The checkpoint's folder.

    Raises:
        FloatingPointError: if a weight is not a finite number; nothing is written then.
        OSError: if it cannot be written; earlier checkpoints are untouched.
    """
    from ngym_cli.agents.algorithms.training_state import flatten_tree, join, training_state

    tensors, learner = training_state(model)
    if bad := not_finite(tensors):
        raise FloatingPointError(f"{bad} is not finite")
    arrays: dict[str, Tensor] = {}
    state = {
        "format": FORMAT,
        "step": step,
        "learner": learner,
        "environments": flatten_tree(trials_of(venv).state(), "environments", arrays),
        "session": flatten_tree(session, "session", arrays),
    }
    arrays, state["joined"] = join(arrays)
    rest = {name: value for name, value in tensors.items() if not name.startswith("policy/")}
    unshared = _unshared({name: value.contiguous() for name, value in {**rest, **arrays}.items()})
    path = folder / folder_of(step)
    with atomic_folder(path, CHECKPOINT_FILES) as temporary:
        write_tensors(temporary / WEIGHTS, _weights(tensors))
        write_tensors(temporary / ARRAYS, unshared)
        state["sha256"] = {name: digest(temporary / name) for name in (WEIGHTS, ARRAYS)}
        (temporary / STATE).write_text(json.dumps(state, allow_nan=False), encoding="utf-8")
        for name in CHECKPOINT_FILES:
            with (temporary / name).open("rb") as file:  # on the disk, not only in memory
                os.fsync(file.fileno())
    return path


def write_weights(folder: Path, step: int, model: BaseAlgorithm) -> None:
    """Write a checkpoint that has the weights only, from which no run is resumed; see `write`."""
    from ngym_cli.agents.algorithms.training_state import training_state

    with atomic_folder(folder / folder_of(step), CHECKPOINT_FILES) as temporary:
        write_tensors(temporary / WEIGHTS, _weights(training_state(model)[0]))


def _weights(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of the policy among the tensors of a learner, by their names in the policy."""
    return {name.removeprefix("policy/"): value for name, value in tensors.items() if name.startswith("policy/")}


def _unshared(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copy tensors that begin where another does: safetensors writes none that share memory."""
    unshared, seen = {}, set[int]()
    for name, value in tensors.items():
        unshared[name] = value.clone() if value.data_ptr() in seen else value
        seen.add(value.data_ptr())
    return unshared


def not_finite(tensors: dict[str, Tensor]) -> str | None:
    """Return the name of a weight or a number of the optimiser that is not finite, or None."""
    checked = ((name, value) for name, value in tensors.items() if name.startswith(("policy/", "optimizer/")))
    return next((name for name, value in checked if not bool(value.isfinite().all())), None)


def found_in(folder: Path) -> list[Path]:
    """Return the checkpoints in a folder, oldest first."""
    named = sorted(folder.glob("step_*")) if folder.is_dir() else []
    return [path for path in named if path.name[5:].isdecimal() and path.is_dir() and not path.is_symlink()]


def resumable_in(folder: Path) -> list[Path]:
    """Return the checkpoints in a folder that are not kept for their weights alone, oldest first."""
    return [path for path in found_in(folder) if (path / STATE).exists() or (path / ARRAYS).exists()]


def best_of(folder: Path) -> records.Best | None:
    """Return the record of the best checkpoint, or None if there is none."""
    return records.read(folder / BEST, records.Best) if (folder / BEST).is_file() else None


def mark_best(folder: Path, path: Path, step: int, performance: float) -> None:
    """Record that a checkpoint is the best so far."""
    write_json(folder / BEST, {"name": path.name, "step": step, "performance": performance})


def prune(folder: Path, keep: int, total: int, running: bool = True) -> None:
    """Remove all but the last checkpoint, others at even distances from the first on, and the best.

    A run that goes on keeps its last two whole, to be resumed from; all others keep their weights only.

    Args:
        folder: folder of the checkpoints.
        keep: number of checkpoints that remain, besides the best and the last but one of a run that goes on.
        total: steps of the whole run.
        running: whether the run may be resumed.
    """
    paths, best = found_in(folder), best_of(folder)
    wanted = [total * k / (keep - 1) for k in range(keep - 1)]
    kept = {min(paths, key=lambda path: abs(int(path.name[5:]) - step)).name for step in wanted if paths}
    kept |= {path.name for path in paths} if len(paths) <= keep else set()
    kept |= set() if best is None else {best["name"]}
    for path in paths[: -min(keep, 2) if running else -1]:
        if path.name in kept:
            _keep_weights(path)
        else:
            remove_folder(path, CHECKPOINT_FILES)


def _keep_weights(path: Path) -> None:
    """Remove from a checkpoint what only the resumption of a run needs."""
    for name in (STATE, ARRAYS):
        (path / name).unlink(missing_ok=True)


def keep_only_weights(folder: Path) -> None:
    """Keep only the weights in the checkpoints of a finished run, which will not be resumed."""
    for path in found_in(folder):
        _keep_weights(path)


def discard_after(folder: Path, step: int) -> None:
    """Remove the checkpoints of later steps."""
    for path in found_in(folder):
        if int(path.name[5:]) > step:
            remove_folder(path, CHECKPOINT_FILES)
    best = best_of(folder)
    if best is not None and not (folder / best["name"]).is_dir():
        (folder / BEST).unlink()


def latest(folder: Path) -> tuple[Saved | None, list[str]]:
    """Read the newest checkpoint that is whole.

    Returns:
        The checkpoint, or None if there are none at all, and what was wrong with newer ones.

    Raises:
        UserError: if there are some, but none is whole.
    """
    complaints: list[str] = []
    for path in reversed(resumable_in(folder)):
        try:
            return read(path), complaints
        except UserError as error:
            complaints.append(one_line(error))
    if complaints:
        raise UserError(f"no usable checkpoint in {folder}: {complaints[0]}")
    return None, []


def read(path: Path) -> Saved:
    """Read and validate a checkpoint.

    Raises:
        UserError: if a file is missing, damaged or too large, or a weight is not finite.
    """
    from ngym_cli.agents.algorithms.training_state import restore_tree, split

    try:
        state = json.loads(reading.read_text(path / STATE, LARGEST_STATE))
        if not isinstance(state, dict) or state.get("format") != FORMAT:
            raise UserError(f"checkpoint {path}: of format {FORMAT} only, not of another version of ngym")
        if path.name != folder_of(state["step"]):
            raise UserError(f"checkpoint {path}: says that it is of step {state['step']}")
        for name in (WEIGHTS, ARRAYS):
            if digest(path / name) != state["sha256"][name]:
                raise UserError(f"checkpoint {path}: {name} is damaged (its checksum differs)")
        tensors = {f"policy/{name}": value for name, value in reading.read_tensors(path / WEIGHTS).items()}
        tensors.update(reading.read_tensors(path / ARRAYS))
        if bad := not_finite(tensors):
            raise UserError(f"checkpoint {path}: {bad} holds numbers that are not finite")
        tensors = split(tensors, state.get("joined", {}))  # earlier versions joined none
        environments, session = (restore_tree(state[key], tensors) for key in ("environments", "session"))
        return Saved(path, int(state["step"]), tensors, dict(state["learner"]), environments, session)
    except FileNotFoundError as error:
        raise UserError(f"checkpoint {path}: {Path(str(error.filename)).name} is missing") from None
    except _DAMAGE as error:
        raise UserError(f"checkpoint {path} is damaged: {one_line(error)}") from None


def restore(saved: Saved, model: BaseAlgorithm, venv: VecEnv) -> None:
    """Put a checkpoint into a learner and environments made from the same configuration.

    Raises:
        UserError: if it does not fit them.
    """
    from ngym_cli.agents.algorithms.training_state import load_training_state

    with fitting(saved):
        venv.reset()
        trials_of(venv).set_state(saved.environments)
        load_training_state(model, saved.tensors, saved.learner)


@contextlib.contextmanager
def fitting(saved: Saved | None) -> Iterator[None]:
    """Turn any error while a checkpoint is restored into a single-line message.

    Args:
        saved: the checkpoint that is restored, or None.
    """
    try:
        yield
    except OSError:
        raise
    except Exception as error:  # a damaged state may cause anything, deep inside any task or learner
        if saved is None:
            raise
        raise UserError(f"checkpoint {saved.path} does not fit its run: {one_line(error)}") from error
