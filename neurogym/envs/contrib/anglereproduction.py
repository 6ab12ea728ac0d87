"""Angle reproduction: rotate the agent's own state to two remembered angles."""

from __future__ import annotations

import numpy as np

from neurogym.envs.psychophysics import ring, signed_angle
from neurogym.envs.task import ProgrammedTask, StepResult, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import Positive
from neurogym.trials import Rows
from neurogym.trials.rows import CurrentObservations

CHANNELS = 16
START = np.pi  #: own angle at the start of a trial (rad)
STAY, PLUS, MINUS = 0, 1, 2


class AngleReproduction(ProgrammedTask):
    """See two angles in sequence, then turn to the first and to the second angle when cued.

    The own angle starts at pi and moves only in the two go periods, at ``speed``. In each go step the reward is
    ``correct`` minus the angular distance left (rad), at least ``fail``. Performance is the summed reward relative to
    that of the shortest way, averaged over the two go periods.

    Args:
        speed: Speed of rotation (rad/s).

    Raises:
        ValueError: If ``speed`` is not positive.

    Source: Ding, Cueva, Tsodyks & Qian 2017.
    """

    metadata = TaskInfo(
        doi="10.1073/pnas.1706906114",
        tags=["perceptual", "working memory", "delayed response", "motor", "steps action space", "supervised"],
        necessary=("stimulus", "stim1", "stim2"),
    )
    default_timing = dict.fromkeys(("fixation", "stim1", "delay1", "stim2", "delay2"), 500) | {"go1": 1500, "go2": 1500}
    default_rewards = {"correct": 1.0, "fail": -0.1}

    @usual_arguments(abort=False)
    def __init__(self, speed: Positive = 1.25 * np.pi):
        self.turn = speed * self.dt / 1000
        self.theta = ring(CHANNELS)
        self._state, self._most = START, 1.0
        self.conditions = {name: ("uniform", (0, 2 * np.pi)) for name in ("ground_truth1", "ground_truth2")}
        self.observation_space = spaces.channels(
            {
                "stimulus": range(CHANNELS),
                "self": range(CHANNELS, 2 * CHANNELS),
                "go1": 2 * CHANNELS,
                "go2": 2 * CHANNELS + 1,
            }
        )
        self.action_space = spaces.Discrete(3, name={"stay": STAY, "plus": PLUS, "minus": MINUS})

    def _new_trials(self, trials: Trials) -> None:
        """Lay out own ring and ground truth for the shortest path; :meth:`_step` corrects both."""
        angles = [trials.draw("ground_truth1"), trials.draw("ground_truth2")]
        state = np.full(trials.n, START)
        trials.add_ob(np.cos(self.theta - state[:, None]), where="self")
        for k, angle in enumerate(angles, start=1):
            trials.add_ob(np.cos(self.theta - angle[:, None]), f"stim{k}", where="stimulus")
            trials.add_ob(1, f"go{k}", where=f"go{k}")
            state = self._lay_out_go(trials, f"go{k}", state, angle)

    def _lay_out_go(self, trials: Trials, period: str, state: np.ndarray, angle: np.ndarray) -> np.ndarray:
        """Lay out ground truth and own ring of a go period from ``state``; return the state at the end."""
        turns = np.rint(signed_angle(angle - state) / self.turn).astype(int)
        start, end = trials.starts[period], trials.ends[period]

        def turned(rows: Rows | CurrentObservations) -> np.ndarray:
            return np.clip(rows.step - start[rows.trial], 0, np.abs(turns)[rows.trial])

        def position(rows: Rows | CurrentObservations) -> np.ndarray:
            now = state[rows.trial] + self.turn * np.sign(turns)[rows.trial] * turned(rows)
            return np.cos(self.theta - now[:, None])

        def towards(rows: Rows | CurrentObservations) -> np.ndarray:
            moving = turned(rows) < np.abs(turns)[rows.trial]
            return np.where(moving, np.where(turns[rows.trial] > 0, PLUS, MINUS), STAY)

        last = state + self.turn * np.sign(turns) * np.minimum(np.abs(turns), end - start)
        trials.set_groundtruth(towards, period)
        trials.set_ob(position, period, where="self")
        return last

    def _way(self, period: str) -> float:
        """Signed angle left to the target of a go period."""
        return float(signed_angle(self.trial["ground_truth1" if period == "go1" else "ground_truth2"] - self._state))

    def _gain(self, distance: float | np.ndarray) -> np.ndarray:
        return np.maximum(self.rewards["correct"] - distance, self.rewards["fail"])

    def _step(self, action: int) -> StepResult:
        if self.t_ind == 0:
            self._state = START
        reward = 0.0
        period = next((name for name in ("go1", "go2") if self.in_period(name)), None)
        if period is not None:
            low = self.rewards["fail"]
            if self.t_ind == self.start_ind[period]:
                moves = np.arange(1, self.end_ind[period] - self.start_ind[period] + 1)
                way = abs(self._way(period))
                left = np.abs(way - self.turn * np.minimum(moves, round(way / self.turn)))
                self._most = float(np.sum(self._gain(left) - low))
            self._state = (self._state + self.turn * (0, 1, -1)[int(action)]) % (2 * np.pi)
            reward = float(self._gain(abs(self._way(period))))
            self.performance += (reward - low) / (2 * self._most) if self._most > 0 else 0.5
            self._show_state()
        return self.ob_now, reward, False, False, {"new_trial": False, "gt": self.gt_now}

    def _show_state(self) -> None:
        """Write the own ring, and the direction in which to turn, into the rows to come."""
        after = self.t_ind + 1
        self.ob[after:, CHANNELS : 2 * CHANNELS] = np.cos(self.theta - self._state)
        period = next((name for name in ("go1", "go2") if after < self.end_ind[name]), None)
        if period is not None:
            turns = round(self._way(period) / self.turn)
            self.gt[after : after + 1] = STAY if turns == 0 else (PLUS if turns > 0 else MINUS)
