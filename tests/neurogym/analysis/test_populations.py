"""Population analyses on simulated populations whose structure is known."""

import numpy as np
import pandas as pd
import pytest

from neurogym import analysis
from neurogym.analysis.decoding import shrunk_covariance


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def ragged():
    lengths = np.array([5, 3, 6])
    values = np.concatenate([np.stack([np.arange(n), 100 * i + np.arange(n)], axis=1) for i, n in enumerate(lengths)])
    return analysis.Activity(values.astype(float), np.r_[0, np.cumsum(lengths)], dt=20.0)


def test_trials_are_aligned_and_padded(ragged):
    assert len(ragged) == 3 and ragged[-1][0].tolist() == [0, 200]
    aligned = ragged.align([2, 2, np.nan], start=-1, stop=3)
    assert aligned.shape == (3, 4, 2)
    assert aligned[0, :, 0].tolist() == [1, 2, 3, 4] and aligned[1, :2, 1].tolist() == [101, 102]
    assert np.isnan(aligned[1, 2:]).all() and np.isnan(aligned[2]).all()
    assert ragged.align().shape == (3, 6, 2)
    assert ragged.mean_rate(1, stop=2)[:, 0].tolist() == [1.5, 1.5, 1.5]


def test_offsets_must_fit():
    with pytest.raises(ValueError, match="offsets must rise"):
        analysis.Activity(np.zeros((4, 2)), np.array([0, 2, 5]))


def test_histograms_average_the_trials_of_a_condition(ragged):
    estimate = analysis.psth(ragged, {"coh": [1, 2, 1]}, event=1, start=-1, stop=5)
    assert estimate.conditions == ({"coh": 1}, {"coh": 2}) and estimate.time.tolist() == [-20, 0, 20, 40, 60, 80]
    assert estimate.mean[0, :5, 1].tolist() == [100, 101, 102, 103, 104]
    assert estimate.n[0].tolist() == [2, 2, 2, 2, 2, 1]
    assert estimate.sem[0, 0, 1] == pytest.approx(100) and np.isnan(estimate.sem[1]).all()
    assert np.isnan(estimate.mean[1, 3:]).all()
    smooth = analysis.psth(ragged, event=0, smooth=20)
    assert np.isfinite(smooth.mean).all() and smooth.mean[0, 0, 0] > 0


def test_principal_components_span_the_trajectory(rng):
    plane = np.linalg.qr(rng.normal(size=(30, 2)))[0].T
    angle = np.linspace(0, 2 * np.pi, 40)
    circle = np.stack([np.cos(angle), 0.5 * np.sin(angle)], axis=1)
    activity = np.stack([r * circle @ plane for r in (1, 2)]) + 5
    activity[1, -3:] = np.nan
    estimate = analysis.pca_trajectories(activity, 3)
    assert estimate.explained[:2].sum() == pytest.approx(1) and np.isnan(estimate.projection[1, -1]).all()
    assert np.allclose(np.linalg.svd(estimate.components[:2] @ plane.T)[1], 1)
    assert np.allclose(estimate.project(activity[0]), estimate.projection[0])


def test_targeted_axes_find_what_each_variable_drives(rng):
    units, trials, steps = 40, 400, 12
    axes = np.linalg.qr(rng.normal(size=(units, 2)))[0].T
    motion, choice = rng.choice([-1, -0.3, 0.3, 1], trials), rng.choice([-1, 1], trials)
    ramp, transient = np.linspace(0, 1, steps), np.exp(-((np.arange(steps) - 3) ** 2) / 4)
    activity = 3 * np.einsum("n,t,u->ntu", choice, ramp, axes[0]) + 3 * np.einsum(
        "n,t,u->ntu", motion, transient, axes[1]
    )
    activity += rng.normal(0, 0.5, activity.shape)
    estimate = analysis.targeted_axes(activity, {"choice": choice, "motion": motion})
    expected = axes * 1 / estimate.sd
    cosine = np.abs(np.sum(estimate.regression_axes * expected, axis=1) / np.linalg.norm(expected, axis=1))
    assert (cosine > 0.95).all() and np.allclose(estimate.axes @ estimate.axes.T, np.eye(2))
    assert estimate.peak[0] >= 9 and abs(estimate.peak[1] - 3) <= 1
    along = estimate.project(activity)[:, -1, 0]
    assert along[choice > 0].mean() > 1 > -1 > along[choice < 0].mean()


def test_decoding_finds_when_and_whether_the_code_is_stable(rng):
    labels = np.repeat([0, 1], 60)
    activity = rng.normal(size=(120, 6, 10))
    activity[:, 2:4, 0] += 4 * labels[:, None]
    activity[:, 4:, 1] += 4 * labels[:, None]
    activity[:5, 5] = np.nan
    estimate = analysis.decode(activity, labels)
    assert (estimate.low[:2] < 0.5).all() and (estimate.accuracy[2:] > 0.9).all()
    assert estimate.chance == 0.5 and estimate.n.tolist() == [120] * 5 + [115]
    across = analysis.decode(activity, labels, across_time=True)
    assert across.accuracy.shape == (6, 6) and np.allclose(np.diag(across.accuracy), estimate.accuracy)
    assert across.accuracy[2, 3] > 0.9 and across.accuracy[2, 5] < 0.75
    with pytest.raises(ValueError, match="5 trials or more"):
        analysis.decode(activity, np.r_[0, np.ones(119)])


def trivial(activity, labels, folds=5):
    """Accuracy of the nearest class mean on held-out trials, at each step."""
    fold = np.arange(len(labels)) % folds
    classes = np.unique(labels)
    right = np.zeros(activity.shape[:2])
    for k in range(folds):
        train, test = fold != k, fold == k
        means = np.stack([activity[train & (labels == c)].mean(axis=0) for c in classes])
        distance = ((activity[test][:, None] - means) ** 2).sum(axis=-1)
        right[test] = classes[distance.argmin(axis=1)] == labels[test][:, None]
    return right.mean(axis=0)


@pytest.mark.parametrize(("trials", "units"), [(20, 5), (30, 64), (266, 64), (10, 1)])
def test_the_shrunk_covariance_is_that_of_scikit_learn(rng, trials, units):
    from sklearn.covariance import ledoit_wolf

    x = rng.normal(size=(trials, units)) @ rng.normal(size=(units, units))
    x -= x.mean(axis=0)
    np.testing.assert_allclose(shrunk_covariance(x), ledoit_wolf(x, assume_centered=True)[0], atol=1e-10)
    assert not shrunk_covariance(np.zeros((trials, units))).any()


@pytest.mark.parametrize("noise", [0.0, 1e-9, 0.01, 0.3])
@pytest.mark.parametrize("classes", [2, 8])
def test_decoding_is_no_worse_than_the_nearest_mean_with_and_without_noise(rng, noise, classes):
    labels = rng.permutation(np.repeat(np.arange(classes), 25))
    code = rng.normal(size=(classes, 6, 20)) * np.array([0, 0, 0.2, 0.5, 1, 1])[:, None]
    activity = code[labels] + noise * rng.normal(size=(len(labels), 6, 20))
    estimate = analysis.decode(activity, labels).accuracy
    assert (estimate >= trivial(activity, labels) - 0.12).all()
    assert estimate[4:].min() > 0.99
    if noise == 0.0:
        assert (estimate[2:] == 1).all() and np.allclose(estimate[:2], 1 / classes)


def labels_that(kind, n, rng):
    """Labels 0 and 1 in blocks of ``kind`` trials, or repeating with probability ``kind``."""
    if kind >= 1:
        return (np.arange(n) // int(kind) + rng.integers(2)) % 2
    return np.cumsum(rng.random(n) >= kind) % 2


LONG = pytest.mark.long


@pytest.mark.parametrize("kind", [0.6, 30, pytest.param(0.8, marks=LONG), pytest.param(0.3, marks=LONG)])
def test_labels_are_not_decoded_from_drift(rng, kind):
    inside = []
    for _ in range(4):
        labels = labels_that(kind, 300, rng)
        drift = np.cumsum(rng.normal(size=(300, 1, 10)), axis=0)
        estimate = analysis.decode(drift, labels)
        assert estimate.corrected
        inside.append(estimate.low[0] <= 0.5 <= estimate.high[0])
    assert sum(inside) >= 3


def test_labels_in_blocks_are_decoded_from_a_signal_beside_the_drift(rng):
    labels = labels_that(50, 500, rng)
    drift = np.cumsum(rng.normal(size=(500, 1, 20)), axis=0)
    alone = analysis.decode(drift, labels, groups=np.arange(500))
    assert alone.accuracy[0] > 0.7  # what leaving out single trials would claim
    estimate = analysis.decode(drift * 0.01 + labels[:, None, None], labels)
    assert estimate.accuracy[0] > 0.9 and estimate.low[0] > 0.5
    with pytest.raises(ValueError, match="single block"):
        analysis.decode(drift, np.sort(labels))
    with pytest.raises(ValueError, match="single session"):
        analysis.decode(drift, labels, groups=labels)


@pytest.mark.parametrize(("share", "folds", "signal"), [(0.5, 5, 0.0), (0.5, 3, 0.6), (0.75, 3, 0.0)])
def test_intervals_of_decoding_contain_the_expected_accuracy(share, folds, signal):
    """Of 80 trials; folds that share their training trials, and classes that are unequal, are allowed for."""
    rng, inside, accuracies = np.random.default_rng(0), [], []
    estimates = []
    for seed in range(80):
        labels = rng.permutation(np.arange(80) < 80 * share).astype(int)
        activity = rng.standard_normal((80, 1, 20))
        activity[:, 0, 0] += 2 * signal * labels
        estimates.append(analysis.decode(activity, labels, folds=folds, seed=seed))
        accuracies.append(estimates[-1].accuracy[0])
    expected = np.mean(accuracies) if signal else 0.5
    inside = [each.low[0] <= expected <= each.high[0] for each in estimates if not each.corrected]
    assert estimates[0].chance == 0.5 and abs(np.mean(accuracies) - expected) < 0.015
    assert 0.92 <= np.mean(inside) <= 1


def test_decoding_of_nothing_is_at_chance_as_often_as_its_interval_says(rng):
    inside = []
    for _ in range(20):
        estimate = analysis.decode(rng.normal(size=(60, 2, 5)), rng.permutation(np.repeat([0, 1], 30)))
        inside += ((estimate.low <= 0.5) & (estimate.high >= 0.5)).tolist()
    assert np.mean(inside) > 0.75


def test_selectivity_names_the_kind_of_each_unit(rng):
    a, b = rng.integers(0, 2, 400), rng.integers(0, 3, 400)
    noise = rng.normal(size=(400, 4))
    signal = np.stack([0 * a, a, a + b, 1.5 * (a == (b > 1))], axis=1)
    estimate = analysis.selectivity_table(noise + signal, {"a": a, "b": b}, alpha=0.001)
    assert estimate.terms == ("a", "b", "a:b")
    assert estimate.kind.tolist() == ["none", "pure", "linear mixed", "nonlinear mixed"]
    assert estimate.share()["pure"] == 0.25 and estimate.effect[1, 0] == pytest.approx(0.2, abs=0.1)
    with pytest.raises(ValueError, match="single value"):
        analysis.selectivity_table(noise, {"a": np.zeros(400)})


def test_selectivity_is_rarely_found_in_noise_and_agrees_with_statsmodels(rng):
    a, b = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    rates = rng.normal(size=(300, 500))
    estimate = analysis.selectivity_table(rates, {"a": a, "b": b}, correct=False)
    assert np.all(np.abs((estimate.p < 0.05).mean(axis=0) - 0.05) < 0.03)
    pytest.importorskip("statsmodels")
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    fit = ols("y ~ C(a, Sum) * C(b, Sum)", pd.DataFrame({"y": rates[:, 0], "a": a, "b": b})).fit()
    assert np.allclose(anova_lm(fit, typ=2)["F"][:3], estimate.f[0])


def test_similar_geometries_are_recognised(rng):
    latent = rng.normal(size=(12, 4))
    patterns = [latent @ rng.normal(size=(4, 50)) + 0.1 * rng.normal(size=(12, 50)) for _ in range(2)]
    same = analysis.representational_similarity(*patterns, n_boot=100, n_permutations=100)
    assert same.correlation.value > 0.8 and same.p < 0.02 and same.correlation.low > 0.5
    second = analysis.representational_similarity(patterns[0], rng.normal(size=(12, 30)), n_boot=50, n_permutations=100)
    assert second.correlation.value < 0.5 and second.p > 0.02
    matrix = analysis.dissimilarity(patterns[0], "euclidean")
    assert np.allclose(matrix, matrix.T) and np.allclose(np.diag(matrix), 0)


def test_alignment_ignores_rotation_and_scale(rng):
    x = rng.normal(size=(60, 10))
    rotation = np.linalg.qr(rng.normal(size=(10, 10)))[0]
    for debiased in (False, True):
        assert analysis.linear_cka(x, 3 * x @ rotation + 1, debiased=debiased) == pytest.approx(1)
    unrelated = [analysis.linear_cka(x, rng.normal(size=(60, 40)), debiased=True) for _ in range(20)]
    assert abs(np.mean(unrelated)) < 0.03 < analysis.linear_cka(x, rng.normal(size=(60, 40)))


@pytest.mark.parametrize("debiased", [False, True])
def test_alignment_of_a_population_that_does_not_vary_is_refused(rng, debiased):
    with pytest.raises(ValueError, match="vary between samples"):
        analysis.linear_cka(rng.normal(size=(6, 2)), np.full((6, 3), 0.1), debiased=debiased)


@pytest.mark.parametrize("noise", ["none", "one", "runs"])
def test_crossnobis_distances_are_those_of_their_definition(noise):
    """The loops of rsatoolbox: each run against the mean of the others, or all pairs of runs with their mean noise."""
    rng, runs, conditions, units = np.random.default_rng(0), 4, 5, 6
    patterns = rng.normal(size=(runs, conditions, units))
    roots = rng.normal(size=(runs, units, units))
    each = roots @ roots.swapaxes(1, 2) + np.eye(units)
    precision = {"none": None, "one": each[0], "runs": each}[noise]
    expected = np.zeros((conditions, conditions))
    for i in range(conditions):
        for j in range(conditions):
            terms = []
            for a in range(runs):
                difference = patterns[a, i] - patterns[a, j]
                if noise == "runs":
                    for b in range(a):
                        mean = np.linalg.inv((np.linalg.inv(each[a]) + np.linalg.inv(each[b])) / 2)
                        terms.append(difference @ mean @ (patterns[b, i] - patterns[b, j]))
                else:
                    others = np.delete(patterns, a, axis=0).mean(axis=0)
                    terms.append(difference @ (np.eye(units) if noise == "none" else each[0]) @ (others[i] - others[j]))
            expected[i, j] = np.mean(terms) / units
    assert analysis.crossnobis(patterns, precision) == pytest.approx(expected)
    with pytest.raises(ValueError, match="runs >= 2"):
        analysis.crossnobis(patterns[:1])
    with pytest.raises(ValueError, match="does not fit"):
        analysis.crossnobis(patterns, np.eye(2))


def test_crossnobis_is_zero_on_average_without_a_difference_and_noise_is_shrunk():
    rng = np.random.default_rng(1)
    draws = [analysis.crossnobis(rng.normal(size=(2, 2, 10)))[0, 1] for _ in range(400)]
    assert abs(np.mean(draws)) < 4 * np.std(draws) / 20
    mixing = np.linalg.cholesky(0.5 * np.eye(4) + 0.5)
    many = analysis.noise_precision(rng.normal(size=(5000, 4)) @ mixing.T)
    assert many == pytest.approx(np.linalg.inv(mixing @ mixing.T), abs=0.15)
    few = np.linalg.inv(analysis.noise_precision(rng.normal(size=(6, 20))))
    assert np.abs(few[~np.eye(20, dtype=bool)]).mean() < 0.2 * np.diag(few).mean()
