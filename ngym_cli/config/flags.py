"""From command-line flags to the nested dictionary that a configuration is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ngym_cli.config.values import parse_assignment, parse_scalar, parse_value, parse_wrappers
from ngym_cli.errors import UserError


def settings(
    wrappers: str | None = None,
    timing: Iterable[str] | None = None,
    reward: Iterable[str] | None = None,
    task_arg: Iterable[str] | None = None,
    network_arg: Iterable[str] | None = None,
    set_: Iterable[str] | None = None,
    schedule: str | None = None,
    loss_weight: Iterable[str] | None = None,
    task_weight: Iterable[str] | None = None,
    eval_every: int | None = None,
    eval_trials: int | None = None,
    checkpoint_every: int | None = None,
    **plain: Any,
) -> dict[str, Any]:
    """Return the configuration that flags ask for, with nothing that they leave open.

    Args:
        wrappers: ``name,name:key=value``.
        timing: ``period=duration`` each.
        reward: ``outcome=number`` each.
        task_arg: ``name=value`` each.
        network_arg: ``name=value`` each.
        set_: ``hyperparameter=value`` each.
        schedule: of several tasks; an argument of what they make together.
        loss_weight: ``period=weight`` each; a hyperparameter of supervised learning.
        task_weight: ``task=weight`` each; likewise.
        eval_every: steps between evaluations.
        eval_trials: trials of each.
        checkpoint_every: steps between checkpoints.
        **plain: keys of the configuration that are flags of the same name.

    Raises:
        UserError: on a flag that is not ``key=value``, or a key given twice.
    """
    found: dict[str, Any] = {key: value for key, value in plain.items() if value is not None}
    if wrappers is not None:
        found["wrappers"] = parse_wrappers(wrappers)
    tables: dict[str, tuple[str, Iterable[str] | None, Callable[[str], Any]]] = {
        "timing": ("--timing", timing, str),
        "rewards": ("--reward", reward, parse_scalar),
        "task_args": ("--task-arg", task_arg, parse_value),
        "network_args": ("--network-arg", network_arg, parse_value),
        "hyperparameters": ("--set", set_, parse_value),
    }
    for section, (flag, given, parse) in tables.items():
        entries = _table(flag, given, parse)
        if entries:
            found[section] = entries
    if schedule is not None:
        found.setdefault("task_args", {})["schedule"] = schedule
    for name, flag, given in (
        ("loss_weight", "--loss-weight", loss_weight),
        ("task_weight", "--task-weight", task_weight),
    ):
        entries = _table(flag, given, parse_scalar)
        if entries:
            found.setdefault("hyperparameters", {})[name] = entries
    evaluation = {key: value for key, value in (("every", eval_every), ("trials", eval_trials)) if value is not None}
    if evaluation:
        found["evaluation"] = evaluation
    if checkpoint_every is not None:
        found["checkpoint"] = {"every": checkpoint_every}
    return found


def _table(flag: str, given: Iterable[str] | None, parse: Callable[[str], Any]) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for text in given or ():
        key, value = parse_assignment(text, flag)
        if key in entries:
            raise UserError(f"{flag}: '{key}' is given twice")
        entries[key] = parse(value)
    return entries
