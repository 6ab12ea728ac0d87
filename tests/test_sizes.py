"""Code lines of each part, without comments, docstrings and blank lines: none grows without a reason.

A limit is raised only by a commit that says why, and lowered by each that makes the part smaller.
"""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: Most code lines of each folder or file; a file counts for the longest of them that it lies in.
LIMITS = {
    "neurogym": 8_493,
    "neurogym/analysis": 3_220,
    "neurogym/behaviour": 5_379,
    "neurogym/behaviour/models": 3_449,
    "neurogym/dynamics": 1_823,
    "neurogym/envs": 6_465,
    "ngym_cli": 7_836,
    "ngym_cli/agents": 6_338,
    "ngym_cli/api": 1_613,
    "ngym_cli/commands": 1_016,
    "ngym_cli/config": 1_327,
    "ngym_cli/figures": 5_126,
    "ngym_cli/fitting": 3_935,
    "ngym_cli/papers": 1_576,
    "ngym_cli/sweeps": 2_411,
    "ngym_cli/training": 1_790,
    "experiments": 6_478,
    "tests": 36_097,
}

NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def code_lines(path: Path) -> int:
    """Return the number of code lines of a Python file."""
    source = path.read_text(encoding="utf-8")
    described = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = [
        node.body[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, described) and ast.get_docstring(node, clean=False) is not None
    ]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {k for each in tokens if each.type not in NO_CODE for k in range(each.start[0], each.end[0] + 1)}
    return len(lines - {k for each in docstrings for k in range(each.lineno, (each.end_lineno or 0) + 1)})


def test_lines_of_code_are_counted(tmp_path):
    (tmp_path / "a.py").write_text(
        '"""Module.\n\nMore.\n"""\n\nx = """a\nb"""  # two\n\n\ndef f():\n    """Do."""\n    return x\n'
    )
    assert code_lines(tmp_path / "a.py") == 4


@pytest.mark.parametrize("part", LIMITS)
def test_no_part_outgrows_its_limit(part):
    others = [ROOT / each for each in LIMITS if each.startswith(f"{part}/")]
    paths = [path for path in (ROOT / part).rglob("*.py") if not any(path.is_relative_to(other) for other in others)]
    lines = sum(map(code_lines, paths))
    assert 0.95 * LIMITS[part] <= lines <= LIMITS[part], f"{part} has {lines:,} code lines"
