"""Plan of the runs of a recipe."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ngym_cli.config.model import RunConfig
from ngym_cli.config.values import Values, lookup, merge, nest
from ngym_cli.errors import UserError
from ngym_cli.sweeps.recipe import Recipe, without

#: Most runs of one sweep.
MOST_RUNS = 1_000_000
MAX_RUN_NAME = 80


@dataclass(frozen=True)
class Entry:
    """Run of a sweep.

    Attributes:
        job: number of the job; a worker does a single job at a time. The runs of a search trial share a job.
        name: name of the run folder.
        values: settings of this run alone: dotted key to value. Values drawn by a search are added later.
    """

    job: int
    name: str
    values: Values


def entries(recipe: Recipe) -> list[Entry]:
    """Return all runs of a recipe: the grid, zipped parameters moving together, seeds innermost.

    Raises:
        UserError: if there are too many.
    """
    axes = _axes(recipe)
    count = recipe.search.trials if recipe.search else 1
    for axis in axes:
        count *= len(axis)
    if count > MOST_RUNS:
        raise UserError(f"the recipe has {count:,} runs; the limit is {MOST_RUNS:,}")
    settings = [
        {key: value for axis_values in combination for key, value in axis_values.items()}
        for combination in itertools.product(*axes)
    ]
    if recipe.search is None:
        return [Entry(job, _name(job, values), values) for job, values in enumerate(settings)]
    return [Entry(job, _name(job, values), values) for job in range(recipe.search.trials) for values in settings]


def enlarged(old: Recipe, existing: Sequence[Entry], new: Recipe) -> list[Entry] | None:
    """Return the runs of a larger recipe; runs of the old recipe keep job and name.

    Args:
        old: recipe of a sweep.
        existing: runs of the sweep.
        new: recipe with more values, parameters or search trials.

    Returns:
        All runs of the new recipe, or None if the new recipe leaves out runs of the old one or changes their settings.
    """
    if old.search is not None or new.search is not None:
        fewer = old.search is None or new.search is None or new.search.trials < old.search.trials
        first, second = ({**recipe.identity(), "search": None} for recipe in (old, new))
        return None if fewer or first != second or _searched(old) != _searched(new) else entries(new)
    keys = [*dict.fromkeys([*old.grid, *new.grid])]
    if _shared(old.run, keys) != _shared(new.run, keys):
        return None
    before = {_values(old.run, entry, keys): entry for entry in existing}
    additional, job = [], max((entry.job for entry in existing), default=-1)
    for entry in entries(new):
        same = before.pop(_values(new.run, entry, keys), None)
        job += same is None
        additional.append(
            replace(same, values=entry.values) if same else Entry(job, _name(job, entry.values), entry.values)
        )
    return None if before else additional


def _searched(recipe: Recipe) -> dict[str, object]:
    return recipe.search.model_dump(exclude={"trials"}) if recipe.search is not None else {}


def _shared(run: Mapping[str, object], keys: Iterable[str]) -> Values:
    """Return the common settings without the given dotted keys."""
    return functools.reduce(without, keys, dict(run))


def _values(run: Mapping[str, object], entry: Entry, keys: Iterable[str]) -> str:
    """Return the values of dotted keys in a run, as a text; what is set nowhere has the default."""
    settings = merge(run, nest(entry.values))
    values_of_key = []
    for key in keys:
        value = lookup(settings, key)
        field = RunConfig.model_fields.get(key)
        values_of_key.append(field.default if value is None and field is not None else value)
    return repr(values_of_key)


def _axes(recipe: Recipe) -> list[list[Values]]:
    """Return the independent axes of the grid, each a list of parts of a setting; the seed's is the last."""
    groups = {name: tuple(group) for group in recipe.zip for name in group}
    order = sorted(dict.fromkeys(groups.get(name, (name,)) for name in recipe.grid), key=lambda names: "seed" in names)
    return [
        [dict(zip(names, row, strict=True)) for row in zip(*(recipe.grid[name] for name in names), strict=True)]
        for names in order
    ]


def _name(number: int, values: Mapping[str, object]) -> str:
    """Return a folder name made from the settings specific to a run."""
    words = [f"{key.rpartition('.')[2]}={_word(value)}" for key, value in values.items()]
    return re.sub(r"[^A-Za-z0-9=._+-]+", "_", "-".join([f"{number:05d}", *words]))[:MAX_RUN_NAME].rstrip("._-")


def _word(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return "+".join(map(_word, value))
    text = str(value)
    if ":" not in text:
        return text.rpartition("/")[2] or "none"
    return re.sub(r"[\w.~/-]*/(?=[\w.~-]*\.py:)", "", text)  # a wrapper's arguments keep their slashes


def without_seed(values: Mapping[str, Any]) -> Values:
    """Return the setting of a run: what it shares with the runs that differ in the seed only."""
    return {key: value for key, value in values.items() if key != "seed"}


def short_names(keys: list[str]) -> dict[str, str]:
    """Return the displayed name of each parameter: the last part of the key, where unambiguous."""
    lasts = [key.rpartition(".")[2] for key in keys]
    return {key: last if lasts.count(last) == 1 else key for key, last in zip(keys, lasts, strict=True)}


def distinct(values: Iterable[Any]) -> list[Any]:
    """Return the distinct values of a parameter: numbers in ascending order, other values in order of appearance."""
    by_text = list({repr(value): value for value in values}.values())
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in by_text)
    return sorted(by_text) if numbers else by_text
