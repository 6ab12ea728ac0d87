"""What the record says of a paper."""

from __future__ import annotations

import pytest

from experiments import reproductions
from ngym_cli import runs
from ngym_cli.papers import collection
from tests.ngym_cli.conftest import do_jobs_here
from tests.ngym_cli.papers.conftest import PAPER, RUN

BUSY = """
import time

def number(run):
    began = time.process_time()
    while time.process_time() < began + 0.5:
        pass
    return 0.5
"""


def test_seconds_are_those_of_training_and_of_measuring(monkeypatch, tmp_path):
    folder = tmp_path / "papers" / "study"
    folder.mkdir(parents=True)
    head, first = PAPER.partition("[parts.second]")[0], PAPER[PAPER.index("[[claims]]") :].split("[[claims]]")[1]
    (folder / "paper.toml").write_text(f"{head}[[claims]]{first}".replace('control = "other"\n', ""))
    (folder / "figures.py").write_text(BUSY)
    (folder / "first.toml").write_text(RUN)
    monkeypatch.setattr(collection, "library", lambda: tmp_path / "papers")
    monkeypatch.setattr(reproductions, "ROOT", tmp_path / "kept")
    do_jobs_here(monkeypatch)
    row = reproductions.make("study", 0)
    (trained,) = (runs.RunFolder(path.parent).manifest() for path in (tmp_path / "kept").rglob(runs.MANIFEST))
    assert row["claims"] == {"number": 0.5} and not row["why"]
    assert row["controls"] == {"number": {"untrained": 0.5}}
    assert row["cpu_seconds"] > trained["cpu_seconds"] + 0.5


def test_networks_that_other_code_trained_are_not_measured(monkeypatch):
    """Runs of the same settings that lie beside a reproduction are taken for its own."""
    neighbour = {}

    class Planned(Exception):
        """Far enough."""

    def plan(paper, pieces, seeds, position):
        neighbour[commit].append(position)
        raise Planned

    monkeypatch.setattr(reproductions.engine, "plan", plan)
    for commit in ("before", "now"):
        neighbour[commit] = []
        monkeypatch.setattr(reproductions.made, "commit", lambda commit=commit: commit)
        for paper in ("yang2019", "driscoll2024"):
            with pytest.raises(Planned):
                reproductions.make(paper, 0)
    before, now = ({position.parent for position in places} for places in neighbour.values())
    assert len(before) == len(now) == 1 and before != now  # papers share networks, but only those of one code
