"""Times plain steps of single tasks against the least that any trial-based Gymnasium task does, in one run.

Run ``python experiments/benchmarks/plain.py [TASK ...]``. The yardstick looks rewards up in a table and makes no trials
anew; rounds of the task and of the yardstick take turns, so that what else the machine does falls on both.
"""

from __future__ import annotations

import sys
import time

import gymnasium as gym
import numpy as np

import neurogym as ngym

USUAL = (
    "DawTwoStep-v0",
    "Bandit-v0",
    "EconomicDecisionMaking-v0",
    "IntervalDiscrimination-v0",
    "PerceptualDecisionMaking-v0",
    "GoNogo-v0",
)
ROUNDS, STEPS, ROWS = 40, 4000, 22


class Yardstick(gym.Env):
    """Trials of 22 rows, all the same."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (3,))
    action_space = gym.spaces.Discrete(3)

    def __init__(self) -> None:
        self.ob, self.reward, self.row = np.ones((ROWS, 3), np.float32), np.zeros((ROWS, 3)), 0

    def reset(self, *, seed=None, options=None):
        """Row 0."""
        super().reset(seed=seed)
        self.row = 0
        return self.ob[0].copy(), {}

    def step(self, action):
        """Look the reward up and go on."""
        reward, row = self.reward.item(self.row, action), self.row + 1
        self.row = row % ROWS
        return self.ob[self.row].copy(), reward, False, False, {"new_trial": row == ROWS, "gt": 0}


def seconds(env, actions) -> float:
    """Time of one round."""
    began = time.perf_counter()
    for action in actions:
        env.step(action)
    return time.perf_counter() - began


def measure(id_: str) -> tuple[float, float, float]:
    """Microseconds of a step, and median and spread of the ratio to a step of the yardstick."""
    env, bare = ngym.make(id_), gym.wrappers.OrderEnforcing(Yardstick())
    actions = np.random.default_rng(0).integers(env.action_space.n, size=STEPS).tolist()
    for environment in (env, bare):
        environment.reset(seed=0)
        seconds(environment, [min(action, 2) for action in actions])
    pairs = np.array([(seconds(env, actions), seconds(bare, [min(a, 2) for a in actions])) for _ in range(ROUNDS)])
    ratio = pairs[:, 0] / pairs[:, 1]
    low, middle, high = np.percentile(ratio, (25, 50, 75))
    return float(np.median(pairs[:, 0]) / STEPS * 1e6), float(middle), float(high - low)


def main(names: list[str]) -> None:
    """Print one row per task."""
    print(f"{'task':32} {'us a step':>9} {'of the yardstick':>17} {'quartiles':>10}")
    for id_ in names or USUAL:
        micro, ratio, spread = measure(id_)
        print(f"{id_:32} {micro:9.2f} {ratio:17.2f} {spread:10.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
