"""What must be quick imports nothing heavy: looked at in a fresh interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys

HEAVY = ("torch", "matplotlib", "pandas", "stable_baselines3", "tensorboard")

#: Runs command lines one after the other, and reports output and heavy modules of each.
PROGRAM = """
import contextlib, io, json, os, sys
from ngym_cli.commands.app import main
found = []
for arguments, environment in {calls!r}:
    sys.argv = ["ngym", *arguments]
    os.environ.update(environment)
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        main()
    found.append((output.getvalue(), [name for name in {heavy!r} if name in sys.modules]))
print(json.dumps(found))
"""


def run(calls, heavy=HEAVY):
    """Return output and loaded heavy modules of command lines, given as arguments and environment."""
    program = PROGRAM.format(calls=calls, heavy=heavy)
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return json.loads(process.stdout.splitlines()[-1])


def test_no_heavy_imports():
    lines = (
        "--help",
        "run --help",
        "list tasks",
        "list algs",
        "info RDM-v0 --json",
        "list runs",
        "run --task RMD-v0",
        "run --wrappers pas_reward",
    )
    results = run([(line.split(), {}) for line in lines])
    assert {line: heavy for line, (_, heavy) in zip(lines, results, strict=True)} == {line: [] for line in lines}


def test_listings_import_no_scientific_library_but_numpy():
    result = run(
        [(line.split(), {}) for line in ("list tasks", "list wrappers", "--help")], ("scipy", "pyarrow", *HEAVY)
    )
    assert [heavy for _, heavy in result] == [[]] * 3
    ((_, loaded),) = run([(["list", "tasks"], {})], ("ngym_cli.config.model", "ngym_cli.catalog.reference"))
    assert loaded == []  # a list of tasks builds no configuration and describes nothing else


def test_completion_completes_names_without_heavy_imports():
    expected = {
        "ngym run --task Perc": "PerceptualDecisionMaking-v0",
        "ngym run --wrappers pass_reward,pass_a": "pass_reward,pass_action",
        "ngym run --alg recurrent_p": "recurrent_ppo",
        "ngym run --network ls": "lstm",
        "ngym eval lat": "latest",
        "ngym list ta": "tasks",
    }
    shells = [
        {"_NGYM_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
        for typed in expected
    ]
    results = run([([], shell) for shell in shells])
    assert all(name in output.split() for name, (output, _) in zip(expected.values(), results, strict=True))
    assert results[-1][1] == []


def test_training_imports_nothing_that_only_evaluations_and_reports_use(tmp_path):
    arguments = ["run", "--task", "RDM-v0", "--timesteps", "2048", "--n-envs", "8", "--eval-trials", "20"]
    only_later = ("h5py", "sklearn", "statsmodels", "pynwb", "jinja2", "optuna", "submitit", "ray")
    only_later += ("matplotlib.pyplot", "pyarrow.compute")
    ((_, loaded),) = run([([*arguments, "--runs", str(tmp_path)], {})], ("torch", *only_later))
    assert loaded == ["torch"]


def test_fits_after_a_run_are_not_slowed_by_threads_that_wait():
    """Libraries of matrices are told to use one thread before they are loaded, unless the user said otherwise."""
    code = (
        "import os, sys; sys.argv = ['ngym', '--version']\n"
        "from ngym_cli.__main__ import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(os.environ.get('OPENBLAS_NUM_THREADS'), os.environ.get('OMP_NUM_THREADS'))"
    )
    for settings, expected in (({}, "1 None"), ({"OMP_NUM_THREADS": "3"}, "None 3")):
        saved = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
        process = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**saved, **settings}
        )
        assert process.stdout.splitlines()[-1] == expected, process.stderr


#: Runs command lines as if packages were not installed, and reports exit code and errors of each.
WITHOUT = """
import contextlib, io, json, sys
from importlib.machinery import PathFinder

find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name.partition(".")[0] in {missing!r} else find(name, *rest)
from ngym_cli.commands.app import main
found = []
for line in {lines!r}:
    sys.argv = ["ngym", *line]
    output, code = io.StringIO(), 0
    with contextlib.redirect_stderr(output), contextlib.redirect_stdout(io.StringIO()):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    found.append((code, output.getvalue()))
print(json.dumps(found))
"""


def test_without_jax_a_regression_is_fitted_and_other_models_name_the_extra(tmp_path):
    rows = ["x,choice", *(f"{(7 * k) % 5 - 2},{int((7 * k) % 5 + k % 3 > 3)}" for k in range(120))]
    (tmp_path / "table.csv").write_text("\n".join(rows))
    line = ["fit", "table.csv", "--choice", "choice", "--stimuli", "x", "--folds", "2", "--model"]
    lines = [[*line, model] for model in ("logistic", "glm-hmm", "psytrack")]
    program = WITHOUT.format(missing=("jax", "jaxlib", "numpyro"), lines=lines)
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    (code, _), *others = json.loads(process.stdout.splitlines()[-1])
    assert code == 0
    for code, error in others:
        assert code == 2 and "needs jax: pip install 'ngym[fit]'" in error and "Traceback" not in error
