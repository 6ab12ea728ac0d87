"""Figure that positions a network among the networks of the catalogue of its task.

The catalogue, ``solutions.json``, is written by ``python -m experiments.records --texts`` from the record `solutions`.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from neurogym.analysis.trial_tables import Table, numbers, sessions
from neurogym.dynamics import PopulationTrials
from neurogym.dynamics.catalogue import (
    ALIKE,
    NOT_JUDGED,
    Solution,
    clusters,
    distances,
    geometry,
    nearest_cluster,
)
from ngym_cli.agents.defaults import prepare
from ngym_cli.agents.trained import remembers
from ngym_cli.config.model import ResolvedConfig, RunConfig
from ngym_cli.environments.properties import ANSWER_COLUMNS
from ngym_cli.figures import registry
from ngym_cli.figures.dynamics_data import dynamics_of
from ngym_cli.figures.population import population
from ngym_cli.figures.style import COLOURS, GREY, FigureUnavailableError, legend_below, new_figure
from ngym_cli.figures.view import PlotData
from ngym_cli.runs.recordings import NETWORK_QUANTITIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CATALOGUE = Path(__file__).with_name("solutions.json")

#: Most conditions and phases of a trial whose states are compared; phases where there is a single condition.
MOST_CONDITIONS, PHASES, PHASES_ALONE = 4, 4, 12

#: Most outputs whose signs are conditions, and smallest share of the trials that a condition must have.
MOST_OUTPUTS, SMALLEST_SHARE = 3, 0.02

#: Conditions that no column of the trials holds: choice and reward of the trial before, where these decide what is
#: right, and the signs of several outputs at the end of a trial.
LAST_TRIAL, SIGNS = "last choice and reward", "signs of the outputs"

#: Periods whose topology counts, the first that a task has.
PERIOD_RANKS = ("delay", "measure", "stimulus", "")

#: Share of the ceiling from which a network counts as having learned the task.
LEARNED = 0.9

#: Names of attractors that have no article.
MASS = ("chaos", "quasi-periodic", "unbounded", "marginal points", "not settled", "none")

MARKERS = "os^Dv<>p"

#: Most clusters with a name and topologies with a bar of their own; name of the bar of all others.
MOST_NAMED, MOST_TOPOLOGIES, REST = 4, 8, "others"


@dataclass(frozen=True)
class Catalogue:
    """Networks that were trained in one task.

    Attributes:
        column: column of the trials that tells the conditions apart, see `condition_names`.
        conditions: values of the column.
        solutions: networks that learned the task.
        ceiling: performance of the ideal observer; None where unknown.
        left_out: number of further networks, which did not learn the task or met other conditions.
    """

    column: str
    conditions: tuple[str, ...]
    solutions: tuple[Solution, ...]
    ceiling: float | None = None
    left_out: int = 0


@functools.cache
def catalogue() -> dict[str, Catalogue]:
    """Return the catalogue of each task by id."""
    tables = json.loads(CATALOGUE.read_text(encoding="utf-8")) if CATALOGUE.is_file() else {}
    return {
        id_: Catalogue(
            row["column"],
            tuple(row["conditions"]),
            tuple(
                Solution(network, seed, performance, topology_, tuple(value / 100 for value in hundredths))
                for network, seed, performance, topology_, hundredths in row["networks"]
            ),
            row["ceiling"],
            row["left_out"],
        )
        for id_, row in tables.items()
    }


def has_learned(performance: float, ceiling: float | None) -> bool:
    """Return whether a performance reaches the share `LEARNED` of the ceiling; True where the ceiling is unknown."""
    return ceiling is None or performance >= LEARNED * ceiling


def conditions_of(table: Table, by_reward: bool = False, further: Iterable[str] = ()) -> tuple[str, tuple[str, ...]]:
    """Return the column that tells conditions apart, and its values.

    The column is `LAST_TRIAL` where earlier rewards decide what is right; else the right answer, or the choice where
    none is right; else `SIGNS` of a few outputs; else a condition of the task, such as an interval. Of numbers at most
    `MOST_CONDITIONS` values count, in equal steps.

    Args:
        table: the trials.
        by_reward: whether earlier rewards decide what is right, as in a bandit.
        further: columns of the task's conditions.
    """
    for column in ((LAST_TRIAL,) if by_reward else ()) + (*ANSWER_COLUMNS, SIGNS, *further):
        names, counts = np.unique(condition_names(table, column), return_counts=True)
        names = names[(names != "") & (counts >= max(2, SMALLEST_SHARE * len(table["choice"])))]
        if column not in (LAST_TRIAL, SIGNS):
            n = min(len(names), MOST_CONDITIONS)
            names = np.array(sorted(names, key=float))[np.arange(n) * len(names) // max(n, 1)]
        if len(names) > 1:
            return column, tuple(map(str, names))
    return "", ("all",)


def condition_names(table: Table, column: str) -> np.ndarray:
    """Return the condition of each trial, shape (trials,); empty where a trial has none.

    Args:
        table: the trials.
        column: a column with numbers, `LAST_TRIAL`, `SIGNS`, or empty for a single condition.
    """
    n = len(table["choice"])
    if not column:
        return np.full(n, "all")
    if column == LAST_TRIAL:
        return _last_trial(table)
    if column == SIGNS:
        outputs = table["choice"]
        if outputs.ndim != 2 or outputs.shape[1] > MOST_OUTPUTS:
            return np.full(n, "")
        return np.array(["".join("+" if value > 0 else "-" for value in row) for row in outputs.astype(float)])
    values = table.get(column)
    if values is None or values.ndim != 1:
        return np.full(n, "")
    return np.array([f"{value:g}" if np.isfinite(value) else "" for value in values.astype(float)])


def _last_trial(table: Table) -> np.ndarray:
    """Return choice and reward of the trial before in the same session in words, shape (trials,)."""
    choice, reward = condition_names(table, "choice"), numbers(table["reward"])
    words = np.where(reward > np.nanmean(reward), "rewarded", "not rewarded")
    texts = np.array([name and f"{name}, {word}" for name, word in zip(choice, words, strict=True)])
    order = np.lexsort((table["trial"], table["env"]))
    session = sessions(table)[order]
    follows = session[1:] == session[:-1]
    names = np.full(len(texts), "", texts.dtype)
    names[order[1:][follows]] = texts[order[:-1][follows]]
    return names


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
    names = condition_names(trials.table, column)
    absent = [name for name in conditions if name not in names]
    if absent:
        raise FigureUnavailableError(f"no recorded trial has {column} {absent[0]}, a condition of the catalogue")
    pieces = [activity[a:b] for a, b in itertools.pairwise(offsets)]
    if column == SIGNS:  # they hold at the end
        pieces = [piece[-1:] for piece in pieces]
    steps = 1 if column == SIGNS else view.properties.trial_steps
    phases = min(PHASES if len(conditions) > 1 else PHASES_ALONE, steps)
    averages = PopulationTrials("", pieces, names).averages(conditions, phases)
    compared = tuple(round(float(value), 2) for value in geometry(averages))
    performance = float(np.nanmean(view.recorded.table["performance"]))
    return Solution(network, seed, round(performance, 3), _topology(view), compared)


def _topology(view: PlotData) -> str:
    """Return the name of the attractors of the network in the first of `PERIOD_RANKS`."""
    ranked = sorted(
        dynamics_of(view).searched,
        key=lambda each: PERIOD_RANKS.index(each[0].period) if each[0].period in PERIOD_RANKS else 9,
    )
    return ranked[0][1].name


def _in_catalogue(view: PlotData) -> None:
    if view.properties.id not in catalogue():
        raise FigureUnavailableError(f"no catalogue of this task; expected one of: {', '.join(catalogue()) or 'none'}")
    if not remembers(view.first.actor):
        raise FigureUnavailableError("a memoryless agent has no recurrent dynamics")


@registry.figure(
    "the network among the networks of the catalogue of its task: similarity, clusters, attractors",
    record=NETWORK_QUANTITIES,
    check=_in_catalogue,
    on_request=True,
)
def solutions(view: PlotData) -> Figure:
    """Draw a map of the networks with their clusters and the run's network as a star, and topologies by network."""
    entry = catalogue()[view.properties.id]
    config = view.first.config
    query = describe(view, entry.column, entry.conditions, str(config.network), int(config.seed))
    if len(query.geometry) != len(entry.solutions[0].geometry):
        raise FigureUnavailableError(f"trials of {view.properties.trial_steps} steps are too short for the catalogue")
    labels = clusters(entry.solutions)
    figure = catalogue_figure(entry.solutions, query)
    view.caption = caption(query, entry, other_settings(config))
    figure.suptitle(view.caption, fontsize="medium")
    near = distances([query, *entry.solutions])[0, 1:]
    view.table = {
        "network": np.array([each.network for each in entry.solutions], object),
        "seed": np.array([each.seed for each in entry.solutions]),
        "performance": np.array([each.performance for each in entry.solutions]),
        "topology": np.array([each.topology for each in entry.solutions], object),
        "cluster": labels,
        "distance": near,
    }
    return figure


def other_settings(config: ResolvedConfig) -> list[str]:
    """Return the settings of the task in which a run differs from the catalogue, as in ``timing delay=500``.

    Args:
        config: complete configuration of the run.
    """
    usual, _ = prepare(RunConfig(task=config.task))
    words = [f"dt={config.dt:g}"] if config.dt != usual.dt else []
    for name in ("task_args", "timing", "rewards"):
        expected = getattr(usual, name)
        changed = [f"{key}={value}" for key, value in getattr(config, name).items() if expected.get(key) != value]
        words += [f"{name} {', '.join(changed)}"] if changed else []
    if config.wrappers != usual.wrappers:
        words.append(f"wrappers {', '.join(each.name for each in config.wrappers) or 'none'}")
    return words


def caption(query: Solution, entry: Catalogue, settings: Sequence[str] = ()) -> str:
    """Return the place of a network in a catalogue in words, preceded by what makes it unlike the catalogue.

    Args:
        query: the network.
        entry: catalogue of the task.
        settings: settings of the task that differ from the catalogue, from `other_settings`.
    """
    remarks = []
    if not has_learned(query.performance, entry.ceiling):
        remarks.append(
            f"The network did not learn the task (performance {query.performance:.2f}, ceiling {entry.ceiling:.2f}); "
            "those of the catalogue did."
        )
    if settings:
        remarks.append(f"Settings differ from the catalogue: {'; '.join(settings)}.")
    return " ".join([*remarks, sentence(query, entry.solutions)])


def catalogue_figure(networks: Sequence[Solution], query: Solution | None = None) -> Figure:
    """Return a map of the networks of a catalogue and their topologies.

    Args:
        networks: at least one.
        query: network that is placed among these; None for none.
    """
    figure, (plane, bars) = new_figure(1, 2, width=4.4, height=3.6)
    _draw_map(plane, networks, query)
    _draw_topologies(bars, networks, query)
    return figure


def sentence(query: Solution, networks: Sequence[Solution]) -> str:
    """Return the place of a network in a catalogue in words."""
    judged = [each for each in networks if each.topology != NOT_JUDGED]
    same_kind = [each for each in judged if each.network == query.network]
    same, total = (sum(each.topology == query.topology for each in group) for group in (same_kind, judged))
    labels = clusters(networks)
    nearest, distance = nearest_cluster(query, networks, labels)
    size = int((labels == nearest).sum())
    of_kind = f"{len(same_kind)} {query.network} networks of the catalogue"
    in_all = f"{total} of {len(judged)} in all"
    if not judged:
        shared = "whose attractors are not known in the catalogue"
    elif not same_kind:
        shared = f"as {total} of {len(judged)} networks of the catalogue"
    elif len(same_kind) == 1:
        shared = f"{'as' if same else 'unlike'} the one {query.network} network of the catalogue ({in_all})"
    elif same:
        shared = f"as {same} of {of_kind} ({in_all})"
    else:
        shared = f"which none of {of_kind} has ({in_all})"
    resembles = "it resembles" if distance < ALIKE else "it resembles no cluster, nearest is"
    return (
        f"Your {query.network} network has {with_article(query.topology)}, {shared}; "
        f"{resembles} cluster {nearest} ({size} networks, mean distance {distance:.2f})."
    )


def with_article(words: str) -> str:
    """Return a topology with an article where it begins with a noun, as in ``a line attractor``."""
    return f"a {words}" if words[0].isalpha() and not words.startswith(MASS) else words


def _draw_map(axes: Axes, networks: Sequence[Solution], query: Solution | None) -> None:
    """Draw networks in two dimensions (classical scaling), the run's network as a star, clusters as numbers."""
    labels, away = clusters(networks), distances([*networks, *([query] if query else [])])
    n = len(away)
    centring = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * centring @ away**2 @ centring)
    positions = vectors[:, -2:][:, ::-1] * np.sqrt(np.maximum(values[-2:][::-1], 0))
    kinds = np.array([each.network for each in networks])
    for k, kind in enumerate(dict.fromkeys(kinds.tolist())):
        marker, colour = MARKERS[k % len(MARKERS)], COLOURS[k % len(COLOURS)]
        axes.plot(
            *positions[: len(kinds)][kinds == kind].T,
            marker,
            color=colour,
            label=kind,
            markersize=5,
            markeredgecolor="w",
        )
    _name_clusters(axes, positions[: len(kinds)], labels)
    if query is not None:
        axes.plot(
            *positions[-1], "*", color="black", markersize=14, markeredgecolor="w", zorder=5, label="your network"
        )
    title = f"{len(networks)} networks, {int(labels.max())} cluster{'s' * bool(labels.max() > 1)}"
    axes.margins(0.12)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel="first dimension", ylabel="second dimension", title=title)
    legend_below(axes, 2)


def _name_clusters(axes: Axes, positions: np.ndarray, labels: np.ndarray) -> None:
    """Join the networks of each cluster with its centre, and write the names of the largest above them."""
    sizes = np.bincount(labels)
    for label in range(1, len(sizes)):
        members = positions[labels == label]
        if len(members) < 2:
            continue
        centre = members.mean(axis=0)
        for member in members:
            axes.plot(*np.stack([centre, member]).T, color=GREY, linewidth=0.5, alpha=0.6, zorder=0)
        if label <= MOST_NAMED:
            above = (float(centre[0]), float(members[:, 1].max()))
            axes.annotate(
                f"cluster {label} ({sizes[label]})",
                above,
                (0, 5),
                textcoords="offset points",
                ha="center",
                fontsize="small",
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5},
            )


def _draw_topologies(axes: Axes, networks: Sequence[Solution], query: Solution | None) -> None:
    """Draw how many networks of each kind have each topology."""
    networks = [each for each in networks if each.topology != NOT_JUDGED]
    kinds = list(dict.fromkeys(each.network for each in networks))
    common = [name for name, _ in Counter(each.topology for each in networks).most_common(MOST_TOPOLOGIES)]
    names = [*common, *([query.topology] if query and query.topology not in common else [])]
    rest = {each.topology for each in networks} - set(names)
    counts = Counter((REST if each.topology in rest else each.topology, each.network) for each in networks)
    names += [REST] if rest else []
    left = np.zeros(len(names))
    for k, kind in enumerate(kinds):
        width = np.array([counts[name, kind] for name in names])
        axes.barh(range(len(names)), width, left=left, color=COLOURS[k % len(COLOURS)], label=kind)
        left += width
    axes.set_yticks(range(len(names)), names)
    if query is not None:
        row = names.index(query.topology)
        axes.plot(left[row] + 0.02 * max(left.max(), 1.0), row, "*", color="black", markersize=11, clip_on=False)
    axes.invert_yaxis()
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="networks of the catalogue", title="attractors")
