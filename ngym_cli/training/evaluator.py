"""Evaluations along training: the present agent on fresh trials."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ngym_cli import runs
from ngym_cli.runs import summary
from ngym_cli.runs.records import EvaluationRow, Summary
from ngym_cli.terminal import REFERENCES
from ngym_cli.training.curriculum import Stage
from ngym_cli.training.curves import Board
from ngym_cli.training.prepare import ResolvedRun
from ngym_cli.training.progress import Display, actions_in_words

if TYPE_CHECKING:
    from stable_baselines3.common.policies import BasePolicy

    from ngym_cli.evaluation import fresh_trials


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
        board: Board,
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
        values = summary.scalars(evaluated.table, summary.condition_names(self.properties.conditions, evaluated.table))
        self.board.scalars({f"evaluation/{tag.removeprefix('behaviour/')}": v for tag, v in values.items()}, step)
        result = evaluated.summary
        row: EvaluationRow = {
            "step": step, "trials": result["trials"], "performance": result["performance"],
            "performance_ci": result["performance_ci"], "deterministic": result["deterministic"],
        }  # fmt: skip
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
        from ngym_cli.evaluation import fresh_trials

        seed = int(np.random.SeedSequence([self._seed, *stream]).generate_state(1)[0])
        goal, properties = (stage.config, stage.properties) if stage else (self.config.in_stage(-1), self.properties)
        began = time.monotonic()
        settings = fresh_trials.EvaluationSettings(
            trials, seed, self.config.evaluation.deterministic, measured=False, half_width=half_width
        )
        evaluated = fresh_trials.evaluate(self.policy(), goal, properties, settings, self.display.evaluating)
        self.display.evaluated(time.monotonic() - began)
        return evaluated

    def draw(self) -> None:
        """Add the most informative figure of the last evaluation to TensorBoard; at the end, since drawing is slow."""
        from ngym_cli.figures import requests

        if drawn := requests.best_figure(self.run, facts=self.properties):
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
    references = [f"{name} {score:.3f}" for name in REFERENCES if (score := result.get(name)) is not None]
    return f"{text}, {actions_in_words(result['deterministic'])}" + (
        f" ({', '.join(references)})" if references else ""
    )
