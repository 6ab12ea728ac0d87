"""Low-dimensional views of a population: principal components and targeted (regression) axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.activity import nan_mean
from neurogym.analysis.results import Result
from neurogym.array_types import FloatArray


@dataclass(frozen=True)
class Trajectories(Result):
    """Activity in the space of principal components.

    Attributes:
        projection: shape (conditions, steps, components); ``nan`` where the activity is.
        components: axes in the space of units, orthonormal rows, shape (components, units).
        explained: share of the variance along each component, shape (components,).
        mean: mean activity of each unit, shape (units,).
    """

    projection: FloatArray
    components: FloatArray
    explained: FloatArray
    mean: FloatArray

    def project(self, activity: ArrayLike) -> FloatArray:
        """Project new activity, shape (..., units), onto the same components."""
        return (np.asarray(activity, float) - self.mean) @ self.components.T


@dataclass(frozen=True)
class TargetedAxes(Result):
    """Axes along which task variables act on the population.

    Attributes:
        names: task variables, in the order of the axes.
        axes: orthonormal, shape (variables, units): each carries what the earlier ones leave.
        regression_axes: unit-length regression axes before orthogonalisation, same shape.
        peak: step at which each regression vector is longest, shape (variables,).
        coefficients: regression coefficients of z-scored activity, shape (steps, variables, units).
        mean: mean activity of each unit, shape (units,).
        sd: standard deviation of each unit, shape (units,).
    """

    names: tuple[str, ...]
    axes: FloatArray
    regression_axes: FloatArray
    peak: FloatArray
    coefficients: FloatArray
    mean: FloatArray
    sd: FloatArray

    def project(self, activity: ArrayLike) -> FloatArray:
        """Return activity, shape (..., units), along the axes, shape (..., variables), in standard deviations."""
        return ((np.asarray(activity, float) - self.mean) / self.sd) @ self.axes.T


def pca_trajectories(activity: ArrayLike, n_components: int = 3) -> Trajectories:
    """Return condition-averaged activity along the principal components.

    Args:
        activity: shape (conditions, steps, units), for instance ``PSTH.mean``; steps with ``nan`` are left out.
        n_components: number of components, at most the number of units.
    """
    a = np.asarray(activity, float)
    if a.ndim != 3 or not 1 <= n_components <= a.shape[2]:
        raise ValueError(f"principal components need shape (conditions, steps, units >= components), got {a.shape}")
    flat = a.reshape(-1, a.shape[2])
    finite = flat[np.isfinite(flat).all(axis=1)]
    mean = finite.mean(axis=0)
    _, singular, axes = np.linalg.svd(finite - mean, full_matrices=False)
    axes = axes[:n_components]
    # The sign of a component is arbitrary: make its largest loading positive, so that figures can be compared.
    axes = axes * np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]
    variance = singular**2 / max(float(np.sum(singular**2)), 1e-300)
    return Trajectories((a - mean) @ axes.T, axes, variance[:n_components], mean)


def targeted_axes(
    activity: ArrayLike, variables: Mapping[str, ArrayLike], *, n_denoise: int | None = 12
) -> TargetedAxes:
    """Return the regression axes of task variables (Mante et al. 2013, 10.1038/nature12742).

    Units are z-scored; each unit and step is regressed on the variables over trials; the regression vectors are
    projected on the leading principal components of the activity; each variable takes its vector from the step at which
    it is longest; the axes are made orthogonal in the order given.

    Args:
        activity: aligned single trials, shape (trials, steps, units); trials with ``nan`` at a step are left out there.
        variables: value of each task variable, shape (trials,); scaled to a range of -1 to 1 for comparison.
        n_denoise: number of principal components kept; ``None`` for no denoising.
    """
    a = np.asarray(activity, float)
    if a.ndim != 3 or any(np.shape(v) != (len(a),) for v in variables.values()):
        raise ValueError(f"targeted axes need activity (trials, steps, units) and variables (trials,), got {a.shape}")
    mean, sd = np.nanmean(a, axis=(0, 1)), np.nanstd(a, axis=(0, 1))
    sd = np.where(sd > 0, sd, 1.0)
    z = (a - mean) / sd
    columns = [np.asarray(v, float) for v in variables.values()]
    columns = [column / max(float(np.abs(column).max()), 1e-300) for column in columns]
    design = np.column_stack([*columns, np.ones(len(a))])
    coefficients = np.full((a.shape[1], len(columns), a.shape[2]), np.nan)
    for step in range(a.shape[1]):
        finite = np.isfinite(z[:, step]).all(axis=1)
        if finite.sum() > design.shape[1]:
            coefficients[step] = np.linalg.lstsq(design[finite], z[finite, step], rcond=None)[0][:-1]
    if n_denoise is not None:
        # Averages over conditions, not single trials: noise must not decide which dimensions are kept.
        groups = np.unique(design, axis=0, return_inverse=True)[1].ravel()
        averages = np.stack([nan_mean(z[groups == g]) for g in range(groups.max() + 1)])
        components = pca_trajectories(averages, min(n_denoise, a.shape[2])).components
        coefficients = coefficients @ components.T @ components
    length = np.nan_to_num(np.linalg.norm(coefficients, axis=2), nan=-1.0)
    peak = length.argmax(axis=0)
    chosen = coefficients[peak, np.arange(len(columns))]
    raw = chosen / np.maximum(np.linalg.norm(chosen, axis=1, keepdims=True), 1e-300)
    q, r = np.linalg.qr(raw.T)
    return TargetedAxes(tuple(variables), (q * np.sign(np.diag(r))).T, raw, peak.astype(float), coefficients, mean, sd)


def path_speed(paths: ArrayLike, dt: float) -> FloatArray:
    """Return how fast paths move, for instance of trials that are to be longer or shorter.

    Remington, Narain, Hosseini & Jazayeri 2018, Flexible sensorimotor computations through rapid reconfiguration of
    cortical dynamics, 10.1016/j.neuron.2018.05.020: intervals are produced by the speed of one trajectory.

    Args:
        paths: activity or its projections, shape (..., steps, dimensions); ``nan`` where a path has ended.
        dt: length of a step, ms.

    Returns:
        Distance per second between each step and the next, shape (..., steps - 1); ``nan`` where either is missing.
    """
    along = np.diff(np.asarray(paths, float), axis=-2)
    return np.asarray(np.sqrt((along**2).sum(axis=-1)) * 1000 / dt)
