"""Disentangled recurrent network (Miller, Eckstein, Botvinick & Kurth-Nelson 2023, 10.1101/2023.06.23.546250).

Each latent z_i has an update network of its own that sees the previous trial and all latents through noisy bottlenecks:
z_i <- (1 - w) z_i + w u, with w = logistic(a) and u = 2 tanh(b / 2), where (a, b) is the output of the update network;
then noise of s.d. sigma_i is added. A choice network sees the latents through further bottlenecks, and the present
stimuli. Networks of several subjects also learn two numbers that describe each subject (an embedding), which count
among observations and stimuli. The information that passes a bottleneck, KL(N(m x, sigma^2) || N(0, 1)), is
penalised, so latents and inputs that do not help to predict choices are closed (sigma near 1). Noise and penalties act
in training only. Networks of all folds are trained together, first without noise and penalties; each keeps the weights
that predict an inner fold best. The code is ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from neurogym.analysis.results import Estimate
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import Fitted, Model, Policy, Problem, trial_of
from neurogym.behaviour.models.marks import few_trials_of_network
from neurogym.behaviour.table import Behaviour, padded, rectangle
from ngym_cli import processes
from ngym_cli.fitting.bottlenecks import EMBEDDING, BottleneckWeights, DisentangledPolicy, spread
from ngym_cli.fitting.networks import INNER, input_names, seen, stimulus_scale
from ngym_cli.fitting.readout import DriftingReadout, arrays_of_nets, fit_readout, from_arrays, require_drift, to_arrays

#: Epochs without and with noise and penalties, epochs between scores of the inner fold, learning rates of both phases.
WARM, EPOCHS, EVERY, RATES = 50, 250, 10, (0.02, 0.01)
OPEN = 0.25  #: a bottleneck with a smaller s.d. is open


@dataclass(frozen=True)
class Bottlenecks:
    """Settings of a disentangled network.

    Attributes:
        latents: number of latents.
        penalty: weight of the information in the latents, in nats per trial.
        inputs: the same for what update and choice networks see, relative to ``penalty``.
        seeds: networks whose probabilities are averaged.
        drift: whether a read-out that drifts from trial to trial follows the averaged networks (two choices).
    """

    latents: int = 5
    penalty: float = 3e-3
    inputs: float = 0.1
    seeds: int = 1
    drift: bool = False


def information(square: Tensor, sd: Tensor) -> Tensor:
    """Return the divergence of N(signal, sd^2) from N(0, 1) from the mean square of the signal."""
    return 0.5 * (square + sd**2 - 1) - torch.log(sd)


@dataclass
class SessionBatch:
    """Sessions of several networks, padded.

    Attributes:
        x: the previous trial, shape (nets, steps, sessions, observations).
        stimuli: present stimuli, shape (nets, steps, sessions, stimuli).
        choice: 0 where there is none, shape (nets, steps, sessions).
        train: 1 for trials that are learned from, divided by their number.
        held: the same for trials of the inner fold.
        who: index of the subject of each session, shape (nets, sessions).
    """

    x: Tensor
    stimuli: Tensor
    choice: Tensor
    train: Tensor
    held: Tensor
    who: Tensor


def batch_of(tables: Sequence[Behaviour], scales: Sequence[FloatArray], inner: Sequence[int]) -> SessionBatch:
    """Return the sessions of several networks, with scaled stimuli and a held-out inner fold each."""
    choices = len(tables[0].choices)
    tables_of_subjects = []
    for table, scale, fold in zip(tables, scales, inner, strict=True):
        sessions = table.sessions
        data, who = padded(sessions), np.array([[table.subjects.index(each.subject) for each in sessions]])
        scaled = replace(data, stimuli=data.stimuli / scale)
        rows = [seen(trial_of(scaled, t), choices) for t in range(data.choice.shape[1])]
        before = np.stack([np.zeros_like(rows[0]), *rows[:-1]])
        counted = rectangle([each.scored_choice for each in sessions], -1).T
        held_out = (counted >= 0) & (rectangle(table.blocks(INNER), 0).T % INNER == fold % INNER)
        tables_of_subjects.append((before, scaled.stimuli.swapaxes(0, 1), counted, held_out, who))
    steps, most = (max(entry[2].shape[k] for entry in tables_of_subjects) for k in (0, 1))

    def stack(k: int, fill: float) -> np.ndarray:
        out = np.full((len(tables_of_subjects), steps, most, *tables_of_subjects[0][k].shape[2:]), fill, np.float32)
        for row, entry in zip(out, tables_of_subjects, strict=True):
            row[: entry[k].shape[0], : entry[k].shape[1]] = entry[k]
        return out

    choice, held_out = stack(2, -1), stack(3, 0)
    train = (choice >= 0) & (held_out == 0)
    weights = [(each / np.maximum(each.sum((1, 2), keepdims=True), 1)).astype(np.float32) for each in (train, held_out)]
    return SessionBatch(
        torch.from_numpy(stack(0, 0)),
        torch.from_numpy(stack(1, 0)),
        torch.from_numpy(np.maximum(choice, 0)).long(),
        torch.from_numpy(weights[0]),
        torch.from_numpy(weights[1]),
        torch.from_numpy(stack(4, 0)[:, 0]).long(),
    )


def _with_embedding(w: BottleneckWeights, batch: SessionBatch) -> SessionBatch:
    """Return the batch with the numbers that describe the subject among observations and stimuli."""
    if not w.embedding.shape[2]:
        return batch
    embedding = w.embedding[torch.arange(len(w.embedding))[:, None], batch.who]
    embedding = embedding[:, None].expand(-1, batch.x.shape[1], -1, -1)
    return replace(batch, x=torch.cat([batch.x, embedding], 3), stimuli=torch.cat([batch.stimuli, embedding], 3))


def forward(w: BottleneckWeights, batch: SessionBatch, settings: Bottlenecks, noisy: bool) -> tuple[Tensor, Tensor]:
    """Return log-likelihoods (nets, steps, sessions) and the penalty of each network (nets,)."""
    batch = _with_embedding(w, batch)
    (nets, steps, sessions, observed), latents = batch.x.shape, settings.latents
    both = nets * latents
    sd, latent_sd, choice_sd = spread(w.sd), spread(w.latent_sd), spread(w.choice_sd)
    seen_by = batch.x[:, :, None] * w.gain[:, None, :, None, :observed]  # (nets, steps, latents, sessions, observed)
    if noisy:
        seen_by = seen_by + sd[:, None, :, None, :observed] * torch.randn(seen_by.shape)
        inner = sd[None, :, :, None, observed:] * torch.randn(steps, nets, latents, sessions, latents)
        inner = inner.reshape(steps, both, sessions, latents).unbind()
        outer = (latent_sd[None, :, :, None] * torch.randn(steps, nets, latents, sessions)).unbind()
    drive = torch.einsum("ktlso,kloh->tklsh", seen_by, w.first[:, :, :observed]) + w.first_bias
    each = drive.reshape(steps, both, sessions, -1).unbind()  # gradients of indexing would fill the whole array
    recurrent = w.first[:, :, observed:].reshape(both, latents, -1)
    gain = w.gain[:, :, None, observed:]
    layers = [
        (w.hidden[:, k].reshape(both, *w.hidden.shape[3:]), w.hidden_bias[:, k].reshape(both, 1, -1))
        for k in range(w.hidden.shape[1])
    ]
    last, last_bias = w.last.reshape(both, -1, 2), w.last_bias.reshape(both, 1, 2)
    z = w.z[:, :, None].expand(nets, latents, sessions)
    clean, carried = [z], [z]
    for t in range(1, steps):
        signal = (z.transpose(1, 2)[:, None] * gain).reshape(both, sessions, latents)
        if noisy:
            signal = signal + inner[t]
        h = torch.baddbmm(each[t], signal, recurrent)
        for weight, bias in layers:
            h = h + functional.leaky_relu(torch.baddbmm(bias, h, weight))
        rate, target = torch.baddbmm(last_bias, h, last).reshape(nets, latents, sessions, 2).unbind(3)
        z = z + torch.sigmoid(rate) * (2 * torch.tanh(0.5 * target) - z)
        clean.append(z)
        if noisy:
            z = z + outer[t]
        carried.append(z)
    state, carried_latents = torch.stack(carried, 1), torch.stack(clean, 1)  # (nets, steps, latents, sessions)
    seen_state = state * w.choice_gain[:, None, :, None]
    penalty = torch.zeros(nets)
    if noisy:
        penalty = _penalty(w, batch, carried_latents, state, settings)
        seen_state = seen_state + choice_sd[:, None, :, None] * torch.randn(seen_state.shape)
    h = torch.cat([seen_state.transpose(2, 3), batch.stimuli], 3).reshape(nets, steps * sessions, -1)
    h = torch.baddbmm(w.choice_bias, h, w.choice_first)
    for k in range(w.choice_hidden.shape[1]):
        h = h + functional.leaky_relu(torch.baddbmm(w.choice_hidden_bias[:, k], h, w.choice_hidden[:, k]))
    logits = torch.baddbmm(w.choice_last_bias, h, w.choice_last)
    logits = logits + torch.bmm(batch.stimuli.reshape(nets, steps * sessions, -1), w.direct)
    logs = torch.log_softmax(logits, 2).reshape(nets, steps, sessions, -1)
    return logs.gather(3, batch.choice[..., None])[..., 0], penalty


def _penalty(w: BottleneckWeights, batch: SessionBatch, clean: Tensor, state: Tensor, settings: Bottlenecks) -> Tensor:
    """Return the information that passes the bottlenecks of each network per trial, weighted, shape (nets,)."""
    observed = torch.einsum("kts,ktso->ko", batch.train, batch.x**2)
    before, after = (torch.einsum("kts,ktls->kl", batch.train, each**2) for each in (clean, state))
    squares = torch.cat([observed, after], 1)[:, None] * w.gain**2
    updates = information(squares, spread(w.sd)).sum((1, 2))
    choosing = information(after * w.choice_gain**2, spread(w.choice_sd)).sum(1)
    return information(before, spread(w.latent_sd)).sum(1) + settings.inputs * (updates + choosing)


def train(
    batch: SessionBatch, first: Sequence[BottleneckWeights], settings: Bottlenecks, seed: int
) -> list[BottleneckWeights]:
    """Return trained networks, each as of the best prediction of the inner fold in the second phase."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        leaves = {
            name: torch.tensor(np.stack([getattr(each, name) for each in first]), dtype=torch.float32).requires_grad_()
            for name in vars(first[0])
        }
        w, nets = BottleneckWeights(**leaves), len(first)
        best_score = torch.full((nets,), -torch.inf)
        best = {name: leaf.detach().clone() for name, leaf in leaves.items()}
        for phase, (epochs, rate) in enumerate(zip((WARM, EPOCHS), RATES, strict=True)):
            optimiser = torch.optim.Adam(leaves.values(), rate)
            schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs, 0.1 * rate)
            for epoch in range(1, epochs + 1):
                logs, penalty = forward(w, batch, settings, noisy=phase > 0)
                loss = (settings.penalty * penalty - (batch.train * logs).sum((1, 2))).sum()
                optimiser.zero_grad()
                loss.backward()
                _clip(leaves.values(), nets)
                optimiser.step()
                schedule.step()
                if phase and epoch % EVERY == 0:
                    with torch.no_grad():
                        score = (batch.held * forward(w, batch, settings, noisy=False)[0]).sum((1, 2))
                    better = score > best_score
                    best_score = torch.where(better, score, best_score)
                    for name, leaf in leaves.items():
                        best[name][better] = leaf.detach()[better]
    arrays = {name: value.numpy().astype(float) for name, value in best.items()}
    return [BottleneckWeights(**{name: value[k] for name, value in arrays.items()}) for k in range(nets)]


def _clip(leaves: Iterable[Tensor], nets: int) -> None:
    """Limit the norm of the gradient of each network to 1."""
    gradients = [leaf.grad for leaf in leaves if leaf.grad is not None]  # bottlenecks have none without noise
    norm = torch.stack([g.flatten(1).square().sum(1) for g in gradients]).sum(0).sqrt()
    factor = 1 / norm.clamp(min=1)
    for g in gradients:
        g.mul_(factor.reshape(nets, *[1] * (g.dim() - 1)))


class Disentangled(Model):
    """Disentangled recurrent network; see the module.

    Args:
        name: name of the model.
        **settings: latents, penalties and seeds, the attributes of `Bottlenecks`.
    """

    def __init__(self, name: str, **settings: Any):
        self.settings, self.name = Bottlenecks(**settings), name

    def check(self, table: Behaviour) -> None:
        """Refuse tables that do not suit the model.

        Raises:
            UnfitError: if a drifting read-out is to follow other than two choices.
        """
        if self.settings.drift:
            require_drift(table, self.name)

    def fit(self, problems: Sequence[Problem]) -> list[Fitted]:
        """See `Model.fit`."""
        processes.limit_torch()
        seeds, table = self.settings.seeds, problems[0].table
        subjects = max(len(each.table.subjects) for each in problems)
        scales = [stimulus_scale(each.table) for each in problems]
        names = (*input_names(table), *(f"subject, {k + 1}" for k in range(EMBEDDING * (subjects > 1))))
        first, tables, owners, inner = [], [], [], []
        for each, scale in zip(problems, scales, strict=True):
            for k in range(seeds):
                rng = np.random.default_rng([each.seed, k])
                size = self.settings.latents, len(input_names(table)), len(table.stimuli), len(table.choices), subjects
                first.append(BottleneckWeights.drawn(*size, rng))
                tables.append(each.table)
                owners.append(scale)
                inner.append(k + each.seed)
        trained = train(batch_of(tables, owners, inner), first, self.settings, problems[0].seed)
        return [
            self._fitted(
                DisentangledPolicy(trained[k * seeds : (k + 1) * seeds], scale, each.table.subjects), names, each.table
            )
            for k, (scale, each) in enumerate(zip(scales, problems, strict=True))
        ]

    def _fitted(self, policy: DisentangledPolicy, names: tuple[str, ...], table: Behaviour) -> Fitted:
        w = policy.nets[0]
        order = np.argsort(spread(w.latent_sd))
        estimates = {"open latents": Estimate(float((spread(w.latent_sd) < OPEN).sum()))}
        for rank, k in enumerate(order, 1):
            estimates[f"sigma of latent {rank}"] = Estimate(float(spread(w.latent_sd[k])))
        n = len(names)
        sd = np.concatenate([spread(w.sd[order, :n]), spread(w.sd[order][:, n + order])], 1)
        all_inputs = (*names, *(f"latent {k + 1}" for k in range(len(order))))
        details = {"bottlenecks": sd, "bottleneck_names": all_inputs, "latent_sd": spread(w.latent_sd[order])}
        final_policy = fit_readout(policy, table, self.name) if self.settings.drift else policy
        weights = sum(np.size(value) for key, value in vars(w).items() if not key.endswith("sd"))
        notes = few_trials_of_network(int((table.join("choice") >= 0).sum()), weights)
        return Fitted(self.name, final_policy, estimates, float("nan"), details, notes=notes)

    def to_arrays(self, policy: DisentangledPolicy | DriftingReadout) -> dict[str, np.ndarray]:
        """See `Model.to_arrays`."""
        inner, saved = to_arrays(policy)
        assert isinstance(inner, DisentangledPolicy)
        for k, w in enumerate(inner.nets):
            saved |= {f"net{k}.{name}": value for name, value in vars(w).items()}
        return {**saved, "scale": inner.scale, "subjects": np.array(inner.subjects)}

    def from_arrays(self, arrays: Mapping[str, np.ndarray], table: Behaviour) -> Policy:
        """See `Model.from_arrays`."""
        nets = [BottleneckWeights(**weights) for weights in arrays_of_nets(arrays)]
        subjects = tuple(str(name) for name in arrays["subjects"])
        return from_arrays(DisentangledPolicy(nets, arrays["scale"], subjects), arrays)
