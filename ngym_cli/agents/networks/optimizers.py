"""torch's optimisers without torch's compiler.

Some methods of an optimiser import the compiler (`torch._dynamo`) when they are first called, only to tell it to leave
them alone. That import takes as long as all others of a run together, and nothing here is compiled by torch. So these
methods are called as they are below that layer; what they compute is the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

#: Methods that torch hides from its compiler.
HIDDEN = ("add_param_group", "state_dict", "load_state_dict", "zero_grad")


@functools.cache
def without_compiler(optimizer: type[torch.optim.Optimizer]) -> type[torch.optim.Optimizer]:
    """Return a subclass of an optimiser's class that never imports torch's compiler.

    Args:
        optimizer: a class of `torch.optim`, such as Adam.
    """
    step = _inner(optimizer.step)
    found = {name: _inner(getattr(optimizer, name)) for name in HIDDEN}
    if step is not optimizer.step:
        found["step"] = torch.no_grad()(step)
    return type(optimizer.__name__, (optimizer,), {"__doc__": optimizer.__doc__, "__module__": __name__, **found})


def _inner(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the undecorated method; the method itself in versions of torch without a decorator."""
    return getattr(method, "__wrapped__", method)


Adam = without_compiler(torch.optim.Adam)
RMSprop = without_compiler(torch.optim.RMSprop)
