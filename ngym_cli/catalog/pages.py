"""What ``ngym info`` tells of a task or a wrapper."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from neurogym.ceilings import needs_reward
from neurogym.recording.rollout import Oracle, Step, rollout
from ngym_cli import config as configuration
from ngym_cli.agents.algorithms.exceptions import exceptional
from ngym_cli.catalog import addresses, docstrings, reference
from ngym_cli.catalog.listing import changes, links_trials, metadata_of
from ngym_cli.config.tasks import find_task, keyword_parameters, task_names, user_errors
from ngym_cli.config.wrappers import find_wrapper, wrapper_names
from ngym_cli.environments.facts import facts_of
from ngym_cli.environments.stack import make_env
from ngym_cli.errors import UserError, unknown
from ngym_cli.files.writing import check_place
from ngym_cli.terminal import cell, console, print_columns

#: Steps after which the drawing of a trial is cut.
MOST_STEPS = 2_000


def describe(
    name: str, flags: Mapping[str, Any], seed: int = 0, figure: Path | None = None, overwrite: bool = False
) -> dict[str, Any]:
    """Return all that is known of whatever has this name.

    Args:
        name: a task, or anything else by its name on the command line.
        flags: how the task is to be made, from ``ngym_cli.config.flags.settings``.
        seed: of the trial that is drawn.
        figure: also draw the trial into this file.
        overwrite: replace that file.

    Raises:
        UserError: if there is nothing of that name, with the nearest, or the file exists or cannot be written.
    """
    if figure is not None:
        check_place(figure, overwrite)
    if name in wrapper_names():
        return describe_wrapper(name)
    if ":" not in name:
        try:
            find_task(name)
        except UserError as error:
            if name.endswith(".py"):
                raise error
            page = reference.page(name)
            if page is None:
                raise unknown("name", name, [*task_names(), *wrapper_names(), *reference.all_names()]) from None
            return page
    return describe_task(name, flags, seed, figure)


def describe_wrapper(name: str) -> dict[str, Any]:
    """Return all that is known of a wrapper."""
    from neurogym.wrappers import key_of

    cls = find_wrapper(name)
    meta = metadata_of(cls)
    return {
        "id": name,
        "kind": "wrapper",
        "class": cls.__name__,
        "description": meta.get("description", ""),
        "paper": meta.get("paper_name"),
        "link": meta.get("paper_link"),
        "order": meta.get("order", ""),
        "carries": links_trials(cls),
        "ceiling_effect": _effect(cls),
        "changes": changes(cls),
        "decides": list(getattr(cls, "decides", ())),
        "inside_of": [key_of(other) for other in getattr(cls, "inside_of", ())],
        "arguments": _arguments(cls, ("env",)),
        "meaning": docstrings.arguments(cls),
        "text": inspect.getdoc(cls) or "",
    }


def _effect(cls: Any) -> str:
    """What a wrapper does to the ceiling, as far as it does not depend on its arguments."""
    effect = getattr(cls, "ceiling_effect", None)
    if effect is None:
        return "as the arguments and the task say"
    return "left as it is" if effect.kind == "leaves" else f"not known: {effect.why}"


def _arguments(entry: Any, without: tuple[str, ...] = ()) -> dict[str, Any]:
    found = {name: value for name, value in (keyword_parameters(entry) or {}).items() if name not in without}
    return {name: "required" if value is inspect.Parameter.empty else value for name, value in found.items()}


def describe_task(name: str, flags: Mapping[str, Any], seed: int, figure: Path | None) -> dict[str, Any]:
    """Return all that is known of a task as it is made from these flags."""
    from neurogym.envs.aliases import ALIASES

    settings = configuration.from_dict({**flags, "task": name})
    task = find_task(name)
    env = make_env(task, settings)
    inner: Any = env.unwrapped
    with user_errors(f"task {name}", task.own):
        trial = draw_trial(env, seed)
        lengths = inner.trial_length_stats(1_000)
        facts = facts_of(env, task, str(inner.make_trials(1).go_period))
        exception = exceptional(task.id, facts.rt_from, facts.dt)
    if figure is not None:
        _save(trial, facts, figure)
    meta = task.metadata
    return {
        "id": task.id,
        "kind": "task",
        "aliases": sorted(alias for alias, (target, _) in ALIASES.items() if target == task.id),
        "description": "several tasks in one session" if task.several else meta.get("description", ""),
        "paper": meta.get("paper_name"),
        "link": meta.get("paper_link"),
        "tags": list(meta.get("tags", [])),
        "differences": list(meta.get("differences", [])),
        "carries": facts.carries,
        "dt": facts.dt,
        "periods": _periods(inner),
        "trial_steps": lengths,
        "trial_ms": {key: value * facts.dt for key, value in lengths.items()},
        "observation": _space(env.observation_space),
        "action": _space(env.action_space),
        "rewards": dict(inner.rewards) if isinstance(inner.rewards, Mapping) else {},
        "conditions": {key: _values(value) for key, value in facts.conditions.items()},
        "chance": facts.chance,
        "blind": facts.blind,
        "ceiling": facts.ceiling,
        "no_ceiling": facts.no_ceiling,
        "needs_reward": needs_reward(env),
        "ceiling_with_reward": inner.ceiling() if facts.lacks_reward else None,
        "learned_with": asdict(exception) if exception else None,
        "arguments": _arguments(task.entry, ("dt", "timing", "rewards")),
        "meaning": _meanings(task.entry),
        "trial": trial,
        "text": inspect.getdoc(task.entry) or "",
    }


def _meanings(entry: Any) -> dict[str, str]:
    """Return what each argument of a task means; what all tasks have is described once, in their base class."""
    from neurogym.core import TrialEnv

    own, usual = docstrings.arguments(entry), docstrings.arguments(TrialEnv)
    return {**{name: usual[name] for name in keyword_parameters(entry) or () if name in usual}, **own}


def _periods(env: Any) -> list[dict[str, Any]]:
    from neurogym.sampling.distributions import Distribution

    return [{"id": period, "duration": Distribution.of(spec).phrase()} for period, spec in env.timing.items()]


def _values(value: Any) -> Any:
    from neurogym.sampling.distributions import Distribution
    from neurogym.sampling.patterns import Vectors

    if isinstance(value, Vectors):
        return repr(value)
    if isinstance(value, Distribution):
        return [value.kind, _plain(value.arguments)]
    return value if isinstance(value, int | float | str) else [_plain(item) for item in value]


def _plain(value: Any) -> Any:
    """A value of a condition, which may be a set of alternatives of any size, as plain data."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, list | tuple | range) else value


def _space(space: Any) -> dict[str, Any]:
    names = {
        key: list(where) if isinstance(where, range) else where
        for key, where in (getattr(space, "name", {}) or {}).items()
    }
    found: dict[str, Any] = {"type": type(space).__name__, "shape": list(space.shape), "names": names}
    if hasattr(space, "n"):
        found["n"] = int(space.n)
    return found


def draw_trial(env: Any, seed: int) -> dict[str, Any]:
    """Let the oracle do one trial and return what it saw and did, one entry per step."""
    oracle = _OracleOfATrial(env)
    steps: list[Step] = []
    for step in rollout(env, oracle, seed):
        steps.append(step)
        if step.over or len(steps) == MOST_STEPS:
            break
    seen = np.array([step.seen for step in steps])
    record = steps[-1].info.get("trial", {})
    return {
        "conditions": {key: value for key, value in record.items() if np.ndim(value) == 0},
        "periods": {name: [start, min(end, len(steps))] for name, (start, end) in oracle.periods.items()},
        "observations": np.round(seen, 4).tolist() if seen.ndim == 2 else None,
        "actions": [np.asarray(step.action).tolist() for step in steps],
        "ground_truth": [np.asarray(step.info["gt"]).tolist() if "gt" in step.info else None for step in steps],
        "rewards": [step.reward for step in steps],
    }


class _OracleOfATrial(Oracle):
    """Keeps the periods of the trial that it begins with."""

    periods: dict[str, tuple[int, int]] = {}  # noqa: RUF012  (replaced, never changed)

    def act(self, ob: Any) -> Any:
        if not self.periods:
            ends = self.task.end_ind
            self.periods = {name: (start, ends[name]) for name, start in self.task.start_ind.items()}
        return super().act(ob)


def _save(trial: Mapping[str, Any], facts: Any, path: Path) -> None:
    """Draw the trial into a file."""
    from ngym_cli.figures.examples import Trace, example_trials
    from ngym_cli.figures.requests import FORMATS, save_figure
    from ngym_cli.figures.style import styled

    if path.suffix.removeprefix(".") not in FORMATS:
        raise unknown("format", path.suffix.removeprefix("."), FORMATS)
    if trial["observations"] is None:
        raise UserError("--figure draws tasks whose observation is one row of channels")
    known = [] if None in trial["ground_truth"] else [np.ravel(value) for value in trial["ground_truth"]]
    trace = Trace(
        observations=[np.asarray(row) for row in trial["observations"]],
        actions=[np.ravel(action) for action in trial["actions"]],
        ground_truth=known,
        rewards=trial["rewards"],
        ends=[len(trial["actions"])],
        outcomes=["oracle"],
    )
    with styled():
        save_figure(example_trials(trace, facts.dt, facts.labels), path)


def show(found: Mapping[str, Any]) -> None:
    """Print what ``describe`` found for people to read, and where its page of the documentation is."""
    _show(found)
    where = addresses.of(found["kind"], found["id"])
    if where is not None:
        console().print(f"\npage  {where}", soft_wrap=True)


def _show(found: Mapping[str, Any]) -> None:
    out = console()
    out.print(Text.assemble((found["id"], "bold"), f"  {found['description']}"), soft_wrap=True)
    if found["paper"]:
        paper = [str(part) for part in (found["paper"], found.get("link")) if part]  # a user's task may say anything
        out.print(", ".join(paper), style="dim", soft_wrap=True)
    if found["kind"] not in ("task", "wrapper"):
        _show_reference(found)
        return
    if found["kind"] == "wrapper":
        rows = {
            "summary": found["text"].partition("\n\n")[0],
            "changes": found["changes"],
            "decides": found["decides"],
            "order": found["order"],
            "must be inside": found["inside_of"],
            "ceiling": found["ceiling_effect"],
            "across trials": "carries information" if found["carries"] else "trials stay independent",
        }
    else:
        rows = _task_rows(found)
    out.print()
    for label, value in rows.items():
        if value not in ("", None, [], {}):
            out.print(Text.assemble((f"  {label:<16} ", "dim"), cell(value)), soft_wrap=True)
    _show_arguments(found)
    if found["kind"] == "task":
        out.print()
        from ngym_cli.figures.text_trial import lines

        for line in lines(found):
            out.print(line, soft_wrap=True)


def _show_reference(found: Mapping[str, Any]) -> None:
    """Print the page of an algorithm, a network, a figure, a launcher, an analysis or a paper."""
    out = console()
    out.print()
    for label, value in {"kind": found["kind"], **found["rows"]}.items():
        if value not in ("", None, [], {}):
            out.print(Text.assemble("  ", (f"{label:<16}", "dim"), f" {cell(value)}"), soft_wrap=True)
    if found["options"]:
        out.print(Text.assemble("\n  ", (found["flag"], "dim")), soft_wrap=True)
        rows = [
            (row["id"], str(row["default"]) if row["default"] == "required" else f"={_written(row['default'])}",
             row["range"], ", ".join(filter(None, (row["meaning"], row["source"]))))
            for row in found["options"]
        ]  # fmt: skip
        print_columns(rows, indent=2)
    if found["kind"] == "paper":
        from ngym_cli.papers import printing

        printing.print_contents(found)
    if found["example"]:
        out.print(f"\n  example  {found['example']}", soft_wrap=True)


def _written(value: Any) -> str:
    """Return a value as it is written on the command line."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "/".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _show_arguments(found: Mapping[str, Any]) -> None:
    """Print each argument, its default and what it means."""
    if not found["arguments"]:
        return
    rows = [
        (name, str(default) if default == "required" else f"={default}", found["meaning"].get(name, ""))
        for name, default in found["arguments"].items()
    ]
    flag = "--task-arg NAME=VALUE" if found["kind"] == "task" else f"--wrappers {found['id']}:NAME=VALUE"
    console().print(Text.assemble("\n  ", ("arguments", "dim"), f"  {flag}"), soft_wrap=True)
    print_columns(rows, indent=2)


def _task_rows(found: Mapping[str, Any]) -> dict[str, Any]:
    steps, ms = found["trial_steps"], found["trial_ms"]
    length = f"{steps['mean']:g} steps, {ms['mean']:g} ms" + (
        f" on average (s.d. {ms['std']:.0f}, 95 % below {ms['percentile_95']:g}, longest {ms['max']:g})"
        if steps["std"]
        else ""
    )
    action = found["action"]
    return {
        "also called": found["aliases"],
        "tags": found["tags"],
        "time step": f"{found['dt']:g} ms",
        "periods (ms)": ", ".join(f"{period['id']} {period['duration']}" for period in found["periods"]),
        "trial": length,
        "observation": f"{tuple(found['observation']['shape'])}  " + _named(found["observation"]["names"]),
        "action": (f"{action['n']} choices  " if "n" in action else f"{tuple(action['shape'])}  ")
        + _named(action["names"]),
        "rewards": found["rewards"],
        "conditions": ", ".join(f"{key} {_short(value)}" for key, value in found["conditions"].items()),
        "chance": found["chance"],
        "blind": _blind(found["blind"]),
        "ceiling": _ceiling(found),
        "needs as input": "the last reward (pass_reward)" if found["needs_reward"] else None,
        "across trials": "carries information" if found["carries"] else "trials are independent",
        "learned with": _exception(found["learned_with"]) if found["learned_with"] else None,
        "differences": "; ".join(found["differences"]),
    }


def _blind(score: float | None) -> str | None:
    """What an agent reaches that sees nothing but the time in the trial."""
    if score is None:
        return None
    all_of_it = ": no observation is needed to reach the best performance" if score >= 0.999 else ""
    return f"{score:.4f}, the best agent that sees nothing{all_of_it}"


def _ceiling(found: Mapping[str, Any]) -> str:
    ceiling, full = found["ceiling"], found["ceiling_with_reward"]
    if ceiling is None:
        return f"not known: {found['no_ceiling']}"
    text = f"{ceiling['performance']:.4f}, {ceiling['method']}"
    return text if full is None else f"{text}; with the last reward as input {full['performance']:.4f}"


def _exception(exception: Mapping[str, Any]) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in exception["hyperparameters"].items())
    return f"{settings}: {exception['reason']}"


def _named(names: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {_short(where)}" for key, where in names.items())


def _short(values: Any) -> str:
    if not isinstance(values, list):
        return str(values)
    if values and isinstance(values[0], str):
        return f"{values[0]} {_short(list(values[1])) if np.ndim(values[1]) else values[1]}"
    shown = [f"{value:g}" if isinstance(value, int | float) else str(value) for value in values]
    return "/".join(shown) if len(shown) <= 8 else f"{shown[0]}..{shown[-1]} ({len(shown)})"
