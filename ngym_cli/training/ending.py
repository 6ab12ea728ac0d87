"""End of a run: records written at a regular end, an early end or an error."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from ngym_cli import runs
from ngym_cli.agents import checkpoints, saving
from ngym_cli.config import RunConfig
from ngym_cli.errors import UserError, one_line
from ngym_cli.evaluation import fresh_trials
from ngym_cli.runs import provenance
from ngym_cli.training.session import Metrics, Session

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm


def close(session: Session, model: BaseAlgorithm, config: RunConfig, status: str) -> Metrics:
    """Write the model, the last trials and the last evaluation."""
    session.curves.recorder.flush()
    saving.save_model(model, config, session.run.path / runs.MODEL)
    found = session.evaluate()
    fresh_trials.measure(found, session.facts)
    fresh_trials.save(found, session.run.path / "eval" / "final")
    if status == "finished":
        session.evaluator.draw()
    session.curves.board.flush()
    _require_whole(session)
    if status == "finished":
        checkpoints.keep_only_weights(session.run.path / checkpoints.FOLDER)
    said = provenance.closing(session.clock.times(), status, session.stop.reason or "all steps taken")
    session.run.update(**said, **_results(session, found))
    return {**found.summary, **_criterion(session)}


def _require_whole(session: Session) -> None:
    """Make sure that nothing was taken away while the run went on.

    Raises:
        UserError: if its configuration, its record or a part of its trials is missing.
    """
    for name in (runs.CONFIG, runs.MANIFEST):
        if not (session.run.path / name).is_file():
            raise UserError(f"run folder {session.run.path}: {name} was removed while the run went on")
    session.curves.recorder.require_parts()


def _results(session: Session, found: fresh_trials.Evaluation) -> Metrics:
    keys = ("performance", "performance_ci", "chance", "blind", "ceiling", "reward_per_trial")
    return {
        "steps": session.step,
        "trials": session.curves.recorder.trials,
        **{key: found.summary[key] for key in keys},
        **_criterion(session),
        **({"stages": session.plan.curriculum.record()} if session.plan.curriculum else {}),
    }


def _criterion(session: Session) -> Metrics:
    return {"until": session.plan.until.record()} if session.plan.until else {}


def abandon(run: runs.Run, session: Session | None, error: BaseException) -> None:
    """Save the present results of a failed run, with the reason in the manifest."""
    status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
    with contextlib.suppress(OSError, UserError):
        if session is None:
            run.update(status=status, exit_reason=one_line(error), ended=runs.now())
            return
        with contextlib.suppress(OSError):
            session.curves.recorder.flush()
        said = provenance.closing(session.clock.times(), status, one_line(error))
        run.update(**said, steps=session.step, trials=session.curves.recorder.trials)
