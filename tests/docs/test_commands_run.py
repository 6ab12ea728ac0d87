"""Every command of README and guide runs, in a folder with the files and runs that its page speaks of."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from docs.site import home
from ngym_cli.commands import app

PAGES = [home.ROOT / "README.md", *sorted(home.GUIDE.glob("*.md"))]
COMMAND = re.compile(r"^    (ngym .*)$|`(ngym [a-z]+ [^`\n]+)`", re.MULTILINE)

#: Command -> why it is not run here.
NOT_RUN = {
    "ngym data churchlandlab --by probabilityLeft": "downloads a data set",
    "ngym run --task RDM-v0 --units 1024 --n-envs 1024 --device cuda": "needs a GPU",
    "ngym fit people.csv --model q-learning,gru --on slurm --slurm partition=cpu --slurm time=2:00:00"
    " --slurm runs_per_job=10": "needs Slurm",
    "ngym reproduce roitman2002 --only threshold --seeds 5 --on slurm --slurm partition=cpu": "needs Slurm",
    "ngym run --resume latest": "needs a run that was interrupted: tests/ngym_cli/test_resuming.py has one",
    "ngym plot latest design": "needs a fit with --design, which takes minutes",
    "ngym plot latest quantiles accuracy times delta": "needs a fit of reaction times, which takes a minute",
    "ngym run --resume RUN": "needs a run that was interrupted: tests/ngym_cli/test_resuming.py has one",
    "ngym eval rat1 --simulate DelayComparison-v0 --model gru:units=2 --stimuli s1=v1*0.1-2.2,s2=v2*0.1-2.2": (
        "needs a fit of recurrent cells, which takes a minute"
    ),
}

#: Names of commands in a sentence that speaks of their arguments.
UNFINISHED = {"ngym runs rm", "ngym runs tag", "ngym runs note", "ngym run --config", "ngym sweep --on slurm"}
UNFINISHED |= {"ngym bench --task ..."}

#: Names for what pages leave open; runs are filled in one after the other.
RUNS = ("demo", "second", "third")
PLACEHOLDERS = {"TASK": "RDM-v0", "sweeps/NAME": "sweeps/cells", "NAME": "RDM-v0"}
OF_COMMAND = {"sweep": {"NAME": "cells"}, "data": {"NAME": "roitman2002"}}

#: Word of a command -> the run, fit or table that has what the word asks for, in place of another.
SUITABLE = {
    "--simulate": {"latest": "rat1"},
    "context": {"latest": "context"},
    "forgetting": {"demo": "both"},
    "hybrid": {"t.csv": "bandit.csv"},
}

#: Added to a command that is run: nothing is trained, and few trials are evaluated.
SHORTER = {"run": ["--dry-run"], "sweep": ["--dry-run"], "eval": ["--trials", "40"]}

AREAS = "[V1]\nunits = 8\ninput = true\n\n[PFC]\nunits = 8\noutput = true\nfrom = {V1 = 0.3}\n"
RECIPE = 'name = "coherence"\n[base]\ntask = "RDM-v0"\n[grid]\nseed = [0, 1]\n'


class BegunError(Exception):
    """A computation that takes long has passed all checks and begins."""


def commands(path):
    """Commands of a page but for those of records, which are run when the record is made."""
    text = re.sub(r"<!-- record .*?<!-- end -->", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = (block or inline for block, inline in COMMAND.findall(re.sub(r"\\\n\s+", "", text)))
    return list(dict.fromkeys(each.partition(" #")[0].strip() for each in found))


def filled(command):
    """The words of a command with names of what there is for placeholders."""
    runs = iter(RUNS)
    words = [next(runs) if word == "RUN" else word for word in shlex.split(command)[1:]]
    names = {**PLACEHOLDERS, **OF_COMMAND.get(words[0], {})}
    for word in set(words) & set(SUITABLE):
        names |= SUITABLE[word]
    more = [] if set(words) & {"--help", "--dry-run", "status"} else SHORTER.get(words[0], [])
    return [*(names.get(word, word) for word in words), *more]


def test_marked_commands_stand_on_pages():
    everything = {command for path in PAGES for command in commands(path)}
    assert set(NOT_RUN) | UNFINISHED <= everything


def call(monkeypatch, *words):
    """Run a command line; returns its exit code, 0 where a long computation begins."""
    monkeypatch.setattr("sys.argv", ["ngym", *words])
    try:
        app.main()
    except SystemExit as ended:
        return int(ended.code or 0)
    except BegunError:
        return 0
    raise AssertionError("a command line ends with an exit code")


def in_process(launcher, order):
    """Make the runs of a sweep in this process."""
    from ngym_cli.sweeps import worker

    for job in order.jobs:
        (order.perform or worker.perform)(str(order.sweep.path), job, order.trust)
        order.look()


def begin(*_args, **_options):
    raise BegunError


def draw(figure, view):
    """Check what a figure needs, and draw nothing."""
    figure.require(view)
    return Figure()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder with small runs, a sweep, a fit, and the files that pages name."""
    folder = tmp_path_factory.mktemp("prepared")
    tables(folder)
    short = ["--timesteps", "2000", "--n-envs", "8", "--units", "8", "--set", "n_steps=64"]
    runs = {
        "monkey": "perceptualdecisionmaking.roitman02-v0",
        "context": "ContextDecisionMaking-v0",
        "both": "RDM-v0+GoNogo-v0",
        "demo": "RDM-v0",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("NGYM_STRICT", "1")
        patch.setattr("ngym_cli.sweeps.launchers.local.Local.launch", in_process)
        for kind in ("figure", "model"):
            assert call(patch, "new", kind, f"my_{kind}.py") == 0
        assert call(patch, "fit", "rat.csv", "--model", "logistic", "--name", "rat1") == 0
        assert call(patch, "sweep", "--network", "lstm,gru", "--seed", "0:2", "--name", "cells", *short) == 0
        for name, task in runs.items():
            often = ["--eval-every", "1000"] if name == "both" else ["--checkpoint-every", "1000"]
            assert call(patch, "run", "--task", task, "--name", name, *short, *often) == 0
        assert call(patch, "eval", "demo", "--trials", "60", "--record", "activity", "--export", "nwb,npz") == 0
        (demo,) = folder.glob("runs/RDM-v0/*/demo")
        shutil.copy(next(demo.glob("eval/*/session.nwb")), folder / "session.nwb")
        for name in RUNS[1:]:
            shutil.copytree(demo, demo.parent / name)
    return folder


def tables(folder):
    """Write the files that pages name, of subjects that follow the stimulus."""
    rng, rows = np.random.default_rng(0), []
    for k in range(160):
        coh, person = rng.choice([-25.6, -6.4, 6.4, 25.6]), k // 40
        right = int(rng.random() < 1 / (1 + np.exp(-coh / 8)))
        correct, rt = int(right == (coh > 0)), 0.4 + rng.gamma(3, 0.1)
        rows.append((f"s{person}", k // 20, k % 20, coh, right, correct, correct, rt, 20 + person, "ab"[person % 2]))
    head = "subject,session,trial,coh,choice,correct,reward,rt,age,group"
    people = "\n".join([head, *(",".join(map(str, row)) for row in rows)])
    alone = "\n".join([head, *(",".join(map(str, ("s", *row[1:-2], 20, "a"))) for row in rows)])
    for name in ("rat", "mouse", "t", "session1", "session2"):
        (folder / f"{name}.csv").write_text(alone + "\n")
    (folder / "people.csv").write_text(people + "\n")
    dots = [f"{row[3]},{row[4]},{row[7]},{k % 2},{k % 3}" for k, row in enumerate(rows)]
    (folder / "dots.csv").write_text("\n".join(["coh,choice,rt,block,speed", *dots]) + "\n")
    steps = [f"{row[4]},{rng.integers(2)},{rng.integers(2)},{row[6]},{row[7]}" for row in rows]
    (folder / "bandit.csv").write_text("\n".join(["choice1,state2,choice2,reward,rt", *steps]) + "\n")
    (folder / "areas.toml").write_text(AREAS)
    (folder / "coherence.toml").write_text(RECIPE)
    (folder / "old_script.py").write_text("import gym\nimport neurogym as ngym\n")
    np.save(folder / "sentences.npy", rng.normal(size=(20, 8)))
    h5py = pytest.importorskip("h5py")
    strengths, sides = (each.ravel() for each in np.meshgrid([0, 6.4, 12.8, 25.6, 51.2], [1, 2]))
    with h5py.File(folder / "averages.h5", "w") as file:
        file["activity"] = rng.normal(size=(10, 22, 6))
        file["condition_coh"], file["condition_ground_truth"] = strengths, sides


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_command_of_a_page_runs(path, prepared, tmp_path, monkeypatch, capsys):
    shutil.copytree(prepared, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("NGYM_STRICT", "1")
    for begins in ("fitting.requests._fitted", "sweeps.launchers.local.Local.launch", "training.timing.try_out"):
        monkeypatch.setattr(f"ngym_cli.{begins}", begin)
    monkeypatch.setattr("ngym_cli.figures.registry.FigureSpec.draw", draw)
    wrong = []
    for command in commands(path):
        if command in NOT_RUN or command in UNFINISHED:
            continue
        words = filled(command)
        if words[0] == "new":
            Path(words[2]).unlink(missing_ok=True)
        code = call(monkeypatch, *words)
        said = capsys.readouterr().err.strip().splitlines()
        if code:
            wrong.append(f"{command}: {code}: {said[-1:]}")
    assert not wrong, "\n".join(wrong)
