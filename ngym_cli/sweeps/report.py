"""Page of a sweep: settings, means with intervals over seeds, figures, and links to the runs."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from ngym_cli.figures import html
from ngym_cli.figures.report import PAGE, check_page, provenance_rows, write_page
from ngym_cli.figures.style import FigureUnavailableError, styled
from ngym_cli.runs.folder import RunFolder
from ngym_cli.sweeps import control, degeneracy, figures, plan, status, tables
from ngym_cli.sweeps.folder import RECIPE, SweepFolder
from ngym_cli.sweeps.results import SettingRow, SweepDocument, spread_in_words
from ngym_cli.sweeps.status import RunRow
from ngym_cli.terminal import REFERENCES, cell, reference_word

#: Captions of the figures of a sweep.
CAPTIONS = {
    "performance": "performance of each run, with mean and 95 % interval over seeds",
    "learning": "performance along training, mean and 95 % interval over seeds",
    "search": "results of the search in the order of trials, and importance of the parameters",
}


def report(sweep: SweepFolder, out: Path | None = None, overwrite: bool = False) -> Path:
    """Write the page of a sweep and return its path.

    Args:
        sweep: the sweep.
        out: file to write, or a folder for ``report.html``; default the sweep's folder.
        overwrite: replace the file that the user names.

    Raises:
        UserError: if no run is done, or the file exists or cannot be written.
    """
    check_page(out, sweep.path, overwrite)
    rows = status.StatusReader(sweep).rows()
    place = sweep.path if out is None else out if out.is_dir() or not out.suffix else out.parent
    contents = _contents(sweep, rows, control.result(sweep, rows), place)
    return write_page(out, sweep.path, html.render("sweep.html.jinja", contents))


def _contents(sweep: SweepFolder, rows: list[RunRow], document: SweepDocument, place: Path) -> dict[str, Any]:
    """Return the content of the page, by the names used in the template."""
    counts = ", ".join(f"{count:,} {state}" for state, count in document["counts"].items() if count)
    recipe = (sweep.path / RECIPE).read_text(encoding="utf-8")
    task = tomllib.loads(recipe).get("run", {}).get("task", "")
    drawn, left_out = _figures(sweep)
    keys = [key for key in sweep.recipe.swept() if key != "seed"]
    page: dict[str, Any] = {
        "title": f"Sweep {sweep.name}" + (f": {task}" if task else ""),
        "lead": f"{len(rows):,} runs: {counts}.",
        "numbers": _numbers(document, rows),
        "names": [*plan.short_names(keys).values(), "runs", "mean", "95 % interval, or seeds", "failed"],
        "settings": [_setting(row, keys) for row in document["settings"]],
        "notes": document["notes"],
        "figures": drawn,
        "left_out": left_out,
        "importance": [(key, f"{value:.2f}") for key, value in document["importance"].items()],
        "runs": list(_runs(rows, keys, place)),
        "run_names": ["run", *plan.short_names(keys).values(), "state", "performance", "steps"],
        "recipe": recipe,
        "best": tomli_w.dumps({"values": document["best"]["values"]}) if document["best"] and keys else "",
        "provenance": _provenance(rows),
    }
    sections = [(each["id"], each["id"]) for each in drawn]
    sections += [("settings", "settings"), ("runs", "runs"), ("recipe", "recipe"), ("provenance", "provenance")]
    return page | {"contents": sections}


def _numbers(document: SweepDocument, rows: Sequence[RunRow]) -> list[tuple[str, str]]:
    """Return the best mean with its interval, and reference scores that all runs share."""
    best = document["best"]
    numbers = []
    if best is not None and best["mean"] is not None:
        values = ", ".join(f"{key.rpartition('.')[2]} {tables.word(value)}" for key, value in best["values"].items())
        numbers.append(
            (f"{best['mean']:.3f}", f"mean performance{f' of {values}' if values else ''}: {best['spread']}")
        )
    for name in REFERENCES:
        scores = {row.get(name) for row in rows if row["state"] == "done"}
        score = scores.pop() if len(scores) == 1 else None
        numbers += [] if score is None else [(f"{score:.3f}", reference_word(name))]
    return numbers


def _setting(row: SettingRow, keys: Sequence[str]) -> tuple[str, ...]:
    """Return the cells of a setting."""
    values = (tables.word(row["values"].get(key)) for key in keys)
    mean, spread = ("-", "-") if row["mean"] is None else (f"{row['mean']:.4f}", spread_in_words(row))
    return (*values, f"{row['n']:,}", mean, spread, cell(row["failed"] or None))


def _runs(
    rows: Sequence[RunRow], keys: Sequence[str], place: Path
) -> Iterator[tuple[tuple[str, str], tuple[str, ...]]]:
    """Yield name and address of each run, relative to the page, and the cells of its row."""
    for row in rows:
        path = None if row["id"] is None else Path(row["id"])
        address = ""
        if path is not None and path.is_dir():
            target = path / PAGE if (path / PAGE).is_file() else path
            address = os.path.relpath(target, place).replace(os.sep, "/")
        performance = "-" if row["performance"] is None else f"{row['performance']:.4f}"
        values = (tables.word(row["values"].get(key)) for key in keys)
        yield (row["name"], address), (*values, row["state"], performance, f"{row['steps']:,}")


def _figures(sweep: SweepFolder) -> tuple[list[html.PageFigure], list[tuple[str, str]]]:
    """Return the figures of the sweep, and the reasons for missing ones."""
    drawn, left_out = [], []
    outside = degeneracy.OutsideTraining([], False, lambda line: None)
    for name, function in figures.drawers(sweep, None, outside).items():
        if name not in CAPTIONS or (name == "search" and sweep.recipe.search is None):
            continue
        try:
            with styled():
                drawn.append(html.drawing(function()[0], name, CAPTIONS[name]))
        except FigureUnavailableError as reason:
            left_out.append((name, str(reason)))
    return drawn, left_out


def _provenance(rows: Sequence[RunRow]) -> list[tuple[str, str]]:
    """Return the record of the first run that has begun."""
    first = next((row["id"] for row in rows if row["id"] and row["state"] != "queued"), None)
    return [] if first is None else list(provenance_rows(RunFolder(Path(first)).manifest()))
