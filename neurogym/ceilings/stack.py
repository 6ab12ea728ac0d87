"""The ceiling of a stack: that of its task, and what every wrapper does to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.ceilings import stored
from neurogym.ceilings.effects import Effect
from neurogym.ceilings.observer import OBSERVED, Observer
from neurogym.ceilings.processes import LONGEST, Filter, Floats, Process, Sessions
from neurogym.core import TrialEnv
from neurogym.envs.multi import ScheduleEnvs
from neurogym.scores import Score

HARMLESS = ("OrderEnforcing", "PassiveEnvChecker")  #: wrappers of Gymnasium that pass everything on
HOOKS = (
    "plan",
    "revise",
    "observe",
    "appended",
    "step",
    "reset",
    "new_trial",
    "trial_ended",
    "observation",
    "reward",
    "action",
)

TIMINGS, TRIALS = 24, 800  #: of a single answer
SESSIONS, FEWEST_SESSIONS, CELLS = 256, 16, 40_000  #: followed sessions, and the size of all beliefs together
WARM_UP, MEASURED = 400, 400  #: trials of a session, at most and at least


@dataclass(frozen=True)
class Verdict:
    """A ceiling, or why there is none."""

    score: Score | None
    why: str = ""


def ceiling(env: gym.Env, memory: bool = True) -> Score | None:
    """Score of the ideal observer of a task with all its wrappers.

    Args:
        env: The whole stack.
        memory: Whether the agent remembers earlier trials (its state is not reset at every trial).

    Returns:
        ``performance``, ``reward`` (None where only the performance is known), ``error`` (Monte-Carlo standard error
        of the performance) and ``method``; None where it is not known.
    """
    return verdict(env, memory).score


def why_unknown(env: gym.Env, memory: bool = True) -> str:
    """Why a ceiling is not known, as the end of a sentence; empty where it is."""
    return verdict(env, memory).why


def needs_reward(env: gym.Env) -> bool:
    """Whether the task's ceiling needs the last reward as input."""
    return bool((env.unwrapped.metadata or {}).get("needs_reward"))


def sees_reward(env: gym.Env) -> bool:
    """Whether the agent is shown its last reward."""
    return "PassReward" in _names(env)


def verdict(env: gym.Env, memory: bool = True, told: bool | None = None) -> Verdict:
    """The ceiling of a stack, or why it is not known; see :func:`ceiling`.

    Args:
        env: The stack.
        memory: Whether the agent remembers earlier trials.
        told: Whether the agent is shown its last reward; None: as the stack says.
    """
    task = env.unwrapped
    if not isinstance(task, TrialEnv):
        return Verdict(None, "the task is not trial-based")
    layers = _layers(env)
    effects = [(layer, _effect(layer)) for layer in layers]
    own = stored.own_wrappers(task)
    base = None
    if own and all(effect.kind == "leaves" for _, effect in effects[own:]):
        base = stored.stored_ceiling(task)
    if base is not None:  # it takes account of the wrappers that the registered task itself consists of
        effects = effects[own:]
    for layer, effect in effects:
        if effect.kind == "unknown":
            return Verdict(None, f"{_key(layer)}: {effect.why}")
    noises = tuple(layer for layer, effect in effects if effect.kind == "noise")
    processes = [effect.process for _, effect in effects if effect.process is not None]
    told = sees_reward(env) if told is None else told
    if len(processes) > 1:
        return Verdict(None, "more than one wrapper decides the ground truth")
    if isinstance(task, ScheduleEnvs):
        mean = None if noises or processes else mixture(task, memory, told)
        found = Verdict(mean, "" if mean else "that of one of the tasks is not known, or not which task runs")
    elif noises or processes:
        process = processes[0] if processes else None
        found = _computed(env, task, task.ceiling() if base is None else base, noises, process, memory, told)
    else:
        found = _remembered(env, task, task.ceiling() if base is None else base, memory, told)
    if found.score is not None and not all(effect.reward for _, effect in effects):
        return Verdict({**found.score, "reward": None})
    return found


# -- what is put on a task --------------------------------------------------------------------------------------------


def _layers(env: gym.Env) -> list[gym.Env]:
    """The wrappers, innermost first, without those that pass everything on."""
    found: list[gym.Env] = []
    while isinstance(env, gym.Wrapper):
        if type(env).__name__ not in HARMLESS:
            found.append(env)
        env = env.env
    return found[::-1]


def _names(env: gym.Env) -> list[str]:
    return [cls.__name__ for layer in _layers(env) for cls in type(layer).__mro__]


def _effect(layer: Any) -> Effect:
    for cls in type(layer).__mro__:
        own = vars(cls)
        if "effect_on_ceiling" in own or own.get("ceiling_effect") is not None:
            return layer.effect_on_ceiling()
        if any(hook in own for hook in HOOKS):  # what it inherits no longer tells
            break
    return Effect("unknown", "it does not say what it does to the ceiling")


def _key(layer: gym.Env) -> str:
    from neurogym.wrappers import key_of

    return key_of(type(layer).__name__)


def _remembered(env: gym.Env, task: TrialEnv, base: Score | None, memory: bool, told: bool) -> Verdict:
    """The ceiling of a task by itself, as far as the agent is given what it needs."""
    if base is None:
        return Verdict(None, "no exact observer is known for the task with these arguments")
    if needs_reward(env) and not (told and memory):
        without = stored.without_reward(task)
        if without is None:
            return Verdict(None, "the agent is not shown its last reward, which the task needs")
        if told:
            return Verdict(None, "the agent forgets earlier trials, which the task needs")
        return Verdict(without)
    if needs_reward(env) and _noise_outside_reward(env):
        return Verdict(None, "noise is put on the last reward")
    if not memory and task.metadata.get("carries") and base["performance"] < 1:
        return Verdict(None, "the agent forgets earlier trials, which the task needs")
    return Verdict(base)


def _noise_outside_reward(env: gym.Env) -> bool:
    kinds = [[cls.__name__ for cls in type(layer).__mro__] for layer in _layers(env)]
    places = [k for k, names in enumerate(kinds) if "PassReward" in names]
    return bool(places) and any("Noise" in names for names in kinds[places[0] :])


# -- calculation ------------------------------------------------------------------------------------------------------


def _computed(
    env: gym.Env,
    task: TrialEnv,
    base: Score | None,
    noises: tuple[Any, ...],
    process: Process | None,
    memory: bool,
    told: bool,
) -> Verdict:
    """The ceiling with noise or another process of ground truths on the task."""
    if not noises and base is not None and base["performance"] == 1.0:
        return Verdict({**base, "reward": None, "method": "the right answer can be told in every trial"})
    id_ = stored.id_of(task)
    if id_ not in OBSERVED:
        return Verdict(None, "no exact observer is known for the task with this wrapper")
    observer = Observer(task, OBSERVED[id_], noises)
    if noises and not observer.timed:
        return Verdict(None, "noise hides when the periods of a trial begin, whose durations vary")
    if process is None:
        if needs_reward(env) or not memory and task.metadata.get("carries"):
            return Verdict(None, "no exact observer is known for the task with this wrapper")
        scores = observer.scores(TIMINGS, TRIALS)
        score = _score(float(scores.performance.mean()), float(scores.reward.mean()), scores.error)
        return Verdict({**score, "method": "exact posterior over noise-free trials, all noise added, simulated"})
    if process.remembers and memory and told:
        if _noise_outside_reward(env) or "CatchTrials" in _names(env):
            return Verdict(None, "the last reward does not tell the last answer")
    if process.lengths > LONGEST:
        return Verdict(None, f"blocks of more than {LONGEST:,} trials are not followed")
    try:
        log, truth = observer.likelihoods(TIMINGS, TRIALS)
    except ValueError as error:
        return Verdict(None, str(error))
    return _followed(task, np.exp(log - log.max(axis=1, keepdims=True)), truth, process, memory, told)


def _score(performance: float, reward: float | None, error: float) -> Score:
    return {"performance": performance, "reward": reward, "error": error}


def _followed(
    task: TrialEnv, likelihood: Floats, truth: np.ndarray, process: Process, memory: bool, told: bool
) -> Verdict:
    rewards = task.rewards
    if not process.remembers:
        performance, error = _expected(likelihood, truth, process.matrices[0, 0])
        method = "exact posterior with the probabilities of the right answers"
    elif memory:
        performance, error = simulated(likelihood, truth, process, told)
        said = "told the outcomes" if told else "from the stimuli alone"
        method = f"exact filter over the wrapper's own process, {said}, in the long run"
    elif told:
        return Verdict(None, "the agent forgets all but the last trial")
    else:
        performance, error = _expected(likelihood, truth, _shares(process))
        method = "exact posterior without memory of earlier trials"
    reward = performance * rewards["correct"] + (1 - performance) * rewards.get("fail", 0.0)
    return Verdict({**_score(performance, float(reward), error), "method": f"{method}, simulated"})


def _expected(likelihood: Floats, truth: np.ndarray, p: Floats) -> tuple[float, float]:
    """Accuracy of the best answer if the ground truth has probabilities ``p``, and its standard error."""
    best = (likelihood * p).max(axis=1) / (likelihood * p).sum(axis=1)
    parts = [best[truth == g] for g in range(len(p))]
    mean = sum(q * part.mean() for q, part in zip(p, parts, strict=True))
    error = np.sqrt(sum(q**2 * part.var() / len(part) for q, part in zip(p, parts, strict=True)))
    return float(mean), float(error)


def _shares(process: Process, trials: int = 400_000) -> Floats:
    """How often each ground truth comes."""
    choices = process.matrices.shape[1]
    sessions = Sessions(process, 200, np.random.default_rng(0))
    drawn = np.concatenate([sessions.draw() for _ in range(trials // 200)])
    return np.asarray(np.bincount(drawn, minlength=choices) / len(drawn))


def simulated(likelihood: Floats, truth: np.ndarray, process: Process, told: bool) -> tuple[float, float]:
    """Mean posterior probability of the best answer, in the long run, and its standard error over sessions.

    Args:
        likelihood: Of each ground truth, for trials that are drawn from, shape (n, choices).
        truth: Index of the ground truth of these trials, shape (n,).
        process: What draws the ground truth.
        told: Whether the observer is told after each trial whether it was right.
    """
    rng = np.random.default_rng(1)
    choices = likelihood.shape[1]
    size = len(process.matrices) * choices * process.lengths
    n = int(np.clip(CELLS // size, FEWEST_SESSIONS, SESSIONS))
    block = int(np.ceil(process.trials))
    warm, measured = min(2 * block + 20, WARM_UP), max(MEASURED, 2 * block)
    places = [np.flatnonzero(truth == g) for g in range(choices)]
    observer, sessions = Filter(process, n), Sessions(process, n, rng)
    total = np.zeros(n)
    for trial in range(warm + measured):
        prior, right = observer.predict(), sessions.draw()
        seen = np.empty((n, choices))
        for g in range(choices):
            at = right == g
            seen[at] = likelihood[rng.choice(places[g], size=np.count_nonzero(at))]
        post = prior * seen
        post /= post.sum(axis=1, keepdims=True)
        answer = post.argmax(axis=1)
        if trial >= warm:
            total += post.max(axis=1)
        if told:  # an error leaves the other answers, as likely as the stimulus makes them
            hit = answer == right
            other = seen * (np.arange(choices) != answer[:, None])
            seen = np.where(hit[:, None], np.eye(choices)[right], other)
        observer.update(seen)
    each = total / measured
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(n))


def mixture(several: ScheduleEnvs, memory: bool, told: bool) -> dict[str, Any] | None:
    """Mean of the ceilings of several tasks, weighted by how often each comes.

    Args:
        several: A :class:`neurogym.envs.multi.ScheduleEnvs`.
        memory: Whether the agent remembers earlier trials.
        told: Whether the agent is shown its last reward.

    Returns:
        None if that of one of the tasks is not known, or the agent is not told which task runs.
    """
    shares = several.shares
    if np.count_nonzero(shares) > 1 and not several.env_input:
        return None
    found = [(p, verdict(env, memory, told).score) for p, env in zip(shares, several.envs, strict=True) if p]
    scores = [score for _, score in found if score is not None]
    if len(scores) < len(found):
        return None
    weights = np.array([p for p, _ in found])
    rewards = [score["reward"] for score in scores]
    return {
        "performance": float(weights @ [score["performance"] for score in scores]),
        "reward": None if None in rewards else float(weights @ rewards),
        "error": float(np.sqrt(np.sum((weights * [score["error"] for score in scores]) ** 2))),
        "method": "mean of the ceilings of the tasks",
    }


def ceiling_of_several(several: ScheduleEnvs) -> Score | None:
    """The mean of the ceilings of several tasks for an agent that remembers and sees its rewards."""
    return mixture(several, memory=True, told=True)
