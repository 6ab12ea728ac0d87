"""Copies of a run's curves in Weights & Biases or MLflow (`ngym run --track`), through the services' own libraries.

TensorBoard's files are written in any case. The destination is set with the libraries' own environment variables:
``WANDB_PROJECT``, ``WANDB_MODE=offline``, ``MLFLOW_TRACKING_URI``.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ngym_cli import runs
from ngym_cli.config.model import ResolvedConfig
from ngym_cli.config.values import flatten
from ngym_cli.errors import one_line
from ngym_cli.training.board import TensorBoardWriter
from ngym_cli.training.prepare import tracking_library

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Project or experiment of runs, unless set by an environment variable.
PROJECT = "ngym"


class Tracker(Protocol):
    """Run in a tracking service, the same whenever the run is continued.

    Args:
        run: folder of a run or a fit.
        group: task of the run, or table of the fit.
        settings: all settings.
    """

    def __init__(self, run: runs.RunFolder, group: str, settings: Mapping[str, object]): ...

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Add a point to each curve."""

    def figure(self, tag: str, figure: Figure, step: int) -> None:
        """Add a matplotlib figure."""

    def close(self) -> None:
        """End the run there."""


class WandbTracker:
    """A run of Weights & Biases, see `Tracker`."""

    def __init__(self, run: runs.RunFolder, group: str, settings: Mapping[str, object]):
        self._library = tracking_library("wandb")
        self._run = self._library.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=run.name,
            id=_key(run),
            resume="allow",
            group=group,
            config=flatten(settings),
            settings=self._library.Settings(console="off", silent=True),
        )

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Add a point to each curve."""
        self._run.log(dict(values), step=step)

    def figure(self, tag: str, figure: Figure, step: int) -> None:
        """Add a matplotlib figure."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from PIL import Image

        canvas = FigureCanvasAgg(figure)  # the library would need pyplot to do the same
        canvas.draw()
        self._run.log({tag: self._library.Image(Image.fromarray(np.asarray(canvas.buffer_rgba())))}, step=step)

    def close(self) -> None:
        """End the run there."""
        self._run.finish()


class MlflowTracker:
    """A run of MLflow, see `Tracker`."""

    def __init__(self, run: runs.RunFolder, group: str, settings: Mapping[str, object]):
        library, key = tracking_library("mlflow"), _key(run)
        self._client = library.MlflowClient()
        self._last: dict[str, int] = {}  # step of each curve; a run that was killed continues before it
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
        known_experiment = self._client.get_experiment_by_name(name)
        experiment = known_experiment.experiment_id if known_experiment else self._client.create_experiment(name)
        before = self._client.search_runs([experiment], f"tags.ngym_key = '{key}'")
        if before:
            self._id = before[0].info.run_id
            for tag in before[0].data.metrics:
                self._last[tag] = max(point.step for point in self._client.get_metric_history(self._id, tag))
            return
        created = self._client.create_run(experiment, run_name=run.name, tags={"ngym_key": key, "task": group})
        self._id = created.info.run_id
        entities = importlib.import_module("mlflow.entities")
        parameters = [entities.Param(name, str(value)[:500]) for name, value in flatten(settings).items()]
        for start in range(0, len(parameters), 100):  # as many as the service takes at once
            self._client.log_batch(self._id, params=parameters[start : start + 100])

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Add a point to each curve."""
        for name, value in values.items():
            tag = name.replace("%", "percent")
            if step > self._last.get(tag, -1):
                self._client.log_metric(self._id, tag, float(value), step=step)

    def figure(self, tag: str, figure: Figure, step: int) -> None:
        """Add a matplotlib figure."""
        self._client.log_figure(self._id, figure, f"{tag}-{step}.png")

    def close(self) -> None:
        """End the run there."""
        self._client.set_terminated(self._id)


TRACKERS: dict[str, type[Tracker]] = {"wandb": WandbTracker, "mlflow": MlflowTracker}


def _key(run: runs.RunFolder) -> str:
    """Return the key of a run or a fit in tracking services, which is the same whenever the run is continued."""
    return hashlib.sha256(f"{run.path.resolve()} {run.manifest().get('started')}".encode()).hexdigest()[:16]


def board_of(
    run: runs.RunFolder, config: ResolvedConfig, state: Mapping[str, int] | None, say: Callable[[str], None]
) -> TensorBoardWriter:
    """Return the writer of a run's curves, which also go to a tracking service if the run is tracked.

    Args:
        run: the run.
        config: the complete configuration.
        state: of the board up to a checkpoint.
        say: reports problems of a service to the user; the run continues.
    """
    service = config.track
    if service is None:
        return TensorBoardWriter(run.path, state)
    return TrackedBoard(run.path, state, lambda: TRACKERS[service](run, config.task, config.model_dump()), say)


class TrackedBoard(TensorBoardWriter):
    """TensorBoard together with a tracking service; the run continues if the service fails.

    Args:
        folder: of the event files.
        state: of the board up to a checkpoint.
        make: makes the run in the service.
        say: reports problems to the user.
    """

    def __init__(
        self, folder: Path, state: Mapping[str, int] | None, make: Callable[[], Tracker], say: Callable[[str], None]
    ):
        super().__init__(folder, state)
        self._say = say
        self._tracker: Tracker | None = None
        self._without_figures = False
        self._safely(lambda: setattr(self, "_tracker", make()))

    def _safely(self, do: Callable[[], None]) -> None:
        try:
            do()
        except Exception as error:  # a service that is down must not end a run
            self._tracker = None
            self._say(f"tracking ended: {one_line(error)[:300]}")

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Add a point to each curve."""
        super().scalars(values, step)
        tracker = self._tracker
        if tracker is not None:
            self._safely(lambda: tracker.scalars(values, step))

    def figure(self, tag: str, figure: Figure, step: int) -> None:
        """Add a matplotlib figure."""
        tracker = self._tracker
        if tracker is not None and not self._without_figures:
            try:
                tracker.figure(tag, figure, step)
            except Exception as error:  # curves are worth more than pictures
                self._without_figures = True
                self._say(f"tracking continues without figures: {one_line(error)[:300]}")
        super().figure(tag, figure, step)

    def close(self) -> None:
        """Write everything out and end."""
        try:
            if self._tracker is not None:
                self._safely(self._tracker.close)
        finally:
            super().close()
