"""Single trials: what is recorded of them belongs together, and they can be looked at in three ways."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import neurogym
from ngym_cli import runs
from ngym_cli.agents import defaults
from ngym_cli.config.model import from_dict
from ngym_cli.figures import film, trial_drawing, watch
from ngym_cli.figures import trial as single_trials
from ngym_cli.figures.source import Source
from ngym_cli.figures.style import styled
from ngym_cli.figures.wording import Wording
from tests.ngym_cli.figures.test_contract import assert_readable


@pytest.fixture(scope="module")
def source(run_folder):
    return Source(runs.find(str(run_folder), Path("runs")))


def test_a_trial_is_whole(source):
    trials = single_trials.record(source, 3, 0, {})
    for trial in trials:
        assert len(trial) == len(trial.observations) == len(trial.activity) == len(trial.policy) == len(trial.values)
        assert np.allclose(trial.policy.sum(axis=1), 1)
        assert (trial.policy.argmax(axis=1) == trial.actions[:, 0]).all()
        begin, end = trial.periods["stimulus"]
        assert (end - begin) * trial.dt == trial.record["period_stimulus"]
        assert trial.rewards.sum() == pytest.approx(trial.record["reward"])
    again = single_trials.record(source, 3, 0, {})
    assert all(np.array_equal(a.activity, b.activity) for a, b in zip(trials, again, strict=True))


def test_only_trials_that_were_asked_for(source):
    for trial in single_trials.record(source, 4, 0, single_trials.conditions_wanted("coh=51.2")):
        assert trial.record["coh"] == 51.2


def test_the_figure_can_be_read(source):
    trials = single_trials.record(source, 2, 0, {})
    with styled():
        assert_readable(trial_drawing.trials_figure(trials))


def test_each_group_of_channels_has_its_own_scale():
    observations = np.array([[1.0, 5.0, -10.0, 0.0]])
    assert trial_drawing.largest(observations, {"fixation": 0, "stimulus": [1, 2]}).tolist() == [1, 10, 10, 1]


def test_as_a_figure_and_as_a_film(ngym, run_folder, tmp_path):
    assert ngym("watch", run_folder, "--out", "trials.svg", "--where", "coh=51.2").code == 0
    with Image.open(ngym("watch", run_folder, "--out", "film.gif", "--trials", 1, "--json").document["id"]) as image:
        assert image.n_frames >= 5  # a fixation step, three of stimulus, and the decision
    assert {path.name for path in tmp_path.iterdir()} == {"trials.svg", "film.gif"}


def test_the_outcome_is_shown_when_a_trial_ends_and_every_picture_has_one_palette(source, tmp_path):
    trials = single_trials.record(source, 2, 0, {})
    with styled():
        film.film(trial_drawing.trials_figure(trials), trials, tmp_path / "film.gif")
    with Image.open(tmp_path / "film.gif") as image:
        assert image.n_frames == sum(map(len, trials))
        pictures = []
        for k in range(image.n_frames):
            image.seek(k)
            pictures.append(np.asarray(image.convert("RGB")).astype(int))
    titles = np.array([picture[:28] for picture in pictures])  # pixels above the names of periods
    changes = np.abs(np.diff(titles, axis=0)).sum(axis=(1, 2, 3)) > 0
    assert np.flatnonzero(changes).tolist() == [len(trials[0]) - 2, sum(map(len, trials)) - 2]
    white = [(picture == 255).all(axis=2).sum() for picture in pictures]
    assert (np.diff(white) <= 0).all()


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(
            "text.usetex: True\nanimation.ffmpeg_path: ./evil.sh\nsvg.fonttype: none\nfigure.dpi: 1",
            id="settings",
            marks=pytest.mark.long,
        ),
        pytest.param("backend: module://planted", id="backend"),
        pytest.param(b"\xff\xfe", id="binary", marks=pytest.mark.long),
    ],
)
def test_settings_of_the_current_folder_are_ignored(run_folder, tmp_path, settings):
    """A film needs a program; a figure needs none."""
    (tmp_path / "matplotlibrc").write_bytes(settings if isinstance(settings, bytes) else settings.encode())
    for name, code in (("evil.sh", "#!/bin/sh\ntouch {}\n"), ("planted.py", "open({!r}, 'w')\n")):
        (tmp_path / name).write_text(code.format(str(tmp_path / "ran")))
        (tmp_path / name).chmod(0o755)
    ngym = str(Path(sys.executable).with_name("ngym"))
    for arguments in (
        ["watch", run_folder, "--trials", "1", "--out", "a.mp4"],
        ["plot", run_folder, "learning", "--out", "."],
    ):
        command = [ngym, *map(str, arguments)]
        process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert "Traceback" not in process.stderr
        assert process.returncode == 0 or "ffmpeg" in process.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("echo 'configuration: none'; echo \"Unknown encoder 'libx264'\" >&2; exit 1", "Unknown encoder 'libx264'"),
        ("head -c 100 > /dev/null; echo 'no muxer' >&2; exit 1", "no muxer"),
        ("cat > /dev/null", "No such file or directory"),
        ("kill -9 $$", "exit code -9"),
    ],
    ids=["encoder", "early", "nothing", "killed"],
)
def test_an_ffmpeg_that_cannot_write_films_is_one_line(ngym, run_folder, tmp_path, monkeypatch, program, reason):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ffmpeg").write_text(f"#!/bin/sh\n{program}\n")
    (tmp_path / "bin" / "ffmpeg").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    result = ngym("watch", run_folder, "--trials", 1, "--out", "film.mp4")
    assert result.code == 2 and len(result.err.strip().splitlines()) == 1, result.err
    assert f"film.mp4: ffmpeg: {reason}; a .gif needs no program" in result.err
    assert not list(tmp_path.glob("film*"))


def test_a_trial_of_several_tasks_is_headed_by_its_task_on_every_way(tmp_path):
    _config, properties = defaults.prepare(from_dict({"task": "RDM-v0+GoNogo-v0"}))
    names = np.array(["RDM-v0"], dtype=object)  # as the trial table has words
    trial = single_trials.TrialView(
        observations=np.zeros((2, 3)),
        actions=np.zeros((2, 1)),
        rewards=np.zeros(2),
        ground_truth=None,
        activity=None,
        values=None,
        policy=None,
        periods={},
        record={"task": names[0], "coh": np.float64("nan"), "outcome": "correct"},
        dt=100.0,
        labels=properties.labels,
        discrete=True,
        conditions=[*properties.conditions, "coh"],
    )
    assert trial.in_words(Wording(properties.labels)) == ["RDM-v0"]
    assert next(watch.step_by_step(trial, 1)) == "trial 1: RDM-v0, correct"


def test_step_by_step(ngym, run_folder):
    result = ngym("watch", run_folder, "--steps", "--trials", 2)
    assert result.code == 0, result.err
    assert len(re.findall(r"^trial \d", result.out, re.MULTILINE)) == 2
    assert re.search(r"^100 +stimulus ", result.out, re.MULTILINE)
    assert max(map(len, result.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--where", "cohh=0"], "did you mean 'coh'"),
        (["--where", "coh"], "NAME=VALUE"),
        (["--where", "coh=33"], "none of"),
        (["--out", "film.avi"], "unknown format 'avi'"),
    ],
)
def test_wrong_words_are_refused(ngym, run_folder, monkeypatch, arguments, message):
    monkeypatch.setattr(single_trials, "MOST_SEARCHED", 30)
    result = ngym("watch", run_folder, *arguments)
    assert result.code == 2
    assert message in result.err


def test_no_event_of_a_trial_is_lost_in_an_overview():
    """Pulses of 10 ms and the answer of one step, where a column is 30 ms wide."""
    trial = single_trials.oracle_trial(neurogym.make("PulseDecisionMaking-v0"), 0)
    rows = {line.split("|")[0].strip(): line.split("|")[1] for line in watch.overview(trial)[1:] if "|" in line}
    pulses = [int(trial.record["count1"]), int(trial.record["count2"])]
    assert [rows[f"stimulus {k}"].count("█") for k in (1, 2)] == pulses and sum(pulses) == 3
    assert rows["action"].strip("0") == rows["ground truth"].strip("0") == str(trial.actions[-1, 0])
