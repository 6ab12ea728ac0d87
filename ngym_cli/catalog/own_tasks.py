"""Checks of tasks and users' own parts against the respective contracts."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import signal
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from neurogym.core import TrialEnv
from neurogym.envs import registration
from neurogym.envs.contract import ADVICE, CHECKS, ContractError, NothingToCheck, Subject
from neurogym.envs.episodes import EpisodeTask
from neurogym.recording.rollout import ModelAgent, rollout
from ngym_cli.catalog import reference
from ngym_cli.catalog.listing import plural
from ngym_cli.config.docstrings import summary
from ngym_cli.config.extensions import kind_of as kind_of_part
from ngym_cli.config.extensions import place_of
from ngym_cli.config.tasks import Task, find_task
from ngym_cli.errors import UserError, message_of, one_line, option
from ngym_cli.terminal import Row

#: Seconds that a check may take; of our own tasks the slowest takes a few.
LONGEST_CHECK = 30.0

#: Message for a task that does not end; no further check is made.
ENDLESS = "it did not come to an end in time: is there an endless loop?"


def chosen(names: Sequence[str], everything: bool, longest: float = LONGEST_CHECK) -> list[Task]:
    """Return the tasks to be checked, found within a time limit in seconds.

    Raises:
        UserError: if one does not exist, or none is named.
    """
    if everything == bool(names):
        raise UserError(f"name one or more tasks to check, or pass {option('--all')}")
    try:
        with _time_limit(longest):
            tasks = [_find_any_task(name) for name in (registration.every_task() if everything else names)]
    except _Overtime:
        raise UserError(f"{', '.join(names)}: {ENDLESS}") from None
    for task in tasks:
        if task.several:
            raise UserError(f"{task.name} names several tasks; check each by its own name")
    return tasks


def _find_any_task(name: str) -> Task:
    """Return a subject of checks by name: a task, or a part of another kind in the form of a task."""
    user_part = reference.own_part(name)
    if user_part is None and Path(name).is_file():
        raise UserError(f"{name} is not a Python file; expected a task, path/to/file.py:Name or package.module:Name")
    kind = "task" if user_part is None else kind_of_part(user_part)
    if user_part is not None and kind in reference.USER_PART_KINDS:
        return Task(name, name, user_part, own=True)
    if kind != "task":
        kinds = ", ".join(map(plural, reference.USER_PART_KINDS))
        raise UserError(f"{name} is a {kind}; ngym check takes tasks, {kinds}")
    return find_task(name)


#: Kind of environments of Gymnasium without trials, whose episodes are trained on as trials.
EPISODES = "episodes"


def kind_of(task: Task) -> str:
    """Return the kind of a subject of checks: a key of ``EXTENSION_KINDS`` of user parts, or `EPISODES`."""
    kind = kind_of_part(task.entry) if task.own else "task"
    if kind == "task" and isinstance(task.entry, type) and issubclass(task.entry, gym.Env):
        return kind if issubclass(task.entry, TrialEnv) else EPISODES
    return kind


def check(task: Task, tell: Callable[[Row], None], longest: float = LONGEST_CHECK) -> Row:
    """Hold a task against the contract.

    Args:
        task: The task.
        tell: Is called with the outcome of each check.
        longest: Seconds that one check may take.

    Returns:
        ``id``, ``status`` (``ok``, or ``failed`` if it does not work), ``checks`` (a list of ``id``, ``description``,
        ``status``, which is ``ok``, ``failed``, ``skipped`` or ``nothing to check``, ``problem``, which is the reason,
        ``place`` and ``kind``: ``error`` where the task does not work, ``advice`` where it
        would be nicer otherwise) and ``seconds``.
    """
    began, rows = time.perf_counter(), []
    for row in _checks(task, longest):
        tell(row)
        rows.append(row)
    return verdict(task.name, rows, time.perf_counter() - began)


def verdict(name: str, rows: list[Row], seconds: float) -> Row:
    """Sum up the checks of a task."""
    failed = any(row["status"] == "failed" and row["kind"] == "error" for row in rows)
    return {"id": name, "status": "failed" if failed else "ok", "checks": rows, "seconds": round(seconds, 3)}


class Contract(NamedTuple):
    """Checks of a kind of part.

    Attributes:
        subject: makes the subject of the checks.
        checks: by name, in the order in which they are made.
        basic: names of checks after whose failure no further check is made.
        advice: names of checks that only advise.
    """

    subject: Callable[[Task], object]
    checks: Mapping[str, Callable[..., None]]
    basic: Collection[str]
    advice: Collection[str]


def _contract(kind: str) -> Contract:
    """Return the checks of tasks, or of another kind of part in ``reference.OWN``."""
    if kind == EPISODES:
        return Contract(_subject, EPISODE_CHECKS, tuple(EPISODE_CHECKS), ())
    if kind not in reference.USER_PART_KINDS:
        return Contract(_subject, {"made": _check_construction, **CHECKS}, ("made",), ADVICE)
    from ngym_cli.catalog import own_cells, own_parts

    def named(functions: Iterable[Callable[..., None]]) -> dict[str, Callable[..., None]]:
        return {each.__name__.removeprefix(f"{kind}_").replace("_", "-"): each for each in functions}

    make: Callable[[str, Any], object]
    groups: tuple[Iterable[Callable[..., None]], ...]
    if kind == "network":
        make = own_cells.CellSubject
        groups = (own_cells.CELL_CHECKS, own_cells.BASIC_CELL_CHECKS, own_cells.CELL_ADVICE)
    else:
        make = own_parts.PartSubject
        groups = (own_parts.CHECKS[kind], own_parts.BASIC, own_parts.ADVICE)
    return Contract(lambda task: make(task.name, task.entry), *map(named, groups))


def _subject(task: Task) -> Subject:
    return Subject(task.name, task.entry if task.own else functools.partial(registration.make, task.name))


def planned(number: int, kind: str = "task") -> Row:
    """Return ``id``, ``description`` and ``kind`` of a check by number in the order of execution."""
    contract = _contract(kind)
    name, function = list(contract.checks.items())[min(number, len(contract.checks) - 1)]
    return {"id": name, "description": summary(function), "kind": "advice" if name in contract.advice else "error"}


def _checks(task: Task, longest: float) -> Iterator[Row]:
    kind = kind_of(task)
    contract = _contract(kind)
    subject = functools.cache(lambda: contract.subject(task))
    warned: set[str] = set()
    for number, (name, function) in enumerate(contract.checks.items()):
        row = _outcome(task, planned(number, kind), functools.partial(_call, function, subject), longest)
        if row["status"] == "failed":
            if row["problem"] in warned:  # a single mistake makes many checks fail and is reported once
                row.update(status="skipped", problem="not looked at: see above")
            warned.add(row["problem"])
        yield row
        if row["problem"] == ENDLESS or (row["status"] == "failed" and name in contract.basic):
            return


def _call(function: Callable[..., None], subject: Callable[[], object]) -> None:
    function(subject())


def _check_construction(subject: Subject) -> None:
    """The task can be made, and is trial-based."""
    env = subject.make()
    if not isinstance(env, gym.Env) or not isinstance(env.unwrapped, TrialEnv):
        raise UserError(f"{type(env).__name__} is not a trial-based task (a subclass of neurogym.TrialEnv)")


def _check_episodes(subject: Subject) -> None:
    """Episodes can be played as trials: reset and step return what Gymnasium asks for."""
    env = EpisodeTask(subject.make())
    for step in islice(rollout(env, ModelAgent(env), seed=0), EPISODE_STEPS):
        if not env.observation_space.contains(step.ob):
            raise ContractError(f"an observation is not in {env.observation_space}: {step.ob!r}")
        if not np.isfinite(step.reward):
            raise ContractError(f"the reward {step.reward} is not a finite number")


def _check_gymnasium(subject: Subject) -> None:
    """Gymnasium's own checker accepts the environment."""
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(subject.make().unwrapped, skip_render_check=True)


#: Checks of environments without trials by name, in the order in which they are made.
EPISODE_CHECKS: dict[str, Callable[[Subject], None]] = {"episodes": _check_episodes, "gymnasium": _check_gymnasium}
EPISODE_STEPS = 200


def _outcome(task: Task, plan: Row, function: Callable[[], None], longest: float) -> Row:
    row: Row = {**plan, "status": "ok", "problem": None, "place": None}
    try:
        with _time_limit(longest):
            function()
    except NothingToCheck as reason:
        row.update(status="nothing to check", problem=str(reason))
    except ContractError as error:
        problem = message_of(error)
        row.update(status="failed", problem=problem, place=definition_of(task.entry) if task.own else None)
    except _Overtime:
        row.update(status="failed", problem=ENDLESS)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a user's task may do
        where = re.fullmatch(r" \((.+), line (\d+)\)", place_of(error))
        row.update(status="failed", problem=one_line(error), place=f"{where[1]}:{where[2]}" if where else None)
    return row


def definition_of(entry: Callable[..., object]) -> str | None:
    """Return file and line of a class or function, as ``my_task.py:12``; None where that is not known."""
    try:
        return f"{Path(inspect.getsourcefile(entry) or '').name}:{inspect.getsourcelines(entry)[1]}"
    except (TypeError, OSError):
        return None


class _Overtime(BaseException):
    """A check took too long; no ``except Exception`` in a task catches this."""


@contextlib.contextmanager
def _time_limit(longest: float) -> Iterator[None]:
    """End Python code that exceeds a time limit; no limit where alarms are unavailable (Windows, threads)."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: object) -> None:
        raise _Overtime

    old = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, longest, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
