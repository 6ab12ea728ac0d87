"""The page of a reproduction: claims and verdicts, the paper's panels with our networks, settings and sources."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ngym_cli import runs
from ngym_cli.errors import UserError, one_line
from ngym_cli.figures import html
from ngym_cli.figures.files import save_figure
from ngym_cli.figures.style import FigureUnavailableError, styled
from ngym_cli.files.outputs import may_write, wrote
from ngym_cli.files.writing import write_text
from ngym_cli.papers.collection import Paper
from ngym_cli.papers.controls import UNTRAINED
from ngym_cli.papers.model import PROVENANCE
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns
from ngym_cli.papers.results import claim_lines, control_lines, seed_lines, short, verdict_words
from ngym_cli.papers.script import FIGURE
from ngym_cli.papers.verdicts import VERDICTS
from ngym_cli.terminal import Row, cell


def draw(paper: Paper, paper_runs: PaperRuns, folder: Path) -> tuple[list[html.PageFigure], list[tuple[str, str]]]:
    """Draw the figures of a paper and save PNG files; return the figures and the reasons for missing figures.

    Args:
        paper: the paper.
        paper_runs: networks and verdicts.
        folder: receives the files.

    Raises:
        UserError: if the script fails.
    """
    drawings, left_out = [], []
    for function in paper.script.figures:
        name = function.removeprefix(FIGURE).replace("_", "-")
        drawer = paper.script.figure(function)
        try:
            with styled():
                figure = drawer(paper_runs)
                may_write(folder / f"{name}.png", named=False)
                save_figure(figure, folder / f"{name}.png", is_default=True)
        except (FigureUnavailableError, ValueError) as reason:
            left_out.append((name, " ".join(str(reason).split())))
            continue
        except UserError:
            raise
        except Exception as error:
            raise UserError(f"{paper.script.path}: {function}: {one_line(error)}") from error
        drawings.append(html.drawing(figure, name, " ".join((inspect.getdoc(drawer) or name).split())))
    return drawings, left_out


def write(
    path: Path,
    paper: Paper,
    document: Row,
    figures: Sequence[html.PageFigure],
    left_out: Sequence[tuple[str, str]],
) -> None:
    """Write the page.

    Args:
        path: the file.
        paper: the paper.
        document: content of ``claims.json``.
        figures: the drawn figures.
        left_out: missing figures with reasons.
    """
    counts = Counter(row["verdict"] for row in document["claims"])
    config = paper.config
    part_names = dict.fromkeys(row["part"] for row in document["runs"])
    contents: Row = {
        "title": config.title,
        "lead": config.summary,
        "citation": config.citation,
        "doi": config.doi,
        "numbers": [(str(counts[state]), state) for state in VERDICTS if counts[state]],
        "claims": list(claim_lines(document["claims"], _verdict)),
        "criteria": list(_criteria(document["claims"])),
        "how": "Here: mean over seeds with its 95 % t interval; controls: their means. "
        f"Seeds {', '.join(map(str, document['seeds']))}. Reached: the whole interval meets the criterion, every seed "
        "gave a number, and no control passes. In part: the mean alone does, the milder criterion below is met, a "
        "control passes, or the last three of six or more seeds changed the verdict. Unchallenged: no control gives a "
        "number.",
        "seeds": seed_lines(document["claims"]),
        "controls": control_lines(document["claims"]),
        "strategies": list(_strategies(paper)),
        "figures": list(figures),
        "left_out": list(left_out),
        "settings": [
            (s.what, _text(s.value), s.here or "the same", s.source, PROVENANCE[s.provenance]) for s in config.settings
        ],
        "runs": list(_networks(paper, document)),
        "configurations": [
            (name, (paper.folder / config.parts[name].config).read_text(encoding="utf-8")) for name in part_names
        ],
    }
    write_text(path, html.render("paper.html.jinja", contents | {"contents": list(_links(contents))}))
    wrote(path)


def _text(value: object) -> str:
    return short(value) if isinstance(value, float) else str(value)


def _links(page: Row) -> Iterator[tuple[str, str]]:
    yield "claims", "claims"
    yield "seeds", "values of each seed"
    yield "controls", "controls"
    yield from ((drawn["id"], drawn["id"].replace("-", " ")) for drawn in page["figures"])
    yield "criteria", "what counts as reached"
    if page["settings"]:
        yield "settings", "settings of the paper"
    yield "networks", "networks"
    yield from ((f"configuration-{name}", f"configuration of {name}") for name, _ in page["configurations"])


def _strategies(paper: Paper) -> Iterator[tuple[str, str]]:
    """Yield the controls: name, and what it is."""
    for name in dict.fromkeys((UNTRAINED, *(name for claim in paper.config.claims for name in claim.control))):
        yield name.replace("_", " "), paper.script.describe_control(name)


def _criteria(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    for row in rows:
        provenance = PROVENANCE[row["provenance"]]
        yield row["title"], row.get("reached") or "-", row.get("in_part") or "-", row["where"], provenance


def _verdict(row: Row) -> str:
    return verdict_words(row) + (f". {row['note']}" if row.get("note") else "")


def _networks(paper: Paper, document: Row) -> Iterator[tuple[str, ...]]:

    for row in document["runs"]:
        part_config = paper.config.parts[row["part"]]
        manifest = PaperRun(runs.RunFolder(row["id"]), row["seed"], part_config.evaluations).manifest
        reached, trials = cell(manifest.get("performance")), cell(manifest.get("trials"))
        yield row["part"], part_config.what, str(row["seed"]), reached, trials, row["id"]
