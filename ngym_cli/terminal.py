"""Terminal output: tables, results, and JSON on request."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import shlex
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from neurogym.messages.plain_data import plain
from ngym_cli.errors import printable

if TYPE_CHECKING:
    from neurogym.analysis.results import Estimate

#: Width of output to a file or a pipe, which is never folded.
WIDTH = 1_000_000

#: Seconds between lines of progress where there is no terminal to draw on.
SECONDS_PER_LINE = 10.0

#: Seconds between two pictures in a terminal or a notebook.
SECONDS_PER_PICTURE = 0.25

#: Width of pictures in a notebook, in letters.
WIDTH_IN_NOTEBOOK = 100

#: Reference scores of a performance: random actions, the best agent that sees nothing, the ideal observer.
REFERENCES = ("chance", "blind", "ceiling")
#: Printed words of reference scores, where they are not the keys of the records.
REFERENCE_WORDS = {"blind": "no-stimulus baseline"}


def reference_word(name: str) -> str:
    """Return the printed word of a reference score."""
    return REFERENCE_WORDS.get(name, name)


#: Row of a table or description as plain data: names to numbers, words, truth values, and lists and tables of these.
Row = dict[str, Any]


class SafeConsole(Console):
    """Console that prints names literally: no markup, no control sequences."""

    def on_broken_pipe(self) -> None:
        """Continue without progress if its reader is gone; end the program if the reader of results is gone."""
        if not self.stderr:
            super().on_broken_pipe()
            return
        self.quiet = True
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Return segments without control sequences."""
        for segment in super().render(renderable, options):
            text = segment.text
            if segment.control or text.isprintable():
                yield segment
            else:
                yield segment._replace(text="\n".join(printable(line) for line in text.split("\n")))


#: Text that receives what is printed, in place of standard output.
_text: ContextVar[io.StringIO | None] = ContextVar("text", default=None)


@contextlib.contextmanager
def printed_text() -> Iterator[io.StringIO]:
    """Collect what is printed on the console of results within a block, in a notebook as well."""
    text = io.StringIO()
    token = _text.set(text)
    try:
        yield text
    finally:
        _text.reset(token)


def console(stderr: bool = False) -> Console:
    """Return the console that results (or, on stderr, progress) are printed on.

    Where there is no terminal, lines are not folded at 80.
    """
    text = _text.get()
    if text is not None and not stderr:
        return SafeConsole(file=text, force_jupyter=False, highlight=False, emoji=False, markup=False, width=WIDTH)
    out = SafeConsole(stderr=stderr, highlight=False, emoji=False, markup=False)
    if out.is_terminal:
        return out
    return SafeConsole(stderr=stderr, highlight=False, emoji=False, markup=False, width=WIDTH)


def quoted(*words: object) -> str:
    """Return a command line that can be pasted into a shell.

    Example:
        >>> quoted("ngym", "plot", "runs/Mouse 3")
        "ngym plot 'runs/Mouse 3'"
    """
    return shlex.join(map(str, words))


def left_in_words(seconds: float) -> str:
    """Return the time left in words.

    Example:
        >>> left_in_words(38.2)
        '38 s left'
    """
    return f"{in_words(seconds)} left"


def in_words(seconds: float) -> str:
    """Return a duration in everyday units.

    Example:
        >>> in_words(38.2), in_words(130), in_words(4500), in_words(400_000)
        ('38 s', '2 min 10 s', '1 h 15 min', '4 days 15 h')
    """
    total = max(round(seconds), 0)
    if total < 60:
        return f"{total} s"
    minutes, rest = divmod(total, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} days {hours % 24} h"


def progress_bars(console: Console) -> Progress:
    """Return the progress bars that all commands show: name, bar, and the words in the field ``text``."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[text]}", markup=False),
    )
    return Progress(*columns, console=console, expand=True)


class LiveView:
    """View of work in progress: redrawn in a terminal or a notebook, and elsewhere a line now and then.

    Errors of output (the terminal was closed, the disk that a log goes to is full) are ignored; the work continues.

    Args:
        console: console to draw on.
        transient: remove the view from the terminal at the end.

    Attributes:
        pause: seconds between two pictures, or two lines.
    """

    def __init__(self, console: Console, transient: bool = True) -> None:
        self.console = console
        self._live = Live(console=console, auto_refresh=False, transient=transient) if console.is_terminal else None
        self._cell: Any = None
        self.draws = console.is_terminal or console.is_jupyter
        self.pause = SECONDS_PER_PICTURE if self.draws else SECONDS_PER_LINE
        self._last, self._line = -math.inf, ""

    def is_due(self) -> bool:
        """Return whether the pause since the last picture or line is over."""
        return time.monotonic() - self._last >= self.pause

    def show(self, picture: RenderableType, line: str = "", force: bool = False) -> None:
        """Draw the current state if a picture is due.

        Args:
            picture: state in a terminal or a notebook.
            line: state in a line, elsewhere; empty for none.
            force: draw also before the picture is due.
        """
        if not (force or self.is_due()) or not (self.draws or line):
            return
        self._last = time.monotonic()
        with contextlib.suppress(OSError):
            if self._live is not None:
                self._live.start()
                self._live.update(picture, refresh=True)
            elif self.draws:
                self._show_in_notebook(picture)
            elif line != self._line:
                self._line = line
                self.console.print(line, soft_wrap=True)

    def _show_in_notebook(self, picture: RenderableType) -> None:
        from IPython.display import HTML, display

        page = SafeConsole(record=True, file=io.StringIO(), width=WIDTH_IN_NOTEBOOK, force_jupyter=False)
        page.print(picture)
        html = HTML(page.export_html(inline_styles=True, code_format="<pre>{code}</pre>"))
        if self._cell is None:
            self._cell = display(html, display_id=True)
        else:
            self._cell.update(html)

    def say(self, text: str) -> None:
        """Print a line above the view."""
        with contextlib.suppress(OSError):
            self.console.print(text, soft_wrap=not self.console.is_terminal)  # a terminal would break words

    def stop(self) -> None:
        """End the view, of which a notebook keeps nothing; the next picture begins another."""
        with contextlib.suppress(OSError):
            if self._live is not None:
                self._live.stop()
            if self._cell is not None:
                self._cell.update({}, raw=True)
                self._cell = None
        self._last = -math.inf


def plain_table(names: Iterable[str], right: Collection[str] = ()) -> Table:
    """Return a table without lines.

    Args:
        names: of the columns.
        right: names of the columns of numbers, flush right.
    """
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(name, justify="right" if name in right else "left")
    return table


def print_columns(rows: Sequence[Sequence[str]], header: Sequence[str] = (), indent: int = 0, right: int = 0) -> None:
    """Print rows of cells, folded on a terminal, unfolded and without trailing blanks elsewhere; no marks of code.

    Args:
        rows: texts of the cells, equally many in each row.
        header: names of the columns.
        indent: blanks before each row.
        right: cells from the last that are numbers, flush right.
    """
    out, every = console(), [*([list(header)] if header else []), *map(list, rows)]
    if not every:
        return
    every = [[printable(text).replace("``", "") for text in row] for row in every]
    columns, numbers = list(zip(*every, strict=True)), len(every[0]) - right
    if out.is_terminal:
        longest = [max(len(word) for text in column for word in text.split() or [""]) for column in columns]
        gap = 2 if sum(longest) + 2 * len(longest) <= out.width else 1
        table = Table(box=None, show_header=False, padding=(0, gap, 0, 0))
        for column_index, word in enumerate(longest):
            justify: JustifyMethod = "right" if column_index >= numbers else "left"
            narrowest = min(word, out.width // len(longest) if column_index < numbers else word)
            table.add_column(overflow="fold", justify=justify, no_wrap=column_index == 0, min_width=narrowest)
        for row in every:
            table.add_row(*(Text(" " * indent * (not column_index) + text) for column_index, text in enumerate(row)))
        out.print(table)
        return
    widths = [max(map(len, column)) for column in columns]
    for row in every:
        placed = enumerate(zip(row, widths, strict=True))
        cells = [text.rjust(width) if index >= numbers else text.ljust(width) for index, (text, width) in placed]
        out.print(" " * indent + "  ".join(cells).rstrip(), soft_wrap=True)


def print_json(data: object) -> None:
    """Print data as a JSON document."""
    sys.stdout.write(json.dumps(plain(data), indent=2) + "\n")


def print_outcome(document: Mapping[str, object], text: object, as_json: bool) -> None:
    """Print the outcome of a command: as JSON, or as text that is neither wrapped nor read as markup."""
    print_json(document) if as_json else console().print(str(text), soft_wrap=True, markup=False)


def cell(value: object) -> str:
    """Return a value as the text of a table's cell."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        if isinstance(value.get("performance"), float):
            return f"{value['performance']:.4f}"
        return ", ".join(f"{key} {cell(item)}" for key, item in value.items()) or "-"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "-"
    return str(value)


def with_interval(estimate: Estimate, form: str = ".4f", unit: str = "") -> str:
    """Return an estimate as text that names the interval.

    Example:
        >>> from neurogym.analysis.results import Estimate
        >>> with_interval(Estimate(182, 170, 190), ".0f", "ms")
        '182 ms  95 % interval [170, 190]'
    """
    interval = estimate.interval(form)
    return f"{estimate.value:{form}} {unit}".rstrip() + (f"  95 % interval {interval}" if interval else "")


def estimate_cells(estimate: Estimate, form: str = ".4f") -> tuple[str, str]:
    """Return the cells of an estimate and of the interval; "-" for an unknown value."""
    return ("-" if math.isnan(estimate.value) else format(estimate.value, form)), estimate.interval(form)
