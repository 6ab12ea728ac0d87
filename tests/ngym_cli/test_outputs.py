"""Every command that writes, with a file, folder or device of the user where it would write: nothing is lost."""

from __future__ import annotations

import os
import shutil
from importlib import import_module
from typing import get_type_hints

import pytest

from ngym_cli import runs
from ngym_cli.agents import checkpoints
from ngym_cli.commands import app
from ngym_cli.commands.app import COMMANDS
from ngym_cli.commands.runs import NoteRequest, RemoveRequest, TagRequest
from ngym_cli.config.fields import options_of
from ngym_cli.files.writing import foreign
from ngym_cli.runs.folder import EVERYTHING

pytestmark = pytest.mark.usefixtures("one_figure")

#: Path options of all commands that name what is written; all others name what is read, or where folders are.
WRITTEN_BY = {
    "data": {"save_columns", "out"},
    "export": {"out"},
    "info": {"figure"},
    "new": {"file"},
    "play": {"out"},
    "plot": {"out"},
    "report": {"out"},
    "watch": {"out"},
}
READ = {"config", "columns", "compare", "compare_activity", "table", "test", "data_dir"}
READ |= {"runs_root", "sweeps_root", "reproductions"}
#: Commands that write nothing, or only into what they have just made or what the user named with it.
WRITES_NOTHING = {"bench", "check", "diff", "docs", "list", "runs"}

RUN, FIT = "runs/RDM-v0/recurrent_ppo/it", "runs/t/fit/a"
#: Command lines, with the place where something of the user is.
CASES = [
    ("play RDM-v0 --trials 2", "RDM-v0.html"),
    ("play RDM-v0 --trials 2 --out page.html", "page.html"),
    (f"report {RUN}", f"{RUN}/report.html"),
    (f"report {RUN} --out page.html", "page.html"),
    (f"report {RUN} --out pages", "pages/report.html"),
    (f"plot {RUN} learning", f"{RUN}/figures/learning.png"),
    (f"plot {RUN} conditions", f"{RUN}/figures/conditions.parquet"),
    (f"plot {RUN} learning --out fg --format svg", "fg/learning.svg"),
    (f"watch {RUN} --trials 1 --out trial.png", "trial.png"),
    ("info RDM-v0 --figure trial.png", "trial.png"),
    (f"export {RUN}", f"{RUN}/export/agent.zip"),
    (f"export {RUN} --to onnx --out agent.onnx", "agent.onnx"),
    ("data t.csv --save-columns keep.toml --out none", "keep.toml"),
    ("data t.csv --out fg", "fg/psychometric.png"),
    ("data t.csv", "figures/t/psychometric.png"),
    ("new task mine.py", "mine.py"),
    ("new paper study", "study/notes.txt"),
    (f"eval {RUN} --trials 4 --name x", f"{RUN}/eval/x/notes.txt"),
    (f"eval {RUN} --trials 4 --name x --overwrite", f"{RUN}/eval/x/notes.txt"),
    (f"eval {RUN} --trials 4 --compare t.csv", f"{RUN}/figures/beside-t.png"),
    ("run --task RDM-v0 --timesteps 64 --name other", "runs/RDM-v0/recurrent_ppo/other/notes.txt"),
    ("run --task RDM-v0 --timesteps 64 --name other --overwrite", "runs/RDM-v0/recurrent_ppo/other/notes.txt"),
    ("run --task RDM-v0 --timesteps 64 --name it --overwrite", f"{RUN}/notes.txt"),
    ("sweep --alg ppo,a2c --name x", "sweeps/x/notes.txt"),
    ("reproduce roitman2002", "reproductions/roitman2002/report.html"),
    ("fit t.csv --model bias --name b", "runs/t/fit/b/notes.txt"),
    ("fit t.csv --model bias --name a --overwrite", f"{FIT}/notes.txt"),
    (f"report {FIT}", f"{FIT}/report.html"),
    (f"report {FIT} --out page.html", "page.html"),
    (f"plot {FIT} likelihood", f"{FIT}/figures/likelihood.png"),
    (f"plot {FIT} likelihood --out fg", "fg/likelihood.png"),
    (f"export {FIT}", f"{FIT}/export/scores.csv"),
    (f"export {FIT} --out tables", "tables/scores.csv"),
    (f"runs rm {RUN} --yes", f"{RUN}/notes.txt"),
    (f"runs rm {FIT} --yes", f"{FIT}/notes.txt"),
]


def request_of(command):
    return get_type_hints(import_module(f"ngym_cli.commands.{command}").execute)["request"]


def paths_of(request):
    return {option.key for option in options_of(request) if option.kind == "path"}


def test_the_walk_knows_every_command_and_every_path():
    walked = {line.split()[0] for line, _ in CASES} | WRITES_NOTHING
    assert walked >= set(COMMANDS), "a command is not in the walk"
    for command in COMMANDS:
        requests = (TagRequest, NoteRequest, RemoveRequest) if command == "runs" else (request_of(command),)
        unknown = {name for request in requests for name in paths_of(request)} - READ - WRITTEN_BY.get(command, set())
        assert not unknown, f"ngym {command} has paths that the walk does not know: {unknown}"
    assert {"out", "save_columns"} <= paths_of(request_of("data"))


@pytest.fixture(scope="module")
def place(run_folder, tmp_path_factory):
    """A folder with a run, a table and a fit."""
    from ngym_cli import fit

    folder = tmp_path_factory.mktemp("outputs")
    shutil.copytree(run_folder, folder / RUN)
    (folder / RUN / "report.html").unlink(missing_ok=True)
    rows = [f"{(k * 7) % 11 - 5},{int((k * 7) % 11 - 5 + (k % 3 - 1) * 3 > 0)},{k // 40}" for k in range(160)]
    (folder / "t.csv").write_text("\n".join(["coh,choice,session", *rows]) + "\n")
    fit(folder / "t.csv", model="logistic", runs=folder / "runs", name="a")
    return folder


@pytest.mark.parametrize(("line", "path"), CASES, ids=[f"{line} > {path}" for line, path in CASES])
def test_what_is_not_ngyms_stays(ngym, place, tmp_path, line, path):
    shutil.copytree(place, tmp_path, dirs_exist_ok=True)
    mine = tmp_path / path
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("years of work")
    before = {file for file in tmp_path.rglob("*") if file.is_file()}
    result = ngym(*line.split())
    assert result.code == 2, result
    assert mine.read_text() == "years of work"
    assert result.err.strip().splitlines()[-1].startswith("ngym: "), result
    assert before <= {file for file in tmp_path.rglob("*") if file.is_file()}, "something is gone"
    assert not [file for file in tmp_path.rglob(".*") if ".ngym-" in file.name]


REPEATED = [
    f"report {RUN}",
    f"plot {RUN} learning",
    f"watch {RUN} --trials 1",
    "data t.csv",
    f"eval {RUN} --trials 4 --record activity --export csv,npz,nwb --compare t.csv",
    f"report {FIT}",
    f"plot {FIT} likelihood",
    f"export {FIT}",
]


def test_what_ngym_wrote_it_replaces_and_removes(ngym, place, tmp_path):
    shutil.copytree(place, tmp_path, dirs_exist_ok=True)
    for line in [*REPEATED, *REPEATED, f"export {RUN}", f"export {RUN} --overwrite"]:
        result = ngym(*line.split())
        assert result.code == 0, (line, result)
    for folder in (RUN, FIT):
        assert foreign(tmp_path / folder, EVERYTHING) is None
        assert ngym("runs", "rm", folder, "--yes").code == 0
        assert not (tmp_path / folder).exists()


def test_a_figure_that_the_user_changed_is_the_users(ngym, place, tmp_path):
    shutil.copytree(place, tmp_path, dirs_exist_ok=True)
    assert ngym("plot", RUN, "learning", "--format", "svg").code == 0
    figure = tmp_path / RUN / "figures/learning.svg"
    figure.write_text(figure.read_text() + "<!-- a better label -->")
    assert "was changed since" in ngym("plot", RUN, "learning", "--format", "svg").err
    assert "a better label" in figure.read_text()
    assert ngym("plot", RUN, "learning", "--format", "svg", "--overwrite").code == 0
    assert "a better label" not in figure.read_text()


@pytest.mark.parametrize("drawn", [True, False])
def test_a_figure_of_the_user_keeps_a_run_from_being_removed(ngym, place, tmp_path, drawn):
    shutil.copytree(place, tmp_path, dirs_exist_ok=True)
    if drawn:
        assert ngym("plot", RUN, "learning").code == 0
    mine = tmp_path / RUN / "figures/mine.png"
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("years of work")
    result = ngym("runs", "rm", RUN, "--yes")
    assert result.code == 2 and "figures/mine.png" in result.err
    assert mine.read_text() == "years of work"


def test_names_of_runs_are_completed(place, monkeypatch):
    from ngym_cli.commands.completion import run_folders

    monkeypatch.chdir(place)
    assert {"it", "a", RUN, FIT, "latest"} <= set(run_folders(""))
    assert run_folders("i") == ["it"]
    assert runs.find("it", place / "runs").path == place / RUN
    assert app.COMMANDS


@pytest.mark.parametrize("out", ["precious", "precious/", ".", "runs", "new", "new/deep/page.html", "folder.html"])
def test_a_report_goes_into_a_folder(ngym, place, tmp_path, out):
    shutil.copytree(place, tmp_path, dirs_exist_ok=True)
    mine = tmp_path / ("folder.html" if out == "folder.html" else "precious") / "data.txt"
    mine.parent.mkdir()
    mine.write_text("years of work")
    before = {file for file in tmp_path.rglob("*") if file.is_file()}
    result = ngym("report", RUN, "--out", out, *["--overwrite"] * (out == "folder.html"))
    assert result.code == 0, result
    written = tmp_path / out
    assert (written / "report.html" if written.is_dir() else written).is_file()
    assert mine.read_text() == "years of work" and before <= {file for file in tmp_path.rglob("*") if file.is_file()}


def test_a_file_is_replaced_on_demand_but_no_folder_and_no_device(ngym, place, tmp_path):
    shutil.copytree(place, tmp_path, dirs_exist_ok=True)
    for line in (f"report {RUN} --out page.html", "info RDM-v0 --figure trial.png"):
        path = tmp_path / line.split()[-1]
        path.write_text("mine")
        refused = ngym(*line.split())
        assert refused.code == 2 and "--overwrite" in refused.err and refused.err.count("\n") == 1
        assert ngym(*line.split(), "--overwrite").code == 0 and path.read_bytes() != b"mine"
    for more in ([], ["--overwrite"]):
        refused = ngym("info", "RDM-v0", "--figure", "runs", *more)
        assert refused.code == 2 and "is a folder" in refused.err and refused.err.count("\n") == 1
    os.mkfifo(tmp_path / "pipe.html")
    assert "not a regular file" in ngym("report", RUN, "--out", "pipe.html", "--overwrite").err


def test_pruning_leaves_what_is_not_a_checkpoint(tmp_path):
    for step in range(3):
        folder = tmp_path / checkpoints.folder_of(step)
        folder.mkdir()
        for name in checkpoints.CHECKPOINT_FILES:
            (folder / name).write_text("")
    (tmp_path / checkpoints.folder_of(0) / "notes.txt").write_text("mine")
    checkpoints.prune(tmp_path, 1, total=2)
    assert (tmp_path / checkpoints.folder_of(0) / "notes.txt").exists()
    assert not (tmp_path / checkpoints.folder_of(1)).exists()
    assert (tmp_path / checkpoints.folder_of(2) / checkpoints.STATE).exists()
