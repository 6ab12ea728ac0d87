"""Files of the repository that must agree with each other: versions, pinned tools, markers of typed packages."""

from __future__ import annotations

import importlib.resources
import re
from pathlib import Path

import pytest

import neurogym

ROOT = Path(__file__).parents[1]


def test_changelog_begins_with_the_present_version_and_every_version_has_a_date() -> None:
    headings = re.findall(r"^## (\S+) \((.+)\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0][0] == neurogym.VERSION
    assert all(re.fullmatch(r"\d{4}-\d{2}-\d{2}", date) for _, date in headings)


def test_tools_before_a_commit_have_the_pinned_versions() -> None:
    pinned = dict(re.findall(r"^(\S+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    versions = re.findall(r"\[(\w+)==([\d.]+)\]", hooks)
    assert versions and all(pinned[tool] == version for tool, version in versions)


@pytest.mark.parametrize("package", ["neurogym", "ngym_cli"])
def test_types_are_published(package: str) -> None:
    assert importlib.resources.files(package).joinpath("py.typed").is_file()
