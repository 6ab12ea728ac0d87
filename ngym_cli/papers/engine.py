"""Runs of a paper, and the sweep that makes missing runs.

The runs lie in the folder of a sweep, ``reproductions/PAPER/``. Each run is named by part, seed and a digest of the
complete configuration, so that an existing run of the same name is the run that is needed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ngym_cli import runs
from ngym_cli.config import trust
from ngym_cli.config.launch import LaunchSettings
from ngym_cli.papers.collection import Paper
from ngym_cli.sweeps import folder as sweeps
from ngym_cli.sweeps import validation
from ngym_cli.sweeps.folder import SweepFolder
from ngym_cli.sweeps.plan import Entry
from ngym_cli.sweeps.recipe import Recipe

REPRODUCTIONS_ROOT = Path("reproductions")


@dataclass(frozen=True)
class PlannedRun:
    """Run that a paper needs: a part with a seed.

    Attributes:
        part: name of the part.
        seed: the seed.
        name: name of the run folder.
        path: the run folder.
        values: the configuration.
    """

    part: str
    seed: int
    name: str
    path: Path
    values: Mapping[str, object]


def plan(
    paper: Paper, part_names: Sequence[str], seeds: Sequence[int], reproduction: Path
) -> dict[tuple[str, int], PlannedRun]:
    """Return the runs of parts, each run after the run that provides the initial weights.

    Args:
        paper: the paper.
        part_names: names of parts, in order.
        seeds: seeds of each part.
        reproduction: folder of this reproduction.

    Raises:
        UserError: if a configuration does not work.
    """
    planned: dict[tuple[str, int], PlannedRun] = {}
    digests: dict[str, str] = {}
    for part_name in part_names:
        settings, before = paper.run_settings(part_name), paper.config.parts[part_name].after
        complete = validation.completed(Recipe(run=settings), {}).config
        code = trust.files(trust.references(complete))
        text = json.dumps([complete.model_dump(exclude={"seed"}), digests.get(before or ""), code], sort_keys=True)
        digests[part_name] = hashlib.sha256(text.encode()).hexdigest()[:8]
        for seed in seeds:
            values = {**settings, "seed": seed}
            if before is not None:
                values["init_from"] = str(planned[before, seed].path.resolve())
            name = f"{part_name}-s{seed}-{digests[part_name]}"
            new_path, *existing = (
                runs.folder_for(root / sweeps.RUNS, complete.task, complete.alg, name, seed)
                for root in (reproduction, *_neighbouring_runs(reproduction))
            )
            path = new_path if is_done(new_path) else next(filter(is_done, existing), new_path)
            planned[part_name, seed] = PlannedRun(part_name, seed, name, path, values)
    return planned


def _neighbouring_runs(root: Path) -> list[Path]:
    """Return the reproductions of other papers, whose runs are reused where identical."""
    return sorted(each for each in root.parent.glob("*") if each != root and (each / sweeps.RUNS).is_dir())


def waves(paper: Paper, planned: Iterable[PlannedRun]) -> list[list[PlannedRun]]:
    """Return runs in groups without dependencies inside a group."""
    result: list[list[PlannedRun]] = []
    for each in planned:
        depth = len(paper.config.with_earlier([each.part])) - 1
        while len(result) <= depth:
            result.append([])
        result[depth].append(each)
    return result


def as_sweep(root: Path, wave: Sequence[PlannedRun], launch: LaunchSettings) -> SweepFolder:
    """Return the folder of the reproduction as a sweep of the given runs.

    Raises:
        UserError: if it is in use, or something else is there.
    """
    entries = [Entry(_job(each.name), each.name, dict(each.values)) for each in wave]
    return sweeps.listed(root, entries, Recipe(launch=launch))


def _job(name: str) -> int:
    """Return the number of a run's job, which does not depend on the other requested runs."""
    return int(hashlib.sha256(name.encode()).hexdigest()[:7], 16)


def is_done(path: Path) -> bool:
    """Return whether a run exists and is finished."""
    return (path / runs.MANIFEST).exists() and runs.RunFolder(path).manifest()["status"] == "finished"
