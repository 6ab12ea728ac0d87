"""Joint construction of trials for several environments of a batch."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from neurogym.trials import Trials
from neurogym.trials.cursor import PreparedTrials


class GroupedTrials:
    """Begins new trials for the environments of a batch, and makes equal trials jointly.

    Trials that depend on what the agent did cannot be made in advance. Made for each environment by itself, most of the
    time goes into what all of them have in common.

    Args:
        tasks: The task of each environment.
    """

    def __init__(self, tasks: Sequence[Any]):
        self._tasks = tasks
        self._compared: object = None  # the last change of parameters when tasks were compared
        self._alike = False

    def begin(self, env: Sequence[int]) -> list[tuple[Sequence[int], Trials]]:
        """Begin the next trial of some environments, each as in an unbatched session.

        Returns:
            Blocks of trials that were made together, or before, and which environment each trial is of.
        """
        tasks, alike = self._tasks, len(env) > 1 and self._are_alike()
        groups: dict[Hashable, list[int]] = {}
        for i in env:
            memory = tasks[i].next_trial_depends_on() if alike else None
            groups.setdefault(("alone", i) if memory is None else memory, []).append(i)
        return [(group, self._begun([tasks[i] for i in group])) for group in groups.values()]

    def _begun(self, several: list[Any]) -> Trials:
        """Begin trials of tasks with equal descriptions; return the joint block."""
        first = several[0]
        if len(several) == 1:
            first.begin_next()
            return first.cursor.block
        block: Trials = first.make_together(several)
        for k, task in enumerate(several):
            task.begin_trial(block, k)
        return block

    def _are_alike(self) -> bool:
        """Whether all tasks have equal parameters; checked again after any change of parameters."""
        if not self._tasks[0].can_make_together:
            return False
        if self._compared is not PreparedTrials.last_drop:
            first, *others = self._tasks
            self._alike = all(task.can_make_together and task.has_parameters_of(first) for task in others)
            self._compared = PreparedTrials.last_drop
        return self._alike
