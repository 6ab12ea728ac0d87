"""Elastic weight consolidation: stages of training leave the weights alone that earlier stages depend on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils import parameters_to_vector

if TYPE_CHECKING:
    from ngym_cli.agents.networks.policy import RecurrentPolicy

#: Sequences over which the importance of weights is averaged.
SEQUENCES = 256


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
        self._kept: tuple[Tensor, Tensor] | None = None  # importance and anchor

    def __bool__(self) -> bool:
        """Whether there is a penalty: a strength above 0, and a stage that has ended."""
        return self._kept is not None

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
        if self._kept is not None:
            total += n * self._kept[0]
        self._kept = total / max(n, 1), self._weights().clone()

    def __call__(self) -> tuple[Tensor, float]:
        """Return the gradient of the penalty with respect to all weights, in the order of `parameters`; the penalty."""
        if self._kept is None:
            raise RuntimeError("there is no penalty before a stage has ended")
        importance, anchor = self._kept
        change = self._weights() - anchor
        slope = self.strength * importance * change
        return slope, 0.5 * float(slope.dot(change))

    def _weights(self) -> Tensor:
        return parameters_to_vector(self.policy.parameters()).detach()

    def state(self) -> dict[str, np.ndarray]:
        """Importance and anchor of all weights; empty during the first stage."""
        kept = self._kept or ()
        return {name: part.cpu().numpy() for name, part in zip(("importance", "anchor"), kept, strict=False)}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore the result of `state`."""
        if state:
            importance, anchor = (torch.from_numpy(np.array(state[name])) for name in ("importance", "anchor"))
            self._kept = importance.to(self._weights()), anchor.to(self._weights())
