"""Production of a cued interval by a ramp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from neurogym.envs.task import Positive, Rows, StepResult, TaskInfo, TrialEnv, Trials, rules, spaces, usual_arguments

PULSE = 0.4  #: height of the ready and set pulses


class CueSetGo(TrialEnv):
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
        taught="networks were trained on the ramp (Wang et al. 2018, 10.1038/s41593-017-0028-6; Sohn et al. 2019, "
        "10.1016/j.neuron.2019.06.012); of random trials fewer than one in a thousand are rewarded",
        trained_with={"ramp_end": 0.95},  # at 1 the threshold is crossed at the early edge of what is right
    )
    default_timing: ClassVar[Mapping[str, Any]] = {"burn": 50, "wait": 100, "set": 20}
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
        scenario: int | None = None,
        input_noise: float = 0.0,
        target_threshold: float = 0.05,
        threshold_delay: float = 50,
        target_ramp: bool = True,
        prod_margin: float = 0.05,
        wait_time: float | None = None,
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
        self.action_space = spaces.Box(0.0, 1.0, shape=(1,), dtype=np.float32, name={"output": 0})
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

    def _step(self, action: Any) -> StepResult:
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
