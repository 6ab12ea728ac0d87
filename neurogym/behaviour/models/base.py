"""Interface of models of choices: fitted parameters, and a policy that is stepped from trial to trial.

A policy holds for many sessions at once. `predict` gives it the choices and rewards of a table, trial after trial, so
what it predicts for a trial can only depend on earlier trials of the session and the present stimulus; `simulate` lets
the policy choose itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, Protocol, get_origin, get_type_hints

import numpy as np

from neurogym.analysis.regression import log_softmax
from neurogym.analysis.results import Estimate
from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour.table import Behaviour, Padded, Session, padded
from neurogym.messages.options import option

TINY = 1e-12

#: Log-likelihood of choice and time of each trial (trials,) and its derivatives (trials, choices), given the
#: log-probabilities of the choices (trials, choices).
EvidenceLikelihood = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class ParallelTrials:
    """Simultaneous trial of many sessions.

    Attributes:
        stimuli: shape (sessions, stimuli).
        choice: index, -1 for a miss, shape (sessions,).
        reward: shape (sessions,).
        state: second-stage state or -1, shape (sessions,).
        choice2: second-stage choice or -1, shape (sessions,).
        gain: amount won, nan where gains and losses are not separate, shape (sessions,); None as nan.
        loss: amount lost, 0 or less, shape (sessions,); None as nan.
    """

    stimuli: FloatArray
    choice: IntArray
    reward: FloatArray
    state: IntArray
    choice2: IntArray
    gain: FloatArray | None = None
    loss: FloatArray | None = None


class Policy:
    """Behaviour of a fitted model in many sessions at once.

    A subclass has `probabilities` or `logits`, and `begin` and `advance` if something is carried from trial to trial.

    Attributes:
        has_times: whether choices have times: the policy then also has ``respond`` and ``log_densities``.
        sees_pulses: whether choices depend on the times of pulses, which `predict` takes from sessions.
    """

    has_times = False
    sees_pulses = False

    @property
    def sees_cue(self) -> bool:
        """Whether the first stimulus of a trial is its cue."""
        return False

    def begin(self, n: int) -> Any:
        """Return the state before the first trial of ``n`` sessions; by default there is none."""

    def probabilities(self, state: Any, stimuli: FloatArray) -> FloatArray:
        """Return the probability of each choice, shape (sessions, choices)."""
        return np.exp(log_softmax(self.logits(state, stimuli)))

    def advance(self, state: Any, trial: ParallelTrials) -> Any:
        """Return the state after a trial."""
        return state

    def of(self, subject: str) -> Policy:
        """Return the policy of a subject, where a model of several subjects has one for each."""
        return self

    def logits(self, state: Any, stimuli: FloatArray) -> FloatArray:
        """Return the logit of each choice, shape (sessions, choices)."""
        return np.asarray(np.log(np.clip(self.probabilities(state, stimuli), 1e-9, 1)))

    def logits_of(self, sessions: Sequence[Session]) -> list[FloatArray]:
        """Return the logits of all trials of each session, shape (trials, choices)."""
        return stepped(self, sessions, lambda state, trial: self.logits(state, trial.stimuli))

    def predict(self, sessions: Sequence[Session]) -> list[FloatArray]:
        """Return the probability of each choice for each session, shape (trials, choices)."""
        return stepped(self, sessions, lambda state, trial: self.probabilities(state, trial.stimuli))

    def varied(self, sd: float, rng: np.random.Generator) -> Any:
        """Return a policy with ``values``, its parameters, drawn around these; None for a model of many parameters.

        Args:
            sd: of the parameters in the unbounded scale, in their units.
            rng: source of randomness.
        """

    def second(self, state: Any, reached: IntArray) -> FloatArray:
        """Return probabilities of the second-stage choices, shape (sessions, 2), in the states that were reached."""
        return np.full((len(reached), 2), 0.5)

    def columns_before(self, state: Any) -> dict[str, FloatArray]:
        """Return what is known before a trial as columns, such as the probabilities of hidden states."""
        return {}

    def states(self, sessions: Sequence[Session]) -> list[dict[str, FloatArray]]:
        """Return what is known before each trial of sessions of a subject, as columns of each session."""
        names = list(self.columns_before(self.begin(1)))
        if not names:
            return [{} for _ in sessions]
        every = stepped(self, sessions, lambda state, _: np.stack([self.columns_before(state)[k] for k in names], 1))
        return [dict(zip(names, rows.T, strict=True)) for rows in every]

    def simulate(self, sessions: Sequence[Session], rng: np.random.Generator) -> list[tuple[IntArray, FloatArray]]:
        """Return simulated choices and times (s) for the trials of sessions, given what happened before each trial."""
        rows = []
        for p, each in zip(self.predict(sessions), sessions, strict=True):
            drawn = np.minimum((rng.random((len(p), 1)) > np.cumsum(p, 1)).sum(1), p.shape[1] - 1)
            rows.append((np.where(each.choice < 0, -1, drawn), np.full(len(p), np.nan)))
        return rows


@dataclass
class Fitted:
    """A fitted model.

    Attributes:
        name: of the model.
        policy: the fitted behaviour.
        parameters: estimates with intervals.
        score: log-likelihood of the training trials.
        details: arrays and numbers that figures draw, by name.
        marks: reason why a parameter has no interval: not converged, at a bound, or not identified.
        notes: sentences about the data or the fit that a reader of the results needs.
    """

    name: str
    policy: Policy
    parameters: dict[str, Estimate] = field(default_factory=dict)
    score: float = float("nan")
    details: dict[str, Any] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Complete the policy of a user's own model."""
        adopted(self.policy, Policy)


class UnfitError(ValueError):
    """Error for a model that does not suit a table, with the reason."""


@dataclass(frozen=True)
class Problem:
    """Data and settings of a fit.

    Attributes:
        table: training sessions.
        seed: of everything random in the fit.
        prior: mean and s.d. of the Gaussian that each parameter comes from, in the model's own unbounded scale.
        start: point in that scale from which a search may begin; None where no earlier fit is known.
        covariance: Laplace's covariance of that fit, where it is known.
        intervals: whether parameters need accurate intervals, as those of folds do not.
    """

    table: Behaviour
    seed: int = 0
    prior: tuple[FloatArray, FloatArray] | None = None
    start: FloatArray | None = None
    covariance: FloatArray | None = None
    intervals: bool = True


class Likelihood(Protocol):
    """Log-likelihood of the sessions of a subject in the unbounded scale.

    Attributes:
        parameters: see `neurogym.behaviour.models.parameters.ModelParameter`.
    """

    parameters: Any

    def log_likelihood(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-likelihood and its gradient at a point."""

    def pointwise(self, x: FloatArray) -> FloatArray:
        """Return the log-likelihood of each trial at a point, shape (trials,)."""

    def policy(self, x: FloatArray) -> Policy:
        """Return the behaviour at a point."""


class Model:
    """A model that can be fitted to behaviour.

    A subclass has `fit`, and `to_arrays` and `from_arrays` if its fits are kept.

    Attributes:
        name: name of the model.
        takes_prior: whether fits use `Problem.prior` and return the point and variances as ``unbounded`` and
            ``unbounded_variance`` among the details, as hierarchical fits need.
        sees_cue: whether the cue of a trial takes the place of stimuli.
        states: number of hidden states; 0 for none.
        has_times: whether it is a model of choices and times, with ``options`` of these.
        passes: whether its evidence takes a pass through all trials, which no thousands of points can have.
        learns_times: whether `fit_evidence` trains the model further by the times of the choices.
        priors: priors that a user chose, by name of the parameter; None where none can be chosen.
    """

    name: str
    takes_prior = False
    sees_cue = False
    states = 0
    has_times = False
    passes = False
    learns_times = False
    priors: Any = None

    def check(self, table: Behaviour) -> None:
        """Refuse tables that do not suit the model, before anything is fitted.

        Raises:
            UnfitError: if the model does not suit the table, with the reason.
        """

    def fit(self, problems: Sequence[Problem]) -> list[Fitted]:
        """Return a fit for each problem.

        Raises:
            UnfitError: if the model does not suit the table.
        """
        raise NotImplementedError

    def fit_evidence(self, problem: Problem, fit: Fitted, likelihood: EvidenceLikelihood) -> Fitted:
        """Return a fit to choices and times, or ``fit`` itself where times cannot change it.

        Args:
            problem: the sessions of the fit.
            fit: to their choices.
            likelihood: of choices and times, given the log-probabilities of the choices.
        """
        return fit

    def remarks(self, table: Behaviour, values: Mapping[str, float]) -> list[str]:
        """Return what a reader of the fitted values of the parameters needs to know, as sentences."""
        return []

    def evidence_of(self, table: Behaviour, columns: int) -> Any:
        """Return the evidence, see `Evidence`, of a model whose parameters are estimated with those of a response.

        Args:
            table: sessions of the fit.
            columns: 1 for the difference of two options, or the number of options.
        """
        raise NotImplementedError

    def policies(self, problem: Problem) -> Callable[[FloatArray], Policy]:
        """Return the behaviour as a function of the parameters in the unbounded scale."""
        return self.posterior(problem).policy

    def log_likelihoods(self, tables: Sequence[Behaviour]) -> Callable[[Any], Any] | None:
        """Return the log-likelihoods (tables,) at points (tables, parameters) as a function of JAX; None for others."""
        return None

    def posterior(self, problem: Problem) -> Likelihood:
        """Return the log-likelihood of the sessions of a subject.

        Raises:
            UnfitError: for models without such a function, or that do not suit the table.
        """
        raise UnfitError(
            f"{self.name} cannot be sampled ({option('--posterior')}); learners, ddm and models with "
            f"{option('--times')} can"
        )

    def to_arrays(self, policy: Any) -> dict[str, np.ndarray]:
        """Return a fitted policy as plain arrays by name."""
        return {}

    def from_arrays(self, arrays: Mapping[str, np.ndarray], table: Behaviour) -> Policy:
        """Return the policy of `to_arrays`; of the table only the names of choices and stimuli are used."""
        raise NotImplementedError


def adopted(value: Any, base: type) -> Any:
    """Return an object of a user's own class, with the methods of a base that its class does not have."""
    if not isinstance(value, base):
        object.__setattr__(value, "__class__", type(type(value).__name__, (type(value), base), {}))
    return value


def trial_at(data: object, index: object) -> ParallelTrials:
    """Return a trial from anything with the attributes of `Trial`.

    Args:
        data: sessions, padded sessions, or a trial.
        index: index into each attribute, as of `numpy.s_`.
    """
    values: dict[str, Any] = {each.name: getattr(data, each.name) for each in fields(ParallelTrials)}
    chosen: dict[str, Any] = {name: None if value is None else value[index] for name, value in values.items()}
    return ParallelTrials(**chosen)


def trial_of(data: Padded, t: int) -> ParallelTrials:
    """Return trial ``t`` of all sessions."""
    return trial_at(data, np.s_[:, t])


def stepped(policy: Any, sessions: Sequence[Session], see: Callable[[Any, ParallelTrials], Any]) -> list[FloatArray]:
    """Return a result of each trial of each session, shape (trials, ...), as a policy is stepped through all.

    Args:
        policy: with ``begin`` and ``advance``, see `Policy`.
        sessions: of one subject.
        see: result (sessions, ...) of the state before a trial, and of the trial.
    """
    data = padded(sessions)
    state, rows = policy.begin(len(sessions)), []
    for t in range(data.choice.shape[1]):
        trial = trial_of(data, t)
        rows.append(see(state, trial))
        state = policy.advance(state, trial)
    every = np.stack(rows, 1)
    return [every[k, :length] for k, length in enumerate(data.lengths)]


def each_subject(
    policy: Policy, sessions: Sequence[Session], see: Callable[[Any, list[Session]], Sequence[Any]]
) -> list[Any]:
    """Return a result of each session, with the policy of the subject of the session.

    Args:
        policy: of a fitted model.
        sessions: of any subjects.
        see: results of the sessions of a subject, given the policy of the subject and these sessions.
    """
    every: list[Any] = [None] * len(sessions)
    for subject in dict.fromkeys(each.subject for each in sessions):
        indices = [k for k, each in enumerate(sessions) if each.subject == subject]
        rows = see(policy.of(subject), [sessions[k] for k in indices])
        for k, each in zip(indices, rows, strict=True):
            every[k] = each
    return every


def predict(policy: Policy, sessions: Sequence[Session]) -> list[FloatArray]:
    """Return the predicted probabilities of all choices, filtered forward within each session.

    Args:
        policy: of a fitted model.
        sessions: what is predicted; the state begins anew in each.

    Returns:
        An array (trials, choices) for each session.
    """
    return each_subject(policy, sessions, lambda own, rows: own.predict(rows))


def log_densities(policy: Policy, sessions: Sequence[Session]) -> list[FloatArray]:
    """Return the log-density of choice and time of all trials of each session, by a policy that has times."""
    return each_subject(policy, sessions, lambda own, rows: own.log_densities(rows))


def log_likelihoods(probabilities: FloatArray, choice: IntArray) -> FloatArray:
    """Return the natural logarithm of the probability of each choice; nan for misses, shape (trials,)."""
    p = np.take_along_axis(probabilities, np.maximum(choice, 0)[:, None], 1)[:, 0]
    return np.where(choice < 0, np.nan, np.log(np.maximum(p, TINY)))


def score_of(policy: Policy, table: Behaviour) -> float:
    """Return the log-likelihood of the choices of a table that count."""
    p = np.concatenate(predict(policy, table.sessions))
    return float(np.nansum(log_likelihoods(p, table.join("scored_choice"))))


def one_hot(index: IntArray, n: int) -> FloatArray:
    """Return ones at the index along a new last axis; zeros for negative indices."""
    return (index[..., None] == np.arange(n)).astype(float)


def require_two(table: Behaviour, model: str) -> None:
    """Refuse tables with other than two choices.

    Raises:
        UnfitError: if there are more.
    """
    if len(table.choices) != 2:
        raise UnfitError(f"{model} needs two choices; the table has {len(table.choices)}: {', '.join(table.choices)}")


def require_rewards(table: Behaviour, model: str) -> None:
    """Refuse tables without rewards.

    Raises:
        UnfitError: if no trial has a known reward.
    """
    if not any(np.isfinite(each.reward[each.choice >= 0]).any() for each in table.sessions):
        raise UnfitError(f"{model} needs a column of rewards or correctness")


def flatten(value: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """Return the fields of a dataclass as arrays; names of nested fields are joined with dots."""
    arrays: dict[str, np.ndarray] = {}
    for each in fields(value):
        entry, name = getattr(value, each.name), prefix + each.name
        arrays.update(flatten(entry, f"{name}.") if is_dataclass(entry) else {name: np.asarray(entry)})
    return arrays


def rebuild(kind: type[Any], arrays: Mapping[str, np.ndarray], prefix: str = "") -> Any:
    """Return a dataclass from the result of `flatten`.

    Args:
        kind: the dataclass; its fields are arrays, numbers, tuples of words or dataclasses of these.
        arrays: as returned by `flatten`; fields with defaults may be missing, as in fits of earlier versions.
        prefix: of the names.

    Raises:
        KeyError: if an array is missing.
    """
    values: dict[str, object] = {}
    optional = {
        each.name for each in fields(kind) if each.default is not MISSING or each.default_factory is not MISSING
    }
    for name, hint in get_type_hints(kind).items():
        key = prefix + name
        if name in optional and key not in arrays and not any(each.startswith(f"{key}.") for each in arrays):
            continue
        if is_dataclass(hint):
            values[name] = rebuild(hint, arrays, f"{key}.")  # type: ignore[arg-type]
        elif get_origin(hint) is tuple:
            values[name] = tuple(arrays[key].tolist())
        else:
            values[name] = arrays[key].item() if hint in (bool, int, float, str) else arrays[key]
    return kind(**values)


class OneByOne(Model):
    """Base of models that are fitted to one table at a time and whose policies are dataclasses of arrays.

    Attributes:
        policy: class of the policies.
    """

    policy: type[Policy]

    def fit(self, problems: Sequence[Problem]) -> list[Fitted]:
        """See `Model.fit`."""
        for each in problems:
            self.check(each.table)
        return [self._fit(each) for each in problems]

    def _fit(self, problem: Problem) -> Fitted:
        raise NotImplementedError

    def to_arrays(self, policy: Any) -> dict[str, np.ndarray]:
        """See `Model.to_arrays`."""
        return flatten(policy)

    def from_arrays(self, arrays: Mapping[str, np.ndarray], table: Behaviour) -> Policy:
        """See `Model.from_arrays`."""
        return rebuild(self.policy, arrays)
