"""Records say what made them; texts say what the records hold."""

from __future__ import annotations

import json

import pytest

from experiments import bandit, defaults, short_runs
from experiments.defaults import lines
from experiments.records import quotes, stamp
from experiments.records.record import Record
from experiments.records.registry import DATA, RECORDS


@pytest.mark.parametrize("path", list(quotes.texts()), ids=lambda path: path.relative_to(quotes.ROOT).as_posix())
def test_texts_quote_what_the_records_hold(path):
    reported = "python -m experiments.records --texts writes it anew"
    assert quotes.renewed(path) == path.read_text(encoding="utf-8"), reported


@pytest.mark.parametrize("path", list(DATA), ids=lambda path: path.name)
def test_package_data_is_what_the_records_hold(path):
    reported = "python -m experiments.records --texts writes it anew"
    assert DATA[path]() == path.read_text(encoding="utf-8"), reported


@pytest.mark.parametrize("record", list(RECORDS.values()), ids=lambda record: record.name)
def test_every_row_says_what_made_it(record):
    for item, seeds in record.rows().items():
        assert item in record.items()
        for row in seeds.values():
            assert {"commit", "digest", "on"} <= row["made"].keys()


@pytest.mark.parametrize("record", list(RECORDS.values()), ids=lambda record: record.name)
def test_tables_are_quoted(record):
    texts = "".join(path.read_text(encoding="utf-8") for path in quotes.texts())
    for table in record.tables:
        assert f"<!-- record {record.name} {table} -->" in texts


def test_more_steps_are_not_clearly_worse_in_the_record_of_short_runs():
    assert list(short_runs.clearly_worse(short_runs.RECORD.rows())) == []
    scores = {"RDM-v0/3000": (0.9, 0.91), "RDM-v0/22000": (0.5, 0.52)}
    rows = {item: {str(seed): {"performance": each} for seed, each in enumerate(pair)} for item, pair in scores.items()}
    assert list(short_runs.clearly_worse(rows)) == [("RDM-v0", 3_000, 22_000)]


def test_every_table_ends():
    for path in quotes.texts():
        text = path.read_text(encoding="utf-8")
        assert len(quotes.BLOCK.findall(text)) == text.count("<!-- record ") == text.count("<!-- end -->"), path


def test_comments_and_docstrings_do_not_make_a_record_old(tmp_path):
    source = tmp_path / "a.py"

    def digest(text):
        source.write_text(text)
        stamp.plain.cache_clear()
        return stamp.plain(source)

    first = digest('"""One."""\n\n\ndef f(x):\n    """Two."""\n    return x + 1\n')
    assert digest('"""Three."""\n\n\ndef f(x):\n    # why\n    return x + 1\n') == first
    assert digest('"""One."""\n\n\ndef f(x):\n    """Two."""\n    return x + 2\n') != first


def test_names_of_local_variables_do_not_make_a_record_old(tmp_path):
    source = tmp_path / "a.py"

    def digest(text):
        source.write_text(text)
        stamp.plain.cache_clear()
        return stamp.plain(source)

    first = digest("def f(x, n):\n    y = [g(z) for z in x]\n    return lambda u: y[n] + u\n")
    assert digest("def f(a, b):\n    c = [g(d) for d in a]\n    return lambda e: c[b] + e\n") == first
    assert digest("def f(a, b):\n    c = [g(d) for d in b]\n    return lambda e: c[b] + e\n") != first
    assert digest("def f(a, b):\n    c = [h(d) for d in a]\n    return lambda e: c[b] + e\n") != first


def test_the_digest_follows_the_task_and_the_settings():
    first = stamp.digest(["GoNogo-v0"], {"units": 64})
    assert stamp.digest(["GoNogo-v0"], {"units": 64}) == first
    assert stamp.digest(["GoNogo-v0"], {"units": 65}) != first
    second = stamp.digest(["NBack-v0"], {"units": 64})
    assert second != first and stamp.task_part(second) != stamp.task_part(first)
    assert stamp.task_part("1172ed8bb633") == ""


def test_an_answer_of_the_same_code_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(stamp, "ANSWERS", tmp_path)
    requests = []

    def ask(settings):
        requests.append(settings)
        return "0123abcd"

    assert [stamp.cached_answer(ask, ["a"]) for _ in range(3)] == ["0123abcd"] * 3
    assert requests == [["a"]]


def test_a_row_of_an_earlier_task_does_not_count():
    item, seeds = next(iter(defaults.RECORD.rows().items()))
    seed, row = next((seed, row) for seed, row in seeds.items() if lines.is_present("default", item, int(seed), row))
    changed = {**row, "made": {**row["made"], "digest": "00000000-00000000-00000000"}}
    assert not lines.is_present("default", item, int(seed), changed)


@pytest.fixture
def small(tmp_path):
    """A record of two items and two seeds, and a setting that decides the first item."""
    settings = {"x": 1}
    return settings, Record(
        name="it",
        what="a record",
        file=tmp_path / "results.json",
        items=lambda: ["a", "b"],
        make=bandit.make,
        tasks=lambda item: ["GoNogo-v0"],
        settings=lambda item: settings["x"] if item == "a" else None,
        seeds=2,
    )


def test_only_what_is_out_of_date_is_missing(small):
    settings, record = small
    assert record.missing() == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    for item, seed in record.missing():
        record.keep(item, seed, {"value": seed})
    assert record.missing() == []
    assert json.loads(record.file.read_text())["b"]["1"]["value"] == 1
    settings["x"] = 2
    assert record.missing() == [("a", 0), ("a", 1)]
    assert record.missing(["b"]) == []


def test_seeds_beyond_those_of_an_item_do_not_count(small):
    _, record = small
    record.write({"a": {"0": {"value": 1}, "2": {"value": 3}}, "b": {"1": {"value": 2}}})
    assert record.rows() == {"a": {"0": {"value": 1}}, "b": {"1": {"value": 2}}}
