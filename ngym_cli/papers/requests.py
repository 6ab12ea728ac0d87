"""Implementation of ``ngym reproduce``, from the arguments to the last printed line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ngym_cli import runs, terminal
from ngym_cli.agents.threads import cores
from ngym_cli.config import trust
from ngym_cli.config.launch import LaunchSettings
from ngym_cli.errors import InUseError, UserError
from ngym_cli.files import locks
from ngym_cli.files.reading import read_json
from ngym_cli.files.writing import write_json
from ngym_cli.papers import collection, engine, html, measuring, results
from ngym_cli.papers.collection import Paper
from ngym_cli.papers.engine import PlannedRun
from ngym_cli.papers.measuring import ClaimResult
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns
from ngym_cli.papers.request import ReproduceRequest
from ngym_cli.papers.verdicts import Verdict, judge
from ngym_cli.sweeps import control, launchers, status

if TYPE_CHECKING:
    from ngym_cli.papers.model import ClaimConfig

CLAIMS, PAGE, FIGURES = "claims.json", "report.html", "figures"


def show(json_: bool) -> int:
    """Print the papers that there are; return the exit code."""
    rows = results.rows()
    terminal.print_json(rows) if json_ else results.print_papers(rows)
    return 0


def reproduce(request: ReproduceRequest) -> int:
    """Train the missing networks of a paper, measure claims, draw figures and return the exit code.

    Args:
        request: the paper, parts and claims (all without a word), seeds, and how networks are trained.

    Raises:
        UserError: on anything wrong in the words or in the paper's folder.
    """
    launch, trusted, json_ = request.launch, request.trust, request.as_json
    paper = collection.find(str(request.paper))
    parts, claims = paper.chosen(request.only)
    place = request.reproductions / paper.id
    code = require_trust(paper, place, trusted)
    launcher = launchers.find(launch)
    if place.exists() and locks.in_use(place):
        raise InUseError(f"{place} is in use by another process")
    everything, _ = paper.chosen([])
    seeds = range(request.first_seed, request.first_seed + (request.seeds or paper.config.seeds))
    whole = engine.plan(paper, everything, seeds, place)
    planned = {key: each for key, each in whole.items() if each.part in parts}
    rows, interrupted = _train(paper, planned, place, launch, launcher)
    if interrupted:
        terminal.console(stderr=True).print("interrupted; the same command goes on", soft_wrap=True)
        return control.INTERRUPTED
    if planned and not any(engine.is_done(each.path) for each in planned.values()):
        _print_failures(rows)
        return 1
    workers = launch.workers if launch.on == "local" and launch.workers else cores()
    found = measuring.measure_all(paper, claims, planned, place, workers)
    found += measuring.measured_before(paper, [c.id for c in paper.config.claims if c.id not in claims], whole, place)
    document = finish(paper, whole, found, place, code)
    document["claims"] = [row for row in document["claims"] if row["id"] in claims]
    if json_:
        terminal.print_json(document)
    else:
        results.print_claims(document, place / PAGE)
    _print_failures(rows)
    return 1 if any(row["state"] == "failed" for row in rows) else 0


def require_trust(paper: Paper, place: Path, trusted: bool) -> trust.Code | None:
    """Refuse the code of a user's own paper unless the code is trusted or was used here before.

    Returns:
        What the record of the reproduction says of the code, so that it is known the next time.

    Raises:
        UserError: names the first piece of code, and how to allow it.
    """
    names = collection.code_of(paper)
    if not paper.own or not names:
        return None
    records = (place / CLAIMS, paper.folder / collection.MADE_HERE)
    known: set[str] = set()
    for record in records if paper.folder.resolve().is_relative_to(Path.cwd().resolve()) else ():
        said = read_json(record) if record.is_file() else None
        known |= set(trust.unchanged_references(said.get("code") if isinstance(said, dict) else None))
    for name in names:
        if not trusted and name not in known:
            raise UserError(
                f"{paper.folder} holds {name.rpartition(':')[0] or name}, which is code that was not run here before, "
                "or has changed since; say --trust if you know it"
            )
    return trust.signed(names)


def _train(
    paper: Paper,
    planned: Mapping[tuple[str, int], PlannedRun],
    place: Path,
    launch: LaunchSettings,
    launcher: launchers.Launcher,
) -> tuple[list[status.RunRow], bool]:
    """Train the missing networks, prerequisites first; return the state of all runs."""
    err = terminal.console(stderr=True)
    done = sum(engine.is_done(each.path) for each in planned.values())
    err.print(f"{paper.id}: {done} of {len(planned)} networks are trained; {place}", soft_wrap=True)
    if done == len(planned):
        return [], False
    rows: list[status.RunRow] = []
    here = [each for each in planned.values() if each.path.is_relative_to(place)]  # other runs are complete
    for wave in filter(None, engine.waves(paper, here)):
        found, interrupted = control.do_jobs(engine.as_sweep(place, wave, launch), launcher, True)
        rows += found
        if interrupted:
            return rows, True
    return rows, False


def _print_failures(rows: Sequence[status.RunRow]) -> None:
    err = terminal.console(stderr=True)
    for row in rows:
        if row["state"] == "failed":
            err.print(f"failed: {row['name']}: {row['error']}", style="red", soft_wrap=True)


def finish(
    paper: Paper,
    planned: Mapping[tuple[str, int], PlannedRun],
    found: Sequence[ClaimResult],
    place: Path,
    code: trust.Code | None,
) -> terminal.Row:
    """Judge claims, draw the figures, write ``claims.json`` and the page; return the content of the file.

    The file and the page are of all that is known of the paper, whatever part of it was asked for now. What was drawn
    from the same numbers and code before is left as it is.
    """
    verdicts = {
        claim.id: judge(
            claim,
            {each.seed: each.value for each in found if each.claim == claim.id},
            [each.why for each in found if each.claim == claim.id and each.why],
            results.by_control({each.seed: each.controls for each in found if each.claim == claim.id}),
        )
        for claim in paper.config.claims
    }
    trained = [each for each in planned.values() if engine.is_done(each.path)]
    document: terminal.Row = {
        "id": paper.id,
        "title": paper.config.title,
        "citation": paper.config.citation,
        "doi": paper.config.doi,
        "seeds": sorted({each.seed for each in trained}),
        "claims": [claim_row(claim, verdicts[claim.id]) for claim in paper.config.claims],
        "runs": [{"part": each.part, "seed": each.seed, "id": str(each.path)} for each in trained],
        "code": code,
    }
    source = json.dumps(paper.config.model_dump(), sort_keys=True, default=str)
    made = hashlib.sha256(json.dumps([document, paper.script.digest, source], sort_keys=True).encode())
    document["digest"] = made.hexdigest()[:16]
    old = read_json(place / CLAIMS) if (place / CLAIMS).is_file() else {}
    if isinstance(old, dict) and old.get("digest") == document["digest"] and (place / PAGE).is_file():
        return old
    given = PaperRuns(paper.folder, paper.config, _opened(paper, trained), verdicts)
    figures, left_out = html.draw(paper, given, place / FIGURES)
    html.write(place / PAGE, paper, document, figures, left_out)
    document["figures"] = [str(place / FIGURES / f"{figure['id']}.png") for figure in figures]
    document["not_drawn"] = [{"figure": name, "why": why} for name, why in left_out]
    write_json(place / CLAIMS, document)
    return read_json(place / CLAIMS)


def _opened(paper: Paper, trained: Sequence[PlannedRun]) -> dict[str, list[PaperRun]]:
    found: dict[str, list[PaperRun]] = {}
    for each in sorted(trained, key=lambda run: run.seed):
        requested = paper.config.parts[each.part].evaluations
        found.setdefault(each.part, []).append(PaperRun(runs.RunFolder(each.path), each.seed, requested))
    return found


def claim_row(claim: ClaimConfig, verdict: Verdict) -> terminal.Row:
    """Return a claim with the result, as stored in ``claims.json``."""
    told = claim.model_dump(exclude_none=True, exclude={"part", "measure", "control"})
    return {**told, "part": claim.part, "measure": claim.measure, **{
        "verdict": verdict.state, "numbers": verdict.numbers, "why": verdict.why,
        "held": verdict.held, "of": verdict.of, "controls": verdict.controls, "passed": list(verdict.passed),
    }}  # fmt: skip
