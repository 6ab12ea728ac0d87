"""Cross-validation by session: each trial is predicted by a model fitted without the session of the trial.

Subjects with fewer sessions than folds have blocks of their sessions as folds. A fit does not count the choices of its
held-out block, but they lead to the state of the trials after it; a block is predicted with the state that the trials
before it have left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from neurogym.analysis.intervals import enough_groups, mean_interval
from neurogym.analysis.results import Estimate
from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour.models.base import Fitted, Model, Policy, Problem, log_densities, log_likelihoods, predict
from neurogym.behaviour.models.marks import mark_fit
from neurogym.behaviour.table import Behaviour, Session, session
from ngym_cli.errors import UserError, option
from ngym_cli.fitting.folder import BASELINE, CHANCE, MIXTURE
from ngym_cli.fitting.group import Group, covariates_of, fit_groups
from ngym_cli.fitting.request import FitSettings

#: Draws from the group that predict a subject whom the group has not seen.
MEMBERS = 64


@dataclass(frozen=True)
class FitData:
    """Data of a fit, and how models are fitted to and scored on the data.

    Attributes:
        table: sessions that models are fitted to.
        protocol: settings of the fit, such as folds and treatment of subjects.
        test: sessions that are only predicted, by the fits to the whole table.
    """

    table: Behaviour
    protocol: FitSettings
    test: Behaviour | None = None


@dataclass
class FitResult:
    """A model fitted to and scored on a table.

    Attributes:
        fitted: fit to all sessions by subject ("all" when pooled).
        held_out: probabilities (trials, choices) of all trials when they were held out; None with a single fold.
        tested: the same for the test table; None without one.
        densities: log-densities (trials,) of choice and time of all trials when they were held out; None for models
            without times.
        group: distribution of the subjects that a hierarchical fit found, in the scale of the prior (logit of numbers
            with two bounds, logarithm of positive numbers); None for other fits.
    """

    fitted: dict[str, Fitted]
    held_out: FloatArray | None
    tested: FloatArray | None = None
    densities: FloatArray | None = None
    group: Group | None = None


def check(models: Iterable[Model], protocol: FitSettings) -> None:
    """Refuse models that cannot be fitted hierarchically, before anything is fitted.

    Raises:
        UserError: names all of them.
    """
    refused = [each.name for each in models if not each.takes_prior]
    if protocol.subjects == "hierarchical" and refused:
        raise UserError(
            f"cannot be fitted hierarchically: {', '.join(refused)}; {option('--model')} takes logistic, ddm, lba, "
            "value learners "
            "(as in q-learning), two-step learners, win-stay-lose-shift, bayes-reversal and learners of your own there"
        )


def check_test(data: FitData) -> None:
    """Refuse a test table with a subject that no fit predicts; a group and a fit to a single subject predict any.

    Raises:
        UserError: names the subject and those that are fitted.
    """
    fitted_subjects, protocol = data.table.subjects, data.protocol
    grouped = protocol.subjects == "pooled" or (protocol.subjects == "hierarchical" and protocol.between is None)
    if data.test is None or grouped or len(fitted_subjects) == 1:
        return
    new = [who for who in data.test.subjects if who not in fitted_subjects]
    if new:
        raise UserError(
            f"{option('--test')} has subject {new[0]}, who is not among {', '.join(fitted_subjects)}; try "
            f"{option('--subjects pooled')} "
            f"or, without {option('--between')}, hierarchical"
        )


def groups_of(data: FitData) -> dict[str, Behaviour]:
    """Return the tables that are fitted apart."""
    if data.protocol.subjects == "pooled":
        return {"all": data.table}
    return {name: data.table.of(name) for name in data.table.subjects}


def prepared(data: FitData) -> FitData:
    """Return data in which each fold of each subject has a choice.

    Raises:
        UserError: names the subject.
    """
    folds = data.protocol.folds
    for name, subject_table in groups_of(data).items():
        answered = np.concatenate(subject_table.blocks(folds))[subject_table.join("choice") >= 0] % folds
        if len(np.unique(answered)) < folds:
            raise UserError(
                f"{name} has {subject_table.n_trials} trials, too few for {folds} folds ({option('--folds')})"
            )
    return data


def blocks_of(data: FitData) -> list[IntArray]:
    """Return the number of the session, or block of a session, of each trial of each session of the table."""
    numbers, first = dict[int, IntArray](), 0
    for subject_table in groups_of(data).values():
        blocks = subject_table.blocks(data.protocol.folds)
        numbers |= {id(each): first + block for each, block in zip(subject_table.sessions, blocks, strict=True)}
        first += 1 + max((int(each.max()) for each in blocks if len(each)), default=-1)
    return [numbers[id(each)] for each in data.table.sessions]


def notes_of(data: FitData) -> list[str]:
    """Return what a reader of the held-out scores needs to know: whether blocks are held out, or nothing at all."""
    folds, groups = data.protocol.folds, groups_of(data)
    if not data.protocol.held_out:
        return [f"{option('--folds 1')} holds nothing out, so that there are no held-out scores"]
    few = sum(len(table.sessions) < folds for table in groups.values())
    if not few:
        return []
    whose = "sessions" if len(groups) == 1 else f"sessions of {few} of {len(groups)} subjects"
    return [
        f"{whose} are fewer than the {folds} folds: blocks within sessions are held out, predicted from the trials "
        "before them in the session, with parameters fitted to the other blocks, earlier and later"
    ]


def validate(model: Model, data: FitData) -> FitResult:
    """Fit a model to all folds and to the whole table, and predict held-out sessions.

    Args:
        model: the model.
        data: as returned by `prepared`.
    """
    protocol, groups = data.protocol, groups_of(data)
    problems, held_out = [], list[_HeldOut]()
    for subject_table in groups.values():
        blocks = subject_table.blocks(protocol.folds)
        for k in protocol.held_out:
            split = _HeldOut(subject_table.sessions, [block % protocol.folds == k for block in blocks])
            problems.append(Problem(subject_table.only(split.training), protocol.seed + 1 + k, intervals=False))
            held_out.append(split)
        problems.append(Problem(subject_table, protocol.seed))
        held_out.append(_HeldOut((), []))
    per_subject, group = len(protocol.held_out) + 1, None
    if protocol.subjects == "hierarchical" and model.name != BASELINE:
        fits, each_group = fit_groups(model, problems, per_subject, covariates_of(data.table, protocol.between))
        group = each_group[-1] if each_group else None
    else:
        fits = model.fit(problems)
    timed = any(fit.policy.has_times for fit in fits)
    predictions = np.full((data.table.n_trials, len(data.table.choices)), np.nan)
    densities: FloatArray = np.full(data.table.n_trials, np.nan)
    lengths = [0, *map(len, data.table.sessions)]
    first = dict(zip(map(id, data.table.sessions), np.cumsum(lengths).tolist(), strict=False))
    for fit, split in zip(fits, held_out, strict=True):
        parts = split.until_the_end
        for known, predicting in ((predictions, predict), (densities, log_densities))[: 1 + timed]:
            for (each, mask), row in zip(split.parts, predicting(fit.policy, parts), strict=True):
                trials = np.flatnonzero(mask)
                known[first[id(each)] + trials] = row[trials]
    final = dict(zip(groups, fits[per_subject - 1 :: per_subject], strict=True))
    for name, fit in final.items():
        mark_fit(fit, int((groups[name].join("choice") >= 0).sum()))
    tested = None if data.test is None else _tested(model, final, group, data)
    if not protocol.held_out:
        return FitResult(final, None, tested, None, group)
    return FitResult(final, predictions, tested, densities if timed else None, group)


@dataclass(frozen=True)
class _HeldOut:
    """Trials that a fold holds out.

    Attributes:
        sessions: of a subject.
        masks: whether each trial of each session is held out, shape (trials,) each.
    """

    sessions: Sequence[Session]
    masks: Sequence[np.ndarray]

    @property
    def training(self) -> list[Session]:
        """Sessions of the fit; choices of held-out trials do not count, and sessions that are held out are missing."""
        rows = zip(self.sessions, self.masks, strict=True)
        return [replace(each, scored=~mask) if mask.any() else each for each, mask in rows if not mask.all()]

    @property
    def parts(self) -> list[tuple[Session, np.ndarray]]:
        """Sessions with held-out trials, and which these are."""
        return [(each, mask) for each, mask in zip(self.sessions, self.masks, strict=True) if mask.any()]

    @property
    def until_the_end(self) -> list[Session]:
        """Sessions from their beginning to their last held-out trial."""
        return [each.part(each.name, slice(0, int(np.flatnonzero(mask)[-1]) + 1)) for each, mask in self.parts]


def _tested(model: Model, final: Mapping[str, Fitted], group: Group | None, data: FitData) -> FloatArray:
    """Return predictions of the test table; new subjects of a hierarchical fit are predicted by the group."""
    assert data.test is not None
    rows: dict[int, FloatArray] = {}
    for who, table in data.test.by_subject().items():
        if who in final or "all" in final or len(final) == 1:
            fit = final.get(who) or next(iter(final.values()))
            predicted = predict(fit.policy, table.sessions)
        else:
            predicted = _predict_new(_members(model, final, group, data), table.sessions)
        rows |= {id(each): p for each, p in zip(table.sessions, predicted, strict=True)}
    return np.concatenate([rows[id(each)] for each in data.test.sessions])


def _members(model: Model, final: Mapping[str, Fitted], group: Group | None, data: FitData) -> list[Policy]:
    """Return policies of possible further subjects: draws from the group, or the fitted subjects without a group."""
    fits = list(final.values())
    if group is None:
        return [fit.policy for fit in fits]
    rng = np.random.default_rng([data.protocol.seed, 53])
    points = group.mean + group.sd * rng.standard_normal((MEMBERS, len(group.mean)))
    return list(map(model.policies(Problem(data.table.of(next(iter(final))))), points))


def _predict_new(members: Sequence[Policy], sessions: Sequence[Session]) -> list[FloatArray]:
    """Return the average prediction of policies, weighted by how well each predicted the subject's earlier trials."""
    p = [np.concatenate(predict(each, sessions)) for each in members]
    whole = session(np.concatenate([each.choice for each in sessions]))
    return np.split(mixture(p, [whole], memory=1.0), np.cumsum([len(each) for each in sessions])[:-1])


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


def time_score(joint: FloatArray, predictions: FloatArray, data: FitData) -> TimeScore:
    """Return the score of a model of choices and times on the held-out sessions of a table.

    Args:
        joint: log-density of choice and time, nan for trials that are not scored, shape (trials,).
        predictions: probabilities of the choices, shape (trials, choices).
        data: with these trials.
    """
    chosen = np.nan_to_num(log_likelihoods(predictions, data.table.join("choice")))
    scored = np.isfinite(joint)
    groups = enough_groups(np.concatenate(blocks_of(data))[scored])
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
        against_best: difference of the mean log-likelihood from that of the best row, paired by trial.
        against_model: the same from the best model, which neither baselines nor the mixture are.
        trials: number of trials.
    """

    log_likelihood: Estimate
    probability: Estimate
    against_best: Estimate
    against_model: Estimate
    trials: int


def mixture(predictions: Sequence[FloatArray], sessions: Sequence[Session], memory: float = 0.97) -> FloatArray:
    """Return the average of several models' predictions, weighted by predictive success in the session so far.

    Bayesian model averaging with equal weights at the start of each session and exponential forgetting, so that it uses
    earlier trials of the session alone.

    Args:
        predictions: of each model for all trials, shape (trials, choices).
        sessions: the sessions with these trials.
        memory: factor on the log-weights from trial to trial.
    """
    p, choice = np.stack(predictions), np.concatenate([each.choice for each in sessions])
    logs = np.nan_to_num(np.stack([log_likelihoods(probabilities, choice) for probabilities in p]))
    starts, mixed = {0, *np.cumsum([len(each) for each in sessions]).tolist()}, np.empty(p.shape[1:])
    weight = np.zeros(len(p))
    for t in range(len(choice)):
        weight = np.zeros(len(p)) if t in starts else weight
        share = np.exp(weight - weight.max())
        mixed[t] = (share / share.sum()) @ p[:, t]
        weight = memory * weight + logs[:, t]
    return mixed


def _labels(sessions: Sequence[Session], blocks: Sequence[IntArray] | None) -> IntArray:
    """Return the number of the block of each trial; without blocks, that of its session."""
    if blocks is None:
        return np.repeat(np.arange(len(sessions)), [len(each) for each in sessions])
    return np.concatenate(blocks)


def scores(
    predictions: Mapping[str, FloatArray],
    sessions: Sequence[Session],
    blocks: Sequence[IntArray] | None = None,
) -> dict[str, ModelScore]:
    """Return the scores of models on the same sessions; none for no predictions.

    Args:
        predictions: probabilities (trials, choices), by model.
        sessions: the sessions with these trials.
        blocks: number of the held-out block of each trial, over which intervals are, see `blocks_of`; None for the
            sessions.
    """
    if not predictions:
        return {}
    choice = np.concatenate([each.choice for each in sessions])
    valid = choice >= 0
    groups = enough_groups(_labels(sessions, blocks)[valid])
    logs = {name: log_likelihoods(p, choice)[valid] for name, p in predictions.items()}
    means = {name: float(values.mean()) for name, values in logs.items()}
    best = max(means, key=lambda name: means[name])
    models = [name for name in means if name not in (CHANCE, BASELINE, MIXTURE)]
    best_model = max(models or means, key=lambda name: means[name])
    results = {}
    for name, values in logs.items():
        mean = mean_interval(values, groups, bounded=False)
        value, low, high = (float(np.exp(x)) for x in (mean.value, mean.low, mean.high))
        behind, behind_model = (
            Estimate(0.0) if name == other else mean_interval(values - logs[other], groups, bounded=False)
            for other in (best, best_model)
        )
        probability = Estimate(value, low, high, value * mean.se)
        results[name] = ModelScore(mean, probability, behind, behind_model, int(valid.sum()))
    return results
