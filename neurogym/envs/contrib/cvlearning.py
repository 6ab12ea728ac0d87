"""A shaping curriculum for the delayed-response task."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Annotated

import numpy as np

from neurogym.envs.psychophysics import coherences, step_noise, two_channels
from neurogym.envs.task import (
    ConditionValues,
    Info,
    ProgrammedTask,
    StepResult,
    TaskInfo,
    Trials,
    rules,
    spaces,
    usual_arguments,
)
from neurogym.parameters.arguments import AtLeastTwo, Count, NonNegative, Range, Whole
from neurogym.trials.layout import Duration
from neurogym.wrappers.sampling import remembered

FREE, RETRY, PUNISHED, DELAYED, FULL = range(5)  #: the five stages
SIDES = (1, 2)
Threshold = Annotated[float, Range(-1, 1)]
Day = Annotated[float, Range(1)]  #: infinite where a stage never ends


class CVLearning(ProgrammedTask):
    """Learn a delayed two-choice task in five stages, from free choice to the full task.

    0: no stimulus; either side is rewarded until it was chosen ``max_num_reps`` times in a row, then only the other.
    1: the stimulus shows the side; a wrong answer costs nothing and may be corrected.
    2: a wrong answer ends the trial and is punished. 3: a delay is introduced and grows.
    4: noise, all coherences and all delays.

    A stage ends after ``keep_days`` + 1 good days in a row, days of ``trials_day`` trials of which a fraction
    ``th_stage`` was right. A bad run in stage 2 brings stage 1 back as a reminder.

    Args:
        timing: Replaces entries of ``default_timing`` (ms), those of the full task.
        stim_scale: Multiplies the coherences 0, 6.4, 12.8, 25.6, 51.2 (percent).
        sigma: Noise of the full task; its s.d. per step is sigma / sqrt(dt).
        max_num_reps: Choices of one side in a row after which only the other is rewarded (stage 0).
        th_stage: Performance that makes a good day; -1 starts with the last stage.
        keep_days: Good days needed beyond the first.
        trials_day: Trials per day.
        perf_len: Trials over which recent performance is averaged.
        stages: The stages to go through, in order. Default all five.
        n_ch: Stimulus channels, and actions apart from fixation; only the first two matter.

    Raises:
        ValueError: If an argument is out of range.

    Source: Inagaki, Fontolan, Romani & Svoboda 2019 (the task).
    """

    metadata = TaskInfo(
        doi="10.1038/s41586-019-0919-7",
        tags=["perceptual", "delayed response", "two-alternative", "learning", "supervised"],
        history_dependent=True,
        necessary=(),
        trained_with={"th_stage": 0.9},  # random choices are right in 0.83 of the trials of the first stage
    )
    default_timing = {"fixation": 200, "stimulus": 1150, "delay": ("uniform", (1000, 3000)), "decision": 1500}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": -1.0}
    _run: int  #: how often the last choice was made in a row
    _last_choice: int
    cohs = ConditionValues("coh")

    @usual_arguments()
    def __init__(
        self,
        stim_scale: NonNegative = 1.0,
        sigma: NonNegative = 1.0,
        max_num_reps: Count = 3,
        th_stage: Threshold = 0.7,
        keep_days: Whole = 1,
        trials_day: Day = 300,
        perf_len: Count = 20,
        stages: Sequence[int] | None = None,
        n_ch: AtLeastTwo = 10,
    ):
        self.stages = tuple(range(5) if stages is None else stages)
        if not self.stages or not set(self.stages) <= set(range(5)):
            raise ValueError(f"stages must be some of 0, 1, 2, 3, 4, got {stages!r}")
        self.sigma, self.n_ch, self.max_num_reps = step_noise(sigma, self.dt), n_ch, max_num_reps
        self.th_stage, self.keep_days, self.trials_day, self.perf_len = th_stage, keep_days, trials_day, perf_len
        self.conditions = {"ground_truth": SIDES, "coh": coherences() * stim_scale}
        rest: dict[str, spaces.Index] = {"irrelevant": range(3, n_ch + 1)} if n_ch > 2 else {}
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": range(1, 3), **rest})
        self.action_space = spaces.Discrete(n_ch + 1, name={"fixation": 0, "choice": [1, 2], **rest})
        self.start_session()

    # -- one trial ----------------------------------------------------------------------------------------------------

    @property
    def _asked_side(self) -> int:
        """The only rewarded side after too many repeated choices; 0 if both sides count or a side is drawn."""
        return sum(SIDES) - self._last_choice if self.stage == FREE and self._run >= self.max_num_reps else 0

    def _new_trials(self, trials: Trials) -> None:
        stage, full = self.stage, self.stage == FULL
        if self._asked_side and "ground_truth" not in trials.given:
            trials.info["ground_truth"] = side = np.full(trials.n, self._asked_side)
        else:
            side = trials.draw("ground_truth")
        coh = trials.draw("coh") if full or "coh" in trials.given else np.full(trials.n, 100.0)
        sigma = self.sigma if full else 0.0
        trials.info.update(coh=coh, sigma=np.full(trials.n, sigma), stage=np.full(trials.n, stage))
        trials.info["delay_scale"] = np.full(trials.n, self._delay_scale)
        trials.add_period("fixation")
        trials.add_period("stimulus", 0 if stage == FREE else None, after="fixation")
        trials.add_period("delay", self._delay(trials), after="stimulus")
        trials.add_period("decision", after="delay")
        trials.add_ob(1, ["fixation", "stimulus", "delay"], where="fixation")
        trials.add_ob(two_channels(np.where(side == 1, coh, -coh)), "stimulus", where="stimulus")
        if self.n_ch > 2:
            trials.add_ob(0.5, "stimulus", where="irrelevant")
        trials.add_randn(0, sigma, "stimulus", where=range(1, self.n_ch + 1))
        trials.set_groundtruth(side, "decision")

    def _delay(self, trials: Trials) -> Duration | None:
        """Delay of the present stage (ms); None for that of the full task."""
        if self.stage == FULL:
            return None
        if self.stage == DELAYED:
            return trials.info["delay_scale"] * trials.rng.choice([1000.0, 3000.0], size=trials.n)
        return 0

    def _step(self, action: int) -> StepResult:
        reward, ended = 0.0, False
        if self.t_ind == 0:
            self._answered = False
        if not self.in_period("decision"):
            if action != 0:
                reward, ended = self.break_fixation()
        elif action in SIDES:
            reward, ended = self._answer(int(action))
        info = {"new_trial": ended, "stage": self.stage, "keep_stage": self._keep_left, "recent": self.recent}
        return self.ob_now, reward, False, False, info

    def _answer(self, choice: int) -> tuple[float, bool]:
        """Reward of an answer, and whether the answer ends the trial."""
        stage, right = self.stage, choice == self.trial["ground_truth"]
        either = stage == FREE and self._run < self.max_num_reps
        if not self._answered:
            self.performance = float(right or either)
            self._answered = True
            self._run = self._run + 1 if choice == self._last_choice else 1
            self._last_choice = choice
        self.report(rules.CORRECT if self.performance else rules.ERROR)
        if right or either:
            return self.rewards["correct"], True
        return (self.rewards["fail"], True) if stage >= PUNISHED else (0.0, stage == FREE)

    # -- the curriculum -----------------------------------------------------------------------------------------------

    def start_session(self) -> None:
        """Begin with the first stage (the last if ``th_stage`` is -1)."""
        self._index = len(self.stages) - 1 if self.th_stage == -1 else 0
        self._reminder, self._keep_left = False, self.keep_days
        self._window: list[bool] = []
        self._day: list[bool] = []
        self._delay_scale = self._delay_scale_at_dawn = 0.0
        self._trials_at_scale = 0
        self._run = self._last_choice = 0
        self._answered = False

    @property
    def stage(self) -> int:
        """The present stage."""
        return RETRY if self._reminder else self.stages[self._index]

    @property
    def recent(self) -> float:
        """Fraction correct in the last ``perf_len`` trials, 0 before the first trial."""
        return sum(self._window) / len(self._window) if self._window else 0.0

    def trial_ended(self, info: Info) -> None:
        """Record the trial and set the conditions of the next."""
        right = info["performance"] == 1
        self._window = remembered(self._window, right, self.perf_len)
        self._day.append(right)
        settled = len(self._day) >= self.perf_len and len(self._window) == self.perf_len
        if settled and self.stage == PUNISHED and self.recent < 0.5 and RETRY in self.stages:
            self._reminder, self._window = True, []
        elif settled and self._reminder and self.recent > self.th_stage:
            self._reminder, self._window = False, []
        if self.stage == DELAYED:
            self._adjust_delay()
        if len(self._day) >= self.trials_day:
            self._end_day()

    def _adjust_delay(self) -> None:
        self._trials_at_scale += 1
        if self._trials_at_scale <= self.perf_len:
            return
        step = 0.0
        if self.recent >= self.th_stage and self._delay_scale < 1:
            step = 0.25
        elif self.recent <= 0.5 and self._delay_scale > self._delay_scale_at_dawn:
            step = -0.25
        if step:
            self._delay_scale += step
            self._trials_at_scale = 0

    def _end_day(self) -> None:
        is_learned = self.stage != DELAYED or self._delay_scale == 1
        good = np.mean(self._day) >= self.th_stage and is_learned and not self._reminder
        if not good:
            self._keep_left = self.keep_days
        elif self._keep_left > 0:
            self._keep_left -= 1
        elif self._index + 1 < len(self.stages):
            self._index += 1
            self._keep_left, self._window, self._delay_scale = self.keep_days, [], 0.0
        self._day, self._delay_scale_at_dawn = [], self._delay_scale

    def chance(self) -> dict[str, float]:
        """``performance`` and ``reward`` per trial of the random agent in the stage in which a session begins."""
        if np.isinf(self.trials_day):
            return super().chance()
        env = copy.deepcopy(self)
        env.trials_day = np.inf
        return env.chance()
