"""Perturbation in silico: units are lesioned, silenced, clamped or made noisy while a network runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from ngym_cli.config import options
from ngym_cli.config.values import Values, parse_call, parse_scalar, parse_whole_numbers
from ngym_cli.errors import UserError, check_known, option, unknown

if TYPE_CHECKING:
    from ngym_cli.agents.compiled.network import ArrayState

#: Arguments of each kind; a bare number stands for the first.
KEYS = {
    "lesion": ("fraction", "units", "by"),
    "silence": ("fraction", "units", "period", "by"),
    "clamp": ("value", "units", "fraction", "period", "by"),
    "noise": ("sd", "units", "fraction", "period", "by"),
}

#: Measures by which units rank, see ``ngym_cli.evaluation.ranked_units``.
MEASURES = ("selectivity", "variance", "weight", "participation")

#: Largest size of a number: far beyond any activity, and small enough for products in single precision.
MAX_SIZE = 1_000_000

#: Numbers of a perturbation with their ranges.
NUMBER_FIELDS = {
    "fraction": options.field({"type": "float", "gt": 0, "le": 1}),
    "value": options.field({"type": "float", "ge": -MAX_SIZE, "le": MAX_SIZE}),
    "sd": options.field({"type": "float", "gt": 0, "le": MAX_SIZE}),
}

#: Function from a period to a mask of the environments in which the period is active.
Within = Callable[[str], np.ndarray]


@dataclass(frozen=True)
class Perturbation:
    """Manipulation of some units during some period.

    Attributes:
        kind: ``lesion`` and ``silence`` hold units at zero, cell state included; ``clamp`` holds them at a value, or at
            what they had when the period began; ``noise`` adds Gaussian noise to their activity.
        units: unit numbers, counted through all layers from the first. None: drawn at random, or all units.
        fraction: share of the units, drawn at random, or of highest rank.
        by: measure by which the units of the top layer rank, from `MEASURES`; None: they do not.
        period: period of the trial; None: always.
        value: for ``clamp``; None keeps the activity at the beginning of the period.
        sd: standard deviation of the noise added at each step.
    """

    kind: str
    units: tuple[int, ...] | None = None
    fraction: float | None = None
    period: str | None = None
    value: float | None = None
    sd: float = 0.0
    by: str | None = None

    @property
    def label(self) -> str:
        """Name that distinguishes the perturbation from others, as part of the name of a folder."""
        words = [self.kind]
        if self.kind == "noise":
            words.append(f"{self.sd:g}")
        if self.fraction is not None:
            words.append(f"{self.fraction:g}" if self.by is None else f"top-{self.fraction:g}-{self.by}")
        elif self.units is not None:
            words.append(f"units{'+'.join(map(str, self.units))}")
        if self.value is not None:
            words.append(f"at{self.value:g}")
        return "-".join(words + ([self.period] if self.period else []))


def parse(kind: str, text: str) -> Perturbation:
    """Parse a perturbation flag: a number, ``top:SHARE:MEASURE``, or ``key=value`` separated by spaces or colons.

    Example:
        >>> parse("silence", "units=3,7 period=delay").label
        'silence-units3+7-delay'

    Raises:
        UserError: if it cannot be read, or says too little.
    """
    values: Values = {}
    pieces = sorted(_ranked(kind, text.replace(":", " ").split()), key=lambda piece: "=" in piece)
    call = parse_call(":".join([kind, *pieces]), "perturbation")
    for key, value in [*((KEYS[kind][0], value) for value in call.positional), *call.named]:
        check_known(f"entry of {kind}", key, KEYS[kind])
        if key in values:  # as a positional argument and by name
            raise UserError(f"{option('--' + kind)}: '{key}' appears twice")
        values[key] = _read(kind, key, value)
    if not values:
        raise UserError(f"{option('--' + kind)} needs {' or '.join(KEYS[kind])}")
    if "units" in values and "fraction" in values:
        raise UserError(f"{option('--' + kind)}: pass units or fraction, not both")
    if "by" in values and "fraction" not in values:
        raise UserError(
            f"{option('--' + kind)}: by={values['by']} ranks units for a fraction, as in top:0.1:{values['by']}"
        )
    if kind in ("lesion", "silence", "clamp") and not {"units", "fraction"} & set(values):
        raise UserError(f"{option('--' + kind)} needs units=3,7 or fraction=0.2")
    if kind == "noise" and "sd" not in values:
        raise UserError(f"{option('--noise')} needs the standard deviation of the noise, as {option('--noise 0.1')}")
    return Perturbation(kind, **values)


def _ranked(kind: str, pieces: list[str]) -> list[str]:
    """Return the pieces of a flag, ``top SHARE MEASURE`` as ``fraction=SHARE by=MEASURE``."""
    bare = [piece for piece in pieces if "=" not in piece]
    if "top" not in bare:
        if len(bare) == 3:  # nothing but a misspelt `top` has three
            raise unknown(f"word of {option('--' + kind)}", bare[0], ["top"])
        return pieces
    where = pieces.index("top")
    after = [piece for piece in pieces[where + 1 : where + 3] if "=" not in piece]
    if len(after) < 2:
        raise UserError(
            f"{option('--' + kind)} top needs a share of the units and a measure, as in top:0.1:{MEASURES[0]}"
        )
    return [*pieces[:where], f"fraction={after[0]}", f"by={after[1]}", *pieces[where + 3 :]]


def _read(kind: str, key: str, text: str) -> str | float | tuple[int, ...]:
    if key == "by":
        check_known(f"measure of {option('--' + kind)} top", text, MEASURES)
    if key in ("period", "by"):
        return text
    if key == "units":
        units = tuple(sorted(set(parse_whole_numbers(text, f"{option('--' + kind)} units"))))
        if units[0] < 0:
            raise UserError(f"{option('--' + kind)} units count from 0, not {units[0]}")
        return units
    return float(options.read(f"{option('--' + kind)} {key}", NUMBER_FIELDS[key], parse_scalar(text)))


def drawn(perturbations: Sequence[Perturbation], n_units: int, seed: int) -> list[Perturbation]:
    """Return the perturbations with explicit unit numbers.

    Args:
        perturbations: as requested.
        n_units: units of the network, all layers together.
        seed: of the units drawn at random.

    Raises:
        UserError: if the network has fewer units.
    """
    rng = np.random.default_rng(seed)
    numbers_of_units = []
    for each in perturbations:
        units: Sequence[int] | None = each.units
        if units is None and each.by is not None:
            raise UserError(f"units of highest {each.by} are not known here; name them, as in units=3,7")
        if units is None:
            share = 1.0 if each.fraction is None else each.fraction
            size = max(1, round(share * n_units))
            units = np.sort(rng.choice(n_units, size, replace=False)).tolist()
        elif max(units) >= n_units:
            raise UserError(f"{option('--' + each.kind)}: no unit {max(units)}; expected 0 to {n_units - 1}")
        numbers_of_units.append(replace(each, units=tuple(units)))
    return numbers_of_units


class Perturber:
    """Callable that changes the recurrent state of a batch of environments after each step, before the readout.

    Args:
        perturbations: with their units named, see ``drawn``.
        within: returns the environments in which a period is active at the present step.
        seed: of the noise.
    """

    def __init__(self, perturbations: Sequence[Perturbation], within: Within, seed: int):
        self.perturbations, self.within = list(perturbations), within
        self.rng = np.random.default_rng(seed)
        self._clamped: dict[int, tuple[np.ndarray, ArrayState]] = {}

    def __call__(self, before: ArrayState, after: ArrayState) -> None:
        """Change ``after``, the new state, in place; ``before`` is the state that the step began from."""
        for number, each in enumerate(self.perturbations):
            n = after[0].shape[1]
            on = np.ones(n, bool) if each.period is None else np.broadcast_to(self.within(each.period), (n,))
            layer, unit = np.divmod(np.array(each.units), after[0].shape[2])
            if each.kind == "noise":
                after[0][layer, :, unit] += on * self._noise(each.sd, (len(unit), n), after[0].dtype)
            elif each.kind == "clamp" and each.value is not None:
                after[0][layer, :, unit] = np.where(on, after[0].dtype.type(each.value), after[0][layer, :, unit])
            else:
                clamped = self._hold(number, on, before) if each.kind == "clamp" else None
                for index, array in enumerate(after):
                    target = 0 if clamped is None else clamped[index][layer, :, unit]
                    array[layer, :, unit] = np.where(on, target, array[layer, :, unit])

    def _noise(self, sd: float, shape: tuple[int, int], dtype: DTypeLike) -> np.ndarray:
        return (sd * self.rng.standard_normal(shape)).astype(dtype)

    def _hold(self, number: int, on: np.ndarray, before: ArrayState) -> ArrayState:
        """Return the state that each environment had when the period began."""
        was_on, clamped = self._clamped.get(number, (np.zeros(len(on), bool), tuple(np.zeros_like(p) for p in before)))
        fresh = on & ~was_on
        clamped = tuple(np.where(fresh[None, :, None], now, old) for now, old in zip(before, clamped, strict=True))
        self._clamped[number] = on.copy(), clamped
        return clamped
