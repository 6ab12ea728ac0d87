"""Whether the values of a column suit a role of a table of behaviour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.array_types import BoolArray, FloatArray
from neurogym.behaviour import entries
from neurogym.behaviour.entries import label, parse_number, plain
from neurogym.behaviour.evidence import correlation, same_information
from neurogym.behaviour.pulse_times import pairs_of
from neurogym.behaviour.questions import Answer, say
from neurogym.behaviour.vocabulary import DETECTION, LETTERS, NO, ORDERED, YES, is_called, is_like

if TYPE_CHECKING:
    from pandas import DataFrame, Series


Roles = Mapping[str, str | Sequence[str] | None]  #: role to its column, to the columns of stimuli, or to none

#: Standard errors from which a correlation shows that a number without a telling name is a stimulus.
CLEAR_CORRELATION = 4.0
MOST_CHOICES = 12
CODES_OF_MISSES = (9, 99, 999, 9999)  #: numbers that mean no answer; beside flags with a minus as well
CONTINUOUS = 20  #: distinct values from which numbers are continuous
MOST_LETTERS = 40  #: of a word for a choice


def names_of(value: str | Sequence[str] | None) -> list[str]:
    """Return the columns of a role: one, several or none."""
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def detected(word: str) -> bool | None:
    """Return whether an outcome of signal detection is a correct one; None for another word."""
    return DETECTION.get(LETTERS.get(plain(word), plain(word)))


def spoken(word: str) -> str:
    """Return a word in lower case without marks at its end, a number as a label."""
    number = parse_number(word)
    return word.lower().strip(" !.") if number is None else label(number)


def says_yes(word: str) -> bool | None:
    """Return whether a word means yes, correct or a reward, or the contrary; None for another word."""
    return spoken(word) in YES if spoken(word) in YES | NO else None


def is_detection(words: Sequence[str]) -> bool:
    """Return whether words are the outcomes of signal detection, as hit, miss, FA and CR."""
    misses = {plain(word) for word in words} & {"miss", "m"}
    return bool(misses) and len([word for word in words if detected(word) is not None]) >= 3


def missed_words(words: Sequence[str]) -> list[str]:
    """Return the words among the entries of a column that mean no answer."""
    detection = is_detection(words)
    return [word for word in words if is_called(word, "missed") and not (detection and detected(word) is not None)]


def missed_rows(column: Series) -> BoolArray:
    """Return the rows with a word that means no answer."""
    return np.asarray(column.isin(missed_words(entries.words(column))))


def is_for_or_against(name: str, columns: DataFrame) -> bool:
    """Return whether a choice is for or against an offer: by its name, or by entries such as accept and reject."""
    words = " ".join(map(plain, entries.words(columns[name]))) if name in columns else ""
    return is_called(name, "offer_choices") or ("accept" in words and "reject" in words)


def offers(columns: DataFrame, assigned: Mapping[str, object]) -> list[str]:
    """Return the columns of gains and losses that are offers, because the choice is for or against these."""
    if not is_for_or_against(str(assigned.get("choice", "")), columns):
        return []
    return [
        name
        for name in columns
        if is_called(name, "gain", "loss", "safe", "offered")
        and name not in assigned.values()
        and entries.is_numeric(columns[name])
    ]


def fits_role(role: str, column: Series, short: str = "") -> bool:
    """Return whether the values of a column suit a role that the name of the column suggests."""
    distinct = entries.distinct(column)
    n = len(distinct)
    if not n:
        return False
    if role in ("subject", "session"):
        few = n <= max(1, len(column) / 2) or (len(column) <= 4 and short != "id")
        return few and not has_fractions(column.iloc[:1000])
    if role in ("choice", "choice2", "ground_truth", "state", "cue"):
        return _is_label(column)
    if role == "correct":
        return is_flag(column, fractions=short == "performance") or _is_label(column)
    numeric = entries.is_numeric(column)
    if role in ("trial", "gain", "loss", "rt", "confidence"):
        return numeric and n > {"rt": 2, "confidence": 1}.get(role, 0)
    return numeric or is_flag(column)


def chosen_sides(columns: DataFrame, sides: Sequence[str], flag: str, with_truth: bool = False) -> list[Answer]:
    """Return the answers that one of some columns of two entries is the correct side, by which the choice follows.

    Args:
        columns: the table.
        sides: names of the columns.
        flag: formula that is 1 where the choice is correct.
        with_truth: whether the answer names the side as the correct choice, too.
    """
    formulas = {side: f'chosen={flag}==(`{side}`=="{entries.levels(columns[side])[0][1]}")' for side in sides}
    return [
        Answer(
            ("--derive", each, "--choice", "chosen", *(("--ground-truth", side) if with_truth else ())),
            f"{side} is correct",
        )
        for side, each in formulas.items()
    ]


def has_fractions(column: Series) -> bool:
    """Return whether a column holds numbers that are not whole."""
    numbers = entries.numbers(column)
    return entries.is_numeric(column) and bool(np.any(np.mod(numbers[np.isfinite(numbers)], 1)))


def unfit(role: str, columns: DataFrame) -> list[str]:
    """Return why columns that are named like a role do not suit it, in words."""
    reasons = []
    for name, column in columns.items():
        if is_called(name, role) and not fits_role(role, column, plain(name)):
            n = len(entries.distinct(column))
            reasons.append(f"{name} is empty" if not n else f"{name} has {n:,} different entries")
    return reasons[:2]


def _is_label(column: Series) -> bool:
    """Return whether a column holds few labels, or many of which a few are frequent (keys that were hit by mistake)."""
    if len(entries.distinct(column)) > 1000:
        return False
    words, index = entries.levels(column)
    counts = np.bincount(index[index >= 0], minlength=len(words))
    frequent = [word for word, count in zip(words, counts, strict=True) if count > counts.sum() / 20]
    if not counts.sum() or any(len(word) > MOST_LETTERS for word in frequent):
        return False
    if entries.is_numeric(column) and any("." in word for word in words):
        return False
    return len(words) <= MOST_CHOICES or bool(np.sort(counts)[-4:].sum() > 0.9 * counts.sum())


def without_codes(values: FloatArray) -> tuple[FloatArray, list[float]]:
    """Return flags as numbers, nan where a number beside 0 and 1 is a code for no answer, and these codes."""
    distinct = np.unique(values[np.isfinite(values)][:100_000])
    codes = distinct[np.isin(np.abs(distinct), CODES_OF_MISSES)].tolist()
    if not codes or set(distinct) != {0.0, 1.0, *codes}:
        return values, []
    return np.where(np.isin(values, codes), np.nan, values), codes


def is_flag(column: Series, fractions: bool = False) -> bool:
    """Return whether a column holds only yes and no, as numbers or words, or a mark of a missed trial."""
    if entries.is_plain_number(column):
        values = entries.numbers(column)[np.isfinite(entries.numbers(column))]
        inside = bool(values.size) and values.min() >= 0 and values.max() <= 1
        if fractions and inside and np.isin(values, (0, 1)).mean() > 0.5:
            return True
        low = np.unique(without_codes(values)[0][:100_000])
        return low.size > 0 and any(set(low[np.isfinite(low)]) <= pair for pair in ({-1, 0, 1}, {0, 100}))
    meaning = detected if is_detection(entries.words(column)) else says_yes
    return all(meaning(word) is not None or is_called(word, "missed") for word in entries.words(column))


def unnamed_choices(columns: DataFrame) -> list[str]:
    """Return the columns without a telling name that may be choices; those that sound like an answer before others.

    Of the rest, pairs such as left and right come before other words, and these before numbers.
    """
    columns = columns[[name for name in columns if not (is_like(name, "of_trial_before") or is_called(name, "codes"))]]
    rewards = [name for name in columns if is_like(name, "like_a_reward")]
    outcomes = [*rewards, *(name for name in columns if is_called(name, "correct"))]
    names = [name for name, column in columns.items() if _is_choice(column, flags=name not in outcomes)]
    names = [name for name in names if not changes_between_blocks(columns[name])]
    answers = [name for name in columns if is_like(name, "like_a_choice")]
    answers = [name for name in answers if _is_choice(columns[name], 8, flags="corr" not in name.lower())]
    answers = [name for name in answers if not changes_between_blocks(columns[name])]
    names = [name for name in names if not is_like(name, "not_choices")]
    names = [name for name in names if name not in rewards or not entries.is_numeric(columns[name])]
    pairs = [name for name in names if {plain(word) for word in entries.levels(columns[name])[0]} in map(set, ORDERED)]
    return answers or pairs or sorted(names, key=lambda name: entries.is_numeric(columns[name]))


def changes_between_blocks(column: Series) -> bool:
    """Return whether the rows with an entry follow one another, for each of several entries, as those of a subject."""
    index = entries.levels(column)[1]
    n = len(entries.levels(column)[0])
    return 1 < n <= len(index) / 2 and index.min() >= 0 and int(np.count_nonzero(np.diff(index))) == n - 1


def _is_choice(column: Series, most: int = 4, flags: bool = False) -> bool:
    """Return whether a column without a telling name holds a few words or whole numbers, each several times."""
    words_of_flags = is_flag(column) and not entries.is_numeric(column) and not flags
    if not 2 <= len(entries.distinct(column)) <= most or not _is_label(column) or words_of_flags:
        return False
    index = entries.levels(column)[1]
    return int(np.bincount(index[index >= 0]).min()) > 1


def unnamed_stimuli(columns: DataFrame, assigned: Mapping[str, object]) -> list[str]:
    """Return the numbers without a role that may be stimuli, because answers depend on them."""
    free = [name for name in columns if name not in assigned.values() and entries.is_numeric(columns[name])]
    free = [name for name in free if len(entries.distinct(columns[name])) > 1 and not is_like(name, "not_stimuli")]
    return [name for name in free if goes_with_answers(entries.numbers(columns[name]), columns, assigned)]


def like_the_choice(columns: DataFrame, assigned: Mapping[str, object]) -> list[str]:
    """Return the columns of words without a role that have the entries of the choice, and not in the same rows."""
    choice = columns[str(assigned["choice"])]
    rest = [name for name in columns if name not in assigned.values() and entries.is_words(columns[name])]
    rest = [name for name in rest if set(entries.words(columns[name])) <= set(entries.words(choice))]
    rest = [name for name in rest if not is_like(name, "of_trial_before")]
    return [
        name for name in rest if len(entries.words(columns[name])) > 1 and not same_information(columns[name], choice)
    ]


def like_a_reward(columns: DataFrame, assigned: Mapping[str, object]) -> list[str]:
    """Return the columns without a role that are named like outcomes."""
    rest = [name for name in columns if name not in assigned.values() and is_like(name, "like_a_reward")]
    rest = [name for name in rest if not is_like(name, "not_rewards")]
    return [name for name in rest if fits_role("reward", columns[name]) and not is_like(name, "of_trial_before")]


def report_columns(columns: DataFrame) -> tuple[list[str], list[str]]:
    """Return the columns of continuous reports, and those that may be their targets."""
    sizes = {name: len(entries.distinct(columns[name])) for name in columns if entries.is_numeric(columns[name])}
    reports = [name for name, size in sizes.items() if size > CONTINUOUS and is_called(name, "reports")]
    targets = [name for name, size in sizes.items() if is_called(name, "durations", *["targets"] * (size > 2))]
    return reports, targets


def goes_with_answers(values: FloatArray, columns: DataFrame, assigned: Mapping[str, object]) -> bool:
    """Return whether a number, or its size, correlates with an answer or with correctness beyond chance."""
    for role in ("choice", "correct", "ground_truth"):
        words, index = entries.levels(columns[str(assigned[role])]) if role in assigned else ((), np.zeros(0))
        for k in range(min(len(words), MOST_CHOICES)):
            for number in (values, np.abs(values)):
                valid = (index >= 0) & np.isfinite(number)
                if abs(correlation(number, index == k, valid)) * np.sqrt(valid.sum()) > CLEAR_CORRELATION:
                    return True
    return False


def delayed_amounts(names: Sequence[str]) -> list[str]:
    """Return the amounts and delays of a larger later and a smaller sooner option."""
    return [name for name in names if is_like(name, "delayed_amount")]


def value_pairs(names: Sequence[str], assigned: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return the pairs of columns such as ``value_1`` and ``value_2``; payoffs of all arms of a bandit are none."""
    pairs = {pair[0][:-1]: pair for pair in numbered_pairs(names) if f"{pair[0][:-1]}3" not in names}
    earned = plain(str(assigned.get("reward")))
    return [pair for base, pair in pairs.items() if is_like(base, "value") and plain(base) != earned]


def varies_within(column: Series, columns: DataFrame, assigned: Mapping[str, object]) -> bool:
    """Return whether a column varies within subjects, as an age does not."""
    if "subject" not in assigned:
        return True
    import pandas as pd

    subject = entries.texts(columns[str(assigned["subject"])])[1]
    return bool((pd.Series(entries.numbers(column)).groupby(subject).nunique() > 1).mean() > 0.5)


def side_pairs(columns: DataFrame, used: Sequence[object] = ()) -> list[tuple[str, str]]:
    """Return the pairs of numeric columns for the left and the right, as in ``contrastLeft`` and ``contrastRight``."""
    pairs = []
    for name, partner in pairs_of(columns):
        if not ("left" in name.lower() or name in "lL") or {name, partner} & set(map(str, used)):
            continue
        both = [columns[each] for each in (name, partner) if entries.is_numeric(columns[each])]
        other = is_like(name, "not_stimuli") or is_like(name, "like_a_choice")
        if len(both) == 2 and not (other or any(map(entries.is_truth, both))):
            pairs.append((name, partner))
    return pairs


def object_pairs(columns: DataFrame, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of columns that say in words what lay on the left and the right, always different objects."""
    pairs = []
    for name, partner in (*pairs_of(names), *numbered_pairs(names)):
        words = () if entries.is_numeric(columns[name]) else entries.words(columns[name])
        same = set(words) == set(entries.words(columns[partner])) and len(words) <= MOST_CHOICES
        twice = [(columns[name] == word) & (columns[partner] == word) for word in words if same]
        if twice and not np.any(twice):
            pairs.append((name, partner))
    return pairs


def numbered_pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of names that differ in a final 1 and 2, as ``s1`` and ``s2``."""
    ends = [(name, f"{name[:-1]}2") for name in names if name.endswith("1")]
    return [pair for pair in ends if pair[1] in names]


def _is_unread_miss(word: str, column: Series, choice: Series) -> bool:
    """Return whether a word of a column means no answer, in rows some of which are scored all the same."""
    return is_called(word, "missed") and plain(str(column.name)) != "outcome" and bool(choice[column == word].count())


def remarks_on(columns: DataFrame, assigned: Mapping[str, Any], formulas: str = "") -> list[str]:
    """Return remarks on columns that may have a role, each with the option that gives it.

    Args:
        columns: the table.
        assigned: column of each role; ``stimuli`` a tuple.
        formulas: of derived columns, which say what the words of a column that they name mean.
    """
    rest, choice = [name for name in columns if name not in assigned.values()], columns[assigned["choice"]]
    notes = [say("two_stimuli", a=a, b=b) for a, b in numbered_pairs(assigned["stimuli"])]
    if not assigned["stimuli"] and not {"reward", "gain", "choice2"} & set(assigned):
        may_be = unnamed_stimuli(columns, assigned)
        notes += [say("unnamed_stimuli", names=may_be, option=",".join(may_be))] * bool(may_be)
    if not {"ground_truth", "choice2"} & set(assigned) and not assigned["stimuli"]:
        notes += [
            say("stimulus_in_words", name=name, n=len(words))
            for name in rest
            if is_like(name, "stimulus")
            if len(words := entries.words(columns[name])) > 2 and not entries.is_numeric(columns[name])
        ]
    if not {"reward", "gain", "correct"} & set(assigned) and (outcomes := like_a_reward(columns, assigned)):
        notes.append(say("unread_rewards", names=outcomes, first=outcomes[0]))
    special = [
        (name, "set", name if match["sound"] else f"not {name}", "for these" if match["sound"] else "without them")
        for name in rest
        if (match := is_like(name, "special")) and is_flag(columns[name])
        if len(entries.distinct(columns[name])) > 1
    ]
    special += [
        (name, word, f"{name} != {word}", "without them")
        for name in rest
        if 1 < len(entries.words(columns[name])) <= MOST_CHOICES
        for word in entries.words(columns[name])
        if (is_like(word, "special") and "valid" not in word)
        or (name not in formulas and _is_unread_miss(word, columns[name], choice))
    ]
    notes += [
        say("special_trials", name=name, word=word, condition=condition, which=which)
        for name, word, condition, which in special
    ]
    numeric = [name for name in rest if entries.is_numeric(columns[name])]
    for role, pattern, what in (
        ("rt", "like_a_time", "time"),
        ("confidence", "like_a_judgement", "confidence judgement"),
    ):
        unread = [name for name in numeric if role not in assigned and is_like(name, pattern)]
        notes += [say("unread", name=name, what=what, role=role) for name in unread[:2]]
    if not {"ground_truth", "correct"} & set(assigned):
        notes += [say("like_the_choice", name=name) for name in like_the_choice(columns, assigned)]
    return notes
