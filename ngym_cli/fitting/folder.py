"""Folder of a fit: ``RUNS/TABLE/fit/NAME/``.

| file | content |
|---|---|
| `manifest.json` | status, command, process, versions, as of any run |
| `fit.json` | status, command, settings, digest of the tables, versions, scores, parameters |
| `models/*.json` | one complete model each; existing models are not fitted again |
| `models/*.npz` | its predictions of held-out and test sessions, and arrays for figures |
| `trials.parquet` | one row per trial with the held-out probability of each model |
| `figures/` | what was drawn |
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired, Required

import numpy as np
from typing_extensions import TypedDict  # pydantic takes that of typing from Python 3.12 on

from neurogym.analysis.results import Estimate
from neurogym.foreign import npz
from ngym_cli import runs
from ngym_cli.config.trust import Code
from ngym_cli.config.values import Values
from ngym_cli.errors import UserError, message_of, one_line, option
from ngym_cli.files import reading
from ngym_cli.files.writing import atomic_file, write_json
from ngym_cli.runs import FIT, finding, records
from ngym_cli.runs.records import Count, EstimateRecord, Moment, RunState

MODELS, TRIALS = "models", "trials.parquet"
BASELINE = "bias"  #: model that every fit has, each subject for itself
#: Rows of the scores that are not models: a choice at random, and the average of all models.
CHANCE, MIXTURE = "chance", "mixture"
SHOWN_TIES = 3  #: models that a verdict names as equally good
#: Folder with the fits of single subjects, until all are there.
SUBJECTS_FILE = "subjects"
#: Prefix of the arrays of the policies that were fitted to all sessions of each subject.
POLICY = "policy"
#: Prefix of the point and covariance of the parameters of these policies in the unbounded scale.
LAPLACE = "laplace"


class ScoreRecord(TypedDict):
    """Score of a model on sessions that the model was not fitted to."""

    log_likelihood: EstimateRecord
    probability: EstimateRecord
    against_best: EstimateRecord
    against_model: NotRequired[EstimateRecord]
    trials: Count


class TimeScoreRecord(TypedDict):
    """Score of choices and times of held-out sessions; see `ngym_cli.fitting.validation.TimeScore`."""

    together: EstimateRecord
    choice: EstimateRecord
    time: EstimateRecord
    trials: Count


class DrawsRecord(EstimateRecord):
    """Mean, 95 % interval and s.d. of draws of a posterior, R-hat and effective sample size."""

    r_hat: float | None
    ess: float | None


class PosteriorRecord(TypedDict):
    """Samples of the posterior of a model; see `ngym_cli.fitting.posterior`."""

    chains: Count
    draws: Count
    divergences: Count
    parameters: dict[str, dict[str, DrawsRecord]]
    group: NotRequired[dict[str, dict[str, DrawsRecord]]]
    between: NotRequired[dict[str, dict[str, DrawsRecord]]]
    loo: NotRequired[dict[str, float | None] | None]
    predictive: NotRequired[dict[str, dict[str, float | None]]]


class PriorRecord(TypedDict):
    """Gaussian prior of a parameter: scale (logit, logarithm, value), mean and s.d. in this scale."""

    scale: str
    mean: float
    sd: float


class ModelRecord(TypedDict):
    """Fitted model (``models/*.json``): numbers, reasons of missing intervals and notes by subject."""

    model: str
    parameters: dict[str, dict[str, EstimateRecord]]
    log_likelihood: dict[str, float | None]
    priors: NotRequired[dict[str, PriorRecord]]
    group: NotRequired[dict[str, dict[str, float]]]
    between: NotRequired[dict[str, dict[str, EstimateRecord]]]
    posterior: NotRequired[PosteriorRecord]
    marks: NotRequired[dict[str, dict[str, str]]]
    notes: NotRequired[dict[str, list[str]]]
    time_score: NotRequired[TimeScoreRecord]


class RecoveryRecord(TypedDict):
    """Recovery of parameters and models from simulations; see ``ngym_cli.fitting.recovery``."""

    n: Count
    trials: Count
    parameters: dict[str, dict[str, dict[str, float | None]]]
    confusion: dict[str, dict[str, float]]


class DesignRow(TypedDict):
    """Separation of two models in a condition of a task, for each number of trials.

    ``correct`` is the share of simulations that favour the true model, ``trials_needed`` the number of trials after
    which a log Bayes factor of 3 is expected; None for never.
    """

    task: str
    condition: str
    true: str
    rival: str
    log_bayes_factor: list[EstimateRecord]
    correct: list[float]
    trials_needed: float | None


class DesignRecord(TypedDict):
    """Separation of the fitted models in tasks; see `ngym_cli.fitting.design`."""

    trials: list[Count]
    repeats: Count
    scored: str
    rows: list[DesignRow]


class TableRecord(TypedDict):
    """Names and ranges of a table of behaviour, which a simulation of the fitted models needs."""

    choices: list[str]
    stimuli: dict[str, list[float]]
    subjects: list[str]
    roles: dict[str, object]
    held_out: NotRequired[str]
    notes: NotRequired[list[str]]


class FitRecord(TypedDict, total=False):
    """Record of a fit (``fit.json``); in results of a fit with the folder as ``path``."""

    status: Required[RunState]
    settings: Required[Values]
    started: Moment
    ended: Moment
    files: dict[str, str]
    code: Code | None
    versions: dict[str, str]
    table: TableRecord
    scores: dict[str, ScoreRecord]
    test_scores: dict[str, ScoreRecord] | None
    models: dict[str, ModelRecord]
    recovery: RecoveryRecord
    design: DesignRecord
    path: str


def score_tables(record: FitRecord) -> dict[str, dict[str, ScoreRecord]]:
    """Return the scores of a fit by what was predicted: held-out sessions, or blocks of these, and a test table."""
    held_out = record["table"].get("held_out", "sessions") if "table" in record else "sessions"
    tables = {f"held-out {held_out}": record.get("scores"), "test table": record.get("test_scores")}
    return {title: scores for title, scores in tables.items() if scores}


def ranked(scores: Mapping[str, ScoreRecord]) -> list[str]:
    """Return the models, best log-likelihood first."""
    values = {name: Estimate.from_record(score["log_likelihood"]).value for name, score in scores.items()}
    return sorted(values, key=lambda name: -values[name])


def best_first(record: FitRecord) -> list[str]:
    """Return the models of a fit by held-out score; without such scores by those of the test table, or as fitted."""
    scores = next(iter(score_tables(record).values()), {})
    as_fitted = sorted(record["models"], key=lambda label: label == BASELINE)
    return [label for label in ranked(scores) if label in record["models"]] or as_fitted


def parameter_rows(record: FitRecord) -> Iterator[tuple[str, str, str, EstimateRecord, str]]:
    """Yield model, subject, parameter, its estimate, and the reason of a missing interval."""
    for label, model in record["models"].items():
        for who, parameters in model["parameters"].items():
            marks = model.get("marks", {}).get(who, {})
            for name, row in parameters.items():
                yield label, who, name, row, marks.get(name, "")


def verdict(record: FitRecord) -> str:
    """Return a sentence about the best model of a fit and those that predict as well; empty without scores."""
    scores = next(iter(score_tables(record).values()), {})
    models = [label for label in ranked(scores) if label in record["models"] and label != BASELINE]
    if not models or "against_model" not in scores[models[0]]:
        return ""
    best, behind = models[0], {name: Estimate.from_record(scores[name]["against_model"]) for name in scores}
    if not behind[BASELINE].high < 0:
        return f"tie: no model predicts better than a constant preference ({BASELINE}); {best} is the best"
    equal = [name for name in models[1:] if not behind[name].high < 0]
    if equal:
        others = ", ".join(equal[:SHOWN_TIES]) + (f" and {len(equal) - SHOWN_TIES} more" if equal[SHOWN_TIES:] else "")
        return f"tie: {best} predicts best, but not distinguishably better than {others}"
    second = models[1] if len(models) > 1 else BASELINE
    far = f"{behind[second].value:+.4f} {behind[second].interval('.4f')} nats per trial"
    return f"{best} predicts best; the next, {second}, is behind by {far}"


@dataclass(frozen=True)
class FitFolder:
    """Folder of a fit.

    Attributes:
        path: path of the folder.
    """

    path: Path

    def read(self) -> FitRecord:
        """Return the content of ``fit.json``.

        Raises:
            UserError: if it is damaged.
        """
        return records.read(self.path / FIT, FitRecord)

    def finished(self) -> FitRecord:
        """Return the content of ``fit.json`` of a fit that is finished.

        Raises:
            UserError: if the fit is not finished or damaged.
        """
        record = self.read()
        if record["status"] != "finished":
            raise UserError(
                f"fit {self.path} is not finished; run the same command with {option(f'--name {self.path.name}')}"
            )
        with self.readable():
            models, subjects = record["models"], {*record.get("table", {}).get("subjects", ()), "all"}
            labels = {label for scores in score_tables(record).values() for label in scores} - {"chance", "mixture"}
            strangers = {who for model in models.values() for who in model["parameters"]} - subjects
            if not models or labels - set(models) or (strangers and "table" in record):
                names = ", ".join(sorted([*(labels - set(models)), *strangers])) or "none"
                raise ValueError(f"models and subjects do not belong together: {names}")
        return record

    @contextlib.contextmanager
    def readable(self) -> Iterator[None]:
        """Turn an entry that is missing or does not fit into an error of a single line."""
        try:
            yield
        except (KeyError, IndexError, ValueError, TypeError, AttributeError, StopIteration, AssertionError) as error:
            reason = f"there is no {error}" if isinstance(error, KeyError) else message_of(error) or one_line(error)
            raise UserError(f"damaged fit {self.path}: {reason}") from None

    def write(self, data: FitRecord) -> None:
        """Write ``fit.json``."""
        write_json(self.path / FIT, data)

    def model_path(self, label: str, suffix: str) -> Path:
        """Return the file of a model."""
        return self.path / MODELS / (re.sub(r"[^A-Za-z0-9._=-]", "+", label) + suffix)

    def save(self, label: str, about: ModelRecord, arrays: dict[str, np.ndarray]) -> None:
        """Write a complete model: arrays first, so that a JSON file implies complete arrays."""
        path = self.model_path(label, ".npz")
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        write_json(self.model_path(label, ".json"), about)

    def load(self, label: str) -> tuple[ModelRecord, dict[str, np.ndarray]] | None:
        """Return a complete model, or None."""
        path = self.model_path(label, ".json")
        if not path.is_file():
            return None
        about = records.read(path, ModelRecord)
        try:
            return about, npz.read(self.model_path(label, ".npz"))
        except (OSError, ValueError) as error:
            raise UserError(f"damaged fit: {self.model_path(label, '.npz')}: {message_of(error)}") from None


def fit_path(root: Path, table: Path, name: str | None) -> Path:
    """Return the folder of a fit, by default with the next free name."""
    above = root / runs.safe_name(table.stem) / "fit"
    if name is not None:
        return above / runs.plain_name("fit", name)
    count = 1
    while (above / f"fit{count}").exists():
        count += 1
    return above / f"fit{count}"


def find(reference: str, root: Path) -> FitFolder:
    """Return a fit by folder, name or ``latest``.

    Raises:
        UserError: if there is none, or a link leads out of the folder.
    """
    folder = FitFolder(finding.find("fit", reference, root))
    reading.check_folder(folder.path)
    return folder


def named(word: str, root: Path) -> FitFolder | None:
    """Return the fit that a word among runs refers to: folder, name, or ``latest`` if a fit is newer than all runs."""
    path = finding.match(("run", "fit"), word, root)
    if path is None or finding.kind_of(path) != "fit":
        return None
    reading.check_folder(path)
    return FitFolder(path)
