"""A page for each paper whose claims are repeated: what it did, what it claims, and what came out here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from docs.site.writing import Site, escaped, hidden_tree, page, render, table
from ngym_cli.papers import collection, results
from ngym_cli.papers.collection import Paper
from ngym_cli.papers.model import PROVENANCE
from ngym_cli.papers.reproduction import claim_row


def write(site: Site) -> None:
    """Write a page for each paper and the list of them."""
    record, rows = results.record(), []
    for name in collection.ids():
        paper = collection.load(collection.library() / name)
        seeds = record.get(name, {})
        verdicts = results.verdicts(paper, seeds)
        site.write(f"papers/{name}.md", text(paper, seeds))
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


def text(paper: Paper, seeds: Mapping[str, Any]) -> str:
    """Return the page of a paper.

    Args:
        paper: which.
        seeds: the rows that the record keeps of it.
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
        config=config,
        seeds=len(seeds),
        claims=list(_claims(paper, seeds)),
        each_seed=_seeds(paper, seeds) if len(seeds) > 1 else (),
        controls=[tuple(map(escaped, line)) for line in lines],
        settings=settings,
    )


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
    seeds = ", ".join(name.removeprefix("seed ") for name in head[2:])
    short = ((claim, number, ", ".join(values)) for claim, number, *values in lines)  # ten columns do not fit a phone
    return (*head[:2], f"seeds {seeds}"), [tuple(map(escaped, line)) for line in short]


def _published(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {number}" for name, number in value.items())
    return str(value)
