"""``ngym watch``: single trials of a run as a figure, as a film, and in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.patches import Rectangle

from ngym_cli.errors import UserError, unknown
from ngym_cli.figures import registry
from ngym_cli.figures.trial import Trial, conditions_wanted, record
from ngym_cli.figures.trial_drawing import trials_figure
from ngym_cli.files.writing import atomic_path, check_place

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ngym_cli.figures.source import Source
    from ngym_cli.figures.view import View

FILMS = ("mp4", "gif")

#: Trials shown as examples.
EXAMPLES = 5


@registry.figure("consecutive trials: observation, action, ground truth, reward")
def examples(view: View) -> Figure:
    """Draw a few fresh trials of the first run."""
    return trials_figure(record(view.first, EXAMPLES, 0, {}), ("inputs", "choice", "reward"), width=12.0)


def film(figure: Figure, trials: Sequence[Trial], path: Path, speed: float = 1.0) -> None:
    """Write a film in which the trials of a figure are uncovered in sequence.

    Args:
        figure: from ``trials_figure``.
        trials: the same trials.
        path: mp4 (needs ffmpeg) or gif.
        speed: speed relative to the time in the trial; 1 is real time.

    Raises:
        UserError: if the format is unknown, or the required program is not installed.
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
    """Cover future steps in the panels of each trial."""
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
    """Return a run and some of the run's trials.

    Args:
        reference: folder, name or ``latest``.
        root: folder of all runs.
        trust: accept user code named in the run's record.
        trials: number of trials.
        where: conditions of the trials, in the format of ``trial.conditions_wanted``.
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
    from ngym_cli.figures.requests import FORMATS, save_figure
    from ngym_cli.figures.style import styled

    if out is not None:
        check_place(out, overwrite)
    path = out or source.run.path / "figures" / "watch.png"
    kind = path.suffix.removeprefix(".")
    if kind not in (*FORMATS, *FILMS):
        raise unknown("format", kind, (*FORMATS, *FILMS))
    with styled():
        figure = trials_figure(trials)
        if kind in FILMS:
            film(figure, trials, path, speed)
        else:
            save_figure(figure, path)
    return path
