"""All tasks: a gallery by tag, a table that can be sorted, and what the defaults learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from docs.site import trained
from docs.site.tasks import anchor, title
from docs.site.writing import Site, escaped, hidden_tree, page, prose, sentence, table
from ngym_cli.catalog.terminal_pages import COMMON

Found = Mapping[str, Any]


def write(site: Site, tasks: Sequence[Found]) -> None:
    """Write the pages about all tasks."""
    site.write("tasks/index.md", gallery(tasks))
    site.write("tasks/table.md", all_in_one_table(tasks))


def gallery(tasks: Sequence[Found]) -> str:
    """Return the gallery: every task once under each of its telling tags."""
    groups = by_tag(tasks)
    jump = " · ".join(f"[{escaped(tag)}](#{anchor(tag)})" for tag in groups)
    parts = [
        f"# {len(tasks)} tasks",
        "Each picture is one trial by the agent that does what is right: time runs to the right, a row is a channel of"
        " what is seen. The [table of all tasks](table.md) can be sorted by ceiling and by time to learn.",
        jump,
    ]
    for tag, members in groups.items():
        parts += [f"({anchor(tag)})=\n## {escaped(tag)}", _cards(members)]
    names = [f"{title(found['id'])} <{found['id']}>" for found in sorted(tasks, key=lambda found: found["id"].lower())]
    return page(*parts, hidden_tree(["table", *names]))


def by_tag(tasks: Sequence[Found]) -> dict[str, list[Found]]:
    """Return the tasks by tag, the most common first, but last those that nearly all have."""
    groups: dict[str, list[Found]] = {}
    for found in tasks:
        for tag in found["tags"] or ["no tag"]:
            groups.setdefault(tag, []).append(found)
    return dict(sorted(groups.items(), key=lambda group: (group[0] in COMMON, -len(group[1]), group[0])))


def _cards(members: Sequence[Found]) -> str:
    """Return pictures with names, which lead to the pages."""
    cards = [
        f"[![A trial of {title(found['id'])}, drawn]({found['id']}-small.png)"
        f'<span class="name">{escape(title(found["id"]))}</span>]({found["id"]}.md)'
        for found in sorted(members, key=lambda found: found["id"].lower())
    ]
    return "::::{container} cards\n" + "\n\n".join(cards) + "\n::::"


def all_in_one_table(tasks: Sequence[Found]) -> str:
    """Return the table of all tasks."""
    rows = [_row(found) for found in sorted(tasks, key=lambda found: found["id"].lower())]
    head = ("task", "what is done", "tags", "chance", "ceiling", "performance", "minutes to learn")
    return page(
        "# Table of all tasks",
        "A click on the head of a column sorts by it. *Performance* and *minutes to learn* are medians over the"
        " recorded seeds of `ngym run --task TASK`; minutes are of one processor core, and are empty where fewer than"
        " nine tenths of the seeds reach 95 % of the ceiling. [What the defaults learn](../learned.md) has more.",
        table(head, rows, "sortable"),
    )


def _row(found: Found) -> list[str]:
    seeds = list(trained.kept().get(found["id"], {}).values())
    took = trained.minutes(found["id"])
    scores = sorted(row["performance"] or 0 for row in seeds)
    ceiling = found["ceiling"]["performance"] if found["ceiling"] else None
    return [
        f"[{title(found['id'])}]({found['id']}.md)",
        sentence(prose(found["description"])),
        escaped(", ".join(found["tags"])),
        _number(found["chance"]),
        _number(ceiling),
        _number(scores[len(scores) // 2] if scores else None),
        f"{took:.1f}" if took is not None else "",
    ]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
