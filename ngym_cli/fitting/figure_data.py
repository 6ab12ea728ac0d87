"""Content of a fit's folder that figures and pages show."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ngym_cli.errors import option
from ngym_cli.figures.style import COLOURS, FigureUnavailableError
from ngym_cli.files import arrow, reading
from ngym_cli.fitting.folder import TRIALS, FitFolder, best_first


def named(subject: str) -> str:
    """Return a subject in words; tables without a column of subjects have one with the name "subject"."""
    return "the subject" if subject == "subject" else f"subject {subject}"


def draw_curve(axes: Axes, number: int, x: Any, y: Any, half: Any, label: str | None, line: str = "-") -> None:
    """Draw a curve of the subject (number 0) or of a model, with intervals."""
    colour, marker = (COLOURS[number - 1], ".") if number else ("black", "o")
    axes.errorbar(x, y, half, fmt=f"{marker}{line}", color=colour, label=label, linewidth=1)


class FitPlotData:
    """Content of a fit's folder that figures draw.

    Args:
        folder: of the fit.
    """

    def __init__(self, folder: FitFolder):
        self.folder, self.record = folder, folder.finished()
        table = reading.read_parquet(folder.path / TRIALS)
        self.trials = {name: arrow.values_of(table[name]) for name in table.column_names}
        self.labels = list(self.record["models"])
        self.choices = self.record["table"]["choices"]
        self.second = self.choices[1]

    @property
    def first(self) -> str:
        """Whose fit figures of a single subject show: the first subject's, or that of all where they are pooled."""
        pooled = self.record["settings"].get("subjects") == "pooled"
        return "all subjects" if pooled else named(self.record["table"]["subjects"][0])

    @property
    def everyone(self) -> str:
        """Subjects of the table in words."""
        subjects = self.record["table"]["subjects"]
        return named(subjects[0]) if len(subjects) == 1 else f"{len(subjects)} subjects"

    def arrays(self, label: str) -> dict[str, np.ndarray]:
        """Return the arrays of a model."""
        saved = self.folder.load(label)
        return {} if saved is None else saved[1]

    def first_with(self, name: str, missing: str) -> tuple[str, dict[str, np.ndarray]]:
        """Return label and arrays of the first model that has an array of this name.

        Raises:
            FigureUnavailableError: with the words in ``missing``, if there is none.
        """
        for label in self.labels:
            arrays = self.arrays(label)
            if name in arrays:
                return label, arrays
        raise FigureUnavailableError(missing)

    def best(self, n: int) -> list[str]:
        """Return the models with the best held-out scores."""
        return best_first(self.record)[:n]

    def probability(self, label: str) -> np.ndarray:
        """Return the held-out probability of the second choice.

        Raises:
            FigureUnavailableError: if nothing was held out.
        """
        if f"P({self.second}) {label}" not in self.trials:
            raise FigureUnavailableError(f"nothing was held out ({option('--folds 1')})")
        return np.asarray(self.trials[f"P({self.second}) {label}"], float)

    def require_two(self) -> None:
        """Refuse tables with more than two choices."""
        if len(self.choices) > 2:
            raise FigureUnavailableError("the table has more than two choices")

    def stimulus_names(self) -> list[str]:
        """Return the names of the stimuli."""
        return [name.removeprefix("stimulus ") for name in self.trials if name.startswith("stimulus ")]

    def stimuli(self) -> np.ndarray:
        """Return the stimuli of all trials, shape (trials, stimuli)."""
        columns = [np.nan_to_num(np.asarray(self.trials[f"stimulus {name}"], float)) for name in self.stimulus_names()]
        return np.stack(columns, 1) if columns else np.zeros((len(self.trials["choice"]), 0))
