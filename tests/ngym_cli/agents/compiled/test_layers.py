"""The C sources of compiled learning are layers: each includes headers of lower layers only."""

import re
from pathlib import Path

import pytest

from ngym_cli.agents import compiled

FOLDER = Path(compiled.__file__).parent
#: Lowest first; sources of a row do not include each other's headers.
LAYERS = [
    ("lanes",),
    ("products",),
    ("loops",),
    ("adam", "team"),
    ("agent",),
    ("objective",),
    ("passes",),
    ("network", "update"),
    ("python",),
]
RANK = {name: rank for rank, row in enumerate(LAYERS) for name in row}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.[ch]")), ids=lambda path: path.name)
def test_sources_include_headers_of_lower_layers_only(path):
    headers = re.findall(r'#include "(\w+)\.h"', path.read_text())
    for header in headers:
        assert header in {"kernel", path.stem} or RANK[header] < RANK[path.stem], header


def test_all_compiled_learning_is_in_this_folder():
    assert {path.stem for path in FOLDER.glob("*.[ch]")} == set(RANK)
    assert not [path for path in FOLDER.parents[1].rglob("*.[ch]") if path.parent != FOLDER]
