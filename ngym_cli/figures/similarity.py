"""Figure of the distances between runs, layers, periods and animals: matrix, tree and map."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from neurogym.dynamics import METRICS, PopulationComparison, PopulationTrials, compare_populations
from ngym_cli.figures import registry
from ngym_cli.figures.population import Population, population
from ngym_cli.figures.style import COLOURS, GREY, Unavailable, category_ticks, new_figure
from ngym_cli.figures.view import View
from ngym_cli.runs.populations import condition_names, period_spans, read_population
from ngym_cli.runs.recordings import NEEDED
from ngym_cli.runs.trial_table import concatenate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ngym_cli.figures.source import Source

#: Metrics that are drawn unless others are named, and trials of each population that are compared.
USUAL, MOST_COMPARED = ("dsa", "procrustes", "cka", "rsa"), 400

#: Most populations whose distances are written into the matrix, and fewest steps of a trial that is compared.
MOST_WORDS, FEWEST_STEPS = 8, 4


def _several(view: View) -> None:
    asked = view.comparison
    if len(view.sources) + len(asked.files) < 2 and not asked.across:
        raise Unavailable("needs 2 runs or more, as in ngym plot RUN RUN similarity, a recording, or --across period")


@registry.figure(
    "distances between runs, layers, periods or animals, by dynamics and geometry",
    record=NEEDED, each_run=True, check=_several, on_request=True,
)  # fmt: skip
def similarity(view: View) -> Figure:
    """Draw a row for each metric: distances of all pairs with the noise floor, an average-linkage tree, and a map."""
    populations = populations_of(view)
    found, reasons = [], {}
    for metric in view.comparison.metrics or USUAL:
        try:
            found.append(compare_populations(populations, metric))  # type: ignore[arg-type]
        except ValueError as error:
            reasons[metric] = str(error)
    if not found:
        raise Unavailable(next(iter(reasons.values())))
    view.left_out.update(reasons)
    figure, grid = new_figure(len(found), 3, width=3.5, height=3.1, squeeze=False)
    for (matrix, tree, plane), each in zip(grid, found, strict=True):
        _draw_matrix(matrix, each)
        _draw_tree(tree, each)
        _draw_map(plane, each)
    n = [len(each.trials) for each in populations]
    figure.suptitle(
        f"{len(populations)} populations, {min(n):,}{f' to {max(n):,}' if max(n) > min(n) else ''} trials each,"
        f" {len(found[0].conditions)} conditions;"
        " diagonal: noise floor (same population, other trials)",
        fontsize="medium",
    )
    view.table = concatenate([each.to_table() for each in found])
    return figure


def populations_of(view: View) -> list[PopulationTrials]:
    """Return the populations that are compared: runs, or their layers or periods, and files.

    Raises:
        Unavailable: if a run has none of the layers or periods.
    """
    asked, found, by = view.comparison, [], tuple[str, ...]()
    for source in view.sources:
        name = source.run.name if len(view.sources) > 1 or not asked.across else ""
        trials = population(view, view.recorded_of(source))
        by = by or tuple(trials.conditions)
        found += _parts(view, source, trials, name, tuple(by))
    found += [read_population(path, by) for path in asked.files]
    if len(found) < 2:
        raise Unavailable(f"the trials have no second {asked.across} of {FEWEST_STEPS} steps or more")
    labels = Counter(each.label for each in found)
    return [
        replace(each, label=f"{each.label} ({k + 1})" if labels[each.label] > 1 else each.label)
        for k, each in enumerate(found)
    ]


def _parts(view: View, source: Source, trials: Population, name: str, by: tuple[str, ...]) -> list[PopulationTrials]:
    """Return the whole trials of a run, or a population for each layer or period."""
    activity = trials.activity
    n = min(len(activity), MOST_COMPARED)
    for column in by:
        if column not in trials.table:
            raise Unavailable(f"the trials of {source.run.name} have no column {column}")
    conditions = condition_names(trials.table, by, len(activity))
    observations, _ = view.recorded_of(source).recording.first("observations", n)
    observations = observations.reshape(len(observations), -1).astype(float)
    offsets = activity.offsets[: n + 1]
    whole = [slice(a, b) for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
    parts = {"": (np.asarray(activity.values, float), whole)}
    if view.comparison.across == "period":
        parts = {
            period: (parts[""][0], spans) for period, spans in period_spans(trials.table, offsets, activity.dt).items()
        }
    elif view.comparison.across == "layer":
        parts = {f"layer {k + 1}": (values, whole) for k, values in enumerate(_layers(source, observations, offsets))}
    found = []
    for part, (values, spans) in parts.items():
        kept = [k for k, span in enumerate(spans) if span.stop - span.start >= FEWEST_STEPS]
        if len(kept) >= 4:
            found.append(PopulationTrials(
                f"{name} {part}".strip(), [values[spans[k]] for k in kept], conditions[kept],
                [observations[spans[k]] for k in kept],
            ))  # fmt: skip
    return found


def _layers(source: Source, observations: np.ndarray, offsets: np.ndarray) -> list[np.ndarray]:
    """Return the hidden units of each layer, computed again from the start of trials."""
    from neurogym.dynamics import Stack

    system = source.system
    if not isinstance(system, Stack):
        raise Unavailable(f"the network of {source.run.name} has a single layer")
    lengths = np.diff(offsets)
    states = np.zeros((len(lengths), system.units))
    visited = np.zeros((len(observations), system.units))
    for t in range(int(lengths.max())):
        going = np.flatnonzero(lengths > t)
        states[going] = system.step(states[going], observations[offsets[going] + t])
        visited[offsets[going] + t] = states[going]
    first = np.cumsum([0, *(layer.units for layer in system.layers)])
    return [visited[:, a : a + hidden] for a, hidden in zip(first[:-1], system.hidden, strict=True)]


def _draw_matrix(axes: Axes, found: PopulationComparison) -> None:
    top = float(np.nanmax([found.distance.max(), found.shuffled.max(), 1e-9]))
    image = axes.imshow(found.distance, cmap="cividis", vmin=min(0.0, found.distance.min()), vmax=top)
    bar = axes.figure.colorbar(image, ax=axes)
    bar.ax.axhline(found.shuffled.mean(), color=COLOURS[1], linewidth=1.5)
    n = len(found.labels)
    for i in range(n) if n <= MOST_WORDS else ():
        for j in range(n):
            colour = "white" if found.distance[i, j] < top / 2 else "black"
            axes.text(j, i, f"{found.distance[i, j]:.2f}", ha="center", va="center", fontsize=7, color=colour)
    category_ticks(axes, found.labels)
    axes.set_yticks(range(n), found.labels)
    axes.set_title(f"{METRICS[found.metric]}; orange: shuffled")


def _draw_tree(axes: Axes, found: PopulationComparison) -> None:
    from scipy.cluster.hierarchy import dendrogram

    drawn = dendrogram(found.linkage(), no_plot=True)
    for x, y in zip(drawn["icoord"], drawn["dcoord"], strict=True):
        axes.plot((np.array(x) - 5) / 10, y, color="black", linewidth=1)
    axes.axhline(found.floor.mean(), color=GREY, linestyle=":", linewidth=1)
    category_ticks(axes, [found.labels[k] for k in drawn["leaves"]])
    axes.set(ylabel=METRICS[found.metric], title="tree; dotted: noise floor", xlim=(-0.5, len(found.labels) - 0.5))
    axes.set_ylim(bottom=0)


def _draw_map(axes: Axes, found: PopulationComparison) -> None:
    places = found.positions()
    axes.plot(*places.T, "o", color=COLOURS[0], markersize=5)
    for label, place in zip(found.labels, places, strict=True):
        axes.annotate(label, place, xytext=(3, 3), textcoords="offset points", fontsize=7)
    axes.set(xlabel="first dimension", ylabel="second dimension", title="map (multidimensional scaling)")
    reach = 0.6 * max(float(np.ptp(places, axis=0).max()), float(found.floor.mean()), 1e-9)
    for limit, values in ((axes.set_xlim, places[:, 0]), (axes.set_ylim, places[:, 1])):
        middle = (values.min() + values.max()) / 2
        limit(middle - reach, middle + reach)
    axes.locator_params(nbins=4)
