"""Names in backticks in docstrings exist: functions, classes, attributes, files, registered names."""

import ast
import builtins
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
REFERENCE = re.compile(r":(?:class|meth|func|attr|mod|data):`~?([\w.]+)`|(?<![`\w])`([A-Za-z_][\w.]*)`(?!`)")
FILE = re.compile(r"\w+\.(py|md|toml|json|jsonl|h5|safetensors|parquet)")
SOURCES = [path for package in ("neurogym", "ngym_cli") for path in sorted((ROOT / package).rglob("*.py"))]


def defined_names(files: dict[Path, list[ast.AST]]) -> set[str]:
    """Return every name that the packages and their compiled functions define, import or use."""
    names = set(dir(builtins))
    for path, nodes in files.items():
        names |= set(path.with_suffix("").parts)
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.Attribute):
                names.add(node.attr)
            elif isinstance(node, ast.alias):
                names |= set((node.asname or node.name).split("."))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                names.add(node.value)
    for package in ("neurogym", "ngym_cli"):
        for path in (ROOT / package).rglob("*.[ch]"):
            names |= set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    return names


def test_names_in_docstrings_exist():
    files = {path: list(ast.walk(ast.parse(path.read_text(encoding="utf-8")))) for path in SOURCES}
    names, unknown = defined_names(files), []
    for path, nodes in files.items():
        for node in nodes:
            if not isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            for match in REFERENCE.finditer(ast.get_docstring(node) or ""):
                reference = match[1] or match[2]
                if FILE.fullmatch(reference) or reference.startswith("torch."):
                    continue
                if reference.rpartition(".")[2] not in names:
                    unknown.append(f"{path.relative_to(ROOT)}: {reference}")
    assert not unknown
