"""What every folder of a paper keeps to."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import pytest

from ngym_cli.papers import collection, engine, results
from ngym_cli.papers.measures import MEASURES
from ngym_cli.papers.script import FIGURE, OF_THE_TASK

IDS = collection.ids()


@pytest.fixture(params=IDS)
def paper(request):
    return collection.load(collection.library() / request.param)


def test_papers_and_their_data_travel_in_the_wheel():
    root = Path(__file__).parents[3]
    packages = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["scikit-build"]["wheel"]["packages"]
    installed, checkout = collection.PLACES
    for inside, neighbour in ((installed, checkout), (installed.parent / "data", checkout.parent / "data")):
        assert packages[inside.relative_to(root).as_posix()] == neighbour.relative_to(root).as_posix()
        assert neighbour.is_dir()


def test_there_are_papers():
    assert "roitman2002" in IDS


def test_its_file_says_what_was_done_and_found(paper):
    config = paper.config
    assert not paper.is_custom
    assert len(re.findall(r"[.!?](?:\s|$)", config.summary)) >= 2, "two sentences: what was done, what was found"
    assert re.search(r"\((19|20)\d\d\)", config.citation)
    assert config.settings, "settings with their sources"
    assert config.seeds >= 3


def test_every_claim_says_where_it_is_printed_and_when_it_counts(paper):
    for claim in paper.config.claims:
        assert claim.where and claim.provenance
        assert claim.untestable or claim.criteria[0] is not None


def test_every_part_is_used(paper):
    used = {name for claim in paper.config.claims for name in claim.part}
    used |= {piece.after for piece in paper.config.parts.values()}
    assert set(paper.config.parts) <= used


def test_every_claim_has_two_kinds_of_controls(paper):
    """The untrained network, and another."""
    assert [claim.id for claim in paper.config.claims if not (claim.untestable or claim.control)] == []


def test_no_control_passes_a_claim_that_is_reached(paper):
    """Of what is kept: each reached claim is clear of every control that gives a number, and one does."""
    for name, verdict in results.verdicts(paper, results.record().get(paper.id, {})).items():
        if verdict.state == "reached":
            assert not verdict.passed and len(verdict.silent) < len(verdict.controls), name
            for control in set(verdict.controls) - set(verdict.silent):
                differences = [row["difference"] for row in verdict.controls[control].values() if "difference" in row]
                assert any(each["low"] > 0 or each["high"] < 0 for each in differences), f"{name}: {control}"


def test_every_measure_and_figure_can_be_called(paper):
    for claim in paper.config.claims:
        if claim.measure and not claim.measure.startswith(OF_THE_TASK) and claim.measure not in MEASURES:
            inspect.signature(paper.script.measure(claim.measure)).bind(*claim.part)
    assert paper.script.figures or not paper.config.parts, "figures laid out as the paper's"
    for name in {name for claim in paper.config.claims for name in claim.control}:
        assert paper.script.describe_control(name), f"control {name} needs words for what it does, its docstring"
    for name in paper.script.figures:
        assert inspect.getdoc(paper.script.figure(name)), f"{name} needs a caption, its docstring"
        assert name.removeprefix(FIGURE)


def test_every_configuration_works_and_its_digest_follows_it(paper, tmp_path):
    pieces, claims = paper.chosen([])
    planned = engine.plan(paper, pieces, [0, 1], tmp_path)
    assert len({each.path for each in planned.values()}) == 2 * len(pieces)
    again = engine.plan(paper, pieces, [0, 1], tmp_path)
    assert {key: each.name for key, each in planned.items()} == {key: each.name for key, each in again.items()}
    assert set(claims) == {claim.id for claim in paper.config.claims}
