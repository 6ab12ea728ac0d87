"""Figures: functions with declared requirements, and the table of built-in figures."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Box

from neurogym.analysis.trial_tables import MissingColumnsError
from ngym_cli.config import extensions
from ngym_cli.config.tasks import find_task
from ngym_cli.errors import UserError, did_you_mean
from ngym_cli.figures.emptiness import refuse_empty
from ngym_cli.figures.style import FigureUnavailableError, footnote, set_titles, unavailable_on

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ngym_cli.environments.properties import TaskProperties
    from ngym_cli.figures.view import PlotData

    Draw = Callable[[PlotData], Figure]
    #: Figure by name, by reference to a user's own, or the function itself.
    FigureChoice = str | Draw


#: Modules of ``ngym_cli.figures`` with the built-in figures of each, in the order in which figures are drawn.
FIGURE_MODULES = {
    "learning": ("learning", "forgetting"),
    "development": ("development",),
    "behaviour": ("psychometric", "chronometric"),
    "conditions": ("conditions", "responses"),
    "evidence": ("kernel", "context", "cues", "wagering"),
    "sequences": ("session", "reversal", "stay", "reward-history", "history", "regret"),
    "value": ("indifference", "reports", "interval", "stays"),
    "population": ("psth", "trajectories", "decoding", "selectivity"),
    "weights": ("weights",),
    "similarity": ("similarity",),
    "recording": ("recording",),
    "solutions": ("solutions",),
    "dynamics": ("fixed-points", "attractors", "flow", "modes", "bifurcation"),
    "watch": ("examples",),
}

#: Other words for figures.
FIGURE_SYNONYMS = {
    "pca": "trajectories", "pcs": "trajectories", "trajectory": "trajectories", "raster": "psth",
    "tuning": "selectivity", "decoder": "decoding", "rsa": "similarity", "cka": "similarity", "dsa": "similarity",
    "reaction-times": "chronometric", "rt": "chronometric", "accuracy": "psychometric", "curve": "learning",
    "reward": "learning", "loss": "learning", "slow-points": "fixed-points", "vector-field": "flow",
    "eigenvalues": "modes", "trial": "examples",
}  # fmt: skip

#: Tag of tasks whose choice is a number, or one of so many places on a ring.
CONTINUOUS, RING = "continuous report", 12

#: Wrappers that make figures natural which the task alone does not, by the beginning of their name.
WRAPPER_TAGS = {
    "trial_history": "history", "trhreset": "history", "persistence": "history", "side_bias": "history",
    "reaction_time": "reaction time", "variable_reaction_time": "reaction time", "rdm_hist": "history",
}  # fmt: skip


@dataclass(frozen=True)
class FigureSpec:
    """Declaration of a figure.

    Attributes:
        name: on the command line.
        function: draws the figure of a ``PlotData``; raises ``FigureUnavailableError`` with the reason if that is
            impossible.
        summary: one line for listings.
        tags: the figure is drawn by default for tasks with any of these tags; empty: for all tasks.
        columns: required columns of the trial table.
        any_of: sets of columns of which the trial table must have one.
        record: quantities that must have been recorded.
        runs: fewest runs.
        each_run: every run needs the recording, not only the first.
        check: quick test before drawing, possibly before a recording is made; raises ``FigureUnavailableError`` with
            the reason.
        on_request: the figure is drawn only when named.
    """

    name: str
    function: Draw
    summary: str
    tags: frozenset[str] = frozenset()
    columns: tuple[str, ...] = ()
    any_of: tuple[tuple[str, ...], ...] = ()
    record: tuple[str, ...] = ()
    runs: int = 1
    each_run: bool = False
    check: Callable[[PlotData], object] | None = None
    on_request: bool = False

    def draw(self, view: PlotData) -> Figure:
        """Draw the figure, with a note about everything that was left out.

        Raises:
            FigureUnavailableError: if the runs do not allow the figure, or it would show no data.
        """
        view.left_out.clear()
        view.table, view.caption = {}, ""
        self.require(view)
        if self.record and view.unrecorded(self.record, self.each_run):
            view.record(self.record, self.each_run)
            self.require(view)
        with unavailable_on(MissingColumnsError):  # one of several runs is of a task that has no such column
            figure = self.function(view)
        figure = getattr(figure, "figure", figure)  # of axes, too
        if not hasattr(figure, "savefig"):
            raise FigureUnavailableError(f"{self.name} must return a matplotlib figure, not {type(figure).__name__}")
        refuse_empty(figure, view.left_out)
        set_titles(figure)
        footnote(figure, [f"{label} is not drawn: {reason}" for label, reason in view.left_out.items()])
        return figure

    def require(self, view: PlotData) -> None:
        """Check the declared needs without drawing.

        Raises:
            FigureUnavailableError: if the runs lack something.
        """
        from ngym_cli.agents.trained import remembers

        if len(view.sources) < self.runs:
            raise FigureUnavailableError(f"needs {self.runs} runs or more, as in ngym plot RUN RUN {self.name}")
        view.required = self.columns
        if self.columns:
            view.parts()
        missing = view.unrecorded(self.record, self.each_run) if self.record else []
        if self.check is not None:
            self.check(view)
        for source in missing:
            view.require_recorder(self.record)
            if "activity" in self.record and not remembers(source.actor):
                raise FigureUnavailableError("a memoryless agent has no recurrent activity")

    def suits(self, view: PlotData, tags: Collection[str]) -> bool:
        """Return whether the figure is drawn by default for the given runs.

        Args:
            view: the runs.
            tags: from ``tags_of``.
        """
        if self.on_request or len(view.sources) < self.runs or (self.tags and self.tags.isdisjoint(tags)):
            return False
        try:
            table = view.series[0].table if self.columns or self.any_of else {}
        except FigureUnavailableError:  # no evaluation yet
            return False
        enough = not self.any_of or any(table.keys() >= set(names) for names in self.any_of)
        return enough and table.keys() >= set(self.columns)


def figure(summary: str, tags: Collection[str] = (), **needs: Any) -> Callable[[Draw], Draw]:
    """Declare a function ``draw(view) -> matplotlib.figure.Figure`` as a figure.

    The declaration is the function's attribute ``spec``; the figure's name is that of the function, with dashes.

    Args:
        summary: one line for listings.
        tags: tags of the tasks for which the figure is drawn by default; empty: all tasks.
        **needs: ``columns``, ``any_of``, ``record``, ``runs``, ``each_run``, ``check``, ``on_request``, as in
            ``FigureSpec``.

    Example:
        >>> @figure("rewards of single trials", columns=("reward",))
        ... def all_rewards(view): ...
        >>> all_rewards.spec.name, all_rewards.spec.columns
        ('all-rewards', ('reward',))
    """

    def declare(function: Draw) -> Draw:
        name = function.__name__.replace("_", "-")
        function.spec = FigureSpec(name, function, summary, frozenset(tags), **needs)  # type: ignore[attr-defined]
        return function

    return declare


def find_figure(figure: FigureChoice) -> FigureSpec:
    """Return a figure by name, by reference to a user's own, or from the function itself.

    A function without a declaration (see ``figure``) needs nothing, and its docstring is the summary.

    Raises:
        UserError: if there is no such figure, with the nearest name, or the file cannot be imported.
    """
    if isinstance(figure, str) and figure in FIGURES:
        return FIGURES[figure]
    result = extensions.find_extension("figure", figure) if isinstance(figure, str) else figure
    if result is None:
        names = [*FIGURES, *extensions.offered("figure")]
        meant = did_you_mean(FIGURE_SYNONYMS.get(str(figure).lower(), str(figure)), names)
        raise UserError(f"unknown figure '{figure}'{meant} (expected one of: {', '.join(sorted(names))})")
    if not callable(result) or isinstance(result, type):
        raise UserError(f"figure {figure}: expected {extensions.EXTENSION_KINDS['figure'].base}")
    declared = getattr(result, "spec", None)
    if isinstance(declared, FigureSpec):
        return declared
    name = getattr(result, "__name__", "figure").replace("_", "-")
    return FigureSpec(name, result, (result.__doc__ or "a figure of your own").strip().partition("\n")[0].rstrip("."))


class _BuiltIn(UserDict[str, Any]):
    """Built-in figures by name; a figure's module, which needs Matplotlib, is imported on access."""

    def __getitem__(self, name: str) -> FigureSpec:
        module = import_module(f"ngym_cli.figures.{self.data[name]}")
        return getattr(module, name.replace("-", "_")).spec


#: All built-in figures by name, in the order in which they are drawn.
FIGURES: Mapping[str, FigureSpec] = _BuiltIn(
    {name: module for module, names in FIGURE_MODULES.items() for name in names}
)


def tags_of(view: PlotData) -> set[str]:
    """Return the tags of the first run's task, and the tags added by wrappers."""
    config = view.first.config
    metadata = find_task(config.task).metadata
    tags = set(metadata.get("tags", ()))
    for entry in config.wrappers:
        tags |= {tag for name, tag in WRAPPER_TAGS.items() if entry.name.startswith(name)}
    if metadata.get("history_dependent") and "perceptual" in tags and "two-alternative" in tags:
        tags.add("history")
    if is_continuous(view.properties):
        tags.add(CONTINUOUS)
    return tags


def is_continuous(properties: TaskProperties) -> bool:
    """Return whether the choice is a number, or one of many places on a ring."""
    places = np.size(properties.labels["action"].get("choice", []))
    return places >= (1 if isinstance(properties.action_space, Box) else RING)
