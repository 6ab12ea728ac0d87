"""Which variant of the compiled functions is loaded, and what is not called although it is there."""

import importlib
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from neurogym import kernels
from neurogym.kernels.table import ABI, KERNELS, abi_of

ROOT = Path(kernels.__file__).parents[2]
CHECKOUT = Path(__file__).parents[3]
BUILT = [name for name in kernels.runnable() if name != kernels.PLAIN]
needs_build = pytest.mark.skipif(not BUILT, reason="no compiled functions are built")

PROGRAM = """
import logging
from neurogym import kernels
logging.basicConfig(format="LOG %(message)s")
print(kernels.variant())
kernels.get("advance"), kernels.get("add")
"""


def module(name):
    return importlib.import_module(f"neurogym.kernels._{name}")


@pytest.fixture
def installed(tmp_path):
    """A folder with the toolkit as it would be installed, the compiled modules beside the loader."""
    try:
        subprocess.run([sys.executable, "-c", ""], check=True)
    except OSError:
        pytest.skip("the interpreter cannot start itself: it runs on an emulated processor")
    created = tmp_path / "neurogym"
    shutil.copytree(ROOT / "neurogym", created, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd"))
    for name in BUILT:
        shutil.copy(module(name).__file__, created / "kernels")
    return tmp_path


def loaded(folder, **environment):
    """The variant that is used with the packages of a folder, and what is said about it."""
    expected = {name: value for name, value in os.environ.items() if name != kernels.VARIABLE}
    path = os.pathsep.join([str(folder), str(Path(np.__file__).parents[1])])
    command = [sys.executable, "-S", "-c", PROGRAM]  # -S: without the finder of an editable installation
    environment = {**expected, "PYTHONPATH": path, **environment}
    process = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert process.returncode in (0, 1), process
    return process.stdout.strip() or process.stderr.strip().splitlines()[-1], process.stderr.count("LOG ")


def file_of(folder, name):
    return next((folder / "neurogym" / "kernels").glob(f"_{name}.*"))


@needs_build
def test_the_best_that_the_processor_has_is_used(installed):
    assert loaded(installed) == (BUILT[-1], 0)


@needs_build
@pytest.mark.parametrize("name", [*BUILT, kernels.PLAIN])
def test_a_variable_names_another(installed, name):
    assert loaded(installed, NGYM_KERNELS=name) == (name, 0)


def test_what_cannot_be_used_is_refused_when_it_was_asked_for(installed):
    second = "baseline" if platform.machine() in ("aarch64", "arm64") else "neon"
    for name, problem in (
        ("sse9", "expected one of plain, baseline, avx2, avx512, neon"),
        (second, "is not installed"),
    ):
        assert problem in loaded(installed, NGYM_KERNELS=name)[0]


def test_without_any_one_line_says_so_and_what_to_do(installed):
    shutil.rmtree(installed / "neurogym" / "kernels")
    shutil.copytree(
        ROOT / "neurogym/kernels", installed / "neurogym/kernels", ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    assert loaded(installed) == ("plain", 1)


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path):
    path.write_bytes(b"")


def garbage(path):
    path.write_bytes(bytes(range(256)) * 64)


def foreign(path):
    """Another shared library, without what a module must have."""
    shutil.copy(next(Path(np.__file__).parent.rglob("*.so")), path)


@needs_build
@pytest.mark.parametrize(
    "damage",
    [garbage, os.remove, *(pytest.param(damage, marks=pytest.mark.long) for damage in (cut, empty, foreign))],
    ids=lambda damage: damage.__name__,
)
def test_damaged_files_are_done_without_and_told_of_in_one_line(installed, damage):
    damage(file_of(installed, BUILT[-1]))
    better = ([kernels.PLAIN, *BUILT])[len(BUILT) - 1]
    assert loaded(installed) == (better, 0 if damage is os.remove and len(BUILT) > 1 else 1)
    for name in BUILT[:-1]:
        damage(file_of(installed, name))
    assert loaded(installed) == ("plain", 1)


@needs_build
def test_modules_that_were_built_from_other_sources_are_not_called(installed):
    table = installed / "neurogym" / "kernels" / "table.py"
    table.write_text(table.read_text().replace(ABI, "0123456789abcdef"))
    assert loaded(installed) == ("plain", 1)


@needs_build
def test_the_table_lists_what_is_compiled():
    for name in BUILT:
        signatures = module(name).SIGNATURES
        assert signatures.keys() == KERNELS.keys()
        assert abi_of(signatures) == ABI, f"signatures have changed: ABI in {kernels.table.__file__} must say this"


def results(position):
    """What a place such as ``module:Class.method`` names."""
    path, _, names = position.partition(":")
    thing = importlib.import_module(path)
    for name in names.split("."):
        thing = getattr(thing, name)
    return thing


@pytest.mark.parametrize("name", KERNELS)
def test_places_in_the_table_exist(name):
    kernel = KERNELS[name]
    assert f"KERNEL({name}, " in (CHECKOUT / kernel.source).read_text()
    assert callable(results(kernel.plain)) and callable(results(kernel.caller))
    assert f'"{name}"' in Path(sys.modules[kernel.caller.partition(":")[0]].__file__).read_text()
    text = (CHECKOUT / kernel.test).read_text()
    assert "compiled" in text or "variant" in text  # the fixtures that go through all variants


@needs_build
@pytest.mark.parametrize("name", BUILT)
def test_arguments_are_checked_at_every_call(name):
    adam = module(name).adam
    good = [np.zeros(5, np.float32) for _ in range(3)] + [np.zeros((), np.float32), np.ones(5, np.float32)]
    numbers = (0.1, 0.9, 0.999, 1e-8, 1.0)
    adam(*good, *numbers)
    frozen = np.zeros(5, np.float32)
    frozen.flags.writeable = False
    swapped = np.zeros(5, np.float32).astype(np.dtype(np.float32).newbyteorder())
    unaligned = np.zeros(21, np.uint8)[1:].view(np.float32)
    shapes = (np.zeros(10, np.float32)[::2], np.zeros((5, 1), np.float32), np.zeros(4, np.float32))
    for bad in (np.zeros(5), np.zeros(5, np.int32), *shapes, frozen, swapped, unaligned, None, 3, "text"):
        with pytest.raises(ValueError, match="adam: mean "):
            adam(good[0], bad, *good[2:], *numbers)
    with pytest.raises(TypeError, match="takes 10 arguments, got 9"):
        adam(*good, *numbers[:-1])
    with pytest.raises(TypeError):
        adam(*good, "0.1", *numbers[1:])


@needs_build
@pytest.mark.parametrize("name", BUILT)
def test_places_outside_arrays_are_refused(name):
    """Nothing is read or written outside, whatever the numbers are."""
    compiled = module(name)
    rows, values = np.array([0, 1, 2]), np.ones((1, 1), np.float32)
    to = np.zeros((3, 2), np.float32)
    compiled.add(to, 0, 1, rows, values, None)
    for bad in ([0, 1, 3], [0, -1, 2], [2**40, 0, 0], [-(2**63), 0, 0]):
        with pytest.raises(ValueError, match="outside the block"):
            compiled.add(to, 0, 1, np.array(bad), values, None)
    for first, columns in ((1, 2), (-1, 1), (2**62, 2**62)):
        with pytest.raises(ValueError, match="no such columns"):
            compiled.add(to, first, columns, rows, np.ones((1, columns if columns < 9 else 1), np.float32), None)
    np.testing.assert_array_equal(to, [[1, 0]] * 3)


@needs_build
@pytest.mark.parametrize("name", BUILT)
@pytest.mark.parametrize("damaged", ["at", "first", "trial", "n_trials"])
@pytest.mark.parametrize("value", [10**6, -1, 2**40, -(2**40)])
def test_environments_outside_their_trials_are_not_stepped(name, damaged, value):
    """As a damaged checkpoint could place them."""
    n, rows, actions, trials = 2, 6, 3, 2
    places = {key: np.zeros(n, np.int64) for key in ("at", "first", "trial", "n_trials", "aborts")}
    places["at"][1] = places["first"][1] = rows
    places["n_trials"][:] = trials
    table = np.zeros((n, rows, actions))
    columns = [np.zeros((n, trials), np.int64) for _ in range(2)]
    sums = [np.zeros(n), np.zeros(n)]
    results = [np.zeros((5, n), np.int64), np.zeros((3, n)), np.zeros(n), np.zeros(n, bool), None]

    def step():
        tables = (table, table, np.zeros(table.shape, np.uint8), None)
        return module(name).advance(np.zeros(n, np.int64), -1, *tables, *columns, *places.values(), *sums, *results)

    assert step() == 0 and places["at"].tolist() == [1, rows + 1]
    places[damaged][0] = value
    before = {key: array.copy() for key, array in places.items()}
    if damaged == "n_trials" and value < 0:
        assert step() == 0
        return
    with pytest.raises(ValueError, match="outside its block"):
        step()
    for key, array in places.items():
        np.testing.assert_array_equal(array, before[key])
