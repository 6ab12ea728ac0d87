"""Types of the keyword arguments of each function, and the same arguments as options of the shell.

``python tests/ngym_cli/api/test_options.py`` writes the stub ``ngym_cli/api/options.pyi`` anew.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest

import ngym_cli as nc
from ngym_cli.config.fields import Option

#: The stub, which type checkers read and no program imports.
STUB = Path(nc.__file__).parent / "api" / "options.pyi"

#: Function with the keyword arguments of each group.
FUNCTIONS = {
    "TrainOptions": nc.train,
    "SweepOptions": nc.sweep,
    "EvaluateOptions": nc.Run.evaluate,
    "SimulateOptions": nc.simulate,
    "PlotOptions": nc.plot,
    "InfoOptions": nc.info,
    "CheckOptions": nc.check,
    "ExportOptions": nc.export,
    "DiffOptions": nc.diff,
    "WatchOptions": nc.watch,
    "ListOptions": nc.list,
    "DataOptions": nc.data,
    "FitOptions": nc.fit,
    "ReproduceOptions": nc.reproduce,
}
#: Types by the type of an option.
TYPES = {
    "word": "str",
    "path": "str | Path",
    "names": "str | Sequence[object]",
    "words": "str | Sequence[object]",
    "number": "float",
    "whole": "float",
    "switch": "bool",
    "wrappers": "Wrappers",
    "table": "Mapping[str, object]",
}
#: Types of arguments for which Python takes more than the shell.
WIDER = {
    "TrainOptions": {"alg": "Part", "callbacks": "Callbacks"},
    "SweepOptions": {
        **dict.fromkeys(("task", "network", "alg"), "Part"),
        "callbacks": "Part | Sequence[Part]",
        **dict.fromkeys(("reset_state", "track"), "str"),
        "zip": "Iterable[Iterable[str]]",
    },
    "EvaluateOptions": {
        **dict.fromkeys(("lesion", "silence", "clamp", "noise"), "PerturbedUnits"),
        **dict.fromkeys(("compare", "compare_activity"), "TableSource"),
        **dict.fromkeys(("recording_by", "record"), "Columns"),
    },
    "SimulateOptions": {"compare": "TableSource"},
    "PlotOptions": dict.fromkeys(("by", "pair", "metric", "axes"), "Columns"),
    "WatchOptions": {"only": "str | Mapping[str, object]"},
    "FitOptions": {"units": "int | Sequence[int]", "test": "TableSource"},
}


def type_of(group: str, name: str, option: Option) -> str:
    """Return the type of an argument."""
    kinds = [option.info.annotation, *get_args(option.info.annotation)]
    words = next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), ())
    listed = ", ".join(f'"{word}"' for word in words)
    literal = f"Literal[{listed}]" if words else ""
    written = WIDER.get(group, {}).get(name) or literal or ("int" if name == "seed" else TYPES[option.kind])
    varies = option.many and name != "callbacks" and option.kind != "table"
    return f"{written} | {f'Iterable[{written}] | ' if varies else ''}None"


def expected() -> str:
    """Return the text of the module."""
    text = STUB.read_text(encoding="utf-8")
    groups = []
    for group, function in FUNCTIONS.items():
        rows = [f"    {name}: {type_of(group, name, each)}" for name, each in function.options.items()]
        title = f'    """Keyword arguments of `ngym_cli.{function.__qualname__}`."""'
        groups.append("\n".join([f"class {group}(TypedDict, total=False):", title, "", *rows]))
    return text[: text.index("class TrainOptions")] + "\n\n".join(groups) + "\n"


def test_types_are_those_of_the_options():
    assert STUB.read_text(encoding="utf-8") == expected(), f"python {Path(__file__).name} writes it anew"


@pytest.mark.parametrize("group", FUNCTIONS)
def test_functions_have_these_types(group):
    (keywords,) = [
        each
        for each in inspect.signature(inspect.unwrap(FUNCTIONS[group])).parameters.values()
        if each.kind is each.VAR_KEYWORD
    ]
    assert keywords.annotation == f"Unpack[{group}]"


if __name__ == "__main__":
    STUB.write_text(expected(), encoding="utf-8")
