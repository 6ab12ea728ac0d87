"""Conditions that choose rows of a table, and formulas that make columns; neither is evaluated as code."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.array_types import BoolArray, FloatArray, IntArray
from neurogym.behaviour import entries
from neurogym.behaviour.entries import TableError, is_missing, parse_number
from neurogym.messages.names import nearest, unknown
from neurogym.messages.options import option

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: Rows in the order of the trials, and which of these follow one of the same session.
TrialOrder = Callable[[], tuple[IntArray, BoolArray]]

_COMPARISON = re.compile(r"^(.+?)\s*(==|!=|>=|<=|=|>|<)\s*(.*)$")
_MEMBER = re.compile(r"^(.+?)\s+(not\s+in|in)\s+(.+)$")
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_RELATIONS: dict[str, tuple[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    "==": (ast.Eq, operator.eq),
    "!=": (ast.NotEq, operator.ne),
    ">": (ast.Gt, operator.gt),
    ">=": (ast.GtE, operator.ge),
    "<": (ast.Lt, operator.lt),
    "<=": (ast.LtE, operator.le),
}
_SIGNS = {kind: sign for sign, (kind, _) in _RELATIONS.items()}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("abs", "log", "log2", "log10", "sqrt", "exp", "sign")},
    "min": np.minimum,
    "max": np.maximum,
}
FEWEST_OF_A_SIDE = 0.02  #: share of the rows with one of two columns from which both are missing in turn
#: Functions of a trial and those before it in its session.
_WITHIN_SESSIONS = ("previous", "since", "count")
_OF_COLUMNS = (*_WITHIN_SESSIONS, "known")  #: functions whose names columns do not hide


def rows_where(columns: DataFrame, condition: str, order: TrialOrder | None = None) -> BoolArray:
    """Return which rows satisfy a condition.

    Args:
        columns: the table.
        condition: ``task == main``, ``rt < 3``, ``phase in main,test``, ``subject not in 3,7``, ``not practice`` or a
            column of truth values alone; words may be in quotes, ``none`` stands for a missing entry. A formula (see
            `derived`) that begins with a function is a condition as well, as in ``count(trial > 0) > 10``.
        order: of the trials within sessions, for formulas that need it.

    Raises:
        TableError: if the condition is no condition, or names a column or a word that the table does not have.
    """
    text = condition.strip()
    if re.search(r"\s(and|or|&&|\|\|)\s", text):
        cure = f"repeat {option('--where')} for 'and'; 'NAME in a,b' is 'or'"
        raise TableError(f"condition {text!r}: expected one comparison ({cure})")
    if re.match(rf"({'|'.join((*_FUNCTIONS, *_OF_COLUMNS))})\(", text):
        return np.nan_to_num(_evaluated(columns, text, order)[0]) != 0
    if (match := _MEMBER.match(text)) and _name(match[1]) in columns:
        words = re.findall(r"'[^']*'|\"[^\"]*\"|[^,\s]+", match[3].strip().strip("[](){}"))
        chosen = np.any([_equal(columns, _name(match[1]), _unquoted(word)) for word in words], axis=0)
        return ~chosen if match[2].startswith("not") else chosen
    if match := _COMPARISON.match(text):
        name, sign, word = _name(match[1]), "==" if match[2] == "=" else match[2], _unquoted(match[3])
        column, number = _column(columns, name), parse_number(word)
        if sign in ("==", "!="):
            return _equal(columns, name, word) == (sign == "==")
        if number is None or not entries.is_numeric(column):
            raise TableError(f"condition {text!r}: {sign} compares numbers; expected == or != for words")
        with np.errstate(invalid="ignore"):
            return np.asarray(_RELATIONS[sign][1](entries.numbers(column), number))
    negated = text.startswith("not ")
    true = np.nan_to_num(entries.numbers(_column(columns, _name(text.removeprefix("not "))))) != 0
    return ~true if negated else true


def _unquoted(word: str) -> str:
    word = word.strip()
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" else word


def _name(text: str) -> str:
    return _unquoted(text).strip("`")


def _column(columns: DataFrame, name: str) -> Series:
    if name not in columns:
        raise TableError(unknown("column", name, columns))
    return columns[name]


def _equal(columns: DataFrame, name: str, word: str) -> BoolArray:
    """Return the rows of a column that hold a word, in any case, or a number."""
    column = columns[name]
    words = entries.words(column)
    if is_missing(word):
        return entries.missing(column)
    if word in words:
        return np.asarray(column == word)
    number = parse_number(word)
    if number is not None and (entries.is_numeric(column) or entries.is_truth(column)):
        return np.asarray(entries.numbers(column) == number)
    if not entries.is_words(column):
        raise TableError(f"column {name!r} holds numbers, not {word!r}")
    spelled = next((each for each in reversed(words) if each.lower() == word.lower()), None)
    if spelled is None:
        close = nearest(word, words)
        hint = f"; did you mean {close!r}?" if close else ""
        listed = ", ".join(words[:8]) + (", ..." if len(words) > 8 else "")
        raise TableError(f"column {name!r} has no entry {word!r}{hint} (entries: {listed})")
    return np.asarray(column == spelled)


def derived(
    columns: DataFrame, formulas: Mapping[str, str], order: TrialOrder | None = None
) -> tuple[DataFrame, list[str]]:
    """Return the table with columns made by formulas, and remarks.

    Args:
        columns: the table.
        formulas: by the name of their column: numbers, columns (in backticks if their names hold other characters than
            letters, digits and dots), + - * / ** %, comparisons (1 or 0), abs, log, log2, log10, sqrt, exp, sign, min
            and max; ``known(x)`` is 1 where column x has an entry and else 0. Within a session, ``previous(x)`` and
            ``previous(x, 2)`` are the value one and two trials before,
            ``since(x)`` is the number of trials since x last held (0 where it holds, missing before it ever did), and
            ``count(x)`` is the number of trials until now, this one included, in which x held.
        order: of the trials within sessions, for formulas that need it.

    Raises:
        TableError: if a formula is no formula or names a column that the table does not have.
    """
    extended, notes = columns.copy(deep=False), []
    for name, formula in formulas.items():
        extended[name], note = _evaluated(extended, str(formula), order)
        notes += [f"{name}: {note}"] if note else []
    return extended, notes


def _evaluated(columns: DataFrame, formula: str, order: TrialOrder | None) -> tuple[FloatArray, str]:
    names: dict[str, str] = {}

    def placeholder(match: re.Match[str]) -> str:
        if match[0][0] in "'\"0123456789":
            return match[0]
        word = match[0].strip("`")
        called = formula[match.end() :].lstrip().startswith("(")
        if called and (word in _OF_COLUMNS or (word in _FUNCTIONS and word not in columns)):
            return word
        if word in columns:
            return names.setdefault(word, f"_{len(names)}_")
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
    calculator = _Formula(formula, columns, {short: name for name, short in names.items()}, order)
    note = calculator.fill_one_sided(tree)
    with np.errstate(all="ignore"):
        result = np.asarray(calculator.value(tree), float)
    return np.where(np.isinf(result), np.nan, np.broadcast_to(result, len(columns))).astype(float), note


class _Formula:
    """Formula whose columns have been replaced by short names."""

    def __init__(self, text: str, columns: DataFrame, full: Mapping[str, str], order: TrialOrder | None):
        self.text, self.columns, self.full, self.order = text, columns, full, order
        self.replaced: dict[str, FloatArray] = {}

    def numbers(self, short: str) -> FloatArray:
        column = self.columns[self.full[short]]
        if not entries.is_numeric(column) and not entries.is_truth(column):
            raise TableError(f"formula {self.text!r}: column {self.full[short]!r} holds words, expected numbers")
        return self.replaced.get(short, entries.numbers(column))

    def fill_one_sided(self, tree: ast.expr) -> str:
        """Read a missing entry as 0 in a difference of two columns, of which most rows have one, now this, now that.

        IBL's contrasts are written so. Where only one of the two is ever missing, as a time without a response beside
        that of the stimulus, the difference is missing.
        """
        if not (isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Sub | ast.Add)) or len(self.full) != 2:
            return ""
        if not (isinstance(tree.left, ast.Name) and isinstance(tree.right, ast.Name)):
            return ""
        a, b = self.numbers(tree.left.id), self.numbers(tree.right.id)
        alone = np.isnan(a) != np.isnan(b)
        in_turn = [np.sum(alone & np.isnan(side)) > FEWEST_OF_A_SIDE * np.sum(alone) for side in (a, b)]
        empty = np.isnan(a).all() or np.isnan(b).all()
        if np.mean(alone) <= 0.5 or not (all(in_turn) or empty):
            return ""
        self.replaced = {
            tree.left.id: np.where(alone & np.isnan(a), 0.0, a),
            tree.right.id: np.where(alone & np.isnan(b), 0.0, b),
        }
        return "a missing entry on one side is read as 0"

    def value(self, node: ast.expr) -> Any:
        """Return the value of a node: numbers of all rows, or one number."""
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return np.float64(number)
            case ast.Name(id=name) if name in self.full:
                return self.numbers(name)
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
                return _OPERATORS[type(sign)](self.value(left), self.value(right))
            case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _OPERATORS:
                return _OPERATORS[type(sign)](self.value(operand))
            case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in _SIGNS:
                return self.relation(left, _SIGNS[type(sign)], right)
            case ast.Call(func=ast.Name(id="known"), args=[ast.Name(id=name)], keywords=[]) if name in self.full:
                return np.where(entries.missing(self.columns[self.full[name]]), 0.0, 1.0)
            case ast.Call(func=ast.Name(id="previous"), args=[x, ast.Constant(value=int() as lag)], keywords=[]):
                return self.within_sessions("previous", self.value(x), lag)
            case ast.Call(func=ast.Name(id=name), args=[x], keywords=[]) if name in _WITHIN_SESSIONS:
                return self.within_sessions(name, self.value(x))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
                if len(arguments) == (2 if name in ("min", "max") else 1):
                    return _FUNCTIONS[name](*map(self.value, arguments))
        names = ", ".join((*_FUNCTIONS, *_OF_COLUMNS))
        raise TableError(f"formula {self.text!r}: expected columns, numbers, + - * / ** %, comparisons, {names}")

    def relation(self, left: ast.expr, sign: str, right: ast.expr) -> Any:
        """Return 1 where a comparison holds and 0 where not, nan where an entry is missing."""
        if isinstance(left, ast.Call) and ast.unparse(left.func) == "previous" and isinstance(right, ast.Constant):
            inner = ast.Compare(left.args[0], [_RELATIONS[sign][0]()], [right])
            return self.value(ast.Call(left.func, [inner, *left.args[1:]], left.keywords))
        if isinstance(left, ast.Name) and isinstance(right, ast.Constant) and isinstance(right.value, str):
            if sign not in ("==", "!=") or left.id not in self.full:
                raise TableError(f"formula {self.text!r}: words are compared with == or !=")
            name = self.full[left.id]
            same = _equal(self.columns, name, right.value) == (sign == "==")
            return np.where(entries.missing(self.columns[name]), np.nan, same)
        a, b = self.value(left), self.value(right)
        return np.where(np.isnan(a) | np.isnan(b), np.nan, np.asarray(_RELATIONS[sign][1](a, b), float))

    def within_sessions(self, name: str, x: Any, lag: int = 1) -> FloatArray:
        """Return ``previous(x, lag)``, ``since(x)`` or ``count(x)`` of each trial of each session."""
        import pandas as pd

        if lag < 1 or self.order is None:
            raise TableError(f"formula {self.text!r}: {name} looks back by {lag} trials, expected 1 or more")
        rows, follows = self.order()
        values = pd.Series(np.broadcast_to(x, len(rows))[rows])
        sessions = values.groupby(np.cumsum(~follows))
        if name == "previous":
            result = sessions.shift(lag)
        elif name == "count":
            result = (values.fillna(0) != 0).groupby(np.cumsum(~follows)).cumsum()
        else:
            trial = sessions.cumcount()
            result = trial - trial.where(values.fillna(0) != 0).groupby(np.cumsum(~follows)).ffill()
        in_order = np.empty(len(rows))
        in_order[rows] = result
        return in_order
