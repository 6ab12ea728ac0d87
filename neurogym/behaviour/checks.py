"""Contradictions between the columns of a table: choice and correctness, strength and side, stages of training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.array_types import BoolArray, FloatArray, IntArray
from neurogym.behaviour import entries
from neurogym.behaviour.choices import CONTRARY, Choices
from neurogym.behaviour.codings import TIME_UNITS, Times, read_flags, two_units
from neurogym.behaviour.entries import parse_number, plain
from neurogym.behaviour.evidence import ENOUGH_TRIALS, agrees, correlation, is_by_chance, listed, same_information
from neurogym.behaviour.grouping import is_of_an_agent
from neurogym.behaviour.questions import Answer, is_among
from neurogym.behaviour.role_columns import RoleColumns
from neurogym.behaviour.roles import chosen_sides, is_flag, missed_words, object_pairs, says_yes
from neurogym.behaviour.vocabulary import ACCURACY, is_called, is_like

if TYPE_CHECKING:
    from pandas import Series

MOST_PROTOCOLS = 6  #: stages of training
BEYOND_CHANCE = 3.0  #: standard errors from which a correlation is not by chance
CLEAR_SLOPE = 4.5  #: the same for one of many subjects
MOST_EMPTY = 0.05  #: share of trials whose reward may be empty
FEWEST_WITHHELD = 5  #: trials that are correct without an answer
FASTEST, SLOWEST = 0.1, 20.0  #: median reaction times (s) between which the unit is not doubtful
IMPOSSIBLE = 0.03  #: the same for times that seem to be in s
PLAUSIBLE = (0.15, 10.0)  #: median reaction times (s) of another unit
LEAST_SPREAD = 0.12  #: standard deviation of reaction times of some seconds, over their mean
MILLISECONDS = ("ms", "msec", "millis")  #: ends of names of columns that say their unit
#: Units of times besides those that are guessed, by their length in s.
OTHER_UNITS = {1e-9: "nanoseconds", 0.01: "hundredths of a second", 1 / 60: "frames at 60 Hz", 60.0: "minutes"}
MOST_NAMED = 4  #: files or subjects that a question names
#: Options of a choice that may be ratings, and their correlation with a stimulus.
FEWEST_RATINGS, CLEAR_RATINGS = 4, 0.5
FEWEST_PERCENT = 5.0  #: largest strength from which it is no fraction
MOST_CONTEXTS = 4  #: entries of a column on which the sign of a stimulus may depend
MOST_LEVELS = 30  #: of a stimulus, whose levels are compared between stages


def check_contradiction(
    trials: RoleColumns, named: Sequence[str], name: str, truth: IntArray, choice: IntArray, correct: FloatArray
) -> None:
    """Ask which column is what, if errors by the column of correctness are choices of the correct option.

    Raises:
        TableQuestion: if the columns contradict each other and the user did not name all of them.
    """
    judged = (truth >= 0) & (choice >= 0) & np.isfinite(correct)
    if not judged.any() or {"choice", "ground_truth"} <= set(named):
        return
    contrary = (truth == choice)[judged] != (correct[judged] > 0.5)
    if contrary.sum() < 5 or contrary.mean() <= CONTRARY:
        return
    chosen, flag = str(trials.roles["choice"]), str(trials.roles["correct"])
    others = [
        each
        for each in trials.columns
        if each not in (chosen, name, flag) and not same_information(trials.columns[each], trials.columns[chosen])
    ]
    others = [each for each in others if agrees(trials.columns[each], truth, correct)][:3]
    agreement, accuracy = np.mean((truth == choice)[judged]), correct[judged].mean()
    named_columns: dict[str, Any] = {"choice": chosen, "truth": name, "correct": flag, "each": others}
    candidates = [chosen, name, flag, *others]
    raise trials.ask("contradiction", candidates, agreement=agreement, accuracy=accuracy, **named_columns)


def check_omissions(trials: RoleColumns, named: Sequence[str], choice: Series) -> None:
    """Ask whether a word such as omission or timeout means that no answer was given, where choices stand beside it.

    Raises:
        TableQuestion: if most such rows have a choice, and more than one choice is among them.
    """
    derived = {"reward": ("rewarded", "no reward was given"), "correct": ("right", "the answer was wrong")}
    for role in (each for each in derived if each in trials.roles and each not in named):
        name, column = trials.column(role)
        words = entries.words(column)
        gone = [word for word in missed_words(words) if not is_like(word, "cut_short")]
        rows = column.isin(gone)
        beside = choice[rows & choice.isin(choice[~rows])]
        if len(beside) <= rows.sum() / 2 or beside.nunique() < 2:
            continue
        formula = is_among(name, [*filter(says_yes, words)]) or f'`{name}`!="{gone[0]}"'
        new, meaning = derived[role]
        about: dict[str, Any] = {"words": gone, "name": name, "role": role, "meaning": meaning}
        raise trials.ask("omissions", [name], new=new, formula=formula, **about)


def check_empty_rewards(trials: RoleColumns, choice: IntArray, correct: FloatArray) -> None:
    """Ask about rewards that are empty in many answered trials that are not known to be errors.

    Raises:
        TableQuestion: if there are such.
    """
    name = str(trials.roles.get("reward"))
    if name not in trials.columns:
        return
    empty = (choice >= 0) & entries.missing(trials.columns[name]) & (correct != 0)
    if empty.mean() > MOST_EMPTY:
        words = entries.words(trials.columns[name])
        punished = any(says_yes(word) is False for word in words)
        rewarded = is_among(name, [*filter(says_yes, words)] if punished else []) or f"known(`{name}`)"
        raise trials.ask("empty_rewards", [name], name=name, n=empty.sum(), formula=rewarded)


def check_withheld(trials: RoleColumns, choice: IntArray, correct: FloatArray) -> None:
    """Ask whether the choice is to answer or not, because no answer is correct in some trials, as after a stop signal.

    Raises:
        TableQuestion: if it is.
    """
    missed = (choice < 0) & np.isfinite(correct)
    right = correct[missed] == 1
    if right.sum() < FEWEST_WITHHELD or right.mean() < 0.2:
        return
    name = str(trials.roles["choice"])
    raise trials.ask("withheld", [name], name=name, n=right.sum(), correct=trials.roles["correct"])


def check_forced(trials: RoleColumns) -> None:
    """Ask about choices that were not free, if a flag says which these are.

    Raises:
        TableQuestion: if some were free and some not.
    """
    for name in trials.free:
        column, kind = trials.columns[name], is_like(name, "forced")
        if kind is None or not is_flag(column):
            continue
        forced = read_flags(column)[0] == (kind["free"] is None)
        if 0 < forced.mean() < 1:
            condition = name if kind["free"] else f"not {name}"
            choice = trials.roles["choice"]
            raise trials.ask("forced", [name], name=name, n=forced.sum(), condition=condition, choice=choice)


def check_times(trials: RoleColumns, times: Times) -> None:
    """Ask about reaction times of two kinds, as of seconds and milliseconds, that no file or subject tells apart.

    Raises:
        TableQuestion: if there are two, a wide gap apart, or if most times are too short or long, or logarithms.
    """
    n = np.isfinite(times.seconds).sum() + times.negative
    if not times.groups and n >= ENOUGH_TRIALS and not is_of_an_agent(trials.columns):
        _check_scale(trials, str(trials.roles["rt"]), times)
    gap = None if times.groups else two_units(times.seconds)
    if gap is None:
        return
    name, edge = str(trials.roles["rt"]), float(f"{gap * TIME_UNITS[times.unit][1]:.2g}")
    raise trials.ask("two_units_of_time", [name], name=name, edge=edge)


def _check_scale(trials: RoleColumns, name: str, times: Times) -> None:
    """Ask about times that are no reaction times in the unit that they seem to have."""
    if plain(name).endswith(MILLISECONDS):
        return
    seconds = times.seconds[np.isfinite(times.seconds)]
    typical = float(np.median(seconds)) if len(seconds) else 0.0
    spread = float(np.std(seconds)) / typical if typical else 0.0
    if times.negative > 0.1 * len(seconds):
        formulas, why = {f"exp(`{name}`)": "logarithms of seconds"}, "is below 0 in many trials, as logarithms are"
    elif typical < (FASTEST if times.unit == "ms" else IMPOSSIBLE) or typical > SLOWEST:
        number = typical * TIME_UNITS[times.unit][1]
        factors = [each for each in OTHER_UNITS if PLAUSIBLE[0] < number * each < PLAUSIBLE[1]]
        formulas = {f"`{name}`{f'*{each:g}' if each > 1 else f'/{1 / each:g}'}": OTHER_UNITS[each] for each in factors}
        ends = "within" if typical < FASTEST else "after"
        why = f"does not say its unit: in {times.unit} half of the answers would come {ends} {typical:.3g} s"
    elif times.unit == "s" and typical > 3 and spread < LEAST_SPREAD:
        formulas, why = {f"exp(`{name}`)/1000": "logarithms of milliseconds"}, "varies as little as logarithms do"
    else:
        return
    answers = [Answer(("--derive", f"seconds={each}", "--rt", "seconds"), unit) for each, unit in formulas.items()]
    if answers:
        raise trials.ask("unit_of_time", [name], answers, name=name, why=why, unit=times.unit)


def check_accuracy_coding(trials: RoleColumns, named: Sequence[str], choices: Choices, correct: FloatArray) -> None:
    """Ask whether entries of the choice say that it was correct, if they equal correctness in all trials.

    Raises:
        TableQuestion: if they do, and some choices are errors.
    """
    judged = (choices.index >= 0) & np.isfinite(correct)
    if "correct" not in trials.roles or {"choice", "correct"} <= set(named) or judged.sum() < ENOUGH_TRIALS:
        return
    equal = choices.index[judged] == correct[judged]
    if len(choices.words) != 2 or not (equal.all() or not equal.any()) or not np.ptp(correct[judged]):
        return
    chosen, flag = str(trials.roles["choice"]), str(trials.roles["correct"])
    raise trials.ask("accuracy_codes", [chosen, flag], _sides(trials, f"`{flag}`", "1"), choice=chosen, correct=flag)


def check_accuracy_words(trials: RoleColumns, choices: Choices) -> None:
    """Ask or say that choices such as target and distractor, or 1 and 0, may say that they were correct.

    Raises:
        TableQuestion: if the words say it, and a column may be the correct side.
    """
    words, name = choices.words, str(trials.roles["choice"])
    right = [word for word in words if ACCURACY.get(plain(word), says_yes(word))]
    if "correct" in trials.roles or len(words) != 2 or len(right) != 1:
        return
    sides = _sides(trials, f"`{name}`", right[0])
    if all(is_called(word, "accuracy") for word in words):
        if not sides:
            trials.note("accuracy_without_side", name=name, words=listed(words))
            return
        raise trials.ask("accuracy_words", [name], sides, name=name, words=listed(words))
    for answer in sides:
        side = answer.options[-1]
        named = side == trials.roles.get("ground_truth") or (is_like(side, "side_like") and words[0].isdecimal())
        if named and is_by_chance(entries.levels(trials.columns[side])[1], choices.index, 2):
            trials.note("accuracy_by_side", side=side, name=name, formula=answer.options[1])


def _sides(trials: RoleColumns, flag: str, yes: str) -> list[Answer]:
    """Return the answers that a column is the correct side, from which the choice follows by one of correctness."""
    unread = (*trials.free, str(trials.roles.get("ground_truth")))
    names = [
        name
        for name in trials.columns
        if name in unread and not is_like(plain(name).replace("interval", ""), "not_stimuli")
    ]
    is_correct = f"({flag}=={yes})" if parse_number(yes) is not None else f'({flag}=="{yes}")'
    return chosen_sides(trials.columns, _with_two_entries(trials, names)[:3], is_correct, with_truth=True)


def check_objects(trials: RoleColumns, options: Sequence[str], choices: Choices, reward: FloatArray) -> None:
    """Ask or say that rewards depend on the object that was chosen, on whichever side it lay, and not on the side.

    Args:
        trials: columns with roles.
        options: entries of the choice, in order.
        choices: the choices, of two sides.
        reward: of each trial, nan where unknown.

    Raises:
        TableQuestion: if there are two objects, which may be the options.
    """
    valid = (choices.index >= 0) & np.isfinite(reward)
    if len(options) != 2 or valid.sum() < ENOUGH_TRIALS:
        return
    by_side = abs(correlation(reward, choices.index, valid))
    for pair in object_pairs(trials.columns, trials.free):
        objects, first = sorted(entries.words(trials.columns[pair[0]])), choices.index == 0
        chosen = [np.where(first, *(trials.columns[each] == word for each in pair)) for word in objects]
        by_object = max(abs(correlation(reward, each, valid)) for each in chosen)
        if by_object < 2 * by_side or by_object * np.sqrt(valid.sum()) < BEYOND_CHANCE:
            continue
        name = str(trials.roles["choice"])
        about: dict[str, Any] = {"objects": listed(objects), "pair": pair}
        if len(objects) > 2:
            trials.note("objects", **about)
            continue
        sides = [f'(`{name}`=="{option}")' for option in options]
        second = "+".join(f'{side}*(`{each}`=="{objects[1]}")' for side, each in zip(sides, pair, strict=True))
        raise trials.ask("objects", pair, name=name, second=second, answered="+".join(sides), **about)


def check_correctness(trials: RoleColumns, name: str, column: Series, truth: IntArray, choices: Choices) -> None:
    """Ask whether a column named like correctness with the entries of the choice says the correct choice.

    Raises:
        TableQuestion: if choices do not go with it.
    """
    if is_by_chance(truth, choices.index, len(choices.words)):
        raise trials.ask("correctness_or_truth", [name], name=name, each=entries.levels(column)[0])


def check_angles(trials: RoleColumns, stimuli: FloatArray, names: Sequence[str]) -> None:
    """Ask about angles on both sides of 0 that are written as 0 to 360, so that -1 is 359.

    Raises:
        TableQuestion: if there are such.
    """
    for name, values in zip(names, stimuli.T, strict=True):
        known = values[np.isfinite(values)]
        low, high = (known >= 0) & (known < 90), (known > 270) & (known <= 360)
        if name in trials.columns and (low | high).all() and min(low.sum(), high.sum()) > 0.05 * len(known):
            raise trials.ask("angles", [name], name=name)


def check_side(trials: RoleColumns, choices: Choices, name: str, strength: FloatArray) -> None:
    """Ask for the side of a strength that no choice depends on, if another column may say it; say it otherwise.

    Raises:
        TableQuestion: if a column with two entries may be the correct choice.
    """
    choice = choices.index
    rows = (choice >= 0) & np.isfinite(strength)
    if len(choices.words) != 2 or rows.sum() < ENOUGH_TRIALS or not np.ptp(strength[rows]) or not np.ptp(choice[rows]):
        return
    if abs(correlation(strength, choice, rows)) * np.sqrt(rows.sum()) > BEYOND_CHANCE:
        return
    free = _with_two_entries(trials, trials.free)
    sides = [each for each in free if not is_by_chance(entries.levels(trials.columns[each])[1], choice, 2)]
    if sides:
        raise trials.ask("side", sides[:3], name=name)
    trials.note("no_side", name=name)


def _with_two_entries(trials: RoleColumns, names: Sequence[str]) -> list[str]:
    """Return the columns with two entries, as the correct side has."""
    return [name for name in names if len(entries.levels(trials.columns[name])[0]) == 2]


def check_logarithms(trials: RoleColumns, name: str, strength: FloatArray, choice: IntArray) -> None:
    """Ask about a strength below 0 in all trials that no choice depends on, as logarithms of strengths are.

    Raises:
        TableQuestion: if it is such.
    """
    rows = (choice >= 0) & np.isfinite(strength)
    if abs(correlation(strength, choice, rows)) * np.sqrt(rows.sum()) < BEYOND_CHANCE:
        decibels = plain(name).endswith("db")
        power = f"(`{name}`/20)" if decibels else f"`{name}`"
        meaning = "decibels of an amplitude" if decibels else "logarithms to base 10"
        raise trials.ask("logarithms", [name], name=name, power=power, meaning=meaning)


def check_sources(trials: RoleColumns, stimuli: FloatArray, names: Sequence[str], choice: IntArray) -> None:
    """Ask about a stimulus that has another unit, or that choices follow with another sign, in some files or subjects.

    Sessions are told apart as well.

    Raises:
        TableQuestion: if it is in percent and fractions, or choices clearly rise with it in some and fall in others.
    """
    for source in filter(trials.columns.__contains__, map(str, trials.groups)):
        labels, group = entries.texts(trials.columns[source])
        for shown, values in zip(names, stimuli.T, strict=True) if len(labels) > 1 else ():
            name, valid = shown.removeprefix("signed "), np.isfinite(values) & (group >= 0)
            if name not in trials.columns:
                continue
            largest = np.zeros(len(labels))
            np.maximum.at(largest, group[valid], np.abs(values[valid]))
            fractions, percents = (largest > 0) & (largest <= 1), largest >= FEWEST_PERCENT
            if fractions.any() and percents.any() and 20 <= largest.max() / largest[fractions].max() <= 500:
                sizes: dict[str, Any] = {"least": largest[fractions].max(), "most": largest.max()}
                raise trials.ask("unit_of_stimulus", name=name, **sizes, **_sets(source, labels, fractions, percents))
            rising, falling = _signs(len(labels), group, values, choice)
            if choice.max(initial=0) < 2 and rising.any() and falling.any():
                raise trials.ask("sign_of_stimulus", name=name, **_sets(source, labels, rising, falling))


def say_contexts(trials: RoleColumns, stimuli: FloatArray, names: Sequence[str], choice: IntArray) -> None:
    """Say that choices rise with a stimulus where another column has one entry, and fall where it has another."""
    unjudged = not {"correct", "ground_truth"} & set(trials.roles)
    for context in trials.free if choice.max(initial=0) <= 1 else ():
        few = 1 < len(entries.distinct(trials.columns[context])) <= MOST_CONTEXTS
        if not few or is_like(context, "like_a_reward") or is_called(context, "codes"):
            continue
        labels, group = entries.texts(trials.columns[context])
        for name, values in zip(names, stimuli.T, strict=True):
            rising, falling = _signs(len(labels), group, values, choice)
            if rising.any() and falling.any():
                rises, falls = (listed(_members(labels, side)) for side in (rising, falling))
                flag = unjudged and is_flag(trials.columns[context])
                key = "contexts_or_correctness" if flag else "contexts"
                trials.note(key, name=name, context=context, rises=rises, falls=falls)


def say_scale(trials: RoleColumns, stimuli: FloatArray, choices: Choices) -> None:
    """Say that many numbers as a choice go with a stimulus of two signs, or a column of two entries, as ratings do."""
    words, valid = choices.words, choices.index >= 0
    if len(words) < FEWEST_RATINGS or not all(map(str.isdecimal, words)):
        return
    two_signs = stimuli.shape[1] == 1 and np.nanmin(stimuli) < 0 < np.nanmax(stimuli)
    sides: dict[str, np.ndarray] = {"the stimulus": np.nan_to_num(stimuli[:, 0])} if two_signs else {}
    sides |= {name: entries.levels(trials.columns[name])[1] for name in _with_two_entries(trials, trials.free)}
    for side, values in sides.items():
        if abs(correlation(values, choices.index, valid)) > CLEAR_RATINGS:
            name = str(trials.roles["choice"])
            trials.note("ratings", name=name, side=side, middle=words[len(words) // 2])
            return


def _signs(n: int, group: IntArray, values: FloatArray, choice: IntArray) -> tuple[BoolArray, BoolArray]:
    """Return in which of n groups the second choice clearly becomes more, and less, frequent with a stimulus."""
    valid = np.isfinite(values) & (group >= 0) & (choice >= 0)
    z = _slopes(values[valid], choice[valid], group[valid], n)
    return z > CLEAR_SLOPE, z < -CLEAR_SLOPE


def _slopes(values: FloatArray, choice: IntArray, group: IntArray, n: int) -> FloatArray:
    """Return the correlation of values and choices in each of n groups, in standard errors; 0 for few trials."""
    count = np.bincount(group, minlength=n)
    products = values, choice, values**2, choice**2, values * choice
    with np.errstate(divide="ignore", invalid="ignore"):
        mx, my, xx, yy, xy = (np.bincount(group, each, n) / count for each in products)
        z = (xy - mx * my) / np.sqrt((xx - mx**2) * (yy - my**2)) * np.sqrt(count)
    return np.where((count >= ENOUGH_TRIALS) & np.isfinite(z), z, 0.0)


def _members(labels: Sequence[str], side: BoolArray) -> list[str]:
    return [label for label, at in zip(labels, side, strict=True) if at]


def _sets(source: str, labels: Sequence[str], *sides: BoolArray) -> dict[str, Any]:
    """Return the names of two sets of files or subjects, and the formula that is 1 in the one with fewer.

    Args:
        source: column of files or subjects, with these labels.
        labels: of the files or subjects.
        *sides: members of both sets.
    """
    members = [_members(labels, side) for side in sides]
    first, second = (listed(each[:MOST_NAMED]) + ", ..." * (len(each) > MOST_NAMED) for each in members)
    low, high = (is_among(source, each) for each in members)
    fewer = len(members[1]) < len(members[0])
    return {"first": first, "second": second, "low": None if fewer else low, "high": high if fewer else None}


def say_protocols(trials: RoleColumns, stimuli: FloatArray, names: Sequence[str]) -> None:
    """Say that stages of training, or such with other levels of a stimulus, are described together."""
    for stage, column in trials.columns.items():
        words, index = entries.levels(column) if is_like(stage, "protocols") else ((), np.zeros(0))
        if stage in trials.roles.values() or not 1 < len(words) <= MOST_PROTOCOLS:
            continue
        for name, values in zip(names, stimuli.T, strict=True):
            known = np.isfinite(values)
            levels = [set(np.unique(values[known & (index == k)]).tolist()) for k in range(len(words))]
            few = max(map(len, levels)) <= MOST_LEVELS and min(map(len, levels)) > 0
            differ = few and any(each != levels[0] for each in levels)
            if differ or any(plain(word).startswith("train") for word in words):
                of_levels = f"levels of {name} differ between " * differ
                trials.note("protocols", levels=of_levels, stages=listed(words), name=stage, last=words[-1])
