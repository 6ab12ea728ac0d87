"""Catalogues of solutions: geometry that does not depend on units, clusters, and the cluster of another network."""

import numpy as np

from neurogym.dynamics import known
from neurogym.dynamics.catalogue import Solution, clusters, distances, geometry, nearest_cluster


def averages(kind: int, units: int, seed: int) -> np.ndarray:
    """Mean activity (4 conditions, 5 phases, units): positions on a line, or one corner for each condition."""
    rng = np.random.default_rng(seed)
    time = np.linspace(0, 1, 5)
    places = np.eye(4) if kind else np.linspace(-1, 1, 4)[:, None]
    latent = time[None, :, None] * places[:, None, :]
    return latent @ rng.standard_normal((latent.shape[-1], units)) + 0.01 * rng.standard_normal((4, 5, units))


def solution(kind: int, units: int, seed: int) -> Solution:
    return Solution("rnn", seed, 1.0, "line attractor", tuple(geometry(averages(kind, units, seed))))


def test_geometry_does_not_depend_on_the_axes_of_the_units():
    states = averages(1, 30, 0)
    rotation = known.random_rotation(30, np.random.default_rng(1))
    np.testing.assert_allclose(geometry(states), geometry(3.0 * states @ rotation + 2.0), atol=1e-10)
    assert geometry(states).shape == (20 * 19 // 2,)


def test_networks_of_two_kinds_form_two_clusters_whatever_their_size():
    networks = [solution(0, 40, seed) for seed in range(5)] + [solution(1, 90, seed) for seed in range(3)]
    assert clusters(networks).tolist() == [1] * 5 + [2] * 3
    away = distances(networks)
    assert np.allclose(away, away.T) and away[:5, :5].max() < away[:5, 5:].min()
    for kind, label in ((0, 1), (1, 2)):
        nearest, distance = nearest_cluster(solution(kind, 64, 9), networks, clusters(networks))
        assert nearest == label and distance < 0.3
    assert clusters(networks[:1]).tolist() == [1]
