"""Errors in Python: unknown names are refused with the nearest, in the words of Python, in one line."""

from __future__ import annotations

import shutil
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

import ngym_cli as nc
from neurogym.messages.options import option
from ngym_cli import processes
from ngym_cli.api import wording
from ngym_cli.evaluation.request import EvalRequest
from ngym_cli.fitting.request import FitRequest
from ngym_cli.training.request import RunRequest


@pytest.fixture(autouse=True)
def as_a_program(monkeypatch, tmp_path):
    """Without the strict mode that the command line sets, in an empty folder."""
    monkeypatch.delenv("NGYM_STRICT", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"timing": {"stimulsu": 500}}, "unknown period 'stimulsu'; did you mean 'stimulus'?"),
        ({"rewards": {"corect": 2}}, "unknown reward 'corect'; did you mean 'correct'?"),
        ({"task_args": {"coh": [2]}}, "did you mean 'cohs'?"),
        ({"learning_rate": 1e-3}, "'learning_rate' is an entry of hyperparameters: hyperparameters={"),
        ({"layers": 2}, "'layers' is an entry of network_args"),
        ({"cohs": [4]}, "'cohs' is an entry of task_args"),
        ({"stimulus": 500}, "'stimulus' is an entry of timing"),
        ({"total_timesteps": 5}, "did you mean 'timesteps'?"),
        ({"env": "RDM-v0"}, "did you mean 'task'?"),
        ({"dry_run": True}, "it is an option of the command line only"),
    ],
)
def test_training_and_sweeps_refuse_unknown_names(arguments, message):
    for refused in (
        lambda: nc.train("RDM-v0", timesteps=400, progress=False, **arguments),
        lambda: nc.sweep({"task": "RDM-v0", "timesteps": 400, "units": 4, **arguments}, seed=range(2)),
    ):
        with pytest.raises(nc.UserError) as error:
            refused()
        assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nme": "a"}, "did you mean 'name'?"),
        ({"ovewrite": True}, "unknown argument 'ovewrite'; did you mean 'overwrite'?"),
        ({"run_root": "elsewhere"}, "unknown argument 'run_root'; did you mean 'runs_root'?"),
        ({"verbose": 1}, "did you mean 'progress'?"),
        ({"threads": 0}, "threads must be at least 1, not 0"),
        ({"tag": 3}, "tag must be a list, not 3"),
        ({"overwrite": "perhaps"}, "overwrite must be true or false, not 'perhaps'"),
        ({"config": {"task": "RDM-v0"}}, "config must be a path"),
    ],
)
def test_arguments_of_the_function_itself_are_checked_like_its_options(arguments, message):
    with pytest.raises(nc.UserError) as error:
        nc.train("RDM-v0", timesteps=400, progress=False, **arguments)
    assert message in str(error.value) and not Path("runs").exists()


def test_functions_without_options_name_the_nearest_argument(run_folder):
    run = nc.Run(run_folder)
    for call, message in (
        (lambda: nc.reproduce("roitman2002", seds=3), "unknown argument 'seds'; did you mean 'seeds'?"),
        (lambda: nc.diff(run), "diff: missing a required argument: 'other'"),
        (lambda: nc.plot(run, formt="pdf"), "did you mean 'format'?"),
        (lambda: run.plot("learning", style="papr"), "unknown style 'papr'; did you mean 'paper'?"),
        (lambda: run.evaluate(20, lesion={"unit": 3}), "unknown entry of lesion 'unit'; did you mean 'units'?"),
        (lambda: run.evaluate(20, record=True), "record must be names, as a text with commas or a list, not true"),
        (lambda: nc.Run("nowhere"), "no such run: nowhere"),
        (lambda: nc.Sweep("nowhere"), "no such sweep: nowhere"),
        (lambda: nc.Fit("nowhere"), "no such fit: nowhere"),
    ):
        with pytest.raises(nc.UserError) as error:
            call()
        assert message in str(error.value) and "\n" not in str(error.value)


def test_evaluations_refuse_unknown_names_with_their_own_arguments(run_folder):
    run = nc.Run(run_folder)
    with pytest.raises(nc.UserError) as error:
        run.evaluate(20, bogus=1)
    assert "compare_activity" in str(error.value) and "n_envs" not in str(error.value)
    with pytest.raises(nc.UserError, match="unknown period 'stimulsu'; did you mean 'stimulus'"):
        run.evaluate(20, timing={"stimulsu": 300})
    with pytest.raises(nc.UserError, match="'cohs' is an entry of task_args"):
        run.evaluate(20, cohs=[4])
    with pytest.raises(nc.UserError, match="did you mean 'trajectories'"):
        run.plot("pca")


def test_messages_name_arguments_in_place_of_options(run_folder, tmp_path):
    run = nc.Run(shutil.copytree(run_folder, tmp_path / "run"))
    run.evaluate(20, name="twice", overwrite=True)
    with pytest.raises(nc.UserError) as error:
        run.evaluate(20, name="twice")
    assert "another name= or pass overwrite=True" in str(error.value) and "--" not in str(error.value)


@pytest.mark.parametrize(
    ("request_model", "typed", "written"),
    [
        (RunRequest, "--task-arg", "task_args="),
        (RunRequest, "--recommended", "recommended=True"),
        (RunRequest, "--alg supervised --set imitation=10", "alg='supervised', hyperparameters={'imitation': 10}"),
        (RunRequest, "--wrappers a,b:gain=2", "wrappers='a,b:gain=2'"),
        (RunRequest, "--reward", "rewards="),
        (FitRequest, "--reward r", "reward='r'"),
        (FitRequest, "--trial none", "trial='none'"),
        (FitRequest, "--gain won money --loss lost money", "gain='won money', loss='lost money'"),
        (FitRequest, "--missed -1", "missed=-1"),
        (FitRequest, "--where 'phase in a,b'", "where='phase in a,b'"),
        (FitRequest, "--where it's", 'where="it\'s"'),
        (FitRequest, "--derive w=a/10 --derive l=b/10 --gain w", "derive=['w=a/10', 'l=b/10'], gain='w'"),
        (EvalRequest, "--stochastic", "deterministic=False"),
        (EvalRequest, "--noise 0.1", "noise=0.1"),
        (EvalRequest, "--eval-every", "eval_every="),
        (None, "--runs", "runs_root="),
        (None, "--not-loaded x", "not_loaded='x'"),
        (RunRequest, "--json", "--json"),
        (RunRequest, "--dry-run", "--dry-run"),
    ],
)
def test_options_are_written_as_arguments_of_the_function_that_was_called(request_model, typed, written):
    assert wording.in_python(typed, request_model) == written


def test_options_are_written_for_whoever_asks():
    Path("rat.csv").write_text("coh,choice,correct\n" + "6.4,0,1\n51.2,1,0\n" * 20)
    with pytest.raises(nc.UserError, match="transition= needs model='glm-hmm'"):
        nc.fit("rat.csv", model="logistic", transition="coh")
    assert option("--name a") == "--name a"


def test_worker_processes_name_options_as_their_parent_does():
    with wording.called_from_python(RunRequest), ProcessPoolExecutor(1, processes.spawn_context()) as pool:
        assert pool.submit(option, "--reward x=1").result() == "rewards={'x': 1}"


def test_the_traceback_is_one_line_in_notebooks_and_short_elsewhere(monkeypatch, capsys):
    import traceback

    with pytest.raises(nc.UserError) as error:
        nc.train("RDM-v0", network="lsmt")
    assert len(traceback.format_exception(error.value)) <= 4
    shell = InteractiveShell(user_ns={"nc": nc})
    shell.run_cell('nc.train("RDM-v0", network="lsmt")')
    assert capsys.readouterr().out == f"UserError: {error.value}\n"
    monkeypatch.setenv("NGYM_TRACEBACK", "1")
    shell.run_cell('nc.train("RDM-v0", network="lsmt")')
    assert capsys.readouterr().out.count("\n") > 8
