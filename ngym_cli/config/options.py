"""Options of algorithms, networks and models: rows of a TOML table as fields of pydantic.

A configuration spells out every option, so that it means the same under the next version of the library that learns.
Options and fields of a configuration are refused in the same words, by `refused`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

from pydantic import BeforeValidator, Field, Strict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from ngym_cli.config.values import Values, write_value
from ngym_cli.errors import UserError, unknown
from ngym_cli.files import reading

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

TypeName = Literal["float", "int", "bool", "str", "list", "dict", "any"]


@dataclass(frozen=True)
class About:
    """Description of an option beyond pydantic's ``Field``.

    Attributes:
        source: paper that the option comes from.
        aliases: other names, by which the option is found.
        omitted: whether configurations name the option only while it has another value than the default.
    """

    source: str = ""
    aliases: tuple[str, ...] = ()
    omitted: bool = False


def _as_whole(value: object) -> object:
    """Return 1e3 as the whole number that it stands for."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def word(value: object) -> object:
    """Return a word that looks like a number or a truth value as a word."""
    return value if value is None else str(value)


def _list(value: object) -> object:
    return value if value is None or isinstance(value, list) else [value]


def _table(value: object) -> object:
    """Return the table of a TOML file, whose path slashes may have split."""
    text = write_value(value) if isinstance(value, list) else value
    if isinstance(text, str) and text.endswith(".toml"):
        return reading.parse_toml(reading.read_text(Path(text)), Path(text))
    return text


# Types of options; a number is never read from a text or a truth value.
Float = Annotated[float, Strict()]
Whole = Annotated[int, Strict(), BeforeValidator(_as_whole)]
Switch = Annotated[bool, Strict()]
Word = Annotated[str, BeforeValidator(word)]
List = Annotated[list[Any], BeforeValidator(_list)]
Table = Annotated[dict[str, Any], BeforeValidator(_table)]

TYPES: dict[str, Any] = {
    "float": Float,
    "int": Whole,
    "bool": Switch,
    "str": Word,
    "list": List,
    "dict": Table,
    "any": Any,
}

#: Allowed values of types without limits.
ALLOWED = {
    float: "any number",
    int: "any number",
    bool: "true or false",
    list: "a/b/c",
    str: "a word",
    dict: "NAME=NUMBER",
}

#: Longest value in a message (letters).
LONGEST_VALUE = 100

#: Expected values by the beginning of pydantic's name for an error.
EXPECTED_VALUES = {
    "float": "a number",
    "finite": "a number",
    "int": "a whole number",
    "bool": "true or false",
    "list": "a list",
    "dict": "a table of names and numbers, or a TOML file",
    "path": "a path",
    "string": "a text",
    "tuple": "names, as a text with commas or a list",
    "model": "a table of settings",
}


def field(row: Values) -> FieldInfo:
    """Return the field of an option.

    Args:
        row: ``type`` (key of `TYPES`), ``default`` (an option without must be given), ``optional`` (whether ``none`` is
            a value), ``words`` (values of a word), entries of `About`, and of pydantic's ``Field`` ``description`` (one
            line, with the unit), ``gt``, ``ge``, ``lt`` and ``le``.
    """
    kind: Any = TYPES[row["type"]]
    if row.get("words"):
        kind = Annotated[Literal[tuple(row["words"])], BeforeValidator(word)]
    limits: Values = {key: value for key, value in row.items() if key in ("description", "gt", "ge", "lt", "le")}
    kind = kind | None if row.get("optional") else kind
    described = About(row.get("source", ""), tuple(row.get("aliases", ())), row.get("omitted", False))
    return field_of(Annotated[kind, described], Field(row.get("default", ...), **limits))


def field_of(annotation: Any, field: Any) -> FieldInfo:
    """Return the field of a model with this annotation and this ``Field``."""
    return FieldInfo.from_annotated_attribute(annotation, field)


def options(defined: Mapping[str, Values], chosen: Mapping[str, object]) -> dict[str, FieldInfo]:
    """Return the fields of some options of a table.

    Args:
        defined: the table.
        chosen: name to default ("none" for no value), or to entries that replace those of the table.
    """
    fields = {}
    for name, default in chosen.items():
        row: Values = {**defined[name], **(default if isinstance(default, dict) else {"default": default})}
        fields[name] = field({**row, "default": None if row["default"] == "none" else row["default"]})
    return fields


def about(field: FieldInfo) -> About:
    """Return the description of an option beyond that of pydantic; the last where there are several."""
    return next((entry for entry in reversed(field.metadata) if isinstance(entry, About)), About())


def is_explicit(field: FieldInfo) -> bool:
    """Return whether configurations name an option even while it has its default."""
    return not about(field).omitted


def defaults(fields: Mapping[str, FieldInfo], explicit: bool = False) -> Values:
    """Return default values by name; None for options without a default.

    Args:
        fields: the options.
        explicit: leave out options that configurations name only while they have another value.
    """
    chosen = {name: field for name, field in fields.items() if not explicit or is_explicit(field)}
    return {name: None if field.is_required() else field.default for name, field in chosen.items()}


def complete(fields: Mapping[str, FieldInfo], usual: Values, settings: Mapping[str, object], kind: str) -> Values:
    """Return the value of every option: the given value, else the usual value, else the option's default.

    Args:
        fields: all options.
        usual: defaults for the occasion.
        settings: settings of the user.
        kind: word for an option in messages.

    Raises:
        UserError: on an unknown name, with the nearest, or a value that does not fit.
    """
    for name in settings:
        if name not in fields:
            for option_name, field in fields.items():
                if name.lower() in about(field).aliases:
                    raise UserError(f"unknown {kind} '{name}'; did you mean '{option_name}'?")
            raise unknown(kind, name, fields)
    for name, field in fields.items():
        if field.is_required() and name not in settings and name not in usual:
            raise UserError(f"{kind} '{name}' has no default and must be given")
    values = {name: usual.get(name, field.default) for name, field in fields.items()}
    values |= {name: read(name, fields[name], value) for name, value in settings.items()}
    names = [name for name, field in fields.items() if is_explicit(field) or values[name] != field.default]
    return {name: values[name] for name in names}


def read(name: str, field: FieldInfo, value: object) -> Any:
    """Return a value in the type of a field.

    Raises:
        UserError: if the value has another type, or is out of range.
    """
    annotation: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
    try:
        return TypeAdapter(annotation).validate_python(value)
    except ValidationError as error:
        raise refused(name, field, error.errors()[0]) from None


def refused(name: str, field: FieldInfo | None, error: ErrorDetails) -> UserError:
    """Return the sentence about a value that pydantic refuses.

    Args:
        name: of the field, as the user writes it.
        field: the field, or None if unknown.
        error: pydantic's own description.
    """
    value, kind = error["input"], error["type"]
    if value is None:
        return UserError(f"{name} must be given a value, not none")
    written = repr(value) if isinstance(value, str | Mapping) else write_value(value)
    written = written if len(written) <= LONGEST_VALUE else f"{written[: LONGEST_VALUE - 3]}..."
    if field is not None and kind == "literal_error":
        return unknown(name, value, words_of(field))
    if field is not None and kind.startswith(("greater_than", "less_than")):
        return UserError(f"{name} must be {range_of(field)}, not {written}")
    wrong = "float" if kind == "int_type" and not isinstance(value, float) else kind.partition("_")[0]
    if wrong in EXPECTED_VALUES:
        return UserError(f"{name} must be {EXPECTED_VALUES[wrong]}, not {written}")
    return UserError(f"{name}: {error['msg'][0].lower()}{error['msg'][1:]}, not {written}")


def words_of(field: FieldInfo) -> tuple[str, ...]:
    """Return the values of a field that takes one of several words."""
    return next((get_args(kind) for kind in kinds_in(field.annotation) if get_origin(kind) is Literal), ())


def range_of(field: FieldInfo) -> str:
    """Return the allowed values of a field in words."""
    keys = ("gt", "ge", "lt", "le")
    limits = {key: getattr(each, key) for each in field.metadata for key in keys if hasattr(each, key)}
    if "ge" in limits and "le" in limits:
        return f"{limits['ge']:,.10g} to {limits['le']:,.10g}"
    names = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
    text = " and ".join(f"{word} {limits[key]:,.10g}" for key, word in names.items() if key in limits)
    kinds = (ALLOWED.get(get_origin(kind) or kind) for kind in kinds_in(field.annotation))
    return text or " or ".join(words_of(field)) or next(filter(None, kinds), "any value")


def type_name(field: FieldInfo) -> TypeName:
    """Return the name of an option's type; of a choice of words "str"."""
    plain: dict[object, TypeName] = {
        float: "float",
        int: "int",
        bool: "bool",
        str: "str",
        list: "list",
        dict: "dict",
        Literal: "str",
    }
    names = (plain.get(get_origin(kind) or kind) for kind in kinds_in(field.annotation))
    return next(filter(None, names), "any")


def is_optional(field: FieldInfo) -> bool:
    """Return whether ``none`` is a value of a field."""
    return type(None) in get_args(field.annotation)


def kinds_in(annotation: object) -> Iterator[Any]:
    """Yield an annotation and every annotation inside, such as the entries of a list."""
    yield annotation
    for inner in get_args(annotation):
        yield from kinds_in(inner)
