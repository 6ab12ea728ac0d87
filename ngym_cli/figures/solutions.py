"""Figure that places a network among the networks of the catalogue of its task.

The catalogue, ``solutions.json``, is written by ``python -m experiments.records --texts`` from the record `solutions`.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from neurogym.analysis.trial_tables import Table
from neurogym.dynamics import PopulationTrials
from neurogym.dynamics.catalogue import Solution, clusters, distances, geometry, nearest_cluster, topology
from ngym_cli.environments.properties import ANSWER_COLUMNS
from ngym_cli.figures import registry
from ngym_cli.figures.dynamics import FIXED
from ngym_cli.figures.dynamics_data import dynamics_of
from ngym_cli.figures.population import population
from ngym_cli.figures.style import COLOURS, GREY, FigureUnavailableError, legend_below, new_figure
from ngym_cli.figures.view import PlotData
from ngym_cli.runs.recordings import NETWORK_QUANTITIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CATALOGUE = Path(__file__).with_name("solutions.json")

#: Most conditions and phases of a trial whose states are compared; phases where there is a single condition.
MOST_CONDITIONS, PHASES, PHASES_ALONE = 6, 4, 12

#: Periods whose topology counts, the first that a task has.
PERIOD_RANKS = ("delay", "measure", "stimulus", "")

MARKERS = "os^Dv<>p"


@dataclass(frozen=True)
class Catalogue:
    """Networks that were trained in one task.

    Attributes:
        column: column of the trials that tells the conditions apart; empty for a single condition.
        conditions: values of the column.
        solutions: the networks.
    """

    column: str
    conditions: tuple[str, ...]
    solutions: tuple[Solution, ...]


@functools.cache
def catalogue() -> dict[str, Catalogue]:
    """Return the catalogue of each task by id."""
    tables = json.loads(CATALOGUE.read_text(encoding="utf-8")) if CATALOGUE.is_file() else {}
    return {
        id_: Catalogue(
            row["column"],
            tuple(row["conditions"]),
            tuple(Solution(**{**each, "geometry": tuple(each["geometry"])}) for each in row["networks"]),
        )
        for id_, row in tables.items()
    }


def conditions_of(table: Table) -> tuple[str, tuple[str, ...]]:
    """Return the column that tells conditions apart, and at most `MOST_CONDITIONS` of its values in equal steps.

    Args:
        table: the trials.
    """
    for name in ANSWER_COLUMNS:
        column = table.get(name)
        if column is None or column.ndim != 1:
            continue
        values, counts = np.unique(column[np.isfinite(column.astype(float))].astype(float), return_counts=True)
        values = values[counts >= max(2, counts.sum() // 200)]
        if len(values) > 1:
            chosen = values[np.unique(np.linspace(0, len(values) - 1, MOST_CONDITIONS).round().astype(int))]
            return name, tuple(f"{value:g}" for value in chosen)
    return "", ("all",)


def describe(view: PlotData, column: str, conditions: tuple[str, ...], network: str, seed: int) -> Solution:
    """Return the solution of the recorded network of the first run.

    Args:
        view: the run.
        column: column that tells conditions apart, or empty.
        conditions: values of the column.
        network: kind of network.
        seed: seed of the training.

    Raises:
        FigureUnavailableError: if the trials lack one of the conditions.
    """
    trials = population(view)
    activity, offsets = np.asarray(trials.activity.values, float), trials.activity.offsets
    values = trials.table[column].astype(float) if column else None
    names = np.array(["all"] * len(trials.activity) if values is None else [f"{value:g}" for value in values])
    absent = [name for name in conditions if name not in names]
    if absent:
        raise FigureUnavailableError(f"no recorded trial has {column} {absent[0]}, a condition of the catalogue")
    pieces = [activity[a:b] for a, b in itertools.pairwise(offsets)]
    phases = PHASES if len(conditions) > 1 else PHASES_ALONE
    averages = PopulationTrials("", pieces, names).averages(conditions, phases)
    found = tuple(round(float(value), 2) for value in geometry(averages))
    performance = float(np.nanmean(view.recorded.table["performance"]))
    return Solution(network, seed, round(performance, 3), _topology(view), found)


def _topology(view: PlotData) -> str:
    """Return the fixed-point topology of the network in the first of `PERIOD_RANKS`."""
    try:
        searched = dynamics_of(view).searched
    except FigureUnavailableError:
        return "no slow point"
    ranked = sorted(
        searched, key=lambda each: PERIOD_RANKS.index(each[0].period) if each[0].period in PERIOD_RANKS else 9
    )
    return topology(ranked[0][1], FIXED)


def _in_catalogue(view: PlotData) -> None:
    if view.properties.id not in catalogue():
        raise FigureUnavailableError(f"no catalogue of this task; expected one of: {', '.join(catalogue()) or 'none'}")


@registry.figure(
    "the network among the networks of the catalogue of its task: similarity, clusters, fixed-point topology",
    record=NETWORK_QUANTITIES,
    check=_in_catalogue,
    on_request=True,
)
def solutions(view: PlotData) -> Figure:
    """Draw a map of the networks with their clusters and the run's network as a star, and topologies by network."""
    entry = catalogue()[view.properties.id]
    config = view.first.config
    own = describe(view, entry.column, entry.conditions, str(config.network), int(config.seed))
    labels = clusters(entry.solutions)
    figure = catalogue_figure(entry.solutions, own)
    figure.suptitle(sentence(own, entry.solutions), fontsize="medium")
    near = distances([own, *entry.solutions])[0, 1:]
    view.table = {
        "network": np.array([each.network for each in entry.solutions], object),
        "seed": np.array([each.seed for each in entry.solutions]),
        "performance": np.array([each.performance for each in entry.solutions]),
        "topology": np.array([each.topology for each in entry.solutions], object),
        "cluster": labels,
        "distance": near,
    }
    return figure


def catalogue_figure(networks: Sequence[Solution], own: Solution | None = None) -> Figure:
    """Return a map of the networks of a catalogue and their topologies.

    Args:
        networks: at least one.
        own: network that is placed among these; None for none.
    """
    figure, (plane, bars) = new_figure(1, 2, width=4.4, height=3.6)
    _draw_map(plane, networks, own)
    _draw_topologies(bars, networks, own)
    return figure


def sentence(own: Solution, networks: Sequence[Solution]) -> str:
    """Return the place of a network in a catalogue in words."""
    alike = [each for each in networks if each.network == own.network] or list(networks)
    same = sum(each.topology == own.topology for each in alike)
    noun = f"{own.network} networks" if alike[0].network == own.network else "networks"
    labels = clusters(networks)
    nearest, distance = nearest_cluster(own, networks, labels)
    size = int((labels == nearest).sum())
    return (
        f"{own.topology}, as {same} of {len(alike)} {noun} of the catalogue; "
        f"nearest to cluster {nearest} ({size} of {len(networks)} networks, mean distance {distance:.2f})"
    )


def _draw_map(axes: Axes, networks: Sequence[Solution], own: Solution | None) -> None:
    """Draw networks in two dimensions (classical scaling), the run's network as a star."""
    labels, away = clusters(networks), distances([*networks, *([own] if own else [])])
    n = len(away)
    centring = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * centring @ away**2 @ centring)
    places = vectors[:, -2:][:, ::-1] * np.sqrt(np.maximum(values[-2:][::-1], 0))
    kinds = list(dict.fromkeys(each.network for each in networks))
    for k, each in enumerate(networks):
        colour = COLOURS[(int(labels[k]) - 1) % len(COLOURS)]
        axes.plot(*places[k], MARKERS[kinds.index(each.network) % len(MARKERS)], color=colour, markersize=6)
    for k, kind in enumerate(kinds):
        axes.plot([], [], MARKERS[k % len(MARKERS)], color=GREY, label=kind)
    if own is not None:
        axes.plot(*places[-1], "*", color="black", markersize=13, label="this network")
    title = f"{len(networks)} networks in {int(labels.max())} clusters (colours)"
    axes.set(xlabel="first dimension", ylabel="second dimension", title=title)
    legend_below(axes, 2)


def _draw_topologies(axes: Axes, networks: Sequence[Solution], own: Solution | None) -> None:
    """Draw how many networks of each kind have each topology."""
    kinds = list(dict.fromkeys(each.network for each in networks))
    counts = Counter((each.topology, each.network) for each in networks)
    names = list(dict.fromkeys(each.topology for each in [*([own] if own else []), *networks]))
    left = np.zeros(len(names))
    for k, kind in enumerate(kinds):
        width = np.array([counts[name, kind] for name in names])
        axes.barh(range(len(names)), width, left=left, color=COLOURS[k % len(COLOURS)], label=kind)
        left += width
    words = [f"{name} (this network)" if own and name == own.topology else name for name in names]
    axes.set_yticks(range(len(names)), words)
    axes.invert_yaxis()
    axes.set(xlabel="networks of the catalogue", title="fixed-point topology")
    legend_below(axes, 3, "right")
