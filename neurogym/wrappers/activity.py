"""Recording of a network's internal activity while an agent acts."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import gymnasium as gym
import numpy as np

from neurogym.compat.leniency import warn_once
from neurogym.messages.names import unknown
from neurogym.plotting.training import plot_traces
from neurogym.recording.probes import ActivationProbe

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ActivityRecorder:
    """Records the activity of network layers, trial by trial; base class of :class:`neurogym.wrappers.Monitor`.

    Attributes:
        env: The environment that the network acts in.
        probes: Name to the :class:`~neurogym.recording.probes.ActivationProbe` of :meth:`record_activations`.
    """

    env: gym.Env
    probes: dict[str, ActivationProbe]

    def record_activations(self, layer: object, name: str | None = None, steps: int | None = None) -> ActivationProbe:
        """Record the activity of a PyTorch layer while an agent acts, trial by trial.

        Args:
            layer: A Linear, RNN, GRU or LSTM layer, or an activation function.
            name: Name of the record, for :meth:`plot_activations`; default the kind of the layer.
            steps: Most steps of a trace; default, and at most, those of the longest trial.

        Raises:
            NotImplementedError: If the layer is of another kind.
        """
        longest = int(np.ceil(self.env.unwrapped.trial_length_stats(1000)["max"]))  # type: ignore[attr-defined]
        name = type(layer).__name__ if name is None else name
        if name in self.probes:
            logging.getLogger(__name__).warning("the record %r is replaced by a new one", name)
            self.probes[name].remove()
        self.probes[name] = ActivationProbe(layer, longest if steps is None else min(steps, longest), monitor=self)
        return self.probes[name]

    def end_traces(self) -> None:
        """End the trace of the trial in every record; called at the end of a trial."""
        for probe in self.probes.values():
            probe.trial_ended()

    def plot_activations(
        self,
        name: str,
        population: str,
        figsize: tuple[float, float] | None = None,
        neurons: Sequence[int] | None = None,
        mean: bool = False,
        batch_dim: int | None = None,
    ) -> tuple[Figure, np.ndarray]:
        """Draw the recorded activity, with a panel for each unit.

        Args:
            name: Name of the record.
            population: ``"output"``, ``"hidden"`` or ``"cell"``, as far as the layer has it.
            figsize: Inches; default 3 by 2 for each panel.
            neurons: Units to draw; default all.
            mean: Whether to draw the mean over trials in place of every trial.
            batch_dim: Accepted for old scripts; a trace is of one environment and has no such dimension.

        Returns:
            The figure and its axes.

        Raises:
            ValueError: If there is no such record, nothing was recorded or a unit does not exist.
            KeyError: If the layer has no such population.
        """
        if batch_dim is not None:
            warn_once(
                f"plot_activations(batch_dim={batch_dim!r}): traces have no batch dimension",
                "it is not used",
                TypeError,
            )
        if name not in self.probes:
            raise ValueError(unknown("record of activity", name, self.probes))
        history = self.probes[name].history
        if population not in history:
            raise KeyError(unknown("population", population, history))
        return plot_traces(history[population], f"{name}, {population}", figsize, neurons, mean)
