"""Subjects and sessions of the rows of a table."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from neurogym.array_types import IntArray
from neurogym.behaviour.columns import Columns, TableError, label, plain, rows_of
from neurogym.behaviour.files import FILE
from neurogym.behaviour.roles import changes_between_blocks, fits_role

#: Columns that may number games or blocks.
BLOCK_COLUMNS = ("block", "blocknumber", "blocknum", "blocknr", "blockid", "game", "gamenumber", "task", "tasknumber")
SHORTEST = 5  #: trials of a session below which a remark is made


@dataclass
class Groups:
    """Sessions of a table.

    Attributes:
        sessions: subject, name and rows of each session, in the order of their names, rows in the order of the trials.
        rows_left_out: number of rows without a subject or session.
        words: meaning of columns, by column.
        notes: remarks that the user should see.
    """

    sessions: list[tuple[str, str, np.ndarray]]
    rows_left_out: int = 0
    words: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def group(columns: Columns, roles: dict[str, object], rows: IntArray, locate: Callable[[int], str]) -> Groups:
    """Return the sessions of a table; a file is a subject or session where the table says neither.

    Args:
        columns: the table.
        roles: column of each role; ``subject`` and ``session`` are added where files say them.
        rows: number of each row in the source, for messages.
        locate: returns the number of a row of the source in words.

    Raises:
        TableError: if a trial number occurs twice in a session.
    """
    groups = Groups([])
    _by_files(columns, roles, groups)
    _say_unnamed_subjects(columns, roles, groups)
    n = rows_of(columns)
    subjects: tuple[str, ...] = ("subject",)
    subject = np.zeros(n, np.int64)
    if "subject" in roles:
        subjects, subject = columns[str(roles["subject"])].texts
        groups.words[str(roles["subject"])] = _count(len(subjects), "subject")
    trial = np.broadcast_to(np.nan, n)
    if "trial" in roles and columns[str(roles["trial"])].is_numeric:
        trial = columns[str(roles["trial"])].numbers
    if "session" in roles:
        names, session = columns[str(roles["session"])].texts
    else:
        session = _counted(subject, trial)
        names = tuple(str(k + 1) for k in range(int(session.max(initial=0)) + 1))
        _say_blocks(columns, roles, session, subject, groups)
    valid = (subject >= 0) & (session >= 0)
    groups.rows_left_out = int((~valid).sum())
    key = subject.astype(np.int64) * (len(names) + 1) + session
    valid_rows = np.flatnonzero(valid)
    _, first, index = np.unique(key[valid_rows], return_index=True, return_inverse=True)
    appearance = np.argsort(np.argsort(first))[index]
    order = valid_rows[np.argsort(appearance, kind="stable")]
    counts = np.bincount(appearance)
    restarted = 0
    for members in np.split(order, np.cumsum(counts)[:-1]):
        who, name = subjects[subject[members[0]]], names[session[members[0]]]
        ordered, doubled = _in_order(members, trial)
        if doubled is not None:
            number = float(trial[doubled])
            raise TableError(
                f"column {roles['trial']!r}, {locate(int(rows[doubled]))}: found {label(number)} again, expected each "
                f"trial number once in session {name} of {who}; --trial none takes the order of the rows"
            )
        again = ordered is members and _falls(trial[members])
        restarted += again
        groups.sessions.append((who, name, ordered))
    groups.sessions.sort(key=lambda each: (_natural(each[0]), _natural(each[1])))
    lengths = np.array([len(rows) for _, _, rows in groups.sessions])
    short = int((lengths < SHORTEST).sum())
    if short and lengths.max() >= 4 * SHORTEST:
        groups.notes.append(
            f"{short:,} of {len(lengths):,} sessions have fewer than {SHORTEST} trials: held out, they say little, and "
            "they have no history"
        )
    if "session" in roles:
        groups.words[str(roles["session"])] = _count(len(groups.sessions), "session")
    elif "trial" in roles and len(groups.sessions) > len(set(subject[valid].tolist())):
        groups.words[str(roles["trial"])] = f"a session begins where it falls: {len(groups.sessions):,} sessions"
    if "trial" in roles:
        groups.words.setdefault(str(roles["trial"]), "order within the session")
    if restarted:
        groups.notes.append(
            f"{roles['trial']} begins anew within {_count(restarted, 'session')}: trials are in the order of the rows; "
            "if what was learned is lost there, --session names the column of blocks or games"
        )
    return groups


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """Return a key by which names sort with the numbers in them as numbers, whatever the order of the rows."""
    words = re.split(r"(\d+)", name)
    return [(word.isdecimal(), int(word) if word.isdecimal() else 0, word) for word in words]


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}{'s' * (n != 1)}"


def _by_files(columns: Columns, roles: dict[str, object], groups: Groups) -> None:
    """Read each file as a subject, or as a session of the subject that the table names."""
    if FILE not in columns or len(columns[FILE].words) < 2 or FILE in roles.values():
        return
    n = len(columns[FILE].words)
    if "subject" not in roles:
        roles["subject"] = FILE
        groups.notes.append(f"each of {n} files is read as a subject; --session {FILE} if they are sessions of one")
    elif "session" not in roles:
        subject, file = columns[str(roles["subject"])].texts[1], columns[FILE].texts[1]
        if len(np.unique(file)) > len(np.unique(subject)):
            roles["session"] = FILE


def _say_unnamed_subjects(columns: Columns, roles: dict[str, object], groups: Groups) -> None:
    """Say which columns may name subjects in a table that is read as that of a single subject."""
    if "subject" in roles:
        return
    used = {*roles.values(), *roles.get("stimuli", ())}  # type: ignore[misc]
    names = [name for name, column in columns.items() if name not in used and changes_between_blocks(column)]
    names = [name for name in names if plain(name) not in BLOCK_COLUMNS]
    if names:
        groups.notes.append(
            f"all rows are read as one subject; {' or '.join(names)} changes only from one block of rows to the next: "
            f"--subject {names[0]} if it names subjects, --session {names[0]} if sessions"
        )


def _counted(subject: IntArray, trial: np.ndarray) -> IntArray:
    """Return the session of each row of a table without sessions: new where repeated trial numbers fall."""
    n = len(subject)
    if not np.isfinite(trial).any():
        return np.zeros(n, np.int64)
    order = np.argsort(subject, kind="stable")
    who, number = subject[order], trial[order]
    same = np.append(False, who[1:] == who[:-1])
    numbered = np.isfinite(trial)
    pairs = np.unique(np.stack([subject[numbered], trial[numbered]], 1), axis=0)[:, 0]
    distinct = np.bincount(pairs.astype(int)[pairs >= 0], minlength=int(subject.max()) + 2)
    known = np.bincount(subject[numbered & (subject >= 0)], minlength=int(subject.max()) + 2)
    repeats = (distinct < known)[who]
    with np.errstate(invalid="ignore"):
        begins = same & repeats & np.append(False, number[1:] <= number[:-1])
    total = np.cumsum(begins)
    starts = np.maximum.accumulate(np.where(same, 0, np.arange(n)))
    session = np.empty(n, np.int64)
    session[order] = total - total[starts]
    return session


def _say_blocks(
    columns: Columns, roles: dict[str, object], session: IntArray, subject: IntArray, groups: Groups
) -> None:
    """Say whether a column of blocks or games agrees with the sessions."""
    named = [name for name in columns if plain(name) in BLOCK_COLUMNS and name not in roles.values()]
    named = [name for name in named if columns[name].is_numeric and fits_role("session", columns[name])]
    for name in named:
        block = columns[name].texts[1]
        same = (subject[1:] == subject[:-1]) & (session[1:] == session[:-1])
        if len(np.unique(block)) < 2:
            continue
        if np.any((block[1:] != block[:-1]) & same):
            groups.notes.append(f"{name} is not read as a session; --session {name} if what was learned is lost there")
        else:
            pairs = len(np.unique(np.stack([subject, block], 1), axis=0))
            if pairs == len(np.unique(np.stack([subject, session], 1), axis=0)):
                roles["session"] = name
            groups.notes.append(
                f"{name} is read as a session, because trials are numbered anew in each; --session none if blocks "
                "continue what was learned"
            )
            return


def _in_order(rows: np.ndarray, trial: np.ndarray) -> tuple[np.ndarray, int | None]:
    """Return the rows of a session in the order of the trials, and the first row that repeats a number at once.

    Rows stay in their order where numbers are missing or begin anew.
    """
    if not np.isfinite(trial[rows]).all():
        return rows, None
    order = rows[np.argsort(trial[rows], kind="stable")]
    if not np.any(np.diff(trial[order]) == 0):
        return order, None
    doubled = np.flatnonzero(np.diff(trial[rows]) == 0)
    return rows, int(rows[doubled[0] + 1]) if len(doubled) else None


def _falls(numbers: np.ndarray) -> bool:
    """Return whether trial numbers begin anew."""
    return bool(np.isfinite(numbers).all() and len(np.unique(numbers)) < len(numbers))
