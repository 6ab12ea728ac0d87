"""What came of the choices: rewards, gains and losses, reaction times, and second stages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour import codings, entries
from neurogym.behaviour.codings import Times
from neurogym.behaviour.evidence import group_index, group_names, listed
from neurogym.behaviour.orientation import within_states
from neurogym.behaviour.role_columns import RoleColumns
from neurogym.behaviour.roles import is_flag

if TYPE_CHECKING:
    from pandas import DataFrame


class OutcomeColumns(RoleColumns):
    """Columns of what came of the choices; arguments as of `RoleColumns`.

    Attributes:
        times: reaction times, once they are read.
    """

    def __init__(self, columns: DataFrame, roles: dict[str, object], rows: IntArray, locate: Callable[[int], str]):
        super().__init__(columns, roles, rows, locate)
        self.times = Times(np.full(self.n, np.nan))

    def rewards(self, choice: IntArray, correct: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return rewards, gains and losses; 0 after a miss, correctness where the table has no rewards."""
        gain = loss = np.broadcast_to(np.nan, self.n)
        if "gain" in self.roles and "loss" in self.roles:
            gain, loss = self.numbers(self.roles["gain"]), self.numbers(self.roles["loss"])
            name = str(self.roles["loss"])
            positive = np.nanmin(np.where(choice < 0, 0, loss), initial=0) >= 0
            self.words[str(self.roles["gain"])] = "amount won"
            self.words[name] = "amount lost" + (", the sign is turned" if positive and np.nansum(loss) > 0 else "")
            gain, loss = np.where(choice < 0, 0.0, gain), np.where(choice < 0, 0.0, -np.abs(loss))
            reward = gain + loss
        elif "reward" not in self.roles:
            reward = np.full(self.n, np.nan)
        elif entries.is_numeric(self.column("reward")[1]) or not is_flag(self.column("reward")[1]):
            name, _column = self.column("reward")
            reward = self.numbers(name)
            self.words.setdefault(name, "amount")
        else:
            reward = self.flags("reward")
            name = str(self.roles["reward"])
            self.words[name] = self.words[name].replace(" correct", " reward").replace(" error", " none")
        return np.where(choice < 0, 0.0, np.where(np.isnan(reward), correct, reward)), gain, loss

    def read_times(self, choice: IntArray, unit: str | None) -> Times:
        """Return reaction times and the reading of their column.

        Args:
            choice: index of the choice.
            unit: of the times, if the user says so.
        """
        if "rt" not in self.roles:
            return self.times
        name = str(self.roles["rt"])
        group = group_index(self.columns, self.groups)
        times = self.times = codings.read_times(self.numbers(name), name, choice, unit, group)
        words = [times.unit] + (["the sign is that of the choice"] if times.signed else [])
        words += [f"no time: {', '.join(f'{code} ({n:,})' for code, n in times.codes.items())}"] if times.codes else []
        self.words[name] = "; ".join(words)
        if times.groups:
            where = "; ".join(
                f"{unit} in {listed(group_names(self.columns, self.groups, rows))}"
                for unit, rows in times.groups.items()
            )
            self.notes.append(f"{name} has two units: {where}")
        if times.negative:
            self.left_out[f"reaction times below 0 in {name}"] = times.negative
        answered = choice >= 0
        untimed = int((answered & np.isnan(times.seconds)).sum())
        if untimed and np.isfinite(times.seconds).any():
            self.left_out[f"answers without a reaction time in {name}, whose choices are scored"] = untimed
        return times

    def second_stage(self, choice: IntArray) -> tuple[IntArray, IntArray]:
        """Return state and choice of the second stage of a two-step task; -1 without one."""
        none = np.broadcast_to(np.int64(-1), self.n)
        if "choice2" not in self.roles:
            return (self.labels("state"), none) if "state" in self.roles else (none, none)
        name, choice2 = str(self.roles["choice2"]), self.labels("choice2")
        if "state" in self.roles:
            state = self.labels("state")
        elif choice2.max(initial=-1) == 3:
            self.words[name] = "1, 2: options of the first state; 3, 4: of the second"
            state = np.where(choice2 < 0, -1, choice2 // 2)
        elif "common" in self.roles:
            common, first = self.flags("common"), str(self.roles["choice"])
            self.words[str(self.roles["common"])] = f"common transition: from {first} to the state of the same order"
            state = np.where(np.isnan(common) | (choice < 0), -1, np.where(common == 1, choice, 1 - choice))
        else:
            self.notes.append(f"{name} is not used: no column says the state; --state names it")
            return none, none
        if choice2.max(initial=-1) > 1:
            choice2 = within_states(choice2, state)
        return state.astype(np.int64), choice2.astype(np.int64)
