"""Figure of a recording that a network was compared with, or learned from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from neurogym.analysis.results import Estimate
from neurogym.analysis.trial_tables import Table
from neurogym.foreign import npz
from ngym_cli.agents import explained
from ngym_cli.agents.explained import Judgement
from ngym_cli.config.sections import RecordingConfig
from ngym_cli.errors import UserError
from ngym_cli.figures import registry, style
from ngym_cli.figures.source import Source
from ngym_cli.figures.style import FigureUnavailableError
from ngym_cli.figures.view import PlotData
from ngym_cli.runs import records
from ngym_cli.runs.folder import READ_OUT
from ngym_cli.runs.populations import shared_columns
from ngym_cli.runs.recordings import NETWORK_QUANTITIES, Recording

#: Neurons and conditions that are drawn.
NEURONS, CONDITIONS = 3, 4


def _file(view: PlotData) -> Path:
    """Return the recording that the first of the runs learned from or was compared with.

    Raises:
        FigureUnavailableError: if there is none.
    """
    for source in view.sources:
        if source.config.recording is not None:
            return Path(source.config.recording.file)
        for each in reversed(source.evaluations):
            path = each.folder / "activity_comparison.json"
            if path.is_file():
                return Path(records.read(path, records.ActivityComparison)["data"])
    raise FigureUnavailableError("no recording; ngym run --recording or ngym eval --compare-activity names one")


@registry.figure(
    "neurons of a recording beside a network's prediction, and their explained variance",
    record=NETWORK_QUANTITIES,
    each_run=True,
    check=_file,
    on_request=True,
)
def recording(view: PlotData) -> Figure:
    """Draw rates of neurons as observed in held-out trials and as predicted, and explained variance with its ceiling.

    Several runs, such as one of the task alone, are compared by the bars.
    """
    path = _file(view)
    if not path.is_file():
        raise FigureUnavailableError(f"no such recording: {path}")
    with style.unavailable_on(UserError):
        settings = [explained.settings_of(source.config, path) for source in view.sources]
        shared = next((each for each, learned in settings if learned), None)
        judged = {
            source.run.name: judge(source, series.recording, series.table, path, shared)
            for source in view.sources
            for series in [view.recorded_of(source)]
        }
    first = next(iter(judged.values()))
    figure, grid = style.new_figure(2, NEURONS, width=3.6, height=2.9, squeeze=False)
    for panel, neuron in zip(grid[0], _chosen(first), strict=False):
        _draw_neuron(panel, first, neuron)
    for panel in grid[0][len(_chosen(first)) :]:
        panel.remove()
    figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=CONDITIONS)
    _draw_course(grid[1][0], view.sources)
    for panel in grid[1][1:]:
        panel.remove()
    bars = figure.add_subplot(grid[1][1].get_gridspec()[1, 1:])
    view.table = _draw_bars(bars, judged)
    return figure


def judge(
    source: Source, recording: Recording, table: Table, path: Path, settings: RecordingConfig | None = None
) -> Judgement:
    """Return how well neurons are predicted from the activity of a run.

    Args:
        source: the run.
        recording: of an evaluation of the run.
        table: trials of the evaluation.
        path: file of the neurons.
        settings: as in `explained.judge`.

    Raises:
        UserError: as in `explained.judge`.
    """
    by = settings.conditions if settings is not None else ()
    names = [name for name in (*source.properties.conditions, "ground_truth") if name in table]
    columns = by or shared_columns(path, names)
    return explained.judge(source.run, source.config, recording, table, path, columns, settings)


def _chosen(judged: Judgement) -> list[int]:
    """Return neurons, held out if some were, from the best explained to the worst."""
    among = np.flatnonzero((judged.held_out | ~judged.held_out.any()) & np.isfinite(judged.explained))
    ranked = among[np.argsort(-judged.explained[among])]
    return [int(k) for k in ranked[np.unique(np.linspace(0, len(ranked) - 1, NEURONS).astype(int))]]


def _draw_neuron(panel: Axes, judged: Judgement, neuron: int) -> None:
    """Draw the rate of a neuron in conditions with the lowest to the highest rate, observed and predicted."""
    names = np.unique(judged.conditions)
    means = [judged.observed[judged.conditions == name, neuron].mean() for name in names]
    order = names[np.argsort(means)]
    drawn = order[np.unique(np.linspace(0, len(order) - 1, CONDITIONS).astype(int))]
    for name, colour in zip(drawn, style.colours(len(drawn)), strict=True):
        rows = judged.conditions == name
        panel.plot(judged.observed[rows, neuron], color=colour, lw=1, alpha=0.6, label=name)
        panel.plot(judged.predicted[rows, neuron], "--", color=colour)
    kind = "held out, " if judged.held_out[neuron] else ""
    panel.set(title=f"neuron {neuron} ({kind}explained {judged.explained[neuron]:.2f})", xlabel="step")
    panel.set_ylabel("rate (dashed: predicted)")


def _draw_course(panel: Axes, sources: list[Source]) -> None:
    """Draw the objective of the recording along training."""
    for source, colour in zip(sources, style.colours(len(sources)), strict=True):
        path, settings = source.run.path / READ_OUT, source.config.recording
        if settings is None or not path.is_file():
            continue
        steps, loss = npz.read(path, lambda _: True)["course"].T
        bits = settings.loss == "bits"
        panel.plot(steps, -loss if bits else 1 - loss, color=colour, label=source.run.name)
        panel.set_ylabel("bits per spike" if bits else "explained variance")
    if not panel.lines:
        panel.remove()
        return
    panel.set(title="learned neurons, in training", xlabel="training steps")
    style.thousands(panel)


def _draw_bars(panel: Axes, judged: dict[str, Judgement]) -> dict[str, np.ndarray]:
    """Draw explained variance of the first group of neurons by model, and return all rows as columns."""
    first = next(iter(judged.values()))
    group, names, estimates = first.rows[0]["neurons"], list[str](), list[Estimate]()
    everything = [{"run": run, **row} for run, each in judged.items() for row in each.rows]
    for run, each in judged.items():
        for row in each.rows:
            own = row["model"].removesuffix(explained.UNSEEN) == explained.NETWORK
            if row["neurons"] != group or not (own or each is first):
                continue
            names.append(f"{row['model']}, {run}" if own and len(judged) > 1 else row["model"])
            estimates.append(Estimate.from_record(row))
    style.interval_bars(panel, names, estimates)
    style.guide(panel, y=first.rows[0]["ceiling"])
    panel.set(ylabel="explained variance", title=f"neurons: {group}, n = {first.rows[0]['n']}; line: noise ceiling")
    return {key: np.array([row[key] for row in everything]) for key in everything[0]}
