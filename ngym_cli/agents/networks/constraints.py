"""Constraints on the weights of any recurrent network, built-in or a user's own cell, as torch parametrizations.

A constrained weight is computed from trained parameters whenever the weight is used, so that compiled passes, exports,
analyses and penalties see the effective weights. Masks and fixed parts are buffers, stored with the weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn
from torch.nn.utils import parametrize

from ngym_cli.agents.networks.base import ConstrainedWeights
from ngym_cli.agents.networks.connectome import from_table
from ngym_cli.agents.networks.structure import Structure
from ngym_cli.errors import UserError

#: Fewest actions that make a ring.
FEWEST_ANGLES = 4


class Constrained(nn.Module):
    """Weights with missing connections and fixed signs: `|weight| * factor` or `weight * factor`.

    Args:
        factor: mask times sign, of the shape of the weights.
        signed: whether signs are fixed.
    """

    factor: Tensor

    def __init__(self, factor: Tensor, signed: bool) -> None:
        super().__init__()
        self.signed = signed
        self.register_buffer("factor", factor)

    def forward(self, weight: Tensor) -> Tensor:
        """Return the effective weights."""
        return (weight.abs() if self.signed else weight) * self.factor


class Pruned(Constrained):
    """Weights of which more and more are removed during training; they do not return.

    Args:
        weight: the weights, all of which exist at first.
    """

    def __init__(self, weight: Tensor) -> None:
        super().__init__(torch.ones_like(weight), False)

    @torch.no_grad()
    def remove(self, weight: Tensor, sparsity: float) -> None:
        """Remove the weights of the smallest magnitude.

        Args:
            weight: the effective weights.
            sparsity: share of all weights that is zero afterwards.
        """
        order = weight.abs().flatten().argsort(stable=True)
        self.factor.view(-1)[order[: round(sparsity * weight.numel())]] = 0


class LowRank(nn.Module):
    """Weights `random * chi + m n' / units`, with trained m and n (Mastrogiuseppe & Ostojic 2018).

    Args:
        rank: columns of m and n, which begin standard normal.
        units: number of sources.
        chi: fixed normal part of variance `random^2 / units`; None: none.
    """

    chi: Tensor | None

    def __init__(self, rank: int, units: int, chi: Tensor | None) -> None:
        super().__init__()
        self.rank, self.units = rank, units
        self.register_buffer("chi", chi)

    def forward(self, m: Tensor, n: Tensor) -> Tensor:
        """Return the effective weights."""
        product = m @ n.t() / self.units
        return product if self.chi is None else product + self.chi

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Draw the first m and n, whatever the weights."""
        to, units = weight.shape
        return weight.new_empty(to, self.rank).normal_(), weight.new_empty(units, self.rank).normal_()


class RingWeights(nn.Module):
    """Weights of actions that are angles, as a sum of few harmonics of the angle; other actions keep their weights.

    Preferences are then smooth over angles: with one harmonic their softmax is a von Mises distribution.

    Args:
        actions: number of actions.
        ring: numbers of the actions that are angles, in equal steps around the ring.
        harmonics: number of harmonics besides the constant.
    """

    projection: Tensor

    def __init__(self, actions: int, ring: np.ndarray, harmonics: int) -> None:
        super().__init__()
        angle = 2 * np.pi * np.arange(len(ring)) / len(ring)
        order = np.arange(1, harmonics + 1)
        waves = [np.ones((len(ring), 1)), np.cos(angle[:, None] * order), np.sin(angle[:, None] * order)]
        basis = np.linalg.qr(np.concatenate(waves, axis=1))[0]
        projection = np.eye(actions)
        projection[np.ix_(ring, ring)] = basis @ basis.T
        self.register_buffer("projection", torch.from_numpy(projection.astype(np.float32)))

    def forward(self, weight: Tensor) -> Tensor:
        """Return the effective weights (action, unit), or biases (action,)."""
        return self.projection @ weight


def ring_of(action_space: Any) -> np.ndarray:
    """Return the numbers of the actions that are angles: the label with the most actions, in equal steps around.

    Raises:
        UserError: if the task has no actions on a ring.
    """
    labels = getattr(action_space, "name", None) or {}
    longest = max((np.atleast_1d(index) for index in labels.values()), key=len, default=np.zeros(0, int))
    if not isinstance(action_space, spaces.Discrete) or len(longest) < FEWEST_ANGLES:
        raise UserError(f"ring: the task has no {FEWEST_ANGLES} or more actions that are angles")
    return longest.astype(int)


def impose(network: Any, structure: Structure) -> None:
    """Constrain the input weights, recurrent weights and biases of a network.

    Args:
        network: a `RecurrentNetwork`.
        structure: the constraints; masks are drawn from torch's generator.

    Raises:
        UserError: if the network has no weights of a constrained kind, or sizes do not fit.
    """
    if structure.blocks and network.num_layers > 1:
        raise UserError("areas need a single layer: layers=1")
    if network.signed and (structure.blocks or structure.rank):
        raise UserError("ei_rnn has signs of its own, without areas or rank; ctrnn has inhibitory, areas and rank")
    rng, units = generator(), network.hidden_size
    connections = list(network.connections())
    signs = structure.signs(units)
    for layer in range(network.num_layers):
        in_layer = [weights for weights in connections if weights.layer == layer]
        recurrent = [weights for weights in in_layer if weights.kind == "recurrent"]
        inputs = [weights for weights in in_layer if weights.kind == "input"]
        _shape_recurrent(recurrent, structure, units, signs, rng)
        mask = structure.inputs(units, network.input_size, rng) if layer == 0 else None
        if mask is not None:
            for weights in _blocks(inputs, units, "inputs"):
                _constrain(weights, _stacked(mask, weights), False)
    for weights in connections if structure.prune is not None else ():
        if weights.kind != "bias":
            parametrize.register_parametrization(
                weights.module, weights.name, Pruned(getattr(weights.module, weights.name))
            )
    for kind in [kind for kind in ("input", "recurrent", "bias") if kind in structure.fixed]:
        chosen = [weights for weights in connections if weights.kind == kind]
        if not chosen:
            raise UserError(f"fixed={kind}: the network has no such weights")
        fix((weights.module, weights.name) for weights in chosen)
    if not any(True for _ in network.parameters()) and "output" in structure.fixed:
        raise UserError("fixed: nothing would be trained; leave out one of the parts")


def impose_on_outputs(policy: Any, structure: Structure) -> None:
    """Constrain the layers of a policy that read the units.

    Args:
        policy: a `RecurrentPolicy`.
        structure: the constraints; `fixed=output` leaves the read-out of actions untrained, not that of values.
    """
    rng, units = generator(), policy.lstm_actor.hidden_size
    hidden = policy.mlp_extractor
    for head, before in ((policy.action_net, hidden.policy_net), (policy.value_net, hidden.value_net)):
        layers = [module for module in before.modules() if isinstance(module, nn.Linear)]
        first: nn.Linear = [*layers, head][0]
        fixed = "output" in structure.fixed and head is policy.action_net
        if fixed:  # outputs begin small, so that actions are random: too small for outputs that cannot grow
            nn.init.normal_(head.weight, 0, head.in_features**-0.5)
        mask = structure.outputs(units, first.out_features, rng)
        if mask is not None:
            _constrain(ConstrainedWeights("input", first, "weight", 0), torch.from_numpy(mask), False)
        if structure.ring is not None and head is policy.action_net:
            ring = ring_of(policy.action_space)
            if 2 * structure.ring + 1 > len(ring):
                raise UserError(
                    f"ring={structure.ring}: {len(ring)} angles have at most {(len(ring) - 1) // 2} harmonics"
                )
            for name in ("weight", "bias"):
                parametrize.register_parametrization(head, name, RingWeights(head.out_features, ring, structure.ring))
        if fixed:
            fix((module, name) for module in [*layers, head] for name in ("weight", "bias"))


def generator() -> np.random.Generator:
    """Return a generator seeded by torch's generator."""
    return np.random.default_rng(int(torch.randint(2**31, (1,))))


@torch.no_grad()
def balance(
    weight: Tensor, excitatory: slice | Tensor, inhibitory: slice | Tensor, factor: Tensor, radius: float = 1.0
) -> None:
    """Draw Gamma-distributed strengths, scale inhibition to cancel excitation, then scale to a spectral radius.

    Args:
        weight: strengths (unit, unit), overwritten.
        excitatory: index of the excitatory sources.
        inhibitory: index of the inhibitory sources.
        factor: mask times sign (unit, unit).
        radius: spectral radius of the effective weights.
    """
    strengths = torch.distributions.Gamma(2.0, 1.0).sample(weight.shape)
    weight.copy_(strengths * factor.abs())
    received = weight[:, excitatory].sum(1) / weight[:, inhibitory].sum(1).clamp_min(1e-6)
    weight[:, inhibitory] *= received.clamp_max(100.0)[:, None]
    _scale(weight, weight.abs() * factor, radius)


def prune(policy: Any, sparsity: float) -> None:
    """Remove the recurrent and input weights of the smallest magnitude, in each matrix the same share.

    Args:
        policy: a `RecurrentPolicy` made with the option ``prune``.
        sparsity: share of the weights that is zero afterwards.
    """
    for network in policy.networks:
        for weights in network.connections():
            if weights.kind == "bias":
                continue
            effective: Any = getattr(weights.module, weights.name)
            if network.signed and weights.kind == "recurrent":
                effective = network.recurrent_weight(weights.layer)
            steps: Any = weights.module.parametrizations[weights.name]
            steps[-1].remove(effective, sparsity)


def fix(weights: Iterable[tuple[nn.Module, str]]) -> None:
    """Turn parameters into buffers, which are stored but not trained."""
    for module, name in weights:
        owner: Any = module
        names = [name]
        if parametrize.is_parametrized(module, name):
            owner = module.parametrizations[name]  # type: ignore[index]
            names = [parameter_name for parameter_name, _ in owner.named_parameters(recurse=False)]
        for each in names:
            value = getattr(owner, each)
            if isinstance(value, nn.Parameter):
                delattr(owner, each)
                owner.register_buffer(each, value.detach())


def _shape_recurrent(
    connections: list[ConstrainedWeights],
    structure: Structure,
    units: int,
    signs: np.ndarray | None,
    rng: np.random.Generator,
) -> None:
    """Constrain the recurrent weights of a layer, and set the first strengths."""
    mask = structure.recurrent(units, rng)
    plain = mask is None and signs is None
    if plain and structure.rank is None and structure.radius is None:
        return
    for weights in _blocks(connections, units, "recurrent activity"):
        if structure.rank is not None:
            _reduce(weights, structure, units)
        if not plain:
            allowed = np.ones((units, units), np.float32) if mask is None else mask
            _constrain(weights, _stacked(allowed if signs is None else allowed * signs, weights), signs is not None)
        first = None if structure.connectome is None else from_table(structure.connectome).weights
        if first is not None:
            _set(weights, units, first, signs, structure.radius)
            continue
        if signs is not None:
            constraint: Any = weights.module.parametrizations[weights.name][-1]  # type: ignore[index]
            factors = (constraint.factor.t() if weights.transposed else constraint.factor).split(units)
            populations = torch.from_numpy(signs > 0), torch.from_numpy(signs < 0)
            for (strengths, _), factor in zip(_square(weights, units), factors, strict=True):
                balance(strengths, *populations, factor, structure.radius or 1.0)
        elif structure.radius is not None:
            with torch.no_grad():
                for strengths, effective in _square(weights, units):
                    _scale(strengths, effective, structure.radius)


def _square(weights: ConstrainedWeights, units: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Trained strengths and effective weights of each gate (unit, unit)."""
    trained: Any = getattr(weights.module, weights.name)
    if parametrize.is_parametrized(weights.module, weights.name):
        computed: Any = weights.module.parametrizations
        trained = computed[weights.name].original
    trained, module = trained.detach(), weights.module
    effective: Tensor = module.recurrent_weight(weights.layer) if getattr(module, "signed", False) else weights.tensor  # type: ignore[operator]
    yield from zip((trained.t() if weights.transposed else trained).split(units), effective.split(units), strict=True)


def _set(
    weights: ConstrainedWeights, units: int, first: np.ndarray, signs: np.ndarray | None, radius: float | None
) -> None:
    """Set the weights of each gate, as strengths where signs are fixed."""
    network: Any = weights.module
    if getattr(network, "signed", False):
        signs = network.sign.cpu().numpy()
    if signs is not None and (first < 0).any() and (first * signs < 0).any():
        wrong = int(np.flatnonzero((first * signs < 0).any(axis=0))[0])
        raise UserError(f"connectome: weights from unit {wrong} have not the sign of the unit, whose sign is fixed")
    with torch.no_grad():
        for strengths, _ in _square(weights, units):
            strengths.copy_(torch.from_numpy(first if signs is None else np.abs(first)))
        if radius is not None:
            for strengths, effective in _square(weights, units):
                _scale(strengths, effective, radius)


def _scale(strengths: Tensor, effective: Tensor, radius: float) -> None:
    """Scale strengths so that the effective weights, proportional to them, have a spectral radius."""
    spectrum = torch.linalg.eigvals(effective).abs().max()
    strengths *= radius / spectrum.clamp_min(1e-6)


def _reduce(weights: ConstrainedWeights, structure: Structure, units: int) -> None:
    """Replace a matrix by one of low rank."""
    weight = getattr(weights.module, weights.name)
    if structure.rank is not None and structure.rank > units:
        raise UserError(f"rank={structure.rank} is more than the {units} units")
    sd = structure.random * units**-0.5
    chi = torch.empty_like(weight.detach()).normal_(0, sd) if structure.random else None
    parametrize.register_parametrization(weights.module, weights.name, LowRank(int(structure.rank or 1), units, chi))


def _constrain(weights: ConstrainedWeights, factor: Tensor, signed: bool) -> None:
    factor = factor.t().contiguous() if weights.transposed else factor
    parametrize.register_parametrization(weights.module, weights.name, Constrained(factor, signed))


def _stacked(mask: np.ndarray, weights: ConstrainedWeights) -> Tensor:
    """Return the mask of all gates, one below the other."""
    return torch.from_numpy(np.tile(mask, (len(weights.tensor) // len(mask), 1)).astype(np.float32))


def _blocks(connections: list[ConstrainedWeights], units: int, noun: str) -> list[ConstrainedWeights]:
    """Matrices (gate * unit, from) among some weights.

    Raises:
        UserError: if there are none.
    """
    high = [weights for weights in connections if len(weights.tensor) % units == 0]
    blocks = [weights for weights in high if weights.kind == "input" or weights.tensor.shape[1] == units]
    if not blocks:
        shape = "of shape (units, sources) or gates times as high"
        raise UserError(f"the cell has no matrix of its own for {noun}, {shape}")
    return blocks
