"""The run loop: what happens to a run folder while a learner learns, whatever the learner."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ngym_cli import evaluation, models, provenance, runs, summary
from ngym_cli.board import Board
from ngym_cli.building import Facts, build_venv, resolve
from ngym_cli.config import RunConfig, streams
from ngym_cli.errors import UserError, one_line
from ngym_cli.learners import build_model, complete, find_algorithm
from ngym_cli.progress import Display, Silent
from ngym_cli.recording import Table, TrialRecorder, concatenate

#: Trials over which the live display averages.
WINDOW = 1_000
#: Fewest steps between two points of a TensorBoard curve.
STEPS_PER_POINT = 2_048
#: Seconds between two updates of the manifest while a run goes on.
SECONDS_PER_UPDATE = 5.0

Numbers = dict[str, Any]


@dataclass
class Outcome:
    """How a run ended.

    Attributes:
        run: its folder.
        status: one of ``runs.STATES``.
        summary: of the evaluation at the end, as in ``ngym_cli.evaluation.summarise``.
    """

    run: runs.Run
    status: str
    summary: Numbers


@dataclass
class Session:
    """A run while it goes on: trials, curves, evaluations and the manifest. A learner reports to it and obeys ``stop``.

    A learner calls ``on_step`` after every step of the batch, ``on_rollout`` when it has gathered what it learns from,
    and ``on_update`` when it has learned.

    Attributes:
        run: the folder.
        config: complete configuration.
        facts: what is known of the task.
        recorder: of the trials.
        board: TensorBoard.
        display: what the user sees.
        policy: gives the present policy, for evaluations.
        stop: why the learner should stop, or None.
    """

    run: runs.Run
    config: RunConfig
    facts: Facts
    recorder: TrialRecorder
    board: Board
    display: Display
    policy: Callable[[], Any]
    stop: str | None = None
    step: int = 0
    _recent: Table = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)
    _point: tuple[int, float] = field(default_factory=lambda: (0, time.monotonic()))
    _updated: float = field(default_factory=time.monotonic)
    _evaluated: int = 0

    def on_step(self, finished: Mapping[str, np.ndarray] | None, step: int) -> bool:
        """Take the trials that ended in a step; return whether to go on.

        Args:
            finished: equally long arrays, or None.
            step: steps taken so far, over all environments.
        """
        self.step = step
        if finished is not None:
            self.recorder.add(finished, step)
        return self.stop is None

    def on_rollout(self) -> None:
        """Add one point to the curves, from the trials since the last point."""
        if self.step - self._point[0] < STEPS_PER_POINT:
            return
        table = self.recorder.collect()
        if not len(table["trial"]):
            return
        now = time.monotonic()
        speed = (self.step - self._point[0]) / max(now - self._point[1], 1e-9)
        self._point = self.step, now
        names = summary.condition_names(self.facts.conditions, table)
        self.board.scalars({**summary.scalars(table, names), "time/steps_per_second": speed}, self.step)
        self._recent = {name: values[-WINDOW:] for name, values in concatenate([self._recent, table]).items()}
        self.display.update(self.step, {**self.recent(), "steps_per_second": speed})
        if now - self._updated > SECONDS_PER_UPDATE:
            self._updated = now
            self.run.update(steps=self.step, trials=self.recorder.trials, performance=self.recent()["performance"])

    def recent(self) -> Numbers:
        """Return the summary of the last trials."""
        return summary.summarise(self._recent)

    def on_update(self, losses: Mapping[str, float]) -> None:
        """Record what an update reported, and evaluate when it is time."""
        self.board.scalars(losses, self.step)
        every = self.config.evaluation.every
        if every and self.step - self._evaluated >= every and self.step < (self.config.timesteps or 0):
            self.evaluate()

    def evaluate(self) -> evaluation.Evaluation:
        """Evaluate the present policy on fresh trials and add the result to the curves."""
        self._evaluated = self.step
        settings = self.config.evaluation
        seed = int(np.random.SeedSequence([streams(self.config.seed)["evaluation"], self.step]).generate_state(1)[0])
        found = evaluation.evaluate(
            self.policy(), self.config, self.facts, settings.trials, seed, settings.deterministic
        )
        found.summary["model_steps"] = self.step
        names = summary.condition_names(self.facts.conditions, found.table)
        values = summary.scalars(found.table, names)
        tags = {tag: f"evaluation/{tag.removeprefix('behaviour/')}" for tag in values}
        self.board.scalars({tags[tag]: value for tag, value in values.items()}, self.step)
        self._draw(found)
        self.display.say(f"{self.step:,} steps: {sentence(found.summary)}")
        return found

    def _draw(self, found: evaluation.Evaluation) -> None:
        from ngym_cli.plotting import condition_figure, styled

        with styled():
            figure = condition_figure(found.table, self.facts.conditions, found.summary)
            if figure is not None:
                self.board.figure("evaluation/psychometric", figure, self.step)


def sentence(found: Mapping[str, Any]) -> str:
    """Return the result of an evaluation in one line."""
    low, high = found["performance_ci"]
    text = f"performance {found['performance']:.3f} [{low:.3f}, {high:.3f}] over {found['trials']:,} fresh trials"
    beside = [f"{name} {found[name]:.3f}" for name in ("chance", "ceiling") if found.get(name) is not None]
    return text + (f" ({', '.join(beside)})" if beside else "")


@contextmanager
def stopping(session: Session) -> Iterator[None]:
    """Let the first Ctrl-C, and a request to terminate, end the run cleanly; a second Ctrl-C ends it at once."""

    def ask(number: int, frame: Any) -> None:
        if session.stop is not None:
            raise KeyboardInterrupt
        session.stop = signal.Signals(number).name
        session.display.say("stopping after this step; the model is kept (Ctrl-C again: at once)")

    old = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def train(
    config: RunConfig,
    root: Path = runs.ROOT,
    name: str | None = None,
    overwrite: bool = False,
    announce: Callable[[RunConfig], None] = lambda _: None,
    make_display: Callable[[RunConfig, Facts, Path], Display] = lambda *_: Silent(),
) -> Outcome:
    """Train an agent and leave a run folder behind.

    Everything is built and tried before the folder is made, so that a mistake in the configuration leaves nothing.

    Args:
        config: what to run.
        root: folder below which the run's own is made.
        name: its name; default from the time and the seed.
        overwrite: replace a run of that name.
        announce: told the configuration once the task is known to work, before torch is imported.
        make_display: returns what shows the progress.

    Raises:
        UserError: if the configuration does not work, the folder cannot be made, or the user's task fails.
    """
    config, facts = resolve(config)
    find_algorithm(config.alg)
    announce(config)
    config = complete(config, facts)
    venv = build_venv(config, int(config.n_envs or 1))
    model = build_model(config, venv)
    begun = models.begin_with(model, config, runs.find(config.init_from, root)) if config.init_from else None
    venv.seed(streams(config.seed)["environments"])
    path = runs.folder_for(root, config.task, config.alg, name, config.seed)
    run = runs.create(path, overwrite)
    runs.write_text(run.path / runs.CONFIG, config.to_toml())
    run.update(**provenance.opening(config, facts), **({"init_from": begun} if begun else {}))
    session = Session(
        run,
        config,
        facts,
        TrialRecorder(run.path / runs.TRIALS, config.task, facts.dt, venv.num_envs, facts.rt_from),
        Board(run.path / "tensorboard"),
        make_display(config, facts, run.path),
        lambda: model.policy,
    )
    session.board.hyperparameters(config.model_dump(), config.to_toml())
    try:
        session.display.start()
        with stopping(session):
            _learn(model, session)
            status = "finished" if session.stop is None else "interrupted"
            found = _close(session, model, status)
    except BaseException as error:
        _abandon(session, error)
        if isinstance(error, Exception) and ":" in config.task and not isinstance(error, UserError):
            raise UserError(f"task {config.task} failed during training: {one_line(error)}") from error
        raise
    finally:
        session.display.stop()
        session.board.close()
        venv.close()
    return Outcome(run, status, found)


def _learn(model: Any, session: Session) -> None:
    """Let a Stable-Baselines3 learner report to the session."""
    from ngym_cli.callback import SessionCallback, keep_losses

    keep_losses(model)
    model.learn(int(session.config.timesteps or 0), callback=SessionCallback(session))


def _close(session: Session, model: Any, status: str) -> Numbers:
    """Write the model, the last trials and the last evaluation."""
    session.recorder.flush()
    models.save_model(model, session.config, session.run.path / runs.MODEL)
    found = session.evaluate()
    evaluation.save(found, session.run.path / "eval" / "final")
    ending = provenance.closing(session.began, status, session.stop or "all steps taken")
    session.run.update(**ending, **_results(session, found))
    return found.summary


def _results(session: Session, found: evaluation.Evaluation) -> Numbers:
    keys = ("performance", "performance_ci", "chance", "ceiling", "reward_per_trial")
    return {
        "steps": session.step,
        "trials": session.recorder.trials,
        **{key: found.summary[key] for key in keys},
    }


def _abandon(session: Session, error: BaseException) -> None:
    """Keep what there is when a run fails, and say why in the manifest."""
    session.recorder.flush()
    status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
    session.run.update(
        **provenance.closing(session.began, status, one_line(error)),
        steps=session.step,
        trials=session.recorder.trials,
    )
