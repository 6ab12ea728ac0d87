"""Criteria for reaching a claim, in the words of a paper's reader, and verdicts from numbers.

| criterion | a number meets it when it is |
|---|---|
| `>= 0.8`, `> 0.8`, `<= 0.1`, `< 0.1` | that |
| `0.4 to 0.5` | between these, ends included |
| `within 0.05` | at most so far from the published one |
| `within 10 %` | at most this share of the published one away from it |

The number is the mean over seeds; with `, every seed` behind it each seed's own; with `, most seeds` that of more than
half of them. Of a claim with several numbers all must meet it; with `, most numbers` behind it more than half.

A claim is compared with its controls: networks that do something else. A control *passes* if it cannot be told from
the claim (the 95 % interval of the difference, seed by seed, includes 0) or its mean meets the criterion as well; of
several numbers all have to be so, or most where the criterion says so. A control without numbers is an error of the
record, and said.

| verdict | when |
|---|---|
| reached | every seed gave numbers, their 95 % interval over seeds lies inside the criterion, no control passes |
| in part | the mean alone meets the criterion, or that for *in part* is met; a control passes; the last three of |
| | six or more seeds changed the verdict |
| unchallenged | it would be one of these, and no control gives a number |
| not reached | none of these |
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ngym_cli.config.values import split_entries
from ngym_cli.terminal import Row

if TYPE_CHECKING:
    from neurogym.analysis.results import Estimate

_SIGNED_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BOUND = re.compile(rf"(>=|<=|>|<)\s*({_SIGNED_NUMBER})")
_NUMBER_RANGE = re.compile(rf"({_SIGNED_NUMBER})\s+to\s+({_SIGNED_NUMBER})")
_WITHIN = re.compile(rf"within\s+({_SIGNED_NUMBER})\s*(%?)")
_SEEDS = ("mean", "every seed", "most seeds")
_WHICH_NUMBERS = ("all numbers", "most numbers")

REACHED, IN_PART, UNCHALLENGED, NOT_REACHED = "reached", "in part", "unchallenged", "not reached"
UNTESTABLE, OPEN = "cannot be tested", "not measured"
VERDICTS = (REACHED, IN_PART, UNCHALLENGED, NOT_REACHED, UNTESTABLE, OPEN)
#: Last seeds without which a verdict has to be the same; a verdict of fewer than twice as many is not checked so.
REPEATED = 3

#: Result of a seed: a number, or several by name. None: the measure could not be computed.
Value = float | Mapping[str, float | None] | None


@dataclass(frozen=True)
class ClaimNumber:
    """A number of a claim over seeds.

    Attributes:
        mean: mean over the seeds that gave a number, with a 95 % t interval over these seeds.
        seeds: value of each seed, None where missing.
        seed_numbers: the seeds, in the same order.
    """

    mean: Estimate
    seeds: tuple[float | None, ...]
    seed_numbers: tuple[int, ...]

    @classmethod
    def of(cls, seeds: Mapping[int, float | None]) -> ClaimNumber:
        """Return the number from the value of each seed."""
        from neurogym.analysis.results import Estimate

        mean = Estimate.mean([value for value in seeds.values() if value is not None])
        return cls(mean, tuple(seeds.values()), tuple(seeds))

    def less(self, other: ClaimNumber) -> Estimate:
        """Return the mean difference to another number over seeds with both, with its 95 % interval."""
        from neurogym.analysis.results import Estimate

        others = dict(zip(other.seed_numbers, other.seeds, strict=True))
        pairs = [(value, others.get(seed)) for seed, value in zip(self.seed_numbers, self.seeds, strict=True)]
        return Estimate.mean([a - b for a, b in pairs if a is not None and b is not None])

    def to_dict(self) -> Row:
        """Return the number as a row of a table or a record."""
        estimate = self.mean.to_dict()
        return {
            **{key: estimate[key] for key in ("value", "low", "high")},
            "seeds": self.seeds,
            "seed_numbers": self.seed_numbers,
        }

    @property
    def mostly_known(self) -> bool:
        """Whether more than half of the seeds gave a number."""
        return _most([value is not None for value in self.seeds])

    @property
    def complete(self) -> bool:
        """Whether every seed gave a number."""
        return None not in self.seeds


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

    def inside(self, numbers: Mapping[str, ClaimNumber], published: Mapping[str, float | None]) -> bool:
        """Return whether every seed gave its number, and the intervals over seeds lie inside the criterion."""

        def good(name: str, number: ClaimNumber) -> bool:
            published_value = published.get(name)
            ends = (number.mean.low, number.mean.high)
            within = number.complete and all(self.met(end, published_value) for end in ends)
            return within and self._of_one(number, published_value)

        return self.enough([good(*each) for each in numbers.items()])

    def is_met_by(
        self, numbers: Mapping[str, ClaimNumber], published: Mapping[str, float | None], of_mean: bool = False
    ) -> bool:
        """Return whether the numbers meet the criterion, without a look at their intervals.

        Args:
            numbers: the numbers by name.
            published: published numbers by name.
            of_mean: ask only the mean over seeds, whatever the criterion says of seeds.
        """
        criterion = replace(self, seeds="mean") if of_mean else self
        return self.enough([criterion._of_one(number, published.get(name)) for name, number in numbers.items()])

    def met_by_seed(self, values: Mapping[str, float | None], published: Mapping[str, float | None]) -> bool:
        """Return whether the numbers of a single seed meet the criterion."""
        return self.enough([v is not None and self.met(v, published.get(name)) for name, v in values.items()])

    def enough(self, good: Sequence[bool]) -> bool:
        """Return whether enough of the numbers of a claim are good: all, or most."""
        return _most(good) if self.numbers == "most numbers" else bool(good) and all(good)

    def _of_one(self, number: ClaimNumber, published: float | None) -> bool:
        if not number.mostly_known:
            return False
        if self.seeds == "mean":
            return self.met(number.mean.value, published)
        each = [value is not None and self.met(value, published) for value in number.seeds]
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
        if words not in (*_SEEDS, *_WHICH_NUMBERS):
            raise ValueError(f"'{words}' is not one of {', '.join((*_SEEDS, *_WHICH_NUMBERS))}")
    seeds = next((words for words in rest if words in _SEEDS), _SEEDS[0])
    numbers = next((words for words in rest if words in _WHICH_NUMBERS), _WHICH_NUMBERS[0])
    if match := _BOUND.fullmatch(first):
        bound, strict = float(match[2]), len(match[1]) == 1
        low, high = (bound, math.inf) if match[1][0] == ">" else (-math.inf, bound)
        return Criterion(low, high, strict, seeds=seeds, numbers=numbers)
    if match := _NUMBER_RANGE.fullmatch(first):
        low, high = float(match[1]), float(match[2])
        if low > high:
            raise ValueError(f"'{first}': the first end is the greater one")
        return Criterion(low, high, seeds=seeds, numbers=numbers)
    if match := _WITHIN.fullmatch(first):
        half = float(match[1]) / (100 if match[2] else 1)
        kind = "share" if match[2] else "difference"
        return Criterion(-half, half, relative=kind, seeds=seeds, numbers=numbers)
    raise ValueError(f"'{first}' is not a criterion; expected '>= 0.8', '0.4 to 0.5', 'within 0.05' or 'within 10 %'")


@dataclass(frozen=True)
class Verdict:
    """Result of a claim.

    Attributes:
        state: one of `VERDICTS`.
        numbers: numbers by name; a claim of one number has it under an empty name.
        reason: reason for a missing or failed result, if any.
        n_meeting: number of seeds that meet the criterion by themselves.
        of: number of seeds.
        controls: numbers of each control by name, as `numbers`, each with ``difference``: claim less control.
        passed: names of the controls that pass.
        silent: names of the controls without a number, each with the reason.
    """

    state: str
    numbers: dict[str, Row]
    reason: str = ""
    n_meeting: int = 0
    of: int = 0
    controls: dict[str, dict[str, Row]] = field(default_factory=dict)
    passed: tuple[str, ...] = ()
    silent: dict[str, str] = field(default_factory=dict)


def published_numbers(published: float | str | Mapping[str, float]) -> dict[str, float | None]:
    """Return the published numbers by name; a single number has an empty name, and a text has no numbers."""
    if isinstance(published, Mapping):
        return {str(name): float(value) for name, value in published.items()}
    return {"": None if isinstance(published, str) else float(published)}


def judge(
    claim: Any,
    values: Mapping[int, Value],
    reasons: Sequence[str] = (),
    controls: Mapping[str, Mapping[int, Value]] | None = None,
    refusals: Mapping[str, str] | None = None,
) -> Verdict:
    """Return the verdict of a claim.

    Args:
        claim: a `ngym_cli.papers.model.ClaimConfig`.
        values: result of each seed.
        reasons: reasons for missing results of seeds.
        controls: result of each seed, by control.
        refusals: reasons for missing results of controls, by control.
    """
    if claim.untestable is not None:
        return Verdict(UNTESTABLE, {}, claim.untestable)
    reason = "; ".join(dict.fromkeys(reasons))
    if not values:
        return Verdict(OPEN, {}, reason)
    published, rows, numbers = _over_seeds(claim.published, values)
    reached, in_part = claim.criteria
    n_meeting = sum(reached.met_by_seed(row, published) for row in rows.values())
    state = NOT_REACHED
    if reached.inside(numbers, published):
        state = REACHED
    elif reached.is_met_by(numbers, published, of_mean=True) or (in_part and in_part.is_met_by(numbers, published)):
        state = IN_PART
    compared = {name: _compared(claim, each, numbers) for name, each in (controls or {}).items()}
    passed = tuple(name for name, (_, passes) in compared.items() if passes)
    silent = {name: (refusals or {}).get(name, "") for name, (_, passes) in compared.items() if passes is None}
    if state != NOT_REACHED and len(silent) == len(compared):
        state = UNCHALLENGED
    elif state == REACHED and passed:
        state = IN_PART
    elif state == REACHED and len(rows) >= 2 * REPEATED:
        first = sorted(values)[:-REPEATED]
        before = {name: {seed: each[seed] for seed in first if seed in each} for name, each in (controls or {}).items()}
        state = judge(claim, {seed: values[seed] for seed in first}, (), before).state
        if state != REACHED:
            reason = f"with the first {len(first)} seeds: {state}"
            state = IN_PART
    of_controls = {name: control_rows for name, (control_rows, _) in compared.items()}
    return Verdict(state, _as_rows(numbers), reason, n_meeting, len(rows), of_controls, passed, silent)


def _compared(
    claim: Any, values: Mapping[int, Value], numbers: Mapping[str, ClaimNumber]
) -> tuple[dict[str, Row], bool | None]:
    """Return the numbers of a control with their differences, and whether it passes; None if it gives no number."""
    published, _, of_control = _over_seeds(claim.published, values, list(numbers))
    criterion, rows, alike = claim.criteria[0], _as_rows(of_control), []
    for name, number in of_control.items():
        if not number.mostly_known or name not in numbers:
            continue
        difference = numbers[name].less(number)
        if math.isfinite(difference.value):
            rows[name]["difference"] = {key: difference.to_dict()[key] for key in ("value", "low", "high")}
        clear = difference.low > 0 or difference.high < 0 or not math.isfinite(difference.value)
        alike.append(not clear or criterion.met(number.mean.value, published.get(name)))
    return rows, criterion.enough(alike) if alike else None


def _as_rows(numbers: Mapping[str, ClaimNumber]) -> dict[str, Row]:
    return {name: number.to_dict() for name, number in numbers.items()}


def _over_seeds(
    published: float | str | Mapping[str, float], values: Mapping[int, Value], expected: Sequence[str] = ()
) -> tuple[dict[str, float | None], dict[int, dict[str, float | None]], dict[str, ClaimNumber]]:
    """Return published numbers by name, the numbers of each seed by name, and the numbers over seeds.

    Args:
        published: as of the claim.
        values: result of each seed.
        expected: names of numbers that count even where no seed gave them.
    """
    published_by_name = published_numbers(published)
    names = list(dict.fromkeys(name for value in values.values() if isinstance(value, Mapping) for name in value))
    names += [name for name in expected if name and name not in names]
    if names and set(published_by_name) == {""}:  # a single published number, or a text, applies to all
        published_by_name = dict.fromkeys(names, published_by_name[""])
    # a published number without results from any seed still counts in the judgement
    names += (
        [name for name in published_by_name if name not in names] if names or set(published_by_name) != {""} else [""]
    )
    seeds = sorted(values)
    rows = {seed: {name: _number(values[seed], name) for name in names} for seed in seeds}
    return published_by_name, rows, {name: ClaimNumber.of({seed: rows[seed][name] for seed in seeds}) for name in names}


def _number(value: Value, name: str) -> float | None:
    number = value.get(name) if isinstance(value, Mapping) else value
    return None if number is None or not math.isfinite(number) else float(number)
