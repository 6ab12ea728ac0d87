"""Dynamic foraging between two sides whose reward probabilities change in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller
from typing import Annotated

import numpy as np

from neurogym.envs.blocks import paid
from neurogym.envs.task import ChoiceTask, Info, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import Block, OneOf, Probabilities, Range

BLOCK_LENGTHS = {"coupled": (40, 100), "uncoupled": (20, 35)}  #: fewest and most trials of a block
BlockKind = Annotated[str, OneOf(BLOCK_LENGTHS)]
SIDES = (1, 2)  #: actions that choose left and right


class DynamicForaging(ChoiceTask):
    """Choose left or right after a go cue; which side pays more often changes in blocks without a sign.

    With baiting a reward that was due and not collected waits for the next visit of the side, so that the poorer side,
    too, is worth a visit from time to time; visiting the sides in proportion to what they pay is then nearly best.
    What was chosen and paid must come from ``PassAction`` and ``PassReward``. Performance is 1 if the side was chosen
    that was more likely to hold a reward, given the probabilities of all trials and the visits so far.

    Args:
        blocks: ``"coupled"``: both probabilities change together, and the richer side is the other one in each block of
            unequal probabilities. ``"uncoupled"``: each side has blocks of its own and takes any of ``levels`` but the
            present one; both sides are never at the lowest together.
        baiting: Whether rewards that are due wait until they are collected.
        pairs: Probabilities of the richer and the poorer side of coupled blocks; drawn uniformly, and a pair of equal
            probabilities does not come twice in a row.
        levels: Probabilities of uncoupled blocks, at least three.
        block_dur: Fewest and most trials of a block; default 40 to 100 (coupled), 20 to 35 (uncoupled).

    Raises:
        ValueError: If ``blocks`` is unknown, a probability is outside [0, 1], or ``levels`` or ``block_dur`` is not of
            this form.

    Source: Bari, Grossman, Lubin, Rajagopalan, Cressy & Cohen 2019 (coupled, baited); Grossman,
    Bari & Cohen 2022, 10.1016/j.cub.2021.12.006 (uncoupled, not baited).
    """

    metadata = TaskInfo(
        doi="10.1016/j.neuron.2019.06.001",
        tags=["two-alternative", "value-based", "learning"],
        needs_reward=True,
        probabilistic=True,
        necessary=("history",),
        measures=("switching",),
    )
    default_timing = {"fixation": 100, "decision": 100}

    @usual_arguments()
    def __init__(
        self,
        blocks: BlockKind = "coupled",
        baiting: bool = True,
        pairs: Sequence[tuple[float, float]] = ((0.4, 0.05),),
        levels: Probabilities = (0.1, 0.5, 0.9),
        block_dur: Block | None = None,
    ):
        for pair in pairs:
            Range(0, 1, size=2).check("each of pairs", pair)
        if len(set(levels)) < 3:
            raise ValueError(f"levels must list at least three probabilities, got {levels!r}")
        low, high = BLOCK_LENGTHS[blocks] if block_dur is None else block_dur
        self.blocks, self.baiting, self.block_dur = blocks, baiting, (int(low), int(high))
        self.pairs = [(float(rich), float(poor)) for rich, poor in pairs]
        self.levels = [float(level) for level in levels]
        self.observation_space = spaces.channels({"fixation": 0, "go": 1})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": SIDES})
        self._p, self._left, self._richer = [0.0, 0.0], [0, 0], 0
        self._waiting, self._empty = [False, False], [1.0, 1.0]

    # -- blocks -------------------------------------------------------------------------------------------------------

    def start_session(self) -> None:
        """Draw the first block; no reward waits."""
        self._p, self._left = [0.0, 0.0], [0, 0]
        self._richer = int(self.np_random.integers(2))
        self._waiting, self._empty = [False, False], [1.0, 1.0]
        self._change_blocks()
        if self.blocks == "uncoupled":  # one side changes in the middle of a block of the other
            side = int(self.np_random.integers(2))
            self._left[side] = (self._left[side] + 1) // 2

    def _change_blocks(self) -> None:
        """Begin new blocks where the present ones are over."""
        low, high = self.block_dur
        if self.blocks == "coupled":
            if not self._left[0]:
                self._p = self._next_pair()
                self._left = [int(self.np_random.integers(low, high + 1))] * 2
            return
        for side in (0, 1):
            if not self._left[side]:
                lowest = min(self.levels)
                barred = {self._p[side], lowest if self._p[1 - side] == lowest else None}
                allowed = [level for level in self.levels if level not in barred]
                self._p[side] = allowed[int(self.np_random.integers(len(allowed)))]
                self._left[side] = int(self.np_random.integers(low, high + 1))

    def _next_pair(self) -> list[float]:
        """Probabilities of left and right in the next coupled block."""
        unequal = [pair for pair in self.pairs if pair[0] != pair[1]]
        among = unequal if unequal and self._p[0] == self._p[1] != 0 else self.pairs
        rich, poor = among[int(self.np_random.integers(len(among)))]
        if rich != poor:
            self._richer = 1 - self._richer
        return [poor, rich] if self._richer else [rich, poor]

    # -- trials -------------------------------------------------------------------------------------------------------

    def chance_of_reward(self, side: int) -> float:
        """Probability that a side holds a reward now, for somebody who knows all probabilities and visits."""
        return 1 - self._empty[side] * (1 - self._p[side])

    def next_trial_depends_on(self) -> str:
        """Return a constant: what differs between sessions is asked for per trial."""
        return "foraging"

    def _new_trials(self, trials: Trials) -> None:
        trials.add_ob(1, "fixation", where="fixation")
        trials.add_ob(1, "decision", where="go")
        drawn = trials.rng.random((trials.n, 2))
        value = [trials.per_trial(methodcaller("chance_of_reward", side)) for side in (0, 1)]
        truth = trials.info["ground_truth"] = np.where(value[1] > value[0], 2, 1)
        trials.set_groundtruth(truth, "decision")
        for side, name in enumerate(("left", "right")):
            p = trials.info[f"p_{name}"] = _of_side(trials, "_p", side)
            waits = _of_side(trials, "_waiting", side)
            holds = trials.info[f"reward_{name}"] = waits | (drawn[:, side] < p)
            best = value[side] >= value[1 - side]
            trials.set_action_reward("decision", SIDES[side], paid(trials, holds), best.astype(float))

    def trial_ended(self, info: Info) -> None:
        """Collect the reward of the chosen side, keep that of the other if it waits, and go on in the blocks."""
        chosen = int(info["choice"]) - 1 if info["outcome"] in ("correct", "error") else -1
        for side, name in enumerate(("left", "right")):
            stays = self.baiting and side != chosen
            self._empty[side] = self._empty[side] * (1 - self._p[side]) if stays else 1.0
            self._waiting[side] = bool(stays and info["trial"][f"reward_{name}"])
            self._left[side] -= 1
        self._change_blocks()


def _of_side(trials: Trials, name: str, side: int) -> np.ndarray:
    """Entry of a side in what each session remembers under a name, shape (n,)."""
    return trials.per_trial(lambda task: getattr(task, name)[side])
