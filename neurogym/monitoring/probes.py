"""What the units of a network do while a Monitor evaluates it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Kind of layer to the populations that it has; activation functions have an output.
POPULATIONS = {
    "Linear": ("output",),
    "RNN": ("output", "hidden"),
    "GRU": ("output", "hidden"),
    "LSTM": ("output", "hidden", "cell"),
    **dict.fromkeys(
        ("ELU", "GELU", "LeakyReLU", "ReLU", "SiLU", "Sigmoid", "Softmax", "Softplus", "Tanh"), ("output",)
    ),
}


class ActivationProbe:
    """Records the activity of a PyTorch layer, trial by trial, while it runs in one environment.

    A trace begins with the first forward pass after the end of a trial. Nothing is recorded while the layer is in
    training mode, unless asked for.

    Args:
        layer: A Linear, RNN, GRU or LSTM layer, or an activation function.
        steps: Most steps of a trace; what a shorter trial lacks is masked.
        monitor_during_training: Whether to record in training mode, too.

    Attributes:
        history: Population (``output``, ``hidden``, ``cell``) to traces, one masked array (steps, units) per trial.

    Raises:
        NotImplementedError: If the layer is of another kind.
    """

    def __init__(self, layer: Any, steps: int, monitor_during_training: bool = False):
        kind = type(layer).__name__
        if kind not in POPULATIONS:
            raise NotImplementedError(f"cannot record a layer of type {kind}, only {', '.join(POPULATIONS)}")
        self.layer, self.steps, self.monitor_during_training = layer, steps, monitor_during_training
        self.populations = POPULATIONS[kind]
        self.history: dict[str, list[np.ma.MaskedArray]] = {name: [] for name in self.populations}
        self._filled, self._paused = steps, False
        self._begins = True
        self._handle = layer.register_forward_hook(self._record)

    def pause(self) -> None:
        """Record nothing until :meth:`resume`."""
        self._paused = True

    def resume(self) -> None:
        """Record again."""
        self._paused = False

    def trial_ended(self) -> None:
        """Begin a new trace with the next forward pass."""
        self._begins = True

    def remove(self) -> None:
        """Take the probe off the layer; the history stays."""
        self._handle.remove()

    def _record(self, layer: Any, inputs: Any, output: Any) -> None:
        if self._paused or (layer.training and not self.monitor_during_training):
            return
        found = dict(zip(self.populations, _flat(output), strict=False))
        rows = {name: tensor.detach().cpu().numpy().reshape(-1, tensor.shape[-1]) for name, tensor in found.items()}
        for name in self.populations[1:]:  # states are those after the pass, of the last layer
            rows[name] = rows[name][-1:]
        if self._begins:
            for name in self.populations:
                self.history[name].append(np.ma.masked_all((self.steps, rows[name].shape[1])))
            self._filled, self._begins = 0, False
        count = min(len(rows["output"]), self.steps - self._filled)
        if count > 0:
            for name in self.populations:
                self.history[name][-1][self._filled : self._filled + count] = rows[name][-count:]
            self._filled += count


def _flat(output: Any) -> list[Any]:
    """The tensors that a layer returns, states taken out of their tuple."""
    if not isinstance(output, tuple):
        return [output]
    return [tensor for part in output for tensor in _flat(part)]


def plot_traces(
    traces: Sequence[np.ma.MaskedArray],
    title: str,
    figsize: tuple[float, float] | None = None,
    neurons: Sequence[int] | None = None,
    mean: bool = False,
) -> tuple[Figure, np.ndarray]:
    """Draw traces of units, one panel for each.

    Args:
        traces: Shape (steps, units), one per trial.
        title: Of the figure.
        figsize: Inches; default 3 by 2 for each panel.
        neurons: Units to draw; default all.
        mean: Whether to draw the mean over trials in place of every trial.

    Raises:
        ValueError: If nothing was recorded or a unit does not exist.
    """
    import matplotlib.pyplot as plt

    from neurogym.plotting.training import COLOURS, SETTINGS

    if not traces:
        raise ValueError(f"{title}: nothing has been recorded yet")
    units = traces[0].shape[1]
    shown = list(range(units) if neurons is None else neurons)
    if not shown or not all(0 <= unit < units for unit in shown):
        raise ValueError(f"neurons must be some of 0 to {units - 1}, got {neurons!r}")
    columns = math.ceil(math.sqrt(len(shown)))
    rows = math.ceil(len(shown) / columns)
    stack = np.ma.stack(list(traces))
    with plt.rc_context(SETTINGS):
        figure, axes = plt.subplots(
            rows, columns, figsize=figsize or (3 * columns, 2 * rows), squeeze=False, sharex=True, layout="constrained"
        )
        for axis, unit in zip(axes.flat, shown, strict=False):
            lines = stack[:, :, unit].mean(axis=0)[None] if mean else stack[:, :, unit]
            for line in lines:
                axis.plot(np.arange(1, len(line) + 1), line, color=COLOURS[0], lw=1.5 if mean else 0.5)
            axis.set_title(f"unit {unit}")
        for axis in list(axes.flat)[len(shown) :]:
            axis.set_visible(False)
        figure.supxlabel("step in the trial")
        figure.supylabel("activity")
        figure.suptitle(f"{title}, {'mean of ' if mean else ''}{len(traces)} trials")
    return figure, axes
