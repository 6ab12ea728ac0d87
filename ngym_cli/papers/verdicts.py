"""Criteria for reaching a claim, in the words of a paper's reader, and verdicts from numbers.

| criterion | a number meets it when it is |
|---|---|
| `>= 0.8`, `> 0.8`, `<= 0.1`, `< 0.1` | that |
| `0.4 to 0.5` | between these, ends included |
| `within 0.05` | at most so far from the published one |
| `within 10 %` | at most this share of the published one away from it |

The number is the mean over seeds; with `, every seed` behind it each seed's own; with `, most seeds` that of more than
half of them. Of a claim with several numbers all must meet it; with `, most numbers` behind it more than half.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ngym_cli.config.values import split_entries

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BOUND = re.compile(rf"(>=|<=|>|<)\s*({_NUMBER})")
_RANGE = re.compile(rf"({_NUMBER})\s+to\s+({_NUMBER})")
_WITHIN = re.compile(rf"within\s+({_NUMBER})\s*(%?)")
_SEEDS = ("mean", "every seed", "most seeds")
_NUMBERS = ("all numbers", "most numbers")

REACHED, IN_PART, NOT_REACHED, UNTESTABLE, OPEN = (
    "reached", "reached in part", "not reached", "cannot be tested", "not measured"
)  # fmt: skip
STATES = (REACHED, IN_PART, NOT_REACHED, UNTESTABLE, OPEN)

#: Result of a seed: a number, or several by name. None: the measure could not be computed.
Value = float | Mapping[str, float | None] | None

#: A part of a document about a paper: names to numbers, words, lists and tables.
Row = dict[str, Any]


@dataclass(frozen=True)
class Criterion:
    """Criterion that decides whether numbers reach a claim.

    Attributes:
        low: least value, or least distance to the published one.
        high: greatest.
        strict: whether the ends are left out.
        relative: `difference` or `share`: the bounds are of the distance to the published number; else empty.
        seeds: `mean`, `every seed` or `most seeds`.
        numbers: `all numbers` or `most numbers`.
    """

    low: float
    high: float
    strict: bool = False
    relative: str = ""
    seeds: str = "mean"
    numbers: str = "all numbers"

    def met(self, value: float, published: float | None) -> bool:
        """Return whether a number meets the criterion."""
        if not math.isfinite(value):
            return False
        if self.relative:
            if published is None:
                return False
            value -= published
            if self.relative == "share":
                value /= abs(published) or math.inf
        slack = 1e-12 * max(abs(value), 1.0)  # of rounding: .8 measured as .7999999999999999
        if self.strict:
            return self.low < value < self.high
        return self.low - slack <= value <= self.high + slack

    def held(self, seeds: Mapping[str, Sequence[float]], published: Mapping[str, float | None]) -> bool:
        """Return whether the numbers of all seeds meet the criterion."""
        good = [self._of_one(values, published.get(name)) for name, values in seeds.items()]
        return _most(good) if self.numbers == "most numbers" else bool(good) and all(good)

    def _of_one(self, values: Sequence[float], published: float | None) -> bool:
        if self.seeds == "mean":
            return bool(values) and self.met(sum(values) / len(values), published)
        each = [self.met(value, published) for value in values]
        return all(each) if self.seeds == "every seed" else _most(each)


def _most(good: Sequence[bool]) -> bool:
    return 2 * sum(good) > len(good)


def parse_criterion(text: str) -> Criterion:
    """Read a criterion.

    Example:
        >>> parse_criterion("within 10 %, every seed").seeds
        'every seed'

    Raises:
        ValueError: if it is none, with what is expected.
    """
    first, *rest = split_entries(text) or [""]
    for words in rest:
        if words not in (*_SEEDS, *_NUMBERS):
            raise ValueError(f"'{words}' is not one of {', '.join((*_SEEDS, *_NUMBERS))}")
    seeds = next((words for words in rest if words in _SEEDS), _SEEDS[0])
    numbers = next((words for words in rest if words in _NUMBERS), _NUMBERS[0])
    if found := _BOUND.fullmatch(first):
        bound, strict = float(found[2]), len(found[1]) == 1
        low, high = (bound, math.inf) if found[1][0] == ">" else (-math.inf, bound)
        return Criterion(low, high, strict, seeds=seeds, numbers=numbers)
    if found := _RANGE.fullmatch(first):
        low, high = float(found[1]), float(found[2])
        if low > high:
            raise ValueError(f"'{first}': the first end is the greater one")
        return Criterion(low, high, seeds=seeds, numbers=numbers)
    if found := _WITHIN.fullmatch(first):
        half = float(found[1]) / (100 if found[2] else 1)
        kind = "share" if found[2] else "difference"
        return Criterion(-half, half, relative=kind, seeds=seeds, numbers=numbers)
    raise ValueError(f"'{first}' is not a valid criterion; expected '>= 0.8', '0.4 to 0.5', 'within 0.05', 'within 10 %'")


@dataclass(frozen=True)
class Verdict:
    """Result of a claim.

    Attributes:
        state: one of `STATES`.
        numbers: of each number its `value` (mean over seeds), `low` and `high` (95 % t interval over seeds, None with
            one seed), and `seeds`, the values; a claim of one number has it under an empty name.
        why: reason for a missing or failed result, if any.
    """

    state: str
    numbers: dict[str, Row]
    why: str = ""


def published_numbers(published: Any) -> dict[str, float | None]:
    """Return the published numbers by name; a single number has an empty name, and a text has no numbers."""
    if isinstance(published, Mapping):
        return {str(name): float(value) for name, value in published.items()}
    return {"": None if isinstance(published, str) else float(published)}


def judge(claim: Any, values: Mapping[int, Value], reasons: Sequence[str] = ()) -> Verdict:
    """Return the verdict of a claim.

    Args:
        claim: a `ngym_cli.papers.model.ClaimConfig`.
        values: result of each seed.
        reasons: reasons for missing results of seeds.
    """
    if claim.untestable is not None:
        return Verdict(UNTESTABLE, {}, claim.untestable)
    if not values:
        return Verdict(OPEN, {}, "; ".join(dict.fromkeys(reasons)))
    published = published_numbers(claim.published)
    seeds: dict[str, list[float]] = {}
    names = dict.fromkeys(name for value in values.values() if isinstance(value, Mapping) for name in value)
    for name in names or {"": None}:
        seeds[name] = [_number(value, name) for value in values.values()]
    if not names and set(published) != {""}:
        seeds = {name: [math.nan] * len(values) for name in published}
    if names and set(published) == {""}:  # a single published number, or a text, applies to all
        published = dict.fromkeys(names, published[""])
    elif names and set(published) - set(names):  # a number without results from any seed still counts in the judgement
        seeds |= {name: [math.nan] * len(values) for name in published if name not in names}
    reached, in_part = claim.criteria
    state = NOT_REACHED
    if reached is not None and reached.held(seeds, published):
        state = REACHED
    elif in_part is not None and in_part.held(seeds, published):
        state = IN_PART
    return Verdict(state, {name: _summary(found) for name, found in seeds.items()}, "; ".join(dict.fromkeys(reasons)))


def _number(value: Value, name: str) -> float:
    found = value.get(name) if isinstance(value, Mapping) else value
    return math.nan if found is None else float(found)


def _summary(values: Sequence[float]) -> Row:
    from neurogym.analysis import Estimate

    if not all(map(math.isfinite, values)):
        return {"value": None, "low": None, "high": None, "seeds": list(values)}
    found = Estimate.mean(values)
    low, high = (found.low, found.high) if len(values) > 1 else (None, None)
    return {"value": found.value, "low": low, "high": high, "seeds": list(values)}
