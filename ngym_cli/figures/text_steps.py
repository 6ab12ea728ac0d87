"""A trial step by step in characters: one line for each step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ngym_cli.figures.channels import groups, largest
from ngym_cli.figures.single_trials import Trial, conditions_in_words
from ngym_cli.figures.text_trial import BLOCKS
from ngym_cli.figures.wording import Wording

if TYPE_CHECKING:
    from ngym_cli.figures.source import Source

#: Channels and units that a line has room for; more are averaged side by side.
MOST_CHARACTERS = 24


def lines(trial: Trial, source: Source, number: int) -> Iterator[str]:
    """Return a heading, the names of the columns and a line for each step of a trial.

    Args:
        trial: from ``single_trials.record``.
        source: the run that it is of.
        number: of the trial, from 1.
    """
    words = Wording(source.facts.labels)
    labels = source.facts.labels.get("observation", {})
    shown = conditions_in_words(trial, source, words)
    yield f"trial {number}: {', '.join([*shown, str(trial.record.get('outcome', ''))])}"
    channels = ", ".join(name if len(where) == 1 else f"{name} x{len(where)}"
                         for name, where in groups(labels, trial.observations.shape[1]))  # fmt: skip
    yield f"inputs: {channels}; each relative to its largest value"
    rows = [_row(trial, step, words, largest(trial.observations, labels)) for step in range(len(trial))]
    heads = list(rows[0])
    widths = {head: max(len(head), *(len(row[head]) for row in rows)) for head in heads}
    yield "  ".join(head.ljust(widths[head]) for head in heads).rstrip()
    for row in rows:
        yield "  ".join(row[head].ljust(widths[head]) for head in heads).rstrip()


def _row(trial: Trial, step: int, words: Wording, scale: np.ndarray) -> dict[str, str]:
    """Return the columns of one step."""
    periods = [name for name, (begin, end) in trial.periods.items() if begin <= step < end]
    row = {"ms": f"{step * trial.dt:g}", "period": "+".join(periods), "inputs": _bars(trial.observations[step] / scale)}
    if trial.activity is not None:
        row["units"] = _bars(trial.activity[step] / (np.abs(trial.activity).max() or 1.0))
    if trial.policy is not None:
        best = int(trial.policy[step].argmax())
        row["prefers"] = f"{words.action(best)} {trial.policy[step, best]:.2f}"
    if trial.values is not None:
        row["value"] = f"{trial.values[step]:+.2f}"
    row["does"] = _action(trial.actions[step], words, trial)
    if trial.ground_truth is not None:
        row["right"] = _action(trial.ground_truth[step], words, trial)
    row["reward"] = f"{trial.rewards[step]:+g}" if trial.rewards[step] else ""
    return row


def _action(action: np.ndarray, words: Wording, trial: Trial) -> str:
    if trial.policy is not None and len(action) == 1 and np.isfinite(action[0]):
        return words.action(float(action[0]))
    return " ".join(f"{part:.2f}" for part in action)


def _bars(values: Any) -> str:
    """Return a character for each value from -1 to 1, its height the size; a minus sign stands for negative ones."""
    parts = [float(part.mean()) for part in np.array_split(np.asarray(values), min(len(values), MOST_CHARACTERS))]
    return "".join("-" if part < -0.06 else BLOCKS[round(min(max(part, 0), 1) * (len(BLOCKS) - 1))] for part in parts)
