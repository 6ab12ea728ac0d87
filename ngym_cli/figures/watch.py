"""``ngym watch``: single trials of a run as a figure, as a film, and in the terminal."""

from __future__ import annotations

import contextlib
import logging
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Rectangle

from ngym_cli import processes
from ngym_cli.errors import UserError, check_known, os_errors
from ngym_cli.figures import registry
from ngym_cli.figures.style import styled
from ngym_cli.figures.trial import TrialView, record
from ngym_cli.figures.trial_drawing import groups, largest, trials_figure
from ngym_cli.figures.wording import Wording, channel_names
from ngym_cli.files.outputs import may_write, wrote
from ngym_cli.files.writing import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ngym_cli.figures.source import Source
    from ngym_cli.figures.view import PlotData


FILMS = ("mp4", "gif")
NO_PROGRAM = "a .gif needs no program"

#: Trials shown as examples.
EXAMPLES = 5


@registry.figure("consecutive trials: observation, action, ground truth, reward")
def examples(view: PlotData) -> Figure:
    """Draw a few fresh trials of the first run."""
    return trials_figure(record(view.first, EXAMPLES, 0, {}), ("inputs", "choice", "reward"), width=12.0)


def film(figure: Figure, trials: Sequence[TrialView], path: Path, speed: float = 1.0) -> None:
    """Write a film in which the trials of a figure are uncovered in sequence.

    Args:
        figure: from ``trials_figure``.
        trials: the same trials.
        path: mp4 (needs ffmpeg) or gif.
        speed: speed relative to the time in the trial; 1 is real time.

    Raises:
        UserError: if the format is unknown, or the required program is not installed.
    """
    from matplotlib import animation, rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    kind = path.suffix.removeprefix(".")
    check_known("kind of film", kind, FILMS)
    options: Any = {}
    if kind == "mp4":
        try:
            options["animation.ffmpeg_path"] = processes.program("ffmpeg")
        except FileNotFoundError:
            raise UserError(f"an mp4 needs the program ffmpeg, which was not found; {NO_PROGRAM}") from None
    FigureCanvasAgg(figure)
    figure.canvas.draw()
    figure.set_layout_engine("none")
    rate = round(min(max(1000 * speed / trials[0].dt, 1), 30))
    writer: Any = animation.FFMpegWriter(rate) if kind == "mp4" else animation.PillowWriter(rate)
    covers = _covers(figure, trials)
    with (
        os_errors(f"cannot write {path}") if kind == "gif" else _errors_of_program(path),
        rc_context(options),
        atomic_path(path) as temporary,
        writer.saving(figure, str(temporary), dpi=100),
    ):
        for trial, local in zip(trials, covers, strict=True):
            for step in range(len(trial)):
                for cover in local:
                    cover.set_x((step + 1) * trial.dt)
                writer.grab_frame()
            for cover in local:
                cover.set_visible(False)


@contextlib.contextmanager
def _errors_of_program(path: Path) -> Iterator[None]:
    """Report a program that failed to write a file in one line, by the last line of its output."""
    log = logging.getLogger("matplotlib.animation")  # would print all of the output before
    was_disabled, log.disabled = log.disabled, True
    try:
        yield
    except subprocess.CalledProcessError as error:
        output = error.stderr or error.stdout or b""
        text = output if isinstance(output, str) else output.decode(errors="replace")
        last = (text.strip().splitlines() or [f"exit code {error.returncode}"])[-1]
        raise UserError(f"cannot write {path}: {Path(error.cmd[0]).name}: {last}; {NO_PROGRAM}") from None
    except OSError as error:
        raise UserError(f"cannot write {path}: ffmpeg: {error.strerror or error}; {NO_PROGRAM}") from None
    finally:
        log.disabled = was_disabled


def _covers(figure: Figure, trials: Sequence[TrialView]) -> list[list[Rectangle]]:
    """Cover future steps in the panels of each trial."""
    grid = [axes for axes in figure.axes if axes.get_subplotspec() is not None and axes.get_label() != "<colorbar>"]
    rows: list[list[Rectangle]] = [[] for _ in trials]
    for axes in grid:
        column = axes.get_subplotspec().colspan.start  # type: ignore[union-attr]
        low, high = axes.get_ylim()
        cover = Rectangle(
            (0, min(low, high)), len(trials[column]) * trials[column].dt, abs(high - low), facecolor="white", zorder=10
        )
        axes.add_patch(cover)
        rows[column].append(cover)
    return rows


def save(source: Source, trials: Sequence[TrialView], out: Path | None, speed: float, overwrite: bool = False) -> Path:
    """Write a figure or a film of trials and return the path.

    Args:
        source: the run.
        trials: trials of the run.
        out: file; default ``figures/watch.png`` in the run's folder.
        speed: of a film.
        overwrite: replace an existing file named by the user.

    Raises:
        UserError: on an unknown format, or if the file exists or cannot be written.
    """
    from ngym_cli.figures.files import FIGURE_FORMATS, save_figure

    path = out or source.run.path / "figures" / "watch.png"
    may_write(path, out is not None, overwrite)
    kind = path.suffix.removeprefix(".")
    check_known("format", kind, (*FIGURE_FORMATS, *FILMS))
    with styled():
        figure = trials_figure(trials)
        if kind in FILMS:
            film(figure, trials, path, speed)
        else:
            save_figure(figure, path)
    if out is None:
        wrote(path)
    return path


BLOCKS = " ▁▂▃▄▅▆▇█"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

#: Channels and columns of an overview, channels and units in a line of the list; more are averaged side by side.
MOST_CHANNELS, MOST_COLUMNS, MOST_CHARACTERS = 40, 100, 24


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
    yield f"trial {number}: {', '.join([*trial.in_words(words), str(trial.record.get('outcome', ''))])}"
    channels = ", ".join(
        name if len(where) == 1 else f"{name} x{len(where)}"
        for name, where in groups(labels, trial.observations.shape[1])
    )
    yield f"inputs: {channels}; each relative to its largest value"
    rows = [_row(trial, step, words, largest(trial.observations, labels)) for step in range(len(trial))]
    heads = list(rows[0])
    widths = {head: max(len(head), *(len(row[head]) for row in rows)) for head in heads}
    yield "  ".join(head.ljust(widths[head]) for head in heads).rstrip()
    for row in rows:
        yield "  ".join(row[head].ljust(widths[head]) for head in heads).rstrip()


def _row(trial: TrialView, step: int, words: Wording, scale: np.ndarray) -> dict[str, str]:
    """Return the columns of a step."""
    periods = [name for name, (begin, end) in trial.periods.items() if begin <= step < end]
    row = {"ms": f"{step * trial.dt:g}", "period": "+".join(periods), "inputs": _bars(trial.observations[step] / scale)}
    if trial.activity is not None:
        row["units"] = _bars(trial.activity[step] / (np.abs(trial.activity).max() or 1.0))
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


def _bars(values: np.ndarray) -> str:
    """Return a character for each value from -1 to 1, of corresponding height; a minus sign for negative values."""
    pieces = [float(piece.mean()) for piece in np.array_split(np.asarray(values), min(len(values), MOST_CHARACTERS))]
    return "".join(
        "-" if piece < -0.06 else BLOCKS[round(min(max(piece, 0), 1) * (len(BLOCKS) - 1))] for piece in pieces
    )
