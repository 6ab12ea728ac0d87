"""Record of the catalogue of solutions: who did not learn is left out, and the package reads what the record writes."""

from __future__ import annotations

import json

import pytest

from experiments.solutions import package_data, solutions_of, table
from ngym_cli.figures import solutions as figure

GEOMETRY = [0.72, 1.2, -0.0, 0.58, 1.04, 1.51]


def row(seed: int, performance: float, conditions: tuple[str, ...] = ("1", "2")) -> dict[str, object]:
    return {
        "network": "gru",
        "seed": seed,
        "performance": performance,
        "topology": "line attractor",
        "geometry": GEOMETRY,
        "column": "ground_truth",
        "conditions": list(conditions),
        "ceiling": 0.9,
    }


@pytest.fixture
def rows():
    networks = [row(0, 0.5, ("1", "3")), row(1, 0.88), row(2, 0.87), row(3, 0.89, ("1", "3"))]
    return {"GoNogo-v0/gru": {str(each["seed"]): each for each in networks}}


def test_networks_that_did_not_learn_or_have_other_conditions_are_left_out(rows):
    assert [each.seed for each in solutions_of(rows, "GoNogo-v0")] == [1, 2]
    assert "| 2 gru | 0.87 to 0.88; 2 more left out | 2 | of 2: line attractor 2 |" in table(rows)
    assert "4 of 1,200 networks are measured; none yet in PerceptualDecisionMaking-v0" in table(rows)
    assert solutions_of({}, "GoNogo-v0") == [] and table({}).startswith("0 of 1,200 networks are measured")


def test_the_package_reads_the_networks_that_the_record_writes(rows, tmp_path, monkeypatch):
    path = tmp_path / "solutions.json"
    path.write_text(package_data(rows))
    monkeypatch.setattr(figure, "CATALOGUE", path)
    entry = figure.catalogue.__wrapped__()["GoNogo-v0"]
    assert list(entry.solutions) == solutions_of(rows, "GoNogo-v0")
    assert (entry.column, entry.conditions, entry.ceiling, entry.left_out) == ("ground_truth", ("1", "2"), 0.9, 2)
    assert len(json.loads(path.read_text())["GoNogo-v0"]["networks"]) == 2
