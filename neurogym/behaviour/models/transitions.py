"""Transitions between hidden states that depend on inputs, such as rewards (Bengio & Frasconi 1996, 10.1109/72.536317).

P(state j at t + 1 | state i at t, inputs u of trial t) is proportional to A_ij exp(v_j . u). The inputs of a trial are
its reward, its choice (-1, 0 after a miss, 1) or its stimuli, scaled by their s.d. and centred; v of the first state is
0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from neurogym.analysis.regression import log_softmax
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import ParallelTrials, UnfitError, require_two
from neurogym.behaviour.table import Behaviour
from neurogym.messages.options import option


@dataclass(frozen=True)
class TransitionInputs:
    """Inputs of transitions.

    Attributes:
        names: "reward", "choice" or names of stimuli.
        columns: of the stimuli among the inputs; -1 for reward, -2 for choice.
        centre: subtracted from each input.
        scale: divisor of each input.
    """

    names: tuple[str, ...] = ()
    columns: tuple[int, ...] = ()
    centre: FloatArray = field(default_factory=lambda: np.zeros(0))
    scale: FloatArray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, names: Sequence[str], table: Behaviour) -> TransitionInputs:
        """Return inputs by name.

        Raises:
            UnfitError: for a name that is neither reward, choice nor a stimulus, an input that is constant, or one of
                more than two choices.
        """
        if "choice" in names:
            require_two(table, option("--transition choice"))
        columns = []
        for name in names:
            if name not in ("reward", "choice", *table.stimuli):
                offered = ", ".join(("reward", "choice", *table.stimuli))
                raise UnfitError(f"{option('--transition')}: unknown input '{name}'; expected {offered}")
            columns.append(
                {"reward": -1, "choice": -2}.get(name, table.stimuli.index(name) if name in table.stimuli else 0)
            )
        plain = cls(tuple(names), tuple(columns), np.zeros(len(names)), np.ones(len(names)))
        rows = plain.values(np.nan_to_num(table.join("stimuli")), table.join("choice"), table.join("reward"))
        answered = rows[table.join("scored_choice") >= 0]
        scale = answered.std(0)
        for name, sd in zip(names, scale, strict=True):
            if sd == 0:
                raise UnfitError(f"{option('--transition')}: {name} is the same in all trials")
        return cls(plain.names, plain.columns, answered.mean(0), scale)

    def values(self, stimuli: FloatArray, choice: np.ndarray, reward: FloatArray) -> FloatArray:
        """Return the scaled inputs of trials, 0 for trials without a choice, shape (..., inputs)."""
        sources = {-1: np.nan_to_num(reward), -2: np.where(choice < 0, 0.0, 2.0 * choice - 1)}
        raw = [sources[k] if k < 0 else stimuli[..., k] for k in self.columns]
        if not raw:
            return np.zeros((*choice.shape, 0))
        scaled = (np.stack(raw, -1) - self.centre) / self.scale
        return np.where(choice[..., None] < 0, 0.0, scaled)

    def of_trial(self, trial: ParallelTrials) -> FloatArray:
        """Return the inputs of a trial of many sessions, shape (sessions, inputs)."""
        return self.values(trial.stimuli, trial.choice, trial.reward)


def transition_probabilities(base: FloatArray, weights: FloatArray, inputs: FloatArray) -> FloatArray:
    """Return the probabilities of the next state given the state and the inputs of a trial.

    Args:
        base: at mean inputs, shape (states, states).
        weights: of the inputs, shape (states, inputs).
        inputs: shape (..., inputs).

    Returns:
        Shape (..., states before, states after).
    """
    logits = np.log(np.maximum(base, 1e-300)) + (inputs @ weights.T)[..., None, :]
    return np.exp(log_softmax(logits))
