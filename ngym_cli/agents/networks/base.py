"""Common interface of recurrent networks: sequences in torch for training, single steps in NumPy for acting.

Both forms read the same parameters. Sequences are laid out (time, environment, unit), or packed if they differ in
length: (step, unit), first the first step of every sequence, then the second of all that have one, and so on, the
longest sequences first. A state is a tuple of arrays (layer, environment, unit): `(h,)`, or `(h, c)` for the LSTM.
Both run in compiled passes, or in torch where there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from neurogym import kernels
from ngym_cli.agents.compiled import autograd
from ngym_cli.agents.compiled.network import MAX_LAYERS, AgentSizes, ArrayState
from ngym_cli.agents.compiled.steps import Stepper, draw_noise

State = tuple[Tensor, ...]
WeightKind = Literal["input", "recurrent", "bias"]


class ConstrainedWeights(NamedTuple):
    """Parameter of a network.

    Attributes:
        kind: "recurrent" for all matrices that do not read inputs.
        module: module that holds the parameter.
        name: name in the module.
        layer: number of the layer.
        transposed: whether rows are sources, as in `x @ weight`.
    """

    kind: WeightKind
    module: nn.Module
    name: str
    layer: int
    transposed: bool = False

    @property
    def tensor(self) -> Tensor:
        """Effective weights (to, from), or the bias."""
        weights: Tensor = getattr(self.module, self.name)
        return weights.t() if self.transposed else weights


class RecurrentNetwork(nn.Module):
    """Base of all recurrent networks; parameters carry the names of `torch.nn.LSTM` (`weight_ih_l0`, ...).

    Attributes:
        input_size: number of input features.
        hidden_size: units per layer.
        num_layers: stacked layers.
        n_states: arrays in the state (2 for the LSTM, else 1).
        noise: standard deviation of the recurrent noise; 0 for networks that have none.
        noise_scale: factor on its standard normal draws.
        alpha: fraction of the way to the new value that leaky units go in a step.
        cell: name of the compiled step; None for networks that run in torch only.
        signed: whether the recurrent weights have fixed signs without constraints.
    """

    n_states = 1
    noise = 0.0
    noise_scale = 0.0
    alpha = 1.0
    cell: str | None = None
    signed = False
    input_size: int
    hidden_size: int
    num_layers: int

    @property
    def state_sizes(self) -> tuple[int, ...]:
        """Size of each array of the state; the first is the activity."""
        return (self.hidden_size,) * self.n_states

    def forward(self, seq: Tensor, state: State | None = None, noise: Tensor | None = None) -> tuple[Tensor, State]:
        """Run over sequences of equal length that contain no reset.

        Args:
            seq: inputs (time, environment, feature).
            state: state before the first step; zeros by default.
            noise: standard normal draws from `draw_noise` as a tensor; None runs without recurrent noise.

        Returns:
            The top layer's activity (time, environment, unit) and the state after the last step.
        """
        n_time, n = seq.shape[:2]
        state = self.initial_state(n, seq) if state is None else state
        draws = None if noise is None else noise.transpose(1, 2).flatten(0, 1)
        output, state = self.sequence(seq.flatten(0, 1), [n] * n_time, state, draws)
        return output.unflatten(0, (n_time, n)), state

    def sequence(
        self, seq: Tensor, counts: Sequence[int], state: State, noise: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """Run over packed sequences that contain no reset.

        Args:
            seq: inputs (step, feature).
            counts: number of sequences with each step, largest first.
            state: before the first step of each sequence.
            noise: standard normal draws (step, layer, unit).

        Returns:
            The top layer's activity (step, unit) and the state after the last step of each sequence.
        """
        if not self.is_compiled or not autograd.usable(seq):
            return self.in_torch(seq, counts, state, noise)
        top, *after = autograd.run(self.sizes(), seq, counts, self.weights_in_order(), state, [noise])
        return top, tuple(after)

    def sizes(self, **heads: Any) -> AgentSizes:
        """Dimensions for the compiled passes, of the network alone or with the heads of an agent."""
        numbers = self.input_size, self.hidden_size, self.num_layers
        return AgentSizes(str(self.cell), *numbers, alpha=self.alpha, noise_scale=self.noise_scale, **heads)

    def weights_in_order(self) -> list[Tensor]:
        """Weights of all layers in the order of the compiled passes."""
        return [weight for layer in range(self.num_layers) for weight in self.weights(layer)]

    @property
    def is_compiled(self) -> bool:
        """Whether the compiled passes know the cell and so many layers."""
        return self.cell is not None and self.num_layers <= MAX_LAYERS

    def in_torch(
        self, seq: Tensor, counts: Sequence[int], state: State, noise: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """`sequence` without the compiled passes, layer by layer and step by step."""
        after = []
        for layer in range(self.num_layers):
            draws = [None] * len(counts) if noise is None else noise[:, layer].split(list(counts))
            now, tops, ended = tuple(array[layer] for array in state), list[Tensor](), list[State]()
            for x, draw in zip(seq.split(list(counts)), draws, strict=True):
                if len(x) < len(now[0]):  # the last of the sequences have ended
                    ended.append(tuple(array[len(x) :] for array in now))
                    now = tuple(array[: len(x)] for array in now)
                now = self.layer_step(layer, x, now, draw)
                tops.append(now[0])
            after.append([torch.cat(arrays) for arrays in zip(now, *reversed(ended), strict=True)])
            seq = torch.cat(tops)
        return seq, tuple(torch.stack(layers) for layers in zip(*after, strict=True))

    def one_step(self, x: Tensor, state: State, noise: Tensor | None = None) -> tuple[Tensor, State]:
        """Advance any number of environments by a single step in plain torch, so that the step can be exported.

        Args:
            x: inputs (environment, feature).
            state: arrays (layer, environment, unit).
            noise: standard normal draws (environment, layer, unit).

        Returns:
            The activity of the top layer (environment, unit) and the new state.
        """
        after = []
        for layer in range(self.num_layers):
            draws = None if noise is None else noise[:, layer]
            after.append(self.layer_step(layer, x, tuple(array[layer] for array in state), draws))
            x = after[-1][0]
        return x, tuple(torch.stack(layers) for layers in zip(*after, strict=True))

    def layer_step(self, layer: int, x: Tensor, state: State, noise: Tensor | None) -> State:
        """Return the arrays of a layer's state (environment, unit) after a step; `noise` are the layer's draws."""
        raise NotImplementedError

    def weights(self, layer: int) -> autograd.Weights:
        """Weights of the activity and of the inputs of a layer, and the biases."""
        return self.recurrent_weight(layer), *self.parameters_of(layer)[1:]

    def recurrent_weight(self, layer: int) -> Tensor:
        """The matrix (gate * unit, from) that multiplies the activity of a layer."""
        return self.parameters_of(layer)[0]

    def parameters_of(self, layer: int) -> autograd.Weights:
        """Parameters of a layer in torch order: weights of h and of the inputs, biases of the inputs and of h."""
        names = ("weight_hh", "weight_ih", "bias_ih", "bias_hh")
        weight_hh, weight_ih, bias_ih, bias_hh = (getattr(self, f"{name}_l{layer}") for name in names)
        return weight_hh, weight_ih, bias_ih, bias_hh

    def matrices(self) -> Iterator[Tensor]:
        """Input and recurrent weights of every layer; with Dale's law, the effective weights."""
        for layer in range(self.num_layers):
            yield self.parameters_of(layer)[1]
            yield self.recurrent_weight(layer)

    def connections(self) -> Iterator[ConstrainedWeights]:
        """Parameters of every layer with the kind of each, for constraints."""
        for layer in range(self.num_layers):
            yield ConstrainedWeights("input", self, f"weight_ih_l{layer}", layer)
            yield ConstrainedWeights("recurrent", self, f"weight_hh_l{layer}", layer)
            yield ConstrainedWeights("bias", self, f"bias_ih_l{layer}", layer)
            yield ConstrainedWeights("bias", self, f"bias_hh_l{layer}", layer)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move or convert the weights; torch keeps lists of these, which must not hold computed weights' graphs."""
        with torch.no_grad():
            return super()._apply(fn, recurse)  # type: ignore[no-untyped-call]

    def stepper(self) -> Stepper:
        """Return the present weights as a network that steps in NumPy; call again after each update."""
        if not self.is_compiled or not kernels.available() or any_weight(self).device.type != "cpu":
            return TorchStepper(self)
        return Stepper(self.cell, self.arrays(), self.hidden_size, self.alpha, self.noise)

    def arrays(self) -> list[list[np.ndarray]]:
        """Return a copy of the present weights of each layer, see `weights`."""
        return [list(map(to_numpy, self.weights(layer))) for layer in range(self.num_layers)]

    def initial_state(self, n: int, like: Tensor | None = None) -> State:
        """Zero state for `n` environments, of the type and device of `like` (default: of the weights)."""
        like = any_weight(self) if like is None else like
        return tuple(like.new_zeros(self.num_layers, n, size) for size in self.state_sizes)

    def draw_noise(self, steps: int, n: int, rng: np.random.Generator) -> np.ndarray | None:
        """Draw standard normal noise (time, layer, environment, unit) for a pass; None if the network has no noise."""
        return draw_noise((self.num_layers, self.hidden_size), steps, n, rng) if self.noise else None


def last_steps(activity: Tensor, counts: Sequence[int]) -> Tensor:
    """Return the last step of every packed sequence (sequence, unit), from the activity (step, unit)."""
    if counts[0] == counts[-1]:
        return activity[-counts[0] :]
    sizes, sequence = np.asarray(counts), np.arange(counts[0])
    last = len(sizes) - np.searchsorted(sizes[::-1], sequence, side="right") - 1  # step that each sequence ends with
    return activity[torch.from_numpy((np.cumsum(sizes) - sizes)[last] + sequence).to(activity.device)]


def to_numpy(tensor: Tensor) -> np.ndarray:
    """A C-contiguous float copy of a tensor's values on the CPU."""
    return np.array(tensor.detach().cpu().numpy(), order="C")


def to_device(array: np.ndarray, device: torch.device) -> Tensor:
    """Return an array on a device: through pinned memory, so that copies are asynchronous; on the CPU not copied."""
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def any_weight(network: nn.Module) -> Tensor:
    """Return a weight of a network, trained or fixed, whose type and device are those of all."""
    return next(chain(network.parameters(), network.buffers()))


class TorchStepper(Stepper):
    """Network that advances a batch of environments by a single step in torch, where compiled passes are missing."""

    def __init__(self, net: RecurrentNetwork) -> None:
        super().__init__(None, (), net.hidden_size, net.alpha, net.noise)
        self.net, self.shape, self.state_sizes = net, (net.num_layers, net.hidden_size), net.state_sizes

    def step(self, x: np.ndarray, state: ArrayState, out: ArrayState, noise: np.ndarray | None = None) -> np.ndarray:
        """Advance by a single step, see `Stepper.step`."""
        like = any_weight(self.net)
        draws = None if noise is None else torch.from_numpy(noise).to(like).transpose(0, 1)
        before = tuple(torch.from_numpy(array).to(like) for array in state)
        with torch.no_grad():
            _, after = self.net.one_step(torch.from_numpy(x).to(like), before, draws)
        for array, new in zip(out, after, strict=True):
            array[...] = new.cpu().numpy()
        return out[0][-1]
