"""Page on which a person does a task: trials as a network would see them, with what each action earns in each step."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Box, Discrete

from neurogym.messages.plain_data import plain
from neurogym.rules import ABORT, CORRECT, END, ERROR, MISS, OUTCOME
from neurogym.spaces import names_of
from neurogym.wrappers.stack import Stack
from ngym_cli.config.extensions import user_errors
from ngym_cli.config.model import from_dict
from ngym_cli.config.tasks import find_task
from ngym_cli.environments.properties import inner_task
from ngym_cli.environments.stack import make_env
from ngym_cli.errors import UserError, option
from ngym_cli.figures.html import render
from ngym_cli.figures.wording import index_names
from ngym_cli.files.outputs import may_write
from ngym_cli.files.writing import write_text

if TYPE_CHECKING:
    import gymnasium as gym

    from neurogym.trials import Trials

#: Actions up to which each has a key; of more, one is chosen with the mouse on a ring.
MOST_KEYS = 9

#: Most numbers that a page shows (steps times channels), about 30 MB.
MOST_NUMBERS = 5_000_000

#: Digits of observations.
DIGITS = 3


def write_page(
    name: str,
    flags: Mapping[str, object],
    trials: int,
    seed: int,
    response_window: float,
    out: Path | None = None,
    overwrite: bool = False,
) -> Path:
    """Write the page of a task and return its path.

    Args:
        name: of the task.
        flags: its settings.
        trials: number of trials.
        seed: random seed of the trials.
        response_window: shortest time to answer (ms).
        out: page to write; None: the name of the task in the working folder.
        overwrite: replace a file that is there.

    Raises:
        UserError: if a person cannot do the task on such a page, or there is a file of this name.
    """
    settings = from_dict({"wrappers": [], **flags, "task": name})
    task = find_task(name)
    path = out or Path(f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', task.name)}.html")
    may_write(path, True, overwrite)
    env = make_env(task, settings)
    with user_errors(f"task {task.name}", task.own):
        _check_playable(env, task.name)
        env.reset(seed=seed)
        block = inner_task(env).session.make_ahead(trials)
    if block.fields["ob"].size > MOST_NUMBERS:
        raise UserError(f"{trials} trials of {task.name} are too long for a page; expected fewer {option('--trials')}")
    contents = {
        "title": task.name,
        "description": "" if task.several else task.metadata.get("description", ""),
        "data": _as_script(session(env, block, task.name, response_window)),
    }
    write_text(path, render("play.html.jinja", contents))
    return path


def _as_script(data: object) -> str:
    """Return data as JSON that cannot end the script in which it stands."""
    return json.dumps(plain(data), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _check_playable(env: gym.Env, name: str) -> None:
    """Refuse tasks whose trials are not drawn in advance, shown as channels and answered with one action.

    Raises:
        UserError: says why.
    """
    space, stack = env.action_space, Stack(env)
    if not isinstance(space, Discrete):
        why = "its actions are continuous"
    elif not isinstance(env.observation_space, Box) or len(env.observation_space.shape) != 1:
        why = "its observations are images"
    elif not inner_task(env).traits.batched:
        why = "its rewards are computed step by step, not declared by a rule"
    elif not stack.ahead:
        why = "each trial depends on the answers before"
    else:
        return
    raise UserError(f"{name} cannot be done on a page: {why}; ngym watch shows an agent in any task")


def session(env: gym.Env, trials: Trials, name: str, response_window: float) -> dict[str, Any]:
    """Return everything that the page needs, as plain data.

    Args:
        env: the task with its wrappers.
        trials: a complete block of trials.
        name: the task's name.
        response_window: shortest time to answer (ms).
    """
    rule = inner_task(env).rule
    assert rule is not None
    hold = -1 if rule.hold is None else int(rule.hold)
    fields = trials.fields
    tables = np.concatenate([fields[part].astype(float) for part in ("reward", "performance", "event")], axis=1)
    entries, code = np.unique(tables, axis=0, return_inverse=True)
    names = index_names(names_of(env.action_space))
    actions = [k for k in range(int(env.action_space.n)) if k != hold]  # type: ignore[attr-defined]
    channels = fields["ob"]
    groups = {label: np.ravel(where).tolist() for label, where in names_of(inner_task(env).observation_space).items()}
    return {
        "task": name,
        "dt": float(trials.dt),
        "hold": hold,
        "response_window": response_window,
        "actions": [{"action": k, "name": names.get(k, f"action {k}")} for k in actions],
        "most_keys": MOST_KEYS,
        "codes": {"correct": CORRECT, "error": ERROR, "abort": ABORT, "miss": MISS, "end": END, "outcome": OUTCOME},
        "channels": groups or {"input": list(range(channels.shape[1]))},
        "scale": np.maximum(np.abs(channels).max(axis=0), 1e-9),
        "tables": entries.reshape(len(entries), 3, -1),
        "most_steps": float(inner_task(env).session.most_steps),
        "rt_from": trials.go_period,
        "trials": [_trial(trials, k, np.ravel(code)) for k in range(trials.n)],
    }


def _trial(trials: Trials, k: int, code: np.ndarray) -> dict[str, Any]:
    """Return a trial as plain data."""
    assert trials.go is not None
    first = int(trials.offset[k])
    rows = slice(first, first + int(trials.length[k]))
    record, durations = trials.report(k)
    scalars = {name: value for name, value in record.items() if np.ndim(value) == 0}
    onsets = {f"onset_{name}": float(start[k] * trials.dt) for name, start in trials.starts.items()}
    jump = trials.fields.get("jump")
    return {
        "inputs": np.round(trials.fields["ob"][rows].astype(float), DIGITS),
        "code": code[rows],
        "go": int(trials.go[k]),
        "jump": None if jump is None else jump[rows],
        "record": {**scalars, **onsets, **durations},
    }
