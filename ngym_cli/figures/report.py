"""``ngym report``: one HTML page about a run that needs nothing else, neither files nor scripts nor a network."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ngym_cli import runs
from ngym_cli.figures.registry import FIGURES, natural, tags_of
from ngym_cli.figures.requests import view
from ngym_cli.files.writing import check_place, write_text
from ngym_cli.runs import records
from ngym_cli.terminal import REFERENCES, cell

#: A vector figure larger than this (bytes) is put in as pixels instead.
LARGEST_VECTOR = 300_000

#: Entries of the manifest that the page shows elsewhere.
SHOWN_ELSEWHERE = (
    *("performance", "performance_ci", *REFERENCES, "no_ceiling", "sessions", "reward_per_trial"),
    *("checkpoint", "process"),
)

STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; color: #1a1a1a; background: #fff;
       max-width: 62rem; margin: 2rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.6rem; margin: 0 0 .2rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem;
     border-bottom: 1px solid #ccc; padding-bottom: .2rem; }
p.lead { color: #555; margin: 0 0 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .4rem 0 1rem; }
th, td { text-align: left; padding: .2rem .9rem .2rem 0; vertical-align: top; border-bottom: 1px solid #eee; }
th { font-weight: 600; } td.n, th.n { text-align: right; }
.key { display: flex; gap: 2.5rem; flex-wrap: wrap; margin: 1rem 0; }
.key div b { display: block; font-size: 1.5rem; font-weight: 600; } .key div { color: #555; }
figure { margin: 0 0 1.6rem; break-inside: avoid; } figure img { max-width: 100%; height: auto; }
figcaption { color: #555; font-size: .9rem; }
pre { background: #f6f6f6; padding: .8rem 1rem; overflow-x: auto; font-size: .8rem; line-height: 1.4;
      white-space: pre-wrap; overflow-wrap: anywhere; }
td.wrap { overflow-wrap: anywhere; }
@page { margin: 16mm 14mm; }
@media print { body { max-width: none; margin: 0; padding: 0; font-size: 10pt; } h2 { break-after: avoid; }
  pre { font-size: 7.5pt; background: none; border: 1px solid #ccc; } tr { break-inside: avoid; } }
"""


#: Name of the page where the user names only a folder.
PAGE = "report.html"


def report(reference: str, root: Path, out: Path | None = None, trust: bool = False, overwrite: bool = False) -> Path:
    """Write the page of a run.

    Args:
        reference: folder, name or ``latest``.
        root: folder of all runs.
        out: file to write, or a folder for ``report.html``; default the run's folder.
        trust: let the run's record name a user's own code.
        overwrite: replace the file that the user names.

    Raises:
        UserError: if the run does not exist or is damaged, or the file exists or cannot be written.
    """
    if out is not None and (out.is_dir() or not out.suffix):
        out = out / PAGE
    if out is not None:
        check_place(out, overwrite)
    seen = view([reference], root, trust=trust)
    path = out or seen.first.run.path / PAGE
    write_text(path, _page(seen))
    return path


def _page(seen: Any) -> str:
    source = seen.first
    manifest = source.manifest
    title = f"{manifest.get('task')} by {manifest.get('alg')}: {source.run.name}"
    parts = [
        f"<h1>{_text(title)}</h1>",
        f'<p class="lead">{_text(_lead(source))}</p>',
        _numbers(seen),
        "<h2>Figures</h2>",
        *_figures(seen),
        *_conditions(seen),
        "<h2>Evaluations</h2>",
        _evaluations(source),
        *_comparisons(source),
        "<h2>Configuration</h2>",
        f"<pre>{_text((source.run.path / runs.CONFIG).read_text(encoding='utf-8'))}</pre>",
        "<h2>Provenance</h2>",
        _table(("entry", "value"), _provenance(manifest)),
    ]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{_text(title)}</title>'
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n'
    )


def _text(value: Any) -> str:
    return html.escape(str(value))


def _lead(source: Any) -> str:
    from ngym_cli.config.tasks import find_task

    manifest, config = source.manifest, source.config
    description = str(find_task(config.task).metadata.get("description") or "")
    stack = ", ".join(entry.name for entry in config.wrappers) or "none"
    network = f"{manifest.get('network')} of {config.units} units" if manifest.get("network") else "network"
    return (
        f"{description[:1].upper() + description[1:]}. {network}, wrappers: {stack}; {manifest['status']}, "
        f"{cell(manifest.get('steps'))} steps, {cell(manifest.get('trials'))} trials, seed {manifest.get('seed')}."
    )


def _numbers(seen: Any) -> str:
    """Return the few numbers that matter most."""
    from ngym_cli.figures.style import Unavailable

    try:
        found = seen.first.main().summary
    except Unavailable as reason:
        return f"<p>{_text(reason)}</p>"
    low, high = found["performance_ci"]
    rows = [
        (f"{found['performance']:.3f}", f"performance [{low:.3f}, {high:.3f}], n = {found['trials']:,}"),
        *((cell(found.get(name)), name) for name in REFERENCES),
        (cell(found.get("reward_per_trial")), "reward per trial"),
        (f"{found['abort_rate']:.1%}", "trials with a fixation break"),
    ]
    return '<div class="key">' + "".join(f"<div><b>{_text(a)}</b>{_text(b)}</div>" for a, b in rows) + "</div>"


def _figures(seen: Any) -> Iterable[str]:
    from ngym_cli.figures.style import Unavailable, styled

    tags = tags_of(seen)
    for spec in FIGURES.values():
        if not natural(spec, seen, tags):
            continue
        try:
            with styled():
                image = _inline(spec.draw(seen))
        except Unavailable:
            continue
        caption = _text(spec.summary[:1].upper() + spec.summary[1:])
        picture = f'<img alt="{caption}" src="{image}">'
        yield f'<figure id="{spec.name}">{picture}<figcaption>{caption}.</figcaption></figure>'


def _inline(figure: Any) -> str:
    """Return a figure as a data address: vector graphics with the letters drawn, or pixels where that is smaller."""
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    kind = "svg+xml"
    if buffer.tell() > LARGEST_VECTOR:
        buffer, kind = io.BytesIO(), "png"
        figure.savefig(buffer, format="png", dpi=180)
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def _table(names: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Sequence[str] = ()) -> str:
    align = ["n" if name in numbers else "wrap" for name in names]
    head = "".join(f'<th class="{kind}">{_text(name)}</th>' for name, kind in zip(names, align, strict=True))
    body = "".join(
        "<tr>" + "".join(f'<td class="{k}">{_text(value)}</td>' for value, k in zip(row, align, strict=True)) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _conditions(seen: Any) -> Iterable[str]:
    from ngym_cli.figures.style import Unavailable

    try:
        rows = seen.first.main().summary.get("conditions") or ()
    except Unavailable:
        return
    if rows:
        names = ("condition", "value", "performance", "95 % interval", "trials")
        lines = [
            (
                r["condition"],
                cell(r["value"]),
                f"{r['performance']:.4f}",
                _interval(r["performance_ci"]),
                cell(r["trials"]),
            )
            for r in rows
        ]
        yield "<h2>Performance by condition</h2>"
        yield _table(names, lines, names[1:])


def _interval(ends: Sequence[float]) -> str:
    return f"{ends[0]:.4f} to {ends[1]:.4f}"


def _evaluations(source: Any) -> str:
    names = ("evaluation", "what is special", "performance", "95 % interval", "trials", "at step")
    rows = []
    for each in source.evaluations:
        found = each.summary
        special = [f"{key} {value}" for key, value in (found.get("changes") or {}).items()]
        special += [
            " ".join(str(p[k]) for k in ("kind", "period") if p.get(k)) for p in found.get("perturbations") or ()
        ]
        special += [word for word in ("balanced",) if found.get(word)]
        special += [] if found.get("deterministic", True) else ["drawn actions"]
        rows.append((
            each.folder.name, ", ".join(special) or "-", f"{found['performance']:.4f}",
            _interval(found["performance_ci"]), cell(found["trials"]), cell(found.get("model_steps")),
        ))  # fmt: skip
    return _table(names, rows, names[2:]) if rows else "<p>None yet; ngym eval makes one.</p>"


def _comparisons(source: Any) -> Iterable[str]:
    """Return the tables of comparisons with animals, each with its figure."""
    for each in source.evaluations:
        path = each.folder / "comparison.json"
        if not path.is_file():
            continue
        found = records.read(path, records.Comparison)
        yield f"<h2>Beside {_text(Path(found['data']).stem.replace('_', ' '))}</h2>"
        figure = source.run.path / "figures" / Path(found["figure"]).name
        if figure.is_file() and not figure.is_symlink():
            data = base64.b64encode(figure.read_bytes()).decode()
            yield f'<figure><img alt="agent beside the data" src="data:image/png;base64,{data}"></figure>'
        names = ("statistic", "agent", "data", "difference", "standard errors")
        rows = [
            (r["name"], *(cell(r[key]["value"]) for key in ("a", "b", "difference")), cell(r["distance"]))
            for r in found["statistics"]
        ]
        yield _table(names, rows, names[1:])
        yield f"<p>Root mean square distance: {_text(cell(found['distance']))} standard errors.</p>"


def _provenance(manifest: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    rows = []
    for key, value in manifest.items():
        if not prefix and key in SHOWN_ELSEWHERE:
            continue
        if isinstance(value, Mapping):
            rows += _provenance(value, f"{prefix}{key}, ")
        else:
            rows.append((f"{prefix}{key}".replace("_", " "), cell(value)))
    return rows
