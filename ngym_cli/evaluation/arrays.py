"""Evaluations as padded arrays (npz): trials x steps x units with mask, inputs, outputs and conditions."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ngym_cli.errors import UserError
from ngym_cli.evaluation import spikes
from ngym_cli.files.writing import atomic_path
from ngym_cli.runs.populations import CONDITION
from ngym_cli.runs.recordings import Recording
from ngym_cli.runs.trial_table import Table, read_trials

#: Names of recorded quantities in the file where they differ.
NAMES = {"observations": "inputs", "logits": "outputs"}

#: Largest size of the padded arrays, bytes.
MOST_BYTES = 8 << 30


def write(folder: Path) -> Path:
    """Write ``trials.npz`` in the folder of an evaluation that was recorded.

    Arrays: each recorded quantity, shape (trials, steps, ...), 0 after the end of a trial; ``mask`` (trials, steps),
    true within trials; ``rates`` (Hz) where spikes were drawn; ``dt`` (ms); and ``condition_NAME`` for each column of
    the trial table.

    Args:
        folder: of the evaluation.

    Raises:
        UserError: if the arrays would be larger than 8 GB.
    """
    recording, table = Recording(folder), read_trials(folder / "trials.parquet")
    lengths = np.diff(recording.offsets)
    mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
    arrays = {"mask": mask, "dt": np.array(recording.dt)}
    found = {NAMES.get(name, name): recording[name] for name in recording.quantities}
    if spikes.SPIKES in found:
        found["rates"] = spikes.rates(recording)
    size = sum(mask.size * values[:1].nbytes for values in found.values())
    if size > MOST_BYTES:
        raise UserError(f"the padded arrays would take {size / 1e9:.0f} GB; ask for fewer --trials, or record less")
    for name, values in found.items():
        arrays[name] = np.zeros((*mask.shape, *values.shape[1:]), values.dtype)
        arrays[name][mask] = values
    arrays |= {CONDITION + name: values for name, values in _plain(table).items()}
    with atomic_path(folder / "trials.npz") as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
    return folder / "trials.npz"


def _plain(table: Table) -> Table:
    """Return the columns of a trial table as numbers and words; columns of unequal vectors are left out."""
    found = {}
    for name, values in table.items():
        if values.dtype != object:
            found[name] = values
        elif any(isinstance(value, list | np.ndarray) for value in values):
            if len({np.shape(value) for value in values}) == 1:
                found[name] = np.array(values.tolist(), float)
        else:
            found[name] = np.array(["" if value is None else str(value) for value in values], str)
    return found
