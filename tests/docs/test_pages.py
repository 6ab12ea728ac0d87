"""The sources of the site: every name has a page, pages say what the code says, links and pictures are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from docs.site import commands, gallery, home, models, papers, pictures, reference, tasks, trained, trials, writing
from docs.site.writing import Site
from neurogym.envs.registration import every_task
from ngym_cli.catalog import addresses, pages
from ngym_cli.catalog.listing import plural
from ngym_cli.commands.app import COMMANDS
from ngym_cli.papers import collection, results

#: One of each sort: plain, image, collection, history, continuous, without ground truth, empty, many periods.
SOME = (
    *("GoNogo-v0", "SpatialSuppressMotionImage-v0", "yang19.dm1-v0", "ReversalLearning-v0"),
    *("CueSetGo-v0", "Bandit-v0", "Null-v0", "NBack-v0"),
)

ROOT = Path(__file__).parents[2]
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(#[^)]*)?\)")
FIGURE = re.compile(r"```\{figure\} (\S+)\n:alt: (.*)\n")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Some of the pages of the site, and what is known of their tasks."""
    site = Site(tmp_path_factory.mktemp("site"))
    result = [tasks.write(site, id_) for id_ in SOME]
    gallery.write(site, result)
    commands.write(site)
    papers.write(site)
    home.write(site, len(result))
    for kind in reference.KINDS:
        reference.write_list(site, kind)
        reference.write(site, kind, "psychometric" if kind == "figure" else reference.names(kind)[0])
    return site, result


def expected():
    """Names of all pages of a whole site."""
    results = {f"{plural(kind)}/{name}.md" for kind in reference.KINDS for name in reference.names(kind)}
    results |= {f"{plural(kind)}/index.md" for kind in reference.KINDS}
    results |= {f"tasks/{id_}.md" for id_ in every_task()} | {f"commands/{name}.md" for name in COMMANDS}
    results |= {f"papers/{name}.md" for name in collection.ids()} | {"tasks/index.md", "tasks/table.md", "api/index.md"}
    results |= {f"{folder.name}/{path.name}" for folder in (home.GUIDE, home.TUTORIALS) for path in folder.glob("*.md")}
    results |= set(home.TEXTS)
    return results | {f"{folder}/index.md" for folder in ("commands", "papers", "tutorials")}


def test_every_link_leads_to_a_page(written):
    site, _ = written
    names, wrong = expected(), []
    for path in site.folder.rglob("*.md"):
        position = path.relative_to(site.folder)
        for target, _ in LINK.findall(re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(), flags=re.DOTALL)):
            uninterrupted = (path.parent / target).resolve() if target else path
            name = uninterrupted.relative_to(site.folder.resolve()).as_posix()
            if name not in names and not uninterrupted.is_file():
                wrong.append(f"{position}: {target}")
    assert not wrong, "\n".join(wrong)


def test_every_figure_has_words_and_a_file(written):
    site, result = written
    for described in result:
        text = (site.folder / "tasks" / f"{described['id']}.md").read_text()
        drawn = FIGURE.findall(text)
        assert drawn and all(len(alt) > 20 for _, alt in drawn)
        assert all((site.folder / "tasks" / name).stat().st_size < 400_000 for name, _ in drawn)


@pytest.mark.parametrize("id_", SOME)
def test_a_page_says_what_info_says(written, id_):
    site, _result = written
    text = (site.folder / "tasks" / f"{id_}.md").read_text()
    described = pages.describe(id_, {})
    assert text.startswith(f"# {id_.removesuffix('-v0')}\n")
    about_a_trial = text.split("## A trial\n")[1].split("### Conditions")[0].split("\n## ")[0]
    assert len(set(re.findall(r"([\d.,]+) steps", about_a_trial))) == 1  # a trial has one length
    for period in described["periods"]:
        assert f"`{period['id']}`" in text
    for name in (*described["conditions"], *described["rewards"], *described["arguments"]):
        assert f"`{name}`" in text
    if described["ceiling"]:
        assert f"| ceiling | {described['ceiling']['performance']:.4f} |" in text
    else:
        assert "The ceiling is not known" in text
    for difference in described["differences"]:
        assert writing.prose(difference)[1:] in text
    assert "## A trained agent" in text and f"ngym run --task {id_}" in text


def test_the_page_of_a_figure_shows_it_from_the_record(written):
    site, _ = written
    text = (site.folder / "figures" / "psychometric.md").read_text()
    ((name, words),) = FIGURE.findall(text)
    assert "A network trained on" in words and (site.folder / "figures" / name).stat().st_size > 5_000
    assert "ngym plot latest psychometric" in text


@pytest.mark.parametrize("name", ["bias", "accumulator", "win-stay-lose-shift", "hybrid", "orl", "go-no-go", "forager"])
def test_the_page_of_a_model_shows_behaviour(tmp_path, name):
    text = models.example(Site(tmp_path), name)
    ((file, said),) = FIGURE.findall(text)
    assert "parameters" in said or "Fitted to" in said
    assert (tmp_path / "models" / file).read_text().count("<path") > 10


def test_a_paper_shows_the_numbers_of_its_claims_beside_those_of_its_controls(written):
    site, _ = written
    record, without = results.record(), []
    for name in collection.ids():
        if name in record and "-claims" not in (site.folder / f"papers/{name}.md").read_text():
            without.append(name)
    assert record and without == [], without


def test_other_figures_are_drawn_of_a_run_that_is_trained_once(tmp_path, monkeypatch):
    small = {"task": "GoNogo-v0", "timesteps": 1000, "n_envs": 8, "units": 8, "hyperparameters": {"n_steps": 64}}
    monkeypatch.setattr(pictures, "KEPT", tmp_path / "runs")
    monkeypatch.setattr(pictures, "RUNS", {"all others": small})
    site = Site(tmp_path / "site")
    for _build in range(2):
        pictures.run.cache_clear()
        assert FIGURE.findall(pictures.example(site, "learning"))
        monkeypatch.setattr(pictures.nc, "train", None)
    assert "There is no example here: Kernel: " in pictures.example(site, "kernel")
    pictures.run.cache_clear()


def test_the_front_page_begins_with_the_cards_of_the_guide(written):
    site, _ = written
    text = (site.folder / "index.md").read_text()
    for name, page in (("train", "running"), ("understand", "analysing"), ("compare", "animals")):
        assert text.index(f"(static/{name}.png)") < text.index(f"[{name}](guide/{page}.md)") < text.index("```console")


@pytest.mark.parametrize("id_", ["SpatialSuppressMotionImage-v0", "Null-v0"])
def test_a_thumbnail_shows_something(id_):
    canvas = FigureCanvasAgg(trials.thumbnail(trials.informative_trial(id_)))
    canvas.draw()
    shown = np.asarray(canvas.buffer_rgba())[..., :3]
    assert shown.std(axis=(0, 1)).max() > 3


def test_the_gallery_has_every_task_under_its_tags(written):
    site, result = written
    text = (site.folder / "tasks" / "index.md").read_text()
    for described in result:
        assert text.count(f"]({described['id']}.md)") == max(len(described["tags"]), 1)
        for tag in described["tags"]:
            assert f"({tasks.anchor(tag)})=" in text
    lines = (site.folder / "tasks" / "table.md").read_text().splitlines()
    rows = [line for line in lines if line.startswith("| [")]
    assert len(rows) == len(result) and len({line.count(" | ") for line in rows}) == 1


def test_every_option_is_on_the_page_of_its_command(written):
    site, _ = written
    text = (site.folder / "commands" / "run.md").read_text()
    for flag in ("`--task`", "`--until`", "`--wrappers`"):
        assert flag in text
    assert "## ngym runs tag" in (site.folder / "commands" / "runs.md").read_text()


def test_what_has_an_address_has_a_page():
    names = expected()
    for kind in reference.KINDS:
        for name in reference.names(kind):
            page = addresses.page(name, COMMANDS)  # of a name with two kinds it is the first
            assert page.removesuffix("html") + "md" in names
    for name in ("RDM-v0", "GoNogo", "run", "yang19", "yang19.dm1-v0", *collection.ids()):
        assert addresses.page(name, COMMANDS).removesuffix("html") + "md" in names


# -- a trained agent, from the record ---------------------------------------------------------------------------------

ROW = {
    "wrappers": "",
    "reached": True,
    "of": "ceiling",
    "target": 0.95,
    "performance": 0.99,
    "chance": 0.5,
    "ceiling": 1.0,
    "steps": 61440,
    "trials": 5000,
    "seconds": 30.0,
    "machine": {"processor": "x86_64", "kernels": "avx2"},
    "curve": [[1000, 0.5], [61440, 0.99]],
    "made": {
        "commit": "abc",
        "date": "2026-01-01",
        "version": "0.1.0",
        "command": "ngym run --task GoNogo-v0 --until 0.95 --seed 0",
    },
}


@pytest.fixture
def section(tmp_path, monkeypatch):
    figures = tmp_path / "recorded"
    figures.mkdir()
    monkeypatch.setattr(trained.lines, "FIGURES", figures)

    def of(id_, rows, figure=None):
        if figure is not None:
            (figures / f"{id_}.{figure}.svg").write_text("<svg/>")
        monkeypatch.setattr(trained, "kept", lambda: {id_: rows} if rows else {})
        return trained.section(Site(tmp_path), id_), sorted(path.name for path in tmp_path.glob("tasks/*"))

    return of


def test_what_is_learned(section):
    text, files = section("GoNogo-v0", {"0": ROW, "1": {**ROW, "seconds": 60.0}})
    assert "With each of 2 seeds the defaults reach 95 % of its ceiling, after 61,440 steps and 45 seconds" in text
    assert ROW["made"]["command"] in text and "version 0.1.0, commit `abc`" in text and "avx2" in text
    assert files == ["GoNogo-v0-learning.svg"] and "not in the records" not in text


def test_what_is_not_learned_says_why(section, monkeypatch):
    monkeypatch.setattr(trained, "reasons", lambda: {"GoNogo-v0": "rewards are rare"})
    text, _ = section("GoNogo-v0", {"0": {**ROW, "reached": False, "performance": 0.6}})
    assert "Not learned with the defaults" in text and "Rewards are rare." in text and "0.600" in text


def test_what_is_not_in_the_records_is_said(section):
    text, files = section("GoNogo-v0", {})
    assert "no trained agent of this task in the records yet" in text and not files
    old = {name: value for name, value in ROW.items() if name != "curve"}
    text, files = section("GoNogo-v0", {"0": old})
    assert text.count("not in the records yet") == 1 and not files
    assert "no ground truth" in section("Null-v0", {})[0]


def test_the_figure_that_the_run_made_is_on_the_page(section):
    text, files = section("GoNogo-v0", {"0": ROW}, figure="conditions")
    assert "[conditions](../figures/conditions.md)" in text
    assert files == ["GoNogo-v0-behaviour.svg", "GoNogo-v0-learning.svg"]


def test_reasons_are_read_from_the_text_beside_the_record():
    for id_, reason in trained.reasons().items():
        assert id_ in trained.trainable() and len(reason) > 10


# -- drawing and writing ----------------------------------------------------------------------------------------------


def test_the_trial_drawn_is_a_rewarded_one():
    assert sum(trials.informative_trial("GoNogo-v0").rewards) == 1
    assert trials.informative_trial("PerceptualDecisionMaking-v0").record["coh"] >= 25


def test_text_is_shown_as_it_is():
    assert writing.prose("a*b of ``x_1`` and :class:`~a.b.C`, <i>") == r"a\*b of `x_1` and `C`, \<i\>"
    assert writing.table(("a|b",), [("c\nd",)]).splitlines()[-1] == "| c d |"
    assert writing.paragraphs("One.\n\nTwo.\n\nArgs:\n    x: no.\n\nSource: a paper.") == ["One.", "Two."]


def test_only_what_changed_is_written(tmp_path):
    first = Site(tmp_path)
    first.write("a/b.md", "one")
    first.write("old/c.md", "two")
    before = (tmp_path / "a/b.md").stat().st_mtime_ns
    second = Site(tmp_path)
    second.write("a/b.md", "one\n")
    second.remove_others()
    assert (tmp_path / "a/b.md").stat().st_mtime_ns == before
    assert not (tmp_path / "old").exists()


def test_literals_of_docstrings_are_closed_and_have_no_spaces_at_their_ends():
    """Sphinx, for which warnings are errors, reads such a literal as text that never ends."""
    wrong = []
    for path in [*(ROOT / "neurogym").rglob("*.py"), *(ROOT / "ngym_cli").rglob("*.py")]:
        source = path.read_text(encoding="utf-8")
        nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, DOCUMENTED)]
        texts = [*(ast.get_docstring(node) or "" for node in nodes), *re.findall(r"#: (.*)", source)]
        for text in texts:
            pieces = text.split("``")
            wrong += [f"{path.name}: {text[:60]}"] if len(pieces) % 2 == 0 else []
            wrong += [f"{path.name}: ``{each}``" for each in pieces[1::2] if each != each.strip()]
    assert not wrong


def test_a_site_that_fails_to_build_leaves_the_old_one():
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").split("\ndocs:")[1].split("\n\n")[0].splitlines()
    built, removed = (
        next(k for k, line in enumerate(recipe) if text in line) for text in ("sphinx", "rm -rf build/docs/html")
    )
    assert "build/docs/new" in recipe[built] and built < removed
    assert recipe[removed + 1].strip() == "mv build/docs/new build/docs/html"
