"""Papers by name: papers that come with ngym, and folders of a user's own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ngym_cli.config import trust
from ngym_cli.config.model import from_dict
from ngym_cli.config.trust import read_toml
from ngym_cli.config.values import parse_wrappers
from ngym_cli.errors import UserError, unknown
from ngym_cli.files.writing import atomic_folder, write_json
from ngym_cli.papers import model
from ngym_cli.papers.model import PaperConfig
from ngym_cli.papers.script import Script
from ngym_cli.runs.finding import LATEST
from ngym_cli.runs.finding import find as find_folder

#: Signed record of the original code in the folder of a new paper, which therefore counts as trusted.
MADE_HERE = ".made-here.json"

#: Folders of the papers that come with ngym: in an installation, in a checkout.
PLACES = (Path(__file__).parent / "library" / "papers", Path(__file__).resolve().parents[2] / "experiments" / "papers")


@dataclass(frozen=True)
class Paper:
    """Paper in a folder.

    Attributes:
        id: name of the folder.
        folder: path of the folder.
        is_custom: whether the paper is the user's own.
        config: content of `paper.toml`.
    """

    id: str
    folder: Path
    is_custom: bool
    config: PaperConfig

    @cached_property
    def script(self) -> Script:
        """Measures and figures of the paper."""
        return Script(self.folder)

    def run_settings(self, part_name: str) -> dict[str, Any]:
        """Return the configuration of a part's runs, without seed; files in the paper's folder are named by path.

        Raises:
            UserError: if the file is damaged.
        """
        settings = read_toml(self.folder / self.config.parts[part_name].config)
        for table in (settings, *settings.get("stages", ())):
            _place_code(table, self.folder)
        if "recording" in settings:
            settings["recording"]["file"] = str(_placed(self.folder / settings["recording"]["file"]))
        return settings

    def chosen(self, only: list[str]) -> tuple[list[str], list[str]]:
        """Return the parts and claims that words name; a part includes all claims that depend on this part alone.

        Raises:
            UserError: if a word is neither.
        """
        claims = {claim.id: claim for claim in self.config.claims}
        if not only:
            return self.config.with_earlier(list(self.config.parts)), list(claims)
        part_names, chosen = [], []
        for word in only:
            if word in self.config.parts:
                part_names.append(word)
            elif word in claims:
                chosen.append(word)
                part_names += claims[word].part
            else:
                raise unknown(f"part or claim of {self.id}", word, [*self.config.parts, *claims])
        named = [word for word in only if word in self.config.parts]
        chosen += [name for name, claim in claims.items() if claim.part and set(claim.part) <= set(named)]
        return self.config.with_earlier(part_names), [name for name in claims if name in chosen]


def _place_code(settings: dict[str, object], folder: Path) -> None:
    """Replace the name of a file with a task or a network by its path, for files in the paper's folder."""
    for key in ("task", "network"):
        file, colon, name = str(settings.get(key, "")).rpartition(":")
        if colon and file.endswith(".py") and (folder / file).is_file():
            settings[key] = f"{_placed(folder / file)}:{name}"


def _placed(path: Path) -> Path:
    """Return a path from the current folder on, if it lies there."""
    with contextlib.suppress(ValueError):
        return path.resolve().relative_to(Path.cwd().resolve())
    return path


def library() -> Path:
    """Return the folder of the papers that come with ngym."""
    return next((folder for folder in PLACES if folder.is_dir()), PLACES[0])


def ids() -> list[str]:
    """Return the papers that come with ngym."""
    folder = library()
    return sorted(path.parent.name for path in folder.glob(f"*/{model.PAPER_FILE}")) if folder.is_dir() else []


def load(folder: Path) -> Paper:
    """Read the folder of a paper without running any code.

    Raises:
        UserError: if the content is invalid, with file and key.
    """
    config = model.read(folder)
    resolved = folder.resolve()
    paper = Paper(resolved.name, folder, resolved.parent != library().resolve(), config)
    if not model.NAME_PATTERN.fullmatch(paper.id):
        raise UserError(f"{folder}: its name becomes that of results; use letters, digits, dots, dashes, underscores")
    for claim in config.claims:
        if claim.measure is not None:
            where = f"{folder / model.PAPER_FILE}: claim {claim.id}"
            paper.script.check(claim.measure, len(claim.part), f"{where}: measure")
            for name in claim.control:
                paper.script.check_control(name, f"{where}: control")
    for name in config.parts:
        check_part(paper, name)
    return paper


def check_part(paper: Paper, part_name: str) -> None:
    """Refuse a configuration that is none, or that says what the paper's part says.

    Raises:
        UserError: with the name of the file.
    """
    file = paper.folder / paper.config.parts[part_name].config
    settings = paper.run_settings(part_name)
    for key in ("seed", "init_from"):
        if key in settings:
            raise UserError(
                f"{file}: {key} is not for the file to say; every seed is trained, and 'after' names a part"
            )
    from_dict(settings, source=str(file))
    for name, request in paper.config.parts[part_name].evaluations.items():
        if isinstance(request.changes.get("wrappers"), str):
            try:
                parse_wrappers(request.changes["wrappers"])
            except (ValueError, UserError) as error:
                where = f"{paper.folder / model.PAPER_FILE}: parts.{part_name}.evaluations.{name}"
                raise UserError(f"{where}: changes.wrappers: {error}") from None


def find(reference: str) -> Paper:
    """Return a paper by id or folder.

    Raises:
        UserError: if the paper does not exist, with the nearest id, or is damaged.
    """
    if reference == LATEST:
        raise unknown("paper", reference, ids())
    return load(find_folder("paper", reference, library()))


def code_of(paper: Paper) -> list[str]:
    """Return references to all code in a paper's folder, and to code named in the configurations."""
    references = [f"{path}:" for path in sorted(paper.folder.glob("*.py"))]
    for part_name in paper.config.parts:
        references += trust.references(from_dict(paper.run_settings(part_name)))
    return list(dict.fromkeys(references))


def folders() -> Iterator[Path]:
    """Yield the folders of the papers that come with ngym, and of papers in the current folder."""
    local = sorted(path.parent for path in Path().glob(f"*/{model.PAPER_FILE}"))
    seen = set()
    for folder in (*(library() / id_ for id_ in ids()), *local):
        if folder.resolve() not in seen:
            seen.add(folder.resolve())
            yield folder


TEMPLATE = Path(__file__).parent / "template"


def new(folder: Path) -> None:
    """Write the template.

    Raises:
        UserError: if there is such a folder already, its name is none, or it cannot be written.
    """
    if not model.NAME_PATTERN.fullmatch(folder.name) or folder.name in ids():
        problem = "that of a paper which comes with ngym" if folder.name in ids() else "no name for a paper"
        raise UserError(f"'{folder.name}' is {problem}; use letters, digits, dots, dashes and underscores, as my_study")
    try:
        with atomic_folder(folder) as temporary:
            for path in sorted(TEMPLATE.glob("*.*")):
                (temporary / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    except FileExistsError:
        raise UserError(f"{folder} exists; nothing was written") from None
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror}") from None
    code = trust.signed(code_of(load(folder)))
    write_json(folder / MADE_HERE, {"code": code})
