"""Tasks in which a state is hidden across trials: the best policy follows the exact belief over it.

All beliefs are those of an agent that knows the task's parameters and sees its reward. In the symmetric tasks
both options tell equally much about the state, so that taking the better one at each trial is also best in the long
run. Scores are means over a long session, after its start, or over whole sessions where the task has them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import neurogym as ngym
from experiments.ceilings.result import Ceiling, guessed, make, mean_and_error, paid
from neurogym.ceilings import ceiling
from neurogym.ceilings.single import followed
from neurogym.envs.collections.perceptualdecisionmaking import BLOCK_TRIALS, PROBABILITIES
from neurogym.envs.native import hierarchicalreasoning, twostep
from neurogym.wrappers.random_ground_truth import SideBias

CHAINS, TRIALS, WARM_UP = 2000, 400, 100


def _two_state(p: float, switch: float, trials: int, start_at: int | None, rng: np.random.Generator) -> np.ndarray:
    """Belief-following choice between two states of which one is rewarded with ``p`` and the other with 1 - p.

    Returns:
        Whether the better state was aimed at, shape (trials, chains).
    """
    better = rng.integers(2, size=CHAINS) if start_at is None else np.full(CHAINS, start_at)
    belief = np.full(CHAINS, 0.5 if start_at is None else float(start_at))
    out = np.zeros((trials, CHAINS))
    for t in range(trials):
        if t or start_at is not None:
            better = better ^ (rng.random(CHAINS) < switch)
            belief = belief * (1 - switch) + (1 - belief) * switch
        aim = (belief > 0.5) | ((belief == 0.5) & (rng.random(CHAINS) < 0.5))
        out[t] = aim == better
        # which state is visited makes no difference to the information: a reward at one = no reward at the other
        says_one = rng.random(CHAINS) < np.where(better == 1, p, 1 - p)
        first_state = belief * np.where(says_one, p, 1 - p)
        zero = (1 - belief) * np.where(says_one, 1 - p, p)
        belief = first_state / (first_state + zero)
    return out


def two_step() -> Ceiling:
    env = make("TwoStep-v0")
    rng = np.random.default_rng(0)
    hits = _two_state(env.p_reward, env.p_switch, env.trials_per_session, None, rng)
    mean, error = mean_and_error(hits.mean(axis=0))
    reward = _two_step_reward(mean, env.p_common, env.p_reward)
    return Ceiling(mean, reward, error, "exact belief, simulated over whole sessions", guessed(0.5, 0.5))


def _two_step_reward(performance: float, common: float, p: float) -> float:
    reach = performance * common + (1 - performance) * (1 - common)
    return reach * p + (1 - reach) * (1 - p)


def daw_two_step() -> Ceiling:
    hits = _two_state(twostep.PAYS[1], twostep.SWITCH, TRIALS, None, np.random.default_rng(0))
    mean, error = mean_and_error(hits[WARM_UP:].mean(axis=0))
    reward = _two_step_reward(mean, twostep.COMMON, twostep.PAYS[1])
    return Ceiling(mean, reward, error, "exact belief, simulated in the long run", guessed(0.5, 0.5))


def _advance(
    belief: np.ndarray, state: np.ndarray, left: np.ndarray, lengths: tuple[int, int], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Go on by one trial; return the hidden state and the trials left in the block.

    Args:
        belief: unnormalised (chain, state, trials left in the block), changed in place to that before the next trial.
        state: hidden state, 0 or 1, of each chain; changes at the end of a block.
        left: trials left in the block of each chain.
        lengths: shortest and longest block.
        rng: source of the lengths of blocks.
    """
    low, high = lengths
    belief /= belief.sum(axis=(1, 2), keepdims=True)
    over = belief[:, :, 1].copy()
    belief[:, :, :-1] = belief[:, :, 1:]
    belief[:, :, -1] = 0
    belief[:, :, 0] = 0
    belief[:, :, low : high + 1] += over[:, ::-1, None] / (high - low + 1)
    ended = left == 1
    return np.where(ended, 1 - state, state), np.where(ended, rng.integers(low, high + 1, size=len(left)), left - 1)


def reversal_learning() -> Ceiling:
    env = make("ReversalLearning-v0")
    rng = np.random.default_rng(0)
    low, high = env.block_dur
    p, n = env.p_reward, CHAINS
    lengths = rng.integers(low, high + 1, size=n)
    better, left = rng.integers(2, size=n), lengths.copy()
    belief = np.zeros((n, 2, high + 1))  # state: better picture, trials left of its block
    belief[:, :, low : high + 1] = 1 / (2 * (high - low + 1))
    hits = np.zeros((TRIALS, n))
    for t in range(TRIALS):
        first_state = belief[:, 1].sum(axis=1)
        choice = (first_state > 0.5) | ((first_state == 0.5) & (rng.random(n) < 0.5))
        hits[t] = choice == better
        pays = rng.random(n) < np.where(choice == better, p, 1 - p)
        for picture in (0, 1):
            right = choice == picture
            belief[:, picture] *= np.where(right == pays, p, 1 - p)[:, None]
        better, left = _advance(belief, better, left, (low, high), rng)
    mean, error = mean_and_error(hits[WARM_UP:].mean(axis=0))
    reward = mean * p + (1 - mean) * (1 - p)
    return Ceiling(mean, reward, error, "exact belief, simulated in the long run", guessed(0.5, 0.5))


def hierarchical_reasoning() -> Ceiling:
    env = make("HierarchicalReasoning-v0")
    rng = np.random.default_rng(0)
    low, high = hierarchicalreasoning.BLOCK
    intervals = env.make_trials(20_000).info["interval"]
    n = CHAINS
    rule, left = rng.integers(2, size=n), rng.integers(low, high + 1, size=n)
    belief = np.zeros((n, 2, high + 1))
    belief[:, :, low : high + 1] = 1 / (2 * (high - low + 1))
    hits = np.zeros((TRIALS, n))
    for t in range(TRIALS):
        interval = rng.choice(intervals, size=n)
        open_ = interval == env.mid_point  # long or short by chance: the rule may be right and the answer not
        first_rule = belief[:, 1].sum(axis=1)
        aim = (first_rule > 0.5).astype(int)
        judged = ~open_ | (rng.random(n) < 0.5)
        hits[t] = (aim == rule) & judged
        paid_now = hits[t] == 1
        fits = np.where(open_, 0.5, 1.0)
        for state in (0, 1):
            chance_of_pay = np.where(aim == state, fits, 0.0)
            belief[:, state] *= np.where(paid_now, chance_of_pay, 1 - chance_of_pay)[:, None]
        rule, left = _advance(belief, rule, left, (low, high), rng)
    mean, error = mean_and_error(hits[WARM_UP:].mean(axis=0))
    judged = 1 - np.mean(intervals == env.mid_point) / 2  # the interval in the middle counts as long or short by chance
    without = guessed(float(judged) / 2, paid(env, float(judged) / 2))
    return Ceiling(mean, paid(env, mean), error, "exact belief over rule and block, simulated in the long run", without)


def changing_environment() -> Ceiling:
    """Greedy on the joint posterior of side (from the stimulus) and context (from earlier outcomes)."""
    env = make("ChangingEnvironment-v0")
    rng = np.random.default_rng(0)
    n, change, cohs = CHAINS, env.cxt_ch_prob, np.asarray(env.conditions["coh"]) / 100
    trials = env.make_trials(20_000)
    steps = trials.ends["stimulus"] - trials.starts["stimulus"]
    context, belief = rng.integers(2, size=n), np.full(n, 0.5)
    hits, sided = np.zeros((2, TRIALS, n))
    index = np.arange(n)
    for t in range(TRIALS):
        k, side, coh = rng.choice(steps, size=n), rng.integers(2, size=n), rng.choice(cohs, size=n)
        x = k * np.where(side == 0, coh, -coh) + np.sqrt(2 * k) * env.sigma * rng.standard_normal(n)
        log = (x[:, None] * np.r_[cohs, -cohs] - k[:, None] * np.r_[cohs, cohs] ** 2 / 2) / (2 * env.sigma**2)
        weight = np.exp(log - log.max(axis=1, keepdims=True))
        first = weight[:, : len(cohs)].sum(axis=1) / weight.sum(axis=1)
        sides, contexts = np.stack([first, 1 - first], 1), np.stack([1 - belief, belief], 1)
        joint = sides[:, :, None] * contexts[:, None]
        best = joint.reshape(n, 4).argmax(axis=1)
        good = best == 2 * side + context
        hits[t] = good
        sided[t] = np.maximum(first, 1 - first)
        after = joint.reshape(n, 4).copy()
        after[~good, best[~good]] = 0.0
        one_hot = np.zeros((n, 4))
        one_hot[index, best] = 1.0
        after = np.where(good[:, None], one_hot, after)
        after = after.reshape(n, 2, 2).sum(axis=1)
        belief = after[:, 1] / after.sum(axis=1)
        belief = belief * (1 - change) + (1 - belief) * change
        context = context ^ (rng.random(n) < change)
    mean, error = mean_and_error(hits[WARM_UP:].mean(axis=0))
    alone, wrong = mean_and_error(sided.mean(axis=0))
    method = "posterior of the side, simulated; nothing reveals the context"
    without = Ceiling(alone / 2, paid(env, alone / 2), wrong / 2, method)
    return Ceiling(mean, paid(env, mean), error, "exact joint belief, best answer of each trial, simulated", without)


def context_switch() -> Ceiling:
    env = make("ContextSwitch-v0")
    performance = max(env.p_switch, 1 - env.p_switch)
    method = "exact: each outcome reveals the context"
    return Ceiling(performance, paid(env, performance), 0.0, method, guessed(0.5, paid(env, 0.5)))


def dual_task() -> Ceiling:
    """The rules change at known times; the first trial of a block reveals them.

    Of the three other pairs of rules two have the other go rule: it is guessed right with 2/3. Its outcome leaves two
    pairs in those cases and one in the other, so that the pairing rule is guessed right with 2/3 * 1/2 + 1/3.
    """
    env = make("DualTask-v0")
    performance = 1 - (1 / 3) / env.block_dur
    best = env.rewards["correct"]  # half of each task's trials are rewarded
    lost = 0.5 * (env.rewards["correct"] - env.rewards["miss"]) + 0.5 * (0 - env.rewards["fail"])
    blind = guessed(0.5, best - lost)  # either rule is guessed, and kept
    return Ceiling(performance, best - (2 / 3) * lost / env.block_dur, 0.0, "exact: one trial reveals the rules", blind)


def linked(task: str) -> Ceiling:
    """Sides that follow a process of the task's own: the exact filter, with and without the outcomes."""
    env = make(task)
    told, untold = (
        Ceiling(**followed(env, env.ideal_observer.process, outcome_shown=shown)) for shown in (True, False)
    )
    return replace(told, without_reward=untold)


def ibl20() -> Ceiling:
    """Blocks of sides, of a length that is always the same: after the first one the stimuli alone tell the block."""
    return Ceiling(**ceiling(SideBias(ngym.make("PerceptualDecisionMaking-v0"), PROBABILITIES, BLOCK_TRIALS)))
