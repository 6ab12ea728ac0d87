"""``ngym sweep``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands import completion

VARIED, SEARCH, WHERE = "Parameters: one value, a,b,c or START:STOP", "Search", "Where"


def _parameter(text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(help=text, rich_help_panel=VARIED)
    return option


def command(
    what: Annotated[
        str | None,
        typer.Argument(help="A recipe (TOML); or 'status' or 'resume' with a sweep; nothing: flags are the recipe."),
    ] = None,
    sweep: Annotated[str | None, typer.Argument(help="Name or folder of a sweep, or 'latest'.")] = None,
    task: Annotated[
        str | None, typer.Option(help="Tasks.", rich_help_panel=VARIED, autocompletion=completion.tasks)
    ] = None,
    wrappers: Annotated[
        list[str] | None,
        typer.Option(help="A stack, as in ngym run; given again: another one; 'none'.", rich_help_panel=VARIED),
    ] = None,
    dt: Annotated[str | None, _parameter("Time steps in ms.")] = None,
    timing: Annotated[list[str] | None, _parameter("PERIOD=DURATIONS, as stimulus=200,400.")] = None,
    reward: Annotated[list[str] | None, _parameter("OUTCOME=NUMBERS.")] = None,
    task_arg: Annotated[list[str] | None, _parameter("NAME=VALUES, an argument of the task.")] = None,
    alg: Annotated[
        str | None, typer.Option(help="Algorithms.", rich_help_panel=VARIED, autocompletion=completion.algorithms)
    ] = None,
    network: Annotated[
        str | None, typer.Option(help="Networks.", rich_help_panel=VARIED, autocompletion=completion.networks)
    ] = None,
    units: Annotated[str | None, _parameter("Units per layer.")] = None,
    network_arg: Annotated[list[str] | None, _parameter("NAME=VALUES, an argument of the network.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="NAME=VALUES, any hyperparameter: learning_rate=1e-3,1e-4.", rich_help_panel=VARIED),
    ] = None,
    loss_weight: Annotated[list[str] | None, _parameter("PERIOD=NUMBERS (supervised).")] = None,
    task_weight: Annotated[list[str] | None, _parameter("TASK=NUMBERS (supervised, several tasks).")] = None,
    init_from: Annotated[str | None, _parameter("Runs whose weights to begin with.")] = None,
    reset_state: Annotated[str | None, _parameter("auto, trial, never.")] = None,
    n_envs: Annotated[str | None, _parameter("Environments side by side.")] = None,
    timesteps: Annotated[str | None, _parameter("Steps to train for.")] = None,
    seed: Annotated[str | None, _parameter("Seeds; 0:5 is five of them.")] = None,
    device: Annotated[str | None, _parameter("auto, cpu, cuda.")] = None,
    eval_every: Annotated[str | None, _parameter("Steps between evaluations; 0: only at the end.")] = None,
    eval_trials: Annotated[str | None, _parameter("Trials of each evaluation.")] = None,
    checkpoint_every: Annotated[str | None, _parameter("Steps between checkpoints.")] = None,
    zip: Annotated[
        list[str] | None,
        typer.Option("--zip", help="Parameters that change together: units,timesteps.", rich_help_panel=VARIED),
    ] = None,
    search: Annotated[
        int | None, typer.Option(help="Number of trials drawn by Optuna.", rich_help_panel=SEARCH)
    ] = None,
    space: Annotated[
        list[str] | None,
        typer.Option(
            help="PARAMETER=log:LOW:HIGH, float:.., int:LOW:HIGH:STEP, logint:.., choice:V1:V2.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    maximize: Annotated[
        str | None, typer.Option(help="performance or reward_per_trial.", rich_help_panel=SEARCH)
    ] = None,
    sampler: Annotated[str | None, typer.Option(help="tpe or random.", rich_help_panel=SEARCH)] = None,
    pruner: Annotated[
        str | None, typer.Option(help="Ends poor trials early: median, hyperband or none.", rich_help_panel=SEARCH)
    ] = None,
    search_seed: Annotated[int | None, typer.Option(help="Seed of the draws.", rich_help_panel=SEARCH)] = None,
    on: Annotated[
        str | None,
        typer.Option(help="local, ray, ray:auto, ray:HOST:PORT or slurm.", rich_help_panel=WHERE),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Most runs at a time; default one per core.", rich_help_panel=WHERE)
    ] = None,
    slurm: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=VALUE for sbatch: partition=gpu, time=2:00:00; runs_per_job=10.", rich_help_panel=WHERE
        ),
    ] = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="Do not wait for a Slurm cluster.", rich_help_panel=WHERE)
    ] = False,
    name: Annotated[str | None, typer.Option(help="Name of the sweep.", rich_help_panel=WHERE)] = None,
    sweeps: Annotated[Path, typer.Option(help="Folder of all sweeps.", rich_help_panel=WHERE)] = Path("sweeps"),
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Let the recipe import task code that this line does not name.", rich_help_panel=WHERE
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the runs and how long they would take.", rich_help_panel=WHERE)
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.", rich_help_panel=WHERE)] = False,
) -> None:
    """Make many runs: grids, seeds and searches, here, on a Ray cluster or on Slurm; repeating it goes on."""
    from ngym_cli.agents import threads

    threads.one()
    from ngym_cli.sweeps import requests

    parameters = {
        "task": task, "dt": dt, "timing": timing, "reward": reward, "task_arg": task_arg, "alg": alg,
        "network": network, "units": units, "network_arg": network_arg, "set_": set_, "loss_weight": loss_weight,
        "task_weight": task_weight, "init_from": init_from, "reset_state": reset_state, "n_envs": n_envs,
        "timesteps": timesteps, "seed": seed, "device": device, "eval_every": eval_every, "eval_trials": eval_trials,
        "checkpoint_every": checkpoint_every,
    }  # fmt: skip
    searched = {
        "trials": search, "space": space, "maximize": maximize, "sampler": sampler, "pruner": pruner,
        "seed": search_seed,
    }  # fmt: skip
    where = {"on": on, "workers": workers, "slurm": slurm}
    code = requests.sweep(
        what, sweep, parameters, wrappers, zip, searched, where, sweeps, name,
        detach=detach, trust=trust, dry_run=dry_run, json=json,
    )  # fmt: skip
    raise typer.Exit(code)
