"""Trials of Bpod (``SessionData`` of MATLAB): choice and reward follow from the states that a trial entered."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from neurogym.behaviour.columns import Column, Columns

SIDES = (re.compile(r"left(?!over)", re.I), re.compile(r"right", re.I))
REWARD = re.compile(r"(?<!no)(?<!un)(reward|correct|drink)(?!ed?delay)", re.I)
NO_REWARD = re.compile(r"(punish|error|incorrect|wrong|noreward|unreward|omission)", re.I)
NOT_AN_ANSWER = re.compile(r"(wait|init|light|port|cue|delay|iti|center|centre)", re.I)
MOSTLY = 0.5  #: share of trials that must enter a state of a side, so that states say the choice


def read_session(content: Mapping[str, Any]) -> tuple[Columns, str] | None:
    """Return the trials of a session of Bpod and what they were read from, or None for other content.

    Args:
        content: of the MATLAB file.
    """
    session = content.get("SessionData")
    events = session.get("RawEvents") if isinstance(session, Mapping) else None
    trials = events.get("Trial") if isinstance(events, Mapping) else None
    if isinstance(trials, Mapping):
        trials = [trials]
    if trials is None or not all(isinstance(trial, Mapping) for trial in trials):
        return None
    entered = [_entered(trial.get("States", {})) for trial in trials]
    assert isinstance(session, Mapping)
    columns: Columns = {}
    for name, values in session.items():
        if isinstance(values, np.ndarray) and values.shape == (len(entered),) and values.dtype.kind in "biuf":
            columns[name] = Column.of_values(values)
    names = dict.fromkeys(name for states in entered for name in states)
    sides = [[n for n in names if each.search(n) and not NOT_AN_ANSWER.search(n)] for each in SIDES]
    found = [np.array([bool(states & set(side)) for states in entered], bool) for side in sides]
    if all(sides) and np.mean(found[0] ^ found[1]) >= MOSTLY and not np.any(found[0] & found[1]):
        columns["choice"] = Column.of_values(np.select(found, ["left", "right"], ""))
        rewards = [n for n in names if REWARD.search(n) and not NO_REWARD.search(n) and not NOT_AN_ANSWER.search(n)]
        if rewards:
            columns["reward"] = Column.of_values(np.array([bool(states & set(rewards)) for states in entered]) * 1)
        return (
            columns,
            f"Bpod; choice and reward are the states {', '.join(dict.fromkeys([*sides[0], *sides[1], *rewards]))}",
        )
    for name in names:
        columns[f"state {name}"] = Column.of_values(np.array([name in states for states in entered]) * 1)
    return columns, "Bpod; columns say whether a trial entered a state"


def _entered(states: Mapping[str, Any]) -> set[str]:
    """Return the states that a trial entered: those with a time at which they begin."""
    return {name for name, times in states.items() if np.isfinite(_first(times))}


def _first(times: Sequence[float] | np.ndarray) -> float:
    values = np.ravel(np.asarray(times, float))
    return float(values[0]) if values.size else np.nan
