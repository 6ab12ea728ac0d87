"""History of choices after correct and after error trials (Molano-Mazon et al. 2023)."""

import numpy as np

from neurogym.analysis import from_trials
from ngym_cli.figures.style import COLOURS, GREY, new_figure
from ngym_cli.papers.controls import FEEDBACK, cut
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns

LAGS = 4
PARTS = ("direct", "pretrained")


def _history(table):
    return from_trials.choice_history(table, n_lags=LAGS)


def weights(run: PaperRun):
    """Summed weight of past transitions on the choice, after correct and after error trials (log odds)."""
    history = _history(run.trials())
    return {"correct": history.transition_after_correct.value, "error": history.transition_after_error.value}


def after_correct(run: PaperRun):
    return weights(run)["correct"]


def more_reset(direct: PaperRun, pretrained: PaperRun):
    """Reset index of the pre-trained network less that of the one trained on two alternatives."""
    return _history(pretrained.trials()).reset_index.value - _history(direct.trials()).reset_index.value


def control_no_feedback(run: PaperRun):
    """The trained networks without their inputs from the last reward and action: no history can be used."""
    return cut(run, FEEDBACK)


def figure_1_transition_weights(paper: PaperRuns):
    """Weight of past transitions between correct choices on the present choice, after correct (filled) and after error
    trials (open), in tests with two alternatives. One line is one network, its intervals are 95 %.
    """
    figure, axes = new_figure(1, 2, sharey=True)
    for axis, name in zip(axes, PARTS, strict=True):
        for run in paper.runs(name) if paper.found.get(name) else ():
            history = _history(run.trials())
            for fit, colour, face, label, shift in (
                (history.after_correct, COLOURS[2], COLOURS[2], "after correct", -0.04),
                (history.after_error, COLOURS[1], "white", "after error", 0.04),
            ):
                lags = [k for k in range(2, LAGS + 1) if f"transition_{k}" in fit.weights]
                rows = [fit.weights[f"transition_{k}"] for k in lags]
                half = [[r.value - r.low for r in rows], [r.high - r.value for r in rows]]
                first = run is paper.runs(name)[0]
                style = {"marker": "o", "markersize": 4, "markerfacecolor": face, "linewidth": 1}
                places = np.array(lags) + shift
                axis.errorbar(
                    places, [r.value for r in rows], half, color=colour, label=label if first else None, **style
                )
        axis.axhline(0, color=GREY, linestyle=":", linewidth=1, zorder=0)
        axis.set(xlabel="trials back", xticks=range(2, LAGS + 1), title=paper.config.parts[name].what)
    axes[0].set_ylabel("weight of a transition (log odds)")
    axes[0].legend()
    return figure


def figure_2_reset_index(paper: PaperRuns):
    """Summed weight of transitions after an error against that after a correct choice; each point is one network with
    95 % intervals. On the dashed lines history is used as much after errors (index 0), on the lower one with the other
    sign, for what was wrong tells what was right; on the dotted line errors reset (index 1).
    """
    figure, axes = new_figure(width=4.2)
    most = 0.5
    for name, colour in zip(PARTS, COLOURS, strict=False):
        for k, run in enumerate(paper.runs(name) if paper.found.get(name) else ()):
            history = _history(run.trials())
            x, y = history.transition_after_correct, history.transition_after_error
            most = max(most, abs(x.value) * 1.2)
            label = paper.config.parts[name].what if k == 0 else None
            spread = {"xerr": 1.96 * x.se, "yerr": 1.96 * y.se}
            axes.errorbar(x.value, y.value, fmt="o", color=colour, label=label, linewidth=1, **spread)
    line = np.array([0, most])
    for sign in (-1, 1):
        axes.plot(line, sign * line, color=GREY, linestyle="--", linewidth=1, zorder=0)
    axes.axhline(0, color=GREY, linestyle=":", linewidth=1, zorder=0)
    axes.set(xlabel="weight after correct (log odds)", ylabel="weight after error (log odds)", title="reset index")
    axes.legend()
    return figure
