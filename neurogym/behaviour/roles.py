"""Roles of the columns of a table of behaviour, guessed from names and values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

Columns = Mapping[str, np.ndarray]
Roles = Mapping[str, str | Sequence[str] | None]  #: role to its column, to the columns of stimuli, or to none

#: Roles that a column can have, and names (lower case, letters and digits only) that suggest the role, best first.
NAMES: dict[str, tuple[str, ...]] = {
    "subject": ("subject", "subjectid", "subj", "subid", "animal", "animalid", "rat", "ratid", "ratname", "mouse",
                "mouseid", "mousename", "monkey", "participant", "participantid", "ppt", "person", "nickname"),
    "session": ("session", "sessionid", "sessionnumber", "sess", "day", "date", "episode", "eid", "env"),
    "trial": ("trial", "trialnumber", "trialnum", "trialno", "trialid", "trialindex", "ntrial"),
    "choice2": ("choice2", "secondchoice", "secondstagechoice", "stage2choice", "action2", "response2", "a2"),
    "state": ("state", "state2", "secondstate", "secondstagestate", "stage2state", "finalstate"),
    "choice": ("choice", "choice1", "firstchoice", "stage1choice", "action", "action1", "response", "response1",
               "responseside", "choiceside", "chosenside", "animalchoice", "ratchoice", "mousechoice", "chosen", "resp",
               "side", "trgchoice", "targetchoice", "decision", "port", "arm", "a1", "choose",
               "wentright", "choseright", "keypress", "key"),
    "correct": ("correct", "iscorrect", "performance", "hit", "accuracy", "wascorrect", "feedbacktype", "success"),
    "reward": ("reward", "rewarded", "rewards", "isrewarded", "payoff", "points", "win", "r", "outcome", "feedback"),
    "ground_truth": ("groundtruth", "correctside", "correctchoice", "correctresponse", "correctanswer", "target",
                     "rewardedside", "answer", "truth", "category", "stimulusside", "correctport"),
    "rt": ("rt", "reactiontime", "responsetime", "rts", "rtms", "reactiontimems", "reactiontimes", "latency",
           "decisiontime", "responselatency"),
}  # fmt: skip

STIMULUS = re.compile(
    r"^(s|x|stim|stimulus|stimuli|coh|coherence|contrast|evidence|strength|intensity|freq|frequency|loudness|tone|sound|"
    r"click|clicks|duration|angle|orientation|level|amplitude|difference|delta|diff|signed|signal|cue|offer|"
    r"left|right|morph|ratio|f)\d*([ab]|left|right|l|r|db|ms|hz|strength|level|contrast|coherence|evidence|diff|"
    r"difference|intensity|freq|frequency|value|clicks)?\d*$"
)
#: Parts of names of numeric columns that are no stimuli: times, generating probabilities, counters.
NOT_STIMULI = re.compile(
    r"(time|onset|offset|prob|^p\d|date|index|^id|id$|number|block|count|weight|^age|phase|^q\d|env)"
)
MISSED = ("", "nan", "none", "na", "null", "miss", "missed", "omission", "noresponse", "nochoice", "timeout", "abort",
          "aborted", "invalid", "nogo")  # fmt: skip


def plain(name: str) -> str:
    """Return a name in lower case without anything but letters (of any alphabet) and digits."""
    return re.sub(r"[\W_]", "", name.lower())


def is_missed(value: object) -> bool:
    """Return whether a table value stands for a missing value."""
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return bool(np.isnan(value))
    return isinstance(value, str) and plain(value) in MISSED and value.strip() not in ("-1", "+1")


def is_numeric(values: np.ndarray) -> bool:
    """Return whether a column holds numbers (or mostly numbers, if some values are damaged)."""
    if values.dtype.kind in "biuf":
        return True
    known = [value for value in values.tolist() if not is_missed(value)]
    return bool(known) and sum(_number(value) is not None for value in known) > 0.5 * len(known)


def _number(value: object) -> float | None:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def guess(columns: Columns) -> dict[str, object]:
    """Guess which column has which role.

    Args:
        columns: the table.

    Returns:
        Name of the column of each role that was found, and ``stimuli``, a tuple of names.
    """
    short = {name: plain(name) for name in columns}
    found: dict[str, object] = {}
    for role, words in NAMES.items():
        named = [name for word in words for name in columns if short[name] == word and name not in found.values()]
        fits = [name for name in named if _fits(role, columns[name])]
        if fits:
            found[role] = fits[0]
    if "reward" in found and "correct" not in found and plain(str(found["reward"])) in ("outcome", "feedback"):
        said = {str(value).lower() for value in columns[str(found["reward"])].tolist()}
        if said & {"correct", "error", "incorrect", "wrong"}:
            found["correct"] = found.pop("reward")
    if "choice" not in found:
        rest = [name for name in columns if name not in found.values() and _is_choice(columns[name])]
        if rest:
            found["choice"] = rest[0]
    found["stimuli"] = _stimuli(columns, found)
    return found


def _fits(role: str, values: np.ndarray) -> bool:
    """Return whether the values of a column suit the role suggested by the column's name."""
    distinct = {value for value in values.tolist() if not is_missed(value)}
    if role in ("choice", "choice2", "ground_truth", "state", "correct"):
        return 0 < len(distinct) <= 12
    if role == "rt":
        return is_numeric(values) and len(distinct) > 2
    return role != "reward" or is_numeric(values) or len(distinct) <= 4


def _is_choice(values: np.ndarray) -> bool:
    """Return whether a column without a telling name holds two to four words."""
    distinct = {value for value in values.tolist() if not is_missed(value)}
    return not is_numeric(values) and 2 <= len(distinct) <= 4


def _stimuli(columns: Columns, found: Mapping[str, object]) -> tuple[str, ...]:
    free = [name for name in columns if name not in found.values() and is_numeric(columns[name])]
    named = [name for name in free if STIMULUS.match(plain(name)) and not NOT_STIMULI.search(name.lower())]
    if not named and "reward" not in found and "correct" in found:
        named = [name for name in free if not NOT_STIMULI.search(name.lower())]
    return tuple(name for name in named if len(set(columns[name].tolist())) > 1)
