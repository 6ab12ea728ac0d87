"""Ground truth drawn independently in every trial, with probabilities that stay or change from block to block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import Effect
from neurogym.ceilings.processes import BlockProcess, draw
from neurogym.metadata import WrapperInfo
from neurogym.sampling.scheduler import another
from neurogym.trials import Trials
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.hooks import Hooks
from neurogym.wrappers.sampling import BlockClock, check_probabilities, choices_of, probability_rows, restrict


class RandomGroundTruth(TrialWrapper):
    """Draw the ground truth of every trial with given probabilities.

    The probabilities are in the trial's record as ``p``; ``new_trial(p=...)`` or a ``ScheduleAttr`` outside sets them.

    Args:
        env: A task with choices.
        p: Probability of each choice. Default uniform.

    Raises:
        AttributeError: If the task has no choices.
        ValueError: If ``p`` is not a distribution over the choices.
    """

    metadata = WrapperInfo(order="inside schedule_attr and variable_nch")
    hooks = Hooks(changes=("conditions", "record"))
    state = ("_drawn",)
    accepts = ("p", "sel_chs")
    decides = ("ground_truth",)

    def __init__(self, env: gym.Env, p: Sequence[float] | None = None):
        self.choices = choices_of(env, "RandomGroundTruth")
        self.n_ch = len(self.choices)
        self.p = np.full(self.n_ch, 1 / self.n_ch) if p is None else np.asarray(p, dtype=float)
        check_probabilities(self.p, self.n_ch, "p")
        super().__init__(env)

    def effect_on_ceiling(self) -> Effect:
        """Effect on the ceiling of known probabilities of the correct answers."""
        return Effect("ground truth", process=BlockProcess.independent(self.p))

    def plan(self, n: int, conditions: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Draw the ground truth."""
        rest = {name: value for name, value in conditions.items() if name != "p"}
        p = probability_rows(conditions["p"], n) if "p" in conditions else np.broadcast_to(self.p, (n, self.n_ch))
        if "p" in conditions:
            check_probabilities(p, self.n_ch, "p")
        if "sel_chs" in conditions:
            p = restrict(p, self.choices, conditions["sel_chs"])
        self._drawn = p
        return {**rest, "ground_truth": self.choices[draw(self.task.np_random, p)]}

    def revise(self, trials: Trials) -> None:
        """Record the probabilities."""
        trials.info["p"] = self._drawn


class SideBias(TrialWrapper):
    """Draw the ground truth with probabilities that change from block to block.

    A block is followed by any of the others. The trial's record has the index of its block as ``side_bias_block`` and
    the probabilities as ``probs``.

    Args:
        env: A task with choices.
        probs: One row per block with the probability of each choice, shape (blocks, choices).
        block_dur: Trials in a block; or, between 0 and 1, the probability that a block ends at a trial; or
            ``(low, high)``, a number of trials drawn uniformly, ends included.

    Attributes:
        curr_block: Block of the current trial.

    Raises:
        AttributeError: If the task has no choices.
        TypeError: If ``probs`` is not a table or ``block_dur`` is none of the forms.
        ValueError: If a row is not a distribution over the choices or ``block_dur`` is out of range.
    """

    metadata = WrapperInfo(doi="10.7554/eLife.63711", order="any; no other wrapper that decides the ground truth")
    hooks = Hooks(changes=("conditions", "record"), history_dependent=True)
    state = ("_block", "_clock", "_drawn")
    accepts = ("sel_chs",)
    decides = ("ground_truth",)

    def __init__(self, env: gym.Env, probs: Any = None, block_dur: Any = 200):
        self.choices = choices_of(env, "SideBias")
        self.choice_prob = _table(probs)
        check_probabilities(self.choice_prob, len(self.choices), "probs")
        self.n_block, self.block_dur = len(self.choice_prob), block_dur
        self._clock = BlockClock(block_dur)
        super().__init__(env)
        self.start_session()
        self._clock.left -= 1  # the trial that reset makes; without one the first block has begun already

    @staticmethod
    def from_flags(args: Mapping[str, object]) -> dict[str, object]:
        """Arguments as written on a command line: ``probs=0.2/0.8`` are two blocks of a task with two choices.

        The numbers are probabilities of the second choice; ``block_dur=20/100`` is a range.
        """
        args = dict(args)
        probs, duration = args.get("probs"), args.get("block_dur")
        if isinstance(probs, list) and probs and all(isinstance(p, (int, float)) for p in probs):
            args["probs"] = [[1 - p, p] for p in probs]
        if isinstance(duration, list):
            args["block_dur"] = tuple(duration)
        return args

    @property
    def curr_block(self) -> int:
        """Block of the current trial."""
        return int(self.task.trial.get("side_bias_block", self._block))

    def effect_on_ceiling(self) -> Effect:
        """Effect of blocks with known probabilities, each followed by a random other block."""
        n, choices = self.choice_prob.shape
        following = (1 - np.eye(n)) / (n - 1) if n > 1 else np.ones((1, 1))
        rows = np.repeat(self.choice_prob[:, None], choices, axis=1)
        return Effect("ground truth", process=BlockProcess(rows, following, *self._clock.lengths))

    def start_session(self) -> None:
        """Begin a block at random."""
        rng = self.task.np_random
        self._block = int(rng.integers(self.n_block))
        self._clock.start(rng)

    def plan(self, n: int, conditions: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Draw blocks and ground truth."""
        rng, blocks = self.task.np_random, np.empty(n, np.int64)
        for k, begins in enumerate(self._clock.changes(n, rng)):
            if begins:
                self._block = another(rng, self._block, self.n_block)
            blocks[k] = self._block
        p = self.choice_prob[blocks]
        self._drawn = blocks, p
        if "sel_chs" in conditions:
            p = restrict(p, self.choices, conditions["sel_chs"])
        return {**conditions, "ground_truth": self.choices[draw(rng, p)]}

    def revise(self, trials: Trials) -> None:
        """Record block and probabilities."""
        trials.info["side_bias_block"], trials.info["probs"] = self._drawn


def _table(probs: Any) -> np.ndarray:
    """The probabilities as an array (blocks, choices)."""
    is_rows = isinstance(probs, (list, tuple, np.ndarray)) and len(probs) > 0
    if not is_rows or any(np.ndim(row) != 1 for row in probs):
        raise TypeError(f"probs must be rows of choice probabilities, as [[0.2, 0.8], [0.8, 0.2]], not {probs!r}")
    if len({len(row) for row in probs}) > 1:
        raise ValueError(f"probs must have rows of equal length, one entry per choice; got {probs!r}")
    return np.asarray(probs, dtype=float)
