"""``ngym eval``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import all_flags, with_flags
from ngym_cli.commands.values import whole

TRIALS, CHANGED, UNITS, OUTPUT = "Trials", "Changed conditions", "Perturbation", "Output"


@with_flags([flag for flag in all_flags() if flag.changes], panel=CHANGED, at=7)
def command(
    run: Annotated[
        list[str] | None,
        typer.Argument(
            help="Run folders, names of runs, or 'latest' (the default).", autocompletion=completion.run_folders
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            parser=whole, metavar="WHOLE", help="Fresh trials (2,000; 200 of images).", rich_help_panel=TRIALS
        ),
    ] = None,
    deterministic: Annotated[
        bool,
        typer.Option(
            "--deterministic/--stochastic",
            help="Most probable action, or drawn from the policy.",
            rich_help_panel=TRIALS,
        ),
    ] = True,
    balanced: Annotated[
        bool,
        typer.Option("--balanced", help="All combinations of the conditions equally often.", rich_help_panel=TRIALS),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Determines the trials.", rich_help_panel=TRIALS)] = 0,
    checkpoints: Annotated[
        str | None,
        typer.Option(help="Along training: 'all', or steps separated by commas.", rich_help_panel=TRIALS),
    ] = None,
    lesion: Annotated[
        list[str] | None, typer.Option(help="0.2 of the units, or units=3,7.", rich_help_panel=UNITS)
    ] = None,
    silence: Annotated[
        list[str] | None, typer.Option(help="units=3,7 period=delay, or a fraction.", rich_help_panel=UNITS)
    ] = None,
    clamp: Annotated[
        list[str] | None,
        typer.Option(
            help="units=3 value=0.5 period=delay; without a value they keep what they had.", rich_help_panel=UNITS
        ),
    ] = None,
    noise: Annotated[
        list[str] | None,
        typer.Option(
            help="Standard deviation per step, as 0.1, or sd=0.1 units=3,7 period=delay.", rich_help_panel=UNITS
        ),
    ] = None,
    record: Annotated[
        str | None,
        typer.Option(help="Into HDF5: activity,values,logits,observations,actions,rewards.", rich_help_panel=OUTPUT),
    ] = None,
    export: Annotated[str | None, typer.Option(help="csv or nwb, or both.", rich_help_panel=OUTPUT)] = None,
    compare: Annotated[
        Path | None, typer.Option(help="CSV file with the trials of animals or people.", rich_help_panel=OUTPUT)
    ] = None,
    columns: Annotated[
        Path | None, typer.Option(help="TOML file that maps its columns.", rich_help_panel=OUTPUT)
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the evaluation; default from its settings.", rich_help_panel=OUTPUT)
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an evaluation of this name.", rich_help_panel=OUTPUT)
    ] = False,
    runs: Annotated[Path, typer.Option(help="Folder of all runs.", rich_help_panel=OUTPUT)] = Path("runs"),
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Let a run's record name code of its own, and run it.", rich_help_panel=OUTPUT),
    ] = False,
    json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print the summary as one JSON document, of several an array.", rich_help_panel=OUTPUT
        ),
    ] = False,
    **changed: Any,
) -> None:
    """Evaluate trained agents on fresh trials, weights frozen, state reset as in training."""
    from ngym_cli.agents import threads

    threads.one()
    from ngym_cli import terminal
    from ngym_cli.config import flags
    from ngym_cli.evaluation import printing, requests
    from ngym_cli.evaluation.bar import EvaluationBar

    changes = flags.settings(**changed)
    references, asked = requests.request(
        run or [], lesion or (), silence or (), clamp or (), noise or (), record, export, compare, columns,
        trials=trials, deterministic=deterministic, balanced=balanced, seed=seed, checkpoints=checkpoints,
        changes=changes, name=name, overwrite=overwrite, trust=trust,
    )  # fmt: skip
    rows = []
    bar = EvaluationBar(terminal.console(stderr=True))
    for summary, folder in requests.evaluate(references, runs, asked, bar.show):
        rows.append(summary)
        bar.stop()
        if not json:
            printing.print_evaluated(summary, folder, several=len(references) > 1 or checkpoints is not None)
    if json:
        terminal.print_json(rows[0] if len(rows) == 1 and not checkpoints else rows)
