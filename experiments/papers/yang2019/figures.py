"""Task variance of units, their clusters, and what the loss of each cluster costs in each of twenty tasks."""

from dataclasses import replace
from functools import cache

import numpy as np

from neurogym.analysis import Activity, cluster_units, lesion_matrix, silhouette, task_variance
from ngym_cli.agents.perturbation import Perturbation
from ngym_cli.figures.style import COLOURS, GREY, new_figure
from ngym_cli.papers.controls import cut, untrained
from ngym_cli.papers.paper_runs import PaperRun
from ngym_cli.runs import RunFolder

#: The twenty tasks in the paper's order.
TASKS = (
    "go", "rtgo", "dlygo", "anti", "rtanti", "dlyanti", "dm1", "dm2", "ctxdm1", "ctxdm2", "multidm",
    "dlydm1", "dlydm2", "ctxdlydm1", "ctxdlydm2", "multidlydm", "dms", "dnms", "dmc", "dnmc",
)  # fmt: skip
#: Trials of each lesion, a fiftieth of a task each; most groups that are tried.
LESIONED, MOST = 1000, 20
SHUFFLES = 5
#: What a run is marked with whose units are put into random groups.
RANDOM = "random groups"


def _short(task):
    return str(task).removeprefix("yang19.").removesuffix("-v0")


@cache
def _variance(run):
    """Task variance of each unit from the end of the fixation on."""
    recording, table = run.recording("activity"), run.trials("activity")
    activity = Activity(recording["activity"], recording.offsets, recording.dt)
    onset = np.rint(table["period_fixation"] / recording.dt)
    return task_variance(activity, [_short(task) for task in table["task"]], onset)


@cache
def _clusters(run):
    found = cluster_units(_variance(run), MOST)
    if run.kept != RANDOM:
        return found
    active = _variance(run).active
    label = found.label.copy()
    label[active] = np.random.default_rng(run.seed).permutation(label[active])
    points = _variance(run).normalised
    centre = np.stack([points[label == k].mean(axis=0) for k in range(label.max() + 1)])
    return replace(found, label=label, centre=centre)


def n_clusters(run):
    """Number of groups for which the silhouette is highest."""
    return int(_clusters(run).label.max()) + 1


def clearer_than_untrained(run):
    """Silhouette of the groups above chance, less that of the same network before training."""
    return _above_chance(run) - _above_chance(untrained(run))


def _above_chance(run):
    """Silhouette of the groups less that of groups of units whose variances are shuffled over tasks."""
    rng, points = np.random.default_rng(0), _variance(run).normalised[_variance(run).active]
    found = _clusters(run)
    shuffled = []
    for _ in range(SHUFFLES):
        each = type(_variance(run))(
            _variance(run).tasks, points, rng.permuted(points, axis=1), np.ones(len(points), bool)
        )  # fmt: skip
        shuffled.append(max(cluster_units(each, MOST, repeats=2).silhouette.values()))
    return silhouette(points, found.label[_variance(run).active]) - float(np.mean(shuffled))


@cache
def _lesions(run):
    """Change of performance by the loss of each group, shape (groups, tasks), in the order of `_variance`."""
    labels = _clusters(run).label
    groups = [np.flatnonzero(labels == k) for k in range(labels.max() + 1)]

    def performance(units):
        lesions = [Perturbation("lesion", units=tuple(map(int, units)))] if len(units) else []
        rows = run.perturbed(lesions, LESIONED, seed=run.seed).summary["conditions"]
        by_task = {_short(row["value"]): row["performance"] for row in rows if row["condition"] == "task"}
        return {task: by_task[task] for task in _variance(run).tasks}

    return lesion_matrix(groups, performance)


def lesion_correlation(run):
    """Correlation, over groups and tasks, of a group's variance in a task with what its loss costs there."""
    return float(np.corrcoef(_clusters(run).centre.ravel(), -_lesions(run).change.ravel())[0, 1])


def lesion_contrast(run):
    """What the loss of a group costs in the tasks in which it varies most, less what it costs where it varies least.

    The halves of the tasks of each group, and the mean over groups.
    """
    centre, cost = _clusters(run).centre, -_lesions(run).change
    half = centre >= np.median(centre, axis=1, keepdims=True)
    return float(np.mean([row[most].mean() - row[~most].mean() for row, most in zip(cost, half, strict=True)]))


def most_specific_loss(run):
    """Largest cost in a task by the loss of one group that spares another task (cost below .02)."""
    cost = -_lesions(run).change
    return float(max(row.max() for row in cost if row.min() < 0.02))


def _ordered(tasks):
    return [tasks.index(task) for task in TASKS if task in tasks]


def control_no_rule(run):
    """The trained networks without their inputs from the rule: the task is not known."""
    return cut(run, "task")


def control_random_groups(run):
    """The trained networks, their units in random groups as large as those that were found."""
    found = PaperRun(RunFolder(run.path), run.seed, run.requested)
    found.kept = RANDOM
    return found


def figure_1_performance(paper):
    """Performance in each task; a dot for each network. Dashed: the criterion of the paper's training. Dots above the
    line: one network performs all tasks.
    """
    figure, axes = new_figure(1, 1, width=7.0)
    networks = paper.runs("tasks")
    for run in networks:
        rows = {_short(r["value"]): r["performance"] for r in run.summary()["conditions"] if r["condition"] == "task"}
        axes.plot([rows[task] for task in TASKS], "o", color=COLOURS[0], markersize=4, alpha=0.7)
    axes.axhline(0.9, color=GREY, linestyle="--", linewidth=1)
    axes.set_xticks(range(len(TASKS)), TASKS, rotation=60, ha="right")
    axes.set(ylabel="performance", ylim=(0.8, 1.01), title=f"{len(networks)} networks")
    return figure


def figure_2_task_variance_and_lesions(paper):
    """First network. Left: normalised task variance of each unit (columns), sorted by group; colours name the groups.
    Right: change of performance when a group (rows) is silenced. Bright blocks are groups that serve the same tasks;
    red cells are tasks that fail without a group, as a rule those in which it is bright.
    """
    run = paper.runs("tasks")[0]
    found, groups, lesions = _variance(run), _clusters(run), _lesions(run)
    order, place = np.argsort(groups.label[found.active], kind="stable"), _ordered(list(found.tasks))
    labels = groups.label[found.active][order]
    figure, (left, right) = new_figure(1, 2, width=4.6, height=4.2)
    image = left.imshow(found.normalised[found.active][order][:, place].T, aspect="auto", cmap="magma", vmin=0, vmax=1)
    for edge in np.flatnonzero(np.diff(labels)) + 0.5:
        left.axvline(edge, color="white", linewidth=0.6)
    middles = [np.flatnonzero(labels == k).mean() for k in np.unique(labels)]
    left.set_xticks(middles, [str(k + 1) for k in np.unique(labels)])
    left.set_yticks(range(len(TASKS)), TASKS)
    left.set(xlabel=f"{found.active.sum()} units in {len(middles)} groups", title=f"task variance, seed {run.seed}")
    figure.colorbar(image, ax=left, label="normalised variance", fraction=0.046)
    limit = np.abs(lesions.change).max()
    image = right.imshow(lesions.change[:, place], aspect="auto", cmap="RdBu", vmin=-limit, vmax=limit)
    right.set_xticks(range(len(TASKS)), TASKS, rotation=90)
    right.set_yticks(range(len(middles)), [str(k + 1) for k in range(len(middles))])
    right.set(ylabel="silenced group", title="change of performance")
    figure.colorbar(image, ax=right, label="change", fraction=0.046)
    for axes in (left, right):
        axes.spines[:].set_visible(False)
    return figure


def figure_2_silhouette(paper):
    """Left: mean silhouette by number of groups, a line for each network. Right: cost of a lesion in a task against the
    variance of the group in that task, all groups, tasks and networks. The highest place of a line is its number of
    groups; on the right points rise where a loss harms the tasks in which a group is active.
    """
    figure, (left, right) = new_figure(1, 2, width=3.6)
    for run, colour in zip(paper.runs("tasks"), COLOURS, strict=False):
        scores = _clusters(run).silhouette
        left.plot(list(scores), list(scores.values()), "o-", color=colour, markersize=3, label=f"seed {run.seed}")
        cost = -_lesions(run).change
        right.plot(_clusters(run).centre.ravel(), cost.ravel(), ".", color=colour, markersize=4, alpha=0.6)
    left.set(xlabel="number of groups", ylabel="mean silhouette", title="grouping of units")
    left.legend()
    right.axhline(0, color=GREY, linewidth=0.8)
    right.set(xlabel="normalised variance in the task", ylabel="loss of performance", title="lesions of groups")
    return figure
