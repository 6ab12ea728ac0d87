"""The path for devices: on the CPU without compiled functions, and on the GPU of a machine that has one."""

import contextlib

import pytest
import torch
from stable_baselines3.common import base_class

from neurogym import kernels
from ngym_cli.agents.algorithms.sb3 import Learner
from ngym_cli.agents.networks.leaky import LeakyNetwork

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no GPU")


@pytest.fixture(scope="session", params=["cpu", pytest.param("cuda", marks=needs_gpu)])
def on_device(request):
    """Return a context in which learners are made and learn as on a device, in single precision."""

    @contextlib.contextmanager
    def use():
        with pytest.MonkeyPatch.context() as patch:
            if request.param == "cuda":
                patch.setattr(base_class, "get_device", lambda _: torch.device("cuda"))
                patch.setattr(torch.backends.cudnn, "allow_tf32", False)
                yield
                return
            patch.setattr(Learner, "on_device", True)
            patch.setattr(LeakyNetwork, "in_torch", LeakyNetwork.in_few_calls)
            with kernels.use(kernels.PLAIN):
                yield

    return use
