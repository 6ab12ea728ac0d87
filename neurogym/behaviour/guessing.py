"""Guess of the roles of columns: by the form of a table, by names, and by evidence; what stays open is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.array_types import BoolArray
from neurogym.behaviour import entries, roles
from neurogym.behaviour.codings import is_missed_word
from neurogym.behaviour.entries import plain
from neurogym.behaviour.evidence import is_in_blocks, is_known_without_answer, same_information, trial_order
from neurogym.behaviour.layouts import are_alike
from neurogym.behaviour.pulse_times import difference, duration_column, pulse_columns
from neurogym.behaviour.questions import TableQuestion, ask, say
from neurogym.behaviour.vocabulary import (
    COLUMN_NAMES,
    ENDINGS,
    TableFormat,
    any_called,
    format_of,
    is_called,
    is_like,
    roles_of_format,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series


COMPONENTS = ("choice", "rt", "correct")  #: roles of columns that OpenSesame names after components


@dataclass
class Guess:
    """Roles of the columns of a table, as names and values suggest.

    Attributes:
        roles: the column of each role that was found, and ``stimuli``, a tuple of names.
        reasons: why a column has its role, by role.
        questions: of roles that names and values leave open, by role.
        notes: remarks that the user should see.
        missed: entries of the choice that mean no answer in a known form.
    """

    roles: dict[str, object] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    questions: dict[str, TableQuestion] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    missed: tuple[str, ...] = ()


def guess(columns: DataFrame, given: roles.Roles | None = None) -> Guess:
    """Guess which column has which role.

    Args:
        columns: the table.
        given: columns of roles that the user named; these roles, and these columns, are not guessed.
    """
    given = given or {}
    taken = [name for value in given.values() for name in roles.names_of(value)]
    free = columns.drop(columns=taken, errors="ignore")
    short = {name: plain(name) for name in free}
    form, found = format_of(columns), Guess()
    assigned: dict[str, Any] = found.roles
    for role, name in ({} if form is None else roles_of_format(free, form)).items():
        if role not in given and roles.fits_role(role, columns[name], short[name]):
            assigned[role], found.reasons[role] = name, f"format {form.name}"  # type: ignore[union-attr]
            found.missed = tuple(form.missed) if role == "choice" else found.missed  # type: ignore[union-attr]
    last = ("choice", "ground_truth")
    for role in (*(each for each in COLUMN_NAMES if each not in last), *last):
        if role in given or role in assigned:
            continue
        taken_names = [str(name) for name in assigned.values()]
        if role == "choice":
            if "ground_truth" not in assigned:
                taken_names += [
                    name for name in _named("ground_truth", free) if not is_called(name, "stimulus_or_truth", "sides")
                ]
            settle_choice(columns, free.drop(columns=taken_names, errors="ignore"), found)
            continue
        fits = _named(role, free, taken_names)
        if role == "reward" and len(fits) > 1:
            fits = _rewards_of_trials(free, fits, assigned, found)
        if fits:
            assigned[role], found.reasons[role] = fits[0], "name"
    _settle_component(free, given, found)
    known: dict[str, Any] = {**assigned, **{role: value for role, value in given.items() if isinstance(value, str)}}
    _ask_for_yes(columns, known, given, found)
    _settle_correct(columns, known)
    _settle_rewards(columns, known)
    offered = _settle_offers(columns, known, given, found)
    _settle_two_stages(columns, known)
    assigned = found.roles = {role: name for role, name in known.items() if role not in given}
    found.reasons = {role: found.reasons.get(role, "name") for role in assigned}
    without_role = free.drop(columns=[*assigned.values()], errors="ignore")
    options = {*entries.words(columns[known["choice"]])} if known.get("choice") in columns else set[str]()
    found.notes += _unfit(without_role, {*assigned, *given}, options)
    found.notes += [
        say("flag_named_errors", name=name)
        for name in ([] if {"correct", "ground_truth"} & {*assigned, *given} else free)
        if is_called(name, "errors") and roles.is_flag(columns[name])
    ]
    assigned["stimuli"] = tuple(offered)
    found.reasons["stimuli"] = "values"
    pulses = _settle_pulses(columns, free, given, found)
    if "choice2" not in known and not pulses and "stimuli" not in given and not offered:
        _settle_stimuli(columns, known, form, found)
    return found


def _settle_component(free: DataFrame, given: roles.Roles, found: Guess) -> None:
    """Take time and correctness from the component of the choice, as ``dots.rt`` beside ``dots.keys``."""
    component = str(given.get("choice") or found.roles.get("choice")).rpartition(".")[0].lower()
    for name in free if component else ():
        role = next((each for each in ("rt", "correct") if name.rpartition(".")[2].lower() in ENDINGS[each]), None)
        if role in found.roles and name.rpartition(".")[0].lower() == component and roles.fits_role(role, free[name]):
            found.roles[role] = name


def _named(role: str, columns: DataFrame, taken: Sequence[str] = ()) -> list[str]:
    """Return the columns whose names and values suit a role, best first."""
    short = {name: plain(re.sub(r"[\[(].*", "", name)) or plain(name) for name in columns}  # without a unit
    named = [
        name
        for word in COLUMN_NAMES[role]
        for name in columns
        if word in (short[name], short[name].removeprefix("" if role == "trial" else "trial")) and name not in taken
    ]
    ending = [name for name in columns if name.rpartition(".")[2].lower() in ENDINGS.get(role, ()) and "." in name]
    named += sorted(ending, key=lambda name: int(entries.missing(columns[name]).sum()))
    named += [name for name in columns if role in COMPONENTS and is_like(name, f"component_{role}")]
    if role == "ground_truth" and len([name for name in columns if is_called(name, "screens")]) >= 2:
        named = [name for name in named if short[name] != "stimulus"]
    if role == "correct" and any_called({*short.values()} - {"hit"}, "detection"):
        named = [name for name in named if short[name] != "hit"]  # of a signal; correct rejections have their own flag
    fits = [name for name in dict.fromkeys(named) if roles.fits_role(role, columns[name], short[name])]
    if role == "session":
        fits.sort(key=lambda name: len(entries.distinct(columns[name])) < 2)
    return fits


def _unfit(columns: DataFrame, known: set[str], options: set[str]) -> list[str]:
    """Return what keeps columns of words from the role of numbers that they are named after."""
    in_words = [name for name in columns if entries.words(columns[name]) and not entries.is_numeric(columns[name])]
    notes = [
        say("fractions", name=name, word=entries.words(columns[name])[0])
        for name in in_words
        if is_like(name, "stimulus") and all(is_like(word, "fraction") for word in entries.words(columns[name]))
    ]
    for name in in_words:
        words = entries.words(columns[name])
        named = is_called(name, "reward") or (is_like(name, "like_a_reward") and 1 < len(words) <= 6)
        if "reward" not in known and named and not set(words) <= options:
            word = next((each for each in words if is_like(each, "won")), words[0])
            notes.append(say("reward_in_words", name=name, word=word))
    return notes + [
        say("unfit", name=name, role=of_what, entries=entries.describe(columns[name]))
        for role, of_what in (("rt", "a time"), ("confidence", "a confidence judgement"), ("correct", "correctness"))
        for name in columns
        if role not in known and is_called(name, role) and len(entries.distinct(columns[name])) > 1
        if not roles.fits_role(role, columns[name])
    ]


def _rewards_of_trials(
    columns: DataFrame, names: Sequence[str], assigned: Mapping[str, Any], found: Guess
) -> list[str]:
    """Return the columns named like rewards that change from trial to trial, the best first."""
    order, follows = trial_order(columns, assigned)
    rest = [name for name in names if not is_in_blocks(columns[name], order, follows)] or list(names)
    others = [name for name in rest[1:] if not same_information(columns[name], columns[rest[0]])]
    pair = any_called(names, "gain", "loss")
    if others and not pair:
        found.notes.append(say("several_rewards", name=rest[0], other=others[0]))
    return rest


def settle_choice(columns: DataFrame, free: DataFrame, found: Guess) -> None:
    """Find the column of the choice among those with its names, or ask."""
    assigned = found.roles
    continuous, targets = roles.report_columns(free)
    free = free.drop(columns=[*continuous, *targets]) if continuous and targets else free
    clear = [name for name in _named("choice", free) if not is_called(name, "sides")]
    unclear = [name for name in free if is_called(name, "sides") and roles.fits_role("choice", free[name])]
    timed = None if "rt" not in assigned else ~_untimed(columns[str(assigned["rt"])])
    constant = [len(entries.distinct(free[name])) < 2 and not entries.missing(free[name]).any() for name in clear]
    if all(constant) and any(is_like(name, "like_a_choice") for name in roles.unnamed_choices(free)):
        clear = []
    names = _that_answer(free, clear, timed) or clear
    names = _without_doubles(free, names) or _that_answer(free, unclear, timed) or unclear
    if len(names) > 1:
        found.questions["choice"] = ask("several_choices", columns, names, shown=", ".join(names))
    elif names and (names[0] in clear or _has_misses(free[names[0]], timed)):
        assigned["choice"], found.reasons["choice"] = names[0], "name"
    elif names:
        key, side = "choice_or_side", names[0]
        rest = free.drop(columns=[*assigned.values(), *names], errors="ignore")
        numbered = [name for name in rest if is_called(plain(name).rstrip("0123456789"), "choice")]
        if others := numbered or _like_answers(rest):
            key, names = "choice_among_others", [*others, *names]
        found.questions["choice"] = ask(key, columns, names, side=side, others=others)
    elif not (any_called(columns, "clocks") and not assigned):  # a log of events
        names = roles.unnamed_choices(free.drop(columns=[*assigned.values()], errors="ignore"))
        names = [] if are_alike(columns, names) or (continuous and targets) else names
        if names:
            flag, sides = assigned.get("correct"), [*dict.fromkeys([*_named("ground_truth", columns), *names])]
            follows = flag in columns and not any(is_like(name, "like_a_choice") for name in names)
            asked = sides if follows else names
            two = [name for name in sides if follows and len(entries.distinct(columns[name])) == 2]
            two = two if flag in columns and entries.is_numeric(columns[flag]) else []
            answers = roles.chosen_sides(columns, two, f"(`{flag}`==1)")
            found.questions["choice"] = ask("unnamed_choice", columns, asked, answers, each=names)
    if "choice" not in assigned and names:
        assigned["choice"] = names[0]
    others = _other_answers(free, assigned)
    if others and "choice" not in found.questions:
        names = [str(assigned["choice"]), *others]
        if any(same_information(columns[truth], columns[names[0]]) for truth in _named("ground_truth", columns)):
            # the check of correct choices asks
            found.notes.append(say("several_choices", names=names, other=others[0]))
        else:
            found.questions["choice"] = ask("several_choices", columns, names, shown=" and ".join(names))


def _other_answers(free: DataFrame, assigned: Mapping[str, Any]) -> list[str]:
    """Return the columns of words that sound like an answer as well and differ from the choice."""
    if "choice" not in assigned:
        return []
    rest = free.drop(columns=[*assigned.values()], errors="ignore")
    return [name for name in _like_answers(rest) if not same_information(rest[name], free[assigned["choice"]])]


def _like_answers(columns: DataFrame) -> list[str]:
    """Return the columns of words that sound like an answer, and those of numbers that say what was chosen."""
    names = [name for name in roles.unnamed_choices(columns) if is_like(name, "like_a_choice")]
    chosen = [name for name in names if is_like(name, "chosen") and not is_like(name, "of_the_chosen")]
    words = [name for name in names if not (entries.is_numeric(columns[name]) or is_like(name, "not_choices"))]
    return [name for name in names if name in (*chosen, *words)]


def _untimed(column: Series) -> BoolArray:
    """Return the rows without a time, or with a code for none."""
    values = entries.numbers(column)
    return ~(np.isfinite(values) & (values > 0))


def _that_answer(columns: DataFrame, names: Sequence[str], timed: BoolArray | None) -> list[str]:
    """Return the columns that have no answer where there is no time; none where all times are known."""
    if timed is None or len(names) < 2 or (~timed).sum() < 3 or timed.mean() < 0.5:
        return []
    return [name for name in names if _has_misses(columns[name], timed)]


def _has_misses(column: Series, timed: BoolArray | None) -> bool:
    """Return whether a column has an entry for no answer: where there is no time, or a word for it."""
    words, index = entries.levels(column)
    if timed is not None and (~timed).any():
        entry = np.bincount(index[~timed] + 1, minlength=len(words) + 1)
        k = int(np.argmax(entry))
        return entry[k] >= 0.9 * entry.sum() and float(np.mean(index[timed] + 1 == k)) < 0.05
    return bool((index < 0).any() or roles.missed_words(words))


def _without_doubles(columns: DataFrame, names: Sequence[str]) -> list[str]:
    """Return the columns that do not say the same as an earlier one."""
    kept: list[str] = []
    for name in names:
        if not any(same_information(columns[name], columns[each]) for each in kept):
            kept.append(name)
    return kept


def _ask_for_yes(columns: DataFrame, assigned: Mapping[str, Any], given: roles.Roles, found: Guess) -> None:
    """Ask which of two words of a column of correctness, neither of which is known, means correct."""
    name = assigned.get("correct")
    if name is None or "correct" in given or roles.is_flag(columns[name]):
        return
    words = [word for word in entries.levels(columns[name])[0] if not is_missed_word(word)]
    options = entries.levels(columns[assigned["choice"]])[0] if "choice" in assigned else ()
    known = [] if entries.is_numeric(columns[name]) else [word for word in words if roles.says_yes(word) is not None]
    if len(words) != 2 or known or set(words) <= set(options):
        return
    found.questions["correct"] = ask("which_is_correct", columns, [name], name=name, each=words)


def _settle_correct(columns: DataFrame, assigned: dict[str, object]) -> None:
    """Read a column of correctness that holds labels of choices as the correct choice."""
    name = assigned.get("correct")
    options = set(entries.levels(columns[str(assigned["choice"])])[0]) if "choice" in assigned else set()
    if name is not None and not roles.is_flag(columns[str(name)], plain(str(name)) == "performance"):
        words = set(entries.levels(columns[str(name)])[0])
        sides = {plain(word) for word in words} == {"left", "right"}  # of which right is no yes
        if sides or 2 * len(words & options) > len(words) or all(roles.says_yes(word) is None for word in words):
            del assigned["correct"]
            assigned.setdefault("ground_truth", str(name))
    stimulus = assigned.get("ground_truth")
    if stimulus is not None and is_called(str(stimulus), "stimulus_or_truth"):
        labels = entries.levels(columns[str(stimulus)])[0]
        if not (len(labels) == 2 or (set(labels) <= options and len(labels) <= roles.MOST_CHOICES)):
            del assigned["ground_truth"]


def _settle_rewards(columns: DataFrame, assigned: dict[str, object]) -> None:
    """Keep gains and losses only together, and no right beside a left as reward."""
    if assigned.get("reward") in ("R", "r") and {"L", "l"} & set(columns):
        assigned.pop("reward")
    if roles.is_for_or_against(str(assigned.get("choice", "")), columns) and {"gain", "loss"} <= set(assigned):
        offered = assigned.pop("gain"), assigned.pop("loss")
        if assigned.get("reward") in offered:
            assigned.pop("reward")
    if "gain" in assigned and "loss" not in assigned:
        assigned.setdefault("reward", assigned["gain"])
    if "loss" in assigned and "gain" not in assigned:
        assigned.pop("loss")
    elif "gain" in assigned and "loss" in assigned and assigned.get("reward") == assigned["gain"]:
        assigned.pop("reward")
    if "loss" not in assigned:
        assigned.pop("gain", None)
    if "reward" in assigned and "correct" not in assigned and plain(str(assigned["reward"])) in ("outcome", "feedback"):
        words = entries.words(columns[str(assigned["reward"])])
        if set(map(roles.spoken, words)) & {"correct", "error", "incorrect", "wrong"} or roles.is_detection(words):
            assigned["correct"] = assigned.pop("reward")


def _settle_offers(columns: DataFrame, assigned: dict[str, Any], given: roles.Roles, found: Guess) -> list[str]:
    """Return gains and losses that are known where there was no answer, as what came of a choice is not."""
    if "choice" not in assigned:
        return []
    column = columns[assigned["choice"]]
    missed = entries.missing(column) | roles.missed_rows(column)
    if "rt" in assigned and (untimed := _untimed(columns[assigned["rt"]])).mean() < 0.5:
        missed = missed | untimed
    amounts = [role for role in ("gain", "loss", "reward") if role in assigned and role not in given]
    known = [
        role
        for role in amounts
        if entries.is_numeric(columns[assigned[role]])
        and is_known_without_answer(entries.numbers(columns[assigned[role]]), missed)
    ]
    if {"gain", "loss"} <= set(known):
        names = [assigned.pop("gain"), assigned.pop("loss")]
        found.notes.append(say("known_offers", names=names, gain=names[0], loss=names[1]))
        return names
    if "reward" in known:
        name = assigned["reward"]
        found.questions["reward"] = ask("known_reward", columns, [name], name=name, n=missed.sum())
    return []


def _settle_two_stages(columns: DataFrame, assigned: dict[str, object]) -> None:
    """Keep a second stage only with both of its columns, or with four choices that say the state."""
    if "choice2" in assigned and "state" not in assigned:
        common = [name for name in columns if is_called(name, "common") and roles.is_flag(columns[name])]
        if common:
            assigned["common"] = common[0]
    if "choice2" not in assigned and plain(str(assigned.get("state", ""))) == "state":
        assigned.pop("state")
    cues = [name for name in columns if is_called(name, "cue") and name not in assigned.values()]
    go = plain(str(assigned.get("choice", ""))) in ("keypressed", "keypress", "go", "pressed")
    learned = "reward" in assigned and "choice2" not in assigned and (go or "correct" not in assigned)
    if cues and learned and roles.fits_role("cue", columns[cues[0]]):
        assigned["cue"] = cues[0]


def _settle_pulses(columns: DataFrame, free: DataFrame, given: roles.Roles, found: Guess) -> bool:
    """Find times of pulses, whose difference of counts is the stimulus, and return whether there are any."""
    named = given["pulses"] if "pulses" in given else pulse_columns(columns)
    pair = tuple(named or ())
    if len(pair) != 2 or difference(pair) not in columns:
        return False
    found.roles["pulses"], found.reasons["pulses"] = pair, "values"
    duration = duration_column(free)
    if duration is not None and "duration" not in given:
        found.roles["duration"], found.reasons["duration"] = duration, "name"
    if "stimuli" not in given:
        found.roles["stimuli"] = (difference(pair),)
    return True


def _settle_stimuli(columns: DataFrame, assigned: dict[str, Any], form: TableFormat | None, found: Guess) -> None:
    """Find the stimuli among the numbers of a table, or ask where only their values suggest them."""
    if offered := roles.offers(columns, assigned):
        found.roles["stimuli"], found.reasons["stimuli"] = tuple(offered), "name"
        found.notes += [say("offers", names=offered, choice=assigned["choice"])] * (len(offered) > 1)
        return
    free = [name for name in columns if name not in assigned.values() and entries.is_numeric(columns[name])]
    free = [name for name in free if not entries.is_truth(columns[name]) and len(entries.distinct(columns[name])) > 1]
    free = [name for name in free if form is None or plain(name) not in form.states]
    free = [name for name in free if not is_called(name, "detection", "codes")]
    named = [name for name in free if is_like(name, "stimulus") and not is_like(name, "not_stimuli")]
    outcomes = bool({"reward", "gain"} & set(assigned))
    if not named:
        named = [name for pair in roles.value_pairs(free, assigned) for name in pair] or roles.delayed_amounts(free)
    if outcomes:
        order, follows = trial_order(columns, assigned)
        states = [name for name in named if is_in_blocks(columns[name], order, follows)]
        named = [name for name in named if name not in states]
        found.notes += [say("state_not_stimulus", name=name) for name in states]
    found.roles["stimuli"], found.reasons["stimuli"] = tuple(named), "name"
    if outcomes or not {"correct", "ground_truth"} & set(assigned) or "choice" not in assigned:
        return
    if any(roles.goes_with_answers(entries.numbers(columns[name]), columns, assigned) for name in named):
        return
    paired = {name for pair in roles.side_pairs(columns, list(assigned.values())) for name in pair}
    rest = [name for name in free if not is_like(name, "not_stimuli") and name not in (*paired, *named)]
    rest = [name for name in rest if roles.varies_within(columns[name], columns, assigned)]
    rest = [name for name in rest if roles.goes_with_answers(entries.numbers(columns[name]), columns, assigned)]
    if rest:
        options = entries.levels(columns[assigned["choice"]])[0]
        truths = [name for name in rest if {*options} == {*entries.levels(columns[name])[0]}]
        about: dict[str, Any] = {
            "shown": rest,
            "and_not": f", and not on {', '.join(named)}" if named else "",
            "rest": ",".join(rest),
            "named": ",".join(named) or None,
            "none": None if named else "none",
            "each": [] if "ground_truth" in assigned else truths,
        }
        found.questions["stimuli"] = ask("unnamed_stimuli", columns, rest, **about)
