"""Comparison of an agent with an animal or a person: the same analyses of both, a distance per statistic, a figure.

Both are described as by ``ngym data`` (bias, lapses, history weights), from the same code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
from matplotlib.figure import Figure

from neurogym.analysis.animals import StatisticComparison, comparison, distance
from neurogym.analysis.animals import compare as statistics
from neurogym.analysis.results import Estimate
from neurogym.analysis.trial_tables import Table
from neurogym.behaviour.describe import SubjectDescription, describe_pooled
from neurogym.behaviour.table import Behaviour
from ngym_cli import runs
from ngym_cli.errors import Question, UserError, message_of, option
from ngym_cli.evaluation.alignment import AlignedTrials, align, describe_agent, name_of
from ngym_cli.figures.behaviour import STRENGTH, accuracy_axes, chronometric_axes, psychometric_axes
from ngym_cli.figures.files import save_figure
from ngym_cli.figures.source import Series
from ngym_cli.figures.style import COLOURS, FigureUnavailableError, guide, new_figure, styled
from ngym_cli.files.writing import write_json
from ngym_cli.fitting.settings import read_table
from ngym_cli.runs.records import AnimalComparison, StatisticRecord
from ngym_cli.terminal import quoted

#: Bootstrap draws behind the standard errors.
SE_DRAWS = 100


def read(data: Path, columns: Path | None) -> Behaviour:
    """Read a table of an animal's trials, as ``ngym data`` does.

    Args:
        data: CSV, Parquet or NWB file.
        columns: TOML file that maps the columns; None for a guess.

    Raises:
        UserError: if either file is missing or damaged, or the files do not match.
    """
    try:
        return read_table(data, {}, columns)
    except Question as question:
        options = quoted("ngym", "data", data, *question.answers[0][0], "--save-columns", "columns.toml")
        raise UserError(
            f"{message_of(question)}; answer as in '{options}', then pass {option('--columns columns.toml')}"
        ) from None


def compare(table: Table, folder: Path, run: runs.RunFolder, data: Path, columns: Path | None) -> AnimalComparison:
    """Compare the trials of an evaluation with a table of an animal's; write ``comparison.json`` and a figure.

    Args:
        table: trials of the agent.
        folder: of the evaluation.
        run: run of the evaluation.
        data: CSV, Parquet or NWB file.
        columns: TOML file that maps its columns; None for a guess.

    Returns:
        ``data``, ``columns``, ``statistics`` (rows of name, a: the agent's, b: theirs, difference, distance in
        standard errors), ``distance`` (root mean square), ``left_out`` and ``figure``.
    """
    both = align(table, read(data, columns), data.name)
    table, animal, animal_table, left_out = both.agent, both.animal, both.animal_trials, both.left_out
    strength = STRENGTH if not both.reason and "outcome" in animal_table else None
    comparisons = statistics(table, animal_table, strength=strength, n_boot=SE_DRAWS)
    (ours, problem), described = describe_agent(both), describe_pooled(animal)
    if ours is None:
        left_out.append(f"bias, history weights and staying: {problem}")
    else:
        ours = _on_the_same_axes(ours, described, both)
        rows = _rows(ours, described)  # the numbers of ngym data come before others of the same name
        comparisons = (*(row for row in comparisons if row.name not in {each.name for each in rows}), *rows)
    figure = figure_path(run.path, data)
    with styled():
        drawn = _drawn(table, animal_table, comparisons, (run.name, name_of(both.animal, data)))
        save_figure(drawn, figure, is_default=True)
    result: AnimalComparison = {
        "data": str(data),
        "name": name_of(both.animal, data),
        "columns": None if columns is None else str(columns),
        "statistics": [cast(StatisticRecord, row.to_dict()) for row in comparisons],
        "distance": distance(comparisons),
        "left_out": left_out,
        "notes": both.notes,
        "figure": str(figure),
    }
    write_json(folder / "comparison.json", result)
    return result


def figure_path(folder: Path, data: Path) -> Path:
    """Return the file of the figure of a comparison with data, below the folder of a run."""
    return folder / "figures" / f"beside-{data.stem}.png"


def figure_of(table: Table, record: AnimalComparison, run_name: str, style: str = "screen") -> Figure:
    """Return the figure of a comparison.

    Args:
        table: trials of the agent.
        record: the comparison.
        run_name: name of the agent's run.
        style: ``screen`` or ``paper``.

    Raises:
        UserError: if the table of the animal is not there any more.
    """
    data, columns = Path(record["data"]), record.get("columns")
    both = align(table, read(data, None if columns is None else Path(columns)), data.name)
    rows = [
        StatisticComparison(
            row["name"],
            Estimate.from_record(row["a"]),
            Estimate.from_record(row["b"]),
            Estimate.from_record(row["difference"]),
            np.nan if row["distance"] is None else row["distance"],
        )
        for row in record["statistics"]
    ]
    with styled(style):
        return _drawn(both.agent, both.animal_trials, rows, (run_name, name_of(both.animal, data)))


def _drawn(table: Table, animal_table: Table, rows: Sequence[StatisticComparison], names: tuple[str, str]) -> Figure:
    """Draw both side by side, or the statistics where the trials cannot be drawn."""
    try:
        if "outcome" in animal_table:
            return draw_side_by_side({names[0]: table, names[1]: animal_table})
    except FigureUnavailableError:
        pass
    return estimates(rows, names)


def _on_the_same_axes(ours: SubjectDescription, animal: SubjectDescription, both: AlignedTrials) -> SubjectDescription:
    """Return the description of an agent without the numbers that another stimulus of the animal has."""
    if both.reason and both.animal.stimuli:
        both.left_out.append(f"bias and lapses: the agent has not seen {', '.join(both.animal.stimuli)}")
    if (both.reason and both.animal.stimuli) or (not both.reason and not both.is_sided):
        return replace(ours, bias=None, lapse_low=None, lapse_high=None, pse=None, threshold=None, slope=None)
    if ours.evidence != animal.evidence:
        if not both.reason:
            both.left_out.append("threshold (75 %) and slope: they are of one stimulus, but of several in the table")
        return replace(ours, pse=None, threshold=None, slope=None)
    return ours


def _rows(ours: SubjectDescription, animal: SubjectDescription) -> list[StatisticComparison]:
    """Return bias, lapses, history weights, and choices after outcomes of both."""
    pairs: dict[str, tuple[Estimate | None, Estimate | None]] = {
        "bias (logit)": (ours.bias, animal.bias),
        "PSE": (ours.pse, animal.pse),
        "threshold (75 %)": (ours.threshold, animal.threshold),
        "logistic slope (logit per unit)": (ours.slope, animal.slope),
        "lapses, low end": (ours.lapse_low, animal.lapse_low),
        "lapses, high end": (ours.lapse_high, animal.lapse_high),
    }
    for name, value in (animal.history or {}).items():
        if name != "bias":
            pairs[f"weight of {name}"] = (ours.history or {}).get(name), value
    if ours.stay is not None and animal.stay is not None:
        pairs["win-stay"] = ours.stay.after_win, animal.stay.after_win
        pairs["lose-shift"] = _complement(ours.stay.after_loss), _complement(animal.stay.after_loss)
    if ours.two_step is not None and animal.two_step is not None:
        for name, stay in animal.two_step.stay.items():
            pairs[f"stay after {name}"] = ours.two_step.stay.get(name), stay
        for name, weight in animal.two_step.regression.items():
            pairs[f"weight of {name} on staying"] = ours.two_step.regression.get(name), weight
    return [comparison(name, a, b) for name, (a, b) in pairs.items() if a is not None and b is not None]


def _complement(share: Estimate | None) -> Estimate | None:
    """Return 1 minus a share."""
    return share and replace(share, value=1 - share.value, low=1 - share.high, high=1 - share.low)


def draw_side_by_side(tables: Mapping[str, Table]) -> Figure:
    """Draw choices, accuracy and reaction times of several subjects.

    Args:
        tables: trials by the name of who made them.

    Raises:
        FigureUnavailableError: if their trials have no graded strength of evidence.
    """
    series = [Series(name, colour, rows=table) for (name, table), colour in zip(tables.items(), COLOURS, strict=False)]
    graded = [each for each in series if STRENGTH in each.table and len(np.unique(each.table[STRENGTH])) > 1]
    if not graded:
        raise FigureUnavailableError("neither has trials of graded strength")
    timed = [each for each in graded if "rt" in each.table]
    figure, panels = new_figure(1, 3 if timed else 2, width=3.9, height=3.9)
    choices, accuracy = panels[0], panels[-1]
    psychometric_axes(choices, graded, draws=60, legend=False)
    handles, labels = choices.get_legend_handles_labels()
    accuracy_axes(accuracy, graded)
    if timed:
        chronometric_axes(panels[1], accuracy, timed)
        more, words = panels[1].get_legend_handles_labels()
        handles, labels = [*handles, *more], [*labels, *words]
    figure.legend(handles, labels, loc="outside lower left", ncols=2, handlelength=1.5)
    return figure


def estimates(rows: Sequence[StatisticComparison], names: tuple[str, str]) -> Figure:
    """Draw the statistics of an agent and an animal with intervals, for tasks without a graded strength.

    Args:
        rows: the statistics.
        names: of the agent and the animal.
    """
    finite_rows = [row for row in rows if np.isfinite([row.a.value, row.b.value]).all()]
    figure, axes = new_figure(width=5.2, height=1.0 + 0.24 * len(finite_rows))
    for k, (name, key) in enumerate(zip(names, "ab", strict=True)):
        of_source = [getattr(row, key) for row in finite_rows]
        value, low, high = (
            np.array([getattr(each, attribute) for each in of_source]) for attribute in ("value", "low", "high")
        )
        positions = np.arange(len(finite_rows)) + 0.2 * k
        widths = np.nan_to_num([value - low, high - value]).clip(0)  # rounding may leave -1e-17 at a rate of 0
        axes.errorbar(value, positions, xerr=widths, fmt="o", color=COLOURS[k], label=name)
    guide(axes, x=0)
    axes.set_yticks(range(len(finite_rows)), [row.name for row in finite_rows])
    axes.invert_yaxis()
    axes.set(xlabel="rate or weight (logit), 95 % interval")
    figure.legend(loc="outside lower right", ncols=2)
    return figure
