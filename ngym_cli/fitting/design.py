"""Expected Bayes factors of new trials between fitted models, for the design of experiments.

Trials are simulated by each model with its estimates. Under every model, their probability is integrated over the
parameters by draws from Laplace's posterior of the fit, so that the present data are the prior of the next experiment:
the logarithm of the Bayes factor of two models is the difference of the log-probabilities (Myung & Pitt 2009,
10.1037/a0016104). Models whose posterior is not known (networks, hidden states) enter with their estimates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from neurogym.analysis.results import Estimate
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import Model, Policy, Problem, UnfitError, log_densities, log_likelihoods, predict
from neurogym.behaviour.table import Behaviour, Session
from neurogym.messages.plain_data import plain
from ngym_cli.fitting.folder import DesignRecord, DesignRow

#: Draws of the posterior of each model, and most levels of the stimuli that count as conditions.
DRAWS, LEVELS = 16, 8
#: Log Bayes factor that counts as strong evidence (20 to 1).
STRONG = 3.0


@dataclass(frozen=True)
class Candidate:
    """A fitted model of a subject.

    Attributes:
        label: of the model.
        policy: with the estimates.
        draws: policies with draws from the posterior; the estimates alone where it is not known.
    """

    label: str
    policy: Policy
    draws: tuple[Policy, ...]

    def log_probabilities(self, sessions: Sequence[Session], timed: bool) -> list[FloatArray]:
        """Return the log-probability of each trial given those before, over the draws, shape (trials,) each."""
        draws = [_trial_logs(each, sessions, timed) for each in self.draws]
        totals = [logsumexp(np.cumsum(np.stack(rows), 1), axis=0) for rows in zip(*draws, strict=True)]
        return [np.diff(each, prepend=np.log(len(draws))) for each in totals]


def candidate_of(
    label: str,
    model: Model,
    policy: Policy,
    table: Behaviour,
    posterior: tuple[FloatArray, FloatArray] | None,
    seed: int,
) -> Candidate:
    """Return a candidate with draws from Laplace's posterior.

    Args:
        label: of the model.
        model: the model.
        policy: with the estimates.
        table: sessions of the subject.
        posterior: point and covariance in the unbounded scale; None if they are not known.
        seed: of the draws.
    """
    if posterior is None:
        return Candidate(label, policy, (policy,))
    try:
        likelihood = model.posterior(Problem(table))
    except UnfitError:
        return Candidate(label, policy, (policy,))
    point, covariance = posterior
    rng = np.random.default_rng([seed, 31])
    points = rng.multivariate_normal(point, covariance, DRAWS, method="eigh")
    return Candidate(label, policy, tuple(likelihood.policy(x) for x in points))


def _trial_logs(policy: Policy, sessions: Sequence[Session], timed: bool) -> list[FloatArray]:
    """Return the log-probability (with times: log-density) of each trial, 0 where none is scored."""
    if timed:
        return list(map(np.nan_to_num, log_densities(policy, sessions)))
    rows = zip(predict(policy, sessions), sessions, strict=True)
    return [np.nan_to_num(log_likelihoods(p, each.choice)) for p, each in rows]


def conditions_of(sessions: Sequence[Session], stimuli: Sequence[str]) -> tuple[list[str], list[np.ndarray]]:
    """Return the names of conditions, and the condition of each trial of each session; the last name is all trials.

    Conditions are the strengths of the stimuli, if there are at most `LEVELS` of these.
    """
    strengths = np.round(np.abs(np.concatenate([each.stimuli for each in sessions])), 9)
    levels, index = np.unique(strengths, axis=0, return_inverse=True)
    index = index.reshape(-1)
    if not stimuli or not 1 < len(levels) <= LEVELS:
        names, index = [], np.zeros(len(strengths), int)
    else:
        names = [", ".join(f"|{name}| = {value:g}" for name, value in zip(stimuli, row, strict=True)) for row in levels]
    return [*names, "all trials"], np.split(index, np.cumsum([len(each) for each in sessions])[:-1])


def compare(
    task: str,
    simulated: Mapping[str, Sequence[tuple[Mapping[str, Candidate], Sequence[Session]]]],
    trials: Sequence[int],
    stimuli: Sequence[str],
    timed: bool,
) -> list[DesignRow]:
    """Return the separation of all pairs of models in a task.

    Args:
        task: name of the task.
        simulated: for each model, the candidates of each subject by label, with the sessions that the model simulated.
        trials: numbers of trials, ascending.
        stimuli: names of the stimuli.
        timed: whether the times count besides the choices.
    """
    every = [session for runs in simulated.values() for _, sessions in runs for session in sessions]
    names, index = conditions_of(every, stimuli)
    at = dict(zip(map(id, every), index, strict=True))
    rows: list[DesignRow] = []
    for true, runs in simulated.items():
        conditions = [at[id(each)] for _, sessions in runs for each in sessions]
        logs: dict[str, list[FloatArray]] = {label: [] for label in runs[0][0]}
        for candidates, sessions in runs:
            for label, each in candidates.items():
                logs[label] += each.log_probabilities(sessions, timed)
        for rival in (label for label in logs if label != true):
            differences = [a - b for a, b in zip(logs[true], logs[rival], strict=True)]
            for k, name in enumerate(names):
                every_trial = k == len(names) - 1
                chosen = [d if every_trial else d[c == k] for d, c in zip(differences, conditions, strict=True)]
                rows.append(_row(task, name, true, rival, chosen, trials))
    return rows


def _row(
    task: str, condition: str, true: str, rival: str, differences: Sequence[FloatArray], trials: Sequence[int]
) -> DesignRow:
    """Return a row; a condition with fewer trials than a number is continued at its mean rate."""
    factors = []
    for n in trials:
        values = [float(d[:n].sum()) * max(1.0, n / max(len(d), 1)) for d in differences if len(d)]
        factors.append(np.array(values))
    estimates = [
        Estimate.normal(float(x.mean()), float(x.std(ddof=1) / np.sqrt(len(x))) if len(x) > 1 else float("nan"))
        for x in factors
    ]
    per_trial = estimates[-1].value / trials[-1]
    return {
        "task": task,
        "condition": condition,
        "true": true,
        "rival": rival,
        "log_bayes_factor": plain(estimates),
        "correct": [float((x > 0).mean()) for x in factors],
        "trials_needed": STRONG / per_trial if per_trial > 0 else None,
    }


def hardest(record: DesignRecord) -> list[DesignRow]:
    """Return the pair of models that is hardest to separate in each condition of each task, best separated first."""
    worst: dict[tuple[str, str], DesignRow] = {}
    for row in record["rows"]:
        key = row["task"], row["condition"]
        if key not in worst or _separation(row) < _separation(worst[key]):
            worst[key] = row
    return sorted(worst.values(), key=lambda row: -_separation(row))


def _separation(row: DesignRow) -> float:
    value = row["log_bayes_factor"][-1]["value"]
    return -np.inf if value is None else float(value)
