"""Perturbations of the units that rank highest by a measure, next to equally many units drawn at random."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from neurogym.analysis.activity import Activity
from neurogym.analysis.intervals import mean_interval
from neurogym.analysis.modules import find_modules, participation
from neurogym.analysis.selectivity import selectivity_table
from neurogym.dynamics import Stack
from ngym_cli.agents.acting import Actor
from ngym_cli.agents.dynamics import system_of
from ngym_cli.agents.perturbation import Perturbation
from ngym_cli.errors import UserError
from ngym_cli.evaluation import fresh_trials
from ngym_cli.runs.conditions import columns_by_default, conditions_of
from ngym_cli.runs.recordings import Recording

if TYPE_CHECKING:
    from ngym_cli.config.model import RunConfig
    from ngym_cli.environments.properties import TaskProperties
    from ngym_cli.environments.quota import Progress
    from ngym_cli.evaluation.fresh_trials import EvaluatedTrials, EvaluationSettings, Policy
    from ngym_cli.runs.records import ControlRecord, EstimateRecord

#: Draws of random units that the units of highest rank are compared with.
DRAWS = 10

#: Measures that come from the activity of the intact network; the others come from the weights.
OF_ACTIVITY = ("selectivity", "variance")


def evaluate(
    policy: Policy,
    config: RunConfig,
    properties: TaskProperties,
    settings: EvaluationSettings,
    progress: Progress | None = None,
) -> EvaluatedTrials:
    """Run an agent on fresh trials, also with units of highest rank perturbed; arguments as of `fresh_trials.evaluate`.

    The same trials are evaluated with equally many random units of the same layer, `DRAWS` times, and intact.

    Returns:
        The evaluation; with ranked units its entry ``control`` has the performance with random units and intact.

    Raises:
        UserError: if the network cannot be ranked by a measure.
    """

    def run(single: EvaluationSettings) -> EvaluatedTrials:
        return fresh_trials.evaluate(policy, config, properties, single, progress)

    measures = {each.by for each in settings.perturbations if each.by is not None}
    if not measures:
        return run(settings)
    fresh_trials.units_of(policy)  # refuses agents without units
    plain = replace(settings, record=(), folder=None, references=False, measured=False, half_width=0.0)
    with tempfile.TemporaryDirectory() as folder:
        recorded = bool(measures & set(OF_ACTIVITY))
        record = ("activity",) if recorded else ()
        intact = run(replace(plain, perturbations=(), record=record, folder=Path(folder)))
        recording = Recording(Path(folder)) if recorded else None
        scores = {by: _scores(by, policy, properties, intact, recording) for by in sorted(measures)}
    network: Any = policy
    layers, _, units = network.initial_state(1)[0].shape
    first = (layers - 1) * units  # numbers of units count through all layers; the top layer is ranked

    def with_units(choose: Callable[[str, int], np.ndarray]) -> tuple[Perturbation, ...]:
        def chosen(by: str, share: float) -> tuple[int, ...]:
            return tuple((first + np.sort(choose(by, max(1, round(share * units))))).tolist())

        return tuple(
            each if each.by is None else replace(each, units=chosen(each.by, each.fraction or 0.0))
            for each in settings.perturbations
        )

    ranked = with_units(lambda by, n: np.argsort(-scores[by], kind="stable")[:n])
    result = run(replace(settings, perturbations=ranked))
    rng = np.random.default_rng(np.random.SeedSequence([settings.seed, DRAWS]))
    draws = [with_units(lambda _, n: rng.choice(units, n, replace=False)) for _ in range(DRAWS)]
    performance = [run(replace(plain, perturbations=draw)).summary["performance"] for draw in draws]
    result.summary["control"] = _record(intact, ranked, draws, performance)
    return result


def _record(
    intact: EvaluatedTrials,
    ranked: Sequence[Perturbation],
    draws: Sequence[Sequence[Perturbation]],
    performance: Sequence[float],
) -> ControlRecord:
    return {
        "draws": [[list(each.units or ()) for each in draw if each.by is not None] for draw in draws],
        "units": sum(len(each.units or ()) for each in ranked if each.by is not None),
        "performance": list(performance),
        "mean": cast("EstimateRecord", mean_interval(performance).to_dict()),
        "intact": intact.summary["performance"],
    }


def _scores(
    by: str, policy: Any, properties: TaskProperties, intact: EvaluatedTrials, recording: Recording | None
) -> np.ndarray:
    """Return the measure of each unit of the top layer, shape (units,).

    Raises:
        UserError: if the measure is undefined, or the same for all units.
    """
    try:
        if recording is None or by not in OF_ACTIVITY:
            matrix = _recurrent(policy)
            scores = participation(matrix, find_modules(matrix)) if by == "participation" else _strength(matrix)
        elif by == "variance":
            scores = np.var(recording["activity"], axis=0, dtype=float)
        else:
            rate = Activity(recording["activity"], recording.offsets, recording.dt).mean_rate()
            conditions = conditions_of(intact.table, columns_by_default(properties.conditions, intact.table))
            known = conditions.index >= 0
            scores = selectivity_table(rate[known], {"condition": conditions.index[known]}).effect[:, 0]
    except ValueError as error:
        raise UserError(f"units cannot be ranked by {by}: {error}") from None
    if not np.ptp(np.nan_to_num(scores)):
        raise UserError(f"units cannot be ranked by {by}: all have the same")
    return cast(np.ndarray, np.nan_to_num(scores))


def _recurrent(policy: Any) -> np.ndarray:
    """Return the strengths of the recurrent connections of the top layer (to, from), summed over gates."""
    actor = policy if isinstance(policy, Actor) else policy.actor()
    system: Any = system_of(actor.networks[0])
    layer: Any = system.layers[-1] if isinstance(system, Stack) else system
    if not hasattr(layer, "recurrent"):
        raise ValueError("the network does not say which weights are recurrent; selectivity and variance need none")
    weights = np.abs(layer.recurrent)
    return np.asarray(weights.reshape(-1, weights.shape[1], weights.shape[1]).sum(axis=0))


def _strength(matrix: np.ndarray) -> np.ndarray:
    """Return the strength of all recurrent connections to and from each unit."""
    return np.asarray(matrix.sum(axis=0) + matrix.sum(axis=1))
