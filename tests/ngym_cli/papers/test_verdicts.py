"""When a claim counts as reached."""

from __future__ import annotations

import math

import pytest

from ngym_cli.papers.model import ClaimConfig
from ngym_cli.papers.verdicts import judge, parse_criterion


def claim(published=0.5, reached=">= 0.8", in_part=None):
    return ClaimConfig(
        id="it", title="It", published=published, where="Fig. 1", provenance="P", part="one", measure="m",
        reached=reached, in_part=in_part,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("criterion", "published", "values", "state"),
    [
        (">= 0.8", 0.9, [0.8, 0.8], "reached"),
        ("> 0.8", 0.9, [0.8, 0.8], "not reached"),
        (">= 0.8", 0.9, [0.9, 0.6], "not reached"),
        (">= 0.7, every seed", 0.9, [0.9, 0.6], "not reached"),
        (">= 0.7, most seeds", 0.9, [0.9, 0.6, 0.8], "reached"),
        ("<= 0.1", "few", [0.05, 0.12], "reached"),
        ("0.4 to 0.5", 0.45, [0.35, 0.45], "reached"),
        ("0.4 to 0.5", 0.45, [0.3, 0.4], "not reached"),
        ("-0.5 to -0.4", -0.45, [-0.45], "reached"),
        ("within 0.05", 0.5, [0.55], "reached"),
        ("within 0.05", 0.5, [0.551], "not reached"),
        ("within 10 %", 200, [181], "reached"),
        ("within 10 %", -200, [-221], "not reached"),
        (">= 0.8", 0.9, [math.nan, 0.9], "not reached"),
        (">= 0.8", 0.9, [None, 0.9], "not reached"),
    ],
)
def test_a_number_counts_as_its_criterion_says(criterion, published, values, state):
    assert judge(claim(published, criterion), dict(enumerate(values))).state == state


def test_of_several_numbers_all_must_count_or_most_where_that_is_said():
    published = {"0": 1.0, "6.4": 2.0, "51.2": 3.0}
    given = {0: {"0": 1.0, "6.4": 2.0, "51.2": 3.9}, 1: {"0": 1.0, "6.4": 2.1, "51.2": 3.9}}
    assert judge(claim(published, "within 0.2"), given).state == "not reached"
    found = judge(claim(published, "within 0.2", "within 0.2, most numbers"), given)
    assert found.state == "reached in part"
    assert found.numbers["6.4"]["value"] == pytest.approx(2.05)
    assert found.numbers["6.4"]["low"] < 2.05 < found.numbers["6.4"]["high"]


def test_a_number_that_no_seed_gave_does_not_count():
    found = judge(claim({"a": 1.0, "b": 1.0}, "within 0.1"), {0: {"a": 1.0}})
    assert found.state == "not reached" and found.numbers["b"]["value"] is None
    assert judge(claim({"a": 1.0}, "within 0.1"), {0: None}, ["too few trials"]).why == "too few trials"


def test_one_criterion_holds_for_all_numbers_where_the_paper_gives_one_or_none():
    assert judge(claim("high", "> 0"), {0: {"a": 1.0, "b": 2.0}}).state == "reached"
    assert judge(claim("high", "> 0"), {0: {"a": 1.0, "b": -2.0}}).state == "not reached"


def test_nothing_measured_is_no_verdict():
    assert judge(claim(), {}).state == "not measured"


def test_one_seed_has_no_interval():
    assert judge(claim(), {0: 0.9}).numbers[""]["low"] is None


@pytest.mark.parametrize("text", ["0.8", "= 0.8", "within", "within x", "0.5 to 0.4", ">= 0.8, all seeds", "", "> "])
def test_what_is_no_criterion_is_refused(text):
    with pytest.raises(ValueError, match="."):
        parse_criterion(text)
