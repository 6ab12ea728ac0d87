"""The whole state of an environment as plain data, so that a session can be continued exactly.

:func:`capture` walks the attributes of an environment and its wrappers and returns numbers, words, lists, dictionaries
and arrays only; :func:`restore` puts them back into an environment that was made in the same way. Nothing is pickled,
so nothing that is read can run, and what is read is checked before it is used.

What is saved: numbers, words, bytes, paths, dates, enumerations; arrays; lists, tuples, sets, dictionaries, ``deque``,
``Counter`` and the other containers of the standard library, nested as they like; the generators of NumPy and of
``random``; blocks of trials; the environments and objects that an environment holds. Two attributes that are one object
are one object again. Functions, classes and spaces are not state: they stay what the constructor made them.

What cannot be saved (an open file, a running generator, a table of another library) is an error that names the
attribute. Its class then defines what to save::

    class MyTask(ngym.TrialEnv):
        def state_dict(self):  # in place of the attributes that cannot be saved by themselves
            return {"place": self.stream.tell()}

        def load_state_dict(self, state):
            self.stream.seek(state["place"])

An environment or wrapper with these two methods has its other attributes saved as always; any other object is saved as
what its ``state_dict`` returns, and nothing else. One that never changes returns ``{}``.

Every value is saved as itself if it is plain, else as a dictionary with its kind under ``"__kind__"``; the methods of
:class:`~neurogym.state.encoding.Encoder` and :class:`~neurogym.state.restoring.Decoder` follow the kinds:

======================================  ===============================================  ==============================
kind                                    saved as                                         put back as
======================================  ===============================================  ==============================
``array``, ``scalar``, ``objects``      numbers; items of an object array, each once     a new array
``list``, ``dict``, ``deque``, ...      the items, and attributes of a class of one's    a new container
                                        own that is derived from the container
``generator``, ``random``, ...          state of the generator                           a new generator in this state
``block``                               arrays of a block of trials                      a new block, checked first
``object``                              name of the class and attributes, or what        the object that is there,
                                        ``state_dict`` returned under ``"own"``          filled
``same``                                ``number`` of an object that was met before      the same object
``constant``                            nothing (functions, classes, spaces)             what the constructor made
======================================  ===============================================  ==============================

Belongs here: saving, checking and restoring. May use: `trials`, `rules`.
"""

from __future__ import annotations

from collections.abc import Callable

import gymnasium as gym

from neurogym.state.encoding import CannotSave, Encoder
from neurogym.state.restoring import Decoder
from neurogym.state.values import Data

__all__ = ["CannotSave", "capture", "check", "restore"]

_MISFITS = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError, MemoryError)


def capture(env: gym.Env) -> Data:
    """State of an environment and its wrappers as a tree of plain data and arrays.

    Raises:
        CannotSave: If an attribute cannot be saved; the message names it.
    """
    return Encoder(env).encode(env, type(env.unwrapped).__name__)


def restore(env: gym.Env, state: object) -> None:
    """Restore a captured state in an environment made in the same way.

    Raises:
        ValueError: If the state belongs to another stack of wrappers, or is not what :func:`capture` returns.
    """
    try:
        Decoder(env).decode(state, env, type(env.unwrapped).__name__)
    except _MISFITS as error:
        raise ValueError(f"the saved state does not fit {env}: {error}") from error


def check(make_env: Callable[[], gym.Env], env: gym.Env) -> None:
    """Check that a session can be resumed: save an environment and restore the state into another environment.

    Args:
        make_env: Makes an environment like ``env``.
        env: One in which a session has begun.

    Raises:
        CannotSave: If an attribute cannot be saved or restored; the message names it.
    """
    state = capture(env)
    other = make_env()
    try:
        other.reset(seed=1)
        restore(other, state)
        capture(other)
    except ValueError as error:
        raise CannotSave(f"{error}; define state_dict() and load_state_dict(state) for what cannot be saved") from error
