"""A task is an ordinary environment: reproducible, robust, the same in a batch."""

from __future__ import annotations

import warnings

import gymnasium as gym
import numpy as np
from gymnasium.utils.env_checker import check_env

from neurogym import rules
from neurogym.core import TrialEnv
from neurogym.envs.contract.subject import NothingToCheck, Subject, random_actions, random_steps_of, require
from neurogym.sampling.distributions import Distribution
from neurogym.trials import Trials
from neurogym.vector import make_vec
from neurogym.wrappers.stack import traits

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
    first, second, third = subject.make(), subject.make(), subject.make()
    steps = 60 if subject.large else 300
    for _ in range(2):
        require(_are_alike(first, second, seeds=(7, 7), steps=steps), "two sessions with one seed differ")
        subject.make(dt=50).reset(seed=99)  # another one of the kind must not matter
    if _has_chance(subject):
        alike = _are_alike(first, third, seeds=(7, 8), steps=steps)
        require(not alike, "sessions with different seeds are identical")


def _has_chance(subject: Subject) -> bool:
    """Whether any quantity is certain to be random (the first stage of a curriculum may have no randomness)."""
    env = subject.example
    if env.traits.follows_agent:
        return False
    return bool(env.conditions) or any(Distribution.of(spec)[0] != "constant" for spec in env.timing.values())


def _are_alike(a: gym.Env, b: gym.Env, seeds: tuple[int, int], steps: int) -> bool:
    """Whether two sessions are the same under the same random actions."""
    sessions = [random_steps_of(env, steps, seed, seed_of_actions=0) for env, seed in zip((a, b), seeds, strict=True)]
    return all(
        np.array_equal(first[0], two[0])
        and first[1:4] == two[1:4]
        and np.array_equal(first[4].get("gt"), two[4].get("gt"))
        for first, two in zip(*sessions, strict=True)
    )


def time_steps(subject: Subject) -> None:
    """Check that the task can be made and stepped with several values of ``dt``."""
    for dt in TIME_STEPS:
        env = subject.make(dt=dt)
        has = env.unwrapped.dt  # type: ignore[attr-defined]
        require(has == dt, f"requested dt={dt}, has {has}")
        for ob, *_ in random_steps_of(env, 20, seed=0):
            require(np.all(np.isfinite(ob)), f"an observation is not finite at dt={dt}")


def random_steps(subject: Subject, steps: int = RANDOM_STEPS) -> None:
    """Check random actions: observations stay in the space, rewards are finite, trials end."""
    env = subject.make()
    steps = steps // 10 if subject.large else steps
    ended = 0
    for step, (ob, reward, _, _, info) in enumerate(random_steps_of(env, steps, seed=2)):
        if step % 50 == 0:
            require(env.observation_space.contains(ob), "an observation is not in its space")
        require(np.isfinite(float(reward)), f"the reward {reward} is not finite")
        ended += info["new_trial"]
        if info["new_trial"]:
            score = info["performance"]
            require(-1e-9 <= score <= 1 + 1e-9, f"performance {score} is not in [0, 1]")
    require(ended, f"no trial ended in {steps} random steps")


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
        require(np.array_equal(ob, np.stack(obs)), "batch and single observations differ")
        actions = random_actions(batch.single_action_space, rng, n)
        if traits(singles[0]).batched and rng.random() < 0.7:
            actions[:] = subject.example.rule.hold or 0
        ob, reward, _, _, infos = batch.step(actions)
        obs, ended = [], []
        for i, env in enumerate(singles):
            each, gain, terminated, truncated, info = env.step(actions[i])
            require(gain == reward[i], f"rewards differ: batch {reward[i]}, single {gain}")
            require(info["new_trial"] == infos["new_trial"][i], "trials end at different steps")
            if info["new_trial"]:
                ended.append((i, info))
            obs.append(env.reset()[0] if terminated or truncated else each)
        for i, info in ended:
            for name in ("performance", "trial_reward", "outcome"):
                got = infos[name][i]
                require(got == info[name], f"{name} differs: batch {got}, single {info[name]}")


STANDARD_ERRORS = 5.0


def oracle(subject: Subject) -> None:
    """Check that the oracle's performance is 1 in every trial, and its reward at least the random agent's."""
    env = subject.make()
    env.reset(seed=3)
    task: TrialEnv = env.unwrapped  # type: ignore[assignment]
    rewards: list[float] = []
    steps, limit = 0, 300 if subject.large else 2000
    while len(rewards) < 30 or (steps < limit and len(rewards) < 400):
        steps += 1
        require(steps < 100_000, f"the oracle finished {len(rewards)} trials in {steps} steps")
        _, _, terminated, truncated, info = env.step(task.oracle())
        if info["new_trial"]:
            score, trial = info["performance"], info["trial"]
            require(abs(score - 1) < 1e-6, f"the oracle's performance is {score} in trial {trial}")
            rewards.append(info["trial_reward"])
        if terminated or truncated:
            env.reset()
        if subject.large and len(rewards) >= 3:
            break
    error = np.std(rewards) / np.sqrt(len(rewards))
    if not subject.large:
        floor = subject.chance["reward"]
        mean = float(np.mean(rewards))
        require(
            mean + STANDARD_ERRORS * error + 1e-9 >= floor,
            f"the oracle earns {mean:.3f}, less than the random agent ({floor:.3f})",
        )


def random_is_chance(subject: Subject) -> None:
    """The random agent finishes trials, and scores what the task states as chance."""
    if subject.large:
        raise NothingToCheck("images are not looked at")
    trials = subject.random_trials
    require(trials, "the random agent finished no trial")
    if subject.chance_is_simulated:
        return
    groups = np.array([trial["env"] for trial in trials])
    for key in ("performance", "reward"):
        values = np.array([trial[key] for trial in trials], float)
        means = np.array([values[groups == g].mean() for g in np.unique(groups)])
        standard_error = values.std() / np.sqrt(len(values))
        between = means.std(ddof=1) / np.sqrt(len(means)) if len(means) > 1 else 0.0
        error = STANDARD_ERRORS * 1.3 * max(standard_error, between) + 5 / len(values) * (values.std() == 0) + 1e-3
        mean, chance = float(values.mean()), subject.chance[key]
        require(
            abs(mean - chance) <= error,
            f"the random agent's {key} is {mean:.4f}, chance is stated as {chance:.4f} (+-{error:.4f})",
        )


def ground_truth_is_best_paid(subject: Subject) -> None:
    """Following the ground truth earns the most that any sequence of actions can, step by step, and performance 1.

    For tasks with a declared rule. Where outcomes are drawn (``metadata["probabilistic"]``), the most is a mean over
    the trials.
    """
    env = subject.task()
    env.reset(seed=5)
    if not env.traits.batched or env.session.cursor.gt is None or env.traits.observation_depends_on_step:
        raise NothingToCheck("steps are programmed or decide which periods follow, or there is no ground truth")
    target = 8 if subject.large else 100
    worth: list[np.ndarray] = []
    while len(worth) < target:
        if env.traits.ahead:
            block = env.make_trials(min(target, 50))
            worth += [_follow(block, k) for k in range(block.n)]
        else:
            worth.append(_follow(env.session.this_trial, 0))
            ended = False
            while not ended:
                ended = env.step(env.oracle())[4]["new_trial"]
    if subject.example.metadata.get("probabilistic"):
        gap = np.array(worth)
        error = STANDARD_ERRORS * gap.std(axis=0) / np.sqrt(len(gap)) + 1e-9
        require(
            np.all(gap.mean(axis=0) >= -error),
            f"on average some answer earns more than the ground truth: {gap.mean(axis=0)}",
        )


def _follow(block: Trials, k: int) -> np.ndarray:
    """Follow the ground truth through trial ``k``; return the advantage over every other action at the answer."""
    fields, rule = block.fields, block.env.rule
    first, last = int(block.offset[k]), int(block.offset[k] + block.length[k]) - 1
    ends, reward, gt = fields["event"] >= rules.END, fields["reward"], fields["gt"]
    strict = not block.env.metadata.get("probabilistic")
    value, worth = 0.0, np.zeros((last - first + 1, reward.shape[1]))
    for row in range(last, first - 1, -1):
        worth[row - first] = reward[row] + np.where(ends[row], 0.0, value)
        value = worth[row - first].max() if strict else worth[row - first][gt[row]]
        answer = rule is None or rule.hold is None or gt[row] != rule.hold
        if strict and answer:
            _best(worth[row - first], gt[row], row - first)
    performance, row = 0.0, first
    while True:
        if strict:
            _best(worth[row - first], gt[row], row - first)
        performance += fields["performance"][row, gt[row]]
        if ends[row, gt[row]]:
            break
        row += 1
    require(abs(performance - 1) < 1e-6, f"following the ground truth gives performance {performance}, not 1")
    return worth[row - first][gt[row]] - worth[row - first]


def _best(worth: np.ndarray, action: int, step: int) -> None:
    require(
        worth[action] >= worth.max() - 1e-6,
        f"at step {step} the ground truth {action} is worth {worth[action]:.3f}, "
        f"action {worth.argmax()} {worth.max():.3f}",
    )
