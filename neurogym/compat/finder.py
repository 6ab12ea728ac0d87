"""Old paths can be imported, and old names are found in the modules that had them.

Nothing is copied: an old module looks every name up where it is now, when it is asked for.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

from neurogym.compat import table


def old_name(path: str, name: str) -> Any:
    """What an older name in a present module stands for.

    Raises:
        AttributeError: If the table has no such name.
    """
    names = table.names_in(path)
    if name not in names:
        raise AttributeError(f"module {path!r} has no attribute {name!r}")
    return _found(names[name])


def _found(target: str) -> Any:
    module, _, attribute = target.partition(":")
    found = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found


class OldModule(ModuleType):
    """A module that is no more: its names are those of the table, then those of the present module."""

    def __getattr__(self, name: str) -> Any:
        """Look the name up where it is now."""
        if name == "__all__":
            return self.__dir__()
        names = {} if name.startswith("__") else table.names_in_old(self.__name__)
        if name in names:
            return _found(names[name])
        present = importlib.import_module(str(table.module_of(self.__name__)))
        if name.startswith("__") or not hasattr(present, name):
            raise AttributeError(f"module {self.__name__!r} (now {present.__name__}) has no attribute {name!r}")
        return getattr(present, name)

    def __dir__(self) -> list[str]:
        """Names of the table and public names of the present module."""
        present = importlib.import_module(str(table.module_of(self.__name__)))
        listed = vars(present).get("__all__", [name for name in dir(present) if not name.startswith("_")])
        return sorted({*listed, *table.names_in_old(self.__name__)})


class _OldLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return OldModule(spec.name, f"Older path of {table.module_of(spec.name)}.")

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to execute: names are looked up when they are asked for."""


class _PresentLoader(SourceFileLoader):
    """Loads a present module as usual and lets it answer to older names, too."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        own = module.__dict__.get("__getattr__")
        module.__getattr__ = _lookup(module.__name__, own)  # type: ignore[method-assign]


def _lookup(path: str, own: Callable[[str], Any] | None) -> Callable[[str], Any]:
    def __getattr__(name: str) -> Any:
        if own is not None:
            try:
                return own(name)
            except AttributeError:
                if name not in table.names_in(path):
                    raise
        return old_name(path, name)

    return __getattr__


class Finder(MetaPathFinder):
    """Finds old paths, and present modules that have older names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The specification of an old path, or of a present module with its older names; None for all others."""
        if not fullname.startswith("neurogym."):
            return None
        if fullname in table.MODULES:
            return ModuleSpec(fullname, _OldLoader(), is_package=True)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None:
            return ModuleSpec(fullname, _OldLoader(), is_package=True) if table.module_of(fullname) else None
        if isinstance(spec.loader, SourceFileLoader) and table.names_in(fullname):
            spec.loader = _PresentLoader(spec.loader.name, spec.loader.path)
        return spec


def install() -> None:
    """Ask the finder before all others; once is enough."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())


install()
