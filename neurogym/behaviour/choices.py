"""Choices of a table: options in order, and codes, words and keys that mean no answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.array_types import BoolArray, FloatArray, IntArray
from neurogym.behaviour import entries
from neurogym.behaviour.codings import is_missed_word
from neurogym.behaviour.entries import TableError, label, parse_number, plain
from neurogym.behaviour.evidence import ENOUGH_TRIALS, FILE, correlation
from neurogym.behaviour.questions import ask, is_among
from neurogym.behaviour.roles import CODES_OF_MISSES, MOST_CHOICES, MOST_LETTERS
from neurogym.behaviour.vocabulary import ORDERED, is_called
from neurogym.messages.options import option

if TYPE_CHECKING:
    from pandas import DataFrame, Series


FEWEST = 16  #: answers of a file or subject from which an option that is absent is not absent by chance
COMMON = 0.02  #: share of the answers from which an entry counts as an option
MOST_LISTED = 4  #: codings that are listed
RARE = 0.02  #: share of all answers below which keys other than the usual ones count as hit by mistake
CONTRARY = 0.05  #: share of trials in which correctness and the correct choice may contradict each other by mistake
LEAST_OPTION = 0.1  #: share of all answers below which one of three numbers may mean no answer
NO_GO = ("nogo", "no", "neither")  #: words of no answer beside an ordered pair


@dataclass
class Choices:
    """Choices of all rows.

    Attributes:
        index: index of each choice, -1 for no answer, shape (rows,).
        words: the options in order.
        missed: entries that mean no answer, with the number of rows.
        note: remark on a reading that other values would allow; empty if there is none.
        doubtful: option that is so rare that it may mean no answer, which nothing else in the table says; or empty.
    """

    index: IntArray
    words: tuple[str, ...]
    missed: dict[str, int] = field(default_factory=dict)
    note: str = ""
    doubtful: str = ""


@dataclass(frozen=True)
class Witness:
    """Other columns of the rows, by which codes of a choice are judged.

    Attributes:
        correct: 1, 0 or nan, shape (rows,).
        reward: shape (rows,).
        rt: shape (rows,); nan where there is none.
        stimulus: a stimulus with a sign; None if there is none.
        truth: entries of the column of correct choices; empty if there is none.
    """

    correct: FloatArray
    reward: FloatArray
    rt: FloatArray
    stimulus: FloatArray | None = None
    truth: tuple[str, ...] = ()


def read_choices(
    column: Series, witness: Witness, gone: BoolArray, missed: Sequence[str] = (), order: Sequence[str] = ()
) -> Choices:
    """Return the choices that a column holds.

    Args:
        column: the column.
        witness: other columns of the same rows.
        gone: rows without an answer by another column, shape (rows,).
        missed: entries that mean no answer, if the user says so.
        order: the options in order, if the user says so; other entries mean no answer.

    Raises:
        TableError: if there are too many options, or an option of ``order`` does not occur.
    """
    words, index = entries.levels(entries.without(column, gone))
    counts = np.bincount(index[index >= 0], minlength=len(words))
    if order:
        if not {*order} & {*words}:
            raise TableError(f"found none of the options {', '.join(order)}; the entries are {', '.join(words[:12])}")
        options, note = tuple(order), ""
    else:
        codes, note = _missed_codes(words, index, counts, witness, missed)
        present = [k for k in range(len(words)) if k not in codes and counts[k]]
        if len(present) > MOST_CHOICES:
            raise TableError(f"found {len(present)} different values, expected 2 to {MOST_CHOICES} choices")
        options = tuple(words[k] for k in _ordered(words, present))
    lookup = np.array([*(options.index(word) if word in options else -1 for word in words), -1])
    gone_words = {word: int(counts[k]) for k, word in enumerate(words) if lookup[k] < 0 and counts[k]}
    return Choices(lookup[index], options, gone_words, note, "" if order or missed else _rare_end(words, counts))


def _ordered(words: Sequence[str], options: list[int]) -> list[int]:
    """Return two options in the order of left and right, no and yes; others stay in the order of the alphabet."""
    pair = tuple(plain(words[k]) for k in options)
    return options[::-1] if pair[::-1] in ORDERED and pair not in ORDERED else options


def _missed_codes(
    words: Sequence[str],
    index: IntArray,
    counts: np.ndarray,
    witness: Witness,
    missed: Sequence[str],
) -> tuple[list[int], str]:
    """Return the indices of the entries that mean no answer, and a remark where another reading is possible."""
    if missed:
        return [k for k, word in enumerate(words) if word in missed or is_missed_word(word)], ""
    gone = [k for k, word in enumerate(words) if is_missed_word(word)]
    if len(words) - len(gone) == 3:  # beside a pair such as left and right, not to go is no answer
        rest = [k for k in range(len(words)) if k not in gone]
        none = [k for k in rest if plain(words[k]) in NO_GO]
        pair = tuple(plain(words[k]) for k in rest if k not in none)
        gone += none if pair in ORDERED or pair[::-1] in ORDERED else []
    numbers = [parse_number(word) for word in words]
    if words and all(number is not None for number in numbers):
        more, note = _missed_numbers([float(n) for n in numbers if n is not None], index, counts, witness)
        return gone + more, note
    untimed = [k for k in range(len(words)) if k not in gone and counts[k] and len(words) - len(gone) > 2]
    untimed = [k for k in untimed if _unanswered(index == k, index >= 0, witness) >= 2.0]
    named = ",".join(words[k] for k in untimed)
    note = f"{named} is read as no answer; {option('--missed none')} if it is a choice" if untimed else ""
    return [*gone, *untimed, *_stray_keys(words, counts, [*gone, *untimed], witness.truth)], note


def _stray_keys(words: Sequence[str], counts: np.ndarray, gone: Sequence[int], truth: Sequence[str]) -> list[int]:
    """Return keys that are not allowed: rare beside two frequent ones, or no possible answer."""
    rest = [k for k in range(len(words)) if k not in gone]
    if len(rest) < 3:
        return [k for k in rest if len(words[k]) > MOST_LETTERS]
    allowed = [k for k in rest if words[k] in truth]
    if len(allowed) >= 2 and counts[allowed].sum() > 0.7 * counts[rest].sum():
        return [k for k in rest if k not in allowed]
    total = counts[rest].sum()
    usual = [k for k in rest if counts[k] > RARE * total]
    rare = [k for k in rest if k not in usual]
    return rare if len(usual) >= 2 and counts[rare].sum() < 0.1 * total and counts[usual].min() > 20 else []


def _missed_numbers(
    numbers: Sequence[float], index: IntArray, counts: np.ndarray, witness: Witness
) -> tuple[list[int], str]:
    """Return the indices of the numbers that mean no answer, and a remark where another reading is possible."""
    values = set(numbers)
    if values == {-1.0, 0.0, 1.0}:
        return _among_three(numbers, index, counts, witness)
    codes = len(values) > 1 and min(values) < 0 <= max(values) and values != {-1.0, 1.0}
    if codes and not any(-v in values for v in values if v < 0 and v != -1):
        return [k for k, number in enumerate(numbers) if number < 0], ""
    regular = [v for v in values if v not in CODES_OF_MISSES]
    if len(regular) >= 2 and max(regular) < 8 and len(regular) < len(values):
        return [k for k, number in enumerate(numbers) if number not in regular], ""
    if values in ({0.0, 1.0, 2.0}, {1.0, 2.0, 3.0}, {0.0, 1.0, 2.0, 3.0}, {0.0, 1.0, 2.0, 3.0, 4.0}):
        return _zero_or_last(numbers, index, counts, witness)
    return [], ""


def _among_three(
    numbers: Sequence[float], index: IntArray, counts: np.ndarray, witness: Witness
) -> tuple[list[int], str]:
    """Decide whether 0 is missed between -1 and 1, or -1 is missed beside 0 and 1."""
    zero, minus = numbers.index(0.0), numbers.index(-1.0)
    score = {k: _unanswered(index == k, index >= 0, witness) for k in (zero, minus)}
    if score[zero] == score[minus]:
        separation = {k: _separation(index, numbers.index(1.0), minus + zero - k, witness) for k in (zero, minus)}
        score = {k: separation[k] for k in score} if abs(separation[zero] - separation[minus]) > 0.05 else score
    if score[zero] == score[minus]:
        fewer = min((zero, minus), key=lambda k: counts[k])
        score[fewer] += float(counts[fewer] < 0.5 * counts[zero + minus - fewer])
    gone = minus if score[minus] > score[zero] else zero
    note = f"0 between -1 and 1 is read as no answer; {option('--missed -1')} if -1 means no answer and 0 is a choice"
    return [gone], note if score[minus] == score[zero] else ""


def _zero_or_last(
    numbers: Sequence[float], index: IntArray, counts: np.ndarray, witness: Witness
) -> tuple[list[int], str]:
    """Decide whether 0, or the highest of three numbers (ignored trials), is a choice."""
    ends = [number for number in (0.0, max(numbers)) if number in numbers and (number == 0 or len(numbers) == 3)]
    for number in ends:
        k = numbers.index(number)
        rare = min(numbers) == 0 and counts[k] < 0.5 * counts.sum() / len(numbers)
        if _unanswered(index == k, index >= 0, witness) >= (1.0 if rare else 2.0):
            return [k], f"{label(number)} is read as no answer; {option('--missed none')} if it is a choice"
    return [], ""


def _rare_end(words: Sequence[str], counts: np.ndarray) -> str:
    """Return 0 or the last of three numbers if it is rare, as a code for no answer is; empty without such a number."""
    total, ends = counts.sum(), {words[0], words[-1]} - {"1"} if words else set()
    rare = [word for word, count in zip(words, counts, strict=True) if word in ends and count < LEAST_OPTION * total]
    numbered = tuple(words) in (("0", "1", "2"), ("1", "2", "3"))
    return rare[0] if numbered and len(rare) == 1 and total >= ENOUGH_TRIALS else ""


def _unanswered(rows: BoolArray, answered: BoolArray, witness: Witness) -> float:
    """Return how much speaks for rows without an answer: times that are absent count most, then success."""
    rest, score = answered & ~rows, 0.0
    if not rows.any() or not rest.any():
        return score
    timed = np.isfinite(witness.rt) & (witness.rt > 0)
    if timed[rest].mean() > 0.5:
        score += 2.0 * (timed[rows].mean() < 0.05) - 1.0 * (timed[rows].mean() > 0.5)
    for success in (witness.correct, witness.reward):
        valid, remaining = success[rows], success[rest]
        if not np.isfinite(remaining).any() or len(np.unique(remaining[np.isfinite(remaining)])) < 2:
            continue
        best = np.nanmax(remaining)
        share = np.mean(remaining[np.isfinite(remaining)] == best)
        never = not np.any(valid > np.nanmin(remaining)) and (1 - share) ** len(valid) < 0.01
        score += float(never)
    return score


def _separation(index: IntArray, reference: int, partner: int, witness: Witness) -> float:
    """Return how well a stimulus, or correctness, separates two entries of a choice (0 to 1)."""
    pair = (index == reference) | (index == partner)
    if witness.stimulus is None or pair.sum() < 5:
        return 0.0
    return abs(correlation(witness.stimulus, index == reference, pair & np.isfinite(witness.stimulus)))


def map_truth(column: Series, choices: Choices, correct: FloatArray) -> tuple[IntArray, str] | None:
    """Return the index of the correct choice in each row, -1 if unknown, and the reading; None if labels do not match.

    Args:
        column: the column of correct choices, or of stimulus categories.
        choices: the choices of the same rows.
        correct: 1, 0 or nan.
    """
    words, index = entries.levels(column)
    spelled = {word.lower(): k for k, word in enumerate(choices.words)}
    numbers = {parse_number(word): k for k, word in enumerate(choices.words) if parse_number(word) is not None}
    lookup = np.full(len(words) + 1, -1)
    for k, word in enumerate(words):
        number = parse_number(word)
        match = spelled.get(word.lower(), numbers.get(number) if number is not None else None)
        match = _abbreviated(word, choices.words) if match is None else match
        lookup[k] = -1 if match is None else match
    counts = np.bincount(index[index >= 0], minlength=len(words))
    matched = counts[(lookup[:-1] >= 0)].sum() if len(words) else 0
    distinct = set(lookup[:-1][counts > 0].tolist())
    if matched > 0.9 * counts.sum() and (distinct >= set(range(len(choices.words))) or len(distinct) == len(words)):
        truth = lookup[index].astype(np.int64)
        return _by_correctness(truth, choices, correct, words, lookup)
    real = [k for k in range(len(words)) if counts[k] and not is_missed_word(words[k])]
    if len(real) != 2 or len(choices.words) != 2:
        return None
    lookup = np.full(len(words) + 1, -1)
    lookup[real] = [0, 1]
    truth = lookup[index]
    answered = (truth >= 0) & (choices.index >= 0)
    if not answered.any():
        return None
    agreement = float(np.mean(truth[answered] == choices.index[answered]))
    valid = answered & np.isfinite(correct)
    by_correct = float(np.mean((truth == choices.index)[valid] == (correct[valid] > 0.5))) if valid.any() else 0.5
    judged = abs(by_correct - 0.5) > 0.1
    agreement = by_correct if judged else agreement
    if abs(agreement - 0.5) < 2 / np.sqrt(answered.sum()):  # by chance
        return None
    pairs = [0, 1] if agreement > 0.5 else [1, 0]
    lookup[real] = pairs
    named = ", ".join(f"{words[k]} = {choices.words[at]}" for k, at in zip(real, pairs, strict=True))
    reason = "by the column of correctness" if judged else "by what goes together"
    return lookup[index].astype(np.int64), f"the correct choice: {named}, {reason}"


def _by_correctness(
    truth: IntArray, choices: Choices, correct: FloatArray, words: Sequence[str], lookup: np.ndarray
) -> tuple[IntArray, str]:
    """Return the correct choices and the reading, turned round if a column of correctness says the contrary."""
    judged = (truth >= 0) & (choices.index >= 0) & np.isfinite(correct)
    if len(choices.words) != 2 or not judged.any():
        return truth, "the correct choice"
    agreement = float(np.mean((truth == choices.index)[judged] == (correct[judged] > 0.5)))
    if agreement < CONTRARY:
        turned = np.where(truth < 0, -1, 1 - truth)
        pairs = [(word, int(lookup[k])) for k, word in enumerate(words) if lookup[k] >= 0]
        named = ", ".join(f"{word} = {choices.words[1 - at]}" for word, at in pairs)
        return turned, f"the correct choice: {named}, by the column of correctness"
    if agreement < 1 - CONTRARY:
        return truth, f"the correct choice; contradicted by the column of correctness in {1 - agreement:.0%} of trials"
    return truth, "the correct choice"


def _abbreviated(word: str, options: Sequence[str]) -> int | None:
    """Return the option that a word abbreviates (``l`` or ``arrowleft`` for ``left``), or None."""
    fits = [k for k, option in enumerate(options) if _short(option) == _short(word)]
    return fits[0] if len(fits) == 1 and _short(word) else None


def _short(word: str) -> str:
    """Return a word without ``arrow``, and left and right as letters."""
    side = plain(word).removeprefix("arrow").removesuffix("arrow")
    return {"left": "l", "right": "r"}.get(side, side)


def check_options(
    columns: DataFrame, name: str, column: Series, sources: Sequence[object], missed: Sequence[str]
) -> None:
    """Ask whether the entries of a choice are options of one task, if no file or subject has all.

    Args:
        columns: the table.
        name: of the choice.
        column: the choice.
        sources: names of the columns of files and subjects.
        missed: entries that mean no answer.

    Raises:
        TableQuestion: if no file, or no subject, has all entries.
    """
    words = entries.levels(column)[0]
    gone = [k for k, word in enumerate(words) if word in missed or is_missed_word(word)]
    for source in (*sources, *(each for each in columns if is_called(each, "tasks"))):
        labels, group = entries.texts(columns[str(source)]) if source in columns else ((), np.zeros(0, int))
        if len(labels) < 2:
            continue
        common = _common(column, group, len(labels), gone)
        union: BoolArray = np.asarray(common.any(0))
        sets = np.unique(common[common.any(1)], axis=0)
        if union.sum() > 2 and len(sets) > 1 and not (sets == union).all(1).any():
            listed = [", ".join(word for word, at in zip(words, row, strict=True) if at) for row in sets[::-1]]
            tasks = is_called(str(source), "tasks")
            about: dict[str, Any] = {
                "kind": "file" if source == FILE else "task" if tasks else "subject",
                "codings": listed[:MOST_LISTED],
                "options": ",".join(word for word, at in zip(words, union, strict=True) if at),
                "formula": None if tasks else _joined(name, str(source), labels, common, words),
                "each": labels[:MOST_LISTED] if tasks else [],
            }
            raise ask("options", columns, name=name, source=source, **about)


def _common(column: Series, group: np.ndarray, n: int, gone: Sequence[int]) -> BoolArray:
    """Return which entries are common in each group, shape (groups, entries); none in groups of few answers."""
    words, index = entries.levels(column)
    counts = np.zeros((n, len(words)), int)
    valid = (index >= 0) & (group >= 0)
    np.add.at(counts, (group[valid], index[valid]), 1)
    counts[:, gone] = 0
    answers = counts.sum(1, keepdims=True)
    return (counts > COMMON * answers) & (answers >= FEWEST)


def _joined(name: str, source: str, labels: Sequence[str], common: BoolArray, words: Sequence[str]) -> str | None:
    """Return the formula of the second option of two codings of two options each; None of others."""
    sets = np.unique(common[common.any(1)], axis=0)[::-1]
    if len(sets) != 2 or not (common.sum(1) == 2).all() or len(words) > common.any(0).sum():
        return None
    seconds = [words[np.flatnonzero(row)[1]] for row in sets]
    of_set = [[label for label, row in zip(labels, common, strict=True) if (row == each).all()] for each in sets]
    terms = [
        f'(`{name}`=="{second}")*({is_among(source, members)})' for second, members in zip(seconds, of_set, strict=True)
    ]
    return "+".join(terms)
