"""Weights of a recurrent network: matrices sorted by area or selectivity, spectrum, and modules next to activity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from neurogym.analysis.modules import agreement, find_modules
from neurogym.dynamics import Stack
from ngym_cli.agents.dynamics import read_outs
from ngym_cli.agents.networks.connectome import from_table
from ngym_cli.agents.networks.structure import read_areas
from ngym_cli.agents.trained import remembers
from ngym_cli.figures import registry, style
from ngym_cli.figures.population import Population, population
from ngym_cli.figures.wording import channel_names, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ngym_cli.figures.source import Source
    from ngym_cli.figures.view import PlotData

#: Most channels whose names are written, and the percentile of absolute weights at which the colours end.
MOST_NAMES, WEIGHTS_SHOWN = 12, 99

#: Most regions whose names are written next to an axis; of more, every second, third, ... is.
MOST_REGIONS = 50


class Weights(NamedTuple):
    """Weights of the top layer: of the candidate state in gated networks.

    Attributes:
        recurrent: from unit (column) to unit (row), shape (units, units).
        inputs: shape (units, inputs).
        outputs: shape (actions, units); None if hidden layers lie between units and actions.
        of: whose weights these are in gated networks, in words; empty without gates.
    """

    recurrent: np.ndarray
    inputs: np.ndarray
    outputs: np.ndarray | None
    of: str


def weights_of(source: Source) -> Weights:
    """Return the weights of a run's network.

    Raises:
        FigureUnavailableError: if the weights of the network are not known, as of a user's own cell.
    """
    with style.unavailable_on(ValueError):
        system: Any = source.system
    layer: Any = system.layers[-1] if isinstance(system, Stack) else system
    if not hasattr(layer, "recurrent"):
        raise style.FigureUnavailableError("a network of a user's own cell does not say which weights are recurrent")
    units = layer.recurrent.shape[1]
    gates = len(layer.recurrent) // units
    block = slice(2 * units, 3 * units) if gates > 1 else slice(None)  # the candidate is third in GRU and LSTM
    try:
        outputs = read_outs(source.actor)
    except ValueError:
        outputs = None
    return Weights(layer.recurrent[block], layer.weights[block], outputs, "candidate state" if gates > 1 else "")


def _has_weights(view: PlotData) -> None:
    if not remembers(view.first.actor):
        raise style.FigureUnavailableError("a memoryless agent has no recurrent weights")
    weights_of(view.first)


@registry.figure(
    "recurrent, input and output weights, their spectrum, and modules of weights and activity",
    record=("activity",),
    check=_has_weights,
)
def weights(view: PlotData) -> Figure:
    """Draw the weights by area or selectivity, the spectrum, and modules of weights next to those of activity."""
    recorded, matrix = population(view), weights_of(view.first)
    order, borders, sorted_by = _sorted(view.first, recorded)
    figure, grid = style.new_figure(2, 3, width=4.0, height=3.6)
    labels, regions = view.properties.labels, region_names(view.first)
    _matrix(grid[0][0], matrix.recurrent[np.ix_(order, order)], f"recurrent, sorted by {sorted_by}", borders)
    grid[0][0].set(xlabel="from unit", ylabel="to unit")
    _regions(grid[0][0], regions, True)
    _matrix(grid[0][1], matrix.inputs[order], "input", borders)
    _names(grid[0][1], channel_names(labels.get("observation", {}), matrix.inputs.shape[1]), "from input")
    _regions(grid[0][1], regions, False)
    if matrix.outputs is None:
        grid[0][2].remove()
    else:
        _matrix(grid[0][2], matrix.outputs[:, order].T, "output", borders)
        _names(grid[0][2], channel_names(labels.get("action", {}), len(matrix.outputs)), "to output")
        _regions(grid[0][2], regions, False)
    _spectrum(grid[1][0], matrix.recurrent)
    _modules(grid[1][1], grid[1][2], matrix.recurrent, recorded.activity.values, regions)
    of = f" of the {matrix.of}" if matrix.of else ""
    n = f"{len(matrix.recurrent)} units, activity of {len(recorded.activity):,} trials"
    figure.suptitle(f"weights{of}, n = {n}", fontsize="medium")
    return figure


def _sorted(source: Source, recorded: Population) -> tuple[np.ndarray, list[int], str]:
    """Return the units in the order of areas or of selectivity, borders between areas, and what they are sorted by."""
    if regions := region_names(source):
        return np.arange(len(regions)), [], "region, as in the file"
    areas = source.config.network_args.get("areas")
    rate = recorded.activity.mean_rate(recorded.at, stop=recorded.stop)
    index = recorded.conditions.index
    means = np.stack(
        [rate[index == k].mean(axis=0) for k in range(len(recorded.conditions.levels)) if (index == k).any()]
    )
    rank = np.linspace(-1, 1, len(means)) if len(means) > 1 else np.zeros(1)
    slope = rank @ (means - means.mean(axis=0))
    names = " and ".join(map(short, recorded.conditions.names))
    if areas:
        blocks = read_areas(areas)
        order = np.concatenate([b.units.start + np.argsort(slope[b.units], kind="stable") for b in blocks])
        return order, [block.units.start for block in blocks[1:]], f"area ({', '.join(b.name for b in blocks)})"
    if not slope.any():
        return np.arange(len(slope)), [], "number"
    return np.argsort(slope, kind="stable"), [], f"selectivity to {names}"


def _matrix(axes: Axes, values: np.ndarray, title: str, borders: Sequence[int] = (), cmap: str = "RdBu_r") -> None:
    limit = float(np.percentile(np.abs(values), WEIGHTS_SHOWN)) or 1.0
    image = axes.imshow(values, cmap=cmap, vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")
    style.figure_of(axes).colorbar(image, ax=axes, extend="both")
    for border in borders:
        axes.axhline(border - 0.5, color="black", linewidth=0.6)
        if values.shape[0] == values.shape[1]:
            axes.axvline(border - 0.5, color="black", linewidth=0.6)
    axes.set(title=title, ylabel="unit")


def _names(axes: Axes, names: Sequence[str], label: str) -> None:
    if len(names) <= MOST_NAMES:
        style.category_ticks(axes, names)
    axes.set_xlabel(label)


def region_names(source: Source) -> tuple[str, ...]:
    """Return the names of the regions of a run's connectome, one for each unit; empty without names."""
    connectome = source.config.network_args.get("connectome")
    return from_table(connectome).names if connectome else ()


def _regions(axes: Axes, names: Sequence[str], both: bool) -> None:
    """Write names of regions next to the rows and, of recurrent weights, below the columns."""
    if not names:
        return
    shown = range(0, len(names), -(-len(names) // MOST_REGIONS))
    labels, size = [names[k] for k in shown], min(7.0, 200 / len(shown))
    axes.set_yticks(shown, labels, fontsize=size)
    axes.set_ylabel("to region" if both else "region")
    if both:
        axes.set_xticks(shown, labels, fontsize=size, rotation=90)
        axes.set_xlabel("from region")


def _spectrum(axes: Axes, recurrent: np.ndarray) -> None:
    """Draw the eigenvalues of the recurrent weights with the unit circle."""
    values = np.linalg.eigvals(recurrent)
    style.unit_circle(axes)
    axes.plot(values.real, values.imag, "o", color=style.COLOURS[0], markersize=3)
    radius = float(np.abs(values).max())
    axes.set_title(f"eigenvalues, spectral radius {radius:.2g}")
    axes.set_aspect("equal", adjustable="datalim")


def _modules(
    of_weights: Axes, of_activity: Axes, recurrent: np.ndarray, activity: np.ndarray, names: Sequence[str]
) -> None:
    """Draw strengths of connections by modules of weights, and correlations by modules of activity."""
    varying = activity.std(axis=0) > 0
    correlation = np.zeros_like(recurrent)
    correlation[np.ix_(varying, varying)] = np.corrcoef(activity[:, varying], rowvar=False)
    with style.unavailable_on(ValueError):
        first, second = find_modules(recurrent), find_modules(correlation)
    strength, word = np.abs(recurrent) + np.abs(recurrent.T), "region" if names else "unit"
    for axes, values, found, name in (
        (of_weights, strength / 2, first, "strength of connections"),
        (of_activity, correlation, second, "correlation of activity"),
    ):
        borders = np.cumsum(np.bincount(found.labels))[:-1].tolist()
        n = int(found.labels.max()) + 1
        title = f"{name}, {n} module{'s' * (n > 1)},\nQ = {found.modularity:.2f}, shuffled {_shuffled(values):.2f}"
        _matrix(axes, values[np.ix_(found.order, found.order)], title, borders)
        _regions(axes, [names[k] for k in found.order] if names else (), True)
        axes.set(xlabel=word, ylabel=word)
    of_activity.set_xlabel(
        f"{word}; agreement of modules with those of weights {agreement(first.labels, second.labels):.2f}"
    )


def _shuffled(similarity: np.ndarray) -> float:
    """Return the modularity of modules that are found after the pairs have been shuffled."""
    pairs = np.triu_indices(len(similarity), 1)
    shuffled = np.zeros_like(similarity)
    shuffled[pairs] = np.random.default_rng(0).permutation(similarity[pairs])
    return find_modules(shuffled).modularity
