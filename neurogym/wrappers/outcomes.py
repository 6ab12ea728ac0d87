"""Other consequences of answers: rewards of preferred sides, of correct answers and of misses, waits after errors."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import HIDES_OUTCOME, LEAVES, LEAVES_PERFORMANCE, TELLS_OUTCOME, Effect, unknown
from neurogym.metadata import WrapperInfo
from neurogym.parameters.arguments import Count, NonNegative, Percent, Probability, Whole
from neurogym.sampling.distributions import Distribution
from neurogym.spaces import Action
from neurogym.trials import Info, StepResult, Trials
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.hooks import Hooks
from neurogym.wrappers.pass_reward import choice_actions
from neurogym.wrappers.sampling import remembered
from neurogym.wrappers.tasks import require_period, task_of


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
    hooks = Hooks(history_dependent=True, own_step=True)
    state = ("_window",)
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
        made, right = (np.transpose(self._window)[..., None] == self._actions).sum(axis=1)
        ratios = np.divide(made + 1, right, out=np.full(len(right), np.inf), where=right > 0)
        smallest = float(ratios.min())
        if smallest >= self.th:
            return reward, 0
        if reward <= 0 or choice != self._actions[np.argmax(np.where(right > 0, ratios, -1))]:
            return reward, -1
        return reward * smallest, 1

    def step(self, action: Action) -> StepResult:
        """Act; the reward at the end of a trial may be scaled."""
        ob, reward, terminated, truncated, info = super().step(action)
        if info["new_trial"]:
            self._window = remembered(self._window, (int(action), int(info.get("gt", -1))), self.choice_w)
            paid, info["bias_corr_on"] = self._correct(int(action), float(reward))
            info["trial_reward"] += paid - reward
            reward = paid
        return ob, reward, terminated, truncated, info


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

    metadata = WrapperInfo(doi="10.1038/s41467-020-14824-w", order="any")
    hooks = Hooks(changes=("rewards", "record"))
    state = ("_made",)
    ceiling_effect = HIDES_OUTCOME

    def __init__(
        self,
        env: gym.Env,
        catch_prob: Probability = 0.1,
        stim_th: Percent | None = None,
        start: Whole = 0,
        alt_rew: float = 0,
    ):
        task = task_of(env, "CatchTrials")
        if not task.traits.batched or "correct" not in task.rewards:
            raise ValueError(f"CatchTrials needs a task with a declared rule and a reward 'correct', not {task}")
        graded = hasattr(task, "cohs") and (not task.conditions or "coh" in task.conditions)
        if stim_th is not None and not graded:
            raise ValueError(f"stim_th needs a task with coherences, {task} has none")
        super().__init__(env)
        self.catch_prob, self.stim_th, self.start, self.alt_rew = catch_prob, stim_th, start, alt_rew
        self._made = 0

    def start_session(self) -> None:
        """Count trials from 0."""
        self._made = 0

    def revise(self, trials: Trials) -> None:
        """Choose the catch trials and change the reward of their correct responses."""
        catch = trials.rng.random(trials.n) < self.catch_prob
        catch &= self._made + np.arange(trials.n) >= self.start
        if self.stim_th is not None:
            highest = float(np.percentile(self.task.cohs, self.stim_th))
            catch &= trials.info["coh"] <= highest + 1e-9
        self._made += trials.n
        trials.rewards["correct"] = np.where(catch, self.alt_rew, trials.reward("correct"))
        trials.info["catch_trials_catch"] = catch


class MissTrialReward(TrialWrapper):
    """Add to the reward of the last step of a trial that runs out although an answer was needed.

    Args:
        env: The task, wrapped or not.
        r_miss: What is added.
    """

    metadata = WrapperInfo(order="any")
    hooks = Hooks(changes=("rewards",))

    def __init__(self, env: gym.Env, r_miss: float = 0.0):
        super().__init__(env)
        self.r_miss = r_miss
        if not self.task.traits.batched:
            self.task.r_tmax += r_miss

    def effect_on_ceiling(self) -> Effect:
        """Return the effect on the ceiling; the best reward is unknown if missing trials may pay more."""
        return LEAVES if self.r_miss <= 0 else LEAVES_PERFORMANCE

    def revise(self, trials: Trials) -> None:
        """Change the reward of a miss."""
        trials.rewards["miss"] = trials.reward("miss") + self.r_miss


class TimeOut(TrialWrapper):
    """Change the fixation duration of the trial after an error or miss.

    The trial's record marks such trials as ``time_out_on``.

    Args:
        env: A task with a period called ``fixation``.
        time_out: Its duration after an error (ms).

    Raises:
        ValueError: If the duration is negative or the task has no fixation period.
    """

    metadata = WrapperInfo(order="any")
    hooks = Hooks(changes=("timing", "record"), follows_agent=True, history_dependent=True)
    state = ("_on",)
    decides = ("period_fixation",)

    def __init__(self, env: gym.Env, time_out: NonNegative = 0):
        require_period(env, "TimeOut", "fixation")
        super().__init__(env)
        self.time_out = time_out
        self.start_session()

    def effect_on_ceiling(self) -> Effect:
        """Return the effect on the ceiling: a fixation of another length shows the agent that the last trial failed."""
        timing = self.task.timing
        usual = Distribution.of(timing["fixation"]) if "fixation" in timing else None
        if usual is None or usual.kind != "constant":
            hint = unknown("fixation hints at whether the last answer was correct")
            return hint if self.has_history_without else LEAVES
        steps = [int(duration / self.task.dt + 1e-6) for duration in (usual.arguments, self.time_out)]
        return LEAVES if steps[0] == steps[1] else TELLS_OUTCOME

    def start_session(self) -> None:
        """There was no error yet."""
        self._on = False

    def trial_ended(self, info: Info) -> None:
        """Note whether the trial ended with an error or a miss; a graded success, such as a sure bet, is neither."""
        self._on = info["outcome"] in ("error", "abort", "miss")

    def plan(self, n: int, conditions: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Set the fixation duration after an error or miss."""
        return {**conditions, "period_fixation": np.full(n, float(self.time_out))} if self._on else conditions

    def revise(self, trials: Trials) -> None:
        """Record whether the fixation period was changed."""
        trials.info["time_out_on"] = np.full(trials.n, self._on)
