"""Printed output of `ngym list`, `info` and `check`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import numpy as np
from rich.table import Table
from rich.text import Text

from neurogym.sampling.distributions import KINDS
from ngym_cli import terminal
from ngym_cli.agents.per_task import LineResult
from ngym_cli.catalog import addresses
from ngym_cli.catalog.listing import LISTINGS, singular
from ngym_cli.catalog.reference import plural
from ngym_cli.config.values import write_value
from ngym_cli.terminal import Row, cell, print_columns, printable

#: Columns that a narrow terminal does without, with the width (characters) below which it does.
WIDE: dict[str, int] = {
    "tags": 120, "also called": 100, "started": 100, "order": 110, "changes": 90, "steps": 75, "networks": 90,
    "learned by": 140,
    "defaults": 90, "actions": 80, "drawn for": 90,
}  # fmt: skip

#: Columns whose values are never folded.
WHOLE = ("task", "status", "performance", "steps")

#: Tags that too many tasks have to be a heading.
COMMON = ("perceptual", "supervised")

# -- listings -------------------------------------------------------------------------------------------------------


def print_rows(what: str, rows: Sequence[Row]) -> None:
    """Print a listing: a table on a terminal, with tasks by tag; elsewhere a tab-separated line per row."""
    out = terminal.console()
    names = LISTINGS[what].shown + (("ceiling",) if rows and "ceiling" in rows[0] else ())
    if not out.is_terminal:
        for row in rows:
            sys.stdout.write("\t".join(printable(cell(row.get(name))) for name in names) + "\n")
        return
    shown = [name for name in names if out.width >= WIDE.get(name, 0)]
    for group, members in _grouped(what, rows).items():
        out.print(_table(what, shown, group, members))
    one = singular(what)
    out.print(f"{len(rows)} {one if len(rows) == 1 else plural(one)}", style="dim")


def _table(what: str, names: Sequence[str], group: str, rows: Sequence[Row]) -> Table:
    """Return rows of a listing as a table for a terminal."""
    table = Table(title=group or None, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for name in names:
        whole = name in WHOLE or (name == "id" and what not in ("runs", "recipes"))
        table.add_column(name, overflow="fold", no_wrap=whole)
    for before, row in zip([{}, *rows], rows, strict=False):
        repeated = what == "differences" and before.get("task") == row["task"]
        cells = ["" if repeated and name == "task" else cell(row.get(name)) for name in names]
        table.add_row(*(Text(printable(text)) for text in cells))
    return table


def _grouped(what: str, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows by heading, most common heading first; "" stands for no heading."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        tags = list(row.get("tags") or ["other"])
        telling = [tag for tag in tags if tag not in COMMON] or tags
        groups.setdefault(telling[0] if what == "tasks" else "", []).append(row)
    return dict(sorted(groups.items(), key=lambda item: -len(item[1])))


# -- pages ----------------------------------------------------------------------------------------------------------


def print_page(found: Row) -> None:
    """Print a description in readable form with the address of the documentation page."""
    _print_page(found)
    where = addresses.of(found["kind"], found["id"])
    if where is not None:
        terminal.console().print(f"\npage  {where}", soft_wrap=True)


def _print_page(found: Row) -> None:
    out = terminal.console()
    out.print(Text.assemble((found["id"], "bold"), f"  {found['description']}"), soft_wrap=True)
    if found["paper"]:
        paper = [str(part) for part in (found["paper"], found.get("link")) if part]  # a user's task may say anything
        out.print(", ".join(paper), style="dim", soft_wrap=True)
    if found["kind"] != "task":
        _print_reference(found)
        return
    out.print()
    _print_rows(_task_rows(found))
    if found["arguments"]:
        out.print(Text.assemble("\n  ", ("arguments", "dim"), "  --task-arg NAME=VALUE"), soft_wrap=True)
        given, meaning = found["arguments"], found["meaning"]
        print_columns([(name, _default(value), meaning.get(name, "")) for name, value in given.items()], indent=2)
    out.print()
    from ngym_cli.figures.watch import overview

    for line in overview(found["trial"]):
        out.print(line, soft_wrap=True)


def _print_rows(rows: Mapping[str, object]) -> None:
    """Print labels and values; empty values are left out."""
    for label, value in rows.items():
        if value not in ("", None, [], {}):
            terminal.console().print(Text.assemble("  ", (f"{label:<16}", "dim"), f" {cell(value)}"), soft_wrap=True)


def _print_reference(found: Row) -> None:
    """Print the page of anything but a task."""
    out = terminal.console()
    out.print()
    _print_rows({"kind": found["kind"], **found["rows"]})
    if found["options"]:
        out.print(Text.assemble("\n  ", (found["flag"], "dim")), soft_wrap=True)
        print_columns([
            (row["id"], _default(row["default"]), row["range"],
             ", ".join(filter(None, (row["meaning"], row["source"]))))
            for row in found["options"]
        ], indent=2)  # fmt: skip
    if found["kind"] == "paper":
        from ngym_cli.papers import results

        results.print_contents(found)
    if found["example"]:
        out.print(f"\n  example  {found['example']}", soft_wrap=True)


def _default(value: object) -> str:
    return "required" if value == "required" else f"={write_value(value)}"


def _task_rows(found: Row) -> Row:
    steps, ms = found["trial_steps"], found["trial_ms"]
    varies = f" on average (s.d. {ms['std']:.0f}, 95 % below {ms['percentile_95']:g}, longest {ms['max']:g})"
    action, advised, exception = found["action"], found["recommended"], found["learned_with"]
    settings = ", ".join(f"{name}={value}" for name, value in exception["settings"].items()) if exception else ""
    return {
        "also called": found["aliases"],
        "tags": found["tags"],
        "time step": f"{found['dt']:g} ms",
        "periods (ms)": ", ".join(f"{period['id']} {period['duration']}" for period in found["periods"]),
        "trial": f"{steps['mean']:g} steps, {ms['mean']:g} ms{varies if steps['std'] else ''}",
        "observation": f"{tuple(found['observation']['shape'])}  " + _named(found["observation"]["names"]),
        "action": (f"{action['n']} choices  " if "n" in action else f"{tuple(action['shape'])}  ")
        + _named(action["names"]),
        "rewards": found["rewards"],
        "conditions": ", ".join(f"{key} {_short(value)}" for key, value in found["conditions"].items()),
        "chance": found["chance"],
        "blind": _blind(found["blind"]),
        "ceiling": _ceiling(found),
        "needs as input": "the last reward (pass_reward)" if found["needs_reward"] else None,
        "across trials": "carries information" if found["carries"] else "trials are independent",
        "learned by": f"supervised: {found['taught']}" if found["taught"] else None,
        "learned": _learned(found),
        "learned elsewhere": found["learned_elsewhere"],
        "recommended": f"{advised['flags']} (--recommended): {advised['reason']}" if advised else None,
        "learned with": f"{settings}: {exception['reason']}" if exception else None,
        "differences": "; ".join(found["differences"]),
    }


def _learned(found: Row) -> str:
    """Return steps, seconds and seeds of the default line, and which other learners learn the task."""
    rows = {name: LineResult(**row) for name, row in found["learned"].items()}
    usual = rows.pop("default", None)
    text = str(usual) if usual else f"{found['steps']:,} steps by default; not measured yet"
    return text + "".join(f"; {name} {row.share}" for name, row in rows.items())


def _blind(score: float | None) -> str | None:
    """Best score of an agent that sees nothing but the time in the trial."""
    if score is None:
        return None
    all_of_it = ": no observation is needed to reach the best performance" if score >= 0.999 else ""
    return f"{score:.4f}, the best agent that sees nothing{all_of_it}"


def _ceiling(found: Row) -> str:
    ceiling, full = found["ceiling"], found["ceiling_with_reward"]
    if ceiling is None:
        return f"not known: {found['no_ceiling']}"
    text = f"{ceiling['performance']:.4f}, {ceiling['method']}"
    return text if full is None else f"{text}; with the last reward as input {full['performance']:.4f}"


def _named(names: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {_short(where)}" for key, where in names.items())


def _short(values: object) -> str:
    if not isinstance(values, list):
        return str(values)
    if values and values[0] in KINDS:
        return f"{values[0]} {_short(list(values[1])) if np.ndim(values[1]) else values[1]}"
    shown = [f"{value:g}" if isinstance(value, int | float) else str(value) for value in values]
    return "/".join(shown) if len(shown) <= 8 else f"{shown[0]}..{shown[-1]} ({len(shown)})"


# -- checks ---------------------------------------------------------------------------------------------------------


def print_old_uses(rows: Sequence[Row]) -> None:
    """Print the older names that scripts use, with the present names."""
    out = terminal.console()
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


def print_checked(found: Row, in_full: bool) -> None:
    """Print the results of a task's checks: failures, advice, and on request the checks that passed."""
    out = terminal.console()
    failed = [row for row in found["checks"] if row["status"] == "failed"]
    errors, advice = ([row for row in failed if row["kind"] == kind] for kind in ("error", "advice"))
    made = [row for row in found["checks"] if row["status"] != "nothing to check"]
    score = f"{sum(row['status'] == 'ok' for row in made)} of {len(made)} checks passed"
    said = "does not work" if errors else "works"
    out.print(f"{found['id']:<48} {said:<14} {score:<23} {found['seconds']:>6.1f} s", soft_wrap=True)
    for kind, rows in (("error", errors), ("advice", advice)):
        for row in rows:
            place = f"{row['place']}: " if row["place"] else ""
            out.print(Text.assemble("  ", (f"{kind:<7}", "bold"), f" {place}{row['problem']}"), soft_wrap=True)
            out.print(f"          {row['id']}: {row['description']}", style="dim", soft_wrap=True)
    if in_full:
        for row in made:
            if row["status"] == "ok":
                out.print(f"  ok      {row['id']}: {row['description']}", soft_wrap=True)
        for row in found["checks"]:
            if row["status"] == "nothing to check":
                out.print(f"  -       {row['id']}: nothing to check, {row['problem']}", style="dim", soft_wrap=True)
    skipped = sum(row["status"] == "skipped" for row in found["checks"])
    if skipped:
        out.print(f"  {skipped} more checks fail for the same reason", soft_wrap=True)
