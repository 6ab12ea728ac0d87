"""Sweeps and reproductions of papers from Python, with results as tables."""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from ngym_cli import processes
from ngym_cli.api import running, settings
from ngym_cli.api.keywords import dictionary, request_of, settings_of, simple, stages_of, takes
from ngym_cli.api.references import refuse_while_importing
from ngym_cli.api.settings import DataTable
from ngym_cli.api.trained import Run
from ngym_cli.api.wording import NearestAttribute
from ngym_cli.config.fields import checked
from ngym_cli.config.launch import LaunchSettings
from ngym_cli.errors import UserError
from ngym_cli.files.reading import read_json
from ngym_cli.papers.request import ReproduceRequest
from ngym_cli.runs import MANIFEST
from ngym_cli.sweeps.recipe import SweepRequest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ngym_cli.api.options import ReproduceOptions, SweepOptions
    from ngym_cli.sweeps.folder import SweepFolder
    from ngym_cli.sweeps.results import BestSetting
    from ngym_cli.sweeps.status import RunRow

logger = logging.getLogger(__name__)


def _task_of(arguments: Mapping[str, Any]) -> object:
    """Return the task of a sweep."""
    base = arguments.get("base")
    return arguments.get("task") or (base.get("task") if isinstance(base, Mapping) else None)


@takes(SweepRequest, ("what", "sweep", "detach", "search."), _task_of)
def sweep(
    base: Mapping[str, object] | Run | str | Path | None = None,
    *,
    stages: Sequence[Mapping[str, Any]] | None = None,
    search: Mapping[str, object] | int | None = None,
    **options: Unpack[SweepOptions],
) -> Sweep:
    """Train many agents and return the sweep; the same call again continues an interrupted sweep.

    Args:
        base: settings that all runs share: a dictionary with the arguments of `train`, a run, or a recipe (TOML file).
        stages: stages of a curriculum, the same for all runs.
        search: settings of a search with Optuna: ``trials``, ``space`` (as in ``{"learning_rate": "log:1e-4:1e-2",
            "network": ["lstm", "gru"]}``), ``maximize``, ``sampler``, ``pruner``, ``seed``.
        **options: options of ``ngym sweep``; a list or range varies an argument of `train`, in dictionaries each entry;
            ``zip`` has groups of arguments that change together, as in ``[("units", "timesteps")]``.

    Raises:
        UserError: on anything wrong in the settings.

    Example:
        >>> sweep({"task": "RDM-v0"}, network=["lstm", "gru"], seed=range(5)).results  # doctest: +SKIP
    """
    from ngym_cli.sweeps import control, results

    refuse_while_importing()
    processes.limit_libraries()
    file = Path(base) if isinstance(base, str | Path) else None
    request = request_of(SweepRequest, options, ("search.",))
    checked(LaunchSettings, request.launch, typed=True)
    tables = request.tables()
    if search is not None:
        tables["search"] = _search(search)
    if isinstance(base, Run):
        tables["run"] = tomllib.loads(base.config.to_toml())
    elif base is not None and file is None:
        tables["run"] = settings_of(dictionary("base", base))
    varied = {**request.varied, **({} if stages is None else {"stages": [stages_of(stages)]})}
    recipe = control.make_recipe(file, tables, varied, request.trust)
    name = control.name_of(recipe, request.name, file)
    sweep_folder, launcher = control.open_sweep(recipe, name, request.sweeps_root)
    rows, interrupted = control.do_jobs(sweep_folder, launcher, trust=True)
    results.write(sweep_folder, rows)
    if interrupted:
        raise KeyboardInterrupt(f"sweep {sweep_folder.path} was interrupted; the same call continues")
    return Sweep(sweep_folder.path)


def _search(search: Mapping[str, object] | int) -> dict[str, object]:
    """Return the settings of a search in the form of a recipe; a list of values in the space is a choice."""
    table: Mapping[str, object] = {"trials": search} if isinstance(search, int) else search
    values = dict(simple(dictionary("search", table)))
    if isinstance(space := values.get("space"), Mapping):
        values["space"] = {
            name: f"choice:{':'.join(map(str, choice))}" if isinstance(choice, list) else choice
            for name, choice in space.items()
        }
    return values


class Sweep(NearestAttribute):
    """Sweep with runs and results.

    Args:
        path: folder of the sweep, its name, or ``latest``.

    Attributes:
        path: folder of the sweep.
    """

    def __init__(self, path: str | Path):
        from ngym_cli.sweeps import folder

        self.path = folder.find(str(path)).path

    @cached_property
    def _rows(self) -> tuple[SweepFolder, list[RunRow]]:
        from ngym_cli.sweeps import folder, status

        sweep_folder = folder.load(self.path)
        return sweep_folder, status.StatusReader(sweep_folder).rows()

    @property
    def name(self) -> str:
        """Name of the sweep."""
        return self.path.name

    @property
    def results(self) -> DataTable:
        """Results with a row per run, as a pandas.DataFrame, or a pyarrow.Table where pandas is not installed."""
        from ngym_cli.sweeps import results

        return settings.frame_of_rows(results.table(*self._rows))

    @property
    def settings(self) -> DataTable:
        """Results with a row per setting: mean performance and intervals over seeds."""
        from ngym_cli.sweeps import results

        return settings.frame_of_rows([simple(row) for row in results.settings(self._rows[1])])

    @property
    def runs(self) -> list[Run]:
        """Runs that have begun."""
        started = (row["id"] for row in self._rows[1] if row["id"] and (Path(row["id"]) / MANIFEST).is_file())
        return [Run(path, trust=True) for path in started]

    @property
    def status(self) -> dict[str, int]:
        """Number of runs in each state: queued, running, interrupted, done, pruned, failed."""
        from ngym_cli.sweeps import status

        return status.counts(self._rows[1])

    @property
    def best(self) -> BestSetting | None:
        """Setting with the highest mean over seeds, None before a run is done.

        ``best["values"]`` are its parameters, ``best["spread"]`` is the interval of the mean, or the scores of few
        seeds, in words; ``train(config=best["config"])`` trains with it.
        """
        from ngym_cli.sweeps import control

        return control.result(*self._rows)["best"]

    @property
    def importance(self) -> dict[str, float]:
        """Importance of each parameter of a search; empty where scores do not differ."""
        from ngym_cli.sweeps import control

        return control.result(*self._rows)["importance"]

    @property
    def figures(self) -> list[str]:
        """Names of the figures of sweeps."""
        from ngym_cli.sweeps import figures

        return [*figures.FIGURE_NAMES, *figures.ON_REQUEST]

    @takes()
    def plot(
        self,
        figure: str | None = None,
        *,
        by: str | Sequence[str] | None = None,
        style: str = "screen",
        outside: Sequence[str] = (),
    ) -> Figure:
        """Draw a figure.

        Args:
            figure: performance (the default), learning, search (its default), degeneracy or recording.
            by: parameters to draw by, as a list or separated by commas; by default all that differ.
            style: ``screen`` or ``paper``.
            outside: conditions outside of training, for ``degeneracy``.

        Raises:
            UserError: if the figure does not exist or cannot be drawn, with the reason.
        """
        from ngym_cli.sweeps import figures
        from ngym_cli.sweeps.degeneracy import OutsideTraining

        folder, _ = self._rows
        name = figure or ("performance" if folder.recipe.search is None else "search")
        conditions = OutsideTraining(list(outside), True, logger.info)
        return running.shown(figures.figure_of(folder, name, by, style, conditions))

    @takes()
    def report(self, out: str | Path | None = None) -> Path:
        """Write an HTML page about the sweep and return its path.

        Args:
            out: file (default: ``report.html`` in the folder of the sweep); replaced if present.
        """
        from ngym_cli.sweeps import report

        return report.report(self._rows[0], Path(out) if out else None, overwrite=True)

    def __repr__(self) -> str:
        """Return the states of the runs and the best setting in one line."""
        rows, best = self._rows[1], self.best
        states = ", ".join(f"{n} {state}" for state, n in self.status.items() if n and state != "done")
        words = [f"{self.status['done']} of {len(rows)} runs done", states]
        if best is not None:
            values = ", ".join(f"{key}={value}" for key, value in best["values"].items())
            words.append(f"{f'best {values}:' if values else 'mean'} {best['mean']:.3f} ({best['spread']})")
        return f"<Sweep {self.path}: {'; '.join(filter(None, words))}>"

    def _repr_html_(self) -> str:
        return settings.html_of_table(repr(self)[1:-1], self.settings)


@overload
def reproduce(paper: None = None) -> DataTable: ...


@overload
def reproduce(
    paper: str,
    only: str | Sequence[str] = (),
    *,
    reproductions: str | Path = "reproductions",
    trust: bool = False,
    **request: Unpack[ReproduceOptions],
) -> Reproduction: ...


@takes(ReproduceRequest)
def reproduce(
    paper: str | None = None,
    only: str | Sequence[str] = (),
    *,
    reproductions: str | Path = "reproductions",
    trust: bool = False,
    **request: Unpack[ReproduceOptions],
) -> Reproduction | DataTable:
    """Repeat the experiments of a paper, test the paper's claims, and return the outcome.

    Args:
        paper: name of a paper, or folder of your own; without it, all papers are listed.
        only: part or claim, or several; all by default.
        reproductions: folder of all reproductions.
        trust: trust the code in the folder of your own paper.
        **request: options of ``ngym reproduce``.

    Raises:
        UserError: if the paper does not exist, or no network could be trained.
        KeyboardInterrupt: if interrupted; the same call continues.
    """
    processes.limit_libraries()
    from ngym_cli.papers import collection, reproduction, results
    from ngym_cli.sweeps import control

    keywords = {"paper": paper, "only": only, "reproductions": reproductions, "trust": trust, **request}
    read = request_of(ReproduceRequest, keywords)
    if paper is None:
        return settings.frame_of_rows([{**row} for row in results.rows()])
    code = reproduction.reproduce(read)
    if code == control.INTERRUPTED_CODE:
        raise KeyboardInterrupt("interrupted; the same call continues")
    folder = read.reproductions / collection.find(paper).id
    if not (folder / reproduction.CLAIMS).is_file():
        raise UserError(f"{paper}: no network was trained; see the messages above")
    return Reproduction(folder)


class Reproduction(NearestAttribute):
    """Outcome of the reproduction of a paper.

    Args:
        path: folder of the reproduction.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)

    @property
    def document(self) -> dict[str, Any]:
        """Everything that was found, as in ``claims.json``."""
        from ngym_cli.papers.reproduction import CLAIMS

        return dict(read_json(self.path / CLAIMS))

    @property
    def claims(self) -> DataTable:
        """Claims with results, a row each, as a pandas.DataFrame, or a pyarrow.Table where pandas is not installed."""
        plain = (str, int, float, bool, type(None))
        rows = [{k: v for k, v in row.items() if isinstance(v, plain)} for row in self.document["claims"]]
        return settings.frame_of_rows(rows)

    def __repr__(self) -> str:
        """Return a short description."""
        return f"<Reproduction {self.path}: {len(self.document['claims'])} claims>"
