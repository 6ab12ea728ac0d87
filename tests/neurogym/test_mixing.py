"""Trials of several tasks in one block."""

import numpy as np

from neurogym import mixing
from neurogym.multi import make_multi


def test_a_seed_gives_the_same_trials_whatever_was_looked_at_before():
    found = []
    for before in (False, True, False):
        mixing._KNOWN.clear()
        if before:  # the same tasks with more channels and other periods
            make_multi("yang19", dim_ring=8, timing={"fixation": 900}).reset(seed=1)
        env = make_multi("yang19", dim_ring=2)
        env.reset(seed=0)
        blocks = [env.unwrapped.make_trials(300) for _ in range(3)]
        found.append(np.concatenate([block.ob.ravel() for block in blocks]))
    assert all(np.array_equal(found[0], other) for other in found[1:])
