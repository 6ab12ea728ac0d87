"""The papers: every part trained with each seed, every claim measured, as ``ngym reproduce`` does.

    python -m experiments.records --make --only papers/roitman2002
    python -m experiments.reproductions    # checks all of it again

Networks are kept in ``reproductions/records/``, in a folder for each digest of the code and settings that decide them:
work that was begun is resumed, and a change of a measure alone trains nothing. ``make papers`` does the second.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from experiments.records import stamp
from experiments.records.record import Record, Row, Rows
from ngym_cli import processes, runs
from ngym_cli.config.launch import LaunchSettings
from ngym_cli.papers import collection, controls, engine, measuring, paper_runs, results, script
from ngym_cli.papers.reproduction import claim_row
from ngym_cli.papers.verdicts import VERDICTS
from ngym_cli.sweeps import control, launchers

ROOT = Path(__file__).parents[1] / engine.REPRODUCTIONS_ROOT / "records"

#: Settings of a stage that replace those of the run.
STAGE_SETTINGS = ("task", "task_args", "timing", "rewards", "wrappers")


def make(item: str, seed: int) -> Row:
    """Train and measure one seed of a paper.

    Raises:
        RuntimeError: if a network is not trained.
    """
    processes.limit_in_worker()
    paper = collection.load(collection.library() / item)
    training_digest = stamp.digest(tasks(item), trained(item), trainings(item))
    folder = ROOT / training_digest / f"{item}-s{seed}"  # runs of code with the same behaviour only
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


def tasks(item: str) -> Iterator[str]:
    """Yield the tasks whose code decides a paper's numbers."""
    paper = collection.load(collection.library() / item)
    for name in paper.config.parts:
        settings = paper.run_settings(name)
        yield from str(settings.get("task", "RDM-v0")).split("+")
        yield from (stage["task"] for stage in settings.get("stages", ()) if "task" in stage)


def trained(item: str) -> Any:
    """Return what decides a paper's networks in addition to the code."""
    paper = collection.load(collection.library() / item)
    return {name: [paper.run_settings(name), settings.after] for name, settings in paper.config.parts.items()}


def trainings(item: str) -> Iterator[dict[str, Any]]:
    """Yield the settings of a paper's parts, stages one by one, each from initial weights."""
    paper = collection.load(collection.library() / item)
    for name in paper.config.parts:
        settings = dict(paper.run_settings(name))
        stages = settings.pop("stages", None) or [{}]
        for stage in stages:
            yield {**settings, **{key: value for key, value in stage.items() if key in STAGE_SETTINGS}}


def settings(item: str) -> Any:
    """Return what decides a paper's numbers in addition to the code: training, evaluation and measures."""
    paper = collection.load(collection.library() / item)
    measured = {claim.id: [claim.part, claim.measure, claim.control] for claim in paper.config.claims}
    evaluated = {name: definition.model_dump()["evaluations"] for name, definition in paper.config.parts.items()}
    source = stamp.plain(paper.script.path) if paper.script.path.is_file() else ""
    return [trained(item), evaluated, measured, source, *map(stamp.plain, measuring_code(paper))]


def measuring_code(paper: collection.Paper) -> list[Path]:
    """Return the modules of both packages that measure a paper: those of the controls, and what its script imports."""
    modules = {controls.__name__, paper_runs.__name__, script.__name__}
    if paper.script.path.is_file():
        modules |= {str(getattr(value, "__module__", "")) for value in vars(paper.script.module).values()}
    ours = sorted(name for name in modules if name.startswith(("neurogym.", "ngym_cli.")))
    return [Path(str(sys.modules[name].__file__)) for name in ours]


def seeds(item: str) -> int:
    """Return how many networks of each part there are."""
    return collection.load(collection.library() / item).config.seeds


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
    tasks=tasks,
    settings=settings,
    trainings=trainings,
    tables={"claims": table},
    seeds=seeds,
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
    return check(arguments.only or collection.ids(), arguments.jobs)


if __name__ == "__main__":
    sys.exit(main())
