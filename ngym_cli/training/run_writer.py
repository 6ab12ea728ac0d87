"""A run while it goes on: what is written to its folder between the first step and the last."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ngym_cli import runs
from ngym_cli.agents import checkpoints
from ngym_cli.config import RunConfig, streams
from ngym_cli.environments.stack import Facts
from ngym_cli.evaluation import fresh_trials
from ngym_cli.runs import summary
from ngym_cli.runs.trial_table import Table, TrialRecorder, concatenate
from ngym_cli.terminal import REFERENCES
from ngym_cli.training.curriculum import Curriculum, Stage
from ngym_cli.training.progress import Display
from ngym_cli.training.stopping import Until
from ngym_cli.training.tensorboard import Board

#: Trials over which the live display averages.
WINDOW = 1_000
#: Fewest steps between two points of a TensorBoard curve.
STEPS_PER_POINT = 2_048
#: Points that a curve of a short run has, at least.
FEWEST_POINTS = 10
#: Seconds between two updates of the manifest while a run goes on.
SECONDS_PER_UPDATE = 5.0
#: Seconds that a run which is to stop is given to finish its rollout and update, so that it can be resumed from there.
PATIENCE = 10.0

#: What the manifest keeps of each evaluation along training.
EVALUATED = ("trials", "performance", "performance_ci", "deterministic")

Numbers = dict[str, Any]

#: Told of each evaluation, by step and summary; returns why the run should end early, or None.
Watch = Callable[[int, Mapping[str, Any]], str | None]


class Stop(Exception):
    """Ends the learning of a run that was asked to stop, at a point from which it can be resumed exactly."""


@dataclass
class Session:
    """A run while it goes on: trials, curves, evaluations and the manifest. A learner reports to it and obeys ``stop``.

    A learner calls ``on_step`` after every step of the batch, ``on_rollout`` when it has gathered what it learns from,
    ``on_update`` when it has learned, and ``between_updates`` before it goes on.

    Attributes:
        run: the folder.
        config: complete configuration.
        facts: what is known of the task.
        recorder: of the trials.
        board: TensorBoard.
        display: what the user sees.
        policy: gives the present policy, for evaluations.
        write_checkpoint: writes a checkpoint of the present step with the given state of this session.
        watch: told of each evaluation; may end the run early.
        curriculum: the stages of training, or None.
        change_stage: gives the learner the environments of a stage.
        until: the criterion on evaluations that ends the run, or None.
        stop: why the learner should stop, or None.
        complete: whether it stops because a criterion was met: nothing is left to do.
        step: steps taken so far, over all environments.
        reported: step of the last update whose losses were recorded.
        pending: losses that are not yet recorded.
    """

    run: runs.Run
    config: RunConfig
    facts: Facts
    recorder: TrialRecorder
    board: Board
    display: Display
    policy: Callable[[], Any]
    write_checkpoint: Callable[[int, Numbers], Path]
    watch: Watch | None = None
    curriculum: Curriculum | None = None
    change_stage: Callable[[Stage], None] = lambda _: None
    until: Until | None = None
    complete: bool = False
    stop: str | None = None
    step: int = 0
    reported: int = 0
    pending: dict[str, float] = field(default_factory=dict)
    kept: int | None = None
    spent: tuple[float, float] = (0.0, 0.0)
    _best: float = -math.inf
    _recent: Table = field(default_factory=dict)
    _began: tuple[float, float] = field(default_factory=lambda: _clocks())
    _point: tuple[int, float] = field(default_factory=lambda: (0, time.monotonic()))
    _updated: float = field(default_factory=time.monotonic)
    _asked: float = math.inf
    _evaluated: int = 0
    _evaluations: list[Numbers] = field(default_factory=list)
    _found: fresh_trials.Evaluation | None = None

    def on_step(self, finished: Mapping[str, np.ndarray] | None, step: int) -> bool:
        """Take the trials that ended in a step; return whether to go on.

        Args:
            finished: equally long arrays, or None.
            step: steps taken so far, over all environments.
        """
        self.step = step
        if finished is not None:
            self.recorder.add(finished, step)
        return self.stop is None or time.monotonic() - self._asked < PATIENCE

    def ask_to_stop(self, why: str) -> None:
        """Let the learner stop after its next update."""
        self.stop = why
        self._asked = time.monotonic()

    def on_rollout(self) -> None:
        """Add one point to the curves, from the trials since the last point."""
        if self.step - self._point[0] < min(STEPS_PER_POINT, int(self.config.timesteps or 0) // FEWEST_POINTS):
            return
        table = self.recorder.collect()
        if not len(table["trial"]):
            return
        now = time.monotonic()
        speed = (self.step - self._point[0]) / max(now - self._point[1], 1e-9)
        self._point = self.step, now
        if self.curriculum is not None:
            self.curriculum.take(table["performance"])
        names = summary.condition_names(self._present.conditions, table)
        self.board.scalars({**summary.scalars(table, names), "time/steps_per_second": speed}, self.step)
        self._recent = {name: values[-WINDOW:] for name, values in concatenate([self._recent, table]).items()}
        self.display.update(self.step, {**self.recent(), "steps_per_second": speed, **self._stage_numbers()})
        if now - self._updated > SECONDS_PER_UPDATE:
            self._updated = now
            self.run.update(steps=self.step, trials=self.recorder.trials, performance=self.recent()["performance"])

    @property
    def _present(self) -> Facts:
        """What is known of the task that is learned from now; ``facts`` are of the last stage."""
        return self.facts if self.curriculum is None else self.curriculum.stage.facts

    def _stage_numbers(self) -> Numbers:
        if self.curriculum is None:
            return {}
        return {"stage": self.curriculum.label, **self._present.references}

    def recent(self) -> Numbers:
        """Return the summary of the last trials."""
        return summary.summarise(self._recent)

    def on_update(self, losses: Mapping[str, float]) -> None:
        """Record what an update reported, and evaluate when it is time."""
        self.board.scalars(losses, self.step)
        every = self.config.evaluation.every
        if every and self.step - self._evaluated >= every and self.step < (self.config.timesteps or 0):
            self.evaluate()

    def evaluate(self) -> fresh_trials.Evaluation:
        """Evaluate the present policy on fresh trials and add the result to the curves, once at each step."""
        if self._found is not None and self._evaluated == self.step:
            return self._found
        began, self._evaluated = time.monotonic(), self.step
        found = self._on_fresh_trials(int(self.config.evaluation.trials or 0), self.step)
        found.summary["model_steps"] = self.step
        names = summary.condition_names(self.facts.conditions, found.table)
        values = summary.scalars(found.table, names)
        tags = {tag: f"evaluation/{tag.removeprefix('behaviour/')}" for tag in values}
        self.board.scalars({tags[tag]: value for tag, value in values.items()}, self.step)
        self._evaluations.append({"step": self.step, **{key: found.summary[key] for key in EVALUATED}})
        self.run.update(evaluations=self._evaluations)
        self.display.say(f"{self.step:,} steps: {sentence(found.summary)}")
        self._found = found
        why = self.watch(self.step, found.summary) if self.watch is not None and self.stop is None else None
        if why:
            self.ask_to_stop(why)
        steps, moment = self._point
        self._point = steps, moment + time.monotonic() - began  # the speed that is shown is that of learning
        return found

    def _on_fresh_trials(self, trials: int, *place: int) -> fresh_trials.Evaluation:
        """Evaluate the present policy on the task that is to be learned; ``place`` determines the trials."""
        settings = self.config.evaluation
        seed = int(np.random.SeedSequence([streams(self.config.seed)["evaluation"], *place]).generate_state(1)[0])
        goal = self.config.in_stage(-1)
        began = time.monotonic()
        found = fresh_trials.evaluate(
            self.policy(), goal, self.facts, trials, seed, settings.deterministic, progress=self.display.evaluating
        )
        self.display.evaluated(time.monotonic() - began)
        return found

    def holds(self, until: Until) -> bool:
        """Look whether the present policy meets the criterion, with more and more trials as long as that is open."""
        for k, trials in enumerate(until.looks(int(self.config.evaluation.trials or 0)), start=1):
            found = self._on_fresh_trials(trials, self.step, k)
            decided = until.decided(found.table)
            if decided:
                performance, looked = found.summary["performance"], found.summary["trials"]
                until.hold(performance, looked, self.step, self.recorder.trials, self.times()[0])
            if decided is not None:
                return decided
        return False

    def _complete(self, why: str) -> None:
        """Let the learner stop for good."""
        if self.stop is None:
            self.complete = True
            self.display.say(why)
            self.ask_to_stop(why)

    def draw(self) -> None:
        """Add the figure that says most of the last evaluation to TensorBoard; at the end, for it costs a second."""
        from ngym_cli.figures import requests

        drawn = requests.telling(self.run)
        if drawn is not None:
            self.board.figure(f"figures/{drawn[0]}", drawn[1], self.step)

    # -- checkpoints --------------------------------------------------------------------------------------------------

    def between_updates(self) -> None:
        """Go on to the next stage, see whether the agent is good enough, and write a checkpoint, when it is time.

        Raises:
            Stop: if the run was asked to stop, or there is nothing left to do.
        """
        if self.curriculum is not None and self.stop is None:
            self._follow(self.curriculum)
        if self.until is not None and self.stop is None and self.until.due(self.step) and self.holds(self.until):
            self.evaluate()
            self._complete(self.until.sentence())
        performance = self._found.summary["performance"] if self._found and self._evaluated == self.step else -math.inf
        best = performance > self._best
        every = self.config.checkpoint.every
        if best or self.stop is not None or (every and self.step - (self.kept or 0) >= every):
            self._best = max(self._best, performance)
            self.keep(performance if best else None)
        if self.stop is not None:
            raise Stop

    def _follow(self, curriculum: Curriculum) -> None:
        """Go on to the next stage if the present one has ended; after the last, stop."""
        why = curriculum.ended()
        if why is None:
            return
        said = f"{self.step:,} steps: {curriculum.label} ended: {why}"
        if curriculum.is_last:
            curriculum.close(why)
            self._complete(said)
        else:
            stage = curriculum.advance(why, self.step, self.recorder.trials, self.times()[0])
            self.recorder.begin_stage(stage.number, stage.config.task, stage.facts.dt, stage.facts.rt_from)
            self.change_stage(stage)
            self._recent = {}
            self.display.say(f"{said}; now {curriculum.label}")
        self.run.update(stages=curriculum.record())

    def keep(self, performance: float | None = None) -> None:
        """Write a checkpoint of this step, unless there is one.

        Args:
            performance: of the present policy, if it is the best so far.
        """
        folder = self.run.path / checkpoints.FOLDER
        if self.kept != self.step:
            self.kept = self.step
            self.write_checkpoint(self.step, self.state())
        if performance is not None:
            checkpoints.mark_best(folder, folder / checkpoints.folder_of(self.step), self.step, performance)
        checkpoints.prune(folder, self.config.checkpoint.keep)

    def state(self) -> Numbers:
        """Return what the run's records depend on, as plain data and arrays; everything before it is on the disk."""
        return {
            "recorder": self.recorder.state(),
            "board": self.board.state(),
            "reported": self.reported,
            "pending": self.pending,
            "point": self._point[0],
            "evaluated": self._evaluated,
            "evaluations": self._evaluations,
            "best": self._best,
            "spent": list(self.times()),
            "curriculum": self.curriculum.state() if self.curriculum else None,
            "until": self.until.state() if self.until else None,
        }

    def set_state(self, step: int, state: Mapping[str, Any]) -> None:
        """Continue from what ``state`` returned at a step; recorder and board are continued apart."""
        self.step = self.kept = step
        self.reported, self._evaluated = int(state["reported"]), int(state["evaluated"])
        self.pending = {str(name): float(value) for name, value in state["pending"].items()}
        self._point = int(state["point"]), time.monotonic()
        self._evaluations = [dict(row) for row in state.get("evaluations", ())]
        self._best = float(state["best"])
        self.spent = float(state["spent"][0]), float(state["spent"][1])
        if self.until is not None and state.get("until"):
            self.until.set_state(state["until"])

    def times(self) -> tuple[float, float]:
        """Return the seconds that the run took so far, on the clock and of the processor, interruptions left out."""
        (wall, cpu), (began_wall, began_cpu) = _clocks(), self._began
        return self.spent[0] + wall - began_wall, self.spent[1] + cpu - began_cpu


def _clocks() -> tuple[float, float]:
    times = os.times()
    return time.monotonic(), times.user + times.system


def sentence(found: Mapping[str, Any]) -> str:
    """Return the result of an evaluation in one line."""
    low, high = found["performance_ci"]
    text = f"performance {found['performance']:.3f} [{low:.3f}, {high:.3f}] over {found['trials']:,} fresh trials"
    beside = [f"{name} {found[name]:.3f}" for name in REFERENCES if found.get(name) is not None]
    how = "most probable actions" if found["deterministic"] else "sampled actions"
    return f"{text}, {how}" + (f" ({', '.join(beside)})" if beside else "")


@contextmanager
def stopping(session: Session) -> Iterator[None]:
    """Let Ctrl-C, a request to terminate, a closed terminal and a cluster's warning end a run cleanly.

    A second Ctrl-C ends it at once. Under ``nohup``, which ignores the closing of the terminal, so does the run.
    """

    def ask(number: int, frame: Any) -> None:
        if session.stop is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        if session.stop is None:
            session.ask_to_stop(signal.Signals(number).name)
            session.display.say("stopping after this update; the run can be resumed (Ctrl-C again: at once)")

    names = ("SIGINT", "SIGTERM", "SIGUSR1", "SIGHUP") if threading.current_thread() is threading.main_thread() else ()
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    if "SIGHUP" in names and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        numbers.remove(signal.SIGHUP)
    old = {number: signal.signal(number, ask) for number in numbers}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
