"""Contradictions between the columns of a table: choice and correctness, strength and side, stages of training."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from neurogym.array_types import BoolArray, FloatArray, IntArray
from neurogym.behaviour import entries
from neurogym.behaviour.choices import CONTRARY, Choices
from neurogym.behaviour.codings import TIME_UNITS, Times, read_flags, two_units
from neurogym.behaviour.column_names import ACCURACY, LIKE_A_REWARD, NOT_STIMULI
from neurogym.behaviour.entries import parse_number, plain
from neurogym.behaviour.evidence import ENOUGH_TRIALS, agrees, correlation, is_by_chance, listed, same_information
from neurogym.behaviour.grouping import is_of_an_agent
from neurogym.behaviour.questions import Answer, TableQuestion, ask, ask_role, is_among, typed, which_is_correct
from neurogym.behaviour.role_columns import RoleColumns
from neurogym.behaviour.roles import chosen_sides, is_flag, missed_words, object_pairs, says_yes
from neurogym.messages.options import option

if TYPE_CHECKING:
    from pandas import Series

BEYOND_CHANCE = 3.0  #: standard errors from which a correlation is not by chance
CLEAR_SLOPE = 4.5  #: the same for one of many subjects
MOST_EMPTY = 0.05  #: share of trials whose reward may be empty
FEWEST_WITHHELD = 5  #: trials that are correct without an answer
#: Names of flags of trials with one option, or of those with a free choice.
FORCED = re.compile(r"(?:is|was)?(?:forced|instructed|guided|(free))(?:choice|trial)?s?")
FASTEST, SLOWEST = 0.1, 60.0  #: median reaction times (s) between which the unit is not doubtful
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
#: Parts of names of columns that may be the correct side, and of those that are not.
SIDE_LIKE = re.compile(r"side|interval|pos|loc|target|direction|correct")
NOT_SIDES = re.compile(NOT_STIMULI.pattern.replace("interval|", ""))
#: Words of trials that ended before the time of the answer, so that what was chosen then is none.
CUT_SHORT = re.compile(r"early|premature|anticip|fix|abort|invalid")
#: Names of columns of stages of training, and most stages.
PROTOCOLS, MOST_PROTOCOLS = re.compile(r"(stage|phase|protocol|experiment|tasktype|trainingstatus|sessiontype)"), 6


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
    question = (
        f"{chosen} is {name} in {np.mean((truth == choice)[judged]):.0%} of trials and {flag} says "
        f"{correct[judged].mean():.0%}, so one is not what its name says"
    )
    others = [
        each
        for each in trials.columns
        if each not in (chosen, name, flag) and not same_information(trials.columns[each], trials.columns[chosen])
    ]
    others = [each for each in others if agrees(trials.columns[each], truth, correct)]
    answers = [Answer(("--choice", each), f"{each} is the choice") for each in others[:3]]
    answers += [
        Answer(("--choice", chosen, "--ground-truth", "none"), f"{name} is not the correct choice"),
        Answer(("--choice", chosen, "--correct", "none"), f"{flag} is not correctness"),
    ]
    raise ask(question, answers, trials.columns, [chosen, name, flag, *others[:3]])


def check_omissions(trials: RoleColumns, named: Sequence[str], choice: Series) -> None:
    """Ask whether a word such as omission or timeout means that no answer was given, where choices stand beside it.

    Raises:
        TableQuestion: if most such rows have a choice, and more than one choice is among them.
    """
    derived = {"reward": ("rewarded", "no reward was given"), "correct": ("right", "the answer was wrong")}
    for role in (each for each in derived if each in trials.roles and each not in named):
        name, column = trials.column(role)
        words = entries.words(column)
        gone = [word for word in missed_words(words) if not CUT_SHORT.search(plain(word))]
        rows = column.isin(gone)
        beside = choice[rows & choice.isin(choice[~rows])]
        if len(beside) <= rows.sum() / 2 or beside.nunique() < 2:
            continue
        formula = is_among(name, [*filter(says_yes, words)]) or f'`{name}`!="{gone[0]}"'
        new, meaning = derived[role]
        answers = [
            Answer(("--derive", f"{new}={formula}", f"--{role}", new), meaning),
            Answer((f"--{role}", name), "no answer was given"),
        ]
        raise ask(f"{' and '.join(gone)} stands in {name} beside choices", answers, trials.columns, [name])


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
        answers = [
            Answer(("--derive", f"rewarded={rewarded}", "--reward", "rewarded"), "an empty entry is no reward"),
            Answer(("--where", f"known(`{name}`)"), "without these trials"),
            Answer(("--reward", name), "outcomes that are not known"),
        ]
        raise ask(f"{name} is empty in {empty.sum():,} answered trials", answers, trials.columns, [name])


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
    answers = [
        Answer(("--derive", f"answered=known(`{name}`)", "--choice", "answered"), "the choice is to answer or not"),
        Answer(("--choice", name), "these trials are misses"),
    ]
    question = f"{right.sum():,} trials without an answer in {name} are correct by {trials.roles['correct']}"
    raise ask(question, answers, trials.columns, [name])


def check_forced(trials: RoleColumns) -> None:
    """Ask about choices that were not free, if a flag says which these are.

    Raises:
        TableQuestion: if some were free and some not.
    """
    for name in trials.free:
        column, kind = trials.columns[name], FORCED.fullmatch(plain(name))
        if kind is None or not is_flag(column):
            continue
        forced = read_flags(column)[0] == (kind[1] is None)
        if 0 < forced.mean() < 1:
            answers = [
                Answer(("--where", name if kind[1] else f"not {name}"), "free choices alone, and what they taught"),
                Answer(("--choice", str(trials.roles["choice"])), "all choices count"),
            ]
            raise ask(f"choices of {forced.sum():,} trials were not free by {name}", answers, trials.columns, [name])


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
    formula = f"seconds=`{name}`*(`{name}`<{edge:g})+`{name}`/1000*(`{name}`>={edge:g})"
    answers = [
        Answer(("--derive", formula, "--rt", "seconds"), "seconds below, milliseconds above"),
        Answer(("--rt", name), "one unit"),
    ]
    question = f"{name} has many entries below and above {edge:g}, and none near it"
    raise ask(question, answers, trials.columns, [name])


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
        raise ask(f"{name} {why}", [*answers, Answer(("--rt", name), times.unit)], trials.columns, [name])


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
    answers = _sides(trials, f"`{flag}`", "1")
    answers.append(Answer(("--choice", chosen, "--correct", flag), "both are what they are called"))
    raise ask(f"{chosen} says the same as {flag} in all trials", answers, trials.columns, [chosen, flag])


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
    why = f"{name} says whether choices were correct ({listed(words)})"
    if all(plain(word) in ACCURACY for word in words):
        if not sides:
            trials.notes.append(f"{why}, and no column is the correct side")
            return
        raise ask(why, [*sides, Answer(("--choice", name), "these are options")], trials.columns, [name])
    for answer in sides:
        side = answer.options[-1]
        named = side == trials.roles.get("ground_truth") or (SIDE_LIKE.search(side.lower()) and words[0].isdecimal())
        if named and is_by_chance(entries.levels(trials.columns[side])[1], choices.index, 2):
            way = typed(*answer.options)
            trials.notes.append(f"choices do not depend on {side}: {way} if {name} says whether they are correct")


def _sides(trials: RoleColumns, flag: str, yes: str) -> list[Answer]:
    """Return the answers that a column is the correct side, from which the choice follows by one of correctness."""
    unread = (*trials.free, str(trials.roles.get("ground_truth")))
    names = [name for name in trials.columns if name in unread and not NOT_SIDES.search(plain(name))]
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
        why = f"rewards depend on which of {listed(objects)} was chosen ({' or '.join(pair)}) and not on the side"
        if len(objects) > 2:
            trials.notes.append(f"{why}, which models of choice take for the option")
            continue
        sides = [f'(`{name}`=="{option}")' for option in options]
        second = [f'{side}*(`{each}`=="{objects[1]}")' for side, each in zip(sides, pair, strict=True)]
        answers = [
            Answer(("--derive", f"object=({'+'.join(second)})/({'+'.join(sides)})", "--choice", "object"), "objects"),
            Answer(("--choice", name), "sides"),
        ]
        raise ask(f"{why}, so that it may be the option", answers, trials.columns, list(pair))


def check_correctness(trials: RoleColumns, name: str, column: Series, truth: IntArray, choices: Choices) -> None:
    """Ask whether a column named like correctness with the entries of the choice says the correct choice.

    Raises:
        TableQuestion: if choices do not go with it.
    """
    if is_by_chance(truth, choices.index, len(choices.words)):
        words = entries.levels(column)[0]
        answers = [*which_is_correct(name, words), Answer(("--ground-truth", name), "it is the correct choice")]
        question = f"{name} has the entries of the choice and does not go with it, so that it may be correctness"
        raise ask(question, answers, trials.columns, [name])


def check_angles(trials: RoleColumns, stimuli: FloatArray, names: Sequence[str]) -> None:
    """Ask about angles on both sides of 0 that are written as 0 to 360, so that -1 is 359.

    Raises:
        TableQuestion: if there are such.
    """
    for name, values in zip(names, stimuli.T, strict=True):
        known = values[np.isfinite(values)]
        low, high = (known >= 0) & (known < 90), (known > 270) & (known <= 360)
        if name in trials.columns and (low | high).all() and min(low.sum(), high.sum()) > 0.05 * len(known):
            answers = [
                Answer(("--derive", f"signed=(`{name}`+180)%360-180", "--stimuli", "signed"), "angles around 0"),
                Answer(("--stimuli", name), "as it is"),
            ]
            question = f"{name} is below 90 or above 270 in all trials, as angles around 0 are"
            raise ask(question, answers, trials.columns, [name])


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
    sides = [
        name
        for name in _with_two_entries(trials, trials.free)
        if not is_by_chance(entries.levels(trials.columns[name])[1], choice, 2)
    ]
    question = f"choices do not depend on {name}, which has no sign, and no column is named like the correct choice"
    if sides:
        raise ask_role(question, "ground_truth", sides[:3], trials.columns, "the side is not known")
    trials.notes.append(f"{question}: {option('--ground-truth COLUMN')}")


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
        power, meaning = f"`{name}`", "logarithms to base 10"
        if plain(name).endswith("db"):
            power, meaning = f"({power}/20)", "decibels of an amplitude"
        linear = Answer(("--derive", f"linear=10**{power}", "--stimuli", "linear"), meaning)
        question = f"{name} is below 0 in all trials and says no side"
        raise ask(question, [linear, Answer(("--stimuli", name), "as it is")], trials.columns, [name])


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
            if name in trials.columns:
                _check_unit(name, source, labels, group[valid], values[valid])
            if name in trials.columns and choice.max(initial=0) < 2:
                valid &= choice >= 0
                _check_sign(name, source, labels, group[valid], values[valid], choice[valid])


def say_contexts(trials: RoleColumns, stimuli: FloatArray, names: Sequence[str], choice: IntArray) -> None:
    """Say that choices rise with a stimulus where another column has one entry, and fall where it has another."""
    unjudged = not {"correct", "ground_truth"} & set(trials.roles)
    for context in trials.free if choice.max(initial=0) <= 1 else ():
        few = 1 < len(entries.distinct(trials.columns[context])) <= MOST_CONTEXTS
        if not few or LIKE_A_REWARD.search(plain(context)):
            continue
        labels, group = entries.texts(trials.columns[context])
        for name, values in zip(names, stimuli.T, strict=True):
            valid = np.isfinite(values) & (group >= 0) & (choice >= 0)
            rising, falling, where = _signs(labels, group[valid], values[valid], choice[valid])
            if rising.any() and falling.any():
                right = f", or {typed('--correct', context)} if it says whether they are correct"
                trials.notes.append(
                    f"choices rise with {name} where {context} is {where[0]} and fall where it is {where[1]}: "
                    f"{typed('--by', context)} for each{right if unjudged and is_flag(trials.columns[context]) else ''}"
                )


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
            halves = option(f"--derive 'second=`{name}`>={words[len(words) // 2]}' --choice second")
            trials.notes.append(f"{name} goes with {side} as ratings do: {halves} if its upper half is one choice")
            return


def _check_unit(name: str, source: str, labels: Sequence[str], group: IntArray, values: FloatArray) -> None:
    """Ask about a stimulus that is in percent in some groups, and in fractions of one in others."""
    largest = np.zeros(len(labels))
    np.maximum.at(largest, group, np.abs(values))
    fractions, percents = (largest > 0) & (largest <= 1), largest >= FEWEST_PERCENT
    if fractions.any() and percents.any() and 20 <= largest.max() / largest[fractions].max() <= 500:
        why = f"{name} is at most {largest[fractions].max():g} in {{}} and up to {largest.max():g} in {{}}"
        factors = {"1+99*": "all in percent", "1-0.99*": "all as fractions"}
        raise _question(why, name, source, labels, (fractions, percents), factors)


def _check_sign(
    name: str, source: str, labels: Sequence[str], group: IntArray, values: FloatArray, choice: IntArray
) -> None:
    """Ask about a stimulus with which the second of two choices is more frequent in some groups, and less in others."""
    rising, falling, _ = _signs(labels, group, values, choice)
    if rising.any() and falling.any():
        why = f"choices of the second option rise with {name} in {{}} and fall in {{}}"
        raise _question(why, name, source, labels, (rising, falling), {"1-2*": "all with one sign"})


def _signs(
    labels: Sequence[str], group: IntArray, values: FloatArray, choice: IntArray
) -> tuple[BoolArray, BoolArray, tuple[str, str]]:
    """Return in which groups the second choice clearly becomes more and less frequent, and the names of both."""
    z = _slopes(values, choice, group, len(labels))
    rising, falling = z > CLEAR_SLOPE, z < -CLEAR_SLOPE
    named = (listed([each for each, at in zip(labels, side, strict=True) if at]) for side in (rising, falling))
    return rising, falling, tuple(named)  # type: ignore[return-value]


def _slopes(values: FloatArray, choice: IntArray, group: IntArray, n: int) -> FloatArray:
    """Return the correlation of values and choices in each of n groups, in standard errors; 0 for few trials."""
    count = np.bincount(group, minlength=n)
    products = values, choice, values**2, choice**2, values * choice
    with np.errstate(divide="ignore", invalid="ignore"):
        mx, my, xx, yy, xy = (np.bincount(group, each, n) / count for each in products)
        z = (xy - mx * my) / np.sqrt((xx - mx**2) * (yy - my**2)) * np.sqrt(count)
    return np.where((count >= ENOUGH_TRIALS) & np.isfinite(z), z, 0.0)


def _question(
    why: str,
    name: str,
    source: str,
    labels: Sequence[str],
    sides: tuple[BoolArray, BoolArray],
    factors: Mapping[str, str],
) -> TableQuestion:
    """Return the question whether a stimulus is to be multiplied in the fewer of two sets of files or subjects.

    Args:
        why: with places for the names of both sets.
        name: of the stimulus.
        source: column of files or subjects, with these labels.
        labels: of the files or subjects.
        sides: members of both sets.
        factors: begin of the factor, to its meaning; for each set, or for both.
    """
    members = [[label for label, at in zip(labels, side, strict=True) if at] for side in sides]
    where = [listed(each[:MOST_NAMED]) + (", ..." if len(each) > MOST_NAMED else "") for each in members]
    fewer = int(len(members[1]) < len(members[0]))
    rows = is_among(source, members[fewer])
    factor, meaning = list(factors.items())[min(fewer, len(factors) - 1)]
    derived = Answer(("--derive", f"same=`{name}`*({factor}({rows}))", "--stimuli", "same"), meaning)
    return TableQuestion(why.format(*where), [derived, Answer(("--stimuli", name), "as it is")])


def say_protocols(trials: RoleColumns, stimuli: FloatArray, names: Sequence[str]) -> None:
    """Say that stages of training, or such with other levels of a stimulus, are described together."""
    for stage, column in trials.columns.items():
        words, index = entries.levels(column) if PROTOCOLS.search(plain(stage)) else ((), np.zeros(0))
        if stage in trials.roles.values() or not 1 < len(words) <= MOST_PROTOCOLS:
            continue
        for name, values in zip(names, stimuli.T, strict=True):
            known = np.isfinite(values)
            levels = [set(np.unique(values[known & (index == k)]).tolist()) for k in range(len(words))]
            few = max(map(len, levels)) <= MOST_LEVELS and min(map(len, levels)) > 0
            differ = few and any(each != levels[0] for each in levels)
            if differ or any(plain(word).startswith("train") for word in words):
                trials.notes.append(
                    f"{f'levels of {name} differ between ' * differ}{listed(words)} of {stage} are described together: "
                    f"""{option(f"--where '{stage} == {words[-1]}'")} for one, {typed("--by", stage)} for each"""
                )
