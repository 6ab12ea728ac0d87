"""The first page, and the texts of the repository as pages."""

from __future__ import annotations

import re
from pathlib import Path

from docs.site import trained
from docs.site.writing import Site, render

ROOT = Path(__file__).resolve().parents[2]

#: Page -> text of the repository that it is.
TEXTS = {
    "architecture.md": "docs/architecture.md",
    "values.md": "docs/values.md",
    "old_command_line.md": "docs/old_command_line.md",
    "words_in_the_code.md": "docs/words_in_the_code.md",
    "migrating.md": "docs/migrating.md",
    "learned.md": "experiments/defaults/README.md",
    "readme.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
}

#: Folders of Markdown pages that are copied as they are; ``index.md`` lists the pages in reading order.
GUIDE = ROOT / "docs" / "guide"
TUTORIALS = ROOT / "docs" / "tutorials"

#: The badges of README.md, which lead to the pages of the repository where the site is not.
BADGES = re.compile(r"^\[!\[.*actions/workflows/.*\n\n?", re.MULTILINE)

#: Links of the texts that lead to what is not a page stay words.
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#)([^)]+)\)")


def write(site: Site, tasks: int) -> None:
    """Write the first page, the texts, the guide and the tutorials.

    Args:
        site: where to.
        tasks: how many there are.
    """
    for name, source in TEXTS.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        site.write(name, _as_page(text.replace("# ngym\n", "# Overview\n", 1) if source == "README.md" else text))
    for folder in (GUIDE, TUTORIALS):
        for path in sorted(folder.glob("*.md")):
            site.write(f"{folder.name}/{path.name}", path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "docs" / "static").glob("*")):
        site.write(f"static/{path.name}", path.read_bytes())
    site.write("index.md", first_page(tasks))


def _as_page(text: str) -> str:
    known = {source: name for name, source in TEXTS.items()} | {Path(s).name: n for n, s in TEXTS.items()}

    def linked(found: re.Match[str]) -> str:
        target, mark, place = found[2].partition("#")
        if (ROOT / target).parent in (GUIDE, TUTORIALS):
            return f"[{found[1]}]({target.removeprefix('docs/')}{mark}{place})"
        return f"[{found[1]}]({known[target]}{mark}{place})" if target in known else found[1]

    return LINK.sub(linked, BADGES.sub("", text).replace("](docs/static/", "](static/"))


def first_page(tasks: int) -> str:
    """Return the page that a reader sees first."""
    learned = sum(trained.minutes(id_) is not None for id_ in trained.trainable())
    opening = (GUIDE / "index.md").read_text(encoding="utf-8").split("\n\n")[1]  # its three cards
    cards = opening.replace("../static/", "static/").replace("](", "](guide/").replace("(guide/static/", "(static/")
    return render("index.md.jinja", cards=cards, tasks=tasks, learned=learned, trainable=len(trained.trainable()))
