"""Performance of connected and of unconnected units on twenty tasks and on their compositions."""

import numpy as np

from ngym_cli.figures.style import COLOURS, GREY, category_ticks, new_figure
from ngym_cli.papers.controls import cut
from ngym_cli.papers.measures import mean_performance, performance_by_task
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns

#: Networks by their connections.
NETWORKS = ("near", "unconnected", "dense")
#: Kinds of tasks, in the order in which they are drawn.
KINDS = ("base", "seq", "int", "int and seq")


def kind(task):
    """Kind of a task by its name; a name ends with what the task is composed with."""
    integrates, moves = "int" in task, "seq" in task
    return KINDS[2 * integrates + moves]


def by_kind(run: PaperRun):
    """Mean over tasks of the performance in each, for each kind of task."""
    means = performance_by_task(run)
    means_by_kind = {each: [mean for task, mean in means.items() if kind(task) == each] for each in KINDS}
    return {each: float(np.mean(means)) for each, means in means_by_kind.items() if means}


def base_performance(run: PaperRun):
    """Performance on the twenty base tasks."""
    return by_kind(run)["base"]


def lost_without_connections(connected: PaperRun, unconnected: PaperRun):
    """Performance of connected less that of unconnected units, for each kind of composed tasks."""
    first, second = by_kind(connected), by_kind(unconnected)
    return {each: first[each] - second[each] for each in KINDS[1:]}


def composed_performance(run: PaperRun):
    """Performance on each kind of composed tasks."""
    means_by_kind = by_kind(run)
    return {each: means_by_kind[each] for each in KINDS[1:]}


def larger_loss(near_base: PaperRun, unconnected_base: PaperRun, near_all: PaperRun, unconnected_all: PaperRun):
    """Mean loss without connections on composed tasks, less that on the base tasks of networks trained on these."""
    composed = np.mean(list(lost_without_connections(near_all, unconnected_all).values()))
    return float(composed - (base_performance(near_base) - base_performance(unconnected_base)))


def gain_of_sparseness(near: PaperRun, dense: PaperRun):
    """Performance, mean over all tasks, with connections to near units less that with connections to all."""
    return mean_performance(near) - mean_performance(dense)


def control_no_rule(run: PaperRun):
    """The trained networks without their inputs from the rule: the task is not known."""
    return cut(run, "task", name="read.weight")


def figure_2_connections(paper: PaperRuns):
    """Performance by kind of task of networks whose units are connected to near ones, to all or to none, trained on
    the base tasks (left) and on all tasks (right); a dot for each network. Without connections performance falls
    where answers move on or are shifted by the delay; with connections to all units learning takes longer.
    """
    figure, panels = new_figure(1, 2, width=3.6, sharey=True)
    for axes, trained in zip(panels, ("base", "all"), strict=True):
        kinds = KINDS[:1] if trained == "base" else KINDS
        for position, (net, colour) in enumerate(zip(NETWORKS, COLOURS, strict=False)):
            for k, run in enumerate(paper.found.get(f"{net}-{trained}", ())):
                means_by_kind = by_kind(run)
                places = np.arange(len(kinds)) + 0.2 * (position - 1)
                axes.plot(places, [means_by_kind[each] for each in kinds], "o", color=colour, label=None if k else net)
        category_ticks(axes, kinds)
        axes.axhline(1, color=GREY, linestyle=":", linewidth=1)
        axes.set(
            ylim=(0, 1.03),
            xlim=(-0.5, len(kinds) - 0.5),
            title=f"trained on {'the base tasks' if trained == 'base' else 'all tasks'}",
        )
    panels[0].set_ylabel("performance")
    panels[1].legend(loc="upper left", bbox_to_anchor=(0, -0.25), ncols=3)
    return figure
