"""Lower reward for a side that the agent prefers."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from neurogym.ceilings.effects import HIDES_OUTCOME
from neurogym.metadata import WrapperInfo
from neurogym.parameters.arguments import Count, NonNegative
from neurogym.trials import Info
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.learn_trans_matrix import choice_actions


class BiasCorrection(TrialWrapper):
    """Scale down the reward of the over-chosen side while the agent neglects another.

    Over the last trials the ratio (choices + 1) / (trials in which it was right) is taken for each choice. If the
    smallest is below ``th`` and the agent was rewarded for its most over-chosen side, the reward is multiplied by that
    ratio. ``info["bias_corr_on"]`` at the end of a trial: 1 scaled, -1 not rewarded, 0 no bias, -2 window not full.

    Args:
        env: A task with discrete actions and ground truth.
        choice_w: Trials in the window.
        th: Smallest tolerated ratio.

    Raises:
        ValueError: If the actions are not discrete or an argument is out of range.
    """

    metadata = WrapperInfo(order="inside pass_reward")
    ceiling_effect = HIDES_OUTCOME
    inside_of = ("PassReward",)

    def __init__(self, env: gym.Env, choice_w: Count = 1000, th: NonNegative = 0.1):
        self._actions = choice_actions(env, "BiasCorrection")
        super().__init__(env)
        self.choice_w, self.th = choice_w, th
        self.start_session()

    def start_session(self) -> None:
        """Reset the record of the agent's choices."""
        self._window: list[tuple[int, int]] = []

    def _correct(self, choice: int, reward: float) -> tuple[float, int]:
        """Return the corrected reward and the flag for the record."""
        if len(self._window) < self.choice_w:
            return reward, -2
        ratios = []
        for action in self._actions:
            right = sum(truth == action for _, truth in self._window)
            ratios.append((sum(made == action for made, _ in self._window) + 1) / right if right else float("inf"))
        smallest = min(ratios)
        if smallest >= self.th:
            return reward, 0
        finite = [ratio if ratio != float("inf") else -1.0 for ratio in ratios]
        if reward <= 0 or choice != self._actions[finite.index(max(finite))]:
            return reward, -1
        return reward * smallest, 1

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Act; the reward at the end of a trial may be scaled."""
        ob, reward, terminated, truncated, info = super().step(action)
        if info["new_trial"]:
            self._window = [*self._window, (int(action), int(info.get("gt", -1)))][-self.choice_w :]
            paid, info["bias_corr_on"] = self._correct(int(action), float(reward))
            info["trial_reward"] += paid - reward
            reward = paid
        return ob, reward, terminated, truncated, info
