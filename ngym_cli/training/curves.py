"""Curves of a run: points of training, and evaluations along training."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from neurogym.analysis.trial_tables import Table
from ngym_cli import runs
from ngym_cli.agents.defaults import trials_along_training
from ngym_cli.environments.properties import TaskProperties
from ngym_cli.evaluation import fresh_trials
from ngym_cli.runs import summary
from ngym_cli.runs.conditions import columns_of_performance
from ngym_cli.runs.records import EvaluationRow, Summary
from ngym_cli.runs.trial_recorder import TrialRecorder
from ngym_cli.runs.trial_table import concatenate
from ngym_cli.terminal import REFERENCES, reference_word
from ngym_cli.training.board import TensorBoardWriter
from ngym_cli.training.prepare import ResolvedRun
from ngym_cli.training.progress import Display, actions_in_words

if TYPE_CHECKING:
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

    def add_point(self, step: int, trials: Table, properties: TaskProperties, more: Mapping[str, object]) -> None:
        """Add a point.

        Args:
            step: to this step.
            trials: the trials.
            properties: properties of the task; each value of the listed conditions has a separate curve.
            more: further values of the live display.
        """
        now = time.monotonic()
        speed = (step - self.step) / max(now - self._moment, 1e-9)
        self.step, self._moment = step, now
        names = columns_of_performance(properties.conditions, trials)
        scalars = summary.scalars(trials, names, summary.action_names(properties.labels["action"]))
        scalars |= {
            "behaviour/trials": self.recorder.trials,
            "rollout/ep_rew_mean": float(np.mean(trials["reward"])),
            "rollout/ep_len_mean": float(np.mean(trials["steps"])),
            "time/fps": speed,
        }
        self.board.scalars(scalars, step)
        self.board.levels("training", summary.by_condition(trials, names), step)
        self.board.references(properties.references, step)
        self._recent = {name: values[-WINDOW:] for name, values in concatenate([self._recent, trials]).items()}
        breaks = summary.fixation_breaks(self._recent).sentence()
        self.display.update(step, {**self.recent(), "fixation_breaks": breaks, "steps_per_second": speed, **more})

    def recent(self) -> dict[str, float]:
        """Return the summary of the last trials."""
        return summary.summarise(self._recent)

    def begin_stage(self) -> None:
        """Exclude all trials so far from recent averages."""
        self._recent = {}

    def leave_out(self, seconds: float) -> None:
        """Leave out time in which nothing was learned: the speed that is shown is that of learning."""
        self._moment += seconds


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
        self._fewer = trials_along_training(self.config, self.properties)
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
        evaluated = self.on_fresh_trials(self.trials if last else self._fewer, step, half_width=half_width)
        evaluated.summary["model_steps"] = step
        names = columns_of_performance(self.properties.conditions, evaluated.table)
        values = summary.scalars(evaluated.table, names, summary.action_names(self.properties.labels["action"]))
        self.board.scalars({f"evaluation/{tag.removeprefix('behaviour/')}": v for tag, v in values.items()}, step)
        result = evaluated.summary
        self.board.levels("evaluation", result["conditions"], step)
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
            evaluated = last if is_last else self.on_fresh_trials(self._fewer, step, stage.number, stage=stage)
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
    text += summary.breaks_beside(result)
    scores = {reference_word(name): result.get(name) for name in REFERENCES}
    references = [f"{word} {score:.3f}" for word, score in scores.items() if score is not None]
    return f"{text}, {actions_in_words(result['deterministic'])}" + (
        f" ({', '.join(references)})" if references else ""
    )
