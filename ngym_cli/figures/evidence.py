"""Use of evidence: over time, by context, over modalities, and for a wager on the agent's own decision."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from neurogym.analysis import from_trials
from neurogym.analysis.activity import Activity
from neurogym.analysis.evidence import ContextUse, psychophysical_kernel
from neurogym.analysis.intervals import clusters, proportion_curve
from neurogym.analysis.results import Curve
from neurogym.analysis.trial_tables import Table, numbers, responded, select, two_choices
from ngym_cli.figures import registry, style, wording
from ngym_cli.figures.behaviour import second_choice
from ngym_cli.figures.source import Series
from ngym_cli.figures.view import PlotData

#: Bootstrap draws behind intervals.
EVIDENCE_DRAWS = 200

#: Number of weakest strengths whose trials show the weight of single samples; and the share of trials that must last
#: at least as long as the window.
WEAKEST, REACHED = 3, 0.8


def _stimulus_fluctuates(view: PlotData) -> None:
    _pairs(view)
    if not view.unrecorded(("observations",)) and "stimulus" not in view.recorded.recording.events:
        raise style.FigureUnavailableError("the task has no period called stimulus")


def _pairs(view: PlotData) -> dict[str, tuple[int, int]]:
    """Return the channels that favour the first and the second choice, by name of the stimulus."""
    labels = view.properties.labels.get("observation", {})
    by_name = {}
    for name, where in labels.items():
        indices = np.ravel(where)
        if "stim" in name and len(indices) == 2:
            by_name[name] = (int(indices[0]), int(indices[1]))
        elif name.startswith("stim1") and name.replace("stim1", "stim2") in labels:
            by_name[name.removeprefix("stim1_")] = (int(indices[0]), int(labels[name.replace("stim1", "stim2")]))
    if not by_name:
        raise style.FigureUnavailableError("no pair of stimulus channels speaks for the two choices")
    return by_name


@registry.figure(
    "weight of the stimulus on the choice over time",
    ["perceptual"],
    columns=("choice", "outcome"),
    record=("observations",),
    check=_stimulus_fluctuates,
)
def kernel(view: PlotData) -> Figure:
    """Draw the influence of stimulus fluctuations at each time on the choice, in trials of weak evidence."""
    series = view.recorded
    recording, table = series.recording, series.table
    observations = recording["observations"].reshape(len(recording["observations"]), -1)
    channels = Activity(observations, recording.offsets, recording.dt)
    onset = recording.events["stimulus"] / recording.dt
    duration = np.minimum(table["period_stimulus"] / recording.dt, channels.lengths - onset)
    choice = numbers(table["choice"])
    sides = np.unique(choice[responded(table)])[:2]
    rows = responded(table) & np.isin(choice, sides)
    if rows.sum() < 50 or len(sides) < 2:
        raise style.FigureUnavailableError("too few answered trials with two choices")
    weak = rows & _weak(table)
    steps = int(np.quantile(duration[weak], 1 - REACHED))
    weak &= duration >= steps
    if steps < 2:
        raise style.FigureUnavailableError("the stimulus lasts less than two steps")
    figure, axes = style.new_figure(width=4.6)
    aligned = channels.align(onset, stop=steps)[weak]
    evidence = {name: aligned[..., second] - aligned[..., first] for name, (first, second) in _pairs(view).items()}
    groups = clusters(table)
    for (name, difference), colour in zip(_by_relevance(evidence, table, weak).items(), style.COLOURS, strict=False):
        signed = _fluctuations(difference, table, weak)
        if signed.std() == 0:
            view.left_out[name] = "no fluctuation among trials of the same kind"
            continue
        second = choice[weak] == sides[1]
        linked = None if groups is None else groups[weak]
        result = psychophysical_kernel(signed / signed.std(), second, dt=recording.dt, groups=linked)
        text = f"{name}: primacy {result.primacy:.2f}"
        style.interval_points(axes, result.weights, color=colour, fmt="o-", label=text)
    style.guide(axes, y=0)
    axes.set(
        xlabel="time from stimulus onset (ms)",
        ylabel="weight on choice (log odds per s.d.)",
        title=f"psychophysical kernel, n = {int(weak.sum()):,} trials",
    )
    style.legend_below(axes)
    return figure


def _by_relevance(evidence: dict[str, np.ndarray], table: Table, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Return the evidence of two modalities as relevant and irrelevant, where trials record the relevance."""
    if len(evidence) != 2 or "context" not in table or not set(np.unique(table["context"])) <= {0, 1}:
        return evidence
    first, second = evidence.values()
    flip = (table["context"][rows] == 1)[:, None]
    return {"relevant": np.where(flip, second, first), "irrelevant": np.where(flip, first, second)}


def _weak(table: dict[str, np.ndarray]) -> np.ndarray:
    """Return a mask of the trials with the weakest evidence."""
    strength = np.abs(table["coh"]) if "coh" in table else np.zeros(len(table["trial"]))
    levels = np.unique(strength)
    return np.asarray(strength <= levels[min(WEAKEST, len(levels)) - 1])


def _fluctuations(signed: np.ndarray, table: dict[str, np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Return the evidence minus the mean over trials of the same kind."""
    names = [name for name in ("ground_truth", "coh", "coh_1", "coh_2", "other_choice", "context") if name in table]
    columns = [table[name][rows] for name in names if table[name].ndim == 1 and table[name].dtype != object]
    kinds = np.stack([np.unique(column, return_inverse=True)[1] for column in columns], axis=1) if columns else None
    index = np.zeros(len(signed), int) if kinds is None else np.unique(kinds, axis=0, return_inverse=True)[1].ravel()
    means = np.stack([signed[index == kind].mean(axis=0) for kind in range(index.max() + 1)])
    return signed - means[index]


def _context_uses(view: PlotData) -> list[tuple[Series, ContextUse]]:
    return view.analysed(view.parts(), lambda series: from_trials.context_use(series.table))


@registry.figure(
    "weight of relevant and of irrelevant evidence",
    ["context dependent"],
    columns=("context", "coh_1", "coh_2", "other_choice", "choice"),
    check=_context_uses,
)
def context(view: PlotData) -> Figure:
    """Draw choices against the evidence of each modality in each context, and the weight of each.

    Rows are contexts and columns modalities, as in Mante et al. 2013 (10.1038/nature12742), figure 1.
    """
    uses = _context_uses(view)
    contexts = sorted({int(name) for _, use in uses for name in use.by_context})  # a task may have only one
    figure, axes = style.new_figure(len(contexts), 3, width=2.9, height=2.5, squeeze=False)
    for row, context in enumerate(contexts):
        having = [(series, use) for series, use in uses if context in use.by_context]
        for modality in range(2):
            axis = axes[row][modality]
            for series, _ in having:
                evidence_curve(axis, series, context, modality)
            style.guide(axis, x=0, y=0.5)
            kind = "relevant" if context == modality else "irrelevant"
            axis.set(ylim=(-0.03, 1.03), title=f"modality {modality + 1}, {kind}")
            if row == len(contexts) - 1:
                axis.set_xlabel(f"signed coherence\nof modality {modality + 1} (%)")
        second = second_choice(uses[0][0].table, view.properties.labels)
        axes[row][0].set_ylabel(f"context {context + 1}\nP({second})")
        bars = axes[row][2]
        for k, (series, use) in enumerate(having):
            fit = use.by_context[context]
            weights = [fit.weights[kind] for kind in ("relevant", "irrelevant")]
            text = f"{series.label}: selectivity {use.selectivity:.2f}, n = {len(series.table['trial']):,}"
            style.interval_bars(
                bars,
                ["relevant", "irrelevant"],
                weights,
                color=series.colour,
                label=text,
                offset=style.dodge(k, len(having)),
            )
        style.guide(bars, y=0)
        bars.set(ylabel="log odds per %", title=f"weights in context {context + 1}", xlim=(-0.5, 1.5))
    style.legend_below(axes[-1][2])
    return figure


def evidence_curve(axes: Axes, series: Series, context: int, modality: int) -> None:
    """Draw P(second choice) in a context (0 or 1) against the evidence of a modality (0 or 1)."""
    table, second = two_choices(series.table)
    rows = numbers(table["context"]).astype(int) == context
    table, second = select(table, rows), second[rows]
    highest = max(numbers(table["ground_truth"]).max(), numbers(table["other_choice"]).max())
    side = "ground_truth" if context == modality else "other_choice"
    signed = np.where(numbers(table[side]) == highest, 1, -1) * numbers(table[f"coh_{modality + 1}"])
    levels, index = np.unique(signed, return_inverse=True)
    curve = proportion_curve(levels, index, second, clusters(table))
    style.interval_points(axes, curve, fmt="o-", color=series.colour)


def _each_modality(view: PlotData) -> None:
    for series in view.parts():
        kinds = set(series.table["modality"].astype(str)) - {"conflict"}
        if len(kinds) != 3 or "both" not in kinds:
            modalities = ", ".join(sorted(kinds))
            raise style.FigureUnavailableError(
                f"cue combination needs trials of each modality and of both, the trials have {modalities}; "
                "ngym eval --task-arg modalities=both/first/second"
            )


@registry.figure(
    "psychometric function of each modality, observed against optimal sigma",
    ["perceptual"],
    columns=("modality", "coh", "choice", "outcome"),
    check=_each_modality,
)
def cues(view: PlotData) -> Figure:
    """Draw the psychometric function of each modality and of both, and observed against optimal sigma."""
    all_series = view.parts(keep=lambda table: table["modality"].astype(str) != "conflict")
    all_series = [
        series.with_table({**series.table, "coh": strength_by_modality(series.table)}) for series in all_series
    ]
    analysed = view.analysed(
        all_series,
        lambda series: from_trials.cue_combination(series.table, n_boot=view.draws(EVIDENCE_DRAWS), lapse=0.0),
    )
    figure, (curves, bars) = style.new_figure(1, 2, width=4.2)
    for (name, fit), colour in zip(analysed[0][1].fits.items(), style.COLOURS, strict=False):
        style.fitted_curve(curves, fit, colour)
        style.interval_points(curves, fit.data, color=colour, label=f"{_presented(name)}, n = {fit.n:,}")
    for k, (series, use) in enumerate(analysed):
        names = [*(_presented(name) for name in use.sigma), "optimal"]
        text = f"{series.label}: observed / optimal {use.ratio:.2f}"
        offset = style.dodge(k, len(analysed))
        style.interval_bars(
            bars, names, [*use.sigma.values(), use.optimal_sigma], color=series.colour, label=text, offset=offset
        )
    style.guide(curves, y=0.5)
    second = second_choice(analysed[0][0].table, view.properties.labels)
    title = f"by what was presented, {analysed[0][0].label}"
    curves.set(xlabel="signed coherence in each modality (%)", ylabel=f"P({second})", title=title)
    bars.set(ylabel="sigma (% coherence)", title="precision, 95 % intervals")
    bars.set_ylim(bottom=0)
    style.legend_below(curves)
    style.legend_below(bars, side="right")
    return figure


def strength_by_modality(table: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the strength of each presented modality: where both share the evidence, the mean of the two parts (%)."""
    if not {"coh_1", "coh_2"} <= set(table):
        return table["coh"]
    both = table["modality"].astype(str) == "both"
    return np.where(both, (np.abs(table["coh_1"]) + np.abs(table["coh_2"])) / 2, table["coh"])


def _presented(name: str) -> str:
    """Return the presented modalities in words."""
    return "both modalities" if name == "both" else f"{name} modality"


@registry.figure(
    "use of a sure option by strength, accuracy where it was waived",
    ["confidence"],
    columns=("wager", "coh", "choice", "outcome"),
)
def wagering(view: PlotData) -> Figure:
    """Draw the use of the sure option, and the accuracy with and without the sure option on offer."""
    sure = view.properties.labels.get("action", {}).get("sure", 3)
    figure, (left, right) = style.new_figure(1, 2)
    all_series = view.parts()
    analysis = lambda series: from_trials.wagering(series.table, sure=float(sure), n_boot=view.draws(EVIDENCE_DRAWS))  # noqa: E731
    for series, result in view.analysed(all_series, analysis):
        p = result.p_sure
        text = f"{series.label}: {p.value:.2f} of the offers, n = {int(result.sure.n.sum()):,}"
        style.interval_points(left, result.sure, fmt="o-", color=series.colour, label=text)
        a = result.advantage
        advantage_text = f"; advantage {a:+.3f}" if np.isfinite(a.value) else ""
        waived = f"{series.label}: offered and waived, n = {int(result.accuracy_offered.n.sum()):,}"
        forced = f"{series.label}: not offered, n = {int(result.accuracy_not_offered.n.sum()):,}{advantage_text}"
        is_offered = result.accuracy_offered.n > 0
        style.interval_points(
            right, _only(result.accuracy_offered, is_offered), fmt="o-", color=series.colour, label=waived
        )
        style.interval_points(
            right, result.accuracy_not_offered, fmt="o--", color=series.colour, markerfacecolor="white", label=forced
        )
    strength = wording.axis("coh")
    left.set(xlabel=strength, ylabel="P(sure option | offered)", ylim=(-0.03, 1.05), title="use of the sure option")
    style.guide(right, y=0.5)
    lowest = min(np.nanmin(line.get_ydata(), initial=0.33) for line in right.lines)
    title = "accuracy of answers, 95 % intervals"
    right.set(xlabel=strength, ylabel="accuracy", ylim=(lowest - 0.03, 1.05), title=title)
    style.legend_below(left)
    style.legend_below(right, side="right")
    return figure


def _only(curve: Curve, rows: np.ndarray) -> Curve:
    return Curve(curve.x[rows], curve.value[rows], curve.low[rows], curve.high[rows], curve.n[rows])
