"""Oracle, random agent, ground truth: what each earns."""

from __future__ import annotations

import numpy as np

from neurogym import rules
from neurogym.core import TrialEnv
from neurogym.envs.contract.subject import NothingToCheck, Subject, require
from neurogym.trials import Trials

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
        require(steps < 100_000, f"{subject.name}: the oracle finished {len(rewards)} trials in {steps} steps")
        _, _, terminated, truncated, info = env.step(task.oracle())
        if info["new_trial"]:
            score, trial = info["performance"], info["trial"]
            require(abs(score - 1) < 1e-6, f"{subject.name}: the oracle's performance is {score} in trial {trial}")
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
            f"{subject.name}: the oracle earns {mean:.3f}, less than the random agent ({floor:.3f})",
        )


def random_is_chance(subject: Subject) -> None:
    """The random agent finishes trials, and scores what the task states as chance."""
    if subject.large:
        raise NothingToCheck("images are not looked at")
    trials = subject.random_trials
    require(trials, f"{subject.name}: the random agent finished no trial")
    if subject.chance_is_simulated:
        return
    groups = np.array([trial["env"] for trial in trials])
    for key in ("performance", "reward"):
        values = np.array([trial[key] for trial in trials], float)
        means = np.array([values[groups == g].mean() for g in np.unique(groups)])
        own = values.std() / np.sqrt(len(values))
        between = means.std(ddof=1) / np.sqrt(len(means)) if len(means) > 1 else 0.0
        error = STANDARD_ERRORS * 1.3 * max(own, between) + 5 / len(values) * (values.std() == 0) + 1e-3
        mean, chance = float(values.mean()), subject.chance[key]
        require(
            abs(mean - chance) <= error,
            f"{subject.name}: the random agent's {key} is {mean:.4f}, chance is stated as {chance:.4f} (+-{error:.4f})",
        )


def ground_truth_is_best_paid(subject: Subject) -> None:
    """Following the ground truth earns the most that any sequence of actions can, step by step, and performance 1.

    For tasks with a declared rule. Where outcomes are drawn (``metadata["probabilistic"]``), the most is a mean over
    the trials.
    """
    env = subject.task()
    env.reset(seed=5)
    if not env.traits.batched or env.cursor.gt is None or env.observation_depends_on_step:
        raise NothingToCheck("steps are programmed or decide which periods follow, or there is no ground truth")
    target = 8 if subject.large else 100
    worth: list[np.ndarray] = []
    while len(worth) < target:
        if env.traits.ahead:
            block = env.make_trials(min(target, 50))
            worth += [_follow(subject, block, k) for k in range(block.n)]
        else:
            worth.append(_follow(subject, env.this_trial, 0))
            ended = False
            while not ended:
                ended = env.step(env.oracle())[4]["new_trial"]
    if subject.example.metadata.get("probabilistic"):
        gap = np.array(worth)
        error = STANDARD_ERRORS * gap.std(axis=0) / np.sqrt(len(gap)) + 1e-9
        require(
            np.all(gap.mean(axis=0) >= -error),
            f"{subject.name}: on average some answer earns more than the ground truth: {gap.mean(axis=0)}",
        )


def _follow(subject: Subject, block: Trials, k: int) -> np.ndarray:
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
            _best(subject, worth[row - first], gt[row], row - first)
    performance, row = 0.0, first
    while True:
        if strict:
            _best(subject, worth[row - first], gt[row], row - first)
        performance += fields["performance"][row, gt[row]]
        if ends[row, gt[row]]:
            break
        row += 1
    require(
        abs(performance - 1) < 1e-6,
        f"{subject.name}: following the ground truth gives performance {performance}, not 1",
    )
    return worth[row - first][gt[row]] - worth[row - first]


def _best(subject: Subject, worth: np.ndarray, action: int, step: int) -> None:
    require(
        worth[action] >= worth.max() - 1e-6,
        f"{subject.name}: at step {step} the ground truth {action} is worth {worth[action]:.3f}, "
        f"action {worth.argmax()} {worth.max():.3f}",
    )
