"""Tables of behaviour from Python: descriptions of data, and fits as objects."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from neurogym.behaviour.models.base import Policy, predict
from neurogym.behaviour.reading import TableSource
from neurogym.behaviour.table import Behaviour
from neurogym.messages.plain_data import plain
from ngym_cli import runs
from ngym_cli.api import settings
from ngym_cli.api.keywords import request_of, takes
from ngym_cli.api.settings import cells
from ngym_cli.api.training import simulate
from ngym_cli.files.reading import read_parquet
from ngym_cli.fitting import folder as fit_folder
from ngym_cli.fitting import validation
from ngym_cli.fitting.description import Description, ReportsDescription, description_of
from ngym_cli.fitting.request import DataRequest, FitRequest
from ngym_cli.fitting.settings import read_like
from ngym_cli.fitting.stored_tables import paths_of, stored_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ngym_cli.api.options import DataOptions, FitOptions, SimulateOptions
    from ngym_cli.api.trained import Run
    from ngym_cli.fitting.requests import FitHooks


logger = logging.getLogger(__name__)


@takes(DataRequest, without=("out", "format", "subjects_shown", "full"))
def data(table: TableSource, **request: Unpack[DataOptions]) -> Description | ReportsDescription:
    """Describe a table of choices or of continuous reports, as ``ngym data``.

    Args:
        table: DataFrame, dict of arrays, list of dicts, ``pyarrow.Table``, path, or list of paths.
        **request: options of ``ngym data``.

    Returns:
        A `Description` with ``reading`` (what each column was read as), ``subjects`` (statistics), ``table``,
        ``plot()`` and ``save_columns()``; of continuous reports a `ReportsDescription` with ``reports``, ``rows`` and
        ``plot()``.

    Raises:
        UserError: if the table is unfit.

    Example:
        >>> found = data({"choice": [0, 1, 1, 0], "reward": [1, 0, 1, 1]})
        >>> found.subjects[0].trials
        4
    """
    paths = paths_of(table)
    named = request_of(DataRequest, {**request, "table": paths or [Path("table")]})
    return description_of(named, None if paths else table)


class Fit(Mapping[str, Any]):
    """Models fitted to a table of behaviour; also the record in ``fit.json``, as a mapping.

    Args:
        path: folder of the fit, its name, or ``latest``.

    Attributes:
        path: folder of the fit.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path) if Path(path).is_dir() else fit_folder.find(str(path), runs.RUNS_ROOT).path

    @cached_property
    def record(self) -> fit_folder.FitRecord:
        """Content of ``fit.json``, and the folder as ``path``."""
        return {**fit_folder.FitFolder(self.path).finished(), "path": str(self.path)}

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
        return fit_folder.best_first(self.record)

    @property
    def scores(self) -> settings.DataTable:
        """Held-out scores, a row for each model, the best first: mean log-likelihood of a choice and its interval."""
        return _score_rows(self.record["scores"])

    @property
    def parameters(self) -> settings.DataTable:
        """Parameters, a row for each model, subject and parameter, with intervals, or the mark that says why not."""
        rows = [
            {"model": label, "subject": who, "parameter": name, **cells("value", value), "mark": mark}
            for label, who, name, value, mark in fit_folder.parameter_rows(self.record)
        ]
        return settings.frame_of_rows(rows)

    @property
    def notes(self) -> list[str]:
        """Remarks about the held-out scores, and about the fits of models with their subjects."""
        notes = list(self.record["table"].get("notes", ()))
        for label, model in self.record["models"].items():
            notes += [f"{label}, {who}: {note}" for who, each in model.get("notes", {}).items() for note in each]
        return notes

    @cached_property
    def predictions(self) -> settings.DataTable:
        """Trials with the held-out probability of the choices by each model."""
        return settings.frame_of_table(read_parquet(self.path / fit_folder.TRIALS))

    @property
    def name(self) -> str:
        """Name of the fit."""
        return self.path.name

    def predict(self, table: TableSource, model: str | None = None) -> settings.DataTable:
        """Return the probability of each choice in trials of a table, given what came before in their sessions.

        The parameters are those of the fit to all of its sessions. Columns of the table are read as in the fit. Further
        columns have what the model knows before the trial: the state of a learner (values ``q 0``, ``q 1`` of the first
        and the second choice, and so on) or the probabilities of hidden states.

        Args:
            table: DataFrame, dict of arrays, list of dicts, path, or list of paths.
            model: label of a fitted model; the best one by default.

        Raises:
            UserError: for an unknown model, a subject that was not fitted, or other stimuli and choices.
        """
        behaviour = read_like(self.record, paths_of(table) or table)
        policies = self._policies(behaviour, model or self.models[0])
        rows = []
        for each in behaviour.sessions:
            policy = policies[each.subject].of(each.subject)
            (states,), (probabilities,) = policy.states([each]), policy.predict([each])
            columns = {f"P({word})": probabilities[:, k] for k, word in enumerate(behaviour.choices)} | states
            plain = {name: values.tolist() for name, values in columns.items()}
            rows += [
                {"subject": each.subject, "session": each.name, "trial": t, "choice": int(choice)}
                | {name: values[t] for name, values in plain.items()}
                for t, choice in enumerate(each.choice)
            ]
        return settings.frame_of_rows(rows)

    def score(self, table: TableSource) -> settings.DataTable:
        """Return the scores of all models on trials of a table, as in ``scores``; see `predict`."""
        behaviour, rows = read_like(self.record, paths_of(table) or table), dict[str, np.ndarray]()
        for label in self.models:
            policies = self._policies(behaviour, label)
            rows[label] = np.concatenate([predict(policies[each.subject], [each])[0] for each in behaviour.sessions])
        return _score_rows(plain(validation.scores(rows, behaviour.sessions)))

    def _policies(self, behaviour: Behaviour, label: str) -> dict[str, Policy]:
        """Return the fitted behaviour of each subject of a table."""
        from ngym_cli.evaluation import simulation

        fitted_subjects = list(self.record["models"][self.models[0]]["parameters"])
        only = fitted_subjects[0] if len(fitted_subjects) == 1 else None
        folder = fit_folder.FitFolder(self.path)
        return {who: simulation.load(folder, label, only or who)[2] for who in behaviour.subjects}

    @property
    def figures(self) -> settings.DataTable:
        """Every figure of fits with a description, whether it can be drawn for this fit, and why not."""
        from ngym_cli.fitting.figures import available

        return settings.frame_of_rows(available(fit_folder.FitFolder(self.path)))

    @takes()
    def plot(self, figure: str = "likelihood") -> Figure:
        """Return a figure of the fit.

        Args:
            figure: name of a figure of fits, see ``figures``.

        Raises:
            UserError: if the figure does not exist or cannot be drawn, with the reason.
        """
        from ngym_cli.fitting.figures import figure_of

        return figure_of(fit_folder.FitFolder(self.path), figure)

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
            for label in (each for each in fit_folder.ranked(fit.record["scores"]) if each in fit.record["models"]):
                score = fit.record["scores"][label]
                row = {"fit": str(fit.path), "model": label, **cells("log_likelihood", score["log_likelihood"])}
                rows.append({**row, "trials": score["trials"]})
        return settings.frame_of_rows(rows)

    def __repr__(self) -> str:
        """Return the folder and the best model in one line."""
        best, score = self.models[0], self._score_in_words(self.models[0])
        found = f"best {best} ({score} nats per trial)" if score else ", ".join(self.models)
        return f"<Fit {self.path}: {len(self.models)} models, {found}>"

    def _score_in_words(self, label: str) -> str:
        """Return the held-out log-likelihood per trial of a model; nothing if nothing was held out."""
        score = self.record["scores"].get(label)
        return "" if score is None else f"{score['log_likelihood']['value']:.4f}"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(label)}</td><td>{self._score_in_words(label)}</td></tr>" for label in self.models
        )
        table = f"<table><tr><th>model<th>nats per trial</tr>{rows}</table>"
        remarks = [fit_folder.verdict(self.record), *self.record["table"].get("notes", ())]
        said = "".join(f"<p>{escape(text)}</p>" for text in remarks if text)
        return f"<p><b>{escape(str(self.path))}</b></p>{table}{said}"


def _score_rows(scores: Mapping[str, fit_folder.ScoreRecord]) -> settings.DataTable:
    """Return scores by model as a table, the best first."""
    rows = []
    for label in fit_folder.ranked(scores):
        score = scores[label]
        row: dict[str, object] = {"model": label, **cells("log_likelihood", score["log_likelihood"])}
        row |= cells("probability", score["probability"]) | cells("against_best", score["against_best"])
        rows.append({**row, "trials": score["trials"]})
    return settings.frame_of_rows(rows)


@takes(FitRequest, without=("subjects_shown", "full"))
def fit(
    table: TableSource,
    model: str | Sequence[str] | None = None,
    hooks: FitHooks | None = None,
    progress: bool = True,
    **request: Unpack[FitOptions],
) -> Fit:
    """Fit models to a table of behaviour, as ``ngym fit``.

    Args:
        table: DataFrame, dict of arrays, list of dicts, ``pyarrow.Table``, path, or list of paths; a table in memory is
            written to ``runs/tables``.
        model: names of models, with commas or as a sequence; none for those that suit the table.
        hooks: how the fit is followed, and where subjects are fitted.
        progress: show the model that is being fitted, unless ``hooks`` do.
        **request: options of ``ngym fit``.

    Returns:
        A `Fit` with ``scores``, ``parameters``, ``predictions``, ``notes``, ``plot()``, ``predict()``, ``score()``,
        ``simulate()`` and ``compare()``.

    Raises:
        UserError: if the table, a model, an option or the folder does not suit.
    """
    from ngym_cli.fitting import printing, requests
    from ngym_cli.training import tracked_fits

    if hooks is None and progress:
        with printing.progress_shown() as show:
            return fit(table, model, requests.FitHooks(show), progress, **request)
    root = Path(request.get("runs_root") or runs.RUNS_ROOT)
    if request.get("test") is not None:
        request["test"] = stored_table(request["test"], root)
    settings_of_fit = {"table": stored_table(table, root), "model": model, **request}
    fit_request = request_of(FitRequest, settings_of_fit)
    return Fit(tracked_fits.run(fit_request, hooks or requests.FitHooks(), logger.warning)["path"])
