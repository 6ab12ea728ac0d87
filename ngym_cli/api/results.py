"""Results as objects: figures, recorded activity with named axes, comparisons with data."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ngym_cli.api import running, settings
from ngym_cli.api.keywords import takes
from ngym_cli.errors import UserError, check_known, unknown
from ngym_cli.runs.recordings import ACTIVITY_FILE, QUANTITIES, Recording
from ngym_cli.runs.summary import breaks_of
from ngym_cli.runs.trial_table import read_trials
from ngym_cli.terminal import REFERENCES, reference_word

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ngym_cli.runs.records import AnimalComparison, Summary

#: Resolution of figures in the HTML of an object (dots per inch).
PIXELS = 72


def as_image(figure: Figure) -> str:
    """Return a figure as an HTML image."""
    from ngym_cli.figures.style import styled

    file = io.BytesIO()
    with styled("screen"):
        figure.savefig(file, format="png", dpi=PIXELS)
    return f"<img src='data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}'>"


class Figures(dict[str, "Figure"]):
    """Figures by name.

    Args:
        drawn: figures by name.
        reasons: why other figures were not drawn, by name.
        paths: files of the figures by name, where they were written.
    """

    def __init__(self, drawn: Mapping[str, Figure], reasons: Mapping[str, str], paths: Mapping[str, Path]):
        super().__init__(drawn)
        self.drawn, self.reasons, self.paths = drawn, reasons, paths

    def __missing__(self, name: str) -> NoReturn:
        """Refuse a figure that was not drawn.

        Raises:
            UserError: with the reason.
        """
        if name in self.reasons:
            raise UserError(f"{name}: {self.reasons[name]}")
        raise unknown("figure", name, self)

    def __repr__(self) -> str:
        """Return the names in one line."""
        missing = f"; not drawn: {', '.join(self.reasons)}" if self.reasons else ""
        return f"<Figures {', '.join(self.drawn) or 'none'}{missing}>"

    def _repr_html_(self) -> str:
        return "".join(map(as_image, self.drawn.values())) + settings.html("not drawn", self.reasons)


@dataclass(frozen=True, repr=False)
class Activity:
    """Recorded quantity of all trials as an array with named axes; steps after the end of a trial are NaN.

    Attributes:
        values: array with the axes time, trials and, except of scalar quantities, units.
        axes: names of the axes.
        time: time of each step from the start of the trial (ms), shape (time,).
        onsets: onset of each period from the start of the trial (ms), by name, shape (trials,); NaN where a trial has
            no such period.
        name: name of the quantity.
    """

    values: np.ndarray
    axes: tuple[str, ...]
    time: np.ndarray
    onsets: Mapping[str, np.ndarray]
    name: str = "activity"

    @classmethod
    def read(cls, folder: Path, name: str = "activity") -> Activity:
        """Return a quantity of the recording of an evaluation.

        Args:
            folder: folder of the evaluation.
            name: activity, spikes, values, logits, observations, actions or rewards.

        Raises:
            UserError: if nothing was recorded, or not this quantity.
        """
        check_known("recorded quantity", name, QUANTITIES)
        recording = cls._recording(folder, name)
        if name not in recording.quantities:
            recorded = ", ".join(recording.quantities)
            raise UserError(f"{name} was not recorded, only {recorded}; evaluate with record='{name}'")
        rows, lengths = recording[name], np.diff(recording.offsets)
        steps = int(lengths.max(initial=0))
        values = np.full((steps, len(lengths), *rows.shape[1:]), np.nan)
        trial = np.repeat(np.arange(len(lengths)), lengths)
        values[np.arange(len(rows)) - np.repeat(recording.offsets[:-1], lengths), trial] = rows
        unit = "units" if name in ("activity", "spikes") else "entries"
        axes = ("time", "trials", unit)[: values.ndim]
        return cls(values, axes, np.arange(steps) * recording.dt, dict(recording.events), name)

    @staticmethod
    def _recording(folder: Path, name: str) -> Recording:

        if not (folder / ACTIVITY_FILE).is_file():
            raise UserError(f"nothing was recorded; evaluate with record='{name}'")
        return Recording(folder)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.values.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the values, for functions of NumPy."""
        return np.array(self.values, dtype=dtype, copy=copy)

    def __getitem__(self, index: Any) -> Any:
        """Return entries of the values."""
        return self.values[index]

    def aligned(self, period: str) -> Activity:
        """Return the activity with time 0 at the onset of a period.

        Args:
            period: name of a period; trials without it are NaN.

        Raises:
            UserError: if there is no such period, with the nearest.
        """
        check_known("period", period, self.onsets)
        dt = self.time[1] - self.time[0] if len(self.time) > 1 else 1.0
        onset = np.round(self.onsets[period] / dt)
        with_period = np.isfinite(onset)
        first = int(onset[with_period].min(initial=0)) if with_period.any() else 0
        latest = int(onset[with_period].max(initial=0)) if with_period.any() else 0
        steps = np.arange(-latest, len(self.time) - first)
        source = steps[:, None] + np.where(with_period, onset, 0).astype(int)
        inside = (source >= 0) & (source < len(self.time)) & with_period
        values = self.values[np.clip(source, 0, len(self.time) - 1), np.arange(len(onset))]
        values = np.where(inside.reshape(inside.shape + (1,) * (values.ndim - 2)), values, np.nan)
        shifted = {name: each - self.onsets[period] for name, each in self.onsets.items()}
        return Activity(values, self.axes, steps * dt, shifted, self.name)

    def __repr__(self) -> str:
        """Return the quantity and its axes in one line."""
        sizes = ", ".join(f"{size:,} {name}" for name, size in zip(self.axes, self.shape, strict=True))
        step = f" of {self.time[1] - self.time[0]:g} ms" if len(self.time) > 1 else ""
        return f"<{self.name.capitalize()}: {sizes.replace(' time', f' steps{step}', 1)}>"


class DataComparison:
    """Comparison of an evaluation with a table of trials of animals or people.

    Args:
        record: the record in ``comparison.json``.
        folder: folder of the evaluation.

    Attributes:
        record: the record in ``comparison.json``.
    """

    def __init__(self, record: AnimalComparison, folder: Path):
        self.record, self._folder = record, folder

    @property
    def distance(self) -> float | None:
        """Root mean square of the differences, in standard errors."""
        return self.record["distance"]

    @property
    def table(self) -> settings.DataTable:
        """Statistics of agent and data with intervals, difference and distance, a row each."""
        rows = []
        for row in self.record["statistics"]:
            scores = settings.cells("agent", row["a"]) | settings.cells("data", row["b"])
            scores |= settings.cells("difference", row["difference"])
            rows.append({"statistic": row["name"], **scores, "standard_errors": row["distance"]})
        return settings.frame_of_rows(rows)

    @property
    def left_out(self) -> list[str]:
        """Statistics that could not be compared, with the reasons."""
        return list(self.record.get("left_out") or ())

    @takes()
    def plot(self, *, style: str = "screen") -> Figure:
        """Draw agent and data side by side.

        Args:
            style: ``screen`` or ``paper``.

        Raises:
            UserError: if the table of the data is not there any more.
        """
        from ngym_cli.evaluation.comparison import figure_of

        run_name = self._folder.parent.parent.name
        figure = figure_of(read_trials(self._folder / "trials.parquet"), self.record, run_name, style)
        return running.shown(figure)

    def __repr__(self) -> str:
        """Return the distance in one line."""
        distance = "unknown" if self.distance is None else f"{self.distance:.2f} standard errors"
        n = len(self.record["statistics"])
        return f"<DataComparison with {self.record['data']}: distance {distance} over {n} statistics>"

    def _repr_html_(self) -> str:
        return settings.html_of_table(repr(self)[1:-1], self.table)


def scores_in_words(summary: Mapping[str, Any] | Summary) -> str:
    """Return performance with interval, references and fixation breaks in one line."""
    scores: Mapping[str, Any] = summary
    if scores.get("performance") is None or np.isnan(scores["performance"]):
        reward = scores.get("reward_per_trial")
        return "" if reward is None else f"reward per trial {reward:.3f}"
    low, high = scores.get("performance_ci") or (None, None)
    words = [f"performance {scores['performance']:.3f}"]
    if low is not None and high is not None:
        words[0] += f" [{low:.3f}, {high:.3f}]"
    words += [f"{reference_word(name)} {scores[name]:.3f}" for name in REFERENCES if scores.get(name) is not None]
    breaks = breaks_of(scores)
    if breaks is not None and (breaks.rate or breaks.early > 0):
        words.append(f"fixation breaks {breaks.sentence()}")
    return ", ".join(words)
