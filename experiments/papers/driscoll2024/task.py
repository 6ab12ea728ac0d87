"""Fifteen tasks of Driscoll et al. 2024, one drawn for each trial and named by a rule input."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from neurogym.envs.psychophysics import signed_angle
from neurogym.envs.task import NonNegative, StepResult, TaskInfo, TrialEnv, Trials, spaces, usual_arguments

#: Time constant of the paper's units (ms), by which noise is scaled; time after the go cue that is not judged (ms).
TAU, REACTION = 100, 100
#: Output that means fixation, the level below which fixation is broken, and the largest error of an answer (rad).
FIXATE, BROKEN, TOLERANCE = 0.8, 0.5, 0.1 * np.pi


class Parts(NamedTuple):
    """Parts of which a task is composed.

    Attributes:
        family: ``delay`` (the stimulus stays on), ``memory``, ``react``, ``integrate`` or ``match``.
        anti: Whether the answer is opposite to the stimulus, or goes to tests that do not match.
        category: Whether halves of the circle are compared, instead of directions.
        shown: Modalities of the stimuli that are to be integrated.
        judged: Modalities that count.
    """

    family: str
    anti: bool = False
    category: bool = False
    shown: tuple[int, ...] = ()
    judged: tuple[int, ...] = ()


TASKS = {
    "DelayPro": Parts("delay"),
    "DelayAnti": Parts("delay", anti=True),
    "MemoryPro": Parts("memory"),
    "MemoryAnti": Parts("memory", anti=True),
    "ReactPro": Parts("react"),
    "ReactAnti": Parts("react", anti=True),
    "IntegrationModality1": Parts("integrate", shown=(0,), judged=(0,)),
    "IntegrationModality2": Parts("integrate", shown=(1,), judged=(1,)),
    "ContextIntModality1": Parts("integrate", shown=(0, 1), judged=(0,)),
    "ContextIntModality2": Parts("integrate", shown=(0, 1), judged=(1,)),
    "IntegrationMultimodal": Parts("integrate", shown=(0, 1), judged=(0, 1)),
    "ReactMatch2Sample": Parts("match"),
    "ReactNonMatch2Sample": Parts("match", anti=True),
    "ReactCategoryPro": Parts("match", category=True),
    "ReactCategoryAnti": Parts("match", anti=True, category=True),
}
NAMES = list(TASKS)
#: Channels: fixation, (sin, cos) of each modality, rule.
FIRST_RULE = 5

#: Shortest and longest duration of each period (ms) by family, in the order of `PERIODS`; 0: the period is left out.
PERIODS = ("fixation", "stimulus", "delay", "second", "hold", "go", "response")
DURATIONS = {
    "delay": ((300, 700), (200, 1500), (0, 0), (0, 0), (0, 0), (300, 700)),
    "memory": ((300, 700), (200, 1600), (200, 1600), (0, 0), (0, 0), (300, 700)),
    "react": ((500, 2500), (0, 0), (0, 0), (0, 0), (0, 0), (300, 1700)),
    "integrate": ((200, 600), (200, 1600), (200, 1600), (200, 1600), (100, 300), (300, 700)),
    "match": ((200, 600), (200, 1600), (200, 1600), (0, 0), (0, 0), (300, 700)),
}


class FifteenTasks(TrialEnv):
    """Fifteen tasks with angles as inputs and outputs (sine and cosine), and a rule input that names the task.

    Outputs are fixation, sine and cosine of the answer. Performance is that of the last step: fixation is kept where it
    should be, else broken, with the angle within 18 degrees.

    Args:
        tasks: Names of the tasks that are drawn; None for all fifteen.
        sigma: S.d. of the noise of the inputs; times sqrt(2 / a) in a step, a = 1 - exp(-dt / 100 ms).
        coherence: Largest half of the difference of two strengths.
    """

    metadata = TaskInfo(
        doi="10.1038/s41593-024-01668-6",
        tags=["perceptual", "working memory", "context dependent", "continuous action space", "supervised"],
    )
    names: ClassVar = NAMES
    default_timing: ClassVar = dict.fromkeys(PERIODS, REACTION)
    default_rewards: ClassVar = {"correct": 1.0, "fail": 0.0}

    @usual_arguments(dt=20, abort=False)
    def __init__(self, tasks: Any = None, sigma: NonNegative = 0.1, coherence: NonNegative = 0.8):
        self.sigma = sigma * np.sqrt(2 / (1 - np.exp(-self.dt / TAU)))
        self.coherence = coherence
        self.conditions = {"task": NAMES if tasks is None else list(tasks)}
        unknown = set(self.conditions["task"]) - set(NAMES)
        if unknown:
            raise ValueError(f"tasks must be among {', '.join(NAMES)}, got {', '.join(sorted(unknown))}")
        self.observation_space = spaces.channels(
            {
                "fixation": 0,
                "stimulus_mod1": range(1, 3),
                "stimulus_mod2": range(3, 5),
                "task": range(FIRST_RULE, FIRST_RULE + len(NAMES)),
            }
        )
        names = {"fixation": 0, "sin": 1, "cos": 2}
        self.action_space = spaces.Box(-2, 2, shape=(3,), dtype=np.float32, name=names)

    def _new_trials(self, trials: Trials) -> None:
        names = [str(name) for name in trials.draw("task")]
        designs = [TASKS[name] for name in names]
        family = np.array([each.family for each in designs])
        self._lay_out(trials, family)
        angles, strengths, answer = self._stimuli(trials, designs, family)
        respond = np.isfinite(answer)
        trials.info.update(angle1=angles[:, 0], angle2=angles[:, 1], answer=answer)

        keeps_cue = np.isin(family, ("react", "match"))
        before = trials.rows(PERIODS[:5])
        trials.ob[before.index, 0] = 1
        after = trials.rows(("go", "response"))
        trials.ob[after.index, 0] = keeps_cue[after.trial]
        rows = trials.rows()
        rule = np.array([NAMES.index(name) for name in names])
        trials.ob[rows.index, FIRST_RULE + rule[rows.trial]] = 1
        displays = (
            ("stimulus", 0, family != "react"),
            ("second", 1, family == "integrate"),
            (("go", "response"), 0, np.isin(family, ("delay", "react"))),
            (("go", "response"), 1, family == "match"),
        )
        for period, selected, among in displays:
            period_rows = trials.rows(period)
            size = (strengths[:, :, selected] * among[:, None])[period_rows.trial]
            angle = angles[period_rows.trial, selected]
            for modality in (0, 1):
                seen = size[:, modality, None] * np.stack([np.sin(angle), np.cos(angle)], axis=1)
                trials.ob[period_rows.index, 1 + 2 * modality : 3 + 2 * modality] += seen
        if self.sigma > 0:
            noise = trials.rng.standard_normal((trials.total, FIRST_RULE), dtype=np.float32)
            trials.ob[:, :FIRST_RULE] += self.sigma * noise

        right = np.zeros((trials.total, 3), np.float32)
        right[:, 0] = FIXATE
        due = after.index[respond[after.trial]]
        angle = answer[after.trial[respond[after.trial]]]
        right[due] = np.stack([np.zeros(len(due)), np.sin(angle), np.cos(angle)], axis=1)
        trials.set_groundtruth(lambda _: right)
        trials.go, trials.go_period = trials.starts["go"], "go"

    def _lay_out(self, trials: Trials, family: np.ndarray) -> None:
        drawn = np.zeros((trials.n, len(PERIODS) - 1))
        for name, spans in DURATIONS.items():
            low, high = np.array(spans, float).T
            members = np.flatnonzero(family == name)
            drawn[members] = low + (high - low) * trials.rng.random((len(members), len(low)))
        times = [*drawn.T[:5], np.full(trials.n, REACTION), np.maximum(drawn[:, 5] - REACTION, self.dt)]
        trials.add_period(list(PERIODS), times)

    def _stimuli(
        self, trials: Trials, designs: list[Parts], family: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw angles (trials, 2), strengths (trials, modalities, 2) and the answer (rad; nan: keep fixating)."""
        n, rng = trials.n, trials.rng
        anti = np.array([each.anti for each in designs])
        category = np.array([each.category for each in designs])
        visible, judged = (np.array([[m in each[k] for m in (0, 1)] for each in designs]) for k in (3, 4))
        integrate, match = family == "integrate", family == "match"
        several = judged.all(axis=1)

        first = 2 * np.pi * rng.random(n)
        angle = np.pi * np.where(match, 1 / 9 + rng.random(n) * 16 / 9, 1 / 2 + rng.random(n))
        same = rng.random(n) < 0.5
        second = np.where(match & same, first, first + angle)
        second = np.where(category, 2 * np.pi * rng.random(n), second) % (2 * np.pi)
        same = np.where(category, (first < np.pi) == (second < np.pi), same)

        mean = 0.8 + 0.4 * rng.random((n, 2))
        half = 0.005 + (self.coherence - 0.005) * rng.random((n, 2))
        half *= rng.choice((-1, 1), size=(n, 2))
        pair = np.stack([mean + half, mean - half], axis=2)
        split = (0.005 + (self.coherence - 0.005) * rng.random((n, 2))) * rng.choice((-1, 1), size=(n, 2)) / 2
        divided = pair[:, :1] * (1 + np.stack([split, -split], axis=1))
        strengths = np.where(several[:, None, None], divided, pair) * visible[:, :, None]
        evidence = ((strengths[..., 0] - strengths[..., 1]) * judged).sum(axis=1)
        modality = rng.integers(2, size=(n, 2))
        single = (modality[:, None] == np.arange(2)[:, None]).astype(float)
        single[~match, :, 1] = 0
        strengths = np.where(integrate[:, None, None], strengths, single)

        winner = np.where(evidence > 0, first, second)
        tested = np.where(same != anti, second, np.nan)
        answer = np.where(integrate, winner, np.where(match, tested, first + np.pi * anti))
        return np.stack([first, second], axis=1), strengths, answer % (2 * np.pi)

    def _step(self, action: Any) -> StepResult:
        """Judge the last step."""
        if self.session.cursor.at_end:
            output, right = np.asarray(action, float), self.gt_now
            fixates = output[0] > BROKEN
            angle = float(np.arctan2(output[1], output[2]))
            near = abs(signed_angle(angle - np.arctan2(right[1], right[2]))) < TOLERANCE
            self.performance = float(fixates if right[0] > BROKEN else near and not fixates)
            self.choose(np.nan if fixates else angle % (2 * np.pi))
            self.report()
        return self.ob_now, self.performance * self.rewards["correct"], False, False, {"new_trial": False}
