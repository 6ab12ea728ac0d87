"""``ngym data``: options, files and folders, data sets by name, and messages that lead on."""

from __future__ import annotations

import functools
import hashlib
import http.server
import json
import shlex
import tarfile
import threading

import numpy as np
import pytest

from ngym_cli.fitting import data_sets
from tests.neurogym.behaviour import choices_with_outcomes, laboratories


@pytest.fixture
def table(tmp_path):
    d = laboratories.detection(np.random.default_rng(0), trials=100)
    columns = {
        "subj": np.array(["007", "7"])[d.subject],
        "phase": np.where(d.trial < 20, "warm", "main"),
        "c": d.signed,
        "prior": np.where(d.trial < 60, 0.2, 0.8),
        "choice": np.where(d.missed, -1, d.right),
        "correct": d.correct * 1,
    }
    return laboratories.write_csv(tmp_path / "t.csv", columns, "\t")


def test_options_choose_rows_make_columns_split_and_are_saved(ngym, table):
    arguments = ["--where", "phase == main", "--derive", "contrast=100*c", "--stimuli", "contrast", "--by", "prior"]
    result = json.loads(ngym("data", table, *arguments, "--save-columns", "c.toml", "--json").out)
    assert result["subjects"][0]["trials"] == 320 and result["stimuli"] == ["contrast"]
    assert [row["value"] for row in result["subjects"][0]["conditions"]] == ["0.2", "0.8"]
    assert {path.split("/")[-1] for path in result["figures"]} >= {"psychometric.png", "conditions.png"}
    again = json.loads(ngym("data", table, "--columns", "c.toml", "--by", "prior", "--json", "--out", "none").out)
    assert again["subjects"] == result["subjects"]


def test_what_was_read_is_printed_with_every_number_of_the_document(ngym, table):
    text = ngym("data", table, "--out", "none", "--stimuli", "c").out
    document = json.loads(ngym("data", table, "--out", "none", "--stimuli", "c", "--json").out)
    assert "column" in text and "read as" in text and "no answer: -1" in text
    for name in ("accuracy", "pse", "threshold", "slope", "lapse_low"):
        assert name.replace("_", " ") in text and f"{document['subjects'][0][name]['value']:.3f}" in text
    assert document["columns"][0].keys() == {"column", "role", "values", "read_as", "reason"}


def test_a_question_shows_the_columns_and_the_whole_command(ngym, table):
    asked = ngym("data", table, "--out", "none")
    lines = asked.err.splitlines()
    assert asked.code == 2 and any(line.strip().startswith("c: -1 to 1") for line in lines)
    command = next(line for line in lines if "--stimuli c" in line).strip().partition("   #")[0]
    assert command.startswith("ngym data ") and ngym(*shlex.split(command)[1:]).code == 0
    assert ngym("data", table, "--out", "none", "--stimuli", "none").code == 0


def test_the_first_screen_is_a_screen_and_begins_with_the_numbers(ngym, tmp_path):
    d = laboratories.detection(np.random.default_rng(0), sessions=1)
    rows = d.subject == 0
    columns = {"mouse": d.subject, "stim": d.signed, "choice": d.right * 1, "correct": d.correct * 1, "rt": d.seconds}
    columns |= {f"extra{k}": np.arange(300) % 7 for k in range(12)}
    path = laboratories.write_csv(tmp_path / "t.csv", {name: values[rows] for name, values in columns.items()})
    lines = ngym("data", path).out.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert "150 trials" in lines[0] and "accuracy" in lines[1] and "P(1)" in "".join(lines[4:8])
    assert "history weights" in lines[-1] and "--full" in lines[-1]
    full = ngym("data", path, "--full").out
    assert (
        full.index("accuracy") < full.index("history, stim")
        and "extra11" in full
        and "not drawn: conditions (--by" in full
    )


def test_a_win_is_explained(ngym, tmp_path):
    rng = np.random.default_rng(0)
    columns = {"choice": rng.integers(0, 2, 200), "outcome": rng.choice([-1, 1], 200)}
    path = laboratories.write_csv(tmp_path / "t.csv", columns)
    assert "a win is outcome 1, not -1" in ngym("data", path, "--out", "none").out


def test_many_subjects_get_a_line_each_up_to_a_number(ngym, tmp_path):
    rng = np.random.default_rng(0)
    columns = {
        "subject": np.repeat(np.arange(30), 60),
        "choice": rng.integers(0, 2, 1800),
        "reward": rng.integers(0, 2, 1800),
    }
    path = laboratories.write_csv(tmp_path / "many.csv", columns)
    text = ngym("data", path, "--out", "none", "--subjects-shown", "3").out
    assert "means over 30 subjects" in text and "and 27 more; --subjects-shown 30" in text


def test_several_files_are_one_table(ngym, tmp_path):
    for k in (1, 2):
        columns = {"choice": [0, 1] * 30, "reward": [k - 1, 0] * 30}
        laboratories.write_csv(tmp_path / f"rat{k}.csv", columns)
    result = json.loads(ngym("data", tmp_path / "rat1.csv", tmp_path / "rat2.csv", "--out", "none", "--json").out)
    assert [row["subject"] for row in result["subjects"]] == ["all", "rat1", "rat2"]
    assert any("--session file" in note for note in result["notes"])
    result = json.loads(ngym("data", tmp_path, "--session", "file", "--subject", "none", "--out", "none", "--json").out)
    assert result["subjects"][0]["sessions"] == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--where", "phase == man"], ["no entry 'man'", "did you mean 'main'"]),
        (["--derive", "x=d-c"], ["unknown column 'd'"]),
        (["--by", "pior"], ["unknown column 'pior'", "prior"]),
        (["--choice", "respons"], ["unknown column 'respons'"]),
    ],
)
def test_wrong_options_are_one_line(ngym, table, arguments, words):
    result = ngym("data", table, *arguments)
    assert result.code == 2 and all(word in result.err for word in words) and "Traceback" not in result.err


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A local server with a small file of the form of hBayesDM, instead of the public address."""
    folder = tmp_path / "served"
    folder.mkdir()
    created = laboratories.hbayesdm(folder, np.random.default_rng(0), "bandit2")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        entry = data_sets.every()["hbayesdm-bandit2arm"]
        with tarfile.open(folder / "examples.tar.gz", "w:gz") as packed:
            packed.add(created.source, entry.member)
            packed.add(created.source, "../../outside.txt")
        digest = hashlib.sha256((folder / "examples.tar.gz").read_bytes()).hexdigest()
        address = f"http://127.0.0.1:{service.server_port}/examples.tar.gz"
        same = {**vars(entry), "address": address, "sha256": digest}
        changed = {**data_sets.every(), entry.name: data_sets.DataSet(**same)}
        for name, more in (
            ("other", {"sha256": "0" * 64}),
            ("lacking", {"member": "none.txt"}),
            ("plain", {"address": address.replace("examples.tar.gz", created.source.name), "sha256": "", "member": ""}),
        ):
            changed[name] = data_sets.DataSet(**{**same, "name": name, "file": f"{name}.txt", **more})
        monkeypatch.setattr(data_sets, "every", lambda: changed)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        yield address
        service.shutdown()


def test_a_data_set_is_fetched_only_when_asked(ngym, server, tmp_path):
    pytest.importorskip("pooch")
    refused = ngym("data", "hbayesdm-bandit2arm")
    assert refused.code == 2 and "--download" in refused.err and server in refused.err
    result = json.loads(ngym("data", "hbayesdm-bandit2arm", "--download", "--out", "none", "--json").out)
    assert result["roles"]["subject"] == "subjID" and result["subjects"][0]["trials"] == 300
    assert ngym("data", "hbayesdm-bandit2arm", "--out", "none").code == 0  # from the cache
    assert not list(tmp_path.rglob("outside.txt"))
    for name, words in (("other", "hash"), ("lacking", "none.txt")):
        refused = ngym("data", name, "--download", "--out", "none")
        assert refused.code == 2 and words in refused.err.splitlines()[-1] and "Traceback" not in refused.err
    assert ngym("data", "plain", "--download", "--data-dir", tmp_path / "folder", "--out", "none").code == 0
    assert ngym("data", "hbayesdm-bandit2arm", "--data-dir", tmp_path / "served", "--out", "none").code == 2


def numbered(made):
    """Return a table whose trials are called as in the example of the go/no-go task."""
    made.source.write_text(made.source.read_text().replace("trial\t", "trialNum\t", 1))
    return made


#: Made tables of the form of each example of hBayesDM.
FORMS = {
    "hbayesdm-bandit2arm": lambda root, rng: laboratories.hbayesdm(root, rng, "bandit2"),
    "hbayesdm-bandit4arm": lambda root, rng: laboratories.hbayesdm(root, rng, "bandit4"),
    "hbayesdm-igt": lambda root, rng: laboratories.hbayesdm(root, rng, "igt"),
    "hbayesdm-prl": lambda root, rng: laboratories.hbayesdm(root, rng, "reversal"),
    "hbayesdm-gng": lambda root, rng: numbered(laboratories.hbayesdm(root, rng, "gng")),
    "hbayesdm-twostep": lambda root, rng: laboratories.hbayesdm(root, rng, "twostep"),
    "hbayesdm-choice-rt": lambda root, rng: choices_with_outcomes.hbayesdm(root, rng, "choice and time"),
}


def test_every_example_of_an_archive_is_fetched_and_read(ngym, tmp_path, monkeypatch):
    pytest.importorskip("pooch")
    entries = {name: entry for name, entry in data_sets.every().items() if entry.member}
    assert set(entries) == set(FORMS)
    served = tmp_path / "served"
    served.mkdir()
    made = {name: maker(served, np.random.default_rng(0)) for name, maker in FORMS.items()}
    with tarfile.open(served / "all.tar.gz", "w:gz") as packed:
        for name, table in made.items():
            packed.add(table.source, entries[name].member)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=served)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        address = {"address": f"http://127.0.0.1:{service.server_port}/all.tar.gz", "sha256": ""}
        local = {name: data_sets.DataSet(**{**vars(entry), **address}) for name, entry in entries.items()}
        monkeypatch.setattr(data_sets, "every", lambda: local)
        for name, table in made.items():
            result = ngym("data", name, "--download", "--data-dir", tmp_path / "data", "--out", "none", "--json")
            assert result.code == 0, (name, result.err)
            roles = json.loads(result.out)["roles"]
            expected = {role: column for role, column in table.roles.items() if column and role != "trial"}
            assert {role: roles.get(role) for role in expected} == expected, name
        service.shutdown()


def test_every_data_set_is_described_and_those_that_come_with_ngym_are_read(ngym):
    rows = json.loads(ngym("list", "data", "--json").out)
    for row in rows:
        assert all(row[key] for key in ("description", "species", "task", "size", "paper", "link", "licence")), row[
            "id"
        ]
        assert row["shipped"] or row["address"].startswith("https://") or row["by_hand"]
        if row["shipped"]:
            assert json.loads(ngym("data", row["id"], "--out", "none", "--json").out)["subjects"]
    assert "did you mean the data set roitman2002" in ngym("data", "roitman2003").err
