"""``ngym reproduce`` as it is typed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.ngym_cli.papers.conftest import RUN

ONE = ("--workers", "1")


def runs_of(folder):
    return {
        path.parents[1].name: path.stat().st_mtime_ns for path in folder.glob("runs/*/*/*/model/weights.safetensors")
    }


def calls(tmp_path):
    return (tmp_path / "calls.txt").read_text().split("\n")[:-1]


@pytest.mark.usefixtures("in_process")
def test_claim_by_claim_and_again_without_training(ngym, tmp_path, study):
    position = tmp_path / "reproductions" / "study"
    document = ngym("reproduce", "./study", "--trust", *ONE, "--json").document
    claims = {row["id"]: row for row in document["claims"]}
    assert {name: row["verdict"] for name, row in claims.items()} == {
        "number": "reached",
        "several": "in part",
        "late": "not reached",
        "never": "cannot be tested",
    }
    assert claims["number"]["numbers"][""]["seeds"] == [0.5, 0.51]
    assert claims["number"]["numbers"][""]["value"] == pytest.approx(0.505)
    assert claims["several"]["numbers"]["b"]["value"] == 3.0
    controls = {name: each[""]["seeds"] for name, each in claims["number"]["controls"].items()}
    assert controls == {"untrained": [0.0, 0.0], "other": [9.0, 9.0]} and claims["number"]["passed"] == []
    assert {(row["part"], row["seed"]) for row in document["runs"]} == {
        (piece, seed) for piece in ("first", "second") for seed in (0, 1)
    }
    created = runs_of(position)
    assert len(created) == 4 and sorted(calls(tmp_path)) == ["number 0", "number 1"]
    assert sorted(path.name for path in position.glob("figures/[0-9]*")) == ["1-numbers.png", "2-second.png"]
    page = (position / "report.html").read_text()
    assert "A small study" in page and "seed 1</th>" in page and "Always the same." in page
    assert "recalled from a figure" in page and "<script" not in page
    assert not [word for word in ('src="http', "url(http", "@import") if word in page]

    drawn = (position / "figures" / "1-numbers.png").stat().st_mtime_ns
    again = ngym("reproduce", "./study", *ONE)  # the code is what was trusted before
    assert again.code == 0, again.err
    assert "4 of 4 networks are trained" in again.err
    assert "reached (published value read off a figure by eye)" in again.out
    assert runs_of(position) == created and len(calls(tmp_path)) == 2
    assert (position / "figures" / "1-numbers.png").stat().st_mtime_ns == drawn
    visible = json.loads(ngym("list", "runs", "--runs", str(position / "runs"), "--json").out)
    assert len(visible) == 4 and all(row["status"] == "finished" for row in visible)


@pytest.mark.usefixtures("in_process")
def test_more_seeds_train_only_what_is_missing(ngym, tmp_path, study):
    path = tmp_path / "reproductions" / "study"
    assert ngym("reproduce", "study", "--trust", *ONE, "--only", "number", "--seeds", "1").code == 0
    first = runs_of(path)
    assert [name.split("-s")[0] for name in first] == ["first"]
    claims = ngym("reproduce", "study", *ONE, "--only", "first", "--seeds", "2", "--json").document["claims"]
    assert [row["id"] for row in claims] == ["number"]
    assert len(json.loads((path / "list.json").read_text())) == 2  # what was listed stays: a cluster may still make it
    both = runs_of(path)
    assert len(both) == 2 and first.items() <= both.items()
    another = ("--only", "first", "--seeds", "1", "--first-seed", "7", "--json")
    summary = ngym("reproduce", "study", *ONE, *another).document
    assert summary["seeds"] == [7] and summary["claims"][0]["numbers"][""]["seed_numbers"] == [7]
    assert ngym("reproduce", "study", *ONE, "--only", "first", "--seeds", "2").code == 0
    both = runs_of(path)
    assert len(both) == 3
    assert calls(tmp_path) == ["number 0", "number 1", "number 7"]
    saved = json.loads((path / "claims.json").read_text())
    assert [row["verdict"] for row in saved["claims"]] == [
        "reached",
        "not measured",
        "not measured",
        "cannot be tested",
    ]
    assert saved["not_drawn"] == [{"figure": "2-second", "why": "part second is not trained"}]


@pytest.mark.usefixtures("in_process")
def test_another_configuration_is_another_run_and_another_measure_none(ngym, tmp_path, study):
    path = tmp_path / "reproductions" / "study"
    arguments = ("reproduce", "study", "--trust", *ONE, "--only", "number", "--seeds", "1")
    assert ngym(*arguments).code == 0
    first = runs_of(path)
    (study / "figures.py").write_text((study / "figures.py").read_text().replace("0.5 + 0.01", "0.7 + 0.01"))
    assert '"value": 0.7' in ngym(*arguments, "--json").out
    assert runs_of(path) == first
    (study / "first.toml").write_text(RUN.replace("units = 8", "units = 9"))
    assert ngym(*arguments).code == 0
    assert len(runs_of(path)) == 2
    (study / "first.toml").write_text("# the same in other words\n" + RUN)
    assert ngym(*arguments).code == 0
    assert len(runs_of(path)) == 2


@pytest.mark.usefixtures("in_process")
def test_a_part_begins_with_the_network_of_its_seed(ngym, tmp_path, study):
    runs = ngym("reproduce", "study", "--trust", *ONE, "--only", "late", "--seeds", "1", "--json").document["runs"]
    rows = {row["part"]: row["id"] for row in runs}
    manifest = json.loads((tmp_path / rows["second"] / "manifest.json").read_text())
    assert manifest["init_from"]["run"].endswith(rows["first"])


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("how", [pytest.param(signal.SIGKILL, marks=pytest.mark.long), signal.SIGINT])
def test_ended_and_called_again_it_goes_on(ngym, tmp_path, study, how):
    long = RUN.replace("timesteps = 512", "timesteps = 20_000").replace("every = 64", "every = 512")
    (study / "first.toml").write_text(long)
    command = [sys.executable, "-m", "ngym_cli", "reproduce", "study", "--trust", "--only", "number", "--seeds", "1"]
    position = tmp_path / "reproductions" / "study"
    began = subprocess.Popen(command, cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 240  # the first checkpoint has the network before training
        while (
            len(list(position.glob("runs/*/*/*/checkpoints/step_*"))) < 2
        ):  # the first has the network before training
            assert time.monotonic() < deadline and began.poll() is None
            time.sleep(0.05)
    finally:
        os.killpg(began.pid, how)
        message = began.communicate()[1]
    if how == signal.SIGINT:
        assert began.returncode == 130 and "the same command goes on" in message
        assert "Traceback" not in message
    (path,) = position.glob("runs/*/*/*/manifest.json")
    assert json.loads(path.read_text())["status"] != "finished"
    result = ngym("reproduce", "study", "--trust", *ONE, "--only", "number", "--seeds", "1")
    assert result.code == 0, result.err
    manifest = json.loads(path.read_text())
    assert manifest["status"] == "finished" and manifest["resumed"][0]["step"] > 0


@pytest.mark.usefixtures("in_process")
def test_a_run_that_fails_is_told_and_tried_again(ngym, tmp_path, study):
    (study / "task.py").write_text(
        "from pathlib import Path\n"
        "from neurogym.envs.native.gonogo import GoNogo\n\n\n"
        "class Mine(GoNogo):\n"
        "    def _new_trial(self, **kwargs):\n"
        "        if Path('broken').exists() and list(Path('reproductions').rglob('manifest.json')):\n"
        "            raise RuntimeError('broken on purpose')\n"
        "        return super()._new_trial(**kwargs)\n"
    )
    (study / "first.toml").write_text(RUN.replace("GoNogo-v0", "task.py:Mine"))
    (tmp_path / "broken").touch()
    arguments = ("reproduce", "study", "--trust", *ONE, "--only", "number", "--seeds", "1")
    result = ngym(*arguments)
    assert result.code not in (0, 2) and "broken on purpose" in result.err
    (tmp_path / "broken").unlink()
    assert ngym(*arguments).code == 0


@pytest.mark.usefixtures("in_process")
def test_code_of_a_folder_is_used_only_when_it_is_known(ngym, tmp_path, study):
    result = ngym("reproduce", "study", *ONE)
    assert result.code == 2 and "figures.py" in result.err and "--trust" in result.err
    assert not (tmp_path / "reproductions").exists()
    assert ngym("reproduce", "study", *ONE, "--trust", "--only", "number", "--seeds", "1").code == 0
    assert ngym("reproduce", "study", *ONE, "--only", "number", "--seeds", "1").code == 0
    (study / "figures.py").write_text((study / "figures.py").read_text() + "\n# changed\n")
    assert ngym("reproduce", "study", *ONE).code == 2
    forged = json.loads((tmp_path / "reproductions/study/claims.json").read_text())["code"]
    forged["signature"] = "0" * 64
    (study / ".made-here.json").write_text(json.dumps({"code": forged}))
    assert ngym("reproduce", "study", *ONE).code == 2


def test_listing_checking_and_explaining_run_no_code(ngym, tmp_path, study):
    (study / "figures.py").write_text(
        "from pathlib import Path\nPath('ran').touch()\n" + (study / "figures.py").read_text()
    )
    assert ngym("reproduce").code == 0
    assert "study" in ngym("list", "papers").out
    assert ngym("reproduce", "study").code == 2
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('doi = "10.1234/small"', 'doi = "small"', ("doi",)),
        ('provenance = "F"', 'provenance = "X"', ("claims.0.provenance",)),
        ('measure = "number"', 'measure = "numbr"', ("claim number: measure", "did you mean 'number'")),
        ('control = "other"', 'control = "othr"', ("claim number: control", "did you mean 'other'")),
        ('part = "first"', 'part = "frist"', ("claim number", "did you mean 'first'")),
        ('reached = "> 2"', 'reached = "good"', ("claim late: reached",)),
        ('reached = "> 2"', "", ("claim late: reached is missing",)),
        ('part = ["first", "second"]', 'part = "first"', ("claim several: measure", "1 parts, several takes 2")),
        ('after = "first"', 'after = "second"', ("parts.second.after",)),
        ('config = "first.toml"', 'config = "fist.toml"', ("parts.first.config",)),
        ('config = "first.toml"', 'config = "../first.toml"', ("../first.toml",)),
        ("deterministic = false", "determinstic = false", ("did you mean", "deterministic")),
        ("deterministic = false", 'record = ["brain"]', ("brain",)),
        ("deterministic = false", 'perturbations = { lesion = "much" }', ("lesion",)),
        ("deterministic = false", "changes = { unit = 3 }", ("unit",)),
        ('id = "several"', 'id = "number"', ("'number' is there twice",)),
        ('id = "several"', 'id = "first"', ("also the name of a part",)),
        ('id = "several"', 'id = "se/veral"', ("se/veral",)),
        ("seeds = 2", "seeds = 0", ("seeds",)),
        ("published = 0.5", 'published = "half"', ("claim number: reached",)),
        ("[parts.first]", "[parts", ("paper.toml",)),
    ],
)
def test_a_mistake_in_the_file_is_one_line(ngym, study, tmp_path, old, new, words):
    file = study / "paper.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    result = ngym("reproduce", "./study", "--trust")
    assert result.code == 2 and result.err.count("\n") == 1, result.err
    for word in ("paper.toml", *words):
        assert word in result.err
    assert not (tmp_path / "reproductions").exists()
    assert ngym("reproduce").code == 0  # the others are listed all the same


@pytest.mark.parametrize(
    ("config", "word"), [("seed = 3", "seed"), ("unit = 8", "unit"), ('alg = "recurent_ppo"', "recurrent_ppo")]
)
def test_a_mistake_in_a_configuration_is_one_line(ngym, study, tmp_path, config, word):
    (study / "first.toml").write_text(config + "\n" + RUN)
    result = ngym("reproduce", "./study", "--trust")
    assert result.code == 2 and result.err.count("\n") == 1 and word in result.err
    assert not (tmp_path / "reproductions").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("romtan2002",), "did you mean 'roitman2002'"),
        (("./nowhere",), "nowhere"),
        (("study", "--only", "numbr"), "did you mean 'number'"),
        (("study", "--seeds", "0"), "--seeds"),
        (("study", "--first-seed", "-1"), "--first-seed"),
        (("study", "--on", "lokal"), "did you mean 'local'"),
        (("study", "--slurm", "time=1:00:00"), "--on slurm"),
    ],
)
def test_a_wrong_word_is_one_line(ngym, study, tmp_path, arguments, words):
    result = ngym("reproduce", *arguments, "--trust")
    assert result.code == 2 and result.err.count("\n") == 1 and words in result.err, result.err
    assert not (tmp_path / "reproductions").exists()


@pytest.mark.parametrize(
    ("body", "words"),
    [("return 'a'", "must return a number"), ("return run.nothing", "AttributeError"), ("(", "figures.py")],
)
@pytest.mark.usefixtures("in_process")
def test_a_mistake_in_a_measure_is_one_line(ngym, study, body, words):
    text = (study / "figures.py").read_text()
    (study / "figures.py").write_text(text.replace("    return 0.5 + 0.01 * run.seed", f"    {body}"))
    result = ngym("reproduce", "study", "--trust", *ONE, "--only", "number", "--seeds", "1")
    assert result.code == 2 and words in result.err and "Traceback" not in result.err
    assert "<unknown>" not in result.err


@pytest.mark.usefixtures("in_process")
def test_only_a_named_refusal_is_a_result(ngym, study):
    text = (study / "figures.py").read_text()
    last = "    return 0.5 + 0.01 * run.seed"
    words = ("reproduce", "study", "--trust", *ONE, "--only", "number", "--seeds", "1")
    refusal = "    from neurogym.analysis import UndeterminedError\n    raise UndeterminedError('too few trials')"
    (study / "figures.py").write_text(text.replace(last, refusal))
    result = ngym(*words)
    assert result.code == 0 and "not reached (0 of 1 seeds; seed 0: too few trials" in result.out
    for control, mistake in (("", last), (" of control untrained", "        return 0.0")):
        (study / "figures.py").write_text(text.replace(mistake, f"{mistake} + {{}}['x']"))
        result = ngym(*words)
        assert result.code == 2 and f"number{control}, seed 0: KeyError: 'x'" in result.err.splitlines()[-1]


@pytest.mark.usefixtures("in_process")
def test_a_claim_whose_controls_refuse_is_unchallenged(ngym, study):
    text = (study / "figures.py").read_text()
    refusal = "raise __import__('neurogym.analysis').analysis.UndeterminedError('nothing is answered')"
    for line in ("        return 9.0", "        return 0.0"):
        text = text.replace(line, f"        {refusal}")
    (study / "figures.py").write_text(text)
    result = ngym("reproduce", "study", "--trust", *ONE, "--only", "number", "--json")
    (row,) = json.loads(result.out)["claims"]
    assert row["verdict"] == "unchallenged", result.err
    assert row["silent"] == {name: "seed 0: nothing is answered" for name in ("untrained", "other")}


@pytest.mark.usefixtures("in_process")
def test_a_control_whose_network_diverges_gives_no_number(ngym, study):
    text = (study / "figures.py").read_text()
    before = 'answered(run, lambda table: {**table, "choice": 0 * table["choice"] + 9})'
    assert before in text
    diverging = "rewired(run, lambda tensors: {name: value.sign() * 3e38 for name, value in tensors.items()})"
    text = text.replace(before, diverging).replace("import answered", "import rewired")
    (study / "figures.py").write_text(text)
    (row,) = ngym("reproduce", "study", "--trust", *ONE, "--only", "number", "--json").document["claims"]
    assert row["silent"]["other"] == "seed 0: the network gives no action: its activity is not finite any more"
    assert "untrained" not in row["silent"]


def test_nothing_else_is_written_over(ngym, study, tmp_path):
    (tmp_path / "reproductions" / "study").mkdir(parents=True)
    (tmp_path / "reproductions" / "study" / "mine.txt").write_text("mine")
    result = ngym("reproduce", "study", "--trust", *ONE)
    assert result.code == 2 and "nothing was written" in result.err
    assert [path.name for path in (tmp_path / "reproductions" / "study").iterdir()] == ["mine.txt"]


@pytest.mark.usefixtures("in_process")
def test_a_new_paper_works_as_it_stands(ngym, tmp_path):
    assert ngym("new", "paper", "my_study").code == 0
    again = ngym("new", "paper", "my_study")
    assert again.code == 2 and "exists" in again.err
    for wrong in (("paper",), ("my_task.py", "x"), ("paper", "roitman2002"), ("paper", "a b")):
        assert ngym("new", *wrong).code == 2
    assert "--by-trial is a way of writing tasks" in ngym("new", "paper", "other", "--by-trial").err
    assert f"next: ngym reproduce {tmp_path}" in ngym("new", "paper", tmp_path / "other").out
    result = ngym("reproduce", "./my_study", "--seeds", "1", *ONE, "--json")  # what ngym wrote needs no trust
    assert result.code == 0, result.err
    assert [row["verdict"] for row in json.loads(result.out)["claims"]] == ["in part", "cannot be tested"]


def test_papers_are_listed_and_explained(ngym):
    rows = json.loads(ngym("reproduce", "--json").out)
    assert {row["id"] for row in rows} >= {"roitman2002"}
    assert rows == json.loads(ngym("list", "papers", "--json").out)
    page = json.loads(ngym("info", "roitman2002", "--json").out)
    assert page["kind"] == "paper" and {row["id"] for row in page["claims"]} >= {"threshold", "accuracy"}
    text = ngym("info", "roitman2002").out
    assert "7.39 %" in text and "computed by us from the paper's raw data" in text and "sigma 1.6" in text
