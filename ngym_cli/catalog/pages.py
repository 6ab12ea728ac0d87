"""Content of ``ngym info``: the page of a task, and the choice among all pages by name."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gymnasium.spaces import Discrete, Space

from neurogym.ceilings.stack import needs_reward
from neurogym.compat.changes import ALIASES
from neurogym.core import TrialEnv
from neurogym.envs import registration
from neurogym.envs.multi.make import make_multi, task_ids
from neurogym.messages.plain_data import plain
from neurogym.sampling.distributions import Distribution, Vectors
from neurogym.spaces import names_of
from ngym_cli.agents.defaults import default_steps
from ngym_cli.agents.per_task import LEARNERS, OTHER_ALGORITHMS, exceptional, measured
from ngym_cli.catalog import reference
from ngym_cli.config import docstrings
from ngym_cli.config.extensions import is_reference, user_errors
from ngym_cli.config.model import from_dict
from ngym_cli.config.tasks import (
    Task,
    default_settings,
    defaults_table,
    find_task,
    recommended,
    task_names,
)
from ngym_cli.environments.properties import inner_task, properties_of
from ngym_cli.environments.stack import default_arguments, keyword_parameters, make_env
from ngym_cli.errors import UserError, check_known, option, unknown
from ngym_cli.figures.trial import TrialView, oracle_trial
from ngym_cli.files.outputs import may_write
from ngym_cli.terminal import Row


def describe(
    name: str, flags: Mapping[str, object], seed: int = 0, figure: Path | None = None, overwrite: bool = False
) -> Row:
    """Return all that is known of whatever has this name.

    Args:
        name: a task, or anything else by its name on the command line.
        flags: settings of the task, as in a configuration.
        seed: random seed of the drawn trial.
        figure: also draw the trial into this file.
        overwrite: replace that file.

    Raises:
        UserError: if there is nothing of that name, with the nearest, flags are given for anything but a task, or the
            file exists or cannot be written.
    """
    if figure is not None:
        may_write(figure, True, overwrite)
    page = _page(name)
    if page is None:
        return describe_task(name, flags, seed, figure)
    if flags or figure is not None:
        raise UserError(
            f"settings and {option('--figure')} are for tasks; {name} is not a task but of kind {page['kind']}"
        )
    return page


def _page(name: str) -> Row | None:
    """Return the page of anything but a task; None for a task."""
    page_of_user_part = reference.own_page(name)
    if page_of_user_part is not None or is_reference(name):
        return page_of_user_part
    try:
        find_task(name)
    except UserError:
        page = reference.page(name)
        if page is None:
            raise unknown("name", name, [*task_names(), *reference.all_names()]) from None
        return page
    return None


def as_json(page: Row) -> Row:
    """Return a description as plain data, including the example trial."""
    return {**page, "trial": page["trial"].as_row()} if "trial" in page else page


def describe_task(name: str, flags: Mapping[str, object], seed: int, figure: Path | None) -> Row:
    """Return the description of a task made with the given flags."""
    settings = from_dict({"wrappers": [], **flags, "task": name})
    task = find_task(name)
    env = make_env(task, settings)
    inner = inner_task(env)
    with user_errors(f"task {name}", task.own):
        trial = oracle_trial(env, seed)
        lengths = inner.trial_length_stats(1_000)
        properties = properties_of(env, task, str(inner.make_trials(1).go_period))
        exception = exceptional(task.id, properties.rt_from, properties.dt)
        trial = dataclasses.replace(trial, conditions=list(properties.conditions))
    if figure is not None:
        _save_trial(trial, figure)
    arguments, meaning = _arguments(task)
    usual = None if task.own else default_settings(task.id)
    meta, advised = task.metadata, None if task.own else recommended(task.id)
    return {
        "id": task.id,
        "kind": "task",
        "aliases": sorted(alias for alias, (target, _) in ALIASES.items() if target == task.id),
        "description": "several tasks in one session" if task.several else meta.get("description", ""),
        "paper": meta.get("paper_name"),
        "link": meta.get("paper_link"),
        "tags": list(meta.get("tags", [])),
        "differences": list(meta.get("differences", [])),
        "history_dependent": properties.history_dependent,
        "dt": properties.dt,
        "periods": [{"id": name, "duration": Distribution.of(spec).phrase()} for name, spec in inner.timing.items()],
        "trial_steps": lengths,
        "trial_ms": {key: value * properties.dt for key, value in lengths.items()},
        "observation": _space(env.observation_space),
        "action": _space(env.action_space),
        "rewards": dict(inner.rewards),
        "conditions": {key: _values(value) for key, value in properties.conditions.items()},
        "chance": properties.chance,
        "blind": properties.blind,
        "ceiling": properties.ceiling,
        "no_ceiling": properties.no_ceiling,
        "needs_reward": needs_reward(env),
        "ceiling_with_reward": inner.ceiling() if properties.lacks_reward else None,
        "supervised": meta.get("supervised"),
        "default_wrappers": {"flags": usual.words, "reason": usual.reason} if usual else None,
        "recommended": {"flags": advised.words, "reason": advised.reason} if advised else None,
        "steps": default_steps(settings, task.id),
        "learned": {name: plain(row) for name in LEARNERS if (row := measured(task.id, name))},
        "learned_with": {"settings": exception.settings, "reason": exception.reason} if exception else None,
        "learned_with_others": _other_algorithms(task.id),
        "arguments": arguments,
        "meaning": meaning,
        "trial": trial,
        "text": inspect.getdoc(task.entry) or "",
    }


def _other_algorithms(task: str) -> dict[str, Row]:
    """Return the defaults of a task with algorithms other than its default one, by name: settings and reason."""
    tables = {name: (each.settings, each.reason) for (id_, name), each in OTHER_ALGORITHMS.items() if id_ == task}
    for name, special in defaults_table().get(task, {}).get("settings_with", {}).items():
        tables[name] = {"wrappers": ",".join(entry["name"] for entry in special["wrappers"])}, special["reason"]
    return {name: {"settings": settings, "reason": reason} for name, (settings, reason) in tables.items()}


def _save_trial(trial: TrialView, path: Path) -> None:
    """Draw the trial into a file."""
    from ngym_cli.figures.files import FIGURE_FORMATS, save_figure
    from ngym_cli.figures.style import styled
    from ngym_cli.figures.trial_drawing import trials_figure

    check_known("format", path.suffix.removeprefix("."), FIGURE_FORMATS)
    if trial.frames is not None:
        raise UserError(f"{option('--figure')} draws tasks whose observation is one row of channels")
    with styled():
        save_figure(trials_figure([trial], ("inputs", "choice", "reward")), path)


def _arguments(task: Task) -> tuple[Row, dict[str, str]]:
    """Return defaults and meanings of the arguments of a task; of several tasks, those of the session and of each."""
    entries, defaults = [task.entry], Row()
    if task.several:
        session = default_arguments(make_multi)
        defaults = {name: default for name, default in session.items() if name not in ("ids", "schedule")}
        entries = [registration.entry(id_) for id_ in task_ids(task.name)]
    meaning, common = docstrings.arguments(make_multi) if defaults else {}, docstrings.arguments(TrialEnv)
    for entry in entries:
        rows = reference.arguments(entry, ("dt", "timing", "rewards"))
        defaults = {**{row["id"]: row["default"] for row in rows}, **defaults}
        usual = {name: common[name] for name in keyword_parameters(entry) or () if name in common}
        meaning = {**usual, **docstrings.arguments(entry), **meaning}
    return defaults, meaning


def _values(value: Any) -> object:
    if isinstance(value, Vectors):
        return repr(value)
    if isinstance(value, Distribution):
        return [value.kind, plain(value.arguments)]
    return value if isinstance(value, int | float | str) else plain(list(value))


def _space(space: Space[Any]) -> Row:
    description = {"type": type(space).__name__, "shape": list(space.shape or ()), "names": plain(names_of(space))}
    return {**description, "n": int(space.n)} if isinstance(space, Discrete) else description
