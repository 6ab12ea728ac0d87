"""Objective of PPO over packed sequences; penalties; and batches that fit into memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils import parameters_to_vector

from ngym_cli.agents.networks.policy import PackedSequences

if TYPE_CHECKING:
    from ngym_cli.agents.networks.policy import RecurrentPolicy


STATISTICS = ("policy_gradient_loss", "value_loss", "entropy_loss", "approx_kl", "clip_fraction", "loss")
KL = STATISTICS.index("approx_kl")


class LossCoefficients(NamedTuple):
    """Coefficients of the objective that is maximised; see `clipped_loss`.

    Attributes:
        normalize: scale advantages to mean 0 and standard deviation 1 over the sequences of a minibatch.
        clip: largest counted deviation of the probability ratio from 1.
        clip_range_vf: largest change of values from the old values; infinite for no limit.
        ent_coef: weight of the entropy.
        vf_coef: weight of the error of values.
        imitation: weight of the cross-entropy of the correct actions.
        l1: penalty on the mean absolute activity of the actor's top layer.
        l2: penalty on its mean square.
    """

    normalize: bool = False
    clip: float = 0.0
    clip_range_vf: float = inf
    ent_coef: float = 0.0
    vf_coef: float = 0.0
    imitation: float = 0.0
    l1: float = 0.0
    l2: float = 0.0


def clipped_loss(
    policy: RecurrentPolicy, logits: Tensor, values: Tensor, batch: Minibatch, coefficients: LossCoefficients
) -> tuple[Tensor, Tensor]:
    """-min(r A, clip(r) A) - c_H H + c_V (R - V)^2 averaged over steps, and the numbers in `STATISTICS`.

    r is the ratio to the old probability of the action.

    Args:
        policy: the policy.
        logits: action preferences or means (step, action).
        values: predicted returns (step,).
        batch: the minibatch.
        coefficients: of the objective.
    """
    log_probs, entropies = policy.log_prob_and_entropy(logits, batch.actions)
    mean = batch.weight.dot
    ratio, inside, kl, clipped = _compare_policies(log_probs - batch.log_probs, batch.weight, coefficients.clip)
    policy_loss = -mean(torch.minimum(batch.advantages * ratio, batch.advantages * inside))
    limit = coefficients.clip_range_vf
    values = values if limit == inf else batch.values + (values - batch.values).clamp(-limit, limit)
    value_loss, entropy_loss = mean((values - batch.returns).square()), -mean(entropies)
    loss = policy_loss + coefficients.ent_coef * entropy_loss + coefficients.vf_coef * value_loss
    return loss, torch.stack([policy_loss, value_loss, entropy_loss, kl, clipped, loss]).detach()


def _compare_policies(log_ratio: Tensor, weight: Tensor, clip: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return probability ratios, the same clipped, the approximate KL divergence, and the share of clipped steps.

    Args:
        log_ratio: logarithm of new by old probability (step, ...).
        weight: weight of each step (step,).
        clip: largest counted deviation of the ratio from 1.
    """
    ratio = log_ratio.exp()
    inside = ratio.clamp(1 - clip, 1 + clip)
    kl = weight.dot((ratio - 1 - log_ratio).flatten())
    return ratio, inside, kl, weight.dot((ratio != inside).to(weight.dtype).flatten())


def action_value_loss(
    logits: Tensor, values: Tensor, batch: Minibatch, coefficients: LossCoefficients, temperature: float
) -> tuple[Tensor, Tensor]:
    """(Q - R)^2 / 2T - c_H H + c_V (R - V)^2 averaged over steps, and the numbers in `STATISTICS`.

    Q = V + T (l_a - sum_b p_b l_b) is the predicted return of the action a, with the preferences l of the actions and
    their probabilities p. Without an entropy term the gradient is that of the policy with a penalty on preferences,
    which ends where differences of preferences are those of returns, divided by T (Schulman et al. 2017,
    arXiv:1704.06440). A small difference is learned as fast as a large one, so that the better of two actions that are
    worth almost the same is found in noise.

    Args:
        logits: preferences (step, action).
        values: predicted returns (step,).
        batch: the minibatch.
        coefficients: weights of entropy and values.
        temperature: T.
    """
    log_probs = torch.log_softmax(logits, -1)
    probs, actions = log_probs.exp(), batch.actions.long().view(-1, 1)
    advantage = logits.gather(1, actions)[:, 0] - (probs.detach() * logits).sum(-1)
    weight = batch.weight.view(-1)
    mean = weight.dot
    error = values.detach() + temperature * advantage - batch.returns
    action_loss = mean(error.square()) / (2 * temperature)
    value_loss, entropy_loss = mean((values - batch.returns).square()), mean((probs * log_probs).sum(-1))
    loss = action_loss + coefficients.ent_coef * entropy_loss + coefficients.vf_coef * value_loss
    with torch.no_grad():
        log_ratio = log_probs.gather(1, actions)[:, 0] - batch.log_probs
        *_, kl, clipped = _compare_policies(log_ratio, weight, coefficients.clip)
        numbers = torch.stack([action_loss, value_loss, entropy_loss, kl, clipped, loss]).detach()
    return loss, numbers


def imitation_loss(logits: Tensor, batch: Minibatch) -> Tensor:
    """The cross-entropy of correct actions, averaged over steps, of preferences (step, action)."""
    correct = torch.log_softmax(logits, -1).gather(1, batch.correct.long().view(-1, 1))
    return -batch.weight.dot(correct[:, 0])


@dataclass(frozen=True)
class Minibatch:
    """Packed sequences with the actions, weights and targets of each step (step, ...).

    `weight` is 1 / steps, and 0 on steps that do not count, so that sums are means. `correct` are correct actions,
    zeros where these are not learned from.
    """

    sequences: PackedSequences
    actions: Tensor
    weight: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor
    correct: Tensor


#: Largest absolute activity of a silent unit.
SILENT = 1e-3

#: Sequences over which the importance of weights is averaged.
SEQUENCES = 256


@dataclass(frozen=True)
class Penalties:
    """Weights of penalties that are added to a loss; 0 for none.

    Attributes:
        l1_rate: on mean absolute activity.
        l2_rate: on mean squared activity, the metabolic cost of Song et al. 2016.
        l1_weight: on mean absolute input, recurrent and output weights, effective weights where constrained.
        l2_weight: on mean squared weights.
        participation: on the fraction of dimensions that activity occupies; negative spreads activity.
    """

    l1_rate: float = 0.0
    l2_rate: float = 0.0
    l1_weight: float = 0.0
    l2_weight: float = 0.0
    participation: float = 0.0

    @classmethod
    def among(cls, arguments: dict[str, Any]) -> Penalties:
        """Take the penalties out of the arguments of a learner."""
        return cls(**{each.name: arguments.pop(each.name) for each in fields(cls) if each.name in arguments})

    def __bool__(self) -> bool:
        """Whether there is any penalty."""
        return any(astuple(self))

    def __call__(self, policy: RecurrentPolicy, rates: Tensor) -> Tensor:
        """Sum of all penalties.

        Args:
            policy: the penalised policy.
            rates: activity of the actor's top layer (step, unit).
        """
        total = rates.new_zeros(())
        for weight, cost in ((self.l1_rate, torch.abs), (self.l2_rate, torch.square)):
            if weight:
                total = total + weight * cost(rates).mean()
        if self.participation:
            total = total + self.participation * participation(rates) / rates.shape[-1]
        return total + self.on_weights(policy) if self.weighs_weights else total

    @property
    def weighs_weights(self) -> bool:
        """Whether there is a penalty on weights."""
        return bool(self.l1_weight or self.l2_weight)

    def add_for_weights(self, policy: RecurrentPolicy, gradient: Tensor) -> tuple[Tensor, float]:
        """Add the gradient of the penalty on weights to a gradient; return the sum and the penalty."""
        if not self.weighs_weights:
            return gradient, 0.0
        penalty = self.on_weights(policy)
        return gradient + policy.gradient(penalty), penalty.item()

    def on_weights(self, policy: RecurrentPolicy) -> Tensor:
        """Penalty on every weight matrix of the acting network, summed over matrices."""
        matrices = [*policy.networks[0].matrices(), policy.action_net.weight]
        costs = [self.l1_weight * each.abs().mean() + self.l2_weight * each.square().mean() for each in matrices]
        return torch.stack(costs).sum()


def participation(rates: Tensor) -> Tensor:
    """Participation ratio of activity (step, unit): (sum of variances)^2 / sum of squared covariance eigenvalues."""
    centred = rates - rates.mean(0)
    covariance = centred.t() @ centred / len(rates)
    return covariance.diagonal().sum().square() / covariance.square().sum().clamp_min(1e-12)


def silent_units(rates: np.ndarray) -> int:
    """Return the number of units whose activity (..., unit) never leaves zero."""
    return int((np.abs(rates).max(tuple(range(rates.ndim - 1))) < SILENT).sum())


class Consolidation:
    """Penalty ``strength / 2 * sum(importance * (weight - anchor)^2)`` over all weights.

    The anchor holds the weights at the end of the last stage. Importance is the diagonal of the Fisher information of
    the network's answers, summed over all earlier stages with equal shares (Kirkpatrick et al. 2017,
    10.1073/pnas.1611835114; a single anchor as in Huszar 2018, 10.1073/pnas.1717042115). With strength 1 the penalty is
    the quadratic approximation of the loss of the earlier stages.

    Args:
        policy: policy with the weights.
        strength: weight of the penalty; 0 for none.
    """

    def __init__(self, policy: RecurrentPolicy, strength: float) -> None:
        self.policy, self.strength = policy, strength
        self._consolidated: tuple[Tensor, Tensor] | None = None  # importance and anchor

    def __bool__(self) -> bool:
        """Whether there is a penalty: a strength above 0, and a stage that has ended."""
        return self._consolidated is not None

    def end_stage(self, losses: Iterable[Tensor]) -> None:
        """Anchor the present weights, and add the importance of each for the stage that ends.

        Args:
            losses: loss of one sequence after the other, for answers drawn from the policy.
        """
        if not self.strength:
            return
        total, n = torch.zeros_like(self._weights()), 0
        for loss in losses:
            total += self.policy.gradient(loss).square()
            n += 1
        if self._consolidated is not None:
            total += n * self._consolidated[0]
        self._consolidated = total / max(n, 1), self._weights().clone()

    def __call__(self) -> tuple[Tensor, float]:
        """Return the gradient of the penalty with respect to all weights, in the order of `parameters`; the penalty."""
        if self._consolidated is None:
            raise RuntimeError("there is no penalty before a stage has ended")
        importance, anchor = self._consolidated
        change = self._weights() - anchor
        slope = self.strength * importance * change
        return slope, 0.5 * float(slope.dot(change))

    def _weights(self) -> Tensor:
        return parameters_to_vector(self.policy.parameters()).detach()

    def state(self) -> dict[str, np.ndarray]:
        """Importance and anchor of all weights; empty during the first stage."""
        anchors = self._consolidated or ()
        return {name: tensor.cpu().numpy() for name, tensor in zip(("importance", "anchor"), anchors, strict=False)}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore the result of `state`."""
        if state:
            importance, anchor = (torch.from_numpy(np.array(state[name])) for name in ("importance", "anchor"))
            self._consolidated = importance.to(self._weights()), anchor.to(self._weights())


# -- memory -----------------------------------------------------------------------------------------------------------

logger = logging.getLogger("ngym_cli")


class BatchSplitter:
    """Gradients of batches in parts that fit into memory; when it runs out there are more, with one line that says so.

    Attributes:
        n_parts: parts of each batch.
    """

    def __init__(self) -> None:
        self.n_parts = 1

    def __call__(
        self,
        policy: RecurrentPolicy,
        n_sequences: int,
        losses: Callable[[int], Iterator[tuple[Tensor, Tensor]]],
    ) -> tuple[Tensor, Tensor] | None:
        """Return the gradient and the numbers of a batch, the sums over its parts; None if there are none.

        Args:
            policy: policy with the weights.
            n_sequences: sequences of the batch, which are not divided.
            losses: from the number of parts to the loss and the numbers of each part.

        Raises:
            torch.cuda.OutOfMemoryError: if a single sequence is too large.
        """
        while True:
            try:
                return _sums(policy, losses(min(self.n_parts, n_sequences)))
            except torch.cuda.OutOfMemoryError:
                if self.n_parts >= n_sequences:
                    raise
                self.n_parts = min(2 * self.n_parts, n_sequences)
            if torch.cuda.is_available():  # outside of the handler, which holds on to tensors
                torch.cuda.empty_cache()
            logger.warning("a batch is too large for the memory of the device; it is split into %d", self.n_parts)


def _sums(policy: RecurrentPolicy, losses: Iterator[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor] | None:
    """Return the sum of the gradients of losses, and the sum of their numbers; None if there are none."""
    total: tuple[Tensor, Tensor] | None = None
    for loss, numbers in losses:
        gradient = policy.gradient(loss)
        total = (gradient, numbers) if total is None else (total[0] + gradient, total[1] + numbers)
    return total
