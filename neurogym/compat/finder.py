"""Import of old paths, and lookup of old names in old and present modules.

Nothing is copied: an old module looks up each name in its present place, on access.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.metadata import Distribution, DistributionFinder
from os import PathLike
from pathlib import Path
from types import ModuleType

from neurogym.compat import changes

#: Modules of this package as they were loaded, whatever a script puts into ``sys.modules`` under their names.
_LOADED: dict[str, ModuleType] = {}


def old_name(path: str, name: str) -> object:
    """An older name in a present module, or else the module of that name in a package.

    Raises:
        AttributeError: If there is neither.
    """
    names = changes.names_in(path)
    return _resolve(names[name]) if name in names else _submodule(path, name)


def _submodule(path: str, name: str) -> ModuleType:
    """Import ``path.name`` in place of a missing attribute."""
    absent = AttributeError(f"module {path!r} has no attribute {name!r}")
    if name.startswith("__") or not name.isidentifier() or not hasattr(sys.modules.get(path), "__path__"):
        raise absent
    try:
        return importlib.import_module(f"{path}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{path}.{name}":
            raise
        raise absent from None


def _resolve(target: str) -> object:
    module, _, attribute = target.partition(":")
    return getattr(_present(module), attribute) if attribute else _present(module)


def _present(path: str) -> ModuleType:
    """Module loaded from a path, even if a script has put another module in that place."""
    foreign = path not in _LOADED and path in sys.modules
    if foreign and getattr(getattr(sys.modules[path], "__spec__", None), "name", None) != path:
        planted = sys.modules.pop(path)
        try:
            return importlib.import_module(path)
        finally:
            sys.modules[path] = planted
    return _LOADED.get(path) or importlib.import_module(path)


class OldModule(ModuleType):
    """Stand-in for an old module: names come from the table, then from the present module."""

    def __getattr__(self, name: str) -> object:
        """Return the present object behind an older name."""
        if name == "__all__":
            return self.__dir__()
        path, names = self.__name__, changes.names_in_old(self.__name__)
        if not name.startswith("__"):
            if name not in changes.NAMES.get(path, ()) and f"{path}.{name}" in changes.MODULES:
                return _submodule(path, name)
            if name in names:
                return _resolve(names[name])
        present = _present(changes.MODULES[path])
        if name.startswith("__") or not hasattr(present, name):
            raise AttributeError(f"module {path!r} (now {present.__name__}) has no attribute {name!r}")
        return getattr(present, name)

    def __dir__(self) -> list[str]:
        """Names of the table and public names of the present module."""
        present = _present(changes.MODULES[self.__name__])
        listed = vars(present).get("__all__", [name for name in dir(present) if not name.startswith("_")])
        return sorted({*listed, *changes.names_in_old(self.__name__)})


class _OldLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return OldModule(spec.name, f"Older path of {changes.MODULES[spec.name]}.")

    def exec_module(self, module: ModuleType) -> None:
        """Execute nothing: names are looked up on access."""


class _PresentLoader(SourceFileLoader):
    """Loader of a present module, which then answers to older names and to names of submodules, too."""

    def exec_module(self, module: ModuleType) -> None:
        _LOADED[module.__name__] = module
        super().exec_module(module)
        _answer(module)


def _answer(module: ModuleType) -> None:
    """Give a module a ``__getattr__`` for older names and submodules."""
    if hasattr(module, "__path__") or changes.names_in(module.__name__):
        module.__getattr__ = _lookup(module.__name__, vars(module).get("__getattr__"))  # type: ignore[method-assign]


def _lookup(path: str, look_up_here: Callable[[str], object] | None) -> Callable[[str], object]:
    def __getattr__(name: str) -> object:
        if look_up_here is None:
            return old_name(path, name)
        try:
            return look_up_here(name)
        except AttributeError as error:
            try:
                return old_name(path, name)
            except AttributeError:
                raise error from None

    return __getattr__


class Finder(MetaPathFinder):
    """Finds old paths, and present modules that have older names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Specification of an old path, or of a present module with older names; None for other packages."""
        if not fullname.startswith("neurogym."):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None:
            return ModuleSpec(fullname, _OldLoader(), is_package=True) if fullname in changes.MODULES else None
        if isinstance(spec.loader, SourceFileLoader):
            spec.loader = _PresentLoader(spec.loader.name, spec.loader.path)
        return spec

    def find_distributions(self, context: DistributionFinder.Context | None = None) -> Iterator[Distribution]:
        """Yield the distribution ``neurogym`` to a search by that name."""
        if context is not None and context.name == "neurogym":
            yield _AsNeuroGym()


class _AsNeuroGym(Distribution):
    """Metadata of the distribution ``neurogym``, for ``importlib.metadata``."""

    def read_text(self, filename: str) -> str | None:
        version = importlib.import_module("neurogym").__version__
        return f"Metadata-Version: 2.1\nName: neurogym\nVersion: {version}\n" if filename == "METADATA" else None

    def locate_file(self, path: str | PathLike[str]) -> Path:
        return Path(__file__).parents[2] / path


def install() -> None:
    """Install the finder once as the first finder, and add older names to modules that are already loaded."""
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, Finder())
    for name, module in list(sys.modules.items()):
        if name.startswith("neurogym.") and name == getattr(module.__spec__, "name", None):
            _LOADED[name] = module
            _answer(module)


install()
