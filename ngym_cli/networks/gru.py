"""Gated recurrent units (Cho et al. 2014, arXiv:1406.1078), in torch's form: the reset gate acts on the product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ngym_cli.networks.base import RecurrentNetwork, State, Stepper, to_numpy


class GRU(RecurrentNetwork, nn.GRU):
    """The parameters of `torch.nn.GRU`, run by a time loop over the hidden state with its gradient written out."""

    def __init__(self, input_size: int, hidden_size: int = 64, num_layers: int = 1) -> None:
        nn.GRU.__init__(self, input_size, hidden_size, num_layers)

    def sequence(self, seq: Tensor, state: State, noise: Tensor | None = None) -> tuple[Tensor, State]:
        last = []
        for layer in range(self.num_layers):
            w_ih, w_hh = getattr(self, f"weight_ih_l{layer}"), getattr(self, f"weight_hh_l{layer}")
            b_ih, b_hh = getattr(self, f"bias_ih_l{layer}"), getattr(self, f"bias_hh_l{layer}")
            seq = _GRULoop.apply(nn.functional.linear(seq, w_ih, b_ih), state[0][layer], w_hh, b_hh)
            last.append(seq[-1])
        return seq, (torch.stack(last),)

    def stepper(self) -> Stepper:
        return _GRUStepper(self)


class _GRULoop(torch.autograd.Function):
    """h' = n + z (h - n), n = tanh(x_n + r (W_n h + b_n)), with gates r, z = sigmoid(x + W h + b)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, h0: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        steps, n, units = len(x), len(h0), h0.shape[1]
        gates = x.clone()
        states = x.new_empty(steps + 1, n, units)
        states[0] = h0
        products = x.new_empty(steps, n, units)
        weight_t = weight.t().contiguous()
        for t in range(steps):
            rz, new = gates[t, :, : 2 * units], gates[t, :, 2 * units :]
            product = torch.addmm(bias, states[t], weight_t)
            rz.add_(product[:, : 2 * units]).sigmoid_()
            products[t] = product[:, 2 * units :]
            new.addcmul_(rz[:, :units], products[t])
            new.mul_(2).sigmoid_().mul_(2).sub_(1)  # tanh; torch's own is many times slower on a CPU
            torch.lerp(new, states[t], rz[:, units:], out=states[t + 1])
        ctx.save_for_backward(gates, states, products, weight)
        return states[1:]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        gates, states, products, weight = ctx.saved_tensors
        units = states.shape[2]
        r, z, new = gates.split(units, dim=2)
        # Everything that does not depend on the gradient flowing back through time is computed for all steps at once.
        d_new = (1 - z) * (1 - new * new)
        d_z = (states[:-1] - new) * z * (1 - z)
        d_r = products * r * (1 - r)
        dx = torch.empty_like(gates)  # with respect to x; the recurrent product differs only by r on the last third
        dp = torch.empty_like(gates)
        dh = torch.zeros_like(grad[0])
        for t in range(len(grad) - 1, -1, -1):
            dh += grad[t]
            step, product = dx[t], dp[t]
            new_part = torch.mul(dh, d_new[t], out=step[:, 2 * units :])
            torch.mul(new_part, d_r[t], out=step[:, :units])
            torch.mul(dh, d_z[t], out=step[:, units : 2 * units])
            product[:, : 2 * units] = step[:, : 2 * units]
            torch.mul(new_part, r[t], out=product[:, 2 * units :])
            dh.mul_(z[t]).addmm_(product, weight)
        flat = dp.flatten(0, 1)
        return dx, dh, flat.t() @ states[:-1].flatten(0, 1), flat.sum(0)


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
        rz *= 0.5
        np.tanh(rz, out=rz)
        rz *= 0.5
        rz += 0.5
        new += rz[:, :units] * product[:, 2 * units :]
        np.tanh(new, out=new)
        np.subtract(h, new, out=out[0])
        out[0][:] *= rz[:, units:]
        out[0][:] += new
