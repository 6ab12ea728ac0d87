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


def challenged(values, published=None, offset=1000.0):
    """A control that is far away from the numbers of a claim, in each seed."""

    def away(value):
        if isinstance(value, dict):
            return {name: away(each) for name, each in value.items()}
        return None if value is None or value != value else value - offset

    return {"wrong": {seed: away(value) for seed, value in values.items()}}


def judged(claim, values, reasons=()):
    return judge(claim, values, reasons, challenged(values))


@pytest.mark.parametrize(
    ("criterion", "published", "values", "state"),
    [
        (">= 0.8", 0.9, [0.8, 0.8], "reached"),
        (">= 0.8", 0.9, [0.85, 0.87, 0.9], "reached"),
        (">= 0.8", 0.9, [0.75, 0.85, 0.95], "in part"),
        (">= 0.8", 0.9, [0.95], "in part"),
        ("> 0.8", 0.9, [0.8, 0.8], "not reached"),
        (">= 0.8", 0.9, [0.9, 0.6], "not reached"),
        (">= 0.7, every seed", 0.9, [0.9, 0.6], "in part"),
        (">= 0.7, every seed", 0.9, [0.9, 0.9, 0.9, 0.9, 0.69], "in part"),
        (">= 0.7", 0.9, [0.9, 0.9, 0.9, 0.9, 0.69], "reached"),
        (">= 0.7, most seeds", 0.9, [0.9, 0.6, 0.8], "in part"),
        ("<= 0.1", "few", [0.05, 0.12], "in part"),
        ("0.4 to 0.5", 0.45, [0.35, 0.45], "in part"),
        ("0.4 to 0.5", 0.45, [0.44, 0.45, 0.46], "reached"),
        ("0.4 to 0.5", 0.45, [0.3, 0.4], "not reached"),
        ("-0.5 to -0.4", -0.45, [-0.45, -0.45], "reached"),
        ("within 0.05", 0.5, [0.55, 0.55], "reached"),
        ("within 0.05", 0.5, [0.551], "not reached"),
        ("within 10 %", 200, [181, 181], "reached"),
        ("within 10 %", -200, [-221], "not reached"),
        (">= 0.8", 0.9, [math.nan, 0.9], "not reached"),
        (">= 0.8", 0.9, [None, 0.9], "not reached"),
        (">= 0.8", 0.9, [None, 0.9, 0.9, 0.9], "in part"),
    ],
)
def test_a_number_counts_as_its_criterion_says(criterion, published, values, state):
    assert judged(claim(published, criterion), dict(enumerate(values))).state == state


def test_of_several_numbers_all_must_count_or_most_where_that_is_said():
    published = {"0": 1.0, "6.4": 2.0, "51.2": 3.0}
    settings = {0: {"0": 1.0, "6.4": 2.0, "51.2": 3.9}, 1: {"0": 1.0, "6.4": 2.1, "51.2": 3.9}}
    assert judged(claim(published, "within 0.2"), settings).state == "not reached"
    result = judged(claim(published, "within 0.2", "within 0.2, most numbers"), settings)
    assert result.state == "in part"
    assert result.numbers["6.4"]["value"] == pytest.approx(2.05)
    assert result.numbers["6.4"]["low"] < 2.05 < result.numbers["6.4"]["high"]


def test_a_number_that_no_seed_gave_does_not_count():
    result = judge(claim({"a": 1.0, "b": 1.0}, "within 0.1"), {0: {"a": 1.0}})
    assert result.state == "not reached" and result.numbers["b"]["value"] is None
    assert judge(claim({"a": 1.0}, "within 0.1"), {0: None}, ["too few trials"]).reason == "too few trials"


def test_one_criterion_holds_for_all_numbers_where_the_paper_gives_one_or_none():
    good, bad = {"a": 1.0, "b": 2.0}, {"a": 1.0, "b": -2.0}
    assert judged(claim("high", "> 0"), {0: good, 1: good}).state == "reached"
    assert judged(claim("high", "> 0"), {0: bad, 1: bad}).state == "not reached"


def test_a_missing_value_hides_no_seed():
    control = {"untrained": {3: 0.1, 4: None, 7: 0.1, 9: 0.1}}
    result = judge(claim(), {3: 0.9, 4: None, 7: 0.7, 9: 0.8}, ["seed 4: too few trials"], control)
    (number,) = result.numbers.values()
    assert number["seeds"] == (0.9, None, 0.7, 0.8) and number["seed_numbers"] == (3, 4, 7, 9)
    assert number["value"] == pytest.approx(0.8) and (result.n_meeting, result.of) == (2, 4)
    row = claim_row(claim(), result)
    assert verdict_words(row) == "in part (2 of 4 seeds; seed 4: too few trials)"
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
        ([0.9, 0.9, 0.91], "in part", ("wrong",)),
        ([0.9, 0.9, None], "in part", ("wrong",)),
        ([0.9, 0.5, 0.85], "in part", ("wrong",)),  # not told from the claim
        ([0.85, 0.85, 0.85], "in part", ("wrong",)),  # clear of the claim, but it meets the criterion as well
        ([0.5, 0.5, 0.5], "reached", ()),
        ([0.5, 0.5, None], "reached", ()),
        ([None, None, None], "unchallenged", ()),
        ([0.5, None, None], "unchallenged", ()),
    ],
)
def test_what_a_control_reaches_is_no_finding(control, state, passed):
    result = judge(claim(), dict(enumerate([0.9, 0.9, 0.89])), (), {"wrong": dict(enumerate(control))})
    assert (result.state, result.passed) == (state, passed)
    row = claim_row(claim(), result)
    assert ("not told from control wrong" in verdict_words(row)) == bool(passed)
    assert ("control wrong gives no number" in verdict_words(row)) == (state == "unchallenged")
    ((title, name, *_, word),) = control_lines([row])
    words = "gives no number" if state == "unchallenged" else "passes" if passed else "fails"
    assert (title, name, word) == ("It", "wrong", words)


def test_the_difference_of_claim_and_control_is_taken_seed_by_seed():
    ours = {0: 0.90, 1: 0.95, 2: 0.99}
    result = judge(claim(), ours, (), {"wrong": {seed: value - 0.2 for seed, value in ours.items()}})
    difference = result.controls["wrong"][""]["difference"]
    assert result.state == "reached" and difference["low"] == pytest.approx(difference["high"]) == pytest.approx(0.2)


def test_a_control_is_compared_by_the_numbers_that_it_gives():
    ours = {0: {"a": 1.0, "b": 1.0}, 1: {"a": 1.0, "b": 1.0}}
    for control, state in (({"a": -1.0}, "reached"), ({"a": 1.0}, "in part"), ({}, "unchallenged")):
        assert judge(claim("high", "> 0"), ours, (), {"wrong": {0: control, 1: control}}).state == state
    differs = {"a": 1.0, "b": -1.0}
    assert judge(claim("high", "> 0"), ours, (), {"wrong": {0: differs, 1: differs}}).state == "reached"


def test_a_verdict_that_changes_with_the_last_three_seeds_is_in_part():
    steady = dict(enumerate([0.9, 0.9, 0.91, 0.9, 0.9, 0.9]))
    assert judged(claim(), steady).state == "reached"
    late = dict(enumerate([0.81, 0.95, 0.79, 0.95, 0.95, 0.95]))
    result = judged(claim(), late)
    assert (result.state, result.reason) == ("in part", "with the first 3 seeds: in part")


def test_refusals_of_controls_are_said():
    refusals = {"wrong": "seed 0: nothing is answered"}
    result = judge(claim(), {0: 0.9, 1: 0.9}, (), {"wrong": {0: None, 1: None}}, refusals)
    words = "unchallenged (control wrong gives no number: seed 0: nothing is answered)"
    assert verdict_words(claim_row(claim(), result)) == words


def test_nothing_measured_is_no_verdict():
    assert judge(claim(), {}).state == "not measured"


def test_one_seed_has_no_interval():
    assert judge(claim(), {0: 0.9}).numbers[""]["low"] is None


@pytest.mark.parametrize("text", ["0.8", "= 0.8", "within", "within x", "0.5 to 0.4", ">= 0.8, all seeds", "", "> "])
def test_what_is_no_criterion_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        parse_criterion(text)
