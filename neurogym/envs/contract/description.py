"""Checks of a task's metadata and of responses to requests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.compat.leniency import strictly
from neurogym.envs.contract.subject import ContractError, Subject, require
from neurogym.messages.names import unknown
from neurogym.metadata import REQUIRED, TAGS, TaskEntries, entries_of
from neurogym.sampling.distributions import Distribution, PossibleValues
from neurogym.spaces import Labels, names_of

IMPOSSIBLE = -98765.4321  #: no condition has this value


def metadata(subject: Subject) -> None:
    """Check the metadata: paper, tags, description, names of channels and actions, differences."""
    env, meta = subject.example, subject.example.metadata
    for key in REQUIRED:
        require(key in meta, f"metadata lacks {key!r}")
    entries = entries_of(TaskEntries)
    for key in meta:
        require(key in entries, unknown("entry of metadata", key, entries))
    require(
        isinstance(meta["description"], str) and meta["description"] and "\n" not in meta["description"],
        "metadata['description'] must be one line",
    )
    link = meta["paper_link"]
    require((meta["paper_name"] is None) == (link is None), "give both paper_name and paper_link")
    require(link is None or link.startswith("https://doi.org/10."), f"paper_link {link!r} is not a DOI")
    for tag in meta["tags"]:
        require(tag in TAGS, unknown("tag", tag, TAGS))
    require(isinstance(meta["history_dependent"], bool), "metadata['history_dependent'] must be True or False")
    require(
        isinstance(meta["differences"], (list, tuple)) and all(isinstance(d, str) for d in meta["differences"]),
        "metadata['differences'] must be a list of sentences",
    )
    channels = names_of(env.observation_space)
    shape = env.observation_space.shape
    if shape is not None and len(shape) == 1:
        _covers("channel", channels, shape[0])
    if isinstance(env.action_space, gym.spaces.Discrete):
        _covers("action", names_of(env.action_space), int(env.action_space.n))
    for name in meta["necessary"]:
        valid = [*channels, *_periods(subject), "history"]
        for label in [name] if isinstance(name, str) else name:
            require(label in valid, f"metadata['necessary']: {unknown('part', label, valid)}")
    if "history" in meta["necessary"]:
        require(meta["history_dependent"], "needs history, but metadata['history_dependent'] is False")


def _periods(subject: Subject) -> list[str]:
    env = subject.task()
    env.reset(seed=0)
    return list(env.start_ind)


def _covers(kind: str, names: Labels, n: int) -> None:
    named = {int(i) for index in names.values() for i in np.atleast_1d(index)}
    require(named == set(range(n)), f"{kind}s without a name: {sorted(set(range(n)) ^ named)}")


def conditions(subject: Subject) -> None:
    """Check that each condition can be requested and is recorded, and that unknown names and values raise an error."""
    env = subject.task()
    env.reset(seed=4)
    for name, values in env.conditions.items():
        for value in _examples(values):
            trial = env.new_trial(**{name: value})
            require(name in trial, f"the trial's record lacks the condition {name!r}")
            got = trial[name]
            same = (
                np.array_equal(got, value)
                if np.ndim(value) or isinstance(value, str)
                else abs(got - value) <= (env.dt if name in env.timing else 1e-6)
            )
            require(same, f"requested {name}={value!r}, got {got!r}")
        _refuses(partial(env.new_trial, **{name: IMPOSSIBLE}), f"new_trial({name}={IMPOSSIBLE})", name)
        wrong = name + "x"
        _refuses(partial(env.new_trial, **{wrong: 0}), f"new_trial({wrong}=0)", name)
    _refuses(lambda: env.new_trial(no_such_condition=0), "new_trial(no_such_condition=0)", "no_such_condition")


def _examples(values: PossibleValues) -> list[Any]:
    if isinstance(values, Distribution):
        low, high = values.bounds()
        return [low + 0.5 * (min(high, low + 1e4) - low)]
    items = list(values)
    return items if len(items) <= 3 else [items[0], items[len(items) // 2], items[-1]]


def _refuses(call: Callable[[], object], kind: str, name: str) -> None:
    try:
        with strictly():
            call()
    except ValueError as error:
        require(name in str(error), f"the message about {kind} does not name {name!r}: {error}")
    else:
        raise ContractError(f"{kind} is accepted")


def arguments(subject: Subject) -> None:
    """Check that unknown rewards, periods and arguments raise an error with the nearest name."""
    env = subject.example
    for argument, defaults in (("rewards", env.default_rewards), ("timing", env.default_timing)):
        for name in list(defaults)[:1]:
            _refuses(partial(subject.make, **{argument: {name + "x": 1}}), f"{argument}={{{name + 'x'!r}: 1}}", name)
    try:
        subject.make(no_such_argument=1)
    except (TypeError, ValueError):
        pass
    else:
        raise ContractError("the argument no_such_argument=1 is accepted")
    _refuses(lambda: subject.make(dt=-1), "dt=-1", "dt")
