"""Comparison of populations (networks, layers, periods, animals) by dynamics and by geometry, with noise floors.

Every distance is computed between different halves of the trials, also that of a population to itself, so the diagonal
of a matrix is the noise floor: the same network, other trials.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from neurogym.analysis import similarity as geometry
from neurogym.analysis.results import Result
from neurogym.array_types import FloatArray
from neurogym.dynamics import similarity

Metric = Literal["dsa", "input-dsa", "procrustes", "cka", "rsa", "svcca", "angles", "crossnobis"]

#: Metrics of dynamics (from single trials) and of geometry (from averages of conditions), with a description of each.
DYNAMICS = {"dsa": "DSA angle (rad)", "input-dsa": "InputDSA angle (rad)"}
GEOMETRY = {
    "procrustes": "Procrustes angle (rad)",
    "cka": "1 - linear CKA",
    "rsa": "1 - RSA correlation",
    "svcca": "1 - canonical correlation",
    "angles": "principal angle (rad)",
    "crossnobis": "1 - correlation of crossnobis distances",
}
METRICS = DYNAMICS | GEOMETRY

#: Metrics that are 1 minus a similarity, for which noise limits the similarity that can be reached.
_SIMILARITIES = ("cka", "rsa", "svcca", "crossnobis")


#: Fewest shuffles for a p value, and distances beyond which dynamics have 2 shuffles, a level without p value.
FEWEST_SHUFFLES, MOST_DISTANCES = 19, 400

#: Fewest delays and smallest rank that are taken if trials allow: operators of few coordinates, whose norm does not
#: count, are alike whatever the system.
LEAST = (8, 5)

#: Delays and ranks that are tried, distance from the best score within which these lie on the plateau, and trials of
#: each half that are used.
DELAYS, RANKS, PLATEAU, MOST_TRIALS = (1, 2, 4, 8), (2, 3, 5, 8, 12), 0.05, 100


@dataclass(frozen=True)
class PopulationTrials:
    """Single trials of a population, with the condition of each trial.

    Attributes:
        label: name of the population.
        trials: activity, each of shape (steps, units); lengths may differ.
        condition: name of each trial's condition, shape (trials,).
        inputs: input of each trial, shape (steps, channels), or None where not known.
        rows: position of each trial in the source, shape (trials,), or None where not known.
    """

    label: str
    trials: list[FloatArray]
    condition: np.ndarray
    inputs: list[FloatArray] | None = None
    rows: np.ndarray | None = None

    @property
    def averaged(self) -> bool:
        """Whether there is one row for each condition, as in a table of averages."""
        return len(set(np.asarray(self.condition, str).tolist())) == len(self.trials) > 1

    def halves(self, rng: np.random.Generator) -> tuple[PopulationTrials, PopulationTrials]:
        """Return two populations, each with half of the trials of every condition, drawn at random.

        Args:
            rng: draws the halves.

        A population with one row for each condition is taken as averages without noise: both halves are the whole.
        """
        if self.averaged:
            return self, self
        order = rng.permutation(len(self.trials))
        order = order[np.argsort(np.asarray(self.condition, str)[order], kind="stable")]
        return self.take(order[::2]), self.take(order[1::2])

    def take(self, rows: np.ndarray) -> PopulationTrials:
        """Return some of the trials.

        Args:
            rows: indices.
        """
        inputs = None if self.inputs is None else [self.inputs[int(k)] for k in rows]
        return PopulationTrials(
            self.label, [self.trials[int(k)] for k in rows], np.asarray(self.condition)[rows], inputs
        )

    def averages(self, conditions: Sequence[str], bins: int) -> FloatArray:
        """Return the mean activity of conditions, shape (conditions, bins, units).

        Args:
            conditions: names.
            bins: equal parts of the trial, whatever the duration.
        """
        names = np.asarray(self.condition, str)
        return np.stack(
            [np.mean([_binned(self.trials[k], bins) for k in np.flatnonzero(names == c)], axis=0) for c in conditions]
        )


def _binned(trial: FloatArray, bins: int) -> FloatArray:
    """Return the activity at equally spaced phases of a trial, interpolated, shape (bins, units)."""
    position = np.linspace(0, len(trial) - 1, bins)
    low = np.floor(position).astype(int)
    high = np.minimum(low + 1, len(trial) - 1)
    fraction = (position - low)[:, None]
    return np.asarray((1 - fraction) * trial[low] + fraction * trial[high], float)


@dataclass(frozen=True)
class ComparisonSettings:
    """Settings of comparisons.

    Attributes:
        splits: random divisions of the trials into halves.
        shuffles: shuffled comparisons of each pair; of dynamics 2 where more take long, see `MOST_DISTANCES`.
        bins: phases of a trial for metrics of geometry.
        explained: share of the variance of each population that the principal components must explain to which
            dynamics are fitted; all populations get as many components as the one that needs most. Components that are
            mostly noise make operators of the same kind of system differ.
        components: most of these components, and dimensions of the subspaces whose angles are compared.
        n_delays: delays of the embedding, fewer for short trials; None to choose by the data, see `choose_embedding`.
        rank: rank of the fitted operators; None to choose by the data.
        seed: seed of halves and shuffles.
    """

    splits: int = 2
    shuffles: int = 20
    bins: int = 10
    explained: float = 0.9
    components: int = 8
    n_delays: int | None = None
    rank: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class Embedding(Result):
    """Delays and rank of the operators of a comparison, with the sweep by which they were chosen.

    Attributes:
        delays: numbers of delays that were tried.
        ranks: ranks that were tried.
        score: share of the change in a step that operators predict in other trials, shape (delays, ranks).
        n_delays: delays that were taken.
        rank: rank that was taken.
    """

    delays: tuple[int, ...]
    ranks: tuple[int, ...]
    score: FloatArray
    n_delays: int
    rank: int


@dataclass(frozen=True)
class PopulationComparison(Result):
    """Distances of all pairs of populations.

    Attributes:
        metric: name in `METRICS`.
        labels: names of the populations.
        distance: mean over the splits, shape (populations, populations); the diagonal is the noise floor.
        spread: standard deviation over the splits, same shape.
        shuffled: mean distance after shuffling, same shape: conditions for geometry, time steps for dynamics.
        p: share of shuffles, with the unshuffled value counted as one, that are at most as far apart, each the mean
            over the splits like ``distance``; nan for fewer than `FEWEST_SHUFFLES` shuffles. Same shape.
        reachable: distance that noise leaves to equal populations, ``1 - sqrt(s_ii s_jj)`` of the similarities
            between halves; nan for metrics that are not 1 minus a similarity. Same shape.
        conditions: conditions that all populations share.
        embedding: delays and rank of dynamics; None for metrics of geometry.
    """

    metric: str
    labels: tuple[str, ...]
    distance: FloatArray
    spread: FloatArray
    shuffled: FloatArray
    p: FloatArray
    reachable: FloatArray
    conditions: tuple[str, ...]
    embedding: Embedding | None = None

    @property
    def floor(self) -> FloatArray:
        """Noise floor of each population: the distance between halves of its trials, shape (populations,)."""
        return np.diagonal(self.distance)

    def positions(self, dimensions: int = 2) -> FloatArray:
        """Return a map of the populations by classical multidimensional scaling, shape (populations, dimensions).

        Args:
            dimensions: number of coordinates.
        """
        square = np.where(np.eye(len(self.labels), dtype=bool), 0.0, self.distance) ** 2
        middle = np.eye(len(square)) - 1 / len(square)
        values, vectors = np.linalg.eigh(-0.5 * middle @ square @ middle)
        result = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0))
        missing = max(0, dimensions - result.shape[1])
        return np.pad(result, ((0, 0), (0, missing)))[:, :dimensions]

    def linkage(self) -> FloatArray:
        """Return the average-linkage tree, as in ``scipy.cluster.hierarchy``, shape (populations - 1, 4)."""
        from scipy.cluster.hierarchy import linkage
        from scipy.spatial.distance import squareform

        plain = np.where(np.eye(len(self.labels), dtype=bool), 0.0, self.distance)
        return np.asarray(linkage(squareform(plain, checks=False), "average"))

    def to_table(self) -> dict[str, np.ndarray]:
        """Return columns with a row for each pair, a population with itself included."""
        i, j = np.triu_indices(len(self.labels))
        names = np.array(self.labels, object)
        columns = {"metric": np.full(len(i), self.metric, object), "first": names[i], "second": names[j]}
        values = {name: getattr(self, name)[i, j] for name in ("distance", "spread", "shuffled", "p", "reachable")}
        floor = (self.floor[i] + self.floor[j]) / 2
        return columns | values | {"floor": floor, "conditions": np.full(len(i), len(self.conditions))}


@dataclass(frozen=True)
class _Features:
    """Function that prepares a population for a metric, the distance of two, and a shuffled copy."""

    prepare: Callable[[PopulationTrials], object]
    distance: Callable[..., float]
    shuffle: Callable[[PopulationTrials, np.random.Generator], object]
    shuffles: int
    embedding: Embedding | None = None


def compare_populations(
    populations: Sequence[PopulationTrials], metric: Metric = "dsa", settings: ComparisonSettings | None = None
) -> PopulationComparison:
    """Compare all pairs of populations by one metric.

    Args:
        populations: two or more.
        metric: name in `METRICS`. ``dsa`` and ``input-dsa`` compare dynamics in single trials (Ostrow et al. 2023,
            arXiv 2306.10168; Huang et al. 2025, arXiv 2510.25943), the other metrics averages of the conditions that
            all populations share.
        settings: see `ComparisonSettings`.

    Raises:
        ValueError: if there are fewer than two populations, the metric is unknown, or trials or shared conditions do
            not suffice.
    """
    settings = settings or ComparisonSettings()
    if metric not in METRICS:
        raise ValueError(f"unknown metric {metric!r}; expected one of {', '.join(METRICS)}")
    if len(populations) < 2:
        raise ValueError("a comparison needs two populations or more")
    shared = shared_conditions(populations)
    use = _of_dynamics(populations, metric, settings) if metric in DYNAMICS else _of_geometry(metric, shared, settings)
    rng, n = np.random.default_rng(settings.seed), len(populations)
    shuffling = np.random.default_rng(settings.seed + 1)  # halves do not depend on the number of shuffles
    result, shuffled = [], []
    for _ in range(settings.splits):
        halves = [each.halves(rng) for each in populations]
        first, second = ([use.prepare(each) for each in side] for side in zip(*halves, strict=True))
        result.append(_matrix(first, second, use.distance))
        drawn = ([use.shuffle(each, shuffling) for _, each in halves] for _ in range(use.shuffles))
        shuffled.append([_matrix(first, each, use.distance) for each in drawn])
    distance, null = np.array(result), np.mean(shuffled, axis=0)
    mean = distance.mean(axis=0)
    p = (1 + (null <= mean).sum(axis=0)) / (1 + len(null))
    s = np.sqrt(np.maximum(1 - np.diagonal(mean), 0))
    reachable = 1 - np.outer(s, s) if metric in _SIMILARITIES else np.full((n, n), np.nan)
    return PopulationComparison(
        metric,
        tuple(each.label for each in populations),
        mean,
        distance.std(axis=0),
        null.mean(axis=0),
        p if len(null) >= FEWEST_SHUFFLES else np.full((n, n), np.nan),
        reachable,
        tuple(shared),
        use.embedding,
    )


def _matrix(first: Sequence[object], second: Sequence[object], distance: Callable[..., float]) -> FloatArray:
    """Return the distances between first and second halves, of both orders averaged."""
    result = np.diag([distance(a, b) for a, b in zip(first, second, strict=True)])
    for i, j in combinations(range(len(first)), 2):
        result[i, j] = result[j, i] = (distance(first[i], second[j]) + distance(first[j], second[i])) / 2
    return result


def shared_conditions(populations: Sequence[PopulationTrials]) -> list[str]:
    """Return the conditions of which every population has two trials or more, or an average.

    Args:
        populations: the populations.
    """
    counts = [dict(zip(*np.unique(np.asarray(p.condition, str), return_counts=True), strict=True)) for p in populations]
    least = [1 if each.averaged else 2 for each in populations]
    return [
        name
        for name in counts[0]
        if all(conditions.get(name, 0) >= n for conditions, n in zip(counts, least, strict=True))
    ]


def _of_geometry(metric: str, shared: list[str], settings: ComparisonSettings) -> _Features:
    least = 4 if metric in ("rsa", "crossnobis") else 2
    if len(shared) < least:
        raise ValueError(f"{metric} needs {least} conditions with trials in every population; there are {len(shared)}")

    def prepare(population: PopulationTrials) -> FloatArray:
        if metric == "crossnobis":
            halves = [
                ([t.mean(axis=0) for t in h.trials], h.condition) for h in population.halves(np.random.default_rng(0))
            ]
            return geometry.crossnobis_of_trials(halves, shared)
        return population.averages(shared, settings.bins)

    def shuffle(population: PopulationTrials, rng: np.random.Generator) -> FloatArray:
        order, prepared = rng.permutation(len(shared)), prepare(population)
        return prepared[np.ix_(order, order)] if metric == "crossnobis" else prepared[order]

    def distance(a: FloatArray, b: FloatArray) -> float:
        if metric == "crossnobis":
            pairs = np.triu_indices(len(shared), 1)
            return 1 - float(np.corrcoef(a[pairs], b[pairs])[0, 1])
        if metric == "rsa":
            result = geometry.representational_similarity(a.mean(axis=1), b.mean(axis=1), n_permutations=0, n_boot=1)
            return 1 - result.correlation.value
        x, y = (each.reshape(-1, each.shape[2]) - each.reshape(-1, each.shape[2]).mean(axis=0) for each in (a, b))
        if metric == "cka":
            return 1 - geometry.linear_cka(x, y, debiased=True)
        if metric == "svcca":
            return geometry.svcca_distance(x, y)
        if metric == "procrustes":
            return geometry.procrustes_distance(x, y)
        return float(geometry.sample_angles(x, y, settings.components).mean())

    return _Features(prepare, distance, shuffle, settings.shuffles)


def _covariance(population: PopulationTrials) -> FloatArray:
    return np.atleast_2d(np.cov(np.concatenate(list(population.trials)).T))


def components_needed(populations: Sequence[PopulationTrials], explained: float) -> int:
    """Return the number of principal components that explain a share of the variance of every population."""
    spectra = [np.linalg.eigvalsh(_covariance(each))[::-1] for each in populations]
    return max(int(np.searchsorted(np.cumsum(v) / max(v.sum(), 1e-300), explained)) + 1 for v in spectra)


def _of_dynamics(populations: Sequence[PopulationTrials], metric: str, settings: ComparisonSettings) -> _Features:
    with_inputs = metric == "input-dsa"
    if with_inputs and any(each.inputs is None for each in populations):
        raise ValueError("input-dsa needs the inputs of every population")
    shortest = min(len(trial) for each in populations for trial in each.trials)
    if shortest < 4:
        raise ValueError(f"{metric} needs trials of 4 steps or more; the shortest has {shortest}")
    units = min(each.trials[0].shape[1] for each in populations)
    components = min(components_needed(populations, settings.explained), settings.components, units)
    if with_inputs:  # the sweep predicts without inputs
        n_delays, rank = settings.n_delays or LEAST[0], settings.rank or LEAST[1]
        settings = replace(settings, n_delays=n_delays, rank=rank)
    embedding = choose_embedding(populations, components, settings)
    n_delays, rank = embedding.n_delays, embedding.rank

    def fit(population: PopulationTrials, trials: Sequence[FloatArray]) -> similarity.Operator:
        axes = np.linalg.eigh(_covariance(population))[1][:, ::-1][:, :components]
        inputs = population.inputs if with_inputs else None
        return similarity.fit_operator([trial @ axes for trial in trials], inputs, n_delays=n_delays, rank=rank)

    def prepare(population: PopulationTrials) -> similarity.Operator:
        return fit(population, population.trials)

    def shuffle(population: PopulationTrials, rng: np.random.Generator) -> similarity.Operator:
        return fit(population, [trial[rng.permutation(len(trial))] for trial in population.trials])

    distance = similarity.input_distance if with_inputs else similarity.operator_distance
    n = len(populations)
    many = settings.splits * settings.shuffles * n * n > MOST_DISTANCES
    return _Features(prepare, distance, shuffle, min(settings.shuffles, 2) if many else settings.shuffles, embedding)


def choose_embedding(
    populations: Sequence[PopulationTrials], components: int, settings: ComparisonSettings
) -> Embedding:
    """Return the delays and the rank with which operators predict other trials best, as few as suffice.

    Operators are fitted to half of the trials and predict the next step of the other half (`prediction_scores`), for
    all numbers in `DELAYS` and `RANKS` that the trials allow. The smallest embedding on the plateau is taken: the first
    by rank, then by delays, from `LEAST` on, whose score is at most `PLATEAU` below the best, on average over the
    populations.

    Args:
        populations: the populations.
        components: principal components to which dynamics are fitted.
        settings: ``n_delays`` and ``rank`` are kept where they are given.
    """
    shortest = min(len(trial) for each in populations for trial in each.trials)
    longest = max(1, shortest // 2)
    delays = [n for n in DELAYS if n <= longest] if settings.n_delays is None else [min(settings.n_delays, longest)]
    widest = max(delays) * components
    ranks = [r for r in RANKS if r <= widest] if settings.rank is None else [min(settings.rank, widest)]
    ranks, rng = ranks or [widest], np.random.default_rng(settings.seed)
    scores = np.zeros((len(populations), len(delays), len(ranks)))
    for k, population in enumerate(populations):
        axes = np.linalg.eigh(_covariance(population))[1][:, ::-1][:, :components]
        halves = population.halves(rng)
        train, test = ([trial @ axes for trial in half.trials[:MOST_TRIALS]] for half in halves)
        for j, n in enumerate(delays):
            scores[k, j] = similarity.prediction_scores(train, test, n, ranks, max(delays) - 1)
    score = scores.mean(axis=0)
    reached = score >= score.max() - PLATEAU
    for axis, values, least in ((0, delays, LEAST[0]), (1, ranks, LEAST[1])):
        enough = np.array(values) >= min(least, max(values))
        reached &= enough[:, None] if axis == 0 else enough
    if not reached.any():
        reached = np.outer(np.array(delays) == max(delays), np.array(ranks) == max(ranks))
    column = int(reached.any(axis=0).argmax())
    row = int(reached[:, column].argmax())
    return Embedding(tuple(delays), tuple(ranks), score, delays[row], min(ranks[column], delays[row] * components))
