"""Curricula: training in phases."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import unknown
from neurogym.metadata import WrapperInfo
from neurogym.parameters.arguments import Count, Number, Whole
from neurogym.sampling.distributions import Distribution
from neurogym.spaces import Action
from neurogym.trials import Info, Rows, StepResult, Trials
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.hooks import Hooks
from neurogym.wrappers.sampling import remembered
from neurogym.wrappers.tasks import require_period, task_of


class Phased(TrialWrapper):
    """Go through phases; a phase ends when the mean performance of the last trials reaches a threshold.

    Args:
        env: A task with a declared rule, discrete actions, ground truth and a period called ``decision``.
        last_ph: Index of the last phase.
        init_ph: First phase.
        max_num_reps: How often the same choice may be made in a row in phases that reward every choice.
        th: Performance at which a phase ends.
        perf_w: Trials in the window, which is emptied when a phase ends.

    Attributes:
        curr_ph: Phase of the trials being made.

    Raises:
        ValueError: If the task does not fit or an argument is out of range.
    """

    hooks = Hooks(
        changes=("conditions", "timing", "observations", "rewards"),
        history_dependent=True,
        follows_agent=True,
        own_step=True,
    )
    state = ("curr_ph", "_window", "_choice", "_reps", "_first")
    decides = ("the training phase", "period_fixation")
    punishing_ph = 0  # first phase with negative rewards

    def __init__(self, env: gym.Env, last_ph: int, init_ph: int, max_num_reps: Count, th: float, perf_w: Count):
        name = type(self).__name__
        task = task_of(env, name)
        if not task.traits.batched or "decision" not in task.timing:
            raise ValueError(f"{name} needs a task with a declared rule and a period called decision, not {task}")
        if not 0 <= init_ph <= last_ph:
            raise ValueError(f"init_ph must lie between 0 and {last_ph}, got {init_ph!r}")
        super().__init__(env)
        self.last_ph, self.init_ph, self.max_num_reps, self.th, self.perf_w = last_ph, init_ph, max_num_reps, th, perf_w
        self._sigma = getattr(self.task, "sigma", None)
        self.start_session()

    def start_session(self) -> None:
        """Begin with the first phase."""
        self.curr_ph = self.init_ph
        self._window: list[float] = []
        self._choice, self._reps = -1, 0
        self._first: bool | None = None  # whether the first answer of the trial was right

    def step(self, action: Action) -> StepResult:
        """Act; the first answer of a trial is remembered."""
        task = self.task
        if self._first is None and task.in_period("decision") and action != task.rule.hold:
            self._first = bool(action == task.gt_now)
        first = self._first
        ob, reward, terminated, truncated, info = super().step(action)
        if info["new_trial"]:
            if info["trial"].get(self._column) == 1 and first is not None:
                info["performance"] = float(first)
                info["outcome"] = "correct" if first else "error"
            self._first = None
        return ob, reward, terminated, truncated, info

    @property
    def _column(self) -> str:
        """Name of the phase in the trial's record."""
        return f"{type(self).__name__.lower()}_phase"

    def trial_ended(self, info: Info) -> None:
        """Count the trial, and advance to the next phase when its criterion is met."""
        performance = float(info["performance"])
        if info["trial"].get(self._column) == 1 and self._first is not None:
            performance = float(self._first)
        self._window = remembered(self._window, performance, self.perf_w)
        if info["outcome"] in ("correct", "error") and info["choice"] != self.task.rule.hold:
            choice = int(info["choice"])
            self._choice, self._reps = choice, self._reps + 1 if choice == self._choice else 1
        if len(self._window) == self.perf_w and np.mean(self._window) >= self.th and self.curr_ph < self.last_ph:
            self.curr_ph, self._window = self.curr_ph + 1, []

    def silence(self, quiet: bool) -> None:
        """Switch the task's noise off or on."""
        if self._sigma is not None:
            self.task.sigma = 0.0 if quiet else self._sigma

    # -- what a phase does to the trials ------------------------------------------------------------------------------

    def _answers(self) -> list[int]:
        """The actions that answer."""
        return [a for a in range(int(self.action_space.n)) if a != self.task.rule.hold]  # type: ignore[attr-defined]

    def reward_any(self, trials: Trials) -> None:
        """Make every response correct, except for a response repeated too often in a row."""
        for action in self._answers():
            worn = action == self._choice and self._reps >= self.max_num_reps
            trials.set_action_reward("decision", action, trials.reward("fail" if worn else "correct"), float(not worn))

    def ignore_errors(self, trials: Trials) -> None:
        """Remove the cost of wrong answers, which then do not end the trial."""
        correct, answers = trials.reward("correct"), self._answers()

        def is_right(rows: Rows) -> np.ndarray:
            return trials.gt[rows.index, None] == answers

        def pay(rows: Rows) -> np.ndarray:
            return np.where(is_right(rows), correct[rows.trial, None], 0.0)

        trials.set_action_reward("decision", answers, pay, lambda rows: is_right(rows).astype(float), is_right)

    def revise(self, trials: Trials) -> None:
        """Set the rewards of the present phase, and record the phase."""
        if self.curr_ph == 0:
            self.reward_any(trials)
        elif self.curr_ph == 1:
            self.ignore_errors(trials)
        if self.curr_ph < self.punishing_ph:
            trials.rewards = {event: np.maximum(amount, 0) for event, amount in trials.rewards.items()}
        trials.info[self._column] = np.full(trials.n, self.curr_ph)


class Shaping(Phased):
    """Train in six phases, from short noiseless trials in which any answer is rewarded to the unchanged task.

    ===== ============================ ====== ================================================================
    phase periods but the last         noise  what is rewarded
    ===== ============================ ====== ================================================================
    0     short                        none   any answer but one given more than ``max_num_reps`` times in a row
    1     short                        none   errors cost nothing and do not end the trial; the first answer counts
    2     short on average             none   as in the task, negative rewards are 0
    3     short on average             task's as in the task, negative rewards are 0
    4     task's                       task's as in the task, negative rewards are 0
    5     task's                       task's as in the task
    ===== ============================ ====== ================================================================

    The trial's record has the phase as ``shaping_phase``.

    Args:
        env: A task with a declared rule and a period called ``decision``.
        init_ph: First phase.
        max_num_reps: How often the same answer may be given in a row in phase 0.
        short_dur: Length of a short period (steps).
        th: Performance at which a phase ends.
        perf_w: Trials in the window.

    Raises:
        ValueError: If the task does not fit or an argument is out of range.
    """

    metadata = WrapperInfo(order="any")
    punishing_ph = 5
    ceiling_effect = unknown("the trials depend on the training phase")

    def __init__(
        self,
        env: gym.Env,
        init_ph: Whole = 0,
        max_num_reps: Count = 3,
        short_dur: Count = 2,
        th: Number = 0.8,
        perf_w: Count = 1000,
    ):
        self.short_dur = short_dur
        super().__init__(env, 5, init_ph, max_num_reps, th, perf_w)

    def plan(self, n: int, conditions: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Set noise and durations."""
        self.silence(self.curr_ph < 3)
        if self.curr_ph > 3:
            return conditions
        requested = dict(conditions)
        for period in list(self.task.timing)[:-1]:
            kind, _ = Distribution.of(self.task.timing[period])
            if kind != "until" and mean_duration(self.task.timing[period]) > 0:
                requested[f"period_{period}"] = self._short(period, n)
        return requested

    def _short(self, period: str, n: int) -> np.ndarray:
        """Durations of the early phases (ms)."""
        short, spec = self.short_dur * self.task.dt, self.task.timing[period]
        if self.curr_ph < 2:
            return np.full(n, float(short))
        drawn = Distribution.of(spec).sample(self.task.np_random, n)
        return np.maximum(drawn * short / mean_duration(spec), self.task.dt)


FULL_COHERENCE = 100.0  #: coherence of an unambiguous stimulus (percent)


class CurriculumLearning(Phased):
    """Train in five phases: no stimulus, a clear stimulus, punishment, delay, ambiguity.

    ===== =========================================================================================
    phase trials
    ===== =========================================================================================
    0     no stimulus; any answer is rewarded but one given more than ``max_num_reps`` times in a row
    1     unambiguous stimulus, no delay; errors cost nothing and do not end the trial
    2     the first answer counts, errors are punished
    3     with the delay
    4     with ambiguous stimuli and noise: the task as it is
    ===== =========================================================================================

    The trial's record has the phase as ``curriculumlearning_phase``.

    Args:
        env: A task with a declared rule and periods called ``stimulus`` and ``decision``.
        perf_w: Trials in the window.
        max_num_reps: How often the same answer may be given in a row in phase 0.
        init_ph: First phase.
        th: Fraction of correct trials at which a phase ends.

    Raises:
        ValueError: If the task does not fit or an argument is out of range.
    """

    metadata = WrapperInfo(doi="10.1038/s41586-019-0919-7", order="any")
    ceiling_effect = unknown("the trials depend on the training phase")
    decides = ("the training phase", "coh")
    punishing_ph = 2

    def __init__(
        self, env: gym.Env, perf_w: Count = 1000, max_num_reps: Count = 3, init_ph: Whole = 0, th: Number = 0.8
    ):
        require_period(env, "CurriculumLearning", "stimulus")
        if not hasattr(env.unwrapped.observation_space, "name"):
            raise TypeError(f"CurriculumLearning needs channels of the stimulus; {env.unwrapped} shows frames")
        super().__init__(env, 4, init_ph, max_num_reps, th, perf_w)

    def plan(self, n: int, conditions: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Set noise, coherence and delay."""
        self.silence(self.curr_ph < 4)
        requested = dict(conditions)
        if self.curr_ph < 4 and "coh" in self.task.conditions:
            requested["coh"] = np.full(n, FULL_COHERENCE)
        if self.curr_ph < 3 and "delay" in self.task.timing:
            requested["period_delay"] = np.zeros(n)
        return requested

    def revise(self, trials: Trials) -> None:
        """Set stimuli and rewards for the present phase."""
        if self.curr_ph == 0:
            for label in self.task.observation_space.name:
                if label.startswith("stim"):
                    trials.set_ob(0, "stimulus", where=label)
        super().revise(trials)


def mean_duration(spec: object) -> float:
    """Mean of a duration's distribution (ms); callables are sampled."""
    return float(Distribution.of(spec).sample(np.random.default_rng(0), 4096).mean())
