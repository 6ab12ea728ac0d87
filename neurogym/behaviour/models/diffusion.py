"""Drift diffusion to symmetric bounds with a drift in proportion to the evidence (Palmer, Huk & Shadlen 2005).

For signed evidence x: P(choice 1) = 1 / (1 + exp(-2 A k (x - x0))), mean reaction time A / (k |x|) tanh(A k |x|) + t_R
with k the drift per unit of evidence (1 / sqrt(s)), A the bound (sqrt(s)) and t_R the time outside the decision (s;
10.1167/5.5.1). The likelihood is binomial in choices and Gaussian in the mean reaction time of each strength, whose
standard error is that of the data. Choices are predicted from the present stimulus alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from neurogym.analysis.chronometric import mean_reaction_time
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.agents import ModelParameter
from neurogym.behaviour.models.base import Fitted, OneByOne, ParallelTrials, Problem, UnfitError
from neurogym.behaviour.models.search import hessian
from neurogym.behaviour.table import Behaviour

PARAMETERS = (
    *(ModelParameter(name, "positive") for name in ("k", "A")),
    *(ModelParameter(name) for name in ("t_R", "x0")),
)
#: Maximum number of separate strengths; more strengths are grouped in bins of equal size.
STRENGTHS = 12


@dataclass
class DiffusionPolicy:
    """Choices of a diffusion without memory.

    Attributes:
        values: k, A, t_R and x0.
    """

    values: FloatArray

    def begin(self, n: int) -> int:
        """See `Policy.begin`."""
        return n

    def probabilities(self, state: int, stimuli: FloatArray) -> FloatArray:
        """See `Policy.probabilities`."""
        k, a, _, x0 = self.values
        p = expit(2 * a * k * (stimuli[:, 0] - x0))
        return np.stack([1 - p, p], 1)

    def advance(self, state: int, trial: ParallelTrials) -> int:
        """See `Policy.advance`."""
        return state


class Diffusion(OneByOne):
    """Drift diffusion fitted to choices and mean reaction times.

    Args:
        name: name of the model.
    """

    policy = DiffusionPolicy

    def __init__(self, name: str = "ddm"):
        self.name = name

    def check(self, table: Behaviour) -> None:
        """Refuse tables that do not suit the model.

        Raises:
            UnfitError: if there are other than two choices or one stimulus, or fewer than 20 reaction times.
        """
        super().check(table)
        if len(table.stimuli) != 1:
            raise UnfitError(f"{self.name} needs one stimulus, the evidence; the table has {len(table.stimuli)}")
        if ((table.join("choice") >= 0) & np.isfinite(table.join("rt"))).sum() < 20:
            raise UnfitError(f"{self.name} needs reaction times (--rt COLUMN)")

    def _fit(self, problem: Problem) -> Fitted:
        table = problem.table
        x, choice, rt = np.nan_to_num(table.join("stimuli")[:, 0]), table.join("choice"), table.join("rt")
        correct = table.join("correct")
        valid = choice >= 0
        timed = valid & np.isfinite(rt)
        strength, mean, error = _means(np.abs(x[timed]), rt[timed], correct[timed])

        def loss(free: FloatArray) -> float:
            k, a, t, x0 = np.exp(free[0]), np.exp(free[1]), free[2], free[3]
            p = np.clip(expit(2 * a * k * (x[valid] - x0)), 1e-12, 1 - 1e-12)
            predicted = mean_reaction_time(strength, k, a, 1000 * t) / 1000
            choices = -np.log(np.where(choice[valid] == 1, p, 1 - p)).sum()
            return float(choices + 0.5 * (((mean - predicted) / error) ** 2).sum())

        typical = np.median(np.abs(x[valid])) or 1.0
        start = np.array([np.log(1 / typical), np.log(0.7), 0.5 * mean.min(), 0.0])
        scale = np.array([1, 1, 1, typical])

        def scaled(z: FloatArray) -> float:
            return loss(z * scale)

        options = {"maxiter": 6000, "maxfev": 6000, "xatol": 1e-6, "fatol": 1e-6}
        starts = [(start + [s, -s / 2, 0, 0]) / scale for s in (-1.0, 0.0, 1.0)]
        found = [minimize(scaled, each, method="Nelder-Mead", options=options) for each in starts]
        z = np.asarray(min(found, key=lambda result: float(result.fun)).x)
        curvature = hessian(lambda _, tried: np.array([[scaled(point) for point in tried[0]]]), z[None], 1e-3)[0]
        se = np.sqrt(np.maximum(np.diag(np.linalg.pinv(curvature / np.outer(scale, scale))), 0))
        estimates = {p.name: p.estimate(*ends) for p, *ends in zip(PARAMETERS, z * scale, se, strict=True)}
        policy = DiffusionPolicy(np.array([each.value for each in estimates.values()]))
        p = policy.probabilities(0, x[valid, None])
        score = float(np.log(np.clip(p[np.arange(len(p)), choice[valid]], 1e-12, 1)).sum())
        return Fitted(self.name, policy, estimates, score)


def _means(strength: FloatArray, rt: FloatArray, correct: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return strengths with mean reaction time of correct choices (all choices at strength 0) and standard error."""
    edges = np.unique(strength)
    if len(edges) > STRENGTHS:
        edges = np.unique(np.quantile(strength, np.linspace(0, 1, STRENGTHS)))
    index = np.clip(np.searchsorted(edges, strength, "right") - 1, 0, len(edges) - 1)
    rows = []
    for k in range(len(edges)):
        here = index == k
        right = here & ((correct == 1) | ~np.isfinite(correct) | (strength == 0))
        if right.sum() > 1:
            rows.append((strength[here].mean(), rt[right].mean(), rt[right].std(ddof=1) / np.sqrt(right.sum())))
    found = np.array(rows)
    return found[:, 0], found[:, 1], np.maximum(found[:, 2], 1e-6)
