"""Several tasks in blocks or in turn: parallel environments begin with different tasks."""

from __future__ import annotations

import gymnasium as gym

from neurogym.core import TrialWrapper
from neurogym.envs.multi import ScheduleEnvs
from neurogym.sampling.scheduler import RandomBlockSchedule, SequentialBlockSchedule, SequentialSchedule

#: Schedules that would otherwise begin with the same task in every environment.
IN_STEP = (RandomBlockSchedule, SequentialBlockSchedule, SequentialSchedule)


class Staggered(TrialWrapper):
    """Wrapper that begins each session with a task that depends on the position in the batch.

    A batch thus has trials of all tasks at any time, in training as in an evaluation shorter than a block.

    Args:
        env: the whole stack.
        place: index of this environment in the batch.
    """

    metadata = {"description": "begins with another task in each environment of a batch"}
    task: ScheduleEnvs

    def __init__(self, env: gym.Env, place: int):
        super().__init__(env)
        self.place = place

    @classmethod
    def on(cls, env: gym.Env, place: int) -> gym.Env:
        """Wrap environments with several tasks in blocks or in turn; return other environments unchanged."""
        inner = env.unwrapped
        in_step = type(inner) is ScheduleEnvs and isinstance(inner.schedule, IN_STEP)
        return cls(env, place) if in_step else env

    def start_session(self) -> None:
        """Choose the task of the first trial; the schedule continues from that task."""
        self.task.set_i(self.place % len(self.task.envs))
