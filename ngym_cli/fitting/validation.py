"""Cross-validation by session: each trial is predicted by a model fitted without the session of the trial."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from neurogym.analysis.intervals import enough_groups, mean_interval
from neurogym.analysis.results import Estimate
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import Fitted, Model, Policy, Problem, log_likelihoods, of_subject, predict
from neurogym.behaviour.models.marks import mark_fit
from neurogym.behaviour.table import Behaviour, Session
from ngym_cli.errors import UserError
from ngym_cli.fitting.group import Group, covariates_of, fit_group

BASELINE = "bias"  #: model that every fit has, each subject for itself
SUBJECT_MODES = ("each", "pooled", "hierarchical")


@dataclass(frozen=True)
class CrossValidation:
    """Settings of fitting and scoring.

    Attributes:
        folds: number of folds; session k of a subject is in fold k modulo this number.
        subjects: "each" (a fit per subject), "pooled" (one fit for all), or "hierarchical" (a fit per subject with the
            Gaussian that all subjects come from as prior).
        seed: random seed.
        between: formula of the covariates of subjects in hierarchical fits; None for none.
        draws: samples of the posterior in each chain; 0 for none.
    """

    folds: int = 5
    subjects: str = "each"
    seed: int = 0
    between: str | None = None
    draws: int = 0


@dataclass(frozen=True)
class FitData:
    """Data of a fit, and how models are fitted to and scored on the data.

    Attributes:
        table: sessions that models are fitted to.
        protocol: folds and treatment of subjects.
        test: sessions that are only predicted, by the fits to the whole table.
    """

    table: Behaviour
    protocol: CrossValidation
    test: Behaviour | None = None


@dataclass
class FitResult:
    """A model fitted to and scored on a table.

    Attributes:
        fitted: fit to all sessions by subject ("all" when pooled).
        held_out: probabilities (trials, choices) of each session when it was held out.
        tested: the same for each session of the test table.
        densities: log-densities (trials,) of choice and time of each held-out session; none for models without times.
        group: distribution of the subjects that a hierarchical fit found, in the scale of the prior (logit of numbers
            with two bounds, logarithm of positive numbers); None for other fits.
    """

    fitted: dict[str, Fitted]
    held_out: list[FloatArray]
    tested: list[FloatArray] = field(default_factory=list)
    densities: list[FloatArray] = field(default_factory=list)
    group: Group | None = None


def check(models: Iterable[Model], protocol: CrossValidation) -> None:
    """Refuse models that cannot be fitted hierarchically, before anything is fitted.

    Raises:
        UserError: names all of them.
    """
    refused = [each.name for each in models if not getattr(each, "takes_prior", False)]
    if protocol.subjects == "hierarchical" and refused:
        raise UserError(
            f"cannot be fitted hierarchically: {', '.join(refused)}; --model takes logistic, ddm, lba, value learners "
            "(as in q-learning), two-step learners, win-stay-lose-shift, bayes-reversal and functions of your own there"
        )


def check_test(data: FitData) -> None:
    """Refuse a test table with a subject that no fit predicts; a fit to a single subject predicts any.

    Raises:
        UserError: names the subject and those that are fitted.
    """
    fitted_subjects = data.table.subjects
    if data.test is None or data.protocol.subjects == "pooled" or len(fitted_subjects) == 1:
        return
    new = [who for who in data.test.subjects if who not in fitted_subjects]
    if new:
        raise UserError(
            f"--test has subject {new[0]}, who is not among {', '.join(fitted_subjects)}; try --subjects pooled"
        )


def groups_of(data: FitData) -> dict[str, Behaviour]:
    """Return the tables that are fitted apart."""
    if data.protocol.subjects == "pooled":
        return {"all": data.table}
    return {name: data.table.of(name) for name in data.table.subjects}


def prepared(data: FitData) -> FitData:
    """Return data in which each subject has at least as many sessions, or blocks of a session, as folds."""
    sessions: list[Session] = []
    folds = data.protocol.folds
    for name, subject_table in groups_of(data).items():
        cut = subject_table.in_blocks(folds)
        if min(int((each.choice >= 0).sum()) for each in cut.sessions) < 1 or len(cut.sessions) < folds:
            raise UserError(f"{name} has {subject_table.n_trials} trials, too few for {folds} folds (--folds)")
        sessions += cut.sessions
    return replace(data, table=data.table.only(sessions))


def validate(model: Model, data: FitData) -> FitResult:
    """Fit a model to all folds and to the whole table, and predict held-out sessions.

    Args:
        model: the model.
        data: as returned by `prepared`.
    """
    protocol, groups = data.protocol, groups_of(data)
    problems, held_out_sessions = [], []
    for subject_table in groups.values():
        for k in range(protocol.folds):
            training = [each for i, each in enumerate(subject_table.sessions) if i % protocol.folds != k]
            problems.append(Problem(subject_table.only(training), protocol.seed + 1 + k, intervals=False))
            held_out_sessions.append([each for i, each in enumerate(subject_table.sessions) if i % protocol.folds == k])
        problems.append(Problem(subject_table, protocol.seed))
        held_out_sessions.append([])
    fits, group = model.fit(problems), None
    if protocol.subjects == "hierarchical" and model.name != BASELINE:
        fits, group = fit_group(model, problems, protocol.folds + 1, covariates_of(data.table, protocol.between))
    predictions: dict[int, FloatArray] = {}
    densities: dict[int, FloatArray] = {}
    for fit, sessions in zip(fits, held_out_sessions, strict=True):
        if sessions:
            predictions.update({id(each): p for each, p in zip(sessions, predict(fit.policy, sessions), strict=True)})
        for each in sessions if hasattr(fit.policy, "log_densities") else ():
            policy: Any = of_subject(fit.policy, each.subject)
            densities[id(each)] = policy.log_densities([each])[0]
    final = dict(zip(groups, fits[protocol.folds :: protocol.folds + 1], strict=True))
    for name, fit in final.items():
        mark_fit(fit, int((groups[name].join("choice") >= 0).sum()))
    tested = [] if data.test is None else [predict(_for(final, each), [each])[0] for each in data.test.sessions]
    held_out = [predictions[id(each)] for each in data.table.sessions]
    times = [densities[id(each)] for each in data.table.sessions] if densities else []
    return FitResult(final, held_out, tested, times, group)


def _for(final: dict[str, Fitted], each: Session) -> Policy:
    """Return the policy that predicts a session of a test table."""
    if "all" in final:
        return final["all"].policy
    if each.subject in final:
        return final[each.subject].policy
    return next(iter(final.values())).policy


@dataclass(frozen=True)
class TimeScore:
    """Held-out score of a model of choices and times, in nats per trial with an answer or a counted omission.

    Attributes:
        together: mean log-density of choice and time (s); `choice` and `time` add up to it.
        choice: mean log-probability of the choice, 0 for omissions.
        time: mean log-density of the time given the choice; for omissions, the log-probability of no answer.
        trials: number of trials.
    """

    together: Estimate
    choice: Estimate
    time: Estimate
    trials: int


def time_score(joint: FloatArray, predictions: FloatArray, sessions: Sequence[Session]) -> TimeScore:
    """Return the score of a model of choices and times.

    Args:
        joint: log-density of choice and time, nan for trials that are not scored, shape (trials,).
        predictions: probabilities of the choices, shape (trials, choices).
        sessions: the sessions with these trials.
    """
    choice = np.concatenate([each.choice for each in sessions])
    session_index = np.repeat(np.arange(len(sessions)), [len(each) for each in sessions])
    chosen = np.nan_to_num(log_likelihoods(predictions, choice))
    scored = np.isfinite(joint)
    groups = enough_groups(session_index[scored])
    together, choices, times = (
        mean_interval(values[scored], groups, bounded=False) for values in (joint, chosen, joint - chosen)
    )
    return TimeScore(together, choices, times, int(scored.sum()))


@dataclass(frozen=True)
class ModelScore:
    """Held-out score of a model.

    Attributes:
        log_likelihood: mean natural logarithm of the probability of a held-out choice, interval over sessions.
        probability: exponential of the score.
        against_best: difference of the mean log-likelihood from that of the best model, paired by trial.
        trials: number of trials.
    """

    log_likelihood: Estimate
    probability: Estimate
    against_best: Estimate
    trials: int


def mixture(
    predictions: Sequence[Sequence[FloatArray]], sessions: Sequence[Session], memory: float = 0.97
) -> list[FloatArray]:
    """Return the average of several models' predictions, weighted by predictive success in the session so far.

    Bayesian model averaging with equal weights at the start of each session and exponential forgetting, so that it uses
    earlier trials of the session alone.

    Args:
        predictions: of each model, an array (trials, choices) for each session.
        sessions: the sessions.
        memory: factor on the log-weights from trial to trial.
    """
    out = []
    for k, each in enumerate(sessions):
        p = np.stack([model[k] for model in predictions])
        logs = np.nan_to_num(np.stack([log_likelihoods(probabilities, each.choice) for probabilities in p]))
        weight, rows = np.zeros(len(p)), []
        for t in range(len(each)):
            share = np.exp(weight - weight.max())
            rows.append((share / share.sum()) @ p[:, t])
            weight = memory * weight + logs[:, t]
        out.append(np.array(rows).reshape(len(each), p.shape[2]))
    return out


def scores(predictions: dict[str, list[FloatArray]], sessions: Sequence[Session]) -> dict[str, ModelScore]:
    """Return the scores of models on the same sessions."""
    choice = np.concatenate([each.choice for each in sessions])
    session_index = np.repeat(np.arange(len(sessions)), [len(each) for each in sessions])
    valid = choice >= 0
    groups = enough_groups(session_index[valid])
    logs = {name: log_likelihoods(np.concatenate(p), choice)[valid] for name, p in predictions.items()}
    best = max(logs, key=lambda name: float(logs[name].mean()))
    results = {}
    for name, values in logs.items():
        mean = mean_interval(values, groups, bounded=False)
        value, low, high = (float(np.exp(x)) for x in (mean.value, mean.low, mean.high))
        difference = mean_interval(values - logs[best], groups, bounded=False) if name != best else Estimate(0.0)
        results[name] = ModelScore(mean, Estimate(value, low, high, value * mean.se), difference, int(valid.sum()))
    return results
