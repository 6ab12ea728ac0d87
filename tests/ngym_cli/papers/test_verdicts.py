"""When a claim counts as reached."""

from __future__ import annotations

import math

import pytest

from ngym_cli.papers.model import ClaimConfig
from ngym_cli.papers.reproduction import claim_row
from ngym_cli.papers.results import control_lines, number_lines, seed_lines, verdict_words
from ngym_cli.papers.verdicts import judge, parse_criterion


def claim(published=0.5, reached=">= 0.8", in_part=None):
    return ClaimConfig(
        id="it",
        title="It",
        published=published,
        where="Fig. 1",
        provenance="P",
        part="one",
        measure="m",
        reached=reached,
        in_part=in_part,
    )


@pytest.mark.parametrize(
    ("criterion", "published", "values", "state"),
    [
        (">= 0.8", 0.9, [0.8, 0.8], "reached"),
        (">= 0.8", 0.9, [0.85, 0.87, 0.9], "reached"),
        (">= 0.8", 0.9, [0.75, 0.85, 0.95], "reached in part"),
        (">= 0.8", 0.9, [0.95], "reached in part"),
        ("> 0.8", 0.9, [0.8, 0.8], "not reached"),
        (">= 0.8", 0.9, [0.9, 0.6], "not reached"),
        (">= 0.7, every seed", 0.9, [0.9, 0.6], "reached in part"),
        (">= 0.7, every seed", 0.9, [0.9, 0.9, 0.9, 0.9, 0.69], "reached in part"),
        (">= 0.7", 0.9, [0.9, 0.9, 0.9, 0.9, 0.69], "reached"),
        (">= 0.7, most seeds", 0.9, [0.9, 0.6, 0.8], "reached in part"),
        ("<= 0.1", "few", [0.05, 0.12], "reached in part"),
        ("0.4 to 0.5", 0.45, [0.35, 0.45], "reached in part"),
        ("0.4 to 0.5", 0.45, [0.44, 0.45, 0.46], "reached"),
        ("0.4 to 0.5", 0.45, [0.3, 0.4], "not reached"),
        ("-0.5 to -0.4", -0.45, [-0.45, -0.45], "reached"),
        ("within 0.05", 0.5, [0.55, 0.55], "reached"),
        ("within 0.05", 0.5, [0.551], "not reached"),
        ("within 10 %", 200, [181, 181], "reached"),
        ("within 10 %", -200, [-221], "not reached"),
        (">= 0.8", 0.9, [math.nan, 0.9], "not reached"),
        (">= 0.8", 0.9, [None, 0.9], "not reached"),
        (">= 0.8", 0.9, [None, 0.9, 0.9, 0.9], "reached in part"),
    ],
)
def test_a_number_counts_as_its_criterion_says(criterion, published, values, state):
    assert judge(claim(published, criterion), dict(enumerate(values))).state == state


def test_of_several_numbers_all_must_count_or_most_where_that_is_said():
    published = {"0": 1.0, "6.4": 2.0, "51.2": 3.0}
    settings = {0: {"0": 1.0, "6.4": 2.0, "51.2": 3.9}, 1: {"0": 1.0, "6.4": 2.1, "51.2": 3.9}}
    assert judge(claim(published, "within 0.2"), settings).state == "not reached"
    result = judge(claim(published, "within 0.2", "within 0.2, most numbers"), settings)
    assert result.state == "reached in part"
    assert result.numbers["6.4"]["value"] == pytest.approx(2.05)
    assert result.numbers["6.4"]["low"] < 2.05 < result.numbers["6.4"]["high"]


def test_a_number_that_no_seed_gave_does_not_count():
    result = judge(claim({"a": 1.0, "b": 1.0}, "within 0.1"), {0: {"a": 1.0}})
    assert result.state == "not reached" and result.numbers["b"]["value"] is None
    assert judge(claim({"a": 1.0}, "within 0.1"), {0: None}, ["too few trials"]).reason == "too few trials"


def test_one_criterion_holds_for_all_numbers_where_the_paper_gives_one_or_none():
    good, bad = {"a": 1.0, "b": 2.0}, {"a": 1.0, "b": -2.0}
    assert judge(claim("high", "> 0"), {0: good, 1: good}).state == "reached"
    assert judge(claim("high", "> 0"), {0: bad, 1: bad}).state == "not reached"


def test_a_missing_value_hides_no_seed():
    control = {"untrained": {3: 0.1, 4: None}}
    result = judge(claim(), {3: 0.9, 4: None, 7: 0.7, 9: 0.8}, ["seed 4: too few trials"], control)
    (number,) = result.numbers.values()
    assert number["seeds"] == (0.9, None, 0.7, 0.8) and number["seed_numbers"] == (3, 4, 7, 9)
    assert number["value"] == pytest.approx(0.8) and (result.n_meeting, result.of) == (2, 4)
    row = claim_row(claim(), result)
    assert verdict_words(row) == "reached in part (2 of 4 seeds; seed 4: too few trials)"
    assert [rows for *_, rows in number_lines(row)] == ["0.8 [0.552, 1.048], 3 of 4 seeds"]
    assert seed_lines([row]) == (
        ("claim", "number", "seed 3", "seed 4", "seed 7", "seed 9"),
        [("It", "", "0.9", "-", "0.7", "0.8")],
    )


@pytest.mark.parametrize(("published", "message"), [(0.9, "0.9"), ("high", "high")])
def test_a_single_published_value_stands_above_the_named_results(published, message):
    result = judge(claim(published), {0: {"a": 0.9, "b": 0.8}, 1: {"a": 0.9, "b": 0.8}})
    row = claim_row(claim(published), result)
    assert list(number_lines(row)) == [("", message, ""), ("  a", "", "0.9 [0.9, 0.9]"), ("  b", "", "0.8 [0.8, 0.8]")]


def test_what_was_fitted_to_the_same_data_is_said():
    row = {**claim().model_dump(), "verdict": "reached", "fitted": "sigma", "controls": {"untrained": {}}}
    assert verdict_words(row) == "reached (fitted to the same data: sigma)"


@pytest.mark.parametrize(
    ("control", "state", "passed"),
    [
        ([0.9, 0.9, 0.91], "reached in part", ("wrong",)),
        ([0.9, 0.9, None], "reached", ()),
        ([0.9, 0.5, 0.85], "reached", ()),
        ([0.5, 0.5, 0.5], "reached", ()),
        ([None, None, None], "reached", ()),
    ],
)
def test_what_a_control_reaches_is_no_finding(control, state, passed):
    result = judge(claim(), dict(enumerate([0.9, 0.9, 0.89])), (), {"wrong": dict(enumerate(control))})
    assert (result.state, result.passed) == (state, passed)
    row = claim_row(claim(), result)
    assert ("reached by a control as well: wrong" in verdict_words(row)) == bool(passed)
    ((title, name, *_, word),) = control_lines([row])
    assert (title, name, word) == ("It", "wrong", "passes" if passed else "fails")


def test_a_control_has_to_give_every_number():
    settings = {0: {"a": 1.0, "b": 1.0}, 1: {"a": 1.0, "b": 1.0}}
    of_control = {0: {"a": 1.0}, 1: {"a": 1.0}}
    assert judge(claim("high", "> 0"), settings, (), {"wrong": of_control}).state == "reached"


def test_a_record_without_controls_says_so():
    row = {**claim().model_dump(), "verdict": "reached", "controls": {}}
    assert verdict_words(row) == "reached (controls are not measured yet)"


def test_nothing_measured_is_no_verdict():
    assert judge(claim(), {}).state == "not measured"


def test_one_seed_has_no_interval():
    assert judge(claim(), {0: 0.9}).numbers[""]["low"] is None


@pytest.mark.parametrize("text", ["0.8", "= 0.8", "within", "within x", "0.5 to 0.4", ">= 0.8, all seeds", "", "> "])
def test_what_is_no_criterion_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        parse_criterion(text)
