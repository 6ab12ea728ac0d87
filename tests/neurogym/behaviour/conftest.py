"""Decisions that several files of tests write as tables."""

import numpy as np
import pytest

from tests.neurogym.behaviour import laboratories


@pytest.fixture(scope="session")
def d():
    """Decisions of two subjects in 150 trials each."""
    return laboratories.detection(np.random.default_rng(0), sessions=1)


@pytest.fixture
def sides(d):
    """The decisions and the correct ones in words."""
    return {key: np.where(getattr(d, key), "right", "left") for key in ("right", "target")}
