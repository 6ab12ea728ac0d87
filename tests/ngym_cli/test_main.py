"""What is said before anything else is imported."""

import os
import subprocess
import sys

import pytest

from ngym_cli import __main__ as entry


def ngym(*arguments, path="", blocked=()):
    """Run the command line in a process that finds more distributions, or lacks some modules."""
    program = f"""
import sys

class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {tuple(blocked)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Lacking())
sys.argv = {["ngym", *arguments]!r}
from ngym_cli.__main__ import main
main()
"""
    environment = {**os.environ, "PYTHONPATH": str(path)}
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_without_the_runners_packages_one_line_says_what_to_install(module):
    process = ngym("list", "tasks", blocked=[module])
    assert process.returncode == 2 and not process.stdout
    assert process.stderr == f"ngym: {module} is not installed: pip install 'ngym[run]'\n"


def test_packages_that_are_imported_late_are_missed_in_one_line_too(tmp_path):
    process = ngym("run", "--task", "RDM-v0", "--runs", str(tmp_path), blocked=["torch"])
    assert (
        process.returncode == 2
        and process.stderr.splitlines()[-1] == "ngym: torch is not installed: pip install 'ngym[run]'"
    )


def test_the_runners_packages_are_known():
    assert {"torch", "stable_baselines3", "sb3_contrib", "typer", "tomli_w"} <= entry.of_extra("run")
    assert not {"numpy", "gymnasium"} & entry.of_extra("run")


def test_a_distribution_of_the_same_name_is_told_of(tmp_path):
    quiet = ngym("list", "tasks")
    (tmp_path / "neurogym-2.2.0.dist-info").mkdir()
    process = ngym("list", "tasks", path=tmp_path)
    assert process.returncode == quiet.returncode == 0 and process.stdout == quiet.stdout and not quiet.stderr
    assert (
        process.stderr.count("\n") == 1
        and "pip uninstall -y neurogym && pip install --force-reinstall" in process.stderr
    )


def test_a_variant_that_cannot_be_used_is_refused_in_one_line(monkeypatch):
    monkeypatch.setenv("NGYM_KERNELS", "sse9")
    process = ngym("--version")
    assert process.returncode == 2 and not process.stdout
    assert process.stderr == "ngym: NGYM_KERNELS=sse9: expected one of plain, baseline, avx2, avx512, neon\n"


def test_little_time_goes_into_looking_for_objects_that_are_not_needed_any_more(tmp_path):
    program = f"""
import atexit, gc, sys

@atexit.register
def say():
    print("full collections", gc.get_stats()[2]["collections"], "set aside", gc.get_freeze_count() > 100_000)

sys.argv = ["ngym", "run", "--task", "RDM-v0", "--timesteps", "256", "--n-envs", "2", "--runs", {str(tmp_path)!r}]
from ngym_cli.__main__ import main
main()
"""
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert process.returncode == 0
    assert process.stdout.splitlines()[-1] == "full collections 0 set aside True"


def test_the_python_interface_says_what_to_install():
    program = """
import sys
sys.modules["torch"] = None
import ngym_cli
try:
    ngym_cli.Cell
except ImportError as error:
    print(error, "load" in dir(ngym_cli))
"""
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert process.stdout == "torch is not installed, which ngym_cli.Cell needs: pip install 'ngym[run]' True\n"


def test_threads_are_limited_before_numpy_is_loaded():
    program = "import sys, ngym_cli.__main__; print('numpy' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "False\n"
