"""``ngym play``: a page on which a person does a task, played here by a script in a browser."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import ngym_cli as nc
from neurogym import make
from neurogym.rules import END

#: Presses the key of the best action in a share of the trials, of another in the others.
PLAYER = """(share) => document.addEventListener("step", ({ detail }) => {
  if (!detail.answered) return;
  const gains = task.actions.map(({ action }) => table(1, action)), best = gains.indexOf(Math.max(...gains));
  const other = gains.findIndex((gain, k) => k !== best);
  const key = [...keys.keys()][detail.number % 10 < 10 * share ? best : other];
  setTimeout(() => document.dispatchEvent(new KeyboardEvent("keydown", { key })), 1);
})"""


def data_of(path):
    return json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', path.read_text("utf-8"), re.S).group(1))


def play(browser, path, share, folder, speed=40):
    """Let the scripted player do all trials and return the saved table."""
    page = browser.new_page()
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{path.as_uri()}?speed={speed}")
    page.evaluate(PLAYER, share)
    page.fill("#subject", "anna b")
    page.click("#begin")
    page.wait_for_selector("#after:not([hidden])", timeout=60_000)
    with page.expect_download() as download:
        page.click("#save")
    saved = folder / download.value.suggested_filename
    download.value.save_as(saved)
    page.close()
    assert not complaints
    return saved


def test_trials_of_the_page_are_those_of_the_task(ngym, tmp_path):
    path = tmp_path / "page.html"
    result = ngym("play", "RDM-v0", "--trials", "6", "--seed", "3", "--out", str(path))
    assert result.code == 0, result.err
    data = data_of(path)
    env = make("RDM-v0")
    env.reset(seed=3)
    block = env.unwrapped.session.make_ahead(6)
    assert [len(trial["code"]) for trial in data["trials"]] == block.length.tolist()
    for trial, at in zip(data["trials"], block.offset.tolist(), strict=True):
        rows = slice(at, at + len(trial["code"]))
        np.testing.assert_allclose(trial["inputs"], block.fields["ob"][rows], atol=6e-4)
        tables = np.array(data["tables"])[trial["code"]]
        for part, name in enumerate(("reward", "performance", "event")):
            np.testing.assert_allclose(tables[:, part], block.fields[name][rows])
    assert np.max(np.array(data["tables"])[:, 2]) >= END


@pytest.mark.parametrize(
    ("task", "why"),
    [
        ("FlipFlop-v0", "continuous"),
        ("RandomDotMotion-v0", "images"),
        ("TwoStep-v0", "step by step"),
        ("DynamicForaging-v0", "depends on the answers before"),
    ],
)
def test_tasks_that_no_page_can_show_are_refused_with_the_reason(ngym, tmp_path, task, why):
    path = tmp_path / "page.html"
    result = ngym("play", task, "--out", str(path))
    assert result.code == 2
    assert why in result.err
    assert not path.exists()


def test_a_scripted_player_performs_as_scripted_and_is_read_as_a_person(ngym, browser, tmp_path):
    path = tmp_path / "page.html"
    ngym("play", "RDM-v0", "--trials", "30", "--timing", "stimulus=200", "--out", str(path))
    saved = play(browser, path, 0.8, tmp_path)
    assert saved.name == "RDM-v0_anna_b.csv"
    (person,) = nc.data(saved).subjects
    assert (person.subject, person.trials, person.accuracy.value) == ("anna_b", 30, 0.8)
    rows = [line.split(",") for line in saved.read_text().splitlines()]
    columns = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
    assert columns["outcome"].count("correct") == 24
    assert sum(map(float, columns["reward"])) == 24.0
    truth = np.array(columns["ground_truth"], int) + 1
    assert np.mean(np.array(columns["choice"], int) == truth) == 0.8
    assert all(0 <= float(time) < 3_000 for time in columns["rt"])


@pytest.mark.parametrize("task", ["ChangingBandit-v0", "LookThenChoose-v0", "GoNogo-v0", "PatchLeaving-v0"])
def test_other_tasks_are_played_to_their_end(ngym, browser, tmp_path, task):
    path = tmp_path / "page.html"
    ngym("play", task, "--trials", "5", "--response-window", "500", "--out", str(path))
    saved = play(browser, path, 1.0, tmp_path)
    assert len(saved.read_text().splitlines()) == 6
