"""Markdown: escaping, tables, links, and the folder that pages are written to."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

#: A figure larger than this (bytes) as vectors is written as pixels instead, of this resolution (dots per inch).
LARGEST_VECTOR, PIXELS = 150_000, 110

#: Matplotlib's settings of pictures: letters are drawn, so that they look alike everywhere.
VECTORS: Mapping[Any, Any] = {"svg.fonttype": "path", "svg.hashsalt": "ngym"}

CODE = re.compile(r"(``.+?``|`[^`]+`)")
ROLE = re.compile(r":[a-z]+(?::[a-z]+)?:`~?([^`]+)`")
LETTERS = re.compile(r"([\\*_<>\[\]|$#])")


class Site:
    """The folder with the sources of the site: what changed is written, what is not made any more is removed.

    Args:
        folder: where to.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.made: set[Path] = set()

    def write(self, name: str, text: str | bytes) -> None:
        """Write a file, unless it is there with this content: what builds on it need not be built anew."""
        path = self.folder / name
        data = text if isinstance(text, bytes) else (text.strip("\n") + "\n").encode()
        self.made.add(path)
        if not path.is_file() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def picture(self, name: str, figure: Any) -> str:
        """Write a figure as vectors, or pixels where these would be large; returns the file's name with its ending."""
        import matplotlib

        from ngym_cli.figures.style import styled

        drawn, ending = io.BytesIO(), "svg"
        with styled(), matplotlib.rc_context(dict(VECTORS)):
            figure.savefig(drawn, format="svg", metadata={"Date": None}, dpi=PIXELS)
            if drawn.tell() > LARGEST_VECTOR:
                drawn, ending = io.BytesIO(), "png"
                figure.savefig(drawn, format="png", dpi=PIXELS, metadata={"Software": None})
        self.write(f"{name}.{ending}", drawn.getvalue())
        return f"{name}.{ending}"

    def copy(self, file: Path, name: str) -> str:
        """Write a picture that is a file already; returns the file's name with its ending."""
        self.write(f"{name}{file.suffix}", file.read_bytes())
        return f"{name}{file.suffix}"

    def remove_others(self) -> None:
        """Remove what an earlier call wrote and this one did not."""
        for path in sorted(self.folder.rglob("*"), reverse=True):
            if path.is_file() and path not in self.made:
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()


def escaped(text: Any) -> str:
    """Return a text so that Markdown shows it as it is, on one line."""
    return LETTERS.sub(r"\\\1", " ".join(str(text).split()))


def prose(text: str) -> str:
    """Return text of a docstring as Markdown on one line: code stays code, and everything else is shown as it is."""
    text = ROLE.sub(lambda found: f"`{found[1].rpartition('.')[2]}`", " ".join(text.split()))
    parts = CODE.split(text)
    return "".join(
        f"`{part.strip('`')}`" if number % 2 else LETTERS.sub(r"\\\1", part) for number, part in enumerate(parts)
    )


def sentence(text: str) -> str:
    """Return a text as a sentence: a capital first, a full stop at the end."""
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?', ':')) else '.'}" if text else ""


def paragraphs(docstring: str) -> list[str]:
    """Return the paragraphs of a docstring before its first section, without where it is from."""
    found = []
    for part in re.split(r"\n\s*\n", docstring.strip()):
        if re.match(r"(Args|Arguments|Returns|Yields|Raises|Attributes|Examples?|Source|Sources|Notes?):", part):
            break
        found.append(prose(part))
    return found


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Return a table; its cells are Markdown already. Empty where there is no row.

    Args:
        head: names of the columns.
        rows: cells.
        kind: a class for the style sheet, such as ``sortable``.
    """
    rows = list(rows)
    if not rows:
        return ""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(cell.replace(chr(10), ' ') for cell in row)} |" for row in rows]
    text = "\n".join(lines)
    return f":::{{container}} wide {kind}\n{text}\n:::" if kind else text


def code(text: str, language: str = "console") -> str:
    """Return a block of code."""
    return f"```{language}\n{text}\n```"


def figure(path: str, alt: str, caption: str = "") -> str:
    """Return a figure with what is said of it to those who do not see it."""
    below = f"\n{caption}\n" if caption else ""
    return f"```{{figure}} {path}\n:alt: {' '.join(alt.split())}\n{below}```"


def hidden_tree(entries: Iterable[str], caption: str = "", depth: int = 1) -> str:
    """Return the list of pages below a page, which the side bar shows."""
    lines = ["```{toctree}", ":hidden:", f":maxdepth: {depth}"]
    lines += [f":caption: {caption}"] if caption else []
    return "\n".join([*lines, "", *entries, "```"])


def value(given: Any) -> str:
    """Return a value as it is written in Python or on the command line, as code."""
    if isinstance(given, float):
        return f"`{given:g}`"
    if isinstance(given, Mapping):
        return ", ".join(f"{escaped(key)} {value(item)}" for key, item in given.items())
    return f"`{given}`"


def page(*parts: str) -> str:
    """Return parts as one page, a blank line between them; empty ones are left out."""
    return "\n\n".join(part for part in parts if part)


def render(template: str, **contents: Any) -> str:
    """Return a page from a template of this folder; templates may use the functions of this module.

    Args:
        template: name of the template.
        **contents: content of the page, by the names used in the template.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals |= {each.__name__: each for each in (escaped, prose, sentence, table, hidden_tree, value)}
    return re.sub(r"\n{3,}", "\n\n", environment.get_template(template).render(contents))
