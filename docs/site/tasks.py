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
from docs.site.writing import Site, escaped, figure, paragraphs, render, value
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
        said = f"What is seen: frames of {high} by {wide} pixels, some of them."
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
    entry = inspect.unwrap(registration.entry(registration.resolve(found["id"])))
    source = Path(inspect.getsourcefile(entry) or "").resolve()
    return render(
        "task.md.jinja",
        found=found,
        pictures=pictures,
        more=_more(found),
        trained=trained.section(site, found["id"]),
        solutions=trained.solutions(site, found["id"]),
        place=f"Source: `{source.relative_to(ROOT)}`." if source.is_relative_to(ROOT) else "",
        title=title,
        anchor=anchor,
        values_in_words=_values,
        places=_places,
    )


def _more(found: Mapping[str, Any]) -> list[str]:
    """Return the paragraphs of the docstring, without a first sentence that says what the description says."""
    told = paragraphs(found["text"])
    first, _stop, rest = (told[0] if told else "").partition(". ")
    alike = SequenceMatcher(None, first.lower().rstrip("."), found["description"].lower()).ratio() > ALIKE
    return [part for part in ([rest, *told[1:]] if alike else told) if part]


def anchor(tag: str) -> str:
    """Return the identifier of a tag's heading in the gallery."""
    return f"tag-{'-'.join(tag.lower().split())}"


def _values(values: Any) -> str:
    if not isinstance(values, list):
        return f"`{values:g}`" if isinstance(values, float) else escaped(values)
    if values and isinstance(values[0], str):
        return f"{escaped(values[0])} {_values(list(values[1])) if np.ndim(values[1]) else value(values[1])}"
    shown = [f"{one:g}" if isinstance(one, int | float) else str(one) for one in values]
    few = shown if len(shown) <= 12 else [*shown[:4], "...", shown[-1], f"({len(shown)})"]
    return escaped(", ".join(few))


def _places(where: Any) -> str:
    if not isinstance(where, list):
        return str(where)
    return f"{where[0]} to {where[-1]}" if len(where) > 3 else ", ".join(map(str, where))
