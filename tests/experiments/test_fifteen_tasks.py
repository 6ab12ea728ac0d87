"""The fifteen tasks of `experiments/papers/driscoll2024`."""

from __future__ import annotations

import numpy as np
import pytest

from ngym_cli.config.extensions import import_file
from ngym_cli.papers import collection

FILE = collection.library() / "driscoll2024" / "task.py"


@pytest.fixture(scope="module")
def module():
    return import_file(FILE, "task file")


@pytest.fixture
def env(module):
    env = module.FifteenTasks(dt=50, sigma=0.0)
    env.reset(seed=0)
    return env


def test_following_the_targets_is_right_in_every_task(module, env):
    for task in module.NAMES:
        env.new_trial(task=task)
        info = {"new_trial": False}
        while not info["new_trial"]:
            *_, info = env.step(env.gt_now)
        assert info["performance"] == 1, task


def test_answers_follow_from_the_stimuli(module, env):
    trials = env.make_trials(600)
    task, first, answer = (trials.info[name] for name in ("task", "angle1", "answer"))
    for name, shift in (("MemoryPro", 0), ("MemoryAnti", np.pi)):
        turned = (first + shift)[task == name] % (2 * np.pi)
        assert np.allclose(answer[task == name], turned)
    matching = (
        np.isfinite(answer[task == "ReactMatch2Sample"])
        == np.isclose(first, trials.info["angle2"])[task == "ReactMatch2Sample"]
    )
    assert matching.all()


def test_the_stimulus_is_gone_in_the_delay_and_the_cue_at_the_go_signal(module, env):
    trials = env.make_trials(50, task=np.repeat("MemoryPro", 50))
    assert not trials.ob[trials.rows("delay").index, 1:5].any()
    assert not trials.ob[trials.rows(("go", "response")).index, 0].any()


def test_unknown_tasks_are_refused(module):
    with pytest.raises(ValueError, match="tasks must be among DelayPro"):
        module.FifteenTasks(tasks=["Memory"])
