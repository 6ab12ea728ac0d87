"""Ceiling of a task without wrappers: stored, by the task's own formula, or by the observer of noise-free trials."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from neurogym.ceilings import stored
from neurogym.ceilings.effects import ObserverSettings
from neurogym.ceilings.observer import METHOD, TIMINGS, TRIALS, IdealObserver
from neurogym.ceilings.processes import LONGEST, BlockProcess, expected_accuracy, filtered_accuracy, long_run_shares
from neurogym.core import TrialEnv
from neurogym.rules import PAID
from neurogym.scores import Score

FEW_TIMINGS, MANY_TRIALS = 24, 800  #: of a single answer, whose likelihoods are then drawn from
LAYOUTS = 64  #: trials in which an answer period is looked for


def task_ceiling(env: TrialEnv) -> Score | None:
    """Ceiling of a task with the present parameters, for an agent that is shown its rewards if the task needs these."""
    score = stored.stored_ceiling(env)
    if score is not None or unanswerable(env):
        return score
    score = env.closed_form() if _declares(env, "closed_form") else None
    if score is None:
        return observed(env)
    if answering_pays(env) or score["reward"] is None:
        return score
    best = observed(env)
    return {**score, "reward": best and best["reward"]}


def observer_of(env: TrialEnv) -> ObserverSettings | None:
    """Settings of a task's ideal observer, unless a subclass has changed the trials."""
    return env.ideal_observer if _declares(env, "ideal_observer") else None


def _declares(env: TrialEnv, name: str) -> bool:
    """Whether the class that makes a task's trials, or one derived from it, defines an attribute."""
    for cls in type(env).__mro__:
        if name in vars(cls):
            return True
        if any(part in vars(cls) for part in ("_new_trials", "_new_trial", "_step", "rule")):
            break
    return False


def observed(env: TrialEnv, timings: int = TIMINGS, trials: int = TRIALS) -> Score | None:
    """Ceiling from the observer of noise-free trials, or from that of the task's own process; None without these."""
    settings = observer_of(env)
    if settings is None:
        return None
    try:
        if settings.process is not None:
            return followed(env, settings.process)
        score = IdealObserver(env, settings).score(METHOD, timings, trials)
    except ValueError:  # the observer does not fit these trials
        return None
    return with_reward(env, score)


def followed(
    env: TrialEnv,
    process: BlockProcess,
    noises: tuple[Any, ...] = (),
    memory: bool = True,
    outcome_shown: bool = True,
) -> Score:
    """Ceiling for ground truths that are drawn from a process.

    Args:
        env: The task.
        process: What is drawn from.
        noises: The wrappers that add noise.
        memory: Whether the agent remembers earlier trials.
        outcome_shown: Whether it learns the outcome of each trial.

    Raises:
        ValueError: If no exact observer is known; the message is the reason, as the end of a sentence.
    """
    settings = observer_of(env)
    if settings is None:
        raise ValueError("no exact observer is known for the task with this wrapper")
    if process.remembers and not memory and outcome_shown:
        raise ValueError("the agent forgets all but the last trial")
    if max(process.lengths, process.trials) > LONGEST:
        raise ValueError(f"blocks of more than {LONGEST:,} trials are not followed")
    log, truth = IdealObserver(env, settings, noises).likelihoods(FEW_TIMINGS, MANY_TRIALS)
    likelihood = np.exp(log - log.max(axis=1, keepdims=True))
    if not process.remembers:
        performance, error = expected_accuracy(likelihood, truth, process.matrices[0, 0])
        method = "exact posterior with the probabilities of the right answers"
    elif memory:
        performance, error = filtered_accuracy(likelihood, truth, process, outcome_shown)
        source = "given the outcomes" if outcome_shown else "from the stimuli alone"
        method = f"exact filter over the blocks, {source}, in the long run"
    else:
        performance, error = expected_accuracy(likelihood, truth, long_run_shares(process))
        method = "exact posterior without memory of earlier trials"
    rewards = env.rewards
    reward = performance * rewards["correct"] + (1 - performance) * rewards.get("fail", 0.0)
    method = f"{method}, simulated"
    reward = reward if answering_pays(env) else None
    return {"performance": performance, "reward": reward, "error": error, "method": method}


def answering_pays(env: TrialEnv) -> bool:
    """Whether even a guess earns at least as much as skipping the trial or breaking fixation, as by default."""
    paid, choices = env.rewards, len(env.choices) if hasattr(env, "choices") else 2
    if dict(paid) == dict(env.default_rewards):
        return True
    if set(paid) - set(PAID):
        return False
    correct, fail = paid.get("correct", 0.0), paid.get("fail", 0.0)
    guess = (correct + (choices - 1) * fail) / choices
    remaining = paid.get("miss", 0.0), paid.get("abort", 0.0)
    return correct >= fail and paid.get("withhold", 0.0) >= fail and guess >= max(remaining) and remaining[1] <= 0


def with_reward(env: TrialEnv, score: Score) -> Score:
    """Score of an observer who answers or lets the trial run out, whichever earns more; its reward if that is best."""
    paid = env.rewards
    only_escape = not set(paid) - set(PAID) and paid.get("abort", 0.0) <= min(0.0, paid.get("miss", 0.0))
    return score if only_escape or answering_pays(env) else {**score, "reward": None}


def unanswerable(task: TrialEnv) -> str:
    """Return the reason why some trials leave no time to answer; empty if all do.

    Calculations that rest on the stimuli alone do not see this.
    """
    rule = task.rule
    if rule is None or rule.answer == () or (stored.is_usual(task) and stored.is_plain(task)):
        return ""
    task = copy.deepcopy(task)
    task.reset(seed=0)
    blocks = (
        [task.make_trials(LAYOUTS)] if not task.traits.one_by_one else [task.make_trials(1) for _ in range(LAYOUTS)]
    )
    if all(np.isin(np.arange(block.n), block.rows(rule.answer).trial).all() for block in blocks):
        return ""
    return "some trials have no step for the answer, with this timing"
