"""Differences between two runs: configuration, seeds, versions, results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ngym_cli import runs, terminal
from ngym_cli.config import flatten, read_toml
from ngym_cli.files.reading import read_json

#: Parts of the manifest that are compared, besides the configuration; times and the machine are not.
SEEDS, VERSIONS = "seeds", "versions"
RESULTS = ("status", "steps", "trials", "performance", "reward_per_trial", "chance", "blind", "ceiling")


def between(one: str, other: str, root: Path) -> list[dict[str, Any]]:
    """Return where two runs differ.

    Args:
        one: folder, name or ``latest``.
        other: likewise.
        root: folder of all runs.

    Returns:
        Rows of ``id`` (as in ``configuration.seed`` or ``results.performance``), ``one`` and ``other``; None where a
        run does not have it. The rows of ``files`` compare contents: final weights and final evaluation.

    Raises:
        UserError: if there is no such run, or it is damaged.
    """
    pair = [dict(_facts(runs.find(reference, root, fits=True))) for reference in (one, other)]
    names = list(dict.fromkeys([*pair[0], *pair[1]]))
    rows = [{"id": name, "one": pair[0].get(name), "other": pair[1].get(name)} for name in names]
    return [row for row in rows if row["one"] != row["other"]]


def _facts(run: runs.Run) -> Iterator[tuple[str, Any]]:
    manifest = run.manifest()
    if run.is_fit:
        yield from _facts_of_fit(run, manifest)
        return
    parts: dict[str, Any] = {
        "configuration": read_toml(run.path / runs.CONFIG),
        SEEDS: manifest.get(SEEDS),
        VERSIONS: {**_mapping(manifest.get(VERSIONS)), "python": _mapping(manifest.get("machine")).get("python")},
        "git": manifest.get("git"),
        "results": {name: manifest.get(name) for name in RESULTS},
        "files": {
            name: _digest(run.path / name) for name in ("model/weights.safetensors", "eval/final/trials.parquet")
        },
    }
    for part, values in parts.items():
        for name, value in flatten(_mapping(values)).items():
            yield f"{part}.{name}", value


def _facts_of_fit(run: runs.Run, manifest: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    found = read_json(run.path / runs.FIT)
    scores = _mapping(found.get("scores"))
    parts: dict[str, Any] = {
        "settings": found.get("settings"),
        "data": found.get("files"),
        VERSIONS: found.get(VERSIONS),
        "git": manifest.get("git"),
        "results": {"status": found.get("status")},
        "log_likelihood": {name: _mapping(row.get("log_likelihood")).get("value") for name, row in scores.items()},
    }
    for label, about in _mapping(found.get("models")).items():
        for who, estimates in _mapping(about.get("parameters")).items():
            parts[f"{label}, {who}"] = {name: _mapping(row).get("value") for name, row in estimates.items()}
    for part, values in parts.items():
        for name, value in flatten(_mapping(values)).items():
            yield f"{part}.{name}", value


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _digest(path: Path) -> str | None:
    from ngym_cli.files.reading import digest

    return digest(path)[:12] if path.is_file() else None


def show(rows: list[dict[str, Any]]) -> None:
    """Print the differences as a table."""
    if not rows:
        terminal.console().print("the runs do not differ")
    terminal.print_columns([[terminal.cell(row[key]) for key in ("id", "one", "other")] for row in rows])
