"""Tasks in sequence, for transfer learning."""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium as gym

from neurogym.envs.multi.schedule import ScheduleEnvs
from neurogym.sampling.scheduler import OnceSchedule


class TransferLearning(ScheduleEnvs):
    """Present each task for a number of trials, then the next task; the last task continues indefinitely.

    Tasks with fewer channels or actions are widened (see ``pad`` of :class:`ScheduleEnvs`). The trial's record has the
    task as ``task``.

    Args:
        envs: The tasks, wrapped or not.
        num_tr_per_task: Trials of each task; that of the last may be left out.
        task_cue: Whether channels ``task`` show the agent which task runs (one-hot).

    Raises:
        ValueError: If there are not as many numbers as tasks, or tasks do not fit together.
    """

    metadata = ScheduleEnvs.metadata.replace(
        description="presents several tasks, each for a number of trials, one after the other",
    )

    def __init__(self, envs: Sequence[gym.Env], num_tr_per_task: Sequence[int], task_cue: bool = False):
        envs = list(envs)
        super().__init__(envs, OnceSchedule(len(envs), num_tr_per_task), env_input=task_cue, pad=True)
