"""Old scripts are read, not run, and what is said of them is true."""

import importlib.util
from pathlib import Path

import pytest

from neurogym.compat.changes import MEMBERS, TOOLKIT_CHANGES
from neurogym.compat.trial_env import TrialEnv
from neurogym.info import differences
from ngym_cli.catalog.old_scripts import Use, read

SCRIPTS = sorted((Path(__file__).parents[2] / "neurogym" / "compat" / "scripts").glob("s*.py"))
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
        (12, "changed", "reset: 1 value", "observation, info"),
        (13, "fails", "step: 4 values", "five values"),
        (14, "changed", 'info["trial"]', "that ended"),
        (14, "works", "neurogym.random", "ngym_random"),
        (14, "fails", "neurogym.nothing", "no such name"),
        (19, "works", "_gt_built", "kept"),
        (20, "warns", "_step: 4 values", "five values"),
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
    assert all(hasattr(TrialEnv, name) for name in MEMBERS)


def test_the_page_for_those_who_come_is_that_of_the_tables():
    spec = importlib.util.spec_from_file_location("migrating", ROOT / "docs" / "migrating.py")
    migrating = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(migrating)
    text = migrating.PAGE.read_text(encoding="utf-8")
    assert text == migrating.page(), "run: python docs/migrating.py"
    for row in differences():
        assert row.what.replace("|", "\\|") in text


def written(sign: str) -> str:
    """A line that has a sign of the table of differences."""
    special = {
        "step: 4 values": "a, b, c, d = env.step(0)",
        "reset: 1 value": "ob = env.reset()",
        "_step: 4 values": "class Task(neurogym.TrialEnv):\n    def _step(self, a):\n        return 1, 0, False, {}",
        'info["trial"]': 'x = info["trial"]',
        'sys.modules["neurogym"]': 'sys.modules["neurogym.spaces"] = 1',
    }
    if sign.startswith("."):
        return f"x = env{sign}"
    return special.get(sign) or f"x = env.{sign.replace('=)', '=1)')}"


@pytest.mark.parametrize(
    "change", [change for change in TOOLKIT_CHANGES if change.sign], ids=lambda change: change.sign
)
def test_every_difference_that_can_be_seen_is_told(change):
    uses = read("import neurogym, sys\n" + written(change.sign))
    assert (change.sign, change.status, change.what) in [(use.uses, use.status, use.becomes) for use in uses]
    assert change.what in {row.what for row in differences()}
    assert not any(use.uses == change.sign for use in read(written(change.sign)))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("import neurogym as n; n.wrappers.monitor.Montior", "did you mean 'Monitor'"),
        ("import neurogym as n; n.wrappers.monitr.Monitor", "did you mean 'monitor'"),
        ("import neurogym.utils as u; u.plotting.plot_en", "did you mean 'plot_env'"),
        ("from neurogym import wrappers as w; w.block.SheduleEnvs", "did you mean 'ScheduleEnvs'"),
        ("from neurogym.wrappers import SideBias\nSideBias(1, 2, 3, 4)", "too many positional"),
        ("import neurogym as n; n.wrappers.SideBias(1, block_duration=3)", "did you mean 'block_dur'"),
        ("from neurogym.envs.native.gonogo import GoNogo\nGoNogo(100, None, None, False, 3)", "too many positional"),
    ],
)
def test_attributes_and_arguments_that_fail_are_said_to_fail(line, message):
    assert any(use.status == "fails" and message in use.becomes for use in read(line)), read(line)


@pytest.mark.parametrize(
    "line",
    [
        "import neurogym as n; n.wrappers.monitor.Monitor(1, sv_per=3)",
        "import neurogym as n; n.envs.native.annubes.AnnubesEnv",
        "import neurogym as n; n._SB3_INSTALLED = False",
        "import neurogym as n; n.config.base.LOCAL_DIR",
        "from neurogym.envs.native.perceptualdecisionmaking import PerceptualDecisionMaking as P\nP(100, 16)",
    ],
)
def test_what_works_is_not_said_to_fail(line):
    exec(line.replace("Monitor(1, sv_per=3)", "Monitor"), {})
    assert not [use for use in read(line) if use.status == "fails"]
