"""Training and simulation from Python: `train`, `resume` and `simulate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ngym_cli import runs
from ngym_cli.api import running, settings
from ngym_cli.api.keywords import PARTS, keyword_options, listed, request_of, stages_of, takes
from ngym_cli.api.references import refuse_while_importing
from ngym_cli.api.settings import Part, ValuesByName, Wrappers
from ngym_cli.api.trained import Run
from ngym_cli.errors import UserError
from ngym_cli.evaluation.request import OF_NETWORKS, EvalRequest
from ngym_cli.fitting import folder as fits
from ngym_cli.fitting.stored_tables import stored_table
from ngym_cli.training.request import RunRequest

if TYPE_CHECKING:
    from ngym_cli.api.options import SimulateOptions, TrainOptions


@takes(RunRequest, ("resume",))
def train(
    task: Part | None = None,
    wrappers: Wrappers | None = None,
    network: Part | None = None,
    *,
    stages: Sequence[ValuesByName] | None = None,
    progress: bool = True,
    **options: Unpack[TrainOptions],
) -> Run:
    """Train an agent, keep everything in a run folder, and return the run.

    An interruption (Ctrl-C, the stop button of a notebook) ends training after the current update; the returned run has
    the status ``interrupted``, and ``run.resume()`` continues it.

    Args:
        task: name of a task, or a class of your own (``RDM-v0``).
        wrappers: as on the command line, or a list of names, classes and pairs with a dictionary of arguments.
        network: name of a network, or a cell of your own.
        stages: stages of a curriculum, each with the arguments that differ, in order.
        progress: show a progress bar.
        **options: options of ``ngym run``; tables such as ``task_args`` and ``hyperparameters`` are dictionaries.

    Raises:
        UserError: on anything wrong in the settings.

    Example:
        >>> run = train("RDM-v0", "pass_reward,pass_action", "gru", timesteps=1e5)  # doctest: +SKIP
        >>> run.evaluate(task_args={"cohs": [4, 20]}).plot("psychometric")  # doctest: +SKIP
    """
    refuse_while_importing()
    values: dict[str, Any] = {"task": task, "wrappers": wrappers, "network": network, **options}
    _refuse_several(values)
    several = listed(values.pop("callbacks", None) or [])
    values["callbacks"] = [each for each in several if isinstance(each, str | type)] or None
    objects = running.callbacks_of([each for each in several if not isinstance(each, str | type)])
    request = request_of(RunRequest, values, ("resume",))
    if stages is not None:
        request = request.model_copy(update={"settings": {**request.settings, "stages": stages_of(stages)}})
    path = running.start(request, progress, objects)
    return Run(path, trust=True)  # all code that it names was passed here, or trusted when the file was read


def _refuse_several(arguments: Mapping[str, object]) -> None:
    """Refuse several values of an argument of which a run has one.

    Raises:
        UserError: names the function that takes several.
    """
    options = keyword_options(RunRequest)
    for name, values in arguments.items():
        option = options.get(name)
        is_single = name in PARTS and name != "callbacks"
        is_single |= option is not None and bool(option.table) and option.kind in ("number", "whole", "switch")
        if is_single and isinstance(values, list | tuple | range | set):
            raise UserError(
                f"{name}: a run has one, not {len(values)}; "
                f"ngym_cli.sweep({name}={values!r}) trains a run for each and returns their results together"
            )


@takes()
def resume(
    run: str | Path = "latest", runs_root: str | Path = runs.RUNS_ROOT, *, trust: bool = False, progress: bool = True
) -> Run:
    """Continue an interrupted run from the last checkpoint and return the run.

    Args:
        run: run folder, name of a run, or ``latest``.
        runs_root: folder of all runs.
        trust: accept user code named in the run's record.
        progress: show a progress bar.

    Raises:
        UserError: if the run does not exist, is finished or in use.
    """
    return Run(running.go_on(runs.find(str(run), Path(runs_root)), trust, progress), trust)


@takes(EvalRequest, ("run", "simulate", *OF_NETWORKS, "lesion", "silence", "clamp", "noise"))
def simulate(
    fit: str | Path | Mapping[str, object],
    task: settings.Part,
    wrappers: settings.Wrappers | None = None,
    *,
    runs_root: str | Path = runs.RUNS_ROOT,
    **request: Unpack[SimulateOptions],
) -> Run:
    """Let a fitted model act in a task, as ``ngym eval FIT --simulate TASK``.

    Args:
        fit: folder or name of a fit, ``latest``, or the result of `ngym_cli.fit`.
        task: name of the task, or a class.
        wrappers: wrapper stack.
        runs_root: folder of all runs.
        **request: options of ``ngym eval`` for fitted models, and settings of the task.

    Returns:
        The simulation: a run with one evaluation.

    Raises:
        UserError: if the fit keeps no such model, or the task does not suit the model.
    """
    from ngym_cli.evaluation import simulation

    root = Path(runs_root)
    if request.get("compare") is not None:
        request["compare"] = stored_table(request["compare"], root)
    eval_request = request_of(EvalRequest, {"simulate": task, "wrappers": wrappers, **request})
    fitted = fits.find(str(fit["path"] if isinstance(fit, Mapping) else fit), root)
    _, evaluation = simulation.simulate(fitted, root, eval_request)
    return Run(evaluation.parent.parent)
