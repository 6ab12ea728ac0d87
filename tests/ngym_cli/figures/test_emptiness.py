"""No figure of any task is drawn without data: looked for in the artists of every figure after a short run."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import numpy as np
import pytest

from neurogym.envs.registration import every_task
from ngym_cli.agents.algorithms import ALGORITHMS
from ngym_cli.config.model import from_dict
from ngym_cli.errors import UserError
from ngym_cli.evaluation import service as evaluations
from ngym_cli.evaluation.request import EvalRequest
from ngym_cli.figures import files, report, requests
from ngym_cli.figures.emptiness import refuse_empty
from ngym_cli.figures.registry import FIGURES, figure
from ngym_cli.figures.style import GREY, FigureUnavailableError, interval_band, new_figure
from ngym_cli.training.main_loop import train
from tests.ngym_cli.figures.legibility import defects_of

#: A task whose figures were drawn empty once, and a plain one; the others take minutes.
SAMPLE = ("MultiSensoryIntegration-v0", "Null-v0")
TASKS = [name if name in SAMPLE else pytest.param(name, marks=pytest.mark.long) for name in sorted(every_task())]


#: Algorithms and networks; the one without a mark has no memory. The tasks above are learned by networks with two
#: states.
FAST = (("ppo", "mlp"),)
MODELS = [
    (alg, network) if (alg, network) in FAST else pytest.param(alg, network, marks=pytest.mark.long)
    for alg, spec in ALGORITHMS.items()
    for network in spec.networks
    if alg in ("ppo", "recurrent_ppo", "supervised", "reinforce") and network != "cnn"
]


@pytest.fixture(autouse=True)
def each_once(monkeypatch):
    """Draw each figure once: the report takes those that have been drawn."""
    created = {}
    draw = requests.drawn

    def drawn_once(seen, spec, style="screen"):
        folders = tuple(source.run.path for source in seen.sources)
        if (folders, spec) not in created:
            created[folders, spec] = draw(seen, spec, style)
        return created[folders, spec]

    monkeypatch.setattr(requests, "drawn", drawn_once)


def short_run(task, folder, **settings):
    """Return a run of a few steps with a recorded evaluation."""
    usual = {"timesteps": 2000, "n_envs": 4, "units": 8, "evaluation": {"trials": 60}}
    if settings.get("alg") == "supervised":
        del usual["n_envs"]
    config = from_dict({"task": task, **usual, **settings})
    run = train(config, folder, "short").run
    recorded = ("observations",) if settings.get("network") == "mlp" else ("activity", "observations")
    wanted = EvalRequest(trials=150, deterministic=False, record=recorded)
    assert list(evaluations.evaluate([str(run.path)], folder, wanted))
    return run.path


def assert_shows_data(drawn):
    """Check the limits of what was drawn, panel by panel."""
    panels = [axes for axes in drawn.axes if axes.get_label() != "<colorbar>"]
    sizes = []
    for axes in panels:
        lines = [line for line in axes.lines if line.get_color() != GREY]
        marked = [line for line in lines if line.get_marker() not in ("None", "", "|", "_")]
        points = [np.isfinite(np.asarray(line.get_ydata(), float)).sum() for line in lines]
        curves = [n for line, n in zip(lines, points, strict=True) if n > 1 or (line in marked and n)]
        assert curves or axes.patches or axes.images or axes.collections, f"no data in {axes.get_title('left')}"
        if axes.collections and not (axes.patches or axes.images):
            assert curves or any(c.get_array() is not None for c in axes.collections), "a band without a line"
        sizes.append(sum(points) + 2 * len(axes.patches) + 2 * len(axes.images) + 2 * len(axes.collections))
    assert max(sizes) > 1, "a single dot"
    labels = {label for axes in panels for label in axes.get_legend_handles_labels()[1]}
    assert not (len(labels) == 1 and "chosen" in next(iter(labels))), "one curve of one choice"


@pytest.mark.parametrize(("alg", "network"), MODELS)
def test_no_figure_of_a_model_is_empty(alg, network, tmp_path):
    assert_figures(short_run("PerceptualDecisionMaking-v0", tmp_path / "runs", alg=alg, network=network), tmp_path)


@pytest.mark.parametrize("task", TASKS)
def test_no_figure_of_a_task_is_empty(task, tmp_path):
    assert_figures(short_run(task, tmp_path / "runs"), tmp_path)


def assert_figures(run, tmp_path):
    """Check every figure of a run, and that a report has those that are drawn."""
    seen = requests.view([str(run)], tmp_path)
    drawn: set[str] = set()
    defects: list[str] = []
    for name, spec in FIGURES.items():
        figure, reason, damaged = requests.drawn(seen, spec)
        assert not damaged
        if figure is None:
            assert reason and "failed" not in reason, f"{name}: {reason}"
        else:
            drawn.add(name)
            assert_shows_data(figure)
            defects += [f"{name}: {defect}" for defect in defects_of(figure)]
    assert not defects, "\n".join(defects)
    page = Path(report.report(str(run), tmp_path)).read_text(encoding="utf-8")
    natural = {spec.name for spec in requests.natural_figures(seen)}
    assert {name for name in FIGURES if re.search(rf'id="{name}"', page)} == natural & drawn


def test_figures_are_refused_with_the_reason():
    """Each way to be empty, in a declared figure of a user."""

    def nothing(axes):
        axes.axhline(0.5)
        axes.plot([0, 1], [0, 1], color=GREY, zorder=0)

    def unjoined(axes):
        axes.plot([0, 1, 2], [1, np.nan, 1])

    def band(axes):
        interval_band(axes, [0, 1], [0, 0], [1, 1], "black")
        axes.plot([0, 1], [np.nan, np.nan])

    def dot(axes):
        axes.errorbar([1], [0.5], [0.1], fmt="o")

    def waiting(axes):
        axes.plot([0, 1], [0, 1], label="fixation chosen")

    expected = {
        nothing: "nothing to draw",
        unjoined: "nothing to draw",
        band: "nothing to draw",
        dot: "single point",
        waiting: "all trials are of one kind",
    }

    for content, message in expected.items():

        @figure("mine")
        def mine(view, content=content):
            drawn, axes = new_figure()
            content(axes)
            return drawn

        class PlotData:
            left_out, sources = {}, [None]

        with pytest.raises(FigureUnavailableError, match=message):
            mine.spec.draw(PlotData())


@pytest.mark.parametrize("colour", ["gray", "grey", "0.5", GREY, "black"])
def test_data_of_any_colour_are_drawn(colour):
    drawn, axes = new_figure()
    axes.plot([0, 1, 2], [1, 2, 4], color=colour)
    refuse_empty(drawn)
    drawn, axes = new_figure()
    axes.bar([0, 1], [1, 2], color=colour)
    refuse_empty(drawn)


def test_the_exit_code_is_an_error_only_if_nothing_was_drawn(made_up, tmp_path):
    seen = requests.view([str(made_up("GoNogo-v0"))], tmp_path)
    rows = requests.draw(seen, ["responses", "context"], files.FigureFiles(out=tmp_path / "some"))
    assert [row["path"] is not None for row in rows] == [True, False]
    with pytest.raises(UserError, match="context: the trials have no column"):
        requests.draw(seen, ["context"], files.FigureFiles(out=tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_a_run_of_a_task_without_the_columns_is_named_and_left_out(made_up, tmp_path):
    seen = requests.view([str(made_up(task)) for task in ("TwoStep-v0", "GoNogo-v0")], tmp_path, compare="task")
    assert requests.drawn(seen, FIGURES["stay"]).reason is None
    assert list(seen.left_out.values()) == ["the trials have no column common"]


def test_defects_that_a_reader_would_see_are_found():
    circle = np.cos(np.arange(9)), np.sin(np.arange(9))
    cases = {
        "fill less than a tenth": lambda axes: (axes.plot(*circle), axes.plot([100], [200], "o")),
        "lie outside": lambda axes: (axes.plot(np.arange(9), np.arange(9)), axes.set_xlim(5, 6)),
        "bars of no length": lambda axes: axes.bar([0, 1], [0, 0]),
        "look the same": lambda axes: [axes.plot([0, 1], [0, k], color="C0", label=str(k)) for k in (1, 2)],
    }
    for words, draw in cases.items():
        drawn, axes = new_figure()
        draw(axes)
        (defect,) = defects_of(drawn)
        assert words in defect
    fine, axes = new_figure()
    axes.plot(*circle)
    assert not defects_of(fine)


GRID = np.mgrid[0:3, 0:3].astype(float)
ARTISTS = {
    "scatter": lambda axes, scale: axes.scatter(scale * np.arange(3), np.arange(3)),
    "fill_between": lambda axes, scale: axes.fill_between([0, 1], scale * np.zeros(2), scale * np.ones(2)),
    "stackplot": lambda axes, scale: axes.stackplot([0, 1], scale * np.ones(2), scale * np.ones(2)),
    "contourf": lambda axes, scale: axes.contourf(scale * GRID[0]),
    "quiver": lambda axes, scale: axes.quiver(scale * GRID[0], GRID[1], GRID[0], GRID[1]),
    "hexbin": lambda axes, scale: axes.hexbin(scale * GRID[0].ravel(), GRID[1].ravel(), gridsize=3),
    "pie": lambda axes, scale: axes.pie(scale * np.array([1, 2, 3])),
    "eventplot": lambda axes, scale: axes.eventplot([scale * np.arange(3.0), scale * np.arange(2.0)]),
    "hlines": lambda axes, scale: axes.hlines(scale * np.arange(3.0), 0, 1),
    "vlines": lambda axes, scale: axes.vlines(scale * np.arange(3.0), 0, 1),
    "violinplot": lambda axes, scale: axes.violinplot(scale * np.arange(9.0), showextrema=False),
    "step histogram": lambda axes, scale: axes.hist(np.arange(9.0), weights=scale * np.ones(9), histtype="step"),
    "fill": lambda axes, scale: axes.fill([0, 1, 1], scale * np.array([0, 0, 1])),
    "pcolormesh": lambda axes, scale: axes.pcolormesh(scale * GRID[0]),
    "imshow": lambda axes, scale: axes.imshow(scale * GRID[0]),
    "stairs": lambda axes, scale: axes.stairs(scale * np.arange(3.0)),
    "bar": lambda axes, scale: axes.bar([0, 1], scale * np.ones(2)),
    "errorbar": lambda axes, scale: axes.errorbar([0, 1], scale * np.ones(2), [1, 1], fmt="o"),
}


@pytest.mark.parametrize("kind", ARTISTS)
@pytest.mark.filterwarnings("ignore")
def test_every_artist_of_a_users_figure_counts(kind):
    drawn, axes = new_figure()
    ARTISTS[kind](axes, 1.0)
    refuse_empty(drawn)
    bare, axes = new_figure()
    with contextlib.suppress(ValueError):  # some artists refuse what is not a number themselves
        ARTISTS[kind](axes, np.nan)
    with pytest.raises(FigureUnavailableError, match="nothing to draw"):
        refuse_empty(bare)


def test_reference_lines_and_shading_are_not_data():
    drawn, axes = new_figure()
    axes.hlines([1, 2], 0, 1, color=GREY, zorder=0)
    axes.axvspan(0, 1)
    axes.axhspan(0, 1)
    axes.vlines([1, 2], 0, 1, transform=axes.get_xaxis_transform())
    with pytest.raises(FigureUnavailableError, match="nothing to draw"):
        refuse_empty(drawn)
