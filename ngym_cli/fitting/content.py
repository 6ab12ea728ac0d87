"""Content of a fit's folder that figures and reports draw."""

from __future__ import annotations

import numpy as np

from ngym_cli.errors import UserError
from ngym_cli.figures.style import Unavailable
from ngym_cli.files import arrow, reading
from ngym_cli.fitting.folder import TRIALS, FitFolder


class Fit:
    """Content of a fit's folder that figures draw.

    Args:
        folder: of the fit.
    """

    def __init__(self, folder: FitFolder):
        self.folder, self.record = folder, folder.read()
        if self.record.get("status") != "finished":
            raise UserError(f"fit {folder.path} is not finished; run the same command with --name {folder.path.name}")
        table = reading.read_parquet(folder.path / TRIALS)
        self.trials = {name: arrow.values_of(table[name]) for name in table.column_names}
        self.labels = list(self.record["models"])
        column = next(name for name in self.trials if name.startswith("P("))
        self.second = column[2 : column.index(")")]

    def arrays(self, label: str) -> dict[str, np.ndarray]:
        """Return the arrays of a model."""
        found = self.folder.load(label)
        return {} if found is None else found[1]

    def best(self, n: int) -> list[str]:
        """Return the models with the best held-out scores."""
        scores = self.record["scores"]
        return sorted(self.labels, key=lambda label: -scores[label]["log_likelihood"]["value"])[:n]

    def probability(self, label: str) -> np.ndarray:
        """Return the held-out probability of the second choice."""
        return np.asarray(self.trials[f"P({self.second}) {label}"], float)

    def require_two(self) -> None:
        """Refuse tables with more than two choices."""
        if sum(name.endswith(" bias") and name.startswith("P(") for name in self.trials) > 1:
            raise Unavailable("the table has more than two choices")

    def stimuli(self) -> np.ndarray:
        """Return the stimuli of all trials, shape (trials, stimuli)."""
        names = [name for name in self.trials if name.startswith("stimulus ")]
        columns = [np.nan_to_num(np.asarray(self.trials[name], float)) for name in names]
        return np.stack(columns, 1) if columns else np.zeros((len(self.trials["choice"]), 0))
