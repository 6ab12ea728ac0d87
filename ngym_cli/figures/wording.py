"""Words for columns, values, channels and actions, on axes and in legends."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from neurogym.spaces import Index
from ngym_cli.config.values import Range, Scalar

#: Axis label of each column, with the unit.
AXES = {
    "coh": "coherence (%)",
    "coh_1": "coherence of modality 1 (%)",
    "coh_2": "coherence of modality 2 (%)",
    "ground_truth": "correct choice",
    "other_choice": "answer of the irrelevant modality",
    "better": "better option",
    "common": "transition",
    "hi_state": "better second state",
    "coh_mod1": "evidence of modality 1",
    "coh_mod2": "evidence of modality 2",
    "wager": "sure option",
    "production": "interval to produce (ms)",
    "measure": "measured interval (ms)",
    "interval": "interval (ms)",
    "duration1": "first interval (ms)",
    "duration2": "second interval (ms)",
    "rate": "rate (1/s)",
    "contrast": "contrast",
    "delay": "delay (ms)",
    "stim_period": "stimulus (ms)",
    "set_size": "items to remember",
    "v1": "first value",
    "v2": "second value",
    "s1": "first stimulus",
    "s2": "second stimulus",
}

#: Names of a column's values where numbers have no meaning.
VALUES = {
    "common": {0: "rare transition", 1: "common transition"},
    "hi_state": {0: "state 1", 1: "state 2"},
    "wager": {0: "no sure option", 1: "sure option offered"},
    "anti": {0: "towards the stimulus", 1: "away from the stimulus"},
    "congruent": {0: "incongruent", 1: "congruent"},
    "switch": {0: "same rule as before", 1: "rule switched"},
    "catch": {0: "stimulus", 1: "no stimulus"},
}


def axis(name: str) -> str:
    """Return the axis label of a column."""
    return AXES.get(name, name.replace("_", " "))


def short(name: str) -> str:
    """Return the name of a column for running text, without the unit."""
    return axis(name).split(" (")[0]


class Wording:
    """Words for the values of a task's columns.

    Args:
        labels: of the task: ``observation`` and ``action``, each label to index or indices.
        table: trials of the task, which show the correct action of each ground truth.
    """

    def __init__(self, labels: Mapping[str, Mapping[str, Index]], table: Mapping[str, np.ndarray] | None = None):
        self.actions = index_names(labels.get("action", {}))
        self._right = _right_actions(table) if table is not None else {}

    def action(self, index: float) -> str:
        """Return the name of an action, or the number of unnamed actions."""
        return self.actions.get(int(index), f"action {index:g}")

    def value(self, name: str, value: object) -> str:
        """Return a value as printed below a tick: ``choice 1``, ``6.4``, ``common transition``."""
        if name == "ground_truth" and value in self._right:
            return self._answer(self._right[value])
        if name == "choice" and isinstance(value, int | float):
            return self.action(value)
        if name == "other_choice" and value in self.actions:
            return self.action(value)
        if name == "context" and value in (0, 1):
            return f"context {int(value) + 1}"
        if value in VALUES.get(name, {}):
            return VALUES[name][value]
        if isinstance(value, bool | np.bool_):
            return "yes" if value else "no"
        if name.endswith("theta") and isinstance(value, float):
            return _angle(value)
        return f"{value:g}" if isinstance(value, int | float) else str(value)

    def phrase(self, name: str, value: object) -> str:
        """Return a value with the column's name for a legend: ``choice 1 is correct``, ``coherence 6.4 %``."""
        words = self.value(name, value)
        if name == "ground_truth" and value in self._right:
            return f"{words} is correct"
        if name == "choice":
            return f"{words} chosen"
        if name == "other_choice" and value in self.actions:
            return f"irrelevant: {words}"
        if name == "context" or name in VALUES or (isinstance(value, str) and not isinstance(value, Range)):
            return words
        unit = axis(name).partition(" (")[2].rstrip(")")
        return f"{short(name)} {words}" + (f"\u00a0{unit}" if unit in ("%", "ms") else "")

    def _answer(self, action: float) -> str:
        """Return the name of the correct action; fixation is named as withholding of the only alternative."""
        name = self.action(action)
        remaining = [second for index, second in self.actions.items() if index != action]
        return f"no {remaining[0]}" if name == "fixation" and len(remaining) == 1 else name


def _angle(value: float) -> str:
    """Return an angle (rad) as a multiple of pi."""
    factor = f"{value / math.pi:.3g}"
    return {"0": "0", "1": "π"}.get(factor, f"{factor} π")


def _right_actions(table: Mapping[str, np.ndarray]) -> dict[Scalar, float]:
    """Return the action that most correct trials of each ground truth ended with; empty if there is no such rule."""
    if not {"ground_truth", "choice", "outcome"} <= set(table) or table["ground_truth"].ndim != 1:
        return {}
    if table["ground_truth"].dtype == object or table["choice"].ndim != 1:
        return {}
    by_name: dict[Scalar, float] = {}
    correct = table["outcome"].astype(str) == "correct"
    for truth in np.unique(table["ground_truth"])[:40]:
        chosen = table["choice"][correct & (table["ground_truth"] == truth)]
        levels, counts = np.unique(chosen[np.isfinite(chosen)], return_counts=True)
        if len(levels):
            by_name[truth.item()] = float(levels[counts.argmax()])
    return by_name if len(set(by_name.values())) == len(by_name) > 1 else {}


def index_names(labels: Mapping[str, Index]) -> dict[int, str]:
    """Return a name per index: a label with several indices is numbered.

    >>> index_names({"fixation": 0, "choice": [1, 2]})
    {0: 'fixation', 1: 'choice 1', 2: 'choice 2'}
    """
    by_name: dict[int, str] = {}
    for name, where in labels.items():
        indices = [int(index) for index in np.ravel(where)]
        by_name.update({index: name if len(indices) == 1 else f"{name} {k + 1}" for k, index in enumerate(indices)})
    return by_name


def channel_names(labels: Mapping[str, object], n: int) -> list[str]:
    """Return a name for each of ``n`` channels; unnamed channels are numbered."""
    names = index_names(labels)
    return [names.get(index, str(index)) for index in range(n)]
