"""The folder of a sweep.

| file | what |
|---|---|
| `recipe.toml` | what determines the sweep |
| `list.json` | its runs: job, name, values of the parameters that differ |
| `manifest.json` | when the sweep was started |
| `runs/<task>/<alg>/<name>/` | the runs, each an ordinary run folder |
| `study.jsonl`, `drawn/*.json` | of a search: Optuna's journal, and what each trial drew |
| `errors/*.txt` | why a job failed, with the traceback |
| `slurm/` | scripts and logs of the cluster's jobs |
| `summary.parquet`, `figures/` | what came out |
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from neurogym.messages.plain_data import plain
from ngym_cli import runs
from ngym_cli.config.model import RunConfig, from_dict
from ngym_cli.config.tasks import usual_algorithm, with_recommended
from ngym_cli.config.values import Values, merge, nest
from ngym_cli.errors import InUseError, UserError, message_of, option, os_errors
from ngym_cli.files import reading, writing
from ngym_cli.files.reading import read_json
from ngym_cli.files.writing import write_json, write_text
from ngym_cli.runs import finding
from ngym_cli.sweeps import plan
from ngym_cli.sweeps import recipe as recipes
from ngym_cli.sweeps.plan import Entry
from ngym_cli.sweeps.recipe import Recipe
from ngym_cli.terminal import Row

SWEEPS_ROOT = Path("sweeps")
RECIPE, LIST, RUNS, ERRORS, DRAWN, STUDY = "recipe.toml", "list.json", "runs", "errors", "drawn", "study.jsonl"

#: Largest list of runs that is read (bytes).
LARGEST_LIST = 1 << 30


@dataclass(frozen=True)
class SweepFolder:
    """Folder of a sweep with recipe and runs."""

    path: Path
    recipe: Recipe
    entries: tuple[Entry, ...]

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path.name

    @property
    def root(self) -> Path:
        """Folder that contains all runs."""
        return self.path / RUNS

    @cached_property
    def jobs(self) -> dict[int, list[Entry]]:
        """The runs of each job."""
        jobs: dict[int, list[Entry]] = {}
        for entry in self.entries:
            jobs.setdefault(entry.job, []).append(entry)
        return jobs

    def drawn_path(self, job: int) -> Path:
        """Return the file with the parameters that a search trial drew."""
        return self.path / DRAWN / f"{job:05d}.json"

    def reported_path(self, job: int) -> Path:
        """Return the marker file that says that the study knows the result of a job's trial."""
        return self.path / DRAWN / f"{job:05d}.told"

    def drawn(self, job: int) -> Values | None:
        """Return the ``number`` and ``params`` of a job's search trial, or None before parameters are drawn."""
        path = self.drawn_path(job)
        if self.recipe.search is None or not path.is_file():
            return None
        record = read_json(path)
        if not isinstance(record, dict) or not isinstance(record.get("params"), dict):
            raise UserError(f"damaged sweep {self.path}: {path.name} holds no parameters")
        return record

    def values(self, entry: Entry) -> Values | None:
        """Return the parameters of a run that differ between runs; None until the search has drawn values."""
        if self.recipe.search is None:
            return dict(entry.values)
        drawn = self.drawn(entry.job)
        return None if drawn is None else {**drawn["params"], **entry.values}

    def config(self, values: Values) -> RunConfig:
        """Return the configuration of a run with the given values."""
        return from_dict(self.settings(values))

    def settings(self, values: Values) -> Values:
        """Return the recipe's settings of a run with the given values, as nested tables."""
        settings: Values = merge(self.recipe.run, nest(values))
        search = self.recipe.search
        if search is not None and search.pruner != "none" and "every" not in settings.get("evaluation", {}):
            steps = settings.get("timesteps")
            if steps:
                settings = merge(settings, {"evaluation": {"every": max(int(steps) // EVALUATIONS, 1)}})
        return settings

    def run_path(self, entry: Entry, values: Values) -> Path:
        """Return the folder of a run."""
        default = str(RunConfig.model_fields["task"].default)
        settings = with_recommended({**self.recipe.run, **values}, default)
        task = str(settings.get("task", default))
        return runs.folder_for(self.root, task, str(settings.get("alg") or usual_algorithm(task)), entry.name, 0)

    def error_path(self, job: int) -> Path:
        """Return the file with the error of a failed job."""
        return self.path / ERRORS / f"{job:05d}.txt"

    def error(self, job: int) -> str | None:
        """Return the error of a failed job as a single line."""
        try:
            return self.error_path(job).read_text(encoding="utf-8").partition("\n")[0]
        except OSError:
            return None


#: Evaluations per run, each of which lets a search end the run early, unless the recipe sets the interval.
EVALUATIONS = 10


def make(root: Path, name: str, recipe: Recipe) -> SweepFolder:
    """Make the folder of a sweep, return an existing sweep of the same recipe, or add the runs of a larger recipe.

    Raises:
        UserError: if the folder is of another recipe (the message lists the differences), or cannot be made.
    """
    path = root / runs.plain_name("sweep", name)
    if (path / RECIPE).is_file():
        sweep = load(path)
        entries = planned(sweep, recipe)
        if len(entries) > len(sweep.entries):
            if writing.in_use(path):
                raise InUseError(f"sweep {path} is in use by another process; enlarge the sweep when it has ended")
            _write_list(path, entries)
        if recipe != sweep.recipe:
            write_text(path / RECIPE, recipe.to_toml())
        return SweepFolder(path, recipe, tuple(entries))
    if path.exists() and any(path.iterdir()):
        raise UserError(f"{path} is not the folder of a sweep; choose another {option('--name')}")
    entries = plan.entries(recipe)
    with os_errors(f"cannot make sweep {path}"):
        _write_list(path, entries)
        write_text(path / RECIPE, recipe.to_toml())
        write_json(path / finding.MANIFEST, {"started": runs.now()})
    return SweepFolder(path, recipe, tuple(entries))


def _write_list(path: Path, entries: Iterable[Entry]) -> None:
    write_text(path / LIST, json.dumps(plain(list(entries))) + "\n")


def planned(sweep: SweepFolder, recipe: Recipe) -> Sequence[Entry]:
    """Return the runs of an existing sweep with a recipe that is the same, or larger.

    Raises:
        UserError: if the recipe is another one; the message lists the differences.
    """
    changed = recipes.differences(sweep.recipe, recipe)
    entries = plan.enlarged(sweep.recipe, sweep.entries, recipe) if changed else sweep.entries
    if entries is None:
        more = f" and {len(changed) - 4} more" if len(changed) > 4 else ""
        raise UserError(
            f"sweep {sweep.path} was made from another recipe ({'; '.join(changed[:4])}{more}), which the new recipe "
            f"does not contain; choose another {option('--name')}"
        )
    return entries


def listed(path: Path, entries: Sequence[Entry], recipe: Recipe) -> SweepFolder:
    """Make a folder of individually named runs, or add runs to such a folder.

    Runs that were listed before stay in the list, for a cluster may still be about to make them. What failed before is
    tried again.

    Args:
        path: the folder.
        entries: the runs, each with its whole configuration as its values, and a job number that no other run has.
        recipe: launch settings and common settings of the runs.

    Returns:
        The folder, with these runs alone.

    Raises:
        InUseError: if another process makes runs there.
        UserError: if something else is there, or it cannot be written.
    """
    exists = finding.kind_of(path) == "sweep"
    if not exists and path.exists() and any(path.iterdir()):
        raise UserError(f"{path} is not a folder that ngym made; nothing was written")
    if writing.in_use(path):
        raise InUseError(f"{path} is in use by another process")
    every = {entry.name: entry for entry in [*(load(path).entries if exists else ()), *entries]}
    sweep = SweepFolder(path, recipe, tuple(entries))
    with os_errors(f"cannot make {path}"):
        _write_list(path, every.values())
        write_text(path / RECIPE, recipe.to_toml())
        for entry in entries:
            sweep.error_path(entry.job).unlink(missing_ok=True)
    return sweep


def load(path: Path) -> SweepFolder:
    """Read the folder of a sweep.

    Raises:
        UserError: if it is none, or damaged.
    """
    reading.check_folder(path, unseen=(RUNS,))
    recipe = recipes.read(path / RECIPE)
    try:
        rows = reading.parse_json(reading.read_text(path / LIST, LARGEST_LIST), path / LIST)
        entries = tuple(
            Entry(int(row["job"]), runs.plain_name("sweep", str(row["name"])), dict(row["values"])) for row in rows
        )
    except FileNotFoundError:
        raise UserError(f"damaged sweep {path}: {LIST} is missing") from None
    except (OSError, ValueError, TypeError, KeyError, OverflowError) as error:
        raise UserError(f"damaged sweep {path}: {LIST}: {message_of(error)}") from None
    if not entries:
        raise UserError(f"damaged sweep {path}: {LIST} names no runs")
    return SweepFolder(path, recipe, entries)


def find(reference: str, root: Path = SWEEPS_ROOT) -> SweepFolder:
    """Return a sweep by folder, by name below ``root``, or ``latest``.

    Raises:
        UserError: if there is none, with the nearest name.
    """
    return load(finding.find("sweep", reference, root))


def named(word: str, root: Path = SWEEPS_ROOT) -> SweepFolder | None:
    """Return the sweep that a word among runs and figures refers to, by folder or name; None if no sweep matches."""
    path = None if word == finding.LATEST else finding.match("sweep", word, root)
    return None if path is None else load(path)


def describe(path: Path) -> Row:
    """Return a sweep as a row of a listing: number of finished runs and mean performance, or the error."""
    try:
        sweep = load(path)
    except UserError as error:
        return {"id": str(path), "name": path.name, "status": "damaged", "error": str(error)}
    rows = [runs.describe(run) for run in runs.find_all(sweep.root)]
    finished = [row for row in rows if row["status"] == "finished"]
    scores = [row["performance"] for row in finished if row.get("performance") is not None]
    total = len(sweep.entries)
    return {
        "id": str(sweep.path),
        "name": sweep.name,
        "status": "finished" if len(finished) >= total else "unfinished",
        "runs": f"{len(finished)} of {total}",
        "performance": sum(scores) / len(scores) if scores else None,
        "parameters": sweep.recipe.swept(),
    }
