"""Printed output of `ngym list`, `info` and `check`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import numpy as np
from rich.table import Table
from rich.text import Text

from neurogym.sampling.distributions import KINDS
from ngym_cli import terminal
from ngym_cli.agents.per_task import LineResult, flags
from ngym_cli.catalog.listing import LISTINGS, plural, singular
from ngym_cli.config.values import write_value
from ngym_cli.errors import printable
from ngym_cli.terminal import Row, cell, print_columns

#: Columns that a narrow terminal does without, with the width (characters) below which it does.
WIDE: dict[str, int] = {
    "tags": 120,
    "also called": 100,
    "started": 100,
    "order": 110,
    "changes": 90,
    "steps": 75,
    "networks": 90,
    "learned by": 140,
    "defaults": 90,
    "actions": 80,
    "drawn for": 90,
}

#: Columns whose values are never folded.
UNFOLDED_COLUMNS = ("task", "status", "performance", "steps")

#: Tags that too many tasks have to be a heading.
COMMON = ("perceptual", "supervised")

# -- listings -------------------------------------------------------------------------------------------------------


def print_rows(kind: str, rows: Sequence[Row]) -> None:
    """Print a listing: a table on a terminal, with tasks by tag; elsewhere a tab-separated line per row."""
    out = terminal.console()
    names = LISTINGS[kind].columns + tuple(name for name in ("line", "ceiling") if rows and name in rows[0])
    if any(row.get("model") for row in rows):
        names += ("model", "score", "trials")  # of fits
    if not out.is_terminal:
        for row in rows:
            sys.stdout.write("\t".join(printable(cell(row.get(name))) for name in names) + "\n")
        return
    columns = [name for name in names if out.width >= WIDE.get(name, 0)]
    for group, members in _grouped(kind, rows).items():
        out.print(_table(kind, columns, group, members))
    noun = singular(kind)
    out.print(f"{len(rows)} {noun if len(rows) == 1 else plural(noun)}", style="dim")


def _table(kind: str, names: Sequence[str], group: str, rows: Sequence[Row]) -> Table:
    """Return rows of a listing as a table for a terminal."""
    table = Table(title=group or None, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for name in names:
        is_whole_word = name in UNFOLDED_COLUMNS or (name == "id" and kind not in ("runs", "recipes"))
        table.add_column(name, overflow="fold", no_wrap=is_whole_word)
    for before, row in zip([{}, *rows], rows, strict=False):
        repeated = kind == "differences" and before.get("task") == row["task"]
        cells = ["" if repeated and name == "task" else cell(row.get(name)) for name in names]
        table.add_row(*(Text(printable(text)) for text in cells))
    return table


def _grouped(kind: str, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows by heading, most common heading first; "" stands for no heading."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        tags = list(row.get("tags") or ["other"])
        telling = [tag for tag in tags if tag not in COMMON] or tags
        groups.setdefault(telling[0] if kind == "tasks" else "", []).append(row)
    return dict(sorted(groups.items(), key=lambda item: -len(item[1])))


# -- pages ----------------------------------------------------------------------------------------------------------


def print_page(page: Row) -> None:
    """Print a description in readable form with the address of the documentation page."""
    _print_page(page)
    from ngym_cli.catalog import addresses  # imports all that has a page

    where = addresses.of(page["kind"], page["id"])
    if where is not None:
        terminal.console().print(f"\npage  {where}", soft_wrap=True)


def _print_page(page: Row) -> None:
    out = terminal.console()
    out.print(Text.assemble((page["id"], "bold"), f"  {page['description']}"), soft_wrap=True)
    if page["paper"]:
        paper = [str(word) for word in (page["paper"], page.get("link")) if word]  # a user's task may say anything
        out.print(", ".join(paper), style="dim", soft_wrap=True)
    if page["kind"] != "task":
        _print_reference(page)
        return
    out.print()
    _print_rows(_task_rows(page))
    if page["arguments"]:
        out.print(Text.assemble("\n  ", ("arguments", "dim"), "  --task-arg NAME=VALUE"), soft_wrap=True)
        arguments, meaning = page["arguments"], page["meaning"]
        print_columns([(name, _default(value), meaning.get(name, "")) for name, value in arguments.items()], indent=2)
    out.print()
    from ngym_cli.figures.watch import overview

    for line in overview(page["trial"]):
        out.print(line, soft_wrap=True)


def _print_rows(rows: Mapping[str, object]) -> None:
    """Print labels and values; empty values are left out."""
    for label, value in rows.items():
        if value not in ("", None, [], {}):
            text = cell(value).replace("``", "")
            terminal.console().print(Text.assemble("  ", (f"{label:<16}", "dim"), f" {text}"), soft_wrap=True)


def _print_reference(page: Row) -> None:
    """Print the page of anything but a task."""
    out = terminal.console()
    out.print()
    _print_rows({"kind": page["kind"], **page["rows"]})
    if page["options"]:
        out.print(Text.assemble("\n  ", (page["flag"], "dim")), soft_wrap=True)
        print_columns(
            [
                (
                    row["id"],
                    _default(row["default"]),
                    row["range"],
                    ", ".join(filter(None, (row["meaning"], row["source"]))),
                )
                for row in page["options"]
            ],
            indent=2,
        )
    if page["kind"] == "paper":
        from ngym_cli.papers import results

        results.print_contents(page)
    if page["example"]:
        out.print(f"\n  example  {page['example']}", soft_wrap=True)


def _default(value: object) -> str:
    return "required" if value == "required" else f"={write_value(value)}"


def _task_rows(page: Row) -> Row:
    steps, ms = page["trial_steps"], page["trial_ms"]
    varies = f" on average (s.d. {ms['std']:.0f}, 95 % below {ms['percentile_95']:g}, longest {ms['max']:g})"
    action, advised, exception = page["action"], page["recommended"], page["learned_with"]
    usual = page["default_wrappers"]
    return {
        "also called": page["aliases"],
        "tags": page["tags"],
        "time step": f"{page['dt']:g} ms",
        "periods (ms)": ", ".join(f"{period['id']} {period['duration']}" for period in page["periods"]),
        "trial": f"{steps['mean']:g} steps, {ms['mean']:g} ms{varies if steps['std'] else ''}",
        "observation": f"{tuple(page['observation']['shape'])}  " + _named(page["observation"]["names"]),
        "action": (f"{action['n']} choices  " if "n" in action else f"{tuple(action['shape'])}  ")
        + _named(action["names"]),
        "rewards": page["rewards"],
        "conditions": ", ".join(f"{key} {_short(value)}" for key, value in page["conditions"].items()),
        "chance": page["chance"],
        "no-stimulus baseline": _blind(page["blind"]),
        "ceiling": _ceiling(page),
        "needs as input": "the last reward (pass_reward)" if page["needs_reward"] else None,
        "across trials": "carries information" if page["history_dependent"] else "trials are independent",
        "learned by": f"supervised: {page['supervised']}" if page["supervised"] else None,
        "learned": _learned(page),
        "by default": f"{usual['flags']}: {usual['reason']}" if usual else None,
        "recommended": f"{advised['flags']} (--recommended): {advised['reason']}" if advised else None,
        "learned with": _settings(exception) if exception else None,
        **{f"with {name}": _settings(defaults) for name, defaults in page["learned_with_others"].items()},
        "differences": "; ".join(page["differences"]),
    }


def _settings(defaults: Row) -> str:
    """Return the settings of a task that differ from those of the algorithm, and why."""
    settings = ", ".join(f"{name}={write_value(value)}" for name, value in defaults["settings"].items())
    return f"{settings}: {defaults['reason']}" if settings else defaults["reason"]


def _learned(page: Row) -> str:
    """Return steps, seconds and seeds of the default line, and which other learners learn the task."""
    rows = {name: LineResult(**row) for name, row in page["learned"].items()}
    usual = rows.pop("default", None)
    text = str(usual) if usual else f"{page['steps']:,} steps by default; not measured yet"
    return text + "".join(f"; {flags(name)} {row.share}" for name, row in rows.items())


def _blind(score: float | None) -> str | None:
    """Best score of an agent that sees nothing but the time in the trial."""
    if score is None:
        return None
    all_of_it = ": no observation is needed to reach the best performance" if score >= 0.999 else ""
    return f"{score:.4f}, the best agent that sees nothing{all_of_it}"


def _ceiling(page: Row) -> str:
    ceiling, full = page["ceiling"], page["ceiling_with_reward"]
    if ceiling is None:
        return f"not known: {page['no_ceiling']}"
    text = f"{ceiling['performance']:.4f}, {ceiling['method']}"
    return text if full is None else f"{text}; with the last reward as input {full['performance']:.4f}"


def _named(names: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {_short(where)}" for key, where in names.items())


def _short(values: object) -> str:
    if not isinstance(values, list):
        return str(values)
    if values and values[0] in KINDS:
        return f"{values[0]} {_short(list(values[1])) if np.ndim(values[1]) else values[1]}"
    texts = [f"{value:g}" if isinstance(value, int | float) else str(value) for value in values]
    return "/".join(texts) if len(texts) <= 8 else f"{texts[0]}..{texts[-1]} ({len(texts)})"


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


def print_checked(report: Row, in_full: bool) -> None:
    """Print the results of a task's checks: failures, advice, and on request the checks that passed."""
    out = terminal.console()
    failed = [row for row in report["checks"] if row["status"] == "failed"]
    errors, advice = ([row for row in failed if row["kind"] == kind] for kind in ("error", "advice"))
    performed = [row for row in report["checks"] if row["status"] != "nothing to check"]
    score = f"{sum(row['status'] == 'ok' for row in performed)} of {len(performed)} checks passed"
    verdict = "does not work" if errors else "works"
    out.print(f"{report['id']:<48} {verdict:<14} {score:<23} {report['seconds']:>6.1f} s", soft_wrap=True)
    for kind, rows in (("error", errors), ("advice", advice)):
        for row in rows:
            location = f"{row['place']}: " if row["place"] else ""
            out.print(Text.assemble("  ", (f"{kind:<7}", "bold"), f" {location}{row['problem']}"), soft_wrap=True)
            out.print(f"          {row['id']}: {row['description']}", style="dim", soft_wrap=True)
    if in_full:
        for row in performed:
            if row["status"] == "ok":
                out.print(f"  ok      {row['id']}: {row['description']}", soft_wrap=True)
        for row in report["checks"]:
            if row["status"] == "nothing to check":
                out.print(f"  -       {row['id']}: nothing to check, {row['problem']}", style="dim", soft_wrap=True)
    skipped = sum(row["status"] == "skipped" for row in report["checks"])
    if skipped:
        out.print(f"  {skipped} more checks fail for the same reason", soft_wrap=True)
