"""Every tutorial runs from its first cell to its last."""

from __future__ import annotations

import os
import re

import pytest

from docs.site import home, kernel

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

CELL = re.compile(r"```\{code-cell\} ipython3\n(?:---\n.*?\n---\n)?(.*?)```", re.DOTALL)
TUTORIALS = [path for path in sorted(home.TUTORIALS.glob("*.md")) if path.stem != "index"]

#: Seconds of the processor that a tutorial may take, its programs included.
MOST = 120


def test_every_tutorial_is_listed():
    listed = (home.TUTORIALS / "index.md").read_text(encoding="utf-8").split("```")[1].split()
    assert {path.stem for path in TUTORIALS} <= set(listed)


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_has_words_for_its_pictures(path):
    text = path.read_text(encoding="utf-8")
    pictures = [cell for cell in re.findall(r"```\{code-cell\}.*?```", text, re.DOTALL) if "Image(" in cell]
    assert all(re.search(r"    alt: \S.{15}", cell) for cell in pictures)


#: Figures that are refused where a network does not have the property they show.
REFUSABLE = ("bifurcation", "context")


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_does_not_depend_on_what_a_network_learned(path):
    """Digits differ between processors: what one network shows is not certain in another."""
    opened = re.findall(r"Image\((.*?)[,)]", path.read_text(encoding="utf-8"))
    assert not [name for name in opened if any(figure in name for figure in REFUSABLE)]


@pytest.mark.long
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs(path, tmp_path, monkeypatch):
    for name, value in kernel.environment(tmp_path / "ipython", os.environ["PATH"]).items():
        monkeypatch.setenv(name, value)
    cells = CELL.findall(path.read_text(encoding="utf-8"))
    assert cells
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    work = tmp_path / "work"
    work.mkdir()
    before = os.times()
    client = nbclient.NotebookClient(
        book, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(work)}}
    )
    client.execute()
    after = os.times()
    took = after.children_user + after.children_system - before.children_user - before.children_system
    assert took < MOST
