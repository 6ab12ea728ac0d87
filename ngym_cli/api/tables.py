"""Tables of behaviour from Python: descriptions of data, and fits as objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from neurogym.behaviour.reading import TableSource
from ngym_cli import runs
from ngym_cli.api import settings
from ngym_cli.api.training import simulate
from ngym_cli.api.wording import in_python_words
from ngym_cli.config.keywords import read_keywords, with_keywords
from ngym_cli.files.reading import read_parquet
from ngym_cli.fitting.description import Description, columns_of, describe_table, description_of
from ngym_cli.fitting.folder import TRIALS, FitFolder, FitRecord, find, ranked
from ngym_cli.fitting.request import DataRequest, FitRequest
from ngym_cli.fitting.stored_tables import paths_of, stored_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ngym_cli.api.options import DataOptions, FitOptions, SimulateOptions
    from ngym_cli.api.trained import Run
    from ngym_cli.fitting.requests import FitHooks


@in_python_words
@with_keywords(DataRequest, without=("out", "format", "subjects_shown", "full"))
def data(table: TableSource, **request: Unpack[DataOptions]) -> Description:
    """Describe a table of choices, as ``ngym data``.

    Args:
        table: DataFrame, dict of arrays, list of dicts, ``pyarrow.Table``, path, or list of paths.
        **request: options of ``ngym data``.

    Returns:
        A `Description` with ``reading`` (what each column was read as), ``subjects`` (statistics), ``table``,
        ``plot()`` and ``save_columns()``.

    Raises:
        UserError: if the table is unfit.

    Example:
        >>> found = data({"choice": [0, 1, 1, 0], "reward": [1, 0, 1, 1]})
        >>> found.subjects[0].trials
        4
    """
    paths = paths_of(table)
    if paths:
        return description_of(read_keywords(DataRequest, {**request, "table": paths}))
    read = read_keywords(DataRequest, {**request, "table": [Path("table")]})
    description = describe_table(table, read.roles, columns_of(read), read.by, "table", **read.reading())
    if read.save_columns is not None:
        description.save_columns(read.save_columns)
    return description


class Fit(Mapping[str, Any]):
    """Models fitted to a table of behaviour; also the record in ``fit.json``, as a mapping.

    Args:
        path: folder of the fit, its name, or ``latest``.

    Attributes:
        path: folder of the fit.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path) if Path(path).is_dir() else find(str(path), runs.RUNS_ROOT).path

    @cached_property
    def record(self) -> FitRecord:
        """Content of ``fit.json``, and the folder as ``path``."""
        return {**FitFolder(self.path).finished(), "path": str(self.path)}

    def __getitem__(self, key: str) -> Any:
        """Return an entry of the record."""
        return self.record[key]  # type: ignore[literal-required]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys of the record."""
        return iter(self.record)

    def __len__(self) -> int:
        """Return the number of entries of the record."""
        return len(self.record)

    @property
    def models(self) -> list[str]:
        """Labels of the models, the best held-out score first."""
        return [label for label in ranked(self.record["scores"]) if label in self.record["models"]]

    @property
    def scores(self) -> settings.DataTable:
        """Held-out scores, a row for each model, the best first: mean log-likelihood of a choice and its interval."""
        rows = []
        for label in ranked(self.record["scores"]):
            score = self.record["scores"][label]
            row: dict[str, object] = {"model": label, **_cells("log_likelihood", score["log_likelihood"])}
            row |= _cells("probability", score["probability"]) | _cells("against_best", score["against_best"])
            rows.append({**row, "trials": score["trials"]})
        return settings.frame_of_rows(rows)

    @property
    def parameters(self) -> settings.DataTable:
        """Parameters, a row for each model, subject and parameter, with intervals, or the mark that says why not."""
        rows = []
        for label, model in self.record["models"].items():
            for who, parameters in model["parameters"].items():
                for name, value in parameters.items():
                    mark = model.get("marks", {}).get(who, {}).get(name, "")
                    row = {"model": label, "subject": who, "parameter": name, **_cells("value", value), "mark": mark}
                    rows.append(row)
        return settings.frame_of_rows(rows)

    @cached_property
    def predictions(self) -> settings.DataTable:
        """Trials with the held-out probability of the choices by each model."""
        return settings.frame_of_table(read_parquet(self.path / TRIALS))

    @property
    def figures(self) -> list[str]:
        """Names of the figures of fits."""
        from ngym_cli.fitting.figures import FIT_FIGURES

        return list(FIT_FIGURES)

    @in_python_words
    def plot(self, figure: str = "likelihood") -> Figure:
        """Return a figure of the fit.

        Args:
            figure: name of a figure of fits, see ``figures``.

        Raises:
            UserError: if the figure does not exist or cannot be drawn, with the reason.
        """
        from ngym_cli.fitting.figures import figure_of

        return figure_of(FitFolder(self.path), figure)

    def simulate(
        self, task: settings.Part, wrappers: settings.Wrappers | None = None, **request: Unpack[SimulateOptions]
    ) -> Run:
        """Let a fitted model act in a task; see `ngym_cli.simulate`."""
        return simulate(self.path, task, wrappers, **request)

    def compare(self, *fits: Fit | str | Path) -> settings.DataTable:
        """Return the held-out scores of this and other fits to the same table, a row for each fit and model.

        Args:
            *fits: other fits, or their folders.
        """
        rows = []
        for fit in (self, *(each if isinstance(each, Fit) else Fit(each) for each in fits)):
            for label in fit.models:
                score = fit.record["scores"][label]
                row = {"fit": str(fit.path), "model": label, **_cells("log_likelihood", score["log_likelihood"])}
                rows.append({**row, "trials": score["trials"]})
        return settings.frame_of_rows(rows)

    def __repr__(self) -> str:
        """Return the folder and the best model in one line."""
        best = self.models[0]
        score = self.record["scores"][best]["log_likelihood"]["value"]
        return f"<Fit {self.path}: {len(self.models)} models, best {best} ({score:.4f} nats per trial)>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(label)}</td><td>{self.record['scores'][label]['log_likelihood']['value']:.4f}</td></tr>"
            for label in self.models
        )
        return f"<p><b>{escape(str(self.path))}</b></p><table><tr><th>model<th>nats per trial</tr>{rows}</table>"


def _cells(name: str, value: Any) -> dict[str, object]:
    return {name: value["value"], f"{name}_low": value["low"], f"{name}_high": value["high"]}


@in_python_words
@with_keywords(FitRequest)
def fit(
    table: TableSource,
    model: str | Sequence[str] | None = None,
    hooks: FitHooks | None = None,
    **request: Unpack[FitOptions],
) -> Fit:
    """Fit models to a table of behaviour, as ``ngym fit``.

    Args:
        table: DataFrame, dict of arrays, list of dicts, ``pyarrow.Table``, path, or list of paths; a table in memory is
            written to ``runs/tables``.
        model: names of models, with commas or as a sequence; none for those that suit the table.
        hooks: how the fit is followed, and where subjects are fitted.
        **request: options of ``ngym fit``.

    Returns:
        A `Fit` with ``scores``, ``parameters``, ``predictions``, ``plot()``, ``simulate()`` and ``compare()``.

    Raises:
        UserError: if the table, a model, an option or the folder does not suit.
    """
    from ngym_cli.fitting import requests

    root = Path(request.get("runs_root") or runs.RUNS_ROOT)
    if request.get("test") is not None:
        request["test"] = stored_table(request["test"], root)
    if request.get("design"):
        from ngym_cli.evaluation import design

        settings_of_fit = {"table": stored_table(table, root), "model": model, **request}
        fit_request = read_keywords(FitRequest, settings_of_fit, "argument of fit")
        return Fit(design.run(fit_request, hooks or requests.FitHooks())["path"])
    return Fit(requests.fit(stored_table(table, root), model, hooks, **request)["path"])
