"""``ngym run``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands import completion

TASK, AGENT, RUN = "Task", "Agent", "Run"


def command(
    task: Annotated[
        str | None,
        typer.Option(
            help="Id, old name, path/to/file.py:Class or package.module:Class; several as RDM-v0+GoNogo-v0 or a "
            "collection (yang19); 'all' with --smoke.",
            rich_help_panel=TASK,
            autocompletion=completion.tasks,
        ),
    ] = None,
    schedule: Annotated[
        str | None,
        typer.Option(
            help="Of several tasks: random, norepeat, sequential, block:100 or sequential_block:100 (trials).",
            rich_help_panel=TASK,
            autocompletion=completion.schedules,
        ),
    ] = None,
    wrappers: Annotated[
        str | None,
        typer.Option(
            help="Stack, innermost first: name,name:key=value:key=v1/v2.",
            rich_help_panel=TASK,
            autocompletion=completion.wrappers,
        ),
    ] = None,
    dt: Annotated[float | None, typer.Option(help="Time step in ms.", rich_help_panel=TASK)] = None,
    timing: Annotated[
        list[str] | None,
        typer.Option(
            help="PERIOD=MS, or a distribution: delay=uniform:200:600, choice:MS1:MS2:.., "
            "truncated_exponential:MEAN:MIN:MAX, constant:X, until:T.",
            rich_help_panel=TASK,
        ),
    ] = None,
    reward: Annotated[
        list[str] | None, typer.Option(help="OUTCOME=NUMBER, as fail=-0.1.", rich_help_panel=TASK)
    ] = None,
    task_arg: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE, an argument of the task.", rich_help_panel=TASK)
    ] = None,
    alg: Annotated[
        str | None, typer.Option(help="Algorithm.", rich_help_panel=AGENT, autocompletion=completion.algorithms)
    ] = None,
    network: Annotated[
        str | None, typer.Option(help="Network.", rich_help_panel=AGENT, autocompletion=completion.networks)
    ] = None,
    units: Annotated[int | None, typer.Option(help="Units per layer.", rich_help_panel=AGENT)] = None,
    network_arg: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE, an argument of the network.", rich_help_panel=AGENT)
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE, any hyperparameter.", rich_help_panel=AGENT)
    ] = None,
    loss_weight: Annotated[
        list[str] | None,
        typer.Option(help="PERIOD=NUMBER, its weight in the loss (supervised).", rich_help_panel=AGENT),
    ] = None,
    task_weight: Annotated[
        list[str] | None,
        typer.Option(help="TASK=NUMBER, how often it is drawn (supervised, several tasks).", rich_help_panel=AGENT),
    ] = None,
    init_from: Annotated[
        str | None, typer.Option(help="Run whose weights to begin with.", rich_help_panel=AGENT)
    ] = None,
    reset_state: Annotated[
        str | None,
        typer.Option(
            help="When the recurrent state resets: auto, trial or never. auto: never if task or wrappers carry "
            "information across trials, else at each trial.",
            rich_help_panel=AGENT,
        ),
    ] = None,
    n_envs: Annotated[int | None, typer.Option(help="Environments side by side.", rich_help_panel=AGENT)] = None,
    timesteps: Annotated[int | None, typer.Option(help="Steps to train for.", rich_help_panel=AGENT)] = None,
    until: Annotated[
        float | None,
        typer.Option(
            help="End when this fraction of the ceiling is held on fresh trials beyond doubt; --timesteps is the most.",
            rich_help_panel=AGENT,
        ),
    ] = None,
    until_performance: Annotated[
        float | None,
        typer.Option(help="As --until, but a performance, whatever the ceiling.", rich_help_panel=AGENT),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Determines everything random.", rich_help_panel=RUN)] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda.", rich_help_panel=RUN)] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Threads that share the learning; the result is the same for any number. Default: one on each core.",
            rich_help_panel=RUN,
        ),
    ] = None,
    eval_every: Annotated[
        int | None, typer.Option(help="Steps between evaluations; 0: only at the end.", rich_help_panel=RUN)
    ] = None,
    eval_trials: Annotated[int | None, typer.Option(help="Trials of each evaluation.", rich_help_panel=RUN)] = None,
    checkpoint_every: Annotated[
        int | None, typer.Option(help="Steps between checkpoints; 0: only when interrupted.", rich_help_panel=RUN)
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            help="Continue an interrupted run: its folder, its name, or 'latest'.",
            rich_help_panel=RUN,
            autocompletion=completion.run_folders,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="TOML file, as a run's config.toml; flags are laid over it.", rich_help_panel=RUN),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the run folder.", rich_help_panel=RUN)] = None,
    runs: Annotated[Path, typer.Option(help="Folder of all runs.", rich_help_panel=RUN)] = Path("runs"),
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a run of this name.", rich_help_panel=RUN)
    ] = False,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust",
            help="Let --config or --resume import task code that this line does not name.",
            rich_help_panel=RUN,
        ),
    ] = False,
    smoke: Annotated[
        bool,
        typer.Option(
            "--smoke", help="Build, check and train for a few hundred steps; keeps nothing.", rich_help_panel=RUN
        ),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the result as one JSON document.", rich_help_panel=RUN)
    ] = False,
) -> None:
    """Train an agent; leaves a run folder with its record, trials, model and evaluation."""
    from ngym_cli.agents import threads as of_libraries
    from ngym_cli.config import flags
    from ngym_cli.training import requests, smoke_test

    of_libraries.learn_with(threads)
    of_libraries.one()
    given = flags.settings(
        task=task, schedule=schedule, wrappers=wrappers, dt=dt, timing=timing, reward=reward, task_arg=task_arg,
        alg=alg, network=network, units=units, network_arg=network_arg, set_=set_, reset_state=reset_state,
        n_envs=n_envs, timesteps=timesteps, loss_weight=loss_weight, task_weight=task_weight, init_from=init_from,
        until=until, until_performance=until_performance, seed=seed, device=device, eval_every=eval_every,
        eval_trials=eval_trials, checkpoint_every=checkpoint_every,
    )  # fmt: skip
    if smoke:
        code = smoke_test.smoke(given, config, json, trust)
    else:
        code = requests.run(given, config, runs, name, overwrite, json, resume, trust)
    raise typer.Exit(code)
