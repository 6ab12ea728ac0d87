"""Stimulus-response mappings and stimulus sets that change."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import unknown
from neurogym.metadata import WrapperInfo
from neurogym.parameters.arguments import Count, PositiveProbability
from neurogym.sampling.distributions import distinct_patterns
from neurogym.trials import Trials
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.hooks import Hooks
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
