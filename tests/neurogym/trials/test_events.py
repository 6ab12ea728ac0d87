"""Codes of events are the same in Python and in C."""

import re
from pathlib import Path

import pytest

import neurogym
from neurogym.trials import events

SOURCES = sorted(Path(neurogym.__file__).parent.rglob("*.c"))


def codes(text):
    """Name to number of the enumerations that a whole C source uses."""
    results = {}
    for body in re.findall(r"^enum \{([^}]*)\}", text, re.MULTILINE):
        following = 0
        for entry in body.split(","):
            name, _, number = (word.strip() for word in entry.partition("="))
            following = int(number) if number else following
            results[name] = following
            following += 1
    return {name: number for name, number in results.items() if hasattr(events, name)}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_codes_agree(path):
    for name, number in codes(path.read_text(encoding="utf-8")).items():
        assert getattr(events, name) == number, name


def test_there_are_such_sources():
    assert {"CORRECT", "END"} <= {name for path in SOURCES for name in codes(path.read_text(encoding="utf-8"))}
