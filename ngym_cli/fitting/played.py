"""Figures of fitted models at play: simulated behaviour beside the subject's, and bottlenecks of networks."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from neurogym.analysis.regression import fit_weights
from ngym_cli.figures.style import COLOURS, FigureUnavailableError, new_figure
from ngym_cli.fitting.figure_data import FitPlotData, draw_curve, named

#: Models that are drawn, and bins of the evidence.
MODELS, BINS = 4, 7


def simulated(fit: FitPlotData) -> Figure:
    """Behaviour of models that chose by themselves beside the first subject's: psychometric curve, repeated choices."""
    fit.require_two()
    who = fit.record["table"]["subjects"][0]
    first_subject = fit.trials["subject"] == who
    stimuli = fit.stimuli()[first_subject]
    session = np.unique(fit.trials["session"][first_subject].astype(str), return_inverse=True)[1]
    subject = (
        np.asarray(fit.trials["choice"])[first_subject].astype(int),
        np.asarray(fit.trials["reward"], float)[first_subject],
    )
    curves = [(named(who), *subject, stimuli, session)]
    for label in [each for each in fit.best(len(fit.labels)) if each != "bias"][:MODELS]:
        arrays = fit.arrays(label)
        if "simulated_choice" in arrays:
            choice, model_stimuli = arrays["simulated_choice"], arrays["simulated_stimuli"]
            rows = np.repeat(np.arange(len(choice)), choice.shape[1])
            model_stimuli = model_stimuli.reshape(choice.size, stimuli.shape[1])
            curves.append((label, choice.ravel(), arrays["simulated_reward"].ravel(), model_stimuli, rows))
    if len(curves) == 1:
        raise FigureUnavailableError("no model can choose by itself")
    panels = 1 + (stimuli.shape[1] > 0)
    figure, axes = new_figure(1, panels, width=4, squeeze=False)
    if panels == 2:
        _psychometric(axes[0, 0], curves, fit.second)
    _repeats(axes[0, -1], curves)
    handles = axes[0, -1].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower left", ncols=3 if panels == 2 else 2)
    title = f"{named(who)}: {subject[0].size:,} trials, models {len(curves[1][1]):,} simulated trials"
    figure.suptitle(title, fontsize="medium")
    return figure


def stimulus_weights(stimuli: np.ndarray, choice: np.ndarray) -> np.ndarray:
    """Return the weight of each stimulus in a logistic regression of the second of two choices."""
    x = np.column_stack([np.ones(len(choice)), stimuli])[choice >= 0]
    return np.asarray(fit_weights(x, choice[choice >= 0], 2, np.full(x.shape[1], 10.0))[0][1, 1:])


def _share(chosen: np.ndarray) -> tuple[float, float]:
    """Return the share of trials, and half of its 95 % interval; nan without trials."""
    share = float(chosen.mean()) if len(chosen) else np.nan
    return share, 1.96 * np.sqrt(share * (1 - share) / max(len(chosen), 1))


def _psychometric(
    axes: Axes, curves: list[tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]], word: str
) -> None:
    """Draw the probability of the second choice against the evidence, which is weighed as by the subject."""
    _, choice, _, stimuli, _ = curves[0]
    w = stimulus_weights(stimuli, choice)
    edges = np.unique(np.quantile(stimuli @ w, np.linspace(0, 1, BINS + 1)))[1:-1]
    for k, (label, choice, _, stimuli, _) in enumerate(curves):
        valid = choice >= 0
        at = np.searchsorted(edges, (stimuli @ w)[valid], "right")
        points = []
        for each in np.unique(at):
            inside = at == each
            points.append((*_share(choice[valid][inside] == 1), (stimuli @ w)[valid][inside].mean()))
        value, half, position = zip(*points, strict=True)
        draw_curve(axes, k, position, value, half, label)
    axes.set(xlabel="evidence (logit, weighed as by the subject)", ylabel=f"P({word})", ylim=(-0.02, 1.02))


def _repeats(axes: Axes, curves: list[tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]) -> None:
    """Draw the probability of repeating a choice one to three trials after a reward, and after none."""
    for k, (label, choice, reward, _, session) in enumerate(curves):
        middle = 0.5 * (np.nanmin(reward) + np.nanmax(reward))
        for style, rewarded in (("-", True), ("--", False)):
            points = []
            for lag in (1, 2, 3):
                before, now = slice(None, -lag), slice(lag, None)
                both = (choice[before] >= 0) & (choice[now] >= 0) & (session[before] == session[now])
                selected = both & ((reward[before] > middle) == rewarded)
                points.append(_share((choice[before] == choice[now])[selected]))
            value, half = zip(*points, strict=True)
            shift = 0.06 * (k - len(curves) / 2)
            name = f"{label}{'' if k else ', after reward'}" if rewarded else "after no reward" if k == 0 else None
            draw_curve(axes, k, np.arange(1, 4) + shift, value, half, name, style)
    axes.set(xlabel="trials later", ylabel="P(same choice again)", xticks=[1, 2, 3])


def bottlenecks(fit: FitPlotData) -> Figure:
    """Open and closed bottlenecks of a disentangled network: latents, and what updates each latent."""
    label, arrays = fit.first_with("bottlenecks", "no network with bottlenecks was fitted (disentangled)")
    names, latents = arrays["bottleneck_names"].tolist(), len(arrays["latent_sd"])
    figure, (left, right) = new_figure(1, 2, width=3.6, gridspec_kw={"width_ratios": [1, 2.4]})
    left.barh(np.arange(latents), np.clip(1 - arrays["latent_sd"], 0, 1), color=COLOURS[0])
    left.set_yticks(range(latents), [f"latent {k + 1}" for k in range(latents)])
    left.invert_yaxis()
    left.set(xlim=(0, 1), xlabel="openness (1 - sigma)", title=f"{label}, {fit.first}")
    image = right.imshow(np.clip(1 - arrays["bottlenecks"], 0, 1), cmap="Blues", vmin=0, vmax=1, aspect="auto")
    right.set_yticks(range(latents), [f"update of {k + 1}" for k in range(latents)])
    right.set_xticks(range(len(names)), names, rotation=40, ha="right")
    right.set_title("inputs of the update networks")
    figure.colorbar(image, ax=right, label="openness (1 - sigma)")
    return figure
