"""Old scripts are read, not run, and what is said of them is true."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from neurogym.compat.arguments import MEMBERS
from neurogym.compat.members import OldMembers
from neurogym.compat.script import Use, read
from neurogym.envs.differences import differences

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("s*.py"))
ROOT = Path(__file__).parents[3]

OLD = """import gym
import neurogym as ngym
from neurogym.utils.spaces import Box
from neurogym.wrappers import PassRewards, Monitor
from neurogym.utils.nothing import thing
timing = {"fixation": 100, "response": 100}
for task in ("RDM-v0", "DelayComparison-v0"):
    env = ngym.make(task, timing=timing)
env = ngym.make("GoNogoo-v0")
env = ngym.make("GoNogo-v0", rewards={"wrong": 1}, stimscale=3)
env = Monitor(env, folder="here", sv_per=3)
ob = env.reset(no_step=True)
ob, reward, done, info = env.step(0)
print(info["trial"]["coh"], ngym.random.trunc_exp, ngym.nothing)


class Task(ngym.PeriodEnv):
    def _step(self, action):
        self._gt_built
        return self.obs_now, 0, False, {}
"""


def said(line: int) -> list[Use]:
    return [use for use in read(OLD) if use.line == line]


@pytest.mark.parametrize(
    ("line", "status", "uses", "becomes"),
    [
        (1, "fails", "import gym", "gymnasium"),
        (3, "works", "neurogym.utils.spaces", "neurogym.spaces"),
        (4, "fails", "PassRewards", "did you mean 'PassReward'"),
        (5, "fails", "neurogym.utils.nothing", "no such module"),
        (8, "warns", "'response'", "not used"),
        (8, "works", "RDM-v0", "PerceptualDecisionMaking-v0"),
        (9, "fails", "GoNogoo-v0", "GoNogo-v0"),
        (10, "warns", "'wrong'", "not used"),
        (10, "fails", "stimscale=", "no such argument"),
        (11, "warns", "folder=", "save_dir="),
        (11, "warns", "sv_per=", "interval="),
        (12, "warns", "no_step", "takes no step"),
        (12, "changed", "one value from reset", "observation, info"),
        (13, "fails", "four values from step", "five values"),
        (14, "changed", 'info["trial"]', "that ended"),
        (14, "works", "neurogym.random", "ngym_random"),
        (14, "fails", "neurogym.nothing", "no such name"),
        (19, "works", "_gt_built", "kept"),
        (20, "warns", "four values of _step", "five values"),
        (20, "works", "obs_now", "ob_now"),
    ],
)
def test_what_is_said_line_by_line(line, status, uses, becomes):
    assert any(use.status == status and uses in use.uses and becomes in use.becomes for use in said(line)), said(line)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_of_scripts_that_run_nothing_is_said_to_fail(script):
    assert not [use for use in read(script.read_text()) if use.status == "fails"]


def test_nothing_is_executed():
    assert read("import neurogym\nraise SystemExit(3)") == []


def test_scripts_about_something_else_have_nothing_to_say():
    assert read("import numpy as np\nx = np.random.obs\nob = env.reset()\ndef f(info): return info['trial']") == []


def test_every_member_that_is_named_exists():
    assert all(hasattr(OldMembers, name) for name in MEMBERS)


def test_the_page_for_those_who_come_is_that_of_the_tables():
    spec = importlib.util.spec_from_file_location("migrating", ROOT / "docs" / "migrating.py")
    migrating = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(migrating)
    text = migrating.PAGE.read_text(encoding="utf-8")
    assert text == migrating.page(), "run: python docs/migrating.py"
    for row in differences():
        assert row.what.replace("|", "\\|") in text
