"""Weights of a disentangled recurrent network, and the network's choices without noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.special import expit

from neurogym.analysis.regression import log_softmax
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import ParallelTrials, Policy
from ngym_cli.fitting.networks import seen

#: Units and layers of the update networks and of the choice network.
UPDATE, CHOICE = (8, 2), (6, 1)
SMALLEST = 1e-5  #: added to the s.d. of a bottleneck
EMBEDDING = 2  #: numbers that describe a subject, where there are several


class BottleneckWeights(SimpleNamespace):
    """Weights of one network, or of many with a leading axis; L latents, O observations, H units, D stimuli.

    The embedding of the subject counts among observations and stimuli.

    Attributes:
        z: first latents, shape (L,).
        latent_sd: s.d. of the latents' bottlenecks, shape (L,).
        gain: multipliers of what each update network sees, observations first, shape (L, O + L).
        sd: s.d. of the same.
        first: first layer of the update networks, shape (L, O + L, H).
        first_bias: shape (L, 1, H).
        hidden: further layers, shape (layers, L, H, H).
        hidden_bias: shape (layers, L, 1, H).
        last: output layer, shape (L, H, 2).
        last_bias: shape (L, 1, 2).
        choice_gain: multipliers of what the choice network sees, shape (L,).
        choice_sd: s.d. of the same.
        choice_first: first layer of the choice network, shape (L + D, H').
        choice_bias: shape (1, H').
        choice_hidden: shape (layers, H', H').
        choice_hidden_bias: shape (layers, 1, H').
        choice_last: shape (H', choices).
        direct: weights of the present stimuli, shape (D, choices).
        choice_last_bias: shape (1, choices).
        embedding: numbers that describe each subject, shape (subjects, E); E is 0 for a single subject.
    """

    @staticmethod
    def drawn(
        latents: int, observed: int, stimuli: int, choices: int, subjects: int, rng: np.random.Generator
    ) -> BottleneckWeights:
        """Return first weights of a network."""
        (h, layers), (c, more) = UPDATE, CHOICE
        size = EMBEDDING if subjects > 1 else 0
        observed, stimuli = observed + size, stimuli + size
        seen_by, n = observed + latents, rng.normal
        return BottleneckWeights(
            **{
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
        )


def spread(p: Any) -> Any:
    """Return the s.d. of a bottleneck from the trained number."""
    return abs(p) + SMALLEST


def _leaky(x: FloatArray) -> FloatArray:
    return np.maximum(x, 0.01 * x)


@dataclass
class DisentangledPolicy(Policy):
    """Averaged choices of disentangled networks without noise.

    Attributes:
        nets: trained weights.
        scale: divisor of stimuli.
        subjects: names of the subjects that were fitted.
        who: subject whose embedding is used; None, or a subject that was not fitted, for the mean of all.
    """

    nets: list[BottleneckWeights]
    scale: FloatArray
    subjects: tuple[str, ...] = ("",)
    who: str | None = None

    def of(self, subject: str) -> DisentangledPolicy:
        """Return the policy with a subject's own embedding."""
        return replace(self, who=subject)

    def _with_embedding(self, w: BottleneckWeights, x: FloatArray) -> FloatArray:
        """Return observations or stimuli with the numbers that describe the subject."""
        indices = [self.subjects.index(self.who)] if self.who in self.subjects else list(range(len(self.subjects)))
        return np.concatenate([x, np.tile(w.embedding[indices].mean(0), (len(x), 1))], 1)

    def begin(self, n: int) -> list[FloatArray]:
        """See `Policy.begin`."""
        return [np.tile(w.z[:, None], (1, n)) for w in self.nets]

    def probabilities(self, state: list[FloatArray], stimuli: FloatArray) -> FloatArray:
        """See `Policy.probabilities`."""
        rows = []
        for w, z in zip(self.nets, state, strict=True):
            s = self._with_embedding(w, stimuli / self.scale)
            h = np.concatenate([(z * w.choice_gain[:, None]).T, s], 1) @ w.choice_first + w.choice_bias
            for weight, bias in zip(w.choice_hidden, w.choice_hidden_bias, strict=True):
                h = h + _leaky(h @ weight + bias)
            rows.append(np.exp(log_softmax(h @ w.choice_last + w.choice_last_bias + s @ w.direct)))
        return np.asarray(np.mean(rows, 0))

    def advance(self, state: list[FloatArray], trial: ParallelTrials) -> list[FloatArray]:
        """See `Policy.advance`."""
        choices = self.nets[0].choice_last.shape[1]
        scaled = replace(trial, stimuli=trial.stimuli / self.scale)
        x, new = seen(scaled, choices), []
        for w, z in zip(self.nets, state, strict=True):
            seen_by = np.concatenate([self._with_embedding(w, x), z.T], 1)
            h = (seen_by * w.gain[:, None]) @ w.first + w.first_bias
            for weight, bias in zip(w.hidden, w.hidden_bias, strict=True):
                h = h + _leaky(h @ weight + bias)
            out = h @ w.last + w.last_bias
            new.append(z + expit(out[..., 0]) * (2 * np.tanh(0.5 * out[..., 1]) - z))
        return new
