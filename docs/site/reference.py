"""Pages of what else has a name: wrappers, algorithms, networks, figures, analyses, models, launchers, modules."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from docs.site import models, pictures
from docs.site.writing import Site, code, escaped, hidden_tree, page, prose, sentence, table, value
from ngym_cli.catalog import listing, reference
from ngym_cli.catalog.listing import plural
from ngym_cli.config import docstrings

#: Kind -> what is said of all of its parts.
KINDS = {
    "wrapper": "What can be put around a task: `--wrappers`, innermost first.",
    "algorithm": "How an agent learns: `--alg`, with `--set NAME=VALUE` for hyperparameters.",
    "network": "What an agent is: `--network`, with `--units`, `--network-arg NAME=VALUE`.",
    "figure": "What `ngym plot` draws of a run.",
    "analysis": "Functions of `neurogym.analysis` on plain arrays and trial tables.",
    "model": "Models of choices: `ngym fit TABLE --model NAME`, with `NAME:KEY=VALUE`.",
    "launcher": "Where `ngym sweep` makes its runs: `--on`.",
    "term": "Words as ngym uses them, from `ngym info WORD`.",
}


def write(site: Site, kind: str, name: str) -> None:
    """Write the page of a name."""
    example = {"figure": pictures.example, "model": models.example}.get(kind)
    shown = example(site, name) if example else ""
    site.write(f"{plural(kind)}/{name}.md", _named(reference.REFERENCE_ENTRIES[kind][1](name), shown))


def names(kind: str) -> list[str]:
    """Return the names of a kind, in the order of their listing."""
    return [row["id"] for row in listing.named(kind)]


def write_list(site: Site, kind: str) -> None:
    """Write the page that lists a kind."""
    rows, title = listing.named(kind), plural(kind).capitalize()
    lines = [(f"[{row['id']}]({row['id']}.md)", sentence(prose(row["description"]))) for row in rows]
    tree, text = hidden_tree(row["id"] for row in rows), table(("name", "what it is"), lines)
    site.write(f"{plural(kind)}/index.md", page(f"# {title}", KINDS[kind], text, tree))


def _definitions(rows: Mapping[str, Any]) -> str:
    """Return what is known as terms with their meaning."""
    return "\n".join(
        f"{escaped(sentence(name).rstrip('.'))}\n: {_words(what)}\n"
        for name, what in rows.items()
        if what not in ("", None, [], {})
    )


def _words(what: Any) -> str:
    return escaped(", ".join(map(str, what)) if isinstance(what, list) else what)


def _paper(found: Mapping[str, Any]) -> str:
    if not found["paper"]:
        return ""
    named = escaped(found["paper"])
    return f"Paper: [{named}]({found['link']})" if found.get("link") else f"Paper: {named}"


def _named(found: Mapping[str, Any], example: str) -> str:
    """Return the page of a name; ``example`` is a picture of it."""
    rows = {name: what for name, what in found["rows"].items() if name not in ("class", "import", "summary")}
    options = [
        (
            f"`{row['id']}`",
            value(row["default"]),
            escaped(row["range"]),
            ", ".join(prose(text) for text in (row["meaning"], row["source"]) if text),
        )
        for row in found["options"]
    ]
    head = ("name", "default", "range", "meaning")
    listed = ""
    if options and found["kind"] != "analysis":
        listed = page("## Settings", f"`{found['flag']}`", table(head, options, "settings"))
    used = page("## Use it", code("\n".join(line.strip() for line in found["example"].splitlines())))
    path = found["rows"].get("class", "")
    api = {
        "analysis": autodoc("function", f"neurogym.analysis.{found['id']}"),
        "wrapper": page("## In Python", autodoc("class", f"neurogym.wrappers.{found.get('class')}")),
    }.get(found["kind"], "")
    where = f"Class: `{path.replace(':', '.')}`" if path else ""
    said = "" if found["kind"] == "analysis" else sentence(prose(found["description"]))
    shown = used if found["example"] else ""
    return page(f"# {found['id']}", said, example, _paper(found), _definitions(rows), where, listed, shown, api)


def autodoc(kind: str, path: str) -> str:
    """Return what makes Sphinx write what a docstring says, with types."""
    return f"```{{eval-rst}}\n.. auto{kind}:: {path}\n```"


#: Modules that users import, lowest first. Tasks, wrappers and analyses have pages of their own.
MODULES = (
    "neurogym.core",
    "neurogym.rules",
    "neurogym.spaces",
    "neurogym.sampling",
    "neurogym.stream",
    "neurogym.vector",
    "neurogym.ceilings",
    "neurogym.envs.registration",
    "neurogym.plotting.runs",
    "neurogym.plotting.psychometric",
    "neurogym.analysis.results",
    "neurogym.analysis.trial_tables",
    "neurogym.info",
    "ngym_cli.agents.loading",
)


def write_modules(site: Site) -> None:
    """Write a page for each module and the list of them."""
    rows = []
    for path in MODULES:
        said = prose(docstrings.summary(import_module(path)))
        site.write(f"api/{path}.md", page(f"# {escaped(path)}", autodoc("module", f"{path}\n   :members:")))
        rows.append((f"[`{path}`]({path}.md)", said))
    said = "What programs import. Tasks, wrappers and analyses have [pages](../tasks/index.md) of their own."
    site.write("api/index.md", page("# Modules", said, table(("module", "what it is for"), rows), hidden_tree(MODULES)))
