"""Structure of recurrent networks: existing connections, signs, rank, areas, and untrained parts. No torch here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ngym_cli.agents.networks.connectome import from_table
from ngym_cli.errors import UserError, check_known, option, unknown

#: Parts of a network that can be left untrained.
UNTRAINABLE = ("input", "recurrent", "bias", "output")


class Area(NamedTuple):
    """Block of units with the connections to and from other blocks.

    Attributes:
        name: as in the table.
        units: positions of its units.
        inputs: density of connections from the inputs, or the numbers of the input channels.
        output: density of connections to the outputs.
        within: density of connections inside.
        inhibitory: fraction of inhibitory units; None: as in the whole network.
        sources: density of connections from other areas, by name.
    """

    name: str
    units: slice
    inputs: float | list[int]
    output: float
    within: float
    inhibitory: float | None
    sources: dict[str, float]


@dataclass(frozen=True)
class Structure:
    """Constraints on the weights of a network, options of every recurrent network.

    Masks are matrices (to, from). Areas come from a table {name: {units, input, output, within, inhibitory, from}}.

    Raises:
        ValueError: for constraints that contradict one another.
    """

    density: float = 1.0
    mask: Sequence[Sequence[float]] | None = None
    input_density: float = 1.0
    input_mask: Sequence[Sequence[float]] | None = None
    output_density: float = 1.0
    output_mask: Sequence[float] | None = None
    ring: int | None = None
    inhibitory: float = 0.0
    rank: int | None = None
    random: float = 0.0
    radius: float | None = None
    fixed: Sequence[str] = ()
    areas: Mapping[str, Mapping[str, object]] | None = None
    connectome: Mapping[str, object] | None = None
    prune: str | None = None
    blocks: list[Area] = field(init=False, compare=False, default_factory=list)

    def __post_init__(self) -> None:
        """Refuse contradictions."""
        object.__setattr__(self, "fixed", tuple(self.fixed))
        for entries in self.fixed:
            check_known("part of a network (fixed)", entries, UNTRAINABLE)
        object.__setattr__(self, "blocks", read_areas(self.areas) if self.areas else [])
        signed = self.inhibitory > 0 or any(area.inhibitory for area in self.blocks)
        if self.rank is not None and signed:
            raise UserError("rank and inhibitory contradict each other: weights of low rank have no fixed signs")
        if self.rank is not None and self.radius is not None:
            raise UserError("radius is of weights without rank; random sets the strength of the random part")
        if self.random and self.rank is None:
            raise UserError("random needs rank, as in rank=2; radius sets the strength of all recurrent weights")
        others = {"rank": self.rank, "mask": self.mask, "areas": self.areas}
        for name, value in others.items():
            if self.connectome is not None and value is not None:
                raise UserError(f"{name} and connectome contradict each other: both say which connections exist")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Structure:
        """Return the structure described by options by name; other names are left out."""
        names = {each.name for each in fields(cls) if each.init}
        return cls(**{name: value for name, value in values.items() if name in names})

    def __bool__(self) -> bool:
        """Whether anything differs from a plain network."""
        return self != Structure()

    def signs(self, units: int) -> np.ndarray | None:
        """Return 1 for excitatory and -1 for inhibitory units, shape (units,); None without signs."""
        signs = np.ones(units, np.float32)
        for area in self.blocks or [Area("", slice(0, units), 1.0, 1.0, 1.0, None, {})]:
            share = self.inhibitory if area.inhibitory is None else area.inhibitory
            size = len(signs[area.units])
            n = round(share * size)
            if share and not 0 < n < size:
                where = f" of area {area.name}" if area.name else ""
                raise UserError(f"inhibitory={share:g} of {size} units{where} leaves one population empty")
            signs[area.units][size - n :] = -1
        return signs if (signs < 0).any() else None

    def recurrent(self, units: int, rng: np.random.Generator) -> np.ndarray | None:
        """Return the mask of the recurrent weights, shape (units to, units from); None if all exist."""
        between = self._between(units)
        allowed = self.density if between is None else between * self.density
        if self.connectome is not None:
            return _mask(allowed, from_table(self.connectome).mask, (units, units), "connectome", rng)
        return _mask(allowed, self.mask, (units, units), "mask", rng)

    def inputs(self, units: int, channels: int, rng: np.random.Generator) -> np.ndarray | None:
        """Return the mask of the weights from inputs, shape (units, channels); None if all exist."""
        allowed: float | np.ndarray = self.input_density
        if self.blocks:
            allowed = np.zeros((units, channels))
            for area in self.blocks:
                allowed[area.units] = _channels(area, channels) * self.input_density
        return _mask(allowed, self.input_mask, (units, channels), "input_mask", rng)

    def outputs(self, units: int, n: int, rng: np.random.Generator) -> np.ndarray | None:
        """Return the mask of the weights to outputs, shape (outputs, units); None if all exist."""
        allowed: float | np.ndarray = self.output_density
        if self.blocks:
            allowed = np.zeros((n, units))
            for area in self.blocks:
                allowed[:, area.units] = area.output * self.output_density
        mask = None if self.output_mask is None else _as_matrix(self.output_mask, "output_mask")
        if mask is not None and mask.shape == (1, units):
            mask = np.repeat(mask, n, 0)
        return _mask(allowed, mask, (n, units), "output_mask", rng)

    def _between(self, units: int) -> np.ndarray | None:
        """Density of every recurrent connection that the areas allow; excitatory units alone reach other areas."""
        if not self.blocks:
            return None
        total = self.blocks[-1].units.stop
        if total != units:
            raise UserError(f"the areas have {total} units altogether, but {option('--units')} is {units}")
        allowed, signs = np.zeros((units, units)), self.signs(units)
        units_of = {area.name: area.units for area in self.blocks}
        for area in self.blocks:
            allowed[area.units, area.units] = area.within
            for name, density in area.sources.items():
                source = units_of[name]
                allowed[area.units, source] = density if signs is None else density * (signs[source] > 0)
        return allowed


def read_areas(table: Mapping[str, Any]) -> list[Area]:
    """Read a table of areas.

    Raises:
        UserError: names the area and the entry that cannot be used.
    """
    keys = ("units", "input", "output", "within", "inhibitory", "from")
    areas, begin = list[Area](), 0
    for name, entry in table.items():
        if not isinstance(entry, Mapping) or not isinstance(entry.get("units"), int) or entry["units"] < 1:
            raise UserError(f"area {name} needs a number of units, as in [{name}] units = 32")
        for key in entry:
            check_known(f"entry of area {name}", key, keys)
        sources = entry.get("from", {})
        if not isinstance(sources, Mapping):
            raise UserError(f"area {name}: from names areas and densities, as in from = {{V1 = 0.2}}, not '{sources}'")
        for source in sources:
            if source not in table or source == name:
                raise unknown(f"source of area {name}", source, [candidate for candidate in table if candidate != name])
        density = {key: _density(name, key, entry.get(key, default)) for key, default in _SHARES.items()}
        inputs = entry.get("input", False)
        channels = _numbers(name, inputs) if isinstance(inputs, list) else _density(name, "input", inputs)
        inhibitory = _density(name, "inhibitory", entry["inhibitory"]) if "inhibitory" in entry else None
        reached = {source: _density(name, f"from {source}", share) for source, share in sources.items()}
        units = slice(begin, begin := begin + entry["units"])
        areas.append(Area(name, units, channels, density["output"], density["within"], inhibitory, reached))
    if not areas:
        return areas
    for role, has in (("input", any(area.inputs for area in areas)), ("output", any(area.output for area in areas))):
        if not has:
            raise UserError(f"no area has {role}s; write {role} = true in the table of one")
    return areas


_SHARES = {"output": False, "within": True}


def _density(area: str, key: str, value: object) -> float:
    if not isinstance(value, bool | int | float) or not 0 <= value <= 1:
        raise UserError(f"area {area}: {key} must be true, false or a density from 0 to 1, not '{value}'")
    return float(value)


def _numbers(area: str, indices: list[Any]) -> list[int]:
    """Return a list of numbers of input channels."""
    for each in indices:
        if not isinstance(each, int) or isinstance(each, bool):
            raise UserError(f"area {area}: input must be numbers of channels, as in [0, 2], not '{each}'")
    return indices


def _channels(area: Area, channels: int) -> np.ndarray:
    """Density of the connections from each input channel to an area, shape (channels,)."""
    if not isinstance(area.inputs, list):
        return np.full(channels, area.inputs)
    wrong = [k for k in area.inputs if not 0 <= k < channels]
    if wrong:
        raise UserError(f"area {area.name}: no input channel {wrong[0]}; expected 0 to {channels - 1}")
    return np.isin(np.arange(channels), area.inputs).astype(float)


def _mask(
    density: float | np.ndarray,
    requested: ArrayLike | None,
    shape: tuple[int, int],
    name: str,
    rng: np.random.Generator,
) -> np.ndarray | None:
    """Return a mask with random connections of the given density, and of these those in a requested mask."""
    if requested is None and np.all(density == 1.0):
        return None
    mask = (rng.random(shape) < density).astype(np.float32)
    if requested is not None:
        matrix = _as_matrix(requested, name)
        if matrix.shape != shape:
            raise UserError(
                f"{name} must be {shape[0]} x {shape[1]} (to, from), not {' x '.join(map(str, matrix.shape))}"
            )
        mask *= matrix
    return mask


def _as_matrix(values: ArrayLike, name: str) -> np.ndarray:
    try:
        matrix = np.atleast_2d(np.asarray(values, np.float32))
    except ValueError:
        matrix = np.zeros((0, 0, 0), np.float32)
    if matrix.ndim != 2 or not np.isin(matrix, (0, 1)).all():
        raise UserError(f"{name} must be a matrix of zeros and ones, as in 1/0//0/1")
    return matrix
