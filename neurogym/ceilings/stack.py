"""Ceiling of a stack: the ceiling of the task, changed by every wrapper."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import gymnasium as gym
import numpy as np

from neurogym.ceilings import stored
from neurogym.ceilings.checks import exceeded
from neurogym.ceilings.effects import Effect, effect_of
from neurogym.ceilings.observer import METHOD, IdealObserver
from neurogym.ceilings.processes import BlockProcess
from neurogym.ceilings.single import followed, observer_of, unanswerable, with_reward
from neurogym.core import TrialEnv
from neurogym.envs.multi import ScheduleEnvs
from neurogym.scores import Score
from neurogym.wrappers import key_of
from neurogym.wrappers.forwarding import layers

HARMLESS = ("OrderEnforcing", "PassiveEnvChecker")  #: wrappers of Gymnasium that pass everything on

NO_OBSERVER = "no exact observer is known for the task with this wrapper"
FORGETS = "the agent forgets earlier trials, which the task needs"
TELLS = "the next trial shows whether the last answer was correct, which the task's own ceiling does not count on"


@dataclass(frozen=True)
class StackCeiling:
    """Ceiling, or the reason why none is known."""

    score: Score | None
    why: str = ""


def ceiling(env: gym.Env, memory: bool = True) -> Score | None:
    """Score of the ideal observer of a task with all wrappers.

    Args:
        env: The whole stack.
        memory: Whether the agent remembers earlier trials (its state is not reset at every trial).

    Returns:
        ``performance``, ``reward`` (None where only the performance is known), ``error`` (Monte-Carlo standard error
        of the performance) and ``method``; None where it is not known.
    """
    return verdict(env, memory).score


def why_unknown(env: gym.Env, memory: bool = True) -> str:
    """Reason for an unknown ceiling, as the end of a sentence; empty if the ceiling is known."""
    return verdict(env, memory).why


def needs_reward(env: gym.Env) -> bool:
    """Whether the task's ceiling needs the last reward as input."""
    return bool((env.unwrapped.metadata or {}).get("needs_reward"))


def sees_reward(env: gym.Env) -> bool:
    """Whether the agent observes its last reward."""
    return "PassReward" in _names(env)


def verdict(env: gym.Env, memory: bool = True, outcome_shown: bool | None = None) -> StackCeiling:
    """Return the ceiling of a stack, or the reason for an unknown ceiling; see :func:`ceiling`.

    Args:
        env: The stack.
        memory: Whether the agent remembers earlier trials.
        outcome_shown: Whether the agent is shown its last reward; None: according to the stack.
    """
    task = env.unwrapped
    if not isinstance(task, TrialEnv):
        return StackCeiling(None, "the task is not trial-based")
    if reason := unanswerable(task):
        return StackCeiling(None, reason)
    effects = [(layer, effect_of(layer)) for layer in _layers(env)]
    n_builtin = stored.own_wrappers(task)
    base = None
    if n_builtin and all(effect.kind == "leaves" for _, effect in effects[n_builtin:]):
        base = stored.stored_ceiling(task)
    if base is not None:  # includes the wrappers that the registered task itself consists of
        effects = effects[n_builtin:]
    for layer, effect in effects:
        if effect.kind == "unknown":
            return StackCeiling(None, f"{_key(layer)}: {effect.why}")
    noises = tuple(layer for layer, effect in effects if effect.kind == "noise")
    processes = [effect.process for _, effect in effects if effect.process is not None]
    if len(processes) > 1:
        return StackCeiling(None, "more than one wrapper decides the ground truth")
    outcome_shown = sees_reward(env) if outcome_shown is None else outcome_shown
    stack = _Stack(env, task, tuple(effect for _, effect in effects), base, memory, outcome_shown)
    if isinstance(task, ScheduleEnvs):
        changed = noises or processes or any(effect.tells_outcome or effect.hides_outcome for effect in stack.effects)
        mean = None if changed else mixture(task, memory, outcome_shown)
        result = StackCeiling(mean, "" if mean else "that of one of the tasks is not known, or not which task runs")
    elif noises or processes or stack.own_process is not None:
        settings = observer_of(task)
        process = processes[0] if processes else getattr(settings, "process", None)
        try:
            result = StackCeiling(_computed(stack, noises, process))
        except ValueError as error:
            result = StackCeiling(None, str(error))
    else:
        result = _remembered(stack)
    if result.score is not None and not all(effect.reward for effect in stack.effects):
        result = StackCeiling({**result.score, "reward": None})
    reason = "" if result.score is None else exceeded(env, result.score)
    return StackCeiling(None, reason) if reason else result


@dataclass(frozen=True)
class _Stack:
    """Task with wrappers, and information available to the agent.

    Attributes:
        env: The whole stack.
        task: The innermost environment.
        effects: Effects of the wrappers, innermost first.
        base: Stored ceiling that includes wrappers of the registered task; None: the task's own ceiling counts.
        memory: Whether the agent remembers earlier trials.
        told: Whether the agent is shown its last reward.
    """

    env: gym.Env
    task: TrialEnv
    effects: tuple[Effect, ...]
    base: Score | None
    memory: bool
    told: bool

    @functools.cached_property
    def ceiling(self) -> Score | None:
        return self.task.ceiling() if self.base is None else self.base

    @property
    def own_process(self) -> BlockProcess | None:
        """Process of the task's own ground truths, unless the result is stored."""
        is_stored = self.base is not None or stored.stored("ceilings", self.task) is not None
        settings = observer_of(self.task)
        return None if is_stored or settings is None else settings.process

    @property
    def linked(self) -> bool:
        """Whether the ground truth of a trial depends on earlier trials of the task."""
        return needs_reward(self.env) or bool(self.task.metadata.get("history_dependent"))

    @property
    def next_trial_reveals_outcome(self) -> bool:
        """Whether the next trial shows if the last answer was correct."""
        return any(effect.tells_outcome for effect in self.effects)

    @property
    def reward_hides(self) -> str:
        """Reason why the last reward does not reveal whether the last answer was correct; empty if revealed."""
        if any(effect.hides_outcome for effect in self.effects):
            return "the last reward does not show whether the last answer was correct"
        if _noise_outside_reward(self.env):
            return "noise is put on the last reward"
        paid = self.task.rewards
        if paid.get("correct", 1.0) == paid.get("fail", 0.0):
            return "correct answers and errors have the same reward"
        return ""


# -- layers around a task ---------------------------------------------------------------------------------------------


def _layers(env: gym.Env) -> list[gym.Env]:
    """Wrappers from innermost to outermost, without wrappers that leave everything unchanged."""
    return [layer for layer in layers(env) if type(layer).__name__ not in HARMLESS]


def _names(env: gym.Env) -> list[str]:
    return [cls.__name__ for layer in _layers(env) for cls in type(layer).__mro__]


def _key(layer: gym.Env) -> str:

    return key_of(type(layer).__name__)


def _remembered(stack: _Stack) -> StackCeiling:
    """Return the ceiling of a task whose wrappers leave the ceiling, as far as the agent gets what the task needs."""
    base = stack.ceiling
    if base is None:
        return StackCeiling(None, "no exact observer is known for the task with these arguments")
    if not stack.linked:
        return StackCeiling(base)
    if not needs_reward(stack.env):
        if base["performance"] == 1:
            return StackCeiling(base)
        if not stack.memory:
            return StackCeiling(None, FORGETS)
        return StackCeiling(None, TELLS) if stack.next_trial_reveals_outcome else StackCeiling(base)
    if not stack.memory and (stack.told or stack.next_trial_reveals_outcome):
        return StackCeiling(None, FORGETS)
    if stack.next_trial_reveals_outcome:  # the outcome itself, which is more than a random reward
        return StackCeiling(None, TELLS) if stack.task.metadata.get("probabilistic") else StackCeiling(base)
    if stack.told:
        return StackCeiling(None, stack.reward_hides) if stack.reward_hides else StackCeiling(base)
    without = (stored.stored("ceilings", stack.task) or {}).get("without_reward")
    if without is None:
        return StackCeiling(None, "the agent is not shown its last reward, which the task needs")
    return StackCeiling(without)


def _noise_outside_reward(env: gym.Env) -> bool:
    reward_shown = False
    for layer in _layers(env):
        names = [cls.__name__ for cls in type(layer).__mro__]
        reward_shown |= "PassReward" in names
        if reward_shown and "Noise" in names and effect_of(layer).kind != "leaves":
            return True
    return False


# -- calculation ------------------------------------------------------------------------------------------------------


def _computed(stack: _Stack, noises: tuple[gym.Env, ...], process: BlockProcess | None) -> Score | None:
    """Return the ceiling with noise on the task, or with ground truths from a process.

    Raises:
        ValueError: If it is not known; the message is the reason, as the end of a sentence.
    """
    task = stack.task
    outcome_known = stack.next_trial_reveals_outcome or stack.told
    if not noises and not stack.linked and (stack.ceiling or {}).get("performance") == 1.0:
        return {**stack.ceiling, "method": "the right answer can be known in every trial"}  # type: ignore[dict-item]
    if process is not None:
        follows_rewards = process.remembers and stack.memory and stack.told and not stack.next_trial_reveals_outcome
        if follows_rewards and stack.reward_hides:
            raise ValueError(stack.reward_hides)
        return followed(task, process, noises, stack.memory, outcome_known)
    settings = observer_of(task)
    if settings is None or stack.linked:
        raise ValueError(NO_OBSERVER)
    score = IdealObserver(task, settings, noises).score(f"{METHOD}, all noise added")
    return with_reward(task, score)


def mixture(several: ScheduleEnvs, memory: bool, outcome_shown: bool) -> Score | None:
    """Mean of the ceilings of several tasks, weighted by how often each comes.

    Args:
        several: A :class:`neurogym.envs.multi.ScheduleEnvs`.
        memory: Whether the agent remembers earlier trials.
        outcome_shown: Whether the agent is shown its last reward.

    Returns:
        None if that of one of the tasks is not known, or the agent does not see which task runs.
    """
    shares = several.shares
    if np.count_nonzero(shares) > 1 and not several.tells_task:
        return None
    rows = [(p, verdict(env, memory, outcome_shown).score) for p, env in zip(shares, several.envs, strict=True) if p]
    scores = [score for _, score in rows if score is not None]
    if len(scores) < len(rows):
        return None
    weights = np.array([p for p, _ in rows])
    rewards = [score["reward"] for score in scores]
    return {
        "performance": float(weights @ [score["performance"] for score in scores]),
        "reward": None if None in rewards else float(weights @ rewards),
        "error": float(np.sqrt(np.sum((weights * [score["error"] for score in scores]) ** 2))),
        "method": "mean of the ceilings of the tasks",
    }


def ceiling_of_several(several: ScheduleEnvs) -> Score | None:
    """Mean ceiling of several tasks for an agent that remembers and sees rewards."""
    return mixture(several, memory=True, outcome_shown=True)
