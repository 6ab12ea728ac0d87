"""Folders of spike times are read as NWB files with the same content, or refused in one line."""

from __future__ import annotations

import h5py
import numpy as np
import pandas as pd
import pytest

from ngym_cli.errors import UserError
from ngym_cli.runs import populations
from ngym_cli.runs.population_parts import WHOLE_TRIALS, Binning

TRIALS, UNITS, DT = 12, 3, 100.0
AREAS, QUALITY = ["MT", "LIP", "MT"], ["good", "good", "noise"]


def session(rng):
    """Trials of .6 s with a period in the middle, and spikes that begin before and end after them."""
    start = np.arange(TRIALS) * 2.0
    trials = pd.DataFrame({"start_time": start, "stop_time": start + 0.6, "coh": np.tile([0.0, 51.2], TRIALS // 2)})
    periods = pd.DataFrame(
        {"period": "stimulus", "trial": np.arange(TRIALS), "start_time": start + 0.1, "stop_time": start + 0.4}
    )
    spikes = [np.sort(rng.uniform(-1, 2 * TRIALS, 300 * (k + 1))) for k in range(UNITS)]
    return trials, periods, spikes


def folder_of(path, trials, periods, spikes, form="table"):
    """Write a folder in one of its forms."""
    path.mkdir(parents=True)
    trials.to_csv(path / "trials.csv", index=False)
    periods.to_csv(path / "periods.csv", index=False)
    names = [f"unit{k}" for k in range(len(spikes))]
    units = {"unit": names[::-1], "area": AREAS[::-1], "quality": QUALITY[::-1], "snr": [3.0, 2.0, 1.0]}
    pd.DataFrame(units).to_csv(path / "units.csv", index=False)
    if form == "table":
        table = pd.DataFrame({"unit": np.repeat(names, list(map(len, spikes))), "time": np.concatenate(spikes)})
        table.sample(frac=1, random_state=0).to_csv(path / "spikes.csv", index=False)
        return path
    (path / "spikes").mkdir()
    for name, times in zip(names, spikes, strict=True):
        if form == "npy":
            np.save(path / "spikes" / f"{name}.npy", times)
        else:
            np.savetxt(path / "spikes" / f"{name}.txt", times)
    return path


def nwb_of(path, trials, periods, spikes):
    """Write an NWB file whose areas are those of electrodes."""
    with h5py.File(path, "w") as file:
        for table, columns in {"trials": trials, "periods": periods}.items():
            for name in columns:
                values = columns[name].to_numpy()
                file[f"intervals/{table}/{name}"] = values.astype("S") if values.dtype == object else values
        file["units/spike_times"] = np.concatenate(spikes)
        file["units/spike_times_index"] = np.cumsum([len(each) for each in spikes])
        file["units/quality"], file["units/snr"] = np.array(QUALITY, "S"), [1.0, 2.0, 3.0]
        file["units/electrodes"], file["units/electrodes_index"] = [2, 1, 0, 2], [1, 2, 4]
        file["general/extracellular_ephys/electrodes/location"] = np.array(["MT", "LIP", "MT"], "S")
    return path


BINNINGS = {
    "rates": None,
    "counts": Binning(DT),
    "one area": Binning(DT, "MT"),
    "good units": Binning(DT, unit_filter="quality = good and snr > 1"),
    "good units of an area": Binning(DT, "MT", "quality != noise"),
}


@pytest.mark.parametrize("form", ["table", "npy", "txt"])
@pytest.mark.parametrize("binning", BINNINGS.values(), ids=BINNINGS)
def test_a_folder_is_read_as_an_nwb_file(tmp_path, form, binning):
    data = session(np.random.default_rng(0))
    folder, nwb = folder_of(tmp_path / "monkey", *data, form), nwb_of(tmp_path / "monkey.nwb", *data)
    ours, theirs = (populations.read_parts(path, ["coh"], binning) for path in (folder, nwb))
    assert ours.keys() == theirs.keys() == {WHOLE_TRIALS, "stimulus"}
    for part, each in ours.items():
        assert np.asarray(each.condition).tolist() == np.asarray(theirs[part].condition).tolist()
        np.testing.assert_allclose(np.array(each.trials), np.array(theirs[part].trials), atol=1e-9)
    assert set(populations.columns_of(folder)) == set(populations.columns_of(nwb))
    assert populations.areas_of(folder).tolist() == populations.areas_of(nwb).tolist() == AREAS
    if binning == Binning(DT):
        trials, _, spikes = data
        first = np.histogram(spikes[1], trials.start_time[3] + np.arange(7) * DT / 1000)[0]
        np.testing.assert_array_equal(ours[WHOLE_TRIALS].trials[3][:, 1], first)


def test_the_checksum_follows_every_file_that_is_read(tmp_path):
    folder = folder_of(tmp_path / "monkey", *session(np.random.default_rng(0)), "npy")
    before = populations.checksum(folder)
    (folder / "notes.txt").write_text("not read")
    assert populations.checksum(folder) == before
    np.save(folder / "spikes" / "unit1.npy", np.arange(3.0))
    assert populations.checksum(folder) != before


DAMAGE = {
    "no trials": (lambda folder: (folder / "trials.csv").unlink(), "trials.csv is missing"),
    "no spikes": (lambda folder: (folder / "spikes.csv").unlink(), "spikes.csv is missing"),
    "milliseconds": (
        lambda folder: _change(folder / "spikes.csv", lambda t: t.assign(time=t.time * 1000)),
        "both need seconds",
    ),
    "no times": (lambda folder: _change(folder / "spikes.csv", lambda t: t.rename(columns={"time": "tme"})), "time"),
    "no stops": (lambda folder: _change(folder / "trials.csv", lambda t: t.drop(columns="stop_time")), "stop_time"),
    "a unit too few": (lambda folder: _change(folder / "units.csv", lambda t: t[:1]), "units.csv lacks unit"),
    "words as times": (
        lambda folder: _change(folder / "spikes.csv", lambda t: t.assign(time="soon")),
        "could not convert",
    ),
}


def _change(path, change):
    change(pd.read_csv(path)).to_csv(path, index=False)


@pytest.mark.parametrize("name", DAMAGE)
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path, name):
    damage, message = DAMAGE[name]
    folder = folder_of(tmp_path / "monkey", *session(np.random.default_rng(0)))
    damage(folder)
    with pytest.raises(UserError, match=message) as error:
        populations.read_parts(folder, ["coh"], Binning(DT))
    assert "\n" not in str(error.value) and "monkey" in str(error.value)


def test_a_network_learns_from_a_folder(ngym, tmp_path):
    folder = folder_of(tmp_path / "monkey", *session(np.random.default_rng(0)))
    line = ["run", "--task", "RDM-v0", "--alg", "supervised", "--timesteps", "1000", "--units", "8"]
    more = ["--recording-by", "coh", "--recording-unit-filter", "quality = good"]
    result = ngym(*line, "--recording", str(folder), *more, "--name", "both")
    assert result.code == 0, result.err
    (saved,) = tmp_path.rglob("recording.npz")
    assert np.load(saved)["area"].tolist() == AREAS[:2]
    np.save(folder / "unread.npy", np.zeros(1))
    _change(folder / "units.csv", lambda table: table.assign(area="V1"))
    result = ngym("eval", "both", "--compare-activity", str(folder), "--trials", "40")
    assert result.code == 0, result.err
    result = ngym(*line, "--recording", str(tmp_path / "nothing"))
    assert result.code == 2 and "folders of spike times" in result.err


@pytest.mark.parametrize("kind", ["folder", "nwb", "npz"])
def test_a_filter_of_units_that_does_not_fit_is_refused(tmp_path, kind):
    data = session(np.random.default_rng(0))
    path = folder_of(tmp_path / "m", *data) if kind == "folder" else nwb_of(tmp_path / "m.nwb", *data)
    if kind == "npz":
        path = tmp_path / "m.npz"
        arrays = {"activity": np.zeros((4, 5, 3)), "dt": 100.0, "condition_coh": np.zeros(4), "unit_quality": QUALITY}
        np.savez(path, **arrays)
        kept = populations.read_parts(path, ["coh"], Binning(DT, unit_filter="quality = good"))
        assert kept[WHOLE_TRIALS].trials[0].shape[1] == 2
    for text, message in {
        "qualty = good": "did you mean 'quality'",
        "quality = goood": "did you mean 'good'",
        "quality = good and quality = noise": "no neuron of m",
    }.items():
        with pytest.raises(UserError, match=message) as error:
            populations.read_parts(path, ["coh"], Binning(DT, unit_filter=text))
        assert "--recording-unit-filter" in str(error.value)
