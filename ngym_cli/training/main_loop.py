"""Training a run from the configuration to the last evaluation, and continuing interrupted runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ngym_cli import runs
from ngym_cli.agents import checkpoints, saving, threads
from ngym_cli.agents.algorithms import find_algorithm
from ngym_cli.agents.from_config import build_model, complete
from ngym_cli.config import RunConfig, streams
from ngym_cli.config.parts import faulty_reference, find_own, is_reference, place_of, user_errors
from ngym_cli.config.trust import references
from ngym_cli.environments.defaults import resolve
from ngym_cli.environments.facts import Facts, inspect
from ngym_cli.environments.stack import build_venv
from ngym_cli.errors import NotFinite, UserError, one_line
from ngym_cli.files import locks
from ngym_cli.runs import provenance, summary
from ngym_cli.runs.records import RunState, Summary
from ngym_cli.runs.trial_recorder import TrialRecorder
from ngym_cli.training import tracking
from ngym_cli.training.curriculum import Curriculum, renew, stages_of
from ngym_cli.training.curves import Curves
from ngym_cli.training.evaluator import Evaluator
from ngym_cli.training.progress import Display
from ngym_cli.training.session import CheckpointKeeper, TrainingSession, Watch
from ngym_cli.training.stopping import Stop, Until, stopping_on_signals

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import VecEnv


@dataclass
class RunResult:
    """Result of a run.

    Attributes:
        run: the run folder.
        status: one of ``runs.STATES``.
        summary: the final evaluation, as in ``ngym_cli.evaluation.fresh_trials.summarise``.
    """

    run: runs.RunFolder
    status: RunState
    summary: Summary


@dataclass(frozen=True)
class Hooks:
    """Functions that a run calls during training.

    Attributes:
        announce: called with the complete configuration and the facts of the task, before torch is imported.
        make_display: returns the display of the progress.
        watch: called after each evaluation; may end the run early.
        begun: called with the folder of a new run once it is complete enough to be listed.
    """

    announce: Callable[[RunConfig, Facts], None] = lambda *_: None
    make_display: Callable[[RunConfig, Facts, Path], Display] = lambda *_: Display()
    watch: Watch | None = None
    begun: Callable[[runs.RunFolder], object] = lambda *_: None


def train(
    config: RunConfig,
    root: Path = runs.ROOT,
    name: str | None = None,
    overwrite: bool = False,
    hooks: Hooks | None = None,
    facts: Facts | None = None,
) -> RunResult:
    """Train an agent and write a run folder.

    The folder is made before torch is imported, so that a run that is killed early is listed and can be resumed. A
    mistake in the configuration leaves nothing behind, and a run that is replaced stays until the new one is built.

    Args:
        config: configuration of the run.
        root: folder of all runs.
        name: name of the run; default from the time and the seed.
        overwrite: replace a run of that name.
        hooks: functions that the run calls.
        facts: facts of the task, if the task has been tried and the configuration is resolved.

    Raises:
        UserError: if the configuration does not work, the folder cannot be made or written to, the user's task fails,
            or a number is not finite.
    """
    hooks = hooks or Hooks()
    path = runs.folder_for(root, config.task, config.alg, name, config.seed)
    if name is not None:
        runs.refuse_existing(path, overwrite)
    if facts is None:
        config, facts = resolve(config)
    tracking.check(config)
    config = complete(config, facts)
    hooks.announce(config, facts)
    course = _course(config, facts)
    goal = _goal(course, facts)
    _until(config, goal)  # refused before anything is written
    source = runs.find(config.init_from, root) if config.init_from else None
    manifest = provenance.opening(config, goal, threads.learning()) | ({"stages": course.record()} if course else {})
    if source is not None:  # a resumed run may be started elsewhere, and "latest" would be the run itself
        manifest["init_from"] = {"run": str(source.path.resolve())}

    def make() -> runs.RunFolder:
        return runs.create(path, overwrite, config.to_toml(), manifest, rename=name is None)

    missing = [folder for folder in path.parents if not folder.exists()]
    run = None if path.exists() and name is not None else make()
    try:
        venv = build_venv(config.in_stage(0), int(config.n_envs or 1))
        model = build_model(config, venv)
        begun = saving.initialise_from(model, config, source) if source is not None else None
        venv.seed(streams(config.seed)["environments"])
        callbacks = _own_callbacks(config)
        references = goal.references
    except Exception:
        if run is not None:
            runs.discard(run, missing)
        raise
    run = run or make()
    with locks.lock(run.path):
        run.update(**references, **({"init_from": begun} if begun else {}))
        hooks.begun(run)
        return _go(_Parts(run, config, goal, model, venv, hooks, course, callbacks))


def resume(run: runs.RunFolder, trust: bool = False, hooks: Hooks | None = None) -> RunResult:
    """Continue an unfinished run from the last checkpoint; without a checkpoint, from the beginning.

    What was recorded after the checkpoint is recorded anew, so that the run ends as if never interrupted.

    Args:
        run: the run folder.
        trust: allow the configuration to name a user's own code.
        hooks: functions that the run calls.

    Raises:
        UserError: if the run is finished, in use, damaged, or fails as in ``train``.
    """
    hooks = hooks or Hooks()
    with locks.lock(run.path):
        runs.clear_leftovers(run.path, below=True)
        manifest = run.manifest()
        if manifest["status"] == "finished":
            raise UserError(f"run {run.path} is finished ({manifest.get('steps')} steps); there is nothing to resume")
        runs.refuse_if_running_elsewhere(run, manifest)
        config = run.config(trust)
        facts = inspect(config)
        find_algorithm(config.alg)
        hooks.announce(config, facts)
        saved, complaints = checkpoints.latest(run.path / checkpoints.FOLDER)
        with checkpoints.fitting(saved):
            course = _course(config, facts, saved)
        venv = build_venv(course.stage.config if course else config, int(config.n_envs or 1))
        model = build_model(config, venv)
        goal = _goal(course, facts)
        begun: dict[str, object] = {}
        if saved is not None:
            checkpoints.restore(saved, model, venv)
        else:
            if "chance" not in manifest:  # the run was killed while the learner was built
                begun.update(goal.references)
            if config.init_from:
                recorded = (manifest.get("init_from") or {}).get("run", config.init_from)
                begun["init_from"] = saving.initialise_from(model, config, runs.find(str(recorded)))
            venv.seed(streams(config.seed)["environments"])
        callbacks = _own_callbacks(config)
        with _writing(run):
            checkpoints.discard_after(run.path / checkpoints.FOLDER, saved.step if saved else -1)
            run.update(**provenance.reopening(manifest, saved.step if saved else 0, threads.learning()), **begun)
        return _go(_Parts(run, config, goal, model, venv, hooks, course, callbacks), saved, complaints)


def _course(config: RunConfig, facts: Facts, saved: checkpoints.Saved | None = None) -> Curriculum | None:
    """Return the curriculum of a configuration, restored from a checkpoint if given; None without stages."""
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


def _own_callbacks(config: RunConfig) -> list[BaseCallback]:
    """Return a user's own callbacks, each made without arguments.

    Raises:
        UserError: if a reference is not a Stable-Baselines3 callback, or making the callback fails.
    """
    from stable_baselines3.common.callbacks import BaseCallback

    found = []
    for name in config.callbacks:
        cls = find_own("callback", name)
        if not (isinstance(cls, type) and issubclass(cls, BaseCallback)):
            raise UserError(f"callback {name}: expected path/to/file.py:Class of a Stable-Baselines3 callback")
        with user_errors(f"callback {name}"):
            found.append(cls())
    return found


def _goal(course: Curriculum | None, facts: Facts) -> Facts:
    """Return the properties of the task of the last stage, which is to be learned."""
    return course.stages[-1].facts if course else facts


@dataclass(frozen=True)
class _Parts:
    """Parts of a run that exist before the start."""

    run: runs.RunFolder
    config: RunConfig
    facts: Facts
    model: BaseAlgorithm
    venv: VecEnv
    hooks: Hooks
    course: Curriculum | None
    callbacks: Sequence[BaseCallback]

    def session(self, saved: checkpoints.Saved | None) -> TrainingSession:
        """Return the session of a new run, or of a run that continues from a checkpoint."""
        path, facts, state = self.run.path, self.facts, saved.session if saved else {}
        recorder = TrialRecorder.of(path / runs.TRIALS, self.config, facts, self.venv.num_envs)
        recorder.set_state(state.get("recorder"))
        if self.course is not None:
            stage = self.course.stage
            recorder.describe(stage.number, stage.config.task, stage.facts.dt, stage.facts.rt_from)
        display = self.hooks.make_display(self.config, facts, path)
        board = tracking.board_of(self.run, self.config, state.get("board"), display.say)
        stages, folder = self.course.stages if self.course else (), path / checkpoints.FOLDER

        def write(step: int, state: dict[str, object]) -> Path:
            return checkpoints.write(folder, step, self.model, self.venv, state)

        session = TrainingSession(
            self.run,
            facts,
            change_stage=lambda stage: renew(self.model, self.venv, stage.config, stage.seed),
            curves=Curves(recorder, board, display, int(self.config.timesteps or 0)),
            evaluator=Evaluator(self.run, self.config, facts, lambda: self.model.policy, board, display, stages),
            checkpoints=CheckpointKeeper(folder, self.config.checkpoint, write),
            curriculum=self.course,
            until=_until(self.config, facts),
            watch=self.hooks.watch,
        )
        if saved is None:
            board.hyperparameters(self.config.model_dump(), self.config.to_toml())
            board.layout(summary.listed_conditions(facts.conditions))
        else:
            session.set_state(saved.step, state)
        return session


def _go(parts: _Parts, saved: checkpoints.Saved | None = None, complaints: list[str] | None = None) -> RunResult:
    """Learn until the end or until a stop is requested, and write the results."""
    session: TrainingSession | None = None
    try:
        with _writing(parts.run):
            with checkpoints.fitting(saved):
                session = parts.session(saved)
            display = session.curves.display
            display.start(session.step)
            for complaint in complaints or ():
                display.say(f"passed over: {complaint}")
            if note := getattr(parts.model, "note", ""):
                display.say(note)
            fresh = (parts.run.manifest().get("init_from") or {}).get("fresh") if saved is None else None
            if fresh:
                display.say(f"initial weights are those of {parts.config.init_from}, except {', '.join(fresh)}")
            with stopping_on_signals(session.stop, display.say):
                _learn(parts, session)
                parts.venv.close()  # frees the memory of its trials
                status: RunState = "finished" if session.stop.reason is None or session.stop.complete else "interrupted"
                found = session.close(parts.model, parts.config, status)
    except BaseException as error:
        _abandon(parts.run, session, error)
        if not isinstance(error, Exception | KeyboardInterrupt):  # from a user's task, never from our own code
            raise UserError(f"task {parts.config.task} ended the program: {one_line(error)}") from error
        own = [name for name in references(parts.config) if is_reference(name)]
        if isinstance(error, Exception) and own and not isinstance(error, UserError):
            name = faulty_reference(error, own)
            noun = "task " if name == parts.config.task else ""
            raise UserError(f"{noun}{name} failed during training: {one_line(error)}{place_of(error)}") from error
        raise
    finally:
        if session is not None:
            session.curves.display.stop()
            with contextlib.suppress(OSError):
                session.curves.board.close()
        parts.venv.close()
    return RunResult(parts.run, status, found)


def _abandon(run: runs.RunFolder, session: TrainingSession | None, error: BaseException) -> None:
    """Save the present results of a failed run, with the reason in the manifest."""
    status: RunState = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
    with contextlib.suppress(OSError, UserError):
        if session is None:
            run.update(status=status, exit_reason=one_line(error), ended=runs.now())
        else:
            session.abandon(status, one_line(error))


@contextlib.contextmanager
def _writing(run: runs.RunFolder) -> Iterator[None]:
    """Report errors while a run is written as a single line, with the last checkpoint."""
    try:
        yield
    except OSError as error:
        kept = checkpoints.found_in(run.path / checkpoints.FOLDER)
        rest = f"all before {kept[-1].name} is kept" if kept else "there is no checkpoint yet"
        reason = f"{error.strerror or one_line(error)}; {rest}; ngym run --resume continues it"
        raise UserError(f"cannot write run folder {run.path}: {reason}") from error


def _learn(parts: _Parts, session: TrainingSession) -> None:
    """Let a Stable-Baselines3 learner report to the session."""
    from ngym_cli.training.sb3_callback import SessionCallback, keep_losses

    model = parts.model
    keep_losses(model)
    steps = int(parts.config.timesteps or 0)
    try:
        callbacks = [SessionCallback(session), *parts.callbacks]
        first = session.checkpoints.last is None
        model.learn(steps - int(model.num_timesteps), callback=callbacks, reset_num_timesteps=first)
        if model.num_timesteps < steps and session.stop.reason is None:
            session.complete(f"{model.num_timesteps:,} steps: ended by a callback")
    except Stop:
        for callback in parts.callbacks:  # the learner calls the ends of callbacks only when it takes all steps
            callback.on_training_end()
    except NotFinite as error:
        trial = session.curves.recorder.count(error.env) + 1
        raise UserError(f"{_after(model)}: {error} in its trial {trial:,}; training stopped") from error
    except FloatingPointError as error:
        raise UserError(f"{_after(model)}: {error}; training stopped") from error
    except (ValueError, RuntimeError) as error:
        bad = checkpoints.not_finite({f"policy/{name}": value for name, value in model.policy.state_dict().items()})
        if bad is None:
            raise
        raise UserError(f"{_after(model)}: {bad} is not finite; training stopped") from error


def _after(model: BaseAlgorithm) -> str:
    return f"after {model.num_timesteps:,} steps"
