"""Options: types of values, ranges in words, and the sentence about a refused value."""

from __future__ import annotations

import pytest

from ngym_cli.config.options import complete, field, options, range_of, read
from ngym_cli.errors import UserError

DEFINED = {
    "rate": {"type": "float", "gt": 0, "le": 10, "aliases": ["lr"], "description": "step size"},
    "steps": {"type": "int", "ge": 1, "optional": True, "description": "steps between updates"},
    "cell": {"type": "str", "words": ["tanh", "relu"], "description": "kind of unit"},
}


@pytest.mark.parametrize(
    ("value", "row", "result"),
    [
        (1, {"type": "float"}, 1.0),
        (2.0, {"type": "int"}, 2),
        (None, {"type": "int", "optional": True}, None),
        (1, {"type": "list"}, [1]),
        ("x", {"type": "any"}, "x"),
    ],
)
def test_values_take_the_type_of_their_option(value, row, result):
    output = read("key", field(row), value)
    assert output == result and type(output) is type(result)


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ("fast", "float", "key must be a number, not 'fast'"),
        ("3", "float", "key must be a number, not '3'"),
        (1.5, "int", "key must be a whole number, not 1.5"),
        (1, "bool", "key must be true or false, not 1"),
        (True, "int", "key must be a number, not true"),
        (None, "list", "key must be given a value, not none"),
        ("x", "dict", "key must be a table of names and numbers, or a TOML file, not 'x'"),
    ],
)
def test_values_of_another_type_are_refused(value, kind, message):
    with pytest.raises(UserError) as error:
        read("key", field({"type": kind}), value)
    assert str(error.value) == message


def test_options_are_completed_in_the_order_of_the_table():
    fields = options(DEFINED, {"rate": 0.1, "steps": "none", "cell": {"default": "tanh"}})
    assert list(complete(fields, {"steps": 4}, {"cell": "relu"}, "option").items()) == [
        ("rate", 0.1),
        ("steps", 4),
        ("cell", "relu"),
    ]
    assert [range_of(field) for field in fields.values()] == ["above 0 and at most 10", "at least 1", "tanh or relu"]


def test_omitted_options_are_named_while_they_differ_from_the_default():
    chosen = {"rate": {"default": 0.1, "omitted": True}, "steps": {"default": "none", "omitted": True}}
    assert complete(options(DEFINED, chosen), {}, {"rate": 0.2}, "option") == {"rate": 0.2}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lr": 1}, "unknown option 'lr'; did you mean 'rate'?"),
        ({"stps": 1}, "did you mean 'steps'?"),
        ({"rate": 0}, "rate must be above 0 and at most 10, not 0"),
        ({"steps": 0}, "steps must be at least 1, not 0"),
        ({"cell": "sigmoid"}, "unknown cell 'sigmoid' (expected one of: relu, tanh)"),
    ],
)
def test_what_does_not_fit_is_said_with_what_would(settings, message):
    fields = options(DEFINED, {"rate": 0.1, "steps": "none", "cell": "tanh"})
    with pytest.raises(UserError) as error:
        complete(fields, {}, settings, "option")
    assert message in str(error.value)


def test_an_option_without_a_default_must_be_given():
    fields = {"gain": field({"type": "float"})}
    with pytest.raises(UserError, match="option 'gain' has no default and must be given"):
        complete(fields, {}, {}, "option")
    assert complete(fields, {}, {"gain": 2}, "option") == {"gain": 2.0}
