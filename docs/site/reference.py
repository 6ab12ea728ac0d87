"""Pages of everything else that has a name: wrappers, algorithms, networks, figures, analyses, models, launchers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from docs.site.writing import Site, code, escaped, hidden_tree, page, prose, sentence, table, value
from ngym_cli.catalog import listing, pages, printing, reference
from ngym_cli.catalog.addresses import FOLDERS

#: Kind -> title of the list, listing of ``ngym list``, and what is said of all.
KINDS: dict[str, tuple[str, str, str]] = {
    "wrapper": ("Wrappers", "wrappers", "What can be put around a task: `--wrappers`, innermost first."),
    "algorithm": ("Algorithms", "algs", "How an agent learns: `--alg`, with `--set NAME=VALUE` for hyperparameters."),
    "network": ("Networks", "networks", "What an agent is: `--network`, with `--units`, `--network-arg NAME=VALUE`."),
    "figure": ("Figures", "figures", "What `ngym plot` draws of a run."),
    "analysis": ("Analyses", "analyses", "Functions of `neurogym.analysis` on plain arrays and trial tables."),
    "model": ("Models", "models", "Models of choices: `ngym fit TABLE --model NAME`, with `NAME:KEY=VALUE`."),
    "launcher": ("Launchers", "launchers", "Where `ngym sweep` makes its runs: `--on`."),
}


def write(site: Site, kind: str, name: str) -> None:
    """Write the page of a name."""
    found = pages.describe(name, {}) if kind == "wrapper" else reference.KINDS[kind][1](name)
    site.write(f"{FOLDERS[kind]}/{name}.md", _wrapper(found) if kind == "wrapper" else _named(found))


def names(kind: str) -> list[str]:
    """Return the names of a kind, in the order of their listing."""
    return [row["id"] for row in listing.LISTINGS[KINDS[kind][1]]()]


def write_list(site: Site, kind: str) -> None:
    """Write the page that lists a kind."""
    title, rows, said = KINDS[kind][0], listing.LISTINGS[KINDS[kind][1]](), KINDS[kind][2]
    lines = [(f"[{row['id']}]({row['id']}.md)", sentence(prose(row["description"]))) for row in rows]
    tree = hidden_tree(row["id"] for row in rows)
    site.write(f"{FOLDERS[kind]}/index.md", page(f"# {title}", said, table(("name", "what it is"), lines), tree))


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


def _wrapper(found: Mapping[str, Any]) -> str:
    rows = printing.wrapper_rows(found)
    arguments = [
        (f"`{name}`", value(default), prose(found["meaning"].get(name, "")))
        for name, default in found["arguments"].items()
    ]
    listed = page("## Arguments", table(("argument", "default", "meaning"), arguments)) if arguments else ""
    return page(
        f"# {found['id']}",
        sentence(prose(found["description"])), _paper(found), _definitions(rows), listed,
        "## Use it", code(f"ngym run --task RDM-v0 --wrappers {found['id']}{_required(found)}"),
        "## In Python", autodoc("class", f"neurogym.wrappers.{found['class']}"),
    )  # fmt: skip


def _required(found: Mapping[str, Any]) -> str:
    needed = [name for name, default in found["arguments"].items() if default == "required"]
    return "".join(f":{name}=..." for name in needed)


def _named(found: Mapping[str, Any]) -> str:
    """Return the page of an algorithm, a network, a figure, an analysis or a launcher."""
    rows = {name: what for name, what in found["rows"].items() if name not in ("class", "import")}
    options = [
        (f"`{row['id']}`", value(row["default"]), escaped(row["range"]),
         ", ".join(prose(text) for text in (row["meaning"], row["source"]) if text))
        for row in found["options"]
    ]  # fmt: skip
    head = ("name", "default", "range", "meaning")
    listed = ""
    if options and found["kind"] != "analysis":
        listed = page("## Settings", f"`{found['flag']}`", table(head, options, "settings"))
    used = page("## Use it", code("\n".join(line.strip() for line in found["example"].splitlines())))
    path = found["rows"].get("class", "")
    api = autodoc("function", f"neurogym.analysis.{found['id']}") if found["kind"] == "analysis" else ""
    where = f"Class: `{path.replace(':', '.')}`" if path else ""
    return page(
        f"# {found['id']}",
        "" if api else sentence(prose(found["description"])), _paper(found), _definitions(rows), where, listed,
        used if found["example"] else "", api,
    )  # fmt: skip


def autodoc(kind: str, path: str) -> str:
    """Return what makes Sphinx write what a docstring says, with types."""
    return f"```{{eval-rst}}\n.. auto{kind}:: {path}\n```"
