"""Data of figures: trials, recordings and networks of runs, as series with a colour each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from neurogym.analysis.trial_tables import Table, select
from ngym_cli.errors import UserError, option
from ngym_cli.figures.source import Evaluated, Series, Source
from ngym_cli.figures.style import COLOURS, FigureUnavailableError, colours, shades, unavailable_on
from ngym_cli.figures.wording import Wording
from ngym_cli.runs import recordings
from ngym_cli.runs.conditions import conditions_of
from ngym_cli.runs.summary import perturbations_in_words
from ngym_cli.terminal import REFERENCES

if TYPE_CHECKING:
    from ngym_cli.environments.properties import TaskProperties


class Recorder(Protocol):
    """Function that records quantities of a run, or of all checkpoints of the run."""

    def __call__(self, source: Source, quantities: Sequence[str], checkpoints: bool = False) -> object:
        """Record quantities, names as in ``ngym eval --record``."""


#: Result of an analysis.
Found = TypeVar("Found")

#: Most perturbed evaluations drawn next to the intact evaluation.
MOST_PERTURBED = 5


@dataclass(frozen=True)
class ComparisonRequest:
    """Populations and metrics of a comparison.

    Attributes:
        metrics: names in ``neurogym.dynamics.METRICS``; empty for the usual metrics.
        across: ``period`` or ``layer`` to compare the parts of each run; empty for whole trials.
        files: recordings of animals or other tools.
        delays: delays of the operators of dynamics; None to choose by the data.
        rank: rank of these operators; None to choose by the data.
    """

    metrics: tuple[str, ...] = ()
    across: str = ""
    files: tuple[Path, ...] = ()
    delays: int | None = None
    rank: int | None = None


@dataclass
class PlotData:
    """Everything that a figure may draw.

    Attributes:
        sources: the runs.
        series: behaviour, one colour each.
        by: columns to split by.
        compare: by what runs are put together.
        named: evaluations that were requested by name.
        memory: cache of results that several figures need, under folders and settings, never under labels.
        quick: draw intervals of few bootstrap samples, or none.
        required: columns that the present figure needs.
        table: numbers behind the present figure, written as Parquet next to the figure; empty for most figures.
        left_out: why a run, an evaluation or a condition is missing in the present figure, by its label.
        caption: result of the present figure in a sentence, printed with its path; empty for most figures.
        recorder: records quantities of a run for figures that need a recording; None draws existing recordings only.
        requested: whether figures were named, for which more is recorded than for the default figures.
        comparison: populations and metrics of figures that compare populations.
        held: constant inputs in words, as after ``--input``; none for the mean input of each condition and period.
        axes: two axes of the plane of figures of dynamics, as after ``--axes``.
    """

    sources: list[Source]
    by: tuple[str, ...] = ()
    compare: str | None = None
    named: tuple[str, ...] = ()
    pair: tuple[float, float] | None = None
    memory: dict[tuple[object, ...], Any] = field(default_factory=dict)
    quick: bool = False
    required: tuple[str, ...] = ()
    table: Table = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    caption: str = ""
    recorder: Recorder | None = None
    requested: bool = False
    comparison: ComparisonRequest = field(default_factory=ComparisonRequest)
    held: tuple[str, ...] = ()
    axes: tuple[str, str] = ("pc1", "pc2")

    def draws(self, usual: int, least: int = 20) -> int:
        """Return the number of bootstrap samples of an interval."""
        return least if self.quick else usual

    @property
    def first(self) -> Source:
        """The first run."""
        return self.sources[0]

    @property
    def properties(self) -> TaskProperties:
        """Known properties of the task of the first run."""
        return self.first.properties

    @property
    def references(self) -> dict[str, float | None]:
        """Reference scores next to training performance, where equal for all runs."""
        return common_references([source.manifest for source in self.sources])

    @property
    def evaluated_references(self) -> dict[str, float | None]:
        """Reference scores next to evaluation performance, where equal for all evaluations."""
        return common_references([evaluated.summary for series in self.series for _, evaluated in series.members])

    @property
    def trials(self) -> Table:
        """Trials of the evaluation that is drawn: column name to array; of the first, if there are several.

        Raises:
            FigureUnavailableError: if there is no evaluation.
        """
        return self.series[0].table

    @property
    def recording(self) -> recordings.Recording:
        """Recorded quantities of the latest recorded evaluation, whose trials are ``view.recorded.table``.

        ``recording["activity"]`` has the shape (steps, units); trial k is ``offsets[k]:offsets[k + 1]`` of the steps.

        Raises:
            FigureUnavailableError: if nothing was recorded.
        """
        return self.recorded.recording

    @cached_property
    def series(self) -> list[Series]:
        """Evaluations, grouped as requested.

        Raises:
            FigureUnavailableError: if a run has none.
        """
        if self.named:
            return self._coloured(
                [
                    (self._name(source, name), [(source, source.named(name))])
                    for source in self.sources
                    for name in self.named
                ]
            )
        groups: dict[str, list[tuple[Source, Evaluated]]] = {}
        for source in self.sources:
            groups.setdefault(source.property(self.compare or "run"), []).append((source, source.main()))
        if len(self.sources) > 1:
            prefix = "" if self.compare in (None, "alg", "network", "task", "run") else f"{self.compare} "
            return self._coloured([(prefix + label, members) for label, members in groups.items()])
        perturbed = [each for each in self.first.evaluations if each.perturbed and not each.along_training]
        main = self.first.main()
        rows = [("intact" if perturbed and main.intact else self.first.agent_name, [(self.first, main)])]
        others = [each for each in perturbed[-MOST_PERTURBED:] if each is not main]
        rows += [(perturbations_in_words(each.summary), [(self.first, each)]) for each in others]
        return self._coloured(rows)

    def _name(self, source: Source, name: str) -> str:
        if len(self.sources) == 1:
            return name
        return f"{source.run.name}, {name}" if len(self.named) > 1 else source.run.name

    @staticmethod
    def _coloured(rows: Sequence[tuple[str, list[tuple[Source, Evaluated]]]]) -> list[Series]:
        return [
            Series(label, colour, members) for (label, members), colour in zip(rows, colours(len(rows)), strict=True)
        ]

    @property
    def recorded(self) -> Series:
        """Latest recorded evaluation of the first run without perturbation; else the first series.

        Raises:
            FigureUnavailableError: if nothing was recorded.
        """
        return self.series[0] if self.named else self.recorded_of(self.first)

    def recorded_of(self, source: Source, quantities: Sequence[str] = ()) -> Series:
        """Return the latest recorded evaluation of a run, preferably of the intact network.

        Args:
            source: the run.
            quantities: what the recording must contain.

        Raises:
            FigureUnavailableError: if nothing was recorded.
        """
        key = ("recorded", source.run.path)
        if key not in self.memory or not self.memory[key].has(quantities):
            rows = [each for each in source.evaluations if each.has(quantities) and not each.along_training]
            if not rows:
                names = ",".join(quantities or recordings.NETWORK_QUANTITIES)
                raise FigureUnavailableError(f"nothing was recorded; ngym eval --record {names} does")
            intact = [each for each in rows if each.intact]
            self.memory[key] = Series(source.run.name, COLOURS[0], [(source, (intact or rows)[-1])])
        return self.memory[key]

    def unrecorded(self, quantities: Sequence[str], every_run: bool = False) -> list[Source]:
        """Return the runs without a recording of quantities.

        Args:
            quantities: names, as in ``ngym eval --record``.
            every_run: whether all runs need a recording, or only the first.
        """
        if self.named:
            return [] if self.series[0].has(quantities) else self.sources[:1]
        sources = self.sources if every_run else self.sources[:1]
        return [
            each for each in sources if not any(e.has(quantities) and not e.along_training for e in each.evaluations)
        ]

    def require_recorder(self, quantities: Sequence[str]) -> Recorder:
        """Return the function that makes a missing recording.

        Raises:
            FigureUnavailableError: if recordings are not made here, or the user named an evaluation.
        """
        if self.recorder is None or self.named:
            raise FigureUnavailableError(f"no {quantities[0]} recorded; ngym eval --record {','.join(quantities)} does")
        if not self.requested and len(self.properties.observation_space.shape or ()) > 1:
            raise FigureUnavailableError("of tasks with images recordings are made only for figures that are named")
        return self.recorder

    def record(self, quantities: Sequence[str], every_run: bool = False) -> None:
        """Choose a recording for each run, and make it where the run has none and a recorder is given.

        Args:
            quantities: names, as in ``ngym eval --record``.
            every_run: whether all runs need a recording, or only the first.

        Raises:
            FigureUnavailableError: if a recording is missing and cannot be made.
        """
        for source in self.unrecorded(quantities, every_run):
            record = self.require_recorder(quantities)
            with unavailable_on(UserError):
                record(source, quantities)
            source.reread()
        if not self.named:
            for source in self.sources if every_run else self.sources[:1]:
                self.recorded_of(source, quantities)

    def parts(self, *required: str, keep: Callable[[Table], np.ndarray] | None = None) -> list[Series]:
        """Return the trials of every series, split by the requested columns.

        A series that lacks a column is noted in ``left_out`` if another has it.

        Args:
            required: columns beyond those that the figure declares.
            keep: picks rows of a table.

        Raises:
            FigureUnavailableError: if no series has the columns, or no trials are left.
        """
        result, missing = [], {}
        for series in self.series:
            table = series.table
            absent = [name for name in (*self.required, *required, *self.by) if name not in table]
            if absent:
                missing[series.text] = f"the trials have no column {absent[0]}"
                continue
            if keep is not None:
                table = select(table, keep(table))
            result += list(self._split(series, table))
        if not result:
            raise FigureUnavailableError(next(iter(missing.values())))
        self.left_out.update(missing)
        if not any(len(piece.table["trial"]) for piece in result):
            raise FigureUnavailableError("no trials of this kind")
        return result

    def analysed(self, all_series: Sequence[Series], analysis: Callable[[Series], Found]) -> list[tuple[Series, Found]]:
        """Return every part with the result of an analysis; parts that cannot be analysed are noted in ``left_out``.

        Args:
            all_series: trials, with a colour each.
            analysis: returns the result, or raises ``ValueError`` with the reason.

        Raises:
            FigureUnavailableError: if no part can be analysed.
        """
        result, failed = [], {}
        for series in all_series:
            try:
                result.append((series, analysis(series)))
            except ValueError as error:
                failed[series.label] = str(error)
        if not result:
            raise FigureUnavailableError(next(iter(failed.values()), "no trials"))
        self.left_out.update(failed)
        return result

    def _split(self, series: Series, table: Table) -> Iterator[Series]:
        if not self.by:
            yield Series(series.text, series.colour, rows=table)
            return
        conditions = conditions_of(table, self.by)
        n, alone = len(conditions.levels), len(self.series) == 1
        if n > 24:
            raise UserError(f"{option('--by')} {','.join(self.by)}: {n} conditions are too many to tell apart")
        words = Wording(self.properties.labels, table)
        for k, (level, colour) in enumerate(zip(conditions.levels, shades(n), strict=True)):
            text = ", ".join(words.phrase(name, value) for name, value in level.items())
            rows = select(table, conditions.index == k)
            yield Series(text if alone else f"{series.text}, {text}", colour if alone else series.colour, rows=rows)


def common_references(records: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Return chance, no-stimulus baseline and ceiling where all records agree, otherwise None."""
    by_name: dict[str, float | None] = {}
    for name in REFERENCES:
        values = {record.get(name) for record in records}
        by_name[name] = values.pop() if len(values) == 1 else None
    return by_name
