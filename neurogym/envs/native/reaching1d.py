"""Rotation onto a target angle, and the same with the own angle on the channels of the target."""

from __future__ import annotations

import numpy as np

from neurogym.envs.psychophysics import FloatOrArray, ring, signed_angle
from neurogym.envs.task import Info, ProgrammedTask, Rows, StepResult, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import AtLeastTwo, Positive

START = np.pi  #: angle at the start of a trial
TURNS = (0, 1, -1)  #: direction of rotation of each action


class Reaching1D(ProgrammedTask):
    """Rotate towards a target angle and stay there; the agent's own angle is also shown.

    Each step of the reach is rewarded more, the closer the own angle is to the target. Performance compares this with
    what the shortest way would have earned from the angle at which the reach began.

    Args:
        dim_ring: Number of units that show the target, and of those that show the own angle.
        speed: Speed of rotation (rad/s).

    Raises:
        ValueError: If ``speed`` is not positive.

    Source: Georgopoulos, Schwartz & Kettner 1986.
    """

    metadata = TaskInfo(
        doi="10.1126/science.3749885",
        tags=["motor", "steps action space", "supervised"],
        necessary=("target",),
    )
    default_timing = {"fixation": 500, "reach": 1500}
    default_rewards = {"correct": 1.0, "fail": -0.1}
    strength = 1.0  #: of the target on its channels

    @usual_arguments(abort=False)
    def __init__(self, dim_ring: AtLeastTwo = 16, speed: Positive = np.pi):
        self._set_ring(dim_ring, speed)

    def _set_ring(self, dim_ring: int, speed: float) -> None:
        self.dim_ring, self.theta, self.speed = dim_ring, ring(dim_ring), speed
        self._angle, self._possible = START, 1.0
        self.conditions = {"ground_truth": ("uniform", (0.0, 2 * np.pi))}
        names = self._channels(dim_ring)
        self._own = slice(names["self"].start, names["self"].stop)
        self.observation_space = spaces.channels(names)
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "left": 1, "right": 2})

    @staticmethod
    def _channels(n: int) -> dict[str, range]:
        return {"target": range(n), "self": range(n, 2 * n)}

    def _direction(self, to: float | np.ndarray) -> np.ndarray:
        """The action that brings the own angle closest to the target, ``to`` away (rad, signed)."""
        turn = self.speed * self.dt / 1000
        return np.where(np.abs(to) <= turn / 2 + 1e-9, 0, np.where(to > 0, 1, 2))

    def _shortest_way(self, away: float | np.ndarray, step: np.ndarray) -> np.ndarray:
        """Signed distance to the target (rad) before each step, without detour."""
        turn = self.speed * self.dt / 1000
        steps = np.floor(np.abs(away) / turn + 0.5 - 1e-9)  # steps until turning on no longer helps
        return np.sign(away) * (np.abs(away) - turn * np.minimum(step, steps))

    def _paid(self, distance: float | np.ndarray) -> np.ndarray:
        return np.maximum(self.rewards["correct"] - np.abs(distance), self.rewards["fail"])

    def _new_trials(self, trials: Trials) -> None:
        target = trials.draw("ground_truth")
        away = signed_angle(target - START)
        trials.add_ob(self.strength * np.cos(self.theta - target[:, None]), "reach", where="target")
        trials.go, trials.go_period = trials.starts["reach"], "reach"

        def to_go(rows: Rows) -> np.ndarray:
            step = np.maximum(rows.step - trials.starts["reach"][rows.trial], 0)
            return self._shortest_way(away[rows.trial], step)

        # Until the agent acts, rows show the shortest way: with the ground truth they can be learned from.
        planned = trials.fields["angle"] = target[trials.rows().trial] - to_go(trials.rows())
        trials.add_ob(lambda rows: np.cos(self.theta - planned[rows.index, None]), where="self")
        trials.set_groundtruth(lambda rows: self._direction(to_go(rows)), "reach")

    @property
    def angle(self) -> float:
        """The agent's own angle (rad); each trial begins at the same one."""
        return self._angle if self.t_ind else START

    # -- stepping -----------------------------------------------------------------------------------------------------

    def _to_target(self) -> float:
        """Signed distance from the own angle to the target (rad)."""
        return signed_angle(self.trial["ground_truth"] - self.angle)

    def oracle(self) -> int:
        """Turn the shorter way until the target is reached."""
        return int(self._direction(self._to_target())) if self.in_period("reach") else 0

    def _step(self, action: int) -> StepResult:
        info: Info = {"new_trial": False, "gt": self.oracle()}
        reaching, first = self.in_period("reach"), self.start_ind["reach"]
        if self.t_ind == 0:
            self._angle = START
        if self.t_ind == first:
            way = self._shortest_way(self._to_target(), np.arange(1, self.end_ind["reach"] - first + 1))
            self._possible = float(self._score(self._paid(way)).sum())
        self._angle = (self._angle + TURNS[action] * self.speed * self.dt / 1000) % (2 * np.pi)
        if not reaching:
            return self.ob_now, 0.0, False, False, info
        reward = float(self._paid(signed_angle(self.trial["ground_truth"] - self._angle)))
        if self._possible > 0:
            self.performance = min(1.0, self.performance + self._score(reward) / self._possible)
        else:  # too far to earn anything on any way
            self.performance = 1.0
        self.report()
        return self.ob_now, reward, False, False, info

    def _score(self, paid: FloatOrArray) -> FloatOrArray:
        """A reward on a scale from 0 (``fail``) to 1 (``correct``)."""
        return (paid - self.rewards["fail"]) / (self.rewards["correct"] - self.rewards["fail"])

    def post_step(self, ob: np.ndarray, reward: float, terminated: bool, truncated: bool, info: Info) -> StepResult:
        """Show the agent's own angle in place of the angle on the shortest path."""
        planned = self.session.field("angle")
        if not info["new_trial"] and planned != self._angle:
            shift = np.cos(self.theta - self._angle) - np.cos(self.theta - planned)
            ob[self._own] += shift.astype(ob.dtype)
        return ob, reward, terminated, truncated, info


class Reaching1DWithSelfDistraction(Reaching1D):
    """Rotate towards a target angle that is seen on the same channels as the own angle, three times as strong.

    Like animals whose senses are masked by what they emit themselves (electric fish, bats).

    Args:
        dt: Time step (ms).
        rewards: Replaces entries of ``default_rewards``.
        timing: Replaces entries of ``default_timing`` (ms).
        dim_ring: Number of units that show the sum of target and own angle.
        speed: Speed of rotation (rad/s).

    Raises:
        ValueError: If ``speed`` is not positive.
    """

    metadata = Reaching1D.metadata.replace(paper_name=None, paper_link=None)
    strength = 0.3

    @usual_arguments(abort=False)
    def __init__(self, dim_ring: AtLeastTwo = 32, speed: Positive = np.pi):
        self._set_ring(dim_ring, speed)

    @staticmethod
    def _channels(n: int) -> dict[str, range]:
        return {"target": range(n), "self": range(n)}
