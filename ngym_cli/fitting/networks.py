"""Small recurrent networks as models of choices (Ji-An, Benna & Mattar 2025, 10.1038/s41586-025-09142-4).

The cell sees the previous trial (choice, reward, stimuli) and its state carries the past of the session. Logits are
linear in the state and the present stimuli, and in their products, so that the state can change how stimuli are
weighed. Trained by cross-entropy on whole sessions at once (AdamW), with times further by the likelihood of choices and
times; each seed stops early on an inner fold of its own and the probabilities of the seeds are averaged.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from neurogym.analysis.regression import log_softmax
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import EvidenceLikelihood, Fitted, Model, ParallelTrials, Policy, Problem, one_hot
from neurogym.behaviour.models.marks import few_trials_of_network
from neurogym.behaviour.table import Behaviour, Session
from ngym_cli import processes
from ngym_cli.agents.compiled.network import ArrayState
from ngym_cli.agents.networks import find_network
from ngym_cli.fitting.readout import DriftingReadout, arrays_of_nets, fit_readout, from_arrays, require_drift, to_arrays

#: Inner folds for early stopping; epochs at most; epochs without improvement at which training ends.
INNER, EPOCHS, PATIENCE = 5, 800, 60
#: Share of the learning rate with which trained networks are trained further; at the whole rate some get worse.
FURTHER = 0.1
#: Arguments of the cells here, where one step is one trial.
CELL_ARGUMENTS: dict[str, dict[str, float | str]] = {
    "gru": {"memory": 10.0},
    "lstm": {"memory": 10.0},
    "rnn": {"activation": "tanh"},
    "ctrnn": {"activation": "tanh", "tau": 3.0, "dt": 1.0, "noise": 0.0},
}


@dataclass(frozen=True)
class Training:
    """Settings of the training of a network.

    Attributes:
        learning_rate: of AdamW.
        weight_decay: of AdamW.
        l1: weight of the absolute recurrent weights in the loss.
        seeds: networks whose probabilities are averaged.
        drift: whether a read-out that drifts from trial to trial follows the averaged networks (two choices).
    """

    learning_rate: float = 0.02
    weight_decay: float = 0.03
    l1: float = 1e-4
    seeds: int = 3
    drift: bool = False


class ChoiceNetwork(nn.Module):
    """A recurrent cell with a read-out of state and present stimuli.

    Args:
        cell: a name in ``CELL_ARGUMENTS``.
        units: number of units.
        choices: number of choices.
        stimuli: number of stimuli.
        subjects: number of subjects; each has weights of its own for bias and stimuli.
    """

    def __init__(self, cell: str, units: int, choices: int, stimuli: int, subjects: int = 1):
        super().__init__()
        self.choices, self.stimuli = choices, stimuli
        self.cell = find_network(cell).load()(choices + 2 + stimuli, units, 1, **CELL_ARGUMENTS[cell])
        self.state = nn.Linear(units, choices)
        with warnings.catch_warnings():  # of tables without stimuli, which have no weights to draw
            warnings.filterwarnings("ignore", message="Initializing zero-element tensors")
            self.now = nn.Linear(stimuli, choices, bias=False)
        self.product = nn.Parameter(torch.zeros(choices, units, stimuli))
        self.subject = nn.Parameter(torch.zeros(subjects, choices, 1 + stimuli))
        nn.init.normal_(self.state.weight, 0, 0.3)
        nn.init.zeros_(self.state.bias)
        nn.init.zeros_(self.now.weight)

    def read(self, h: Tensor, stimuli: Tensor, who: Tensor) -> Tensor:
        """Return logits (trial, choice) from the state, the stimuli and the subject of each trial."""
        logits = self.state(h) + self.now(stimuli) + torch.einsum("nu,cus,ns->nc", h, self.product, stimuli)
        subject_weights = self.subject[who]
        return logits + subject_weights[..., 0] + torch.einsum("ncs,ns->nc", subject_weights[..., 1:], stimuli)


def seen(trial: ParallelTrials, choices: int) -> FloatArray:
    """Return the inputs of the cell after a trial: choice, choice by reward, reward, valid, stimuli."""
    chosen = one_hot(trial.choice, choices)
    reward = np.nan_to_num(trial.reward)[:, None]
    valid = (trial.choice >= 0).astype(float)[:, None]
    signed = chosen[:, -1:] - chosen[:, :1] if choices == 2 else chosen
    base = np.concatenate([signed, signed * (2 * reward - 1)], 1) if choices == 2 else chosen
    return np.concatenate([base, reward * valid, valid, trial.stimuli], 1)


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


@dataclass
class PackedSessions:
    """Sessions packed for the compiled passes, longest first.

    Attributes:
        x: inputs of the cell before each trial, shape (steps, features).
        stimuli: shape (steps, stimuli).
        choice: shape (steps,), -1 for misses.
        row: index of the trial of each step, counted over the sessions in the order given.
        who: index of the subject of each step.
        counts: sessions that have each step.
    """

    x: Tensor
    stimuli: Tensor
    choice: Tensor
    row: np.ndarray
    who: Tensor
    counts: list[int]


def pack(sessions: Sequence[Session], choices: int, subjects: Sequence[str]) -> PackedSessions:
    """Return sessions packed."""
    order = sorted(range(len(sessions)), key=lambda k: -len(sessions[k]))
    lengths = np.array([len(sessions[k]) for k in order])
    counts = [int((lengths > t).sum()) for t in range(lengths[0])]
    rows, stimuli, choice, row, who = [], [], [], [], []
    first = np.cumsum([0, *map(len, sessions)])
    each = []
    for k in order:
        s = sessions[k]
        values = np.nan_to_num(s.stimuli)
        after = seen(ParallelTrials(values, s.choice, s.reward, s.state, s.choice2), choices)
        each.append((np.vstack([np.zeros((1, after.shape[1])), after[:-1]]), values, s.choice))
    for t, n in enumerate(counts):
        for position in range(n):
            x, values, chosen = each[position]
            rows.append(x[t])
            stimuli.append(values[t])
            choice.append(chosen[t])
            row.append(first[order[position]] + t)
            who.append(subjects.index(sessions[order[position]].subject))
    return PackedSessions(
        torch.tensor(np.array(rows), dtype=torch.float32),
        torch.tensor(np.array(stimuli), dtype=torch.float32),
        torch.tensor(np.array(choice)),
        np.array(row),
        torch.tensor(who),
        counts,
    )


#: Log-likelihood of each step, given the log-probabilities of its choices (steps, choices).
StepLikelihood = Callable[[Tensor, PackedSessions], Tensor]


def _of_choices(logs: Tensor, data: PackedSessions) -> Tensor:
    """Return the log-probability of the choice of each step."""
    return logs.gather(1, data.choice.clamp(min=0)[:, None])[:, 0]


def _with_gradient(likelihood: EvidenceLikelihood) -> StepLikelihood:
    """Return a log-likelihood, and derivatives that are known, as a function that torch can differentiate."""

    def each(logs: Tensor, data: PackedSessions) -> Tensor:
        ordered = np.empty(logs.shape)
        ordered[data.row] = logs.detach().numpy()
        value, slope = (torch.from_numpy(array[data.row]).to(logs) for array in likelihood(ordered))
        return value + (slope * (logs - logs.detach())).sum(1)

    return each


class NetworkPolicy(Policy):
    """Averaged choices of networks that are stepped in NumPy.

    Args:
        nets: trained networks.
        stimuli_scale: divisor of stimuli.
        subjects: names of the subjects that were fitted.
        who: subject whose own weights are used; None, or a subject that was not fitted, for the mean of all.
    """

    def __init__(
        self, nets: Sequence[ChoiceNetwork], stimuli_scale: FloatArray, subjects: Sequence[str], who: str | None = None
    ):
        self.nets, self.scale, self.subjects = list(nets), stimuli_scale, tuple(subjects)
        indices = [self.subjects.index(who)] if who in self.subjects else list(range(len(self.subjects)))
        self.choices = nets[0].choices
        self.steppers = [net.cell.stepper() for net in nets]
        self.weights = [
            [
                weight.detach().numpy().astype(float)
                for weight in (
                    net.state.weight,
                    net.state.bias,
                    net.now.weight,
                    net.product,
                    net.subject[indices].mean(0),
                )
            ]
            for net in nets
        ]

    def of(self, subject: str) -> NetworkPolicy:
        """Return the policy with a subject's own weights."""
        return self if len(self.subjects) == 1 else NetworkPolicy(self.nets, self.scale, self.subjects, subject)

    def begin(self, n: int) -> list[ArrayState]:
        """See `Policy.begin`."""
        states = [[state.numpy() for state in net.cell.initial_state(n)] for net in self.nets]
        x = np.zeros((n, self.nets[0].cell.input_size), np.float32)
        return self._moved(states, x)

    def _moved(self, states: Sequence[Sequence[np.ndarray]], x: np.ndarray) -> list[ArrayState]:
        new = []
        for stepper, state in zip(self.steppers, states, strict=True):
            out = tuple(np.empty_like(array) for array in state)
            stepper.step(np.ascontiguousarray(x, np.float32), tuple(state), out)
            new.append(out)
        return new

    def _logits_of_nets(self, state: list[ArrayState], stimuli: FloatArray) -> list[FloatArray]:
        """Return the logits of each network, shape (sessions, choices)."""
        rows = []
        s = stimuli / self.scale
        for (out, bias, now, product, subject_weights), each in zip(self.weights, state, strict=True):
            h = each[0][-1].astype(float)
            logits = h @ out.T + bias + subject_weights[:, 0] + s @ (now + subject_weights[:, 1:]).T
            rows.append(logits + np.einsum("nu,cus,ns->nc", h, product, s))
        return rows

    def probabilities(self, state: list[ArrayState], stimuli: FloatArray) -> FloatArray:
        """See `Policy.probabilities`."""
        return np.mean([np.exp(log_softmax(each)) for each in self._logits_of_nets(state, stimuli)], 0)

    def advance(self, state: list[ArrayState], trial: ParallelTrials) -> list[ArrayState]:
        """See `Policy.advance`."""
        scaled = replace(trial, stimuli=trial.stimuli / self.scale)
        return self._moved(state, seen(scaled, self.choices))


class Recurrent(Model):
    """Small recurrent network.

    Args:
        name: name of the model.
        cell: gru, lstm, rnn or ctrnn.
        units: number of units, 1 to 64.
        **training: settings of the training, the attributes of `Training`.
    """

    learns_times = True

    def __init__(self, name: str, cell: str, units: int, **training: Any):
        self.cell, self.units, self.training, self.name = cell, units, Training(**training), name

    def check(self, table: Behaviour) -> None:
        """Refuse tables that do not suit the model.

        Raises:
            UnfitError: if a drifting read-out is to follow other than two choices.
        """
        if self.training.drift:
            require_drift(table, self.name)

    def fit(self, problems: Sequence[Problem]) -> list[Fitted]:
        """See `Model.fit`."""
        processes.limit_torch()
        return [self._fit(each) for each in problems]

    def fit_evidence(self, problem: Problem, fit: Fitted, likelihood: EvidenceLikelihood) -> Fitted:
        """See `Model.fit_evidence`."""
        if not isinstance(fit.policy, NetworkPolicy):
            return fit  # a read-out that drifts follows the choices
        nets = [
            self._train(problem.table, fit.policy.scale, problem.seed * 1000 + k, k, net, _with_gradient(likelihood))
            for k, net in enumerate(fit.policy.nets)
        ]
        return replace(fit, policy=NetworkPolicy(nets, fit.policy.scale, fit.policy.subjects))

    def to_arrays(self, policy: NetworkPolicy | DriftingReadout) -> dict[str, np.ndarray]:
        """See `Model.to_arrays`."""
        inner, saved = to_arrays(policy)
        assert isinstance(inner, NetworkPolicy)
        for k, net in enumerate(inner.nets):
            saved |= {f"net{k}.{name}": value.numpy() for name, value in net.state_dict().items()}
        return {**saved, "scale": inner.scale, "subjects": np.array(inner.subjects)}

    def from_arrays(self, arrays: Mapping[str, np.ndarray], table: Behaviour) -> Policy:
        """See `Model.from_arrays`."""
        nets: list[ChoiceNetwork] = []
        subjects = [str(name) for name in arrays["subjects"]]
        for weights in arrays_of_nets(arrays):
            nets.append(ChoiceNetwork(self.cell, self.units, len(table.choices), len(table.stimuli), len(subjects)))
            nets[-1].load_state_dict({name: torch.from_numpy(each) for name, each in weights.items()})
        return from_arrays(NetworkPolicy(nets, arrays["scale"], subjects), arrays)

    def _fit(self, problem: Problem) -> Fitted:
        table = problem.table
        scale = stimulus_scale(table)
        nets = [self._train(table, scale, problem.seed * 1000 + k, k) for k in range(self.training.seeds)]
        policy: Policy = NetworkPolicy(nets, scale, table.subjects)
        if self.training.drift:
            policy = fit_readout(policy, table, self.name)
        weights = sum(weight.numel() for weight in nets[0].parameters())
        trials = int((table.join("choice") >= 0).sum())
        notes = few_trials_of_network(trials, weights)
        return Fitted(self.name, policy, {}, float("nan"), {"units": self.units}, notes=notes)

    def _train(
        self,
        table: Behaviour,
        scale: FloatArray,
        seed: int,
        fold: int,
        start: ChoiceNetwork | None = None,
        likelihood: StepLikelihood = _of_choices,
    ) -> ChoiceNetwork:
        """Return a network trained on all but a held-out inner fold, as of the best prediction of that fold."""
        sessions = [_scaled(each, scale) for each in table.sessions]
        data = pack(sessions, len(table.choices), table.subjects)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            size = len(table.choices), len(table.stimuli), len(table.subjects)
            net = ChoiceNetwork(self.cell, self.units, *size)
        if start is not None:
            net.load_state_dict(start.state_dict())
        block = np.concatenate(table.blocks(INNER))[data.row]
        held_out = torch.tensor((block + seed) % INNER == fold % INNER)
        valid = torch.from_numpy(table.join("scored_choice")[data.row] >= 0)
        train, test = torch.nonzero(valid & ~held_out)[:, 0], torch.nonzero(valid & held_out)[:, 0]
        settings = self.training
        rate = settings.learning_rate * (1.0 if start is None else FURTHER)
        optimiser = torch.optim.AdamW(net.parameters(), rate, weight_decay=settings.weight_decay)
        begin = net.cell.initial_state(data.counts[0])
        best: tuple[float, int, dict[str, Tensor]] = (np.inf, 0, {})
        for epoch in range(EPOCHS):
            h, _ = net.cell.sequence(data.x, data.counts, begin, None, False)
            each = -likelihood(torch.log_softmax(net.read(h, data.stimuli, data.who), 1), data)
            score = float(each.detach()[test].mean()) if len(test) else float(each.detach()[train].mean())
            if score < best[0] - 1e-5:
                best = score, epoch, {key: value.clone() for key, value in net.state_dict().items()}
            if epoch - best[1] > PATIENCE:
                break
            loss = each[train].mean() + settings.l1 * net.cell.recurrent_weight(0).abs().sum()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimiser.step()
        net.load_state_dict(best[2])
        return net


def _scaled(each: Session, scale: FloatArray) -> Session:
    return replace(each, stimuli=each.stimuli / scale) if len(scale) else each
