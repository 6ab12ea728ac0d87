"""What the terminal shows: tables, results, and JSON where that was asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress_bar import ProgressBar
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

#: Width of what is written to a file or a pipe: nothing is folded there.
WIDTH = 1_000_000

#: Columns of each listing that are shown; ``--json`` has them all.
SHOWN: dict[str, tuple[str, ...]] = {
    "tasks": ("id", "also called", "description", "tags"),
    "wrappers": ("id", "description", "changes", "order"),
    "algs": ("id", "description", "actions", "networks"),
    "networks": ("id", "description", "defaults"),
    "figures": ("id", "description", "drawn for"),
    "launchers": ("id", "description"),
    "analyses": ("id", "description"),
    "recipes": ("id", "description"),
    "papers": ("id", "title", "paper", "link"),
    "tags": ("id", "tasks"),
    "runs": ("id", "status", "steps", "performance", "tags", "started"),
    "sweeps": ("id", "status", "runs", "performance"),
    "differences": ("task", "difference"),
}

#: Scores that a performance is shown beside: random actions, the best agent that sees nothing, the ideal observer.
REFERENCES = ("chance", "blind", "ceiling")

#: Columns that a narrow terminal does without, with the width (characters) below which it does.
WIDE: dict[str, int] = {
    "tags": 120, "also called": 100, "started": 100, "order": 110, "changes": 90, "steps": 75, "networks": 90,
    "defaults": 90, "actions": 80, "drawn for": 90,
}  # fmt: skip

#: Columns whose values are never folded.
WHOLE = ("task", "status", "performance", "steps")

#: Tags that too many tasks have to be a heading.
COMMON = ("perceptual", "supervised")


class SafeConsole(Console):
    """A console that prints text as it is: a name in it neither moves the cursor nor is read as markup."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Return the segments of something, without what would change the terminal."""
        for segment in super().render(renderable, options):
            text = segment.text
            if segment.control or text.isprintable():
                yield segment
            else:
                yield segment._replace(text="\n".join(printable(line) for line in text.split("\n")))


def console(stderr: bool = False) -> Console:
    """Return the console that results (or, on stderr, progress) are printed on.

    Where there is no terminal, lines are not folded at 80.
    """
    out = SafeConsole(stderr=stderr, highlight=False, emoji=False, markup=False)
    if not out.is_terminal:
        out = SafeConsole(stderr=stderr, highlight=False, emoji=False, markup=False, width=WIDTH)
    return out


def left_in_words(seconds: float) -> str:
    """Return how long something still takes.

    Example:
        >>> left_in_words(38.2)
        '38 s left'
    """
    return f"{in_words(seconds)} left"


def in_words(seconds: float) -> str:
    """Return a duration as people say it.

    Example:
        >>> in_words(38.2), in_words(130), in_words(4500)
        ('38 s', '2 min 10 s', '1 h 15 min')
    """
    whole = max(int(round(seconds)), 0)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def bar_row(what: str, done: int, total: int, *texts: str) -> Table:
    """Return one line with a bar between what is done and how far it is."""
    grid = Table.grid(padding=(0, 1, 0, 0), expand=True)
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1)
    for _ in texts:
        grid.add_column(no_wrap=True)
    grid.add_row(what, ProgressBar(total=max(total, 1), completed=min(done, total)), *texts)
    return grid


def print_columns(rows: Sequence[Sequence[str]], header: Sequence[str] = (), indent: int = 0, right: int = 0) -> None:
    """Print rows of cells one below the other: folded on a terminal, whole and without trailing blanks elsewhere.

    Args:
        rows: texts of the cells, equally many in each row.
        header: names of the columns.
        indent: blanks before each row.
        right: cells from the last that are numbers, flush right.
    """
    out, every = console(), [*([list(header)] if header else []), *map(list, rows)]
    if not every:
        return
    every = [[printable(text) for text in row] for row in every]
    numbers = len(every[0]) - right
    if out.is_terminal:
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for place in range(len(every[0])):
            table.add_column(overflow="fold", justify="right" if place >= numbers else "left", no_wrap=place == 0)
        for row in every:
            table.add_row(*(Text(" " * indent * (not place) + text) for place, text in enumerate(row)))
        out.print(table)
        return
    widths = [max(map(len, column)) for column in zip(*every, strict=True)]
    for row in every:
        cells = [
            text.rjust(width) if place >= numbers else text.ljust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        out.print(" " * indent + "  ".join(cells).rstrip(), soft_wrap=True)


def print_json(data: Any) -> None:
    """Print one JSON document."""
    from neurogym.messages.plain_data import plain

    sys.stdout.write(json.dumps(plain(data), indent=2) + "\n")


def print_rows(what: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a listing: a table on a terminal, tasks by tag; elsewhere one line per row with tabs between the cells."""
    out = console()
    names = SHOWN[what] + (("ceiling",) if rows and "ceiling" in rows[0] else ())
    if out.is_terminal:
        shown = [name for name in names if out.width >= WIDE.get(name, 0)]
        for group, members in _grouped(what, rows).items():
            out.print(_table(what, shown, group, members))
    else:
        for row in rows:
            sys.stdout.write("\t".join(printable(cell(row.get(name))) for name in names) + "\n")
        return
    noun = {"algs": "algorithms"}.get(what, what)
    one = {"analyses": "analysis", "differences": "difference"}.get(noun, noun.removesuffix("s"))
    out.print(f"{len(rows)} {noun if len(rows) != 1 else one}", style="dim")


def _table(what: str, names: Sequence[str], group: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return rows of a listing as a table for a terminal."""
    table = Table(title=group or None, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for name in names:
        whole = name in WHOLE or (name == "id" and what not in ("runs", "recipes"))
        table.add_column(name, overflow="fold", no_wrap=whole, ratio=None)
    for before, row in zip([{}, *rows], rows, strict=False):
        repeated = what == "differences" and before.get("task") == row["task"]
        cells = ["" if repeated and name == "task" else cell(row.get(name)) for name in names]
        table.add_row(*(Text(printable(text)) for text in cells))
    return table


def _grouped(what: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the rows under the heading that they belong to, most common heading first; "" is none."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        tags = list(row.get("tags") or ["other"])
        telling = [tag for tag in tags if tag not in COMMON] or tags
        groups.setdefault(telling[0] if what == "tasks" else "", []).append(row)
    return dict(sorted(groups.items(), key=lambda item: -len(item[1])))


def cell(value: Any) -> str:
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


def printable(text: str) -> str:
    """Return a text without what moves the cursor or changes the terminal; a record may come from anywhere."""
    return "".join(char if char.isprintable() else "?" for char in text)


def print_evaluation(found: Mapping[str, Any]) -> None:
    """Print the result of an evaluation: what the task is about, then performance beside chance and ceiling."""
    out = console()
    rows = [(row["label"], measure_in_words(row)) for row in found.get("measures", ())]
    spread = f" over {found['sessions']} sessions" if found.get("sessions") else ""
    interval = f"95 % interval {_range(found['performance_ci'])}{spread}"
    rows.append(("performance", f"{found['performance']:.4f}  {interval}"))
    beside = references_in_words(found)
    rows += [("", text) for text in beside]
    if found.get("blind") is not None and found["performance_ci"][0] <= found["blind"]:
        rows.append(("", "not clearly above an agent that sees nothing (blind)"))
    if found.get("no_ceiling"):
        rows.append(("ceiling", f"not known: {found['no_ceiling']}"))
    chosen = "most probable actions" if found["deterministic"] else "sampled actions"
    rows.append(("trials", f"{found['trials']:,}, {chosen}"))
    rows.append(("reward per trial", f"{found['reward_per_trial']:.4f}"))
    rows.append(("fixation breaks", f"{found['abort_rate']:.2%} of trials; no answer {found['miss_rate']:.2%}"))
    told = any(row["id"] == "reaction_time" for row in found.get("measures", ()))
    if found.get("reaction_times_vary") and not told:
        rows.append(("reaction time", f"{found['reaction_time']:.0f} ms on average"))
    print_columns(rows)
    if found["conditions"]:
        known = [name for name in REFERENCES if any(name in row for row in found["conditions"])]
        lines = [
            (row["condition"], cell(row["value"]), f"{row['performance']:.4f}", _range(row["performance_ci"]),
             f"{row['trials']:,}", *(cell(row[name]) if name in row else "" for name in known))
            for row in found["conditions"]
        ]  # fmt: skip
        out.print()
        header = ("condition", "value", "performance", "95 % interval", "trials", *known)
        print_columns(lines, header, right=len(header) - 1)


def measure_in_words(row: Mapping[str, Any]) -> str:
    """Return a measure with its interval and its unit."""
    digits = 0 if row["unit"] == "ms" else 4
    value, low, high = (row.get(name) for name in ("value", "low", "high"))
    unit = f" {row['unit']}" if row["unit"] else ""
    text = f"{value:.{digits}f}{unit}"
    known = isinstance(low, float) and isinstance(high, float) and low == low and high == high
    return text + (f"  95 % interval {low:.{digits}f} to {high:.{digits}f}" if known else "")


def references_in_words(found: Mapping[str, Any]) -> list[str]:
    """Return what the performance is beside, and how far it is from chance to the ceiling: a line each."""
    known = [(name, found.get(name)) for name in REFERENCES]
    known.insert(1, ("chance among answers", found.get("chance_among_answers")))
    lines = [", ".join(f"{name} {value:.4f}" for name, value in known if value is not None)]
    among, ceiling = found.get("chance_among_answers"), found.get("ceiling")
    floor = among if among is not None else found.get("chance")
    if floor is not None and ceiling is not None and ceiling > floor:
        share = (found["performance"] - floor) / (ceiling - floor)
        which = "chance among answers" if among is not None else "chance"
        lines.append(f"{share:.1%} of the way from {which} to the ceiling")
    return [line for line in lines if line]


def _range(interval: Sequence[float]) -> str:
    return f"{interval[0]:.4f} to {interval[1]:.4f}"


def print_evaluated(found: Mapping[str, Any], folder: Any, several: bool = False) -> None:
    """Print one evaluation: in full, or as a line where there are several; then what was written, and distances."""
    out = console()
    if several:
        low, high = found["performance_ci"]
        at = f" at {found['model_steps']:,} steps" if found.get("checkpoint") is not None else ""
        text = f"{found['performance']:.4f} [{low:.4f}, {high:.4f}], {found['trials']:,} trials{at}"
        out.print(f"{text}  {folder}", soft_wrap=True)
    else:
        print_evaluation(found)
        out.print(f"\ntrials and summary: {folder}", soft_wrap=True)
    for path in found.get("exports", ()):
        out.print(f"exported: {path}", soft_wrap=True)
    comparison = found.get("comparison")
    if comparison:
        rows = Table(title=f"\nbeside {comparison['data']}", title_justify="left", box=None, padding=(0, 2, 0, 0))
        for name in ("statistic", "agent", "data", "difference", "standard errors"):
            rows.add_column(name, justify="left" if name == "statistic" else "right")
        for row in comparison["statistics"]:
            numbers = [row["a"]["value"], row["b"]["value"], row["difference"]["value"], row["distance"]]
            rows.add_row(row["name"], *(cell(number) for number in numbers))
        out.print(rows)
        out.print(f"distance, root mean square: {cell(comparison['distance'])} standard errors")
        out.print(f"figure: {comparison['figure']}", soft_wrap=True)


def print_old_uses(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print what scripts use under older names, and what it is here."""
    out = console()
    for file in dict.fromkeys(row["file"] for row in rows):
        table = Table(box=None, pad_edge=False, title=file, title_justify="left")
        for name in ("line", "uses", "here", ""):
            table.add_column(name, overflow="fold")
        for row in rows:
            if row["file"] == file:
                cells = (str(row["line"]), row["uses"], row["status"], row["becomes"])
                table.add_row(*(Text(printable(text)) for text in cells))
        out.print(table)
    counts = {status: sum(row["status"] == status for row in rows) for status in ("works", "warns", "changed", "fails")}
    out.print(", ".join(f"{count} {status}" for status, count in counts.items() if count) or "nothing old is used")


def print_checked(found: Mapping[str, Any], in_full: bool) -> None:
    """Print how a task did in its checks: what does not work, what would be nicer, and in full what holds."""
    out = console()
    failed = [row for row in found["checks"] if row["status"] == "failed"]
    errors, advice = ([row for row in failed if row["kind"] == kind] for kind in ("error", "advice"))
    said = "does not work" if errors else "works"
    passed = sum(row["status"] == "ok" for row in found["checks"])
    score = f"{passed} of {len(found['checks'])} checks"
    out.print(f"{found['id']:<48} {said:<14} {score:<16} {found['seconds']:>6.1f} s", soft_wrap=True)
    for kind, rows in (("error", errors), ("advice", advice)):
        for row in rows:
            place = f"{row['place']}: " if row["place"] else ""
            out.print(Text.assemble("  ", (f"{kind:<7}", "bold"), f" {place}{row['problem']}"), soft_wrap=True)
            out.print(f"          {row['id']}: {row['description']}", style="dim", soft_wrap=True)
    if in_full:
        for row in found["checks"]:
            if row["status"] == "ok":
                out.print(f"  ok      {row['id']}: {row['description']}", soft_wrap=True)
    skipped = sum(row["status"] == "skipped" for row in found["checks"])
    if skipped:
        out.print(f"  {skipped} more checks fail for the same reason", soft_wrap=True)


def print_timed(found: Mapping[str, Any]) -> None:
    """Print what ``ngym_cli.training.timing.bench`` found."""
    steps = int(found["timesteps"])
    rows = [
        (str(row["n_envs"]), str(row["threads"]), f"{row['speed']:,.0f}", in_words(steps / row["speed"]))
        for row in found["tried"]
    ]
    print_columns(rows, ("environments", "threads", "steps a second", f"{steps:,} steps"), right=4)
    out = console()
    out.print(
        f"\nbest: {found['flags']}; {steps:,} steps take about {in_words(found['expected_seconds'])}, "
        f"of which learning {in_words(found['learning_seconds'])}",
        soft_wrap=True,
    )
    if len({row["n_envs"] for row in found["tried"]}) > 1:
        out.print(
            "More environments mean longer rollouts and fewer updates in as many steps; the number of threads changes "
            "nothing but time.",
            soft_wrap=True,
        )
