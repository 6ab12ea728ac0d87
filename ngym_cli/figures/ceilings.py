"""Ceilings of single conditions, as figures draw them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ngym_cli.figures.source import Source


def of_values(source: Source, name: str, values: Sequence[Any]) -> list[float | None]:
    """Return the ceiling at each value of a condition, None where it is not known.

    It is that of an agent that knows the condition, which none can exceed that does not. It is computed by the task
    that holds this value only; where trials depend on earlier ones that would be another task, and nothing is known.

    Args:
        source: the run.
        name: column of the condition; ``task`` for the tasks of a session.
        values: of it.
    """
    if name == "task":
        return [source.facts.tasks.get(value, {}).get("ceiling") for value in values]
    argument = _argument(source, name)
    if argument is None or source.facts.carries or source.manifest.get("ceiling") is None:
        return [None] * len(values)
    return [_with(source, argument, value) for value in values]


def _argument(source: Source, name: str) -> str | None:
    """Return the argument of the task that lists the values of a condition: ``cohs`` for ``coh``."""
    from ngym_cli.config.parts import keyword_parameters
    from ngym_cli.config.tasks import find_task

    known = keyword_parameters(find_task(source.config.task).entry) or {}
    return f"{name}s" if f"{name}s" in known else None


def _with(source: Source, argument: str, value: object) -> float | None:
    """Return the ceiling of the task with a single value of an argument."""
    from ngym_cli.environments.facts import ceiling_of
    from ngym_cli.errors import UserError

    changed = source.config.model_copy(update={"task_args": {**source.config.task_args, argument: [value]}})
    try:
        found = ceiling_of(changed)
    except UserError:
        return None
    return None if found is None else float(found["performance"])
