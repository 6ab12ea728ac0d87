"""Effects of wrappers that do not declare them, as scripts write wrappers, from the methods that they override."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

#: Method to the entries of :class:`neurogym.wrappers.hooks.Hooks` that a wrapper with this method has at most.
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


def effects_of(methods: Collection[str], declared: Any) -> dict[str, Any]:
    """Entries in which a wrapper with certain methods goes beyond what its base class declares.

    Args:
        methods: Names of the methods that the wrapper defines.
        declared: The ``Hooks`` of the base class.
    """
    entries: dict[str, Any] = {}
    for method in (name for name in EFFECTS if name in methods):
        for entry, value in EFFECTS[method].items():
            if entry != "changes":
                entries.setdefault(entry, getattr(declared, entry) or value)
            elif not declared.changes:
                entries["changes"] = tuple(dict.fromkeys((*entries.get("changes", ()), *value)))
    return entries
