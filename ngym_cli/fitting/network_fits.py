"""Networks as models of choices: training on whole sessions at once, and averaged predictions.

A network is a set of functions of one trial of one session (`NetworkModel`), which are mapped over trials, sessions and
networks. Training maximises the log-likelihood of choices less penalties by Adam, one network after another and in
single precision, both of which are faster; predictions are in double precision. Each network keeps the weights that
predict an inner fold of its own best, and the probabilities of the networks of a fit are averaged.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.example_libraries import optimizers
from jax.flatten_util import ravel_pytree

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import (
    EvidenceLikelihood,
    Fitted,
    Model,
    ParallelTrials,
    Policy,
    Problem,
    flatten,
    one_hot,
    rebuild,
    require_two,
)
from neurogym.behaviour.models.evidence import rounded, widened
from neurogym.behaviour.models.marks import few_trials
from neurogym.behaviour.models.scan import filled
from neurogym.behaviour.models.walks import Walk
from neurogym.behaviour.table import Behaviour, Padded, Session, padded, rectangle
from ngym_cli.fitting.readout import DriftingReadout, fit_readout

#: Inner folds, of which each network has one for early stopping.
INNER = 5
#: Share of the learning rate with which trained networks are trained further; at the whole rate some get worse.
FURTHER = 0.1
STEP = 16  #: trials of a session, or a multiple of these, in the training, where filling up as elsewhere costs more
FEWEST = 8  #: sessions that are predicted together, or a multiple of these, so that few shapes are compiled

Weights = Mapping[str, Any]  #: arrays of one network by name, or of many with a leading axis
Phase = tuple[FloatArray, bool]  #: learning rate of each epoch, and whether there is noise


class Batch(NamedTuple):
    """Padded sessions of several networks; within the functions of one network, without the first axis.

    Attributes:
        after: what is seen of each trial afterwards, shape (nets, sessions, trials, observations).
        stimuli: scaled, shape (nets, sessions, trials, stimuli).
        subject: share of each subject in the subject of a session, shape (nets, sessions, subjects).
        train: 1 for trials that are learned from, divided by their number, shape (nets, sessions, trials).
        held: the same for trials of the inner fold.
        slope: derivatives of the log-likelihood of a trial by the log-probabilities of its choices, shape (nets,
            sessions, trials, choices).
        offset: the log-likelihood less the product of these, shape (nets, sessions, trials).
    """

    after: Any
    stimuli: Any
    subject: Any
    train: Any = None
    held: Any = None
    slope: Any = None
    offset: Any = None


class Search(NamedTuple):
    """State of training: flat weights, sums of Adam, best weights with their score, and the epoch of these."""

    weights: Any
    moments: Any
    best: Any
    score: Any
    last: Any


class NetworkModel(Model):
    """Model of choices by networks, as functions of the weights of one network and one trial of one session.

    A subclass is a frozen dataclass of settings.

    Attributes:
        seeds: networks whose probabilities are averaged.
        drift: whether a read-out that drifts from trial to trial follows the averaged networks (two choices).
        by_subject: name of the weights whose first axis is the subject.
        weight_decay: share of the weights, relative to the learning rate, that decays in an epoch.
        every: epochs of the last phase of training between scores of the inner fold.
        patience: epochs without improvement at which training ends.
    """

    seeds: int
    drift: bool
    by_subject: str
    weight_decay = 0.0
    every, patience = 1, 10**6

    def phases(self) -> list[Phase]:
        """Return the phases of the training."""
        raise NotImplementedError

    def noise(self, w: Weights, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Return noise of all trials (sessions, trials, ...) of a network; by default zeros, of which none is used."""
        return np.zeros(shape)

    def drawn(self, table: Behaviour, subjects: int, rng: np.random.Generator) -> Weights:
        """Return first weights of a network for choices and stimuli of a table and a number of subjects."""
        raise NotImplementedError

    def begin(self, w: Weights) -> Any:
        """Return the state before the first trial."""
        raise NotImplementedError

    def drive(self, w: Weights, after: Array, subject: Array, noise: Array | None = None) -> Any:
        """Return what the update takes from the observations of a trial."""
        raise NotImplementedError

    def update(self, w: Weights, state: Any, drive: Any) -> Any:
        """Return the state after a trial."""
        raise NotImplementedError

    def logits(self, w: Weights, state: Any, stimuli: Array, subject: Array, noise: Array | None = None) -> Array:
        """Return the logits of the choices."""
        raise NotImplementedError

    def cost(self, w: Weights, batch: Batch, states: Any, noise: Array) -> Any:
        """Return what is added to the loss of the sessions of a batch."""
        raise NotImplementedError

    def described(self, fit: Fitted, w: Weights, table: Behaviour) -> None:
        """Add what the weights of the first network show to a fit."""

    def check(self, table: Behaviour) -> None:
        """Refuse tables that do not suit the model.

        Raises:
            UnfitError: if a drifting read-out is to follow other than two choices.
        """
        if self.drift:
            require_two(table, f"{self.name} with drift")

    def fit(self, problems: Sequence[Problem]) -> list[Fitted]:
        """See `Model.fit`; networks of all problems are trained together."""
        jobs = [(problem, k) for problem in problems for k in range(self.seeds)]
        subjects = max(len(each.table.subjects) for each in problems)
        rngs = [np.random.default_rng([problem.seed, k]) for problem, k in jobs]
        first = [self.drawn(each.table, subjects, rng) for (each, _), rng in zip(jobs, rngs, strict=True)]
        batch = batch_of([each.table for each, _ in jobs], [each.seed + k for each, k in jobs], subjects)
        nets = train(self, first, batch, rngs)
        return [
            self._fitted(nets[k * self.seeds : (k + 1) * self.seeds], each.table) for k, each in enumerate(problems)
        ]

    def _fitted(self, nets: Sequence[Weights], table: Behaviour) -> Fitted:
        policy: Policy = NetworkPolicy(self, nets, len(table.choices), stimulus_scale(table), table.subjects)
        weights = sum(np.size(value) for name, value in nets[0].items() if not name.endswith("sd"))
        notes = few_trials(int((table.join("choice") >= 0).sum()), weights, network=True)
        fit = Fitted(self.name, fit_readout(policy, table, self.name) if self.drift else policy, notes=notes)
        self.described(fit, nets[0], table)
        return fit

    def fit_evidence(self, problem: Problem, fit: Fitted, likelihood: EvidenceLikelihood) -> Fitted:
        """See `Model.fit_evidence`."""
        policy, table = fit.policy, problem.table
        if not isinstance(policy, NetworkPolicy):
            return fit  # a read-out that drifts follows the choices
        folds = [problem.seed + k for k in range(len(policy.nets))]
        batch = batch_of([table] * len(folds), folds, len(policy.subjects))
        exists = np.arange(batch.train.shape[2]) < np.array([*map(len, table.sessions)])[:, None]

        def driven(batch: Batch, logs: Array) -> Batch:
            slope, offset = np.zeros(logs.shape), np.zeros(logs.shape[:-1])
            for k, each in enumerate(np.asarray(logs)):
                value, slope[k, exists] = likelihood(each[exists])
                offset[k, exists] = value - (slope[k, exists] * each[exists]).sum(1)
            return batch._replace(slope=slope, offset=offset)

        nets = train(self, policy.nets, batch, [*map(np.random.default_rng, folds)], driven)
        return replace(fit, policy=replace(policy, nets=nets))

    def to_arrays(self, policy: NetworkPolicy | DriftingReadout) -> dict[str, np.ndarray]:
        """See `Model.to_arrays`."""
        inner: Any = policy.model if isinstance(policy, DriftingReadout) else policy
        walk = flatten(policy.walk, "walk.") if isinstance(policy, DriftingReadout) else {}
        nets = {f"net{k}.{name}": value for k, net in enumerate(inner.nets) for name, value in net.items()}
        return {**walk, **nets, "scale": inner.scale, "subjects": np.array(inner.subjects)}

    def from_arrays(self, arrays: Mapping[str, np.ndarray], table: Behaviour) -> Policy:
        """See `Model.from_arrays`."""
        nets: dict[str, dict[str, np.ndarray]] = {}
        for name in arrays:
            if name.startswith("net"):
                net, _, weight = name.partition(".")
                nets.setdefault(net, {})[weight] = arrays[name]
        subjects = [str(name) for name in arrays["subjects"]]
        policy = NetworkPolicy(self, [*nets.values()], len(table.choices), arrays["scale"], subjects)
        return DriftingReadout(policy, rebuild(Walk, arrays, "walk.")) if "walk.mean" in arrays else policy


def seen(trial: ParallelTrials | Padded, choices: int, scale: FloatArray) -> FloatArray:
    """Return what a network sees after trials: choice, choice by reward, reward, valid, scaled stimuli."""
    chosen = one_hot(trial.choice, choices)
    reward = np.nan_to_num(trial.reward)[..., None]
    valid = (trial.choice >= 0).astype(float)[..., None]
    signed = chosen[..., -1:] - chosen[..., :1]
    base = [signed, signed * (2 * reward - 1)] if choices == 2 else [chosen]
    return np.concatenate([*base, reward * valid, valid, np.nan_to_num(trial.stimuli) / scale], -1)


def input_names(table: Behaviour) -> tuple[str, ...]:
    """Return the names of the inputs that `seen` makes for trials of a table."""
    two = ("choice", "choice x outcome")
    choice_names = two if len(table.choices) == 2 else tuple(f"choice {word}" for word in table.choices)
    return (*choice_names, "reward", "not missed", *table.stimuli)


def stimulus_scale(table: Behaviour) -> FloatArray:
    """Return the s.d. of each stimulus, 1 for constant stimuli."""
    if not table.stimuli:
        return np.ones(0)
    sd = np.nanstd(table.join("stimuli"), 0)
    return np.where(sd > 0, sd, 1.0)


def batch_of(tables: Sequence[Behaviour], inner: Sequence[int], subjects: int = 1) -> Batch:
    """Return the sessions of several networks, with a held-out inner fold each."""
    rows, choices = list[tuple[np.ndarray, ...]](), len(tables[0].choices)
    for table, fold in zip(tables, inner, strict=True):
        data, scale = table.padded, stimulus_scale(table)
        counted = data.scored & (data.choice >= 0)
        held = counted & (rectangle(table.blocks(INNER), 0) % INNER == fold % INNER)
        train = counted & ~held
        shares = [each / max(each.sum(), 1) for each in (train, held if held.any() else train)]
        rows.append((seen(data, choices, scale), data.stimuli / scale, *shares, one_hot(data.choice, choices)))
    wholes = [rectangle(pieces, 0.0) for pieces in zip(*rows, strict=True)]
    longer = [(0, 0), (0, 0), (0, -wholes[0].shape[2] % STEP)]
    after, stimuli, train, held, slope = (np.pad(each, longer + [(0, 0)] * (each.ndim - 3)) for each in wholes)
    subject = np.zeros((*after.shape[:2], subjects))
    for k, table in enumerate(tables):
        who = [table.subjects.index(each.subject) for each in table.sessions]
        subject[k, np.arange(len(who)), who] = 1
    return Batch(after, stimuli, subject, train, held, slope, np.zeros(train.shape))


def _sessions(model: NetworkModel, w: Weights, data: Batch, noise: Array | None = None) -> tuple[Array, Any]:
    """Return log-probabilities (sessions, trials, choices) and states before each trial (sessions, trials, ...)."""

    def session(after: Array, stimuli: Array, subject: Array, noise: Array | None) -> tuple[Array, Any]:
        drive = jax.vmap(model.drive, (None, 0, None, 0))(w, after, subject, noise)
        states = jax.lax.scan(lambda h, each: (model.update(w, h, each), h), model.begin(w), drive)[1]
        logits = jax.vmap(model.logits, (None, 0, 0, None, 0))(w, states, stimuli, subject, noise)
        return jax.nn.log_softmax(logits), states

    return jax.vmap(session)(data.after, data.stimuli, data.subject, noise)


class Compiled(NamedTuple):
    """Compiled functions of several networks: a step of the training, whole sessions, and a trial of sessions."""

    step: Callable[..., Search]
    sessions: Callable[..., Array]
    begin: Callable[..., Any]
    update: Callable[..., Any]
    logits: Callable[..., Array]


@functools.lru_cache(32)
def compiled(model: NetworkModel) -> Compiled:
    """Return the compiled functions of a model."""

    def loss(flat: Array, like: Weights, batch: Batch, noise: Array) -> tuple[Array, Array]:
        w = ravel_pytree(like)[1](flat)
        logs, states = _sessions(model, w, batch, noise)
        each = (batch.slope * logs).sum(-1) + batch.offset
        return model.cost(w, batch, states, noise) - (batch.train * each).sum(), -(batch.held * each).sum()

    def steps(
        searches: Search, epoch: Any, rate: Array, judge: Array, like: Weights, batches: Batch, noises: Array
    ) -> Search:
        """Take a step with each network, one after another: batched products are slower."""

        def step(row: tuple[Search, Batch, Array]) -> Search:
            search, batch, noise = row
            slopes: Any = jax.value_and_grad(loss, has_aux=True)
            (_, score), slope = slopes(search.weights, like, batch, noise)
            _, update, moved = optimizers.adam(lambda _: rate)
            moments = update(epoch, slope / jnp.maximum(jnp.linalg.norm(slope), 1.0), search.moments)
            way = moved(moments) - moved(search.moments)
            better = judge & (score < search.score - 1e-5) & (epoch - search.last <= model.patience)
            kept = [(search.weights, search.best), (score, search.score), (epoch, search.last)]
            best = [jnp.where(better, new, old) for new, old in kept]
            return Search((1 - rate * model.weight_decay) * search.weights + way, moments, *best)

        rows: Any = searches, batches, noises
        return jax.lax.map(step, rows)

    def update(w: Weights, state: Any, after: Array, subject: Array) -> Any:
        return model.update(w, state, model.drive(w, after, subject))

    def of_sessions(function: Callable[..., Any]) -> Callable[..., Any]:
        return jax.jit(jax.vmap(jax.vmap(function, (None, 0, 0, None)), (0, 0, None, None)))

    return Compiled(
        jax.jit(steps),
        jax.jit(jax.vmap(lambda w, data: _sessions(model, w, data)[0])),
        jax.jit(jax.vmap(model.begin)),
        of_sessions(update),
        of_sessions(model.logits),
    )


def train(
    model: NetworkModel,
    first: Sequence[Weights],
    batch: Batch,
    rngs: Sequence[np.random.Generator],
    driven: Callable[[Batch, Array], Batch] | None = None,
) -> list[Weights]:
    """Return trained networks, each as of the best prediction of the inner fold.

    Args:
        model: functions of the networks, and settings of the training.
        first: weights of each network.
        batch: sessions of each network.
        rngs: source of the noise of each network.
        driven: of networks that are trained further, the batch with likelihoods given log-probabilities (nets,
            sessions, trials, choices).
    """
    first = [{name: np.asarray(each, np.float32) for name, each in net.items()} for net in first]
    functions, like, unflat = compiled(model), first[0], ravel_pytree(first[0])[1]
    shape, phases = batch.train.shape[1:], model.phases()
    batch = jax.device_put(Batch(*(None if each is None else np.asarray(each, np.float32) for each in batch)))
    quiet = 0 * np.stack([model.noise(like, shape, rng) for rng in rngs]).astype(np.float32)
    weights = np.stack([ravel_pytree(each)[0] for each in first])
    score, none = np.full(len(first), np.inf, np.float32), np.zeros(len(first), np.int32)
    for rates, noisy in phases:
        search = Search(weights, optimizers.adam(0.0)[0](0 * weights), weights, score, none)
        for epoch, rate in enumerate(np.asarray(rates if driven is None else FURTHER * rates, np.float32)):
            data, noise = batch, quiet
            if driven is not None:
                data = driven(batch, functions.sessions(jax.vmap(unflat)(search.weights), batch))
            judge = rates is phases[-1][0] and (epoch + 1) % model.every == 0
            if noisy:
                if judge:  # without noise
                    judged = functions.step(search, epoch, np.float32(0), True, like, data, quiet)
                    search = search._replace(best=judged.best, score=judged.score, last=judged.last)
                judge, noise = False, np.stack([model.noise(like, shape, rng) for rng in rngs]).astype(np.float32)
            search = functions.step(search, epoch, rate, judge, like, data, noise)
            if (epoch - np.asarray(search.last) > model.patience).all():
                break
        weights = search.weights
    return [{name: np.asarray(value) for name, value in unflat(each).items()} for each in search.best]


@dataclass
class NetworkPolicy(Policy):
    """Averaged choices of networks without noise.

    States are those of the sessions and of further ones, so that numbers of sessions share compiled functions.

    Attributes:
        network: functions of the networks.
        nets: weights of each network.
        choices: number of choices.
        scale: divisor of stimuli.
        subjects: names of the subjects that were fitted.
        who: subject whose own weights are used; None, or a subject that was not fitted, for the mean of all.
    """

    network: NetworkModel
    nets: Sequence[Weights]
    choices: int
    scale: FloatArray
    subjects: Sequence[str]
    who: str | None = None

    def __post_init__(self) -> None:
        """Arrange the weights for the compiled functions."""
        self._functions = compiled(self.network)
        self._weights = {name: np.stack([np.asarray(net[name], float) for net in self.nets]) for name in self.nets[0]}
        names = [self.who] if self.who in self.subjects else self.subjects
        self._subject = np.zeros(len(self.nets[0][self.network.by_subject]))
        self._subject[[self.subjects.index(name) for name in names]] = 1 / len(names)

    def of(self, subject: str) -> NetworkPolicy:
        """Return the policy with a subject's own weights."""
        return self if len(self.subjects) == 1 else replace(self, who=subject)

    def begin(self, n: int) -> Any:
        """See `Policy.begin`."""
        return jax.tree.map(lambda each: jnp.repeat(each[:, None], rounded(n), 1), self._functions.begin(self._weights))

    def probabilities(self, state: Any, stimuli: FloatArray) -> FloatArray:
        """See `Policy.probabilities`."""
        logits = self._functions.logits(self._weights, state, widened(stimuli / self.scale, 1), self._subject)
        return np.asarray(jax.nn.softmax(logits).mean(0))[: len(stimuli)]

    def advance(self, state: Any, trial: ParallelTrials) -> Any:
        """See `Policy.advance`."""
        after = widened(seen(trial, self.choices, self.scale), 1)
        return self._functions.update(self._weights, state, after, self._subject)

    def predict(self, sessions: Sequence[Session]) -> list[FloatArray]:
        """See `Policy.predict`."""
        more = [sessions[0]] * (-len(sessions) % FEWEST)
        data = padded([*sessions, *more])
        after, stimuli = (filled(each, 2) for each in (seen(data, self.choices, self.scale), data.stimuli / self.scale))
        rows = after, stimuli, np.tile(self._subject, (len(after), 1))
        batch = Batch(*(np.broadcast_to(each, (len(self.nets), *each.shape)) for each in rows))
        p = np.exp(np.asarray(self._functions.sessions(self._weights, batch))).mean(0)
        return [p[k, : len(each)] for k, each in enumerate(sessions)]
