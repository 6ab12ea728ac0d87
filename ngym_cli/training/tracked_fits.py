"""Fits whose results also go to Weights & Biases or MLflow (`ngym fit --track`)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ngym_cli import runs
from ngym_cli.errors import UserError, check_known, one_line
from ngym_cli.evaluation import design
from ngym_cli.fitting import requests
from ngym_cli.fitting.folder import FitFolder, FitRecord
from ngym_cli.training.prepare import tracking_library
from ngym_cli.training.tracking import TRACKERS

if TYPE_CHECKING:
    from ngym_cli.fitting.request import FitRequest

#: Characters that a service does not accept in the name of a number.
_UNUSUAL = re.compile(r"[^\w./ -]")


def run(request: FitRequest, hooks: requests.FitHooks, say: Callable[[str], object]) -> FitRecord:
    """Fit models, compare them in tasks if a design is requested, and copy the results to tracking services.

    Args:
        request: settings of the fit.
        hooks: how the fit is followed, and where subjects are fitted.
        say: reports problems of a service to the user; the fit is complete by then.

    Raises:
        UserError: if the table, a model, a service or the folder does not suit.
    """
    if request.track:
        for service in request.track:
            check_known("tracking service", service, TRACKERS)
            tracking_library(service)  # refused before anything is fitted
    record = design.run(request, hooks) if request.design else requests.run(request, hooks)
    for service in request.track:
        try:
            _copy(service, record)
        except Exception as error:  # a service that is down must not lose a fit
            say(f"tracking in {service} failed: {one_line(error)[:300]}")
    return record


def _copy(service: str, record: FitRecord) -> None:
    """Copy the scores, parameters and figures of a fit to a service."""
    from ngym_cli.fitting.figures import FIT_FIGURES, figure_of

    folder, settings = runs.RunFolder(Path(record["path"])), record["settings"]
    tracker = TRACKERS[service](folder, Path(str(settings["table"])).stem, settings)
    tracker.scalars({_UNUSUAL.sub("-", name): value for name, value in _numbers(record)}, 0)
    for name in FIT_FIGURES:
        try:
            figure = figure_of(FitFolder(folder.path), name)
        except UserError:
            continue  # this fit has no such figure
        tracker.figure(name, figure, 0)
    tracker.close()


def _numbers(record: FitRecord) -> Iterator[tuple[str, float]]:
    """Yield the finite numbers of a fit by name: held-out scores and parameters of all models."""
    numbers = {f"log_likelihood/{name}": row["log_likelihood"]["value"] for name, row in record["scores"].items()}
    for label, model in record["models"].items():
        for who, parameters in model["parameters"].items():
            numbers |= {f"parameters/{label}/{who}/{name}": row["value"] for name, row in parameters.items()}
    for name, value in numbers.items():
        if value is not None and math.isfinite(value):
            yield name, value
