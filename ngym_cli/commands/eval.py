"""``ngym eval``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import Whole, option, single_threaded, with_flags
from ngym_cli.config.flags import FLAGS


@with_flags([flag for flag in FLAGS.values() if flag.changes], panel="Changed conditions", at=7)
@single_threaded
def command(
    run: Annotated[list[str] | None, typer.Argument(autocompletion=completion.run_folders)] = None,
    trials: Whole | None = None,
    deterministic: Annotated[bool | None, option("--deterministic/--stochastic")] = None,
    balanced: bool = False,
    seed: Annotated[int, option(min=0)] = 0,
    checkpoints: str | None = None,
    checkpoint: Annotated[str | None, option(hidden=True)] = None,
    lesion: list[str] | None = None,
    silence: list[str] | None = None,
    clamp: list[str] | None = None,
    noise: list[str] | None = None,
    simulate: Annotated[str | None, option(autocompletion=completion.tasks)] = None,
    model: str | None = None,
    subject: str | None = None,
    stimuli: str | None = None,
    record: str | None = None,
    spike_rate: float | None = None,
    export: str | None = None,
    compare: Path | None = None,
    columns: Path | None = None,
    compare_activity: Path | None = None,
    by: str | None = None,
    name: str | None = None,
    overwrite: bool = False,
    runs: Path = Path("runs"),
    trust: bool = False,
    json: bool = False,
    **changed: object,
) -> None:
    """Evaluate trained agents on fresh trials.

    Weights are frozen, and the recurrent state is reset as in training. With --simulate a model fitted to choices acts.

    Options:
        run: Run folders, names of runs, or 'latest' (the default).
        checkpoint: The same, for a single checkpoint.

    Trials:
        trials: Number of fresh trials (2,000; for images 200).
        deterministic: Take the most probable action (default of networks), or draw from the policy (default of
            fitted models).
        balanced: Show all combinations of conditions equally often.
        seed: Random seed of the trials.
        checkpoints: Checkpoints to evaluate: 'all', 'best', or steps as in 10000,20000.

    Perturbation:
        lesion: Remove units: a fraction such as 0.2, or units=3,7.
        silence: Silence units: a fraction, or 'units=3,7 period=delay'.
        clamp: Fix units: 'units=3 value=0.5 period=delay'; without a value at their present one.
        noise: Add noise: its s.d. per step, or 'sd=0.1 units=3,7 period=delay'.

    Fitted models:
        simulate: Task in which a fitted model acts; RUN is then a fit of ngym fit.
        model: Model of the fit (default: the best held-out score).
        subject: Subject of the fit, if there are several.
        stimuli: Entries of the task's trials for stimuli of the fit, as in s1=v1*0.1-2.

    Output:
        record: Record activity, spikes, values, logits, observations, actions, rewards (commas).
        spike_rate: Rate (Hz) of spikes at the highest activity of each unit (50); 0 at the lowest.
        export: Export: csv, nwb, npz (padded arrays; commas).
        compare: Table with trials of animals or humans to compare with (CSV, Parquet, NWB).
        columns: TOML file that maps the columns of --compare.
        compare_activity: Recording to compare activity with (NWB, HDF5, npz).
        by: Conditions of --compare-activity, as in coh,ground_truth (default: those both have).
        name: Name of the evaluation (made from its settings).
        overwrite: Replace an evaluation of this name.
        runs: Folder of all runs.
        trust: Trust code that the run names.
        json: Print the summary as JSON.
    """
    from ngym_cli import terminal
    from ngym_cli.config import flags
    from ngym_cli.evaluation import printing
    from ngym_cli.evaluation.flags import EvaluationFlags, perform, request

    written = EvaluationFlags(
        trials, seed, deterministic, balanced, checkpoint if checkpoints is None else checkpoints,
        lesion or (), silence or (), clamp or (), noise or (), simulate, model, subject, stimuli,
        record, spike_rate, export, compare, columns, compare_activity, by,
        flags.settings(**changed), name, overwrite, trust,
    )  # fmt: skip
    references, asked = request(run or [], written)
    rows = []
    bar = printing.EvaluationBar(terminal.console(stderr=True))
    for summary, folder in perform(references, runs, asked, bar.show):
        rows.append(summary)
        bar.stop()
        if not json:
            printing.print_evaluated(summary, folder, several=len(references) > 1 or written.checkpoints is not None)
    if json:
        terminal.print_json(rows[0] if len(rows) == 1 and not written.checkpoints else rows)
