"""An endless stream of trials as rows: what a network sees, and what would have been right.

Rows are those of whole trials, one trial after the other. Wrappers see the agent that always does what is right: the
last action is the last ground truth, the last reward what that earned. Tasks that describe many trials at once are
asked for blocks; others for one trial at a time; and where wrappers depend on the agent, the environment is stepped.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from neurogym import rules
from neurogym.core import OrderEnforcing, TrialEnv, TrialWrapper, no_action
from neurogym.mixing import rows_of
from neurogym.trials import Trials
from neurogym.vector import layers

FIELDS = ("inputs", "targets", "period", "starts")


class Stream:
    """Rows of one environment.

    Args:
        env: The environment; it is reset by :meth:`restart`.
        ahead: Rows to make at a time, about.
        periods: Names of periods, whose positions label the rows; new ones are added.

    Raises:
        TypeError: If the environment is not trial-based.
        ValueError: If the task has no ground truth.
    """

    def __init__(self, env: gym.Env, ahead: int, periods: list[str]):
        if not isinstance(env.unwrapped, TrialEnv):
            raise TypeError(f"a Dataset needs a trial-based task, not {env.unwrapped}")
        self.env, self.task, self.ahead, self.periods = env, env.unwrapped, ahead, periods
        wrappers = [layer for layer in layers(env) if not isinstance(layer, OrderEnforcing)]
        trial_wrappers = [w for w in wrappers if isinstance(w, TrialWrapper)]
        self.observers = [w for w in trial_wrappers if type(w).observe is not TrialWrapper.observe]
        self.kind = self._kind(wrappers)
        self.clear()

    def _kind(self, wrappers: list[gym.Env]) -> str:
        """How trials are made: in blocks, one at a time, or by stepping."""
        hooks_only = _only_trial(wrappers) and all(w.batched and not w.adaptive for w in wrappers)  # type: ignore[attr-defined]
        remembers = any(getattr(w, "remembers", False) for w in wrappers)
        if hooks_only and not remembers and self.task._plannable and (self.task.declared or not self.observers):
            return "blocks"
        plain = all(type(w).step is TrialWrapper.step for w in wrappers) and not self.observers
        return "single" if _only_trial(wrappers) and plain else "steps"

    def clear(self) -> None:
        """Forget the rows that are waiting."""
        self.waiting: list[dict[str, np.ndarray]] = []
        self.records: list[dict[str, Any]] = []
        self.count = self.used = 0  # rows waiting, and rows taken of the first part
        self.length_guess = 16.0

    def restart(self, seed: int | None) -> None:
        """Begin a session from ``seed``."""
        self.clear()
        self.seen, _ = self.env.reset(seed=seed)
        self.last: tuple[Any, float] = no_action(self.env.action_space), 0.0

    # -- making rows --------------------------------------------------------------------------------------------------

    def block(self, given: dict[str, Any]) -> tuple[dict[str, np.ndarray], list[dict[str, Any]]]:
        """Whole trials, one after the other, about ``ahead`` rows of them, and the record of each."""
        if self.kind != "blocks":
            rows, record = self._single(given) if self.kind == "single" else self._stepped()
            return rows, [record]
        n = int(np.clip(np.ceil(self.ahead / self.length_guess), 1, 512))
        trials = self.task.make_trials(n, **given)
        self.length_guess = max(1.0, float(trials.length.mean()))
        return self._rows_of_block(trials), [{k: v[i] for k, v in trials.info.items()} for i in range(n)]

    def _rows_of_block(self, trials: Trials) -> dict[str, np.ndarray]:
        if not trials.has_gt:
            raise ValueError(f"{type(self.task).__name__} has no ground truth, so that nothing can be learned from it")
        index = rows_of(trials, np.arange(trials.n))
        ob, gt = trials.ob[index], trials.gt[index]
        first = np.cumsum(trials.length) - trials.length
        if self.observers:
            ob = self._observed(trials, ob, gt, index, first)
        starts = np.zeros(len(index), bool)
        starts[first] = True
        period = self._labels(trials)[index]
        return {"inputs": ob, "targets": gt, "period": period, "starts": starts}

    def _observed(
        self, trials: Trials, ob: np.ndarray, gt: np.ndarray, index: np.ndarray, first: np.ndarray
    ) -> np.ndarray:
        """The rows as wrappers show them to an agent that does what is right."""
        fields = trials.fields
        answered = fields["event"][index, gt] >= rules.END
        before = np.cumsum(answered) - answered  # answers up to, not including, this row
        over = before > np.repeat(before[first], trials.length)
        reward = np.where(over, 0.0, fields["reward"][index, gt])
        actions = np.concatenate([[self.last[0]], gt[:-1]])
        rewards = np.concatenate([[self.last[1]], reward[:-1]])
        self.last = gt[-1], float(reward[-1])
        for wrapper in self.observers:
            ob = wrapper.observe(ob, actions, rewards, lambda name: fields[name][index])
        return ob

    def _labels(self, trials: Trials) -> np.ndarray:
        labels = np.full(trials.total, -1, np.int64)
        for name in trials.starts:
            if name not in self.periods:
                self.periods.append(name)
            rows = trials.rows(name).index
            labels[rows[rows < trials.total]] = self.periods.index(name)
        return labels

    def _single(self, given: dict[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        task = self.task
        record = self.env.new_trial(**given)  # type: ignore[attr-defined]
        try:
            gt = task.gt.copy()
        except AttributeError as error:
            raise ValueError(f"{type(task).__name__} has no ground truth, so that nothing can be learned") from error
        ob = task.ob.copy()
        return {"inputs": ob, "targets": gt, **self._single_labels(len(ob))}, dict(record or task.trial)

    def _single_labels(self, length: int) -> dict[str, np.ndarray]:
        period, ends = np.full(length, -1, np.int64), self.task.end_ind
        for name, start in self.task.start_ind.items():
            if name not in self.periods:
                self.periods.append(name)
            period[start : ends[name]] = self.periods.index(name)
        return {"period": period, "starts": np.arange(length) == 0}

    def _stepped(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """A trial of an agent that does what is right; it ends when that has been done."""
        task, obs, gts = self.task, [], []
        labels = self._single_labels(task._end - task._first)
        while True:
            obs.append(self.seen)
            gts.append(task.gt_now)
            self.seen, _, _, _, info = self.env.step(np.asarray(gts[-1]).copy() if np.ndim(gts[-1]) else int(gts[-1]))
            if info["new_trial"]:
                break
        rows = {"inputs": np.array(obs), "targets": np.array(gts), **{k: v[: len(obs)] for k, v in labels.items()}}
        return rows, info["trial"]

    # -- taking rows --------------------------------------------------------------------------------------------------

    def take(self, n: int, given: dict[str, Any]) -> dict[str, np.ndarray]:
        """The next ``n`` rows of the stream; trials go on in the next call."""
        while self.count < n:
            self.waiting.append(self.block(given)[0])
            self.count += len(self.waiting[-1]["starts"])
        parts: list[dict[str, np.ndarray]] = []
        wanted = n
        while wanted:
            first = self.waiting[0]
            part = {name: first[name][self.used : self.used + wanted] for name in FIELDS}
            parts.append(part)
            size = len(part["starts"])
            wanted, self.used = wanted - size, self.used + size
            if self.used == len(first["starts"]):
                self.waiting.pop(0)
                self.used = 0
        self.count -= n
        return {name: np.concatenate([part[name] for part in parts]) for name in FIELDS}

    def take_trial(self, given: dict[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The next whole trial: its rows and its record."""
        if not self.waiting:
            rows, self.records = self.block(given)
            ends = np.flatnonzero(rows["starts"])[1:]
            parts = zip(*(np.split(rows[name], ends) for name in FIELDS), strict=True)
            self.waiting = [dict(zip(FIELDS, part, strict=True)) for part in parts]
        return self.waiting.pop(0), self.records.pop(0)


def _only_trial(wrappers: list[gym.Env]) -> bool:
    return all(isinstance(wrapper, TrialWrapper) for wrapper in wrappers)
