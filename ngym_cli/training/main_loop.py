"""Training a run from the configuration to the last evaluation, and continuing interrupted runs."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ngym_cli import processes, runs
from ngym_cli.agents import checkpoints, saving
from ngym_cli.agents.from_config import build_model, build_venv, learn_from_recording, products_in_torch
from ngym_cli.agents.networks import pruning
from ngym_cli.config.extensions import faulty_reference, find_extension, is_reference, place_of, user_errors
from ngym_cli.config.model import ResolvedConfig, RunConfig
from ngym_cli.config.trust import references
from ngym_cli.environments.properties import TaskProperties, listed_conditions
from ngym_cli.errors import NotFinite, UserError, one_line
from ngym_cli.files import writing
from ngym_cli.runs import provenance
from ngym_cli.runs.records import RunState, Summary
from ngym_cli.runs.trial_recorder import TrialRecorder
from ngym_cli.training import tracking
from ngym_cli.training.curriculum import Curriculum, renew
from ngym_cli.training.curves import Curves, Evaluator
from ngym_cli.training.prepare import ResolvedRun, new_run, reopen
from ngym_cli.training.progress import Display
from ngym_cli.training.session import CheckpointKeeper, EvaluationCallback, TrainingSession
from ngym_cli.training.stopping import Stop, stopping_on_signals

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import VecEnv


@dataclass
class RunResult:
    """Result of a run.

    Attributes:
        run: the run folder.
        status: one of ``runs.RUN_STATES``.
        summary: the final evaluation, as in ``ngym_cli.evaluation.fresh_trials.summarise``.
    """

    run: runs.RunFolder
    status: RunState
    summary: Summary


@dataclass(frozen=True)
class Hooks:
    """Functions that a run calls during training.

    Attributes:
        announce: called with the complete configuration and the properties of the task, before torch is imported.
        make_display: returns the display of the progress.
        watch: called after each evaluation; may end the run early.
        started: called with the folder of a new run once it is complete enough to be listed.
        callbacks: callbacks as objects, which a resumed run does not have.
    """

    announce: Callable[[ResolvedConfig, TaskProperties], None] = lambda *_: None
    make_display: Callable[[ResolvedConfig, TaskProperties, Path], Display] = lambda *_: Display()
    watch: EvaluationCallback | None = None
    started: Callable[[runs.RunFolder], object] = lambda *_: None
    callbacks: Sequence[BaseCallback] = ()


def train(
    config: RunConfig,
    root: Path = runs.RUNS_ROOT,
    name: str | None = None,
    overwrite: bool = False,
    hooks: Hooks | None = None,
) -> RunResult:
    """Prepare a run and train an agent; see `new_run` for the arguments and `start` for the course of a run."""
    return start(new_run(config, root, name, overwrite), hooks)


def start(resolved: ResolvedRun, hooks: Hooks | None = None) -> RunResult:
    """Train an agent and write a run folder.

    The folder is made before torch is imported, so that a run that is killed early is listed and can be resumed. A
    mistake in the configuration leaves nothing behind, and a run that is replaced stays until the new one is built.

    Args:
        resolved: the run.
        hooks: functions that the run calls.

    Raises:
        UserError: if the learner cannot be built, the folder cannot be made or written to, the user's task fails, or a
            number is not finite.
    """
    hooks = hooks or Hooks()
    hooks.announce(resolved.config, resolved.properties)
    with _new_folder(resolved) as make:
        learning = _build(resolved)
        references = resolved.properties.references
    run = make()
    with writing.lock(run.path):
        run.update(**references, **learning.origin)
        hooks.started(run)
        learning = replace(learning, callbacks=[*learning.callbacks, *hooks.callbacks])
        return _learn(run, resolved, learning, hooks)


def resume(run: runs.RunFolder, trust: bool = False, hooks: Hooks | None = None) -> RunResult:
    """Continue an unfinished run from the last checkpoint; without a checkpoint, from the beginning.

    What was recorded after the checkpoint is recorded anew, so that the run ends as if never interrupted.

    Args:
        run: the run folder.
        trust: allow the configuration to name a user's own code.
        hooks: functions that the run calls.

    Raises:
        UserError: if the run is finished, in use, damaged, or fails as in ``start``.
    """
    hooks = hooks or Hooks()
    with writing.lock(run.path):
        runs.clear_leftovers(run.path, below=True)
        manifest = run.manifest()
        if manifest["status"] == "finished":
            raise UserError(f"run {run.path} is finished ({manifest.get('steps')} steps); nothing to resume")
        runs.refuse_if_running_elsewhere(run, manifest)
        resolved = reopen(run, trust)
        hooks.announce(resolved.config, resolved.properties)
        saved, complaints = checkpoints.latest(run.path / checkpoints.CHECKPOINTS_FOLDER)
        learning = _build(resolved, saved)
        missing = {} if saved or "chance" in manifest else resolved.properties.references  # killed while it was built
        with _writing(run):
            checkpoints.discard_after(run.path / checkpoints.CHECKPOINTS_FOLDER, saved.step if saved else -1)
            again = provenance.reopening(manifest, saved.step if saved else 0, resolved.config)
            run.update(**again, **missing, **learning.origin)
        return _learn(run, resolved, learning, hooks, saved, complaints)


@dataclass(frozen=True)
class Learning:
    """Learner of a run with everything that it learns from.

    Attributes:
        model: the learner.
        venv: environments.
        curriculum: course through the stages, or None.
        callbacks: callbacks of the user.
        origin: record of the run whose weights initialised the network, as the entry ``init_from``; or empty.
    """

    model: BaseAlgorithm
    venv: VecEnv
    curriculum: Curriculum | None
    callbacks: Sequence[BaseCallback]
    origin: dict[str, object]


@contextlib.contextmanager
def _new_folder(resolved: ResolvedRun) -> Iterator[Callable[[], runs.RunFolder]]:
    """Make the folder of a run, at once unless it replaces another run, and discard it if the block fails.

    Yields:
        A function that returns the folder; a run that is replaced stays until it is called.
    """
    curriculum = Curriculum(resolved.stages) if resolved.stages else None
    manifest = provenance.opening(resolved.config, resolved.settings, resolved.seeds, resolved.properties)
    manifest |= {"stages": curriculum.record()} if curriculum else {}
    manifest |= {"init_from": {"run": resolved.init_from}} if resolved.init_from else {}

    @functools.cache
    def make() -> runs.RunFolder:
        return runs.create(resolved.path, resolved.overwrite, resolved.toml, manifest, rename=not resolved.is_named)

    missing = [folder for folder in resolved.path.parents if not folder.exists()]
    run = None if resolved.path.exists() and resolved.is_named else make()
    try:
        yield make
    except Exception:
        if run is not None:
            runs.discard(run, missing)
        raise


def _build(resolved: ResolvedRun, saved: checkpoints.Saved | None = None) -> Learning:
    """Build environments and learner, as a checkpoint left them or with the weights of another run.

    Raises:
        UserError: if something does not exist or fit together, or the checkpoint does not fit.
    """
    curriculum = Curriculum(resolved.stages) if resolved.stages else None
    if saved is not None and curriculum is not None:
        with checkpoints.fitting(saved):
            curriculum.set_state(saved.session["curriculum"])
    config = resolved.config
    venv = build_venv(curriculum.stage.config if curriculum else config, config.n_envs)
    model = build_model(config, venv)
    if config.recording is not None:
        learn_from_recording(model, venv, config)
    processes.limit_torch(products_in_torch(config, model))
    origin: dict[str, object] = {}
    if saved is not None:
        checkpoints.restore(saved, model, venv)
    else:
        if resolved.init_from is not None:
            origin["init_from"] = saving.initialise_from(model, config, runs.find(resolved.init_from))
        venv.seed(resolved.seeds["environments"])
    return Learning(model, venv, curriculum, own_callbacks(config), origin)


def rehearse(resolved: ResolvedRun) -> None:
    """Build environments and learner of a run and discard them, so that a plan refuses what the run would refuse.

    Raises:
        UserError: see `start`.
    """
    _build(resolved).venv.close()


def own_callbacks(config: ResolvedConfig) -> list[BaseCallback]:
    """Return a user's own callbacks, each made without arguments.

    Raises:
        UserError: if a reference is not a Stable-Baselines3 callback, or making the callback fails.
    """
    from stable_baselines3.common.callbacks import BaseCallback

    callbacks = []
    for name in config.callbacks:
        cls = find_extension("callback", name)
        if not (isinstance(cls, type) and issubclass(cls, BaseCallback)):
            raise UserError(f"callback {name}: expected path/to/file.py:Class of a Stable-Baselines3 callback")
        with user_errors(f"callback {name}"):
            callbacks.append(cls())
    return callbacks


def _learn(
    run: runs.RunFolder,
    resolved: ResolvedRun,
    learning: Learning,
    hooks: Hooks,
    saved: checkpoints.Saved | None = None,
    complaints: Sequence[str] = (),
) -> RunResult:
    """Learn until the end or until a stop is requested, and write the results.

    Args:
        run: the folder.
        resolved: the run.
        learning: learner and environments.
        hooks: functions that the run calls.
        saved: checkpoint from which the run continues, or None.
        complaints: checkpoints that were passed over, with the reason.
    """
    config = resolved.config
    with contextlib.closing(learning.venv):
        fitting = checkpoints.fitting(saved) if saved else contextlib.nullcontext()
        with _failures(run, config), _writing(run), fitting:
            session = _session(run, resolved, learning, hooks, saved)
        with (
            _failures(run, config, session),
            _writing(run),
            session.shown(),
            stopping_on_signals(session.stop, session.curves.display.say),
        ):
            for line in _first_lines(resolved, learning, complaints):
                session.curves.display.say(line)
            _take_steps(config, learning, session)
            learning.venv.close()  # frees the memory of its trials
            status: RunState = "finished" if session.stop.is_end else "interrupted"
            summary = session.close(learning.model, config, status)
    return RunResult(run, status, summary)


def _first_lines(resolved: ResolvedRun, learning: Learning, complaints: Sequence[str]) -> Iterator[str]:
    """Yield what a user should know before learning begins."""
    yield from (f"passed over: {complaint}" for complaint in complaints)
    if note := getattr(learning.model, "note", ""):
        yield note
    fresh = dict(learning.origin.get("init_from") or ()).get("fresh")  # type: ignore[call-overload]
    if fresh:
        yield f"initial weights are those of {resolved.config.init_from}, except {', '.join(fresh)}"


def _session(
    run: runs.RunFolder, resolved: ResolvedRun, learning: Learning, hooks: Hooks, saved: checkpoints.Saved | None
) -> TrainingSession:
    """Return the session of a new run, or of a run that continues from a checkpoint."""
    config, properties, curriculum = resolved.config, resolved.properties, learning.curriculum
    state = saved.session if saved else {}
    recorder = TrialRecorder.of(run.path / runs.TRIALS, config, properties, learning.venv.num_envs)
    recorder.set_state(state.get("recorder"))
    if curriculum is not None:
        stage = curriculum.stage
        recorder.describe(stage.number, stage.config.task, stage.properties)
    display = hooks.make_display(config, properties, run.path)
    board = tracking.board_of(run, config, state.get("board"), display.say)
    board.describe(properties.fixation_in, properties.rt_from)
    model, venv, folder = learning.model, learning.venv, run.path / checkpoints.CHECKPOINTS_FOLDER
    session = TrainingSession(
        run,
        properties,
        change_stage=lambda stage: renew(model, venv, stage.config, stage.seed),
        curves=Curves(recorder, board, display, config.timesteps),
        evaluator=Evaluator(run, resolved, lambda: model.policy, board, display),
        checkpoints=CheckpointKeeper(folder, config.checkpoint, config.timesteps, model, venv),
        curriculum=curriculum,
        until=resolved.until,
        watch=hooks.watch,
    )
    if saved is None:
        if config.checkpoint.every:
            checkpoints.write_weights(folder, 0, model)
        board.hyperparameters(resolved.settings, resolved.toml)
        board.layout(listed_conditions(properties.conditions))
    else:
        session.set_state(saved.step, state)
    return session


@contextlib.contextmanager
def _failures(run: runs.RunFolder, config: ResolvedConfig, session: TrainingSession | None = None) -> Iterator[None]:
    """Save the present results of a run that fails, and name a user's own code that failed.

    Raises:
        UserError: if a user's code failed or ended the program.
    """
    try:
        yield
    except BaseException as error:
        status: RunState = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        with contextlib.suppress(OSError, UserError):
            if session is None:
                run.update(status=status, exit_reason=one_line(error), ended=runs.now())
            else:
                session.abandon(status, one_line(error))
        if not isinstance(error, Exception | KeyboardInterrupt):  # from a user's task, never from our own code
            raise UserError(f"task {config.task} ended the program: {one_line(error)}") from error
        user_code = [name for name in references(config) if is_reference(name)]
        if isinstance(error, Exception) and user_code and not isinstance(error, UserError):
            name = faulty_reference(error, user_code)
            noun = "task " if name == config.task else ""
            raise UserError(f"{noun}{name} failed during training: {one_line(error)}{place_of(error)}") from error
        raise


@contextlib.contextmanager
def _writing(run: runs.RunFolder) -> Iterator[None]:
    """Report errors while a run is written as a single line, with the last checkpoint."""
    try:
        yield
    except OSError as error:
        checkpoints_kept = checkpoints.found_in(run.path / checkpoints.CHECKPOINTS_FOLDER)
        rest = f"all before {checkpoints_kept[-1].name} is kept" if checkpoints_kept else "no checkpoint yet"
        reason = f"{error.strerror or one_line(error)}; {rest}; ngym run --resume continues it"
        raise UserError(f"cannot write run folder {run.path}: {reason}") from error


def _take_steps(config: ResolvedConfig, learning: Learning, session: TrainingSession) -> None:
    """Let a Stable-Baselines3 learner take its steps and report to the session."""
    from ngym_cli.training.sb3_callback import PruningCallback, SessionCallback, keep_losses

    model, steps = learning.model, config.timesteps
    keep_losses(model)
    try:
        prune = config.network_args.get("prune")
        before = [PruningCallback(pruning.parse(prune))] if prune is not None else []
        callbacks = [*before, SessionCallback(session), *learning.callbacks]
        first = session.checkpoints.last is None
        model.learn(steps - int(model.num_timesteps), callback=callbacks, reset_num_timesteps=first)
        if model.num_timesteps < steps and session.stop.reason is None:
            session.complete(f"{model.num_timesteps:,} steps: ended by a callback")
    except Stop:
        for callback in learning.callbacks:  # the learner calls the ends of callbacks only when it takes all steps
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
