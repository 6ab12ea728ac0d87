"""Measurement of a paper's claims on finished runs, with stored results."""

from __future__ import annotations

import hashlib
import json
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import neurogym
from neurogym.analysis.results import UndeterminedError
from neurogym.messages.plain_data import plain
from ngym_cli import processes, runs
from ngym_cli.errors import DivergedError, UserError, one_line
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
MEASUREMENTS_FOLDER = "measured"


@dataclass(frozen=True)
class ClaimResult:
    """Result of a claim for a seed: a value, or the reason for a missing value, and the values of controls by name.

    Attributes:
        claim: id of the claim.
        seed: the seed.
        value: the value; None if the measure refused.
        reason: reason of the refusal.
        controls: value of each control; None if the measure refused.
        refusals: reason of each refusal of a control, by control.
    """

    claim: str
    seed: int
    value: Value
    reason: str = ""
    controls: Mapping[str, Value] = field(default_factory=dict)
    refusals: Mapping[str, str] = field(default_factory=dict)


def measure_all(
    paper: Paper, claims: Sequence[str], planned: Mapping[tuple[str, int], PlannedRun], root: Path, workers: int
) -> list[ClaimResult]:
    """Measure claims on the runs that are done: each seed for itself, several at a time.

    Args:
        paper: the paper.
        claims: the claims to measure.
        planned: runs of the paper.
        root: folder of this reproduction.
        workers: number of seeds measured in parallel.

    Raises:
        UserError: if a measure fails.
    """
    finished, keys, stored = _known(paper, claims, planned, root)
    open_ = {seed for (_, seed), result in stored.items() if result is None}
    work = [
        (
            str(paper.folder),
            seed,
            {name: each.path for (name, s), each in finished.items() if s == seed},
            root,
            {claim: keys[claim, seed] for claim in claims},
        )
        for seed in sorted(open_)
    ]
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
    fresh = {(each.claim, each.seed): each for part_name in results for each in part_name}
    return [each for key in keys if (each := fresh.get(key) or stored.get(key)) is not None]


def measured_before(
    paper: Paper, claims: Sequence[str], planned: Mapping[tuple[str, int], PlannedRun], root: Path
) -> list[ClaimResult]:
    """Return stored measurements of claims; nothing is computed."""
    return [each for each in _known(paper, claims, planned, root)[2].values() if each is not None]


def _known(
    paper: Paper, claims: Sequence[str], planned: Mapping[tuple[str, int], PlannedRun], root: Path
) -> tuple[dict[tuple[str, int], PlannedRun], dict[tuple[str, int], str | None], dict[Any, ClaimResult | None]]:
    """Return the finished runs, and the key and the stored result of each claim and seed."""
    finished = {key: each for key, each in planned.items() if is_done(each.path)}
    pairs = [(claim, seed) for claim in claims for seed in sorted({seed for _, seed in planned})]
    keys = {pair: _key(paper, *pair, finished) for pair in pairs}
    return finished, keys, {pair: _read(root, *pair, key) for pair, key in keys.items() if key is not None}


def _begin() -> None:
    """Prepare a worker: Ctrl-C ends the worker silently and is handled by the parent."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    processes.limit_in_worker()


def _key(paper: Paper, claim_id: str, seed: int, finished: Mapping[tuple[str, int], PlannedRun]) -> str | None:
    """Return a key of everything that determines a claim's value for a seed; None without a run or a measure."""
    claim = next(each for each in paper.config.claims if each.id == claim_id)
    if claim.measure is None or any((part_name, seed) not in finished for part_name in claim.part):
        return None
    evaluations = [paper.config.parts[part_name].model_dump()["evaluations"] for part_name in claim.part]
    names = [finished[part_name, seed].name for part_name in claim.part]
    measured = [claim.measure, claim.control]
    text = json.dumps([measured, names, evaluations, paper.script.digest, _library()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _library() -> str:
    """Return a digest of the measuring code."""
    ours, toolkit = Path(__file__).parents[1], Path(neurogym.__file__).parent
    digest = hashlib.sha256()
    code = [path for name in ("analysis", "dynamics") for path in toolkit.glob(f"{name}/*.py")]
    code += [path for name in ("agents", "environments", "evaluation") for path in ours.glob(f"{name}/*.py")]
    code += [ours / "papers" / f"{name}.py" for name in ("script", "paper_runs", "measuring", "controls")]
    code.append(ours / "figures" / "source.py")
    for path in sorted(code):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _file(root: Path, claim: str, seed: int) -> Path:
    return root / MEASUREMENTS_FOLDER / f"{claim}-s{seed}.json"


def _read(root: Path, claim: str, seed: int, key: str) -> ClaimResult | None:
    """Return an earlier measurement if code, claim and run are unchanged."""
    path = _file(root, claim, seed)
    if not path.is_file():
        return None
    record = read_json(path)
    if not isinstance(record, dict) or record.get("key") != key:
        return None
    reasons = str(record.get("why") or ""), record.get("controls") or {}, record.get("refusals") or {}
    return ClaimResult(claim, seed, record.get("value"), *reasons)


def _measure_seed(
    folder: str, seed: int, paths: Mapping[str, Path], root: Path, keys: Mapping[str, str | None]
) -> list[ClaimResult]:
    """Measure the claims of a seed that have a key, except claims that are known already; runs in a worker."""
    processes.limit_libraries()
    paper = collection.load(Path(folder))
    results: list[ClaimResult] = []
    opened = _opener(paper, seed, paths)
    for claim in paper.config.claims:
        key = keys.get(claim.id)
        if key is None:
            continue
        result = _read(root, claim.id, seed, key)
        if result is None:
            result = _measure(paper, claim, seed, [opened(part_name) for part_name in claim.part])
            controls = _controls(paper, claim, seed, opened)
            values = {name: each.value for name, each in controls.items()}
            refusals = {name: each.reason for name, each in controls.items() if each.reason}
            result = replace(result, controls=values, refusals=refusals)
            record = {"key": key, "value": result.value, "why": result.reason, "controls": values, "refusals": refusals}
            write_json(_file(root, claim.id, seed), record)
        results.append(result)
    return results


def _opener(paper: Paper, seed: int, paths: Mapping[str, Path]) -> Callable[..., PaperRun]:
    """Return a function that returns the run of a part, or a control of this run; each is opened once.

    Args:
        paper: the paper.
        seed: the seed.
        paths: run folder of each part.
    """

    @cache
    def opened(part_name: str, control: str = "") -> PaperRun:
        if control:
            return paper.script.control(control)(opened(part_name))
        return PaperRun.evaluated(runs.RunFolder(paths[part_name]), seed, paper.config.parts[part_name].evaluations)

    return opened


def _controls(paper: Paper, claim: ClaimConfig, seed: int, opened: Callable[..., PaperRun]) -> dict[str, ClaimResult]:
    """Return the result of a claim for each control.

    Raises:
        UserError: if a control cannot be made, or its measure fails other than by a refusal.
    """
    results = {}
    for name in dict.fromkeys((UNTRAINED, *claim.control)):
        try:
            paper_runs = [opened(part_name, name) for part_name in claim.part]
        except DivergedError as error:
            results[name] = _refused(claim, seed, error)
            continue
        except ValueError as error:
            raise UserError(f"{paper.script.path}: control {name}, seed {seed}: {one_line(error)}") from error
        results[name] = _measure(paper, claim, seed, paper_runs, name)
    return results


def _measure(
    paper: Paper, claim: ClaimConfig, seed: int, paper_runs: Sequence[PaperRun], control: str = ""
) -> ClaimResult:
    """Return the result of a measure; a refusal (`UndeterminedError`, `DivergedError`) is a result without a value.

    Raises:
        UserError: if the measure fails in any other way.
    """
    try:
        value = paper.script.measure(str(claim.measure))(*paper_runs)
    except (UndeterminedError, DivergedError) as error:
        return _refused(claim, seed, error)
    except UserError:
        raise
    except Exception as error:
        of = f" of control {control}" if control else ""
        raise UserError(f"{paper.script.path}: {claim.measure}{of}, seed {seed}: {one_line(error)}") from error
    return ClaimResult(claim.id, seed, _checked(value, paper, claim))


def _refused(claim: ClaimConfig, seed: int, error: Exception) -> ClaimResult:
    return ClaimResult(claim.id, seed, None, f"seed {seed}: {' '.join(str(error).split())}")


def _checked(value: Any, paper: Paper, claim: ClaimConfig) -> Value:
    """Return a number, or numbers by name, as plain data; None is a number that the trials do not determine.

    Raises:
        UserError: if it is neither.
    """
    try:
        is_table = isinstance(value, Mapping)
        number: Value = plain({_word(k): float(v) for k, v in value.items()} if is_table else float(value))
        return number
    except (TypeError, ValueError):
        kind = type(value).__name__
        raise UserError(
            f"{paper.script.path}: {claim.measure} must return a number or a table of them, not {kind}"
        ) from None


def _word(name: object) -> str:
    return f"{name:g}" if isinstance(name, float) else str(name)
