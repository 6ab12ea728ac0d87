"""Figures of ``ngym plot`` for a sweep: results, learning and explained neurons by parameter, search, degeneracy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from neurogym.analysis.intervals import spread_interval
from neurogym.analysis.trial_tables import Table
from ngym_cli import runs
from ngym_cli.config.values import split_entries
from ngym_cli.errors import UserError, check_known
from ngym_cli.figures.files import draw_each
from ngym_cli.runs.recordings import Recording
from ngym_cli.runs.records import ExplainedVariance
from ngym_cli.runs.trial_table import read_trials
from ngym_cli.sweeps import degeneracy, plan, space, status, worker
from ngym_cli.sweeps.folder import STUDY, SweepFolder
from ngym_cli.sweeps.results import BOUNDS, METRIC, resamples, statistics
from ngym_cli.sweeps.status import RunRow
from ngym_cli.sweeps.tables import word

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ngym_cli.figures.files import FigureFiles, FigureRow

FIGURE_NAMES = ("performance", "learning", "search")

#: Figures that are drawn only when named, because every run is evaluated and recorded.
DEGENERACY, RECORDING = ON_REQUEST = ("degeneracy", "recording")

#: Points of a learning curve, and most runs that are read for one.
BINS = 40
MOST_CURVES = 500

#: Resamples behind the band around a learning curve.
BAND = 500


def draw(
    sweep: SweepFolder,
    names: Sequence[str],
    by: str | Sequence[str] | None,
    files: FigureFiles,
    outside: degeneracy.OutsideTraining,
) -> list[FigureRow]:
    """Draw figures of a sweep.

    Args:
        sweep: the sweep.
        names: of `FIGURE_NAMES` or `ON_REQUEST`; none for all of `FIGURE_NAMES` that suit it.
        by: parameters to draw by, with commas; default all that differ, the seed aside.
        files: files to write.
        outside: evaluations that figures need.

    Raises:
        UserError: on an unknown figure, format or parameter, or a requested figure that cannot be drawn.
    """
    for name in names:
        check_known("figure of a sweep", name, (*FIGURE_NAMES, *ON_REQUEST))
    functions, keys = drawers(sweep, by, outside), parameters(sweep, by)
    suffix = "-by-" + "-".join(plan.short_names(keys).values()) if by is not None else ""
    chosen = list(dict.fromkeys(names)) or FIGURE_NAMES
    places = files.places(sweep.path, [name if name == "search" else f"{name}{suffix}" for name in chosen])
    return draw_each({name: functions[name] for name in chosen}, places, files, bool(names))


def drawers(
    sweep: SweepFolder, by: str | Sequence[str] | None, outside: degeneracy.OutsideTraining
) -> dict[str, Callable[[], tuple[Figure, Table]]]:
    """Return functions that draw the figures of a sweep, by name."""
    keys = parameters(sweep, by)
    rows = [row for row in status.StatusReader(sweep).rows() if row["state"] in (*status.FINAL, "running")]
    return {
        "performance": lambda: (_performance(sweep, rows, keys), {}),
        "learning": lambda: (_learning(sweep, rows, keys), {}),
        "search": lambda: (_search(sweep, rows, keys), {}),
        DEGENERACY: lambda: degeneracy.draw(rows, keys, outside),
        RECORDING: lambda: _recording(sweep, rows, keys, outside),
    }


def figure_of(
    sweep: SweepFolder, name: str, by: str | Sequence[str] | None, style: str, outside: degeneracy.OutsideTraining
) -> Figure:
    """Return a figure of a sweep.

    Args:
        sweep: the sweep.
        name: a figure of `draw`.
        by: as in `draw`.
        style: ``screen`` or ``paper``.
        outside: evaluations that figures need.

    Raises:
        UserError: if the figure or a parameter does not exist, or the figure cannot be drawn, with the reason.
    """
    from ngym_cli.figures.style import FigureUnavailableError, styled

    check_known("figure of a sweep", name, (*FIGURE_NAMES, *ON_REQUEST))
    try:
        with styled(style):
            return drawers(sweep, by, outside)[name]()[0]
    except FigureUnavailableError as error:
        raise UserError(f"{name}: {error}") from None


def parameters(sweep: SweepFolder, by: str | Sequence[str] | None) -> list[str]:
    """Return the dotted keys of the parameters to draw by.

    Raises:
        UserError: if an axis is not a parameter of the sweep.
    """
    swept = sweep.recipe.swept()
    if by is None:
        return [key for key in swept if key != "seed"] or swept[:1]
    names = {**{key: key for key in swept}, **{short: key for key, short in plan.short_names(swept).items()}}
    chosen = split_entries(by)
    for name in chosen:
        check_known("parameter of the sweep", name, names)
    return [names[name] for name in chosen]


def _performance(sweep: SweepFolder, rows: Sequence[RunRow], keys: Sequence[str]) -> Figure:
    """Draw the performance of every run against each parameter, with mean and interval where values repeat."""
    from ngym_cli.figures.style import FigureUnavailableError, legend_below, new_figure, reference_lines
    from ngym_cli.figures.view import common_references

    finished = [row for row in rows if row["state"] == "done" and row["performance"] is not None]
    if not finished or not keys:
        raise FigureUnavailableError("no run is done yet" if keys else "all runs have the same parameters")
    figure, grid = new_figure(1, len(keys), squeeze=False, sharey=True)
    names = plan.short_names(list(keys))
    levels = common_references(finished)
    for axes, key in zip(grid[0], keys, strict=True):
        _scores(axes, sweep, finished, key, {row["name"]: row["performance"] or 0.0 for row in finished})
        reference_lines(axes, levels)
        axes.set_xlabel(names[key])
    grid[0][0].set(ylabel="performance", title=_number(sweep, finished, keys))
    legend_below(grid[0][0], 3)
    return figure


def _number(sweep: SweepFolder, rows: Sequence[RunRow], keys: Sequence[str]) -> str:
    means = "" if set(keys) <= set(_ranges(sweep)) else "; squares: mean, 95 % interval"
    return f"n = {len(rows):,} runs{means}"


def _recording(
    sweep: SweepFolder, rows: Sequence[RunRow], keys: Sequence[str], outside: degeneracy.OutsideTraining
) -> tuple[Figure, Table]:
    """Draw performance, and explained variance of held-out neurons in held-out trials, against each parameter."""
    from ngym_cli.figures.recording import judge
    from ngym_cli.figures.source import Source
    from ngym_cli.figures.style import FigureUnavailableError, guide, new_figure, unavailable_on

    learned = list[tuple[RunRow, ExplainedVariance]]()
    for row in rows:
        path = Path(str(row["id"]))
        source = Source(runs.find(str(path), path.parent), outside.trust)
        settings = source.config.recording
        if row["state"] != "done" or settings is None:
            continue
        folder = outside.recorded(source)
        with unavailable_on(UserError):
            table = read_trials(folder / "trials.parquet")
            first = judge(source, Recording(folder), table, Path(settings.file), settings).rows[0]
        if row["performance"] is not None and first["value"] is not None:  # what is not known is not drawn as 0
            learned.append((row, first))
    if not learned or not keys:
        raise FigureUnavailableError("no finished run learned from a recording; ngym sweep --recording FILE makes such")
    finished = [row for row, _ in learned]
    scores = {
        "performance": {row["name"]: row["performance"] or 0.0 for row in finished},
        f"explained variance, {learned[0][1]['neurons']}": {row["name"]: each["value"] or 0.0 for row, each in learned},
    }
    figure, grid = new_figure(2, len(keys), squeeze=False, sharex="col", sharey="row")
    for panels, (label, by_name) in zip(grid, scores.items(), strict=True):
        for axes, key in zip(panels, keys, strict=True):
            _scores(axes, sweep, finished, key, by_name)
        panels[0].set_ylabel(label)
    for axes, name in zip(grid[1], plan.short_names(list(keys)).values(), strict=True):
        guide(axes, y=learned[0][1]["ceiling"] or 0.0)
        axes.set_xlabel(name)
    grid[0][0].set_title(f"{_number(sweep, finished, keys)}\nline: noise ceiling")
    columns = {key: np.array([word(row["values"].get(key)) for row in finished], object) for key in keys}
    columns |= {name: np.array([each[name] for _, each in learned]) for name in ("value", "low", "high", "ceiling")}
    return figure, {"performance": np.array([row["performance"] for row in finished], float), **columns}


def _scores(axes: Axes, sweep: SweepFolder, rows: Sequence[RunRow], key: str, score: Mapping[str, float]) -> None:
    """Draw the scores of runs, by name, against a parameter."""
    ranges = _ranges(sweep)
    if key in ranges:
        axes.plot([row["values"][key] for row in rows], [score[row["name"]] for row in rows], "o", markersize=4)
        axes.set_xscale("log" if ranges[key].name in ("log", "logint") else "linear")
    else:
        groups = _groups(rows, key)
        _categories(axes, {value: [score[row["name"]] for row in members] for value, members in groups.items()})


def _ranges(sweep: SweepFolder) -> dict[str, space.SearchParameter]:
    """Return the parameters that a search draws from a range of numbers."""
    kinds = space.kinds(sweep.recipe.search.space) if sweep.recipe.search else {}
    return {key: kind for key, kind in kinds.items() if kind.name != "choice"}


def _categories(axes: Axes, groups: Mapping[str, Sequence[float]]) -> None:
    """Draw points for each value of a parameter next to each other, with mean and bootstrap interval."""
    from ngym_cli.figures.style import COLOURS, category_ticks

    rng = np.random.default_rng(0)
    for position, members in enumerate(groups.values()):
        scores = np.array(members, float)
        axes.plot(
            position + rng.uniform(-0.12, 0.12, len(scores)), scores, "o", color=COLOURS[0], markersize=3, alpha=0.5
        )
        mean = float(scores.mean())
        low, high = statistics(scores)["mean_ci"] or (mean, mean)
        axes.errorbar(position + 0.25, mean, [[mean - low], [high - mean]], fmt="s", color=COLOURS[1], markersize=4)
    category_ticks(axes, list(groups))
    axes.set_xlim(-0.5, len(groups) - 0.5)


def _groups(rows: Sequence[RunRow], key: str) -> dict[str, list[RunRow]]:
    """Return the runs with each value of a parameter by the value in words; seeds are repetitions of one setting."""
    if key == "seed":
        return {"all seeds": list(rows)}
    values = plan.distinct(row["values"].get(key) for row in rows)
    return {word(value): [row for row in rows if row["values"].get(key) == value] for value in values}


def _learning(sweep: SweepFolder, rows: Sequence[RunRow], keys: Sequence[str]) -> Figure:
    """Draw performance along training, a curve for each value of a parameter, with intervals over runs."""
    from ngym_cli.figures.style import COLOURS, FigureUnavailableError, new_figure, reference_lines
    from ngym_cli.figures.view import common_references

    started = [row for row in rows if row["id"] is not None and row["steps"]][:MOST_CURVES]
    if not started or not keys:
        raise FigureUnavailableError("no run has begun yet" if keys else "all runs have the same parameters")
    keys = [key for key in keys if key not in _ranges(sweep) and len(_groups(started, key)) <= len(COLOURS)]
    if not keys:
        raise FigureUnavailableError("every run has values of its own")
    edges = np.linspace(0, max(row["steps"] for row in started), BINS + 1)
    curves = {row["name"]: _curve(row, edges) for row in started}
    figure, grid = new_figure(1, len(keys), squeeze=False, sharey=True)
    names = plan.short_names(list(keys))
    middles = (edges[1:] + edges[:-1]) / 2
    for axes, key in zip(grid[0], keys, strict=True):
        for number, (value, members) in enumerate(_groups(started, key).items()):
            table = np.array([curves[row["name"]] for row in members])
            label = f"{value}, n = {len(table):,}"
            with np.errstate(invalid="ignore"):
                complete = np.isfinite(table).all(axis=0)
            axes.plot(middles[complete], table[:, complete].mean(axis=0), color=COLOURS[number], label=label)
            if len(table) > 1:
                scores = table[:, complete]
                draws = scores[resamples(len(table))[:BAND]].mean(axis=1)
                low, high = spread_interval(scores.mean(axis=0), draws, len(table), bounds=BOUNDS[METRIC])
                axes.fill_between(middles[complete], low, high, color=COLOURS[number], alpha=0.2, linewidth=0)
        reference_lines(axes, common_references(started))
        axes.set(xlabel="training steps", title=f"by {names[key]}")
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.22), handlelength=1.5)
    grid[0][0].set_ylabel("performance in training")
    return figure


def _curve(row: RunRow, edges: np.ndarray) -> np.ndarray:
    """Return the mean performance of a run's training trials between edges of steps; nan where there are none."""
    table = read_trials(Path(str(row["id"])) / runs.TRIALS, ("step", "performance"))
    if "step" not in table:
        return np.full(len(edges) - 1, np.nan)
    bins = np.clip(np.searchsorted(edges, table["step"]) - 1, 0, len(edges) - 2)
    counts = np.bincount(bins, minlength=len(edges) - 1)
    sums = np.bincount(bins, table["performance"], len(edges) - 1)
    return np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)


def _search(sweep: SweepFolder, rows: Sequence[RunRow], keys: Sequence[str]) -> Figure:
    """Draw the results of a search in the order of trials, and the importance of each parameter."""
    from ngym_cli.figures.style import COLOURS, FigureUnavailableError, legend_below, new_figure

    if sweep.recipe.search is None or not (sweep.path / STUDY).exists():
        raise FigureUnavailableError("the sweep is not a search")
    study, _ = worker.open_study(sweep)
    trials = [trial for trial in study.get_trials(deepcopy=False) if trial.values]
    if not trials:
        raise FigureUnavailableError("no trial is done yet")
    figure, (left, right) = new_figure(1, 2)
    numbers, values = [trial.number for trial in trials], [trial.value for trial in trials]
    left.plot(numbers, values, "o", markersize=4, color=COLOURS[0], label="trial")
    left.step(numbers, np.maximum.accumulate(values), where="post", color=COLOURS[1], label="best so far")
    metric = sweep.recipe.search.maximize.replace("_", " ")
    left.set(xlabel="trial", ylabel=metric, title=f"n = {len(trials):,} complete trials")
    legend_below(left)
    importance = worker.importance(sweep)
    names = plan.short_names(list(importance))
    right.barh([names[key] for key in reversed(importance)], list(reversed(importance.values())), color=COLOURS[2])
    right.set(xlabel="importance (PED-ANOVA)", xlim=(0, 1), title="parameters" if importance else "too few trials")
    return figure
