"""Figures of a table of behaviour."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from neurogym.analysis.psychometric import psychometric_function
from neurogym.analysis.results import Curve, Estimate
from neurogym.behaviour.describe import SubjectDescription
from neurogym.behaviour.metacognition import ConfidenceNumbers
from neurogym.behaviour.table import Behaviour
from ngym_cli.errors import option
from ngym_cli.figures.files import FigureFiles, save_figure
from ngym_cli.figures.style import COLOURS, guide, interval_bars, interval_points, new_figure, styled
from ngym_cli.files.outputs import may_write

#: Label of a curve, the curve, and the numbers of the function that is fitted to it, if there are any.
LabelledCurve = tuple[str, Curve, Any]
#: Most subjects with a curve, and most predictors with a line.
SUBJECTS, PREDICTORS = 7, 14


def write_figures(figures: Mapping[str, Figure], folder: Path, files: FigureFiles) -> list[str]:
    """Write figures by name and return their paths."""
    paths = [folder / f"{name}.{files.file_format}" for name in figures]
    files.check()
    for path in paths:
        may_write(path, not files.is_default, files.overwrite)
    for figure, path in zip(figures.values(), paths, strict=True):
        with styled():
            save_figure(figure, path, files.is_default)
    return list(map(str, paths))


@dataclass(frozen=True)
class DataFigure:
    """Figure of a table.

    Attributes:
        content: what it shows; empty if the table does not allow the figure.
        draw: returns the figure in any style.
        missing: why there is no content.
    """

    content: object
    draw: Callable[[], Figure]
    missing: str

    def drawn(self) -> Figure:
        """Return the figure in the style of all figures."""
        with styled():
            return self.draw()


def data_figures(table: Behaviour, statistics: Sequence[SubjectDescription]) -> dict[str, DataFigure]:
    """Return all figures of tables by name, those that a table does not allow among them."""
    first, two, second = statistics[0], len(table.choices) == 2, table.choices[1] if len(table.choices) > 1 else ""
    choices = {"ylabel": f"P({second})", "ylim": (-0.02, 1.02)}
    times: dict[str, Any] = {"xlabel": "size of evidence: {}", "ylabel": "reaction time (s)", "ylim": (0, None)}
    no_stimulus = "no stimuli" if not table.stimuli else "it needs two choices" if not two else "too few trials"
    no_times = no_stimulus if np.isfinite(table.join("rt")).any() else "no reaction times"
    no_learning = "a single session" if len(table.sessions) < 2 else "correctness is unknown"
    crowded = "more lines than can be told apart" if first.history else "too few trials"

    def curves(kind: str, missing: str, level: float | None = None, xlabel: str = "", **labels: Any) -> DataFigure:
        drawn, rows = [each for each in statistics if getattr(each, kind) is not None], list[LabelledCurve]()
        for each in drawn[:SUBJECTS]:
            curve = getattr(each, kind)
            trials = each.trials - each.misses if kind in ("psychometric", "kernel") else curve.n.sum()
            rows.append((f"{each.subject}, {trials:,} trials", curve, each if kind == "psychometric" else None))
        named = xlabel.format(drawn[0].evidence) if drawn else ""
        return DataFigure(rows, partial(_curves, rows, level, xlabel=named, **labels), missing)

    def of_first(content: object, draw: Callable[..., Figure], missing: str, **labels: Any) -> DataFigure:
        return DataFigure(content, partial(draw, first, content, **labels), missing)

    conditions: list[LabelledCurve] = [
        (f"{row.condition} {row.value}, {row.numbers.trials:,} trials", row.numbers.psychometric, row.numbers)
        for row in first.conditions
        if row.numbers.psychometric is not None
    ]
    by_condition = partial(_curves, conditions, 0.5, xlabel=f"evidence: {first.evidence}", title=first.subject)
    shares = first.choices if first.psychometric is None else {}
    of_choices = {"xlabel": "choice", "ylabel": "share of choices", "ylim": (0, None), "level": 1 / max(len(shares), 1)}
    no_stay = "beside stimuli, history weights say it" if table.stimuli else "no outcomes"
    pulses = {"xlabel": "time of a pulse (ms)", "ylabel": "weight of a pulse (logit)"}
    return {
        "psychometric": curves("psychometric", no_stimulus, 0.5, xlabel="evidence: {}", **choices),
        "conditions": DataFigure(
            conditions, partial(by_condition, **choices), f"{option('--by COLUMN')} names the condition"
        ),
        "chronometric": curves("chronometric", no_times, **times),
        "history": of_first(_lines_of_history(first), _history, crowded),
        "stay": of_first(_stays(first), _bars, no_stay, ylabel="P(same choice as before)", ylim=(0, 1)),
        "choices": of_first(shares, _bars, "the psychometric curve shows them", **of_choices),
        "learning": curves("learning", no_learning, xlabel="session", ylabel="accuracy"),
        "confidence": of_first(first.confidence, _confidence, "no confidence judgements"),
        "kernel": curves("kernel", "no times of pulses", 0.0, **pulses),
    }


def _curves(rows: Sequence[LabelledCurve], level: float | None, **labels: Any) -> Figure:
    """Return labelled curves.

    Args:
        rows: the curves.
        level: value of curves that says nothing; None for none.
        **labels: of the axes.
    """
    figure, axes = new_figure()
    for (label, curve, numbers), colour in zip(rows, COLOURS, strict=False):
        fitted = numbers is not None and _fitted(axes, curve, numbers, colour)
        interval_points(axes, curve, fmt="o" if fitted else _points(curve), color=colour, label=label)
    if level is not None:
        guide(axes, y=level)
    axes.set(**labels)
    axes.legend()
    return figure


def _points(curve: Curve) -> str:
    """Return the form of points: joined by lines if there are more than two, between which a line says something."""
    return "o-" if len(curve.x) > 2 else "o"


def _fitted(axes: Axes, curve: Curve, numbers: Any, colour: str) -> bool:
    """Draw the fitted function through the points of a curve; return whether there is one."""
    values = [getattr(numbers, name) for name in ("pse", "slope", "lapse_low", "lapse_high")]
    if any(value is None or not np.isfinite(value.value) for value in values):
        return False
    x = np.linspace(curve.x.min(), curve.x.max(), 200)
    axes.plot(x, psychometric_function(x, "logistic", *(value.value for value in values)), color=colour, linewidth=1.2)
    return True


def _stays(each: SubjectDescription) -> dict[str, Estimate]:
    """Return stay probabilities after wins and losses, or of a two-step task."""
    if each.two_step is not None and each.two_step.stay:
        return each.two_step.stay
    pairs = {} if each.stay is None else {"after win": each.stay.after_win, "after loss": each.stay.after_loss}
    return {name: value for name, value in pairs.items() if value is not None}


def _bars(
    each: SubjectDescription, numbers: Mapping[str, Estimate], level: float | None = None, **labels: Any
) -> Figure:
    figure, axes = new_figure()
    interval_bars(axes, list(numbers), list(numbers.values()), capsize=3)
    if level is not None:
        guide(axes, y=level)
    axes.set(title=f"{each.subject}, {each.trials - each.misses:,} trials", **labels)
    return figure


def _confidence(each: SubjectDescription, confidence: ConfidenceNumbers) -> Figure:
    """Return the share of correct choices against confidence."""
    figure, axes = new_figure()
    curve = confidence.calibration
    interval_points(axes, curve, fmt=_points(curve), label=f"{each.subject}, {curve.n.sum():,} trials")
    axes.set(xlabel="confidence", ylabel="accuracy", ylim=(None, 1.02))
    axes.set_xticks(curve.x, [f"{x:.3g}" for x in curve.x])
    axes.margins(x=0.15)
    axes.legend()
    return figure


def _lines_of_history(each: SubjectDescription) -> dict[str, list[tuple[int, float, float, float]]]:
    """Return the weights of each predictor by the number of trials back; none if there are too many to tell apart."""
    kinds: dict[str, list[tuple[int, float, float, float]]] = {}
    for name, value in (each.history or {}).items():
        kind, sign, rest = name.partition(", ")
        if sign and rest.split(" ")[0].isdecimal():
            label = kind + rest.partition(" back")[2]
            kinds.setdefault(label, []).append((int(rest.split(" ")[0]), value.value, value.low, value.high))
    return kinds if len(kinds) <= PREDICTORS else {}


def _history(each: SubjectDescription, kinds: Mapping[str, list[tuple[int, float, float, float]]]) -> Figure:
    """Return weights of previous trials against the number of trials back, a line for each predictor."""
    figure, axes = new_figure()
    for k, (kind, points) in enumerate(kinds.items()):
        lag, value, low, high = np.array(points).T
        lag = lag + 0.06 * (k - len(kinds) / 2)
        widths = np.nan_to_num([value - low, high - value]).clip(0)
        axes.errorbar(lag, value, widths, fmt="o-", markersize=4, linewidth=1, label=kind)
    guide(axes, y=0)
    axes.set(
        xlabel="trials back", ylabel="weight (logit)", title=f"{each.subject}, {each.trials - each.misses:,} trials"
    )
    axes.set_xticks(range(1, 1 + max(len(points) for points in kinds.values())))
    axes.legend()
    return figure
