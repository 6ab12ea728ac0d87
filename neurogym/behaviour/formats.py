"""Tables of known programs, collections and laboratories, recognised by several columns together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from neurogym.behaviour.columns import Columns, plain


@dataclass(frozen=True)
class TableFormat:
    """Form of the tables of a program or a collection.

    Attributes:
        name: of the form.
        needs: names of columns (see `neurogym.behaviour.columns.plain`) that only this form has together.
        roles: name of the column of a role, or several of which the first that is there counts.
        states: columns that are states of the task, never stimuli.
    """

    name: str
    needs: tuple[str, ...]
    roles: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    states: tuple[str, ...] = ()


FORMATS = (
    TableFormat(
        "IBL",
        ("contrastleft", "contrastright", "choice", "feedbacktype"),
        {"choice": "choice", "correct": "feedbacktype", "reward": "rewardvolume"},
        states=("probabilityleft",),
    ),
    TableFormat(
        "IBL, DataJoint",
        ("trialstimcontrastleft", "trialresponsechoice", "trialfeedbacktype"),
        {"choice": "trialresponsechoice", "correct": "trialfeedbacktype", "reward": "trialrewardvolume"},
        states=("trialstimprobleft",),
    ),
    TableFormat(
        "Steinmetz 2019",
        ("responsechoice", "visualstimcontrastleft", "visualstimcontrastright"),
        {"choice": "responsechoice", "correct": "feedbacktype"},
    ),
    TableFormat(
        "AIND foraging",
        ("animalresponse", "rewardedhistoryl", "rewardedhistoryr"),
        {"choice": "animalresponse"},
        states=("rewardprobabilityl", "rewardprobabilityr"),
    ),
    TableFormat(
        "Beron 2022",
        ("decision", "reward", "target", "condition"),
        {"choice": "decision", "reward": "reward", "subject": "mouseid", "session": "sessionid"},
        states=("target", "condition"),
    ),
    TableFormat(
        "Gorilla",
        ("participantprivateid", "reactiontime"),
        {
            "subject": "participantprivateid",
            "choice": "response",
            "correct": "correct",
            "rt": "reactiontime",
            "trial": "trialnumber",
        },
    ),
    TableFormat(
        "Confidence Database",
        ("subjidx", "stimulus", "response", "confidence"),
        {
            "subject": "subjidx",
            "choice": "response",
            "ground_truth": "stimulus",
            "confidence": "confidence",
            "rt": ("rtdec", "rtdecconf", "rt"),
        },
    ),
    TableFormat("HDDM", ("subjidx", "response", "rt"), {"subject": "subjidx", "choice": "response", "rt": "rt"}),
    TableFormat("GLM-HMM", ("y", "session", "inpt0"), {"choice": "y", "session": "session"}),
    TableFormat("mixed gambles", ("gain", "loss", "respcat"), {"choice": "respcat", "rt": "rt"}),
    TableFormat(
        "two-step",
        ("choice1", "choice2", "state2"),
        {"choice": "choice1", "choice2": "choice2", "state": "state2", "rt": ("rt1", "rt")},
    ),
    TableFormat(
        "hBayesDM",
        ("subjid", "level1choice", "level2choice"),
        {"subject": "subjid", "choice": "level1choice", "choice2": "level2choice", "reward": "reward"},
    ),
    TableFormat("hBayesDM", ("subjid", "gamble"), {"subject": "subjid", "choice": "gamble"}),
    TableFormat("hBayesDM", ("subjid", "keypressed"), {"subject": "subjid", "choice": "keypressed"}),
    TableFormat("hBayesDM", ("subjid", "choice"), {"subject": "subjid", "choice": "choice"}),
    TableFormat(
        "Gershman 2018",
        ("subject", "trial", "mu1", "mu2", "choice", "reward"),
        {"subject": "subject", "choice": "choice", "reward": "reward", "rt": "rt"},
        states=("mu1", "mu2"),
    ),
    TableFormat(
        "OpenSesame",
        ("response", "correctresponse", "responsetime", "subjectnr"),
        {
            "subject": "subjectnr",
            "choice": "response",
            "correct": "correct",
            "ground_truth": "correctresponse",
            "rt": "responsetime",
        },
    ),
)


def format_of(columns: Columns) -> TableFormat | None:
    """Return the form of a table, or None if it is not known."""
    short = {plain(name) for name in columns}
    known = next((each for each in FORMATS if set(each.needs) <= short), None)
    if known is None and "correct" in short and any(name.startswith("count_") for name in columns):
        known = next(each for each in FORMATS if each.name == "OpenSesame")
    return known


def roles_of_format(columns: Columns, form: TableFormat) -> dict[str, str]:
    """Return the columns to which a form gives a role, by role."""
    names = {plain(name): name for name in reversed(list(columns))}
    found = {}
    for role, word in form.roles.items():
        options = (word,) if isinstance(word, str) else word
        present = [names[each] for each in options if each in names]
        if present:
            found[role] = present[0]
    return found
