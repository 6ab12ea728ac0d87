"""Measurement of a paper's claims on finished runs, with stored results."""

from __future__ import annotations

import hashlib
import json
import math
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ngym_cli import processes, runs
from ngym_cli.agents import threads
from ngym_cli.errors import UserError, one_line
from ngym_cli.files.reading import read_json
from ngym_cli.files.writing import write_json
from ngym_cli.papers import collection
from ngym_cli.papers.collection import Paper
from ngym_cli.papers.controls import UNTRAINED
from ngym_cli.papers.engine import PlannedRun, is_done
from ngym_cli.papers.paper_runs import PaperRun
from ngym_cli.papers.verdicts import Value

if TYPE_CHECKING:
    from ngym_cli.papers.model import ClaimConfig

#: Folder of the measurements, in the folder of the reproduction.
MEASURED = "measured"


@dataclass(frozen=True)
class ClaimResult:
    """Result of a claim for a seed: a value, or the reason for a missing value, and the values of controls by name."""

    claim: str
    seed: int
    value: Value
    why: str = ""
    controls: Mapping[str, Value] = field(default_factory=dict)


def measure_all(
    paper: Paper, claims: Sequence[str], planned: Mapping[tuple[str, int], PlannedRun], place: Path, workers: int
) -> list[ClaimResult]:
    """Measure claims on the runs that are done: each seed for itself, several at a time.

    Args:
        paper: the paper.
        claims: the claims to measure.
        planned: runs of the paper.
        place: folder of this reproduction.
        workers: number of seeds measured in parallel.

    Raises:
        UserError: if a measure fails.
    """
    seeds = sorted({seed for _, seed in planned})
    done = {key: each for key, each in planned.items() if is_done(each.path)}
    keys = {(claim, seed): _key(paper, claim, seed, done) for claim in claims for seed in seeds}
    found = {key: _read(place, *key, said) for key, said in keys.items() if said is not None}
    open_ = {seed for (_, seed), known in found.items() if known is None}
    work = [
        (str(paper.folder), seed, {part: each.path for (part, s), each in done.items() if s == seed}, place,
         {claim: keys[claim, seed] for claim in claims})
        for seed in seeds if seed in open_
    ]  # fmt: skip
    results: list[list[ClaimResult]] = []
    if len(work) > 1 and workers > 1:
        context = processes.spawn_context()
        with ProcessPoolExecutor(min(workers, len(work)), context, initializer=_begin) as pool:
            try:
                results = list(pool.map(_measure_seed, *zip(*work, strict=True)))
            except BrokenProcessPool:
                raise UserError(
                    f"{paper.id}: a process that measured its networks died; calling again goes on"
                ) from None
    else:
        results = [_measure_seed(*job) for job in work]
    fresh = {(each.claim, each.seed): each for part in results for each in part}
    return [each for key in keys if (each := fresh.get(key) or found.get(key)) is not None]


def measured_before(
    paper: Paper, claims: Sequence[str], planned: Mapping[tuple[str, int], PlannedRun], place: Path
) -> list[ClaimResult]:
    """Return stored measurements of claims; nothing is computed."""
    done = {key: each for key, each in planned.items() if is_done(each.path)}
    keys = {(claim, seed): _key(paper, claim, seed, done) for claim in claims for seed in {seed for _, seed in planned}}
    found = (_read(place, *which, key) for which, key in keys.items() if key is not None)
    return [each for each in found if each is not None]


def _begin() -> None:
    """Prepare a worker: Ctrl-C ends the worker silently and is handled by the parent."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threads.in_worker()


def _key(paper: Paper, claim_id: str, seed: int, done: Mapping[tuple[str, int], PlannedRun]) -> str | None:
    """Return a key of everything that determines a claim's value for a seed; None without a run or a measure."""
    claim = next(each for each in paper.config.claims if each.id == claim_id)
    if claim.measure is None or any((part, seed) not in done for part in claim.part):
        return None
    asked = [paper.config.parts[part].model_dump()["evaluations"] for part in claim.part]
    names = [done[part, seed].name for part in claim.part]
    measured = [claim.measure, claim.control]
    text = json.dumps([measured, names, asked, paper.script.digest, _library()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _library() -> str:
    """Return a digest of the measuring code."""
    import neurogym

    ours, toolkit = Path(__file__).parents[1], Path(neurogym.__file__).parent
    found = hashlib.sha256()
    code = [*toolkit.glob("analysis/*.py"), *ours.glob("evaluation/*.py")]
    code += [ours / "papers" / f"{name}.py" for name in ("script", "paper_runs", "measuring", "controls")]
    for path in sorted(code):
        found.update(path.read_bytes())
    return found.hexdigest()


def _file(place: Path, claim: str, seed: int) -> Path:
    return place / MEASURED / f"{claim}-s{seed}.json"


def _read(place: Path, claim: str, seed: int, key: str) -> ClaimResult | None:
    """Return an earlier measurement if code, claim and run are unchanged."""
    path = _file(place, claim, seed)
    if not path.is_file():
        return None
    said = read_json(path)
    if not isinstance(said, dict) or said.get("key") != key:
        return None
    return ClaimResult(claim, seed, said.get("value"), str(said.get("why") or ""), said.get("controls") or {})


def _measure_seed(
    folder: str, seed: int, paths: Mapping[str, Path], place: Path, keys: Mapping[str, str | None]
) -> list[ClaimResult]:
    """Measure the claims of a seed that have a key, except claims that are known already; runs in a worker."""
    threads.one()
    paper = collection.load(Path(folder))
    found: list[ClaimResult] = []
    opened = _opener(paper, seed, paths)
    for claim in paper.config.claims:
        key = keys.get(claim.id)
        if key is None:
            continue
        known = _read(place, claim.id, seed, key)
        if known is None:
            known = _measure(paper, claim, seed, [opened(part) for part in claim.part])
            known = replace(known, controls=_controls(paper, claim, seed, opened))
            kept = {"key": key, "value": known.value, "why": known.why, "controls": dict(known.controls)}
            write_json(_file(place, claim.id, seed), kept)
        found.append(known)
    return found


def _opener(paper: Paper, seed: int, paths: Mapping[str, Path]) -> Callable[..., PaperRun]:
    """Return a function that returns the run of a part, or a control of this run; each is opened once.

    Args:
        paper: the paper.
        seed: the seed.
        paths: run folder of each part.
    """

    @cache
    def opened(part: str, control: str = "") -> PaperRun:
        if control:
            return paper.script.control(control)(opened(part))
        return PaperRun.evaluated(runs.RunFolder(paths[part]), seed, paper.config.parts[part].evaluations)

    return opened


def _controls(paper: Paper, claim: ClaimConfig, seed: int, opened: Callable[..., PaperRun]) -> dict[str, Value]:
    """Return the value of a claim for each control; None where the control does not give the number."""
    found: dict[str, Value] = {}
    for name in (UNTRAINED, *claim.control):
        try:
            given = [opened(part, name) for part in claim.part]
        except ValueError as error:
            raise UserError(f"{paper.script.path}: control {name}, seed {seed}: {one_line(error)}") from error
        with suppress(UserError):  # a control may lack what the measure takes for granted, as trials of a condition
            found[name] = _measure(paper, claim, seed, given).value
        found.setdefault(name, None)
    return found


def _measure(paper: Paper, claim: ClaimConfig, seed: int, given: Sequence[PaperRun]) -> ClaimResult:
    try:
        value = paper.script.measure(str(claim.measure))(*given)
    except ValueError as error:  # the trials do not determine the number, which is itself a result
        return ClaimResult(claim.id, seed, None, f"seed {seed}: {' '.join(str(error).split())}")
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{paper.script.path}: {claim.measure}, seed {seed}: {one_line(error)}") from error
    return ClaimResult(claim.id, seed, _plain(value, paper, claim))


def _plain(value: Any, paper: Paper, claim: ClaimConfig) -> Value:
    """Return a number, or numbers by name, as plain data.

    Raises:
        UserError: if it is neither.
    """
    try:
        if isinstance(value, Mapping):
            return {_word(name): _finite(float(number)) for name, number in value.items()}
        return _finite(float(value))
    except (TypeError, ValueError):
        kind = type(value).__name__
        raise UserError(
            f"{paper.script.path}: {claim.measure} must return a number or a table of them, not {kind}"
        ) from None


def _finite(value: float) -> float | None:
    """Return a number, or None for what JSON cannot hold: a number that the trials do not determine."""
    return value if math.isfinite(value) else None


def _word(name: object) -> str:
    return f"{name:g}" if isinstance(name, float) else str(name)
