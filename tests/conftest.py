"""Settings shared by all tests: no display, one thread."""

import os

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest

from neurogym import kernels

pytest.register_assert_rewrite("tests.ngym_cli.sameness")

COMPILED = [name for name in kernels.runnable() if name != kernels.PLAIN]


@pytest.fixture(params=[*COMPILED, kernels.PLAIN])
def variant(request):
    """Every variant of the compiled functions that this machine can run, and the plain forms."""
    with kernels.use(request.param):
        yield request.param


@pytest.fixture(params=COMPILED or [pytest.param("", marks=pytest.mark.skip(reason="no compiled functions are built"))])
def compiled(request):
    """Every variant of the compiled functions that this machine can run."""
    with kernels.use(request.param):
        yield request.param
