"""Implementation of ``ngym report``: a self-contained HTML page about a run, without files, scripts or network."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neurogym.analysis.results import Estimate
from ngym_cli import runs
from ngym_cli.config.tasks import find_task
from ngym_cli.figures import html, requests
from ngym_cli.figures.registry import find_figure
from ngym_cli.figures.style import FigureUnavailableError
from ngym_cli.files.outputs import may_write, wrote
from ngym_cli.files.writing import write_text
from ngym_cli.runs import records
from ngym_cli.runs.summary import FixationBreaks, breaks_of, changed_in_words, performance_of
from ngym_cli.terminal import REFERENCES, cell, estimate_cells, quoted, reference_word

if TYPE_CHECKING:
    from ngym_cli.figures.source import Source
    from ngym_cli.figures.view import PlotData

#: Entries of the manifest that the page shows elsewhere.
SHOWN_ELSEWHERE = (
    "performance",
    "performance_ci",
    *REFERENCES,
    "no_ceiling",
    "sessions",
    "reward_per_trial",
    "evaluations",
    "stages",
    "checkpoint",
    "process",
    "task",
    "alg",
    "network",
    "seed",
    "steps",
    "trials",
    "status",
    "config",
)

#: Resolution of figures that commands save (dots per inch).
SAVED = 150

#: Meaning of each reference score, a line each.
MEANINGS = {
    "chance": "performance of an agent that draws every action at random",
    "blind": "performance of the best agent that sees nothing but the time in the trial",
    "ceiling": "performance of the ideal observer, which nobody can exceed in the long run",
}

#: Name of the page where the user names only a folder.
PAGE = "report.html"


def report(
    reference: str,
    root: Path,
    out: Path | None = None,
    trust: bool = False,
    overwrite: bool = False,
    figures: Sequence[str] = (),
) -> Path:
    """Write the page of a run.

    Args:
        reference: folder, name or ``latest``.
        root: folder of all runs.
        out: file to write, or a folder for ``report.html``; default the run's folder.
        trust: accept user code named in the run's record.
        overwrite: replace the file that the user names.
        figures: further figures, by name or reference.

    Raises:
        UserError: if the run does not exist or is damaged, or the file exists or cannot be written.
    """
    seen = requests.view([reference], root, trust=trust)
    check_page(out, seen.first.run.path, overwrite)
    return write_page(out, seen.first.run.path, html.render("report.html.jinja", _contents(seen, figures)))


def check_page(out: Path | None, owner: Path, overwrite: bool) -> None:
    """Refuse to replace a page of the user; arguments as of `write_page`.

    Raises:
        UserError: if the file exists and is not to be replaced.
    """
    may_write(owner / PAGE if out is None else _output_path(out), out is not None, overwrite)


def write_page(out: Path | None, owner: Path, text: str) -> Path:
    """Write a page and return the path.

    Args:
        out: file, or a folder for ``report.html``; None for the folder of the run or the fit.
        owner: folder of the run or the fit.
        text: the page.
    """
    path = owner / PAGE if out is None else _output_path(out)
    write_text(path, text)
    if out is None:
        wrote(path)
    return path


def _output_path(out: Path) -> Path:
    return out / PAGE if out.is_dir() or not out.suffix else out


def _contents(seen: PlotData, further: Sequence[str] = ()) -> dict[str, Any]:
    """Return the content of the page, by the names used in the template."""
    source = seen.first
    manifest = source.manifest
    try:
        result, no_evaluation = source.main().summary, ""
    except FigureUnavailableError as reason:
        result, no_evaluation = None, str(reason)
    figures, left_out = _figures(seen, further)
    page: dict[str, Any] = {
        "title": f"{manifest.get('task')} by {manifest.get('alg')}: {source.run.name}",
        "lead": _lead(source),
        "no_evaluation": no_evaluation,
        "numbers": numbers_of(result) if result else [],
        "meanings": _meanings(result) if result else [],
        "figures": figures,
        "left_out": left_out,
        "conditions": _conditions(result.get("conditions") or ()) if result else [],
        "stages": _stages(manifest.get("stages") or ()),
        "evaluations": list(_evaluations(source)),
        "comparisons": list(_comparisons(source)),
        "activity": list(_activity(source)),
        "configuration": (source.run.path / runs.CONFIG).read_text(encoding="utf-8"),
        "provenance": provenance_rows(manifest),
    }
    return page | {"contents": list(_links(page))}


def _links(page: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return the sections that the page has, as identifier and words."""
    yield from ((drawn["id"], drawn["id"].replace("-", " ")) for drawn in page["figures"])
    sections = (
        ("left_out", "left-out", "not drawn"),
        ("conditions", "conditions-table", "table by condition"),
        ("stages", "stages", "stages"),
    )
    yield from ((id, words) for key, id, words in sections if page[key])
    yield "evaluations", "evaluations"
    yield from ((each["id"], f"compared with {each['name']}") for each in page["comparisons"])
    yield from ((each["id"], f"activity and {each['name']}") for each in page["activity"])
    yield from ((name, name) for name in ("configuration", "provenance"))


def _lead(source: Source) -> str:

    manifest, config = source.manifest, source.config
    description = str(find_task(config.task).metadata.get("description") or "")
    stack = ", ".join(entry.name for entry in config.wrappers) or "none"
    network = f"{manifest.get('network')} of {config.units} units" if manifest.get("network") else "network"
    sentence = f"{description[:1].upper() + description[1:]}. " if description else ""
    return (
        f"{sentence}{network}, wrappers: {stack}; {manifest['status']}, {cell(manifest.get('steps'))} steps, "
        f"{cell(manifest.get('trials'))} trials, seed {manifest.get('seed')}."
    )


def numbers_of(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the most important numbers, each with a description."""
    performance, ceiling, above = performance_of(result), result.get("ceiling"), ""
    if ceiling is not None and performance.value > ceiling:
        above = "; above the ceiling, " + ("within" if performance.low <= ceiling else "beyond") + " its interval"
    return [
        (f"{performance.value:.3f}", f"performance {performance.interval('.3f')}, n = {result['trials']:,}{above}"),
        *((f"{result[name]:.3f}", reference_word(name)) for name in REFERENCES if result.get(name) is not None),
        (cell(result.get("reward_per_trial")), "reward per trial"),
        *_broken(breaks_of(result)),
        *(
            (f"{row['value']:.3g} {row.get('unit') or ''}".strip(), f"{row['label']} {_interval(row)}".strip())
            for row in result.get("measures") or ()
        ),
    ]


def _interval(row: Mapping[str, Any]) -> str:
    return Estimate.from_record(row).interval(".3g")


def _meanings(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what each reference score means."""
    return [(reference_word(name), text) for name, text in MEANINGS.items() if result.get(name) is not None]


def _broken(breaks: FixationBreaks | None) -> list[tuple[str, str]]:
    """Return the shares of trials with a fixation break and with an early action, each with a description."""
    if breaks is None:
        return []
    rows = [(f"{breaks.rate:.1%}", "of trials break fixation" + (f" in {breaks.periods}" if breaks.periods else ""))]
    if math.isfinite(breaks.early):
        rows.append((f"{breaks.early:.1%}", f"of trials act before {breaks.before or 'the decision'}"))
    return rows


def _figures(seen: PlotData, further: Sequence[str] = ()) -> tuple[list[html.PageFigure], list[tuple[str, str]]]:
    """Return the figures suited to the run, and the reasons for missing figures."""
    result, left_out = [], []
    specs = [*requests.natural_figures(seen), *map(find_figure, further)]
    for spec in {spec.name: spec for spec in specs}.values():
        figure, reason, _ = requests.drawn(seen, spec)
        if figure is None:
            left_out.append((spec.name, str(reason)))
        else:
            result.append(html.drawing(figure, spec.name, f"{spec.summary[:1].upper()}{spec.summary[1:]}."))
    return result, left_out


def _conditions(rows: Sequence[records.ConditionRecord]) -> list[tuple[str, ...]]:
    return [
        (
            r["condition"],
            cell(r["value"]),
            *estimate_cells(performance_of(r)),
            cell(r["trials"]),
        )
        for r in rows
    ]


def _stages(stages: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    return [
        (
            each.get("name") or f"stage {number}",
            cell(each.get("from_step")),
            cell(each.get("trials")),
            each.get("ended") or "-",
        )
        for number, each in enumerate(stages, start=1)
    ]


def _evaluations(source: Source) -> Iterator[tuple[str, ...]]:
    for each in source.evaluations:
        result = each.summary
        special = [changed_in_words(result)] if changed_in_words(result) else []
        special += [word for word in ("balanced",) if result.get(word)]
        special += [] if result.get("deterministic", True) else ["drawn actions"]
        yield (
            each.folder.name,
            ", ".join(special) or "-",
            *estimate_cells(performance_of(result)),
            cell(result["trials"]),
            cell(result.get("model_steps")),
        )


def _records(source: Source, name: str, kind: type[records.Record]) -> Iterator[tuple[int, records.Record]]:
    """Yield the number of each evaluation with a file of this name, and the record in the file."""
    for number, each in enumerate(source.evaluations):
        if (each.folder / name).is_file():
            yield number, records.read(each.folder / name, kind)


def _comparisons(source: Source) -> Iterator[dict[str, object]]:
    """Return the tables of comparisons with animals, each with a figure."""
    for number, result in _records(source, "comparison.json", records.AnimalComparison):
        yield {
            "id": f"beside-{number}",
            "name": result.get("name") or Path(result["data"]).stem.replace("_", " "),
            "drawn": _picture(source, result["figure"], f"beside-figure-{number}", "Agent next to the data."),
            "rows": [
                (r["name"], *(cell(r[key]["value"]) for key in ("a", "b", "difference")), cell(r["distance"]))
                for r in result["statistics"]
            ],
            "distance": cell(result["distance"]),
        }


def _activity(source: Source) -> Iterator[dict[str, object]]:
    """Return the tables of comparisons of activity with recordings, each with a figure."""
    for number, result in _records(source, "activity_comparison.json", records.ActivityComparison):
        caption = "Agreement of activity by part of the trial: measured, corrected for noise, of halves, shuffled."
        keys = ("value", "corrected", "halves", "shuffled", "p", "conditions")
        yield {
            "id": f"activity-{number}",
            "name": Path(result["data"]).stem.replace("_", " "),
            "by": ", ".join(result["by"]),
            "drawn": _picture(source, result["figure"], f"activity-figure-{number}", caption),
            "rows": [
                (r["part"], r["measure"], *(cell(r.get(key)) if r.get(key) is not None else "-" for key in keys))
                for r in result["agreement"]
            ],
            "left_out": result["left_out"],
        }


def _picture(source: Source, figure: str, identifier: str, caption: str) -> html.PageFigure | None:
    """Return a saved figure of a run for the page, or None if the file is gone."""
    path = source.run.path / "figures" / Path(figure).name
    if not path.is_file() or path.is_symlink():
        return None
    return {"id": identifier, "picture": html.picture(path.read_bytes(), caption, SAVED), "caption": caption}


def provenance_rows(manifest: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    """Return the entries of a record that the page does not show elsewhere, nested names joined."""
    rows = []
    for key, value in manifest.items():
        if not prefix and key in SHOWN_ELSEWHERE:
            continue
        if isinstance(value, Mapping):
            rows += provenance_rows(value, f"{prefix}{key}, ")
        elif key == "command" and isinstance(value, list) and value:
            rows.append((f"{prefix}{key}", quoted("ngym", *map(str, value[1:]))))
        else:
            # Whole numbers here are seeds and sizes of machines, which are read digit by digit.
            text = str(value) if isinstance(value, int) and not isinstance(value, bool) else cell(value)
            text = shlex.join(map(str, value)) if key == "command" and isinstance(value, list) else text
            rows.append((f"{prefix}{key}".replace("_", " "), text))
    return rows
