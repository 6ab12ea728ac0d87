"""What ``ngym plot`` draws of a run, and why something cannot be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ngym_cli import runs
from ngym_cli.errors import UserError, unknown
from ngym_cli.recording import Table, read_trials

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = ("learning", "psychometric", "chronometric", "conditions", "examples")
FORMATS = ("png", "svg", "pdf")

#: Trials shown as examples.
EXAMPLES = 5


def draw(
    reference: str, root: Path, names: Sequence[str], file_format: str, out: Path | None, trust: bool = False
) -> list[dict[str, Any]]:
    """Draw figures of a run.

    Args:
        reference: folder, name or ``latest``.
        root: folder of all runs.
        names: which figures; none for all that can be drawn.
        file_format: png, svg or pdf.
        out: where to; default the run's ``figures``.
        trust: let the run's record name a user's own code.

    Returns:
        Rows of ``id``, ``path`` (None if it could not be drawn) and ``reason``.

    Raises:
        UserError: on an unknown figure or format, a damaged run, or a figure asked for that cannot be drawn.
    """
    for name in names:
        if name not in FIGURES:
            raise unknown("figure", name, FIGURES)
    if file_format not in FORMATS:
        raise unknown("format", file_format, FORMATS)
    source = Source(runs.find(reference, root), trust)
    folder = out or source.run.path / "figures"
    rows = [_draw_one(source, name, folder / f"{name}.{file_format}") for name in names or FIGURES]
    for row in rows:
        if names and row["path"] is None:
            raise UserError(f"{row['id']}: {row['reason']}")
    return rows


def _draw_one(source: Source, name: str, path: Path) -> dict[str, Any]:
    from ngym_cli.plotting import Unavailable, styled

    try:
        with styled():
            save_figure(getattr(source, name)(), path)
    except Unavailable as reason:
        return {"id": name, "path": None, "reason": str(reason)}
    return {"id": name, "path": str(path), "reason": None}


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure, as a whole or not at all, the same bytes for the same figure.

    Raises:
        UserError: if the file cannot be written.
    """
    dates: dict[str, dict[str, Any]] = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    try:
        with runs.atomic_path(path) as temporary:
            figure.savefig(temporary, metadata=dates.get(path.suffix))
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None


class Source:
    """What a run offers to draw; read when it is first needed.

    Args:
        run: the run.
        trust: let its record name a user's own code.
    """

    def __init__(self, run: runs.Run, trust: bool = False):
        """See the class."""
        self.run, self.trust = run, trust
        self.manifest = run.manifest()

    @cached_property
    def evaluated(self) -> tuple[Table, dict[str, Any]]:
        """Trials and summary of the latest evaluation.

        Raises:
            Unavailable: if there is none.
        """
        from ngym_cli.plotting import Unavailable

        folders = self.run.evaluations()
        if not folders:
            raise Unavailable("the run has no evaluation yet; ngym eval makes one")
        return read_trials(folders[-1] / "trials.parquet"), runs.read_json(folders[-1] / "summary.json")

    @cached_property
    def facts(self) -> Any:
        """What is known of the task."""
        from ngym_cli.building import inspect

        return inspect(self.run.config(self.trust))

    def learning(self) -> Figure:
        """Draw performance along training."""
        from ngym_cli.plotting import learning_curve

        columns = ("trial", "step", "performance", "reward", "aborts", "outcome")
        summaries = [runs.read_json(folder / "summary.json") for folder in self.run.evaluations()]
        made = {found["model_steps"]: found for found in summaries if found.get("model_steps") is not None}
        table = read_trials(self.run.path / runs.TRIALS, columns)
        return learning_curve(table, self.manifest.get("chance"), self.manifest.get("ceiling"), made)

    def psychometric(self) -> Figure:
        """Draw choices against strength."""
        from ngym_cli.plotting import psychometric

        return psychometric(self.evaluated[0])

    def chronometric(self) -> Figure:
        """Draw reaction times against strength."""
        from ngym_cli.plotting import chronometric

        return chronometric(self.evaluated[0])

    def conditions(self) -> Figure:
        """Draw performance by condition."""
        from ngym_cli.plotting import conditions

        table, found = self.evaluated
        return conditions(table, self.facts.conditions, found.get("chance"), found.get("ceiling"))

    def examples(self) -> Figure:
        """Draw a few fresh trials."""
        from ngym_cli.agents import Agent
        from ngym_cli.building import build_venv
        from ngym_cli.models import load_policy
        from ngym_cli.plotting import example_trials
        from ngym_cli.plotting.examples import record

        config = self.run.config(self.trust)
        policy, _ = load_policy(self.run, config)
        venv = build_venv(config, 1)
        venv.seed(0)
        trace = record(venv, Agent(policy, 1, seed=0), EXAMPLES)
        return example_trials(trace, self.facts.dt, self.facts.labels)
