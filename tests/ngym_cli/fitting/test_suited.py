"""Models that are proposed for a table, reasons why others are not, and fits to several files from the shell."""

import json

import numpy as np
import pytest

from neurogym.behaviour.reading import read
from ngym_cli.fitting import registry

TRIALS = 40


def write_gambles(path, rng, scale=1):
    lines = ["trial,choice,gain,loss"]
    lines += [
        f"{k},{rng.integers(1, 5)},{rng.choice([0.5, 1]) * scale},{-rng.choice([0, 2.5]) * scale}"
        for k in range(TRIALS)
    ]
    path.write_text("\n".join(lines))
    return path


def test_learners_of_gains_losses_and_cues_are_proposed_where_columns_allow(tmp_path):
    rng = np.random.default_rng(0)
    gambles = read(write_gambles(tmp_path / "a.csv", rng))
    assert {"gain-loss", "pvl-delta", "vpp", "orl"} <= {*registry.suited(gambles, "each")}
    cues = {
        "cue": rng.integers(1, 5, TRIALS),
        "keyPressed": rng.integers(0, 2, TRIALS),
        "outcome": rng.integers(-1, 2, TRIALS),
    }
    assert "go-no-go" in registry.suited(read(cues), "each")
    assert "q-learning" not in registry.suited(read(cues), "each")


def test_drift_diffusion_is_proposed_for_choices_and_times_without_stimuli():
    rng = np.random.default_rng(3)
    table = {"choice": rng.integers(1, 3, TRIALS), "RT": 0.3 + rng.gamma(2, 0.2, TRIALS)}
    assert "ddm" in registry.suited(read(table), "each")
    assert "ddm" not in registry.suited(read({**table, "reward": rng.integers(0, 2, TRIALS)}), "each")


def test_several_files_are_one_table_from_the_shell(ngym, tmp_path):
    rng = np.random.default_rng(1)
    paths = [write_gambles(tmp_path / f"rat{name}.csv", rng) for name in (1, 2)]
    done = ngym("fit", *paths, "--model", "gain-loss", "--folds", "2", "--json")
    record = json.loads(done.out)
    assert record["table"]["subjects"] == ["rat1", "rat2"] and set(record["models"]["gain-loss"]["parameters"]) == {
        "rat1",
        "rat2",
    }
    missing = ngym("fit", paths[0], tmp_path / "c.csv", "--model", "gain-loss")
    assert missing.code == 2 and "c.csv" in missing.err


def test_outcomes_of_another_scale_are_refused_with_the_words_that_mend_it(ngym, tmp_path):
    path = write_gambles(tmp_path / "a.csv", np.random.default_rng(2), scale=100)
    refused = ngym("fit", path, "--model", "pvl-delta", "--folds", "2")
    assert refused.code == 2 and "--derive won=gain/100" in refused.err
    words = "--derive won=gain/100 --derive lost=loss/100 --gain won --loss lost"
    assert words in refused.err
    assert ngym("fit", path, "--model", "pvl-delta", "--folds", "2", *words.split()).code == 0
    reasons = registry.unfit({"pvl-delta": registry.build(["pvl-delta"], (), 1)["pvl-delta"]}, read(path))
    assert "outcomes near 1" in reasons["pvl-delta"]


@pytest.mark.parametrize("names", [["pvl-delta", "orl"]])
def test_models_that_are_left_out_are_said(ngym, tmp_path, monkeypatch, names):
    monkeypatch.setattr(registry, "suited", lambda table, subjects: ("logistic:history=1", *names))
    path = write_gambles(tmp_path / "a.csv", np.random.default_rng(2), scale=100)
    done = ngym("fit", path, "--folds", "2")
    assert done.code == 0 and all(f"not fitted: {name}: {name} expects outcomes near 1" in done.err for name in names)
