"""An agent beside animals or people: psychometric and chronometric curves on one figure."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from ngym_cli.figures import wording
from ngym_cli.figures.behaviour import STRENGTH, chronometric_axes, psychometric_axes
from ngym_cli.figures.style import COLOURS, Unavailable, new_figure
from ngym_cli.figures.view import Part
from ngym_cli.runs.trial_table import Table


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
