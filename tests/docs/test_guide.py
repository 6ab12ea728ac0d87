"""README and guide: links lead to files, every page is listed, every command and flag exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from docs.site import home
from experiments import guide
from neurogym.envs.registration import every_task, get_collection
from ngym_cli.catalog import reference
from ngym_cli.commands.app import COMMANDS, app

PAGES = [home.ROOT / "README.md", *sorted(home.GUIDE.glob("*.md"))]
LINE = re.compile(r"\b(?<!The )ngym ([a-z]+)((?: [^`|\n]*)?)")


def test_the_links_of_the_readme_lead_to_files():
    text = PAGES[0].read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    workflows = {Path(target).stem for target in targets if target.startswith("../../actions/workflows/")} - {"badge"}
    assert workflows <= {path.stem for path in (home.ROOT / ".github" / "workflows").glob("*.yml")}
    targets = [target for target in targets if not target.startswith("../../actions/workflows/")]
    assert len(targets) > 10
    assert [target for target in targets if not (home.ROOT / target).is_file()] == []


def test_every_page_of_the_guide_is_listed_once():
    listed = " ".join((home.GUIDE / "index.md").read_text(encoding="utf-8").split("```")[1::2]).split()
    assert sorted(name for name in listed if (home.GUIDE / f"{name}.md").is_file()) == [
        path.stem for path in PAGES[1:] if path.stem != "index"
    ]


@pytest.mark.parametrize("path", PAGES[1:], ids=lambda path: path.stem)
def test_every_page_of_the_guide_begins_with_sentences(path):
    """Text comes before any command, output, table or picture; the index begins with its three cards."""
    _, opening, *_ = path.read_text(encoding="utf-8").split("\n\n", 2)
    if path.stem == "index":
        assert opening.startswith("| ![")
    else:
        assert re.match(r"[A-Z`\[].+[.:]$", opening, re.DOTALL), opening[:80]
        assert len(opening.split()) >= 14, opening


@pytest.fixture(scope="module")
def flags():
    """Flags by command."""
    group = get_command(app)
    commands = {name: group.get_command(None, name) for name in COMMANDS}
    return {
        name: {"--help"} | {word for option in command.params for word in (*option.opts, *option.secondary_opts)}
        for name, command in commands.items()
    }


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_command_and_flag_exists(path, flags):
    text = re.sub(r"\\\n\s+", "", path.read_text(encoding="utf-8"))
    code = "\n".join([*re.findall(r"^    .*", text, re.MULTILINE), *re.findall(r"`([^`\n]+)`", text)])
    for name, rest in LINE.findall(code):
        assert name in COMMANDS, f"ngym {name}"
        used = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest.partition(" # ")[0]))
        assert used <= flags[name], f"ngym {name}: {used - flags[name]}"


def _printed(lines, name):
    """The first number that follows a name in the output of a command."""
    return float(next(line for line in lines if line.startswith(name)).removeprefix(name).split()[0])


def test_numbers_between_the_records_are_those_of_the_records():
    """The range of performance of README's run; the number of tasks, of `yang19` and of `modcog`."""
    text = " ".join(PAGES[0].read_text(encoding="utf-8").split())
    assert "with a performance between .89 and .90" in text
    for item in ("running", "readme"):
        printed = guide.RECORD.rows()[item]["0"]["printed"]
        assert 0.89 <= round(_printed(printed, "performance"), 2) <= 0.9
    assert f"| {len(every_task())} tasks, " in text
    stages = (home.GUIDE / "stages.md").read_text(encoding="utf-8")
    assert f"# {len(get_collection('yang19'))} tasks; " in stages
    assert f"two of {len(get_collection('modcog'))} compositions" in stages


def test_the_glossary_says_what_the_guide_says():
    """Each word leads to a page of the guide, and the ceiling is explained by the same words there."""
    glossary = reference.glossary()
    assert len(glossary) == 20
    assert {entry["page"] for entry in glossary.values()} <= {path.stem for path in PAGES}
    opening = " ".join((home.GUIDE / "reading_results.md").read_text(encoding="utf-8").split())
    assert glossary["ceiling"]["text"] in opening.replace("*", "")
