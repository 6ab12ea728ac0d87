"""Fields of requests and configurations, each declared once, as options of the shell, of Python and of TOML.

A model has type, range and default of a field; the TOML file of the same name beside the module has the help and the
spellings, as a `Flag`. `options_of` lists the options of a model; ``ngym_cli.commands.shell`` makes a command from
them, ``ngym_cli.api.keywords`` the arguments of a function, and `checked` words what is refused as the user wrote it:
``--n-envs`` in the shell, ``n_envs`` in Python, a key in a file.
"""

from __future__ import annotations

import functools
import itertools
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from ngym_cli.config.options import refused
from ngym_cli.config.values import (
    Value,
    Values,
    merge,
    nest,
    parse_assignments,
    parse_list,
    parse_option,
    parse_scalar,
    parse_value,
    parse_whole,
    parse_whole_numbers,
    parse_wrappers,
    split_entries,
)
from ngym_cli.errors import UserError, option, unknown

OptionType = Literal["word", "path", "names", "words", "number", "whole", "switch", "wrappers", "table"]


def split_names(names: object) -> object:
    """Return names separated by commas, or a single name, as a sequence; other values as they are."""
    return split_entries(names) if isinstance(names, str) else names


def joined(names: object) -> object:
    """Return a sequence of names as a text with commas; other values as they are."""
    return ",".join(map(str, names)) if isinstance(names, list | tuple) else names


#: Text with commas, or a sequence.
Joined = Annotated[str | None, BeforeValidator(joined)]
#: Names, written with commas or as a sequence.
Names = Annotated[tuple[str, ...], BeforeValidator(split_names)]
#: Texts, one or several.
Texts = Annotated[list[str], BeforeValidator(lambda texts: [texts] if isinstance(texts, str) else texts)]


#: Functions that read a value of a table, by the word in a `Flag`.
PARSERS: dict[str, Callable[[str], Value]] = {
    "value": parse_value,
    "scalar": parse_scalar,
    "option": parse_option,
    "text": str,
}


@functools.cache
def rows_of(file: str) -> Values:
    """Return the rows of the TOML file beside a module; none without such a file."""
    path = Path(file).with_suffix(".toml")
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


class Described(BaseModel):
    """Model with options, which the TOML file beside its module describes."""

    #: Descriptions of fields that several models have, by name.
    shared: ClassVar[Values] = {}

    @classmethod
    def __pydantic_init_subclass__(cls, **_: object) -> None:
        """Add to each field the `Flag` that its row stands for."""
        rows = rows_of(getattr(sys.modules[cls.__module__], "__file__", None) or "").get(cls.__name__, {})
        for name in {*rows, *(cls.shared.keys() & cls.__annotations__.keys())}:
            row = {**cls.shared.get(name, {}), **rows.get(name, {})}
            values: Values = {key: tuple(item) if isinstance(item, list) else item for key, item in row.items()}
            cls.model_fields[name].metadata.append(Flag(**values))


class Section(Described):
    """Section of a configuration: unknown keys are errors, assignments are checked."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True, allow_inf_nan=False)


class Request(Described):
    """Everything that is asked of a command; the docstring of each subclass is its help, with examples at the end."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)

    shared: ClassVar[Values] = rows_of(__file__)

    #: Options that most people need, by name or key, with which the help begins; empty where these are all.
    common: ClassVar[tuple[str, ...]] = ()

    def is_empty(self) -> bool:
        """Return whether the command has nothing to do, so that the shell shows its help."""
        return False


AnyModel = TypeVar("AnyModel", bound=BaseModel)
AnyRequest = TypeVar("AnyRequest", bound=Request)
AnyMetadata = TypeVar("AnyMetadata")


@dataclass(frozen=True)
class Flag:
    """Presentation of a field as an option.

    Attributes:
        help: help text.
        panel: group of options in the help.
        names: spellings in the shell, if different from the field's name; those after the first are older, and read
            but not shown.
        completes: name of a completion function in ``ngym_cli.commands.completion``.
        key: dotted key of the value, if different from the field's name.
        parse: function that reads a value of a table, a key of `PARSERS`.
        positional: whether the shell takes the value without the name of the option.
        metavar: placeholder of the value in the help, if not that of the type.
        default: default in words, where the type has none.
        hidden: whether the help leaves the option out.
        changes: whether an evaluation can change the field of a configuration.
        aliases: older names in Python.
    """

    help: str
    panel: str | None = None
    names: tuple[str, ...] = ()
    completes: str = ""
    key: str = ""
    parse: str = "value"
    positional: bool = False
    metavar: str = ""
    default: str = ""
    hidden: bool = False
    changes: bool = False
    aliases: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """Help text with the default in words."""
        return f"{self.help} Default: {self.default}." if self.default else self.help


@dataclass(frozen=True)
class Options:
    """Presentation of a table whose entries are options, declared by sections.

    Attributes:
        sections: sections with the options; the first describes the table.
        panel: group of all these options in the help, if not that of each.
        many: whether each option takes several values, as in a sweep.
        chosen: selects options.
    """

    sections: tuple[type[Section], ...]
    panel: str | None = None
    many: bool = False
    chosen: Callable[[Flag], bool] = lambda flag: True


@dataclass(frozen=True)
class Option:
    """Option of a command.

    Attributes:
        table: dotted key of the table of options that it belongs to, with a dot at the end; empty without.
        entry: dotted key of the value in the table.
        kind: type of the value; "names" are separated by commas; "table" takes NAME=VALUE and, like "words", may be
            repeated.
        flag: presentation.
        panel: group of options in the help.
        info: the pydantic field.
        many: whether several values are taken, as in a sweep.
    """

    table: str
    entry: str
    kind: OptionType
    flag: Flag
    panel: str | None
    info: FieldInfo
    many: bool = False

    @property
    def key(self) -> str:
        """Dotted key of the value in the data of the request."""
        return f"{self.table}{self.entry}"

    @property
    def spelling(self) -> str:
        """Name in the shell."""
        if self.flag.positional:
            return self.entry.upper()
        word = f"--{self.entry.replace('_', '-').replace('.', '-')}"
        return self.flag.names[0].partition("/")[0] if self.flag.names else word

    @property
    def name(self) -> str:
        """Name as a keyword argument in Python."""
        return self.spelling.strip("-").replace("-", "_") if "." in self.entry else self.entry

    @property
    def spellings(self) -> tuple[str, ...]:
        """All names in the shell, and older names in Python."""
        names = (name.partition("/")[0] for name in self.flag.names[1:])
        return (self.spelling, *names, *self.flag.aliases)

    @property
    def is_hidden(self) -> bool:
        """Whether the help leaves the option out: older spellings, and settings of runs that a sweep varies."""
        return self.flag.hidden or self.many

    @property
    def written(self) -> str:
        """Name as the caller writes it, in the shell or in Python."""
        return option(self.spelling).partition("=")[0]

    def read(self, text: Any) -> object:
        """Return the value of what was typed: a text, a list of texts, or a truth value.

        Raises:
            UserError: if the text is not a value of the option's type.
        """
        if self.many:
            return self._read_several(text)
        if self.kind == "table":
            return parse_assignments(text, self.spelling, PARSERS[self.flag.parse])
        if self.kind == "wrappers":
            return parse_wrappers(text)
        if self.kind in ("whole", "number"):
            try:
                return parse_whole(text) if self.kind == "whole" else float(text)
            except ValueError as error:
                reason = str(error) if self.kind == "whole" else f"{text!r} is not a number"
                raise UserError(f"{self.spelling}: {reason}") from None
        return text

    def _read_several(self, text: Any) -> object:
        """Return the alternatives of what was typed; of a table, those of each entry."""
        if self.kind == "wrappers":
            return ["" if stack == "none" else stack for stack in text]
        if self.kind == "whole":
            return parse_whole_numbers(text, self.spelling)
        if self.kind != "table":
            return parse_list(text, str if self.kind == "word" else parse_scalar, self.spelling)
        texts = parse_assignments(text, self.spelling, str)
        return {entry: parse_list(value, parse_value, f"{self.spelling} {entry}") for entry, value in texts.items()}


def options_of(
    model: type[BaseModel],
    table: str = "",
    prefix: str = "",
    options: Options | None = None,
) -> Iterator[Option]:
    """Yield the options of a model, those of nested sections and of tables of options included.

    Args:
        model: request or section.
        table: dotted key of the table of options that the section describes, with a dot at the end.
        prefix: dotted key of the section in the table, with a dot at the end.
        options: presentation of the table.
    """
    options = options or Options(())
    for name, info in model.model_fields.items():
        flag, of_table = metadata_of(info, Flag), metadata_of(info, Options)
        if of_table is not None:
            sections = [options_of(section, f"{table}{name}.", "", of_table) for section in of_table.sections]
            yield from sorted(itertools.chain(*sections), key=lambda option: option.entry != "task")  # the task first
        elif flag is not None:
            if options.chosen(flag):
                entry, panel = flag.key or f"{prefix}{name}", options.panel or flag.panel
                yield Option(table, entry, _type(name, info), flag, panel, info, options.many)
        elif get_origin(info.annotation) is not list and (inner := section_of(info)) is not None:
            yield from options_of(inner, table, f"{prefix}{name}.", options)


def metadata_of(field: FieldInfo, kind: type[AnyMetadata]) -> AnyMetadata | None:
    """Return the entry of a type in the ``Annotated[...]`` of a field, or None."""
    return next((entry for entry in field.metadata if isinstance(entry, kind)), None)


def section_of(field: FieldInfo) -> type[Section] | None:
    """Return the section that a field holds, alone, optional or in a list, or None."""
    if isinstance(field.annotation, type):
        return field.annotation if issubclass(field.annotation, Section) else None
    kinds = [inner for kind in get_args(field.annotation) for inner in (kind, *get_args(kind))]  # as of list[X] | None
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Section)), None)


def _type(name: str, field: FieldInfo) -> OptionType:
    """Return the type of an option."""
    kinds = [kind for kind in (get_args(field.annotation) or ()) if kind is not NoneType]
    is_union = get_origin(field.annotation) in (Union, UnionType)
    origins = {get_origin(kind) or kind for kind in (kinds if is_union else [field.annotation])}
    if name == "wrappers":
        return "wrappers"
    if tuple in origins:
        return "names"
    if list in origins:
        return "words"
    if dict in origins:
        return "table"
    if Path in origins:
        return "path"
    return "switch" if bool in origins else "whole" if int in origins else "number" if float in origins else "word"


def read_options(
    model: type[AnyModel], typed: Mapping[str, object], options: Iterable[Option] | None = None
) -> AnyModel:
    """Return the request of typed options.

    Args:
        model: the request.
        typed: texts, lists of texts and truth values by dotted key; None or an empty list for what was not typed.
        options: of the model, if known.

    Raises:
        UserError: on anything that does not fit, in the words of the shell.
    """
    pairs = ((option, typed.get(option.key)) for option in options or options_of(model))
    values = ((option, option.read(text)) for option, text in pairs if text is not None and text != [])
    return checked(model, arranged(values), typed=True)


def arranged(values: Iterable[tuple[Option, Any]]) -> dict[str, object]:
    """Return the data of a request from the values of its options; parameters of a sweep are listed by dotted key."""
    data: dict[str, object] = {}
    for each, value in values:
        if not each.many:
            data = merge(data, nest({each.key: value}))
            continue
        rows = value if isinstance(value, dict) else {"": value}
        varied = {f"{each.entry}.{entry}".rstrip("."): items for entry, items in rows.items()}
        data = merge(data, {each.table.rstrip("."): varied})
    return data


def checked(model: type[AnyModel], data: Mapping[str, object], source: str = "", typed: bool = False) -> AnyModel:
    """Return a validated request, configuration or section.

    Args:
        model: type of the result.
        data: nested dictionary.
        source: origin of the data, for messages.
        typed: name options in messages as the caller writes them, in the shell or in Python, not as keys of a file.

    Raises:
        UserError: on an unknown key (with the nearest), a wrong type or a value out of range.
    """
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        refusal = explain(error, model, typed)
    except UserError as error:  # of a validator
        refusal = error
    raise UserError(f"{source}: {refusal}" if source else str(refusal)) from None


def explain(error: ValidationError, model: type[BaseModel], typed: bool = False) -> Exception:
    """Return the first error of pydantic as a sentence; arguments as of `checked`."""
    first = min(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")
    path = [str(step) for step in first["loc"]]
    if path and path[-1].isdecimal():  # an entry of a list is named as the list
        path = path[:-1]
    fields, key = _fields_at(model, path[:-1]), ".".join(path)
    field = fields.get(path[-1]) if path else None
    cause = first.get("ctx", {}).get("error")
    if first["type"] == "extra_forbidden":
        return unknown("key", key, [".".join([*path[:-1], name]) for name in fields])
    if isinstance(cause, ValidationError):
        table = None if field is None else metadata_of(field, Options)
        return explain(cause, table.sections[0] if table else model, typed)
    if isinstance(cause, Exception):
        return cause
    names = {each.key: each.written if typed else each.entry for each in options_of(model)}
    return refused(names.get(key, key), field, first)


def _fields_at(model: type[BaseModel], path: list[str]) -> dict[str, FieldInfo]:
    """Return the fields of the section at a path."""
    for name in path:
        field = model.model_fields.get(name)
        model = (section_of(field) if field else None) or model
    return model.model_fields
