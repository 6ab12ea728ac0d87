"""Comparison of an agent's recorded activity with a recording, for whole trials and by period."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
from matplotlib.figure import Figure

from neurogym.analysis.trial_tables import Table
from neurogym.dynamics import AGREEMENTS, Agreement, agreement
from ngym_cli import runs
from ngym_cli.agents import explained
from ngym_cli.config.model import ResolvedConfig
from ngym_cli.errors import UserError, unknown
from ngym_cli.figures.files import save_figure
from ngym_cli.figures.style import COLOURS, GREY, category_ticks, guide, new_figure, styled
from ngym_cli.files.writing import write_json
from ngym_cli.runs.neural import network_trials
from ngym_cli.runs.population_parts import WHOLE_TRIALS, Binning
from ngym_cli.runs.populations import read_parts, shared_columns
from ngym_cli.runs.recordings import Recording
from ngym_cli.runs.records import ActivityAgreement, ActivityComparison, ExplainedVariance

#: Name of the whole trial, column of the correct choice.
TRIAL, TRUTH = "trial", "ground_truth"
#: Measures that are not of dynamics, for which recording and task may have different time steps.
GEOMETRY = tuple(name for name in AGREEMENTS if name != "dsa")


def figure_path(folder: Path, data: Path) -> Path:
    """Return the file of the figure of a comparison with a recording, below the folder of a run."""
    return folder / "figures" / f"activity-{data.stem}.png"


def compare(
    table: Table,
    folder: Path,
    run: runs.RunFolder,
    path: Path,
    by: Sequence[str],
    conditions: Sequence[str],
    config: ResolvedConfig,
) -> ActivityComparison:
    """Compare recorded activity of an evaluation with a file; write ``activity_comparison.json`` and a figure.

    Args:
        table: trials of the agent.
        folder: of the evaluation, with a recording.
        run: run of the evaluation.
        path: NWB, HDF5 or npz file.
        by: columns that tell conditions apart; empty for those of the task that both have.
        conditions: the task's.
        config: complete configuration of the run.

    Returns:
        ``data``, ``by``, ``agreement`` (rows of part, measure, value, corrected, halves, spread, shuffled, p,
        conditions), ``explained`` (rows of model, neurons, value, low, high, ceiling, share, n), ``left_out`` and
        ``figure``.

    Raises:
        UserError: if the file does not suit the trials.
    """
    recording = Recording(folder)
    if "activity" not in recording.quantities:
        raise UserError(f"{run.name} recorded no activity; agents without memory have none")
    columns = tuple(by) or shared_columns(path, [name for name in (*conditions, TRUTH) if name in table])
    for name in columns:
        if name not in table:
            raise unknown(f"column of the trials of {run.name}", name, [*conditions, TRUTH])
    ours, recorded = network_trials(recording, table, run.name, columns), read_parts(path, columns)
    rows: list[ActivityAgreement] = []
    left_out: list[str] = []
    for period in ours:
        if period not in recorded:
            left_out.append(f"period {period}, which {path.name} does not name")
            continue
        try:
            rows_of_period = agreement(ours[period], recorded[period], measures=GEOMETRY)
        except ValueError as error:
            if period == WHOLE_TRIALS:
                raise UserError(f"{path.name}: {error}") from None
            left_out.append(f"period {period}: {error}")
            continue
        rows += _rows(period, rows_of_period)
    try:
        at_our_steps = read_parts(path, columns, Binning(recording.dt))[WHOLE_TRIALS]
        rows += _rows(WHOLE_TRIALS, agreement(ours[WHOLE_TRIALS], at_our_steps, measures=("dsa",)))
    except (UserError, ValueError) as error:
        left_out.append(f"dsa: {error}")
    left_out += [
        f"period {period} of {path.name}, which the agent's trials do not have"
        for period in recorded
        if period not in ours
    ]
    if len({row["measure"] for row in rows}) < len(AGREEMENTS):
        left_out.append("measures that need more conditions (prediction 3, rsa 4) or trials of each (crossnobis 4)")
    if recorded[WHOLE_TRIALS].averaged:
        left_out.append(f"correction for noise of {path.name}, which holds a single row for each condition")
    judged = list[ExplainedVariance]()
    try:
        judged = explained.judge(run, config, recording, table, path, columns).rows
    except UserError as error:
        left_out.append(f"explained variance: {error}")
    figure = figure_path(run.path, path)
    with styled():
        save_figure(draw(rows, run.name, path.stem), figure, is_default=True)
    result: ActivityComparison = {
        "data": str(path),
        "by": list(columns),
        "agreement": rows,
        "explained": judged,
        "left_out": left_out,
        "figure": str(figure),
    }
    write_json(folder / "activity_comparison.json", result)
    return result


def _rows(part: str, results: Sequence[Agreement]) -> list[ActivityAgreement]:
    return [cast(ActivityAgreement, {"part": part or TRIAL, **each.to_dict()}) for each in results]


def draw(rows: Sequence[ActivityAgreement], ours: str, data_name: str) -> Figure:
    """Draw agreement by part of the trial: measured, corrected for noise, and with shuffled conditions.

    Args:
        rows: as in the result of `compare`.
        ours: name of the agent.
        data_name: name of the recording.
    """
    measures = list(dict.fromkeys(row["measure"] for row in rows))
    periods = list(dict.fromkeys(row["part"] for row in rows))
    figure, axes = new_figure(1, len(measures), width=2.9, height=3.2, squeeze=False)
    for panel, measure in zip(axes[0], measures, strict=True):
        row_of_period = {row["part"]: row for row in rows if row["measure"] == measure}
        positions = [periods.index(period) for period in row_of_period]
        for key, colour, marker, word in (
            ("corrected", COLOURS[1], "D", "corrected for noise"),
            ("value", COLOURS[0], "o", "measured"),
            ("halves", COLOURS[2], "s", "halves of the recording, with standard deviation"),
            ("shuffled", GREY, "_", "conditions shuffled"),
        ):
            values = np.array([row.get(key) for row in row_of_period.values()], float)  # nan for None
            panel.plot(positions, values, marker, color=colour, label=word, markersize=9 if marker == "_" else 5)
            if key == "halves":
                spread = np.array([row.get("spread") for row in row_of_period.values()], float)
                panel.errorbar(positions, values, spread, fmt="none", color=colour)
        guide(panel, y=0)
        lowest = min([*panel.dataLim.intervaly, 0.0])
        panel.set(title=measure, xlim=(-0.5, len(periods) - 0.5), ylim=(lowest - 0.06, 1.06))
        category_ticks(panel, periods)
    axes[0][0].set_ylabel("agreement (1: the same)")
    n = max(row["conditions"] for row in rows)
    figure.suptitle(f"{ours} and {data_name}, {n} conditions", fontsize="medium")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure
