"""The wrappers around a task, taken together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.trials import Trials
from neurogym.wrappers.base import Field, Traits, TrialWrapper, layers

#: Wrappers of Gymnasium that let a batch pass.
PASSIVE = (gym.wrappers.OrderEnforcing, gym.wrappers.PassiveEnvChecker)


class Stack:
    """The wrappers that act on the trials of a task, from the innermost to ``top``.

    Attributes:
        wrappers: They.
        accepts: Conditions that they take for themselves.
        ahead: Whether trials of the task can be made before they begin.
        begins_trials: Whether any of them overrides ``new_trial``.
    """

    def __init__(self, top: gym.Env):
        task: Any = top.unwrapped
        self._task_ahead = task.traits.ahead
        self._take([layer for layer in layers(top) if isinstance(layer, TrialWrapper)])

    def _take(self, wrappers: list[TrialWrapper]) -> None:
        self.wrappers = wrappers
        self.accepts = {name for wrapper in self.wrappers for name in wrapper.accepts}
        self._planning = [wrapper for wrapper in reversed(self.wrappers) if wrapper.overrides("plan")]
        self._revising = [wrapper for wrapper in self.wrappers if wrapper.overrides("revise")]
        self._observing = [wrapper for wrapper in self.wrappers if wrapper.overrides("observe", "appended")]
        self.ahead = self._task_ahead and all(wrapper.traits.ahead for wrapper in self.wrappers)
        self.begins_trials = any(wrapper.overrides("new_trial") for wrapper in self.wrappers)

    def keep(self, wrappers: Sequence[TrialWrapper]) -> None:
        """Leave out all wrappers but some."""
        kept = [wrapper for wrapper in self.wrappers if wrapper in wrappers]
        self._take(kept)

    @property
    def shows(self) -> bool:
        """Whether any of them changes observations."""
        return bool(self._observing)

    @property
    def revises(self) -> bool:
        """Whether any of them changes trials that were made."""
        return bool(self._revising)

    def start_session(self) -> None:
        """Let all forget what they carried across trials."""
        for wrapper in self.wrappers:
            wrapper.start_session()

    def plan(self, n: int, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Conditions of the next ``n`` trials."""
        for wrapper in self._planning:
            given = wrapper.plan(n, given)
        return given

    def revise(self, trials: Trials) -> None:
        """Change trials that were just made."""
        for wrapper in self._revising:
            wrapper.revise(trials)

    def observe(self, ob: Any, action: Any, reward: Any, field: Field) -> Any:
        """Observations as the agent sees them; arguments as in :meth:`TrialWrapper.observe`."""
        for wrapper in self._observing:
            ob = wrapper.observe(ob, action, reward, field)
        return ob


def traits(env: gym.Env) -> Traits:
    """What can be done with a stack: what can be done with the task and with each of its wrappers."""
    ahead, batched, memory = env.unwrapped.traits if hasattr(env.unwrapped, "traits") else Traits(False, False, False)
    for layer in layers(env):
        if isinstance(layer, TrialWrapper):
            its = layer.traits
            ahead, batched, memory = ahead and its.ahead, batched and its.batched, memory or its.memory
        elif not isinstance(layer, PASSIVE):
            batched, memory = False, memory or bool(getattr(layer, "carries", False))
    return Traits(ahead, ahead and batched, memory)
