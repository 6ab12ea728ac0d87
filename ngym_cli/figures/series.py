"""Trials that are drawn together, with name and colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ngym_cli.figures.source import Evaluated, Source
from ngym_cli.figures.style import Unavailable
from ngym_cli.runs import recordings
from ngym_cli.runs.trial_table import Table, concatenate, read_trials

if TYPE_CHECKING:
    from matplotlib.typing import ColorType


@dataclass
class Series:
    """Trials that are drawn together, with name and colour: of evaluations, or some of their trials.

    Attributes:
        label: name in the legend.
        colour: colour of the series.
        members: run and evaluation of each part; empty for trials of other origin.
        rows: the trials, by default all trials of the evaluations.
    """

    label: str
    colour: ColorType
    members: list[tuple[Source, Evaluated]] = field(default_factory=list)
    rows: Table | None = None

    def with_table(self, table: Table, label: str = "") -> Series:
        """Return a series of other trials, with the same colour."""
        return replace(self, label=label or self.label, rows=table)

    @cached_property
    def table(self) -> Table:
        """The trials; environments of different runs are distinguished."""
        if self.rows is not None:
            return self.rows
        tables, first = [], 0
        for _, evaluated in self.members:
            table = read_trials(evaluated.folder / "trials.parquet")
            tables.append({**table, "env": table["env"] + first})
            first += int(table["env"].max(initial=-1)) + 1
        return concatenate(tables)

    @cached_property
    def recording(self) -> recordings.Recording:
        """Recording of the first evaluation.

        Raises:
            Unavailable: if nothing was recorded.
        """
        if not self.members[0][1].recorded:
            raise Unavailable(f"nothing was recorded; ngym eval --record {','.join(recordings.NEEDED)} does")
        return recordings.Recording(self.members[0][1].folder)

    def has(self, quantities: Sequence[str]) -> bool:
        """Return whether the first evaluation recorded all quantities.

        Args:
            quantities: names, as in ``ngym eval --record``.
        """
        return self.members[0][1].has(quantities)

    @property
    def text(self) -> str:
        """The label, with the number of runs where there are several."""
        return f"{self.label} ({len(self.members)} runs)" if len(self.members) > 1 else self.label
