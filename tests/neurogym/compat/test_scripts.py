"""Scripts of all eras of NeuroGym run as they are."""

import runpy
import warnings
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("s*.py"))


#: A script whose parts other tests of the monitor run.
SLOW = "s2024_monitor_evaluate"


@pytest.mark.parametrize(
    "script",
    [pytest.param(script, marks=[pytest.mark.long] * (script.stem == SLOW)) for script in SCRIPTS],
    ids=lambda path: path.stem,
)
def test_script_runs(script, tmp_path, monkeypatch):
    """Each in a namespace and a folder of its own; whatever is drawn or saved goes there."""
    if "stable_baselines3" in script.read_text() or "sb3_contrib" in script.read_text():
        pytest.importorskip("sb3_contrib")
    if "import torch" in script.read_text():
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        runpy.run_path(str(script), run_name="__main__")
    import matplotlib.pyplot as plt

    plt.close("all")


def test_there_are_scripts_of_every_era():
    assert len(SCRIPTS) >= 20
