"""Names and words by which laboratories say what columns and entries are, and formats known by several columns.

They stand in ``words.toml`` and ``formats.toml``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from neurogym.behaviour.entries import plain

if TYPE_CHECKING:
    from pandas import DataFrame


_FILE, _FORMATS = (
    tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8")) for name in ("words.toml", "formats.toml")
)
#: Patterns of names by what they are names of.
PATTERNS = {
    name: re.compile("".join(parts).replace("STRENGTHS", "|".join(_FILE["words"]["strengths"])))
    for name, parts in _FILE["patterns"].items()
}
_WORDS = {name: tuple(words) for name, words in _FILE["words"].items() if name != "ordered"}

#: Roles that a column can have, and names (see `neurogym.behaviour.entries.plain`) that suggest the role, best first.
COLUMN_NAMES: dict[str, tuple[str, ...]] = {role: tuple(names) for role, names in _FILE["roles"].items()}
#: Roles besides these that can be named: a cue before the choice, and whether a second stage was the common one.
MORE: dict[str, tuple[str, ...]] = {role: tuple(names) for role, names in _FILE["further_roles"].items()}
ROLES = (*COLUMN_NAMES, *MORE, "stimuli")
#: Ways in which names of PsychoPy and E-Prime end, after a dot.
ENDINGS: dict[str, tuple[str, ...]] = {role: tuple(ends) for role, ends in _FILE["endings"].items()}
#: Names of components after which OpenSesame names the columns of their answers.
COMPONENT_NAMES = {
    "choice": re.compile(r"response_(?!time)\w*(keyboard|response|mouse|button|key)\w*$"),
    "rt": re.compile(r"response_time_\w+$"),
    "correct": re.compile(r"correct_\w*(keyboard|response|mouse|button|key)\w*$"),
}
#: Names that a choice has, and a correct choice or the side of a stimulus just as well.
SIDES = _WORDS["sides"]

STIMULUS = PATTERNS["stimulus"]
#: Parts of names of numeric columns that hold no stimulus: times, generating probabilities, counters, judgements.
NOT_STIMULI = PATTERNS["not_stimuli"]
#: Parts of names of columns of words that are no choices: kinds of rows, groups of subjects, conditions.
NOT_CHOICES = PATTERNS["not_choices"]
#: Parts of names that sound like an answer, where no name is that of a choice.
LIKE_A_CHOICE = PATTERNS["like_a_choice"]
#: Parts of names of what was chosen, and of what came of it or is known of it.
CHOSEN = re.compile(r"chose|pick|select|wahl|choisi|elegid")
OF_THE_CHOSEN = re.compile(
    r"reward|outcome|feedback|prob|val|amount|magnitude|time|(^|_)rt|correct|conf|rating|n_|num|count"
)
#: Names of flags of trials that differ from others by what was done to the subject, by what is earned, or by quality.
SPECIAL = PATTERNS["special"]
#: Names of times of answers, where no name is that of a reaction time.
LIKE_A_TIME = PATTERNS["like_a_time"]
#: Names of confidence judgements, where no name is that of confidence.
LIKE_A_JUDGEMENT = PATTERNS["like_a_judgement"]
#: Parts of names of columns of outcomes.
LIKE_A_REWARD = re.compile(r"(reward|outcome|feedback|payoff|payout|earned|result|^won|^fb|reinforced|pellet|treasure)")
#: Names of what was so in the trial before.
OF_TRIAL_BEFORE = re.compile(r"^(prev|last)|(prev|last|previous)$")
#: Names of ground truth that may as well name a graded stimulus.
STIMULUS_OR_TRUTH = _WORDS["stimulus_or_truth"]
#: Choices that are said relative to the one of the trial before.
RELATIVE = {*_WORDS["relative"]}
#: Names of pairs that are stimuli although neither is alone, and of screens in tables of jsPsych.
VALUE = re.compile(r"^(value|val|v|offer|amount|magnitude|mag|ev|evidence|payoff)$")
SCREENS = set(_WORDS["screens"])
YES, NO = set(_WORDS["yes"]), set(_WORDS["no"])
MISSED = _WORDS["missed"]
#: Names of flags of trials without an answer, besides the words above.
MISSED_FLAGS = (*MISSED, *_WORDS["missed_flags"])
#: Outcomes of signal detection: beside these, a miss is an error and not a trial without an answer.
DETECTION: dict[str, bool] = _FILE["detection"]
#: Choices that say whether they were correct, and not which side was chosen.
ACCURACY: dict[str, bool] = _FILE["accuracy"]
#: Codes of a correct answer and of an error, by the name of their column; other codes mean no answer.
CODES: dict[str, tuple[int, int]] = {name: tuple(codes) for name, codes in _FILE["codes"].items()}
#: Letters for some of these, beside others.
LETTERS = {"h": "hit", "m": "miss"}
#: Choices for or against an offer, whose gains and losses are what is offered.
OFFER_CHOICES = _WORDS["offer_choices"]
CLOCKS = set(_WORDS["clocks"])
SAFE = _WORDS["safe"]
#: Continuous reports: targets that are durations, all targets, reports, and sizes of sets.
DURATIONS, REPORTS, SIZES = _WORDS["durations"], _WORDS["reports"], _WORDS["sizes"]
TARGETS = (*DURATIONS, *_WORDS["targets"])
#: Columns that may number games or blocks, those that date or identify a session, and those of phases of an experiment.
BLOCKS, DATES, PHASE_COLUMNS = _WORDS["blocks"], _WORDS["dates"], _WORDS["phase_columns"]
#: Columns of tasks, each of which has options of its own.
TASKS = _WORDS["tasks"]
#: Pairs of choices of which the first comes first as an option, whatever the alphabet says.
ORDERED = tuple((first, second) for first, second in _FILE["words"]["ordered"])


@dataclass(frozen=True)
class TableFormat:
    """Form of the tables of a program or a collection.

    Attributes:
        name: of the form.
        needs: names of columns (see `neurogym.behaviour.entries.plain`) that only this form has together.
        roles: name of the column of a role, or several of which the first that is there counts.
        states: columns that are states of the task, never stimuli.
        missed: entries of the choice that mean no answer.
    """

    name: str
    needs: Sequence[str]
    roles: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    states: Sequence[str] = ()
    missed: Sequence[str] = ()


FORMATS = tuple(TableFormat(**row) for row in _FORMATS["format"])
#: Name of a format that is not read and the Python that reads it, by the ending of its files.
NOT_READ: dict[str, tuple[str, str]] = {
    f".{ending}": (name, reader) for ending, (name, reader) in _FORMATS["not_read"].items()
}
#: Name of a program and what makes a table of its log, by what the log holds near its beginning.
LOGS: dict[str, tuple[str, str]] = {mark: (name, way) for mark, (name, way) in _FORMATS["logs"].items()}


def format_of(columns: DataFrame) -> TableFormat | None:
    """Return the form of a table, or None if it is not known."""
    short = {plain(name) for name in columns}
    return next((each for each in FORMATS if set(each.needs) <= short), None)


def roles_of_format(table: DataFrame, form: TableFormat) -> dict[str, str]:
    """Return the columns to which a form gives a role, by role."""
    names = {plain(name): name for name in reversed(list(table))}
    options = {role: [word] if isinstance(word, str) else word for role, word in form.roles.items()}
    present = {role: [names[each] for each in words if each in names] for role, words in options.items()}
    return {role: columns[0] for role, columns in present.items() if columns}
