"""A trial drawn with characters: one column per step, one row per channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ngym_cli.figures.wording import channel_names

BLOCKS = " ▁▂▃▄▅▆▇█"

#: Channels and steps beyond which a trial is not drawn in full.
MOST_CHANNELS = 40
MOST_COLUMNS = 100


def lines(found: Mapping[str, Any]) -> list[str]:
    """Return the drawing of the trial that ``ngym_cli.catalog.pages.describe_task`` found, line by line."""
    trial, dt = found["trial"], found["dt"]
    steps = len(trial["actions"])
    every = -(-steps // MOST_COLUMNS)
    conditions = ", ".join(f"{key} {_number(value)}" for key, value in trial["conditions"].items())
    scale = f"one column is {every * dt:g} ms"
    drawn = [f"a trial by the oracle ({conditions}; {scale})" if conditions else f"a trial by the oracle ({scale})"]
    names: list[str] = []
    if trial["observations"] is not None:
        observations = np.array(trial["observations"])
        names = channel_names(found["observation"]["names"], observations.shape[1])
    labels = [*names[:MOST_CHANNELS], "ground truth", "action", "reward", *trial["periods"]]
    width = max(len(label) for label in labels)

    def row(label: str, text: str) -> str:
        return f"  {label:<{width}} |{text}|"

    for period, (begin, end) in trial["periods"].items():
        marks = "".join("=" if begin <= step < end else " " for step in range(0, steps, every))
        drawn.append(row(period, marks))
    drawn.append(row("", "-" * len(range(0, steps, every))))
    if names:
        low, high = min(0.0, float(observations.min())), float(observations.max())
        for index, name in enumerate(names[:MOST_CHANNELS]):
            drawn.append(row(name, _sparkline(observations[::every, index], low, high)))
        if len(names) > MOST_CHANNELS:
            drawn.append(f"  ... and {len(names) - MOST_CHANNELS} more channels")
    for label, key in (("ground truth", "ground_truth"), ("action", "actions")):
        drawn += [row(name, text) for name, text in _acts(label, trial[key][::every])]
    drawn.append(row("reward", "".join(_sign(sum(trial["rewards"][at : at + every])) for at in range(0, steps, every))))
    return drawn


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _sparkline(values: np.ndarray, low: float, high: float) -> str:
    scaled = (values - low) / (high - low) if high > low else np.zeros(len(values))
    return "".join(BLOCKS[int(round(float(value) * (len(BLOCKS) - 1)))] for value in np.clip(scaled, 0, 1))


def _acts(label: str, values: list[Any]) -> list[tuple[str, str]]:
    """Return the rows of discrete actions (one character each) or of each component of continuous ones."""
    if any(value is None for value in values):
        return []
    array = np.array(values, float)
    if array.ndim == 1 and np.all(array == np.round(array)) and array.min() >= 0:
        characters = "0123456789abcdefghijklmnopqrstuvwxyz"
        return [(label, "".join(characters[int(v)] if v < len(characters) else "+" for v in array))]
    columns = array.reshape(len(array), -1)
    low, high = float(columns.min()), float(columns.max())
    return [(label if k == 0 else "", _sparkline(column, low, high)) for k, column in enumerate(columns.T)]


def _sign(reward: float) -> str:
    return "+" if reward > 0 else "-" if reward < 0 else " "
