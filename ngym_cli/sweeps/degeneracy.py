"""Degeneracy of a sweep: how much solutions differ over seeds in behaviour, dynamics and weights, by parameter.

Huang, Singh, Martinelli & Rajan 2024, arXiv 2410.03972. Behaviour is measured outside of the training distribution,
dynamics by the DSA angle of all pairs of seeds, weights by the distance of recurrent matrices under the best
permutation of units.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from neurogym.analysis.trial_tables import Table
from neurogym.dynamics import (
    ComparisonSettings,
    PopulationTrials,
    compare_populations,
    components_needed,
    weight_distance,
)
from neurogym.sampling.distributions import Distribution
from ngym_cli import runs
from ngym_cli.config.values import Values, nest, parse_assignments, parse_value
from ngym_cli.environments.properties import inner_task
from ngym_cli.errors import option
from ngym_cli.evaluation.request import EvalRequest
from ngym_cli.evaluation.service import evaluate
from ngym_cli.files.reading import read_json
from ngym_cli.runs.recordings import NETWORK_QUANTITIES, RECORDING_NAME, Recording
from ngym_cli.sweeps import plan
from ngym_cli.sweeps.status import RunRow, by_setting
from ngym_cli.sweeps.tables import word

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ngym_cli.figures.source import Source

#: Trials of each run that are evaluated outside of training and recorded, and most runs of a setting that are compared.
TRIALS, MOST_RUNS = 400, 20

#: Delays and rank of the operators, the same for all settings that are compared.
DELAYS, RANK = 8, 5

#: Resamples over seeds behind the intervals, and letters of the title above each column.
RESAMPLES, LETTERS = 1_000, 44

LEVELS = {
    "behaviour": "s.d. of performance\noutside of training",
    "dynamics": "DSA angle (rad)",
    "weights": "distance of weights",
}


class SolutionGroup(NamedTuple):
    """Runs of a setting that differ in the seed only.

    Attributes:
        values: parameters of the setting.
        scores: performance outside of training, shape (seeds,).
        dynamics: DSA angles, shape (seeds, seeds); the diagonal is the noise floor.
        weights: distances of weights, shape (seeds, seeds).
    """

    values: Values
    scores: np.ndarray
    dynamics: np.ndarray
    weights: np.ndarray

    def spread(self, level: str, seeds: np.ndarray) -> float:
        """Return the degeneracy of a level over some of the seeds; pairs of a seed with itself do not count.

        Args:
            level: name in `LEVELS`.
            seeds: indices, with repetitions.
        """
        if level == "behaviour":
            return float(np.std(self.scores[seeds], ddof=1))
        distances = getattr(self, level)[np.ix_(seeds, seeds)]
        different = seeds[:, None] != seeds[None]
        return float(distances[different].mean()) if different.any() else np.nan


@dataclass(frozen=True)
class OutsideTraining:
    """Evaluations of the runs of a sweep outside the conditions of training.

    Attributes:
        conditions: changed conditions, as in ``timing.delay=2000``; none for the longest period twice as long.
        trust: accept user code named in the runs' records.
        tell: receives one line about each evaluation that is made.
    """

    conditions: Sequence[str]
    trust: bool
    tell: Callable[[str], object]

    def changed(self, source: Source) -> dict[str, str]:
        """Return the changed conditions of a run by dotted key."""
        if self.conditions:
            return parse_assignments(self.conditions, option("--outside"), str)
        from ngym_cli.figures.style import FigureUnavailableError

        drawn = {name: Distribution.of(spec) for name, spec in inner_task(source.properties.env).timing.items()}
        rng = np.random.default_rng(0)
        lengths = {name: float(each.sample(rng, 1000).mean()) for name, each in drawn.items() if each.kind != "until"}
        if not lengths:
            raise FigureUnavailableError(
                f"the task has no periods to make longer; {option('--outside')} names changed conditions"
            )
        longest = max(lengths, key=lambda name: lengths[name])
        return {f"timing.{longest}": f"{2 * round(lengths[longest]):g}"}

    def evaluated(self, path: Path, changed: Mapping[str, str], name: str | None = None) -> float:
        """Return the performance under changed conditions, or in a recording; evaluated unless that was done before.

        Args:
            path: folder of the run.
            changed: changed conditions by dotted key.
            name: name of the recording; None for an evaluation.
        """
        parsed = {key: text if key.startswith("timing.") else parse_value(text) for key, text in changed.items()}
        request = EvalRequest(
            trials=TRIALS,
            changes=nest(parsed),
            record=NETWORK_QUANTITIES if name else None,
            name=name,
            overwrite=True,
            trust=self.trust,
            references=not changed,  # the figure shows no scores of reference agents
        )
        folder = path / "eval" / request.label(TRIALS)
        if not (folder / "summary.json").exists():
            for summary, evaluation_folder in evaluate([str(path)], path.parent, request):
                self.tell(f"evaluated {summary['trials']:,} trials: {evaluation_folder}")
        return float(read_json(folder / "summary.json")["performance"])

    def recorded(self, source: Source) -> Path:
        """Return the folder of the latest recording of the intact network, made if there is none."""
        if not any(each.has(NETWORK_QUANTITIES) and each.intact for each in source.evaluations):
            self.evaluated(source.run.path, {}, RECORDING_NAME)
            source.reread()
        return [each for each in source.evaluations if each.has(NETWORK_QUANTITIES) and each.intact][-1].folder


def draw(rows: Sequence[RunRow], keys: Sequence[str], outside: OutsideTraining) -> tuple[Figure, Table]:
    """Draw the degeneracy of behaviour, dynamics and weights (rows) by each parameter (columns).

    Args:
        rows: runs of the sweep.
        keys: parameters.
        outside: evaluations outside of training.

    Returns:
        Figure, and a row for each level, parameter and value.

    Raises:
        FigureUnavailableError: if no setting has two seeds that can be compared.
        UserError: if a condition cannot be changed.
    """
    from ngym_cli.figures.style import COLOURS, GREY, category_ticks, new_figure

    groups, changes = groups_of(rows, outside)
    keys = [key for key in keys if key != "seed"] or [""]
    figure, grid = new_figure(len(LEVELS), len(keys), width=3.2, height=2.2, squeeze=False, sharey="row")
    names, table = plan.short_names([key for key in keys if key]), []
    for column, key in enumerate(keys):
        values = plan.distinct(group.values.get(key) for group in groups)
        for axes, level in zip(grid[:, column], LEVELS, strict=True):
            for position, value in enumerate(values):
                chosen = [group for group in groups if not key or group.values.get(key) == value]
                mean, low, high = _interval(chosen, level)
                each = [group.spread(level, np.arange(len(group.scores))) for group in chosen]
                axes.plot(np.full(len(each), position - 0.15), each, "o", color=COLOURS[0], markersize=3, alpha=0.6)
                axes.errorbar(
                    position + 0.1, mean, [[mean - low], [high - mean]], fmt="s", color=COLOURS[1], markersize=4
                )
                table.append((level, key, word(value) if key else "", mean, low, high, len(chosen)))
            if level == "dynamics":
                floor = np.mean([np.diagonal(group.dynamics).mean() for group in groups])
                axes.axhline(floor, color=GREY, linestyle=":", linewidth=1)
            category_ticks(axes, [word(value) for value in values] if key else ["all runs"])
            axes.set_xlim(-0.5, len(values) - 0.5)
        grid[-1, column].set_xlabel(names.get(key, ""))
    for axes, level in zip(grid[:, 0], LEVELS, strict=True):
        axes.set_ylabel(LEVELS[level])
        axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    n = sum(len(group.scores) for group in groups)
    words = (
        f"{n} runs, {len(groups)} settings (circles); squares: mean, 95 % interval over seeds; dotted: noise floor;"
        f" outside of training: {', '.join(changes)}"
    )
    figure.suptitle(textwrap.fill(words, LETTERS * len(keys)), fontsize="medium")
    columns = ("level", "parameter", "value", "mean", "low", "high", "settings")
    return figure, {
        name: np.array(values, object if k < 3 else float)
        for k, (name, values) in enumerate(zip(columns, zip(*table, strict=True), strict=True))
    }


def groups_of(rows: Sequence[RunRow], outside: OutsideTraining) -> tuple[list[SolutionGroup], list[str]]:
    """Return the settings of a sweep with two seeds or more, and the changed conditions in words.

    Args:
        rows: runs of the sweep.
        outside: evaluations outside of training.

    Raises:
        FigureUnavailableError: if there is none.
    """
    from ngym_cli.figures.style import FigureUnavailableError

    finished = [row for row in rows if row["state"] == "done"]
    several = [
        members_of_setting[:MOST_RUNS] for members_of_setting in by_setting(finished) if len(members_of_setting) > 1
    ]
    if not several:
        raise FigureUnavailableError("needs two finished runs or more that differ in the seed only")
    changes: list[str] = []
    read = [
        [_member(Path(str(row["id"])), outside, changes) for row in members_of_setting]
        for members_of_setting in several
    ]
    components = _components([member.population for members in read for member in members])
    groups = [
        SolutionGroup(
            plan.without_seed(members_of_setting[0]["values"]),
            np.array([member.score for member in members]),
            _dynamics([member.population for member in members], components),
            _weights([member.recurrent for member in members]),
        )
        for members_of_setting, members in zip(several, read, strict=True)
    ]
    return groups, changes


class _Member(NamedTuple):
    """What is compared of a run."""

    score: float
    population: PopulationTrials
    recurrent: np.ndarray


def _member(path: Path, outside: OutsideTraining, changes: list[str]) -> _Member:
    from ngym_cli.figures.source import Source
    from ngym_cli.figures.style import FigureUnavailableError

    source = Source(runs.find(str(path), path.parent), outside.trust)
    changed = outside.changed(source)
    changes[:] = [f"{key}={value}" for key, value in changed.items()]
    score = outside.evaluated(path, changed)
    values, offsets = Recording(outside.recorded(source)).first("activity", TRIALS)
    trials = [values[a:b].astype(float) for a, b in pairwise(offsets) if b - a >= 4]
    if not trials:
        raise FigureUnavailableError(f"the trials of {path.name} are shorter than 4 steps")
    matrix = getattr(source.system, "layers", [source.system])[0]  # the first layer
    recurrent = getattr(matrix, "recurrent", np.zeros((0, 0)))
    units = recurrent.shape[1]
    gate = {3: 2, 4: 2}.get(len(recurrent) // max(units, 1), 0)  # the candidate of gated cells
    population = PopulationTrials(path.name, trials, np.full(len(trials), "all trials"))
    return _Member(score, population, recurrent[gate * units : (gate + 1) * units])


def _components(populations: Sequence[PopulationTrials]) -> int:
    """Return the number of principal components that explain 90 % of the variance of every population, at most 8."""
    usual = ComparisonSettings()
    return min(components_needed(populations, usual.explained), usual.components)


def _dynamics(populations: Sequence[PopulationTrials], components: int) -> np.ndarray:
    """Return DSA angles of all pairs, with the same embedding for every setting; the diagonal is the noise floor."""
    settings = ComparisonSettings(
        splits=1, shuffles=1, explained=1.0, components=components, n_delays=DELAYS, rank=RANK
    )
    return np.asarray(compare_populations(populations, "dsa", settings).distance)


def _weights(matrices: Sequence[np.ndarray]) -> np.ndarray:
    """Return distances of all pairs of recurrent matrices under the best permutations of units."""
    distances = np.zeros((len(matrices),) * 2)
    for i, j in combinations(range(len(matrices)), 2):
        comparable = matrices[i].shape == matrices[j].shape and matrices[i].size
        distances[i, j] = distances[j, i] = (
            weight_distance(matrices[i], matrices[j], restarts=1) if comparable else np.nan
        )
    return distances


def _interval(groups: Sequence[SolutionGroup], level: str) -> tuple[float, float, float]:
    """Return the mean over settings and its bootstrap interval over the seeds within each."""
    rng = np.random.default_rng(0)
    mean = float(np.mean([group.spread(level, np.arange(len(group.scores))) for group in groups]))
    drawn = [
        np.mean([group.spread(level, rng.integers(len(group.scores), size=len(group.scores))) for group in groups])
        for _ in range(RESAMPLES)
    ]
    low, high = np.nanpercentile(drawn, [2.5, 97.5]) if np.isfinite(drawn).any() else (mean, mean)
    return mean, float(min(low, mean)), float(max(high, mean))
