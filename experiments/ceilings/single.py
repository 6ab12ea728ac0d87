"""Ideal observers of single tasks that fit none of the general schemes."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from scipy.integrate import quad
from scipy.special import logsumexp, ndtr

from experiments.ceilings.result import Ceiling, make, mean_and_error, oracle_reward, paid
from neurogym.envs.native import delayestimation


def delay_match_category() -> Ceiling:
    """By symmetry the sign of the projection on the boundary's normal decides the category of each stimulus."""
    env = make("DelayMatchCategory-v0")
    trials = env.make_trials(1)
    wrong = []
    for period in ("sample", "test"):
        steps = float(trials.ends[period][0] - trials.starts[period][0])
        d = 0.5 * np.sqrt(np.sum(np.cos(env.theta) ** 2) * steps) / env.sigma
        wrong.append(
            quad(lambda angle, d=d: ndtr(-d * np.sin(angle)), 0, np.pi, limit=200, points=[0.1, 3.0])[0] / np.pi
        )
    performance = (1 - wrong[0]) * (1 - wrong[1]) + wrong[0] * wrong[1]
    return Ceiling(performance, paid(env, performance), 0.0, "exact: Gaussian projection, integrated over the angles")


def delay_estimation(trials: int = 6000) -> Ceiling:
    """Posterior over the cued colour; the other items tell how the wheel is turned."""
    env = make("DelayEstimation-v0")
    block = env.make_trials(trials)
    n, places = env.dim_ring, delayestimation.PLACES
    steps = int(block.ends["stimulus"][0] - block.starts["stimulus"][0])
    rows = block.offset[:, None] + np.arange(steps)
    seen = block.ob[rows][:, :, 1 : 1 + 2 * places].mean(axis=1).reshape(trials, places, 2)
    angle = 2 * np.pi * np.arange(n) / n
    log = seen @ np.stack([np.cos(angle), np.sin(angle)]) / (env.sigma**2 / steps)
    fit = np.exp(log - log.max(axis=2, keepdims=True))
    eighth = n // places
    window = np.zeros((n, n))  # turn, colour
    for turn in range(n):
        for k in range(places):
            window[turn, (np.arange(max(1, eighth // 2 + 1)) + k * n // places + turn) % n] = 1
    cue = block.info["cue"]
    occupied = np.abs(_clean_items(block, places)).sum(axis=2) > 0
    occupied[np.arange(trials), cue] = False
    turn = np.where(occupied[:, :, None], np.log(fit @ window.T + 1e-300), 0.0).sum(axis=1)
    turn = np.exp(turn - logsumexp(turn, axis=1, keepdims=True))
    post = fit[np.arange(trials), cue] * (turn @ window)
    post /= post.sum(axis=1, keepdims=True)
    distances = np.abs(np.arange(n)[:, None] - np.arange(n))
    closeness = 1 - np.minimum(distances, n - distances) / (n / 2)
    mean, error = mean_and_error((post @ closeness).max(axis=1))
    method = "posterior over colours and the turn of the wheel, simulated"
    return Ceiling(mean, mean * env.rewards["correct"], error, method)


def _clean_items(block, places: int) -> np.ndarray:
    """Which places hold an item: certain from the noise, whose s.d. is a tenth of an item's strength."""
    steps = int(block.ends["stimulus"][0] - block.starts["stimulus"][0])
    rows = block.offset[:, None] + np.arange(steps)
    items = block.ob[rows][:, :, 1 : 1 + 2 * places].mean(axis=1).reshape(block.n, places, 2)
    return np.where(np.linalg.norm(items, axis=2, keepdims=True) > 0.5, items, 0)


def separable(task: str, margin: str) -> Ceiling:
    """Tasks whose alternatives lie so far apart that the noise does not matter."""
    return Ceiling(1.0, oracle_reward(task), 0.0, f"exact to 1e-6: {margin}")


def no_noise(task: str) -> Ceiling:
    return Ceiling(1.0, oracle_reward(task), 0.0, "exact: no noise")


def memory_recall(trials: int = 20_000) -> Ceiling:
    """Each cue is compared with all stored patterns, none of which comes twice; every bit is answered by its posterior.

    A cue is answered when it is seen, so that the cues before it count and those after it do not.
    """
    env = make("MemoryRecall-v0")
    scores, rewards = [], []
    for block in [env.make_trials(100) for _ in range(trials // 100)]:
        size = env.stim_dim
        for k in range(block.n):
            rows = slice(int(block.offset[k]), int(block.offset[k] + block.length[k]))
            ob, gt = block.ob[rows], block.gt[rows]
            stored = ob[(ob[:, size] == 1), :size]
            recall = slice(int(block.starts["recall"][k]), int(block.ends["recall"][k]))
            cues, target = ob[recall, :size], gt[recall]
            clash = ((cues[:, None] != stored[None]) & (cues[:, None] != 0)).sum(axis=2)
            if env.balanced:  # a bit of the cue is right or unknown (0)
                likelihood = (clash == 0).astype(float)
            else:
                likelihood = env.p_right ** (size - clash) * (1 - env.p_right) ** clash
            post = _of_last(likelihood) @ stored
            answer = np.where(post >= 0, 1.0, -1.0) if env.balanced else (post > 0.5).astype(float)
            scores.append((answer == target).mean())
            rewards.append(env.rewards["error"] * np.abs(answer - target).mean(axis=1).sum())
    mean, error = mean_and_error(np.array(scores))
    return Ceiling(
        mean, float(np.mean(rewards)), error, "joint posterior over the patterns of all cues so far, simulated"
    )


def _of_last(likelihood: np.ndarray) -> np.ndarray:
    """Posterior over patterns of each cue given all cues up to it, each of another pattern; shape (cues, patterns)."""
    post = np.zeros_like(likelihood)
    for cue in range(len(likelihood)):
        for patterns in permutations(range(len(likelihood)), cue + 1):
            post[cue, patterns[-1]] += np.prod(likelihood[np.arange(cue + 1), patterns])
    return post / post.sum(axis=1, keepdims=True)
