"""A figure is kept as numbers, and the figure drawn from them shows the same."""

from __future__ import annotations

import json

import numpy as np
import pytest
from matplotlib.figure import Figure

from experiments.records.drawing import as_numbers, from_numbers
from experiments.records.record import written
from neurogym.analysis.results import Estimate
from ngym_cli import runs
from ngym_cli.figures import requests
from ngym_cli.figures.style import interval_bars, legend_below, reference_lines, styled
from tests.ngym_cli.figures.made_up import TASKS, made_up_run


def curves():
    """Two panels with everything that figures of behaviour draw."""
    with styled():
        figure = Figure(figsize=(8, 3))
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=[2, 1])
        x = np.linspace(-50, 50, 201)
        left.fill_between(x, x / 100, x / 100 + 0.1, alpha=0.2, linewidth=0, color="#0072B2")
        left.plot(x, x / 100, label="fit")
        left.errorbar([1, 2], [0.5, np.nan], [[0.1, 0.1], [0.2, 0.2]], fmt="o", label="agent, n = 7")
        reference_lines(left, {"chance": 0.5, "ceiling": 0.9})
        left.axvline(3, color="black")
        left.annotate("here", (1, 0.5), xytext=(0, 4), textcoords="offset points")
        left.set(title="a title", xlabel="time (ms)", xscale="symlog")
        legend_below(left, 2)
        interval_bars(right, ["one", "two"], [Estimate(0.5, 0.4, 0.6, 10), Estimate(0.7, 0.6, 0.8, 10)])
        right.bar([0, 1], [0.3, 0.4], label="bars")
        right.vlines([0.5], 0, 1, color="#D55E00")
        right.legend()
    return figure


def again(drawing):
    with styled():
        return from_numbers(json.loads(json.dumps(drawing)))


def test_what_is_drawn_from_the_numbers_has_the_same_numbers():
    first = as_numbers(curves())
    assert as_numbers(again(first)) == first


def test_points_intervals_and_words_are_kept():
    figure = again(as_numbers(curves()))
    left, right = figure.axes
    marked = [line for line in left.get_lines() if line.get_marker() == "o"]
    assert [next(iter(line.get_ydata())) for line in marked] == [0.5]
    assert left.get_title(loc="left") == "a title" and left.get_xscale() == "symlog"
    assert [text.get_text() for text in right.get_xticklabels()] == ["one", "two"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "fit",
        "chance 0.5",
        "ceiling 0.9",
        "agent, n = 7",
    ]
    assert any(np.allclose(line.get_ydata(), 0.9) for line in left.get_lines())


def test_a_figure_is_small():
    assert len(json.dumps(as_numbers(curves()))) < 10_000


def test_pictures_are_refused():
    figure = Figure()
    figure.subplots().imshow(np.eye(3))
    with pytest.raises(TypeError, match="AxesImage"):
        as_numbers(figure)


def test_lists_of_a_record_stand_on_one_line():
    row = {"curve": [[1, 0.5], [2, 0.75]], "words": ["a [b] c", "two  blanks"], "none": [], "more": {"x": [1, None]}}
    text = written({"a": row})
    assert json.loads(text) == {"a": row}
    assert "[1, 0.5],\n" in text and '"x": [1, null]' in text


@pytest.mark.parametrize("task", TASKS)
def test_the_telling_figure_of_every_sort_of_task_is_kept(task, tmp_path):
    run = runs.find(str(made_up_run(tmp_path / "run", task, TASKS[task][0], 300)))
    name, figure = requests.best_figure(run)
    saved = as_numbers(figure)
    assert name in TASKS[task][1]
    assert any(panel["parts"] for panel in saved["panels"]) and len(json.dumps(saved)) < 20_000
    assert as_numbers(again(saved)) == saved
