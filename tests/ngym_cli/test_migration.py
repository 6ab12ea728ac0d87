"""The page on old command lines: every flag of the old command line has a translation that works, and trains."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from ngym_cli.config.model import from_dict
from ngym_cli.config.tasks import find_task
from ngym_cli.environments.stack import make_env

SECTION = (Path(__file__).parents[2] / "docs" / "old_command_line.md").read_text(encoding="utf-8")
OLD = (
    "--alg=a2c --env=RDM-v0 --network=lstm --nsteps=20 --nlstm=64 --stimEv=0.5 --pass_reward=True --pass_action=True "
    "--timing 200 200 300 400 200"
)


def translation() -> list[str]:
    """The command that the page gives for the old line."""
    assert OLD in " ".join(SECTION.split())
    block = re.search(r"\n    ngym (run .*?)\n\n", SECTION, re.DOTALL)
    assert block is not None
    return shlex.split(block[1].replace("\\\n", " "))


def test_the_old_line_is_understood(ngym):
    line = [*translation(), "--timesteps", "2000", "--eval-trials", "40", "--name", "a", "--json"]
    config = json.loads(Path(ngym(*line).document["id"], "manifest.json").read_text())["config"]
    assert (config["alg"], config["network"], config["units"]) == ("recurrent_a2c", "lstm", 64)
    assert config["hyperparameters"]["n_steps"] == 20
    assert config["task_args"]["cohs"] == [0, 3.2, 6.4, 12.8, 25.6]
    assert [wrapper["name"] for wrapper in config["wrappers"]] == ["pass_reward", "pass_action"]
    assert config["timing"]["stimulus"] == "truncated_exponential:300:200:400"


@pytest.mark.slow
def test_the_old_line_trains(ngym):
    result = ngym(*translation(), "--json")
    summary = json.loads(result.out)
    assert summary["performance"] > 0.9 * summary["ceiling"]


def test_every_flag_of_the_table_exists(ngym):
    expected = set(re.findall(r"--[a-z][a-z-]*", ngym("run", "--help").out + ngym("eval", "--help").out))
    rows = [row.split("|")[2] for row in SECTION.splitlines() if row.startswith("| `--")]
    used = {flag for row in rows for flag in re.findall(r"--[a-z][a-z-]*", row)}
    assert len(rows) > 15
    assert used <= expected


def test_every_wrapper_of_the_table_can_be_put_on():
    stacks = re.findall(r"`--wrappers ([^`]+)`", SECTION)
    assert len(stacks) > 5
    for stack in stacks:
        make_env(find_task("RDM-v0"), from_dict({"task": "RDM-v0", "wrappers": stack}))


@pytest.mark.parametrize("old", re.findall(r"\(`(.*?-v0)`\)", SECTION)[0].split("`, `"))
def test_old_ids_are_found(ngym, old):
    assert ngym("info", old).code == 0
