"""Column maps: files that say which column is what, written by hand or by ``--save-columns``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.behaviour import entries
from neurogym.behaviour.codings import TIME_UNITS
from neurogym.behaviour.entries import TableError, parse_number
from neurogym.behaviour.pulse_times import UNITS
from neurogym.behaviour.roles import Roles
from neurogym.behaviour.vocabulary import COLUMN_NAMES, ROLES
from neurogym.messages.names import unknown

if TYPE_CHECKING:
    from pandas import DataFrame, Series


#: Names that a file with a column map may use, as for a comparison with animals, and the roles here.
TRIAL_ROW = {"performance": "correct", "env": "session", "coh": "stimuli", "outcome": "correct"}
KEYS = {"column", "scale", "offset", "values", "constant"}


@dataclass
class ColumnMap:
    """Content of a file with a column map.

    Attributes:
        rules: columns of the trial row and the rules that make them; empty in files with ``[roles]``.
        roles: the column of each role, where the file says all of them; None for a guess.
        where: conditions that choose rows.
        derive: formulas by the name of their column.
        missed: entries of the choice that mean no answer.
        choices: the options in order.
        turned: stimuli whose sign is turned.
        rt_unit: unit of reaction times: s, ms or us.
        pulse_unit: unit of the times of pulses: s or ms.
    """

    rules: Mapping[str, Any] = field(default_factory=dict)
    roles: dict[str, Any] | None = None
    where: tuple[str, ...] = ()
    derive: dict[str, str] = field(default_factory=dict)
    missed: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    turned: tuple[str, ...] | None = None
    rt_unit: str | None = None
    pulse_unit: str | None = None

    @classmethod
    def of(cls, content: Mapping[str, Any] | None) -> ColumnMap:
        """Return a column map from the content of its file.

        Raises:
            TableError: if an entry is of another form than expected.
        """
        rules = dict(content or {})
        chosen = cls()
        chosen.where = _texts(rules, "where")
        chosen.missed, chosen.choices = _texts(rules, "missed"), _texts(rules, "choices")
        if "turned" in rules:
            chosen.turned = _texts(rules, "turned")
        if isinstance(rules.get("derive"), Mapping):
            chosen.derive = {str(name): str(formula) for name, formula in rules.pop("derive").items()}
        if isinstance(rules.get("rt_unit"), str):
            chosen.rt_unit = rules.pop("rt_unit")
            if chosen.rt_unit not in TIME_UNITS:
                raise TableError(f"column map: rt_unit is {chosen.rt_unit!r}, expected s, ms or us")
        if rules.get("pulse_unit") in UNITS:
            chosen.pulse_unit = rules.pop("pulse_unit")
        roles = rules.pop("roles", None)
        if isinstance(roles, Mapping):
            for role, names in roles.items():
                if role not in ROLES:
                    raise TableError(f"column map: {unknown('role', role, ROLES)}")
                if not all(isinstance(name, str) for name in (names if isinstance(names, list | tuple) else [names])):
                    raise TableError(f"column map: found {names!r} for {role}, expected names of columns")
            chosen.roles = dict(roles)
            if rules:
                raise TableError(f"column map: unknown key {next(iter(rules))!r} beside [roles]")
        chosen.rules = rules
        return chosen

    def apply(self, columns: DataFrame) -> tuple[DataFrame, Roles]:
        """Return the table with the columns of the rules, and the roles that their names stand for."""
        result: dict[str, Any] = {}
        roles: dict[str, Any] = {}
        stimuli: list[str] = []
        for name, rule in self.rules.items():
            if name == "stimuli" and isinstance(rule, list | tuple):
                result |= {str(each): mapped(str(each), str(each), columns) for each in rule}
                stimuli += map(str, rule)
                continue
            try:
                result[name] = mapped(name, rule, columns)
            except (TypeError, AttributeError):
                raise TableError(f"column map of {name!r}: found {rule!r}, expected a column or a table") from None
            role = TRIAL_ROW.get(name, name)
            if role in COLUMN_NAMES and role not in roles:
                roles[role] = name
            elif name not in ("task", "rt_from") and entries.is_numeric(result[name]):
                stimuli.append(name)
        table = columns.assign(**result)
        table = table[[*result, *table.columns.difference([*result], sort=False)]]
        return table, {**roles, "stimuli": tuple(stimuli)}

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the file of this map."""
        content: dict[str, Any] = {}
        for key in ("where", "missed", "choices", "turned"):
            if getattr(self, key) or (key == "turned" and self.turned is not None):
                content[key] = list(getattr(self, key))
        content |= {key: value for key in ("rt_unit", "pulse_unit", "derive") if (value := getattr(self, key))}
        content["roles"] = {k: list(v) if isinstance(v, tuple) else v for k, v in (self.roles or {}).items()}
        return {**content, **self.rules} if self.rules else content


def _texts(rules: dict[str, Any], key: str) -> tuple[str, ...]:
    """Take a list of texts from the content of a file; a rule of a column of this name stays."""
    value = rules.get(key, ())
    if isinstance(value, str) and key == "where":
        value = [value]
    if not isinstance(value, list | tuple):
        return ()
    rules.pop(key, None)
    return tuple(map(str, value))


def mapped(name: str, rule: object, source: DataFrame) -> Series:
    """Return a column made by a rule: the name of a column, or a mapping with keys among `KEYS`.

    Raises:
        TableError: if the rule has an unknown key, or names a column or an entry that the table does not have.
    """
    spec: dict[str, Any] = dict(rule) if isinstance(rule, Mapping) else {"column": rule}
    wrong = set(spec) - KEYS
    if wrong:
        raise TableError(f"column map of {name!r}: unknown key {', '.join(sorted(wrong))}")
    if "constant" in spec:
        return entries.of_values([spec["constant"]] * len(source)).set_axis(source.index)
    if spec.get("column") not in source:
        raise TableError(f"column map of {name!r}: {unknown('column', spec.get('column'), source)}")
    column = source[str(spec["column"])]
    if "values" in spec:
        words, index = entries.texts(column)
        table = {str(key): value for key, value in spec["values"].items()}
        numbers = {parse_number(key): value for key, value in table.items() if parse_number(key) is not None}
        missing = [word for word in words if word not in table and parse_number(word) not in numbers]
        if missing:
            raise TableError(f"column map of {name!r}: no value for {', '.join(missing[:5])}")
        mapped_words = [table.get(word, numbers.get(parse_number(word))) for word in words]
        column = entries.of_values(np.array([*mapped_words, None], object)[index])
    if "scale" in spec or "offset" in spec:
        column = entries.of_values(entries.numbers(column) * spec.get("scale", 1) + spec.get("offset", 0))
    return column.set_axis(source.index)
