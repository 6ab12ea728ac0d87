"""Files of the repository that must agree with each other: versions, pinned tools, markers of typed packages."""

import importlib.resources
import re
import shutil
import subprocess
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


@pytest.mark.parametrize("requested", ["", "avx2"])
def test_continuous_integration_draws_the_compiled_functions_by_the_commit(tmp_path: Path, requested: str) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    for path, text in {
        "bin/make": '#!/bin/sh\necho "$1 $NGYM_KERNELS"\n',
        ".venv/bin/python": "#!/bin/sh\n",
        "bin/git": "#!/bin/sh\necho $COMMIT\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
        (tmp_path / path).chmod(0o755)
    drawn = set()
    for commit in ("0000abcd", "0001abcd", "0002abcd"):
        environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "COMMIT": commit, "NGYM_KERNELS": requested}
        lines = subprocess.run(
            ["bash", ".ci/run"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        name = lines[0].removeprefix(f"commit {commit}, compiled functions: ")
        made = [f"{target} {name}" for target in ("setup", "lint", "smoke", "docs")]
        assert [line.rstrip() for line in lines[1:]] == [*made, f"test {requested}".rstrip()]
        drawn.add(name)
    assert drawn == ({requested} if requested else {"plain", "baseline", "avx2"})
