"""Best blind agents: the score of actions that depend on the time in the trial alone.

Tasks with a declared rule are searched by dynamic programming (:mod:`neurogym.ceilings.random_agent`). Of the others
every constant action is tried, then waiting until a step and acting from there, and the best is improved one step at a
time; vectors of real numbers are replaced by the mean of the oracle's actions at each step where that is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import chisquare

import neurogym as ngym
from neurogym.ceilings import chance, stored
from neurogym.ceilings.random_agent import ALWAYS, BY_TIME, declared_blind
from neurogym.ceilings.random_agent import MIN_TRIALS as CHANCE_TRIALS
from neurogym.core import TrialEnv

Policy = Sequence[Any]
CELLS, SEARCHED, SCORED = 20_000_000, 4_000, 200_000  #: for tasks with a declared rule
FEWEST, MOST, CHECKED = 12, 150, 6_000  #: trials by which a sequence is judged, and by which the best is scored
CHANCE_STEPS, CHANCE_ERROR = 1_000_000, 0.0002  #: of a simulated random agent, about; of one with a declared rule
SEARCH, STEPS = 300_000, 200_000  #: of all judgements, and of the last scoring, about
STARTS, IMPROVED, OTHERS = 12, 20, 4  #: steps from which to act, steps that are improved, actions tried there
AT_RANDOM = "actions drawn at random, simulated"
EQUALLY_LIKELY = "exact: the right answers are equally likely"
#: Tasks that show nothing but their outcomes: whoever does not see these is blind.
SHOWN_BY_OUTCOMES = (
    *("ChangingBandit-v0", "ContextSwitch-v0", "DawTwoStep-v0", "DriftingBandit-v0"),
    *("DynamicForaging-v0", "ReversalLearning-v0", "TwoStep-v0"),
)
IN_TURN = {
    "performance": 1.0,
    "error": 0.0,
    "method": "exact: the two answers in turn, which the opponent does not foretell",
}
DRAWN = 20_000  #: trials whose right answers are counted
LEVELS = 5  #: values of each component of a vector action that are tried


def blind_entry(task: str) -> dict[str, Any]:
    """The best blind score of a task with its default parameters."""
    env = ngym.make(task).unwrapped
    assert isinstance(env, TrialEnv)
    env.reset(seed=0)
    if task in SHOWN_BY_OUTCOMES:
        return {name: _without_reward(task)[name] for name in ("performance", "error", "method")}
    if task == "MatchingPenny-v0":
        return IN_TURN
    if env.traits.batched and env.stack.ahead and not env.rule.jumps:
        entry = declared_blind(env, SEARCHED, SCORED, CELLS)
    else:
        entry = _searched(task, _cost(env))
    entry, random_agent = _by_symmetry(env, entry), chance(env)
    random = random_agent["performance"]
    if random > entry["performance"] + 2 * entry["error"]:  # an opponent, or a habit, makes any fixed sequence worse
        entry = {"performance": random, "error": random_agent["error"], "method": AT_RANDOM}
    return {**entry, "performance": round(entry["performance"], 5), "error": round(entry["error"], 5)}


def chance_entry(task: str) -> dict[str, Any]:
    """The score of random actions in a task with its default parameters."""
    env = ngym.make(task).unwrapped
    assert isinstance(env, TrialEnv)
    stored.table("chance").pop(task, None)  # so that nothing is read that is to be computed
    length = int(env.trial_length_stats(50)["max"])
    if task in SHOWN_BY_OUTCOMES and length == 1:  # a random answer is as good as any other
        return {name: _without_reward(task)[name] for name in ("performance", "reward", "error")}
    trials = max(CHANCE_STEPS // length // _cost(env), CHANCE_TRIALS)
    entry = chance(env, CHANCE_ERROR, trials) if type(env).chance is TrialEnv.chance else env.chance()
    return {name: round(value, 5) for name, value in entry.items()}


def _without_reward(task: str) -> dict[str, Any]:
    """The stored ceiling of an agent that is not shown its rewards."""
    return dict(stored.table("ceilings")[task]["without_reward"])


def _cost(env: TrialEnv) -> int:
    """How many steps of other tasks a step takes, about."""
    return 50 if len(env.observation_space.shape) == 3 else 1


def _by_symmetry(env: TrialEnv, entry: dict[str, Any]) -> dict[str, Any]:
    """The exact score where it follows from all right answers being equally likely."""
    exact = {"performance": 0.5, "error": 0.0, "method": EQUALLY_LIKELY}
    try:
        choices = np.asarray(env.choices)
    except AttributeError:
        return entry
    if not env.traits.batched or not env.stack.ahead or env.metadata.get("history_dependent"):
        return entry
    drawn = env.make_trials(DRAWN if len(env.observation_space.shape) == 1 else 50).info.get("ground_truth")
    counts = None if drawn is None else [np.count_nonzero(drawn == choice) for choice in choices]
    if counts is None or min(counts) == 0 or chisquare(counts).pvalue < 0.01:
        return entry
    share = 1 / len(choices)
    near = abs(entry["performance"] - share) < 3 * entry["error"]
    return {**exact, "performance": share} if near else entry


def _searched(task: str, cost: int) -> dict[str, Any]:
    """The best sequence that is found with as many steps as may be spent; a step counts ``cost`` times."""
    length = int(ngym.make(task).unwrapped.trial_length_stats(50)["max"])
    actions, steps = _actions(task), STEPS // cost
    judged = len(actions) * (1 + STARTS * min(OTHERS, len(actions))) + IMPROVED * min(OTHERS, len(actions))
    tried = int(np.clip(SEARCH / cost / judged / length, FEWEST, MOST))
    policies: list[Policy] = [[action] * length for action in actions]
    policies += [_mean_action(task, length)] if _is_vector(task) else []
    scores = [_score(task, policy, tried).mean() for policy in policies]
    best, score = policies[int(np.argmax(scores))], max(scores)
    if not _is_vector(task):
        starts = np.unique(np.linspace(1, length - 1, min(length - 1, STARTS)).astype(int))
        for start in starts:
            for wait in actions[:OTHERS]:
                for action in actions:
                    policy = [wait] * start + [action] * (length - start)
                    reached = _score(task, policy, tried).mean()
                    best, score = (policy, reached) if reached > score + 1e-9 else (best, score)
        best = _improved(task, best, score, actions, tried)
    values = _score(task, best, CHECKED, seed=1, steps=steps)
    batches = [batch.mean() for batch in np.array_split(values, min(25, len(values)))]
    constant = all(np.array_equal(best[0], action) for action in best)
    return {
        "performance": float(values.mean()),
        "error": float(np.std(batches, ddof=1) / np.sqrt(len(batches))),
        "method": f"{ALWAYS if constant else BY_TIME}, the best that a search found, simulated",
    }


def _is_vector(task: str) -> bool:
    return not hasattr(ngym.make(task).action_space, "n")


def _actions(task: str) -> list[Any]:
    space = ngym.make(task).action_space
    if hasattr(space, "n"):
        return list(range(int(space.n)))
    shape, low, high = space.shape, space.low, space.high
    grid = [(low + (high - low) * share).astype(space.dtype) for share in np.linspace(0, 1, LEVELS)]
    if shape == (2,):
        return [np.array([a[0], b[1]], space.dtype) for a in grid for b in grid]
    return grid


def _mean_action(task: str, length: int, trials: int = 200) -> Policy:
    """The mean of what the oracle does at each step."""
    env = ngym.make(task)
    env.reset(seed=2)
    sums, count, step = np.zeros((length, *env.action_space.shape)), np.zeros(length), 0
    for _ in range(trials if len(env.observation_space.shape) < 3 else trials // 10):
        ended = False
        while not ended:
            action = env.unwrapped.oracle()
            sums[step] += action
            count[step] += 1
            ended = env.step(action)[4]["new_trial"]
            step = 0 if ended else min(step + 1, length - 1)
    mean = sums / np.maximum(count, 1).reshape(-1, *[1] * (sums.ndim - 1))
    return [row.astype(env.action_space.dtype) for row in mean]


def _improved(task: str, policy: Policy, score: float, actions: Sequence[Any], tried: int) -> Policy:
    """Change one step after the other where that raises the score clearly."""
    policy = list(policy)
    for step in range(min(len(policy), IMPROVED)):
        for action in actions[:OTHERS]:
            candidate = [*policy[:step], action, *policy[step + 1 :]]
            reached = _score(task, candidate, tried).mean()
            if reached > score + 1e-9:
                policy, score = candidate, reached
    return policy


def _score(task: str, policy: Policy, trials: int, seed: int = 0, steps: int = 10_000_000) -> np.ndarray:
    """Performance of each trial, sessions of 20 so that no block rules."""
    env = ngym.make(task)
    env.reset(seed=seed)
    scores: list[float] = []
    step = n_actions = 0
    while len(scores) < trials and (n_actions < steps or len(scores) < 50):
        _, _, terminated, truncated, info = env.step(policy[min(step, len(policy) - 1)])
        step, n_actions = step + 1, n_actions + 1
        if info["new_trial"]:
            scores.append(info["performance"])
            step = 0
            if terminated or truncated or len(scores) % 20 == 0:
                env.reset()
    return np.array(scores)
