"""``ngym plot RUN solutions``: a network among the networks of a catalogue."""

from __future__ import annotations

import dataclasses
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

from ngym_cli.figures import solutions as figure
from ngym_cli.figures.solutions import Catalogue, catalogue, conditions_of, describe, sentence


@pytest.fixture
def run(run_folder, tmp_path):
    return shutil.copytree(run_folder, tmp_path / "run")


def test_a_network_is_nearest_to_networks_like_itself(ngym, run, monkeypatch):
    from ngym_cli.evaluation.service import recorder
    from ngym_cli.figures import requests
    from ngym_cli.runs.recordings import NETWORK_QUANTITIES

    view = requests.view([str(run)], run.parent)
    view.recorder = recorder(run.parent, False, lambda line: None)
    view.record(NETWORK_QUANTITIES)
    column, conditions = conditions_of(view.recorded.table)
    assert column == "ground_truth" and conditions == ("0", "1")
    own = describe(view, column, conditions, "lstm", 0)
    assert len(own.geometry) == 28 and own.topology
    rng = np.random.default_rng(0)
    others = [
        dataclasses.replace(own, seed=k, topology="ring attractor", geometry=tuple(rng.random(28))) for k in range(3)
    ]
    alike = [
        dataclasses.replace(own, seed=k, geometry=tuple(np.array(own.geometry) + 0.01 * rng.random(28)))
        for k in range(4)
    ]
    networks = (*others, *alike)
    words = sentence(own, networks)
    assert f"{own.topology}, as 4 of 7 lstm networks" in words and "nearest to cluster 1 (4 of 7 networks" in words
    task = view.properties.id
    monkeypatch.setattr(figure, "catalogue", lambda: {task: Catalogue(column, conditions, networks)})
    result = ngym("plot", run, "solutions")
    assert result.code == 0, result.err
    distance = pq.read_table(next(run.rglob("solutions.parquet")))["distance"].to_numpy()
    assert distance[3:].max() < distance[:3].min()


def test_a_task_without_a_catalogue_is_refused(ngym, run, monkeypatch):
    monkeypatch.setattr(figure, "catalogue", dict)
    result = ngym("plot", run, "solutions")
    assert result.code != 0 and "no catalogue of this task" in result.out + result.err


def test_the_catalogue_of_the_package_can_be_read():
    for entry in catalogue().values():
        assert len({len(each.geometry) for each in entry.solutions}) == 1
        assert all(each.topology for each in entry.solutions)
