"""Recordings of agents (`activity.h5`; the format is in `ngym_cli.evaluation.activity`)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from neurogym.foreign import hdf5
from ngym_cli.errors import UserError, message_of

ACTIVITY_FILE = "activity.h5"

#: Endings of files with recordings of animals or other tools.
ENDINGS = (".nwb", ".h5", ".hdf5", ".npz")

#: Name of the evaluation that a figure makes where it needs a recording.
RECORDING_NAME = "recording"

#: Quantities that figures of networks need.
NETWORK_QUANTITIES = ("activity", "observations")

QUANTITIES = ("activity", "values", "logits", "observations", "actions", "rewards", "spikes")


class Recording:
    """Recorded evaluation whose data are read on request.

    Args:
        folder: of the evaluation.

    Raises:
        UserError: if the file is damaged, or is not plain data (links, data elsewhere, more than it can hold).
    """

    def __init__(self, folder: Path):
        self.path = folder / ACTIVITY_FILE
        with self._readable():
            content = hdf5.read(self.path, ["@dt", "offsets", "events"])
            names = set(hdf5.names(self.path))
            self.quantities = tuple(name for name in QUANTITIES if name in names)
            self.dt = float(content["@dt"])
            self.offsets = np.asarray(content["offsets"], np.int64)
            events = {
                name.removeprefix("events/"): each for name, each in content.items() if name.startswith("events/")
            }
            self.events = {name: np.asarray(each, float) for name, each in events.items()}
            n = len(self.offsets) - 1
            if n < 0 or self.offsets[0] or (np.diff(self.offsets) < 0).any() or not 0 < self.dt < np.inf:
                raise ValueError("offsets or dt are not those of trials")
            if any(each.shape != (n,) for each in self.events.values()):
                raise ValueError("the number of events is not that of trials")

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        """Turn any error of reading into an error of a single line."""
        try:
            yield
        except (OSError, KeyError, ValueError, TypeError, IndexError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else message_of(error)
            raise UserError(f"damaged recording {self.path}: {reason}") from None

    def __len__(self) -> int:
        """Return the number of trials."""
        return len(self.offsets) - 1

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a quantity of all trials, shape (steps, ...)."""
        return self.first(name, len(self))[0]

    def times(self, starts: np.ndarray) -> np.ndarray:
        """Return the time of every step (s), from the start of each trial (s)."""
        lengths = np.diff(self.offsets)
        step = np.arange(int(self.offsets[-1])) - np.repeat(self.offsets[:-1], lengths)
        return np.repeat(starts, lengths) + step * (self.dt / 1000)

    def first(self, name: str, trials: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a quantity of the first trials, shape (steps, ...), and the trial offsets, shape (trials + 1,)."""
        offsets = self.offsets[: trials + 1]
        with self._readable():
            values = hdf5.read(self.path, [name], int(offsets[-1]))[name]
            if values.dtype.kind not in "biuf" or len(values) != offsets[-1]:
                raise ValueError(f"{name} does not have a number for each step of each trial")
            return values, offsets

    def attribute(self, name: str) -> np.ndarray:
        """Return an attribute of a quantity, as in ``spikes@gain``."""
        with self._readable():
            return hdf5.read(self.path, [name])[name]
