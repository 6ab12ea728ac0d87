"""Disentangled recurrent network (Miller, Eckstein, Botvinick & Kurth-Nelson 2023, 10.1101/2023.06.23.546250).

Each latent z_i has an update network of its own that sees the previous trial and all latents through noisy bottlenecks:
z_i <- (1 - w) z_i + w u, with w = logistic(a) and u = 2 tanh(b / 2), where (a, b) is the output of the update network;
then noise of s.d. sigma_i is added. A choice network sees the latents through further bottlenecks, and the present
stimuli. Networks of several subjects also learn two numbers that describe each subject (an embedding), which count
among observations and stimuli. The information that passes a bottleneck, KL(N(m x, sigma^2) || N(0, 1)), is
penalised, so latents and inputs that do not help to predict choices are closed (sigma near 1). Noise and penalties act
in training only, which begins without them; see `network_fits`. The code is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from neurogym.analysis.results import Estimate
from neurogym.behaviour.models.base import Fitted
from neurogym.behaviour.table import Behaviour
from ngym_cli.fitting.network_fits import Batch, NetworkModel, Phase, Weights, input_names

#: Epochs without and with noise and penalties, epochs between scores of the inner fold, learning rates of both phases.
WARM, EPOCHS, EVERY, RATES = 50, 250, 10, (0.02, 0.01)
OPEN = 0.25  #: a bottleneck with a smaller s.d. is open
#: Units and layers of the update networks and of the choice network.
UPDATE, CHOICE = (8, 2), (6, 1)
SMALLEST = 1e-5  #: added to the s.d. of a bottleneck
EMBEDDING = 2  #: numbers that describe a subject, where there are several


def spread(p: Any) -> Any:
    """Return the s.d. of a bottleneck from the trained number."""
    return abs(p) + SMALLEST


def information(square: Array, sd: Array) -> Array:
    """Return the divergence of N(signal, sd^2) from N(0, 1) from the mean square of the signal."""
    return 0.5 * (square + sd**2 - 1) - jnp.log(sd)


@dataclass(frozen=True)
class Disentangled(NetworkModel):
    """Disentangled network of L latents, O observations and D stimuli, both with the embedding of the subject.

    The noise of a trial has the shape (L, O + L + 2): of what update networks see, of latents, of what the choice
    network sees. Weights, with H and H' units of the update networks and the choice network:

    - ``z``: first latents (L,); ``latent_sd``: s.d. of their bottlenecks (L,).
    - ``gain``: multipliers of what each update network sees, observations first (L, O + L); ``sd``: s.d. of the same.
    - ``first`` (L, O + L, H), ``hidden`` (layers, L, H, H) and ``last`` (L, H, 2): update networks, with biases
      ``first_bias``, ``hidden_bias`` and ``last_bias``.
    - ``choice_gain``, ``choice_sd``: of what the choice network sees (L,).
    - ``choice_first`` (L + D, H'), ``choice_hidden`` (layers, H', H') and ``choice_last`` (H', choices): the choice
      network, with biases ``choice_bias``, ``choice_hidden_bias`` and ``choice_last_bias``.
    - ``direct``: weights of the present stimuli (D, choices).
    - ``embedding``: numbers that describe each subject (subjects, E); E is 0 for a single subject.

    Attributes:
        name: name of the model.
        latents: number of latents.
        penalty: weight of the information in the latents, in nats per trial.
        inputs: the same for what update and choice networks see, relative to ``penalty``.
        seeds: networks whose probabilities are averaged.
        drift: whether a read-out that drifts from trial to trial follows the averaged networks (two choices).
    """

    name: str
    latents: int = 5
    penalty: float = 3e-3
    inputs: float = 0.1
    seeds: int = 1
    drift: bool = False

    by_subject, every = "embedding", EVERY

    def phases(self) -> list[Phase]:
        """See `NetworkModel.phases`; learning rates fall to a tenth as a cosine."""
        epochs = np.arange(WARM) / WARM, np.arange(EPOCHS) / EPOCHS
        warm, later = (rate * (0.55 + 0.45 * np.cos(np.pi * each)) for rate, each in zip(RATES, epochs, strict=True))
        return [(warm, False), (later, True)]

    def noise(self, w: Weights, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """See `NetworkModel.noise`."""
        return rng.standard_normal((*shape, self.latents, w["gain"].shape[1] + 2), np.float32)

    def drawn(self, table: Behaviour, subjects: int, rng: np.random.Generator) -> Weights:
        """See `NetworkModel.drawn`."""
        (h, layers), (c, more), latents, n = UPDATE, CHOICE, self.latents, rng.normal
        size, choices = EMBEDDING if subjects > 1 else 0, len(table.choices)
        seen_by, stimuli = len(input_names(table)) + size + latents, len(table.stimuli) + size
        return {
            "z": rng.uniform(-0.1, 0.1, latents),
            "latent_sd": rng.uniform(0, 0.05, latents),
            "gain": np.ones((latents, seen_by)),
            "sd": rng.uniform(0, 0.05, (latents, seen_by)),
            "first": n(0, seen_by**-0.5, (latents, seen_by, h)),
            "first_bias": np.zeros((latents, 1, h)),
            "hidden": n(0, (h * layers) ** -0.5, (layers, latents, h, h)),
            "hidden_bias": np.zeros((layers, latents, 1, h)),
            "last": n(0, h**-0.5, (latents, h, 2)),
            "last_bias": np.tile([-1.0, 0.0], (latents, 1, 1)),
            "choice_gain": np.ones(latents),
            "choice_sd": rng.uniform(0, 0.05, latents),
            "choice_first": n(0, (latents + stimuli) ** -0.5, (latents + stimuli, c)),
            "choice_bias": np.zeros((1, c)),
            "choice_hidden": n(0, (c * more) ** -0.5, (more, c, c)),
            "choice_hidden_bias": np.zeros((more, 1, c)),
            "choice_last": 0.3 * n(0, c**-0.5, (c, choices)),
            "direct": np.zeros((stimuli, choices)),
            "choice_last_bias": np.zeros((1, choices)),
            "embedding": n(0, 0.3, (subjects, size)),
        }

    def begin(self, w: Weights) -> Array:
        """See `NetworkModel.begin`."""
        return jnp.asarray(w["z"])

    def drive(self, w: Weights, after: Array, subject: Array, noise: Array | None = None) -> tuple[Array, Any]:
        """See `NetworkModel.drive`; the noise of all inputs is among it, since the first layer is linear."""
        x, n = jnp.concatenate([after, subject @ w["embedding"]]), self.latents
        drive = jnp.einsum("o,loh->lh", x, w["gain"][:, :-n, None] * w["first"][:, :-n])[:, None] + w["first_bias"]
        if noise is None:
            return drive, 0.0
        return drive + (spread(w["sd"]) * noise[:, :-2])[:, None] @ w["first"], spread(w["latent_sd"]) * noise[:, -2]

    def update(self, w: Weights, state: Array, drive: tuple[Array, Any]) -> Array:
        """See `NetworkModel.update`."""
        n = self.latents
        h = drive[0] + (state * w["gain"][:, -n:])[:, None] @ w["first"][:, -n:]
        for weight, bias in zip(w["hidden"], w["hidden_bias"], strict=True):
            h = h + jax.nn.leaky_relu(_layer(h, weight, bias))
        rate, target = _layer(h, w["last"], w["last_bias"])[:, 0].T
        return state + jax.nn.sigmoid(rate) * (2 * jnp.tanh(0.5 * target) - state) + drive[1]

    def logits(self, w: Weights, state: Array, stimuli: Array, subject: Array, noise: Array | None = None) -> Array:
        """See `NetworkModel.logits`."""
        seen_by = state * w["choice_gain"]
        if noise is not None:
            seen_by = seen_by + spread(w["choice_sd"]) * noise[:, -1]
        s = jnp.concatenate([stimuli, subject @ w["embedding"]])
        h = _layer(jnp.concatenate([seen_by, s]), w["choice_first"], w["choice_bias"][0])
        for weight, bias in zip(w["choice_hidden"], w["choice_hidden_bias"], strict=True):
            h = h + jax.nn.leaky_relu(_layer(h, weight, bias[0]))
        return _layer(h, w["choice_last"], w["choice_last_bias"][0]) + s @ w["direct"]

    def cost(self, w: Weights, batch: Batch, states: Array, noise: Array) -> Array:
        """Return the information that passes the bottlenecks per trial, weighted; 0 without noise."""
        clean = states.at[:, 1:].add(-spread(w["latent_sd"]) * noise[:, :-1, :, -2])
        described = (batch.subject @ w["embedding"])[:, None]
        x = jnp.concatenate([batch.after, jnp.repeat(described, batch.train.shape[1], 1)], -1)
        before, passed = (jnp.einsum("st,stl->l", batch.train, each**2) for each in (clean, states))
        observed = jnp.einsum("st,sto->o", batch.train[:, 1:], x[:, :-1] ** 2)
        squares = jnp.concatenate([observed, passed]) * w["gain"] ** 2
        updates = information(squares, spread(w["sd"])).sum()
        choosing = information(passed * w["choice_gain"] ** 2, spread(w["choice_sd"])).sum()
        latents = information(before, spread(w["latent_sd"])).sum()
        return noise.any() * self.penalty * (latents + self.inputs * (updates + choosing))

    def described(self, fit: Fitted, w: Weights, table: Behaviour) -> None:
        """See `NetworkModel.described`."""
        embedded = w["embedding"].shape[1]
        names = (*input_names(table), *(f"subject, {k + 1}" for k in range(embedded)))
        latent_sd, order, n = spread(w["latent_sd"]), np.argsort(spread(w["latent_sd"])), len(names)
        fit.parameters["open latents"] = Estimate(float((latent_sd < OPEN).sum()))
        for rank, k in enumerate(order, 1):
            fit.parameters[f"sigma of latent {rank}"] = Estimate(float(latent_sd[k]))
        sd = spread(w["sd"])[order]
        fit.details |= {
            "bottlenecks": np.concatenate([sd[:, :n], sd[:, n + order]], 1),
            "bottleneck_names": (*names, *(f"latent {k + 1}" for k in range(self.latents))),
            "latent_sd": latent_sd[order],
        }


def _layer(x: Array, weight: Array, bias: Array) -> Array:
    return x @ weight + bias
