"""Threads that were requested for learning are those of torch, too."""

from __future__ import annotations

import pytest
import torch

from ngym_cli import processes


@pytest.fixture(autouse=True)
def as_before():
    learning, in_torch = processes.learning_threads(), torch.get_num_threads()
    yield
    processes.set_learning_threads(None)
    processes.set_learning_threads(learning)
    torch.set_num_threads(in_torch)


@pytest.mark.parametrize(
    ("threads", "products", "expected"),
    [(1, 0, 1), (1, 10**9, 1), (2, 0, 1), (2, 10**9, 2), (2, processes.WORTH_SHARING, 1), (None, 10**9, 1)],
)
def test_torch_has_as_many_threads_as_were_requested_and_help(monkeypatch, threads, products, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    torch.set_num_threads(2)
    processes.set_learning_threads(threads)
    processes.limit_torch(products)
    assert torch.get_num_threads() == expected


def test_a_run_in_a_program_that_has_loaded_torch_takes_the_requested_threads(tmp_path, monkeypatch):
    import ngym_cli as nc

    monkeypatch.chdir(tmp_path)
    torch.set_num_threads(2)
    settings = {"timesteps": 200, "units": 4, "n_envs": 2, "eval_trials": 5, "progress": False}
    nc.train("GoNogo-v0", alg="ppo", threads=1, name="a", **settings)
    assert torch.get_num_threads() == 1
