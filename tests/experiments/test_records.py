"""Records say what made them; texts say what the records hold."""

from __future__ import annotations

import json
import subprocess

import pytest

import neurogym
from experiments import coverage, defaults, trainings
from experiments.defaults import lines
from experiments.records import made, quotes
from experiments.records.__main__ import listing
from experiments.records.record import Record, written
from experiments.records.registry import DATA, RECORDS
from ngym_cli.errors import UserError
from tests.ngym_cli.figures.made_up import TASKS, made_up_run


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
            assert list(row["made"]) == ["commit", "date", "version", "command"]


@pytest.mark.parametrize("record", list(RECORDS.values()), ids=lambda record: record.name)
def test_tables_are_quoted(record):
    texts = "".join(path.read_text(encoding="utf-8") for path in quotes.texts())
    for table in record.tables:
        assert f"<!-- record {record.name} {table} -->" in texts


def test_more_steps_are_not_clearly_worse_in_the_record_of_short_runs():
    assert list(trainings.clearly_worse(trainings.RECORD.rows())) == []
    scores = {"short_runs/RDM-v0/3000": (0.9, 0.91), "short_runs/RDM-v0/22000": (0.5, 0.52)}
    rows = {item: {str(seed): {"performance": each} for seed, each in enumerate(pair)} for item, pair in scores.items()}
    assert list(trainings.clearly_worse(rows)) == [("RDM-v0", 3_000, 22_000)]


def test_every_table_ends():
    for path in quotes.texts():
        text = path.read_text(encoding="utf-8")
        assert len(quotes.BLOCK.findall(text)) == text.count("<!-- record ") == text.count("<!-- end -->"), path


@pytest.fixture
def small(tmp_path):
    """A record of two items and two seeds."""
    return Record(
        name="it",
        what="a record",
        file=tmp_path / "results.json",
        items=lambda: ["a", "b"],
        make=coverage.make,
        seeds=2,
    )


def test_rows_of_an_earlier_commit_are_made_again(small, monkeypatch):
    monkeypatch.setattr(made, "commit", lambda: "first")
    assert small.to_make(["a", "b"], "first") == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    for item, seed in small.to_make(["a", "b"], "first"):
        small.keep(item, seed, {"value": seed})
    assert small.to_make(["a", "b"], "first") == []
    assert small.to_make(["b"], "second") == [("b", 0), ("b", 1)]
    row = json.loads(small.file.read_text())["b"]["1"]
    assert row["value"] == 1 and row["made"]["version"] == neurogym.VERSION
    assert row["made"]["command"] == "python -m experiments.records --make --only it/b"


def test_seeds_beyond_those_of_an_item_do_not_count(small):
    small.write({"a": {"0": {"value": 1}, "2": {"value": 3}}, "b": {"1": {"value": 2}}})
    assert small.rows() == {"a": {"0": {"value": 1}}, "b": {"1": {"value": 2}}}


def test_code_that_no_commit_has_makes_no_record(tmp_path, monkeypatch):
    def git(*arguments):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)

    for folder in ("neurogym", "ngym_cli", "experiments"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text("1\n")
        (tmp_path / folder / "a.json").write_text("1\n")
    git("init", "-q")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "first")
    monkeypatch.setattr(made, "ROOT", tmp_path)
    first = made.commit()
    (tmp_path / "experiments" / "a.json").write_text("2\n")
    made.require_commit()
    assert made.commit() == first and len(first) == 10
    (tmp_path / "neurogym" / "a.py").write_text("2\n")
    assert made.commit() == f"{first}+"
    with pytest.raises(UserError, match="commit the changes of code first"):
        made.require_commit()


def test_the_listing_says_what_made_every_row():
    (line, *rows) = listing({"coverage": {"wager/small", "wager/large"}}, every_row=True)
    assert line.split()[:5] == ["coverage", "2", "of", "2", "rows,"]
    assert len(rows) == 2 and all("version" not in row and "--only coverage/wager" in row for row in rows)
    summaries = list(listing({name: set(record.items()) for name, record in RECORDS.items()}, every_row=False))
    assert [summary.split()[0] for summary in summaries[::2]] == list(RECORDS)


def test_lists_of_a_record_stand_on_one_line():
    row = {"curve": [[1, 0.5], [2, 0.75]], "words": ["a [b] c", "two  blanks"], "none": [], "more": {"x": [1, None]}}
    text = written({"a": row})
    assert json.loads(text) == {"a": row}
    assert "[1, 0.5],\n" in text and '"x": [1, null]' in text


def test_a_row_of_other_defaults_does_not_count():
    item, seeds = next(iter(defaults.RECORD.rows().items()))
    seed, row = next((seed, row) for seed, row in seeds.items() if lines.is_present("default", item, int(seed), row))
    assert not lines.is_present("default", item, int(seed), {**row, "defaults": {"timesteps": 1}})


#: Tasks whose figures are drawn fast.
FAST = ("GoNogo-v0", "PatchLeaving-v0", "TwoStep-v0")


@pytest.mark.parametrize(
    "task", [each if each in FAST else pytest.param(each, marks=pytest.mark.long) for each in TASKS]
)
def test_the_figure_of_every_sort_of_task_is_a_small_file(task, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "FIGURES", tmp_path / "figures")
    run = made_up_run(tmp_path / "run", task, TASKS[task][0], 300)
    for _ in range(2):
        lines.draw(task, 0, run)
        (file,) = (tmp_path / "figures").iterdir()
    figure = file.stem.rpartition(".")[2]
    assert figure in TASKS[task][1] and file == lines.figure_of(task) and file.stat().st_size < 150_000
    lines.draw("other", 1, run)
    assert lines.figure_of("other") is None
