"""Probit psychometric curve in NeuroGym's style; see :mod:`neurogym.analysis` for further analyses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def probit(x: ArrayLike, beta: float, alpha: float) -> np.ndarray:
    """Phi(beta * x + alpha): sensitivity ``beta``, bias ``alpha``."""
    from neurogym.analysis.psychometric import psychometric_function

    return psychometric_function(np.asarray(x, dtype=float) + alpha / beta, "probit", 0.0, beta)


def plot_psychometric(
    sig_ev: Sequence[float], ch: Sequence[int], ax: Axes, title: str | None = None, legend: str | None = None
) -> tuple[float, float]:
    """Draw a psychometric curve with a probit fitted by maximum likelihood.

    Args:
        sig_ev: Signed evidence of each trial, positive for right.
        ch: Choice of each trial, 1 for right, 0 for left.
        ax: Where to draw.
        title: Title of the axes.
        legend: Label of the curve.

    Returns:
        Sensitivity ``beta`` and bias ``alpha`` of Phi(beta * evidence + alpha); nan, and no curve, if all trials have
        the same evidence.

    Raises:
        ValueError: If there are no trials.
    """
    from neurogym.analysis.psychometric import fit_psychometric

    evidence, right = np.asarray(sig_ev, dtype=float), np.asarray(ch, dtype=float)
    levels = np.unique(evidence)
    if len(levels) == 0:
        raise ValueError("no trials to draw a psychometric curve of")
    beta = alpha = float("nan")
    if len(levels) > 1:
        fit = fit_psychometric(evidence, right, guess=0.0, lapse=0.0, n_boot=0, profile=False)
        beta, alpha = float(fit.slope.value), float(-fit.slope.value * fit.threshold.value)
    span = max(float(np.abs(levels).max()), 1e-9) * 1.05
    x = np.linspace(-span, span, 300)
    (curve,) = ax.plot(x, probit(x, beta, alpha), label=legend)
    means = [right[evidence == level].mean() for level in levels]
    errors = [np.std(right[evidence == level]) / np.sqrt(np.sum(evidence == level)) for level in levels]
    ax.errorbar(levels, means, yerr=errors, fmt="o", markersize=3, capsize=3, color=curve.get_color())
    for line in (ax.axvline(0), ax.axhline(0.5)):
        line.set(color="grey", linestyle="--", linewidth=0.8)
    ax.set(xlabel="Stimulus evidence", ylabel="P(Right)", ylim=(-0.05, 1.05), xlim=(-span, span))
    if title:
        ax.set_title(title)
    if legend:  # where a rising curve leaves room
        ax.legend(loc="upper left", fontsize="small")
    return beta, alpha
