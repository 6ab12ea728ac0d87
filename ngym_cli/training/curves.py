"""Curves of a run: points of training, evaluations along training, and the writer of TensorBoard files."""

from __future__ import annotations

import math
import os
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.analysis.trial_tables import Table
from ngym_cli import runs
from ngym_cli.config import flatten
from ngym_cli.config.values import Scalar
from ngym_cli.evaluation import fresh_trials
from ngym_cli.runs import summary
from ngym_cli.runs.conditions import columns_of_performance
from ngym_cli.runs.records import EvaluationRow, Summary
from ngym_cli.runs.trial_recorder import TrialRecorder
from ngym_cli.runs.trial_table import concatenate
from ngym_cli.terminal import REFERENCES, reference_word
from ngym_cli.training.prepare import ResolvedRun
from ngym_cli.training.progress import Display, actions_in_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from stable_baselines3.common.policies import BasePolicy

    from ngym_cli.training.curriculum import Stage


#: Trials over which the live display averages.
WINDOW = 1_000
#: Fewest steps between two points of a TensorBoard curve.
STEPS_PER_POINT = 2_048
#: Points that a curve of a short run has, at least.
FEWEST_POINTS = 10


class Curves:
    """Adds points to TensorBoard and to the live display.

    Args:
        recorder: has the trials.
        board: TensorBoard.
        display: live display of the run.
        timesteps: of the whole run.

    Attributes:
        pending: losses that are not yet recorded, by the learner's names.
        reported: step of the last update whose losses were recorded.
        step: of the last point.
    """

    def __init__(self, recorder: TrialRecorder, board: TensorBoardWriter, display: Display, timesteps: int):
        self.recorder, self.board, self.display, self.timesteps = recorder, board, display, timesteps
        self.pending: dict[str, float] = {}
        self.reported = 0
        self._recent: Table = {}
        self.step, self._moment = 0, time.monotonic()

    def new_trials(self, step: int) -> Table | None:
        """Return the trials since the last point of the curve; None if too few steps were taken or no trial ended."""
        if step - self.step < min(STEPS_PER_POINT, self.timesteps // FEWEST_POINTS):
            return None
        table = self.recorder.collect()
        return table if len(table["trial"]) else None

    def add_point(self, step: int, trials: Table, conditions: Mapping[str, object], more: Mapping[str, object]) -> None:
        """Add a point.

        Args:
            step: to this step.
            trials: summary of the trials.
            conditions: of the task, name to values; the usual ones have curves of their own.
            more: further values of the live display.
        """
        now = time.monotonic()
        speed = (step - self.step) / max(now - self._moment, 1e-9)
        self.step, self._moment = step, now
        scalars = summary.scalars(trials, columns_of_performance(conditions, trials))
        self.board.scalars({**scalars, "time/steps_per_second": speed}, step)
        self._recent = {name: values[-WINDOW:] for name, values in concatenate([self._recent, trials]).items()}
        self.display.update(step, {**self.recent(), "steps_per_second": speed, **more})

    def recent(self) -> dict[str, float]:
        """Return the summary of the last trials."""
        return summary.summarise(self._recent)

    def begin_stage(self) -> None:
        """Exclude all trials so far from recent averages."""
        self._recent = {}

    def leave_out(self, seconds: float) -> None:
        """Leave out time in which nothing was learned: the speed that is shown is that of learning."""
        self._moment += seconds


#: Metrics in TensorBoard's comparison of hyperparameters.
METRICS = ("evaluation/performance", "behaviour/performance", "behaviour/reward_per_trial")

#: Settings listed first among the hyperparameters, and settings excluded from the list.
FIRST = ("task", "alg", "network", "seed", "units", "timesteps", "n_envs", "reset_state", "wrappers")
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

    def layout(self, conditions: Sequence[str]) -> None:
        """Combine the curves of each condition's values in a chart, for training and for evaluations.

        Args:
            conditions: names of the conditions that performance is broken down by.
        """
        charts = {
            f"{where} by {name}": ["Multiline", [f"{prefix}performance_by_{re.escape(name)}/.*"]]
            for name in conditions
            for where, prefix in (("training", ""), ("evaluation", "evaluation/"))
        }
        both = ["Multiline", [r"behaviour/performance", r"evaluation/performance"]]
        self._writer.add_custom_scalars({"performance": {"training and evaluation": both, **charts}})

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Add a point to each curve, in a single record, because the writer's queue is short."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        points = [Summary.Value(tag=tag, simple_value=float(value)) for tag, value in values.items()]
        self._writer.file_writer.add_summary(Summary(value=points), step)

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
        return {path.name: path.stat().st_size for path in sorted(self._folder.glob("events.out.tfevents.*"))}

    def close(self) -> None:
        """Write everything out and end."""
        try:
            self._writer.close()
        finally:
            threading.excepthook = self._excepthook


def settings(config: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return the settings of a user, the most distinctive first.

    >>> settings({"seed": 1, "task": "RDM-v0", "evaluation": {"every": 9}, "hyperparameters": {"gamma": 0.9}})
    {'task': 'RDM-v0', 'seed': 1, 'hyperparameters.gamma': 0.9}
    """
    flat = flatten({name: value for name, value in config.items() if name not in NOT_COMPARED})
    if config.get("wrappers"):
        flat["wrappers"] = ", ".join(entry["name"] for entry in config["wrappers"])
    first = {name: flat.pop(name) for name in FIRST if name in flat}
    return {**first, **flat}


def _cut_back(folder: Path, sizes: Mapping[str, int]) -> None:
    """Truncate event files to recorded sizes and remove all other event files."""
    for path in folder.glob("events.out.tfevents.*"):
        size = 0 if path.is_symlink() else int(sizes.get(path.name, 0))
        if size <= 0:
            path.unlink()
        elif size < path.stat().st_size:
            os.truncate(path, size)


class Evaluator:
    """Evaluates the agent during training and adds the results to curves and manifest.

    Evaluations along training are of the last stage, with the performance on the tasks of all stages if these differ.

    Args:
        run: the folder.
        resolved: the run.
        policy: gives the present policy.
        board: TensorBoard.
        display: live display of the run.
    """

    def __init__(
        self,
        run: runs.RunFolder,
        resolved: ResolvedRun,
        policy: Callable[[], BasePolicy],
        board: TensorBoardWriter,
        display: Display,
    ):
        self.run, self.config, self.properties, self.policy = run, resolved.config, resolved.properties, policy
        self.board, self.display, self.stages = board, display, resolved.stages
        self.trials = self.config.evaluation.trials
        self.step = 0
        self._seed = resolved.seeds["evaluation"]
        self._last: fresh_trials.EvaluatedTrials | None = None
        self.recorded: list[EvaluationRow] = []

    def due(self, step: int) -> bool:
        """Return whether an evaluation is due."""
        return 0 < self.config.evaluation.every <= step - self.step and step < self.config.timesteps

    def at(self, step: int) -> fresh_trials.EvaluatedTrials | None:
        """Return the most recent evaluation if made at the given step, else None."""
        return self._last if self.step == step else None

    def performance(self, step: int) -> float:
        """Return the performance found at a step, minus infinity if none was looked for."""
        evaluated = self.at(step)
        return -math.inf if evaluated is None else float(evaluated.summary["performance"])

    def evaluate(self, step: int, last: bool = False) -> fresh_trials.EvaluatedTrials:
        """Evaluate the present policy.

        Args:
            step: training steps so far.
            last: whether the run ends, so that linked trials are added until performance is known well enough.
        """
        half_width = self.config.evaluation.half_width if last else 0.0
        evaluated = self.on_fresh_trials(self.trials, step, half_width=half_width)
        evaluated.summary["model_steps"] = step
        values = summary.scalars(evaluated.table, columns_of_performance(self.properties.conditions, evaluated.table))
        self.board.scalars({f"evaluation/{tag.removeprefix('behaviour/')}": v for tag, v in values.items()}, step)
        result = evaluated.summary
        row: EvaluationRow = {
            "step": step,
            "trials": result["trials"],
            "performance": result["performance"],
            "performance_ci": result["performance_ci"],
            "deterministic": result["deterministic"],
        }
        tasks = _by_task(result) or self._by_stage(evaluated, step)
        self.recorded.append({**row, "tasks": tasks} if tasks else row)
        self.run.update(evaluations=self.recorded)
        self.display.say(f"{step:,} steps: {sentence(evaluated.summary)}")
        self.step, self._last = step, evaluated
        return evaluated

    def _by_stage(self, last: fresh_trials.EvaluatedTrials, step: int) -> dict[str, list[float]]:
        """Return performance on the tasks of all stages as in `_by_task`; empty if the stages have the same task.

        Args:
            last: evaluation of the last stage.
            step: training steps so far.
        """
        stages = {stage.config.task: stage for stage in self.stages}
        if len(stages) < 2:
            return {}
        tasks: dict[str, list[float]] = {}
        for task, stage in stages.items():
            is_last = stage is self.stages[-1]
            evaluated = last if is_last else self.on_fresh_trials(self.trials, step, stage.number, stage=stage)
            tasks[task] = [evaluated.summary["performance"], *evaluated.summary["performance_ci"]]
        scores = {f"evaluation/performance_by_task/{task}": values[0] for task, values in tasks.items()}
        self.board.scalars(scores, step)
        return tasks

    def on_fresh_trials(
        self, trials: int, *stream: int, stage: Stage | None = None, half_width: float = 0.0
    ) -> fresh_trials.EvaluatedTrials:
        """Evaluate without recording the result.

        Args:
            trials: number of trials.
            *stream: numbers that determine the random stream.
            stage: stage whose task is evaluated; default the last.
            half_width: half width of the interval up to which linked trials are added; 0 adds none.
        """
        seed = int(np.random.SeedSequence([self._seed, *stream]).generate_state(1)[0])
        goal, properties = (stage.config, stage.properties) if stage else (self.config.in_stage(-1), self.properties)
        began = time.monotonic()
        evaluation = self.config.evaluation
        settings = fresh_trials.EvaluationSettings(
            trials, seed, evaluation.deterministic, exact=evaluation.exact, measured=False, half_width=half_width
        )
        evaluated = fresh_trials.evaluate(self.policy(), goal, properties, settings, self.display.evaluating)
        self.display.evaluated(time.monotonic() - began)
        return evaluated

    def draw(self) -> None:
        """Add the most informative figure of the last evaluation to TensorBoard; at the end, since drawing is slow."""
        from ngym_cli.figures import requests

        if drawn := requests.best_figure(self.run, properties=self.properties):
            self.board.figure(f"figures/{drawn[0]}", drawn[1], self.step)


def _by_task(result: Summary) -> dict[str, list[float]]:
    """Return performance on each of several tasks with the ends of the interval, for the record of a run."""
    rows = [row for row in result["conditions"] if row["condition"] == "task"]
    tasks = {str(row["value"]): [row["performance"], *row["performance_ci"]] for row in rows}
    return tasks if len(tasks) > 1 else {}


def sentence(result: Summary) -> str:
    """Return the result of an evaluation as a single line."""
    text = f"performance {summary.performance_of(result):.3f} over {result['trials']:,} fresh trials"
    text += summary.aborts_in_words(result)
    scores = {reference_word(name): result.get(name) for name in REFERENCES}
    references = [f"{word} {score:.3f}" for word, score in scores.items() if score is not None]
    return f"{text}, {actions_in_words(result['deterministic'])}" + (
        f" ({', '.join(references)})" if references else ""
    )
