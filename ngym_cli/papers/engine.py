"""The runs of a paper, and the sweep that makes those that are missing.

The runs lie in the folder of a sweep, ``reproductions/PAPER/``. Each is named by its part, its seed and a digest of its
complete configuration: a run that is there under its name is the run that is asked for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ngym_cli import runs
from ngym_cli.config import trust
from ngym_cli.papers.collection import Paper
from ngym_cli.sweeps import folder as sweeps
from ngym_cli.sweeps import validation
from ngym_cli.sweeps.folder import Sweep
from ngym_cli.sweeps.plan import Entry
from ngym_cli.sweeps.recipe import LaunchSettings, Recipe

ROOT = Path("reproductions")


@dataclass(frozen=True)
class PlannedRun:
    """A run that the paper asks for: one part with one seed.

    Attributes:
        part: which.
        seed: which.
        name: of its folder.
        path: its folder.
        values: its configuration.
    """

    part: str
    seed: int
    name: str
    path: Path
    values: Mapping[str, Any]


def plan(paper: Paper, parts: Sequence[str], seeds: Sequence[int], place: Path) -> dict[tuple[str, int], PlannedRun]:
    """Return the runs of parts, each after what it begins with.

    Args:
        paper: which.
        parts: which of its parts, in order.
        seeds: of each.
        place: folder of this reproduction.

    Raises:
        UserError: if a configuration does not work.
    """
    found: dict[tuple[str, int], PlannedRun] = {}
    digests: dict[str, str] = {}
    for part in parts:
        settings, before = paper.run_settings(part), paper.config.parts[part].after
        complete = validation.completed(Recipe(run=settings), {}).config
        code = trust.files(trust.references(complete))
        text = json.dumps([complete.model_dump(exclude={"seed"}), digests.get(before or ""), code], sort_keys=True)
        digests[part] = hashlib.sha256(text.encode()).hexdigest()[:8]
        for seed in seeds:
            values = {**settings, "seed": seed}
            if before is not None:
                values["init_from"] = str(found[before, seed].path.resolve())
            name = f"{part}-s{seed}-{digests[part]}"
            own, *others = (
                runs.folder_for(root / sweeps.RUNS, complete.task, complete.alg, name, seed)
                for root in (place, *_beside(place))
            )
            path = own if is_done(own) else next(filter(is_done, others), own)
            found[part, seed] = PlannedRun(part, seed, name, path, values)
    return found


def _beside(place: Path) -> list[Path]:
    """Return the reproductions of other papers: a run of theirs that is the one asked for is used."""
    return sorted(each for each in place.parent.glob("*") if each != place and (each / sweeps.RUNS).is_dir())


def waves(paper: Paper, planned: Iterable[PlannedRun]) -> list[list[PlannedRun]]:
    """Return runs in groups; those of a group begin with none of their own group."""
    found: list[list[PlannedRun]] = []
    for each in planned:
        depth = len(paper.config.with_earlier([each.part])) - 1
        while len(found) <= depth:
            found.append([])
        found[depth].append(each)
    return found


def as_sweep(place: Path, wave: Sequence[PlannedRun], launch: LaunchSettings) -> Sweep:
    """Return the folder of the reproduction as a sweep of these runs.

    Raises:
        UserError: if it is in use, or something else is there.
    """
    entries = [Entry(_job(each.name), each.name, dict(each.values)) for each in wave]
    return sweeps.listed(place, entries, Recipe(launch=launch))


def _job(name: str) -> int:
    """Return the number of a run's job, the same whichever runs are asked for with it."""
    return int(hashlib.sha256(name.encode()).hexdigest()[:7], 16)


def is_done(path: Path) -> bool:
    """Say whether a run is there and finished."""
    if not (path / runs.MANIFEST).exists():
        return False
    return bool(runs.Run(path).manifest()["status"] == "finished")
