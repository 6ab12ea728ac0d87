"""Damaged bytes of a format: a process that reads many damaged copies of a file, and says what went wrong.

Called as ``python -m tests.ngym_cli.damage EXAMPLES FOLDER FORMAT ...``: it crashes, prints a traceback, or ends well.
"""

from __future__ import annotations

import gzip
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neurogym.behaviour.entries import TableError
from neurogym.behaviour.files import ALF, read_source
from neurogym.foreign import isolation
from ngym_cli.errors import UserError

ROWS = 40
COLUMNS = {
    "choice": np.tile([0, 1], ROWS // 2),
    "rt": np.linspace(0.3, 0.9, ROWS),
    "coh": np.linspace(-1, 1, ROWS),
    "subject": np.repeat(["anna", "ben"], ROWS // 2),
}


class Format(NamedTuple):
    """A format, by how a file is made and read."""

    name: str
    make: Callable[[Path], object]
    read: Callable[[Path], object]


def _rows():
    return [{key: values[k].item() for key, values in COLUMNS.items()} for k in range(ROWS)]


def _csv(path):
    lines = [",".join(COLUMNS), *(",".join(map(str, row.values())) for row in _rows())]
    path.write_bytes((gzip.compress if path.suffix == ".gz" else bytes)("\n".join(lines).encode()))


def _json(path):
    text = "\n".join(map(json.dumps, _rows())) if path.suffix == ".jsonl" else json.dumps(_rows())
    path.write_text(text)


def _arrow(path, **settings):
    import pyarrow as pa
    from pyarrow import feather, parquet

    table = pa.table({name: values.tolist() for name, values in COLUMNS.items()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (parquet.write_table if path.suffix == ".parquet" else feather.write_feather)(table, path, **settings)


def _matlab(path, **settings):
    from scipy.io import savemat

    savemat(path, {"trials": dict(COLUMNS)}, **settings)


def _nwb(path):
    import h5py

    with h5py.File(path, "w") as file:
        for name, values in {**COLUMNS, "id": np.arange(ROWS), **_times()}.items():
            data = values.tolist() if values.dtype.kind == "U" else values
            dtype = h5py.string_dtype() if values.dtype.kind == "U" else None
            file.create_dataset(f"intervals/trials/{name}", data=data, dtype=dtype)
        file["units/spike_times"], file["units/spike_times_index"] = np.linspace(0, ROWS, 200), [90, 200]


def _times():
    return {"start_time": np.arange(ROWS, dtype=float), "stop_time": np.arange(ROWS) + 0.8}


def _hdf5(path):
    import h5py

    with h5py.File(path, "w") as file:
        for name, values in COLUMNS.items():
            file.create_dataset(name, data=values.astype("S") if values.dtype.kind == "U" else values, chunks=(16,))


def _arrays():
    rng = np.random.default_rng(0)
    activity = rng.normal(size=(6, 5, 3)).astype(np.float32)
    return {"activity": activity, "mask": np.ones((6, 5), bool), "condition_side": np.repeat(["left", "right"], 3)}


def _recording_hdf5(path):
    import h5py

    with h5py.File(path, "w") as file:
        for name, values in {**_arrays(), "condition_side": np.arange(6) % 2}.items():
            file.create_dataset(name, data=values, compression="gzip")


def _own_recording(path):
    import h5py

    with h5py.File(path, "w") as file:
        file.attrs["dt"] = 100.0
        file["offsets"], file["events/stimulus"] = np.arange(0, 30, 5), np.zeros(5)
        file["activity"] = np.ones((25, 4), np.float32)


def _read_own_recording(path):
    from ngym_cli.runs.recordings import Recording

    recording = Recording(path.parent)
    return [recording[name] for name in recording.quantities]


def _read_recording(path):
    from ngym_cli.runs.populations import columns_of, read_parts

    columns = columns_of(path)
    return read_parts(path, [name for name in ("side", "choice") if name in columns])


def _fitted(path):
    path.with_suffix(".json").write_text(json.dumps({"model": "m", "parameters": {}, "log_likelihood": {}}))
    with path.open("wb") as file:
        np.savez_compressed(file, held_out=np.full((ROWS, 2), 0.5), states=np.arange(5))


def _read_fitted(path):
    from ngym_cli.fitting.folder import FitFolder

    return FitFolder(path.parent.parent).load("m")


def _trials(path):
    from ngym_cli.runs.trial_table import COLUMNS as NAMES
    from ngym_cli.runs.trial_table import write_table

    words = {name: np.full(ROWS, "x", object) for name, kind in NAMES.items() if kind is object}
    write_table({name: words.get(name, np.arange(ROWS)) for name in NAMES}, path)


def _read_trials(path):
    from ngym_cli.runs.trial_table import read_trials

    return read_trials(path)


def _weights(path):
    from safetensors.numpy import save_file

    save_file({"a": np.ones((3, 4), np.float32), "b": np.arange(5)}, path)


def _read_weights(path):
    from ngym_cli.files.reading import read_tensors

    return read_tensors(path, "numpy")


def _config(path):
    from ngym_cli.agents.defaults import prepare
    from ngym_cli.config.model import from_dict

    path.write_text(prepare(from_dict({"n_envs": 2, "wrappers": "pass_reward"}))[0].to_toml())


def _read_config(path):
    from ngym_cli.config.trust import load

    return load(path, {})


def _sweep(path):
    from ngym_cli.sweeps import folder, recipe, worker

    search = {"search": {"trials": 3, "space": {"learning_rate": "log:1e-4:1e-2"}}}
    created = recipe.build({"run": {"task": "GoNogo-v0"}, **(search if path.suffix == ".jsonl" else {})}, {})
    sweep = folder.make(path.parent.parent, path.parent.name, created)
    if path.suffix == ".jsonl":
        study, _ = worker.open_study(sweep)
        study.tell(study.ask(), 0.5)


def _read_sweep(path):
    from ngym_cli.sweeps import folder, worker

    sweep = folder.load(path.parent)
    return worker.open_study(sweep)[0].trials if path.suffix == ".jsonl" else sweep


FORMATS = {
    "csv": Format("t.csv", _csv, read_source),
    "csv.gz": Format("t.csv.gz", _csv, read_source),
    "json": Format("t.json", _json, read_source),
    "jsonl": Format("t.jsonl", _json, read_source),
    "parquet": Format("t.parquet", _arrow, read_source),
    "feather": Format("t.feather", _arrow, read_source),
    "feather 1": Format("t.feather", lambda path: _arrow(path, version=1), read_source),
    "matlab": Format("t.mat", _matlab, read_source),
    "matlab, compressed": Format("t.mat", lambda path: _matlab(path, do_compression=True), read_source),
    "hdf5": Format("t.h5", _hdf5, read_source),
    "nwb": Format("t.nwb", _nwb, read_source),
    "alf": Format(f"{ALF[0]}choice.npy", lambda path: np.save(path, COLUMNS["choice"]), read_source),
    "recording, npz": Format("r.npz", lambda path: np.savez_compressed(path, **_arrays()), _read_recording),
    "recording, hdf5": Format("r.h5", _recording_hdf5, _read_recording),
    "recording, nwb": Format("r.nwb", _nwb, _read_recording),
    "recording of a run": Format("activity.h5", _own_recording, _read_own_recording),
    "trials of a run": Format("trials.parquet", _trials, _read_trials),
    "weights": Format("weights.safetensors", _weights, _read_weights),
    "configuration": Format("config.toml", _config, _read_config),
    "arrays of a fit": Format("models/m.npz", _fitted, _read_fitted),
    "list of a sweep": Format("sweeps/it/list.json", _sweep, _read_sweep),
    "recipe of a sweep": Format("sweeps/it/recipe.toml", _sweep, _read_sweep),
    "study of a sweep": Format("sweeps/it/study.jsonl", _sweep, _read_sweep),
}

#: A kind of damage, its place as a share of the file or of its beginning, and bytes.
damages = st.tuples(
    st.sampled_from(["cut", "replace", "insert", "flip", "copy", "number"]),
    st.floats(0, 1, exclude_max=True),
    st.sampled_from([64, 1024, 1 << 40]),
    st.binary(min_size=1, max_size=32),
)
NUMBERS = [b"\xff" * 8, b"\xff\xff\xff\x7f" * 2, b"\0" * 7 + b"\x7f", (1 << 40).to_bytes(8, "little"), b"\0" * 8]


def damaged(data: bytes, kind: str, place: float, within: int, noise: bytes) -> bytes:
    """Return a damaged copy of the content of a file."""
    at = int(place * min(len(data), within))
    rest = data[at:]
    if kind == "cut":
        return data[:at]
    if kind == "insert":
        return data[:at] + noise + rest
    if kind == "flip":
        return data[:at] + bytes([(rest[0] if rest else 0) ^ (1 << noise[0] % 8)]) + rest[1:]
    if kind == "copy":
        return data[:at] + data[: len(noise)] + rest[len(noise) :]
    new = NUMBERS[noise[0] % len(NUMBERS)] if kind == "number" else noise
    return data[:at] + new + rest[len(new) :]


def try_all(name: str, examples: int, folder: Path) -> None:
    """Read damaged copies of a file; only a message for the user may come of it."""
    print(name, flush=True)
    form = FORMATS[name]
    path = folder / name / form.name
    path.parent.mkdir(parents=True, exist_ok=True)
    form.make(path)
    form.read(path)
    whole = path.read_bytes()

    @settings(
        max_examples=examples, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(st.lists(damages, min_size=1, max_size=3))
    def check(several):
        data = whole
        for damage in several:
            data = damaged(data, *damage)
        path.write_bytes(data)
        try:
            form.read(path)
        except (UserError, TableError) as error:
            assert str(path) in str(error) or str(path.parent) in str(error), f"no name of the file: {error}"
            assert "\n" not in str(error), f"several lines: {error}"

    check()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    isolation.PATIENCE = 1
    for name in sys.argv[3:]:
        try_all(name, int(sys.argv[1]), Path(sys.argv[2]))
