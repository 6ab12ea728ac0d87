"""Trials of an agent and an animal on the same scales: strength of evidence, outcomes, second stages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from neurogym.analysis.trial_tables import Table, with_previous
from neurogym.behaviour.describe import SubjectDescription, describe_pooled
from neurogym.behaviour.reading import TableError, read
from neurogym.behaviour.table import Behaviour
from ngym_cli.errors import option
from ngym_cli.evaluation.fitted_agent import SIGNED
from ngym_cli.figures.behaviour import FLOOR, STRENGTH, share_at_shortest_time
from ngym_cli.fitting.stored_tables import is_stored

#: Words that tell the names of two stimuli apart whose difference is evidence.
PAIRS = (("1", "2"), ("a", "b"), ("left", "right"), ("l", "r"), ("first", "second"))
MOST_LEVELS = 12  #: levels of a strength above which they are not listed


@dataclass
class AlignedTrials:
    """Trials of an agent and an animal on the same scales.

    Attributes:
        agent: trials of the agent.
        animal: behaviour of the animal; a single stimulus that is compared has the name of the task's strength.
        animal_trials: the same as a trial table.
        reason: why the two have no common strength; empty if they have one.
        left_out: statistics that are left out, with the reason.
        notes: remarks.
    """

    agent: Table
    animal: Behaviour
    animal_trials: Table
    reason: str
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_sided(self) -> bool:
        """Whether the animal's evidence is for either choice, as the agent's is: of both signs."""
        return not self.reason and (len(self.animal.stimuli) != 1 or has_both_signs(self.animal))


def align(agent: Table, animal: Behaviour, name: str) -> AlignedTrials:
    """Bring agent and animal to the same scales.

    Args:
        agent: trials of the agent.
        animal: behaviour of the animal, as it was read.
        name: of the animal's table, for messages.
    """
    notes = list(animal.reading.notes if animal.reading else ())
    left_out = list[str]()
    animal = in_percent(animal, agent, notes)
    reason = _difference(animal, agent)
    if not reason and len(animal.stimuli) == 1:
        if animal.stimuli[0] != STRENGTH:
            notes.append(f"{animal.stimuli[0]} is compared with {STRENGTH} of the task, as if in its units")
        animal = replace(animal, stimuli=(f"{SIGNED}{STRENGTH}" if has_both_signs(animal) else STRENGTH,))
    trials = as_trials(animal)
    shortest = share_at_shortest_time(agent["rt"])
    if shortest > FLOOR and "rt" in trials:
        how = "do not vary in the task" if shortest == 1 else f"are the shortest possible in {shortest:.0%} of trials"
        left_out.append(f"reaction times: those of the agent {how}")
        agent, trials = ({k: v for k, v in each.items() if k != "rt"} for each in (agent, trials))
    if "outcome" not in trials:
        left_out.append(f"accuracy: {name} has neither correctness nor correct choices")
    strength = strength_of(animal)
    if not reason and STRENGTH not in trials and strength is not None:
        trials[STRENGTH] = strength
        named = ", ".join(animal.stimuli)
        notes.append(f"the difference of {named} is compared with {STRENGTH} of the task, as if in its units")
    both = AlignedTrials(agent, animal, trials, reason, left_out, notes)
    if reason and (animal.stimuli or _has_strength(agent)):
        left_out.append(f"threshold, slope and accuracy by level: {reason}")
    if not reason:
        _note_strength(both)
    return both


def _note_strength(both: AlignedTrials) -> None:
    """Note what is left out although there is a common strength."""
    if not both.is_sided:
        both.left_out.append("bias, lapses, PSE, threshold and slope: the stimulus of the table has one sign only")
    ours, theirs = (np.asarray(each[STRENGTH], float) for each in (both.agent, both.animal_trials))
    levels = [np.unique(each[np.isfinite(each)]) for each in (ours, theirs)]
    if "outcome" not in both.animal_trials or np.array_equal(levels[0], levels[1]):
        return
    few = max(map(len, levels)) <= MOST_LEVELS
    words = [", ".join(f"{level:g}" for level in each) if few else f"{each[0]:g} to {each[-1]:g}" for each in levels]
    both.left_out.append(f"accuracy at other levels: the task has {words[0]}, the table {words[1]}")
    both.notes.append("accuracy over all trials is of different strengths in task and table")


def _has_strength(agent: Table) -> bool:
    return STRENGTH in agent and len(np.unique(agent[STRENGTH])) > 1


def _difference(animal: Behaviour, agent: Table) -> str:
    """Return the reason why agent and animal have no common strength; empty if they have one."""
    named = ", ".join(animal.stimuli)
    if not _has_strength(agent):
        return f"the task has no graded strength ({STRENGTH})"
    if STRENGTH in (name.removeprefix(SIGNED) for name in animal.stimuli):
        return ""
    strength = strength_of(animal)
    if strength is None:
        return f"the table has {len(animal.stimuli)} stimuli ({named or 'none'}), expected one, or a pair"
    return "" if is_graded(strength) else f"{named} of the table is a category, without a graded strength"


def name_of(animal: Behaviour, data: Path) -> str:
    """Return the name of the animal for figures: its only subject, or the name of the file.

    Args:
        animal: behaviour of the animal.
        data: file of the table; a table that was passed in Python has a file of the toolkit's own.
    """
    subjects = animal.subjects if "subject" in animal.roles else ()
    if len(subjects) == 1:
        return f"subject {subjects[0]}" if subjects[0].isdecimal() else subjects[0]
    if is_stored(data):
        return f"{len(subjects)} subjects" if subjects else "the table"
    return data.stem.replace("_", " ")


def in_percent(animal: Behaviour, table: Table, notes: list[str]) -> Behaviour:
    """Return behaviour with stimuli in percent where those of the task are percent and those of the animal fractions.

    Args:
        animal: behaviour of the animal.
        table: trials of the agent.
        notes: remarks, to which the change of the scale is added.
    """
    strength = strength_of(animal)
    if STRENGTH not in table or strength is None or not is_graded(strength):
        return animal
    if not 0 < np.nanmax(strength) <= 1 < np.nanmax(np.asarray(table[STRENGTH], float)):
        return animal
    notes.append("strengths of the table are fractions, those of the task percent: multiplied by 100")
    return replace(animal, sessions=tuple(replace(each, stimuli=100 * each.stimuli) for each in animal.sessions))


def as_trials(behaviour: Behaviour) -> Table:
    """Return behaviour as a trial table in the names and units of the toolkit.

    Choices count from 1, reaction times are in ms; a strength that has the side of the correct choice loses the sign.
    """
    choice, truth, correct = (behaviour.join(key) for key in ("choice", "truth", "correct"))
    lengths = [len(each) for each in behaviour.sessions]
    table: Table = {
        "trial": np.concatenate([np.arange(n) for n in lengths]),
        "env": np.repeat(np.arange(len(lengths)), lengths),
        "choice": np.where(choice < 0, np.nan, choice + 1.0),
        "linked": np.full(len(choice), True),  # subjects and sessions differ
    }
    if np.isfinite(correct).any():
        table["performance"] = np.where(choice < 0, 0.0, correct)
        table["outcome"] = np.where(choice < 0, "miss", np.where(correct > 0.5, "correct", "error"))
    if (truth >= 0).any():
        table["ground_truth"] = np.where(truth < 0, np.nan, truth + 1.0)
    rt = behaviour.join("rt")
    if np.isfinite(rt).any():
        table["rt"] = rt * 1000
        table["rt_from"] = np.full(len(rt), "stimulus", object)
    for k, name in enumerate(behaviour.stimuli):
        values = behaviour.join("stimuli")[:, k]
        table[name.removeprefix(SIGNED)] = np.abs(values) if name.startswith(SIGNED) or name == STRENGTH else values
    return with_previous(table) if behaviour.roles.get("trial") and "outcome" in table else table


def strength_of(animal: Behaviour) -> np.ndarray | None:
    """Return the strength of the evidence, of one stimulus or of the difference of a pair; None for other numbers."""
    stimuli = animal.join("stimuli")
    if stimuli.shape[1] == 1:
        return np.abs(stimuli[:, 0])
    return np.abs(stimuli[:, 1] - stimuli[:, 0]) if is_pair(animal.stimuli) else None


def has_both_signs(animal: Behaviour) -> bool:
    """Return whether a stimulus is evidence for either choice."""
    stimulus = animal.join("stimuli")
    return bool(np.nanmin(stimulus) < 0 < np.nanmax(stimulus))


def is_pair(names: tuple[str, ...]) -> bool:
    """Return whether two names differ in nothing but the side or the order, as ``s1`` and ``s2``."""
    if len(names) != 2:
        return False
    a, b = (name.lower() for name in names)
    return any(
        b == a[: match.start()] + second + a[match.end() :]
        for words in PAIRS
        for first, second in (words, words[::-1])
        for match in re.finditer(first, a)
    )


def is_graded(strength: np.ndarray) -> bool:
    """Return whether a strength takes more than one value besides 0."""
    return len(np.unique(strength[np.isfinite(strength) & (strength != 0)])) > 1


def describe_agent(both: AlignedTrials) -> tuple[SubjectDescription | None, str]:
    """Return the description of an agent in the roles that the animal's table has, or the reason why there is none.

    The outcome of a choice is a reward where the animal's table has rewards, else whether the choice was correct.
    """
    agent, animal = both.agent, both.animal
    names = [name.removeprefix(SIGNED) for name in animal.stimuli]
    stimuli = names if all(name in agent for name in names) else [STRENGTH] if STRENGTH in agent else []
    roles = {"choice": "choice", "correct": "performance", "session": "env"}
    if {"reward", "gain"} & set(animal.roles):
        roles["reward"] = "reward"
    columns = {name: np.asarray(agent[name]) for name in [*roles.values(), *stimuli, "outcome"]}
    if (animal.join("state") >= 0).any() and "common" in agent:
        first, answered = np.asarray(agent["choice"], float), ~np.isin(agent["outcome"], ("abort", "miss"))
        both_options = np.unique(first[answered]).sum()
        state = np.where(np.asarray(agent["common"], bool), first, both_options - first)
        columns["state"] = np.where(answered, state, np.nan)
        roles["state"] = "state"
    try:
        behaviour = read(columns, columns={"roles": {**roles, "stimuli": stimuli}})
    except TableError as error:
        return None, str(error)
    kinds = len(behaviour.choices), len(animal.choices)
    if kinds[0] == kinds[1]:
        return describe_pooled(behaviour), ""
    hint = f"; {option('--stochastic')} draws choices" if kinds[0] == 1 else ""
    return None, f"choices of the agent are of {kinds[0]} kinds, those of the table of {kinds[1]}{hint}"
