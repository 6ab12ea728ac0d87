"""Actions as policies give them: arrays of one element."""

import numpy as np

import neurogym as ngym
from neurogym.wrappers import Noise, PassAction, PassReward

for env in (
    ngym.make("PerceptualDecisionMaking-v0"),
    ngym.make("Reaching1D-v0"),
    ngym.make("DawTwoStep-v0"),
    PassAction(PassReward(Noise(ngym.make("GoNogo-v0")))),
):
    env.reset(seed=0)
    for _ in range(60):
        ob, reward, terminated, truncated, info = env.step(np.array([1]))
        assert isinstance(reward, float) and ob.ndim == 1
        ob, reward, terminated, truncated, info = env.step(np.int64(0))
