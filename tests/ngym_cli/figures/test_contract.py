"""What holds for every figure: words that can be read, axes with names, legends beside the data."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ngym_cli import runs
from ngym_cli.figures import requests, solutions
from ngym_cli.figures.registry import FIGURES
from ngym_cli.figures.style import styled
from tests.ngym_cli.figures.legibility import titles_of

#: A task that each figure of behaviour can be drawn of; the others are drawn of a recorded run.
DRAWN_OF = {
    "learning": "RDM-v0",
    "psychometric": "RDM-v0",
    "chronometric": "RDM-v0",
    "conditions": "RDM-v0",
    "history": "RDM-v0",
    "responses": "GoNogo-v0",
    "context": "ContextDecisionMaking-v0",
    "cues": "MultiSensoryIntegration-v0",
    "wagering": "PostDecisionWager-v0",
    "stay": "TwoStep-v0",
    "regret": "ChangingBandit-v0",
    "reversal": "ReversalLearning-v0",
    "session": "ReversalLearning-v0",
    "reward-history": "TwoStep-v0",
    "stays": "PatchLeaving-v0",
    "indifference": "EconomicDecisionMaking-v0",
    "interval": "ReadySetGo-v0",
    "reports": "yang19.go-v0",
    "forgetting": "GoNogo-v0+RDM-v0",
}

#: Figures that compare two runs.
OF_TWO = ("similarity", "attractors")


@pytest.fixture(scope="module")
def recorded_view(recorded_run):
    """The recorded run, with the points of its network found once for all figures."""
    return requests.view([str(recorded_run)], Path("runs"))


@pytest.fixture
def view_for(made_up, recorded_run, recorded_view, monkeypatch):
    """Return what a figure is drawn from."""

    def fill_catalogue(view):
        column, conditions = solutions.conditions_of(view.recorded.table)
        found = tuple(solutions.describe(view, column, conditions, name, 0) for name in ("lstm", "gru", "ctrnn", "rnn"))
        monkeypatch.setattr(
            solutions, "catalogue", lambda: {view.properties.id: solutions.Catalogue(column, conditions, found)}
        )

    def view(name):
        if name not in DRAWN_OF and name not in OF_TWO:
            if name == "solutions":
                fill_catalogue(recorded_view)
            return recorded_view
        folders = (
            [made_up(DRAWN_OF[name], {} if name == "forgetting" else None)] if name in DRAWN_OF else [recorded_run]
        )
        if name == "forgetting":
            tasks = {"GoNogo-v0": [0.9, 0.8, 0.95], "RDM-v0": [0.7, 0.6, 0.75]}
            rows = [{"step": step, "trials": 100, "tasks": tasks} for step in (1000, 2000, 3000)]
            runs.RunFolder(folders[0]).update(evaluations=rows)
        return requests.view(
            [str(folder) for folder in folders * (2 if name in OF_TWO else 1)],
            Path("runs"),
            by="coh" if name == "similarity" else None,
        )

    return view


def assert_readable(figure):
    """Check that nothing covers anything, and that every axis has a name."""
    FigureCanvasAgg(figure)
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    for axes in panels:
        for axis in (axes.xaxis, axes.yaxis):
            boxes = [(label.get_text(), label.get_window_extent(renderer)) for label in shown(axis)]
            for (first, a), (two, b) in itertools.pairwise(boxes):
                slanted = axis is axes.xaxis and axis.get_ticklabels()[0].get_rotation() % 180
                assert slanted or not a.overlaps(b), f"{first!r} and {two!r} touch"
        assert axes.get_xlabel() or axes.get_subplotspec().rowspan.stop < axes.get_gridspec().nrows or shown(axes.xaxis)
        assert axes.get_ylabel() or axes.get_subplotspec().colspan.start > 0 or shown(axes.yaxis)
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes if axes.get_legend())]
    boxes = [legend.get_window_extent(renderer) for legend in legends]
    for box in boxes:
        assert not any(box.overlaps(axes.get_window_extent(renderer)) for axes in panels), "a legend covers data"
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2)), "legends cover each other"
    titles = [
        (text.get_text(), text.get_window_extent(renderer))
        for axes in panels
        for text in titles_of(axes)
        if text.get_text()
    ]
    for (first, a), (two, b) in itertools.combinations(titles, 2):
        assert not a.overlaps(b), f"titles {first!r} and {two!r} touch"
    words = [text.get_text() for legend in legends for text in legend.get_texts()]
    assert not [word for word in words if "_" in word], "a legend in the words of a table"


def shown(axis):
    """Return the labels of an axis that are drawn."""
    low, high = sorted(axis.get_view_interval())
    ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    return [tick.label1 for tick in ticks if tick.label1.get_text() and tick.label1.get_visible()]


#: Every figure in both styles, except one that is drawn in `test_recordings`; on paper, figures of networks take long.
CASES = [
    pytest.param(name, style, marks=pytest.mark.long if style == "paper" and name not in DRAWN_OF else ())
    for name in FIGURES
    if name != "recording"
    for style in ("screen", "paper")
]


@pytest.mark.parametrize(("name", "style"), CASES)
def test_every_figure_can_be_read(view_for, name, style):
    seen = view_for(name)
    with styled(style):
        assert_readable(FIGURES[name].draw(seen))
