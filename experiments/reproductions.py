"""The papers: every part trained with each seed, every claim measured, as ``ngym reproduce`` does.

    python -m experiments.records --make --only papers/roitman2002
    python -m experiments.reproductions    # checks all of it again

Networks are kept in ``reproductions/records/``, in a folder for each commit, so that work that was begun is resumed.
``make papers`` does the second.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from experiments.records import made
from experiments.records.record import Record, Row, Rows
from ngym_cli import processes, runs
from ngym_cli.config.launch import LaunchSettings
from ngym_cli.errors import UserError
from ngym_cli.papers import collection, engine, measuring, results
from ngym_cli.papers.reproduction import claim_row
from ngym_cli.papers.verdicts import VERDICTS
from ngym_cli.sweeps import control, launchers

ROOT = Path(__file__).parents[1] / engine.REPRODUCTIONS_ROOT / "records"


def make(item: str, seed: int) -> Row:
    """Train and measure one seed of a paper.

    Raises:
        RuntimeError: if a network is not trained.
    """
    processes.limit_in_worker()
    paper = collection.load(collection.library() / item)
    folder = ROOT / made.commit() / f"{item}-s{seed}"  # runs of the same code only
    names, claims = paper.chosen([])
    planned = engine.plan(paper, names, [seed], folder)
    launch = LaunchSettings(workers=1)
    for wave in engine.waves(paper, planned.values()):
        sweep = engine.as_sweep(folder, wave, launch)
        rows, _ = control.do_jobs(sweep, launchers.find(launch), True)
        failed = [f"{row['name']}: {row['error']}" for row in rows if row["state"] != "done"]
        if failed:
            raise RuntimeError(f"{item}, seed {seed}: {'; '.join(failed)}")
    began = time.process_time()
    measured = measuring.measure_all(paper, claims, planned, folder, 1)
    cpu_seconds = time.process_time() - began
    manifests = {name: runs.RunFolder(each.path).manifest() for (name, _), each in planned.items()}
    cpu_seconds += sum(manifest.get("cpu_seconds") or 0 for manifest in manifests.values())
    return {
        "claims": {each.claim: each.value for each in measured},
        "why": {each.claim: each.reason for each in measured if each.reason},
        "controls": {each.claim: dict(each.controls) for each in measured},
        "refusals": {each.claim: dict(each.refusals) for each in measured if each.refusals},
        "cpu_seconds": round(cpu_seconds, 1),
        "parts": {
            name: {
                "performance": manifest.get("performance"),
                "trials": manifest.get("trials"),
                "steps": manifest.get("steps"),
            }
            for name, manifest in manifests.items()
        },
    }


def seeds(item: str) -> int:
    """Return how many networks of each part there are."""
    return collection.load(collection.library() / item).config.seeds


def numbers(row: Row) -> dict[str, float]:
    """Return the claims of a row that are single numbers."""
    return {claim: value for claim, value in row["claims"].items() if isinstance(value, int | float)}


def table(rows: Rows) -> str:
    """Each claim: published, here, verdict."""
    titles = "| paper | claim | published | here, mean over seeds [95 % interval] | controls | verdict |"
    lines = [titles, "|---|---|---|---|---|---|"]
    for item in (name for name in collection.ids() if name in rows):
        paper = collection.load(collection.library() / item)
        for claim, verdict in zip(
            paper.config.claims, results.verdicts(paper, rows.get(item, {})).values(), strict=True
        ):
            row = claim_row(claim, verdict)
            numbers = list(results.number_lines(row))
            published = "; ".join(
                f"{name}{published_text}".strip()
                for name, published_text, _ in numbers
                if published_text and published_text != "-"
            )
            measured = "; ".join(f"{name.strip(': ')}: {ours}" if name else ours for name, _, ours in numbers if ours)
            challenged = "; ".join(f"{name}: {cell}".lstrip(": ") for name, cell in results.control_cells(row) if cell)
            cells = (f"`{item}`", claim.title, published, measured, challenged or "-", results.verdict_words(row))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


RECORD = Record(
    name="papers",
    what="the claims of papers, as ngym reproduce measures them",
    file=Path(__file__).parent / "papers" / results.RECORD_FILE,
    items=collection.ids,
    make=make,
    tables={"claims": table},
    seeds=seeds,
    outcome=numbers,
)


def check(items: list[str], jobs: int) -> int:
    """Make all rows with the code as it is now and compare verdicts with those that are kept; return the exit code."""
    kept_rows, worse = RECORD.rows(), 0
    with ProcessPoolExecutor(jobs, max_tasks_per_child=1) as pool:
        work = [(item, seed) for item in items for seed in range(seeds(item))]
        futures = {key: pool.submit(make, *key) for key in work}
        for item in items:
            paper = collection.load(collection.library() / item)
            rows = {str(seed): futures[name, seed].result() for name, seed in work if name == item}
            now = results.verdicts(paper, rows)
            before = results.verdicts(paper, kept_rows.get(item, {}))
            for claim, verdict in now.items():
                fallen = VERDICTS.index(verdict.state) > VERDICTS.index(before[claim].state)
                worse += fallen
                difference = f", the record has: {before[claim].state}" if verdict.state != before[claim].state else ""
                print(f"{'!' if fallen else ' '} {item:<16} {claim:<32} {verdict.state}{difference}", flush=True)
    print(f"{worse} claims came out worse than in the record")
    return 1 if worse else 0


def main() -> int:
    """Check papers."""
    parser = argparse.ArgumentParser(description="check the claims of papers again")
    parser.add_argument("--only", action="append", default=[], metavar="PAPER", choices=collection.ids())
    parser.add_argument("--jobs", type=int, default=1, help="seeds side by side")
    arguments = parser.parse_args()
    try:
        made.require_commit()
    except UserError as error:
        parser.exit(2, f"{error}\n")
    return check(arguments.only or collection.ids(), arguments.jobs)


if __name__ == "__main__":
    sys.exit(main())
