"""A page for each paper whose claims are repeated: what it did, what it claims, and what came out here."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from docs.site.writing import Site, escaped, figure, hidden_tree, page, render, table
from ngym_cli.figures.style import COLOURS, GREY, styled
from ngym_cli.papers import collection, results
from ngym_cli.papers.collection import Paper
from ngym_cli.papers.model import PROVENANCE
from ngym_cli.papers.reproduction import claim_row

#: Sizes of the picture of a paper's claims, in inches.
WIDTH, ROW, HEAD = 6.5, 0.16, 0.72


def write(site: Site) -> None:
    """Write a page for each paper and the list of them."""
    record, rows = results.record(), []
    for name in collection.ids():
        paper = collection.load(collection.library() / name)
        seeds = record.get(name, {})
        verdicts = results.verdicts(paper, seeds)
        site.write(f"papers/{name}.md", text(paper, seeds, drawn(site, paper, seeds)))
        states = [verdict.state for verdict in verdicts.values()]
        counts = {state: states.count(state) for state in states}
        took = results.minutes(paper, seeds)
        rows.append(
            (
                f"[{escaped(paper.config.title)}]({name}.md)",
                escaped(paper.config.citation),
                escaped(results.in_words(counts)),
                "" if took is None else f"{took:.0f}",
            )
        )
    said = (
        "What a paper did and found, and networks trained and measured in the same way; `ngym reproduce PAPER` does it"
        " again. *Minutes* are those of all seeds on two cores."
    )
    head = ("what", "paper", "claims", "minutes")
    site.write("papers/index.md", page("# Papers", said, table(head, rows, "sortable"), hidden_tree(collection.ids())))


def text(paper: Paper, seeds: Mapping[str, Any], picture: str = "") -> str:
    """Return the page of a paper.

    Args:
        paper: which.
        seeds: the rows that the record keeps of it.
        picture: of the claims, as Markdown.
    """
    config, found = paper.config, results.verdicts(paper, seeds)
    settings = [
        (escaped(s.what), escaped(s.value), escaped(s.here or "the same"), escaped(s.source), PROVENANCE[s.provenance])
        for s in config.settings
    ]
    lines = results.control_lines([claim_row(claim, found[claim.id]) for claim in config.claims])
    return render(
        "paper.md.jinja",
        id=paper.id,
        picture=picture,
        config=config,
        seeds=len(seeds),
        claims=list(_claims(paper, seeds)),
        each_seed=_seeds(paper, seeds) if len(seeds) > 1 else (),
        controls=[tuple(map(escaped, line)) for line in lines],
        settings=settings,
    )


def drawn(site: Site, paper: Paper, seeds: Mapping[str, Any]) -> str:
    """Return a picture of the numbers of all claims next to those of their controls; empty if the record has none.

    Args:
        site: where it goes.
        paper: which.
        seeds: the rows that the record keeps of it.
    """
    found = results.verdicts(paper, seeds)
    claims = [(claim, claim_row(claim, found[claim.id])) for claim in paper.config.claims]
    panels = [(claim, row, lines) for claim, row in claims if (lines := _dots(row))]
    if not panels:
        return ""
    with styled():
        path = site.picture(f"papers/{paper.id}-claims", _panels(panels))
    said = "Each dot is a network. Blue: the networks of the paper; grey: controls; shaded: the criterion of the claim."
    return figure(Path(path).name, f"Numbers of the claims of {paper.id} and of their controls", said)


def _dots(row: Mapping[str, Any]) -> list[tuple[str, str, list[float]]]:
    """Return name, colour and values of each line of a claim: its numbers, then those of its controls."""
    of_all = {"": row["numbers"], **row["controls"]}
    lines = [
        (": ".join(filter(None, (control.replace("_", " "), name))) or "network", control, number["seeds"])
        for control, numbers in of_all.items()
        for name, number in numbers.items()
    ]
    known = [(name, control, [v for v in values if v is not None]) for name, control, values in lines]
    return [(name, GREY if control else COLOURS[0], values) for name, control, values in known if values]


def _panels(panels: Sequence[tuple[Any, Mapping[str, Any], list[tuple[str, str, list[float]]]]]) -> Any:
    """Draw a panel for each claim, one below the other, with a line for each number."""
    from matplotlib.figure import Figure

    heights = [HEAD + ROW * len(lines) for *_, lines in panels]
    drawn_on = Figure(figsize=(WIDTH, sum(heights)))
    drawn_on.set_layout_engine("none")
    top = sum(heights)
    for (claim, row, lines), height in zip(panels, heights, strict=True):
        top -= height
        place = (0.37, (top + 0.3) / sum(heights), 0.6, ROW * len(lines) / sum(heights))
        ax = drawn_on.add_axes(place)
        for y, (_, colour, values) in enumerate(lines):
            ax.plot(values, [y] * len(values), "o", color=colour, alpha=0.7, markersize=4)
        ends, criterion = ax.get_xlim(), claim.criteria[0]
        if not criterion.relative:
            bounds = zip((criterion.low, criterion.high), ends, strict=True)
            low, high = (bound if math.isfinite(bound) else end for bound, end in bounds)
            ax.axvspan(low, high, color=COLOURS[0], alpha=0.1, lw=0)
            ax.set_xlim(min(ends[0], low), max(ends[1], high))
        ax.set_yticks(range(len(lines)), [textwrap.shorten(name, 40, placeholder="...") for name, *_ in lines])
        ax.set_ylim(len(lines) - 0.5, -0.5)
        ax.tick_params(labelsize=7)
        title = textwrap.shorten(f"{row['verdict']}: {claim.title}", 160, placeholder="...")
        ax.set_title(textwrap.fill(title, 80), loc="left", fontsize=7.5, x=-0.58)
    return drawn_on


def _claims(paper: Paper, seeds: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield lines of the table; a claim of several numbers has several, its words on the first of them."""
    verdicts = results.verdicts(paper, seeds)
    for claim in paper.config.claims:
        if claim.untestable is not None:
            continue
        row = claim_row(claim, verdicts[claim.id])
        criterion = f"{claim.reached}{f'; in part: {claim.in_part}' if claim.in_part else ''}"
        lines = results.number_lines(row) if seeds else iter([("", _published(claim.published), "-")])
        challenged = dict(results.control_cells(row))
        for place, (name, published, here) in enumerate(lines):
            words = (escaped(claim.title), escaped(results.verdict_words(row)) if seeds else "", escaped(criterion))
            title, verdict, when = words if place == 0 else ("", "", "")
            others = escaped(challenged.get(name.strip(": "), ""))
            yield title, escaped(f"{name}{published}"), escaped(here), others, verdict, when


def _seeds(paper: Paper, seeds: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    found = results.verdicts(paper, seeds)
    head, lines = results.seed_lines([claim_row(claim, found[claim.id]) for claim in paper.config.claims])
    names = ", ".join(name.removeprefix("seed ") for name in head[2:])
    short = ((claim, number, ", ".join(values)) for claim, number, *values in lines)  # ten columns do not fit a phone
    return (*head[:2], f"seeds {names}"), [tuple(map(escaped, line)) for line in short]


def _published(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {number}" for name, number in value.items())
    return str(value)
