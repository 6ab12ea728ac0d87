"""What must be quick imports nothing heavy: looked at in a fresh interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

HEAVY = ("torch", "matplotlib", "pandas", "stable_baselines3", "tensorboard")

PROGRAM = """
import json, sys
from ngym_cli.commands.app import main
sys.argv = {argv!r}
try:
    main()
except SystemExit as ended:
    code = ended.code
print("\\nLOADED", json.dumps([name for name in {heavy!r} if name in sys.modules]))
"""


def loaded(*arguments: str, **environment: str) -> list[str]:
    """Return the heavy modules that a command imports."""
    program = PROGRAM.format(argv=["ngym", *arguments], heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return json.loads(done.stdout.rpartition("LOADED")[2])


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["run", "--help"],
        ["list", "tasks"],
        ["list", "algs"],
        ["info", "RDM-v0", "--json"],
        ["list", "runs"],
    ],
    ids=" ".join,
)
def test_no_heavy_imports(arguments):
    assert loaded(*arguments) == []


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("ngym run --task Perc", "PerceptualDecisionMaking-v0"),
        ("ngym run --wrappers pass_reward,pass_a", "pass_reward,pass_action"),
        ("ngym run --alg recurrent_p", "recurrent_ppo"),
        ("ngym run --network ls", "lstm"),
        ("ngym eval lat", "latest"),
        ("ngym list ta", "tasks"),
    ],
)
def test_completion_completes_names_without_heavy_imports(typed, expected):
    shell = {"_NGYM_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    program = PROGRAM.format(argv=["ngym"], heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, **shell})
    completions, _, modules = done.stdout.rpartition("LOADED")
    assert expected in completions.split()
    assert json.loads(modules) == []


def test_wrong_names_are_refused_before_torch_is_imported():
    assert loaded("run", "--task", "RMD-v0") == []
    assert loaded("run", "--wrappers", "pas_reward") == []


def test_training_imports_nothing_that_only_evaluations_and_reports_use(tmp_path):
    arguments = ["run", "--task", "RDM-v0", "--timesteps", "2048", "--n-envs", "8", "--eval-trials", "20"]
    only_later = ("h5py", "sklearn", "statsmodels", "pynwb", "jinja2", "optuna", "submitit", "ray")
    only_later += ("matplotlib.pyplot", "pyarrow.compute")
    program = PROGRAM.format(argv=["ngym", *arguments, "--runs", str(tmp_path)], heavy=("torch", *only_later))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.rpartition("LOADED")[2]) == ["torch"]


def test_fits_after_a_run_are_not_slowed_by_threads_that_wait():
    """Libraries of matrices are told to use one thread before they are loaded, unless the user said otherwise."""
    code = (
        "import os, sys; sys.argv = ['ngym', '--version']\n"
        "from ngym_cli.__main__ import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(os.environ.get('OPENBLAS_NUM_THREADS'), os.environ.get('OMP_NUM_THREADS'))"
    )
    for given, expected in (({}, "1 None"), ({"OMP_NUM_THREADS": "3"}, "None 3")):
        kept = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**kept, **given})
        assert done.stdout.splitlines()[-1] == expected, done.stderr
