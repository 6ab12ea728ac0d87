"""Figures of a fit: likelihoods, weights and states over trials, phase portraits, model next to animal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from neurogym.analysis.regression import fit_weights
from neurogym.analysis.results import Curve
from neurogym.analysis.trial_tables import Table
from neurogym.behaviour.psychometrics import levels_of
from ngym_cli.errors import UserError, check_known, option
from ngym_cli.figures.emptiness import refuse_empty
from ngym_cli.figures.files import FigureFiles, FigureRow, draw_each
from ngym_cli.figures.style import COLOURS, GREY, FigureUnavailableError, footnote, interval_points, new_figure, styled
from ngym_cli.fitting.design import STRONG, hardest
from ngym_cli.fitting.figure_data import FitPlotData, draw_curve
from ngym_cli.fitting.folder import FitFolder, ranked, score_tables
from ngym_cli.fitting.played import bottlenecks, simulated, stimulus_weights
from ngym_cli.fitting.time_figures import accuracy, delta, quantiles, times, trace
from ngym_cli.runs.records import EstimateRecord

#: Trials of the weights and of the states that are drawn, and previous trials of the kernel.
SHOWN, SHOWN_STATES, HISTORY = 3000, 400, 8
CONDITIONS = ("{0}, no reward", "{0}, reward", "{1}, no reward", "{1}, reward")


def likelihood(fit: FitPlotData) -> Figure:
    """Held-out likelihood of each model, chance and the best model as lines."""
    tables = score_tables(fit.record)
    if not tables:
        raise FigureUnavailableError(
            f"nothing was held out ({option('--folds 1')}), and there is no test table ({option('--test')})"
        )
    scores = next(iter(tables.values()))
    names = [name for name in reversed(ranked(scores)) if name != "chance"]
    figure, axes = new_figure(width=5.2, height=0.9 + 0.28 * len(names))
    for k, (title, scores_of_table) in enumerate(tables.items()):
        value, spread = _with_spread([scores_of_table[name]["log_likelihood"] for name in names])
        label = f"{title}, {scores_of_table[names[0]]['trials']:,} trials"
        axes.errorbar(value, np.arange(len(names)) - 0.25 * k, xerr=spread, fmt="o", color=COLOURS[k], label=label)
    axes.axvline(scores["chance"]["log_likelihood"]["value"], color=GREY, linestyle=":", label="chance")
    axes.axvline(scores[names[-1]]["log_likelihood"]["value"], color=GREY, linestyle="--", label="best")
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="log-likelihood per trial (nats), 95 % interval", title=fit.everyone)
    figure.legend(loc="outside lower right", ncols=2)
    return figure


def _with_spread(records: Sequence[EstimateRecord]) -> tuple[np.ndarray, np.ndarray]:
    """Return values, and how far the ends of their intervals are below and above."""
    value, low, high = np.array([[each.get(name) for name in ("value", "low", "high")] for each in records], float).T
    return value, np.nan_to_num([value - low, high - value])


def weights(fit: FitPlotData) -> Figure:
    """Weights of the drifting regression over trials, with 95 % intervals."""
    label, arrays = fit.first_with("weights_sd", "no model with drifting weights was fitted (psytrack)")
    lengths = arrays["lengths"].tolist()
    mean = np.concatenate([arrays["weights"][:n, k] for k, n in enumerate(lengths)])[:SHOWN]
    sd = np.concatenate([arrays["weights_sd"][:n, k] for k, n in enumerate(lengths)])[:SHOWN]
    options = _weights_by_option(fit, arrays)
    figure, panels = new_figure(len(options), 1, width=7, squeeze=False, sharex=True)
    for axes, (option_label, names, columns) in zip(panels[:, 0], options, strict=True):
        for k, (name, column) in enumerate(zip(names[:7], columns, strict=False)):
            value, spread = mean[:, column], 1.96 * sd[:, column]
            axes.plot(value, label=name, color=COLOURS[k])
            axes.fill_between(
                np.arange(len(value)), value - spread, value + spread, color=COLOURS[k], alpha=0.2, linewidth=0
            )
        _session_lines(axes, lengths, len(mean))
        axes.axhline(0, color=GREY, linewidth=1, zorder=0)
        axes.set(ylabel=f"weight (logit{option_label})")
    panels[0, 0].set_title(f"{label}, {fit.first}, given all choices")
    panels[-1, 0].set_xlabel("trial")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower left", ncols=4)
    return figure


def states(fit: FitPlotData) -> Figure:
    """Probability of each hidden state over trials, and the weights of the states."""
    label, arrays = fit.first_with("states", "no model with hidden states was fitted (glm-hmm)")
    lengths = arrays["lengths"].tolist()
    probabilities = np.concatenate([arrays["states"][k, :n] for k, n in enumerate(lengths)])[:SHOWN_STATES]
    options = _weights_by_option(fit, arrays)
    figure, (left, *panels) = new_figure(1, 1 + len(options), width=4.8)
    for k in range(probabilities.shape[1]):
        left.plot(probabilities[:, k], color=COLOURS[k], label=f"state {k + 1}", linewidth=1)
        for axes, (_, _, columns) in zip(panels, options, strict=True):
            stay = f"state {k + 1}, stay {arrays['transitions'][k, k]:.3f}"
            axes.plot(arrays["weights"][k, columns], "o-", color=COLOURS[k], label=stay)
    _session_lines(left, lengths, len(probabilities))
    left.set(xlabel="trial", ylabel="P(state | all choices)", ylim=(-0.02, 1.02), title=f"{label}, {fit.first}")
    for axes, (option_label, names, _) in zip(panels, options, strict=True):
        axes.set_xticks(range(len(names)), names, rotation=35, ha="right")
        axes.axhline(0, color=GREY, linewidth=1, zorder=0)
        axes.set(ylabel=f"weight (logit{option_label})")
    panels[0].legend()
    return figure


def _weights_by_option(fit: FitPlotData, arrays: Mapping[str, np.ndarray]) -> list[tuple[str, list[str], np.ndarray]]:
    """Return a label, names of weights and their columns, for each choice but the first."""
    first, *others = fit.choices
    columns = np.arange(len(arrays["names"])).reshape(len(others), -1)
    names = [
        [name.removesuffix(f" -> {word}") for name in arrays["names"][row]]
        for word, row in zip(others, columns, strict=True)
    ]
    labels = [""] if len(others) == 1 else [f" of {word} against {first}" for word in others]
    return list(zip(labels, names, columns, strict=True))


def phase(fit: FitPlotData) -> Figure:
    """Phase portraits: change of the logit against the logit, by choice and outcome."""
    fit.require_two()
    moving = [label for label in fit.best(len(fit.labels)) if _moves(fit.arrays(label))][:4]
    if not moving:
        raise FigureUnavailableError("no model of the fit has a memory: its logit does not change from trial to trial")
    figure, axes = new_figure(1, len(moving), width=3.4, squeeze=False)
    for axis, label in zip(axes[0], moving, strict=True):
        arrays = fit.arrays(label)
        for k, words in enumerate(CONDITIONS):
            rows = arrays["condition"] == k
            axis.plot(
                arrays["logit"][rows],
                arrays["change"][rows],
                ".",
                markersize=2,
                color=COLOURS[k],
                label=words.format("other choice", fit.second),
            )
        axis.axhline(0, color=GREY, linewidth=1, zorder=0)
        axis.set(xlabel=f"logit of {fit.second}", title=label)
    axes[0, 0].set_ylabel("change of the logit")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=4 if len(moving) > 2 else 2, markerscale=4)
    figure.suptitle(fit.first)
    return figure


def _moves(arrays: Mapping[str, np.ndarray]) -> bool:
    """Return whether the logit of a model changes from trial to trial, in trials of a condition that is drawn."""
    if "logit" not in arrays:
        return False
    drawn = np.isin(arrays["condition"], range(len(CONDITIONS)))
    return bool(np.any(np.abs(np.nan_to_num(arrays["change"][drawn])) > 1e-6))


def psychometric(fit: FitPlotData) -> Figure:
    """Psychometric curve of the subject and of the models' held-out predictions."""
    fit.require_two()
    evidence, words = _evidence(fit)
    valid = fit.trials["choice"] >= 0
    x, index = levels_of(evidence[valid])
    n = np.bincount(index)
    curve = Curve.proportions(x, np.bincount(index, fit.trials["choice"][valid]), n)
    figure, axes = new_figure()
    interval_points(axes, curve, color="black", label=f"{fit.everyone}, {n.sum():,} trials")
    for k, label in enumerate(fit.best(4)):
        axes.plot(x, np.bincount(index, fit.probability(label)[valid]) / n, color=COLOURS[k], label=label)
    axes.set(xlabel=f"evidence: {words}", ylabel=f"P({fit.second})", ylim=(-0.02, 1.02))
    axes.legend()
    return figure


def history(fit: FitPlotData) -> Figure:
    """History kernel of the subject and of the models' held-out predictions."""
    fit.require_two()
    rows, target, keep = _lagged(fit)
    figure, axes = new_figure(1, 2, width=4)
    rng = np.random.default_rng(0)
    curves = [(fit.everyone, target)]
    curves += [(label, (rng.random(len(keep)) < fit.probability(label)[keep]).astype(int)) for label in fit.best(4)]
    for k, (label, choice) in enumerate(curves):
        w, information = fit_weights(rows, choice, 2, np.full(rows.shape[1], 3.0))
        se = 1.96 * np.sqrt(np.diag(np.linalg.inv(information)))
        lag = np.arange(1, HISTORY + 1) + 0.08 * (k - 2)
        for axis, columns in zip(axes, (slice(1, 1 + HISTORY), slice(1 + HISTORY, 1 + 2 * HISTORY)), strict=True):
            draw_curve(axis, k, lag, w[1][columns], se[columns], label)
    for axis, words in zip(axes, ("choice", "choice x outcome"), strict=True):
        axis.axhline(0, color=GREY, linewidth=1, zorder=0)
        axis.set(xlabel="trials back", ylabel=f"weight of {words} (logit)")
    axes[0].legend()
    footnote(figure, ["models: one draw of each held-out prediction, given the subject's past"])
    return figure


def design(fit: FitPlotData) -> Figure:
    """Expected log Bayes factor of new trials against their number, for the pair of models that is hardest to tell."""
    record = fit.record.get("design")
    if not record:
        raise FigureUnavailableError(f"no new trials were simulated ({option('--design TASK')})")
    rows = hardest(record)
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    figure, axes = new_figure(1, len(tasks), width=4.6, squeeze=False, sharey=True)
    for axis, task in zip(axes[0], tasks, strict=True):
        for k, row in enumerate(each for each in rows if each["task"] == task):
            value, spread = _with_spread(row["log_bayes_factor"])
            label = f"{row['condition']}: {row['true']} / {row['rival']}"
            colour = "black" if row["condition"] == "all trials" else COLOURS[k % len(COLOURS)]
            axis.errorbar(record["trials"], value, spread, fmt="o-", markersize=3, color=colour, label=label)
        axis.axhline(STRONG, color=GREY, linestyle="--", label="20 to 1")
        axis.axhline(0, color=GREY, linewidth=1, zorder=0)
        axis.set(xlabel="new trials", title=task)
        axis.legend(fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.22))
    axes[0, 0].set_ylabel("expected log Bayes factor (nats)")
    footnote(figure, [f"{record['scored']}; means of {record['repeats']} simulations with 95 % intervals"])
    return figure


def _session_lines(axes: Axes, lengths: Sequence[int], end: int) -> None:
    for at in np.cumsum(lengths):
        if at < end:
            axes.axvline(at, color=GREY, linewidth=0.4, zorder=0)


def _evidence(fit: FitPlotData) -> tuple[np.ndarray, str]:
    """Return the evidence of each trial: the stimulus, or stimuli weighed by a logistic regression."""
    names, stimuli = fit.stimulus_names(), fit.stimuli()
    if not names:
        raise FigureUnavailableError("the table has no stimuli")
    if len(names) == 1:
        return stimuli[:, 0], names[0]
    w = stimulus_weights(stimuli, fit.trials["choice"].astype(int))
    return stimuli @ w, " ".join(f"{value:+.2f} {name}" for value, name in zip(w, names, strict=True)) + " (logit)"


def _lagged(fit: FitPlotData) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return predictors, choices and indices of the trials that follow enough trials of the same session."""
    choice = np.asarray(fit.trials["choice"]).astype(int)
    side = np.where(choice < 0, 0.0, 2.0 * choice - 1)
    reward = np.nan_to_num(np.asarray(fit.trials["reward"], float))
    middle = 0.5 * (reward.min() + reward.max())
    signed = side * np.sign(reward - middle)
    keep = np.flatnonzero((np.asarray(fit.trials["trial"]) >= HISTORY) & (choice >= 0))
    if len(keep) < 100:
        raise FigureUnavailableError("there are fewer than 100 trials with enough trials before them")
    columns = [np.ones(len(keep)), *(side[keep - k] for k in range(1, HISTORY + 1))]
    columns += [signed[keep - k] for k in range(1, HISTORY + 1)]
    return np.column_stack([*columns, fit.stimuli()[keep]]), choice[keep], keep


OF_CHOICES = (likelihood, weights, states, phase, psychometric, history, simulated, bottlenecks)
OF_TIMES = (quantiles, accuracy, times, delta, trace)
#: All figures by name, which is that of the function.
FIT_FIGURES: dict[str, Callable[[FitPlotData], Figure]] = {
    each.__name__: each for each in (*OF_CHOICES, *OF_TIMES, design)
}


def draw(folder: FitFolder, names: Sequence[str], files: FigureFiles) -> list[FigureRow]:
    """Draw figures of a fit.

    Args:
        folder: of the fit.
        names: of ``FIT_FIGURES``; none for all that can be drawn.
        files: files to write.

    Raises:
        UserError: on an unknown figure or format, or a requested figure that cannot be drawn.
    """
    for name in names:
        check_known("figure of a fit", name, FIT_FIGURES)
    with folder.readable():
        fit = FitPlotData(folder)
    chosen = list(dict.fromkeys(names or FIT_FIGURES))
    drawers = {name: partial(_drawn, FIT_FIGURES[name], fit) for name in chosen}
    return draw_each(drawers, files.places(folder.path, chosen), files, bool(names))


def figure_of(folder: FitFolder, name: str) -> Figure:
    """Return a figure of a fit.

    Args:
        folder: of the fit.
        name: of ``FIT_FIGURES``.

    Raises:
        UserError: if the figure does not exist or cannot be drawn, with the reason.
    """
    check_known("figure of a fit", name, FIT_FIGURES)
    try:
        with styled():
            return _drawn(FIT_FIGURES[name], FitPlotData(folder))[0]
    except FigureUnavailableError as error:
        raise UserError(f"{name}: {error}") from None


def available(folder: FitFolder) -> list[dict[str, object]]:
    """Return every figure of fits with a description, whether it can be drawn for this fit, and why not."""
    fit, rows = FitPlotData(folder), list[dict[str, object]]()
    for name, function in FIT_FIGURES.items():
        reason = None
        try:
            with styled():
                _drawn(function, fit)
        except FigureUnavailableError as error:
            reason = str(error)
        summary = str(function.__doc__).splitlines()[0]
        rows.append({"id": name, "description": summary, "available": reason is None, "reason": reason})
    return rows


def _drawn(draws: Callable[[FitPlotData], Figure], fit: FitPlotData) -> tuple[Figure, Table]:
    """Return a figure of a fit, which has no table.

    Raises:
        FigureUnavailableError: if the figure would show no data.
    """
    figure = draws(fit)
    refuse_empty(figure)
    return figure, {}
