"""Production of an interval by a ramp: cued, or measured before, with one range of intervals or two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from neurogym.envs.psychophysics import exact_ceiling
from neurogym.envs.task import ProgrammedTask, Rows, Score, StepResult, TaskInfo, Trials, rules, spaces, usual_arguments
from neurogym.parameters.arguments import NonNegative, Positive, Probability, Whole

PULSE = 0.4  #: height of the ready and set pulses


class CueSetGo(ProgrammedTask):
    """Produce the interval encoded by the height of a cue, from the onset of the set pulse.

    The action is the output of a ramp: it must be low when the set pulse comes, and reach the threshold when the
    interval is over. The first crossing ends the trial ``threshold_delay`` ms later.

    Args:
        training: Whether every scenario comes once per cycle, in random order; otherwise each is drawn independently.
        scenario: The only scenario; None for all.
        input_noise: S.d. of the cue, as a fraction of its height.
        target_threshold: How close to 0 the output must be at set, and to 1 to count as the response.
        threshold_delay: Time from the response to the end of the trial (ms).
        target_ramp: Whether the ground truth is a ramp; otherwise a step at the end of the interval.
        prod_margin: Tolerance as a fraction of the interval (at least one time step).
        wait_time: Time from the cue to the first pulse (ms).
        ramp_end: Height of the ramp when the interval is over. At 1 the ramp reaches the threshold of the response when
            95 % of the interval have passed, at 0.95 when the interval is over, as ``ngym run`` trains networks.

    Raises:
        ValueError: If there is no such scenario.
    """

    metadata = TaskInfo(
        tags=["timing", "continuous action space", "supervised"],
        necessary=("context",),
        supervised="networks were trained on the ramp (Wang et al. 2018, 10.1038/s41593-017-0028-6; Sohn et al. 2019, "
        "10.1016/j.neuron.2019.06.012); of random trials fewer than one in a thousand are rewarded",
        trained_with={"ramp_end": 0.95},  # at 1 the threshold is crossed at the early edge of what is right
    )
    default_timing: ClassVar[Mapping[str, object]] = {"burn": 50, "wait": 100, "set": 20}
    default_rewards = {"correct": 1.0, "fail": 0.0}
    #: (interval in ms, height of the cue) of each scenario
    scenarios: ClassVar[Sequence[tuple[float, float]]] = tuple(
        (interval, 0.2 + 0.3 * (interval - 700) / 950)
        for interval in (720, 760, 800, 840, 880, 1420, 1460, 1500, 1540, 1580)
    )
    total: ClassVar[float] = 2200  #: length of a trial (ms)

    @usual_arguments(dt=10, abort=False)
    def __init__(
        self,
        training: bool = True,
        scenario: Whole | None = None,
        input_noise: NonNegative = 0.0,
        target_threshold: Probability = 0.05,
        threshold_delay: NonNegative = 50,
        target_ramp: bool = True,
        prod_margin: NonNegative = 0.05,
        wait_time: NonNegative | None = None,
        ramp_end: Positive = 1.0,
    ):
        if wait_time is not None:
            self.timing["wait"] = wait_time
        listed = tuple(range(len(self.scenarios)))
        if scenario is not None and scenario not in listed:
            raise ValueError(f"scenario must be one of {listed}, got {scenario!r}")
        self.conditions = {"scenario": listed if scenario is None else (scenario,)}
        self.training, self.input_noise, self.target_ramp = training, input_noise, target_ramp
        self.target_threshold, self.threshold_delay = target_threshold, threshold_delay
        self.prod_margin, self.ramp_end = prod_margin, ramp_end
        self.observation_space = spaces.channels({"context": 0, "pulse": 1})
        self.action_space = spaces.channels({"output": 0}, 0.0, 1.0)
        self.start_session()

    def start_session(self) -> None:
        """Begin a new cycle of scenarios."""
        self._cycle: list[int] = []

    def _scenarios(self, trials: Trials) -> np.ndarray:
        if "scenario" in trials.given or not self.training:
            return trials.draw("scenario")
        values = np.array(self.conditions["scenario"])
        while len(self._cycle) < trials.n:
            self._cycle += trials.rng.permutation(values).tolist()
        drawn, self._cycle = np.array(self._cycle[: trials.n]), self._cycle[trials.n :]
        trials.info["scenario"] = drawn
        return drawn

    def _add_pulses(self, trials: Trials, interval: np.ndarray) -> None:
        """Periods and pulses up to the set pulse."""
        trials.add_period(["burn", "wait", "set"], min_steps=1)

    def _new_trials(self, trials: Trials) -> None:
        scenario = self._scenarios(trials)
        interval, height = np.array(self.scenarios)[scenario].T
        trials.info.update(interval=interval, production=interval, cue=height)
        self._add_pulses(trials, interval)
        since = trials.starts["set"]
        rest = np.maximum(trials.steps(self.total) - trials.ends["set"], trials.steps(interval * 1.1) + 1)
        trials.add_period("production", rest * self.dt, after="set")
        trials.go, trials.go_period = since, "set"
        everything = [name for name in trials.starts if name != "burn"]
        noise = 1 + self.input_noise * trials.rng.standard_normal(trials.n)
        trials.add_ob(height * noise, everything, where="context")
        for pulse in ("ready", "set"):
            if pulse in trials.starts:
                trials.add_ob(PULSE, pulse, where="pulse")

        def target(rows: Rows) -> np.ndarray:
            passed = (rows.step - since[rows.trial]) * self.dt / interval[rows.trial]
            return np.clip(passed * self.ramp_end, 0, 1) if self.target_ramp else (passed >= 1 - 1e-9).astype(float)

        trials.set_groundtruth(target)

    def chance(self) -> dict[str, float]:
        """Exact: output is low at set by chance, and crosses the threshold first within the tolerance by chance."""
        p, performance = self.target_threshold, 0.0
        for scenario in self.conditions["scenario"]:
            interval = self.scenarios[scenario][0]
            step = np.arange(1, int(2 * interval / self.dt) + 2)
            good = np.abs(step * self.dt - interval) <= max(self.prod_margin * interval, self.dt) + 1e-6
            performance += float(p * (p * (1 - p) ** (step[good] - 1)).sum()) / len(self.conditions["scenario"])
        reward = performance * self.rewards["correct"] + (1 - performance) * self.rewards["fail"]
        return {"performance": performance, "reward": reward}

    def _step(self, action: np.ndarray) -> StepResult:
        output, step = float(np.asarray(action).reshape(-1)[0]), self.t_ind
        since = self.start_ind["set"]
        if step == 0:
            self._low, self._response = True, None
        if step == since:
            self._low = output <= self.target_threshold
        reward = 0.0
        if step > since and self._response is None and output >= 1 - self.target_threshold - 1e-6:
            self._response = step
            self.choose(action)
            error = abs((step - since) * self.dt - self.trial["interval"])
            good = self._low and error <= max(self.prod_margin * self.trial["interval"], self.dt) + 1e-6
            reward = self.rewards["correct" if good else "fail"]
            self.performance = float(good)
            self.report(rules.CORRECT if good else rules.ERROR)
        over = self._response is not None and (step - self._response) * self.dt >= self.threshold_delay
        return self.ob_now, reward, False, False, {"new_trial": over}


class ReadySetGoSinglePrior(CueSetGo):
    """Measure the interval between the ready and the set pulse and reproduce the interval with a ramp of output.

    With ``weber`` the interval that is shown (``measured`` in the trial's record) scatters around the one that is to be
    produced, with a spread in proportion to it, as that of human observers does (Jazayeri & Shadlen 2010,
    10.1038/nn.2590); which intervals are frequent is then worth knowing.

    Args:
        input_noise: S.d. of the cue, as a fraction of its height.
        weber: S.d. of the shown interval, as a fraction of the one that is to be produced.
        **kwargs: Those of :class:`~neurogym.envs.native.cuesetgo.CueSetGo`.

    Raises:
        ValueError: If there is no such scenario, or ``weber`` is negative.
    """

    metadata = CueSetGo.metadata.replace(necessary=("pulse",))
    default_timing = {"burn": 50, "wait": 50, "ready": 20, "set": 20}
    scenarios = tuple((interval, 0.3) for interval in (480, 560, 640, 720, 800))
    total = 2000

    def __init__(self, dt: float = 10, input_noise: NonNegative = 0.01, weber: NonNegative = 0.0, **kwargs: object):
        super().__init__(dt=dt, input_noise=input_noise, **kwargs)
        self.weber = weber

    def _add_pulses(self, trials: Trials, interval: np.ndarray) -> None:
        measured = interval
        if self.weber:
            measured = interval * (1 + self.weber * trials.rng.standard_normal(trials.n))
        measured = np.maximum(np.rint(measured / self.dt), 1) * self.dt
        trials.info["measured"] = measured
        trials.add_period(["burn", "wait", "ready"], min_steps=1)
        trials.add_period("estimation", measured, after="wait")
        trials.add_period("set", after="estimation", min_steps=1)

    def closed_form(self) -> Score | None:
        """Exact: the response time that is most probably within the tolerance, given the cue and what was measured."""
        if not self.weber:
            return exact_ceiling(self, 1.0, "no noise")
        listed = np.array([self.scenarios[k] for k in self.conditions["scenario"]], float)
        cues = np.unique(listed[:, 1])
        foretold = self.training and len(listed) > 1  # by the scenarios of the cycle that came before
        if foretold or (self.input_noise and len(cues) > 1):
            return None
        hits = sum(self._most_hits(listed[listed[:, 1] == cue, 0]) for cue in cues)
        return exact_ceiling(self, float(hits) / len(listed), "posterior over the intervals of the cue")

    def _most_hits(self, intervals: np.ndarray) -> float:
        """Expected number of correct responses, with a trial of each interval (ms), measured with noise."""
        from scipy.special import ndtr

        sd = self.weber * intervals / self.dt
        steps = np.arange(1, int(np.ceil((intervals / self.dt + 6 * sd).max())) + 2)
        upper = ndtr((steps + 0.5 - (intervals / self.dt)[:, None]) / sd[:, None])
        p = np.diff(upper, axis=1, prepend=0.0)  # of each measurement given each interval, shape (intervals, steps)
        produced = steps * self.dt
        allowed = np.maximum(self.prod_margin * intervals, self.dt) + 1e-6
        good = np.abs(produced - intervals[:, None]) <= allowed[:, None]
        return float((p.T @ good).max(axis=1).sum())


class ReadySetGoDoublePrior(ReadySetGoSinglePrior):
    """Measure and reproduce an interval; a cue shows whether the interval is from the short or the long range.

    Args:
        input_noise: S.d. of the cue, as a fraction of its height.
        **kwargs: Those of :class:`~neurogym.envs.native.cuesetgo.ReadySetGoSinglePrior`.

    Raises:
        ValueError: If there is no such scenario, or ``weber`` is negative.
    """

    scenarios = (
        *((interval, 0.3) for interval in (480, 560, 640, 720, 800)),
        *((interval, 0.4) for interval in (800, 900, 1000, 1100, 1200)),
    )
    total = 3000

    def __init__(self, dt: float = 10, input_noise: NonNegative = 0.0, **kwargs: Any):
        super().__init__(dt=dt, input_noise=input_noise, **kwargs)
