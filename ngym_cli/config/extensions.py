"""Users' own parts: tasks, wrappers, networks, algorithms, figures, callbacks and models outside this package.

Wherever the name of a built-in part is accepted, a part of one's own is accepted, too:

* ``path/to/file.py:Name`` or ``package.module:Name``, a *reference*, which ``ngym_cli.config.trust`` guards;
* a plain name that an installed package offers through an entry point in the group of its kind (``EXTENSION_KINDS``).

``find_extension`` turns either form into the object. Each registry decides what the object has to be.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from ngym_cli.errors import UserError, did_you_mean, one_line, unknown


@dataclass(frozen=True)
class ExtensionKind:
    """A kind of part that users can write themselves.

    Attributes:
        name: as it appears in messages.
        listing: the listing of ``ngym list`` that shows parts of this kind.
        base: description of what the object must be.
    """

    name: str
    listing: str
    base: str

    @property
    def group(self) -> str:
        """Group of entry points through which packages offer parts of this kind."""
        return f"ngym.{self.listing}"


#: Every kind of part by its name.
EXTENSION_KINDS = {
    kind.name: kind
    for kind in (
        ExtensionKind("task", "tasks", "a subclass of neurogym.TrialEnv"),
        ExtensionKind("wrapper", "wrappers", "a subclass of gymnasium.Wrapper"),
        ExtensionKind("network", "networks", "a network cell"),
        ExtensionKind("algorithm", "algorithms", "a Stable-Baselines3 algorithm"),
        ExtensionKind("figure", "figures", "a function of a view that returns a matplotlib figure"),
        ExtensionKind("callback", "callbacks", "a Stable-Baselines3 callback"),
        ExtensionKind("model", "models", "a model of behaviour"),
    )
}

#: Arguments of a model as a plain function, which earlier versions took and now get a line that says what to write.
MODEL_ARGUMENTS = ("params", "state", "choice", "reward", "stimulus")

#: Kinds of parts that are functions.
FUNCTIONS = ("figure",)
#: Word for a part of any kind.
ANY = "part"


def is_reference(name: object) -> bool:
    """Return whether a name refers to a user's own code: ``path/to/file.py:Name`` or ``package.module:Name``."""
    return isinstance(name, str) and ":" in name


def find_extension(kind: str, name: str) -> Any | None:
    """Return a user's own part, or None for a name that is neither a reference nor offered by an installed package.

    Args:
        kind: a key of ``EXTENSION_KINDS``; for a reference also ``ANY``.
        name: as the user gave it.

    Raises:
        UserError: if the file, module or object does not exist or cannot be imported.
    """
    if is_reference(name):
        return _load(kind, name)
    if name.endswith(".py"):
        raise _without_object(kind, Path(name))
    entry = offered(kind).get(name)
    if entry is None:
        return None
    with user_errors(f"{kind} {name} of package {package_of(entry)}"):
        return entry.load()


@functools.cache
def offered(kind: str) -> dict[str, metadata.EntryPoint]:
    """Return the parts that installed packages offer through entry points, by name."""
    return {entry.name: entry for entry in metadata.entry_points(group=EXTENSION_KINDS[kind].group)}


def package_of(entry: metadata.EntryPoint) -> str:
    """Return the name of the distribution that offers a part."""
    return entry.dist.name if entry.dist is not None else entry.module.partition(".")[0]


def kind_of(imported: object) -> str:
    """Return the kind of an imported part, a key of ``EXTENSION_KINDS``, without importing further packages."""
    if not isinstance(imported, type):
        takes = tuple(inspect.signature(imported).parameters) if inspect.isfunction(imported) else ()
        if hasattr(imported, "spec") or takes == ("view",):
            return "figure"
        return "model" if takes == MODEL_ARGUMENTS else "task"
    bases = {base.__module__ + "." + base.__name__ for base in imported.__mro__}
    if any("gymnasium." in base and base.endswith(".Wrapper") for base in bases):
        return "wrapper"
    kinds = {
        "torch.nn.modules.module.Module": "network",
        "stable_baselines3.common.base_class.BaseAlgorithm": "algorithm",
        "stable_baselines3.common.callbacks.BaseCallback": "callback",
    }
    matching_kind = next((kind for base, kind in kinds.items() if base in bases), None)
    return matching_kind or ("model" if callable(getattr(imported, "from_arrays", None)) else "task")


def file_of(reference: str) -> Path:
    """Return the file that a reference names, relative to the current folder; a module may lie elsewhere."""
    where = reference.rpartition(":")[0]
    return Path(where if where.endswith(".py") else where.replace(".", "/") + ".py")


def _load(kind: str, reference: str) -> Any:
    where, _, attribute = reference.rpartition(":")
    if not where or not attribute:
        raise UserError(f"{kind} '{reference}': expected path/to/file.py:Name or package.module:Name")
    subject = "file" if kind == ANY else f"{kind} file"
    module = import_file(Path(where), subject) if where.endswith(".py") else _import_module(where)
    target = getattr(module, attribute, None)
    if target is None:
        noun = _noun(kind)
        fits = inspect.isfunction if noun == "function" else inspect.isclass if noun == "class" else callable
        defined = {k: v for k, v in vars(module).items() if getattr(v, "__module__", None) == module.__name__}
        names = [key for key, value in defined.items() if fits(value) and not key.startswith("_")]
        raise unknown(f"{noun} in {where}", attribute, names)
    if not callable(target):
        raise UserError(f"{kind} '{reference}': {attribute} is not a {_noun(kind)}")
    return target


def _noun(kind: str) -> str:
    return "class or function" if kind == ANY else "function" if kind in FUNCTIONS else "class"


def _without_object(kind: str, path: Path) -> UserError:
    """Return the error for a file without the name of an object; the file is parsed, not run."""
    import ast

    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return UserError(f"{kind} '{path}': expected path/to/file.py:Class")
    noun = _noun(kind)
    nodes = [node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    kinds = {"class": ast.ClassDef, "function": ast.FunctionDef}
    nodes = [node for node in nodes if isinstance(node, kinds.get(noun, ast.stmt))]
    names = [node.name for node in nodes if not node.name.startswith("_")]
    if not names:
        return UserError(f"{kind} '{path}': no {noun} in the file; expected path/to/file.py:Name")
    further = f" (it also holds {', '.join(names[:-1])})" if len(names) > 1 else ""
    return UserError(f"{kind} '{path}' is a file; name the {noun} in it, as {path}:{names[-1]}{further}")


def import_file(path: Path, subject: str = "file") -> ModuleType:
    """Import a Python file, again only after a change.

    Args:
        path: the file.
        subject: subject of messages, such as "network file".

    Raises:
        UserError: if the file does not exist or fails while being imported.
    """
    if not path.is_file():
        siblings = [str(sibling) for sibling in path.parent.glob("*.py")] if path.parent.is_dir() else []
        raise UserError(f"no such {subject}: {path}" + did_you_mean(str(path), siblings))
    location = str(path.resolve())
    name = f"ngym_own_{path.stem}_{hashlib.sha256(location.encode()).hexdigest()[:8]}"
    version = hashlib.sha256(path.read_bytes()).hexdigest()
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__ngym_version__", None) == version:
        return loaded
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UserError(f"cannot import {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with user_errors(f"{subject} {path}"):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    module.__dict__["__ngym_version__"] = version
    return module


def _import_module(name: str) -> ModuleType:
    """Import an installed module or a module of the current folder.

    Only a module that the current folder holds makes the folder part of the import path: first for this import, last
    from then on, so that no other file of the folder takes the place of an installed package.
    """
    current_folder, top = str(Path.cwd()), name.partition(".")[0]
    with user_errors(f"module {name}"):
        if not (Path(f"{top}.py").is_file() or Path(top).is_dir()):
            return importlib.import_module(name)
        before = list(sys.path)
        sys.path.insert(0, current_folder)
        try:
            return importlib.import_module(name)
        finally:
            sys.path[:] = [*before, *([] if current_folder in before else [current_folder])]


@contextlib.contextmanager
def user_errors(subject: str, everything: bool = True) -> Iterator[None]:
    """Turn exceptions of a user's code into errors of a single line that name the place in that code.

    Args:
        subject: subject of the message.
        everything: whether every exception is the user's; otherwise only ValueError, TypeError and KeyError.

    Raises:
        UserError: if the code failed, or tried to end the program.
    """
    try:
        yield
    except (UserError, KeyboardInterrupt):
        raise
    except Exception as error:
        if not everything and not isinstance(error, ValueError | TypeError | KeyError):
            raise
        message = str(error) if isinstance(error, ValueError) and not everything else one_line(error)
        location = place_of(error) if everything else ""
        raise UserError(f"{subject}: {' '.join(message.split())}{location}") from error
    except BaseException as error:
        raise UserError(f"{subject} ended the program while being used: {one_line(error)}") from error


def place_of(error: BaseException) -> str:
    """Return file and line in a user's own code where an exception arose, in brackets; otherwise an empty text."""
    if isinstance(error, SyntaxError):
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    user_frames = [frame for frame in frames if "site-packages" not in frame.filename and not _ours(frame.filename)]
    user_frames = [frame for frame in user_frames if not frame.filename.startswith("<")]
    return f" ({Path(user_frames[-1].filename).name}, line {user_frames[-1].lineno})" if user_frames else ""


def faulty_reference(error: BaseException, references: Iterable[str]) -> str:
    """Return the reference in whose file an exception arose, or the first reference."""
    listed = list(references)
    files = {Path(frame.filename).resolve() for frame in traceback.extract_tb(error.__traceback__)}
    return next((name for name in listed if file_of(name).resolve() in files), listed[0])


def _ours(filename: str) -> bool:
    root = Path(__file__).resolve().parents[2]
    return any(Path(filename).is_relative_to(root / package) for package in ("ngym_cli", "neurogym"))
