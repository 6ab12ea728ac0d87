"""Training a run from its configuration to its last evaluation, and continuing one that was interrupted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ngym_cli import runs
from ngym_cli.agents import checkpoints, saving
from ngym_cli.agents.from_config import build_model, complete, find_algorithm
from ngym_cli.config import RunConfig, streams
from ngym_cli.environments.stack import Facts, build_venv, inspect, resolve
from ngym_cli.errors import NotFinite, UserError, one_line
from ngym_cli.evaluation import fresh_trials
from ngym_cli.files import locks
from ngym_cli.runs import provenance, summary
from ngym_cli.runs.trial_table import TrialRecorder
from ngym_cli.training import tracking
from ngym_cli.training.curriculum import Curriculum, renew, stages_of
from ngym_cli.training.progress import Display, Silent
from ngym_cli.training.run_writer import Numbers, Session, Stop, Watch, stopping
from ngym_cli.training.stopping import Until

MakeDisplay = Callable[[RunConfig, Facts, Path], Display]
Announce = Callable[[RunConfig], None]


@dataclass
class Outcome:
    """How a run ended.

    Attributes:
        run: its folder.
        status: one of ``runs.STATES``.
        summary: of the evaluation at the end, as in ``ngym_cli.evaluation.fresh_trials.summarise``.
    """

    run: runs.Run
    status: str
    summary: Numbers


def train(
    config: RunConfig,
    root: Path = runs.ROOT,
    name: str | None = None,
    overwrite: bool = False,
    announce: Announce = lambda _: None,
    make_display: MakeDisplay = lambda *_: Silent(),
    watch: Watch | None = None,
) -> Outcome:
    """Train an agent and leave a run folder behind.

    Everything is built and tried before the folder is made, so that a mistake in the configuration leaves nothing.

    Args:
        config: what to run.
        root: folder below which the run's own is made.
        name: its name; default from the time and the seed.
        overwrite: replace a run of that name.
        announce: told the complete configuration before torch is imported.
        make_display: returns what shows the progress.
        watch: told of each evaluation; may end the run early.

    Raises:
        UserError: if the configuration does not work, the folder cannot be made or written to, the user's task fails,
            or a number is not finite.
    """
    path = runs.folder_for(root, config.task, config.alg, name, config.seed)
    if name is not None:
        runs.refuse_existing(path, overwrite)
    config, facts = resolve(config)
    tracking.check(config)
    config = complete(config, facts)
    announce(config)
    course = _course(config, facts)
    _until(config, _goal(course, facts))  # refused before anything is written
    venv = build_venv(config.in_stage(0), int(config.n_envs or 1))
    model = build_model(config, venv)
    begun = saving.begin_with(model, config, runs.find(config.init_from, root)) if config.init_from else None
    venv.seed(streams(config.seed)["environments"])
    manifest = provenance.opening(config, _goal(course, facts)) | ({"init_from": begun} if begun else {})
    manifest |= {"stages": course.record()} if course else {}
    run = runs.create(path, overwrite, config.to_toml(), manifest, rename=name is None)
    with locks.held(run.path):
        return _go(_Parts(run, config, _goal(course, facts), model, venv, make_display, watch, course))


def resume(
    run: runs.Run,
    trust: bool = False,
    announce: Announce = lambda _: None,
    make_display: MakeDisplay = lambda *_: Silent(),
    watch: Watch | None = None,
) -> Outcome:
    """Continue a run that did not finish from its last checkpoint; without one, from its beginning.

    What was recorded after the checkpoint is recorded anew, so that the run ends as if never interrupted.

    Args:
        run: its folder.
        trust: let its record name a user's own code.
        announce: told the configuration once the task is known to work, before torch is imported.
        make_display: returns what shows the progress.
        watch: told of each evaluation; may end the run early.

    Raises:
        UserError: if the run is finished, in use, damaged, or fails as in ``train``.
    """
    with locks.held(run.path):
        runs.clear_leftovers(run.path, below=True)
        manifest = run.manifest()
        if manifest["status"] == "finished":
            raise UserError(f"run {run.path} is finished ({manifest.get('steps')} steps); there is nothing to resume")
        runs.refuse_elsewhere(run, manifest)
        config = run.config(trust)
        facts = inspect(config)
        find_algorithm(config.alg)
        announce(config)
        saved, complaints = checkpoints.latest(run.path / checkpoints.FOLDER)
        with checkpoints.fitting(saved):
            course = _course(config, facts, saved)
        venv = build_venv(course.stage.config if course else config, int(config.n_envs or 1))
        model = build_model(config, venv)
        begun = {}
        if saved is not None:
            checkpoints.restore(saved, model, venv)
        else:
            if config.init_from:
                begun = {"init_from": saving.begin_with(model, config, runs.find(config.init_from))}
            venv.seed(streams(config.seed)["environments"])
        with _writing(run):
            checkpoints.discard_after(run.path / checkpoints.FOLDER, saved.step if saved else -1)
            run.update(**provenance.reopening(manifest, saved.step if saved else 0), **begun)
        parts = _Parts(run, config, _goal(course, facts), model, venv, make_display, watch, course)
        return _go(parts, saved, complaints)


def _course(config: RunConfig, facts: Facts, saved: checkpoints.Saved | None = None) -> Curriculum | None:
    """Return the curriculum of a configuration, as far as a checkpoint says; None if there are no stages."""
    if not config.stages:
        return None
    course = Curriculum(stages_of(config, facts))
    if saved is not None:
        course.set_state(saved.session["curriculum"])
    return course


def _until(config: RunConfig, facts: Facts) -> Until | None:
    """Return the criterion that ends a run, or None.

    Raises:
        UserError: if it needs a ceiling that is not known.
    """
    return Until.asked(config.until, config.until_performance, facts, int(config.timesteps or 0))


def _goal(course: Curriculum | None, facts: Facts) -> Facts:
    """Return what is known of the task that is to be learned: that of the last stage."""
    return course.stages[-1].facts if course else facts


@dataclass(frozen=True)
class _Parts:
    """What a run is made of before it starts."""

    run: runs.Run
    config: RunConfig
    facts: Facts
    model: Any
    venv: Any
    make_display: MakeDisplay
    watch: Watch | None
    course: Curriculum | None

    def session(self, saved: checkpoints.Saved | None) -> Session:
        """Return the session of a new run, or of one that goes on from a checkpoint."""
        path, facts, state = self.run.path, self.facts, saved.session if saved else {}
        linked = facts.carries or self.config.reset_state == "never"
        recorder = TrialRecorder(
            path / runs.TRIALS, self.config.task, facts.dt, self.venv.num_envs, facts.rt_from, linked
        )
        recorder.set_state(state.get("recorder"))
        if self.course is not None:
            stage = self.course.stage
            recorder.describe(stage.number, stage.config.task, stage.facts.dt, stage.facts.rt_from)
        display = self.make_display(self.config, facts, path)
        session = Session(
            self.run,
            self.config,
            facts,
            recorder,
            tracking.board_of(self.run, self.config, state.get("board"), display.say),
            display,
            lambda: self.model.policy,
            self._write_checkpoint,
            self.watch,
            self.course,
            lambda stage: renew(self.model, self.venv, stage.config, stage.seed),
            _until(self.config, self.facts),
        )
        if saved is None:
            session.board.hyperparameters(self.config.model_dump(), self.config.to_toml())
            session.board.layout(summary.listed_conditions(facts.conditions))
        else:
            session.set_state(saved.step, state)
        return session

    def _write_checkpoint(self, step: int, state: Numbers) -> Path:
        return checkpoints.write(self.run.path / checkpoints.FOLDER, step, self.model, self.venv, state)


def _go(parts: _Parts, saved: checkpoints.Saved | None = None, complaints: list[str] | None = None) -> Outcome:
    """Learn until the end or until asked to stop, and write what came out."""
    session: Session | None = None
    try:
        with _writing(parts.run):
            with checkpoints.fitting(saved):
                session = parts.session(saved)
            session.display.start(session.step)
            for complaint in complaints or ():
                session.display.say(f"passed over: {complaint}")
            with stopping(session):
                _learn(parts.model, session)
                status = "finished" if session.stop is None or session.complete else "interrupted"
                found = _close(session, parts.model, status)
    except BaseException as error:
        _abandon(parts.run, session, error)
        if not isinstance(error, Exception | KeyboardInterrupt):  # of a user's task: no code of ours ends in this way
            raise UserError(f"task {parts.config.task} ended the program: {one_line(error)}") from error
        if isinstance(error, Exception) and ":" in parts.config.task and not isinstance(error, UserError):
            raise UserError(f"task {parts.config.task} failed during training: {one_line(error)}") from error
        raise
    finally:
        if session is not None:
            session.display.stop()
            with contextlib.suppress(OSError):
                session.board.close()
        parts.venv.close()
    return Outcome(parts.run, status, found)


@contextlib.contextmanager
def _writing(run: runs.Run) -> Iterator[None]:
    """Say in one line what kept a run from being written, and that nothing is lost."""
    try:
        yield
    except OSError as error:
        kept = checkpoints.found_in(run.path / checkpoints.FOLDER)
        rest = f"all before {kept[-1].name} is kept" if kept else "there is no checkpoint yet"
        reason = error.strerror or one_line(error)
        raise UserError(
            f"cannot write run folder {run.path}: {reason}; {rest}; ngym run --resume continues it"
        ) from error


def _learn(model: Any, session: Session) -> None:
    """Let a Stable-Baselines3 learner report to the session."""
    from ngym_cli.training.sb3_callback import SessionCallback, keep_losses

    keep_losses(model)
    left = int(session.config.timesteps or 0) - int(model.num_timesteps)
    try:
        model.learn(left, callback=SessionCallback(session), reset_num_timesteps=session.kept is None)
    except Stop:
        return
    except NotFinite as error:
        trial = session.recorder.count(error.env) + 1
        raise UserError(f"{_after(model)}: {error} in its trial {trial:,}; training stopped") from error
    except FloatingPointError as error:
        raise UserError(f"{_after(model)}: {error}; training stopped") from error
    except (ValueError, RuntimeError) as error:
        bad = checkpoints.not_finite({f"policy/{name}": value for name, value in model.policy.state_dict().items()})
        if bad is None:
            raise
        raise UserError(f"{_after(model)}: {bad} is not finite; training stopped") from error


def _after(model: Any) -> str:
    return f"after {model.num_timesteps:,} steps"


def _close(session: Session, model: Any, status: str) -> Numbers:
    """Write the model, the last trials and the last evaluation."""
    session.recorder.flush()
    saving.save_model(model, session.config, session.run.path / runs.MODEL)
    found = session.evaluate()
    fresh_trials.save(found, session.run.path / "eval" / "final")
    if status == "finished":
        session.draw()
    session.board.flush()
    _require_whole(session)
    if status == "finished":
        checkpoints.slim(session.run.path / checkpoints.FOLDER)
    ending = provenance.closing(session.times(), status, session.stop or "all steps taken")
    session.run.update(**ending, **_results(session, found))
    return {**found.summary, **({"until": session.until.record()} if session.until else {})}


def _require_whole(session: Session) -> None:
    """Make sure that nothing was taken away while the run went on.

    Raises:
        UserError: if its configuration, its record or a part of its trials is missing.
    """
    for name in (runs.CONFIG, runs.MANIFEST):
        if not (session.run.path / name).is_file():
            raise UserError(f"run folder {session.run.path}: {name} was removed while the run went on")
    session.recorder.require_parts()


def _results(session: Session, found: fresh_trials.Evaluation) -> Numbers:
    keys = ("performance", "performance_ci", "chance", "blind", "ceiling", "reward_per_trial")
    return {
        "steps": session.step,
        "trials": session.recorder.trials,
        **{key: found.summary[key] for key in keys},
        **({"until": session.until.record()} if session.until else {}),
        **({"stages": session.curriculum.record()} if session.curriculum else {}),
    }


def _abandon(run: runs.Run, session: Session | None, error: BaseException) -> None:
    """Keep what there is when a run fails, and say why in the manifest."""
    status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
    with contextlib.suppress(OSError, UserError):
        if session is None:
            run.update(status=status, exit_reason=one_line(error), ended=runs.now())
            return
        with contextlib.suppress(OSError):
            session.recorder.flush()
        ending = provenance.closing(session.times(), status, one_line(error))
        run.update(**ending, steps=session.step, trials=session.recorder.trials)
