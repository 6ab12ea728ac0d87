"""Our own record of the papers: what every seed gave, as the repository keeps it, judged by today's criteria."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from ngym_cli.errors import UserError
from ngym_cli.files.reading import read_json
from ngym_cli.papers import collection
from ngym_cli.papers.collection import Paper
from ngym_cli.papers.verdicts import Row, Verdict, judge

FILE = "results.json"
#: Cores for which minutes are said.
CORES = 2


def record() -> dict[str, Row]:
    """Return the rows that are kept: paper, then seed."""
    path = collection.library() / FILE
    found = read_json(path) if path.is_file() else {}
    return found if isinstance(found, dict) else {}


def verdicts(paper: Paper, seeds: Mapping[str, Row]) -> dict[str, Verdict]:
    """Return what the kept rows say of each claim of a paper."""
    found = {}
    for claim in paper.config.claims:
        rows = {int(seed): row for seed, row in seeds.items() if claim.id in row["claims"]}
        values = {seed: row["claims"][claim.id] for seed, row in rows.items()}
        reasons = [row["why"][claim.id] for row in rows.values() if row.get("why", {}).get(claim.id)]
        found[claim.id] = judge(claim, values, reasons)
    return found


def minutes(paper: Paper, seeds: Mapping[str, Row]) -> float | None:
    """Return what all seeds take on two cores, rounded up: measured for the record, else as the paper says."""
    took = [row["cpu_seconds"] for row in seeds.values() if row.get("cpu_seconds")]
    if not took:
        return paper.config.minutes
    return math.ceil(sum(took) / len(took) * paper.config.seeds / CORES / 60)


def rows() -> list[Row]:
    """Return the papers, those that come with ngym and those in folders here.

    Returns:
        Rows of ``id``, ``title``, ``description``, ``paper``, ``link``, ``parts``, ``claims`` (how many), ``verdicts``
        (how many of each kind) and ``minutes``.
    """
    known = record()
    found = []
    for folder in collection.folders():
        try:
            paper = collection.load(folder)
        except UserError as error:
            found.append(_damaged(folder, str(error)))
            continue
        seeds = {} if paper.own else known.get(paper.id, {})
        counts = Counter(verdict.state for verdict in verdicts(paper, seeds).values())
        found.append(
            {
                "id": str(paper.folder) if paper.own else paper.id,
                "title": paper.config.title,
                "description": paper.config.summary,
                "paper": paper.config.citation,
                "link": f"https://doi.org/{paper.config.doi}",
                "parts": list(paper.config.parts),
                "claims": len(paper.config.claims),
                "verdicts": dict(counts),
                "minutes": minutes(paper, seeds),
            }
        )
    return found


def _damaged(folder: Path, why: str) -> Row:
    """Return the row of a folder that cannot be used; the others are listed all the same."""
    empty = {"description": "", "paper": "", "link": "", "parts": [], "claims": 0, "verdicts": {}, "minutes": None}
    return {"id": str(folder), "title": f"damaged: {why}", **empty}
