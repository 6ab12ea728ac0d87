"""The examples with HSSM, pynapple and NEMOS run in one environment with ngym: `make test-neighbours`."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.neighbours

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "other_tools.md"


def example(heading: str) -> str:
    """Return the Python code of a section of the page."""
    section = PAGE.read_text("utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.search(r"```python\n(.*?)```", section, re.DOTALL).group(1)


def session(path: Path) -> None:
    """Write an NWB file with 8 units and 24 trials, the first unit firing more at the higher strength."""
    import datetime

    import pynwb

    rng = np.random.default_rng(0)
    file = pynwb.NWBFile("made up", "s1", datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))
    coh = np.tile([6.4, 51.2], 12)
    for name in ("coh", "ground_truth"):
        file.add_trial_column(name, name)
    for k, strength in enumerate(coh):
        file.add_trial(start_time=3.0 * k, stop_time=3.0 * k + 2, coh=float(strength), ground_truth=int(k % 4 < 2))
    for unit in range(8):
        rates = np.where((coh > 10) & (unit == 0), 40.0, 10.0)
        spikes = [3.0 * k + rng.uniform(0, 2, rng.poisson(2 * rate)) for k, rate in enumerate(rates)]
        file.add_unit(spike_times=np.sort(np.concatenate(spikes)))
    with pynwb.NWBHDF5IO(str(path), "w") as io:
        io.write(file)


def test_a_diffusion_goes_to_hssm_and_back(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(example("HSSM"), str(PAGE), "exec"), names)
    found, theirs = names["found"], names["theirs"]
    for ours, other, close in (("drift", "v", 0.1), ("A", "a", 0.05), ("z", "z", 0.05), ("t_R", "t", 0.03)):
        assert found[ours] == pytest.approx(float(theirs[other]), abs=close)
    back = names["back"].parameters
    assert not {"A", "z", "t_R"} & set(back["parameter"])  # fixed to HSSM's estimates


def test_counts_and_rates_are_compared_with_a_network(tmp_path, monkeypatch):
    import ngym_cli as nc

    monkeypatch.chdir(tmp_path)
    session(tmp_path / "session.nwb")
    exec(compile(example("pynapple and NEMOS"), str(PAGE), "exec"), names := {})
    assert names["counts"].shape == (24, 20, 8)
    rates = np.load("rates.npz")["activity"]
    strong = np.asarray(names["trials"]["coh"], float) > 10
    assert rates[strong, :, 0].mean() > 2 * rates[~strong, :, 0].mean()
    run = nc.train("RDM-v0", timesteps=5_000, name="small", progress=False)
    for name in ("counts.npz", "rates.npz"):
        assert run.evaluate(trials=200, compare_activity=name, name=Path(name).stem).summary
