"""Steps of an optimiser on all weights of a small network at once.

Most of the time of such a step goes into calls for each tensor. So the optimiser has one vector, of which all weights
are parts; and a step of Adam has a compiled form.

Some methods of torch's optimisers import torch's compiler (`torch._dynamo`) when they are first called, only to ask the
compiler to leave them alone. That import takes as long as all others of a run together, and nothing here is compiled by
torch. So these methods are called as they are below that layer; what they compute is the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from neurogym import kernels
from ngym_cli.agents.compiled import apply_adam

#: Methods that torch hides from its compiler.
INNER_METHODS = ("add_param_group", "state_dict", "load_state_dict", "zero_grad")


@functools.cache
def without_compiler(optimizer: type[torch.optim.Optimizer]) -> type[torch.optim.Optimizer]:
    """Return a subclass of an optimiser's class that never imports torch's compiler.

    Args:
        optimizer: a class of `torch.optim`, such as Adam.
    """
    step = _inner(optimizer.step)
    methods = {name: _inner(getattr(optimizer, name)) for name in INNER_METHODS}
    if step is not optimizer.step:
        methods["step"] = torch.no_grad()(step)
    return type(optimizer.__name__, (optimizer,), {"__doc__": optimizer.__doc__, "__module__": __name__, **methods})


def _inner(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the undecorated method; the method itself in versions of torch without a decorator."""
    return getattr(method, "__wrapped__", method)


Adam = without_compiler(torch.optim.Adam)
RMSprop = without_compiler(torch.optim.RMSprop)


SPECIAL = ("weight_decay", "amsgrad", "maximize", "capturable", "differentiable")  #: options without a compiled step


class Optimizer:
    """Moves weights down a gradient.

    Args:
        weights: all of them.

    Attributes:
        vector: parameter of the optimiser, which can be any optimiser that treats weights independently.
    """

    def __init__(self, weights: list[nn.Parameter]) -> None:
        self.weights = weights
        self.vector = nn.Parameter(parameters_to_vector(weights))
        self._places: list[int] = []
        self._move_state()  # now, not at the first step: where numbers lie decides how libraries round them

    def step(self, optimizer: torch.optim.Optimizer, gradient: Tensor, max_norm: float) -> None:
        """Take a step.

        Args:
            optimizer: optimiser of the vector.
            gradient: with respect to all weights, in their order.
            max_norm: length that longer gradients are shortened to.
        """
        adam = self.compiled(optimizer)
        if adam is not None and gradient.dtype == torch.float32:
            apply_adam(adam, gradient.numpy(), max_norm)
            return
        length = torch.linalg.vector_norm(gradient)
        if gradient.device.type != "cpu":  # without waiting for the device
            self.vector.grad = gradient * (max_norm / length).clamp(max=1)
        else:
            self.vector.grad = gradient * (max_norm / float(length)) if length > max_norm else gradient
        optimizer.step()

    def _move_state(self) -> None:
        """Make the weights views of the vector; needed for new weights and after a move to another device."""
        if [weight.data_ptr() for weight in self.weights] != self._places:
            self.vector.data = parameters_to_vector(self.weights).detach()
            vector_to_parameters(self.vector, self.weights)
            self._places = [weight.data_ptr() for weight in self.weights]

    def compiled(self, optimizer: torch.optim.Optimizer) -> dict[str, object] | None:
        """Arguments of the compiled Adam step by name: the vector, means of gradient and square, step, coefficients.

        Returns None if the optimiser is not plain Adam, and at the first step, in which the optimiser initialises.

        Args:
            optimizer: optimiser of the vector.
        """
        self._move_state()
        moments = optimizer.state.get(self.vector, {}) if type(optimizer) in (Adam, torch.optim.Adam) else {}
        if {tensor.numel() for name, tensor in moments.items() if name != "step"} != {self.vector.numel()}:
            return None
        group = optimizer.param_groups[0]
        if self.vector.device.type != "cpu" or any(group[name] for name in SPECIAL) or not kernels.available():
            return None
        tensors = {
            "vector": self.vector,
            "mean": moments["exp_avg"],
            "square": moments["exp_avg_sq"],
            "step": moments["step"],
        }
        numbers = dict(zip(("keep_mean", "keep_square"), group["betas"], strict=True))
        arrays = {name: tensor.detach().numpy() for name, tensor in tensors.items()}
        return {**arrays, **numbers, "rate": group["lr"], "small": group["eps"]}
