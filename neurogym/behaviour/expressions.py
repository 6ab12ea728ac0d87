"""Conditions that choose rows of a table, and formulas that make columns; neither is evaluated as code."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.array_types import BoolArray, FloatArray
from neurogym.behaviour import entries
from neurogym.behaviour.entries import TableError, is_missing, parse_number
from neurogym.messages.names import nearest, unknown

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}
_COMPARISON = re.compile(r"^(.+?)\s*(==|!=|>=|<=|=|>|<)\s*(.*)$")
_MEMBER = re.compile(r"^(.+?)\s+(not\s+in|in)\s+(.+)$")
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
}
_RELATION: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Lt: "<",
    ast.LtE: "<=",
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "sign": np.sign,
    "min": np.minimum,
    "max": np.maximum,
}


def rows_where(columns: DataFrame, condition: str) -> BoolArray:
    """Return which rows satisfy a condition.

    Args:
        columns: the table.
        condition: ``task == main``, ``rt < 3``, ``phase in main,test``, ``subject not in 3,7``, ``not practice`` or a
            column of truth values alone; words may be in quotes, ``none`` stands for a missing entry.

    Raises:
        TableError: if the condition is no condition, or names a column or a word that the table does not have.
    """
    text = condition.strip()
    if re.search(r"\s(and|or|&&|\|\|)\s", text):
        cure = "repeat --where for 'and'; 'NAME in a,b' is 'or'"
        raise TableError(f"condition {text!r}: expected one comparison ({cure})")
    if (match := _MEMBER.match(text)) and _name(match[1], columns) is not None:
        entries = re.findall(r"'[^']*'|\"[^\"]*\"|[^,\s]+", match[3].strip().strip("[](){}"))
        name = _column(match[1], columns)
        chosen = np.any([_equal(columns[name], _unquoted(word), name) for word in entries], axis=0)
        return ~chosen if match[2].startswith("not") else chosen
    if match := _COMPARISON.match(text):
        name, sign, word = _column(match[1], columns), match[2], _unquoted(match[3])
        if sign in ("==", "="):
            return _equal(columns[name], word, name)
        if sign == "!=":
            return ~_equal(columns[name], word, name)
        number = parse_number(word)
        if number is None or not entries.is_numeric(columns[name]):
            raise TableError(f"condition {text!r}: {sign} compares numbers; expected == or != for words")
        with np.errstate(invalid="ignore"):
            return np.asarray(_COMPARE[sign](entries.numbers(columns[name]), number))
    negated = text.startswith("not ")
    name = _column(text.removeprefix("not "), columns)
    true = np.nan_to_num(entries.numbers(columns[name])) != 0
    return ~true if negated else true


def _unquoted(word: str) -> str:
    word = word.strip()
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" else word


def _name(text: str, columns: DataFrame) -> str | None:
    name = _unquoted(text).strip("`")
    return name if name in columns else None


def _column(text: str, columns: DataFrame) -> str:
    name = _name(text, columns)
    if name is None:
        raise TableError(unknown("column", _unquoted(text), columns))
    return name


def _equal(column: Series, word: str, name: str) -> BoolArray:
    if is_missing(word):
        return entries.missing(column)
    if entries.is_words(column) and word in entries.words(column):
        return np.asarray(entries.codes(column) == entries.words(column).index(word))
    number = parse_number(word)
    if number is not None and (entries.is_numeric(column) or entries.is_truth(column)):
        return np.asarray(entries.numbers(column) == number)
    if entries.is_words(column):
        index = {each.lower(): k for k, each in enumerate(entries.words(column))}
        if word.lower() in index:
            return np.asarray(entries.codes(column) == index[word.lower()])
        close = nearest(word, entries.words(column))
        hint = f"; did you mean {close!r}?" if close else ""
        listed = ", ".join(entries.words(column)[:8]) + (", ..." if len(entries.words(column)) > 8 else "")
        raise TableError(f"column {name!r} has no entry {word!r}{hint} (entries: {listed})")
    raise TableError(f"column {name!r} holds numbers, not {word!r}")


def derived(columns: DataFrame, formulas: Iterable[str] | Mapping[str, str]) -> tuple[DataFrame, list[str]]:
    """Return the table with columns made by formulas, and remarks.

    Args:
        columns: the table.
        formulas: as in ``signed=contrastRight-contrastLeft``: numbers, columns (in backticks if their names hold other
            characters than letters, digits and dots), + - * / ** %, comparisons (1 or 0), abs, log, log2, log10, sqrt,
            exp, sign, min and max; or a mapping from name to formula.

    Raises:
        TableError: if a formula is no formula or names a column that the table does not have.
    """
    pairs = list(formulas.items()) if isinstance(formulas, Mapping) else []
    for text in () if isinstance(formulas, Mapping) else formulas:
        match = re.match(r"^\s*([^=<>!]+?)\s*=(?!=)\s*(.+)$", text)
        if not match:
            raise TableError(f"formula {text!r}: expected NAME=FORMULA, as in signed=contrastRight-contrastLeft")
        pairs.append((match[1], match[2]))
    extended, notes = columns.copy(deep=False), []
    for name, formula in pairs:
        values, note = _evaluated(extended, str(formula))
        extended[name] = values
        notes += [f"{name}: {note}"] if note else []
    return extended, notes


def _evaluated(columns: DataFrame, formula: str) -> tuple[FloatArray, str]:
    names: dict[str, str] = {}

    def placeholder(match: re.Match[str]) -> str:
        if match[0][0] in "'\"0123456789":
            return match[0]
        word = match[0].strip("`")
        after = formula[match.end() :].lstrip()
        if word in columns:
            return names.setdefault(word, f"_{len(names)}_")
        if after.startswith("(") and word in _FUNCTIONS:
            return word
        if parse_number(word) is not None:
            return word
        raise TableError(f"formula {formula!r}: {unknown('column', word, columns)}")

    longest = sorted((re.escape(name) for name in columns if not name.isidentifier()), key=len, reverse=True)
    quoted = r"'[^']*'|\"[^\"]*\""
    number = r"(?<![\w.])\d+\.?\d*(?:[eE][+-]?\d+)?(?!\w)"
    token = "|".join([number, quoted, "`[^`]+`", *longest, r"[^\W\d][\w.]*"])
    text = re.sub(token, placeholder, formula)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise TableError(f"formula {formula!r}: expected an expression such as a-b or abs(a)/2") from None
    calculator = _Formula(formula, {short: columns[name] for name, short in names.items()}, names)
    note = calculator.fill_one_sided(tree)
    with np.errstate(all="ignore"):
        result = np.asarray(calculator.value(tree), float)
    n = len(columns)
    return np.where(np.isinf(result), np.nan, np.broadcast_to(result, n)).astype(float), note


def one_side_is_missing(a: FloatArray, b: FloatArray) -> bool:
    """Return whether one of two columns is missing in most rows while the other is known."""
    return bool(np.mean(np.isnan(a) != np.isnan(b)) > 0.5)


def zeros_for_missing(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two columns with 0 for an entry that is missing where the other is known."""
    return np.where(np.isnan(a) & ~np.isnan(b), 0.0, a), np.where(np.isnan(b) & ~np.isnan(a), 0.0, b)


class _Formula:
    """Formula whose columns have been replaced by short names."""

    def __init__(self, text: str, columns: Mapping[str, Series], names: Mapping[str, str]):
        self.text, self.columns = text, columns
        self.full = {short: name for name, short in names.items()}
        self.replaced: dict[str, FloatArray] = {}

    def numbers(self, short: str) -> FloatArray:
        column = self.columns[short]
        if not entries.is_numeric(column) and not entries.is_truth(column):
            raise TableError(f"formula {self.text!r}: column {self.full[short]!r} holds words, expected numbers")
        return self.replaced.get(short, entries.numbers(column))

    def fill_one_sided(self, tree: ast.expr) -> str:
        """Read a missing entry as 0 in a difference of two columns, of which most rows have one (IBL's contrasts)."""
        if not (isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Sub | ast.Add)):
            return ""
        if not (isinstance(tree.left, ast.Name) and isinstance(tree.right, ast.Name)) or len(self.columns) != 2:
            return ""
        a, b = self.numbers(tree.left.id), self.numbers(tree.right.id)
        if not one_side_is_missing(a, b):
            return ""
        self.replaced[tree.left.id], self.replaced[tree.right.id] = zeros_for_missing(a, b)
        return "a missing entry on one side is read as 0"

    def value(self, node: ast.expr) -> Any:
        """Return the value of a node: numbers of all rows, or one number."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
            return np.float64(node.value)
        if isinstance(node, ast.Name) and node.id in self.columns:
            return self.numbers(node.id)
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            return _BINARY[type(node.op)](self.value(node.left), self.value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            value = self.value(node.operand)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _RELATION:
            return self.relation(node.left, _RELATION[type(node.ops[0])], node.comparators[0])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            name = node.func.id
            if name in _FUNCTIONS and len(node.args) == (2 if name in ("min", "max") else 1):
                return _FUNCTIONS[name](*map(self.value, node.args))
        allowed = f"columns, numbers, + - * / ** %, comparisons, {', '.join(_FUNCTIONS)}"
        raise TableError(f"formula {self.text!r}: expected {allowed}")

    def relation(self, left: ast.expr, sign: str, right: ast.expr) -> Any:
        """Return 1 where a comparison holds and 0 where not, nan where an entry is missing."""
        if isinstance(left, ast.Name) and isinstance(right, ast.Constant) and isinstance(right.value, str):
            if sign not in ("==", "!=") or left.id not in self.columns:
                raise TableError(f"formula {self.text!r}: words are compared with == or !=")
            same = _equal(self.columns[left.id], right.value, self.full[left.id]) == (sign == "==")
            return np.where(entries.missing(self.columns[left.id]), np.nan, same)
        a, b = self.value(left), self.value(right)
        return np.where(np.isnan(a) | np.isnan(b), np.nan, np.asarray(_COMPARE[sign](a, b), float))
