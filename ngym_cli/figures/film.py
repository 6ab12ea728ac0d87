"""Films of trials: a figure that is uncovered step by step, as gif or mp4."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ngym_cli import processes
from ngym_cli.errors import UserError, check_known, os_errors
from ngym_cli.figures.trial import TrialView
from ngym_cli.files.writing import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Receives lines about what is being done.
Tell = Callable[[str], object]
#: Top, bottom, left and right of a panel in pixels.
Box = tuple[int, int, int, int]

FILMS = ("mp4", "gif")
#: Resolution of films (dots per inch), and milliseconds for which the last picture stays.
FILM_DPI, LAST_PICTURE = 100, 1_500
NO_PROGRAM = "a .gif needs no program"


def quiet(line: str) -> None:
    """Say nothing."""


def film(figure: Figure, trials: Sequence[TrialView], path: Path, speed: float = 1.0, tell: Tell = quiet) -> None:
    """Write a film in which the trials of a figure are uncovered in sequence, each with its outcome at its end.

    Args:
        figure: from ``trials_figure``.
        trials: the same trials.
        path: mp4 (needs ffmpeg) or gif.
        speed: speed relative to the time in the trial; 1 is real time.
        tell: receives a line before the film is written.

    Raises:
        UserError: if the format is unknown, or the required program is not installed.
    """
    kind = path.suffix.removeprefix(".")
    check_known("kind of film", kind, FILMS)
    program = ""
    if kind == "mp4":
        try:
            program = processes.program("ffmpeg")
        except FileNotFoundError:
            raise UserError(f"an mp4 needs the program ffmpeg, which was not found; {NO_PROGRAM}") from None
    rate = round(min(max(1000 * speed / trials[0].dt, 1), 30))
    pictures = _Pictures(figure, trials)
    tell(f"writing {path.name}: {sum(map(len, trials)):,} pictures")
    with (
        os_errors(f"cannot write {path}") if kind == "gif" else _errors_of_program(path),
        atomic_path(path) as temporary,
    ):
        if kind == "gif":
            _write_gif(pictures, temporary, rate)
        else:
            _write_mp4(pictures, temporary, rate, program)


class _Pictures:
    """Pictures of a film: the figure is drawn once, and what is still to come is painted over.

    Args:
        figure: from ``trials_figure``.
        trials: the same trials.
    """

    def __init__(self, figure: Figure, trials: Sequence[TrialView]):
        from matplotlib import rcParams
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        self.trials = trials
        figure.set_dpi(FILM_DPI)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        figure.set_layout_engine("none")  # the second drawing has everything in the same place
        self.end = np.asarray(canvas.buffer_rgba())[:, :, :3].copy()
        panels: list[list[Axes]] = [[] for _ in trials]
        for axes in figure.axes:
            if (spec := axes.get_subplotspec()) is not None and axes.get_label() != "<colorbar>":
                panels[spec.colspan.start].append(axes)
        height = len(self.end)
        self.boxes = [[_pixels(axes, height) for axes in column] for column in panels]
        for column in panels:  # the outcome is the last line of the title
            place = rcParams["axes.titlelocation"]
            lines = [*column[0].get_title(place).split("\n")[:-1], " "]
            column[0].set_title("\n".join(lines), fontsize="small", pad=_pad(column[0]))
        canvas.draw()
        self.start = np.asarray(canvas.buffer_rgba())[:, :, :3].copy()

    def compose(self, start: np.ndarray, end: np.ndarray, white: Any) -> Iterator[np.ndarray]:
        """Yield the picture after each step.

        Args:
            start: the figure without outcomes, as pixels or as numbers of colours.
            end: the figure with them.
            white: a white pixel in this form.
        """
        picture = start.copy()
        for column in self.boxes:
            for top, bottom, left, right in column:
                picture[top:bottom, left:right] = white
        for trial, column in zip(self.trials, self.boxes, strict=True):
            for step in range(len(trial)):
                for top, bottom, left, right in column:
                    to = left + round((right - left) * (step + 1) / len(trial))
                    picture[top:bottom, left:to] = start[top:bottom, left:to]
                if step + 1 == len(trial):
                    _uncover_title(picture, end, column)
                yield picture


def _pixels(axes: Axes, height: int) -> Box:
    """Return top, bottom, left and right of a panel in pixels."""
    box = axes.bbox
    return height - round(box.y1), height - round(box.y0), round(box.x0), round(box.x1)


def _pad(axes: Axes) -> float:
    """Return the distance of a panel from its title, in points."""
    return float(axes.titleOffsetTrans.get_matrix()[1, 2] * 72 / axes.figure.dpi)  # type: ignore[attr-defined]


def _uncover_title(picture: np.ndarray, end: np.ndarray, column: Sequence[Box]) -> None:
    """Show the title above a column of panels."""
    top, _, left, right = min(column)
    margin = (right - left) // 10
    picture[:top, max(left - margin, 0) : right + margin] = end[:top, max(left - margin, 0) : right + margin]


def _write_gif(pictures: _Pictures, path: Path, rate: int) -> None:
    """Write a film whose pictures have one palette."""
    from PIL import Image

    palette = Image.fromarray(pictures.end).quantize(256, dither=Image.Dither.NONE)
    white = Image.new("RGB", (1, 1), "white")
    start, end, blank = (
        np.asarray(each.quantize(palette=palette, dither=Image.Dither.NONE))
        for each in (Image.fromarray(pictures.start), Image.fromarray(pictures.end), white)
    )
    images = []
    for picture in pictures.compose(start, end, blank[0, 0]):
        image = Image.fromarray(picture.copy(), "P")
        image.putpalette(palette.getpalette() or [])
        images.append(image)
    first, *rest = images
    times = [1000 // rate] * len(rest) + [LAST_PICTURE]
    first.save(path, format="GIF", save_all=True, append_images=rest, duration=times, loop=0, optimize=False)


def _write_mp4(pictures: _Pictures, path: Path, rate: int, program: str) -> None:
    """Write a film with ffmpeg, which needs even numbers of pixels."""
    height, width = (size // 2 * 2 for size in pictures.end.shape[:2])
    raw = b"".join(
        np.ascontiguousarray(picture[:height, :width]).tobytes()
        for picture in pictures.compose(pictures.start, pictures.end, 255)
    )
    form = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(rate), "-i", "-"]
    command = [program, "-loglevel", "error", *form, "-vcodec", "libx264", "-pix_fmt", "yuv420p", "-f", "mp4"]
    subprocess.run([*command, "-y", str(path)], input=raw, capture_output=True, check=True)


@contextlib.contextmanager
def _errors_of_program(path: Path) -> Iterator[None]:
    """Report a program that failed to write a file in one line, by the last line of its output."""
    try:
        yield
    except subprocess.CalledProcessError as error:
        output = error.stderr or error.stdout or b""
        text = output if isinstance(output, str) else output.decode(errors="replace")
        last = (text.strip().splitlines() or [f"exit code {error.returncode}"])[-1]
        raise UserError(f"cannot write {path}: {Path(error.cmd[0]).name}: {last}; {NO_PROGRAM}") from None
    except OSError as error:
        raise UserError(f"cannot write {path}: ffmpeg: {error.strerror or error}; {NO_PROGRAM}") from None
