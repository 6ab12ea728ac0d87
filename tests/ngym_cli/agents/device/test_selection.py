"""The device of a run: the one requested, or the one that was measured to be faster."""

import pytest
import torch

from ngym_cli.agents.device import selection
from ngym_cli.agents.device.selection import Crossover, choose, choose_measured
from ngym_cli.errors import UserError

CARD = "NVIDIA X100"
ROWS = [
    Crossover(CARD, "lstm", 64, 64, cpu=300_000, gpu=100_000),
    Crossover(CARD, "lstm", 1024, 1024, cpu=2_000, gpu=50_000),
]


@pytest.mark.parametrize(
    ("network", "units", "n_envs", "device", "reason"),
    [
        ("lstm", 64, 64, "cpu", "0.33 times as fast with 64 units and 64 environments"),
        ("lstm", 32, 16, "cpu", "0.33 times as fast"),
        ("lstm", 2048, 4096, "cuda", "25 times as fast with 1,024 units and 1,024 environments"),
        ("lstm", 512, 64, "cpu", "nothing was measured on NVIDIA X100 for lstm of 512 units, 64 environments"),
        ("gru", 2048, 4096, "cpu", "nothing was measured"),
    ],
)
def test_measurements_decide_where_there_are_any(network, units, n_envs, device, reason):
    choice = choose_measured(CARD, network, units, n_envs, ROWS)
    assert choice.device == device and reason in choice.reason
    assert choose_measured("another card", network, units, n_envs, ROWS).device == "cpu"


def test_measurements_are_kept_for_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    published = selection.read_crossovers()
    for row in [*ROWS, Crossover(CARD, "lstm", 64, 64, cpu=1.0, gpu=2.0)]:
        selection.store(row)
    assert selection.read_crossovers()[:2] == [ROWS[1], Crossover(CARD, "lstm", 64, 64, cpu=1.0, gpu=2.0)]
    selection.user_file().write_text("{")
    assert selection.read_crossovers() == published


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_without_a_gpu_the_cpu_is_chosen_and_a_gpu_is_refused():
    assert choose("auto", "lstm", 2048, 4096) == ("cpu", "")
    with pytest.raises(UserError, match="device 'cuda' is not available"):
        choose("cuda", "lstm", 2048, 4096)
