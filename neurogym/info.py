"""Listings of tasks, wrappers, tags and differences from NeuroGym."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium as gym

from neurogym.compat.changes import TOOLKIT_CHANGES
from neurogym.core import TrialEnv
from neurogym.envs import registration
from neurogym.messages.console import logger
from neurogym.messages.names import unknown
from neurogym.sampling.distributions import Distribution
from neurogym.wrappers import all_wrappers, wrapper_class


def show_all_tasks(tag: str | None = None) -> None:
    """Log the ids of all native tasks, or of all tasks with a tag."""
    _say(
        "\n".join(["Available tasks:" if tag is None else f"Tasks with tag {tag!r}:", *registration.all_envs(tag=tag)])
    )


def show_all_wrappers() -> None:
    """Names of all wrappers and what each does."""
    lines = [f"{name}: {wrapper_class(name).metadata['description']}" for name in all_wrappers()]
    _say("\n".join(["Available wrappers:", *lines]))


def show_all_tags() -> None:
    """All tags of tasks."""
    _say("\n".join(["Available tags:", *registration.all_tags()]))


def show_info(obj_: object) -> None:
    """Describe a task or a wrapper.

    Args:
        obj_: Id of a task, name of a wrapper, or an environment.

    Raises:
        ValueError: If there is no such task or wrapper.
        TypeError: If it is neither a name nor an environment.
    """
    _say(describe(obj_))


def describe(obj_: object) -> str:
    """The text of :func:`show_info`."""
    if isinstance(obj_, gym.Env):
        return env_string(obj_)
    if not isinstance(obj_, str):
        raise TypeError(f"expected the id of a task, the name of a wrapper or an environment, not {obj_!r}")

    try:
        return env_string(registration.make(obj_))
    except gym.error.Error:
        pass
    try:
        return wrapper_string(wrapper_class(obj_))
    except ValueError:
        raise ValueError(unknown("task or wrapper", obj_, [*registration.every_task(), *all_wrappers()])) from None


def env_string(env: gym.Env, short: bool = False) -> str:
    """Describe a task: name, text, paper, rewards, durations, tags; the short form is ``<TaskName>``."""
    task: Any = env.unwrapped
    if short:
        return f"<{type(task).__name__}>"
    lines = _about(type(task), task.metadata, (type(task).__doc__ or "").strip(), "missing paper")
    if isinstance(task, TrialEnv) and task.rewards:
        lines.append("Rewards: " + ", ".join(f"{name} {value}" for name, value in task.rewards.items()))
    if isinstance(task, TrialEnv) and task.timing:
        timing = (f"{name} {Distribution.of(spec).phrase()}" for name, spec in task.timing.items())
        lines.append("Timing: " + ", ".join(timing))
    lines.append("Tags: " + (", ".join(task.metadata.get("tags", [])) or "none"))
    return "\n".join(lines)


def wrapper_string(wrapper: Any) -> str:
    """Describe a wrapper: name, effect, paper, place in a stack, arguments."""
    lines = _about(wrapper, wrapper.metadata, inspect.getdoc(wrapper), "none")
    return "\n".join([*lines, f"Place in a stack: {wrapper.metadata.get('order', 'any')}"])


def _about(cls: type, meta: Mapping[str, Any], text: str | None, without_paper: str) -> list[str]:
    """Lines with the name, the text and the paper of a task or a wrapper."""
    paper, link = meta.get("paper_name"), meta.get("paper_link")
    cited = f"{paper} ({link or 'missing link'})" if paper else without_paper
    return [f"### {cls.__name__}", "", text or "Missing description", "", f"Reference paper: {cited}"]


def info(env: str | gym.Env | None = None, show_code: bool = False) -> str:
    """Describe a task.

    Args:
        env: Id of the task, or an environment; None: the ids of all tasks, one a line.
        show_code: Whether to add the source of the task.
    """
    if env is None:
        return "\n".join(registration.all_envs())
    task = registration.make(env) if isinstance(env, str) else env
    return env_string(task) + (_code(type(task.unwrapped)) if show_code else "")


def info_wrapper(wrapper: str | None = None, show_code: bool = False) -> str:
    """Describe a wrapper.

    Args:
        wrapper: Its name; None: the names of all, one a line.
        show_code: Whether to add the source of the wrapper.
    """
    if wrapper is None:
        return "\n".join(all_wrappers())
    cls = wrapper_class(wrapper)
    return wrapper_string(cls) + (_code(cls) if show_code else "")


def _code(cls: type) -> str:
    return f"\n\n#### Source code ####\n\n{inspect.getsource(cls)}"


def _say(text: str) -> None:
    logger.info("%s", text)


class Difference(NamedTuple):
    """Row of the table of differences."""

    task: str  #: id, or ``toolkit:`` followed by the part of it
    what: str  #: what is different, and why


def differences(tasks: list[str] | None = None) -> list[Difference]:
    """List all differences of the given tasks, in the order of ids (default: of the toolkit, then of all tasks)."""
    ids = registration.every_task() if tasks is None else [registration.resolve(task) for task in tasks]
    return [
        *(Difference(f"toolkit: {change.part}", change.what) for change in TOOLKIT_CHANGES if tasks is None),
        *(
            Difference(id_, text)
            for id_ in ids
            for text in dict.fromkeys(registration.metadata(id_).get("differences", ()))
        ),
    ]


def as_markdown(rows: list[Difference] | None = None) -> str:
    """Format the table in Markdown, with a row per task."""
    by_task: dict[str, list[str]] = {}
    for row in differences() if rows is None else rows:
        by_task.setdefault(row.task, []).append(row.what.replace("|", "\\|"))
    lines = [f"| {_plain(task)} | {'; '.join(texts)} |" for task, texts in by_task.items()]
    return "\n".join(["| where | what is different here |", "|---|---|", *lines])


def _plain(task: str) -> str:
    return task.removeprefix("toolkit: ").removesuffix("-v0")
