"""The options of a run on the command line, made from the fields of the configuration.

A field says in ``ngym_cli.config.model`` how it is written; `ngym run`, `eval` and `sweep` offer these options, and
``settings`` turns what was typed into the nested dictionary that a configuration is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from ngym_cli.config.model import RunConfig
from ngym_cli.config.sections import AGENT, TASK, Section
from ngym_cli.config.values import Value, parse_assignments, parse_scalar, parse_value, parse_wrappers

Kind = Literal["word", "number", "whole", "wrappers", "table"]


@dataclass(frozen=True)
class Flag:
    """One option.

    Attributes:
        name: with underscores, as in Python; ``set_`` is ``--set``.
        key: dotted key in the configuration; of a table, that of the table.
        kind: "table" takes NAME=VALUE and may be given several times.
        help: what it is.
        panel: group of options in the help.
        completes: what the shell completes it with.
        changes: whether an evaluation can change it.
        sweeps: whether a sweep can vary it.
        parse: reads a value of a table.
    """

    name: str
    key: str
    kind: Kind
    help: str
    panel: str
    completes: str = ""
    changes: bool = False
    sweeps: bool = True
    parse: Callable[[str], Value] = parse_value

    @property
    def option(self) -> str:
        """As it is typed."""
        return f"--{self.name.strip('_').replace('_', '-')}"


#: How the values of a table are read; all others may be lists.
PARSERS: dict[str, Callable[[str], Value]] = {"timing": str, "rewards": parse_scalar}

#: Options that stand for an entry of a table.
SHORT = (
    Flag(
        "schedule", "task_args.schedule", "word",
        "of several tasks: random, norepeat, sequential, block:100 or sequential_block:100 (trials)",
        TASK, "schedules", sweeps=False,
    ),
    Flag(
        "loss_weight", "hyperparameters.loss_weight", "table",
        "PERIOD=NUMBER, its weight in the loss (supervised)", AGENT, parse=parse_scalar,
    ),
    Flag(
        "task_weight", "hyperparameters.task_weight", "table",
        "TASK=NUMBER, how often it is drawn (supervised, several tasks)", AGENT, parse=parse_scalar,
    ),
)  # fmt: skip


def _from_fields(model: type[Section], prefix: str = "") -> Iterator[Flag]:
    """Yield an option for each field of a part of the configuration that says how it is written."""
    for name, field in model.model_fields.items():
        kinds = [kind for kind in (field.annotation, *get_args(field.annotation)) if kind is not NoneType]
        inner = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Section)]
        told: Any = field.json_schema_extra
        if told:
            key, more = f"{prefix}{name}", {k: told[k] for k in ("panel", "completes", "changes", "sweeps")}
            parse = PARSERS.get(name, parse_value)
            yield Flag(told["flag"], key, _kind(name, kinds), str(field.description), parse=parse, **more)
        elif inner and get_origin(field.annotation) is not list:
            yield from _from_fields(inner[0], f"{prefix}{name}.")


def _kind(name: str, kinds: list[Any]) -> Kind:
    if name == "wrappers":
        return "wrappers"
    if any(get_origin(kind) is dict for kind in kinds):
        return "table"
    return "whole" if int in kinds else "number" if float in kinds else "word"


#: Every option of a run by its name, the task first.
FLAGS: dict[str, Flag] = {
    flag.name: flag for flag in sorted([*_from_fields(RunConfig), *SHORT], key=lambda flag: flag.name != "task")
}


def settings(**given: Any) -> dict[str, Any]:
    """Return the configuration that options ask for, with nothing that they leave open.

    Args:
        **given: by the names of ``FLAGS``: texts and numbers, of tables lists of ``NAME=VALUE``; None where not given.

    Raises:
        UserError: on something that is not ``NAME=VALUE``, or a name given twice.
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        flag = FLAGS[name]
        if value is None or value == []:
            continue
        if flag.kind == "table":
            value = parse_assignments(value, flag.option, flag.parse)
        elif flag.kind == "wrappers":
            value = parse_wrappers(value)
        _put(found, flag.key, value)
    return found


def _put(found: dict[str, Any], key: str, value: Any) -> None:
    """Put a value at a dotted key, tables into what is there."""
    *tables, last = key.split(".")
    for table in tables:
        found = found.setdefault(table, {})
    found[last] = {**found[last], **value} if isinstance(found.get(last), dict) else value
