"""Sessions of behaviour from columns whose roles are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour import checks, entries, evidence
from neurogym.behaviour.choices import Choices, check_options, map_truth, read_choices
from neurogym.behaviour.column_maps import ColumnMap
from neurogym.behaviour.entries import TableError, plain
from neurogym.behaviour.pulse_times import difference, read_pulses
from neurogym.behaviour.role_columns import RoleColumns
from neurogym.behaviour.table import Session
from neurogym.behaviour.vocabulary import any_called, is_called
from neurogym.messages.options import option

if TYPE_CHECKING:
    from pandas import DataFrame


#: Least and largest correlation with the correct choice from which a number without a sign encodes the side, between
#: them as many standard errors as are not by chance.
ENCODES_SIDE = (0.3, 0.7)
MOST_GAPS = 0.25  #: share of answered trials that may lack a stimulus
MOST_LEVELS, MOST_CONDITIONS = 30, 16  #: of a further column that is kept, and most such columns
#: Choices of the International Brain Laboratory: a clockwise turn of the wheel reports the left.
WHEEL = {"1": "left", "-1": "right"}
CONTRASTS = ("contrastleft", "contrastright")


class Assembler(RoleColumns):
    """Trials from columns with roles.

    Args:
        columns: the table, with the number of each row in the source as index.
        roles: column of each role; ``stimuli`` a tuple.
        named: roles that the user named, which are not dropped.
        settings: order of the options, codes of misses, unit of times, and stimuli to turn.
        locate: returns the number of a row of the source in words.
    """

    def __init__(
        self,
        columns: DataFrame,
        roles: dict[str, object],
        named: Sequence[str],
        settings: ColumnMap,
        locate: Callable[[int], str],
    ):
        super().__init__(columns, roles, locate)
        self.named, self.settings = named, settings
        self.turned: list[str] = []
        self.pulse_unit: str | None = None
        self.choices = Choices(np.full(self.n, -1), ())
        self.options: tuple[str, ...] = ()

    def assemble(self) -> tuple[tuple[str, ...], dict[str, np.ndarray]]:
        """Return the names of the stimuli, and the attributes of `Session` of all rows, shape (rows, ...) each.

        Raises:
            TableError: if an entry does not suit the role of its column.
        """
        correct = self.flags("correct")
        choices = self.choices = self.read_choices(correct)
        checks.check_accuracy_coding(self, self.named, choices, correct)
        if "choice" not in self.named:
            checks.check_accuracy_words(self, choices)
            checks.check_forced(self)
            checks.check_withheld(self, choices.index, correct)
        truth = self.truth(choices, correct)
        if np.isnan(correct).all() and (truth >= 0).any():
            correct = np.where(truth >= 0, (choices.index == truth).astype(float), np.nan)
        if not (truth >= 0).any() and len(choices.words) == 2:
            unknown = np.isnan(correct) | (choices.index < 0)
            truth = np.where(unknown, -1, np.where(correct == 1, choices.index, 1 - choices.index))
        stimuli, names = self.stimuli(truth)
        choice = choices.index
        correct = np.where(choice < 0, np.nan, correct)
        if "reward" not in self.named:
            checks.check_empty_rewards(self, choice, correct)
        reward, gain, loss = self.rewards(choice, correct)
        if "choice" not in self.named and {"reward", "gain"} & set(self.roles):
            checks.check_objects(self, self.options, choices, reward)
        if "stimuli" not in self.named:
            checks.check_sources(self, stimuli, names, choice)
            checks.check_angles(self, stimuli, names)
            checks.say_contexts(self, stimuli, names, choice)
            checks.say_scale(self, stimuli, choices)
        checks.say_protocols(self, stimuli, names)
        stimuli, names = self.oriented(stimuli, names, choice)
        times = self.read_times(choice, self.settings.rt_unit)
        if "rt" not in self.named and not self.settings.rt_unit:
            checks.check_times(self, times)
        rt = np.where(choice < 0, np.nan, times.seconds)
        state, choice2 = self.second_stage(choice)
        cue = self.labels("cue") if "cue" in self.roles else np.broadcast_to(np.int64(-1), self.n)
        confidence = self.numbers(self.roles.get("confidence"))
        self.check_accuracy(correct, choices.words)
        arrays: dict[str, np.ndarray] = {**self.pulses(names)}
        arrays |= {"choice": choice, "reward": reward, "correct": correct, "truth": truth, "stimuli": stimuli, "rt": rt}
        arrays |= {"state": state, "choice2": choice2, "gain": gain, "loss": loss, "cue": cue, "confidence": confidence}
        return names, arrays

    def read_choices(self, correct: FloatArray) -> Choices:
        """Return the choices and the reading of their column."""
        name, column = self.column("choice")
        checks.check_omissions(self, self.named, column)
        gone, order = self.marked_as_missed(correct, self.settings.derive.values()), self.settings.choices
        if len({word.lower() for word in order}) == len(order):
            column, respelled = entries.in_one_case(column, order)
            listed = ", ".join(f"{a} as {b}" for a, b in respelled.items())
            self.notes += [f"{name}: entries that differ in case alone are one option: {listed}"] * bool(respelled)
        if not self.settings.choices:
            check_options(self.columns, name, entries.without(column, gone), self.groups[:2], self.settings.missed)
        try:
            choices = read_choices(column, self.witness(correct), gone, self.settings.missed, self.settings.choices)
        except TableError as error:
            raise TableError(f"column {name!r}: {error}; {option('--choice')} names another column") from None
        if choices.doubtful in choices.words and "choice" not in self.named:
            rows = choices.index == choices.words.index(choices.doubtful)
            raise self.ask("rare_option", [name], name=name, word=choices.doubtful, n=rows.sum())
        if not choices.words:
            raise TableError(f"column {name!r}: found no choice in any row; {option('--choice')} names another column")
        if len(choices.words) == 1:
            key = "one_choice_or_none" if entries.missing(column).any() else "one_choice"
            self.note(key, name=name, word=choices.words[0])
        if any_called(choices.words, "relative"):
            self.note("relative", name=name)
        if choices.note:
            self.notes.append(f"{name}: {choices.note}")
        self.options = choices.words
        if set(choices.words) == set(WHEEL) and self.turns_wheel(choices):
            if choices.words != tuple(WHEEL):
                choices.index = np.where(choices.index < 0, -1, 1 - choices.index)
            choices.words, self.options = tuple(WHEEL.values()), tuple(WHEEL)
        empty = int(entries.missing(column).sum())
        missed = [f"{word} ({count:,})" for word, count in choices.missed.items()]
        missed += [f"empty ({empty:,})"] if empty else []
        marked = int((gone & ~entries.missing(column)).sum())
        missed += [f"marked as missed ({marked:,})"] * bool(marked)
        listed = ", ".join(w if w == o else f"{o} = {w}" for o, w in zip(self.options, choices.words, strict=True))
        self.words[name] = f"{listed}; no answer: {', '.join(missed)}" if missed else listed
        return choices

    def turns_wheel(self, choices: Choices) -> bool:
        """Return whether 1 and -1 beside contrasts of two sides are turns of a wheel: unless choices say otherwise."""
        short = {plain(name): column for name, column in self.columns.items()}
        if not {*CONTRASTS} <= {*short}:
            return False
        left, right = (np.nan_to_num(entries.numbers(short[name])) for name in CONTRASTS)
        valid = choices.index >= 0
        ones = choices.index == choices.words.index("1")
        return evidence.correlation(right - left, ones, valid) * np.sqrt(valid.sum()) < checks.BEYOND_CHANCE

    def truth(self, choices: Choices, correct: FloatArray) -> IntArray:
        """Return the index of the correct choice, -1 if unknown; a column that does not name choices is dropped.

        Raises:
            TableQuestion: if choice, correct choice and correctness contradict each other.
        """
        if "ground_truth" not in self.roles:
            return np.full(self.n, -1, np.int64)
        name, column = self.column("ground_truth")
        guessed, result = "ground_truth" not in self.named, map_truth(column, choices, correct)
        if result is not None and guessed and is_called(name, "correct"):
            checks.check_correctness(self, name, column, result[0], choices)
        unclear = guessed and (is_called(name, "stimulus_or_truth") or not np.isfinite(correct).any())
        if result is not None and unclear and evidence.is_by_chance(result[0], choices.index, len(choices.words)):
            result = None
        if result is not None and guessed and "reward" in self.roles:
            order, follows = evidence.trial_order(self.columns, self.roles)
            if evidence.is_in_blocks(column, order, follows):
                return self.without_truth("state_not_truth", name=name)
        if result is not None:
            self.words[name] = result[1]
            checks.check_contradiction(self, self.named, name, result[0], choices.index, correct)
            if ";" in result[1] or "=" in result[1]:
                self.notes.append(f"{name} is read as {result[1]}")
            if is_called(name, "stimulus_or_truth") and not self.roles["stimuli"] and len(choices.words) == 2:
                self.roles["stimuli"] = (name,)
            return result[0]
        shown = ", ".join(entries.levels(column)[0][:6])
        if not guessed:
            raise TableError(f"column {name!r}: found {shown}, expected one of {', '.join(choices.words)}")
        return self.without_truth("not_the_truth", name=name, shown=shown)

    def without_truth(self, key: str, **values: object) -> IntArray:
        """Drop the column of correct choices, with a remark."""
        del self.roles["ground_truth"]
        self.note(key, **values)
        return np.full(self.n, -1, np.int64)

    def stimuli(self, truth: IntArray) -> tuple[FloatArray, tuple[str, ...]]:
        """Return the stimuli; trials that lack one are not scored."""
        names = [str(name) for name in self.roles["stimuli"]]  # type: ignore[attr-defined]
        columns, retained = [], []
        for name in names:
            if name == self.roles.get("ground_truth"):
                values = np.where(truth < 0, np.nan, 2.0 * truth - 1)
                self.words[name] += f"; as a stimulus, 1 for {self.choices.words[1]} and -1 for {self.choices.words[0]}"
            else:
                values = self.numbers(name)
            answered = self.choices.index >= 0
            gaps = answered & np.isnan(values)
            if gaps.sum() > MOST_GAPS * answered.sum() and "stimuli" not in self.named:
                self.note("stimulus_with_gaps", name=name, n=gaps.sum())
                continue
            if gaps.any():
                reason = f"trials without {name}, which keep their place and are not scored"
                self.left_out[reason] = int(gaps.sum())
                self.choices.index = np.where(gaps, -1, self.choices.index)
            columns.append(values)
            retained.append(name)
        self.roles["stimuli"] = tuple(retained)
        stimuli = np.stack(columns, 1) if columns else np.zeros((self.n, 0))
        return self.with_sign(stimuli, tuple(retained), truth)

    def with_sign(
        self, stimuli: FloatArray, names: tuple[str, ...], truth: IntArray
    ) -> tuple[FloatArray, tuple[str, ...]]:
        """Give a single strength without a side the side of the correct choice, where there are two choices."""
        strength = stimuli[:, 0] if stimuli.shape[1] == 1 else None
        valid = truth >= 0
        if "stimuli" not in self.named and strength is not None and not valid.any() and np.nanmin(strength) >= 0:
            checks.check_side(self, self.choices, names[0], strength)
        if strength is None or len(self.choices.words) != 2 or not valid.any() or not np.isfinite(strength).any():
            return stimuli, names
        if "stimuli" not in self.named and np.nanmax(strength) <= 0:
            checks.check_logarithms(self, names[0], strength, self.choices.index)
        if np.nanmin(strength) < 0 or len(np.unique(strength[np.isfinite(strength)])) < 2:
            return stimuli, names
        if abs(evidence.correlation(np.nan_to_num(strength), truth, valid)) > np.clip(
            checks.BEYOND_CHANCE / np.sqrt(valid.sum()), *ENCODES_SIDE
        ):
            return stimuli, names
        second = self.choices.words[1]
        self.words[names[0]] = f"strength; positive where {second} is correct"
        signed = np.where(valid, np.where(truth == 1, strength, 0.0 - strength), np.where(strength == 0, 0.0, np.nan))
        lost = (self.choices.index >= 0) & np.isnan(signed[:]) & np.isfinite(strength)
        if lost.any():
            self.left_out[f"trials whose {names[0]} has no side, which are not scored"] = int(lost.sum())
            self.choices.index = np.where(lost, -1, self.choices.index)
        return signed[:, None], (f"signed {names[0]}",)

    def oriented(
        self, stimuli: FloatArray, names: tuple[str, ...], choice: IntArray
    ) -> tuple[FloatArray, tuple[str, ...]]:
        """Turn the sign of a single stimulus that speaks for the first choice, so that curves rise."""
        if stimuli.shape[1] != 1 or len(self.choices.words) != 2:
            for name in names:
                self.words.setdefault(name, "stimulus")
            return stimuli, names
        name = names[0]
        turned = evidence.falls(stimuli[:, 0], choice)
        if self.settings.turned is not None:
            turned = name in self.settings.turned or name.removeprefix("signed ") in self.settings.turned
        first, second = self.choices.words
        if not turned:
            meaning = f"evidence for {second}"
            self.words[name] = self.words.get(name, meaning)
            return stimuli, names
        self.turned.append(name)
        new = evidence.minus(name)
        self.words[name] = f"{new}: evidence for {first} is turned into evidence for {second}"
        self.note("turned", name=name, second=second, new=new)
        return 0.0 - stimuli, (new,)

    def pulses(self, names: tuple[str, ...]) -> dict[str, FloatArray]:
        """Return the times of pulses for the first and for the second choice, and durations of stimuli."""
        pair: Any = self.roles.get("pulses")
        if not pair:
            return {}
        duration: Any = self.roles.get("duration")
        read = read_pulses(self.columns, pair, duration, self.settings.pulse_unit, self.roles)
        self.pulse_unit = read.unit
        self.words |= read.words
        self.notes += read.notes
        turned = difference(pair) in self.turned
        return {"pulses": read.times[:, ::-1] if turned else read.times, "duration": read.duration}

    def check_accuracy(self, correct: FloatArray, words: tuple[str, ...]) -> None:
        """Say that accuracy is clearly below one half."""
        valid = correct[np.isfinite(correct)]
        roles = [role for role in ("correct", "ground_truth") if role in self.roles]
        if len(words) != 2 or len(valid) < evidence.ENOUGH_TRIALS or not roles:
            return
        if valid.mean() + 2 * np.sqrt(0.25 / len(valid)) < 0.5:
            names = ", ".join(str(self.roles[role]) for role in roles)
            self.note("low_accuracy", accuracy=valid.mean(), names=names, choice=self.roles["choice"])

    def conditions(self, requested: Sequence[str]) -> dict[str, np.ndarray]:
        """Return further columns with few levels, and those that are requested."""
        names = [name for name in self.free if 1 < len(entries.distinct(self.columns[name])) <= MOST_LEVELS]
        names = [*requested, *(name for name in names if name not in requested)][: MOST_CONDITIONS + len(requested)]
        return {name: entries.values(self.columns[name]) for name in names}


def sessions_of(
    trials: Mapping[str, np.ndarray],
    groups: Sequence[tuple[str, str, np.ndarray]],
    conditions: Mapping[str, np.ndarray],
) -> tuple[Session, ...]:
    """Return the sessions of trials, given subject, name and rows of each; rows in a row are not copied."""
    sessions = []
    for subject, name, rows in groups:
        together = len(rows) == rows[-1] - rows[0] + 1 and bool(np.all(np.diff(rows) == 1))
        index = slice(int(rows[0]), int(rows[-1]) + 1) if together else rows
        arrays = {key: value[index] for key, value in trials.items()}
        further = {key: value[index] for key, value in conditions.items()}
        sessions.append(Session(subject, name, conditions=further, **arrays))
    return tuple(sessions)
