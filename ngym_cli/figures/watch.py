"""``ngym watch``: single trials of a run as a figure, as a film, and in the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ngym_cli.errors import check_known
from ngym_cli.figures import registry
from ngym_cli.figures.film import FILMS, Tell, film, quiet
from ngym_cli.figures.style import FigureUnavailableError, styled
from ngym_cli.figures.time_axis import NO_TIME
from ngym_cli.figures.trial import TrialView, record
from ngym_cli.figures.trial_drawing import groups, largest, trials_figure
from ngym_cli.figures.wording import Wording, channel_names
from ngym_cli.files.outputs import may_write, wrote

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ngym_cli.figures.source import Source
    from ngym_cli.figures.view import PlotData


#: Trials shown as examples.
EXAMPLES = 5


@registry.figure("consecutive trials: observation, action, ground truth, reward")
def examples(view: PlotData) -> Figure:
    """Draw a few fresh trials of the first run, unless each is a single step."""
    trials = record(view.first, EXAMPLES, 0, {})
    if max(map(len, trials)) < 2:
        raise FigureUnavailableError(f"{NO_TIME}; the figure session shows choices and rewards in order")
    return trials_figure(trials, ("inputs", "choice", "reward"), width=12.0)


def save(
    source: Source,
    trials: Sequence[TrialView],
    out: Path | None,
    speed: float,
    overwrite: bool = False,
    tell: Tell = quiet,
) -> Path:
    """Write a figure or a film of trials and return the path.

    Args:
        source: the run.
        trials: trials of the run.
        out: file; default ``figures/watch.png`` in the run's folder.
        speed: of a film.
        overwrite: replace an existing file named by the user.
        tell: receives a line about each part of the work.

    Raises:
        UserError: on an unknown format, or if the file exists or cannot be written.
    """
    from ngym_cli.figures.files import FIGURE_FORMATS, save_figure

    path = out or source.run.path / "figures" / "watch.png"
    may_write(path, out is not None, overwrite)
    kind = path.suffix.removeprefix(".")
    check_known("format", kind, (*FIGURE_FORMATS, *FILMS))
    tell("drawing the trials")
    with styled():
        figure = trials_figure(trials)
        if kind in FILMS:
            film(figure, trials, path, speed, tell)
        else:
            save_figure(figure, path)
    if out is None:
        wrote(path)
    return path


BLOCKS = " ▁▂▃▄▅▆▇█"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

#: Channels and columns of an overview, channels and units in a line of the list; more are averaged side by side.
MOST_CHANNELS, MOST_COLUMNS, MOST_CHARACTERS = 40, 100, 24
#: Width of the list of steps, and fewest characters for channels and units.
WIDTH, FEWEST_CHARACTERS = 80, 4


def overview(trial: TrialView) -> list[str]:
    """Return the drawing of a trial of the oracle, line by line.

    A column that stands for several steps shows the largest value of each channel and the rarest action among them, so
    that short events are not lost.
    """
    every = -(-len(trial) // MOST_COLUMNS)
    columns = [np.arange(at, min(at + every, len(trial))) for at in range(0, len(trial), every)]
    scale = f"one column is {every * trial.dt:g} ms"
    conditions = ", ".join(f"{key} {_number(value)}" for key, value in trial.record.items() if np.ndim(value) == 0)
    seen = trial.observations if trial.frames is None else np.zeros((len(trial), 0))
    names = channel_names(trial.labels["observation"], seen.shape[1])
    rows = [
        (name, "".join("=" if np.any((begin <= c) & (c < end)) else " " for c in columns))
        for name, (begin, end) in trial.periods.items()
    ]
    rows.append(("", "-" * len(columns)))
    low, high = min(0.0, float(seen.min(initial=0))), float(seen.max(initial=0))
    rows += [
        (name, _sparkline((seen[c, k][np.abs(seen[c, k]).argmax()] for c in columns), low, high))
        for k, name in enumerate(names[:MOST_CHANNELS])
    ]
    more = len(names) - MOST_CHANNELS
    rows += [(f"... and {more} more channels", "")] if more > 0 else []
    rows += [*_acts("ground truth", trial.ground_truth, columns), *_acts("action", trial.actions, columns)]
    rows.append(("reward", "".join(_sign(trial.rewards[c].sum()) for c in columns)))
    width = max(len(label) for label, text in rows if text)
    heading = f"a trial by the oracle ({conditions}; {scale})" if conditions else f"a trial by the oracle ({scale})"
    return [heading, *(f"  {label:<{width}} |{text}|" if text else f"  {label}" for label, text in rows)]


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _sparkline(values: Iterable[float], low: float, high: float) -> str:
    scaled = [(value - low) / (high - low) if high > low else 0.0 for value in values]
    return "".join(BLOCKS[round(min(max(value, 0), 1) * (len(BLOCKS) - 1))] for value in scaled)


def _acts(label: str, acts: np.ndarray | None, columns: list[np.ndarray]) -> list[tuple[str, str]]:
    """Return the rows of discrete actions (a character each) or of each component of continuous actions."""
    if acts is None:
        return []
    if acts.shape[1] == 1 and np.all(acts == np.round(acts)) and acts.min() >= 0:
        values = acts[:, 0].astype(int)
        often = np.bincount(values)
        rare = [values[c][often[values[c]].argmin()] for c in columns]
        return [(label, "".join(DIGITS[value] if value < len(DIGITS) else "+" for value in rare))]
    low, high = float(acts.min()), float(acts.max())
    return [
        (label if k == 0 else " ", _sparkline((piece[c].mean() for c in columns), low, high))
        for k, piece in enumerate(acts.T)
    ]


def _sign(reward: float) -> str:
    return "+" if reward > 0 else "-" if reward < 0 else " "


def step_by_step(trial: TrialView, number: int) -> Iterator[str]:
    """Return a heading, the names of the columns and a line for each step of a trial.

    Args:
        trial: the trial.
        number: of the trial, from 1.
    """
    words, labels = Wording(trial.labels), trial.labels.get("observation", {})
    heading = f"trial {number}: {', '.join([*trial.in_words(words), str(trial.record.get('outcome', ''))])}"
    yield from textwrap.wrap(heading, WIDTH, subsequent_indent="  ")
    channels = ", ".join(
        name if len(where) == 1 else f"{name} x{len(where)}"
        for name, where in groups(labels, trial.observations.shape[1])
    )
    yield from textwrap.wrap(f"inputs: {channels}; each relative to its largest value", WIDTH, subsequent_indent="  ")
    scale = largest(trial.observations, labels)
    for characters in range(MOST_CHARACTERS, FEWEST_CHARACTERS - 1, -1):
        rows = [_row(trial, step, words, scale, characters) for step in range(len(trial))]
        heads = list(rows[0])
        widths = {head: max(len(head), *(len(row[head]) for row in rows)) for head in heads}
        if sum(widths.values()) + 2 * (len(heads) - 1) <= WIDTH:
            break
    yield "  ".join(head.ljust(widths[head]) for head in heads).rstrip()
    for row in rows:
        yield "  ".join(row[head].ljust(widths[head]) for head in heads).rstrip()


def _row(trial: TrialView, step: int, words: Wording, scale: np.ndarray, characters: int) -> dict[str, str]:
    """Return the columns of a step, with at most so many characters for channels and for units."""
    periods = [name for name, (begin, end) in trial.periods.items() if begin <= step < end]
    row = {"ms": f"{step * trial.dt:g}", "period": "+".join(periods)}
    row["inputs"] = _bars(trial.observations[step] / scale, characters)
    if trial.activity is not None:
        row["units"] = _bars(trial.activity[step] / (np.abs(trial.activity).max() or 1.0), characters)
    if trial.policy is not None:
        best = int(trial.policy[step].argmax())
        row["prefers"] = f"{words.action(best)} {trial.policy[step, best]:.2f}"
    if trial.values is not None:
        row["value"] = f"{trial.values[step]:+.2f}"
    row["does"] = _action(trial.actions[step], words, trial.discrete)
    if trial.ground_truth is not None:
        row["right"] = _action(trial.ground_truth[step], words, trial.discrete)
    row["reward"] = f"{trial.rewards[step]:+g}" if trial.rewards[step] else ""
    return row


def _action(action: np.ndarray, words: Wording, discrete: bool) -> str:
    if discrete and len(action) == 1 and np.isfinite(action[0]):
        return words.action(float(action[0]))
    return " ".join(f"{piece:.2f}" for piece in action)


def _bars(values: np.ndarray, characters: int) -> str:
    """Return characters for values from -1 to 1, of corresponding height; a minus sign for negative values."""
    pieces = [float(piece.mean()) for piece in np.array_split(np.asarray(values), min(len(values), characters))]
    return "".join(
        "-" if piece < -0.06 else BLOCKS[round(min(max(piece, 0), 1) * (len(BLOCKS) - 1))] for piece in pieces
    )
