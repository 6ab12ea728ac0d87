"""Stack of wrappers around a task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.spaces import Action
from neurogym.trials import Info, Trials
from neurogym.trials.cursor import has_trials
from neurogym.wrappers.base import Field, Reward, TrialWrapper, append
from neurogym.wrappers.forwarding import layers
from neurogym.wrappers.tasks import Traits

#: Wrappers of Gymnasium that let a batch pass.
PASSIVE = (gym.wrappers.OrderEnforcing, gym.wrappers.PassiveEnvChecker)


#: A wrapper's ``observe``; or None, what several in a row append, the width with it, and the channels before. Each has
#: a place as a slice, and for a number the index of a single channel, which NumPy sets several times faster.
Turn = tuple[Callable[..., np.ndarray] | None, list[tuple[Callable[..., Any], slice, int | slice]], int, slice]
_ENTRY_TYPES = (float, int)


class Stack:
    """The wrappers that act on the trials of a task, from the innermost to ``top``.

    Attributes:
        wrappers: The wrappers, innermost first.
        of_task: Capabilities of the task alone.
        accepts: Conditions that they take for themselves.
        ahead: Whether trials of the task can be made before they begin.
        follows_agent: Whether what any of them does to trials depends on what the agent did.
        begins_trials: Whether any of them overrides ``new_trial``.
        revises: Whether any of them changes the trials made by the task.
        shows: Whether any of them changes observations.
        only_hooks: Whether they, and all layers between them and the task, only use hooks.
    """

    def __init__(self, top: gym.Env):
        task: Any = top.unwrapped
        self.of_task: Traits = task.traits
        self._passes = all(isinstance(layer, (TrialWrapper, *PASSIVE)) for layer in layers(top))
        self._take([layer for layer in layers(top) if isinstance(layer, TrialWrapper)])

    def _take(self, wrappers: list[TrialWrapper]) -> None:
        self.wrappers = wrappers
        self.accepts = {name for wrapper in self.wrappers for name in wrapper.accepts}
        self._planning = [wrapper for wrapper in reversed(self.wrappers) if wrapper.hooks.changes]
        self.revises = bool(self._planning)
        self._observing = [wrapper for wrapper in self.wrappers if wrapper.hooks.shows]
        self.shows = bool(self._observing)
        self._turns: list[Turn] | None = None
        self.ahead = self.of_task.ahead and all(wrapper.hooks.ahead for wrapper in self.wrappers)
        self._following = [wrapper for wrapper in self.wrappers if wrapper.hooks.follows_agent]
        self.follows_agent = bool(self._following)
        self.begins_trials = any(wrapper.hooks.own_new_trial for wrapper in self.wrappers)
        steps = any(wrapper.hooks.own_step for wrapper in self.wrappers)
        self.only_hooks = self._passes and not steps and not self.begins_trials

    def keep(self, wrappers: Sequence[TrialWrapper]) -> None:
        """Remove all wrappers except the given wrappers."""
        self._take([wrapper for wrapper in self.wrappers if wrapper in wrappers])

    @property
    def traits(self) -> Traits:
        """Capabilities shared by the task and each of its wrappers."""
        hooks = [wrapper.hooks for wrapper in self.wrappers]
        return self.of_task._replace(
            ahead=self.ahead,
            batched=self.of_task.batched and self._passes and all(each.batched for each in hooks),
            history_dependent=self.of_task.history_dependent or any(each.history_dependent for each in hooks),
        )

    def start_session(self) -> None:
        """Reset the state that wrappers keep across trials."""
        for wrapper in self.wrappers:
            wrapper.start_session()

    def trial_ended(self, info: Info) -> None:
        """Report a finished trial to the wrappers that follow the agent's behaviour."""
        for wrapper in self._following:
            wrapper.trial_ended(info)

    def plan(self, n: int, conditions: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Conditions of the next ``n`` trials."""
        for wrapper in self._planning:
            conditions = wrapper.plan(n, conditions)
        return conditions

    def revise(self, trials: Trials) -> None:
        """Change trials that were just made."""
        for wrapper in reversed(self._planning):
            wrapper.revise(trials)

    def observe(self, ob: np.ndarray, action: Action, reward: Reward, field: Field, copied: bool = True) -> np.ndarray:
        """Return observations as the agent sees them.

        Args:
            ob: As in :meth:`TrialWrapper.observe`.
            action: As in :meth:`TrialWrapper.observe`.
            reward: As in :meth:`TrialWrapper.observe`.
            field: As in :meth:`TrialWrapper.observe`.
            copied: Whether ``ob`` is a copy, so that a wrapper may change it in place.
        """
        if self._turns is None:  # spaces are known when a constructor is done
            self._turns = self._in_turn()
        if not copied and not (self._turns and self._turns[0][0] is None):  # what appends makes a copy
            ob = ob.copy()
        for observe, appending, width, present in self._turns:
            if observe is not None:
                ob = observe(ob, action, reward, field)
            elif ob.ndim > 1:
                for appended, *_ in appending:
                    ob = append(ob, appended(action, reward, field))
            else:
                wide = np.empty(width, ob.dtype)
                wide[present] = ob
                for appended, columns, index in appending:
                    value = appended(action, reward, field)
                    wide[index if type(value) in _ENTRY_TYPES else columns] = value
                ob = wide
        return ob

    def _in_turn(self) -> list[Turn]:
        """Operations on observations, in order: calls of a wrapper, or channels appended by consecutive wrappers."""
        turns: list[Turn] = []
        for wrapper in self._observing:
            if not wrapper.only_appends:
                turns.append((wrapper.observe, [], 0, slice(0)))
                continue
            before, width = wrapper.env.observation_space.shape[-1], wrapper.observation_space.shape[-1]  # type: ignore[index]
            if not turns or turns[-1][0] is not None:
                turns.append((None, [], 0, slice(before)))
            _, appending, _, present = turns[-1]
            columns = slice(before, width)
            entry = (wrapper.appended, columns, before if width - before == 1 else columns)
            turns[-1] = (None, [*appending, entry], width, present)
        return turns


def traits(env: gym.Env) -> Traits:
    """Capabilities of a task with its wrappers; none without trials."""
    return Stack(env).traits if has_trials(env) else Traits()
