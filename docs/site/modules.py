"""What can be imported, from docstrings and types: a page for each public module."""

from __future__ import annotations

from importlib import import_module

from docs.site.reference import autodoc
from docs.site.writing import Site, escaped, hidden_tree, page, prose, table
from ngym_cli.config import docstrings

#: Modules that users import, lowest first. Tasks, wrappers and analyses have pages of their own.
MODULES = (
    "neurogym.core", "neurogym.rules", "neurogym.spaces", "neurogym.sampling", "neurogym.stream",
    "neurogym.vector", "neurogym.ceilings", "neurogym.envs.registration",
    "neurogym.plotting.runs",
    "neurogym.plotting.psychometric", "neurogym.analysis.results", "neurogym.analysis.trial_tables", "neurogym.info",
    "ngym_cli.agents.loading",
)  # fmt: skip


def write(site: Site) -> None:
    """Write a page for each module and the list of them."""
    rows = []
    for path in MODULES:
        said = prose(docstrings.summary(import_module(path)))
        site.write(f"api/{path}.md", page(f"# {escaped(path)}", autodoc("module", f"{path}\n   :members:")))
        rows.append((f"[`{path}`]({path}.md)", said))
    said = "What programs import. Tasks, wrappers and analyses have [pages](../tasks/index.md) of their own."
    site.write("api/index.md", page("# Modules", said, table(("module", "what it is for"), rows), hidden_tree(MODULES)))
