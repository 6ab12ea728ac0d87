"""Contradictions between the columns of a table: choice and correctness, strength and side, stages of training."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour import entries
from neurogym.behaviour.choices import CONTRARY, Choices
from neurogym.behaviour.entries import plain
from neurogym.behaviour.evidence import ENOUGH_TRIALS, agrees, correlation, is_by_chance, listed, same_information
from neurogym.behaviour.questions import Answer, ask, ask_role
from neurogym.behaviour.role_columns import RoleColumns
from neurogym.messages.options import option

BEYOND_CHANCE = 3.0  #: standard errors from which a correlation is not by chance
MOST_LEVELS = 30  #: of a stimulus, whose levels are compared between stages
#: Names of columns of stages of training, and most stages.
PROTOCOLS, MOST_PROTOCOLS = re.compile(r"(stage|phase|protocol|tasktype|trainingstatus|sessiontype)"), 6


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
    used = {*trials.roles.values(), *trials.roles["stimuli"]}  # type: ignore[misc]
    sides = [
        each
        for each, column in trials.columns.items()
        if each not in used
        and len(entries.levels(column)[0]) == 2
        and not is_by_chance(entries.levels(column)[1], choice, 2)
    ]
    question = f"choices do not depend on {name}, which has no sign, and no column is named like the correct choice"
    if sides:
        raise ask_role(question, "ground_truth", sides[:3], trials.columns, "the side is not known")
    trials.notes.append(f"{question}: {option('--ground-truth COLUMN')}")


def say_protocols(trials: RoleColumns, stimuli: FloatArray, names: Sequence[str]) -> None:
    """Say that the levels of a stimulus differ between stages of training, which are described together."""
    for stage, column in trials.columns.items():
        words, index = entries.levels(column) if PROTOCOLS.search(plain(stage)) else ((), np.zeros(0))
        if stage in trials.roles.values() or not 1 < len(words) <= MOST_PROTOCOLS:
            continue
        for name, values in zip(names, stimuli.T, strict=True):
            known = np.isfinite(values)
            levels = [set(np.unique(values[known & (index == k)]).tolist()) for k in range(len(words))]
            few = max(map(len, levels)) <= MOST_LEVELS and min(map(len, levels)) > 0
            if few and any(each != levels[0] for each in levels):
                trials.notes.append(
                    f"levels of {name} differ between {listed(words)} of {stage}, described together: "
                    f"""{option(f"--where '{stage} == {words[-1]}'")} for one, {option(f"--by {stage}")} for each"""
                )
