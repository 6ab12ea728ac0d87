"""Trials as an agent that is always correct sees them, for supervised learning.

A session, a data set and a supervised learner show such an agent the same rows. Where wrappers show what the agent did,
a trial ends where the right answer ends it, because nothing after it could have been seen; without such wrappers all
rows of a trial can be kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from neurogym.core import TrialEnv
from neurogym.engine.making import make_trials
from neurogym.spaces import Action
from neurogym.state import Data
from neurogym.trials import Trials
from neurogym.trials.events import END
from neurogym.wrappers.base import OrderEnforcing, TrialWrapper, first_observation, no_action
from neurogym.wrappers.forwarding import layers
from neurogym.wrappers.stack import PASSIVE, Stack


class Frame(NamedTuple):
    """Rows of consecutive trials.

    Attributes:
        ob: Observations, (rows, ...).
        gt: Ground truth, (rows,) or (rows, components).
        rows: Which rows of ``trials`` they are, (rows,).
        length: Rows of each trial, (trials,).
        trials: The trials.
    """

    ob: np.ndarray
    gt: np.ndarray
    rows: np.ndarray
    length: np.ndarray
    trials: Trials


class GroundTruthStream:
    """Endless session of one environment in which every action is correct.

    Args:
        env: A task with its wrappers; the session is its own.
        after_answer: Whether rows after the right answer are kept, where wrappers let them be.

    Attributes:
        task: The innermost environment.
        makes_blocks: Whether many trials are made at a time.

    Raises:
        TypeError: If the environment is not trial-based.
    """

    def __init__(self, env: gym.Env, after_answer: bool = True):
        if not isinstance(env.unwrapped, TrialEnv):
            raise TypeError(f"a Dataset needs a trial-based task, not {env.unwrapped}")
        self.env: Any = env
        self.task: TrialEnv = env.unwrapped
        self._stack = Stack(env)
        self.after_answer = after_answer and not self._stack.shows
        other_layers = [w for w in layers(env) if not isinstance(w, (TrialWrapper, OrderEnforcing, *PASSIVE))]
        steps = bool(other_layers) or any(w.hooks.own_step for w in self._stack.wrappers)
        steps |= self.task.traits.observation_depends_on_step
        is_known = self.task.traits.batched or not self._stack.shows  # what the right action earns, if that is shown
        self.makes_blocks = self._stack.ahead and is_known and not steps
        self._steps = not self.makes_blocks and (steps or self._stack.shows)
        self._seen: np.ndarray | None = None
        self.forget()

    def forget(self) -> None:
        """Reset the last action and reward."""
        self._last: tuple[Action, float] = no_action(self.task.action_space), 0.0

    def restart(self, seed: int | None) -> None:
        """Begin a session from ``seed``."""
        self.forget()
        if self.makes_blocks:
            self.task.session.begin(seed)
        else:
            self._seen, _ = self.env.reset(seed=seed)

    def make(self, n: int, conditions: Mapping[str, object] | None = None) -> Frame:
        """Return the next trials: ``n`` trials if the task makes blocks of trials, else a single trial.

        Args:
            n: How many.
            conditions: Conditions, as for :meth:`TrialEnv.make_trials`.

        Raises:
            ValueError: If the task has no ground truth, or a condition is unknown.
        """
        conditions = dict(conditions or {})
        if self._steps:
            return self._stepped(conditions)
        if self.makes_blocks:
            trials = make_trials(self.task, n, conditions, answered=not self.after_answer)
        else:
            self.env.new_trial(**conditions)
            self.task.session.finish_pending_step()
            trials = self.task.session.this_trial
        if not trials.has_gt:
            raise self._no_truth()
        if self.after_answer and _follow_each_other(trials):
            return Frame(trials.ob, trials.gt, trials.rows().index, trials.length, trials)
        rows, length = self._rows_seen(trials)
        ob = self._observed(trials, rows) if self._stack.shows else trials.ob[rows]
        return Frame(ob, trials.gt[rows], rows, length, trials)

    def _no_truth(self) -> ValueError:
        return ValueError(f"{type(self.task).__name__} has no ground truth, so that nothing can be learned from it")

    def _rows_seen(self, trials: Trials) -> tuple[np.ndarray, np.ndarray]:
        """Rows that belong to the trials (some may have been shortened) and that a right agent sees; how many each."""
        rows, length = trials.rows_of(np.arange(trials.n)), trials.length
        if self.after_answer or "event" not in trials.fields:
            return rows, length
        right = trials.fields["event"][rows, trials.gt[rows]] >= END
        before = np.cumsum(right) - right  # ends before this row, over all trials
        trial = np.repeat(np.arange(trials.n), length)
        remaining = before == before[np.cumsum(length) - length][trial]
        return rows[remaining], np.bincount(trial[remaining], minlength=trials.n)

    def _observed(self, trials: Trials, rows: np.ndarray) -> np.ndarray:
        """Observations as shown by the wrappers."""
        fields = trials.fields
        gt, reward = trials.gt[rows], fields["reward"][rows, trials.gt[rows]]
        actions = np.concatenate([np.asarray(self._last[0], gt.dtype)[None], gt[:-1]])
        rewards = np.concatenate([[self._last[1]], reward[:-1]])
        self._last = gt[-1], float(reward[-1])

        def field(name: str) -> np.ndarray:
            return actions if name == "last_gt" else fields[name][rows]  # what was right was done

        return self._stack.observe(trials.ob[rows], actions, rewards, field)

    def _stepped(self, conditions: Mapping[str, object]) -> Frame:
        """A trial of the environment itself, step by step."""
        if conditions:
            self.env.new_trial(**conditions)
            self._seen = first_observation(self.env)
        task, obs, truths = self.task, [], []
        if task.session.cursor.gt is None:
            raise self._no_truth()
        task.session.finish_pending_step()
        trials = task.session.this_trial
        ended = False
        while not ended:
            obs.append(self._seen)
            truths.append(np.copy(task.gt_now))
            self._seen, _, terminated, truncated, info = self.env.step(truths[-1][()])
            ended = info["new_trial"]
            if terminated or truncated:
                self._seen, _ = self.env.reset()
                ended = True
        rows = int(trials.offset[0]) + np.arange(len(obs))
        return Frame(np.array(obs), np.array(truths), rows, np.array([len(obs)]), trials)

    def state(self) -> Data:
        """State of the stream apart from the environment, as plain data."""
        seen = np.zeros(0) if self._seen is None else np.asarray(self._seen)
        return {"action": np.asarray(self._last[0]), "reward": self._last[1], "seen": seen}

    def set_state(self, state: Data) -> None:
        """Continue from what :meth:`state` returned."""
        self._last = np.asarray(state["action"])[()], float(state["reward"])
        self._seen = state.get("seen")


def _follow_each_other(trials: Trials) -> bool:
    """Whether the rows of each trial directly follow the rows of the trial before, without gaps."""
    ends = np.cumsum(trials.length)
    return int(ends[-1]) == trials.total and np.array_equal(trials.offset[1:], ends[:-1])
