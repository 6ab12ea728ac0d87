"""Compiled functions: selection of the variant in use.

The inner loops of making and stepping trials and of recurrent learning, where NumPy and torch spend more time on calls
than on arithmetic, are written in C too. `pip install` builds them into this folder, one module for each set of
instructions (`VARIANTS`); the best that the processor has is taken. ``NGYM_KERNELS`` names another, or ``plain`` for
none. Each source is next to its plain form in NumPy or torch, which says what is computed and takes over where there
is no compiled one; `neurogym.kernels.table` lists them. Arguments are checked at every call (``module.c``).

Belongs here: what is needed to call compiled functions. May use: no other room.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import logging
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from neurogym.kernels.table import ABI, abi_of

PLAIN = "plain"
#: From the least to the most able; the first of an architecture runs on all its processors.
VARIANTS = ("baseline", "avx2", "avx512", "neon")
VARIABLE = "NGYM_KERNELS"
HINT = "to mend it, install a C compiler (gcc or clang) and then ngym again"

logger = logging.getLogger("neurogym")


class KernelError(ImportError):
    """Error for a requested variant that cannot be used on this machine."""


class _Loaded(NamedTuple):
    name: str
    module: ModuleType | None


def variant() -> str:
    """Name of the variant in use: a member of `VARIANTS`, or ``plain``.

    Raises:
        KernelError: If ``NGYM_KERNELS`` names one that cannot be used here.
    """
    return _in_use().name


def available() -> bool:
    """Whether compiled functions are in use; else the plain forms are."""
    return _in_use().module is not None


def get(name: str) -> Callable[..., int] | None:
    """A compiled function by name in `neurogym.kernels.table`, or None if the plain form is in use."""
    module = _in_use().module
    return None if module is None else vars(module)[name]


def require(name: str) -> Callable[..., int]:
    """A compiled function, where the caller has no plain form to fall back on.

    Raises:
        KernelError: If the plain form is in use.
    """
    function = get(name)
    if function is None:
        raise KernelError(f"{name} is not compiled; {HINT}")
    return function


def named(name: str) -> Callable[..., int]:
    """A compiled function that takes its arguments by the names in its signature; see `require`.

    Arrays that are optional may be left out.
    """
    function = require(name)
    order = dict.fromkeys(entry.split()[0] for entry in str(function.__doc__).split(";"))
    return lambda **arguments: function(*{**order, **arguments}.values())


def runnable() -> list[str]:
    """The variants that are built and that this processor can run, and ``plain``."""
    return [name for name in (*_for_this_processor(), PLAIN) if not _problem(name)]


@contextmanager
def use(name: str) -> Iterator[None]:
    """Select a variant, or ``plain``, within a block of a test or a benchmark.

    Raises:
        KernelError: If it cannot be used here.
    """
    global _forced  # noqa: PLW0603 - one library is loaded per process
    before, _forced = _forced, _take(name)
    try:
        yield
    finally:
        _forced = before


_forced: _Loaded | None = None


def _in_use() -> _Loaded:
    return _forced if _forced is not None else _chosen()


@functools.cache
def _chosen() -> _Loaded:
    """Select the variant named by the environment variable, else the best; warn once about problems."""
    name = os.environ.get(VARIABLE, "")
    if name:
        return _take(name)
    problems = []
    for name in reversed(_for_this_processor()):
        problem = _problem(name)
        if not problem:
            break
        problems.append(problem)
    else:
        name = PLAIN
        problems = problems or ["ngym was installed without them"]
    if problems:
        slower = "NumPy and torch take over, three to four times slower" if name == PLAIN else f"{name} is used"
        logger.warning("no compiled functions (%s): %s; %s", problems[0], slower, HINT)
    return _take(name)


def _take(name: str) -> _Loaded:
    if name != PLAIN and name not in VARIANTS:
        raise KernelError(f"{VARIABLE}={name}: expected one of {', '.join((PLAIN, *VARIANTS))}")
    problem = _problem(name)
    if not problem and name != PLAIN and name not in _for_this_processor():
        problem = f"this processor has no {name}"
    if problem:
        raise KernelError(f"{VARIABLE}={name}: {problem}; {', '.join(runnable())} can be used here")
    return _Loaded(name, None if name == PLAIN else importlib.import_module(_module(name)))


def _module(name: str) -> str:
    return f"{__name__}._{name}"


def _for_this_processor() -> tuple[str, ...]:
    """Variants that this processor can run, among the variants built for the architecture."""
    first = next((name for name in ("baseline", "neon") if not _problem(name)), None)
    if first is None:
        return tuple(name for name in VARIANTS if importlib.util.find_spec(_module(name)))[:1]
    best = importlib.import_module(_module(first)).PROCESSOR
    if best not in VARIANTS:
        return (first,)
    built = VARIANTS[VARIANTS.index(first) : VARIANTS.index(best) + 1]
    return tuple(name for name in built if importlib.util.find_spec(_module(name)))


@functools.cache
def _problem(name: str) -> str | None:
    """Reason why a variant cannot be loaded, or None."""
    if name == PLAIN:
        return None
    spec = importlib.util.find_spec(_module(name))
    if spec is None or spec.origin is None:
        return f"{name} is not installed"
    if _is_cut_short(Path(spec.origin)):
        return f"{Path(spec.origin).name} is damaged"
    try:
        module = importlib.import_module(_module(name))
    except ImportError as error:
        return f"{Path(spec.origin).name} cannot be loaded: {' '.join(str(error).split())}"
    if abi_of(vars(module).get("SIGNATURES", {})) != ABI:
        return f"{Path(spec.origin).name} was built from other sources"
    return None


def _is_cut_short(path: Path) -> bool:
    """Whether the end of an ELF file is missing, which the system notices only by ending the process.

    The last thing in such a file is the table of its sections, at the position given in the header.
    """
    with path.open("rb") as file:
        head = file.read(64)
        size = os.fstat(file.fileno()).st_size
    if head[:4] != b"\x7fELF":
        return size < 64
    if len(head) < 64 or head[4] != 2:  # only files of 64 bits are built
        return len(head) < 64
    at, each, count = struct.unpack_from("<Q10xHH" if head[5] == 1 else ">Q10xHH", head, 40)
    return at + each * count > size
