"""What the record says of a paper."""

from __future__ import annotations

from experiments import reproductions
from ngym_cli import runs
from ngym_cli.papers import collection
from tests.ngym_cli.papers.conftest import PAPER, RUN

BUSY = """
import time

def number(run):
    began = time.process_time()
    while time.process_time() < began + 3:
        pass
    return 0.5
"""


def test_seconds_are_those_of_training_and_of_measuring(monkeypatch, tmp_path):
    folder = tmp_path / "papers" / "study"
    folder.mkdir(parents=True)
    head, first = PAPER.partition("[parts.second]")[0], PAPER[PAPER.index("[[claims]]") :].split("[[claims]]")[1]
    (folder / "paper.toml").write_text(f"{head}[[claims]]{first}")
    (folder / "figures.py").write_text(BUSY)
    (folder / "first.toml").write_text(RUN)
    monkeypatch.setattr(collection, "library", lambda: tmp_path / "papers")
    monkeypatch.setattr(reproductions, "ROOT", tmp_path / "kept")
    row = reproductions.make("study", 0)
    (trained,) = (runs.Run(path.parent).manifest() for path in (tmp_path / "kept").rglob(runs.MANIFEST))
    assert row["claims"] == {"number": 0.5} and not row["why"]
    assert row["cpu_seconds"] > trained["cpu_seconds"] + 3
