"""Declaration of what a wrapper does with the trials of a task."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Self

from neurogym.messages.names import unknown

#: What a wrapper can change of the trials: conditions, durations of periods, observations, rewards; or only what their
#: records and per-step fields say.
CHANGEABLE = ("conditions", "timing", "observations", "rewards", "record")

#: Methods of a wrapper, and the most that each can do, in entries of :class:`Hooks`. By the first entry a wrapper
#: declares the effect of the method.
EFFECTS: dict[str, dict[str, Any]] = {
    "plan": {"changes": ("conditions", "timing")},
    "revise": {"changes": ("observations", "rewards", "timing", "record")},
    "observe": {"shows": "what the wrapper makes of the observation"},
    "appended": {"shows": "what the wrapper appends"},
    "trial_ended": {"follows_agent": True, "history_dependent": True},
    "start_session": {"history_dependent": True},
    "step": {"own_step": True},
    "reset": {"own_step": True},
    "new_trial": {"own_new_trial": True},
}
#: Methods whose effect need not be declared: forgetting what was carried across trials is not an effect by itself.
UNDECLARED = frozenset({"start_session"})


@dataclass(frozen=True)
class Hooks:
    """What a wrapper does with the trials of a task; batches, ceilings and checks read this and nothing else.

    Attributes:
        changes: What ``plan`` and ``revise`` change, out of :data:`CHANGEABLE`.
        shows: What ``observe`` shows the agent at every step, in words; empty: ``observe`` is not called.
        history_dependent: Whether a trial depends on earlier trials, so that memory across trials is useful. Showing
            the agent its past (the last reward or action) does not make trials depend on each other.
        follows_agent: Whether ``plan`` or ``revise`` depend on what the agent did: ``trial_ended`` then reports every
            trial, and no trial is made in advance.
        one_by_one: Whether trials can only be planned one at a time.
        own_step: Whether the wrapper overrides ``step`` or ``reset`` in Gymnasium's way, which rules out batches
            stepped as arrays.
        own_new_trial: Whether the wrapper overrides ``new_trial``, likewise.

    Raises:
        ValueError: If ``changes`` has a word that is not in :data:`CHANGEABLE`.
    """

    changes: tuple[str, ...] = ()
    shows: str = ""
    history_dependent: bool = False
    follows_agent: bool = False
    one_by_one: bool = False
    own_step: bool = False
    own_new_trial: bool = False

    def __post_init__(self) -> None:
        """Refuse unknown changes."""
        for word in self.changes:
            if word not in CHANGEABLE:
                raise ValueError(unknown("change", word, CHANGEABLE))

    def replace(self, **entries: Any) -> Self:
        """Copy with some entries replaced."""
        return replace(self, **entries)

    @property
    def ahead(self) -> bool:
        """Whether trials can be made before they begin."""
        return not (self.follows_agent or self.one_by_one or self.own_new_trial)

    @property
    def batched(self) -> bool:
        """Whether many environments can be stepped as arrays.

        A batch asks one wrapper for the observations of all environments, so that a wrapper which follows its own agent
        cannot show anything there.
        """
        return not (self.own_step or self.own_new_trial or self.one_by_one or (self.follows_agent and self.shows))

    def assuming(self, methods: Collection[str]) -> Self:
        """Copy with the most that a wrapper could do that declares nothing beyond this declaration of its base class.

        Args:
            methods: Names of the methods that the wrapper defines.
        """
        entries: dict[str, Any] = {}
        for method in (name for name in EFFECTS if name in methods):
            for entry, value in EFFECTS[method].items():
                if entry != "changes":
                    entries.setdefault(entry, getattr(self, entry) or value)
                elif not self.changes:
                    entries["changes"] = tuple(dict.fromkeys((*entries.get("changes", ()), *value)))
        return self.replace(**entries)

    def check(self, name: str, methods: set[str]) -> None:
        """Refuse a wrapper that overrides a method without declaring its effect.

        Args:
            name: Name of the wrapper.
            methods: Names of the methods that the wrapper defines.

        Raises:
            TypeError: If an effect is not declared.
        """
        for method in sorted(EFFECTS.keys() & methods - UNDECLARED):
            entry = next(iter(EFFECTS[method]))
            if not getattr(self, entry):
                raise TypeError(f"{name} overrides {method}, but its hooks do not declare {entry}: Hooks({entry}=...)")
