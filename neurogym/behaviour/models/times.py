"""Trials with choices and times as a likelihood needs them: answers, omissions, withheld responses, anticipations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

from neurogym.array_types import BoolArray, FloatArray, IntArray
from neurogym.behaviour.table import Session

#: Time in s before which an answer cannot be a response to the stimulus.
FASTEST = 0.05
#: Fewest repetitions of a code for "no time", and how many times the 99 % quantile of other times a code exceeds.
REPEATED, FAR = 3, 3.0
#: Without a deadline uniform times of contaminants end at the slowest answer, or at so many times the 95 % quantile of
#: the times, and not before so many s.
LATEST, EARLIEST_END = 5.0, 5.0
#: Numbers that are codes in s or ms even if they occur once, where they exceed other times as far.
CODES = (99.0, 999.0, 9999.0, 99999.0)
#: Fewest trials of an option that never has a time, for the option to count as a withheld response (go/no-go).
WITHHELD = 10
#: Entry of the choice of a trial that does not count, see `Session.scored`.
UNSCORED = -2


@dataclass(frozen=True)
class TimeSettings:
    """Conditions under which choices and times were recorded.

    Attributes:
        deadline: time in s after which a trial without an answer ended; infinity for none.
        fastest: answers faster than this (s) are anticipations and are left out.
        longest: upper end in s of the uniform times of contaminants; later answers have the density of earlier ones.
        withheld: option that is chosen by not responding until the deadline (go/no-go); -1 for none.
        scale: mean in s of the exponential times of contaminants; 0 for uniform times.
    """

    deadline: float = np.inf
    fastest: float = FASTEST
    longest: float = 5.0
    withheld: int = -1
    scale: float = 0.0

    @classmethod
    def of_array(cls, values: FloatArray) -> TimeSettings:
        """Return the settings from `as_array`; earlier versions had no scale."""
        deadline, fastest, longest, withheld, *scale = values.tolist()
        return cls(deadline, fastest, longest, int(withheld), *scale)

    @property
    def as_array(self) -> FloatArray:
        """All settings in an array."""
        return np.array(astuple(self), float)

    def contaminant_density(self, rt: FloatArray) -> FloatArray:
        """Return the density (1/s) of the times of contaminants at times in s."""
        if self.scale:
            return np.exp(-np.maximum(rt, 0) / self.scale) / self.scale
        return np.full(np.shape(rt), 1 / self.longest)

    @property
    def contaminant_survival(self) -> float:
        """Probability that a contaminant has not answered at the deadline."""
        if not np.isfinite(self.deadline):
            return 0.0
        return float(np.exp(-self.deadline / self.scale)) if self.scale else max(0.0, 1 - self.deadline / self.longest)

    def observed(
        self, choice: IntArray, rt: FloatArray, lapse: FloatArray, options: int, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """Return simulated choices and times with contaminants, as they are recorded.

        Args:
            choice: of the decision, shape (trials,).
            rt: its time in s, shape (trials,).
            lapse: probability of a contaminant, shape (trials,).
            options: number of options.
            rng: source of randomness.

        Returns:
            Choice, -1 without an answer until the deadline, and time in s, nan without an answer.
        """
        n = len(choice)
        contaminant = rng.random(n) < lapse
        choice = np.where(contaminant, rng.integers(0, options, n), choice)
        times = rng.exponential(self.scale, n) if self.scale else self.longest * rng.random(n)
        rt = np.where(contaminant, times, rt)
        silent = ~(rt <= self.deadline)
        if self.withheld >= 0:
            silent |= choice == self.withheld
        return np.where(silent, self.withheld, choice), np.where(silent, np.nan, rt)


@dataclass(frozen=True)
class TimedTrials:
    """Choices and times of trials, with the kind of each trial.

    Attributes:
        choice: option, -1 for no answer, `UNSCORED` for a trial that does not count, shape (trials,).
        rt: reaction time in s, nan where unknown, shape (trials,).
        settings: deadline, limits, and the option that is withheld.
    """

    choice: IntArray
    rt: FloatArray
    settings: TimeSettings

    @property
    def timed(self) -> BoolArray:
        """Trials whose likelihood is the density of choice and time."""
        timed = np.isfinite(self.rt) & (self.rt >= self.settings.fastest)
        return np.asarray((self.choice >= 0) & timed & ~self.withheld)

    @property
    def untimed(self) -> BoolArray:
        """Trials with an answer of unknown time, whose likelihood is the probability of the choice."""
        return np.asarray((self.choice >= 0) & ~np.isfinite(self.rt) & ~self.withheld)

    @property
    def omitted(self) -> BoolArray:
        """Trials without an answer, whose likelihood is the probability of no decision until the deadline."""
        return np.asarray((self.choice == -1) & np.isfinite(self.settings.deadline) & (self.settings.withheld < 0))

    @property
    def withheld(self) -> BoolArray:
        """Trials with a withheld response, whose likelihood is that of not responding until the deadline."""
        return np.asarray((self.settings.withheld >= 0) & (self.choice == self.settings.withheld))

    @property
    def anticipated(self) -> BoolArray:
        """Trials with an answer before the stimulus can have had an effect, which are left out."""
        early = np.isfinite(self.rt) & (self.rt < self.settings.fastest)
        return np.asarray((self.choice >= 0) & early & ~self.withheld)


def without_codes(rt: FloatArray) -> tuple[FloatArray, list[str]]:
    """Return times in which codes for "no time" are nan, and a note for each code.

    A code is a value of 0 or below, or a value far above all other times that is repeated exactly or one of `CODES`.

    Args:
        rt: times in s, shape (trials,).
    """
    times, notes = rt.astype(float).copy(), list[str]()
    finite = times[np.isfinite(times)]
    for value, count in zip(*np.unique(finite[finite <= 0], return_counts=True), strict=True):
        notes.append(f"reaction time {value:g} of {_trials(count)} read as none")
    times[times <= 0] = np.nan
    while True:
        valid = times[np.isfinite(times)]
        if len(valid) < 2 * REPEATED:
            return times, notes
        top = valid.max()
        same, rest = int((valid == top).sum()), valid[valid < top]
        usual = same >= REPEATED or any(np.isclose(top, (code, code / 1000), rtol=1e-9).any() for code in CODES)
        if not usual or not len(rest) or top < FAR * np.quantile(rest, 0.99):
            return times, notes
        notes.append(f"reaction time {top:g} of {_trials(same)} read as none")
        times[times == top] = np.nan


def _trials(n: int) -> str:
    return f"{n:,} trials" if n != 1 else "1 trial"


def timed_trials(sessions: Sequence[Session], settings: TimeSettings) -> TimedTrials:
    """Return the trials of sessions, concatenated."""
    choice = np.concatenate([np.where(each.scored, each.choice, UNSCORED) for each in sessions])
    return TimedTrials(choice, without_codes(np.concatenate([each.rt for each in sessions]))[0], settings)


def time_settings(
    sessions: Sequence[Session], deadline: float = 0.0, fastest: float = FASTEST, contaminants: str = "uniform"
) -> tuple[TimeSettings, list[str]]:
    """Return the settings of sessions, and notes about trials that are read in a special way.

    Args:
        sessions: sessions of the fit.
        deadline: time in s after which a trial ended; 0 for none.
        fastest: answers faster than this (s) are anticipations.
        contaminants: distribution of the times of contaminants, "uniform" or "exponential" (with the mean of the data).
    """
    choice = np.concatenate([each.choice[each.scored] for each in sessions])
    rt, notes = without_codes(np.concatenate([each.rt[each.scored] for each in sessions]))
    timed = np.isfinite(rt)
    last = float(rt[timed].max()) if timed.any() else 1.0
    longest = max(last, deadline) if deadline else 1.1 * last
    scale = float(rt[timed].mean()) if contaminants == "exponential" and timed.any() else 0.0
    end = max(EARLIEST_END, LATEST * float(np.quantile(rt[timed], 0.95))) if timed.any() else np.inf
    late = int((rt[timed] > end).sum()) if not (deadline or scale) else 0
    withheld = -1
    for option in (0, 1) if choice.max(initial=0) <= 1 else ():
        chosen, respond = choice == option, choice == 1 - option
        if chosen.sum() >= WITHHELD and not timed[chosen].any() and respond.any() and timed[respond].mean() > 0.9:
            withheld = option
    limit = deadline or (longest if withheld >= 0 else np.inf)
    if late:
        longest = end
        verb = "exceeds" if late == 1 else "exceed"
        notes.append(f"the time of {_trials(late)} {verb} {end:.3g} s, where uniform times of contaminants end")
    settings = TimeSettings(limit, fastest, longest, withheld, scale)
    trials = TimedTrials(choice, rt, settings)
    if withheld >= 0:
        notes.append(f"choice {withheld} never has a time and counts as a withheld response until {limit:.3g} s")
    if trials.anticipated.any():
        n = int(trials.anticipated.sum())
        notes.append(f"{_trials(n)} with answers faster than {fastest:g} s left out as anticipations")
    if trials.omitted.any():
        notes.append(f"{_trials(int(trials.omitted.sum()))} without an answer count as undecided at {limit:g} s")
    elif (choice < 0).any() and withheld < 0:
        notes.append(f"{_trials(int((choice < 0).sum()))} without an answer left out; name the deadline to count them")
    return settings, notes
