"""Steps a second of every task with random actions, on one core: alone, and in batches of 64 and 256.

Run ``python experiments/benchmarks/stepping.py [TASK ...]``; the medians over tasks with a declared rule stand last.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import neurogym as ngym
from neurogym.envs.registration import every_task
from neurogym.vector import TrialVectorEnv

WARM_UP, SECONDS = 1.0, 2.0  # blocks of trials are of their full size soon after a reset


def actions_for(space, shape, rng):
    """Random actions, drawn ahead so that drawing them is not timed."""
    if hasattr(space, "n"):
        return rng.integers(space.n, size=shape)
    return rng.uniform(space.low, space.high, size=(*shape, *space.shape)).astype(space.dtype)


def rate(step, actions, width):
    """Steps a second on rows of ``actions``; blocks of trials end at about the same time, so no part is left out."""
    for seconds in (WARM_UP, SECONDS):
        start, count = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            for action in actions:
                step(action)
            count += len(actions) * width
        rate = count / (time.perf_counter() - start)
    return rate


def measure(id_):
    """Steps a second alone, in 64, in 256; and whether the batch takes the array path."""
    rng = np.random.default_rng(0)
    env = ngym.make(id_)
    env.reset(seed=0)
    rates = [rate(env.step, list(actions_for(env.action_space, (500,), rng)), 1)]
    for width in (64, 256):
        batch = ngym.make_vec(id_, width)
        batch.reset(seed=0)
        steps = 200 if isinstance(batch, TrialVectorEnv) else 5
        rates.append(rate(batch.step, actions_for(env.action_space, (steps, width), rng), width))
    return rates, isinstance(batch, TrialVectorEnv)


def main(names):
    """Print one row per task and the medians."""
    declared = []
    print(f"{'task':44} {'alone':>10} {'64':>11} {'256':>11}  path")
    for id_ in names or every_task():
        rates, fast = measure(id_)
        declared += [rates] if fast else []
        print(f"{id_:44} {rates[0]:10,.0f} {rates[1]:11,.0f} {rates[2]:11,.0f}  {'array' if fast else 'loop'}")
    medians = np.median(declared, axis=0)
    label = f"median of {len(declared)} declared"
    print(f"{label:44} {medians[0]:10,.0f} {medians[1]:11,.0f} {medians[2]:11,.0f}")


if __name__ == "__main__":
    main(sys.argv[1:])
