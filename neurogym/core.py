"""Base class of tasks: :class:`TrialEnv`.

A task describes its trials in ``_new_trials`` and declares in ``rule`` how they are answered::

    class Match(TrialEnv):
        default_timing = {"fixation": 200, "stimulus": 500, "decision": 200}
        default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0}
        rule = Rule(fixate=("fixation", "stimulus"), answer=("decision",))

        def __init__(self, dt=100, rewards=None, timing=None, sigma=1.0):
            super().__init__(dt=dt, rewards=rewards, timing=timing)
            self.sigma = sigma / np.sqrt(dt)
            self.conditions = {"ground_truth": [0, 1]}
            self.observation_space = spaces.Box(-np.inf, np.inf, shape=(3,), name={"fixation": 0, "stimulus": [1, 2]})
            self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

        def _new_trials(self, trials):
            truth = trials.draw("ground_truth")
            trials.add_ob(1, ["fixation", "stimulus"], where="fixation")
            trials.add_ob(np.eye(2)[truth], "stimulus", where="stimulus")
            trials.add_randn(0, self.sigma, "stimulus", where="stimulus")
            trials.set_groundtruth(truth, "decision", where="choice")

It describes many trials at once: what it draws has one entry per trial. The periods of ``default_timing`` follow each
other; a task with other periods adds them (``trials.add_period``). A task may instead describe one trial at a time
(``_new_trial``, in which ``self.add_period``, ``self.add_ob``, ... mean the same for that trial), and program its own
``_step`` where the ordinary rule does not do.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from neurogym import scores
from neurogym.compat.leniency import warn_once
from neurogym.cycle import TrialCycle
from neurogym.messages.names import unknown
from neurogym.parameters import EnvMeta
from neurogym.parameters.base import BaseEnv
from neurogym.rules import Rule
from neurogym.sampling.distributions import Distribution
from neurogym.scores import Score
from neurogym.trials import InvalidOperationError, Trials
from neurogym.wrappers.base import OrderEnforcing, TrialWrapper, no_action

__all__ = [
    "BaseEnv",
    "EnvMeta",
    "EpochEnv",
    "InvalidOperationError",
    "OrderEnforcing",
    "PeriodEnv",
    "TrialEnv",
    "TrialWrapper",
    "env_string",
    "no_action",
]


class TrialEnv(TrialCycle):
    """An environment made of trials, and trials made of periods.

    Args:
        dt: Time step in ms.
        num_trials_before_reset: Accepted for old scripts; a session has no end of its own.
        r_tmax: Reward added when a trial runs out (tasks that program ``_step``).
        rewards: Replaces entries of the class's ``default_rewards``.
        timing: Replaces entries of the class's ``default_timing`` (ms; forms: :mod:`neurogym.sampling.distributions`).
        abort: Whether breaking fixation ends the trial (declared rules).

    Attributes:
        default_timing: Period to duration, class attribute.
        default_rewards: Event to reward, class attribute.
        rule: The declared response rule, or None if the task programs ``_step``.
        rewards: Event to reward. What is changed, here or by :meth:`update`, takes effect with the next trial.
        timing: Period to duration, likewise.
        conditions: What can be asked of :meth:`new_trial`: name to a sequence of values or a distribution.
        trial: The current trial's record, a dictionary.

    Raises:
        ValueError: For a malformed duration. Of unknown rewards and periods there is a warning.
    """

    default_timing: ClassVar[Mapping[str, Any]] = {}
    default_rewards: ClassVar[Mapping[str, Any]] = {}
    rule: ClassVar[Rule | None] = None

    def __init__(
        self,
        dt: float = 100,
        num_trials_before_reset: int = 10_000_000,
        r_tmax: float = 0,
        rewards: Mapping[str, Any] | None = None,
        timing: Mapping[str, Any] | None = None,
        abort: bool = False,
    ):
        super().__init__(dt)
        self.num_tr_exp = num_trials_before_reset
        self.r_tmax = r_tmax
        self.abort = abort
        self.rewards = self._merged("reward", self.default_rewards, rewards)
        self.timing = self._merged("period", self.default_timing, timing)
        for spec in self.timing.values():
            Distribution.of(spec)

    @staticmethod
    def _merged(kind: str, default: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
        for name in given or ():
            if default and name not in default:
                warn_once(unknown(kind, name, default), "it is not used")
        return {**default, **(given or {})}

    def oracle(self) -> Any:
        """The best action at the current row: the ground truth, unless a task knows better."""
        return self.gt_now

    def ceiling(self) -> Score | None:
        """Score of the ideal observer with the present parameters, given the inputs that this observer needs.

        That of a stack with wrappers is :func:`neurogym.ceilings.ceiling`.

        Returns:
            ``performance``, ``reward``, ``error`` (Monte-Carlo standard error) and ``method``, or None.
        """
        return scores.score("ceiling of a task", self)

    def chance(self) -> dict[str, float]:
        """``performance`` and ``reward`` per trial of an agent that draws every action uniformly."""
        return scores.score("chance", self)

    def length_is_fixed(self) -> bool:
        """Whether every trial has the same length."""
        return all(Distribution.of(spec).kind == "constant" for spec in self.timing.values())

    def trial_length_stats(self, num_trials: int = 10_000) -> dict[str, float]:
        """Mean, s.d., 95th percentile and maximum of the trial length, in steps; the session is not disturbed."""
        env = copy.deepcopy(self)
        try:
            done, lengths = 0, []
            while done < (8 if env.length_is_fixed() else num_trials):
                size = min(num_trials - done, 256) if env.stack.ahead else 1
                lengths.append(env.make_trials(size).length)
                done += size
            steps = np.concatenate(lengths)
        except NotImplementedError:
            draws = Trials(env, num_trials)
            steps = np.sum([draws.sample_time(name) / env.dt for name in env.timing], axis=0)
        return {
            "mean": round(float(steps.mean()), 3),
            "std": round(float(steps.std()), 3),
            "percentile_95": round(float(np.percentile(steps, 95)), 3),
            "max": round(float(steps.max()), 3),
        }

    def __str__(self) -> str:
        """``<TaskName>``."""
        return env_string(self, short=True)


PeriodEnv = EpochEnv = TrialEnv


def env_string(env: gym.Env, short: bool = False) -> str:
    """A description of a task: name, text, paper, rewards, tags; the short form is ``<TaskName>``."""
    task: Any = env.unwrapped
    if short:
        return f"<{type(task).__name__}>"
    meta = task.metadata
    lines = [f"### {type(task).__name__}", "", (type(task).__doc__ or "Missing description").strip(), ""]
    paper, link = meta.get("paper_name"), meta.get("paper_link")
    lines.append("Reference paper: " + (f"{paper} ({link or 'missing link'})" if paper else "missing paper"))
    if isinstance(task, BaseEnv) and task.rewards:
        lines.append("Rewards: " + ", ".join(f"{name} {value}" for name, value in dict(task.rewards).items()))
    if isinstance(task, TrialEnv) and task.timing:
        lines.append(
            "Timing: " + ", ".join(f"{name} {Distribution.of(spec).phrase()}" for name, spec in task.timing.items())
        )
    lines.append("Tags: " + (", ".join(meta.get("tags", [])) or "none"))
    return "\n".join(lines)
