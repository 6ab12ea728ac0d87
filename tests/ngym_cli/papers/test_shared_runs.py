"""Two papers about the same networks train them once."""

from __future__ import annotations

import shutil

import pytest

from ngym_cli import runs
from ngym_cli.errors import UserError
from ngym_cli.papers import collection, engine


def planned(paper, position):
    return engine.plan(collection.load(paper), ["tasks"], [0], position)["tasks", 0]


@pytest.fixture
def papers(tmp_path):
    """Two papers about the same networks: the second names the configuration of the first."""
    first = shutil.copytree(collection.library() / "yang2019", tmp_path / "papers" / "yang2019")
    second = shutil.copytree(first, tmp_path / "papers" / "second")
    (second / "twenty_tasks.toml").unlink()
    file = second / "paper.toml"
    file.write_text(file.read_text().replace('"twenty_tasks.toml"', '"../yang2019/twenty_tasks.toml"'))
    return first, second


def test_a_run_of_another_reproduction_is_used_once_it_is_finished(tmp_path, run_folder, papers):
    first, second = planned(papers[0], tmp_path / "one"), planned(papers[1], tmp_path / "two")
    assert first.name == second.name
    assert first.path.is_relative_to(tmp_path / "one") and second.path.is_relative_to(tmp_path / "two")
    shutil.copytree(run_folder, first.path)
    assert runs.RunFolder(first.path).manifest()["status"] == "finished"
    assert planned(papers[1], tmp_path / "two").path == first.path
    shutil.copytree(run_folder, second.path)
    assert planned(papers[1], tmp_path / "two").path == second.path  # its own comes first


@pytest.mark.parametrize("config", ["../../etc/x.toml", "/x.toml", "../x.toml", "a/x.toml", "../other/x.py", ".."])
def test_a_configuration_lies_in_the_folder_of_a_paper(tmp_path, config):
    source = collection.library() / "driscoll2024"
    folder = shutil.copytree(source, tmp_path / "mine")
    file = folder / "paper.toml"
    file.write_text(file.read_text().replace("fifteen.toml", config))
    with pytest.raises(UserError, match="expected a TOML file next to"):
        collection.load(folder)
