"""The path for devices, on the CPU and without compiled functions."""

import contextlib

import pytest

from neurogym import kernels
from ngym_cli.agents.algorithms.sb3 import Learner
from ngym_cli.agents.networks.leaky import LeakyNetwork


@pytest.fixture(scope="session")
def on_device():
    """Return a context in which learners are made and learn as on a device."""

    @contextlib.contextmanager
    def use():
        with kernels.use(kernels.PLAIN), pytest.MonkeyPatch.context() as patch:
            patch.setattr(Learner, "on_device", True)
            patch.setattr(LeakyNetwork, "in_torch", LeakyNetwork.in_few_calls)
            yield

    return use
