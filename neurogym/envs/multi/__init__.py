"""Environments of several tasks.

Belongs here: environments that present the trials of other environments, one after the other or at once. May use: the
core, the registration of tasks, schedules.
"""

from __future__ import annotations

from neurogym.envs.multi.combine import Combine
from neurogym.envs.multi.make import TransferLearning, make_multi, task_ids
from neurogym.envs.multi.schedule import MultiEnvs, ScheduleEnvs

__all__ = ["Combine", "MultiEnvs", "ScheduleEnvs", "TransferLearning", "make_multi", "task_ids"]
