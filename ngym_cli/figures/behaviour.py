"""Psychometric and chronometric curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from neurogym.analysis import from_trials
from neurogym.analysis.intervals import clusters, proportion_curve
from neurogym.analysis.outcomes import Rates, ReactionTimes, rates, reaction_times
from neurogym.analysis.psychometric import PsychometricFit
from neurogym.analysis.psychometric_likelihood import SHAPES
from neurogym.analysis.results import Curve
from neurogym.analysis.trial_tables import Table, numbers, responded, rising_choices, select, two_choices
from ngym_cli.figures import registry, wording
from ngym_cli.figures.source import Series
from ngym_cli.figures.style import (
    COLOURS,
    FigureUnavailableError,
    fitted_curve,
    guide,
    interval_points,
    legend_below,
    new_figure,
)
from ngym_cli.figures.view import PlotData

STRENGTH = "coh"

#: Columns with the first and the second of two stimuli that are compared.
PAIRS = (("v1", "v2"), ("s1", "s2"), ("duration1", "duration2"))

#: Bootstrap draws behind a band, fewer where there are several.
BAND_DRAWS = 60

#: Distinct strengths that determine a function with lapses.
FEWEST_STRENGTHS = 3

#: Lower end of the axis of accuracies, unless some are lower.
USUAL_LOWEST = 0.4

#: Share of reaction times at the shortest possible value above which no diffusion is fitted.
FLOOR = 0.5


def _strengths_vary(view: PlotData) -> None:
    def looked_at(series: Series) -> None:
        table, _, _ = with_evidence(series.table)
        two_choices(table, _choices(table))

    view.analysed(view.parts(), looked_at)


def graded(table: Table) -> bool:
    """Return whether trials differ in the strength of evidence."""
    return STRENGTH in table and len(np.unique(table[STRENGTH])) > 1


def with_evidence(table: Table) -> tuple[Table, str | None, str]:
    """Return trials with the evidence against which a psychometric curve is drawn.

    Returns:
        The trials, the column whose values have their sign already (None: the strength, signed by what was right), and
        its name on an axis.

    Raises:
        ValueError: if there is no evidence, or it is the same in all trials.
    """
    result, column, name = dict(table), "rate", "rate (events/s)"
    if STRENGTH in table:
        column, name = STRENGTH, f"signed {wording.axis(STRENGTH)}"
    elif pair := compared_pair(table):
        first, second = pair
        column, name = f"{second} - {first}", f"second minus first stimulus, {second} - {first}"
        result[column] = np.round(numbers(table[second]) - numbers(table[first]), 6)
    if column not in result:
        raise ValueError("the trials have no coherence, pair of values or rate")
    if len(np.unique(result[column])) < 2:
        raise ValueError("the strength of the evidence is the same in all trials")
    return result, None if column == STRENGTH else column, name


def compared_pair(table: Table) -> tuple[str, str] | None:
    """Return the columns with the two stimuli that a trial compares, the remembered first; None without them."""
    return next((pair for pair in PAIRS if table.keys() >= set(pair)), None)


def _choices(table: Table) -> tuple[float, float] | None:
    """Return the two alternatives where there is a third answer, such as a sure option."""
    values = np.unique(numbers(table["choice"])[responded(table)])
    if len(values) <= 2 or "wager" not in table:
        return None
    return float(values[0]), float(values[1])


@registry.figure(
    "choices against signed strength, with the fitted function",
    ["two-alternative"],
    check=_strengths_vary,
    columns=("choice", "outcome"),
    any_of=(("coh",), *PAIRS, ("rate",)),
)
def psychometric(view: PlotData) -> Figure:
    """Draw the probability of the second choice against signed strength, with the fitted function.

    Where two compared stimuli always differ by the same amount, choices are drawn against the first stimulus.
    """
    figure, axes = new_figure(width=4.6)
    all_series, draws = view.parts(), view.draws(BAND_DRAWS, least=0)
    table, column, _ = with_evidence(all_series[0].table)
    if compared_pair(table) and STRENGTH not in table and len(np.unique(table[column])) < FEWEST_STRENGTHS:
        _by_first_stimulus(axes, all_series, view.properties.labels)
        return figure
    view.left_out.update(psychometric_axes(axes, all_series, draws, labels=view.properties.labels))
    return figure


def _by_first_stimulus(axes: Axes, all_series: Sequence[Series], labels: Mapping[str, Mapping[str, object]]) -> None:
    """Draw the probability of the second choice against the first of two stimuli, for each order of the two."""
    for series in all_series:
        table, column, _ = with_evidence(series.table)
        first, other = compared_pair(table) or PAIRS[0]
        pair = rising_choices(table, str(column))
        rows, second = two_choices(table, pair)
        for k, larger in enumerate((True, False)):
            chosen = select(rows, (numbers(rows[str(column)]) > 0) == larger)
            levels, index = np.unique(chosen[first], return_inverse=True)
            hits = second[(numbers(rows[str(column)]) > 0) == larger]
            curve = proportion_curve(levels, index, hits, clusters(chosen))
            words = f"{other} {'>' if larger else '<'} {first}, n = {len(hits):,}"
            look = {"color": COLOURS[k]} if len(all_series) == 1 else {"color": series.colour, "fmt": ("o-", "o--")[k]}
            label = words if len(all_series) == 1 else f"{series.label}: {words}"
            interval_points(axes, curve, label=label, **{"fmt": "o-", **look})
    guide(axes, y=0.5)
    axes.set(xlabel=wording.axis(first), ylabel=f"P({second_choice(table, labels, pair)})", ylim=(-0.03, 1.03))
    axes.set_title("choices by the first stimulus, 95 % intervals")
    legend_below(axes)


def psychometric_axes(
    axes: Axes,
    all_series: Sequence[Series],
    draws: int = BAND_DRAWS,
    legend: bool = True,
    labels: Mapping[str, Mapping[str, object]] | None = None,
) -> dict[str, str]:
    """Draw psychometric curves into axes.

    Args:
        axes: axes to draw on.
        all_series: trials of two-alternative tasks.
        draws: bootstrap draws behind the bands; 0 for none.
        legend: whether to say what is what.
        labels: names of the task's actions.

    Returns:
        Why a part could not be fitted, by its label.

    Raises:
        FigureUnavailableError: if none of the parts has two choices and graded strength.
    """
    few = draws if len(all_series) < 4 else draws // 2
    fits, left_out = [], {}
    for series in all_series:
        try:
            table, column, axis = with_evidence(series.table)
            pair = _choices(table) if column is None else rising_choices(table, column)
            fit = from_trials.psychometric(table, choices=pair, signed=column, n_boot=few)
            fits.append((series, fit, " %" if column is None else "", axis, second_choice(table, labels or {}, pair)))
        except ValueError as error:
            left_out[series.label] = str(error)
    if not fits:
        raise FigureUnavailableError(next(iter(left_out.values()), "no trials"))
    _, first, _, axis, second = fits[0]
    for series, fit, unit, *_ in fits:
        if determined(fit):
            fitted_curve(axes, fit, series.colour, band=draws > 0)
        interval_points(axes, fit.data, color=series.colour, label=f"{series.label}: {fit_words(fit, unit)}")
    guide(axes, y=0.5)
    if first.data.x.min() < 0 < first.data.x.max():
        guide(axes, x=0)
    how = f"{first.model} fit, " if any(determined(fit) for _, fit, *_ in fits) else ""
    axes.set(
        xlabel=axis,
        ylabel=f"P({second})",
        ylim=(-0.03, 1.03),
        title=f"psychometric curve, {how}95 % intervals",
    )
    if legend:
        legend_below(axes)
    return left_out


def determined(fit: PsychometricFit) -> bool:
    """Return whether the number of strengths determines the fitted psychometric function."""
    return len(fit.data.x) >= FEWEST_STRENGTHS


def fit_words(fit: PsychometricFit, unit: str = " %") -> str:
    """Return the parameters of a psychometric function for a legend.

    The PSE is the signed strength at which both choices are equally likely, apart from lapses; the threshold is the
    distance from the PSE to the strength at which three quarters of the range between the lapses are reached. Both are
    undetermined with two strengths.
    """
    if not determined(fit):
        return f"two strengths, no function fitted; n = {fit.n:,}"
    if not (np.isfinite(fit.threshold.value) and np.isfinite(fit.slope.value)):
        equal_at = f"{fit.threshold:.3g}" + ("" if np.isnan(fit.threshold.value) else unit)
        return f"PSE {equal_at}, slope {fit.slope:.2g}; n = {fit.n:,}"
    reach = abs(float(SHAPES[fit.model].inverse(0.75)) / fit.slope.value)  # the curve may fall
    equal = round(fit.threshold.value, 3) + 0.0  # values close to zero are printed as zero
    lapses = f"lapses {fit.guess.value:.2f} (low), {fit.lapse.value:.2f} (high)"
    return f"PSE {equal:.3g}{unit}, 75 % threshold {reach:.2g}{unit}, {lapses}; n = {fit.n:,}"


def second_choice(
    table: Table, labels: Mapping[str, Mapping[str, object]], pair: tuple[float, float] | None = None
) -> str:
    """Return the name of the second of two choices, by default the choices that occur, in ascending order."""
    result = np.unique(numbers(table["choice"])[responded(table)]) if pair is None else np.array(pair)
    names = wording.index_names(labels.get("action", {}))
    return names.get(int(result[min(1, len(result) - 1)]), "second choice") if len(result) else "second choice"


def _times_vary(view: PlotData) -> None:
    for series in view.parts():
        if graded(series.table) and len(np.unique(series.table["rt"][np.isfinite(series.table["rt"])])) > 1:
            return
    raise FigureUnavailableError("reaction times do not vary: the response period is too short, or nobody answered")


@registry.figure(
    "reaction time against strength, with the prediction of a diffusion to a bound",
    ["reaction time"],
    columns=("coh", "rt", "outcome"),
    check=_times_vary,
)
def chronometric(view: PlotData) -> Figure:
    """Draw reaction times and accuracy with the prediction of a diffusion to a bound."""
    figure, (left, right) = new_figure(1, 2)
    accuracy_axes(right, view.parts())
    if chronometric_axes(left, right, view.parts()):
        right.set_title("same diffusion, accuracy")
    legend_below(left)
    return figure


def _strengths(rows: Sequence[Rates | ReactionTimes]) -> np.ndarray:
    return np.array([row.condition[STRENGTH] for row in rows], float)


def accuracy_axes(axes: Axes, all_series: Sequence[Series]) -> None:
    """Draw the accuracy of answers against the strength of the evidence.

    Args:
        axes: axes to draw on.
        all_series: trials with graded strength.
    """
    lowest = USUAL_LOWEST
    for series in all_series:
        rows = rates(series.table, STRENGTH)
        curve = Curve.estimates(_strengths(rows), [row.accuracy for row in rows], [row.n for row in rows])
        interval_points(axes, curve, color=series.colour)
        answered = curve.low[np.isfinite(curve.value)]
        lowest = min(lowest, float(answered.min(initial=lowest)))
    guide(axes, y=0.5)
    bottom = USUAL_LOWEST if lowest == USUAL_LOWEST else max(lowest - 0.03, -0.03)
    axes.set(xlabel=wording.axis(STRENGTH), ylabel="accuracy of answers", ylim=(bottom, 1.03), title="accuracy")


def chronometric_axes(times: Axes, accuracy: Axes, all_series: Sequence[Series]) -> bool:
    """Draw chronometric curves: correct (filled) and error trials (open), and the diffusion fitted to both.

    Args:
        times: axes of the reaction times.
        accuracy: axes of the accuracy, to which the prediction of the diffusion is added.
        all_series: trials with reaction times.

    Returns:
        Whether a diffusion was fitted.
    """
    fitted = False
    for series in all_series:
        for outcome, style in (
            ("correct", {"markerfacecolor": series.colour}),
            ("error", {"markerfacecolor": "white"}),
        ):
            rows = reaction_times(select(series.table, series.table["outcome"] == outcome), STRENGTH)
            rows = tuple(row for row in rows if row.n > 1)
            if not rows:
                continue
            curve = Curve.estimates(_strengths(rows), [r.mean for r in rows], [r.n for r in rows])
            words = f"{series.label}, {outcome}, n = {curve.n.sum():,}"
            interval_points(times, curve, color=series.colour, label=words, **style)
        shortest = share_at_shortest_time(series.table["rt"])
        try:
            if shortest > FLOOR:
                raise ValueError(f"{shortest:.0%} of the reaction times are the shortest possible")
            fit = from_trials.chronometric(series.table, STRENGTH, n_boot=0)
        except ValueError as error:
            times.plot([], [], " ", label=f"{series.label}: no diffusion fitted, {error}")
            continue
        x = np.linspace(0, float(np.nanmax(numbers(series.table[STRENGTH]))), 200)
        text = f"{series.label}, diffusion: bound {fit.bound.value:.2g}, residual time {fit.residual_time.value:.0f} ms"
        times.plot(x, fit.predict(x), color=series.colour, label=text)
        accuracy.plot(x, fit.predict_accuracy(x), color=series.colour)
        fitted = True
    since = {
        str(name)
        for series in all_series
        for name in np.unique(series.table.get("rt_from", np.array([""])).astype(str))
    }
    counted = " or ".join(sorted(since - {""})) or "go cue"
    times.set(xlabel=wording.axis(STRENGTH), ylabel=f"reaction time from {counted} (ms)", title="chronometric curve")
    times.set_ylim(bottom=0)
    return fitted


def share_at_shortest_time(times: np.ndarray) -> float:
    """Return the share of reaction times equal to the shortest; measured times, all different, have no floor."""
    finite = times[np.isfinite(times)]
    return float(np.mean(finite == finite.min())) if len(finite) else 1.0
