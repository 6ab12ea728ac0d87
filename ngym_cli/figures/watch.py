"""``ngym watch``: single trials of a run as a figure, as a film, and in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ngym_cli.errors import UserError, unknown
from ngym_cli.figures.channels import channel_image, largest, scale_words
from ngym_cli.figures.single_trials import Trial, conditions_in_words, conditions_wanted, record
from ngym_cli.figures.style import COLOURS, GREY, figure_of, new_figure
from ngym_cli.figures.wording import Wording, index_names
from ngym_cli.files.writing import atomic_path, check_place

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ngym_cli.figures.source import Source

FILMS = ("mp4", "gif")

#: Actions up to which the policy is drawn as lines, beyond which as an image.
MOST_LINES = 5

#: Conditions in the title of a trial.
MOST_CONDITIONS = 3

SHADES = ("#F2F2F2", "#E4E4E4")


class Panel(NamedTuple):
    """One quantity of one trial.

    Attributes:
        axis: where it is drawn.
        trial: the trial.
        source: the run that it is of.
        first: whether it is the first trial of the figure.
        last: whether it is the last.
        order: of the units; None without memory.
        scale: largest absolute value of each channel over all trials.
    """

    axis: Axes
    trial: Trial
    source: Source
    first: bool
    last: bool
    order: np.ndarray | None
    scale: np.ndarray


def trials_figure(trials: Sequence[Trial], source: Source) -> Figure:
    """Draw trials side by side: inputs, units, policy, value, choice and reward, with shaded periods.

    Args:
        trials: from ``single_trials.record``.
        source: the run that they are of.
    """
    first = trials[0]
    panels = [name for name in PANELS if _there(name, first)]
    figure, axes = new_figure(
        len(panels), len(trials), width=max(2.6, 7.0 / len(trials)), height=1.35, squeeze=False, sharex="col",
        sharey="row", height_ratios=[PANELS[name].height for name in panels],
        width_ratios=[len(trial) for trial in trials] if max(map(len, trials)) < 3 * min(map(len, trials)) else None,
    )  # fmt: skip
    words = Wording(source.facts.labels)
    order = by_peak(first.activity) if first.activity is not None else None
    scale = largest(
        np.concatenate([trial.observations for trial in trials]), source.facts.labels.get("observation", {})
    )
    for column, trial in enumerate(trials):
        for row, name in enumerate(panels):
            axis = axes[row][column]
            _shade(axis, trial, names=row == 0)
            PANELS[name].draw(Panel(axis, trial, source, column == 0, column == len(trials) - 1, order, scale))
            if column:
                axis.tick_params(labelleft=False)
        axes[-1][column].set_xlabel("time (ms)")
        axes[-1][column].set_xlim(0, len(trial) * trial.dt)
        axes[0][column].set_title(_title(trial, source, words), fontsize="small", pad=22)
    for row, name in enumerate(panels):
        axes[row][0].set_ylabel(name if name != "units" else "units, sorted\\nby time of peak".replace("\\n", "\n"))
    figure.align_ylabels()
    return figure


def _there(name: str, trial: Trial) -> bool:
    needed = {"units": trial.activity, "policy": trial.policy, "value": trial.values}
    return needed.get(name, trial.rewards) is not None


def _title(trial: Trial, source: Source, words: Wording) -> str:
    """Return the conditions and the outcome of a trial."""
    shown = conditions_in_words(trial, source, words)[:MOST_CONDITIONS]
    return "\n".join([*shown, str(trial.record.get("outcome", ""))])


def by_peak(activity: np.ndarray) -> np.ndarray:
    """Return the units in the order of the time at which they are farthest from their mean; shape (units,)."""
    away = np.abs(activity - activity.mean(axis=0))
    return np.argsort(away.argmax(axis=0), kind="stable")


def _edges(trial: Trial) -> np.ndarray:
    return np.arange(len(trial) + 1) * trial.dt


def _shade(axis: Axes, trial: Trial, names: bool) -> None:
    """Shade the periods in turns, with their names above the first panel."""
    for k, (name, (begin, end)) in enumerate(trial.periods.items()):
        axis.axvspan(begin * trial.dt, end * trial.dt, color=SHADES[k % 2], zorder=-2, linewidth=0)
        axis.axvline(begin * trial.dt, color=GREY, linewidth=0.5, linestyle=":", zorder=3)
        if names:
            axis.annotate(name, (begin * trial.dt, 1), xycoords=("data", "axes fraction"), xytext=(1, 2 + 9 * (k % 2)),
                          textcoords="offset points", fontsize="x-small", color=COLOURS[k % 2 and 1])  # fmt: skip


def _inputs(panel: Panel) -> None:
    axis, trial, labels = panel.axis, panel.trial, panel.source.facts.labels.get("observation", {})
    image = channel_image(axis, _edges(trial), trial.observations, labels, panel.scale)
    if not panel.first:
        axis.invert_yaxis()  # the axes share it, and it was turned already
    if panel.last:
        scale_words(axis, panel.scale, labels)
        figure_of(axis).colorbar(image, ax=axis, label="of the largest", pad=0.14, ticks=[-1, 0, 1])


def _units(panel: Panel) -> None:
    axis, trial = panel.axis, panel.trial
    assert trial.activity is not None
    limit = float(np.abs(trial.activity).max()) or 1.0
    image = axis.pcolormesh(_edges(trial), np.arange(trial.activity.shape[1] + 1), trial.activity[:, panel.order].T,
                            cmap="PuOr_r", vmin=-limit, vmax=limit)  # fmt: skip
    if panel.last:
        figure_of(axis).colorbar(image, ax=axis, label="activity (a.u.)", pad=0.14)


def _policy(panel: Panel) -> None:
    axis, trial = panel.axis, panel.trial
    assert trial.policy is not None
    names = index_names(panel.source.facts.labels.get("action", {}))
    n = trial.policy.shape[1]
    if n > MOST_LINES:
        image = axis.pcolormesh(_edges(trial), np.arange(n + 1) - 0.5, trial.policy.T, cmap="cividis", vmin=0, vmax=1)
        if panel.last:
            figure_of(axis).colorbar(image, ax=axis, label="probability", pad=0.14)
        return
    for action in range(n):
        axis.stairs(trial.policy[:, action], _edges(trial), color=COLOURS[action], baseline=None)
        if panel.last:
            axis.annotate(names.get(action, f"action {action}"), (1, (action + 0.5) / n), xycoords="axes fraction",
                          xytext=(3, 0), textcoords="offset points", va="center", color=COLOURS[action],
                          fontsize="small")  # fmt: skip
    axis.set_ylim(-0.05, 1.05)


def _value(panel: Panel) -> None:
    assert panel.trial.values is not None
    panel.axis.stairs(panel.trial.values, _edges(panel.trial), color=COLOURS[2], baseline=None)


def _choice(panel: Panel) -> None:
    axis, trial = panel.axis, panel.trial
    edges = _edges(trial)
    if trial.ground_truth is not None:
        for component in trial.ground_truth.T:
            axis.stairs(component, edges, color=GREY, linewidth=4, alpha=0.4, baseline=None)
    for k, component in enumerate(trial.actions.T):
        axis.stairs(component.astype(float), edges, color=COLOURS[k % 6], baseline=None)
    names = index_names(panel.source.facts.labels.get("action", {}))
    if trial.actions.shape[1] == 1 and 0 < len(names) <= 8:
        axis.set_yticks(sorted(names), [names[index] for index in sorted(names)])
        axis.set_ylim(min(names) - 0.4, max(names) + 0.4)
    if panel.last and trial.ground_truth is not None:
        axis.annotate("grey: right", (1, 0.5), xycoords="axes fraction", xytext=(3, 0), textcoords="offset points",
                      va="center", color=GREY, fontsize="small")  # fmt: skip


def _reward(panel: Panel) -> None:
    panel.axis.stairs(panel.trial.rewards, _edges(panel.trial), color=COLOURS[1], fill=True)
    panel.axis.axhline(0, color=GREY, linewidth=0.5)


class Kind(NamedTuple):
    """A kind of panel: its height relative to the others, and what draws it."""

    height: float
    draw: Callable[[Panel], None]


PANELS = {
    "inputs": Kind(2.0, _inputs), "units": Kind(2.2, _units), "policy": Kind(1.2, _policy), "value": Kind(0.8, _value),
    "choice": Kind(1.0, _choice), "reward": Kind(0.6, _reward),
}  # fmt: skip


def film(figure: Figure, trials: Sequence[Trial], path: Path, speed: float = 1.0) -> None:
    """Write a film in which the trials of a figure are uncovered one after the other.

    Args:
        figure: from ``trials_figure``.
        trials: the same trials.
        path: mp4 (needs ffmpeg) or gif.
        speed: how much faster than in the trial time passes; 1 is its own speed.

    Raises:
        UserError: if the format is unknown, or the program that writes it is not there.
    """
    from matplotlib import animation
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    kind = path.suffix.removeprefix(".")
    if kind not in FILMS:
        raise unknown("kind of film", kind, FILMS)
    if kind == "mp4" and not animation.FFMpegWriter.isAvailable():
        raise UserError("an mp4 needs the program ffmpeg, which was not found; a .gif needs nothing")
    FigureCanvasAgg(figure)
    figure.canvas.draw()
    figure.set_layout_engine("none")
    rate = round(min(max(1000 * speed / trials[0].dt, 1), 30))
    writer: Any = animation.FFMpegWriter(rate) if kind == "mp4" else animation.PillowWriter(rate)
    covers = _covers(figure, trials)
    try:
        with atomic_path(path) as temporary, writer.saving(figure, str(temporary), dpi=100):
            for trial, own in zip(trials, covers, strict=True):
                for step in range(len(trial)):
                    for cover in own:
                        cover.set_x((step + 1) * trial.dt)
                    writer.grab_frame()
                for cover in own:
                    cover.set_visible(False)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None


def _covers(figure: Figure, trials: Sequence[Trial]) -> list[list[Rectangle]]:
    """Cover what is yet to come, in the panels of each trial."""
    grid = [axes for axes in figure.axes if axes.get_subplotspec() is not None and axes.get_label() != "<colorbar>"]
    found: list[list[Rectangle]] = [[] for _ in trials]
    for axes in grid:
        column = axes.get_subplotspec().colspan.start  # type: ignore[union-attr]
        low, high = axes.get_ylim()
        cover = Rectangle((0, min(low, high)), len(trials[column]) * trials[column].dt, abs(high - low),
                          facecolor="white", zorder=10)  # fmt: skip
        axes.add_patch(cover)
        found[column].append(cover)
    return found


def watched(
    reference: str, root: Path, trust: bool, trials: int, where: str | None, seed: int, drawn: bool
) -> tuple[Source, list[Trial]]:
    """Return a run and trials of it.

    Args:
        reference: folder, name or ``latest``.
        root: folder of all runs.
        trust: let the run's record name a user's own code.
        trials: how many.
        where: which, as ``single_trials.conditions_wanted`` reads it.
        seed: of the trials.
        drawn: draw actions instead of taking the most probable.

    Raises:
        UserError: if the run does not exist or has no such trials.
    """
    from ngym_cli import runs
    from ngym_cli.figures.source import Source

    source = Source(runs.find(reference, root), trust)
    return source, record(source, trials, seed, conditions_wanted(where), drawn)


def save(source: Source, trials: Sequence[Trial], out: Path | None, speed: float, overwrite: bool = False) -> Path:
    """Write a figure or a film of trials and return where it is.

    Args:
        source: the run.
        trials: of it.
        out: file; default ``figures/watch.png`` in the run's folder.
        speed: of a film.
        overwrite: replace the file that the user names.

    Raises:
        UserError: on an unknown format, or if the file exists or cannot be written.
    """
    from ngym_cli.figures.requests import FORMATS, save_figure
    from ngym_cli.figures.style import styled

    if out is not None:
        check_place(out, overwrite)
    path = out or source.run.path / "figures" / "watch.png"
    kind = path.suffix.removeprefix(".")
    if kind not in (*FORMATS, *FILMS):
        raise unknown("format", kind, (*FORMATS, *FILMS))
    with styled():
        figure = trials_figure(trials, source)
        if kind in FILMS:
            film(figure, trials, path, speed)
        else:
            save_figure(figure, path)
    return path
