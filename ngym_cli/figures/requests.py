"""Implementation of ``ngym plot`` for runs, with reasons for figures that cannot be drawn."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from neurogym.dynamics import METRICS
from ngym_cli import runs
from ngym_cli.config import extensions
from ngym_cli.config.values import split_entries
from ngym_cli.errors import UserError, check_known, one_line, option, unknown
from ngym_cli.figures.files import FigureFiles, FigureRow, drawing_failed, save_with_table
from ngym_cli.figures.registry import FIGURES, FigureSpec, find_figure, tags_of
from ngym_cli.figures.source import Source
from ngym_cli.figures.style import FigureUnavailableError, styled
from ngym_cli.figures.view import ComparisonRequest, PlotData
from ngym_cli.runs.recordings import ENDINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ngym_cli.environments.properties import TaskProperties

#: Figures that show little for a single evaluation.
NOT_TELLING = ("learning", "development", "examples")

logger = logging.getLogger(__name__)

#: Most letters that the names of runs may take in the name of a file.
MAX_RUN_LETTERS = 60

ACROSS = ("period", "layer")
COMPARE = ("alg", "network", "seed", "task", "run")


def words(chosen: Sequence[str], root: Path) -> tuple[list[str], list[str]]:
    """Separate runs from names of figures among the words of the command line.

    Args:
        chosen: words; a word that is a figure's name is one unless it is a folder.
        root: folder of all runs.

    Returns:
        References of runs, ``latest`` if there are none, and names of figures.

    Raises:
        UserError: if one of several words, at any position, is neither.
    """
    figures = [word for word in chosen if _is_figure(word)]
    references = [word for word in chosen if word not in figures]
    for word in references if len(chosen) > 1 else ():
        if word != runs.LATEST and "/" not in word and Path(word).suffix not in ENDINGS and not Path(word).exists():
            try:
                runs.find(word, root)
            except UserError:
                names = [*FIGURES, *(run.name for run in runs.find_all(root))]
                raise unknown("figure or run", word, names) from None
    return references or [runs.LATEST], figures


def _is_figure(word: str) -> bool:
    """Return whether a word names a figure: built in, a reference to a user's own, or offered by a package."""
    is_user_defined = extensions.is_reference(word) or word.endswith(".py") or word in extensions.offered("figure")
    return (word in FIGURES or is_user_defined) and not Path(word).is_dir()


def view(
    references: Sequence[str],
    root: Path,
    by: str | Sequence[str] | None = None,
    compare: str | None = None,
    evaluations: str | None = None,
    trust: bool = False,
    pair: str | None = None,
    held: Sequence[str] = (),
    axes: str | Sequence[str] | None = None,
) -> PlotData:
    """Return the data for the figures of runs.

    Args:
        references: folders, names or ``latest``.
        root: folder of all runs.
        by: columns to split by, as a sequence or separated by commas.
        compare: by what runs are put together.
        evaluations: names of the evaluations to draw, separated by commas.
        trust: accept user code named in a run's record.
        pair: two choices out of several, separated by a comma.
        held: constant inputs of figures of dynamics, see ``ngym_cli.agents.dynamics.held_input``.
        axes: two axes of the plane of figures of dynamics, as a sequence or separated by a comma.

    Raises:
        UserError: if a run does not exist or is damaged, or the pair or the axes are not two.
    """
    if compare is not None:
        check_known(f"word of {option('--group-by')}", compare, COMPARE)
    named = tuple(split_entries(evaluations))
    sources = [Source(runs.find(reference, root), trust) for reference in references]
    for source in sources:
        for name in named:
            source.named(name)
    plane = split_entries(axes or "pc1,pc2")
    if len(plane) != 2:
        raise UserError(f"{option('--axes')} takes two axes, as in pc1,output0; got '{','.join(plane)}'")
    return PlotData(
        sources,
        tuple(split_entries(by)),
        compare,
        named,
        _pair(pair),
        held=tuple(held),
        axes=(plane[0], plane[1]),
    )


def comparison(
    references: Sequence[str],
    metrics: str | Sequence[str] | None = None,
    across: str | None = None,
    delays: int | None = None,
    rank: int | None = None,
) -> tuple[list[str], ComparisonRequest]:
    """Separate runs from recordings in files, and return the request for a comparison.

    Args:
        references: folders, names or ``latest``, and files.
        metrics: names of metrics, as a sequence or separated by commas.
        across: ``period`` or ``layer``.
        delays: delays of the operators; None to choose by the data.
        rank: rank of the operators; None to choose by the data.

    Raises:
        UserError: on an unknown metric or part, delays or a rank below 1, or if a file does not exist.
    """
    for flag, number in (("--delays", delays), ("--rank", rank)):
        if number is not None and number < 1:
            raise UserError(f"{option(flag)} {number}: expected a whole number of 1 or more")
    for metric in split_entries(metrics):
        check_known("metric", metric, METRICS)
    if across:
        check_known("part", across, ACROSS)
    files = [Path(word) for word in references if Path(word).suffix in ENDINGS]
    for path in files:
        if not path.is_file():
            raise UserError(f"no file {path}")
    rest = [word for word in references if Path(word).suffix not in ENDINGS] or [runs.LATEST]
    return rest, ComparisonRequest(tuple(split_entries(metrics)), across or "", tuple(files), delays, rank)


def _pair(text: str | None) -> tuple[float, float] | None:
    """Return two choices by number in the trial table."""
    if text is None:
        return None
    pieces = split_entries(text)
    if len(pieces) != 2 or not all(piece.isdecimal() for piece in pieces) or pieces[0] == pieces[1]:
        raise UserError(f"{option('--pair')} takes the numbers of two choices, as in 1,2; got '{text}'")
    return float(pieces[0]), float(pieces[1])


class AvailableFigure(TypedDict):
    """Entry of the list of figures of a run.

    Attributes:
        id: name of the figure.
        description: one line.
        available: whether the figure can be drawn.
        default: whether the figure is drawn unless figures are named.
        reason: why the figure cannot be drawn.
    """

    id: str
    description: str
    available: bool
    default: bool
    reason: str | None


def draw(
    seen: PlotData, names: Sequence[str], files: FigureFiles, on_start: Callable[[str], object] = lambda name: None
) -> list[FigureRow]:
    """Draw figures.

    Args:
        seen: the runs.
        names: names of figures; by default the figures suited to the task.
        files: files to write.
        on_start: called with the name of each figure before the figure is drawn.

    Raises:
        UserError: on an unknown figure, format or style; or if nothing was drawn although figures were requested by
            name or the run is damaged.
    """
    specs = [find_figure(name) for name in names] or natural_figures(seen)
    places = files.places(seen.first.run.path, [f"{spec.name}{suffix(seen)}" for spec in specs])
    results = []
    for spec in specs:
        on_start(spec.name)
        result = drawn(seen, spec, files.style)
        if result.damaged:  # nothing is written of a damaged run
            raise UserError(f"{spec.name}: {result.reason}")
        results.append((result, dict(seen.left_out), seen.table, seen.caption))
    if names and not any(result.figure for result, *_ in results):
        reasons = (f"{spec.name}: {result.reason}" for spec, (result, *_) in zip(specs, results, strict=True))
        raise UserError("; ".join(reasons))
    rows: list[FigureRow] = []
    for spec, (result, left_out, table, sentence), position in zip(specs, results, places, strict=True):
        row: FigureRow = {
            "id": spec.name,
            "path": None,
            "left_out": {},
            "reason": result.reason,
        }
        if result.figure is not None:
            save_with_table(result.figure, table, files, position)
            row["path"], row["left_out"] = str(position), left_out
            if sentence:
                row["caption"] = sentence
        rows.append(row)
    return rows


class FigureResult(NamedTuple):
    """Figure, or None with the reason, and whether the run is damaged."""

    figure: Figure | None
    reason: str | None
    damaged: bool


def natural_figures(seen: PlotData) -> list[FigureSpec]:
    """Return the figures suited to the runs, except figures that cannot be drawn."""
    tags = tags_of(seen)
    return [spec for spec in FIGURES.values() if spec.suits(seen, tags)]


def ranked_figures(seen: PlotData) -> list[FigureSpec]:
    """Return the figures of a single evaluation that need no recording, the most informative first.

    Figures specific to the kind of task precede general figures, and figures of more columns precede others.
    """
    ranked = sorted(natural_figures(seen), key=lambda spec: (not spec.tags, -len(spec.columns)))
    return [spec for spec in ranked if spec.name not in NOT_TELLING and not spec.record]


def suffix(seen: PlotData) -> str:
    """Return the suffix of a figure's file name: the runs, the split and the evaluations."""
    several = f"-{_run_names(seen)}" if len(seen.sources) > 1 else ""
    together = f"-compare-{seen.compare}" if seen.compare else ""
    by = f"-by-{'-'.join(seen.by)}" if seen.by else ""
    named = f"-{'-'.join(seen.named)}" if seen.named else ""
    request = seen.comparison
    pieces = [request.across, *request.metrics, *(path.stem for path in request.files)]
    pieces += [f"delays-{request.delays}"] if request.delays else []
    pieces += [f"rank-{request.rank}"] if request.rank else []
    pieces += [f"input-{'-'.join(seen.held)}"] if seen.held else []
    pieces += list(seen.axes) if seen.axes != ("pc1", "pc2") else []
    compared = "".join(f"-{piece}" for piece in pieces if piece)[:MAX_RUN_LETTERS]
    full = several + together + by + named + compared
    return runs.safe_name(full) if full else ""


def _run_names(seen: PlotData) -> str:
    """Return the names of runs as part of a file name that is unique to the set of runs."""
    names = [source.run.name for source in seen.sources]
    joined = "-vs-".join(names)
    parents = {source.run.path.parent.resolve() for source in seen.sources}
    if len(parents) == 1 and len(set(names)) == len(names) and len(joined) <= MAX_RUN_LETTERS:
        return joined
    digest = hashlib.sha256("\n".join(str(source.run.path.resolve()) for source in seen.sources).encode()).hexdigest()
    short = joined if len(joined) <= MAX_RUN_LETTERS else f"{names[0][:MAX_RUN_LETTERS]}-and-{len(names) - 1}-more"
    return f"{short}-{digest[:6]}"


def drawn(seen: PlotData, spec: FigureSpec, style: str = "screen") -> FigureResult:
    """Return a figure, or None and the reason; a failure does not affect other figures.

    Args:
        seen: the runs.
        spec: the figure.
        style: screen or paper.
    """
    try:
        with styled(style):
            return FigureResult(spec.draw(seen), None, False)
    except (FigureUnavailableError, UserError) as error:
        return FigureResult(None, str(error), isinstance(error, UserError))
    except Exception as error:
        logger.debug("figure %s", spec.name, exc_info=True)
        return FigureResult(None, drawing_failed(error), False)


def best_figure(
    run: runs.RunFolder, quick: bool = True, properties: TaskProperties | None = None
) -> tuple[str, Figure] | None:
    """Return the most informative figure of a run's evaluation and the figure's name, or None if no figure is suitable.

    Args:
        run: the run.
        quick: use few bootstrap samples, because the user waits at the end of a run.
        properties: properties of the task, where already known.
    """
    seen = PlotData([Source(run, trust=True, properties=properties)], quick=quick)
    for spec in ranked_figures(seen):
        figure = drawn(seen, spec).figure
        if figure is not None:
            return spec.name, figure
    return None


def available(seen: PlotData) -> list[AvailableFigure]:
    """Return every figure with availability, default and reason."""
    tags = tags_of(seen)
    rows: list[AvailableFigure] = []
    for spec in FIGURES.values():
        seen.requested = False
        default = _reason(spec, seen) is None and spec.suits(seen, tags)
        seen.requested = True
        reason = _reason(spec, seen)
        rows.append(
            {
                "id": spec.name,
                "description": spec.summary,
                "available": reason is None,
                "default": default,
                "reason": reason,
            }
        )
    return rows


def _reason(spec: FigureSpec, seen: PlotData) -> str | None:
    """Return why a figure cannot be drawn, or None."""
    try:
        spec.require(seen)
    except (FigureUnavailableError, UserError) as error:
        return str(error)
    except Exception as error:
        logger.debug("figure %s", spec.name, exc_info=True)
        return f"the check failed: {one_line(error)}"
    return None
