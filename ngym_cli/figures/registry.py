"""Which figures there are, which of them are natural for a task, and whether a run allows one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ngym_cli.figures.view import View


@dataclass(frozen=True)
class FigureSpec:
    """One figure.

    Attributes:
        name: on the command line.
        module: of ``ngym_cli.figures`` that draws it, in a function of this name with dashes as underscores; a
            function with ``_check`` behind its name says in advance, by ``Unavailable``, why it cannot be drawn.
        summary: what it shows.
        tags: it is drawn by default for tasks with one of these tags; empty: for all.
        columns: columns that the trials must have.
        any_of: sets of columns of which they must have one.
        record: what must have been recorded.
        default: whether it is drawn unless others are asked for.
    """

    name: str
    module: str
    summary: str
    tags: frozenset[str] = frozenset()
    columns: tuple[str, ...] = ()
    any_of: tuple[tuple[str, ...], ...] = ()
    record: tuple[str, ...] = ()
    default: bool = True

    def draw(self, view: View) -> Figure:
        """Draw it.

        Raises:
            Unavailable: if the run does not allow it.
        """
        from neurogym.analysis.trial_tables import MissingColumnsError
        from ngym_cli.figures.style import Unavailable, footnote

        view.left_out.clear()
        self.check(view)
        try:
            figure: Figure = self._function("")(view)
        except MissingColumnsError as error:  # one of several runs is of a task that has no such column
            raise Unavailable(str(error)) from None
        footnote(figure, [f"{label} is not drawn: {reason}" for label, reason in view.left_out.items()])
        return figure

    def check(self, view: View) -> None:
        """Say, by ``Unavailable``, why it cannot be drawn.

        Raises:
            Unavailable: if the run does not allow it.
        """
        from ngym_cli.figures.style import Unavailable

        if self.columns:
            view.parts(*self.columns)
        check = self._function("_check", optional=True)
        if check is not None:
            check(view)
        if self.record:
            recording = view.recorded.recording
            for name in self.record:
                if name not in recording.quantities:
                    raise Unavailable(f"no {name} recorded; ngym eval --record {name} does it")

    def _function(self, suffix: str, optional: bool = False) -> Any:
        module = import_module(f"ngym_cli.figures.{self.module}")
        name = self.name.replace("-", "_") + suffix
        return getattr(module, name, None) if optional else getattr(module, name)


def _spec(name: str, module: str, summary: str, tags: Iterable[str] = (), **more: Any) -> FigureSpec:
    return FigureSpec(name, module, summary, frozenset(tags), **more)


CHOICE = ("coh", "choice", "outcome")

_ALL = (
    _spec("learning", "learning", "performance along training; over seeds the interquartile mean"),
    _spec("development", "learning", "evaluations of the checkpoints along training"),
    _spec("psychometric", "behaviour", "choices against signed strength, with the fitted function",
          ("two-alternative",), columns=("choice", "outcome"), any_of=(("coh",), ("v1", "v2"), ("rate",))),
    _spec("chronometric", "behaviour", "reaction time against strength, with the prediction of a diffusion to a bound",
          ("reaction time",), columns=("coh", "rt", "outcome")),
    _spec("conditions", "conditions", "performance by condition, or by task, with chance and ceiling of each"),
    _spec("responses", "conditions", "go / no-go: hits, false alarms, d' and reaction times",
          ("go-no-go",), columns=("ground_truth", "choice", "outcome", "rt")),
    _spec("kernel", "evidence", "weight of the stimulus on the choice over time",
          ("perceptual",), columns=("choice", "outcome"), record=("observations",)),
    _spec("context", "evidence", "weight of relevant and of irrelevant evidence",
          ("context dependent",), columns=("context", "coh_1", "coh_2", "other_choice", "choice")),
    _spec("cues", "evidence", "psychometric function of each modality, observed against optimal sigma",
          ("perceptual",), columns=("modality", *CHOICE)),
    _spec("wagering", "evidence", "use of a sure option by strength, accuracy where it was waived",
          ("confidence",), columns=("wager", *CHOICE)),
    _spec("history", "sequences", "weights of past choices and transitions, after correct and after error trials",
          ("history",), columns=("choice", "outcome")),
    _spec("stay", "sequences", "two-step task: stay probabilities by reward and transition",
          ("learning",), columns=("common", "choice", "reward")),
    _spec("regret", "sequences", "bandit: cumulative regret", ("n-alternative",), columns=("p0", "p1", "choice")),
    _spec("reversal", "sequences", "choices around reversals", ("learning",), columns=("better", "choice")),
    _spec("indifference", "preference", "choices between two goods against the ratio of their amounts",
          ("value-based",), columns=("n_a", "n_b", "a_first", "choice")),
    _spec("interval", "preference", "reproduced against target interval", ("timing",), columns=("production", "rt")),
    _spec("psth", "population", "mean activity of the most selective units by condition", record=("activity",)),
    _spec("trajectories", "population", "population activity along its principal components", record=("activity",)),
    _spec("decoding", "population", "what can be read from the population at each time", record=("activity",)),
    _spec("selectivity", "population", "share of units selective to each task variable", record=("activity",)),
    _spec("fixed-points", "dynamics", "fixed and slow points of the network under the mean input of a period",
          record=("activity", "observations")),
    _spec("similarity", "population", "agreement of the representations of several runs", record=("activity",)),
    _spec("examples", "examples", "consecutive trials: observation, action, ground truth, reward"),
)  # fmt: skip

#: All figures by name, in the order in which they are drawn.
FIGURES: dict[str, FigureSpec] = {spec.name: spec for spec in _ALL}

#: Wrappers that make figures natural which the task alone does not, by the beginning of their name.
WRAPPER_TAGS = {
    "trial_history": "history", "trhreset": "history", "persistence": "history", "side_bias": "history",
    "reaction_time": "reaction time", "variable_reaction_time": "reaction time", "rdm_hist": "history",
}  # fmt: skip


def tags_of(view: View) -> set[str]:
    """Return the tags of the first run's task, and those that its wrappers add."""
    from ngym_cli.config.tasks import find_task

    config = view.first.config
    metadata = find_task(config.task).metadata
    tags = set(metadata.get("tags", ()))
    for entry in config.wrappers:
        tags |= {tag for name, tag in WRAPPER_TAGS.items() if entry.name.startswith(name)}
    if metadata.get("carries") and "perceptual" in tags and "two-alternative" in tags:
        tags.add("history")
    return tags


def natural(spec: FigureSpec, view: View, tags: set[str]) -> bool:
    """Say whether a figure is drawn by default: the task has its tags, and the trials the columns that it is about."""
    from ngym_cli.figures.style import Unavailable

    if not spec.default or (spec.tags and not spec.tags & tags):
        return False
    if spec.name == "similarity":
        return len(view.sources) > 1
    try:
        table = view.series[0].table if spec.columns or spec.any_of else {}
    except Unavailable:  # no evaluation yet
        return False
    enough = not spec.any_of or any(all(name in table for name in names) for names in spec.any_of)
    return enough and all(name in table for name in spec.columns)
