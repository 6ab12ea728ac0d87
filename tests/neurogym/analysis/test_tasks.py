"""Units that were made to serve certain tasks are found to do so."""

import numpy as np
import pytest

from neurogym.analysis import Activity, cluster_units, lesion_matrix, path_speed, silhouette, task_variance

TASKS = ("anti", "go", "match")
#: Standard deviation over trials of three kinds of units in each task, and how many there are of each.
KINDS = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 2.0], [0.5, 1.0, 0.5]])
UNITS = (12, 8, 10)


@pytest.fixture(scope="module")
def population():
    """Trials of 10 steps; the last two units are silent."""
    rng = np.random.default_rng(0)
    task = np.repeat(TASKS, 300)
    sd = np.repeat(KINDS, UNITS, axis=0)[:, np.repeat(np.arange(3), 300)].T
    values = np.concatenate([sd * rng.normal(size=sd.shape), np.zeros((900, 2))], axis=1)
    activity = Activity(np.repeat(values, 10, axis=0), np.arange(901) * 10)
    return activity, task


def test_the_variances_are_those_of_the_units(population):
    result = task_variance(*population)
    assert result.tasks == TASKS
    assert result.active.tolist() == [True] * 30 + [False] * 2
    truth = np.repeat(KINDS**2, UNITS, axis=0)
    assert np.allclose(result.variance[:30], truth, atol=0.2 * truth.max())
    assert result.normalised[:30].max(axis=1) == pytest.approx(1)
    assert np.isnan(result.normalised[30:]).all()


def test_what_is_the_same_in_all_trials_is_no_variance(population):
    activity, task = population
    ramp = np.tile(np.arange(10.0), 900)[:, None]
    moved = task_variance(Activity(activity.values + ramp, activity.offsets), task)
    assert np.allclose(moved.variance, task_variance(activity, task).variance)


def test_the_kinds_of_units_are_told_apart(population):
    result = cluster_units(task_variance(*population), most=8)
    assert max(result.silhouette, key=result.silhouette.get) == 3
    kinds = np.repeat([0, 1, 2], UNITS)
    pairs = {(kind, label) for kind, label in zip(kinds, result.label[:30], strict=True)}
    assert len(pairs) == 3 and len({label for _, label in pairs}) == 3
    assert result.label[30:].tolist() == [-1, -1]
    assert result.centre.shape == (3, 3)


def test_the_silhouette_is_that_of_its_definition():
    points, label = np.array([[0.0], [1.0], [10.0], [12.0]]), [0, 0, 1, 1]
    near = [(11.0, 1.0), (10.0, 1.0), (9.5, 2.0), (11.5, 2.0)]  # mean distance to the other group, to the own
    assert silhouette(points, label) == pytest.approx(np.mean([(b - a) / max(a, b) for b, a in near]))
    assert silhouette(points, [0, 0, 0, 0]) == -1


def test_each_group_is_missed_where_it_serves():
    served = {"go": {0, 1}, "match": {2}}

    def performance(silenced):
        return {task: 1 - 0.25 * len(units & set(silenced.tolist())) for task, units in served.items()}

    result = lesion_matrix([[0, 1], [2], [3]], performance)
    assert result.tasks == ("go", "match") and result.intact.tolist() == [1, 1]
    assert result.change.tolist() == [[-0.5, 0], [0, -0.25], [0, 0]]


def test_the_speed_is_that_of_the_path():
    steps = np.arange(6) * 0.05  # s
    circle = np.stack([np.cos(2 * steps), np.sin(2 * steps)], axis=1)
    paths = np.stack([np.stack([3 * steps, 4 * steps], axis=1), circle])
    result = path_speed(paths, dt=50)
    assert result.shape == (2, 5)
    assert result[0] == pytest.approx(5) and result[1] == pytest.approx(2, rel=1e-2)
    paths[1, 3:] = np.nan
    assert np.isnan(path_speed(paths, dt=50)[1, 2:]).all()


@pytest.mark.parametrize(("task", "message"), [(["go"] * 3, "has shape"), (["go"] * 899 + ["anti"], "single trial")])
def test_what_does_not_fit_is_refused(population, task, message):
    with pytest.raises(ValueError, match=message):
        task_variance(population[0], task)
