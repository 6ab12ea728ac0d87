"""HTML page and CSV tables of a fit: implementation of ``ngym report FIT`` and ``ngym export FIT``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from neurogym.analysis.results import Estimate
from ngym_cli.errors import unknown
from ngym_cli.figures import html
from ngym_cli.figures.files import drawing_failed
from ngym_cli.figures.report import check_page, provenance_rows, write_page
from ngym_cli.figures.style import FigureUnavailableError, styled
from ngym_cli.files import reading
from ngym_cli.files.outputs import may_write, wrote
from ngym_cli.files.writing import atomic_file
from ngym_cli.fitting import folder as fits
from ngym_cli.fitting.figure_data import FitPlotData
from ngym_cli.fitting.figures import FIT_FIGURES
from ngym_cli.fitting.printing import score_cells, time_score_rows, with_kind
from ngym_cli.runs import RunFolder
from ngym_cli.terminal import cell

#: Rows of parameters of a model on the page; ``ngym export`` writes all.
MAX_PARAMETER_ROWS = 200
#: Beginnings of the names of parameters that are one kind.
KINDS = ("sigma at start", "sigma")


def report(folder: fits.FitFolder, out: Path | None = None, overwrite: bool = False) -> Path:
    """Write the page of a fit.

    Args:
        folder: of the fit.
        out: file to write, or a folder for ``report.html``; default the fit's folder.
        overwrite: replace the file that the user names.

    Raises:
        UserError: if the fit is not finished, or the file exists or cannot be written.
    """
    check_page(out, folder.path, overwrite)
    with folder.readable():
        contents = _contents(FitPlotData(folder))
    return write_page(out, folder.path, html.render("fit.html.jinja", contents))


def _contents(fit: FitPlotData) -> dict[str, object]:
    about = fit.record
    best = fit.best(1)[0]
    score = next(iter(fits.score_tables(about).values()), {}).get(best)
    figures, left_out = _figures(fit)
    page: dict[str, Any] = {
        "title": f"Models of {Path(about['settings']['table']).stem}: {fit.folder.path.name}",
        "lead": _lead(fit),
        "numbers": []
        if score is None
        else [
            (f"{score['log_likelihood']['value']:.4f}", f"log-likelihood per trial of {best}"),
            (f"{score['probability']['value']:.4f}", "probability of a held-out choice"),
        ],
        "scores": [
            {"id": title.replace(" ", "-"), "title": title.capitalize(), "rows": list(_scores(scores))}
            for title, scores in fits.score_tables(about).items()
        ],
        "figures": figures,
        "left_out": left_out,
        "time_scores": time_score_rows(about),
        "parameters": list(_groups(about)),
        "notes": _notes(about),
        "recovery": [
            (label, name, cell(row["correlation"]), f"{row['coverage']:.0%}")
            for label, rows in (about["recovery"]["parameters"] if "recovery" in about else {}).items()
            for name, row in rows.items()
        ],
        "settings": tomli_w.dumps({k: v for k, v in about["settings"].items() if v is not None}),
        "provenance": provenance_rows({"data": about["files"], **RunFolder(fit.folder.path).manifest()}),
    }
    links = [(each["id"], each["title"].lower()) for each in page["scores"]]
    links += [(drawn["id"], drawn["id"]) for drawn in figures]
    return page | {"contents": [*links, ("parameters", "parameters"), ("provenance", "provenance")]}


def _lead(fit: FitPlotData) -> str:
    """Return the size of a fit, what was held out and the best model, in words."""
    about, folds = fit.record, fit.record["settings"]["folds"]
    held_out = about["table"].get("held_out", "sessions")
    size = f"{len(about['models'])} models, {len(fit.trials['choice']):,} trials of {fit.everyone}"
    if folds == 1:
        return f"{size}, nothing held out."
    words = (
        f"{size}, {folds} folds of {held_out}; each trial is predicted by a model fitted without the "
        f"{held_out.partition(' ')[0].removesuffix('s')} of the trial."
    )
    found = fits.verdict(about)
    return f"{words} {found[0].upper()}{found[1:]}." if found else words


def _figures(fit: FitPlotData) -> tuple[list[html.PageFigure], list[tuple[str, str]]]:
    drawn, left_out = [], []
    for name, function in FIT_FIGURES.items():
        try:
            with styled():
                caption = str(function.__doc__).splitlines()[0]
                drawn.append(html.drawing(function(fit), name, caption))
        except (FigureUnavailableError, KeyError, IndexError, ValueError, TypeError) as error:
            left_out.append((name, drawing_failed(error)))
    return drawn, left_out


def _scores(scores: Mapping[str, fits.ScoreRecord]) -> Iterator[tuple[str, ...]]:
    for name in fits.ranked(scores):
        yield with_kind(name), *score_cells(scores[name])


def _groups(about: fits.FitRecord) -> Iterator[dict[str, object]]:
    """Yield a table of parameters for each model, best first, with the parameters of a kind next to each other."""
    rows: dict[str, list[tuple[str, str, str, str, str]]] = {label: [] for label in fits.best_first(about)}
    for label, who, name, row, mark in fits.parameter_rows(about):
        value = Estimate.from_record(row)
        kind = next((each for each in KINDS if name.startswith(each)), "") or name.partition(":")[0] * (":" in name)
        plain = name.removeprefix(kind).lstrip(": ") or name
        rows[label].append((who, kind, plain, cell(value.value), mark or value.interval(".4f")))
    for label, cells in rows.items():
        kinds = list(dict.fromkeys(row[:2] for row in cells))
        cells.sort(key=lambda row: kinds.index(row[:2]))
        if len(cells) > MAX_PARAMETER_ROWS:
            rest = f"{len(cells) - MAX_PARAMETER_ROWS} more in ngym export"
            cells[MAX_PARAMETER_ROWS:] = [("...", "", rest, "", "")]
        if cells:
            yield {"title": label, "rows": cells}


def _notes(about: fits.FitRecord) -> list[tuple[str, str, str]]:
    """Return model, subject and text of each note; those about the held-out scores first."""
    return [("", "", note) for note in about["table"].get("notes", ())] + [
        (label, who, note)
        for label, model in about["models"].items()
        for who, notes in model.get("notes", {}).items()
        for note in notes
    ]


def export(folder: fits.FitFolder, form: str = "csv", out: Path | None = None, overwrite: bool = False) -> Path:
    """Write ``trials.csv`` (with held-out probabilities), ``parameters.csv`` and ``scores.csv`` and return the folder.

    Args:
        folder: of the fit.
        form: csv.
        out: folder of the files; default ``export`` in the fit's folder.
        overwrite: replace files of the user.

    Raises:
        UserError: for another format, or if the fit is not finished or a file exists.
    """
    import pyarrow as pa
    from pyarrow import csv

    if form != "csv":
        raise unknown("export format of a fit", form, ["csv"])
    about = folder.finished()
    target = out or folder.path / "export"
    names = ("model", "subject", "parameter", "value", "low", "high", "mark")
    parameters = []
    for *row, record, mark in fits.parameter_rows(about):
        number = Estimate.from_record(record)
        parameters.append(dict(zip(names, (*row, number.value, number.low, number.high, mark), strict=True)))
    kinds = [("held-out", about["scores"]), ("test", about.get("test_scores") or {})]
    scores = [
        {
            "model": name,
            "data": kind,
            "trials": row["trials"],
            **{key: row["log_likelihood"][key] for key in ("value", "low", "high")},
        }
        for kind, rows in kinds
        for name, row in rows.items()
    ]
    tables = {
        target / "trials.csv": reading.read_parquet(folder.path / fits.TRIALS),
        target / "parameters.csv": pa.Table.from_pylist(parameters),
        target / "scores.csv": pa.Table.from_pylist(scores),
    }
    for path in tables:
        may_write(path, out is not None, overwrite)
    for path, table in tables.items():
        with atomic_file(path) as file:
            csv.write_csv(table, file)
        if out is None:
            wrote(path)
    return target
