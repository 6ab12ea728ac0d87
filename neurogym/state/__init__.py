"""State of a session as plain data, so that the session can be continued exactly.

:func:`capture` returns numbers, words, lists, dictionaries and arrays only; :func:`restore` puts them into an
environment that was made in the same way. Nothing is pickled, so nothing that is read can run.

A session consists of

* the attributes that the task and each wrapper list as ``state = ("_block", "_left")``, and the parameters of the task.
  Of a class that lists none (a user's) all attributes are taken;
* the current trial: its number in the block, its row, and its arrays where the block cannot be made again;
* the trials made ahead. They are not saved. What is saved is the state of the session before they were made
  (``PrefetchedTrials.before``) and their number; :func:`restore` makes them again.

Attributes are numbers, words, arrays, generators, and lists, dictionaries and other containers of these; an object
whose class lists a ``state`` of its own is saved as these attributes. Functions, classes and spaces stay what the
constructor made them. :func:`check` refuses everything else, and what changes without being listed, by its name.

Belongs here: saving, checking and restoring. May use: `trials`, `rules`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import gymnasium as gym

from neurogym.parameters.changes import differ
from neurogym.state.plain import CannotSave, Data
from neurogym.state.session import SessionDecoder, SessionEncoder, unlisted
from neurogym.trials.cursor import has_trials

__all__ = ["CannotSave", "Data", "capture", "check", "restore", "snapshot"]

STATE_VERSION = 2  #: of the form of saved sessions
_MISFITS = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError, MemoryError)


def capture(env: gym.Env, trial: bool = True) -> Data:
    """State of an environment and its wrappers as plain data and arrays.

    Args:
        env: The environment, wrapped or not.
        trial: Whether the position in the current trial is part of the state; a batch keeps positions itself.

    Raises:
        CannotSave: If an attribute cannot be saved; the message names the attribute.
    """
    return {"version": STATE_VERSION, **SessionEncoder(trial).session(env, type(env.unwrapped).__name__)}


def snapshot(env: gym.Env) -> Data | None:
    """State without the current trial, taken before trials are made ahead; None if it cannot be saved."""
    try:
        return capture(env, trial=False)
    except CannotSave:
        return None


def restore(env: gym.Env, state: Data) -> None:
    """Restore a captured state in an environment made in the same way.

    Raises:
        ValueError: If the state is of an earlier version or of another stack of wrappers, or is not what
            :func:`capture` returns.
    """
    if not isinstance(state, dict) or state.get("version") != STATE_VERSION:
        raise ValueError(
            f"the session of {env} was saved by an earlier version and cannot be continued; expected version "
            f"{STATE_VERSION} (begin a new session, with the weights of the old one)"
        )
    task: Any = env.unwrapped
    if has_trials(task) and task.session.cursor.block is None:
        env.reset()  # what the constructor leaves to the first reset is there then
    name = type(task).__name__
    try:
        SessionDecoder().session(env, state, name)
        if "before" in state.get("trials", {}):  # trials after these must be possible as well, or training would fail
            block = task.session.ahead.block
            task.make_trials(block.n)
            task.session.ahead.block = block
            SessionDecoder(made=env).session(env, state, name)
    except _MISFITS as error:
        raise ValueError(f"the saved state does not fit {env}: {error}") from error


def check(make_env: Callable[[], gym.Env], env: gym.Env) -> None:
    """Check that a session can be resumed: save an environment and restore the state into another environment.

    Args:
        make_env: Makes an environment like ``env``.
        env: An environment in which a session has begun.

    Raises:
        CannotSave: If an attribute cannot be saved or restored; the message names the attribute.
    """
    state = capture(env)
    twin = make_env()
    try:
        twin.reset(seed=1)
        restore(twin, state)
        capture(twin)
    except ValueError as error:
        raise CannotSave(str(error)) from error
    restored = copy.deepcopy(unlisted(twin))
    task: Any = twin.unwrapped
    if has_trials(task):
        task.make_trials(1)
    for (layer, name), value in [*unlisted(env).items(), *unlisted(twin).items()]:
        if differ(value, restored.get((layer, name))):
            raise CannotSave(f"attribute {name} changes during trials, but its class does not list it in state = (...)")
