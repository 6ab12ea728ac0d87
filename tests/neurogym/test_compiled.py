"""C sources are compiled once, and never get in the way."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from neurogym import batch, compiled

ROOT = Path(compiled.__file__).parents[1]


def in_a_new_process(cache, **environment):
    """Whether a source is compiled in a process with this cache."""
    code = "from neurogym import batch, compiled; print(compiled.library(batch.SOURCE) is not None)"
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), **environment}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert not found.stderr
    return found.stdout.strip() == "True"


@pytest.mark.skipif(shutil.which(os.environ.get("CC", "cc")) is None, reason="there is no C compiler")
@pytest.mark.parametrize("source", sorted(ROOT.glob("n*/**/*.c")), ids=lambda source: source.name)
def test_every_source_is_compiled(source, tmp_path):
    """For any processor of this kind, and for this very one; by GCC without a warning."""
    compiler = os.environ.get("CC", "cc")
    maker = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    strict = ["-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-Wno-sign-compare"] if "Free Software" in maker else []
    for options in ([], ["-march=native"]):
        made = ["-o", str(tmp_path / "made.so"), str(source), "-lm"]
        subprocess.run([compiler, *compiled.OPTIONS, *strict, *options, *made], check=True)


@pytest.mark.skipif(compiled.library(batch.SOURCE) is None, reason="there is no C compiler")
def test_a_source_is_compiled_once(tmp_path):
    assert in_a_new_process(tmp_path)
    (made,) = (tmp_path / "ngym").iterdir()
    first = made.stat().st_mtime_ns
    assert in_a_new_process(tmp_path, CC="no-such-compiler")
    assert [made] == list((tmp_path / "ngym").iterdir()) and made.stat().st_mtime_ns == first


@pytest.mark.parametrize(
    "environment", [{"CC": "false"}, {"CC": "no-such-compiler"}, {"CC": "'"}, {"NGYM_COMPILE": "0"}]
)
def test_where_nothing_can_be_compiled_there_is_none(tmp_path, environment):
    assert not in_a_new_process(tmp_path, **environment)
    assert not list(tmp_path.glob("ngym/*"))


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path):
    (tmp_path / "ngym").write_text("a file where the folder should be")
    assert not in_a_new_process(tmp_path)
