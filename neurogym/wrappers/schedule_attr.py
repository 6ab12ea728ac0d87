"""Conditions that follow a schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import unknown
from neurogym.compat.leniency import warn_once
from neurogym.metadata import WrapperInfo
from neurogym.sampling.scheduler import BaseSchedule, schedule_from
from neurogym.trials import Trials
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.hooks import Hooks
from neurogym.wrappers.tasks import task_of


class ScheduleAttr(TrialWrapper):
    """Give each trial the conditions that a schedule names.

    The index is in the trial's record as ``schedule_attr_block``. Of conditions that neither the task nor a wrapper
    inside takes there is a warning; they have no effect.

    Args:
        env: The task, or wrappers inside that accept the conditions
            (``ScheduleAttr(RandomGroundTruth(task), schedule, [{"p": (0.8, 0.2)}, {"p": (0.2, 0.8)}])``).
        schedule: Gives the index of the entry of ``attr_list`` for each trial.
        attr_list: For each index the conditions, name to value.

    Raises:
        ValueError: If the schedule has another number of conditions than ``attr_list``.
    """

    metadata = WrapperInfo(order="outside the wrapper whose arguments it schedules")
    hooks = Hooks(changes=("conditions", "record"), history_dependent=True)
    state = ("schedule", "_drawn")
    ceiling_effect = unknown("no exact observer is known for conditions that are scheduled")

    def __init__(self, env: gym.Env, schedule: BaseSchedule, attr_list: Sequence[Mapping[str, object]]):
        if schedule.n != len(attr_list):
            raise ValueError(f"the schedule has {schedule.n} conditions but attr_list has {len(attr_list)} entries")
        self.schedule, self.attr_list = schedule, [dict(attr) for attr in attr_list]
        names = list(dict.fromkeys(name for attr in self.attr_list for name in attr))
        task = task_of(env, "ScheduleAttr")
        names = [name for name in names if _is_taken(task, name)]
        self.attr_list = [{name: value for name, value in attr.items() if name in names} for attr in self.attr_list]
        self.decides = tuple(name for name in names if name in task.conditions)  # type: ignore[misc]
        differ = any(set(attr) != set(names) for attr in self.attr_list)
        self.hooks = self.hooks.replace(one_by_one=differ)
        super().__init__(env)

    @staticmethod
    def from_flags(args: Mapping[str, Any]) -> dict[str, object]:
        """Arguments as written on a command line: ``schedule=block:block=90:p=0.8/0.2//0.2/0.8``.

        Each list has one entry per index; ``schedule`` is a name of
        :func:`neurogym.sampling.scheduler.schedule_from`, and ``block`` its length in trials.
        """
        args = dict(args)
        if "attr_list" in args:
            return args
        name, length = str(args.pop("schedule", "random")), args.pop("block", None)
        lists = {key: value if isinstance(value, list) else [value] for key, value in args.items()}
        n = max((len(values) for values in lists.values()), default=0)
        if not n or any(len(values) != n for values in lists.values()):
            raise ValueError("schedule_attr needs conditions with equally many values, as in coh=0/51.2")
        schedule = schedule_from(name if length is None else f"{name}:{length}", n)
        return {"schedule": schedule, "attr_list": [{key: lists[key][i] for key in lists} for i in range(n)]}

    def start_session(self) -> None:
        """Set the schedule back, with a stream drawn from the task's."""
        self.schedule.reset()
        self.schedule.seed(int(self.task.np_random.integers(2**31)))

    def plan(self, n: int, conditions: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Look up the conditions of each trial."""
        self._drawn = index = np.array([self.schedule() for _ in range(n)])
        scheduled = {}
        for name in self.attr_list[index[0]]:
            values = [self.attr_list[i][name] for i in index]
            scheduled[name] = np.array(values) if all(map(np.isscalar, values)) else np.fromiter(values, object, n)
        return {**conditions, **scheduled}

    def revise(self, trials: Trials) -> None:
        """Record the index."""
        trials.info["schedule_attr_block"] = self._drawn


def _is_taken(task: Any, name: str) -> bool:
    if not task.conditions or name in task.conditions or name in task.session.stack.accepts:
        return True
    warn_once(
        f"ScheduleAttr must be outside the wrapper that takes {name!r} (as RandomGroundTruth takes 'p'); "
        f"{type(task).__name__} itself takes {', '.join(task.conditions) or 'no conditions'}",
        "it has no effect",
    )
    return False
