"""Small recurrent networks as models of choices (Ji-An, Benna & Mattar 2025, 10.1038/s41586-025-09142-4).

The cell sees the previous trial (choice, reward, stimuli) and its state carries the past of the session. Logits are
linear in the state and the present stimuli, and in their products, so that the state can change how stimuli are
weighed. Trained by cross-entropy (AdamW), with times further by the likelihood of choices and times.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from neurogym.array_types import FloatArray
from neurogym.behaviour.table import Behaviour
from ngym_cli.fitting.network_fits import Batch, NetworkModel, Phase, Weights, input_names

#: Epochs at most; epochs without improvement at which training ends.
EPOCHS, PATIENCE = 800, 60
#: Time constants (trials) that gates begin with are spread from 1 to this; first input weights are below this.
MEMORY, INPUT_GAIN = 10.0, 3.0
#: Rows of the weights of a cell for each unit, and how far units without gates go to their new state in a trial.
ROWS = {"gru": 3, "lstm": 4, "rnn": 1, "ctrnn": 1}
LEAK = {"rnn": 1.0, "ctrnn": 1 - float(np.exp(-1 / 3))}


@dataclass(frozen=True)
class Recurrent(NetworkModel):
    """Small recurrent network; weights of the cell are as in torch.

    Attributes:
        name: name of the model.
        cell: gru, lstm, rnn or ctrnn.
        units: number of units, 1 to 64.
        learning_rate: of AdamW.
        weight_decay: of AdamW.
        l1: weight of the absolute recurrent weights in the loss.
        seeds: networks whose probabilities are averaged.
        drift: whether a read-out that drifts from trial to trial follows the averaged networks (two choices).
    """

    name: str
    cell: str
    units: int
    learning_rate: float = 0.02
    weight_decay: float = 0.03
    l1: float = 1e-4
    seeds: int = 3
    drift: bool = False

    learns_times, by_subject, patience = True, "subject", PATIENCE

    def phases(self) -> list[Phase]:
        """See `NetworkModel.phases`."""
        return [(np.full(EPOCHS, self.learning_rate), False)]

    def drawn(self, table: Behaviour, subjects: int, rng: np.random.Generator) -> Weights:
        """See `NetworkModel.drawn`; gates begin with time constants from 1 to ``MEMORY`` (arXiv:1804.11188)."""
        n, rows, inputs = self.units, ROWS[self.cell] * self.units, len(input_names(table))
        choices, stimuli = len(table.choices), len(table.stimuli)
        bound, gated = n**-0.5, self.cell not in LEAK
        bias, input_bound = (0.0, INPUT_GAIN * inputs**-0.5) if gated else (bound, bound)
        read_out = rng.normal(0, 0.3, (choices, n))
        recurrent, (first, second) = rng.uniform(-bound, bound, (rows, n)), rng.uniform(-bias, bias, (2, rows))
        if gated:
            second[n : 2 * n] = np.log1p(rng.uniform(0, MEMORY - 1, n))
        if self.cell == "lstm":
            second[:n] = -second[n : 2 * n]
        return {
            "cell.weight_ih_l0": rng.uniform(-input_bound, input_bound, (rows, inputs)),
            "cell.weight_hh_l0": recurrent if gated else _orthogonal(n, rng),
            "cell.bias_ih_l0": first,
            "cell.bias_hh_l0": second,
            "state.weight": read_out,
            "state.bias": np.zeros(choices),
            "now.weight": np.zeros((choices, stimuli)),
            "product": np.zeros((choices, n, stimuli)),
            "subject": np.zeros((subjects, choices, 1 + stimuli)),
        }

    def begin(self, w: Weights) -> tuple[Array, ...]:
        """See `NetworkModel.begin`; a step without observations."""
        return self.update(
            w, (0 * w["cell.bias_hh_l0"][: self.units],) * (1 + (self.cell == "lstm")), w["cell.bias_ih_l0"]
        )

    def drive(self, w: Weights, after: Array, subject: Array, noise: Array | None = None) -> Array:
        """See `NetworkModel.drive`."""
        return w["cell.weight_ih_l0"] @ after + w["cell.bias_ih_l0"]

    def update(self, w: Weights, state: tuple[Array, ...], drive: Array) -> tuple[Array, ...]:
        """See `NetworkModel.update`."""
        h = state[0]
        back = (w["cell.weight_hh_l0"] * h).sum(-1) + w["cell.bias_hh_l0"]  # `@` is slower for few units
        if self.cell == "gru":
            (r, z, new), (r_back, z_back, new_back) = jnp.split(drive, 3), jnp.split(back, 3)
            new = jnp.tanh(new + jax.nn.sigmoid(r + r_back) * new_back)
            return (new + jax.nn.sigmoid(z + z_back) * (h - new),)
        if self.cell == "lstm":
            take, keep, new, show = jnp.split(drive + back, 4)
            c = jax.nn.sigmoid(keep) * state[1] + jax.nn.sigmoid(take) * jnp.tanh(new)
            return jax.nn.sigmoid(show) * jnp.tanh(c), c
        return (h + LEAK[self.cell] * (jnp.tanh(drive + back) - h),)

    def logits(
        self, w: Weights, state: tuple[Array, ...], stimuli: Array, subject: Array, noise: Array | None = None
    ) -> Array:
        """See `NetworkModel.logits`; each subject has weights of its own for bias and stimuli."""
        own = jnp.tensordot(subject, w["subject"], 1)
        slopes = w["now.weight"] + own[:, 1:] + jnp.einsum("u,cus->cs", state[0], w["product"])
        return w["state.weight"] @ state[0] + w["state.bias"] + own[:, 0] + slopes @ stimuli

    def cost(self, w: Weights, batch: Batch, states: tuple[Array, ...], noise: Array) -> Array:
        """See `NetworkModel.cost`."""
        return self.l1 * jnp.abs(w["cell.weight_hh_l0"]).sum()


def _orthogonal(n: int, rng: np.random.Generator) -> FloatArray:
    q, r = np.linalg.qr(rng.normal(size=(n, n)))
    return np.asarray(q * np.sign(np.diag(r)))
