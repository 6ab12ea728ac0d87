"""Every command that stands on a line of its own in README and the guide runs, with small runs and small tables.

Those that train are planned (``--dry-run``). The tutorials are run as they stand, by `tests/docs/test_tutorials.py`.
"""

from __future__ import annotations

import re
import shlex
import shutil

import numpy as np
import pandas
import pytest

from docs.site import home

PAGES = [home.ROOT / "README.md", *sorted(home.GUIDE.glob("*.md"))]
COMMAND = re.compile(r"^    (?:\$ )?ngym ([a-z].*)$", re.MULTILINE)

#: Beginnings of commands that are not run, with the reason.
NOT_RUN = {
    "bench": "measures for minutes",
    "reproduce ": "trains the networks of a paper",
    "run --task RDM-v0 --units 1024 --n-envs 1024 --device cuda": "needs a GPU",
    "fit people.csv --model q-learning,gru --on": "needs workers or a cluster",
    "fit dots.csv --model ddm,ddm:collapse=exponential --design": "fits simulated subjects for minutes",
    "fit clicks.csv --model logistic,accumulator": "follows densities for a minute; see test_accumulator.py",
    "fit beeps.csv": "the same",
    "eval latest --compare-activity rates.npz": "needs the file that NEMOS makes",
    "eval rat1": "needs a network fitted to comparisons of two sounds",
    "fit akrami2018": "takes a minute; its output is in the records",
    "data churchlandlab": "needs a download",
    "run --resume latest": "the run is finished",
    "eval latest --compare-activity averages.h5": "needs averages by condition; see test_activity.py",
    "plot sweeps/weights recording": "needs runs that learned from a recording; see test_recordings.py",
}
#: Beginnings of commands that take more than five seconds.
SLOW = (
    *("fit rat.csv", "fit mouse.csv", "fit dots.csv", "fit people.csv --model ddm", "fit bandit.csv"),
    "fit people.csv --model q-learning --subjects hierarchical --posterior",
    *("eval latest --compare-activity", "eval latest --simulate"),
    *("plot latest bifurcation", "plot latest flow", "plot sweeps/NAME degeneracy"),
)
#: Runs and sweeps that pages name.
RUNS, SWEEPS = ("demo", "monkey", "rat1", "both", "task"), ("NAME", "cells")
#: Files that pages name, with their content.
FILES = {
    "weights.csv": "V1,V2\n0.1,0.2\n0.3,0\n",
    "areas.toml": "V1 = {units = 20, input = true}\nPFC = {units = 12, output = true, from = {V1 = 0.3}}\n",
    "coherence.toml": '[run]\ntask = "RDM-v0"\n\n[grid]\n"task_args.sigma" = [0.5, 1.0]\n',
    "old_script.py": "import neurogym as ngym\n\nenv = ngym.make('PerceptualDecisionMaking-v0')\n",
}


def commands_of(path) -> list[str]:
    """The commands of a page, each once and in order, without remarks."""
    text = re.sub(r"\\\n\s+", "", path.read_text(encoding="utf-8"))
    return list(dict.fromkeys(line.partition("  #")[0].strip() for line in COMMAND.findall(text)))


def dots(people: int = 1, trials: int = 120, seed: int = 0) -> pandas.DataFrame:
    """Choices and times of people, with everything that a page names."""
    rng = np.random.default_rng(seed)
    rows = np.arange(people * trials)
    frame = pandas.DataFrame({"subject": rows // trials + 1, "session": 1, "trial": rows % trials + 1})
    frame["coh"] = rng.choice([-50.0, -25.0, -5.0, 5.0, 25.0, 50.0], len(rows))
    frame["choice"] = np.where(rng.random(len(rows)) < 1 / (1 + np.exp(-frame["coh"] / 15)), "right", "left")
    frame["correct"] = ((frame["coh"] > 0) == (frame["choice"] == "right")).astype(int)
    frame["reward"] = frame["correct"]
    frame["rt"] = 0.3 + rng.gamma(2.0, 0.15, len(rows))
    frame["block"] = np.where(frame["trial"] <= trials // 2, 1, 2)
    frame["speed"] = np.where(frame["trial"] % 40 < 20, "fast", "accurate")
    frame["age"] = np.array([21, 34, 56, 40, 29, 61])[rows // trials]
    frame["group"] = np.where(rows // trials % 2, "patient", "control")
    return frame


def bandit(trials: int = 120, seed: int = 1) -> pandas.DataFrame:
    """Choices between two options of a subject that stays after a reward."""
    rng = np.random.default_rng(seed)
    choice, reward = np.zeros(trials, int), np.zeros(trials, int)
    for t in range(trials):
        stays = rng.random() < (0.9 if t and reward[t - 1] else 0.5)
        choice[t] = choice[t - 1] if stays else 1 - choice[t - 1]
        reward[t] = rng.random() < (0.8, 0.2)[choice[t]]
    frame = pandas.DataFrame({"subject": 1, "session": 1, "trial": np.arange(trials) + 1})
    return frame.assign(choice=choice + 1, reward=reward, rt=0.3 + rng.gamma(2.0, 0.15, trials))


def clicks(trials: int = 80) -> pandas.DataFrame:
    """Choices of the side with more clicks, whose times are lists."""
    rng = np.random.default_rng(0)
    left, right = ([np.sort(rng.uniform(0, 1, n)) for n in rng.poisson(6, trials)] for _ in range(2))
    more = np.array([len(b) > len(a) for a, b in zip(left, right, strict=True)])
    listed = [[" ".join(f"{t:.3f}" for t in each) for each in side] for side in (left, right)]
    columns = {"leftbups": listed[0], "rightbups": listed[1], "T": 1.0}
    return pandas.DataFrame({"subject": 1, **columns, "went_right": more ^ (rng.random(trials) < 0.2)}).astype(
        {"went_right": int}
    )


@pytest.fixture
def workspace(tmp_path, run_folder, ngym, in_process):
    """What a reader of the guide has: runs, sweeps, tables, recordings, files of settings."""
    for name in RUNS:
        shutil.copytree(run_folder, tmp_path / "runs" / "RDM-v0" / "recurrent_ppo" / name)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    np.save(tmp_path / "sentences.npy", np.random.default_rng(0).normal(size=(20, 8)))
    dots(6, 40).to_csv(tmp_path / "people.csv", index=False)
    for name in ("dots.csv", "rat.csv", "mouse.csv", "session1.csv", "RDM-v0_anna.csv"):
        dots().to_csv(tmp_path / name, index=False)
    dots().assign(session=2).to_csv(tmp_path / "session2.csv", index=False)
    bandit().to_csv(tmp_path / "bandit.csv", index=False)
    clicks().to_csv(tmp_path / "clicks.csv", index=False)
    return tmp_path


def prepare(commands, folder, ngym):
    """Make what takes time, for the commands that name it: own parts, a recording, a sweep."""
    text = "\n".join(commands)
    for kind in ("network", "task"):
        if f"my_{kind}.py:" in text and f"new {kind} " not in text:
            assert ngym("new", kind, f"my_{kind}.py").code == 0
    if "session.nwb" in text:
        assert ngym("eval", "demo", "--trials", "200", "--record", "spikes", "--export", "nwb", "--name", "r").code == 0
        shutil.copy(next(folder.rglob("session.nwb")), folder / "session.nwb")
    for name in SWEEPS:
        if f"plot sweeps/{name}" in text:
            tiny = ["--timesteps", "512", "--n-envs", "4", "--set", "n_steps=64", "--eval-trials", "20"]
            made = ngym("sweep", "--network", "rnn,gru", "--units", "8,16", "--seed", "0:2", "--name", name, *tiny)
            assert made.code == 0, made.err


def run_all(commands, folder, ngym):
    """Run commands and return what those that failed said."""
    commands = [command for command in commands if not command.startswith(tuple(NOT_RUN))]
    prepare(commands, folder, ngym)
    failed = {}
    for command in commands:
        words = shlex.split(command)
        if words[0] in ("run", "sweep") and words[1:2] != ["status"]:
            words += ["--dry-run"] if "--dry-run" not in words else []
        if "--name" in words and words[0] in ("run", "sweep"):  # the page's run is there already
            del words[words.index("--name") : words.index("--name") + 2]
        words += ["--units", "16"] if "--init-from" in words else []  # as the run has
        if words[0] == "eval":  # the last number holds
            words += ["--trials", "100"]
        result = ngym(*words)
        if result.code:
            failed[command] = result.err.strip() or result.out[-300:]
    return failed


WITH_COMMANDS = [path for path in PAGES if commands_of(path)]


@pytest.mark.parametrize("path", WITH_COMMANDS, ids=lambda path: path.stem)
def test_the_commands_of_a_page_run(path, workspace, ngym, one_figure):
    earlier = {command for page in WITH_COMMANDS[: WITH_COMMANDS.index(path)] for command in commands_of(page)}
    quick = [command for command in commands_of(path) if command not in earlier and not command.startswith(SLOW)]
    assert run_all(quick, workspace, ngym) == {}


@pytest.mark.long
def test_the_slow_commands_run(workspace, ngym, one_figure):
    slow = [command for path in WITH_COMMANDS for command in commands_of(path) if command.startswith(SLOW)]
    assert run_all(slow, workspace, ngym) == {}


def test_what_is_not_run_stands_on_a_page():
    every = [command for path in WITH_COMMANDS for command in commands_of(path)]
    assert len(every) > 100
    assert all(any(command.startswith(name) for command in every) for name in [*NOT_RUN, *SLOW])
