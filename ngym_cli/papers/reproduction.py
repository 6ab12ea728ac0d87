"""Implementation of ``ngym reproduce``, from the arguments to the last printed line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ngym_cli import runs, terminal
from ngym_cli.config import trust
from ngym_cli.config.launch import LaunchSettings
from ngym_cli.errors import InUseError, UserError, option
from ngym_cli.files import writing
from ngym_cli.files.outputs import may_write
from ngym_cli.files.reading import read_json
from ngym_cli.files.writing import write_json
from ngym_cli.papers import collection, engine, html, measuring, results
from ngym_cli.papers.collection import Paper
from ngym_cli.papers.engine import PlannedRun
from ngym_cli.papers.measuring import ClaimResult
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns
from ngym_cli.papers.request import ReproduceRequest
from ngym_cli.papers.verdicts import Verdict, judge
from ngym_cli.processes import cores
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
    part_names, claims = paper.chosen(request.only)
    root = request.reproductions / paper.id
    may_write(root / PAGE, named=False)
    code = require_trust(paper, root, trusted)
    launcher = launchers.find(launch)
    if root.exists() and writing.in_use(root):
        raise InUseError(f"{root} is in use by another process")
    everything, _ = paper.chosen([])
    seeds = range(request.first_seed, request.first_seed + (request.seeds or paper.config.seeds))
    all_runs = engine.plan(paper, everything, seeds, root)
    planned = {key: each for key, each in all_runs.items() if each.part in part_names}
    rows, interrupted = _train(paper, planned, root, launch, launcher)
    if interrupted:
        terminal.console(stderr=True).print("interrupted; the same command goes on", soft_wrap=True)
        return control.INTERRUPTED_CODE
    if planned and not any(engine.is_done(each.path) for each in planned.values()):
        _print_failures(rows)
        return 1
    workers = launch.workers if launch.on == "local" and launch.workers else cores()
    measured = measuring.measure_all(paper, claims, planned, root, workers)
    other_claims = [claim.id for claim in paper.config.claims if claim.id not in claims]
    measured += measuring.measured_before(paper, other_claims, all_runs, root)
    document = finish(paper, all_runs, measured, root, code)
    document["claims"] = [row for row in document["claims"] if row["id"] in claims]
    if json_:
        terminal.print_json(document)
    else:
        results.print_claims(document, root / PAGE)
    _print_failures(rows)
    return 1 if any(row["state"] == "failed" for row in rows) else 0


def require_trust(paper: Paper, root: Path, trusted: bool) -> trust.Code | None:
    """Refuse the code of a user's own paper unless the code is trusted or was used here before.

    Returns:
        What the record of the reproduction says of the code, so that it is known the next time.

    Raises:
        UserError: names the first piece of code, and how to allow it.
    """
    names = collection.code_of(paper)
    if not paper.is_custom or not names:
        return None
    records = (root / CLAIMS, paper.folder / collection.MADE_HERE)
    unchanged: set[str] = set()
    for record in records if paper.folder.resolve().is_relative_to(Path.cwd().resolve()) else ():
        content = read_json(record) if record.is_file() else None
        unchanged |= set(trust.unchanged_references(content.get("code") if isinstance(content, dict) else None))
    for name in names:
        if not trusted and name not in unchanged:
            raise UserError(
                f"{paper.folder} holds {name.rpartition(':')[0] or name}, which is code that was not run here before, "
                f"or has changed since; pass {option('--trust')} if you trust its author"
            )
    return trust.signed(names)


def _train(
    paper: Paper,
    planned: Mapping[tuple[str, int], PlannedRun],
    root: Path,
    launch: LaunchSettings,
    launcher: launchers.Launcher,
) -> tuple[list[status.RunRow], bool]:
    """Train the missing networks, prerequisites first; return the state of all runs."""
    err = terminal.console(stderr=True)
    n_finished = sum(engine.is_done(each.path) for each in planned.values())
    err.print(f"{paper.id}: {n_finished} of {len(planned)} networks are trained; {root}", soft_wrap=True)
    if n_finished == len(planned):
        return [], False
    rows: list[status.RunRow] = []
    local_runs = [each for each in planned.values() if each.path.is_relative_to(root)]  # other runs are complete
    for wave in filter(None, engine.waves(paper, local_runs)):
        measured, interrupted = control.do_jobs(engine.as_sweep(root, wave, launch), launcher, True)
        rows += measured
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
    measured: Sequence[ClaimResult],
    root: Path,
    code: trust.Code | None,
) -> terminal.Row:
    """Judge claims, draw the figures, write ``claims.json`` and the page; return the content of the file.

    The file and the page are of all that is known of the paper, whatever part of it was asked for now. What was drawn
    from the same numbers and code before is left as it is.
    """
    verdicts = {
        claim.id: judge(
            claim,
            {each.seed: each.value for each in measured if each.claim == claim.id},
            [each.reason for each in measured if each.claim == claim.id and each.reason],
            results.by_control({each.seed: each.controls for each in measured if each.claim == claim.id}),
            results.first_reasons(each.refusals for each in measured if each.claim == claim.id),
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
    identity = hashlib.sha256(json.dumps([document, paper.script.digest, source], sort_keys=True).encode())
    document["digest"] = identity.hexdigest()[:16]
    old = read_json(root / CLAIMS) if (root / CLAIMS).is_file() else {}
    if isinstance(old, dict) and old.get("digest") == document["digest"] and (root / PAGE).is_file():
        return old
    paper_runs = PaperRuns(paper.folder, paper.config, _opened(paper, trained), verdicts)
    figures, left_out = html.draw(paper, paper_runs, root / FIGURES)
    html.write(root / PAGE, paper, document, figures, left_out)
    document["figures"] = [str(root / FIGURES / f"{figure['id']}.png") for figure in figures]
    document["not_drawn"] = [{"figure": name, "why": reason} for name, reason in left_out]
    write_json(root / CLAIMS, document)
    return read_json(root / CLAIMS)


def _opened(paper: Paper, trained: Sequence[PlannedRun]) -> dict[str, list[PaperRun]]:
    runs_by_part: dict[str, list[PaperRun]] = {}
    for each in sorted(trained, key=lambda run: run.seed):
        requested = paper.config.parts[each.part].evaluations
        runs_by_part.setdefault(each.part, []).append(PaperRun(runs.RunFolder(each.path), each.seed, requested))
    return runs_by_part


def claim_row(claim: ClaimConfig, verdict: Verdict) -> terminal.Row:
    """Return a claim with the result, as stored in ``claims.json``."""
    settings = claim.model_dump(exclude_none=True, exclude={"part", "measure", "control"})
    return {
        **settings,
        "part": claim.part,
        "measure": claim.measure,
        "verdict": verdict.state,
        "numbers": verdict.numbers,
        "why": verdict.reason,
        "held": verdict.n_meeting,
        "of": verdict.of,
        "controls": verdict.controls,
        "passed": list(verdict.passed),
        "silent": verdict.silent,
    }
