"""What the terminal shows: tables, results, and JSON where that was asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

#: Width of what is written to a file or a pipe.
WIDTH = 160

#: Columns of each listing that are shown; ``--json`` has them all.
SHOWN: dict[str, tuple[str, ...]] = {
    "tasks": ("id", "description", "tags"),
    "wrappers": ("id", "description", "changes", "order"),
    "algs": ("id", "description", "actions", "networks"),
    "networks": ("id", "description", "defaults"),
    "tags": ("id", "tasks"),
    "runs": ("id", "status", "steps", "performance", "started"),
    "differences": ("task", "difference"),
}

#: Scores that a performance is shown beside: random actions, the best agent that sees nothing, the ideal observer.
REFERENCES = ("chance", "blind", "ceiling")

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


def print_json(data: Any) -> None:
    """Print one JSON document."""
    from neurogym.messages.plain_data import plain

    sys.stdout.write(json.dumps(plain(data), indent=2) + "\n")


def print_rows(what: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a listing as a table; tasks by tag."""
    out = console()
    names = SHOWN[what] + (("ceiling",) if rows and "ceiling" in rows[0] else ())
    for group, members in _grouped(what, rows).items():
        table = Table(title=group or None, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
        for name in names:
            table.add_column(name, overflow="fold", no_wrap=name in ("id", "task"))
        for before, row in zip([{}, *members], members, strict=False):
            repeated = what == "differences" and before.get("task") == row["task"]
            cells = ["" if repeated and name == "task" else cell(row.get(name)) for name in names]
            table.add_row(*cells)
        out.print(table)
    noun = {"algs": "algorithms"}.get(what, what)
    out.print(f"{len(rows)} {noun if len(rows) != 1 else noun.removesuffix('s')}", style="dim")


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
    """Print the result of an evaluation: performance beside chance and ceiling, then by condition."""
    out = console()
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column()
    spread = f" over {found['sessions']} sessions" if found.get("sessions") else ""
    interval = f"  95 % interval {_range(found['performance_ci'])}{spread}"
    table.add_row("performance", Text.assemble((f"{found['performance']:.4f}", "bold"), interval))
    beside = [f"{name} {found[name]:.4f}" for name in REFERENCES if found.get(name) is not None]
    if found.get("ceiling"):
        beside.append(f"that is {found['performance'] / found['ceiling']:.1%} of the ceiling")
    table.add_row("", ", ".join(beside)) if beside else None
    if found.get("blind") is not None and found["performance_ci"][0] <= found["blind"]:
        table.add_row("", "not clearly above an agent that sees nothing (blind)")
    if found.get("no_ceiling"):
        table.add_row("ceiling", Text(f"not known: {found['no_ceiling']}"))
    table.add_row(
        "trials", f"{found['trials']:,}, {'most probable action' if found['deterministic'] else 'drawn actions'}"
    )
    table.add_row("reward per trial", f"{found['reward_per_trial']:.4f}")
    table.add_row("fixation breaks, misses", f"{found['abort_rate']:.2%}, {found['miss_rate']:.2%} of trials")
    if found.get("reaction_time") is not None and found["reaction_time"] == found["reaction_time"]:
        table.add_row("mean reaction time", f"{found['reaction_time']:.0f} ms")
    out.print(table)
    if found["conditions"]:
        rows = Table(box=None, padding=(0, 2, 0, 0))
        beside = [name for name in REFERENCES if any(name in row for row in found["conditions"])]
        for name in ("condition", "value", "performance", "95 % interval", "trials", *beside):
            rows.add_column(name, justify="left" if name == "condition" else "right")
        for row in found["conditions"]:
            known = [cell(row[name]) if name in row else "" for name in beside]
            rows.add_row(
                row["condition"], cell(row["value"]), f"{row['performance']:.4f}", _range(row["performance_ci"]),
                f"{row['trials']:,}", *known,
            )  # fmt: skip
        out.print()
        out.print(rows)


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
    """Print how a task did in its checks: each of them, or only those that failed."""
    out = console()
    passed = sum(row["status"] == "ok" for row in found["checks"])
    score = f"{passed} of {len(found['checks'])} checks"
    out.print(f"{found['id']:<48} {found['status']:<7} {score:<16} {found['seconds']:>6.1f} s", soft_wrap=True)
    for row in found["checks"]:
        if row["status"] == "failed":
            line = Text.assemble(f"  {row['id']:<27} ", ("failed", "bold"), f"  {row['problem']}")
            out.print(line, soft_wrap=True)
            out.print(f"  {'':<27} {'':<7} expected: {row['description']}", style="dim", soft_wrap=True)
        elif in_full:
            out.print(f"  {row['id']:<27} ok      {row['description']}", soft_wrap=True)
