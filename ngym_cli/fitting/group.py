"""Hierarchical fits by empirical Bayes: the Gaussian that all subjects come from, which may depend on covariates.

A subject's parameters (unbounded scale) come from N(m + (z - mean z) G, s^2) with the subject's covariates z. Given
Laplace approximations of the subjects, m, G and s are updated by expectation-maximisation (Huys et al. 2011,
10.1371/journal.pcbi.1002028) and the subjects fitted again with that prior.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from neurogym.analysis.results import Estimate, student_quantile
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import Fitted, Model, Problem, UnfitError
from neurogym.behaviour.models.formulas import frame, required_columns
from neurogym.behaviour.table import Behaviour
from ngym_cli.errors import UserError, option

#: Rounds of expectation-maximisation; smallest variance of the subjects, at most a tenth of their squared errors.
ROUNDS, FLOOR = 6, 1e-3


@dataclass(frozen=True)
class Covariates:
    """Covariates of subjects, centred.

    Attributes:
        names: of the columns.
        matrix: shape (subjects, covariates).
    """

    names: tuple[str, ...]
    matrix: FloatArray

    @classmethod
    def none(cls, subjects: int) -> Covariates:
        """Return no covariates."""
        return cls((), np.zeros((subjects, 0)))


@dataclass(frozen=True)
class Group:
    """Distribution of the parameters of subjects, in the unbounded scale.

    Attributes:
        names: of the parameters.
        mean: at mean covariates, shape (parameters,).
        sd: over subjects with the same covariates, shape (parameters,).
        weights: of each covariate, shape (covariates, parameters).
        weights_se: standard errors of the weights.
        covariates: of the subjects.
    """

    names: tuple[str, ...]
    mean: FloatArray
    sd: FloatArray
    weights: FloatArray
    weights_se: FloatArray
    covariates: Covariates = field(repr=False)

    def prior(self, subject: int) -> tuple[FloatArray, FloatArray]:
        """Return mean and s.d. of the prior of a subject."""
        return self.mean + self.covariates.matrix[subject] @ self.weights, self.sd

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return mean and s.d. of each parameter."""
        rows = zip(self.names, self.mean.tolist(), self.sd.tolist(), strict=True)
        return {name: {"mean": mean, "sd": sd} for name, mean, sd in rows}

    def effects(self) -> dict[str, dict[str, Estimate]]:
        """Return the weight of each covariate on each parameter, with a t interval over subjects."""
        freedom = len(self.covariates.matrix) - 1 - len(self.covariates.names)
        factor = student_quantile(0.95, max(freedom, 1))
        effects: dict[str, dict[str, Estimate]] = {}
        for k, covariate in enumerate(self.covariates.names):
            for name, value, se in zip(self.names, self.weights[k], self.weights_se[k], strict=True):
                estimate = Estimate(float(value), float(value - factor * se), float(value + factor * se), float(se))
                effects.setdefault(name, {})[covariate] = estimate
        return effects


def covariates_of(table: Behaviour, between: str | None) -> Covariates:
    """Return the covariates of the subjects of a table.

    Args:
        table: sessions whose further columns hold the covariates, constant within a subject.
        between: formula, as in ``age + group``; None for no covariates.

    Raises:
        UserError: for a column that is missing or changes within a subject, or covariates that depend on each other.
    """
    if between is None:
        return Covariates.none(len(table.subjects))
    columns: dict[str, list[Any]] = {}
    try:
        names = required_columns(between)
    except UnfitError as error:
        raise UserError(f"{option('--between')}: {error}") from None
    for name in names:
        for subject in table.subjects:
            rows = [each.conditions[name] for each in table.of(subject).sessions if name in each.conditions]
            values = set(np.concatenate(rows).tolist()) if rows else set()
            if len(values) != 1 or any(isinstance(value, float) and np.isnan(value) for value in values):
                raise UserError(
                    f"{option('--between')}: column '{name}' has {len(values)} values for subject {subject}, expected 1"
                )
            columns.setdefault(name, []).append(values.pop())
    return _design(between, {name: np.array(values) for name, values in columns.items()}, len(table.subjects))


def _design(between: str, columns: Mapping[str, np.ndarray], subjects: int) -> Covariates:
    from formulaic import model_matrix

    matrix = model_matrix(between, frame(columns))
    names = [name for name in matrix.columns if name != "Intercept"]
    values = np.asarray(matrix[names], float)
    values = values - values.mean(0) if names else values
    if not names or np.linalg.matrix_rank(values) < len(names) or subjects < len(names) + 3:
        raise UserError(
            f"{option('--between')}: '{between}' has {len(names)} covariates for {subjects} subjects; expected "
            "covariates that "
            "differ between subjects, do not depend on each other, and are at least three fewer than the subjects"
        )
    return Covariates(tuple(names), values)


def group_of(fits: Sequence[Fitted], covariates: Covariates, name: str, separate: Sequence[Fitted] = ()) -> Group:
    """Return the distribution of subjects given their fits.

    Standard errors of the weights come from the spread of separate fits, which holds the variation between subjects and
    the uncertainty of each.

    Args:
        fits: of the subjects.
        covariates: of the subjects.
        name: of the model.
        separate: fits of the subjects without the prior of a group; ``fits`` where left out.

    Raises:
        UserError: if subjects have different parameters.
    """
    if len({len(fit.details["unbounded"]) for fit in fits}) > 1:
        raise UserError(f"{name}: subjects have different predictors; in some all rewards are equal")
    points = np.stack([fit.details["unbounded"] for fit in fits])
    spread = np.stack([fit.details["unbounded_variance"] for fit in fits])
    z = covariates.matrix
    mean = points.mean(0)
    projection = np.linalg.pinv(z.T @ z) @ z.T
    weights = projection @ (points - mean)
    residual = points - mean - z @ weights
    variance = (residual**2 + spread).mean(0)
    sd = np.sqrt(np.maximum(variance, np.minimum(FLOOR, 0.1 * spread.mean(0))))
    freedom = max(len(points) - 1 - len(covariates.names), 1)
    scale = np.sqrt(np.diag(projection @ projection.T))
    alone = np.stack([fit.details["unbounded"] for fit in separate or fits])
    alone = alone - alone.mean(0)
    alone = alone - z @ (projection @ alone)
    se = scale[:, None] * np.sqrt((alone**2).sum(0) / freedom)
    return Group(tuple(fits[0].parameters), mean, sd, weights, se, covariates)


def fit_groups(
    model: Model, problems: Sequence[Problem], per_subject: int, covariates: Covariates
) -> tuple[list[Fitted], list[Group]]:
    """Return hierarchical fits of all problems, and the groups; none for a single subject.

    Args:
        model: takes a prior.
        problems: the same number for each subject, subject after subject; the k-th of all subjects form a group.
        per_subject: problems of each subject (folds, and the whole table as the last).
        covariates: of the subjects.
    """
    rounds = ROUNDS if len(problems) > per_subject else 0
    wanted = [each.intervals for each in problems]  # of the last round; rounds before need the curvature alone
    problems = [replace(each, intervals=each.intervals and not rounds) for each in problems]
    fits: list[Fitted] = model.fit(problems)
    separate, groups = fits, list[Group]()
    for k in range(rounds):
        groups = [
            group_of(fits[j::per_subject], covariates, model.name, separate[j::per_subject]) for j in range(per_subject)
        ]
        problems = [
            replace(
                each,
                prior=groups[i % per_subject].prior(i // per_subject),
                start=fits[i].details["unbounded"],
                covariance=fits[i].details.get("covariance"),
                intervals=wanted[i] and k == rounds - 1,
            )
            for i, each in enumerate(problems)
        ]
        fits = model.fit(problems)
    return fits, groups
