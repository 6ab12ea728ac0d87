"""Figure of the design of experiments: expected Bayes factors of new trials."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ngym_cli.errors import option
from ngym_cli.figures.style import COLOURS, GREY, FigureUnavailableError, footnote, new_figure
from ngym_cli.fitting.design import STRONG, hardest
from ngym_cli.fitting.figure_data import FitPlotData


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
            factors = row["log_bayes_factor"]
            value, low, high = np.array(
                [[each[name] for name in ("value", "low", "high")] for each in factors], float
            ).T
            spread = np.nan_to_num([value - low, high - value])
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
