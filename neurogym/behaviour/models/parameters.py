"""Parameters of models with a prior and a range, searched in an unbounded scale.

Priors of parameters per unit of outcomes or stimuli follow from the sizes of these in a table.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, expit, logit, polygamma

from neurogym.analysis.results import Estimate
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import UnfitError
from neurogym.behaviour.table import Behaviour
from neurogym.messages.options import option

#: Typical sizes between which priors made for outcomes and stimuli near 1 suit.
SMALLEST, LARGEST = 0.1, 10.0
#: Positive parameters that may be fixed at 0, the simpler model.
MAY_BE_ZERO = ("eta", "st", "c")


@dataclass(frozen=True)
class ModelParameter:
    """Model parameter with prior and range.

    Attributes:
        name: textbook name; a learner takes the name of its attribute where none is given.
        kind: "unit" (between ``low`` and ``high``), "positive" or "real".
        mean: of the Gaussian prior in the unbounded scale.
        sd: of the Gaussian prior in the unbounded scale.
        low: lower end of a "unit" parameter.
        high: upper end of a "unit" parameter.
        unit: size of a typical change in the unbounded scale, in which a search takes its steps.
        per_outcome: whether it is positive and per unit of outcome, so that its prior follows the size of outcomes.
        in_outcomes: whether it is in the unit of outcomes, so that its prior does.
    """

    name: str = ""
    kind: str = "real"
    mean: float = 0.0
    sd: float = 2.0
    low: float = 0.0
    high: float = 1.0
    unit: float = 1.0
    per_outcome: bool = False
    in_outcomes: bool = False

    @property
    def without_prior(self) -> ModelParameter:
        """Name and range alone."""
        return ModelParameter(self.name, self.kind, low=self.low, high=self.high)

    def value(self, x: FloatArray) -> FloatArray:
        """Return the parameter from the unbounded scale."""
        if self.kind == "real":
            return x
        if self.kind == "positive":
            return np.exp(np.clip(x, -20, 20))
        return self.low + (self.high - self.low) * expit(x)

    def unbounded(self, value: float) -> float:
        """Return a value in the unbounded scale."""
        if self.kind == "real":
            return float(value)
        if self.kind == "positive":
            return float(np.log(max(value, 1e-9)))
        return float(logit(np.clip((value - self.low) / (self.high - self.low), 1e-6, 1 - 1e-6)))

    def checked(self, value: float, name: str = "") -> float:
        """Return a value at which the parameter is to be fixed.

        Args:
            value: the value.
            name: what the user called the parameter; by default its own name.

        Raises:
            UnfitError: if the value is outside the range.
        """
        low = self.low if self.kind == "unit" else 0.0 if self.kind == "positive" else -np.inf
        high = self.high if self.kind == "unit" else np.inf
        open_end = self.kind == "positive" and self.name not in MAY_BE_ZERO
        if not low <= value <= high or (open_end and value <= 0):
            expected = f"between {low:g} and {high:g}" if high < np.inf else f"{low:g} or above"
            expected = f"above {low:g}" if open_end else expected
            raise UnfitError(f"{option('--fix')} {name or self.name}={value:g}: expected a value {expected}")
        return value

    def estimate(self, x: float, se: float, ends: FloatArray | None = None) -> Estimate:
        """Return the parameter with an interval whose ends are found in the unbounded scale.

        Args:
            x: value in the unbounded scale.
            se: standard error there.
            ends: of the interval there, shape (2,); None for 1.96 standard errors.
        """
        low, high = (x - 1.96 * se, x + 1.96 * se) if ends is None else (min(ends[0], x), max(ends[1], x))
        scaled = self.value(np.array([low, x, high]))
        return Estimate(float(scaled[1]), float(scaled[0]), float(scaled[2]), float(scaled[2] - scaled[0]) / (2 * 1.96))


#: Families of priors that a user may choose, with the kind of parameter that each is for.
FAMILIES = {"beta": "unit", "gamma": "positive", "lognormal": "positive", "normal": "real"}


@dataclass(frozen=True)
class Prior:
    """Prior of a parameter that a user chose.

    Fits work with a Gaussian in the unbounded scale. Its mean and s.d. are those of the chosen prior there: of the
    logit for beta, of the logarithm for gamma (shape, scale) and lognormal.

    Attributes:
        family: name in ``FAMILIES``.
        first: first argument: a of beta, shape of gamma, or the mean.
        second: second argument: b of beta, scale of gamma, or the s.d.
    """

    family: str
    first: float
    second: float

    def of(self, parameter: ModelParameter) -> ModelParameter:
        """Return a parameter with this prior.

        Raises:
            UnfitError: if the family is for another kind of parameter.
        """
        if FAMILIES[self.family] != parameter.kind:
            expected = " or ".join(name for name, kind in FAMILIES.items() if kind == parameter.kind)
            raise UnfitError(f"{option('--prior')} {parameter.name}: expected {expected}, not {self.family}")
        a, b = self.first, self.second
        if self.family == "beta":
            mean, variance = digamma(a) - digamma(b), polygamma(1, a) + polygamma(1, b)
        elif self.family == "gamma":
            mean, variance = digamma(a) + np.log(b), polygamma(1, a)
        else:
            mean, variance = a, b**2
        return replace(parameter, mean=float(mean), sd=float(np.sqrt(variance)))


def with_priors(parameters: Sequence[ModelParameter], priors: Mapping[str, Prior]) -> tuple[ModelParameter, ...]:
    """Return parameters with the priors that a user chose, by name."""
    return tuple(priors[each.name].of(each) if each.name in priors else each for each in parameters)


def prior_of(
    parameters: Sequence[ModelParameter], group: tuple[FloatArray, FloatArray] | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return mean and s.d. of the prior of each parameter: its own, or those of the group of a subject."""
    own = np.array([each.mean for each in parameters]), np.array([each.sd for each in parameters])
    return own if group is None else group


def unit(mean: float = 0.0, sd: float = 1.7, low: float = 0.0, high: float = 1.0, name: str = "") -> ModelParameter:
    """Return a parameter between two values; mean and s.d. of the prior are those of its logit."""
    return ModelParameter(name, "unit", mean, sd, low, high)


def rate(name: str = "", high: float = 1.0, low: float = 0.0) -> ModelParameter:
    """Return a parameter between two values with a nearly flat prior."""
    return unit(low=low, high=high, name=name)


def positive(
    typical: float = 3.0, sd: float = 0.6, name: str = "", per_outcome: bool = False, in_outcomes: bool = False
) -> ModelParameter:
    """Return a positive parameter with a log-normal prior around a typical value; ``sd`` is that of the logarithm."""
    mean = float(np.log(typical))
    return ModelParameter(name, "positive", mean, sd, per_outcome=per_outcome, in_outcomes=in_outcomes)


def real(sd: float = 2.0, name: str = "", in_outcomes: bool = False) -> ModelParameter:
    """Return a parameter of either sign with a Gaussian prior around 0."""
    return ModelParameter(name, sd=sd, in_outcomes=in_outcomes)


def stimulus_weight(name: str, size: float) -> ModelParameter:
    """Return the weight of a stimulus, with a prior for evidence of a typical size."""
    return ModelParameter(name, sd=ModelParameter.sd / size, unit=1 / size)


def scaled(parameters: Sequence[ModelParameter], scale: float) -> tuple[ModelParameter, ...]:
    """Return parameters, whose priors are made for outcomes near 1, with priors for outcomes of another size."""

    def each(p: ModelParameter) -> ModelParameter:
        if p.kind == "positive":
            return replace(p, mean=p.mean + (p.in_outcomes - p.per_outcome) * float(np.log(scale)))
        return replace(p, mean=scale * p.mean, sd=scale * p.sd, unit=scale * p.unit) if p.in_outcomes else p

    return tuple(map(each, parameters)) if scale != 1 else tuple(parameters)


def typical_size(values: FloatArray) -> float:
    """Return the median absolute value of numbers that are not 0; 1 where there is none."""
    present = values[np.isfinite(values) & (values != 0)]
    return float(np.median(np.abs(present))) if present.size else 1.0


def typical_outcome(table: Behaviour) -> float:
    """Return the median absolute outcome that is not 0, of gains and losses, or of rewards where neither is known."""
    separate = np.concatenate([table.join(name).astype(float) for name in ("gain", "loss")])
    known = separate[np.isfinite(separate) & (separate != 0)]
    return typical_size(known if known.size else table.join("reward"))


def power_of_ten(size: float) -> float:
    """Return the power of ten next to a size far from 1, and 1 for sizes to which the priors suit."""
    return 1.0 if SMALLEST <= size <= LARGEST else float(10.0 ** np.round(np.log10(size)))


def outcome_scale(table: Behaviour) -> float:
    """Return the power of ten next to the typical outcome of a table; 1 for outcomes near 1."""
    return power_of_ten(typical_outcome(table))


def scale_notes(table: Behaviour, depending: Sequence[str], parameters: Collection[str]) -> list[str]:
    """Return a remark on outcomes far from 1, on whose unit parameters depend.

    Args:
        table: the behaviour.
        depending: parameters that may depend on the unit of outcomes.
        parameters: all parameters of a fit.
    """
    names = [name for name in depending if name in parameters]
    if not names or outcome_scale(table) == 1:
        return []
    size = typical_outcome(table)
    return [f"outcomes have a typical size of {size:g}; the values of {', '.join(names)} depend on their unit"]
