"""Probabilistic reversal learning."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from neurogym.envs.blocks import in_blocks, paid
from neurogym.envs.task import ChoiceTask, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import Block, Range

Better = Annotated[float, Range(0.5, 1, above=True)]


class ReversalLearning(ChoiceTask):
    """Choose the picture with the higher reward probability; reversals are not announced.

    The pictures change sides from trial to trial. The last choice and reward must come from ``PassAction`` and
    ``PassReward``. Performance is 1 if the better picture was chosen, rewarded or not.

    Args:
        p_reward: Probability that the better picture is rewarded; the other is rewarded with 1 - p_reward.
        block_dur: Fewest and most trials between reversals.

    Raises:
        ValueError: If ``p_reward`` is not in (0.5, 1] or ``block_dur`` is not a range of whole numbers.

    Source: Costa, Tran, Turchi & Averbeck 2015.
    """

    metadata = TaskInfo(
        doi="10.1523/JNEUROSCI.1989-14.2015",
        tags=["two-alternative", "value-based", "learning"],
        needs_reward=True,
        probabilistic=True,
        necessary=(("left", "right"), "history"),
        measures=("switching",),
        small={"block_dur": (1_000_000, 1_000_000)},
    )
    default_timing = {"fixation": 300, "decision": 300}

    @usual_arguments()
    def __init__(self, p_reward: Better = 0.8, block_dur: Block = (30, 50)):
        self.p_reward, self.block_dur = p_reward, block_dur
        self.conditions = {"better": (0, 1), "side": (0, 1)}
        names = {"fixation": 0, "left": [1, 2], "right": [3, 4]}
        self.observation_space = spaces.channels(names)
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})
        self.start_session()

    def start_session(self) -> None:
        """Reset the better picture."""
        self._better, self._left = -1, 0

    def _better_picture(self, trials: Trials) -> np.ndarray:
        """The better picture (0 or 1) of each trial."""

        def begin(present: int) -> tuple[int, int]:
            better = int(trials.rng.integers(2)) if present < 0 else 1 - present
            return better, int(trials.rng.integers(self.block_dur[0], self.block_dur[1] + 1))

        better, self._better, self._left = in_blocks(trials.n, self._better, self._left, begin)
        return trials.given["better"].astype(int) if "better" in trials.given else better

    def _new_trials(self, trials: Trials) -> None:
        better = trials.info["better"] = self._better_picture(trials)
        left = trials.draw("side")
        truth = trials.info["ground_truth"] = np.where(better == left, 1, 2)
        right = np.arange(1, 3) == truth[:, None]
        pays = trials.rng.random((trials.n, 2)) < np.where(right, self.p_reward, 1 - self.p_reward)
        trials.add_ob(1, "fixation", where="fixation")
        trials.add_ob(np.eye(2)[left], "decision", where="left")
        trials.add_ob(np.eye(2)[1 - left], "decision", where="right")
        trials.set_groundtruth(truth, "decision")
        trials.set_action_reward("decision", [1, 2], paid(trials, pays), right.astype(float))
