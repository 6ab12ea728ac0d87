"""Recording of the activity of a network's units."""

from __future__ import annotations

from typing import Any

import numpy as np

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
    """Records the activity of a PyTorch layer, trial by trial, during interaction with an environment.

    A trace begins with the first forward pass after the end of a trial. In training mode only passes of one row, an
    agent that acts, are recorded: training batches are not, unless requested.

    Args:
        module: A Linear, RNN, GRU or LSTM layer, or an activation function.
        steps: Most steps of a trace; what a shorter trial lacks is masked. None: traces as long as they get.
        monitor_during_training: Whether to record whole batches in training mode, too.
        monitor: Monitor that reports the end of trials.

    Attributes:
        history: Population (``output``, ``hidden``, ``cell``) to traces, one masked array (steps, units) per trial.

    Raises:
        NotImplementedError: If the layer is of another kind.
    """

    def __init__(
        self, module: Any, steps: int | None = None, monitor_during_training: bool = False, monitor: Any = None
    ):
        kind = type(module).__name__
        if kind not in POPULATIONS:
            raise NotImplementedError(f"cannot record a layer of type {kind}, only {', '.join(POPULATIONS)}")
        self.layer, self.steps, self.monitor_during_training = module, steps, monitor_during_training
        self.monitor = monitor
        self.populations = POPULATIONS[kind]
        self.history: dict[str, list[np.ma.MaskedArray]] = {name: [] for name in self.populations}
        self._filled, self._paused = 0, False
        self._begins = True
        self._handle = module.register_forward_hook(self._record)

    @property
    def probe(self) -> ActivationProbe:
        """Return the probe; for scripts that access the probe through a monitor."""
        return self

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
        """Remove the probe from the layer, and keep the history."""
        self._handle.remove()

    def _record(self, layer: Any, inputs: object, output: object) -> None:
        if self._paused:
            return
        activity = dict(zip(self.populations, _flat(output), strict=False))
        rows = {name: tensor.detach().cpu().numpy().reshape(-1, tensor.shape[-1]) for name, tensor in activity.items()}
        if layer.training and not self.monitor_during_training and len(rows["output"]) > 1:
            return
        for name in self.populations[1:]:  # states are those after the pass, of the last layer
            rows[name] = rows[name][-1:]
        if self._begins:
            for name in self.populations:
                self.history[name].append(np.ma.masked_all((self.steps or 0, rows[name].shape[1])))
            self._filled, self._begins = 0, False
        count = len(rows["output"]) if self.steps is None else min(len(rows["output"]), self.steps - self._filled)
        if count <= 0:
            return
        for name, traces in self.history.items():
            if self.steps is None:
                traces[-1] = np.ma.concatenate([traces[-1], np.ma.masked_all((count, traces[-1].shape[1]))])
            traces[-1][self._filled : self._filled + count] = rows[name][:count]
        self._filled += count


def _flat(output: object) -> list[Any]:
    """Flatten the output of a layer to a list of tensors."""
    if not isinstance(output, tuple):
        return [output]
    return [tensor for nested in output for tensor in _flat(nested)]
