"""``ngym eval``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import all_flags, option, whole, with_flags

TRIALS, CHANGED, UNITS, FITTED, OUTPUT = "Trials", "Changed conditions", "Perturbation", "Fitted models", "Output"


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
        whole("Number of fresh trials (2,000; for images 200).", panel=TRIALS),
    ] = None,
    deterministic: Annotated[
        bool | None,
        option(
            "Take the most probable action (default of networks), or draw from the policy (default of fitted models).",
            "--deterministic/--stochastic",
            panel=TRIALS,
        ),
    ] = None,
    balanced: Annotated[
        bool, option("Show all combinations of conditions equally often.", "--balanced", panel=TRIALS)
    ] = False,
    seed: Annotated[int, option("Random seed of the trials.", panel=TRIALS, min=0)] = 0,
    checkpoints: Annotated[
        str | None, option("Checkpoints to evaluate: 'all', 'best', or steps as in 10000,20000.", panel=TRIALS)
    ] = None,
    checkpoint: Annotated[str | None, option("The same, for a single checkpoint.", hidden=True)] = None,
    lesion: Annotated[
        list[str] | None, option("Remove units: a fraction such as 0.2, or units=3,7.", panel=UNITS)
    ] = None,
    silence: Annotated[
        list[str] | None, option("Silence units: a fraction, or 'units=3,7 period=delay'.", panel=UNITS)
    ] = None,
    clamp: Annotated[
        list[str] | None,
        option("Fix units: 'units=3 value=0.5 period=delay'; without a value at their present one.", panel=UNITS),
    ] = None,
    noise: Annotated[
        list[str] | None, option("Add noise: its s.d. per step, or 'sd=0.1 units=3,7 period=delay'.", panel=UNITS)
    ] = None,
    simulate: Annotated[
        str | None,
        option(
            "Task in which a fitted model acts; RUN is then a fit of ngym fit.",
            panel=FITTED,
            autocompletion=completion.tasks,
        ),
    ] = None,
    model: Annotated[str | None, option("Model of the fit (default: the best held-out score).", panel=FITTED)] = None,
    subject: Annotated[str | None, option("Subject of the fit, if there are several.", panel=FITTED)] = None,
    stimuli: Annotated[
        str | None,
        option("Entries of the task's trials for stimuli of the fit, as in s1=v1*0.1-2.", panel=FITTED),
    ] = None,
    record: Annotated[
        str | None,
        option("Record activity, spikes, values, logits, observations, actions, rewards (commas).", panel=OUTPUT),
    ] = None,
    spike_rate: Annotated[
        float, option("Rate (Hz) of spikes at the highest activity of each unit; 0 at the lowest.", panel=OUTPUT)
    ] = 50.0,
    export: Annotated[str | None, option("Export: csv, nwb, npz (padded arrays; commas).", panel=OUTPUT)] = None,
    compare: Annotated[
        Path | None, option("Table with trials of animals or humans to compare with (CSV, Parquet, NWB).", panel=OUTPUT)
    ] = None,
    columns: Annotated[Path | None, option("TOML file that maps the columns of --compare.", panel=OUTPUT)] = None,
    compare_activity: Annotated[
        Path | None, option("Recording to compare activity with (NWB, HDF5, npz).", panel=OUTPUT)
    ] = None,
    by: Annotated[
        str | None,
        option("Conditions of --compare-activity, as in coh,ground_truth (default: those both have).", panel=OUTPUT),
    ] = None,
    name: Annotated[str | None, option("Name of the evaluation (made from its settings).", panel=OUTPUT)] = None,
    overwrite: Annotated[bool, option("Replace an evaluation of this name.", "--overwrite", panel=OUTPUT)] = False,
    runs: Annotated[Path, option("Folder of all runs.", panel=OUTPUT)] = Path("runs"),
    trust: Annotated[bool, option("Trust code that the run names.", "--trust", panel=OUTPUT)] = False,
    json: Annotated[bool, option("Print the summary as JSON.", "--json", panel=OUTPUT)] = False,
    **changed: Any,
) -> None:
    """Evaluate trained agents on fresh trials.

    Weights are frozen, and the recurrent state is reset as in training. With --simulate a model fitted to choices acts.
    """
    from ngym_cli.agents import threads

    threads.one()
    from ngym_cli import terminal
    from ngym_cli.config import flags
    from ngym_cli.errors import UserError
    from ngym_cli.evaluation import printing, requests

    checkpoints = checkpoints or checkpoint
    changes = flags.settings(**changed)
    if simulate is not None:
        if compare_activity is not None:
            raise UserError("--compare-activity compares a trained network; fitted models have no recording")
        from ngym_cli.evaluation import simulation

        fits = [simulation.find(word, runs) for word in run or ["latest"]]
        played = simulation.Request(
            {"task": simulate, **changes}, model, subject, stimuli, trials, seed, bool(deterministic),
            requests.comparison_of(compare, columns), overwrite, name, trust,
        )  # fmt: skip
        bar = printing.EvaluationBar(terminal.console(stderr=True))
        found = [simulation.simulate(fit, runs, played, bar.show) for fit in fits]
        bar.stop()
        for summary, folder in () if json else found:
            printing.print_simulated(summary, folder)
        if json:
            terminal.print_json(found[0][0] if len(found) == 1 else [summary for summary, _ in found])
        return
    for flag, value in (("--model", model), ("--subject", subject), ("--stimuli", stimuli)):
        if value is not None:
            raise UserError(f"{flag} belongs to --simulate TASK, which lets a fitted model act")
    references, asked = requests.request(
        run or [], lesion or (), silence or (), clamp or (), noise or (), record, export, compare, columns,
        compare_activity, by, trials=trials, deterministic=deterministic is not False, balanced=balanced, seed=seed,
        checkpoints=checkpoints, changes=changes, name=name, overwrite=overwrite, trust=trust, spike_rate=spike_rate,
    )  # fmt: skip
    rows = []
    bar = printing.EvaluationBar(terminal.console(stderr=True))
    for summary, folder in requests.evaluate(references, runs, asked, bar.show):
        rows.append(summary)
        bar.stop()
        if not json:
            printing.print_evaluated(summary, folder, several=len(references) > 1 or checkpoints is not None)
    if json:
        terminal.print_json(rows[0] if len(rows) == 1 and not checkpoints else rows)
