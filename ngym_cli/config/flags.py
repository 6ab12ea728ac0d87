"""Command-line options of a run, made from the fields of the configuration.

`ngym run`, `eval` and `sweep` share these options; ``settings`` turns typed values into a nested dictionary for
``ngym_cli.config.from_dict``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from ngym_cli.config.loading import merge, nest
from ngym_cli.config.model import RunConfig
from ngym_cli.config.sections import AGENT, TASK, Section
from ngym_cli.config.tasks import RECOMMENDED_KEY
from ngym_cli.config.values import Value, parse_assignments, parse_scalar, parse_value, parse_wrappers

OptionType = Literal["word", "words", "number", "whole", "switch", "wrappers", "table"]


@dataclass(frozen=True)
class Flag:
    """Command-line option of a configuration field.

    Attributes:
        name: name with underscores, as in Python; ``set_`` is ``--set``.
        key: dotted key in the configuration.
        kind: type of the value; "table" takes NAME=VALUE and, like "words", may be repeated.
        help: help text.
        panel: group of options in the help.
        completes: name of the completion function.
        changes: whether an evaluation can change the field.
        sweeps: whether a sweep can vary the field.
        parse: function that reads a value of a table.
    """

    name: str
    key: str
    kind: OptionType
    help: str
    panel: str
    completes: str = ""
    changes: bool = False
    sweeps: bool = True
    parse: Callable[[str], Value] = parse_value

    @property
    def option(self) -> str:
        """Spelling on the command line."""
        return f"--{self.name.strip('_').replace('_', '-')}"


#: Functions that read the values of a table; values of other tables may be lists.
PARSERS: dict[str, Callable[[str], Value]] = {"timing": str, "rewards": parse_scalar}

#: Options that stand for an entry of a table, or for several settings.
SHORT = (
    Flag(
        "recommended", RECOMMENDED_KEY, "switch",
        "use the wrappers and settings that the task needs (see ngym info TASK); your own settings have priority",
        TASK, sweeps=False,
    ),
    Flag(
        "schedule", "task_args.schedule", "word",
        "order of several tasks: random, norepeat, sequential, block:100 or sequential_block:100 (trials)",
        TASK, "schedules", sweeps=False,
    ),
    Flag(
        "loss_weight", "hyperparameters.loss_weight", "table",
        "weight of a period in the loss, as in delay=2 (supervised)", AGENT, parse=parse_scalar,
    ),
    Flag(
        "task_weight", "hyperparameters.task_weight", "table",
        "relative frequency of a task, as in GoNogo-v0=2 (supervised, several tasks)", AGENT, parse=parse_scalar,
    ),
)  # fmt: skip


def _from_fields(model: type[Section], prefix: str = "") -> Iterator[Flag]:
    """Yield the options of a section."""
    for name, field in model.model_fields.items():
        kinds = [kind for kind in (field.annotation, *get_args(field.annotation)) if kind is not NoneType]
        inner = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Section)]
        told: Any = field.json_schema_extra
        if told:
            said = {**told, "name": told["name"] or name, "help": str(field.description)}
            parse = PARSERS.get(name, parse_value)
            yield Flag(key=f"{prefix}{name}", kind=_option_type(name, kinds), parse=parse, **said)
        elif inner and get_origin(field.annotation) is not list:
            yield from _from_fields(inner[0], f"{prefix}{name}.")


def _option_type(name: str, kinds: list[type]) -> OptionType:
    if name == "wrappers":
        return "wrappers"
    if any(get_origin(kind) is list for kind in kinds):
        return "words"
    if any(get_origin(kind) is dict for kind in kinds):
        return "table"
    return "whole" if int in kinds else "number" if float in kinds else "word"


#: Every option of a run by its name, the task first.
FLAGS: dict[str, Flag] = {
    flag.name: flag for flag in sorted([*_from_fields(RunConfig), *SHORT], key=lambda flag: flag.name != "task")
}


def settings(**given: Any) -> dict[str, object]:
    """Return the nested configuration of typed options; options that were not given are left out.

    Args:
        **given: values by the names of ``FLAGS``: texts, numbers, and for tables lists of ``NAME=VALUE``.

    Raises:
        UserError: on a text that is not ``NAME=VALUE``, or a name given twice.
    """
    found: dict[str, object] = {}
    for name, value in given.items():
        flag = FLAGS[name]
        if value is None or value == []:
            continue
        if flag.kind == "table":
            value = parse_assignments(value, flag.option, flag.parse)
        elif flag.kind == "wrappers":
            value = parse_wrappers(value)
        found = merge(found, nest({flag.key: value}))
    return found


#: Roles of the columns of a table of behaviour, and the help of their options.
ROLES = {
    "subject": "Column of the subject.",
    "session": "Column of the session.",
    "trial": "Column of the trial's number in its session.",
    "choice": "Column of the choice.",
    "correct": "Column that says whether the choice was correct.",
    "reward": "Column of the reward.",
    "ground_truth": "Column of the correct choice.",
    "rt": "Column of the reaction time (s or ms).",
    "stimuli": "Columns of the stimuli, as in s1,s2; 'none' for none.",
    "state": "Column of the second-stage state of a two-step task.",
    "choice2": "Column of the second-stage choice of a two-step task.",
    "gain": "Column of the amount won, beside --loss.",
    "loss": "Column of the amount lost.",
    "confidence": "Column of the confidence judgement.",
    "cue": "Column of the cue before the choice (go/no-go).",
}
