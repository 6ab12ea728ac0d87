"""Removal of run folders, and users' tags and notes."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence

from ngym_cli.errors import UserError
from ngym_cli.files.writing import foreign
from ngym_cli.runs.folder import EVERYTHING, Run, refuse_existing

LONGEST = 2_000


def remove(found: Sequence[Run]) -> None:
    """Remove run folders, and the folders above that are then empty.

    Raises:
        UserError: if one is in use, holds what ngym did not write, or cannot be removed.
    """
    for run in found:
        if run.path.is_symlink():
            raise UserError(f"{run.path} is a link; remove what it leads to, or the link itself")
        refuse_existing(run.path, overwrite=True)
        inside = foreign(run.path, EVERYTHING)
        if inside is not None:
            raise UserError(f"{run.path} holds {inside}, which ngym did not write; move it away first")
    for run in found:
        try:
            shutil.rmtree(run.path)
        except OSError as error:
            raise UserError(f"cannot remove {run.path}: {error.strerror or error}") from None
        with contextlib.suppress(OSError):  # the folders of its algorithm and task may hold other runs
            run.path.parent.rmdir()
            run.path.parent.parent.rmdir()


def tags_of(run: Run) -> list[str]:
    """Return the tags of a run."""
    tags = run.manifest().get("tags")
    return [str(tag) for tag in tags] if isinstance(tags, list) else []


def check_tags(words: Sequence[str]) -> None:
    """Refuse words that cannot be tags.

    Raises:
        UserError: names the first such word.
    """
    for word in words:
        if not word.strip() or "," in word or not word.isprintable() or len(word) > LONGEST:
            raise UserError(f"tag {word!r} must be a printable word without commas")


def tag(run: Run, words: Sequence[str], remove: bool = False) -> list[str]:
    """Add or remove tags of a run and return the resulting tags.

    Raises:
        UserError: if a tag is empty or holds a comma or a line break, or one to take away is not there.
    """
    check_tags(words)
    before = tags_of(run)
    for word in words:
        if remove and word not in before:
            raise UserError(f"{run.path} has no tag '{word}'; it has {', '.join(before) or 'none'}")
    after = [word for word in before if word not in words] if remove else list(dict.fromkeys([*before, *words]))
    run.update(tags=after)
    return after


def note(run: Run, text: str) -> None:
    """Replace the note of a run; an empty text removes the note.

    Raises:
        UserError: if the text is too long or not valid UTF-8.
    """
    if not text.isascii() and text != text.encode("utf-8", "replace").decode():
        raise UserError("a note must be valid UTF-8 text")
    if len(text) > LONGEST:
        raise UserError(f"a note has at most {LONGEST:,} characters, not {len(text):,}")
    run.manifest()
    run.update(note=text.strip() or None)
