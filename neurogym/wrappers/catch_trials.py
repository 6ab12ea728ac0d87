"""Catch trials, in which the correct answer is not rewarded."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import HIDES_OUTCOME
from neurogym.metadata import WrapperInfo
from neurogym.parameters.arguments import Percent, Probability
from neurogym.trials import Trials
from neurogym.wrappers.base import TrialWrapper, task_of


class CatchTrials(TrialWrapper):
    """Give the right answer another reward in randomly chosen trials; the ground truth stays.

    The trial's record marks catch trials as ``catch_trials_catch``.

    Args:
        env: A task with a declared response rule.
        catch_prob: Probability that a trial is a catch trial.
        stim_th: Only trials whose coherence is at or below this percentile of the task's coherences; None: all.
        start: Trials of a session before the first catch trial.
        alt_rew: Reward of the right answer in a catch trial.

    Raises:
        ValueError: If an argument is out of range, the task has no coherences, or it programs its own rewards.
    """

    metadata = WrapperInfo(
        doi="10.1038/s41467-020-14824-w",
        order="any",
    )
    ceiling_effect = HIDES_OUTCOME

    def __init__(
        self,
        env: gym.Env,
        catch_prob: Probability = 0.1,
        stim_th: Percent | None = None,
        start: int = 0,
        alt_rew: float = 0,
    ):
        task = task_of(env, "CatchTrials")
        if not task.traits.batched or "correct" not in task.rewards:
            raise ValueError(f"CatchTrials needs a task with a declared rule and a reward 'correct', not {task}")
        cohs = getattr(task, "cohs", None)
        if stim_th is not None and cohs is None:
            raise ValueError(f"stim_th needs a task with coherences, {task} has none")
        super().__init__(env)
        self.catch_prob, self.stim_th, self.start, self.alt_rew = catch_prob, stim_th, start, alt_rew
        self._made = 0

    @classmethod
    def links_trials(cls) -> bool:
        """Return False: trials are counted, but each is a catch trial independently of earlier trials."""
        return False

    def start_session(self) -> None:
        """Count trials from 0."""
        self._made = 0

    def revise(self, trials: Trials) -> None:
        """Choose the catch trials and change the reward of their correct responses."""
        catch = trials.rng.random(trials.n) < self.catch_prob
        catch &= self._made + np.arange(trials.n) >= self.start
        if self.stim_th is not None:
            highest = float(np.percentile(self.task.cohs, self.stim_th))  # type: ignore[attr-defined]
            catch &= trials.info["coh"] <= highest + 1e-9
        self._made += trials.n
        trials.rewards["correct"] = np.where(catch, self.alt_rew, trials.reward("correct"))
        trials.info["catch_trials_catch"] = catch
