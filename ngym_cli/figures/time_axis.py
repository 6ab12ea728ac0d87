"""Time axes: the event that time is counted from, and the periods of trials, shaded and named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ngym_cli.figures.style import GREY, figure_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Reason for which nothing is drawn over time.
NO_TIME = "every trial is a single step: no course of time to draw"

#: Colours of periods in turns.
SHADES = ("#F2F2F2", "#E4E4E4")

#: Parts of the names of periods with the first stimulus, to which activity is aligned.
EVENT_WORDS = ("stim", "sample", "ready", "measure", "item", "tone", "target", "cue", "image")

#: Event, besides periods, to which activity is aligned.
RESPONSE = "response"

#: Share of trials that are in a period wherever it is shaded.
TOGETHER = 0.5

#: Lines that names of periods may take above a panel, beyond which they stand upright; inches between upright names.
LEVELS, UPRIGHT = 3, 0.14


class Span(NamedTuple):
    """Period on a time axis: name, and begin and end in ms from the event."""

    name: str
    begin: float
    end: float


def onsets(table: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the onset of each period in each trial, ms from the start of the trial; nan where a trial has none."""
    names = [name.removeprefix("onset_") for name in table if name.startswith("onset_")]
    return {
        name: np.where(np.nan_to_num(table[f"period_{name}"]) > 0, table[f"onset_{name}"], np.nan)
        for name in names
        if f"period_{name}" in table
    }


def first_event(onsets: Mapping[str, np.ndarray], tasks: np.ndarray) -> str:
    """Return the name of the period with the first stimulus that all tasks have, or empty for the start of the trial.

    Args:
        onsets: onset of each period in each trial (ms), nan where a trial has none.
        tasks: task of each trial, shape (trials,).
    """
    rows = [tasks == task for task in np.unique(tasks)]
    common = [name for name, onset in onsets.items() if all(np.isfinite(onset[each]).mean() > 0.5 for each in rows)]
    middle = {name: np.nanmedian(onsets[name]) for name in common}
    named = [name for name in middle if any(word in name for word in EVENT_WORDS)]
    return min(named, key=lambda name: middle[name], default="")


def spans(table: Mapping[str, np.ndarray], at: np.ndarray, start: float, stop: float, dt: float) -> list[Span]:
    """Return when half of the trials or more are in each period, counted from an event, in order.

    Args:
        table: trials with ``onset_NAME`` and ``period_NAME`` (ms).
        at: time of the event in each trial, ms from the start of the trial.
        start: begin of the axis, ms from the event.
        stop: end of the axis, ms from the event.
        dt: length of a step, ms.
    """
    rows = []
    for name, onset in onsets(table).items():
        edges = np.stack([onset - at, onset + table[f"period_{name}"] - at])
        edges = edges[:, np.isfinite(edges).all(axis=0)]
        if edges.shape[1] < TOGETHER * np.isfinite(at).sum():
            continue
        begin = max(float(np.quantile(edges[0], TOGETHER)), start)
        end = min(float(np.quantile(edges[1], 1 - TOGETHER)), stop)
        if end - begin > dt / 2:
            rows.append(Span(name, begin, end))
    return sorted(rows, key=lambda span: (span.begin, span.end))


def draw_spans(axes: Axes, periods: Sequence[Span], named: bool = True, room: float | None = None) -> float:
    """Shade the periods of a panel in turns and write their names above the panel.

    Args:
        axes: the panel; its time axis is in ms.
        periods: from `spans`, or the periods of a trial.
        named: write the names.
        room: width of the panel in inches; by default estimated.

    Returns:
        Height of the names in points, for the distance of a title.
    """
    for k, (_, begin, end) in enumerate(periods):
        axes.axvspan(begin, end, color=SHADES[k % 2], zorder=-2, linewidth=0)
        axes.axvline(begin, color=GREY, linewidth=0.5, linestyle=":", zorder=3)
    if not (named and periods):
        return 0.0
    place = axes.get_subplotspec()
    columns = 1 if place is None else place.get_gridspec().ncols
    room = room or 0.8 * figure_of(axes).get_figwidth() / columns
    left, right = axes.get_xlim()
    middles = [((begin + end) / 2 - left) / (right - left) for _, begin, end in periods]
    names = [span.name for span in periods]
    lines = _lines(list(zip(middles, names, strict=True)), 0.05 / room)
    upright = max(lines) >= LEVELS
    if upright:  # every second, third, ... where there is no room for all
        every = -(-len(names) // max(int(room / UPRIGHT), 1))
        middles, names, lines = middles[::every], names[::every], lines[::every]
    for middle, line, name in zip(_apart(middles, UPRIGHT / room) if upright else middles, lines, names, strict=True):
        axes.annotate(
            name,
            (middle, 1),
            xycoords="axes fraction",
            xytext=(0, 2 if upright else 2 + 9 * line),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize="small",
            rotation=90 if upright else 0,
        )
    return 5.0 * max(map(len, names)) if upright else 9.0 * (1 + max(lines))


def label(axes: Axes, event: str) -> None:
    """Mark the event at 0, name what time is counted from, and keep the numbers apart."""
    axes.locator_params(axis="x", nbins=6)
    axes.axvline(0, color=GREY, linestyle="--", linewidth=0.8, zorder=0)
    name = event if event == RESPONSE else f"{event} onset" if event else "start of trial"
    axes.set_xlabel(f"time from {name} (ms)")


def _apart(middles: Sequence[float], space: float) -> list[float]:
    """Return places in order, moved to the right where they are less than a space away from the previous one."""
    moved = list[float]()
    for middle in middles:
        moved.append(max(middle, moved[-1] + space) if moved else middle)
    return moved


def _lines(names: Sequence[tuple[float, str]], letter: float) -> list[int]:
    """Return the line of each name, so that no name touches the previous name.

    Args:
        names: place and name, the place as a fraction of the width.
        letter: half of the width of a letter, as a fraction of the width.
    """
    rows: list[int] = []
    last = -np.inf
    for middle, name in names:
        half = letter * len(name)
        rows.append(rows[-1] + 1 if middle - half < last else 0)
        last = middle + half
    return rows
