"""TensorBoard files of a run: curves with descriptions, charts of several curves, figures, and the configuration."""

from __future__ import annotations

import os
import re
import threading
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ngym_cli.config.values import Scalar, flatten
from ngym_cli.runs.folder import CURVES, EVENT_FILES, EVENTS
from ngym_cli.runs.summary import label
from ngym_cli.terminal import reference_word

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ngym_cli.runs.records import ConditionRecord


#: Constant curves of the reference scores of performance.
REFERENCE = "reference/performance"

#: Descriptions of curves by their last name, and else by their first; periods of the task are filled in.
DESCRIPTIONS = tomllib.loads(Path(__file__).with_name("curves.toml").read_text(encoding="utf-8"))


def description(tag: str, periods: Mapping[str, str]) -> str:
    """Return what a curve shows.

    Args:
        tag: name of the curve.
        periods: words for the periods of ``fixation`` and of the ``decision``.
    """
    group, _, name = tag.removeprefix("evaluation/").rpartition("/")
    prefixes = (kind for kind in ("performance_by", "by") if group.startswith(f"{kind}_"))
    kinds = (*prefixes, *([group] if group == "reference" else []), name, name.split("_")[0], group)
    found = next((DESCRIPTIONS[kind] for kind in kinds if kind in DESCRIPTIONS), "Recorded by a callback.")
    text = found.format(**periods)
    return f"{DESCRIPTIONS['evaluation']} {text}" if tag.startswith("evaluation/") else text


#: Metrics in TensorBoard's comparison of hyperparameters.
METRICS = ("evaluation/performance", "behaviour/performance", "behaviour/reward_per_trial")

#: Settings listed first among the hyperparameters, and settings excluded from the list.
FIRST = (
    *("seed", "hyperparameters.learning_rate", "network", "units"),
    *("task", "alg", "timesteps", "n_envs", "reset_state", "wrappers"),
)
NOT_COMPARED = ("evaluation", "checkpoint")


#: End of the names of event files with images.
IMAGES = ".images"


class TensorBoardWriter:
    """Writer of the TensorBoard files of a run.

    Args:
        folder: contains the files.
        state: of the board of the same run up to a checkpoint; later entries are removed.
    """

    def __init__(self, folder: Path, state: Mapping[str, int] | None = None):
        from torch.utils.tensorboard import SummaryWriter

        self._folder = folder
        self._described: set[str] = set()
        self.describe("", "")
        _cut_back(folder, state or {})
        self._excepthook = threading.excepthook
        threading.excepthook = self._of_a_thread
        try:
            self._writer: Any = SummaryWriter(str(folder), flush_secs=10)
        except BaseException:
            threading.excepthook = self._excepthook
            raise

    def _of_a_thread(self, name: threading.ExceptHookArgs) -> None:
        """Suppress errors of TensorBoard's own thread; failed writes are raised again at the next point."""
        if not type(name.thread).__module__.startswith("tensorboard."):
            self._excepthook(name)

    def hyperparameters(self, config: Mapping[str, object], text: str) -> None:
        """Show the configuration, as a table to compare runs by and as text."""
        from torch.utils.tensorboard.summary import hparams

        for record in hparams(settings(config), dict.fromkeys(METRICS, 0)):
            self._writer.file_writer.add_summary(record)
        self._writer.add_text("configuration", "\n".join("    " + line for line in text.splitlines()), 0)

    def describe(self, fixation_in: str, decision: str) -> None:
        """Set the periods that the descriptions of curves name.

        Args:
            fixation_in: periods in which the task asks for fixation, in words; empty where it does not say.
            decision: name of the period from which answers count.
        """
        self._periods = {"fixation": fixation_in or "the periods of fixation", "decision": decision or "the decision"}

    def layout(self, conditions: Sequence[str]) -> None:
        """Combine the curves of each condition's values in a chart, for training and for evaluations.

        Args:
            conditions: names of the conditions that performance is broken down by.
        """
        reference = f"^{REFERENCE}$"
        charts = {
            f"{where} by {name}": ["Multiline", [f"^by_{re.escape(name)}/{where}$", reference]]
            for name in conditions
            for where in ("training", "evaluation")
        }
        both = ["Multiline", ["^behaviour/performance$", "^evaluation/performance$", reference]]
        self._writer.add_custom_scalars({"performance": {"training and evaluation": both, **charts}})

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Add a point to each curve, in a single record, because the writer's queue is short."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        points = [self._point(tag, value) for tag, value in values.items()]
        self._writer.file_writer.add_summary(Summary(value=points), step)

    def _point(self, tag: str, value: float) -> Any:
        """Return a point of a curve, the first with a description of the curve."""
        from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata

        if tag in self._described:
            return Summary.Value(tag=tag, simple_value=float(value))
        self._described.add(tag)
        metadata = SummaryMetadata(summary_description=description(tag, self._periods))
        return Summary.Value(tag=tag, simple_value=float(value), metadata=metadata)

    def levels(self, where: str, rows: Iterable[ConditionRecord], step: int) -> None:
        """Add performance at each value of the conditions, each value as a run, so that it has its own colour.

        Args:
            where: ``training`` or ``evaluation``.
            rows: performance at each value.
            step: training steps so far.
        """
        for row in rows:
            name = row["condition"]
            self._append(f"{name}={label(row['value'])}", f"by_{name}/{where}", row["performance"], step)

    def references(self, scores: Mapping[str, float | None], step: int) -> None:
        """Continue the constant curves of the reference scores, each as a run."""
        for name, score in scores.items():
            if score is not None:
                self._append(reference_word(name), REFERENCE, score, step)

    def _append(self, name: str, tag: str, value: float, step: int) -> None:
        """Add a point to the event file of a curve that TensorBoard shows as a run."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter

        path = self._folder / CURVES / re.sub(r"[^\w.+= -]", "_", name) / EVENTS.replace("*", "curve")
        path.parent.mkdir(parents=True, exist_ok=True)
        now, summary = time.time(), Summary(value=[self._point(tag, value)])
        with path.open("ab") as file:
            writer = RecordWriter(file)
            if not file.tell():
                writer.write(Event(wall_time=now, file_version="brain.Event:2").SerializeToString())
            writer.write(Event(wall_time=now, step=step, summary=summary).SerializeToString())

    def figure(self, tag: str, figure: Figure, step: int) -> None:
        """Add a figure in an event file of its own, because images make the file of the curves slow to load."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from torch.utils.tensorboard import SummaryWriter

        canvas = FigureCanvasAgg(figure)  # `add_figure` imports pyplot with all its widgets to do the same
        canvas.draw()
        self.flush()  # TensorBoard reads the files of a folder one after the other
        images = SummaryWriter(str(self._folder), filename_suffix=IMAGES)
        try:
            images.add_image(tag, np.asarray(canvas.buffer_rgba())[:, :, :3], step, dataformats="HWC")
        finally:
            images.close()

    def flush(self) -> None:
        """Write everything out."""
        self._writer.flush()

    def state(self) -> dict[str, int]:
        """Return the number of bytes of each event file, all points so far included."""
        self.flush()
        return {name: path.stat().st_size for name, path in _event_files(self._folder).items()}

    def close(self) -> None:
        """Write everything out and end."""
        try:
            self._writer.close()
        finally:
            threading.excepthook = self._excepthook


def settings(config: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return the settings of a user, the most distinctive first.

    >>> settings({"seed": 1, "task": "RDM-v0", "evaluation": {"every": 9}, "hyperparameters": {"gamma": 0.9}})
    {'seed': 1, 'task': 'RDM-v0', 'hyperparameters.gamma': 0.9}
    """
    flat = flatten({name: value for name, value in config.items() if name not in NOT_COMPARED})
    if config.get("wrappers"):
        flat["wrappers"] = ", ".join(entry["name"] for entry in config["wrappers"])
    first = {name: flat.pop(name) for name in FIRST if name in flat}
    return {**first, **flat}


def _event_files(folder: Path) -> dict[str, Path]:
    """Return the event files of a run by path below its folder."""
    return {
        path.relative_to(folder).as_posix(): path for pattern in EVENT_FILES for path in sorted(folder.glob(pattern))
    }


def _cut_back(folder: Path, sizes: Mapping[str, int]) -> None:
    """Truncate event files to recorded sizes and remove all other event files."""
    for name, path in _event_files(folder).items():
        size = 0 if path.is_symlink() else int(sizes.get(name, 0))
        if size <= 0:
            path.unlink()
        elif size < path.stat().st_size:
            os.truncate(path, size)
