"""Stable points of one network by task and period, and how they move from the input of one task to that of another."""

from contextlib import suppress
from functools import cache
from itertools import combinations, permutations

import numpy as np

from neurogym.analysis import Activity, pca_trajectories
from ngym_cli.agents.dynamics import SLOW, input_sets, system_of
from ngym_cli.figures.style import COLOURS, GREY, new_figure
from ngym_cli.papers.paper_runs import PaperRun
from ngym_cli.runs import RunFolder

#: What tasks with a delay compute in it.
KINDS = {
    "respond": ("dlygo", "dlyanti"),
    "decide": ("dlydm1", "dlydm2", "ctxdlydm1", "ctxdlydm2", "multidlydm"),
    "match": ("dms", "dnms", "dmc", "dnmc"),
}
KIND = {task: kind for kind, tasks in KINDS.items() for task in tasks}
#: Visited states from which the network settles, in so many steps; points nearer than this share of the spread of all
#: states are the same.
STARTS, SETTLING, NEAR = 16, 500, 0.02
#: Inputs between that of one task and that of another, and steps of the network at each.
BETWEEN, STEPS = 20, 15
#: What a run is marked with whose tasks are sorted into random kinds.
RANDOM = "random kinds"


def _short(task):
    return str(task).removeprefix("yang19.").removesuffix("-v0")


@cache
def _points(run):
    """Mean input and stable points of each task with a delay, in its delay and in its decision period."""
    recording, table = run.recording(), run.trials()
    table = {**table, "task": np.array([_short(task) for task in table["task"]])}
    activity = Activity(recording["activity"], recording.offsets, recording.dt)
    observations = np.asarray(recording["observations"], float)
    sets = [
        each
        for each in input_sets(table, activity, observations, ("task",), ("delay", "decision"))
        if each.values["task"] in KIND
    ]
    step = system_of(run.source.policy.networks[0]).step
    near, found = NEAR * np.sqrt(activity.values.var(axis=0).sum()), {}
    for each in sets:
        visited = np.asarray(activity.values[each.steps], float)
        points = _settled(step, visited[np.random.default_rng(0).permutation(len(visited))[:STARTS]], each.inputs, near)
        if len(points):
            found[each.values["task"], each.period] = each.inputs, points
    return found


def _settled(step, state, inputs, near):
    """Where the network comes to rest under an input: the distinct states that move no more."""
    for _ in range(SETTLING):
        state = step(state, inputs)
    rest = state[((step(state, inputs) - state) ** 2).sum(axis=1) / 2 < SLOW]
    return np.array(_distinct(rest, near)).reshape(-1, state.shape[1])


def _nearest(a, b):
    """Mean distance from each point to the nearest of another set, both ways."""
    apart = np.linalg.norm(a[:, None] - b[None], axis=2)
    return float((apart.min(axis=0).mean() + apart.min(axis=1).mean()) / 2)


def _pairs(run, same):
    found, kinds = _points(run), KIND
    if run.kept == RANDOM:
        order = np.random.default_rng(run.seed).permutation(len(KIND))
        kinds = dict(zip(KIND, np.array(list(KIND.values()))[order], strict=True))
    tasks = [task for task in KIND if (task, "delay") in found]
    pairs = [pair for pair in combinations(tasks, 2) if (kinds[pair[0]] == kinds[pair[1]]) == same]
    if not pairs:
        raise ValueError(f"no two tasks of {'one kind' if same else 'different kinds'} have stable points in the delay")
    return pairs


def _distance(run, same):
    found = _points(run)
    return np.mean([_nearest(found[a, "delay"][1], found[b, "delay"][1]) for a, b in _pairs(run, same)])


def shared_points(run):
    """Distance between the stable points of two tasks in the delay: of one kind over of different kinds."""
    return float(_distance(run, True) / _distance(run, False))


def periods_apart(run):
    """Distance between the points of two tasks of one kind in the delay over that between two periods of one task."""
    found = _points(run)
    periods = [
        _nearest(found[task, "delay"][1], found[task, "decision"][1])
        for task in KIND
        if (task, "delay") in found and (task, "decision") in found
    ]
    if not periods:
        raise ValueError("no task has stable points in both periods")
    return float(_distance(run, True) / np.mean(periods))


def _path(run, first, second):
    """Stable points of a task's delay as the input goes over to that of another, shape (inputs, points, units)."""
    step = system_of(run.source.policy.networks[0]).step
    (begin, state), (end, _) = _points(run)[first, "delay"], _points(run)[second, "delay"]
    path = [state]
    for part in np.linspace(0, 1, BETWEEN + 1)[1:]:
        for _ in range(STEPS):
            state = step(state, (1 - part) * begin + part * end)
        path.append(state)
    return np.stack(path)


@cache
def _followed(run, same):
    """Share of the points of a task that are still apart from each other at the input of another one."""
    kept = []
    for pair in _pairs(run, same):
        for first, second in permutations(pair):
            path = _path(run, first, second)
            if path.shape[1] < 2:
                continue
            near = 0.1 * np.median(_distances(path[0]))
            kept.append(len(_distinct(path[-1], near)) / path.shape[1])
    if not kept:
        raise ValueError("no task has two stable points in its delay")
    return float(np.mean(kept))


def _distances(points):
    return np.linalg.norm(points[:, None] - points[None], axis=2)[np.triu_indices(len(points), 1)]


def _distinct(points, near):
    """Points that are farther than this from all before them."""
    kept = []
    for point in points:
        if all(np.linalg.norm(point - other) > near for other in kept):
            kept.append(point)
    return kept


def followed_within_kinds(run):
    return _followed(run, True)


def followed_difference(run):
    return _followed(run, True) - _followed(run, False)


def _first_with_points(paper):
    """The first network that has stable points in the delay of two tasks of one kind and of two of different kinds."""
    for run in paper.runs("tasks"):
        with suppress(ValueError):
            return run, _pairs(run, True), _pairs(run, False)
    raise ValueError("no network has stable points in the delay of two tasks of one kind")


def control_random_kinds(run):
    """The trained networks, their tasks sorted into random kinds as large as the true ones."""
    found = PaperRun(RunFolder(run.path), run.seed, run.requested)
    found.kept = RANDOM
    return found


def figure_4_points_in_the_delay(paper):
    """First network that has points for two tasks of one kind. Left: stable points of each task in the delay along the
    first two principal components of all of them; a colour for each kind of task, a marker for each task. Right:
    distance between the points of two tasks, sorted by kind. Where tasks of one kind share points, one colour lies
    together and the squares along the diagonal are darker than the rest.
    """
    run, *_ = _first_with_points(paper)
    found = _points(run)
    tasks = [task for task in KIND if (task, "delay") in found]
    space = pca_trajectories(np.concatenate([found[task, "delay"][1] for task in tasks])[None], 2)
    figure, (plane, matrix) = new_figure(1, 2, width=4.4, height=4.0)
    colours = dict(zip(KINDS, COLOURS, strict=False))
    for task in tasks:
        marker = "osD^v"[KINDS[KIND[task]].index(task)]
        places = space.project(found[task, "delay"][1])
        plane.plot(*places.T, marker, color=colours[KIND[task]], markersize=5, alpha=0.8, label=task)
    share = [f"PC{k + 1} ({100 * part:.0f} %)" for k, part in enumerate(space.explained)]
    plane.set(xlabel=share[0], ylabel=share[1], title=f"stable points in the delay, seed {run.seed}")
    plane.legend(loc="upper left", bbox_to_anchor=(0, -0.15), ncols=4)
    apart = [[_nearest(found[a, "delay"][1], found[b, "delay"][1]) for b in tasks] for a in tasks]
    image = matrix.imshow(apart, cmap="cividis")
    edges = np.flatnonzero([KIND[a] != KIND[b] for a, b in zip(tasks, tasks[1:], strict=False)]) + 0.5
    for edge in edges:
        matrix.axvline(edge, color="white", linewidth=1)
        matrix.axhline(edge, color="white", linewidth=1)
    matrix.set_xticks(range(len(tasks)), tasks, rotation=90)
    matrix.set_yticks(range(len(tasks)), tasks)
    matrix.set(title="distance between the points of two tasks")
    matrix.spines[:].set_visible(False)
    figure.colorbar(image, ax=matrix, label="distance", fraction=0.046)
    return figure


def figure_3_from_task_to_task(paper):
    """The same network: stable points in the delay (open: at the input of the first task, full: at that of the second)
    as the input goes over in twenty steps; left between two tasks of one kind, right between two of different kinds.
    Lines that stay apart are points that are followed; lines that meet are points that merge on the way.
    """
    run, *pairs = _first_with_points(paper)
    figure, panels = new_figure(1, 2, width=3.6)
    for axes, found, shown in zip(panels, pairs, (("dlydm1", "ctxdlydm1"), ("dlydm1", "dms")), strict=True):
        first, second = shown if shown in found else found[0]
        path = _path(run, first, second)
        space = pca_trajectories(path.reshape(1, -1, path.shape[2]), 2)
        for k in range(path.shape[1]):
            line = space.project(path[:, k])
            axes.plot(line[:, 0], line[:, 1], ".-", color=GREY, linewidth=0.8, markersize=2)
            label = (first, second) if k == 0 else (None, None)
            axes.plot(*line[0], "o", color=COLOURS[0], markerfacecolor="white", label=label[0])
            axes.plot(*line[-1], "o", color=COLOURS[1], label=label[1])
        share = [f"PC{k + 1} ({100 * part:.0f} %)" for k, part in enumerate(space.explained)]
        axes.set(xlabel=share[0], ylabel=share[1], title=f"{first} to {second}")
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2)
    return figure
