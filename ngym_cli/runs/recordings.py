"""Recordings of agents (`activity.h5`; the format is in `ngym_cli.evaluation.activity`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ngym_cli.errors import UserError, message_of

if TYPE_CHECKING:
    import h5py

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
        import h5py

        self.path = folder / ACTIVITY_FILE
        try:
            with h5py.File(self.path, "r") as file:
                self.dt = float(file.attrs["dt"])
                names = [*file, *(f"events/{name}" for name in file.get("events", ()))]
                for name in names:
                    refuse_elsewhere(file, name)
                    size = getattr(file[name], "nbytes", 0)
                    if size > 4 * self.path.stat().st_size + (1 << 20):
                        raise ValueError(f"{name} announces more bytes than the file has")
                self.quantities = tuple(name for name in QUANTITIES if name in file)
                self.offsets = np.asarray(file["offsets"], np.int64)
                self.events = {name: np.asarray(file["events"][name]) for name in file.get("events", ())}
        except (OSError, KeyError, ValueError, TypeError, RuntimeError) as error:
            raise UserError(f"damaged recording {self.path}: {message_of(error)}") from None

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
        import h5py

        offsets = self.offsets[: trials + 1]
        with h5py.File(self.path, "r") as file:
            return np.asarray(file[name][: int(offsets[-1])]), offsets


def refuse_elsewhere(file: h5py.Group, name: str) -> None:
    """Refuse an entry of an HDF5 file that is missing or a link, or whose data lie in another file.

    Raises:
        ValueError: names the entry.
    """
    import h5py

    entry = file.get(name, getlink=True)
    if not isinstance(entry, h5py.HardLink):
        raise ValueError(f"{name} is missing" if entry is None else f"{name} is a link; copy the data into the file")
    item = file[name]
    if isinstance(item, h5py.Dataset) and (item.external or item.is_virtual):
        raise ValueError(f"{name} lies in another file; copy it into this one")
