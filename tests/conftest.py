"""Settings shared by all tests: no display, one thread, signals as in a terminal, a folder of compiled models."""

import atexit
import os
import shutil
import signal
import tempfile
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Models take longer to compile than to fit: workers share what they compile, and later runs find it.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / "build" / "compiled-models"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
if "SB3_LOGDIR" not in os.environ:  # Stable-Baselines3 makes a folder for each logger
    os.environ["SB3_LOGDIR"] = tempfile.mkdtemp(prefix="ngym-logs-")
    atexit.register(shutil.rmtree, os.environ["SB3_LOGDIR"], ignore_errors=True)

import pytest

from neurogym import kernels
from neurogym.compat import leniency
from ngym_cli.processes import release_compiled

pytest.register_assert_rewrite("tests.ngym_cli.sameness")

# Under nohup or in the background these are ignored, by the commands that tests start as well.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def warnings_anew():
    """What is warned of once is warned of once in every test."""
    leniency.forget()


@pytest.fixture(autouse=True, scope="module")
def few_compiled():
    """The many compiled functions of one process end with their module."""
    yield
    release_compiled()


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("there is no Chromium here")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        result = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield result
        result.close()


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
