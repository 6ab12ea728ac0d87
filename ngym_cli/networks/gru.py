"""Gated recurrent units (Cho et al. 2014, arXiv:1406.1078), in torch's form: the reset gate acts on the product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ngym_cli.networks.base import RecurrentNetwork, State, Stepper, sigmoid_, tanh_, to_numpy


class GRU(RecurrentNetwork, nn.GRU):  # type: ignore[misc]
    """The parameters of `torch.nn.GRU`, run by a time loop over the hidden state with its gradient written out."""

    def __init__(self, input_size: int, hidden_size: int = 64, num_layers: int = 1) -> None:
        """See the class."""
        nn.GRU.__init__(self, input_size, hidden_size, num_layers)

    def sequence(self, seq: Tensor, state: State, noise: Tensor | None = None) -> tuple[Tensor, State]:
        """See `RecurrentNetwork.sequence`."""
        last = []
        for layer in range(self.num_layers):
            w_ih, w_hh = getattr(self, f"weight_ih_l{layer}"), getattr(self, f"weight_hh_l{layer}")
            b_ih, b_hh = getattr(self, f"bias_ih_l{layer}"), getattr(self, f"bias_hh_l{layer}")
            seq = _GRULoop.apply(nn.functional.linear(seq, w_ih, b_ih), state[0][layer], w_hh, b_hh)
            last.append(seq[-1])
        return seq, (torch.stack(last),)

    def stepper(self) -> Stepper:
        """See `RecurrentNetwork.stepper`."""
        return _GRUStepper(self)


class _GRULoop(torch.autograd.Function):
    """h' = n + z (h - n), n = tanh(x_n + r (W_n h + b_n)), with gates r, z = sigmoid(x + W h + b).

    The views of all steps are taken before the loop, and tanh(x) is 2 sigmoid(2 x) - 1 with the inner 2 in the
    operands, because a step costs as many microseconds as it has calls.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, h0: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        steps, n, units = len(x), len(h0), h0.shape[1]
        double = torch.cat([x.new_ones(2 * units), x.new_full((units,), 2.0)])
        gates = x * double
        products = x.new_empty(steps, n, 3 * units)
        states = x.new_empty(steps + 1, n, units)
        states[0] = h0
        weight_t, bias, minus = (weight * double[:, None]).t().contiguous(), bias * double, x.new_tensor(-1.0)
        gates_rz, gates_r, gates_z, gates_n = _views(gates, units)
        products_rz, _, _, products_n = _views(products, units)
        rows, all_products = states.unbind(0), products.unbind(0)
        for t in range(steps):
            torch.addmm(bias, rows[t], weight_t, out=all_products[t])
            gates_rz[t].add_(products_rz[t]).sigmoid_()
            new = gates_n[t].addcmul_(gates_r[t], products_n[t]).sigmoid_()
            torch.add(minus, new, alpha=2, out=new)
            torch.lerp(new, rows[t], gates_z[t], out=rows[t + 1])
        ctx.save_for_backward(gates, states, products, weight)
        return states[1:]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        gates, states, products, weight = ctx.saved_tensors
        units = states.shape[2]
        r, z, new = gates.split(units, dim=2)
        # What does not depend on the gradient flowing back through time is computed for all steps at once.
        factor = torch.empty_like(gates)
        factor_r, factor_z, factor_n = factor.split(units, dim=2)
        torch.mul((1 - z) * 0.5, (1 - new * new) * 2, out=factor_n)
        torch.mul(states[:-1] - new, z * (1 - z), out=factor_z)
        torch.mul(products[:, :, 2 * units :] * 0.5, factor_n * (r * (1 - r)), out=factor_r)
        product = torch.cat([factor_r, factor_z, factor_n * r], dim=2)
        dh = torch.zeros_like(grad[0])
        blocks = product.unflatten(2, (3, units)).unbind(0)
        rows, grads, keep, wide = product.unbind(0), grad.unbind(0), z.unbind(0), dh[:, None, :]
        upstream = torch.empty_like(states[1:])
        for t in range(len(grad) - 1, -1, -1):
            dh += grads[t]
            upstream[t] = dh
            blocks[t].mul_(wide)
            dh.mul_(keep[t]).addmm_(rows[t], weight)
        dx = factor.unflatten(2, (3, units)).mul_(upstream[:, :, None]).flatten(2)
        flat = product.flatten(0, 1)
        return dx, dh, flat.t() @ states[:-1].flatten(0, 1), flat.sum(0)


def _views(gates: Tensor, units: int) -> tuple[tuple[Tensor, ...], ...]:
    """Per step: both gates together, reset gate, update gate, candidate."""
    both, new = gates.split((2 * units, units), dim=2)
    reset, update = both.split(units, dim=2)
    return both.unbind(0), reset.unbind(0), update.unbind(0), new.unbind(0)


class _GRUStepper(Stepper):
    def __init__(self, net: GRU) -> None:
        self.units = net.hidden_size
        self.weights = [
            tuple(
                to_numpy(getattr(net, name + str(layer)).t())
                for name in ("weight_ih_l", "bias_ih_l", "weight_hh_l", "bias_hh_l")
            )
            for layer in range(net.num_layers)
        ]

    def _layer(
        self,
        layer: int,
        x: np.ndarray,
        state: Sequence[np.ndarray],
        out: Sequence[np.ndarray],
        noise: np.ndarray | None,
    ) -> None:
        h, units = state[0], self.units
        w_ih, b_ih, w_hh, b_hh = self.weights[layer]
        gates, product = x @ w_ih, h @ w_hh
        gates += b_ih
        product += b_hh
        rz, new = gates[:, : 2 * units], gates[:, 2 * units :]
        rz += product[:, : 2 * units]
        sigmoid_(rz)
        new += rz[:, :units] * product[:, 2 * units :]
        tanh_(new)
        np.subtract(h, new, out=out[0])
        out[0][:] *= rz[:, units:]
        out[0][:] += new
