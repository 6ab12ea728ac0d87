"""Session of a run: records of a learner's progress and of its end, and decisions about the course of the run."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ngym_cli import runs
from ngym_cli.agents import checkpoints, saving
from ngym_cli.config.model import ResolvedConfig
from ngym_cli.config.sections import CheckpointConfig
from ngym_cli.environments.properties import TaskProperties
from ngym_cli.errors import UserError
from ngym_cli.evaluation import fresh_trials
from ngym_cli.files.writing import atomic_file
from ngym_cli.runs import provenance
from ngym_cli.runs.folder import READ_OUT
from ngym_cli.runs.records import RunState, Summary
from ngym_cli.training.curves import Curves, Evaluator
from ngym_cli.training.stopping import Stop, StopRequest, Until

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.vec_env import VecEnv

    from ngym_cli.training.curriculum import Curriculum, Stage

#: Seconds between two updates of the manifest while a run continues.
SECONDS_PER_UPDATE = 5.0

#: Results of the last evaluation that the manifest keeps.
EVALUATION_RESULTS = ("performance", "performance_ci", "chance", "blind", "ceiling", "reward_per_trial")

#: Callback after each evaluation, with step and summary; returns a reason to end the run early, or None.
EvaluationCallback = Callable[[int, Summary], str | None]


#: Share of the requested steps by which the steps made may differ without a word.
STEPS_TOLERATED = 0.02


def steps_in_words(made: int, requested: int) -> str:
    """Return a line on steps that differ from the requested ones by more than `STEPS_TOLERATED`; else nothing.

    >>> steps_in_words(16_384, 5_000)
    '16,384 steps were made for the 5,000 requested: a rollout is always completed'
    """
    if abs(made - requested) <= STEPS_TOLERATED * requested:
        return ""
    return f"{made:,} steps were made for the {requested:,} requested: a rollout is always completed"


class Clock:
    """Elapsed wall-clock and CPU time of a run, without interruptions."""

    def __init__(self) -> None:
        self._spent, self._began = (0.0, 0.0), _clocks()

    def times(self) -> tuple[float, float]:
        """Return elapsed wall-clock and CPU time in seconds."""
        (wall, cpu), (began_wall, began_cpu) = _clocks(), self._began
        return self._spent[0] + wall - began_wall, self._spent[1] + cpu - began_cpu

    def add(self, spent: Sequence[float]) -> None:
        """Count the times before an interruption, as ``times`` returned them."""
        self._spent = float(spent[0]), float(spent[1])


def _clocks() -> tuple[float, float]:
    times = os.times()
    return time.monotonic(), times.user + times.system


class CheckpointKeeper:
    """Decides when a checkpoint is written, and which are kept.

    Args:
        folder: folder of the checkpoints.
        settings: interval and number of checkpoints.
        timesteps: steps of the whole run.
        model: the learner.
        venv: environments of the learner.

    Attributes:
        last: step of the last checkpoint, or None.
    """

    def __init__(self, folder: Path, settings: CheckpointConfig, timesteps: int, model: BaseAlgorithm, venv: VecEnv):
        self.folder, self.settings, self.timesteps = folder, settings, timesteps
        self.model, self.venv = model, venv
        self.last: int | None = None
        self.best = -math.inf

    def due(self, step: int, performance: float) -> bool:
        """Return whether a checkpoint is due, by number of steps or because the performance is the best so far."""
        every = self.settings.every
        return performance > self.best or bool(every and step - (self.last or 0) >= every)

    def keep(self, step: int, performance: float, state: Callable[[], dict[str, object]]) -> None:
        """Write a checkpoint unless present, and mark the checkpoint if the performance is the best so far."""
        is_best = performance > self.best
        self.best = max(self.best, performance)
        if self.last != step:
            self.last = step
            checkpoints.write(self.folder, step, self.model, self.venv, state())
        if is_best:
            checkpoints.mark_best(self.folder, self.folder / checkpoints.folder_of(step), step, performance)
        checkpoints.prune(self.folder, self.settings.keep, self.timesteps)

    def finish(self) -> None:
        """Keep the weights of as many checkpoints as requested."""
        checkpoints.prune(self.folder, self.settings.keep, self.timesteps, running=False)
        checkpoints.keep_only_weights(self.folder)


@dataclass
class TrainingSession:
    """Course of a run, to which a learner reports and which controls the learner through ``stop``.

    A learner calls ``on_step`` after every step of the batch, ``on_rollout`` when it has gathered what it learns from,
    ``on_update`` when it has learned, and ``between_updates`` before it continues.

    Attributes:
        run: the folder.
        properties: known properties of the task to be learned.
        change_stage: lets the learner continue in the environments of another stage.
        curves: trials, losses and the user's view of both.
        evaluator: evaluates the present agent.
        checkpoints: keeper of the run's checkpoints.
        curriculum: the stages of training, or None.
        until: the criterion on evaluations that ends the run, or None.
        watch: called after each evaluation; may end the run early.
        stop: request to stop the learner.
        clock: duration of the run.
        step: steps taken so far, over all environments.
    """

    run: runs.RunFolder
    properties: TaskProperties
    change_stage: Callable[[Stage], None]
    curves: Curves
    evaluator: Evaluator
    checkpoints: CheckpointKeeper
    curriculum: Curriculum | None = None
    until: Until | None = None
    watch: EvaluationCallback | None = None
    stop: StopRequest = field(default_factory=StopRequest)
    clock: Clock = field(default_factory=Clock)
    step: int = 0
    _updated: float = field(default_factory=time.monotonic)

    # -- what a learner reports ---------------------------------------------------------------------------------------

    def on_step(self, finished: Mapping[str, np.ndarray] | None, step: int) -> bool:
        """Record the trials that ended in a step; return whether to continue.

        Args:
            finished: equally long arrays, or None.
            step: steps taken so far, over all environments.
        """
        self.step = step
        if finished is not None:
            self.curves.recorder.add(finished, step)
        return not self.stop.is_overdue

    def on_rollout(self) -> None:
        """Add a point to the curves when due."""
        trials = self.curves.new_trials(self.step)
        if trials is None:
            return
        properties, curriculum = self.properties, self.curriculum
        more: dict[str, object] = {}
        if curriculum is not None:
            curriculum.take(trials["performance"])
            properties = curriculum.stage.properties
            more = {"stage": curriculum.label, **properties.references}
        self.curves.add_point(self.step, trials, properties, more)
        if curriculum is not None:
            self.curves.board.scalars({"behaviour/stage": curriculum.stage.number}, self.step)
        if time.monotonic() - self._updated > SECONDS_PER_UPDATE:
            self._updated = time.monotonic()
            performance = self.curves.recent()["performance"]
            self.run.update(steps=self.step, trials=self.curves.recorder.trials, performance=performance)

    def on_update(self, losses: Mapping[str, float]) -> None:
        """Record the results of an update, and evaluate when due."""
        self.curves.board.scalars(losses, self.step)
        if self.evaluator.due(self.step):
            self.evaluate()

    def between_updates(self) -> None:
        """Advance the curriculum, check early stopping, and write a checkpoint, each when due.

        Raises:
            Stop: if the run was asked to stop, or there is nothing left to do.
        """
        self._follow_curriculum()
        self._check_early_stop()
        performance = self.evaluator.performance(self.step)
        if self.stop.reason is not None or self.checkpoints.due(self.step, performance):
            self.checkpoints.keep(self.step, performance, self.state)
        if self.stop.reason is not None:
            raise Stop

    # -- what follows from it -----------------------------------------------------------------------------------------

    def evaluate(self, last: bool = False) -> fresh_trials.EvaluatedTrials:
        """Evaluate the present policy, at most once per step; a watching function may end the run.

        Args:
            last: whether the run ends; see `Evaluator.evaluate`.
        """
        evaluated = self.evaluator.at(self.step)
        if evaluated is not None:
            return evaluated
        began = time.monotonic()
        evaluated = self.evaluator.evaluate(self.step, last)
        if self.watch is not None and self.stop.reason is None:
            reason = self.watch(self.step, evaluated.summary)
            if reason:
                self.stop.ask(reason)
        self.curves.leave_out(time.monotonic() - began)
        return evaluated

    def _follow_curriculum(self) -> None:
        """Advance to the next stage if the present stage has ended; stop after the last stage."""
        curriculum = self.curriculum
        reason = None if curriculum is None or self.stop.reason is not None else curriculum.ended()
        if curriculum is None or reason is None:
            return
        sentence, recorder = f"{self.step:,} steps: {curriculum.label} ended: {reason}", self.curves.recorder
        if curriculum.is_last:
            curriculum.close(reason)
            self.complete(sentence)
        else:
            stage = curriculum.advance(reason, self.step, recorder.trials, self.clock.times()[0])
            recorder.describe(stage.number, stage.config.task, stage.properties, anew=True)
            self.change_stage(stage)
            self.curves.begin_stage()
            self.curves.display.say(f"{sentence}; now {curriculum.label}")
        self.run.update(stages=curriculum.record())

    def _check_early_stop(self) -> None:
        """Stop if the criterion of the run holds."""
        until = self.until
        if until is not None and self.stop.reason is None and until.due(self.step) and self._holds(until):
            self.evaluate(last=True)
            if self.stop.reason is None:
                self.complete(until.sentence())

    def _holds(self, until: Until) -> bool:
        """Check whether the present policy meets the criterion, with more and more trials until decided."""
        for k, trials in enumerate(until.interim_trials(self.evaluator.trials), start=1):
            evaluated = self.evaluator.on_fresh_trials(trials, self.step, k)
            decided = until.decided(evaluated.table)
            if decided:
                performance, looked = evaluated.summary["performance"], evaluated.summary["trials"]
                until.hold(performance, looked, self.step, self.curves.recorder.trials, self.clock.times()[0])
            if decided is not None:
                return decided
        return False

    def complete(self, reason: str) -> None:
        """Stop the learner for good, with a reason for the record."""
        self.curves.display.say(reason)
        self.stop.ask(reason, complete=True)

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """Show the progress during a block, and close display and curves at its end."""
        display = self.curves.display
        try:
            display.start(self.step)
            yield
        finally:
            display.stop()
            with contextlib.suppress(OSError):
                self.curves.board.close()

    # -- the end ------------------------------------------------------------------------------------------------------

    def close(self, model: BaseAlgorithm, config: ResolvedConfig, status: RunState) -> Summary:
        """Write the model, the last trials and the last evaluation, and return the results.

        Raises:
            UserError: if configuration, record or a part of the trials was taken away while the run went on.
        """
        recorder, finished = self.curves.recorder, status == "finished"
        if finished and self.stop.reason is None and (line := steps_in_words(self.step, config.timesteps)):
            self.curves.display.say(line)
        recorder.flush()
        saving.save_model(model, config, self.run.path / runs.MODEL)
        if (recording := getattr(model, "recording", None)) is not None:
            with atomic_file(self.run.path / READ_OUT) as file:
                np.savez(file, **recording.arrays())
        evaluated = self.evaluate(last=True)
        fresh_trials.measure(evaluated, self.properties)
        fresh_trials.save(evaluated, self.run.path / "eval" / "final")
        if finished:
            self.evaluator.draw()
        self.curves.board.flush()
        for name in (runs.CONFIG, runs.MANIFEST):
            if not (self.run.path / name).is_file():
                raise UserError(f"run folder {self.run.path}: {name} was removed while the run went on")
        recorder.require_parts()
        if finished:
            self.checkpoints.finish()
        until, curriculum = self.until, self.curriculum
        if until is not None:
            evaluated.summary["until"] = until.record()
        self.run.update(
            **provenance.closing(self.clock.times(), status, self.stop.reason or "all steps taken"),
            steps=self.step,
            trials=recorder.trials,
            **{key: evaluated.summary.get(key) for key in (*EVALUATION_RESULTS, *["until"] * (until is not None))},
            **({"stages": curriculum.record()} if curriculum else {}),
        )
        return evaluated.summary

    def abandon(self, status: RunState, reason: str) -> None:
        """Save the present results of a run that failed or was interrupted."""
        with contextlib.suppress(OSError):
            self.curves.recorder.flush()
        closing = provenance.closing(self.clock.times(), status, reason)
        self.run.update(**closing, steps=self.step, trials=self.curves.recorder.trials)

    # -- continuing ---------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, object]:
        """Return the state that the run's records depend on, as plain data and arrays; older records are on disk."""
        curves, evaluator, curriculum, until = self.curves, self.evaluator, self.curriculum, self.until
        return {
            "recorder": curves.recorder.state(),
            "board": curves.board.state(),
            "reported": curves.reported,
            "pending": curves.pending,
            "point": curves.step,
            "evaluated": evaluator.step,
            "evaluations": evaluator.recorded,
            "best": self.checkpoints.best,
            "spent": list(self.clock.times()),
            "curriculum": curriculum.state() if curriculum else None,
            "until": {"probed": until.probed, "reached": until.reached} if until else None,
        }

    def set_state(self, step: int, state: Mapping[str, Any]) -> None:
        """Restore the result of ``state`` at a step; recorder, board and curriculum are restored separately."""
        curves, evaluator, until, criterion = self.curves, self.evaluator, self.until, state.get("until")
        self.step = self.checkpoints.last = step
        self.checkpoints.best = float(state["best"])
        self.clock.add(state["spent"])
        curves.reported, curves.step = int(state["reported"]), int(state["point"])
        curves.pending = {str(name): float(value) for name, value in state["pending"].items()}
        evaluator.step = int(state["evaluated"])
        evaluator.recorded = list(state.get("evaluations", ()))
        if until is not None and criterion:
            until.probed = int(criterion["probed"])
            until.reached = dict(criterion["reached"]) if criterion["reached"] else None
