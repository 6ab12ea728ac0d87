"""Task variance of units, groups of units, lesions of groups, and rule inputs composed of those of other tasks."""

import copy
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from neurogym.analysis import Activity, cluster_units, lesion_matrix, silhouette, task_variance
from neurogym.analysis.results import UndeterminedError
from ngym_cli.figures.style import COLOURS, GREY, category_ticks, new_figure
from ngym_cli.papers.controls import UNTRAINED, cut, library
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns

#: The twenty tasks in the paper's order.
TASKS = (
    "go", "rtgo", "dlygo", "anti", "rtanti", "dlyanti", "dm1", "dm2", "ctxdm1", "ctxdm2", "multidm",
    "dlydm1", "dlydm2", "ctxdlydm1", "ctxdlydm2", "multidlydm", "dms", "dnms", "dmc", "dnmc",
)  # fmt: skip
#: Largest error of a right answer (rad); directions of the ring.
NEAR, DIRECTIONS = 0.2 * np.pi, 16
#: Trials of all tasks for variances, lesions and composed rules; most groups that are tried.
TRIALS, MOST = 1500, 20
SHUFFLES, REGROUPED = 5, 2
#: Smallest silhouette above chance of clear groups.
CLEAR = 0.05
#: Pair of tasks that share units or do not, and fractional variance from which a unit serves one of the two alone.
CONTEXTS, ALONE = ("ctxdm1", "ctxdm2"), 0.8
#: Rules composed of others: the rule of each task is a + b - c.
COMPOSED = {
    "ctxdm1": ("ctxdm2", "ctxdlydm1", "ctxdlydm2"),
    "ctxdm2": ("ctxdm1", "ctxdlydm2", "ctxdlydm1"),
    "ctxdlydm1": ("ctxdlydm2", "ctxdm1", "ctxdm2"),
    "ctxdlydm2": ("ctxdlydm1", "ctxdm2", "ctxdm1"),
    "go": ("anti", "dlygo", "dlyanti"),
    "anti": ("go", "dlyanti", "dlygo"),
    "dlygo": ("dlyanti", "go", "anti"),
    "dlyanti": ("dlygo", "anti", "go"),
}
FAMILIES = {"contexts": tuple(COMPOSED)[:4], "responses": tuple(COMPOSED)[4:]}
#: What a run is marked with whose units are put into random groups, or whose variances are shuffled over tasks.
RANDOM, SHUFFLED = "random groups", "shuffled variances"


def _short(task):
    return str(task).removeprefix("yang19.").removesuffix("-v0")


def _by_task(table):
    """Performance in each task; an answer is right within 36 degrees, as in the paper."""
    task = np.array([_short(name) for name in table["task"]])
    truth = np.array([float(each) if str(each).isdigit() else np.nan for each in table["ground_truth"]])
    angle = np.where(np.isfinite(truth), 2 * np.pi * truth / DIRECTIONS, table["test_theta"])
    needed = np.isfinite(truth) | ((table["ground_truth"] == "match") == np.isin(task, ("dms", "dmc")))
    choice = np.nan_to_num(table["choice"])
    error = np.abs((2 * np.pi * (choice - 1) / DIRECTIONS - angle + np.pi) % (2 * np.pi) - np.pi)
    right = np.where(needed, (choice > 0) & (error <= NEAR), choice == 0)
    return {str(name): float(right[task == name].mean()) for name in np.unique(task)}


def lowest_within_36_degrees(run: PaperRun):
    """Performance in the task where it is lowest, answers within 36 degrees being right."""
    return min(_by_task(run.trials()).values())


class _Test:
    """Trials of all tasks side by side, and what a network answers in them, as in an evaluation.

    What is shown does not depend on answers, so that all trials can be stepped through at once; this makes dozens of
    lesions and of other rules cheap.

    Args:
        run: the run.
    """

    def __init__(self, run: PaperRun):
        env: Any = run.env
        env.reset(seed=run.seed)
        trials, channels = env.make_trials(TRIALS), env.observation_space.shape[0]
        self.rules = dict(zip(map(_short, env.names), run.channels("task"), strict=True))
        self.task = np.array([_short(name) for name in trials.info["task"]])
        rows, decision, shape = trials.rows(), trials.rows("decision"), (int(trials.length.max()), TRIALS)
        self.seen, self.right = np.zeros((*shape, channels)), np.zeros(shape, int)
        self.seen[rows.step, rows.trial], self.right[rows.step, rows.trial] = trials.ob, trials.gt
        self.due = np.zeros(shape, bool)
        self.due[decision.step, decision.trial] = True
        self.length, self.onset, self.dt = trials.length, trials.ends["fixation"], run.dt
        self.run, self.read_out = run, run.read_out

    def states(self, units=(), rules=None):
        """Activity, shape (steps, trials, units), with some units silenced and some rules replaced."""
        system: Any = copy.deepcopy(self.run.system)
        for task, rule in (rules or {}).items():
            system.weights[:, self.rules[task]] = rule
        return self.run.states(self.seen, silenced=units, system=system)

    def by_task(self, units=(), rules=None):
        """Performance in each task, with some units silenced and some rules replaced."""
        weights, bias = self.read_out
        choice = (self.states(units, rules) @ weights.T + bias).argmax(axis=2)
        answered = self.due & (choice > 0)
        first, each = answered.argmax(axis=0), np.arange(TRIALS)
        responses = np.where(answered.any(axis=0), choice[first, each], 0)
        wanted = self.right[np.where(answered.any(axis=0), first, self.due.argmax(axis=0)), each]
        distances = np.abs((responses - wanted + DIRECTIONS / 2) % DIRECTIONS - DIRECTIONS / 2) * 2 * np.pi / DIRECTIONS
        right = np.where(wanted > 0, (responses > 0) & (distances <= NEAR), responses == 0)
        return {task: float(right[self.task == task].mean()) for task in np.unique(self.task).tolist()}


@cache
def _tested(run: PaperRun):
    return _Test(run)


@cache
def _variance(run: PaperRun):
    """Task variance of each unit from the end of the fixation on."""
    test = _tested(run)
    inside = np.arange(len(test.seen))[:, None] < test.length
    values = test.states().swapaxes(0, 1)[inside.T]
    activity = Activity(values, np.concatenate([[0], np.cumsum(test.length)]), test.dt)
    variance = task_variance(activity, test.task, test.onset)
    return _shuffled(variance, np.random.default_rng(run.seed)) if run.variant == SHUFFLED else variance


def _shuffled(variance, rng):
    """Task variances of active units, those of each unit shuffled over tasks."""
    active = np.flatnonzero(variance.active)
    order = rng.permuted(np.tile(np.arange(len(variance.tasks)), (len(active), 1)), axis=1)
    rows = active[:, None], order
    return type(variance)(
        variance.tasks, variance.variance[rows], variance.normalised[rows], np.ones(len(active), bool)
    )


@cache
def _clusters(run: PaperRun):
    clusters = cluster_units(_variance(run), MOST)
    if run.variant != RANDOM:
        return clusters
    active = _variance(run).active
    label = clusters.label.copy()
    label[active] = np.random.default_rng(run.seed).permutation(label[active])
    points = _variance(run).normalised
    centre = np.stack([points[label == k].mean(axis=0) for k in range(label.max() + 1)])
    return replace(clusters, label=label, centre=centre)


def n_clusters(run: PaperRun):
    """Number of groups for which the silhouette is highest; 1 if it is hardly above that of shuffled variances."""
    return int(_clusters(run).label.max()) + 1 if _above_chance(run) > CLEAR else 1


def clearer_than_untrained(run: PaperRun):
    """Silhouette of the groups above chance, less that of the same network before training."""
    return _above_chance(run) - _above_chance(library(UNTRAINED, run))


def _above_chance(run: PaperRun):
    """Silhouette of the groups less that of groups of units whose variances are shuffled over tasks."""
    rng, variance = np.random.default_rng(0), _variance(run)
    shuffled = [
        max(cluster_units(_shuffled(variance, rng), MOST, repeats=2).silhouette.values()) for _ in range(SHUFFLES)
    ]
    return silhouette(variance.normalised[variance.active], _clusters(run).label[variance.active]) - float(
        np.mean(shuffled)
    )


@cache
def _lesions(run: PaperRun, mixed=None):
    """Change of performance by the loss of each group, shape (groups, tasks), in the order of `_variance`.

    Args:
        run: the run.
        mixed: seed with which units are put into random groups of the same sizes; None: groups as they are.
    """
    label = _clusters(run).label.copy()
    if mixed is not None:
        active = label >= 0
        label[active] = np.random.default_rng(mixed).permutation(label[active])
    groups = [np.flatnonzero(label == k) for k in range(label.max() + 1)]
    return lesion_matrix(groups, _tested(run).by_task)


def lesion_correlation(run: PaperRun):
    """Correlation, over groups and tasks, of a group's variance in a task with what its loss costs there."""
    variance, cost = _clusters(run).centre.ravel(), -_lesions(run).change.ravel()
    if not np.ptp(variance) or not np.ptp(cost):
        raise UndeterminedError("groups do not differ in their variance, or their loss costs the same everywhere")
    return float(np.corrcoef(variance, cost)[0, 1])


def _halves(cost, centre):
    """Cost in the half of the tasks in which a group varies most less that in the other half, mean over groups."""
    half = centre >= np.median(centre, axis=1, keepdims=True)
    return float(np.mean([row[most].mean() - row[~most].mean() for row, most in zip(cost, half, strict=True)]))


def _largest(cost, _):
    """Largest cost in a task by the loss of one group that spares another task (cost below .02)."""
    return float(max((row.max() for row in cost if row.min() < 0.02), default=0.0))


def _beyond_random(run: PaperRun, statistic):
    """Statistic of the lesions of groups less that of random groups, units put together anew."""
    points, labels = _variance(run).normalised, _clusters(run).label
    random = []
    for mixed in range(REGROUPED):
        label, active = labels.copy(), labels >= 0
        label[active] = np.random.default_rng(1000 + mixed).permutation(label[active])
        centre = np.stack([points[label == k].mean(axis=0) for k in range(label.max() + 1)])
        random.append(statistic(-_lesions(run, 1000 + mixed).change, centre))
    return statistic(-_lesions(run).change, _clusters(run).centre) - float(np.mean(random))


def lesion_contrast(run: PaperRun):
    """Cost in the tasks in which a lost group varies most less that where it varies least, beyond random groups."""
    return _beyond_random(run, _halves)


def most_specific_loss(run: PaperRun):
    """Largest cost in a task by the loss of one group that spares another task, beyond random groups."""
    return _beyond_random(run, _largest)


def _fractional(run: PaperRun, pair=CONTEXTS):
    """Fractional variance of units in two tasks, from -1 (second alone) to 1 (first alone); nan where in neither."""
    variance, tasks = _variance(run).variance, list(_variance(run).tasks)
    first, second = variance[:, tasks.index(pair[0])], variance[:, tasks.index(pair[1])]
    total = first + second
    return np.where(total > 1e-3, (first - second) / np.maximum(total, 1e-12), np.nan)


def context_units(run: PaperRun):
    """Share of units that serve one of the two contexts alone; 0 unless there are such units for either context."""
    fraction = _fractional(run)
    fraction = fraction[np.isfinite(fraction)]
    if not len(fraction):
        raise UndeterminedError("no unit varies in the two tasks")
    first, second = (fraction > ALONE).mean(), (fraction < -ALONE).mean()
    return float(first + second) if min(first, second) > 0 else 0.0


@cache
def _context_lesions(run: PaperRun):
    """Cost in both contexts of the loss of the units of either, shape (2, 2)."""
    fraction = _fractional(run)
    groups = [np.flatnonzero(fraction > ALONE), np.flatnonzero(fraction < -ALONE)]
    if run.variant == RANDOM:
        mixed = np.random.default_rng(run.seed).permutation(np.flatnonzero(np.isfinite(fraction)))
        groups = [mixed[: len(groups[0])], mixed[len(groups[0]) : len(groups[0]) + len(groups[1])]]
    if not all(map(len, groups)):
        raise UndeterminedError("there are no units that serve one context alone")
    intact = _lesions(run).intact
    lost = [intact - np.array(list(_tested(run).by_task(units).values())) for units in groups]
    places = [_variance(run).tasks.index(task) for task in CONTEXTS]
    return np.array(lost)[:, places]


def context_lesion(run: PaperRun):
    """Cost of the loss of a context's units in this context less that in the other one, mean over contexts."""
    cost = _context_lesions(run)
    return float(np.mean([cost[0, 0] - cost[0, 1], cost[1, 1] - cost[1, 0]]))


@cache
def _composed(run: PaperRun):
    """Performance in each task whose rule can be composed: own, composed, and best of the three parts alone."""
    test: _Test = _tested(run)
    system: Any = run.system
    rules = {task: system.weights[:, column].copy() for task, column in test.rules.items()}
    kinds: dict[Any, dict[str, np.ndarray]] = {
        "composed": {task: rules[a] + rules[b] - rules[c] for task, (a, b, c) in COMPOSED.items()}
    }
    kinds |= {k: {task: rules[summands[k]] for task, summands in COMPOSED.items()} for k in range(3)}
    performances = {kind: test.by_task(rules=replaced) for kind, replaced in kinds.items()}
    rule_itself = test.by_task()
    return {
        task: (rule_itself[task], performances["composed"][task], max(performances[k][task] for k in range(3)))
        for task in COMPOSED
    }


def composed_rules(run: PaperRun):
    """Performance with composed rules in place of the own one, mean over the tasks of each family."""
    return {name: float(np.mean([_composed(run)[task][1] for task in tasks])) for name, tasks in FAMILIES.items()}


def composed_better(run: PaperRun):
    """Performance with a composed rule less that with the best of its parts alone, mean over each family."""
    performances = _composed(run)
    return {
        name: float(np.mean([performances[task][1] - performances[task][2] for task in tasks]))
        for name, tasks in FAMILIES.items()
    }


def _ordered(tasks):
    return [tasks.index(task) for task in TASKS if task in tasks]


def control_no_rule(run: PaperRun):
    """The trained networks without their inputs from the rule: the task is not known."""
    return cut(run, "task")


def control_shuffled_variances(run: PaperRun):
    """The trained networks, the variances of each unit shuffled over tasks."""
    return run.as_variant(SHUFFLED)


def control_random_groups(run: PaperRun):
    """The trained networks, their units in random groups as large as those that were found."""
    return run.as_variant(RANDOM)


def figure_1_performance(paper: PaperRuns):
    """Performance in each task; a dot for each network. Dashed: the criterion of the paper's training. Dots above the
    line: one network performs all tasks.
    """
    figure, axes = new_figure(1, 1, width=7.0)
    networks = paper.runs("tasks")
    for run in networks:
        rows = _by_task(run.trials())
        axes.plot([rows[task] for task in TASKS], "o", color=COLOURS[0], markersize=4, alpha=0.7)
    axes.axhline(0.9, color=GREY, linestyle="--", linewidth=1)
    axes.set_xticks(range(len(TASKS)), TASKS, rotation=60, ha="right")
    axes.set(ylabel="performance", ylim=(0.8, 1.01), title=f"{len(networks)} networks")
    return figure


def figure_2_task_variance_and_lesions(paper: PaperRuns):
    """First network. Left: normalised task variance of each unit (columns), sorted by group; colours name the groups.
    Right: change of performance when a group (rows) is silenced. Bright blocks are groups that serve the same tasks;
    red cells are tasks that fail without a group, as a rule those in which it is bright.
    """
    run = paper.runs("tasks")[0]
    variance, groups, lesions = _variance(run), _clusters(run), _lesions(run)
    order, columns = np.argsort(groups.label[variance.active], kind="stable"), _ordered(list(variance.tasks))
    labels = groups.label[variance.active][order]
    figure, (left, right) = new_figure(1, 2, width=4.6, height=4.2)
    image = left.imshow(
        variance.normalised[variance.active][order][:, columns].T, aspect="auto", cmap="magma", vmin=0, vmax=1
    )
    for edge in np.flatnonzero(np.diff(labels)) + 0.5:
        left.axvline(edge, color="white", linewidth=0.6)
    middles = [np.flatnonzero(labels == k).mean() for k in np.unique(labels)]
    left.set_xticks(middles, [str(k + 1) for k in np.unique(labels)])
    left.set_yticks(range(len(TASKS)), TASKS)
    left.set(xlabel=f"{variance.active.sum()} units in {len(middles)} groups", title=f"task variance, seed {run.seed}")
    figure.colorbar(image, ax=left, label="normalised variance", fraction=0.046)
    limit = np.abs(lesions.change).max()
    image = right.imshow(lesions.change[:, columns], aspect="auto", cmap="RdBu", vmin=-limit, vmax=limit)
    right.set_xticks(range(len(TASKS)), TASKS, rotation=90)
    right.set_yticks(range(len(middles)), [str(k + 1) for k in range(len(middles))])
    right.set(ylabel="silenced group", title="change of performance")
    figure.colorbar(image, ax=right, label="change", fraction=0.046)
    for axes in (left, right):
        axes.spines[:].set_visible(False)
    return figure


def figure_2_silhouette(paper: PaperRuns):
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


def figure_4_context_units(paper: PaperRuns):
    """Left: units of all networks by fractional variance in the two contexts of the decision task: at -1 and 1 units
    that vary in a single context, in the middle those that vary in both. Right: loss of performance in both contexts
    when the units of one of them are silenced; a dot for each network. Units of a context are needed in that context
    alone where dots of the other colour lie near zero.
    """
    figure, (left, right) = new_figure(1, 2, width=3.8)
    networks = paper.runs("tasks")
    fractions = np.concatenate([_fractional(run) for run in networks])
    left.hist(fractions[np.isfinite(fractions)], np.linspace(-1, 1, 21), color=GREY)
    for edge in (-ALONE, ALONE):
        left.axvline(edge, color=COLOURS[1], linestyle="--", linewidth=1)
    left.set(xlabel=f"{CONTEXTS[1]} alone (-1) to {CONTEXTS[0]} alone (1)", ylabel=f"units of {len(networks)} networks")
    for run in networks:
        with suppress(ValueError):
            for column, (colour, task) in enumerate(zip(COLOURS, CONTEXTS, strict=False)):
                places = np.arange(2) + 0.2 * column - 0.1
                label = task if run is networks[0] else None
                right.plot(places, _context_lesions(run)[:, column], "o", color=colour, label=label)
    right.axhline(0, color=GREY, linewidth=0.8)
    category_ticks(right, [f"units of {task}" for task in CONTEXTS])
    right.set(xlim=(-0.5, 1.5), ylabel="loss of performance")
    right.legend(title="performance in")
    return figure


def figure_6_composed_rules(paper: PaperRuns):
    """Performance in eight tasks with the own rule, with a rule composed of those of three other tasks (a + b - c),
    and with the best of these three alone; a dot for each network. Where composed rules lie above single ones, rules
    add up.
    """
    figure, axes = new_figure(1, 1, width=6.0)
    networks = paper.runs("tasks")
    for kind, (name, colour) in enumerate(zip(("own", "composed", "best single rule"), COLOURS, strict=False)):
        for run in networks:
            label = name if run is networks[0] else None
            values = [_composed(run)[task][kind] for task in COMPOSED]
            axes.plot(np.arange(len(COMPOSED)) + 0.2 * kind - 0.2, values, "o", color=colour, label=label)
    axes.set_xticks(range(len(COMPOSED)), COMPOSED, rotation=30, ha="right")
    axes.set(ylabel="performance", ylim=(-0.03, 1.03), title=f"{len(networks)} networks")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure
