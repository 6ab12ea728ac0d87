"""Contract of users' own network cells: each check finds a typical mistake and suggests a correction."""

from __future__ import annotations

import functools
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from neurogym.envs.contract import ContractError
from neurogym.envs.contract.subject import require
from ngym_cli.agents.networks.cell import Cell, StateError, check_state, sizes_of
from ngym_cli.agents.user_classes import constructor_parameters, network_options
from ngym_cli.config import options

INPUTS, UNITS, N, STEPS = 5, 12, 6, 12
#: Steps after which activity must still be finite.
FINITE_AFTER = 300


class CellSubject:
    """A user's own cell under test.

    Args:
        name: reference of the cell.
        cls: the class.
    """

    def __init__(self, name: str, cls: Any):
        self.name, self.cls = name, cls
        if not callable(getattr(cls, "step", None)):
            raise ContractError("the cell has no step; define step(self, x, state), which returns the new state")
        self.options = options.defaults(network_options(cls, name))
        plain = {"inputs", "units", *self.options}
        parameters, _ = constructor_parameters(cls)
        unknown_names = [each.name for each in parameters[2:] if each.name not in plain]
        if unknown_names:
            raise ContractError(
                f"the default of argument {unknown_names[0]} of __init__ is neither number, truth value, word nor list "
                "of these, so that no run can set or store the argument; name the choice by a word"
            )
        missing = [option for option, field in network_options(cls, name).items() if field.is_required()]
        if missing:
            raise ContractError(f"argument {missing[0]} of __init__ has no default; give it one to check the cell")

    def make(self, inputs: int = INPUTS, units: int = UNITS, seed: int = 0) -> Cell:
        """Return a cell with weights of a seed."""
        torch.manual_seed(seed)
        return self.cls(inputs, units, **self.options)

    def draw(self, cell: Cell, n: int = N, units: int = UNITS, seed: int = 0) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return random inputs and a random state."""
        source = torch.Generator().manual_seed(seed)
        state = tuple(0.5 * torch.randn(n, size, generator=source) for size in sizes_of(cell, units))
        return torch.randn(n, INPUTS, generator=source), state

    def run(self, cell: Cell, xs: Tensor, units: int = UNITS) -> list[tuple[Tensor, ...]]:
        """Return the states after each step of inputs (step, environment, input), from a state of zeros."""
        state = tuple(torch.zeros(xs.shape[1], size) for size in sizes_of(cell, units))
        states = []
        for x in xs:
            state = tuple(cell.step(x, state))
            states.append(state)
        return states


def constructed(subject: CellSubject) -> None:
    """The cell can be made from numbers of inputs and units."""
    for inputs, units in ((INPUTS, UNITS), (1, 3)):
        cell = subject.make(inputs, units)
        sizes_of(cell, units)
    learned = any(weight.requires_grad for weight in cell.parameters())
    require(learned, "it has no parameters to learn; make them in __init__ with nn.Parameter or nn.Linear")


def shapes(subject: CellSubject) -> None:
    """A step returns the whole state, finite arrays of shape (environments, size) and of the type of the inputs."""
    for inputs, units, n in ((INPUTS, UNITS, N), (INPUTS, UNITS, 1), (1, 3, 2)):
        cell = subject.make(inputs, units)
        sizes = sizes_of(cell, units)
        after = cell.step(torch.randn(n, inputs), tuple(torch.zeros(n, size) for size in sizes))
        check_state(after, sizes, n)
        types = {str(array.dtype).removeprefix("torch.") for array in after} - {"float32"}
        require(not types, f"step must return arrays of the type of x (float32), not {' and '.join(types)}")
        finite = all(array.isfinite().all() for array in after)
        require(finite, "a step from a state of zeros gives NaN or infinity, as after a logarithm or division")


def whole_state(subject: CellSubject) -> None:
    """Every array of the state changes with the steps; none is handed back as it was given."""
    cell = subject.make()
    x, state = subject.draw(cell)
    for k, (before, after) in enumerate(zip(state, cell.step(x, state), strict=True)):
        same = after is before or torch.equal(before, after)
        require(not same, f"array {k} of the state is returned unchanged; return the new one")


def inputs_count(subject: CellSubject) -> None:
    """The inputs reach the activity, if not in the same step, then in a later step."""
    cell = subject.make()
    xs = torch.randn(STEPS, N, INPUTS)
    with torch.no_grad():
        same = torch.equal(subject.run(cell, xs)[-1][0], subject.run(cell, xs + 1)[-1][0])
    require(not same, "the activity does not depend on the inputs")


def memory(subject: CellSubject) -> None:
    """Each array of the state reaches the activity, if not in the same step, then in a later step."""
    cell = subject.make()
    xs = torch.zeros(STEPS, N, INPUTS)
    x, state = subject.draw(cell)
    for k in range(len(state)):
        changed_state = tuple(array + 1 if k == j else array for j, array in enumerate(state))
        with torch.no_grad():
            first_state, second_state = state, changed_state
            same = True
            for x in xs:
                first_state, second_state = tuple(cell.step(x, first_state)), tuple(cell.step(x, second_state))
                same = same and torch.equal(first_state[0], second_state[0])
        problem = f"array {k} of the state has no effect on the activity: the cell does not remember through it"
        require(not same, problem)


def in_place(subject: CellSubject) -> None:
    """A step does not change the arrays that it is given."""
    cell = subject.make()
    x, state = subject.draw(cell)
    before = [array.clone() for array in (x, *state)]
    with torch.no_grad():
        cell.step(x, state)
    for name, old, new in zip(["x", *(f"state[{k}]" for k in range(len(state)))], before, (x, *state), strict=True):
        unchanged = torch.equal(old, new) and not new._version
        require(unchanged, f"step changes {name} in place (as with += or [:] =); compute a new array instead")


def independence(subject: CellSubject) -> None:
    """Environments do not influence each other: order and number of the others do not matter."""
    cell = subject.make()
    x, state = subject.draw(cell)
    order = torch.arange(N - 1, -1, -1)
    with torch.no_grad():
        every = cell.step(x, state)
        turned = cell.step(x[order], tuple(array[order] for array in state))
        alone = cell.step(x[:1], tuple(array[:1] for array in state))
    for batched, permuted, single in zip(every, turned, alone, strict=True):
        same = torch.allclose(batched[order], permuted, atol=1e-5)
        require(same, "the result depends on the order of the environments (first axis)")
        require(
            torch.allclose(batched[:1], single, atol=1e-5),
            "the result of an environment depends on the others in the batch, as with BatchNorm or a mean over "
            "the first axis; compute along the last axis",
        )


def repeatable(subject: CellSubject) -> None:
    """The same step gives the same result: nothing is drawn at random or kept between calls."""
    cell = subject.make()
    x, state = subject.draw(cell)
    with torch.no_grad():
        first = cell.step(x, state)
        torch.rand(1), cell.step(x + 1, state)
        again = cell.step(x, state)
    require(
        all(torch.equal(first_value, second_value) for first_value, second_value in zip(first, again, strict=True)),
        "the same inputs and state give another result the second time: step draws at random (dropout, noise), or "
        "keeps something on self; everything that lasts belongs into the state",
    )


def gradient(subject: CellSubject) -> None:
    """A gradient reaches every parameter, and flows back through the steps."""
    cell = subject.make()
    xs = torch.randn(STEPS, N, INPUTS, requires_grad=True)
    top = subject.run(cell, xs)[-1][0]
    remedy = "no detach, .data, numpy, torch.no_grad or rounding in step"
    require(top.requires_grad, f"no gradient comes out of step: {remedy}")
    weights = {name: weight for name, weight in cell.named_parameters() if weight.requires_grad}
    names = [*weights, "the inputs of the first step"]
    gradients = torch.autograd.grad(top.square().sum(), [*weights.values(), xs], allow_unused=True)
    without = [name for name, gradient_of_name in zip(names, gradients, strict=True) if gradient_of_name is None]
    require(names[-1] not in without, f"no gradient flows back through the steps: {remedy}")
    require(not without, f"no gradient reaches {', '.join(without)}: is step using all of it? {remedy}")
    require(gradients[-1][0].any(), f"no gradient flows back from the last to the first of {STEPS} steps: {remedy}")
    require(
        all(gradient_of_name.isfinite().all() for gradient_of_name in gradients),
        "the gradient is not finite after a few steps",
    )


def registered(subject: CellSubject) -> None:
    """Parameters are made in __init__, and every array is a parameter or a buffer, so that it is saved."""
    cell = subject.make()
    before = set(cell.state_dict())
    x, state = subject.draw(cell)
    cell.step(x, state)
    late = sorted(set(cell.state_dict()) - before)
    require(not late, f"step makes {', '.join(late)}, which is never learned; make parameters in __init__")
    for path, module in cell.named_modules():
        for name, value in vars(module).items():
            items = value.values() if isinstance(value, dict) else value
            values = items if isinstance(value, list | tuple | dict) else [value]
            is_internal = name in ("_parameters", "_buffers", "_modules")
            full = f"{path}.{name}" if path else name
            require(
                is_internal or not any(isinstance(item, Tensor | torch.nn.Module) for item in values),
                f"self.{full} is neither parameter nor buffer, so it is not saved: use nn.Parameter (learned), "
                "self.register_buffer (fixed) or nn.ModuleList",
            )


def seeded(subject: CellSubject) -> None:
    """The first weights follow from torch's random seed alone."""
    weights = []
    for seed in (1, 2):
        random.seed(seed), np.random.seed(seed)
        weights.append(subject.make(seed=3).state_dict())
    same = all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    require(same, "the first weights are not drawn from torch's generator, so a seed does not repeat a run")


def precision(subject: CellSubject) -> None:
    """The cell works in double precision too, as fixed points need it."""
    cell = subject.make().double()
    x, state = subject.draw(cell)
    after = cell.step(x.double(), tuple(array.double() for array in state))
    double = all(array.dtype == torch.float64 for array in after)
    require(double, "step makes arrays of another type; use x.new_zeros or register_buffer, not torch.zeros")


def bounded(subject: CellSubject) -> None:
    """Activity stays finite over many steps of random inputs."""
    cell = subject.make()
    torch.manual_seed(0)
    with torch.no_grad():
        last = subject.run(cell, torch.randn(FINITE_AFTER, N, INPUTS))[-1]
    finite = all(array.isfinite().all() for array in last)
    require(finite, f"the state is not finite after {FINITE_AFTER} steps; make the first recurrent weights smaller")


def exported(subject: CellSubject) -> None:
    """A step can be traced, as exports to TorchScript and ONNX need it."""
    cell = subject.make()
    x, state = subject.draw(cell)

    class Step(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = cell

        def forward(self, x: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
            return tuple(self.cell.step(x, state))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(Step(), (x, *state), check_trace=False)
    second_state, before = subject.draw(cell, seed=1)
    with torch.no_grad():
        pairs = zip(traced(second_state, *before), cell.step(second_state, before), strict=True)
        same = all(torch.allclose(expected, actual, atol=1e-5) for expected, actual in pairs)
    require(same, "an exported step differs: no Python if or float() on values of arrays in step")


def _explained(check: Callable[[CellSubject], None]) -> Callable[[CellSubject], None]:
    """Return a check that reports a wrong state as a breach of the contract."""

    @functools.wraps(check)
    def run(subject: CellSubject) -> None:
        try:
            check(subject)
        except StateError as error:
            raise ContractError(str(error)) from error

    return run


#: Checks in the order in which they are made; from the first failure of ``BASIC`` on, no further check is made.
CELL_CHECKS = [
    _explained(check)
    for check in (
        *(constructed, shapes, registered, in_place, repeatable, independence, whole_state, inputs_count, memory),
        *(gradient, seeded, precision, bounded, exported),
    )
]
BASIC_CELL_CHECKS = (constructed, shapes, registered, in_place, repeatable)
CELL_ADVICE = (exported, bounded)
