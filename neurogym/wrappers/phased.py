"""Base of wrappers that train in phases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import LEAVES, unknown
from neurogym.metadata import WrapperInfo
from neurogym.parameters.arguments import Count
from neurogym.sampling.distributions import Distribution
from neurogym.trials import Info, Rows, Trials
from neurogym.wrappers.base import TrialTask, TrialWrapper, task_of
from neurogym.wrappers.sampling import choices_of


class NoisyTask(TrialTask, Protocol):
    """A task whose noise can be set."""

    sigma: float


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

    decides = ("the training phase", "period_fixation")
    task: NoisyTask

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

    @property
    def _hold(self) -> int | None:
        return self.task.rule.hold

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Act; the first answer of a trial is remembered."""
        task = self.task
        answered = self._first is None and task.in_period("decision") and action != self._hold
        if answered:
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
        self._window = [*self._window, performance][-self.perf_w :]
        if info["outcome"] in ("correct", "error") and info["choice"] != self._hold:
            choice = int(info["choice"])
            self._choice, self._reps = choice, self._reps + 1 if choice == self._choice else 1
        full = len(self._window) == self.perf_w
        if full and np.mean(self._window) >= self.th and self.curr_ph < self.last_ph:
            self.curr_ph, self._window = self.curr_ph + 1, []

    def silence(self, quiet: bool) -> None:
        """Switch the task's noise off or on."""
        if self._sigma is not None:
            self.task.sigma = 0.0 if quiet else self._sigma

    # -- what a phase does to the trials ------------------------------------------------------------------------------

    def _answers(self, trials: Trials) -> np.ndarray:
        moves = [a for a in range(int(self.action_space.n)) if a != self._hold]  # type: ignore[attr-defined]
        return np.array(moves)

    def reward_any(self, trials: Trials) -> None:
        """Make every response correct, except for a response repeated too often in a row."""
        for action in self._answers(trials):
            worn = action == self._choice and self._reps >= self.max_num_reps
            event = "fail" if worn else "correct"
            trials.set_action_reward("decision", int(action), trials.reward(event), float(not worn))

    def ignore_errors(self, trials: Trials) -> None:
        """Remove the cost of wrong answers, which then do not end the trial."""
        correct = trials.reward("correct")
        for action in self._answers(trials):

            def is_right(rows: Rows, action: int = int(action)) -> np.ndarray:
                return trials.gt[rows.index] == action

            def pay(rows: Rows, right: Callable[[Rows], np.ndarray] = is_right) -> np.ndarray:
                return np.where(right(rows), correct[rows.trial], 0.0)

            trials.set_action_reward(
                "decision", int(action), pay, lambda rows, right=is_right: right(rows).astype(float), is_right
            )

    def spare(self, trials: Trials) -> None:
        """No negative rewards."""
        trials.rewards = {event: np.maximum(amount, 0) for event, amount in trials.rewards.items()}

    def record(self, trials: Trials) -> None:
        """Record the phase."""
        trials.info[self._column] = np.full(trials.n, self.curr_ph)


def mean_duration(spec: Any) -> float:
    """Mean of a duration's distribution (ms); callables are sampled."""
    return float(Distribution.of(spec).sample(np.random.default_rng(0), 4096).mean())


class PerfPhases(TrialWrapper):
    """Count phases: advance whenever a flag is set and enough trials have passed since the last advance.

    A ``Variable_nch`` inside takes the phase as the largest number of choices. The trial's record has it as
    ``perf_phases_phase``.

    Args:
        env: The task, wrapped or not.
        start_ph: First phase. Default 3, or the number of choices if that is less.
        end_ph: Last phase. Default the number of choices.
        step_ph: Phases to advance at a time.
        wait: Trials between changes.
        flag_key: Flag that a ``ComputeMeanPerf`` outside sets.

    Raises:
        ValueError: If the phases are not in order.
    """

    metadata = WrapperInfo(order="inside compute_mean_perf, outside variable_nch")
    ceiling_effect = LEAVES
    decides = ("phase",)
    inside_of = ("ComputeMeanPerf",)

    def __init__(
        self,
        env: gym.Env,
        start_ph: int | None = None,
        end_ph: int | None = None,
        step_ph: int | None = None,
        wait: int = 100,
        flag_key: str = "above_perf_th",
    ):
        self.end_ph = len(choices_of(env, "PerfPhases")) if end_ph is None else end_ph
        self.start_ph = min(3, self.end_ph) if start_ph is None else start_ph
        self.step_ph, self.wait, self.flag_key = 1 if step_ph is None else step_ph, wait, flag_key
        self.accepts = (flag_key,)  # type: ignore[misc]
        if self.start_ph > self.end_ph or self.step_ph < 1 or wait < 0:
            raise ValueError(
                f"expected start_ph <= end_ph, step_ph >= 1 and wait >= 0, got {self.start_ph}, {self.end_ph}, "
                f"{self.step_ph} and {wait}"
            )
        super().__init__(env)
        self.start_session()

    @property
    def is_adaptive(self) -> bool:
        """Return True: the flag depends on the agent."""
        return True

    def start_session(self) -> None:
        """Begin with the first phase."""
        self.phase, self._since = self.start_ph, 0

    def plan(self, n: int, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Advance if the flag is set, and pass on the phase."""
        rest = {name: value for name, value in given.items() if name != self.flag_key}
        self._since += n
        if self._since > self.wait and self.phase < self.end_ph and bool(given.get(self.flag_key, [False])[0]):
            self.phase, self._since = min(self.phase + self.step_ph, self.end_ph), 0
        wanted = any("phase" in wrapper.accepts for wrapper in self.task.wrappers)
        return {**rest, "phase": np.full(n, self.phase)} if wanted else rest

    def revise(self, trials: Trials) -> None:
        """Record the phase."""
        trials.info["perf_phases_phase"] = np.full(trials.n, self.phase)


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
    ceiling_effect = unknown("the trials depend on the training phase")

    def __init__(
        self,
        env: gym.Env,
        init_ph: int = 0,
        max_num_reps: Count = 3,
        short_dur: Count = 2,
        th: float = 0.8,
        perf_w: Count = 1000,
    ):
        self.short_dur = short_dur
        super().__init__(env, 5, init_ph, max_num_reps, th, perf_w)

    def plan(self, n: int, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Set noise and durations."""
        self.silence(self.curr_ph < 3)
        if self.curr_ph > 3:
            return given
        asked = dict(given)
        for period in list(self.task.timing)[:-1]:
            kind, _ = Distribution.of(self.task.timing[period])
            if kind != "until" and mean_duration(self.task.timing[period]) > 0:
                asked[f"period_{period}"] = self._short(period, n)
        return asked

    def _short(self, period: str, n: int) -> np.ndarray:
        """Durations of the early phases (ms)."""
        short, spec = self.short_dur * self.task.dt, self.task.timing[period]
        if self.curr_ph < 2:
            return np.full(n, float(short))
        drawn = Distribution.of(spec).sample(self.task.np_random, n)
        return np.maximum(drawn * short / mean_duration(spec), self.task.dt)

    def revise(self, trials: Trials) -> None:
        """Set the rewards of the present phase."""
        if self.curr_ph == 0:
            self.reward_any(trials)
        elif self.curr_ph == 1:
            self.ignore_errors(trials)
        if self.curr_ph < 5:
            self.spare(trials)
        self.record(trials)
