"""Removal and comparison of run folders, and users' tags and notes."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from neurogym.analysis.results import Estimate, contrast
from ngym_cli import runs
from ngym_cli.config.trust import read_toml
from ngym_cli.config.values import Scalar, flatten
from ngym_cli.errors import UserError, os_errors
from ngym_cli.files.reading import digest, read_json
from ngym_cli.files.writing import foreign
from ngym_cli.runs.folder import EVERYTHING, RunFolder, refuse_existing
from ngym_cli.runs.records import Manifest
from ngym_cli.terminal import Row, cell, console, print_columns

LONGEST_NOTE = 2_000


def remove(folders: Sequence[RunFolder]) -> None:
    """Remove run folders, and the folders above that are then empty.

    Raises:
        UserError: if one is in use, holds what ngym did not write, or cannot be removed.
    """
    for run in folders:
        if run.path.is_symlink():
            raise UserError(f"{run.path} is a link; remove what it leads to, or the link itself")
        refuse_existing(run.path, overwrite=True)
        inside = foreign(run.path, EVERYTHING)
        if inside is not None:
            raise UserError(f"{run.path} holds {inside}, which ngym did not write; move it away first")
    for run in folders:
        with os_errors(f"cannot remove {run.path}"):
            shutil.rmtree(run.path)
        with contextlib.suppress(OSError):  # the folders of its algorithm and task may hold other runs
            run.path.parent.rmdir()
            run.path.parent.parent.rmdir()


def tags_of(run: RunFolder) -> list[str]:
    """Return the tags of a run."""
    return _tags(run.manifest())


def _tags(manifest: Manifest) -> list[str]:
    tags = manifest.get("tags")
    return [str(tag) for tag in tags] if isinstance(tags, list) else []


def check_tags(words: Sequence[str]) -> None:
    """Refuse words that cannot be tags.

    Raises:
        UserError: names the first such word.
    """
    for word in words:
        if not word.strip() or "," in word or not word.isprintable() or len(word) > LONGEST_NOTE:
            raise UserError(f"tag {word!r} must be a printable word without commas")


def tag(run: RunFolder, words: Sequence[str], remove: bool = False) -> list[str]:
    """Add or remove tags of a run and return the resulting tags.

    Raises:
        UserError: if a tag is empty or holds a comma or a line break, or one to take away is not there.
    """
    check_tags(words)

    def entries(manifest: Manifest) -> dict[str, object]:
        before = _tags(manifest)
        for word in words:
            if remove and word not in before:
                raise UserError(f"{run.path} has no tag '{word}'; it has {', '.join(before) or 'none'}")
        after = [word for word in before if word not in words] if remove else list(dict.fromkeys([*before, *words]))
        return {"tags": after}

    run.change(entries)
    return tags_of(run)


def note(run: RunFolder, text: str) -> None:
    """Replace the note of a run; an empty text removes the note.

    Raises:
        UserError: if the text is too long or not valid UTF-8.
    """
    if not text.isascii() and text != text.encode("utf-8", "replace").decode():
        raise UserError("a note must be valid UTF-8 text")
    if len(text) > LONGEST_NOTE:
        raise UserError(f"a note has at most {LONGEST_NOTE:,} characters, not {len(text):,}")
    run.manifest()
    run.update(note=text.strip() or None)


#: Parts of the manifest that are compared, besides the configuration; times and the machine are not.
SEEDS, VERSIONS = "seeds", "versions"
COMPARED_FILES = ("model/weights.safetensors", "eval/final/trials.parquet")
COMPARED_RESULTS = ("status", "steps", "trials", "performance", "reward_per_trial", "chance", "blind", "ceiling")


def between(first: str, second: str, root: Path) -> list[Row]:
    """Return where two runs differ.

    Args:
        first: folder, name or ``latest``.
        second: likewise.
        root: folder of all runs.

    Returns:
        Rows of ``id`` (as in ``configuration.seed`` or ``results.performance``), ``one`` and ``other``; None where a
        run does not have it. The rows of ``files`` compare contents: final weights and final evaluation. If performance
        differs, ``difference.performance`` has the difference (the other run minus the first) with its interval over
        the trials of these two networks.

    Raises:
        UserError: if there is no such run, or it is damaged.
    """
    folders = [runs.find(reference, root, fits=True) for reference in (first, second)]
    pair = [_facts(run) for run in folders]
    names = list(dict.fromkeys([*pair[0], *pair[1]]))
    rows = [{"id": name, "one": pair[0].get(name), "other": pair[1].get(name)} for name in names]
    changed = [row for row in rows if row["one"] != row["other"]]
    if any(row["id"] == "results.performance" for row in changed):
        estimates = [estimate for run in folders if (estimate := _performance(run.manifest())) is not None]
        if len(estimates) == len(folders):
            difference = contrast(estimates, (-1, 1))
            changed.append({"id": "difference.performance", "one": None, "other": f"{difference:.4f}"})
    return changed


def _performance(manifest: Manifest) -> Estimate | None:
    value, interval = manifest.get("performance"), manifest.get("performance_ci")
    return Estimate(value, *interval) if value is not None and interval else None


def _facts(run: runs.RunFolder) -> dict[str, Scalar]:
    manifest = run.manifest()
    if run.is_fit:
        return _facts_of_fit(run, manifest)
    tables: dict[str, object] = {
        "configuration": read_toml(run.path / runs.CONFIG),
        SEEDS: manifest.get(SEEDS),
        VERSIONS: {**_entry(manifest, VERSIONS), "python": _entry(manifest, "machine").get("python")},
        "git": manifest.get("git"),
        "results": {name: manifest.get(name) for name in COMPARED_RESULTS},
        "files": {
            name: digest(run.path / name)[:12] if (run.path / name).is_file() else None for name in COMPARED_FILES
        },
    }
    return flatten({section: _mapping(values) for section, values in tables.items()})


def _facts_of_fit(run: runs.RunFolder, manifest: Manifest) -> dict[str, Scalar]:
    record = _mapping(read_json(run.path / runs.FIT))
    scores = _entry(record, "scores")
    tables: dict[str, object] = {
        "settings": record.get("settings"),
        "data": record.get("files"),
        VERSIONS: record.get(VERSIONS),
        "git": manifest.get("git"),
        "results": {"status": record.get("status")},
        "log_likelihood": {name: _entry(row, "log_likelihood").get("value") for name, row in scores.items()},
    }
    for label, about in _entry(record, "models").items():
        for who, estimates in _entry(about, "parameters").items():
            values = _mapping(estimates)
            tables[f"{label}, {who}"] = {name: _mapping(row).get("value") for name, row in values.items()}
    return flatten({section: _mapping(values) for section, values in tables.items()})


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _entry(table: object, name: str) -> Mapping[str, Any]:
    return _mapping(_mapping(table).get(name))


def show(rows: list[Row]) -> None:
    """Print the differences as a table."""
    if not rows:
        console().print("the runs do not differ")
    print_columns([[cell(row[key]) for key in ("id", "one", "other")] for row in rows])
