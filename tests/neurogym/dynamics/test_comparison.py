"""Comparison of populations: noise floors, shuffles, and systems whose differences are known."""

import numpy as np
import pytest

from neurogym import dynamics
from neurogym.dynamics import known

QUICK = dynamics.ComparisonSettings(shuffles=10)


def population(kind: str, seed: int, noise: float = 0.02) -> dynamics.PopulationTrials:
    """Return trials of a system of one kind in random coordinates; conditions are the six inputs."""
    rng, units = np.random.default_rng(seed), 8
    if kind == "line":
        net: dynamics.System = known.line_attractor(units, [1.0], rng, 0.7)[0]
    else:
        net = known.point_attractor(units, 1, rng, 0.85)
    level = np.repeat(np.linspace(-1, 1, 6), 20)
    x = np.zeros((len(level), 40, 1))
    x[:, :10, 0] = 0.3 * level[:, None] + rng.normal(0, 0.05, (len(level), 10))
    condition = np.array([f"level {value:.1f}" for value in level])
    trials = known.simulate(net, np.zeros((len(level), units)), x, rng, noise)
    return dynamics.PopulationTrials(f"{kind} {seed}", list(trials), condition, list(x))


@pytest.mark.parametrize("metric", ["dsa", "input-dsa"])
def test_dynamics_tell_kinds_apart_and_not_seeds(metric):
    kinds = ["line"] * 3 + ["point"] * 3
    result = dynamics.compare_populations([population(k, s) for s, k in enumerate(kinds)], metric, QUICK)
    table = result.to_table()
    same = np.array([a.split()[0] == b.split()[0] for a, b in zip(table["first"], table["second"], strict=True)])
    second = table["first"] != table["second"]
    assert np.mean(table["distance"][same & second][:, None] < table["distance"][~same][None]) > 0.95
    assert result.floor.max() < table["distance"][~same].min()


@pytest.mark.parametrize("metric", ["procrustes", "cka", "rsa", "svcca", "angles", "crossnobis"])
def test_a_rotated_copy_is_at_the_noise_floor_and_shuffled_conditions_are_far(metric):
    first = population("point", 0)
    turn = known.random_rotation(8, np.random.default_rng(9))
    copy = dynamics.PopulationTrials("copy", [trial @ turn for trial in first.trials], first.condition)
    result = dynamics.compare_populations([first, copy], metric, dynamics.ComparisonSettings(components=1, splits=4))
    assert result.distance[0, 1] == pytest.approx(result.floor.mean(), abs=0.02)
    assert result.shuffled[0, 1] > 2 * result.distance[0, 1] and result.p[0, 1] < 0.2
    if np.isfinite(result.reachable[0, 1]):
        assert result.distance[0, 1] == pytest.approx(result.reachable[0, 1], abs=0.02)


def test_noise_raises_the_floor():
    floors = [
        dynamics.compare_populations([population("point", 0, noise), population("point", 1, noise)], "cka").floor.mean()
        for noise in (0.01, 0.3)
    ]
    assert floors[0] < floors[1]


def test_map_and_tree_keep_the_distances():
    places = np.array([[0.0, 0], [3, 0], [0, 4]])
    distance = np.linalg.norm(places[:, None] - places[None], axis=2)
    nothing = np.zeros((3, 3))
    result = dynamics.PopulationComparison("dsa", ("a", "b", "c"), distance, nothing, nothing, nothing, nothing, ())
    mapped = result.positions()
    np.testing.assert_allclose(np.linalg.norm(mapped[:, None] - mapped[None], axis=2), distance, atol=1e-9)
    assert sorted(result.linkage()[0, :2]) == [0, 1] and result.linkage()[0, 2] == pytest.approx(3)


def test_populations_that_cannot_be_compared_say_why():
    first, second = population("line", 0), population("point", 1)
    unknown = dynamics.PopulationTrials("x", first.trials, np.full(len(first.trials), "elsewhere"))
    with pytest.raises(ValueError, match="two populations"):
        dynamics.compare_populations([first])
    with pytest.raises(ValueError, match="unknown metric 'dsb'"):
        dynamics.compare_populations([first, second], "dsb")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rsa needs 4 conditions"):
        dynamics.compare_populations([first, unknown], "rsa")
    with pytest.raises(ValueError, match="inputs of every population"):
        dynamics.compare_populations([first, unknown], "input-dsa")


def test_delays_and_rank_are_the_smallest_on_the_plateau_of_the_sweep():
    """A rotation of two turns, of which one coordinate is seen, needs two delays."""
    rng, turn = np.random.default_rng(0), 0.4
    trials = []
    for _ in range(60):
        phase, noise = rng.uniform(0, 6.3), 0.01 * rng.standard_normal((40, 1))
        trials.append(np.sin(turn * np.arange(40) + phase)[:, None] * rng.uniform(0.5, 1) + noise)
    one = dynamics.PopulationTrials("a", trials, np.repeat(["x", "y"], 30))
    other = dynamics.PopulationTrials("b", [2 * trial for trial in trials], one.condition)
    embedding = dynamics.compare_populations([one, other], "dsa", QUICK).embedding
    assert (embedding.n_delays, embedding.rank) == (8, 5)  # the smallest that are taken
    assert embedding.score[0].max() < 0.5 < embedding.score.max()
    chosen = embedding.score[embedding.delays.index(embedding.n_delays), embedding.ranks.index(embedding.rank)]
    assert chosen >= embedding.score.max() - 0.05
    fixed = dynamics.ComparisonSettings(shuffles=2, n_delays=3, rank=2)
    result = dynamics.compare_populations([one, other], "dsa", fixed)
    assert (result.embedding.n_delays, result.embedding.rank) == (3, 2)
    assert np.isnan(result.p).all()  # two shuffles have no p value


@pytest.mark.parametrize("metric", [pytest.param("dsa", marks=pytest.mark.long), "cka"])
def test_p_values_of_populations_that_do_not_differ_from_shuffles_are_spread(metric):
    rng = np.random.default_rng(1)
    ps = []
    for _ in range(12):
        noise = [
            dynamics.PopulationTrials(name, list(rng.standard_normal((40, 8, 3))), np.repeat(list("abcd"), 10))
            for name in "xy"
        ]
        ps.append(dynamics.compare_populations(noise, metric, dynamics.ComparisonSettings(shuffles=19, rank=3)).p[0, 1])
    assert min(ps) < 0.5 < max(ps) and len(set(ps)) > 4 and 0.2 < np.mean(ps) < 0.8
