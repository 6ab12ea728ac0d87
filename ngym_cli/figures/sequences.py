"""Influence of trials on later trials: choice history, and options whose values are learned from trial to trial."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from neurogym.analysis import from_trials
from neurogym.analysis.learning import Options, best_choices, cumulative_loss, thompson
from neurogym.analysis.results import Curve, Estimate
from neurogym.analysis.trial_tables import in_sequence, numbers, responded, select
from ngym_cli.errors import option
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

#: Columns that tell which option of a trial is better, see ``from_trials.options``; trials of a strip.
OPTION_COLUMNS = (("value0", "value1"), ("p0", "p1"), ("p_left", "p_right"), ("hi_state",), ("better", "ground_truth"))
STRIP = 50


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
                f"a history regression needs two choices, the trials hold {n}; {option('--pair')} names two"
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


def _options(view: PlotData) -> list[tuple[Series, Options]]:
    """Return the complete sessions of each series with their options."""
    return view.analysed(
        [_sessions(series) for series in view.parts()], lambda series: from_trials.options(in_sequence(series.table)[0])
    )


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


_of_options = partial(registry.figure, any_of=OPTION_COLUMNS, check=_options)


@_of_options("strip of 50 trials: choices, rewards and the better option", columns=("choice", "reward"))
def session(view: PlotData) -> Figure:
    """Draw the choices of consecutive trials, filled if rewarded, and the option that was better."""
    rows = _options(view)[:4]
    figure, grid = style.new_figure(len(rows), 1, width=8.0, height=1.7, squeeze=False, sharex=True)
    for axes, (series, options) in zip(grid[:, 0], rows, strict=True):
        table, of = in_sequence(series.table)
        change = np.flatnonzero((np.diff(options.better) != 0) & (of[1:] == of[:-1]))
        start = max(int(change[0]) - STRIP // 2, int(np.argmax(of == of[change[0]]))) if len(change) else 0
        shown = slice(start, start + STRIP)
        trial = np.arange(start, start + len(of[shown])) - int(np.argmax(of == of[start]))
        chosen, paid = options.chosen[shown], numbers(table["reward"])[shown] > 0
        axes.step(trial, options.better[shown], where="mid", color=style.COLOURS[1], label="better option", zorder=1)
        for rewarded, face in ((True, style.COLOURS[0]), (False, "white")):
            words = "rewarded" if rewarded else "not rewarded"
            look = {"color": style.COLOURS[0], "markerfacecolor": face, "label": f"choice, {words}", "zorder": 2}
            axes.plot(trial[paid == rewarded], chosen[paid == rewarded], "o", markersize=5, **look)
        axes.set_yticks(range(len(options.names)), options.names)
        axes.set(
            ylabel="choice",
            ylim=(-0.5, len(options.names) - 0.5),
            title=f"choices of {series.label}, n = {len(trial)} trials",
        )
    grid[-1][0].set_xlabel("trial of the session")
    style.legend_below(grid[0][0], 3)
    return figure


@_of_options("probability of the same choice after reward and after no reward", columns=("choice", "reward", "outcome"))
def stay(view: PlotData) -> Figure:
    """Draw the probability of the same choice by the reward and, in two steps, the transition of the trial before."""
    figure, axes = style.new_figure(width=4.8)
    two_step = any("common" in series.table for series in view.series)
    all_series = view.parts(*(["common"] if two_step else []))

    def analysis(series: Series) -> tuple[dict[str, Estimate], str]:
        if two_step:
            steps = from_trials.two_step(series.table)
            words = f"model-based {steps.model_based:.2f},\nmodel-free {steps.model_free:.2f}; "
            return steps.stay, f"{words}n = {sum(steps.n.values()):,}"
        options = from_trials.options(series.table)
        shift = from_trials.win_stay_lose_shift({**series.table, "choice": options.chosen}, won="reward")
        words = f"win-stay {shift.win_stay:.2f},\nlose-shift {shift.lose_shift:.2f}; "
        lost = shift.lose_shift
        after_loss = Estimate(1 - lost.value, 1 - lost.high, 1 - lost.low)
        return {"rewarded": shift.win_stay, "not_rewarded": after_loss}, f"{words}n = {shift.n_win + shift.n_lose:,}"

    for k, (series, (estimates, words)) in enumerate(view.analysed(all_series, analysis)):
        names = [name.replace("_", "\n") for name in estimates]
        if len(all_series) == 1:
            heights = [estimate.value for estimate in estimates.values()]
            axes.bar(names, heights, color=[*style.COLOURS[:2]] * 2, alpha=0.6, width=0.6)
        colour = "black" if len(all_series) == 1 else series.colour
        offset = style.dodge(k, len(all_series), 0.15)
        text = f"{series.label}: {words}"
        style.interval_bars(axes, names, list(estimates.values()), color=colour, label=text, offset=offset)
    style.guide(axes, y=0.5)
    axes.set(ylabel="P(same choice)", ylim=(0, 1.05), title="stay probability, 95 % intervals", xlabel="trial before")
    style.legend_below(axes)
    return figure


@_of_options("weights of past rewards and choices", columns=("choice", "reward", "outcome"))
def reward_history(view: PlotData) -> Figure:
    """Draw the weights of past rewards and of past choices on the choice between two options."""
    figure, axes = style.new_figure(1, 2, width=3.8, sharey=True)
    analysed = view.analysed(view.parts(), lambda series: from_trials.reward_history(series.table))
    for series, fit in analysed:
        for axis, kind in zip(axes, ("reward", "choice"), strict=True):
            weights = [weight for name, weight in fit.weights.items() if name.startswith(f"{kind}_")]
            curve = Curve.estimates(np.arange(1, len(weights) + 1), weights, fit.n)
            label = f"{series.label}, n = {fit.n:,}" if kind == "reward" else None
            style.interval_points(axis, curve, fmt="o-", color=series.colour, label=label)
    for axis, title in zip(axes, ("rewards of the option", "choices of the option"), strict=True):
        style.guide(axis, y=0)
        axis.set(xlabel="trials back", title=title, xticks=range(1, len(weights) + 1))
    axes[0].set_ylabel("weight on choice (log odds)")
    style.legend_below(axes[0])
    return figure


@_of_options("cumulative regret against the ideal observer", columns=("choice",))
def regret(view: PlotData) -> Figure:
    """Draw the loss against the best option along sessions, next to the ideal observer and to random choices."""
    figure, axes = style.new_figure(width=4.6)
    draws, first = view.draws(200), True
    for series, options in _options(view):
        of = in_sequence(series.table)[1]
        curve = cumulative_loss(options.loss, session=of, n_boot=draws)
        style.interval_line(axes, curve, series.colour, f"{series.label}, n = {int(curve.n[0])} sessions")
        expected = options.expected
        random = float(np.mean(expected.max(axis=1) - expected.mean(axis=1))) if options.in_reward else 0.5
        if first and options.in_reward and "session_trial" in series.table:
            _compared(axes, of, expected, curve)
        elif first and (ceiling := (view.properties.ceiling or {}).get("performance")) is not None:
            lost = 1 - ceiling if not options.in_reward else random * 2 * (1 - ceiling)
            axes.plot(
                curve.x,
                lost * curve.x,
                "--",
                color=style.GREY,
                zorder=0,
                label=f"ideal observer, ceiling {ceiling:.3g}",
            )
        first = False
    axes.plot(curve.x, random * curve.x, ":", color=style.GREY, zorder=0, label="random choices")
    unit = "reward" if options.in_reward else "worse choices"
    axes.set(xlabel="trial of the session", ylabel=f"regret ({unit})")
    axes.set_title("cumulative regret, mean over sessions, 95 % interval")
    style.legend_below(axes)
    return figure


def _compared(axes: Axes, of: np.ndarray, expected: np.ndarray, curve: Curve) -> None:
    """Draw the regret of Thompson sampling, and of the best policy for two independent arms, in the same sessions."""
    trials = len(curve.x)
    first = np.flatnonzero(np.r_[True, of[1:] != of[:-1]])
    arms = np.tile(expected[first], (max(1, -(-SIMULATED // len(first))), 1))
    agents = [("Thompson sampling", thompson, "--")]
    if arms.shape[1] == 2 and trials <= LONGEST:
        agents.append(("ideal observer of independent arms", best_choices, "-."))
    for name, agent, line in agents:
        chosen = agent(arms, trials, np.random.default_rng(0))
        lost = arms.max(axis=1)[:, None] - np.take_along_axis(arms, chosen, axis=1)
        axes.plot(curve.x, lost.cumsum(axis=1).mean(axis=0), color=style.GREY, linestyle=line, zorder=0, label=name)


@_of_options("choices around changes of the better option", columns=("choice", "outcome"))
def reversal(view: PlotData) -> Figure:
    """Draw the share of better choices, trial by trial around a change of the better option."""
    figure, axes = style.new_figure(width=4.6)
    rows = [_sessions(series) for series in view.parts()]
    for series, result in view.analysed(rows, lambda series: from_trials.changes(series.table)):
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
