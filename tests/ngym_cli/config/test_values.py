"""Values are read by their type and never evaluated."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngym_cli.config.values import (
    duration_for_task,
    match_type,
    parse_duration,
    parse_value,
    parse_wrappers,
    written_duration,
)
from ngym_cli.errors import UserError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("3e-4", 3e-4),
        ("-0.5", -0.5),
        ("true", True),
        ("None", None),
        ("linear", "linear"),
        ("0.2/0.8", [0.2, 0.8]),
        ("0.8/0.2//0.2/0.8", [[0.8, 0.2], [0.2, 0.8]]),
        ("__import__('os')", "__import__('os')"),
    ],
)
def test_values(text, value):
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)


@pytest.mark.parametrize("text", ["[0.9", "[[0.2", "(0.9"])
def test_a_list_in_brackets_is_told_how_lists_are_written(text):
    with pytest.raises(UserError, match="0.2/0.8"):
        parse_value(text)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("500", 500),
        ("uniform:200:600", ("uniform", [200, 600])),
        ("choice:1:2:3", ("choice", [1, 2, 3])),
        ("truncated_exponential:600:300:3000", ("truncated_exponential", [600, 300, 3000])),
        ("constant:5", ("constant", 5)),
        ("until:2000", ("until", 2000)),
    ],
)
def test_every_form_of_a_duration_reaches_the_task_and_comes_back(text, form):
    written = parse_duration(text, "delay")
    assert duration_for_task(written) == form
    assert duration_for_task(parse_duration(written_duration(form), "delay")) in (
        form,
        form[1] if text[:3] == "con" else form,
    )


def test_a_stack_of_wrappers():
    stack = parse_wrappers("side_bias:probs=0.2/0.8:block_dur=200,combine:task2=mine.py:Mine:delay=800,pass_reward")
    assert stack == [
        {"name": "side_bias", "probs": [0.2, 0.8], "block_dur": 200},
        {"name": "combine", "task2": "mine.py:Mine", "delay": 800},
        {"name": "pass_reward"},
    ]


@pytest.mark.parametrize(
    ("value", "default", "result"), [(1, 0.5, 1.0), (2.0, 3, 2), (None, 3, None), (1, [0], [1]), ("x", None, "x")]
)
def test_values_take_the_type_of_their_default(value, default, result):
    assert match_type(value, default, "key") == result


@pytest.mark.parametrize(("value", "default"), [("fast", 0.1), (1.5, 2), (1, True), (True, 1)])
def test_values_of_another_type_are_refused(value, default):
    with pytest.raises(UserError, match="key"):
        match_type(value, default, "key")


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_a_duration_or_one_clear_error(text):
    try:
        duration_for_task(parse_duration(text, "delay"))
    except UserError as error:
        assert "delay" in str(error)


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_a_stack_or_one_clear_error(text):
    try:
        assert all(entry["name"] is not None for entry in parse_wrappers(text))
    except UserError as error:
        assert "wrapper" in str(error)
