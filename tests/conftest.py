"""Settings shared by all tests: no display, one thread."""

import os

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest

pytest.register_assert_rewrite("tests.ngym_cli.sameness")
