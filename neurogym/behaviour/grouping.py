"""Subjects and sessions of the rows of a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from neurogym.array_types import IntArray
from neurogym.behaviour import entries
from neurogym.behaviour.entries import TableError, label
from neurogym.behaviour.evidence import FILE, FOLDER, group_index, listed
from neurogym.behaviour.questions import ask, say
from neurogym.behaviour.roles import changes_between_blocks, fits_role, has_fractions
from neurogym.behaviour.vocabulary import is_called, is_like

if TYPE_CHECKING:
    from pandas import DataFrame


_DAY = re.compile(r"\d{4}[-/_.]?\d\d[-/_.]?\d\d|\d\d?[./]\d\d?[./]\d{2,4}")

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

    def note(self, key: str, **values: object) -> None:
        """Add a remark, see `neurogym.behaviour.questions.say`."""
        self.notes.append(say(key, **values))


#: Columns of the trial tables that ngym writes, all of whose rows and files are of one agent.
OF_AN_AGENT = {"env", "step", "outcome", "performance", "aborts"}


def is_of_an_agent(columns: DataFrame) -> bool:
    """Return whether a table has the columns in which trials of an agent are written."""
    return set(columns) >= OF_AN_AGENT


def group(columns: DataFrame, roles: dict[str, object], locate: Callable[[int], str], asks: bool = False) -> Groups:
    """Return the sessions of a table; a file is a subject or session where the table says neither.

    Args:
        columns: the table.
        roles: column of each role; ``subject`` and ``session`` are added where files say them.
        locate: returns the number of a row of the source in words.
        asks: whether to ask whose trials these are, if no column and no name of a file says it.

    Raises:
        TableError: if a trial number occurs twice in a session.
        TableQuestion: if subjects are not known and may be in a column.
    """
    groups = Groups([])
    if not is_of_an_agent(columns):
        _by_files(columns, roles, groups, asks)
        _find_unnamed_subjects(columns, roles, groups, asks)
        if asks and "subject" in roles:
            _check_numbered_anew(columns, roles)
    n = len(columns)
    subjects: tuple[str, ...] = ("subject",)
    subject = np.zeros(n, np.int64)
    if "subject" in roles:
        subjects, subject = entries.texts(columns[str(roles["subject"])])
        groups.words[str(roles["subject"])] = _count(len(subjects), "subject")
        groups.notes += _spelled_alike(subjects)
    trial = np.broadcast_to(np.nan, n)
    if "trial" in roles and entries.is_numeric(columns[str(roles["trial"])]):
        trial = entries.numbers(columns[str(roles["trial"])])
    if "session" in roles:
        names, session = _told_apart(columns, roles, subject, groups)
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
            row, number = locate(int(columns.index[doubled])), label(float(trial[doubled]))
            about = {"column": roles["trial"], "row": row, "number": number}
            raise TableError(say("doubled_trial", session=name, subject=who, **about))
        numbers = trial[members]
        restarted += bool(ordered is members and np.isfinite(numbers).all() and len(np.unique(numbers)) < len(numbers))
        groups.sessions.append((who, name, ordered))
    groups.sessions.sort(key=lambda each: (_natural(each[0]), _natural(each[1])))
    _say_sessions(groups, roles, len(set(subject[valid].tolist())), restarted)
    return groups


def with_combinations(columns: DataFrame, names: Sequence[object]) -> DataFrame:
    """Return the table with a column of the entries of several, for each name such as ``cage,ear_tag``."""
    for name in map(str, names):
        parts = [part.strip() for part in name.split(",")]
        if name in columns or len(parts) < 2 or not {*parts} <= {*columns}:
            continue
        index = group_index(columns, parts)
        rows = np.unique(index, return_index=True)[1]
        words = [" ".join(str(entries.entry(columns[part], row)) for part in parts) for row in rows]
        columns = columns.assign(**{name: entries.of_words(words, index).set_axis(columns.index)})
    return columns


def _spelled_alike(subjects: Sequence[str]) -> list[str]:
    """Return a remark on subjects whose names differ in capitals, blanks or leading zeros only."""
    alike: dict[str, list[str]] = {}
    for name in subjects:
        alike.setdefault(" ".join(name.lower().split()).lstrip("0") or "0", []).append(name)
    several = [each for each in alike.values() if len(each) > 1]
    said = "; ".join(listed([repr(name) for name in each]) for each in several[:3]) + ("; ..." if several[3:] else "")
    return [f"subjects {said} may be the same: they are told apart as written"] * bool(several)


def _say_sessions(groups: Groups, roles: dict[str, object], subjects: int, restarted: int) -> None:
    """Say how many sessions there are and what made them, which are short, and in how many trials begin anew.

    Args:
        groups: the sessions; receives words and notes.
        roles: column of each role.
        subjects: number of subjects.
        restarted: number of sessions in which trial numbers begin anew.
    """
    lengths = np.array([len(rows) for _, _, rows in groups.sessions])
    short = int((lengths < SHORTEST).sum())
    if short and lengths.max() >= 4 * SHORTEST:
        groups.note("short_sessions", n=short, all=len(lengths), fewest=SHORTEST)
    if "session" in roles:
        groups.words[str(roles["session"])] = _count(len(groups.sessions), "session")
    elif "trial" in roles and len(groups.sessions) > subjects:
        groups.words[str(roles["trial"])] = f"a session begins where it falls: {len(groups.sessions):,} sessions"
    if "trial" in roles:
        groups.words.setdefault(str(roles["trial"]), "order within the session")
    if restarted:
        groups.note("numbered_anew", trial=roles["trial"], sessions=_count(restarted, "session"))


def _told_apart(
    columns: DataFrame, roles: dict[str, object], subject: IntArray, groups: Groups
) -> tuple[tuple[str, ...], IntArray]:
    """Return names and numbers of the sessions; one number on two dates, or with two identifiers, is two sessions."""
    role = str(roles["session"])
    names, session = entries.texts(columns[role])
    for name in (each for each in columns if is_called(each, "dates") and each != role):
        words, date = entries.texts(columns[name])
        days = [_DAY.match(word) for word in words]
        short = [word if day is None else day[0] for word, day in zip(words, days, strict=True)]
        day = np.append(np.unique(short, return_inverse=True)[1], -1)[date]
        pairs, index, counts = np.unique(
            np.stack([subject, session, day]), axis=1, return_inverse=True, return_counts=True
        )
        of_session = np.unique(pairs[:2], axis=1)
        if of_session.shape[1] == pairs.shape[1] or counts.min() < SHORTEST or -1 in day:
            continue
        groups.note("several_dates", role=role, name=name)
        labels = np.unique(short)
        together = tuple(f"{names[k]} ({labels[at]})" for _, k, at in pairs.T)
        return together, index.ravel()
    return names, session


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """Return a key by which names sort with the numbers in them as numbers, whatever the order of the rows."""
    words = re.split(r"(\d+)", name)
    return [(word.isdecimal(), int(word) if word.isdecimal() else 0, word) for word in words]


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}{'s' * (n != 1)}"


def _by_files(columns: DataFrame, roles: dict[str, object], groups: Groups, asks: bool) -> None:
    """Read each file as a subject, or as a session of the subject that the table names; ask if names do not say it."""
    if FILE not in columns or len(entries.words(columns[FILE])) < 2 or FILE in roles.values():
        return
    names = entries.words(columns[FILE])
    said = {match[0] for name in names if (match := is_like(name, "subject_files"))}
    one_number = "subject" in roles and len(entries.distinct(columns[roles["subject"]])) == 1
    if asks and one_number and len(said) == len(names):
        name = str(roles["subject"])
        raise ask("one_subject", columns, [FILE, name], name=name, file=FILE, said=listed(sorted(said)))
    if "subject" in roles:
        subject, file = entries.texts(columns[str(roles["subject"])])[1], entries.texts(columns[FILE])[1]
        if "session" not in roles and len(np.unique(file)) > len(np.unique(subject)):
            roles["session"] = FILE
        return
    folders = entries.words(columns[FOLDER]) if FOLDER in columns and asks and "session" not in roles else ()
    if folders and not any(is_like(name, "session_files") for name in folders):
        roles["subject"], roles["session"] = FOLDER, FILE
        groups.note("folders", folders=listed(folders[:3]))
        return
    common = {re.sub(r"[\d\W_]+", "", name.rpartition("/")[2].lower()) for name in names}
    if all(is_like(name, "subject_files") for name in names):
        roles["subject"] = FILE
        groups.note("files_are_subjects", n=len(names), file=FILE)
    elif "session" not in roles and all(is_like(name, "session_files") for name in names) and len(common) == 1:
        roles["session"] = FILE
        groups.note("files_are_sessions", n=len(names), file=FILE)
    elif asks:
        raise ask("files", columns, [FILE], file=FILE, session=None if "session" in roles else FILE)


def _find_unnamed_subjects(columns: DataFrame, roles: dict[str, object], groups: Groups, asks: bool) -> None:
    """Ask about columns that may name subjects in a table that would be read as that of a single subject."""
    if "subject" in roles or not asks:
        return
    used = {*roles.values(), *roles.get("stimuli", ())}  # type: ignore[misc]
    names = [name for name, column in columns.items() if name not in used and changes_between_blocks(column)]
    names = [name for name in names if not is_called(name, "blocks") and not is_like(name, "not_subjects")]
    names = [name for name in names if not has_fractions(columns[name])]
    if not names:
        return
    both = ",".join(names[:2]) if len(names) > 1 else None
    session = None if "session" in roles else names[0]
    raise ask("unnamed_subjects", columns, names[:3], each=names[:3], both=both, session=session)


def _check_numbered_anew(columns: DataFrame, roles: dict[str, object]) -> None:
    """Ask whether subjects are the same where one name stands in several groups."""
    name = str(roles["subject"])
    subjects, subject = entries.texts(columns[name])
    for group in (each for each in columns if each not in roles.values() and is_like(each, "between_subjects")):
        labels, index = entries.texts(columns[group])
        pairs = np.unique(np.stack([subject, index], 1)[(subject >= 0) & (index >= 0)], axis=0)
        again = [subjects[k] for k in np.flatnonzero(np.bincount(pairs[:, 0], minlength=len(subjects)) > 1)]
        if again:
            about = {"name": name, "again": listed(again), "group": group}
            raise ask("subjects_of_groups", columns, [name, group], each=labels[:3], **about)


def _counted(subject: IntArray, trial: np.ndarray) -> IntArray:
    """Return the session of each row of a table without sessions: new where repeated trial numbers fall."""
    import pandas as pd

    if not np.isfinite(trial).any():
        return np.zeros(len(subject), np.int64)
    table = pd.DataFrame({"subject": subject, "trial": trial})
    repeating = table["subject"][table.duplicated() & np.isfinite(trial)].unique()
    begins = (table.groupby("subject")["trial"].diff() < 0) & table["subject"].isin(repeating)
    return begins.groupby(table["subject"]).cumsum().to_numpy(np.int64)


def _say_blocks(
    columns: DataFrame, roles: dict[str, object], session: IntArray, subject: IntArray, groups: Groups
) -> None:
    """Say whether a column of blocks or games agrees with the sessions."""
    named = [name for name in columns if is_called(name, "blocks") and name not in roles.values()]
    named = [name for name in named if entries.is_numeric(columns[name]) and fits_role("session", columns[name])]
    for name in named:
        block = entries.texts(columns[name])[1]
        same = (subject[1:] == subject[:-1]) & (session[1:] == session[:-1])
        if len(np.unique(block)) < 2:
            continue
        if np.any((block[1:] != block[:-1]) & same):
            groups.note("blocks_are_no_sessions", name=name)
        else:
            pairs = len(np.unique(np.stack([subject, block], 1), axis=0))
            if pairs == len(np.unique(np.stack([subject, session], 1), axis=0)):
                roles["session"] = name
            groups.note("blocks_are_sessions", name=name)
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
