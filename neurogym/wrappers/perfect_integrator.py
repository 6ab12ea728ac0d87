"""Task performance by an ideal integrator, whose choices the agent learns to follow."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from neurogym import spaces
from neurogym.ceilings.effects import unknown
from neurogym.metadata import WrapperInfo
from neurogym.spaces import Action
from neurogym.trials import StepResult
from neurogym.wrappers.base import Field, Reward, TrialWrapper
from neurogym.wrappers.hooks import Hooks
from neurogym.wrappers.noise import stimulus_columns
from neurogym.wrappers.pass_reward import choice_actions
from neurogym.wrappers.tasks import task_of


class PerfectIntegrator(TrialWrapper):
    """Let an integrator of the stimulus answer; the agent is rewarded for the same choice if correct.

    The agent sees only the integrator's last choice (one-hot, channels ``choice``) and its own last reward. When a
    trial ends it earns the reward of a correct answer if the integrator was right and the agent's action was the same.

    Args:
        env: A task with periods ``stimulus`` and ``decision`` and one stimulus channel per choice.

    Raises:
        ValueError: If the task has no such channels or other actions.
    """

    metadata = WrapperInfo(doi="10.1038/s41467-020-14824-w", order="inside pass_reward, pass_action and noise")
    hooks = Hooks(shows="the choices of an integrator and the last reward", own_step=True, history_dependent=True)
    state = ("_evidence", "_shown")
    ceiling_effect = unknown("the agent predicts another one")
    inside_of = ("PassReward", "PassAction", "Noise", "PassGT", "LearnTransMatrix", "DynamicNoise", "BiasCorrection")

    def __init__(self, env: gym.Env):
        self._actions = choice_actions(env, "PerfectIntegrator")
        self._columns = stimulus_columns(env.unwrapped, "PerfectIntegrator")
        if len(self._columns) != len(self._actions):
            raise ValueError(
                f"PerfectIntegrator needs one stimulus channel per choice; {env.unwrapped} has {len(self._columns)} "
                f"channels and {len(self._actions)} choices"
            )
        if "decision" not in task_of(env, "PerfectIntegrator").timing:
            raise ValueError(f"PerfectIntegrator needs a period called decision; {env.unwrapped} has none")
        super().__init__(env)
        n = len(self._actions)
        self.observation_space = spaces.channels({"choice": range(n), "reward": n})
        self.start_session()

    def start_session(self) -> None:
        """Reset the evidence and the last choice."""
        self._evidence = np.zeros(len(self._actions))
        self._shown = np.zeros(len(self._actions), np.float32)

    def observe(self, ob: np.ndarray, action: Action, reward: Reward, field: Field) -> np.ndarray:
        """The integrator's last choice and the last reward."""
        return np.append(self._shown, np.float32(reward)).astype(np.float32)

    def step(self, action: Action) -> StepResult:
        """Step the environment with the integrator's action, and reward the agent for the same choice."""
        task = self.task
        self._evidence += task.ob[task.t_ind][self._columns]
        best = self._actions[int(np.argmax(self._evidence))]
        answer = best if task.in_period("decision") else 0
        ob, _, terminated, truncated, info = self.env.step(answer)
        paid = 0.0
        if info["new_trial"]:
            followed = info["outcome"] == "correct" and int(action) == best
            paid = float(task.rewards.get("correct", 1.0)) if followed else float(task.rewards.get("fail", 0.0))
            self._shown = np.eye(len(self._actions), dtype=np.float32)[self._actions.index(best)]
            self._evidence = np.zeros(len(self._actions))
            info["integrator_choice"], info["choice"] = best, action
            info["performance"], info["trial_reward"] = float(followed), paid
            info["outcome"] = "correct" if followed else "error"
        return self.observe(ob, action, paid, task.session.field), paid, terminated, truncated, info
