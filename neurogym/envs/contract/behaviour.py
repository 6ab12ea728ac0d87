"""A task is an ordinary environment: reproducible, robust, the same in a batch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from gymnasium.utils.env_checker import check_env

from neurogym.envs.contract.subject import Subject, random_actions, require
from neurogym.sampling.distributions import Distribution
from neurogym.vector import is_batchable, make_vec

TIME_STEPS = (10, 20, 50, 100)
RANDOM_STEPS = 2000


def gymnasium_checker(subject: Subject) -> None:
    """Gymnasium's own checker finds nothing but that observations may have no bounds."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*(the `seed` function|observation space m.* is -?infinity)")
        check_env(subject.task(), skip_render_check=True)


def same_seed_same_session(subject: Subject) -> None:
    """Check that equal seeds give equal sessions regardless of steps in between, and different seeds differ."""
    first, second, other = subject.make(), subject.make(), subject.make()
    steps = 60 if subject.large else 300
    for _ in range(2):
        alike, differs = _compare(subject, first, second, seeds=(7, 7), steps=steps)
        require(alike, f"{subject.name}: two sessions with one seed differ")
        subject.make(dt=50).reset(seed=99)  # another one of the kind must not matter
    _, differs = _compare(subject, first, other, seeds=(7, 8), steps=steps)
    if _has_chance(subject):
        require(differs, f"{subject.name}: sessions with different seeds are identical")


def _has_chance(subject: Subject) -> bool:
    """Whether any quantity is certain to be random (the first stage of a curriculum may have no randomness)."""
    env = subject.example
    if env.is_adaptive:
        return False
    return bool(env.conditions) or any(Distribution.of(spec)[0] != "constant" for spec in env.timing.values())


def _compare(subject: Subject, a: Any, b: Any, seeds: tuple[int, int], steps: int) -> tuple[bool, bool]:
    a.reset(seed=seeds[0])
    b.reset(seed=seeds[1])
    a.action_space.seed(0)
    alike = True
    for _ in range(steps):
        action = a.action_space.sample()
        one, two = a.step(action), b.step(action)
        alike &= np.array_equal(one[0], two[0]) and one[1:4] == two[1:4]
        alike &= np.array_equal(one[4].get("gt"), two[4].get("gt"))
        if one[2] or one[3]:
            a.reset()
        if two[2] or two[3]:
            b.reset()
    return bool(alike), not alike


def time_steps(subject: Subject) -> None:
    """Check that the task can be made and stepped with several values of ``dt``."""
    for dt in TIME_STEPS:
        env = subject.make(dt=dt)
        has = env.unwrapped.dt  # type: ignore[attr-defined]
        require(has == dt, f"{subject.name}: requested dt={dt}, has {has}")
        env.reset(seed=0)
        env.action_space.seed(0)
        for _ in range(20):
            ob, _, terminated, truncated, _ = env.step(env.action_space.sample())
            require(np.all(np.isfinite(ob)), f"{subject.name}: an observation is not finite at dt={dt}")
            if terminated or truncated:
                env.reset()


def random_steps(subject: Subject, steps: int = RANDOM_STEPS) -> None:
    """Check random actions: observations stay in the space, rewards are finite, trials end."""
    env = subject.make()
    env.reset(seed=2)
    env.action_space.seed(2)
    steps = steps // 10 if subject.large else steps
    ended = 0
    for step in range(steps):
        ob, reward, terminated, truncated, info = env.step(env.action_space.sample())
        if step % 50 == 0:
            require(env.observation_space.contains(ob), f"{subject.name}: an observation is not in its space")
        require(np.isfinite(float(reward)), f"{subject.name}: the reward {reward} is not finite")
        ended += info["new_trial"]
        if info["new_trial"]:
            score = info["performance"]
            require(-1e-9 <= score <= 1 + 1e-9, f"{subject.name}: performance {score} is not in [0, 1]")
        if terminated or truncated:
            env.reset()
    require(ended, f"{subject.name}: no trial ended in {steps} random steps")


def batch_equals_single(subject: Subject) -> None:
    """Check that a batch gives the same results as separate environments."""
    n, steps = 2, 30 if subject.large else 250
    batch = make_vec(subject.make, n)
    singles = [subject.make() for _ in range(n)]
    ob, _ = batch.reset(seed=11)
    obs = [env.reset(seed=11 + i)[0] for i, env in enumerate(singles)]
    rng = np.random.default_rng(0)
    batch.single_action_space.seed(0)
    for _ in range(steps):
        require(np.array_equal(ob, np.stack(obs)), f"{subject.name}: batch and single observations differ")
        actions = random_actions(batch.single_action_space, rng, n)
        if is_batchable(singles[0]) and rng.random() < 0.7:
            actions[:] = subject.example.rule.hold or 0  # type: ignore[union-attr]
        ob, reward, _, _, infos = batch.step(actions)
        obs, ended = [], []
        for i, env in enumerate(singles):
            each, gain, terminated, truncated, info = env.step(actions[i])
            require(gain == reward[i], f"{subject.name}: rewards differ: batch {reward[i]}, single {gain}")
            require(info["new_trial"] == infos["new_trial"][i], f"{subject.name}: trials end at different steps")
            if info["new_trial"]:
                ended.append((i, info))
            obs.append(env.reset()[0] if terminated or truncated else each)
        for i, info in ended:
            for name in ("performance", "trial_reward", "outcome"):
                got = infos[name][i]
                require(got == info[name], f"{subject.name}: {name} differs: batch {got}, single {info[name]}")
