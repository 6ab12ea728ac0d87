"""Trials drawn with Matplotlib: a column for each trial, a panel for each quantity, shaded and named periods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from neurogym.spaces import Index
from ngym_cli.figures.style import COLOURS, GREY, figure_of, new_figure
from ngym_cli.figures.time_axis import Span, draw_spans
from ngym_cli.figures.trial import TrialView
from ngym_cli.figures.wording import Wording, channel_names, index_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Channels up to which each has its own name on the axis, beyond which groups have.
MOST_NAMES = 16

#: Actions up to which the policy is drawn as lines, beyond which as an image.
MOST_LINES = 5

#: Conditions in the title of a trial.
MOST_CONDITIONS = 3


class TrialPanel(NamedTuple):
    """Quantity of a trial to be drawn.

    Attributes:
        axis: the axes to draw on.
        trial: the trial.
        last: whether the trial is the last of the figure.
        order: of the units; None without memory.
        scale: largest absolute value of each channel over all trials.
    """

    axis: Axes
    trial: TrialView
    last: bool
    order: np.ndarray | None
    scale: np.ndarray


#: Height of a line of a title, in inches.
TITLE_LINE = 0.15


def trials_figure(trials: Sequence[TrialView], names: Sequence[str] = (), width: float = 7.0) -> Figure:
    """Draw trials side by side.

    Args:
        trials: of one agent in one task.
        names: panels to draw, keys of ``PANELS``; default all for which the trials have data.
        width: of the figure, inches; more where there are many trials.
    """
    first = trials[0]
    missing = {"units": first.activity is None, "policy": first.policy is None, "value": first.values is None}
    panels = [name for name in names or PANELS if not missing.get(name)]
    each, heights = max(2.6, width / len(trials)), [PANELS[name].height for name in panels]
    if panels[0] == "inputs":
        heights[0] = min(max(heights[0], 0.75 + 0.24 * first.observations.shape[1]), 3.4)
    lengths = np.array([len(trial) for trial in trials], float)
    shares = lengths / lengths.mean() if lengths.max() < 3 * lengths.min() else np.ones(len(trials))
    figure, axes = new_figure(
        len(panels),
        len(trials),
        width=each,
        height=0.95 * sum(heights) / len(panels),
        squeeze=False,
        sharex="col",
        sharey="row",
        height_ratios=heights,
        width_ratios=shares,
    )
    words = Wording(first.labels)
    order = by_peak(first.activity) if first.activity is not None else None
    scale = largest(np.concatenate([trial.observations for trial in trials]), first.labels.get("observation", {}))
    title_lines = 0
    for column, trial in enumerate(trials):
        high, periods = 0.0, [Span(name, a * trial.dt, b * trial.dt) for name, (a, b) in trial.periods.items() if b > a]
        periods.sort(key=lambda span: (span.begin, span.end))
        for row, name in enumerate(panels):
            axis = axes[row][column]
            PANELS[name].draw(TrialPanel(axis, trial, column == len(trials) - 1, order, scale))
            axis.set_xlim(0, len(trial) * trial.dt)
            height = draw_spans(axis, periods, row == 0, each * float(shares[column]))
            high = height or high
            if column:
                axis.tick_params(labelleft=False)
        axes[-1][column].set_xlabel("time (ms)")
        title = [*trial.in_words(words)[:MOST_CONDITIONS], str(trial.record.get("outcome", ""))]
        title_lines = max(title_lines, len(title))
        axes[0][column].set_title("\n".join(title), fontsize="small", pad=4 + high)
    figure.set_figheight(figure.get_figheight() + TITLE_LINE * title_lines)  # panels keep their height
    for row, name in enumerate(panels):
        axes[row][0].set_ylabel("units, sorted\nby time of peak" if name == "units" else name)
    figure.align_ylabels()
    return figure


def by_peak(activity: np.ndarray) -> np.ndarray:
    """Return the units ordered by the time of the largest deviation from the mean; shape (units,)."""
    return np.argsort(np.abs(activity - activity.mean(axis=0)).argmax(axis=0), kind="stable")


def _edges(trial: TrialView) -> np.ndarray:
    return np.arange(len(trial) + 1) * trial.dt


def _note(axis: Axes, text: str, height: float, **options: Any) -> None:
    """Write small words to the right of a panel."""
    look = {"xycoords": "axes fraction", "va": "center", "fontsize": "small", **options}
    axis.annotate(text, (1, height), xytext=(3, 0), textcoords="offset points", **look)


def _image(panel: TrialPanel, values: np.ndarray, label: str, **options: Any) -> None:
    """Draw values of shape (steps, rows) as an image, row k around the height k, with a scale at the last trial."""
    rows = np.arange(values.shape[1] + 1) - 0.5
    image = panel.axis.pcolormesh(_edges(panel.trial), rows, values.T, rasterized=True, **options)
    if panel.last:
        bar = figure_of(panel.axis).colorbar(image, ax=panel.axis, label=label, pad=0.14)
        bar.ax.locator_params(axis="y", nbins=2)


def _inputs(panel: TrialPanel) -> None:
    """Draw each group of channels relative to the largest absolute value, which is written next to the last trial."""
    axis, observations, labels = panel.axis, panel.trial.observations, panel.trial.labels.get("observation", {})
    n = observations.shape[1]
    _image(panel, observations / panel.scale, "share of largest", cmap="RdBu_r", vmin=-1, vmax=1)
    named = groups(labels, n)
    if n <= MOST_NAMES:
        axis.set_yticks(range(n), channel_names(labels, n))
    else:
        axis.set_yticks([where.mean() for _, where in named], [name for name, _ in named])
    axis.set_ylim(n - 0.5, -0.5)
    for _, where in named if panel.last else ():
        _note(axis, f"{panel.scale[where[0]]:.2g}", where.mean(), xycoords=("axes fraction", "data"))


def _units(panel: TrialPanel) -> None:
    activity = panel.trial.activity
    assert activity is not None
    limit = float(np.abs(activity).max()) or 1.0
    _image(panel, activity[:, panel.order], "activity (a.u.)", cmap="PuOr_r", vmin=-limit, vmax=limit)


def _policy(panel: TrialPanel) -> None:
    axis, trial = panel.axis, panel.trial
    assert trial.policy is not None
    names = index_names(panel.trial.labels.get("action", {}))
    n = trial.policy.shape[1]
    if n > MOST_LINES:
        _image(panel, trial.policy, "probability", cmap="cividis", vmin=0, vmax=1)
        return
    for action in range(n):
        axis.stairs(trial.policy[:, action], _edges(trial), color=COLOURS[action], baseline=None)
        if panel.last:
            _note(axis, names.get(action, f"action {action}"), (action + 0.5) / n, color=COLOURS[action])
    axis.set_ylim(-0.05, 1.05)


def _value(panel: TrialPanel) -> None:
    assert panel.trial.values is not None
    panel.axis.stairs(panel.trial.values, _edges(panel.trial), color=COLOURS[2], baseline=None)


def _choice(panel: TrialPanel) -> None:
    axis, trial = panel.axis, panel.trial
    edges = _edges(trial)
    if trial.ground_truth is not None:
        for component in trial.ground_truth.T:
            axis.stairs(component, edges, color=GREY, linewidth=4, alpha=0.4, baseline=None)
    for k, component in enumerate(trial.actions.T):
        axis.stairs(component.astype(float), edges, color=COLOURS[k % 6], baseline=None)
    names = index_names(panel.trial.labels.get("action", {}))
    if trial.actions.shape[1] == 1 and 0 < len(names) <= 8:
        axis.set_yticks(sorted(names), [names[index] for index in sorted(names)])
        axis.set_ylim(min(names) - 0.4, max(names) + 0.4)
    if panel.last and trial.ground_truth is not None:
        _note(axis, "grey: correct", 0.5, color=GREY)


def _reward(panel: TrialPanel) -> None:
    panel.axis.stairs(panel.trial.rewards, _edges(panel.trial), color=COLOURS[1], fill=True)
    panel.axis.axhline(0, color=GREY, linewidth=0.5)
    if not np.any(panel.trial.rewards):
        panel.axis.update_datalim([(0, 1)])  # no scale of hundredths around nothing


class PanelKind(NamedTuple):
    """Kind of panel: relative height and drawing function."""

    height: float
    draw: Callable[[TrialPanel], None]


PANELS = {
    "inputs": PanelKind(2.0, _inputs),
    "units": PanelKind(2.2, _units),
    "policy": PanelKind(1.2, _policy),
    "value": PanelKind(0.8, _value),
    "choice": PanelKind(1.0, _choice),
    "reward": PanelKind(0.6, _reward),
}


def groups(labels: Mapping[str, Index], n: int) -> list[tuple[str, np.ndarray]]:
    """Return the named groups of channels by first index, and each unnamed channel as a group.

    >>> [(name, list(map(int, where))) for name, where in groups({"fixation": 0, "stimulus": [1, 2]}, 4)]
    [('fixation', [0]), ('stimulus', [1, 2]), ('3', [3])]
    """
    rows, used = [], np.zeros(n, bool)
    for name, where in labels.items():
        indices = np.ravel(where).astype(int)
        indices = indices[(indices < n)]
        if len(indices) and not used[indices].any():
            rows.append((name, indices))
            used[indices] = True
    rows += [(str(index), np.array([index])) for index in np.flatnonzero(~used)]
    return sorted(rows, key=lambda group: int(group[1].min()))


def largest(observations: np.ndarray, labels: Mapping[str, object]) -> np.ndarray:
    """Return the largest absolute value in the group of each channel, 1 where all are zero; shape (channels,).

    Args:
        observations: shape (steps, channels).
        labels: label to index or indices.
    """
    scale = np.ones(observations.shape[1])
    for _, where in groups(labels, observations.shape[1]):
        scale[where] = float(np.abs(observations[:, where]).max(initial=0)) or 1.0
    return scale
