"""The first page, and the texts of the repository as pages."""

from __future__ import annotations

import re
from pathlib import Path

from docs.site import trained
from docs.site.writing import Site, code, hidden_tree, page

ROOT = Path(__file__).resolve().parents[2]

#: Page -> text of the repository that it is.
TEXTS = {
    "architecture.md": "docs/architecture.md",
    "values.md": "docs/values.md",
    "glossary.md": "docs/glossary.md",
    "migrating.md": "docs/migrating.md",
    "learned.md": "experiments/defaults/README.md",
    "readme.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
}

#: Folders of Markdown pages that are copied as they are; ``index.md`` lists the pages in reading order.
GUIDE = ROOT / "docs" / "guide"
TUTORIALS = ROOT / "docs" / "tutorials"

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

    return LINK.sub(linked, text.replace("](docs/static/", "](static/"))


def first_page(tasks: int) -> str:
    """Return the page that a reader sees first."""
    learned = sum(trained.minutes(id_) is not None for id_ in trained.trainable())
    return page(
        "# ngym",
        "Train, evaluate and analyse recurrent networks on the tasks of systems and cognitive neuroscience.",
        code(
            "ngym run  --task RDM-v0 --wrappers pass_reward,pass_action --alg recurrent_ppo\n"
            "ngym eval latest\n"
            "ngym plot latest"
        ),
        "[Installation](guide/installation.md) comes first; the [guide](guide/index.md) has a page for each subject.",
        f"- **[{tasks} tasks](tasks/index.md)**, each with a drawn trial, its chance level and ceiling, and a trained"
        f" agent. [{learned} of {len(trained.trainable())}](learned.md) are learned to 95 % of their ceiling by the"
        " defaults; the [table of tasks](tasks/table.md) can be sorted by how long that takes.",
        "- **[Tutorials](tutorials/index.md)** that run as they stand, from the first run to fixed points and lesions.",
        "- **Reference**: [commands](commands/index.md), [wrappers](wrappers/index.md),"
        " [algorithms](algorithms/index.md), [networks](networks/index.md), [figures](figures/index.md),"
        " [analyses](analyses/index.md), [models](models/index.md), [launchers](launchers/index.md),"
        " and the [modules](api/index.md).",
        "- **[Papers](papers/index.md)** whose claims are repeated, with what holds and what does not.",
        "- **[Coming from NeuroGym](migrating.md)**: scripts run as they are; what is different is listed.",
        "Every page is made from the code, its help texts and its records, and says when and with which commit a number"
        " was made. The same is printed by `ngym info NAME`; `ngym docs NAME` opens the page.",
        hidden_tree(["readme", "guide/index", "tutorials/index", "tasks/index", "papers/index"], "Start"),
        hidden_tree(
            [f"{part}/index" for part in ("commands", "wrappers", "algorithms", "networks", "figures", "analyses",
                                          "models", "launchers", "api")],
            "Reference",
        ),
        hidden_tree(
            ["values", "learned", "migrating", "glossary", "architecture", "contributing", "changelog"], "Background"
        ),
    )  # fmt: skip
