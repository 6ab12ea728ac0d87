"""Recovery: simulate from each fitted model, fit all models, compare parameters and models."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from neurogym.behaviour.models.base import Fitted, Model, Problem, score_of
from neurogym.behaviour.simulate import simulate, world_like
from neurogym.behaviour.table import Behaviour
from ngym_cli.fitting.folder import RecoveryRecord
from ngym_cli.fitting.registry import unfit

#: Trials of a simulated subject, and the s.d. (in the unbounded scale) of parameters around those of a single subject.
TRIALS, SPREAD = (300, 1000), 0.7


def recover(
    models: Mapping[str, Model],
    table: Behaviour,
    n: int,
    seed: int,
    progress: Callable[[str, int, int], None],
) -> RecoveryRecord:
    """Return parameter recovery and the confusion matrix of models.

    Simulated subjects have the parameters of the fitted ones; those of models with few parameters are spread around
    them. A data set is said to come from the model with the lowest Bayesian information criterion; models without
    a list of parameters, such as networks, only generate and are left out of the comparison, and so are models that the
    simulated data do not suit, such as models of times for data of models without.

    Args:
        models: by label.
        table: data of the fits, which also determine the environments of the simulations.
        n: simulations of each model.
        seed: random seed.
        progress: called with the label of each model, its number, and how many there are.

    Returns:
        ``parameters`` (correlation of true and recovered values and coverage of the intervals, by model) and
        ``confusion`` (share of simulations of each model, by the model that was chosen).
    """
    rng = np.random.default_rng([seed, 77])
    trials = int(np.clip(table.n_trials // max(len(table.subjects), 1), *TRIALS))
    compared = [label for label in models if label != "bias"]
    parameters: dict[str, dict[str, dict[str, float | None]]] = {}
    confusion: dict[str, dict[str, float]] = {}
    for k, label in enumerate(compared):
        progress(f"recovery of {label}", k, len(compared))
        fits = models[label].fit([Problem(table.of(who), seed) for who in table.subjects])
        truths = [_varied(fits[i % len(fits)], rng) for i in range(n)]
        simulated = [simulate(each.policy, world_like(table, 1, trials, rng), table, rng) for each in truths]
        problems = [Problem(each, seed + i) for i, each in enumerate(simulated)]
        candidates = [each for each in compared if not any(unfit({each: models[each]}, data) for data in simulated)]
        fits_of_models = {candidate: models[candidate].fit(problems) for candidate in candidates}
        parameters[label] = _compared(truths, fits_of_models[label])
        scores = {
            candidate: _criteria(fits_of, simulated)
            for candidate, fits_of in fits_of_models.items()
            if fits_of[0].parameters
        }
        if scores:
            best = np.array(list(scores.values())).argmin(0)
            confusion[label] = {candidate: float((best == j).mean()) for j, candidate in enumerate(scores)}
    return {"n": n, "trials": trials, "parameters": parameters, "confusion": confusion}


def _varied(fit: Fitted, rng: np.random.Generator) -> Fitted:
    """Return a fit with parameters drawn around the fitted values; models with many parameters are unchanged."""
    moved = fit.policy.varied(SPREAD, rng)
    return fit if moved is None else Fitted(fit.name, moved, details={"values": moved.values})


def _compared(truths: list[Fitted], recovered: list[Fitted]) -> dict[str, dict[str, float | None]]:
    """Return correlation and coverage of each parameter."""
    out: dict[str, dict[str, float | None]] = {}
    for name in recovered[0].parameters if "values" in truths[0].details else ():
        truth = np.array([each.details["values"][name] for each in truths])
        estimates = [each.parameters[name] for each in recovered]
        value = np.array([each.value for each in estimates])
        inside = np.mean([t in e for t, e in zip(truth, estimates, strict=True)])
        varies = len(truth) > 1 and truth.std() > 0 and value.std() > 0
        r = float(np.corrcoef(truth, value)[0, 1]) if varies else float("nan")
        out[name] = {"correlation": r, "coverage": float(inside)}
    return out


def _criteria(fits: list[Fitted], simulated: list[Behaviour]) -> np.ndarray:
    """Return the Bayesian information criterion of each fit for the corresponding simulation."""
    criteria = []
    for fit, data in zip(fits, simulated, strict=True):
        score = fit.score  # second-stage choices count as well
        if not np.isfinite(score):  # of networks
            score = score_of(fit.policy, data)
        criteria.append(len(fit.parameters) * np.log(data.n_trials) - 2 * score)
    return np.array(criteria)
