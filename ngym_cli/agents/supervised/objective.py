"""Objective of supervised learning: the loss of the answers, and its gradient in a compiled pass.

The compiled pass is for networks on the CPU whose observations are flat. A few sequences at a time go forward, through
the loss and back, so that what they leave behind stays in the cache, and threads share them. Images are learned from by
automatic differentiation.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from ngym_cli.agents.algorithms.compiled_learner import CompiledPolicy
from ngym_cli.agents.algorithms.objective import LossCoefficients
from ngym_cli.agents.networks.places import PlaceCode
from ngym_cli.agents.networks.policy import RecurrentPolicy
from ngym_cli.agents.sequences import Sequences
from ngym_cli.agents.supervised.material import TrialBuffer


class Choices:
    """Discrete answers: the loss is the cross-entropy (nats) of the correct action, outputs are preferences.

    `Values` and `Places` have the same methods.

    Args:
        policy: the network that answers.
    """

    #: Numbers of an update: total loss, unweighted loss per step, penalties, and what is right where an answer is due.
    names = ("loss", "cross_entropy_loss", "penalty_loss", "right_when_due")

    def __init__(self, policy: RecurrentPolicy) -> None:
        self._policy = policy

    def outputs(self, rates: Tensor) -> Tensor:
        """Return outputs (step, output) for rates (step, unit)."""
        outputs: Tensor = self._policy.action_net(self._policy.mlp_extractor.forward_actor(rates))
        return outputs

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of each step (steps,) for targets (steps,), or (steps, component) if continuous."""
        return torch.nn.functional.cross_entropy(outputs, targets.long(), reduction="none")

    def right(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return for each step (steps,) whether the answer is correct, or minus its squared error if continuous."""
        return (outputs.argmax(-1) == targets).float()

    def drawn(self, outputs: Tensor, rng: np.random.Generator) -> Tensor:
        """Draw answers from the distribution of which `losses` is the negative log-likelihood."""
        return drawn_choices(outputs, rng)


class Values(Choices):
    """Continuous answers: the loss is the squared error, summed over components; outputs are the answers."""

    names = ("loss", "squared_error_loss", "penalty_loss", "negative_error_when_due")

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return squared errors (steps,)."""
        return (outputs - targets).square().sum(-1)

    def right(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return minus the squared errors (steps,)."""
        return -(outputs - targets).square().sum(-1)

    def drawn(self, outputs: Tensor, rng: np.random.Generator) -> Tensor:
        """Draw answers whose components have a variance of 1/2."""
        return outputs + torch.from_numpy(rng.normal(0, 0.5**0.5, outputs.shape)).to(outputs)


class Places(Values):
    """Continuous answers among places: the loss is the cross-entropy of the places around the correct answer."""

    names = ("loss", "cross_entropy_loss", "penalty_loss", "negative_error_when_due")

    def __init__(self, policy: RecurrentPolicy, code: PlaceCode) -> None:
        super().__init__(policy)
        self._code = code

    def outputs(self, rates: Tensor) -> Tensor:
        """Return preferences for places (step, place) for rates (step, unit)."""
        return self._code.preferences(self._policy.mlp_extractor.forward_actor(rates))

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the cross-entropy (steps,) of answers (steps, component)."""
        return self._code.losses(outputs, targets)

    def right(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return minus the squared error of the answer between places (steps,)."""
        return super().right(self._code.decode(outputs), targets)

    def drawn(self, outputs: Tensor, rng: np.random.Generator) -> Tensor:
        """Draw places."""
        return self._code.centers[drawn_choices(outputs, rng)]


def drawn_choices(preferences: Tensor, rng: np.random.Generator) -> Tensor:
    """Draw choices (steps,), each with the probability that its preference (steps, choice) gives it."""
    return (preferences + torch.from_numpy(rng.gumbel(size=preferences.shape)).to(preferences)).argmax(-1)


def read_out(policy: RecurrentPolicy) -> Choices:
    """Return how the outputs of a network become answers."""
    if isinstance(policy.action_space, spaces.Discrete):
        return Choices(policy)
    head = policy.action_net
    return Places(policy, head) if isinstance(head, PlaceCode) else Values(policy)


LOSS, STEP_LOSS, CORRECT, RATES = 0, 1, 2, 5  #: places of sums, as in `objective.h`


class SupervisedKernel(CompiledPolicy):
    """Network that learns from targets.

    Args:
        policy: a policy without an `obstacle`.
        on_rates: penalties on absolute and squared rates (see `Penalties`).
    """

    def __init__(self, policy: RecurrentPolicy, on_rates: Sequence[float]) -> None:
        super().__init__(policy, has_values=False)
        self.on_rates, self._room = on_rates, (0, 0)

    def gradient(
        self, material: TrialBuffer, sequences: Sequences, carry: Sequence[Tensor] | None, noise: np.ndarray | None
    ) -> tuple[Tensor, list[float]]:
        """The gradient of the loss with respect to all weights, overwritten by the next, and four numbers.

        Args:
            material: steps, in place time * environments + environment; weights of steps sum to 1.
            sequences: of the material.
            carry: states before the sequences (layer, sequence, unit), which become those after; None: zeros.
            noise: standard normal draws (time, layer, environment, unit).

        Returns:
            The gradient; the loss without penalties on weights, the mean loss of a step, the penalty on rates, the sum
            over the steps at which an answer is due of what is right (of minus the squared error).
        """
        n_envs = sequences.stride
        self._grow(n_envs, int(sequences.length.max()))
        self.copy_weights()
        shape = (len(material) // n_envs, n_envs)
        discrete = isinstance(self.policy.action_space, spaces.Discrete)
        answers = np.ascontiguousarray(material.gt, np.int64 if discrete else np.float32).reshape(*shape, -1)
        l1, l2 = self.on_rates
        arrays = {
            "obs": np.ascontiguousarray(material.ob, np.float32).reshape(*shape, -1),
            "chosen" if discrete else "moved": answers[..., 0] if discrete else answers,
            "weight": material.weight.reshape(shape),
            "due": material.due.reshape(shape),
            **{name: state.numpy()[None] for name, state in zip(("h", "c"), carry or (), strict=False)},
        }
        columns = {**arrays, "noise": noise, **LossCoefficients(l1=l1, l2=l2)._asdict(), "most_kl": inf}
        sums = self.agent.update([sequences], columns)[0].tolist()
        numbers = [sums[LOSS] + sums[RATES], sums[STEP_LOSS] / sequences.n_steps, sums[RATES], sums[CORRECT]]
        return self.gradient_of_parameters(), numbers

    def _grow(self, n_envs: int, longest: int) -> None:
        """Make room for longer sequences than there have been."""
        if n_envs > self._room[0] or longest > self._room[1]:
            self._room = max(n_envs, self._room[0]), max(longest, self._room[1])
            self.agent.reserve(*self._room)
