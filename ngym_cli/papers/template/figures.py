"""Measures of a seed's networks, and the figures of the paper."""

from neurogym.analysis import rates
from ngym_cli.figures.style import COLOURS, new_figure
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns


def accuracy(run: PaperRun):
    """Proportion correct at each coherence, by name."""
    return {row.condition["coh"]: row.accuracy.value for row in rates(run.trials(), "coh")}


def accuracy_at_51(run: PaperRun):
    """Proportion correct at 51.2 % coherence."""
    return accuracy(run)[51.2]


def figure_accuracy(paper: PaperRuns):
    """Proportion correct by coherence; a line for each network."""
    figure, axes = new_figure()
    for run in paper.runs("motion"):
        values = accuracy(run)
        axes.plot(list(values), list(values.values()), "o-", color=COLOURS[0])
    axes.set(xlabel="motion coherence (%)", ylabel="proportion correct", ylim=(0.4, 1.02))
    return figure
