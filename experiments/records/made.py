"""Origin of a row: commit, date, version and command."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import neurogym
from ngym_cli.errors import UserError

ROOT = Path(__file__).parents[2]

#: Code that can decide a number, for git: tables, texts and pictures that are written from records do not count.
CODE = ("neurogym", "ngym_cli", "experiments", ":!*.json", ":!*.md", ":!*.svg")


def origin(command: str) -> dict[str, str]:
    """Return what a new row says of its making."""
    today = datetime.now(UTC).date().isoformat()
    return {"commit": commit(), "date": today, "version": neurogym.VERSION, "command": command}


def commit() -> str:
    """Return the last commit that changed code, with a plus if code was changed since."""
    name = _git("log", "-1", "--format=%H", "--", *CODE)[:10]
    return f"{name or 'unknown'}{'+' if changed() else ''}"


def changed() -> bool:
    """Return whether code differs from the last commit."""
    return bool(_git("status", "--porcelain", "--untracked-files=no", "--", *CODE))


def require_commit() -> None:
    """Refuse to make records of code that no commit has.

    Raises:
        UserError: if code was changed since the last commit.
    """
    if changed():
        raise UserError("a record names the commit that made it: commit the changes of code first")


def _git(*arguments: str) -> str:
    process = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return process.stdout.strip() if process.returncode == 0 else ""
