"""Probabilistic reversal learning."""

from __future__ import annotations

import numpy as np

from neurogym.envs.task import Rule, TaskInfo, TrialEnv, Trials, spaces, usual_arguments


class ReversalLearning(TrialEnv):
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
        carries=True,
        needs_reward=True,
        probabilistic=True,
        necessary=(("left", "right"), "history"),
        measures=("switching",),
        small={"block_dur": (1_000_000, 1_000_000)},
    )
    default_timing = {"fixation": 300, "decision": 300}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0}
    rule = Rule(fixate=("fixation",), answer=("decision",))

    @usual_arguments()
    def __init__(self, p_reward: float = 0.8, block_dur: tuple[int, int] = (30, 50)):
        if not 0.5 < p_reward <= 1:
            raise ValueError(f"p_reward must lie between 0.5 and 1, got {p_reward!r}")
        if len(block_dur) != 2 or not 1 <= block_dur[0] <= block_dur[1]:
            raise ValueError(f"block_dur must be (fewest, most) trials, got {block_dur!r}")
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
        better = np.empty(trials.n, int)
        for i in range(trials.n):
            if self._left == 0:
                self._better = int(trials.rng.integers(2)) if self._better < 0 else 1 - self._better
                self._left = int(trials.rng.integers(self.block_dur[0], self.block_dur[1] + 1))
            better[i] = self._better
            self._left -= 1
        if "better" in trials.given:
            better = trials.given["better"].astype(int)
        trials.info["better"] = better
        return better

    def _new_trials(self, trials: Trials) -> None:
        better, left = self._better_picture(trials), trials.draw("side")
        truth = trials.info["ground_truth"] = np.where(better == left, 1, 2)
        pays = trials.rng.random((trials.n, 2)) < np.where(
            np.arange(1, 3) == truth[:, None], self.p_reward, 1 - self.p_reward
        )
        trials.add_ob(1, "fixation", where="fixation")
        trials.add_ob(np.eye(2)[left], "decision", where="left")
        trials.add_ob(np.eye(2)[1 - left], "decision", where="right")
        trials.set_groundtruth(truth, "decision")
        for action in (1, 2):
            paid = np.where(pays[:, action - 1], trials.reward("correct"), trials.reward("fail"))
            trials.set_action_reward("decision", action, paid, (truth == action).astype(float))
