"""Script `figures.py` of a paper: functions that measure a seed's networks, and functions that draw.

A function whose name begins with ``figure_`` draws; it takes a `ngym_cli.papers.paper_runs.PaperRuns` and returns a
Matplotlib figure, and its docstring is the caption. A function whose name begins with ``control_`` takes a trained run
and returns a run that follows a wrong strategy, which its docstring names; see `ngym_cli.papers.controls`. Every other
public function is a measure: it takes the trained run of each part that its claim names, and returns a number, or
several by name.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ngym_cli.config.extensions import import_file
from ngym_cli.errors import UserError, unknown
from ngym_cli.papers.model import SCRIPT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ngym_cli.papers.paper_runs import PaperRun, PaperRuns


FIGURE, CONTROL = "figure_", "control_"
#: Prefix of measures that the task declares, as in ``measures.weber_fraction``.
OF_THE_TASK = "measures."


class Script:
    """Script of a paper, which is parsed but not run until a measure or figure is requested.

    Args:
        folder: of the paper.
    """

    def __init__(self, folder: Path):
        self.path = folder / SCRIPT

    @cached_property
    def functions(self) -> dict[str, tuple[int, float]]:
        """Public functions, each with the least and the largest number of positional arguments.

        Raises:
            UserError: if it is not Python.
        """
        if not self.path.is_file():
            return {}
        try:
            tree = ast.parse(self.path.read_text(encoding="utf-8"), self.path.name)
        except (OSError, ValueError, SyntaxError) as error:
            raise UserError(f"{self.path}: {' '.join(str(error).split())}") from None
        arities = {}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                n_arguments = len(node.args.posonlyargs) + len(node.args.args)
                most = float("inf") if node.args.vararg else n_arguments
                arities[node.name] = n_arguments - len(node.args.defaults), most
        return arities

    @property
    def figures(self) -> list[str]:
        """Names of the figures, in order."""
        return [name for name in self.functions if name.startswith(FIGURE)]

    def check(self, measure: str, n_parts: int, where: str) -> None:
        """Refuse a measure that does not exist or takes another number of runs.

        Raises:
            UserError: with the nearest name.
        """
        from ngym_cli.papers.measures import MEASURES

        if measure.startswith(OF_THE_TASK):
            return
        measures_here = [name for name in self.functions if not name.startswith((FIGURE, CONTROL))]
        if measure not in measures_here and measure not in MEASURES:
            kind = f"measure (a function of {SCRIPT}, or of the library)"
            raise UserError(f"{where}: {unknown(kind, measure, [*measures_here, *MEASURES])}")
        least, most = self.functions[measure] if measure in measures_here else (1, 1)
        if not least <= n_parts <= most:
            several = f"{least} or more" if most == float("inf") else f"{least} to {most}"
            takes = str(least) if least == most else several
            raise UserError(f"{where}: the claim names {n_parts} parts, {measure} takes {takes}")

    @property
    def module(self) -> ModuleType:
        """The script, imported.

        Raises:
            UserError: if it cannot be.
        """
        return import_file(self.path, "script of a paper")

    def measure(self, name: str) -> Callable[[PaperRun], object]:
        """Return a measure: from the script, from the library, or declared by the task."""
        from ngym_cli.papers.measures import MEASURES

        if name in self.functions:
            return getattr(self.module, name)
        if name.startswith(OF_THE_TASK):
            return lambda run: run.measured(name.removeprefix(OF_THE_TASK))
        return MEASURES[name]

    def control(self, name: str) -> Callable[[PaperRun], PaperRun]:
        """Return a function that makes a control from a trained run: of the script without prefix, or the library."""
        from ngym_cli.papers import controls

        return partial(controls.library, name) if name in controls.LIBRARY else getattr(self.module, CONTROL + name)

    def describe_control(self, name: str) -> str:
        """Return what a control is, and what it tests."""
        from ngym_cli.papers.controls import LIBRARY

        return LIBRARY.get(name) or " ".join((inspect.getdoc(self.control(name)) or "").split())

    def check_control(self, name: str, where: str) -> None:
        """Refuse a control that does not exist.

        Raises:
            UserError: with the nearest name.
        """
        from ngym_cli.papers.controls import LIBRARY

        names = [each.removeprefix(CONTROL) for each in self.functions if each.startswith(CONTROL)] + list(LIBRARY)
        if name not in names:
            kind = f"control (a function control_... of {SCRIPT}, or of the library)"
            raise UserError(f"{where}: {unknown(kind, name, names)}")

    def figure(self, name: str) -> Callable[[PaperRuns], Figure]:
        """Return a function that draws."""
        return getattr(self.module, name)

    @cached_property
    def digest(self) -> str:
        """Digest of the code in the paper's folder."""
        digest = hashlib.sha256()
        for path in sorted(self.path.parent.glob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
        return digest.hexdigest()[:16]
