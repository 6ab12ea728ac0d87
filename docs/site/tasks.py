"""A page for each task: the contents of ``ngym info``, a trial drawn, and a trained agent."""

from __future__ import annotations

import inspect
import io
from collections.abc import Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np

from docs.site import trained, trials
from docs.site.writing import Site, code, escaped, figure, page, paragraphs, prose, sentence, table, value
from neurogym.envs import registration
from ngym_cli.catalog import pages

#: Share of two sentences that agrees where they say the same.
ALIKE = 0.75

ROOT = Path(__file__).resolve().parents[2]


def write(site: Site, id_: str) -> dict[str, Any]:
    """Write the page of a task with its pictures; returns what is known of the task."""
    found, trial = pages.describe(id_, {}), trials.informative_trial(id_)
    drawn = Path(site.picture(f"tasks/{id_}-trial", trials.drawing(trial))).name
    pictures = [figure(drawn, trials.caption(trial), escaped(trials.caption(trial)))]
    if trial.frames is not None:
        high, wide = trial.frames.shape[1:3]
        said = f"What is seen: {len(trial)} frames of {high} by {wide} pixels; some of them."
        path = Path(site.picture(f"tasks/{id_}-frames", trials.strip(trial))).name
        pictures.insert(0, figure(path, said, said))
    data = io.BytesIO()
    trials.thumbnail(trial).savefig(data, format="png", dpi=100, metadata={"Software": None})
    site.write(f"tasks/{id_}-small.png", data.getvalue())
    site.write(f"tasks/{id_}.md", text(site, found, pictures))
    return found


def title(id_: str) -> str:
    """Return the name of a task without its version."""
    return id_.removesuffix("-v0")


def text(site: Site, found: Mapping[str, Any], pictures: list[str]) -> str:
    """Return the page of a task.

    Args:
        site: where the pictures of its trained agent go.
        found: from ``ngym_cli.catalog.pages.describe``.
        pictures: of its trial, as Markdown.
    """
    id_ = found["id"]
    return page(
        f"# {title(id_)}",
        *_lead(found),
        "## A trial", *pictures,
        _timing(found),
        _conditions(found),
        "## What is seen and what can be done", _spaces(found),
        "## Rewards", _rewards(found),
        "## How good can one be?", _levels(found),
        "## A trained agent", trained.section(site, id_),
        _differences(found),
        _arguments(found),
        "## Use it", _use(id_),
    )  # fmt: skip


def _lead(found: Mapping[str, Any]) -> list[str]:
    parts = [f"**{sentence(prose(found['description']))}**", *_more(found)]
    if found["paper"]:
        named = escaped(found["paper"])
        parts.append(f"Paper: [{named}]({found['link']})" if found["link"] else f"Paper: {named}")
    rows = [("Id", f"`{found['id']}`")]
    rows += [("Also called", ", ".join(f"`{alias}`" for alias in found["aliases"]))] if found["aliases"] else []
    tags = ", ".join(f"[{escaped(tag)}](index.md#{anchor(tag)})" for tag in found["tags"])
    rows += [("Tags", tags)] if tags else []
    rows.append(("Across trials", "carries information" if found["carries"] else "trials are independent"))
    if found["needs_reward"]:
        rows.append(("Needs as input", "the last reward: [`pass_reward`](../wrappers/pass_reward.md)"))
    return [*parts, "\n".join(f"{name}\n: {what}\n" for name, what in rows)]


def _more(found: Mapping[str, Any]) -> list[str]:
    """Return the paragraphs of the docstring, without a first sentence that says what the description says."""
    told = paragraphs(found["text"])
    first, stop, rest = (told[0] if told else "").partition(". ")
    alike = SequenceMatcher(None, first.lower().rstrip("."), found["description"].lower()).ratio() > ALIKE
    return [part for part in ([rest, *told[1:]] if alike else told) if part]


def anchor(tag: str) -> str:
    """Return the identifier of a tag's heading in the gallery."""
    return f"tag-{'-'.join(tag.lower().split())}"


def _timing(found: Mapping[str, Any]) -> str:
    steps, ms = found["trial_steps"], found["trial_ms"]
    rows = [(f"`{period['id']}`", escaped(period["duration"])) for period in found["periods"]]
    length = f"A step is {found['dt']:g} ms (`--dt`); a trial takes {steps['mean']:g} steps, {ms['mean']:g} ms"
    if steps["std"]:
        length += f" on average (s.d. {ms['std']:.0f}, 95 % below {ms['percentile_95']:g}, at most {ms['max']:g} ms)"
    return page("### Timing", f"{length}.", table(("period", "duration (ms)"), rows))


def _conditions(found: Mapping[str, Any]) -> str:
    rows = [(f"`{name}`", _values(values)) for name, values in found["conditions"].items()]
    said = "What differs between trials; any of it can be requested, as `env.new_trial(NAME=VALUE)`."
    return page("### Conditions", said, table(("condition", "values"), rows)) if rows else ""


def _values(values: Any) -> str:
    if not isinstance(values, list):
        return f"`{values:g}`" if isinstance(values, float) else escaped(values)
    if values and isinstance(values[0], str):
        return f"{escaped(values[0])} {_values(list(values[1])) if np.ndim(values[1]) else value(values[1])}"
    shown = [f"{one:g}" if isinstance(one, int | float) else str(one) for one in values]
    few = shown if len(shown) <= 12 else [*shown[:4], "...", shown[-1], f"({len(shown)})"]
    return escaped(", ".join(few))


def _spaces(found: Mapping[str, Any]) -> str:
    seen, done = found["observation"], found["action"]
    size = " x ".join(map(str, seen["shape"]))
    images = len(seen["shape"]) == 3
    first = f"Observation: {'an image of ' if images else ''}{size} {'numbers' if images else 'channels'}."
    amounts = " x ".join(map(str, done["shape"]))
    choices = f"one of {done['n']} choices" if "n" in done else f"{amounts} continuous values"
    channels = [(f"`{name}`", _places(where)) for name, where in seen["names"].items()]
    actions = [(f"`{name}`", _places(where)) for name, where in done["names"].items()]
    return page(
        first, table(("channel", "index"), channels), f"Action: {choices}.", table(("action", "index"), actions)
    )


def _places(where: Any) -> str:
    if not isinstance(where, list):
        return str(where)
    return f"{where[0]} to {where[-1]}" if len(where) > 3 else ", ".join(map(str, where))


def _rewards(found: Mapping[str, Any]) -> str:
    rows = [(f"`{name}`", escaped(f"{amount:g}" if np.isscalar(amount) else amount))
            for name, amount in found["rewards"].items()]  # fmt: skip
    return table(("outcome", "reward"), rows) or "The task says itself what is earned; see above."


def _levels(found: Mapping[str, Any]) -> str:
    rows = []
    if found["chance"] is not None:
        rows.append(("chance", f"{found['chance']:.4f}", "an agent that draws every action at random"))
    if found["blind"] is not None:
        rows.append(("blind", f"{found['blind']:.4f}", "the best agent that sees nothing but the time in the trial"))
    if found["ceiling"] is not None:
        rows.append(("ceiling", f"{found['ceiling']['performance']:.4f}", escaped(found["ceiling"]["method"])))
    if found["ceiling_with_reward"] is not None:
        full = found["ceiling_with_reward"]
        rows.append(("ceiling with the last reward as input", f"{full['performance']:.4f}", escaped(full["method"])))
    unknown = "" if found["ceiling"] is not None else f"The ceiling is not known: {escaped(found['no_ceiling'])}."
    said = "Performance of agents that need no training; results are always reported next to them."
    return page(said, table(("agent", "performance", "how"), rows), unknown)


def _differences(found: Mapping[str, Any]) -> str:
    rows = "\n".join(f"- {sentence(prose(what))}" for what in found["differences"])
    return page("## Differences from NeuroGym", rows) if rows else ""


def _arguments(found: Mapping[str, Any]) -> str:
    rows = [(f"`{name}`", value(default), prose(found["meaning"].get(name, "")))
            for name, default in found["arguments"].items()]  # fmt: skip
    exception, advised, learned = found["learned_with"], found["recommended"], ""
    if advised:
        learned += f"`--recommended` stands for `{advised['flags']}`: {prose(advised['reason'])}. "
    if found["taught"]:
        learned += f"By default it is learned from the right actions (`--alg supervised`): {prose(found['taught'])}. "
    if exception:
        settings = ", ".join(f"`{name}={given}`" for name, given in exception["settings"].items())
        learned += f"Its defaults of learning are its own: {settings}. {sentence(prose(exception['reason']))}"
    said = "Set with `--task-arg NAME=VALUE`, or `neurogym.make(id, NAME=VALUE)`."
    return page("## Arguments", said, table(("argument", "default", "meaning"), rows), learned) if rows else learned


def _use(id_: str) -> str:
    entry = inspect.unwrap(registration.entry(registration.resolve(id_)))
    source = Path(inspect.getsourcefile(entry) or "").resolve()
    place = f"Source: `{source.relative_to(ROOT)}`." if source.is_relative_to(ROOT) else ""
    return page(
        code(f"ngym run --task {id_}\nngym info {id_}"),
        code(f'import neurogym as ngym\n\nenv = ngym.make("{id_}")\nobservation, info = env.reset(seed=0)', "python"),
        place,
    )
