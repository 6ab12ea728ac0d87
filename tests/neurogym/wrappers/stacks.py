"""Every wrapper with arguments that fit any task, and what the tests do with a stack."""

import functools
from collections.abc import Callable

import gymnasium as gym
import numpy as np

import neurogym as ngym
from neurogym import wrappers
from neurogym.sampling.scheduler import IndependentSchedule, RandomSchedule
from neurogym.vector import FinishedTrials

Make = Callable[[], gym.Env]

TASKS = {
    "RDM": functools.partial(ngym.make, "PerceptualDecisionMaking-v0", timing={"stimulus": 400, "delay": 200}),
    "GoNogo": functools.partial(ngym.make, "GoNogo-v0", timing={"stimulus": 200, "delay": 100, "decision": 200}),
    "Conditional": functools.partial(ngym.make, "NAltConditionalVisuomotor-v0", timing={"delay": 0}),
}

FRAMES = functools.partial(ngym.make, "RandomDotMotion-v0", timing={"stimulus": 160})

SEVERAL = ("Combine", "MultiEnvs", "ScheduleEnvs", "TransferLearning")
SINGLE = tuple(name for name in wrappers.WRAPPERS if name not in SEVERAL)


def put(name: str, make: Make) -> gym.Env:
    """The wrapper ``name`` around what ``make`` makes."""
    cls = getattr(wrappers, name)
    if name in SEVERAL:
        envs = [make(), make()]
        if name == "ScheduleEnvs":
            return cls(envs, RandomSchedule(2), env_input=True)
        if name == "Combine":
            return cls(*envs, delay=200, share_action_space=True)
        return cls(envs, [3, 4], task_cue=True) if name == "TransferLearning" else cls(envs, env_input=True)
    if name == "MotionEnergy":  # it needs frames
        make = FRAMES
    env = make()
    if name == "SideBias":
        n = len(env.unwrapped.choices)
        return cls(env, probs=np.roll(np.eye(n) * 0.6 + 0.4 / n, 1, axis=0).tolist(), block_dur=(2, 5))
    if name == "ScheduleAttr":
        values = env.unwrapped.choices
        return cls(env, IndependentSchedule(2), [{"ground_truth": values[0]}, {"ground_truth": values[1]}])
    if name == "Monitor":
        return cls(env, verbose=False, interval=10**6)
    if name == "TTLPulse":
        return cls(env, periods=[["stimulus"], ["decision"]])
    if name == "CatchTrials":
        return cls(env, catch_prob=0.5)
    if name in ("TrialHistory", "TrHReset"):
        return cls(env, block_dur=4)
    return cls(env)


def finished_row(i: int, info: dict) -> dict[str, object]:
    """The trial that ended in environment ``i``, as a row of a table."""
    return {name: column.tolist()[0] for name, column in FinishedTrials.from_infos({i: info}).items()}


def names_cover(space: gym.spaces.Box) -> bool:
    """Whether every channel has a label, and none two."""
    columns = [int(i) for index in space.name.values() for i in np.atleast_1d(index)]
    return sorted(columns) == list(range(space.shape[0]))


def rollout(env: gym.Env, seed: int, steps: int = 30) -> list[tuple]:
    """Observations, rewards and infos of a random but fixed sequence of actions, the reset's first."""
    actions = np.random.default_rng(0).integers(env.action_space.n, size=steps)
    actions[np.random.default_rng(1).random(steps) < 0.6] = 0
    ob, _ = env.reset(seed=seed)
    seen = [(ob, 0.0, {"new_trial": False})]
    for action in actions:
        ob, reward, _, _, info = env.step(int(action))
        seen.append((ob, reward, info))
    return seen
