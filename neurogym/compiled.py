"""C sources compiled for this machine when they are first needed, and kept in the user's cache.

What is compiled are the inner loops of making and stepping trials and of recurrent learning, where NumPy and torch
spend more time on calls than on arithmetic. Each has a form without: it takes over where there is no compiler (``CC``,
else ``cc``), where the cache (``XDG_CACHE_HOME``, else ``~/.cache``) cannot be written, and with ``NGYM_COMPILE=0``.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import re
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

OPTIONS = ("-O3", "-fno-math-errno", "-shared", "-fPIC")


@functools.cache
def library(source: Path) -> ctypes.CDLL | None:
    """The compiled source, or None where it cannot be compiled."""
    if os.environ.get("NGYM_COMPILE") == "0":
        return None
    name = f"{source.stem}-{hashlib.sha256(_text(source) + _processor()).hexdigest()[:16]}.so"
    try:
        compiler = shlex.split(os.environ.get("CC") or "cc")
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ngym"
        if not (cache / name).exists():
            cache.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=cache) as folder:
                made = Path(folder) / name
                _compile(compiler, source, made)
                made.replace(cache / name)
        return ctypes.CDLL(str(cache / name))
    except (OSError, RuntimeError, ValueError, subprocess.SubprocessError):
        return None


@functools.cache
def function(source: Path, name: str, arguments: int) -> Any:
    """A compiled function of so many integers, of which some are addresses; None where it cannot be compiled."""
    made = library(source)
    if made is None:
        return None
    found = getattr(made, name)
    found.restype, found.argtypes = ctypes.c_int64, [ctypes.c_int64] * arguments
    return found


def works() -> bool:
    """Whether sources are compiled here."""
    return library(Path(__file__).with_name("batch.c")) is not None


def _text(source: Path) -> bytes:
    """A source and what it includes of ours."""
    text = source.read_bytes()
    included = re.findall(rb'^#include "(.+)"', text, re.MULTILINE)
    return b"".join([text, *(_text(source.parent / name.decode()) for name in included)])


def _compile(compiler: list[str], source: Path, made: Path) -> None:
    """For this very processor, or for any of its kind where the compiler does not know it."""
    command = [*compiler, *OPTIONS, "-o", str(made), str(source), "-lm"]
    if subprocess.run([*command, "-march=native"], capture_output=True, timeout=60).returncode:
        subprocess.run(command, capture_output=True, timeout=60, check=True)


def _processor() -> bytes:
    """What tells processors with other instructions apart."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        known = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    except OSError:
        known = platform.processor()
    return f"{platform.machine()} {known}".encode()
