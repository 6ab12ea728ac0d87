"""Analyses of a network trained on many tasks: task variance of units, clusters of units, and effects of lesions.

Yang, Joglekar, Song, Newsome & Wang 2019, Task representations in neural networks trained to perform many cognitive
tasks, 10.1038/s41593-018-0310-2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.activity import Activity
from neurogym.analysis.results import Result, UndeterminedError
from neurogym.array_types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class TaskVariance(Result):
    """Variance of the activity of units in each task.

    Attributes:
        tasks: names of the tasks.
        variance: variance over trials, averaged over time, shape (units, tasks).
        normalised: each unit's variances over the largest of them, shape (units, tasks); ``nan`` for silent units.
        active: which units vary in any task, shape (units,).
    """

    tasks: tuple[str, ...]
    variance: FloatArray
    normalised: FloatArray
    active: BoolArray


def task_variance(
    activity: Activity, task: ArrayLike, event: ArrayLike = 0, *, stop: int | None = None, least: float = 1e-3
) -> TaskVariance:
    """Return the task variance of each unit: over trials at each time, then averaged over time.

    Args:
        activity: the population.
        task: name of the task of each trial, shape (trials,).
        event: step of each trial from which time counts, see `Activity.align`; the end of the fixation, say.
        stop: step after the last one, relative to the event.
        least: units whose variances sum to less are silent.

    Raises:
        ValueError: if there is not one task for each trial, or a task has a single trial.
    """
    names = np.asarray(task).astype(str)
    if names.shape != (len(activity),):
        raise ValueError(f"task has shape {names.shape}, the activity has {len(activity)} trials")
    tasks = np.unique(names)
    aligned = activity.align(event, stop=stop)
    columns = []
    for name in tasks:
        values = aligned[names == name]
        if len(values) < 2:
            raise UndeterminedError(f"task {name} has a single trial; a variance needs two")
        finite = np.isfinite(values[..., 0]).sum(axis=0) > 1
        columns.append(np.nanvar(values[:, finite], axis=0).mean(axis=0))
    variance = np.stack(columns, axis=1)
    active = variance.sum(axis=1) > least
    largest = np.where(active, variance.max(axis=1), np.nan)[:, None]
    return TaskVariance(tuple(tasks.tolist()), variance, variance / largest, active)


@dataclass(frozen=True)
class Clusters(Result):
    """Groups of units with similar task variances.

    Attributes:
        label: group of each unit from 0, ordered by the task in which each group varies most; -1 for silent units.
        centre: mean normalised variance of each group, shape (groups, tasks).
        silhouette: mean silhouette for each number of groups that was tried.
    """

    label: IntArray
    centre: FloatArray
    silhouette: dict[int, float]


def cluster_units(found: TaskVariance, most: int = 20, repeats: int = 10, seed: int = 0) -> Clusters:
    """Group units by normalised task variance: k-means, with the number of groups from the silhouette.

    Args:
        found: from `task_variance`.
        most: largest number of groups that is tried.
        repeats: starts of k-means for each number, the best of which is kept.
        seed: of the starts.

    Raises:
        ValueError: if fewer than three units vary.
    """
    from scipy.cluster.vq import kmeans2

    points = found.normalised[found.active]
    if len(points) < 3:
        raise UndeterminedError(f"{len(points)} units vary; groups need three")
    rng = np.random.default_rng(seed)
    best: tuple[float, IntArray] = (-np.inf, np.zeros(len(points), np.int64))
    scores: dict[int, float] = {}
    for k in range(2, min(most, len(points) - 1) + 1):
        runs = [kmeans2(points, k, minit="++", rng=rng, missing="warn")[1] for _ in range(repeats)]
        label = min(runs, key=lambda run: _within(points, run))
        scores[k] = silhouette(points, label)
        if scores[k] > best[0]:
            best = scores[k], label
    label = best[1]
    centres = {int(k): points[label == k].mean(axis=0) for k in np.unique(label)}
    order = sorted(centres, key=lambda k: (int(centres[k].argmax()), -float(centres[k].max())))
    labels = np.full(len(found.active), -1, np.int64)
    labels[found.active] = [order.index(int(k)) for k in label]
    return Clusters(labels, np.stack([centres[k] for k in order]), scores)


def _within(points: FloatArray, label: IntArray) -> float:
    """Return the sum of squared distances to the centre of the group."""
    return sum(float(((points[label == k] - points[label == k].mean(axis=0)) ** 2).sum()) for k in np.unique(label))


def silhouette(points: ArrayLike, label: ArrayLike) -> float:
    """Return the mean silhouette (Rousseeuw 1987, 10.1016/0377-0427(87)90125-7); -1 for a single group.

    Args:
        points: shape (points, dimensions).
        label: group of each, shape (points,); a point alone in its group counts as 0.
    """
    x, groups = np.asarray(points, float), np.asarray(label)
    names = np.unique(groups)
    if len(names) < 2:
        return -1.0
    distance = np.sqrt(((x[:, None] - x[None]) ** 2).sum(axis=2))
    member = groups[:, None] == names
    size = member.sum(axis=0)
    total = distance @ member
    cluster = member.argmax(axis=1)
    rows = np.arange(len(x))
    within = total[rows, cluster] / np.maximum(size[cluster] - 1, 1)
    between = np.where(member, np.inf, total / size).min(axis=1)
    values = np.where(size[cluster] > 1, (between - within) / np.maximum(np.maximum(between, within), 1e-300), 0.0)
    return float(values.mean())


@dataclass(frozen=True)
class LesionMatrix(Result):
    """Effect of lesions of each group of units on each task.

    Attributes:
        tasks: names of the tasks.
        intact: performance of the whole network, shape (tasks,).
        lesioned: performance without each group, shape (groups, tasks).
        change: lesioned minus intact, shape (groups, tasks).
    """

    tasks: tuple[str, ...]
    intact: FloatArray
    lesioned: FloatArray
    change: FloatArray


def lesion_matrix(groups: Sequence[ArrayLike], performance: Callable[[IntArray], Mapping[str, float]]) -> LesionMatrix:
    """Return how performance in each task changes when each group of units is silenced.

    Args:
        groups: units of each group.
        performance: takes the units to silence and returns the performance by task; it is called with none first.
    """
    intact = performance(np.zeros(0, np.int64))
    tasks = tuple(intact)
    rows = [performance(np.asarray(units, np.int64)) for units in groups]
    lesioned = np.array([[row[task] for task in tasks] for row in rows]).reshape(len(rows), len(tasks))
    intact_scores = np.array([intact[task] for task in tasks])
    return LesionMatrix(tasks, intact_scores, lesioned, lesioned - intact_scores)
