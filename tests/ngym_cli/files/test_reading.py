"""What a stranger's file says about itself is checked before time or memory is spent on it."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest

from ngym_cli.errors import UserError
from ngym_cli.files import reading

N = 200_000
SLOW = {
    "letters": "a" * N,
    "dotted": "a." * N,
    "quotes": '"' * N,
    "words": "a b " * N,
    "blanks": "a" + " " * N,
    "open": 'a = "' + "x" * N,
    "apostrophes": "'a" * N,
    "nearly": (".".join(["ab"] * 60) + " x ") * (N // 180),
}


@pytest.mark.parametrize("kind", SLOW)
def test_time_is_linear_in_the_length_of_a_configuration(kind):
    times = []
    for piece in (4, 1):
        text = SLOW[kind][: len(SLOW[kind]) // piece]
        began = time.process_time()
        with pytest.raises(UserError):
            reading.parse_toml(text, Path("x.toml"))
        times.append(time.process_time() - began)
    assert times[1] < 10, "of a text of 200,000 letters this took minutes"
    assert times[1] < 12 * max(times[0], 0.05), "four times as long a text takes about four times as long"


@pytest.mark.parametrize("pieces", [65, 1000, 100_000])
@pytest.mark.parametrize("section", ["a", '"a.b"', "'a'", "a "])
def test_keys_of_many_parts_are_refused(pieces, section):
    with pytest.raises(UserError, match="the limit is 64"):
        reading.parse_toml(".".join([section] * pieces) + " = 1", Path("x.toml"))


@pytest.mark.parametrize("text", ['a = "' + "x." * 500 + '"', "a.b.c = 1.5", ".".join("a" * 60) + " = 1"])
def test_what_is_no_long_key_is_read(text):
    assert reading.parse_toml(text, Path("x.toml"))


def header(names):
    entries = (f'"{i:x}":{{"dtype":"U8","shape":[1],"data_offsets":[{i},{i + 1}]}}' for i in range(names))
    text = "{" + ",".join(entries) + "}"
    return struct.pack("<Q", len(text)) + text.encode() + b"\0" * names


@pytest.mark.parametrize("names", [30_000, 1_500_000])
def test_weights_with_very_many_names_are_refused_at_once(tmp_path, names):
    (tmp_path / "x.safetensors").write_bytes(header(names))
    began = time.process_time()
    with pytest.raises(UserError, match="the limit is"):
        reading.read_tensors(tmp_path / "x.safetensors")
    assert time.process_time() - began < 3
    (tmp_path / "x.safetensors").write_bytes(header(10))
    assert len(reading.read_tensors(tmp_path / "x.safetensors")) == 10


@pytest.mark.parametrize("trials", [10_000_001, 2**63 - 1, 2**63, 10**30])
def test_more_trials_than_memory_holds_are_refused(ngym, run_folder, trials):
    for command in (["eval", run_folder, "--trials", trials], ["run", "--eval-trials", trials]):
        result = ngym(*map(str, command))
        assert result.code == 2 and result.err.count("\n") == 1
