"""How evidence is used: over time, by context, over modalities, and for a bet on the own decision."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngym_cli.figures.behaviour import LABELS
from ngym_cli.figures.style import COLOURS, GREY, Unavailable, interval_bars, interval_points, legend_below, new_figure
from ngym_cli.figures.view import Part, View

#: Bootstrap draws behind intervals.
DRAWS = 200

#: Strengths, the weakest ones, whose trials say how single samples are weighed; and the share of trials that must last
#: at least as long as the window.
WEAKEST, REACHED = 3, 0.8


def kernel_check(view: View) -> None:
    """Say why there is no kernel."""
    _pairs(view)
    if "stimulus" not in view.recorded.recording.events:
        raise Unavailable("the task has no period called stimulus")


def _pairs(view: View) -> dict[str, tuple[int, int]]:
    """Return the channels that speak for the first and for the second choice, by what they show."""
    labels: dict[str, Any] = view.facts.labels.get("observation", {})
    found = {}
    for name, where in labels.items():
        indices = np.ravel(list(where) if isinstance(where, range) else where)
        if "stim" in name and len(indices) == 2:
            found[name] = (int(indices[0]), int(indices[1]))
        elif name.startswith("stim1") and name.replace("stim1", "stim2") in labels:
            found[name.removeprefix("stim1_")] = (int(indices[0]), int(labels[name.replace("stim1", "stim2")]))
    if not found:
        raise Unavailable("no pair of stimulus channels speaks for the two choices")
    return found


def kernel(view: View) -> Figure:
    """Draw how much the fluctuations of the stimulus at each time bear on the choice, on trials of weak evidence."""
    from neurogym.analysis import Activity, psychophysical_kernel
    from neurogym.analysis.tables import numbers, responded

    series = view.recorded
    recording, table = series.recording, series.table
    channels = Activity(_flat(recording["observations"]), recording.offsets, recording.dt)
    onset = recording.events["stimulus"] / recording.dt
    duration = np.minimum(table["period_stimulus"] / recording.dt, channels.lengths - onset)
    choice = numbers(table["choice"])
    sides = np.unique(choice[responded(table)])[:2]
    rows = responded(table) & np.isin(choice, sides)
    if rows.sum() < 50 or len(sides) < 2:
        raise Unavailable("too few answered trials with two choices")
    weak = rows & _weak(table)
    steps = int(np.quantile(duration[weak], 1 - REACHED))
    weak &= duration >= steps
    if steps < 2:
        raise Unavailable("the stimulus lasts less than two steps")
    figure, axes = new_figure(width=4.6)
    aligned = channels.align(onset, stop=steps)[weak]
    evidence = {name: aligned[..., second] - aligned[..., first] for name, (first, second) in _pairs(view).items()}
    for (name, signed), colour in zip(_by_relevance(evidence, table, weak).items(), COLOURS, strict=False):
        signed = _fluctuations(signed, table, weak)
        if signed.std() == 0:
            continue
        second = choice[weak] == sides[1]
        found = psychophysical_kernel(signed / signed.std(), second, dt=recording.dt)
        text = f"{name}: primacy {found.primacy.value:.2f} [{found.primacy.low:.2f}, {found.primacy.high:.2f}]"
        interval_points(axes, found.weights, color=colour, fmt="o-", label=text)
    axes.axhline(0, color=GREY, linestyle=":", linewidth=1, zorder=0)
    axes.set(
        xlabel="time from stimulus onset (ms)", ylabel="weight on choice (log odds per s.d.)",
        title=f"psychophysical kernel, n = {int(weak.sum()):,} trials",
    )  # fmt: skip
    legend_below(axes)
    return figure


def _by_relevance(evidence: dict[str, Any], table: dict[str, np.ndarray], rows: np.ndarray) -> dict[str, Any]:
    """Return the evidence of two modalities as relevant and irrelevant, where the trials say which is which."""
    if len(evidence) != 2 or "context" not in table or not set(np.unique(table["context"])) <= {0, 1}:
        return evidence
    first, second = evidence.values()
    flip = (table["context"][rows] == 1)[:, None]
    return {"relevant": np.where(flip, second, first), "irrelevant": np.where(flip, first, second)}


def _flat(observations: np.ndarray) -> np.ndarray:
    return observations.reshape(len(observations), -1)


def _weak(table: dict[str, np.ndarray]) -> np.ndarray:
    """Return which trials are among those of weakest evidence."""
    strength = np.abs(table["coh"]) if "coh" in table else np.zeros(len(table["trial"]))
    levels = np.unique(strength)
    return np.asarray(strength <= levels[min(WEAKEST, len(levels)) - 1])


def _fluctuations(signed: np.ndarray, table: dict[str, np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Return the evidence without its mean in trials of the same kind."""
    names = [name for name in ("ground_truth", "coh", "coh_1", "coh_2", "other_choice", "context") if name in table]
    columns = [table[name][rows] for name in names if table[name].ndim == 1 and table[name].dtype != object]
    kinds = np.stack([np.unique(column, return_inverse=True)[1] for column in columns], axis=1) if columns else None
    index = np.zeros(len(signed), int) if kinds is None else np.unique(kinds, axis=0, return_inverse=True)[1].ravel()
    means = np.stack([signed[index == kind].mean(axis=0) for kind in range(index.max() + 1)])
    return signed - means[index]


def context(view: View) -> Figure:
    """Draw choices against relevant and irrelevant evidence, and the weight of each in each context."""
    from neurogym.analysis import from_trials

    parts = view.parts("context", "coh_1", "coh_2", "other_choice", "choice")
    figure, (curves, bars) = new_figure(1, 2, width=4.4)
    for k, part in enumerate(parts):
        try:
            found = from_trials.context_use(part.table)
        except ValueError as error:
            raise Unavailable(str(error)) from None
        _evidence_curves(curves, part, several=len(parts) > 1)
        names = [f"{kind}\ncontext {c}" for c in found.by_context for kind in ("relevant", "irrelevant")]
        weights = [fit.weights[kind] for fit in found.by_context.values() for kind in ("relevant", "irrelevant")]
        s = found.selectivity
        text = f"{part.label}: selectivity {s.value:.2f} [{s.low:.2f}, {s.high:.2f}]"
        interval_bars(bars, names, weights, color=part.colour, label=text, offset=0.12 * (k - (len(parts) - 1) / 2))
    curves.axhline(0.5, color=GREY, linestyle=":", linewidth=1, zorder=0)
    curves.set(
        xlabel="signed coherence (%)", ylabel="P(second choice)", ylim=(-0.03, 1.03),
        title=f"use of context, n = {sum(len(p.table['trial']) for p in parts):,}, 95 % intervals",
    )  # fmt: skip
    bars.axhline(0, color=GREY, linestyle=":", linewidth=1, zorder=0)
    bars.set(ylabel="weight (log odds per % coherence)", title="weights of the evidence")
    curves.legend()
    legend_below(bars, side="right")
    return figure


def _evidence_curves(axes: Axes, part: Part, several: bool) -> None:
    """Draw P(second choice) against the evidence of the relevant and of the irrelevant modality."""
    from neurogym.analysis import Curve
    from neurogym.analysis.tables import numbers, two_choices

    table, second = two_choices(part.table)
    relevant = numbers(table["context"]).astype(int)
    sizes = np.stack([numbers(table["coh_1"]), numbers(table["coh_2"])], axis=1)
    highest = max(numbers(table["ground_truth"]).max(), numbers(table["other_choice"]).max())
    rows = np.arange(len(second))
    for kind, side, which, style in (
        ("relevant", "ground_truth", relevant, "o-"), ("irrelevant", "other_choice", 1 - relevant, "s--"),
    ):  # fmt: skip
        signed = np.where(numbers(table[side]) == highest, 1, -1) * sizes[rows, which]
        levels, index = np.unique(signed, return_inverse=True)
        curve = Curve.proportions(levels, np.bincount(index, weights=second), np.bincount(index))
        label = f"{part.label}, {kind}" if several else f"{kind} evidence"
        colour = part.colour if several or kind == "relevant" else COLOURS[1]
        interval_points(axes, curve, fmt=style, color=colour, label=label)


def cues_check(view: View) -> None:
    """Say why cues cannot be compared."""
    for part in view.parts():
        kinds = set(part.table["modality"].astype(str)) - {"conflict"}
        if len(kinds) != 3 or "both" not in kinds:
            there = ", ".join(sorted(kinds))
            raise Unavailable(
                f"cue combination needs trials of each modality and of both, the trials have {there}; "
                "ngym eval --task-arg modalities=both/first/second"
            )


def cues(view: View) -> Figure:
    """Draw the psychometric function of each modality and of both, and observed against optimal sigma."""
    from neurogym.analysis import from_trials

    parts = view.parts("modality", "coh", keep=lambda table: table["modality"].astype(str) != "conflict")
    figure, (curves, bars) = new_figure(1, 2, width=4.2)
    for k, part in enumerate(parts):
        try:
            found = from_trials.cue_combination(part.table, n_boot=DRAWS, lapse=0.0)
        except ValueError as error:
            raise Unavailable(str(error)) from None
        if k == 0:
            for (name, fit), colour in zip(found.fits.items(), COLOURS, strict=False):
                x = np.linspace(fit.data.x.min(), fit.data.x.max(), 200)
                curves.fill_between(x, *fit.band(x), alpha=0.2, linewidth=0, color=colour)
                curves.plot(x, fit.predict(x), color=colour)
                interval_points(curves, fit.data, color=colour, label=f"{name}, n = {fit.n:,}")
        names = [*found.sigma, "optimal"]
        r = found.ratio
        text = f"{part.label}: observed / optimal {r.value:.2f} [{r.low:.2f}, {r.high:.2f}]"
        offset = 0.12 * (k - (len(parts) - 1) / 2)
        interval_bars(
            bars, names, [*found.sigma.values(), found.optimal_sigma], color=part.colour, label=text, offset=offset
        )
    curves.axhline(0.5, color=GREY, linestyle=":", linewidth=1, zorder=0)
    curves.set(xlabel="signed coherence (%)", ylabel="P(second choice)", title=f"{parts[0].label}, by modality")
    bars.set(ylabel="sigma (% coherence)", title="precision, 95 % intervals")
    bars.set_ylim(bottom=0)
    curves.legend()
    legend_below(bars, side="right")
    return figure


def wagering(view: View) -> Figure:
    """Draw how often the sure option is taken, and the accuracy with and without it on offer."""
    from neurogym.analysis import from_trials

    sure = view.facts.labels.get("action", {}).get("sure", 3)
    figure, (left, right) = new_figure(1, 2)
    parts = view.parts("wager", "coh", "choice", "outcome")
    for part in parts:
        found = from_trials.wagering(part.table, sure=float(sure), n_boot=DRAWS)
        p = found.p_sure
        text = f"{part.label}: {p.value:.2f} of the offers, n = {int(found.sure.n.sum()):,}"
        interval_points(left, found.sure, fmt="o-", color=part.colour, label=text)
        a = found.advantage
        known = f"; advantage {a.value:+.3f} [{a.low:+.3f}, {a.high:+.3f}]" if np.isfinite(a.value) else ""
        waived = f"{part.label}: offered and waived, n = {int(found.accuracy_offered.n.sum()):,}"
        forced = f"{part.label}: not offered, n = {int(found.accuracy_not_offered.n.sum()):,}{known}"
        there = found.accuracy_offered.n > 0
        interval_points(right, _only(found.accuracy_offered, there), fmt="o-", color=part.colour, label=waived)
        interval_points(
            right, found.accuracy_not_offered, fmt="o--", color=part.colour, markerfacecolor="white", label=forced
        )
    left.set(
        xlabel=LABELS["coh"], ylabel="P(sure option | offered)", ylim=(-0.03, 1.05), title="use of the sure option"
    )
    right.axhline(0.5, color=GREY, linestyle=":", linewidth=1, zorder=0)
    right.set(xlabel=LABELS["coh"], ylabel="accuracy", ylim=(0.3, 1.05), title="accuracy of answers, 95 % intervals")
    left.legend()
    legend_below(right, side="right")
    return figure


def _only(curve: Any, rows: np.ndarray) -> Any:
    from neurogym.analysis import Curve

    return Curve(*(getattr(curve, name)[rows] for name in ("x", "value", "low", "high", "n")))
