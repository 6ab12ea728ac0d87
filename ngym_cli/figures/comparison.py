"""Comparison of an agent with an animal or a person: the same analyses of both, a distance per statistic, a figure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ngym_cli import config as configuration
from ngym_cli import runs
from ngym_cli.errors import UserError
from ngym_cli.figures import wording
from ngym_cli.figures.behaviour import STRENGTH, chronometric_axes, psychometric_axes
from ngym_cli.figures.series import Part
from ngym_cli.figures.style import COLOURS, Unavailable, new_figure
from ngym_cli.files.writing import write_json
from ngym_cli.runs.trial_table import Table

#: Bootstrap draws behind the standard errors.
DRAWS = 100


@cache
def read(data: Path, columns: Path) -> Table:
    """Read a table of trials and rename the columns to the toolkit's names.

    Raises:
        UserError: if either file is missing or damaged, or the files do not match.
    """
    from neurogym.analysis import load_trials

    rules = configuration.read_toml(columns)
    if not data.is_file():
        raise UserError(f"no such table of trials: {data}")
    try:
        return load_trials(data, rules)
    except (ValueError, KeyError, OSError, TypeError) as error:
        raise UserError(f"{data} with {columns}: {' '.join(str(error).split())}") from None


def compare(table: Table, folder: Path, run: runs.Run, data: Path, columns: Path) -> dict[str, Any]:
    """Compare the trials of an evaluation with a table of an animal's; write ``comparison.json`` and a figure.

    Args:
        table: trials of the agent.
        folder: of the evaluation.
        run: run of the evaluation.
        data: CSV file.
        columns: TOML file that maps its columns.

    Returns:
        ``data``, ``columns``, ``statistics`` (rows of name, a: the agent's, b: theirs, difference, distance in
        standard errors), ``distance`` (root mean square) and ``figure``.
    """
    from neurogym.analysis import compare as statistics
    from neurogym.analysis import distance
    from ngym_cli.figures.comparison import beside
    from ngym_cli.figures.requests import save_figure
    from ngym_cli.figures.style import styled

    theirs = read(data, columns)
    strength = "coh" if "coh" in table and "coh" in theirs else None
    rows = statistics(table, theirs, strength=strength, n_boot=DRAWS)
    figure = run.path / "figures" / f"beside-{data.stem}.png"
    with styled():
        save_figure(beside({run.name: table, data.stem.replace("_", " "): theirs}), figure)
    found = {
        "data": str(data),
        "columns": str(columns),
        "statistics": [row.to_dict() for row in rows],
        "distance": distance(rows),
        "figure": str(figure),
    }
    write_json(folder / "comparison.json", found)
    return found


def beside(tables: Mapping[str, Table]) -> Figure:
    """Draw choices, accuracy and reaction times of several subjects.

    Args:
        tables: trials by the name of who made them.

    Raises:
        Unavailable: if their trials have no graded strength of evidence.
    """
    parts = [Part(name, colour, table) for (name, table), colour in zip(tables.items(), COLOURS, strict=False)]
    graded = [part for part in parts if STRENGTH in part.table and len(np.unique(part.table[STRENGTH])) > 1]
    if not graded:
        raise Unavailable("neither has trials of graded strength")
    figure, (choices, times, accuracy) = new_figure(1, 3, width=3.9, height=3.9)
    psychometric_axes(choices, graded, draws=60, legend=False)
    chronometric_axes(times, accuracy, [part for part in graded if "rt" in part.table])
    accuracy.set(title="accuracy", xlabel=wording.axis(STRENGTH))
    handles, labels = choices.get_legend_handles_labels()
    more, words = times.get_legend_handles_labels()
    figure.legend([*handles, *more], [*labels, *words], loc="outside lower left", ncols=2, handlelength=1.5)
    return figure
