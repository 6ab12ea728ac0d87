"""Influence of trials on later trials: choice history, two-step stay, regret, reversals; indifference and intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from neurogym.analysis import from_trials
from neurogym.analysis.learning import ReversalCurve, best_choices, thompson
from neurogym.analysis.results import Curve
from neurogym.analysis.trial_tables import in_sequence, numbers, responded, select
from ngym_cli.figures import registry, style
from ngym_cli.figures.source import Series
from ngym_cli.figures.view import PlotData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from neurogym.analysis.history import ChoiceHistory, StayShift


#: Trials back that the history regression looks, and half of the interval (log odds) of weights that are not drawn.
LAGS, WIDEST = 4, 10.0

#: Sessions of the agents that a regret is compared with, and the longest for which the best policy is computed.
SIMULATED, LONGEST = 2_000, 150


def _two_choices(view: PlotData) -> None:
    for series in view.parts():
        choices = np.unique(numbers(series.table["choice"])[responded(series.table)])
        if view.pair is not None and not np.isin(view.pair, choices).all():
            raise style.FigureUnavailableError(
                f"the trials do not hold both choices of the pair, only {choices.tolist()}"
            )
        if view.pair is None and len(choices) != 2:
            n = len(choices)
            raise style.FigureUnavailableError(
                f"a history regression needs two choices, the trials hold {n}; --pair names two"
            )


@registry.figure(
    "weights of past choices and transitions, after correct and after error trials",
    ["history"],
    columns=("choice", "outcome"),
    check=_two_choices,
)
def history(view: PlotData) -> Figure:
    """Draw the weights of past choices and transitions on the choice, after correct and after error trials."""

    def analysis(series: Series) -> tuple[ChoiceHistory, StayShift]:
        strength = "coh" if "coh" in series.table else None
        history = from_trials.choice_history(series.table, strength, view.pair, n_lags=LAGS)
        return history, from_trials.win_stay_lose_shift(series.table)

    all_series = view.parts()
    figure, axes = style.new_figure(1, 3, width=3.6, sharey="row")
    hidden = 0
    for series, (result, shift) in view.analysed(all_series, analysis):
        for fit, colour, after in (
            (result.after_correct, style.COLOURS[2], "correct"),
            (result.after_error, style.COLOURS[1], "error"),
        ):
            words = f"after {after}, n = {fit.n:,}"
            look = {
                "color": colour if len(all_series) == 1 else series.colour,
                "fmt": "o-" if after == "correct" else "o--",
                "label": words if len(all_series) == 1 else f"{series.label}, {words}",
            }
            for axis, kind in zip(axes, ("win", "lose", "transition"), strict=True):
                weights = {k: fit.weights[f"{kind}_{k}"] for k in range(1, LAGS + 1) if f"{kind}_{k}" in fit.weights}
                lags = [k for k, weight in weights.items() if not weight.high - weight.low > 2 * WIDEST]
                hidden += len(weights) - len(lags)
                curve = Curve.estimates(lags, [weights[k] for k in lags], fit.n)
                style.interval_points(axis, curve, linewidth=1.5, **look)
        text = f"{series.label}: reset index {result.reset_index:.2f}, "
        text += f"win-stay {shift.win_stay.value:.2f}, lose-shift {shift.lose_shift.value:.2f}"
        axes[0].plot([], [], " ", label=text)
    titles = ("past correct choices", "past wrong choices", "past transitions, both correct")
    for axis, title in zip(axes, titles, strict=True):
        if hidden and not any(np.isfinite(line.get_ydata()).any() for line in axis.lines if len(line.get_ydata())):
            raise style.FigureUnavailableError(f"the trials do not determine the weights of {title}")
        style.guide(axis, y=0)
        axis.set(xlabel="trials back", title=title, xticks=range(1, LAGS + 1))
    axes[0].set_ylabel("weight on choice (log odds)")
    style.legend_below(axes[0], 2)
    if hidden:
        style.footnote(figure, [f"not drawn, because the trials do not determine them: {hidden} of the weights"])
    return figure


def _both_transitions(view: PlotData) -> None:
    for series in view.parts():
        if len(np.unique(series.table["common"])) < 2:
            raise style.FigureUnavailableError("all transitions are of one kind")


@registry.figure(
    "two-step task: stay probabilities by reward and transition",
    ["learning"],
    columns=("common", "choice", "reward"),
    check=_both_transitions,
)
def stay(view: PlotData) -> Figure:
    """Draw the probability of repeating the first choice, by reward and transition of the previous trial."""
    figure, axes = style.new_figure(width=4.8)
    all_series = view.parts()
    for k, (series, result) in enumerate(view.analysed(all_series, lambda series: from_trials.two_step(series.table))):
        names = [name.replace("_", "\n") for name in result.stay]
        text = f"{series.label}: model-based {result.model_based:.2f},\n"
        text += f"model-free {result.model_free:.2f}; n = {sum(result.n.values()):,}"
        if len(all_series) == 1:
            heights = [estimate.value for estimate in result.stay.values()]
            axes.bar(names, heights, color=[*style.COLOURS[:2]] * 2, alpha=0.6, width=0.6)
        colour = "black" if len(all_series) == 1 else series.colour
        offset = style.dodge(k, len(all_series), 0.15)
        style.interval_bars(axes, names, list(result.stay.values()), color=colour, label=text, offset=offset)
    style.guide(axes, y=0.5)
    axes.set(ylabel="P(stay)", ylim=(0, 1.05), title="stay probability, 95 % intervals", xlabel="trial before")
    style.legend_below(axes)
    return figure


def _sessions(series: Series) -> Series:
    """Return complete trials, with sessions numbered separately where the task has several in a row."""
    table = series.table
    if "session_trial" not in table:
        return series
    table, environment = in_sequence(table)
    begins = (table["session_trial"] == 0) | np.r_[True, environment[1:] != environment[:-1]]
    session = np.cumsum(begins) - 1
    lengths = np.bincount(session)
    full = np.isin(session, np.flatnonzero(lengths == lengths.max()))
    return series.with_table(select({**table, "env": session}, full))


@registry.figure("bandit: cumulative regret", ["n-alternative"], columns=("p0", "p1", "choice"))
def regret(view: PlotData) -> Figure:
    """Draw the expected reward lost relative to the best arm, next to the loss of random choices."""
    figure, axes = style.new_figure(width=4.6)
    all_series = [_sessions(series) for series in view.parts()]
    analysis = lambda series: from_trials.cumulative_regret(series.table, _arms(series), n_boot=view.draws(200))  # noqa: E731
    for series, curve in view.analysed(all_series, analysis):
        style.interval_line(axes, curve, series.colour, f"{series.label}, {int(curve.n[0])} sessions")
        expected = np.stack([series.table[name] for name in _arms(series)], axis=1)
        random = float(np.mean(expected.max(axis=1) - expected.mean(axis=1)))
        if series is all_series[0]:
            _compared(axes, series, expected, curve)
    axes.plot(curve.x, random * curve.x, color=style.GREY, linestyle=":", zorder=0, label="random choices")
    axes.set(
        xlabel="trial of the session",
        ylabel="cumulative regret (reward)",
        title="regret, mean over sessions, 95 % interval",
    )
    style.legend_below(axes)
    return figure


def _compared(axes: Axes, series: Series, expected: np.ndarray, curve: Curve) -> None:
    """Draw the regret of Thompson sampling, and of the best policy for two independent arms, in the same sessions."""
    trials = len(curve.x)
    first = np.flatnonzero(np.r_[True, series.table["env"][1:] != series.table["env"][:-1]])
    arms = np.tile(expected[first], (max(1, -(-SIMULATED // len(first))), 1))
    agents = [("Thompson sampling", thompson, "--")]
    if arms.shape[1] == 2 and trials <= LONGEST:
        agents.append(("best policy for independent arms", best_choices, "-."))
    for name, agent, line in agents:
        chosen = agent(arms, trials, np.random.default_rng(0))
        lost = arms.max(axis=1)[:, None] - np.take_along_axis(arms, chosen, axis=1)
        axes.plot(curve.x, lost.cumsum(axis=1).mean(axis=0), color=style.GREY, linestyle=line, zorder=0, label=name)


def _arms(series: Series) -> list[str]:
    """Return the columns with each arm's probability of reward."""
    return sorted((name for name in series.table if name[:1] == "p" and name[1:].isdecimal()), key=lambda n: int(n[1:]))


@registry.figure("choices around reversals", ["learning"], columns=("better", "choice", "ground_truth"))
def reversal(view: PlotData) -> Figure:
    """Draw the share of better choices, trial by trial around a reversal."""

    def analysis(series: Series) -> ReversalCurve:
        better, levels = numbers(series.table["better"]), np.unique(numbers(series.table["better"]))
        if len(levels) != 2:
            raise ValueError("what is better never changes")
        right = numbers(series.table["choice"]) == numbers(series.table["ground_truth"])
        chosen = np.where(right, better, levels.sum() - better)
        return from_trials.reversal_curve({**series.table, "choice": chosen, "best": better})

    figure, axes = style.new_figure(width=4.6)
    for series, result in view.analysed([_sessions(series) for series in view.parts()], analysis):
        text = f"{series.label}: {result.n_reversals:,} reversals, "
        s = result.trials_to_switch
        text += f"{s.value:.1f} trials to switch {s.interval('.1f')}"
        style.interval_points(axes, result.correct, fmt="o-", color=series.colour, label=text)
    style.guide(axes, y=0.5)
    axes.axvline(-0.5, color=style.GREY, linestyle="--", linewidth=1, zorder=0)
    axes.set(
        xlabel="trial from reversal",
        ylabel="P(what is better after it)",
        ylim=(-0.03, 1.05),
        title="reversals, 95 % interval",
    )
    style.legend_below(axes)
    return figure


SEQUENCE_DRAWS = 200


@registry.figure(
    "choices between two goods against the ratio of their amounts",
    ["value-based"],
    columns=("n_a", "n_b", "a_first", "choice"),
)
def indifference(view: PlotData) -> Figure:
    """Draw the share of choices of good B against the ratio of the offered amounts, with the indifference point."""
    figure, axes = style.new_figure(width=4.6)
    analysed = view.analysed(
        view.parts(), lambda series: from_trials.indifference_point(series.table, n_boot=view.draws(SEQUENCE_DRAWS))
    )
    both_offered = [result.choices.x[np.isfinite(result.choices.x) & (result.choices.x > 0)] for _, result in analysed]
    every = np.concatenate(both_offered)
    ends = (float(every.min()) / 2, float(every.max()) * 2)
    for (series, result), ratios in zip(analysed, both_offered, strict=True):
        curve = result.choices
        x = np.geomspace(ratios.min(), ratios.max(), 200)
        style.interval_band(axes, x, *result.fit.band(np.log(x)), series.colour)
        axes.plot(x, result.fit.predict(np.log(x)), color=series.colour)
        clipped = Curve(np.clip(curve.x, *ends), curve.value, curve.low, curve.high, curve.n)
        v = result.relative_value
        text = f"{series.label}: 1 A = {v.value:.2f} B {v.interval('.2f')}, n = {int(curve.n.sum()):,}"
        style.interval_points(axes, clipped, color=series.colour, label=text)
        axes.axvline(v.value, color=series.colour, linestyle="--", linewidth=0.8)
    style.guide(axes, y=0.5)
    axes.set_xscale("log")
    # Ticks are clear of the words at both ends.
    inside = [tick for tick in (0.25, 0.5, 1, 2, 4) if 1.5 * ends[0] < tick < ends[1] / 1.5]
    axes.set_xticks([ends[0], *inside, ends[1]], ["only\nA", *(f"{tick:g}" for tick in inside), "only\nB"])
    axes.minorticks_off()
    axes.set(
        xlabel="offered amounts, B : A",
        ylabel="P(choose B)",
        ylim=(-0.03, 1.05),
        title="choice between two goods, 95 % intervals",
    )
    style.legend_below(axes)
    return figure


def _intervals_vary(view: PlotData) -> None:
    for series in view.parts():
        if len(np.unique(series.table["production"])) < 2:
            raise style.FigureUnavailableError("there is a single interval to produce")
        if not np.isfinite(series.table["rt"]).any():
            raise style.FigureUnavailableError("no interval was produced")


@registry.figure(
    "reproduced against target interval", ["timing"], columns=("production", "rt", "outcome"), check=_intervals_vary
)
def interval(view: PlotData) -> Figure:
    """Draw produced against target intervals, and the error."""
    figure, (left, right) = style.new_figure(1, 2)
    all_series = [series.with_table(from_trials.counted_from_cue(series.table)) for series in view.parts()]
    for series, result in view.analysed(
        all_series, lambda series: from_trials.interval_reproduction(series.table, n_boot=view.draws(SEQUENCE_DRAWS))
    ):
        rows = responded(series.table) & np.isfinite(series.table["rt"])
        target, produced = series.table["production"][rows], series.table["rt"][rows]
        sample = np.random.default_rng(0).permutation(len(target))[:500]
        left.plot(target[sample], produced[sample], ".", color=series.colour, markersize=2, alpha=0.4)
        text = f"{series.label}, n = {len(target):,}: slope {result.slope:.2f}, "
        text += f"Weber fraction {result.weber_fraction.value:.3f}"
        style.interval_points(left, result.produced, fmt="o-", color=series.colour, label=text)
        means = result.produced
        curve = Curve(means.x, means.value - means.x, means.low - means.x, means.high - means.x, means.n)
        b = result.bias
        style.interval_points(
            right, curve, fmt="o-", color=series.colour, label=f"bias {b.value:.0f} ms {b.interval('.0f')}"
        )
    ends = [min(p.table["production"].min() for p in all_series), max(p.table["production"].max() for p in all_series)]
    left.plot(ends, ends, color=style.GREY, linestyle="--", linewidth=1, zorder=0, label="equal")
    right.axhline(0, color=style.GREY, linestyle="--", linewidth=1)
    left.set(xlabel="target interval (ms)", ylabel="produced interval (ms)", title="interval reproduction")
    right.set(xlabel="target interval (ms)", ylabel="produced - target (ms)", title="error, mean and 95 % interval")
    style.legend_below(left)
    style.legend_below(right, side="right")
    return figure
