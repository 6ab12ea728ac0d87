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
from neurogym.analysis.trial_tables import Table, with_previous
from neurogym.behaviour.describe import SubjectDescription, describe_pooled
from neurogym.behaviour.reading import TableError, from_columns
from neurogym.behaviour.table import Behaviour
from ngym_cli import runs
from ngym_cli.evaluation.fitted_agent import SIGNED
from ngym_cli.figures.behaviour import STRENGTH, accuracy_axes, chronometric_axes, psychometric_axes
from ngym_cli.figures.files import save_figure
from ngym_cli.figures.source import Series
from ngym_cli.figures.style import COLOURS, FigureUnavailableError, guide, new_figure, styled
from ngym_cli.files.writing import write_json
from ngym_cli.fitting.settings import read_table
from ngym_cli.runs.records import AnimalComparison, StatisticRecord

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
    return read_table(data, {}, columns)


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
    table, animal, animal_table, reason, left_out, notes = _aligned(table, read(data, columns))
    if "outcome" not in animal_table:
        left_out.append(f"accuracy: {data.name} has neither correctness nor correct choices")
    if reason:
        left_out.append(f"threshold, slope and accuracy by level: {reason}")
    strength = STRENGTH if not reason and "outcome" in animal_table else None
    comparisons = statistics(table, animal_table, strength=strength, n_boot=SE_DRAWS)
    ours, described = _described(table, animal), describe_pooled(animal)
    if ours is not None and ours.evidence != described.evidence:
        ours = replace(ours, pse=None, threshold=None, slope=None)  # on other axes
        if reason and animal.stimuli:
            ours = replace(ours, bias=None, lapse_low=None, lapse_high=None)
            left_out.append(f"bias and lapses: the agent has not seen {', '.join(animal.stimuli)}")
    if ours is None:
        left_out.append("history weights: the agent made fewer kinds of choices than the animal")
    if ours is not None and any(row.name == "PSE" for row in comparisons):
        ours = replace(ours, pse=None)  # one number for one thing
    rows = [*comparisons, *(() if ours is None else _rows(ours, described))]
    figure = run.path / "figures" / f"beside-{data.stem}.png"
    with styled():
        save_figure(_drawn(table, animal_table, rows, (run.name, data.stem.replace("_", " "))), figure)
    result: AnimalComparison = {
        "data": str(data),
        "columns": None if columns is None else str(columns),
        "statistics": [cast(StatisticRecord, row.to_dict()) for row in rows],
        "distance": distance(tuple(rows)),
        "left_out": left_out,
        "notes": notes,
        "figure": str(figure),
    }
    write_json(folder / "comparison.json", result)
    return result


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
    table, _, animal_table, *_ = _aligned(table, read(data, None if columns is None else Path(columns)))
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
        return _drawn(table, animal_table, rows, (run_name, data.stem.replace("_", " ")))


def _aligned(table: Table, animal: Behaviour) -> tuple[Table, Behaviour, Table, str, list[str], list[str]]:
    """Bring agent and animal to the same scales.

    Returns:
        Trials of the agent, behaviour and trials of the animal, the reason why they have no common strength (empty if
        they have one), what is left out, and remarks.
    """
    left_out, notes = list[str](), list(animal.reading.notes if animal.reading else ())
    animal = in_percent(animal, table, notes)
    animal_table = as_trials(animal)
    if len(np.unique(table["rt"][np.isfinite(table["rt"])])) < 2 and "rt" in animal_table:
        left_out.append("reaction times, which do not vary in the task")
        table, animal_table = ({k: v for k, v in each.items() if k != "rt"} for each in (table, animal_table))
    return table, animal, animal_table, add_strength(animal_table, animal, table, notes), left_out, notes


def in_percent(animal: Behaviour, table: Table, notes: list[str]) -> Behaviour:
    """Return behaviour with stimuli in percent where those of the task are percent and those of the animal fractions.

    Args:
        animal: behaviour of the animal.
        table: trials of the agent.
        notes: remarks, to which the change of the scale is added.
    """
    strength = strength_of(animal)
    if STRENGTH not in table or strength is None or not is_graded(strength):
        return animal
    if not 0 < np.nanmax(strength) <= 1 < np.nanmax(np.asarray(table[STRENGTH], float)):
        return animal
    notes.append("strengths of the table are fractions, those of the task percent: multiplied by 100")
    return replace(animal, sessions=tuple(replace(each, stimuli=100 * each.stimuli) for each in animal.sessions))


def _drawn(table: Table, animal_table: Table, rows: Sequence[StatisticComparison], names: tuple[str, str]) -> Figure:
    """Draw both side by side, or the statistics where the trials cannot be drawn."""
    try:
        if "outcome" in animal_table:
            return draw_side_by_side({names[0]: table, names[1]: animal_table})
    except FigureUnavailableError:
        pass
    return estimates(rows, names)


def as_trials(behaviour: Behaviour) -> Table:
    """Return behaviour as a trial table in the names and units of the toolkit.

    Choices count from 1, reaction times are in ms; a strength that has the side of the correct choice loses the sign.
    """
    choice, truth, correct = (behaviour.join(key) for key in ("choice", "truth", "correct"))
    lengths = [len(each) for each in behaviour.sessions]
    table: Table = {
        "trial": np.concatenate([np.arange(n) for n in lengths]),
        "env": np.repeat(np.arange(len(lengths)), lengths),
        "choice": np.where(choice < 0, np.nan, choice + 1.0),
        "linked": np.full(len(choice), True),  # subjects and sessions differ
    }
    if np.isfinite(correct).any():
        table["performance"] = np.where(choice < 0, 0.0, correct)
        table["outcome"] = np.where(choice < 0, "miss", np.where(correct > 0.5, "correct", "error"))
    if (truth >= 0).any():
        table["ground_truth"] = np.where(truth < 0, np.nan, truth + 1.0)
    rt = behaviour.join("rt")
    if np.isfinite(rt).any():
        table["rt"] = rt * 1000
        table["rt_from"] = np.full(len(rt), "stimulus", object)
    for k, name in enumerate(behaviour.stimuli):
        values = behaviour.join("stimuli")[:, k]
        table[name.removeprefix(SIGNED)] = np.abs(values) if name.startswith(SIGNED) or name == STRENGTH else values
    return with_previous(table) if behaviour.roles.get("trial") and "outcome" in table else table


def strength_of(animal: Behaviour) -> np.ndarray | None:
    """Return the strength of the evidence, of one stimulus or of the difference of a pair; None for other numbers."""
    stimuli = animal.join("stimuli")
    if stimuli.shape[1] not in (1, 2):
        return None
    return np.abs(stimuli[:, 0] if stimuli.shape[1] == 1 else stimuli[:, 1] - stimuli[:, 0])


def is_graded(strength: np.ndarray) -> bool:
    """Return whether a strength takes more than one value besides 0."""
    return len(np.unique(strength[np.isfinite(strength) & (strength != 0)])) > 1


def add_strength(animal_table: Table, animal: Behaviour, table: Table, notes: list[str]) -> str:
    """Add the strength of evidence under the name that the task has; a pair of stimuli counts as its difference.

    Args:
        animal_table: trials of the animal, to which the strength is added.
        animal: the same as it was read.
        table: trials of the agent.
        notes: remarks, to which the choice of a stimulus is added.

    Returns:
        The reason why there is no common strength; empty if there is one.
    """
    if STRENGTH not in table or len(np.unique(table[STRENGTH])) < 2:
        return f"the task has no graded strength ({STRENGTH})"
    if STRENGTH not in animal_table:
        strength, named = strength_of(animal), ", ".join(animal.stimuli)
        if strength is None:
            return f"the table has {len(animal.stimuli)} stimuli ({named or 'none'}), expected one, or a pair"
        if not is_graded(strength):
            return f"{named} of the table is a category, without a graded strength"
        name = named if len(animal.stimuli) == 1 else f"the difference of {named}"
        animal_table[STRENGTH] = strength
        notes.append(f"{name} is compared with {STRENGTH} of the task")
    return ""


def _described(table: Table, animal: Behaviour) -> SubjectDescription | None:
    """Return the description of an agent with the stimuli of an animal, where the agent's trials have these."""
    names = [name.removeprefix(SIGNED) for name in animal.stimuli]
    stimuli = names if all(name in table for name in names) else [STRENGTH] if STRENGTH in table else []
    roles = {"choice": "choice", "correct": "performance", "session": "env"}
    columns = {name: np.asarray(table[name]) for name in [*roles.values(), *stimuli, "outcome"]}
    try:
        behaviour = from_columns(columns, {**roles, "stimuli": stimuli}, False)
    except TableError:
        return None
    return describe_pooled(behaviour) if len(behaviour.choices) == len(animal.choices) else None


def _rows(ours: SubjectDescription, animal: SubjectDescription) -> list[StatisticComparison]:
    """Return bias, lapses and history weights of both."""
    pairs: dict[str, tuple[Estimate | None, Estimate | None]] = {
        "bias (logit)": (ours.bias, animal.bias),
        "point of subjective equality": (ours.pse, animal.pse),
        "threshold (75 %)": (ours.threshold, animal.threshold),
        "logistic slope (logit per unit)": (ours.slope, animal.slope),
        "lapses, low end": (ours.lapse_low, animal.lapse_low),
        "lapses, high end": (ours.lapse_high, animal.lapse_high),
    }
    for name, value in (animal.history or {}).items():
        if name != "bias":
            pairs[f"weight of {name}"] = (ours.history or {}).get(name), value
    return [comparison(name, a, b) for name, (a, b) in pairs.items() if a is not None and b is not None]


def draw_side_by_side(tables: Mapping[str, Table]) -> Figure:
    """Draw choices, accuracy and reaction times of several subjects.

    Args:
        tables: trials by the name of who made them.

    Raises:
        FigureUnavailableError: if their trials have no graded strength of evidence.
    """
    series = [Series(name, colour, rows=table) for (name, table), colour in zip(tables.items(), COLOURS, strict=False)]
    graded = [
        each_series
        for each_series in series
        if STRENGTH in each_series.table and len(np.unique(each_series.table[STRENGTH])) > 1
    ]
    if not graded:
        raise FigureUnavailableError("neither has trials of graded strength")
    timed = [each_series for each_series in graded if "rt" in each_series.table]
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
