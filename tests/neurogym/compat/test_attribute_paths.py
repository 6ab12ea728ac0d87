"""Whatever an import finds is found as an attribute, too; what the page for newcomers promises is there."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import neurogym as ngym
from neurogym.compat import changes
from neurogym.envs import collections, contrib, native
from neurogym.envs.registration import every_task, group

PAGE = (Path(__file__).parents[3] / "docs" / "migrating.md").read_text(encoding="utf-8")
#: Modules that share their name with something else in their package; NeuroGym has that other thing there, too.
SHADOWED = {
    "neurogym.config.config",
    "neurogym.analysis.measures",
    "neurogym.dynamics.agreement",
}


def rows(heading: str) -> list[tuple[str, str]]:
    """First and second cell of every row below a heading of the page."""
    word = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \| (.+) \|$", word, flags=re.MULTILINE)


def attribute(path: str):
    """What an expression such as ``neurogym.a.b`` is, nothing imported by hand."""
    result = importlib.import_module("neurogym")
    for name in path.split(".")[1:]:
        result = getattr(result, name)
    return result


def test_every_module_is_an_attribute_of_its_package_before_it_is_imported():
    code = f"""
import importlib, pkgutil, neurogym
from neurogym.compat import changes
present = [m.name for m in pkgutil.walk_packages(neurogym.__path__, "neurogym.", onerror=print)]
for path in sorted({{*present, *changes.MODULES}} - {SHADOWED!r}):
    found = neurogym
    for name in path.split(".")[1:]:
        found = getattr(found, name)
    assert found is importlib.import_module(path), path
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=300)


@pytest.mark.parametrize("name", ["wrappers.monitr", "no_such", "__no_such__", "envs.native.gonogoo", "random.no_such"])
def test_what_is_no_module_is_no_attribute(name):
    with pytest.raises(AttributeError):
        attribute(f"neurogym.{name}")


PLANTED = {
    "neurogym.spaces": "neurogym.utils.spaces",
    "neurogym.core": "neurogym.wrappers.block",
    "neurogym.wrappers": "neurogym.wrappers.block",
    "neurogym.plotting.training": "neurogym.utils.plotting",
    "neurogym.config": "neurogym.config.base",
    "neurogym.info": "neurogym.meta",
    "neurogym.meta": "neurogym.info",
    "neurogym.envs.multi.schedule": "neurogym.wrappers.schedule_envs",
}


@pytest.mark.parametrize("position", PLANTED)
def test_a_module_put_under_another_name_is_no_endless_recursion(position):
    """A place that the package needs itself may then lack a name, as in any package; nothing looks for ever."""
    old = PLANTED[position]
    code = f"""
import sys, importlib, neurogym
sys.modules[{position!r}] = importlib.import_module({old!r})
if {position!r} in ("neurogym.core", "neurogym.wrappers"):
    for name in ("TrialEnv", "ScheduleEnvs", "spaces", "no_such_name"):
        try:
            getattr(importlib.import_module({old!r}), name)
        except (ImportError, AttributeError):
            pass
    sys.exit()
from neurogym.wrappers.block import ScheduleEnvs, TrialEnv
from neurogym.utils.plotting import plot_rew_across_training
from neurogym.utils.spaces import Box
from neurogym.config.base import PKG_DIR
for name in dir(importlib.import_module({old!r})):
    getattr(importlib.import_module({old!r}), name)
assert not hasattr(importlib.import_module({position!r}), "no_such_name")
neurogym.make("GoNogo-v0").reset()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)


def test_every_module_that_the_page_promises():
    promised = rows("Modules")
    assert len(promised) > 40
    for old, new in promised:
        assert importlib.import_module(old) is not None and importlib.import_module(new.strip("`")) is not None
        assert old in SHADOWED or attribute(old) is importlib.import_module(old)


def test_every_task_has_the_module_that_the_page_promises():
    assert "`neurogym.envs.<task>`" in PAGE
    tasks = [*native.TASKS, *contrib.TASKS]
    for task in tasks:
        module = importlib.import_module(f"neurogym.envs.{task.lower()}")
        assert getattr(attribute(f"neurogym.envs.{task.lower()}"), task) is getattr(module, task)
    for old in changes.MOVED_MODULES:
        if old.startswith(("neurogym.envs.native.", "neurogym.envs.contrib.")):
            assert attribute(f"neurogym.envs.{old.rpartition('.')[2]}") is not None
    for old, new in rows("Ids"):
        name, task = old.removesuffix("-v0"), new.strip("`").split(" ")[0].removesuffix("-v0")
        if name.isidentifier() and task in tasks:
            assert callable(getattr(attribute(f"neurogym.envs.{name.lower()}"), name)), old


def test_every_name_that_the_page_promises():
    for old, new in rows("Names"):
        assert attribute(old) is not None, old
        module, _, name = old.rpartition(".")
        exec(f"from {module} import {name}", {})
        if ".compat.lists." not in new:
            assert attribute(old) is attribute(new.strip("`")), old


def test_every_id_member_and_argument_that_the_page_promises():
    for old, new in rows("Ids"):
        created, meant = ngym.make(old).unwrapped, ngym.make(new.strip("`").split(" ")[0]).unwrapped
        assert type(created) is type(meant), old
    task = ngym.make("GoNogo-v0").unwrapped
    task.reset()
    for member, _ in rows("Members of environments"):
        assert hasattr(task, member), member


def test_names_that_scripts_set_or_compare():
    for module in ("neurogym", "neurogym.utils.plotting", "neurogym.wrappers.monitor"):
        assert importlib.import_module(module).logger is ngym.logger
    assert ngym.ngym_random.TruncExp is ngym.random.TruncExp is ngym.TruncExp


def test_versions_can_be_compared():
    from importlib import metadata

    assert metadata.version("neurogym") == ngym.__version__ and metadata.version("ngym") == ngym.VERSION
    assert tuple(int(word) for word in ngym.__version__.split(".")) >= (2, 2, 0)
    with pytest.raises(metadata.PackageNotFoundError):
        metadata.version("no-such-distribution")


def test_the_table_names_present_modules_only():
    targets = {target.partition(":")[0] for names in changes.NAMES.values() for target in names.values()}
    assert not {path for path in {*targets, *changes.MOVED_MODULES.values()} if path in changes.MODULES}
    assert {group(id_) for id_ in every_task()} >= {"native", "contrib"} and collections
