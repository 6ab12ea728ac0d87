"""Values are read by their type and never evaluated."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ngym_cli.agents.perturbation import parse as parse_perturbation
from ngym_cli.config.sections import Duration
from ngym_cli.config.values import (
    Call,
    parse_assignments,
    parse_call,
    parse_list,
    parse_value,
    parse_wrappers,
    split_entries,
    write_value,
)
from ngym_cli.errors import UserError
from ngym_cli.papers.verdicts import parse_criterion
from ngym_cli.sweeps.space import parse_kind


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
        ("0.2/", [0.2]),
        ("left/", ["left"]),
        ("0.8/0.2//", [[0.8, 0.2]]),
        ("3///", [[3]]),
        ("3///4/", [[3], [4]]),
        ("__import__('os')", "__import__('os')"),
    ],
)
def test_values(text, value):
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)
    assert parse_value(write_value(value)) == value


@pytest.mark.parametrize("text", ["[0.9", "[[0.2", "(0.9"])
def test_a_list_in_brackets_is_told_how_lists_are_written(text):
    with pytest.raises(UserError, match=r"0.2/0.8"):
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
        ("200/400", [200, 400]),
    ],
)
def test_every_form_of_a_duration_reaches_the_task_and_comes_back(text, form):
    written = Duration.parse(text, "delay")
    assert written.for_task == form
    assert Duration.parse(Duration.of_task(form).written, "delay").for_task in (
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


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_a_duration_or_one_clear_error(text):
    try:
        Duration.parse(text, "delay")
    except UserError as error:
        assert "delay" in str(error)


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_a_stack_or_one_clear_error(text):
    try:
        assert all(entry["name"] is not None for entry in parse_wrappers(text))
    except UserError as error:
        assert "wrapper" in str(error)


WORDS = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_.]{0,8}", fullmatch=True).filter(
    lambda word: isinstance(parse_value(word), str)  # neither a number (inf) nor true, false, none
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS
LISTS = st.lists(SCALARS, min_size=2, max_size=4)


@settings(max_examples=200, deadline=None)
@given(SCALARS | LISTS | st.lists(LISTS, min_size=2, max_size=3))
def test_values_survive_writing_and_reading(value):
    assert parse_value(write_value(value)) == value


@settings(max_examples=100, deadline=None)
@given(
    WORDS,
    st.lists(SCALARS.map(write_value), max_size=3),
    st.dictionaries(WORDS, SCALARS.map(write_value), max_size=3),
)
def test_calls_survive_writing_and_reading(name, positional, named):
    call = Call(name, tuple(positional), tuple(named.items()))
    assert parse_call(str(call), "call") == call


@settings(max_examples=100, deadline=None)
@given(st.integers(-50, 50), st.integers(1, 50), st.integers(1, 9))
def test_ranges_are_those_of_python(start, length, step):
    assert parse_list(f"{start}:{start + length}:{step}") == list(range(start, start + length, step))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
@example("20000000000000000000")
def test_any_text_is_read_or_refused_in_one_line(text):
    readers = (
        parse_value,
        parse_list,
        parse_wrappers,
        lambda text: parse_call(text, "call"),
        lambda text: parse_assignments(split_entries(text), "--set"),
        lambda text: parse_kind("units", text),
        lambda text: parse_perturbation("silence", text),
        parse_criterion,
    )
    for read in readers:
        try:
            read(text)
        except (UserError, ValueError) as error:
            assert str(error)


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ("mine.py:Gain:factor=2", "mine.py:Gain", {"factor": 2}),
        ("lab/mine.py:Gain", "lab/mine.py:Gain", {}),
        ("lab.wrappers:Gain:gains=1/2", "lab.wrappers:Gain", {"gains": [1, 2]}),
        (r"C:\lab\mine.py:Gain:factor=2", r"C:\lab\mine.py:Gain", {"factor": 2}),
    ],
)
def test_wrappers_of_ones_own(text, name, rest):
    assert parse_wrappers(text) == [{"name": name, **rest}]
