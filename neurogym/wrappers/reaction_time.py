"""Reaction-time version of a task: the agent may answer while the stimulus is on."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import LEAVES, LEAVES_PERFORMANCE, Effect, unknown
from neurogym.metadata import WrapperInfo
from neurogym.parameters.arguments import Positive
from neurogym.sampling.distributions import Distribution
from neurogym.trials import Trials
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.hooks import Hooks
from neurogym.wrappers.tasks import periods_of, task_of

TRIED = 400  #: trials in which a difference after the stimulus is looked for


class ReactionTime(TrialWrapper):
    """Turn a task with a stimulus and a later decision into a reaction-time task.

    The decision may be given from one step after stimulus onset; what was right in the decision period is right from
    then on, delays included. Reaction times count from stimulus onset.

    Args:
        env: A task with periods called ``stimulus`` and ``decision``.
        urgency: Added to the reward of every step (negative: time costs).
        end_on_stimulus: Whether a trial without an answer ends with the stimulus.
        urgency_growth: Added to the reward of waiting, times the number of steps since stimulus onset (negative: time
            costs more and more, which makes the best bound fall and errors slow).

    Raises:
        AttributeError: If the task has no such periods or no ground truth.
        ValueError: If urgency grows in a task without an action that means waiting.
    """

    metadata = WrapperInfo(
        doi="10.1523/JNEUROSCI.22-21-09475.2002", order="any; only one on a task", measures=("reaction",)
    )
    hooks = Hooks(changes=("timing", "rewards"))
    decides = ("the decision period",)

    def __init__(
        self, env: gym.Env, urgency: float = 0.0, end_on_stimulus: bool = True, *, urgency_growth: float = 0.0
    ):
        task = task_of(env, type(self).__name__)
        if not {"stimulus", "decision"} <= periods_of(task):
            raise self._unfit(task)
        super().__init__(env)
        self.urgency, self.end_on_stimulus, self.urgency_growth = urgency, end_on_stimulus, urgency_growth
        waiting: int | None = getattr(task.rule, "hold", None)
        if urgency_growth and waiting is None:
            raise ValueError(f"{type(task).__name__} has no action that means waiting; urgency_growth must be 0")
        self._waiting = waiting or 0

    def effect_on_ceiling(self) -> Effect:
        """Return the effect on the ceiling: none if the agent can wait for the end of the stimulus and has seen all."""
        if "stimulus" not in self.task.timing:
            return unknown("the duration of the stimulus is not known")
        if Distribution.of(self.task.timing["stimulus"])[0] != "constant":
            return unknown("the agent cannot know when the stimulus ends")
        if self._ends_too_early():
            return unknown("the trial ends before everything that matters was shown")
        return LEAVES_PERFORMANCE if self.urgency or self.urgency_growth else LEAVES

    def _ends_too_early(self) -> bool:
        """Return whether trials differ after the stimulus, or have rewards in other periods."""
        task: Any = copy.deepcopy(self.task)
        if getattr(task, "sigma", None):
            task.sigma = 0.0
        task.reset(seed=0)
        task.session.stack.keep([])
        trials = task.make_trials(TRIED)
        if any(period != "decision" for period, *_ in trials.payments):
            return True
        for period in trials.starts:
            rows = trials.rows(period)
            late = rows.step >= trials.ends["stimulus"][rows.trial]
            if late.any() and len(np.unique(trials.ob[rows.index[late]].round(5), axis=0)) > 1:
                return True
        return False

    def _unfit(self, task: Any) -> AttributeError:
        return AttributeError(
            f"{type(self).__name__} needs periods called stimulus and decision and a ground truth; "
            f"{type(task).__name__} has {', '.join(task.timing) or 'none'}"
        )

    def opening(self, trials: Trials) -> int | np.ndarray:
        """Steps after stimulus onset from which answers count."""
        return 1

    def revise(self, trials: Trials) -> None:
        """Open the decision while the stimulus is on."""
        if "stimulus" not in trials.starts or "decision" not in trials.starts or not trials.has_gt:
            raise self._unfit(self.task)
        onset, decision = trials.starts["stimulus"], trials.starts["decision"]
        answer = trials.gt[np.minimum(trials.offset + decision, trials.offset + trials.length - 1)].copy()
        start = onset + self.opening(trials)
        end = trials.ends["stimulus"] if self.end_on_stimulus else trials.length
        end = np.minimum(np.maximum(end, start + 1), trials.length)  # a brief stimulus leaves one step to answer
        trials.move_period("decision", np.minimum(start, end), end)
        trials.set_groundtruth(answer, "decision")
        trials.length = np.minimum(trials.length, end)
        trials.bonus = trials.bonus + self.urgency
        if self.urgency_growth:
            cost = lambda rows: self.urgency_growth * (rows.step - onset[rows.trial])  # noqa: E731
            trials.set_action_reward("decision", self._waiting, cost, ends=False)
        trials.go, trials.go_period = onset, "stimulus"


class VariableReactionTime(ReactionTime):
    """Let the agent answer while the stimulus is on, but only after a minimal duration, drawn for each trial.

    It is uniform between one step and ``min(stim_dur_limit, stimulus duration)``; the trial's record has it as
    ``min_stim_dur`` (ms).

    Args:
        env: A task with periods called ``stimulus`` and ``decision``.
        urgency: Added to the reward of every step (negative: time costs).
        stim_dur_limit: Longest minimal duration (ms).

    Raises:
        AttributeError: If the task has no such periods or no ground truth.
        ValueError: If the limit is not positive.
    """

    def __init__(self, env: gym.Env, urgency: float = 0.0, stim_dur_limit: Positive = 100):
        super().__init__(env, urgency)
        self.stim_dur_limit = stim_dur_limit

    def opening(self, trials: Trials) -> np.ndarray:
        """Steps after stimulus onset from which answers count."""
        length = trials.ends["stimulus"] - trials.starts["stimulus"]
        longest = np.maximum(1, np.minimum(int(self.stim_dur_limit / trials.dt + 1e-6), length))
        steps = trials.rng.integers(1, longest + 1)
        trials.info["min_stim_dur"] = steps * float(trials.dt)
        return steps
