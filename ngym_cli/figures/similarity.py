"""Figure of the distances between runs, layers, periods and animals: matrix, tree and map."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from neurogym.dynamics import (
    METRICS,
    ComparisonSettings,
    Embedding,
    PopulationComparison,
    PopulationTrials,
    Stack,
    compare_populations,
)
from ngym_cli.errors import option
from ngym_cli.figures import registry
from ngym_cli.figures.population import Population, population
from ngym_cli.figures.style import (
    COLOURS,
    GREY,
    FigureUnavailableError,
    category_ticks,
    colours,
    legend_below,
    new_figure,
)
from ngym_cli.figures.view import PlotData
from ngym_cli.runs.population_parts import condition_names
from ngym_cli.runs.populations import period_spans, read_population
from ngym_cli.runs.recordings import NETWORK_QUANTITIES
from ngym_cli.runs.trial_table import concatenate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ngym_cli.figures.source import Source

#: Metrics that are drawn unless others are named, and trials of each population that are compared.
USUAL, MOST_COMPARED = ("dsa", "procrustes", "cka", "rsa"), 400

#: Most populations whose distances are written into the matrix, and fewest steps of a trial that is compared.
MOST_WORDS, FEWEST_STEPS = 8, 4


def _several(view: PlotData) -> None:
    request = view.comparison
    if len(view.sources) + len(request.files) < 2 and not request.across:
        raise FigureUnavailableError(
            f"needs 2 runs or more, as in ngym plot RUN RUN similarity, a recording, or {option('--across period')}"
        )


@registry.figure(
    "distances between runs, layers, periods or animals, by dynamics and geometry",
    record=NETWORK_QUANTITIES,
    each_run=True,
    check=_several,
    on_request=True,
)
def similarity(view: PlotData) -> Figure:
    """Draw a row for each metric: distances of all pairs with the noise floor, an average-linkage tree, and a map."""
    populations = populations_of(view)
    settings = ComparisonSettings(n_delays=view.comparison.delays, rank=view.comparison.rank)
    result, reasons = [], {}
    for metric in view.comparison.metrics or USUAL:
        try:
            result.append(compare_populations(populations, metric, settings))  # type: ignore[arg-type]
        except ValueError as error:
            reasons[metric] = str(error)
    if not result:
        raise FigureUnavailableError(next(iter(reasons.values())))
    view.left_out.update(reasons)
    swept = any(each.embedding is not None for each in result)
    figure, grid = new_figure(len(result), 3 + swept, width=3.5, height=3.1, squeeze=False)
    for (matrix, tree, plane, *sweep), each in zip(grid, result, strict=True):
        _draw_matrix(matrix, each)
        _draw_tree(tree, each)
        _draw_map(plane, each)
        for axes in sweep:
            _draw_sweep(axes, each.embedding)
    n = [len(each.trials) for each in populations]
    figure.suptitle(
        f"{len(populations)} populations, {min(n):,}{f' to {max(n):,}' if max(n) > min(n) else ''} trials each,"
        f" {len(result[0].conditions)} conditions;"
        " diagonal: noise floor (same population, other trials)",
        fontsize="medium",
    )
    view.table = concatenate([each.to_table() for each in result])
    return figure


def populations_of(view: PlotData) -> list[PopulationTrials]:
    """Return the populations that are compared: runs, or their layers or periods, and files.

    Raises:
        FigureUnavailableError: if a run has none of the layers or periods.
    """
    request, rows, by = view.comparison, [], tuple[str, ...]()
    for source in view.sources:
        name = source.run.name if len(view.sources) > 1 or not request.across else ""
        trials = population(view, view.recorded_of(source))
        by = by or (() if trials.conditions.in_ranges else trials.conditions.names)
        rows += _populations(view, source, trials, name, tuple(by))
    rows += [read_population(path, by) for path in request.files]
    if len(rows) < 2:
        raise FigureUnavailableError(f"the trials have no second {request.across} of {FEWEST_STEPS} steps or more")
    labels = Counter(each.label for each in rows)
    return [
        replace(each, label=f"{each.label} ({k + 1})" if labels[each.label] > 1 else each.label)
        for k, each in enumerate(rows)
    ]


def _populations(
    view: PlotData, source: Source, trials: Population, name: str, by: tuple[str, ...]
) -> list[PopulationTrials]:
    """Return the whole trials of a run, or a population for each layer or period."""
    activity = trials.activity
    n = min(len(activity), MOST_COMPARED)
    for column in by:
        if column not in trials.table:
            raise FigureUnavailableError(f"the trials of {source.run.name} have no column {column}")
    conditions = condition_names(trials.table, by, len(activity))
    observations, _ = view.recorded_of(source).recording.first("observations", n)
    observations = observations.reshape(len(observations), -1).astype(float)
    offsets = activity.offsets[: n + 1]
    full = [slice(a, b) for a, b in itertools.pairwise(offsets)]
    pieces = {"": (np.asarray(activity.values, float), full)}
    if view.comparison.across == "period":
        pieces = {
            period: (pieces[""][0], spans) for period, spans in period_spans(trials.table, offsets, activity.dt).items()
        }
    elif view.comparison.across == "layer":
        pieces = {f"layer {k + 1}": (values, full) for k, values in enumerate(_layers(source, observations, offsets))}
    rows = []
    for piece, (values, spans) in pieces.items():
        long_enough = [k for k, span in enumerate(spans) if span.stop - span.start >= FEWEST_STEPS]
        if len(long_enough) >= 4:
            rows.append(
                PopulationTrials(
                    f"{name} {piece}".strip(),
                    [values[spans[k]] for k in long_enough],
                    conditions[long_enough],
                    [observations[spans[k]] for k in long_enough],
                )
            )
    return rows


def _layers(source: Source, observations: np.ndarray, offsets: np.ndarray) -> list[np.ndarray]:
    """Return the hidden units of each layer, computed again from the start of trials."""
    system = source.system
    if not isinstance(system, Stack):
        raise FigureUnavailableError(f"the network of {source.run.name} has a single layer")
    lengths = np.diff(offsets)
    states = np.zeros((len(lengths), system.units))
    visited = np.zeros((len(observations), system.units))
    for t in range(int(lengths.max())):
        running = np.flatnonzero(lengths > t)
        states[running] = system.step(states[running], observations[offsets[running] + t])
        visited[offsets[running] + t] = states[running]
    first = np.cumsum([0, *(layer.units for layer in system.layers)])
    return [visited[:, a : a + hidden] for a, hidden in zip(first[:-1], system.hidden, strict=True)]


def _draw_matrix(axes: Axes, result: PopulationComparison) -> None:
    top = float(np.nanmax([result.distance.max(), result.shuffled.max(), 1e-9]))
    image = axes.imshow(result.distance, cmap="cividis", vmin=min(0.0, result.distance.min()), vmax=top)
    bar = axes.figure.colorbar(image, ax=axes)
    bar.ax.axhline(result.shuffled.mean(), color=COLOURS[1], linewidth=1.5)
    n = len(result.labels)
    for i in range(n) if n <= MOST_WORDS else ():
        for j in range(n):
            colour = "white" if result.distance[i, j] < top / 2 else "black"
            axes.text(j, i, f"{result.distance[i, j]:.2f}", ha="center", va="center", fontsize=7, color=colour)
    category_ticks(axes, result.labels)
    axes.set_yticks(range(n), result.labels)
    axes.set_title(f"{METRICS[result.metric]}; orange: shuffled")


def _draw_sweep(axes: Axes, embedding: Embedding | None) -> None:
    """Draw how well operators predict other trials by delays and rank, with the pair that was taken."""
    if embedding is None:
        axes.remove()
        return
    for delays, scores, colour in zip(embedding.delays, embedding.score, colours(len(embedding.delays)), strict=True):
        axes.plot(embedding.ranks, scores, "o-", color=colour, markersize=3, label=f"delays: {delays}")
        if delays == embedding.n_delays:
            taken = np.interp(embedding.rank, embedding.ranks, scores)
            axes.plot(embedding.rank, taken, "o", color="black", markerfacecolor="none", markersize=9)
    title = f"prediction of other trials; taken: {embedding.n_delays} delays, rank {embedding.rank}"
    axes.set(xlabel="rank", ylabel="explained change in a step", title=title)
    legend_below(axes, 2, "right")


def _draw_tree(axes: Axes, result: PopulationComparison) -> None:
    from scipy.cluster.hierarchy import dendrogram

    drawn = dendrogram(result.linkage(), no_plot=True)
    for x, y in zip(drawn["icoord"], drawn["dcoord"], strict=True):
        axes.plot((np.array(x) - 5) / 10, y, color="black", linewidth=1)
    axes.axhline(result.floor.mean(), color=GREY, linestyle=":", linewidth=1)
    category_ticks(axes, [result.labels[k] for k in drawn["leaves"]])
    axes.set(ylabel=METRICS[result.metric], title="tree; dotted: noise floor", xlim=(-0.5, len(result.labels) - 0.5))
    axes.set_ylim(bottom=0)


def _draw_map(axes: Axes, result: PopulationComparison) -> None:
    places = result.positions()
    axes.plot(*places.T, "o", color=COLOURS[0], markersize=5)
    for label, position in zip(result.labels, places, strict=True):
        axes.annotate(label, position, xytext=(3, 3), textcoords="offset points", fontsize=7)
    axes.set(xlabel="first dimension", ylabel="second dimension", title="map (multidimensional scaling)")
    reach = 0.6 * max(float(np.ptp(places, axis=0).max()), float(result.floor.mean()), 1e-9)
    for limit, values in ((axes.set_xlim, places[:, 0]), (axes.set_ylim, places[:, 1])):
        middle = (values.min() + values.max()) / 2
        limit(middle - reach, middle + reach)
    axes.locator_params(nbins=4)
