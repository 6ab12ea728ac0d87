"""Stimuli, mappings and choices in play that vary from block to block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import LEAVES, Effect, unknown
from neurogym.ceilings.processes import BlockProcess, draw
from neurogym.metadata import WrapperInfo
from neurogym.parameters.arguments import Count, PositiveProbability, Probability
from neurogym.sampling.distributions import distinct_patterns
from neurogym.trials import Trials
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.hooks import Hooks
from neurogym.wrappers.sampling import BlockClock, choices_of, restrict
from neurogym.wrappers.tasks import task_of
from neurogym.wrappers.transitions import label


class VariableMapping(TrialWrapper):
    """Change which response goes with which stimulus, and in a new session the stimuli themselves.

    A mapping lasts at least ``min_mapp_dur`` trials and then ends with probability ``mapp_ch_prob`` at each trial; a
    session likewise. The trial's record has the mapping as ``variable_mapping_map`` (responses in the order of the
    stimuli, counted from 1), and the number of the session as ``variable_mapping_session``.

    Args:
        env: A conditional visuomotor task (``NAltConditionalVisuomotor-v0``).
        mapp_ch_prob: Probability that a mapping ends.
        min_mapp_dur: Fewest trials of a mapping.
        sess_end_prob: Probability that a session ends.
        min_sess_dur: Fewest trials of a session.

    Raises:
        TypeError: If the task is not trial-based.
        ValueError: If the task has no stimuli and mapping, or an argument is out of range.
    """

    metadata = WrapperInfo(doi="10.1016/S0896-6273(00)80658-3", order="any")
    hooks = Hooks(changes=("conditions", "observations"), history_dependent=True)
    state = ("session", "_patterns", "_mapping", "_age", "_session_age", "_shown", "_sessions")
    ceiling_effect = unknown("no exact observer is known for mappings that change")
    decides = ("mapping",)

    def __init__(
        self,
        env: gym.Env,
        mapp_ch_prob: PositiveProbability = 0.003,
        min_mapp_dur: Count = 30,
        sess_end_prob: PositiveProbability = 0.0025,
        min_sess_dur: Count = 120,
    ):
        task = task_of(env, "VariableMapping")
        if "mapping" not in task.conditions or "patterns" not in vars(task):
            raise ValueError(f"VariableMapping needs a task with stimuli and a mapping, not {task}")
        super().__init__(env)
        self.mapp_ch_prob, self.min_mapp_dur = mapp_ch_prob, min_mapp_dur
        self.sess_end_prob, self.min_sess_dur = sess_end_prob, min_sess_dur
        self.start_session()

    def start_session(self) -> None:
        """Begin with the task's own stimuli and a new mapping."""
        self.session = 0
        self._patterns = np.array(self.task.patterns)
        self._new_mapping()
        self._session_age = 0

    def _new_mapping(self) -> None:
        self._mapping = tuple(int(r) + 1 for r in self.task.np_random.permutation(len(self._patterns)))
        self._age = 0

    def _new_session(self) -> None:
        """Draw new stimuli: different patterns of ones and zeros."""
        self._patterns = distinct_patterns(self.task.np_random, *self._patterns.shape)
        self._session_age, self.session = 0, self.session + 1
        self._new_mapping()

    def plan(self, n: int, conditions: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Assign a mapping to each trial."""
        ends = self.task.np_random.random((n, 2)) < (self.sess_end_prob, self.mapp_ch_prob)
        mapping, self._shown = np.empty(n, dtype=object), np.empty((n, *self._patterns.shape))
        self._sessions = np.empty(n, np.int64)
        for k in range(n):
            if self._session_age >= self.min_sess_dur and ends[k, 0]:
                self._new_session()
            elif self._age >= self.min_mapp_dur and ends[k, 1]:
                self._new_mapping()
            self._age, self._session_age = self._age + 1, self._session_age + 1
            mapping[k], self._shown[k], self._sessions[k] = self._mapping, self._patterns, self.session
        return {**conditions, "mapping": mapping}

    def revise(self, trials: Trials) -> None:
        """Show the session's stimuli in place of the task's own, and record mapping and session."""
        stims, coh = trials.info["stims"], trials.info["coh"][:, None] / 100
        patterns = np.asarray(self.task.patterns)[stims]
        mapped = self._shown[np.arange(trials.n), stims]
        trials.add_ob((mapped - patterns) * coh, "stimulus", where="stimulus")
        labels = [label(np.asarray(mapping) - 1) for mapping in trials.given["mapping"]]
        trials.info["variable_mapping_map"] = np.array(labels, dtype=object)
        trials.info["variable_mapping_session"] = self._sessions


class Variable_nch(TrialWrapper):  # noqa: N801 - NeuroGym's name
    """Draw in each block how many choices, and which, are in play.

    The trial's record has their number as ``variable_nch_n`` and the choices, counted from 1 and joined by dashes, as
    ``variable_nch_choices``. Wrappers inside that decide the ground truth keep to them; without one it is drawn
    uniformly among them.

    Args:
        env: A task with choices.
        block_nch: Trials in a block, ``(low, high)``, or a probability; see :class:`SideBias`.
        blocks_probs: Weights of 2, 3, ... choices. Default (or all zero): equal.
        sorted_ch: Whether the first choices are in play, or a random subset.
        prob_12: Probability that a block uses exactly choices 1 and 2 (other blocks then have at least 3).

    Raises:
        AttributeError: If the task has no choices.
        ValueError: If there are fewer than two, a weight is negative or their number is wrong.
    """

    metadata = WrapperInfo(order="outside the wrapper that decides the ground truth, inside perf_phases")
    hooks = Hooks(changes=("conditions", "record"), history_dependent=True)
    state = ("_phase", "_active", "_clock", "_drawn")
    accepts = ("phase",)
    decides: ClassVar[tuple[str, ...]] = ("sel_chs",)
    inside_of = ("PerfPhases",)

    def __init__(
        self,
        env: gym.Env,
        block_nch: int = 100,
        blocks_probs: Sequence[float] | None = None,
        sorted_ch: bool = True,
        prob_12: Probability | None = None,
    ):
        self.choices = choices_of(env, "Variable_nch")
        self.max_nch = len(self.choices)
        if self.max_nch < 2:
            raise ValueError(f"Variable_nch needs at least two choices, {env.unwrapped} has {self.max_nch}")
        self.weights = np.ones(self.max_nch - 1) if blocks_probs is None else np.asarray(blocks_probs, dtype=float)
        if self.weights.shape != (self.max_nch - 1,) or np.any(self.weights < 0):
            raise ValueError(f"blocks_probs needs {self.max_nch - 1} weights of 0 or more, got {blocks_probs!r}")
        self.sorted_ch, self.prob_12 = sorted_ch, prob_12
        self._clock = BlockClock(block_nch, "block_nch")
        super().__init__(env)
        self._decided = any("ground_truth" in wrapper.decides for wrapper in self.task.session.wrappers)
        if not self._decided:
            self.decides = ("sel_chs", "ground_truth")  # type: ignore[misc]
        self._passes_on = "sel_chs" in self.task.conditions or self._decided
        self.start_session()

    def effect_on_ceiling(self) -> Effect:
        """Return the effect on the ceiling: none where both of two choices are always in play and were before."""
        if self.max_nch > 2:
            return unknown("no exact observer is known for choices that come and go")
        if self._decided or not self.task.traits.history_dependent:
            return LEAVES
        return Effect("ground truth", process=BlockProcess.independent(np.full(2, 0.5)))

    def start_session(self) -> None:
        """Begin a block."""
        self._clock.start(self.task.np_random)
        self._phase = self.max_nch
        self._active: tuple[int, ...] = ()

    def _draw_active(self) -> tuple[int, ...]:
        """Indices of the choices of a new block."""
        rng = self.task.np_random
        most = int(np.clip(self._phase, 2, self.max_nch))
        if self.prob_12 is not None and (most == 2 or rng.random() < self.prob_12):
            return (0, 1)
        weights = self.weights[: most - 1].copy()
        if self.prob_12 is not None:
            weights[0] = 0
        if not weights.any():
            weights[1 if self.prob_12 is not None else 0 :] = 1
        n = 2 + int(rng.choice(len(weights), p=weights / weights.sum()))
        return tuple(range(n)) if self.sorted_ch else tuple(np.sort(rng.permutation(self.max_nch)[:n]).tolist())

    def plan(self, n: int, conditions: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Draw the choices in play."""
        rest = {name: value for name, value in conditions.items() if name != "phase"}
        self._phase = int(conditions["phase"][0]) if "phase" in conditions else self.max_nch
        drawn: list[tuple[int, ...]] = []
        for begins in self._clock.changes(n, self.task.np_random).tolist():
            if begins or not self._active:
                self._active = self._draw_active()
            drawn.append(self._active)
        self._drawn = np.fromiter(drawn, object, n)
        active = [tuple(self.choices[list(each)].tolist()) for each in drawn]
        if self._passes_on:
            rest["sel_chs"] = np.fromiter(active, object, n)
        if not self._decided:
            p = restrict(np.full((n, self.max_nch), 1 / self.max_nch), self.choices, active)
            rest["ground_truth"] = self.choices[draw(self.task.np_random, p)]
        return rest

    def revise(self, trials: Trials) -> None:
        """Record the choices in play."""
        trials.info["variable_nch_n"] = np.array([len(active) for active in self._drawn])
        names = {active: "-".join(str(i + 1) for i in active) for active in set(self._drawn)}
        trials.info["variable_nch_choices"] = np.array([names[active] for active in self._drawn], dtype=object)
