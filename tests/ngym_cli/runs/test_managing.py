"""``ngym runs``: tags, notes and removal; filters and sorting of the listing."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from ngym_cli import runs
from ngym_cli.runs import managing


@pytest.fixture
def both(run_folder, tmp_path):
    """Two runs below ``runs``, the second one better."""
    for name in ("one", "two"):
        path = tmp_path / "runs" / "RDM-v0" / "recurrent_ppo" / name
        shutil.copytree(run_folder, path)
        manifest = json.loads((path / "manifest.json").read_text())
        manifest["performance"] = {"one": 0.4, "two": 0.6}[name]
        (path / "manifest.json").write_text(json.dumps(manifest))
    return tmp_path / "runs" / "RDM-v0" / "recurrent_ppo"


def names(ngym, *arguments):
    return [row["name"] for row in json.loads(ngym("list", "runs", *arguments, "--json").out)]


def test_tags_and_notes_find_runs(ngym, both):
    assert ngym("runs", "tag", "one", "baseline", "figure2").code == 0
    assert ngym("runs", "note", "two", "without pass_action").code == 0
    assert names(ngym, "--tag", "baseline") == ["one"]
    assert names(ngym, "pass_action") == ["two"]
    assert ngym("runs", "tag", "one", "baseline", "--remove").code == 0
    assert names(ngym, "--tag", "baseline") == []
    assert names(ngym, "--tag", "figure2") == ["one"]
    assert json.loads((both / "one" / "manifest.json").read_text())["tags"] == ["figure2"]
    refused = ngym("runs", "tag", "one", "nothing", "--remove")
    assert refused.code == 2 and "figure2" in refused.err


def test_runs_are_filtered_and_sorted(ngym, both):
    assert names(ngym, "--sort", "performance") == ["one", "two"]
    assert names(ngym, "--sort", "-performance") == ["two", "one"]
    assert sorted(names(ngym, "--task", "RDM-v0")) == sorted(names(ngym, "--alg", "recurrent_ppo")) == ["one", "two"]
    assert names(ngym, "--task", "PerceptualDecisionMaking-v0", "--status", "finished", "--sort", "name") == [
        "one",
        "two",
    ]
    assert names(ngym, "--status", "failed") == []
    for arguments, says in ((("--status", "done"), "status"), (("--sort", "perfomance"), "did you mean 'performance'")):
        refused = ngym("list", "runs", *arguments)
        assert refused.code == 2 and says in refused.err and refused.err.count("\n") == 1


def test_a_run_is_removed_only_when_that_is_said(ngym, both, monkeypatch):
    refused = ngym("runs", "rm", "one")
    assert refused.code == 2 and "--yes" in refused.err
    assert (both / "one").is_dir()
    assert ngym("runs", "rm", "one", "--yes").code == 0
    assert not (both / "one").exists() and (both / "two").is_dir()
    assert ngym("runs", "rm", "two", "--yes").code == 0
    assert not both.parent.exists()


def test_a_link_to_itself_is_refused_in_one_line_and_does_not_keep_a_run_from_being_removed(ngym, both):
    (both / "one" / "self").symlink_to("self")
    for command in (("plot", "one"), ("eval", "one"), ("run", "--resume", "one")):
        refused = ngym(*command)
        assert refused.code == 2 and "link to itself" in refused.err and refused.err.count("\n") == 1
    assert ngym("runs", "rm", "one", "--yes").code == 0
    assert not (both / "one").exists()


def test_a_note_that_is_not_utf8(ngym, both):
    refused = ngym("runs", "note", "one", "caf\udce9")
    assert refused.code == 2 and "UTF-8" in refused.err
    manifest = json.loads((both / "one" / "manifest.json").read_text())
    (both / "one" / "manifest.json").write_text(json.dumps({**manifest, "note": "caf\udce9"}))
    assert ngym("report", "one").code == 0


def test_a_run_without_a_model(ngym, both):
    shutil.rmtree(both / "one" / "model")
    manifest = json.loads((both / "one" / "manifest.json").read_text())
    (both / "one" / "manifest.json").write_text(json.dumps({**manifest, "status": "failed"}))
    refused = ngym("eval", "one")
    assert refused.code == 2 and "no trained model yet" in refused.err and "--resume" in refused.err


def test_two_runs_are_compared_by_the_difference_in_performance(ngym, both):
    for name, value, interval in (("one", 0.9, [0.88, 0.92]), ("two", 0.8, [0.77, 0.83])):
        path = both / name / "manifest.json"
        manifest = json.loads(path.read_text())
        path.write_text(json.dumps({**manifest, "performance": value, "performance_ci": interval}))
    rows = {row["id"]: row["other"] for row in json.loads(ngym("diff", "one", "two", "--json").out)}
    assert rows["difference.performance"] == "-0.1000 [-0.1361, -0.0639]"


@pytest.mark.parametrize("damaged", ["[]", '{"scores": {"a": 3}}', '{"models": {"a": {"parameters": {"s": 3}}}}'])
def test_a_fit_with_a_damaged_record_can_be_compared(ngym, both, damaged):
    (both / "two" / "fit.json").write_text(damaged)
    result = ngym("diff", "one", "two", "--json")
    assert result.code == 1 and json.loads(result.out), result.err


def _tagged(arguments):
    path, words = arguments
    for word in words:
        managing.tag(runs.RunFolder(path), [word])


def test_tags_and_records_of_several_processes_are_all_kept(tmp_path):
    run = runs.create(tmp_path / "T/ppo/it", False, "", {"status": "finished", "task": "RDM-v0"})
    jobs = [(run.path, [f"{name}{k}" for k in range(25)]) for name in "abcd"]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(_tagged, jobs))
    assert sorted(managing.tags_of(run)) == sorted(word for _, words in jobs for word in words)
