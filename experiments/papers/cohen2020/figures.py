"""How well networks of the task, of a recording, and of both explain neurons that were held out."""

from functools import cache
from pathlib import Path

from neurogym.analysis import UndeterminedError
from neurogym.analysis.results import Estimate
from ngym_cli.config.sections import RecordingConfig
from ngym_cli.figures.recording import judge
from ngym_cli.figures.style import interval_bars, new_figure
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns

FILE, BY = Path(__file__).with_name("area.npz"), "context,ground_truth,other_choice"
#: What held-out neurons are predicted from: units of the network, fitted to all conditions or to the other conditions.
ALL, OTHERS = "network", "network, unseen"


@cache
def _explained(run: PaperRun) -> dict[str, float]:
    """Explained variance of held-out neurons in held-out trials, as a share of the noise ceiling, by model."""
    rows = judge(run, run.recording(), run.trials(), FILE, RecordingConfig(file=str(FILE), by=BY)).rows
    shares = {row["model"]: row["share"] for row in rows if row["neurons"] == "held out"}
    return {name: share for name, share in shares.items() if share is not None}


def _share(run: PaperRun, model: str) -> float:
    found = _explained(run)
    if model not in found:
        raise UndeterminedError("no variance of the neurons repeats between halves of the trials")
    return found[model]


def explained(run: PaperRun):
    """Share of the held-out neurons' repeating variance that the network explains."""
    return _share(run, ALL)


def generalised(run: PaperRun):
    """That share in each condition, predicted by what was fitted to the others."""
    return _share(run, OTHERS)


def difference(one: PaperRun, other: PaperRun):
    """That share of one network less that of another."""
    return generalised(one) - generalised(other)


def figure_explained(paper: PaperRuns):
    """Explained variance of held-out neurons, in each condition by what was fitted to the other conditions, as a share
    of the noise ceiling, by what networks learned from; means and 95 % intervals over networks.
    """
    figure, axes = new_figure(1, 1, width=4)
    parts = [name for name in paper.config.parts if paper.found.get(name)]
    estimates = [Estimate.mean([generalised(run) for run in paper.runs(name)]) for name in parts]
    interval_bars(axes, [paper.config.parts[name].what for name in parts], estimates)
    axes.set(ylabel="explained variance / noise ceiling")
    return figure
