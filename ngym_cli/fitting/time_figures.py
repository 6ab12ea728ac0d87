"""Posterior predictive figures of models of choices and times, next to the data.

Quantile probability plots (Ratcliff & McKoon 2008, 10.1162/neco.2008.12-06-420), conditional accuracy functions,
defective densities, and delta plots. Conditions are levels of the strength of the evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from neurogym.analysis.results import wilson
from ngym_cli.errors import option
from ngym_cli.figures.style import COLOURS, GREY, FigureUnavailableError, footnote, new_figure
from ngym_cli.fitting.figure_data import FitPlotData
from ngym_cli.fitting.played import stimulus_weights

#: Quantiles of the times, bins of conditional accuracy, most conditions, models, and fewest trials of a point.
QUANTILES, BINS, CONDITIONS, MODELS, FEWEST = (0.1, 0.3, 0.5, 0.7, 0.9), 5, 6, 3, 10


@dataclass(frozen=True)
class TimedChoices:
    """Answered trials of a subject or of simulations of a model.

    Attributes:
        label: subject or model.
        rt: reaction time in s, shape (trials,).
        choice: shape (trials,).
        right: whether the choice agrees with the evidence, shape (trials,).
        condition: index of the level of the strength of the evidence, shape (trials,).
        share: part of all trials that were answered.
    """

    label: str
    rt: np.ndarray
    choice: np.ndarray
    right: np.ndarray
    condition: np.ndarray
    share: float

    def of(self, condition: int) -> TimedChoices:
        """Return the trials of a condition."""
        rows = self.condition == condition
        names = ("rt", "choice", "right", "condition")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})


def timed_choices(fit: FitPlotData) -> tuple[list[TimedChoices], list[str]]:
    """Return the trials of the subjects and of the best models, and the names of the conditions.

    Raises:
        FigureUnavailableError: if the fit has no times, or no model of times.
    """
    if "rt" not in fit.trials:
        raise FigureUnavailableError("the trials of this fit have no reaction times; fit again")
    labels = [label for label in fit.labels if "predictive_rt" in fit.arrays(label)]
    if not labels:
        raise FigureUnavailableError(f"no model of times was fitted (ddm, or {option('--times ddm')})")
    fit.require_two()
    scores = {label: fit.record["models"][label].get("time_score") for label in labels}
    values = {label: -np.inf if row is None else row["together"]["value"] or -np.inf for label, row in scores.items()}
    best = sorted(labels, key=lambda label: -values[label])[:MODELS]
    side, condition, names = _conditions(fit)
    rows = [
        (fit.everyone, np.asarray(fit.trials["choice"]).astype(int)[None], np.asarray(fit.trials["rt"], float)[None])
    ]
    rows += [(label, fit.arrays(label)["predictive_choice"].T, fit.arrays(label)["predictive_rt"].T) for label in best]
    samples = []
    for label, choice, rt in rows:
        answered = (choice >= 0) & np.isfinite(rt) & (rt > 0)
        wide = (np.broadcast_to(each, choice.shape)[answered] for each in (side, condition))
        towards, level = wide
        right = np.where(towards == 0, choice[answered] == 1, (choice[answered] == 1) == (towards > 0))
        samples.append(TimedChoices(label, rt[answered], choice[answered], right, level, float(answered.mean())))
    if not len(samples[0].rt):
        raise FigureUnavailableError("no trial has a choice and a reaction time")
    return samples, names


def _conditions(fit: FitPlotData) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return side and level of the evidence of each trial, and the names of the levels, weakest first."""
    names, stimuli = fit.stimulus_names(), fit.stimuli()
    if not names:
        n = len(fit.trials["choice"])
        return np.zeros(n), np.zeros(n, int), ["all trials"]
    evidence, word = stimuli[:, 0], names[0]
    if len(names) > 1:
        evidence, word = stimuli @ stimulus_weights(stimuli, fit.trials["choice"].astype(int)), "evidence (logit)"
    else:
        evidence = evidence * (np.sign(stimulus_weights(stimuli, fit.trials["choice"].astype(int))[0]) or 1)
    strength = np.round(np.abs(evidence), 9)
    levels = np.unique(strength)
    if len(levels) <= CONDITIONS:
        return np.sign(evidence), np.searchsorted(levels, strength), [f"|{word}| = {level:g}" for level in levels]
    edges = np.unique(np.quantile(strength, np.linspace(0, 1, CONDITIONS + 1)))
    condition = np.clip(np.searchsorted(edges, strength, "right") - 1, 0, len(edges) - 2)
    titles = [f"|{word}| {low:.3g} to {high:.3g}" for low, high in zip(edges[:-1], edges[1:], strict=True)]
    return np.sign(evidence), condition, titles


def _quantiles(rt: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return quantiles of times with their 95 % intervals from order statistics."""
    q = np.array(QUANTILES)
    half = 1.96 * np.sqrt(q * (1 - q) / len(rt))
    low, high = np.quantile(rt, np.clip(q - half, 0, 1)), np.quantile(rt, np.clip(q + half, 0, 1))
    return np.quantile(rt, q), low, high


def quantiles(fit: FitPlotData) -> Figure:
    """Quantiles of the times of right and wrong choices against their probability, by strength of the evidence."""
    rows, names = timed_choices(fit)
    figure, axes = new_figure(width=6)
    for k, trials in enumerate(rows):
        points = sorted(_probability_points(trials, len(names)), key=lambda point: point[0])
        if not points:
            continue
        p = np.array([point[0] for point in points])
        value, low, high = (np.array([point[1][j] for point in points]) for j in range(3))
        for j in range(len(QUANTILES)):
            spread = [value[:, j] - low[:, j], high[:, j] - value[:, j]]
            _points(axes, k, p, value[:, j], spread, _label(k, trials) if j == 0 else None)
    axes.set(
        xlabel="probability of the choice (against, with the evidence)", ylabel="reaction time (s)", xlim=(-0.03, 1.03)
    )
    axes.legend()
    footnote(figure, [f"quantiles {', '.join(f'{q:g}' for q in QUANTILES)}; 95 % intervals of order statistics"])
    return figure


def _probability_points(trials: TimedChoices, conditions: int) -> Iterator[tuple[float, tuple[np.ndarray, ...]]]:
    """Yield probability and quantiles of right and of wrong choices in each condition."""
    for k in range(conditions):
        condition = trials.of(k)
        for right in (False, True):
            rt = condition.rt[condition.right == right]
            if len(rt) >= FEWEST:
                yield float((condition.right == right).mean()), _quantiles(rt)


def _label(number: int, trials: TimedChoices) -> str:
    return trials.label if number else f"{trials.label}, {len(trials.rt):,} trials"


def _points(axes: Axes, number: int, x: np.ndarray, y: np.ndarray, spread: Any, label: str | None) -> None:
    """Draw the points of the data (number 0) with intervals, or those of a model."""
    if number:
        axes.plot(x, y, ".-", color=COLOURS[number - 1], linewidth=1, label=label)
    else:
        axes.errorbar(x, y, spread, fmt="o", markersize=4, color="black", label=label)


def accuracy(fit: FitPlotData) -> Figure:
    """Accuracy of fast to slow choices, by strength of the evidence."""
    rows, names = timed_choices(fit)
    figure, axes = new_figure(1, len(names), width=2.6, squeeze=False, sharey=True)
    for column, name in enumerate(names):
        axis = axes[0, column]
        for k, trials in enumerate(rows):
            condition = trials.of(column)
            if len(condition.rt) < FEWEST * BINS:
                continue
            order = np.array_split(np.argsort(condition.rt), BINS)
            x = np.array([condition.rt[rows_of_bin].mean() for rows_of_bin in order])
            n = np.array([len(rows_of_bin) for rows_of_bin in order])
            hits = np.array([condition.right[rows_of_bin].sum() for rows_of_bin in order])
            low, high = wilson(hits, n)
            _points(axis, k, x, hits / n, [hits / n - low, high - hits / n], _label(k, trials))
        axis.axhline(0.5, color=GREY, linestyle=":", linewidth=1)
        axis.set(title=name, xlabel="reaction time (s)")
    axes[0, 0].set(ylabel="P(choice with the evidence)", ylim=(-0.02, 1.02))
    _shared_legend(figure, axes)
    return figure


def times(fit: FitPlotData) -> Figure:
    """Densities of the times of both choices, with areas that add up to the share of answered trials."""
    rows, names = timed_choices(fit)
    figure, axes = new_figure(1, len(names), width=2.6, squeeze=False, sharey=True)
    edges = np.linspace(0, float(np.quantile(rows[0].rt, 0.98)) * 1.1, 31)
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    for column, name in enumerate(names):
        axis = axes[0, column]
        for k, trials in enumerate(rows):
            condition = trials.of(column)
            for sign, side in ((1, 1), (-1, 0)):
                count = np.histogram(condition.rt[condition.choice == side], edges)[0]
                density = sign * trials.share * count / np.maximum(len(condition.rt), 1) / width
                label = _label(k, trials) if side else None
                if k == 0:
                    axis.stairs(density, edges, fill=True, color=GREY, alpha=0.5, label=label)
                else:
                    axis.plot(middle, density, color=COLOURS[k - 1], linewidth=1.2, label=label)
        axis.axhline(0, color="black", linewidth=0.6)
        axis.set(title=name, xlabel="reaction time (s)")
    axes[0, 0].set(ylabel="defective density (1/s)")
    footnote(figure, [f"upward: {fit.second}; downward: the other choice"])
    _shared_legend(figure, axes)
    return figure


def delta(fit: FitPlotData) -> Figure:
    """Difference of the times between weak and strong evidence, from fast to slow choices."""
    rows, names = timed_choices(fit)
    if len(names) < 2:
        raise FigureUnavailableError("a delta plot compares two strengths of the evidence; the table has one")
    figure, axes = new_figure()
    for k, trials in enumerate(rows):
        weak, strong = trials.of(0), trials.of(len(names) - 1)
        slow, fast = weak.rt, strong.rt[strong.right]
        if min(len(slow), len(fast)) < FEWEST * BINS:
            continue
        (a, low_a, high_a), (b, low_b, high_b) = _quantiles(slow), _quantiles(fast)
        half = np.sqrt((high_a - low_a) ** 2 + (high_b - low_b) ** 2) / 2
        _points(axes, k, (a + b) / 2, a - b, half, _label(k, trials))
    axes.axhline(0, color=GREY, linewidth=1, zorder=0)
    axes.set(xlabel="mean of the quantiles (s)", ylabel="difference (s)", title=f"{names[0]} minus {names[-1]}")
    axes.legend()
    return figure


def trace(fit: FitPlotData) -> Figure:
    """Draws of the posterior of the first subject, chain by chain."""
    label, arrays = fit.first_with("draws", f"no posterior was sampled ({option('--posterior')})")
    draws, names = arrays["draws"], arrays["draws_names"].tolist()
    figure, axes = new_figure(len(names), 1, width=6, height=1.1, squeeze=False, sharex=True)
    for j, name in enumerate(names):
        for chain, values in enumerate(draws[..., j]):
            axes[j, 0].plot(values, color=COLOURS[chain], linewidth=0.7, label=f"chain {chain + 1}")
        axes[j, 0].set_ylabel(name)
    axes[-1, 0].set_xlabel("draw")
    axes[0, 0].set_title(f"{label}, {fit.first}")
    axes[0, 0].legend(ncols=2)
    return figure


def _shared_legend(figure: Figure, axes: np.ndarray) -> None:
    """Draw one legend for all panels of a row."""
    panels: list[Axes] = list(axes[0])
    handles, labels = max((axis.get_legend_handles_labels() for axis in panels), key=lambda pair: len(pair[1]))
    figure.legend(handles, labels, loc="outside upper left", ncols=4)
