"""Commented examples of users' own parts and papers, written by ``ngym new``."""

from __future__ import annotations

import keyword
import re
import shlex
from pathlib import Path

from ngym_cli.config.extensions import FUNCTIONS
from ngym_cli.errors import UserError, option
from ngym_cli.papers import collection

TEMPLATES = Path(__file__).parent / "templates"

#: Name of the object in each template.
TEMPLATE_NAMES = {
    "task": "MyTask",
    "wrapper": "MyWrapper",
    "network": "MyNetwork",
    "algorithm": "MyAlgorithm",
    "figure": "my_figure",
    "model": "MyModel",
}


#: Commands to go on with; {} is the reference of the new part.
NEXT = {
    "task": ("ngym check {}", "ngym info {}", "ngym run --task {}"),
    "wrapper": ("ngym check {}", "ngym info {}", "ngym run --task RDM-v0 --wrappers {}:gains=1/0.5"),
    "network": ("ngym check {}", "ngym info {}", "ngym run --task RDM-v0 --network {}"),
    "algorithm": ("ngym check {}", "ngym info {}", "ngym run --task RDM-v0 --alg {} --set value_penalty=0.02"),
    "figure": ("ngym check {}", "ngym plot latest {}"),
    "model": ("ngym fit TABLE --model logistic,{}", "ngym plot latest"),
    "paper": ("ngym reproduce {}",),
}


def object_name(kind: str, path: Path) -> str:
    """Return the name of the object in a file: ``my_task.py`` holds ``MyTask``, ``my_figure.py`` ``my_figure``.

    Raises:
        UserError: if the file cannot be a Python file with such an object.
    """
    words = [word for word in re.split(r"[^A-Za-z0-9]+", path.stem) if word]
    name = "".join(word[:1].upper() + word[1:] for word in words) if kind not in FUNCTIONS else "_".join(words)
    if path.suffix != ".py" or not name.isidentifier() or keyword.iskeyword(name):
        raise UserError(f"'{path}' is not a valid file name for a {kind}; expected a name such as my_{kind}.py")
    return name


def new(path: Path, kind: str = "task", by_trial: bool = False) -> str:
    """Write an example and return the reference of the example.

    Args:
        path: the file, or the folder of a paper.
        kind: a key of ``NEXT``.
        by_trial: write a task in the style of NeuroGym, one trial at a time.

    Raises:
        UserError: if the file exists or cannot be written, or only tasks can be written by trial.
    """
    if by_trial and kind != "task":
        raise UserError(f"{option('--by-trial')} is a way of writing tasks, not a {kind}")
    if kind == "paper":
        collection.new(path)
        return str(path)
    name = object_name(kind, path)
    template = TEMPLATES / ("task_by_trial.py" if by_trial else f"{kind}.py")
    text = template.read_text(encoding="utf-8").replace(TEMPLATE_NAMES[kind], name).replace(f"my_{kind}.py", path.name)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UserError(f"{path} exists; nothing was written") from None
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None
    return f"{path}:{name}"


def next_steps(kind: str, reference: str) -> list[str]:
    """Return commands for the next steps."""
    return [command.format(shlex.quote(reference)) for command in NEXT[kind]]
