"""Objective of supervised learning: the loss of the answers, and its gradient in a compiled pass.

The compiled pass is for networks on the CPU whose observations are flat. A few sequences at a time go forward, through
the loss and back, so that what they leave behind stays in the cache, and threads share them. Images are learned from by
automatic differentiation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from ngym_cli.agents.algorithms.compiled_learner import CompiledPolicy
from ngym_cli.agents.algorithms.rollout import PackedRollout
from ngym_cli.agents.compiled.agent import MinibatchSequences
from ngym_cli.agents.networks.places import PlaceCode
from ngym_cli.agents.networks.policy import Categorical, RecurrentPolicy
from ngym_cli.agents.supervised.material import TrialBuffer


def losses(outputs: Tensor, targets: Tensor, discrete: bool, code: PlaceCode | None = None) -> Tensor:
    """The loss of each step (steps,): cross-entropy in nats, or squared error summed over components.

    Args:
        outputs: Action preferences or values (steps, action); with a code preferences for places (steps, place).
        targets: Ground truth, (steps,) or (steps, action).
        discrete: Whether actions are discrete.
        code: Places by which continuous actions are read out, if any.
    """
    if code is not None:
        return code.losses(outputs, targets)
    if discrete:
        return -Categorical.apply(outputs, targets)[0]
    return (outputs - targets).square().sum(-1)


def right_when_due(outputs: Tensor, targets: Tensor, due: Tensor, code: PlaceCode | None = None) -> Tensor:
    """Fraction of correct answers where an answer is due; for continuous actions the negative mean squared error."""
    outputs = outputs if code is None else code.decode(outputs)
    discrete = not targets.is_floating_point()
    correct = (outputs.argmax(-1) == targets).float() if discrete else -losses(outputs, targets, False)
    return correct[due].sum() / due.sum().clamp_min(1)


def drawn_answers(outputs: Tensor, discrete: bool, rng: np.random.Generator, code: PlaceCode | None = None) -> Tensor:
    """Draw answers from the distribution of which `losses` is the negative log-likelihood, as given by the outputs.

    Args:
        outputs: As in `losses`.
        discrete: Whether actions are discrete; otherwise, without a code, the variance of each component is 1/2.
        rng: Source of the draws.
        code: As in `losses`.
    """
    with torch.no_grad():
        if discrete or code is not None:
            choice = (outputs + torch.from_numpy(rng.gumbel(size=outputs.shape)).to(outputs)).argmax(-1)
            return choice if code is None else code.centers[choice]
        return outputs + torch.from_numpy(rng.normal(0, 0.5**0.5, outputs.shape)).to(outputs)


LOSS, STEP_LOSS, CORRECT, RATES = range(4)  #: places of sums, as in `objective.h`


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
        self, material: TrialBuffer, sequences: PackedRollout, carry: Sequence[Tensor] | None, noise: np.ndarray | None
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
        n_envs, steps = int(sequences.env.max()) + 1, int(sequences.length.sum())
        self._grow(n_envs, int(sequences.length.max()))
        self.copy_weights()
        net, shape = self.policy.networks[0], (len(material) // n_envs, n_envs)
        discrete = isinstance(self.policy.action_space, spaces.Discrete)
        answers = np.ascontiguousarray(material.gt, np.int64 if discrete else np.float32).reshape(*shape, -1)
        l1, l2 = (size / (steps * net.hidden_size) for size in self.on_rates)
        arrays = {
            "obs": np.ascontiguousarray(material.ob, np.float32).reshape(*shape, -1),
            "chosen" if discrete else "moved": answers[..., 0] if discrete else answers,
            "weight": material.weight.reshape(shape),
            "due": material.due.reshape(shape),
            **{name: state.numpy()[None] for name, state in zip(("h", "c"), carry or (), strict=False)},
        }
        longest_first = sequences[np.argsort(-sequences.length, kind="stable")]
        minibatch = MinibatchSequences(longest_first.first(n_envs), longest_first.length, np.array([0, len(sequences)]))
        columns = {**arrays, "noise": noise, "l1": l1, "l2": l2}
        sums = self.agent.gradient("supervised", minibatch, columns)[0].tolist()
        numbers = [sums[LOSS] + sums[RATES], sums[STEP_LOSS] / steps, sums[RATES], sums[CORRECT]]
        return self.gradient_of_parameters(), numbers

    def _grow(self, n_envs: int, longest: int) -> None:
        """Make room for longer sequences than there have been."""
        if n_envs > self._room[0] or longest > self._room[1]:
            self._room = max(n_envs, self._room[0]), max(longest, self._room[1])
            self.agent.reserve(*self._room)
