"""Memory recall: store flagged patterns and complete degraded cues."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from neurogym.envs.task import ProgrammedTask, Rows, StepResult, TaskInfo, Trials, spaces
from neurogym.parameters.arguments import AtLeastTwo, Count, OneOf, Range

One = Annotated[int, Range(1, 1, whole=True)]
Half = Annotated[float, Range(0, 0.5, above=True)]
Uniform = Annotated[str, OneOf(("uniform",))]
UpperHalf = Annotated[float, Range(0.5, 1)]


class MemoryRecall(ProgrammedTask):
    """See a stream of binary patterns, keep the flagged patterns, and complete each from a degraded copy.

    The patterns to store are flagged on a channel of their own. In the recall period their degraded copies come back
    in the order of storage or any other, one per step, and the action is the whole pattern.

    Args:
        dt: Time step (ms).
        stim_dim: Elements of a pattern.
        store_signal_dim: Channels that flag a pattern: 1.
        t_min: Fewest steps of a trial.
        t_max: Most steps of a trial; None for ``t_min``.
        t_distribution: Distribution of the steps of a trial: ``uniform``.
        p_recall: Fraction of the steps that are recall.
        chance: Expected fraction of elements that one cue alone gets right.
        balanced: Patterns of -1 and 1, degraded by zeros; else of 0 and 1, degraded by flips.
        rewards: Replaces entries of ``default_rewards``; ``error`` multiplies the mean absolute error.

    Raises:
        ValueError: If an argument is out of range.
    """

    metadata = TaskInfo(
        tags=["working memory", "continuous action space", "multidimensional action space", "supervised"],
        necessary=(),
        supervised="ten numbers are requested at once and a reward says only how good they are on average",
    )
    default_rewards = {"error": -1.0}

    def __init__(
        self,
        dt: float = 1,
        stim_dim: Count = 10,
        store_signal_dim: One = 1,
        t_min: AtLeastTwo = 15,
        t_max: AtLeastTwo | None = 25,
        t_distribution: Uniform = "uniform",
        p_recall: Half = 0.1,
        chance: UpperHalf = 0.7,
        balanced: bool = True,
        rewards: dict[str, float] | None = None,
    ):
        super().__init__(dt=dt, rewards=rewards)
        t_max = t_min if t_max is None else t_max
        if t_min > t_max:
            raise ValueError(f"t_max must be at least t_min = {t_min}, got {t_max!r}")
        self.stim_dim, self.p_recall, self.p_right, self.balanced = stim_dim, p_recall, chance, balanced
        self.conditions = {"t": np.arange(t_min, t_max + 1)}
        self.observation_space = spaces.channels({"pattern": range(stim_dim), "store": stim_dim}, -1, 1)
        self.action_space = spaces.channels({"pattern": range(stim_dim)}, -1, 1)

    def _new_trials(self, trials: Trials) -> None:
        rng, size = trials.rng, self.stim_dim
        steps = trials.draw("t")
        recalls = trials.info["recalls"] = np.maximum(1, (self.p_recall * steps + 1e-9).astype(int))
        trials.add_period(["storage", "recall"], [(steps - recalls) * self.dt, recalls * self.dt])
        storage = trials.rows("storage")
        patterns = rng.integers(2, size=(trials.total, size)).astype(np.float32)
        if self.balanced:
            patterns = 2 * patterns - 1
        # the storage steps with the highest of independent draws are stored, in the order of their draws
        order = np.where(np.arange(steps.max()) < (steps - recalls)[:, None], rng.random((trials.n, steps.max())), -1)
        stored = np.argsort(-order, axis=1)

        def source(rows: Rows) -> np.ndarray:
            """Row of the block that a recall step asks for."""
            index = rows.step - trials.starts["recall"][rows.trial]
            return trials.offset[rows.trial] + stored[rows.trial, index]

        recall = trials.rows("recall")
        target = patterns[source(recall)]
        trials.ob[storage.index, :size] = patterns[storage.index]
        trials.ob[source(recall), size] = 1
        trials.ob[recall.index, :size] = self._degraded(target, rng)
        trials.set_groundtruth(lambda rows: patterns[source(rows)], "recall")

    def _degraded(self, pattern: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if self.balanced:
            return pattern * (rng.random(pattern.shape) >= 2 * (1 - self.p_right))
        return np.abs(pattern - (rng.random(pattern.shape) < 1 - self.p_right))

    def _step(self, action: np.ndarray) -> StepResult:
        reward = 0.0
        if self.in_period("recall"):
            error = np.abs(self.gt_now - np.asarray(action))
            reward = self.rewards["error"] * float(error.mean())
            right = error < (1.0 if self.balanced else 0.5)
            self.performance += float(right.mean()) / self.trial["recalls"]
            if self.session.cursor.at_end:
                self.report()
        return self.ob_now, reward, False, False, {"new_trial": False}
