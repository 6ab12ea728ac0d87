"""Choice of the side with the higher contrast, with equal sides or with blocks of a more frequent side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neurogym.ceilings.processes import BlockProcess
from neurogym.envs.blocks import in_blocks
from neurogym.envs.psychophysics import choice_ceiling, two_channels
from neurogym.envs.task import (
    ConditionValues,
    ObserverSettings,
    Rule,
    Score,
    TaskInfo,
    TrialEnv,
    Trials,
    spaces,
    usual_arguments,
)
from neurogym.parameters.arguments import NonNegative

COHS = (1.6, 3.2, 6.4, 12.8, 25.6, 51.2)


class IBL(TrialEnv):
    """Choose the side with the higher contrast. A trial is a single step.

    Args:
        sigma: Noise s.d. of each observation.

    Source: Abbott et al. (International Brain Laboratory) 2017.
    """

    metadata = TaskInfo(
        doi="10.1016/j.neuron.2017.12.013",
        tags=["perceptual", "two-alternative", "supervised"],
        necessary=("stimulus",),
        measures=("psychometric",),
    )
    default_rewards = {"correct": 1.0, "fail": 0.0}
    rule = Rule(fixate=(), answer=("decision",), hold=None)
    blocks: Sequence[float] = (0.5,)  #: probability of side 1 in each kind of block
    block_dur = 10_000
    cohs = ConditionValues("coh")

    @usual_arguments(tables=("rewards",), abort=False)
    def __init__(self, sigma: NonNegative = 0.1):
        self.sigma = sigma
        self.conditions = {"ground_truth": np.arange(2), "coh": np.array(COHS)}
        self.observation_space = spaces.channels({"stimulus": [0, 1]})
        self.action_space = spaces.Discrete(2, name={"choice": [0, 1]})
        self.start_session()

    def start_session(self) -> None:
        """Reset the block, so that the next trial begins a new block."""
        self._left_in_block, self._p1 = 0, 0.5

    def _probabilities(self, trials: Trials) -> np.ndarray:
        """Probability of side 1 in each trial; a new block begins when ``block_dur`` trials have passed."""

        def begin(_: float) -> tuple[float, int]:
            return float(trials.rng.choice(self.blocks)), self.block_dur

        p1, self._p1, self._left_in_block = in_blocks(trials.n, self._p1, self._left_in_block, begin)
        return p1

    def _new_trials(self, trials: Trials) -> None:
        coh = trials.draw("coh")
        if "ground_truth" in trials.given:
            side = trials.draw("ground_truth")
        else:
            p1 = self._probabilities(trials)
            side = trials.info["ground_truth"] = (trials.rng.random(trials.n) < p1).astype(int)
            if len(self.blocks) > 1:
                trials.info["block"] = p1
        trials.add_period("decision", self.dt)
        trials.add_ob(two_channels(np.where(side == 0, coh, -coh)), "decision")
        trials.add_randn(0, self.sigma, "decision")
        trials.set_groundtruth(side, "decision")

    def closed_form(self) -> Score | None:
        """Exact without blocks: the sign of the difference of the two channels decides."""
        return None if len(self.blocks) > 1 else choice_ceiling(self, self.cohs, self.sigma, "decision")

    @property
    def ideal_observer(self) -> ObserverSettings:
        """Observer who knows when a block ends, and that any block may follow."""
        sides, n = np.stack([1 - np.array(self.blocks), self.blocks], axis=1), len(self.blocks)
        process = BlockProcess(np.repeat(sides[:, None], 2, axis=1), np.full((n, n), 1 / n), *[self.block_dur] * 2)
        return ObserverSettings(("ground_truth", "coh"), process=process if n > 1 else None)


class IBLBlock(IBL):
    """Choose the side with the higher contrast; in blocks of 200 trials side 1 has probability 0.2, 0.5 or 0.8.

    Args:
        sigma: Noise s.d. of each observation.

    Source: Abbott et al. (International Brain Laboratory) 2017.
    """

    metadata = IBL.metadata.replace(history_dependent=True, needs_reward=True)
    blocks = (0.2, 0.5, 0.8)
    block_dur = 200


IBL_Block = IBLBlock
