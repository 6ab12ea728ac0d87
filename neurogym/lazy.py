"""Names of a package that are imported on first use (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def attach(
    package: str, names: Mapping[str, Iterable[str]], submodules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], list[str]]:
    """Return ``__getattr__`` of a package whose names are imported on first use, and the sorted names.

    Args:
        package: Name of the package.
        names: Module to the public names in it; modules without a dot are those of the package.
        submodules: Modules of the package that are public names themselves.
    """
    home = {name: module if "." in module else f"{package}.{module}" for module, of in names.items() for name in of}
    modules = {name: f"{package}.{name}" for name in submodules}

    def getattribute(name: str) -> Any:
        if name in home:
            return getattr(import_module(home[name]), name)
        if name in modules:
            return import_module(modules[name])
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return getattribute, sorted([*home, *modules])
