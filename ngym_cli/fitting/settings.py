"""Settings of a fit, and its location on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from numbers import Integral
from pathlib import Path
from typing import Any

from neurogym.behaviour import reading
from neurogym.behaviour.table import Behaviour
from ngym_cli import config as configuration
from ngym_cli.config.values import split_entries
from ngym_cli.errors import UserError, check_known, message_of
from ngym_cli.fitting import registry, validation

#: Most units of a network.
MOST_UNITS = 65_536


def read_table(
    source: reading.TableSource, roles: Mapping[str, str | None], columns: Path | None = None, **options: Any
) -> Behaviour:
    """Read a table of behaviour.

    Args:
        source: file, folder, list of files, DataFrame, dict of arrays or list of dicts.
        roles: columns as given with flags; None where none was given, the word ``none`` for no such column.
        columns: TOML file that maps the columns, as for ``ngym eval --compare``.
        **options: ``where``, ``derive``, ``missed`` and ``keep`` of `neurogym.behaviour.reading.TableOptions`.

    Raises:
        UserError: if a file is missing or damaged, or the table is unfit.
    """
    given: dict[str, str | Sequence[str] | None] = {}
    for role, text in roles.items():
        if text is not None:
            entries = [] if text == "none" else split_entries(text)
            given[role] = entries if role == "stimuli" else entries[0] if entries else None
    try:
        return reading.read(source, given, None if columns is None else configuration.read_toml(columns), **options)
    except ValueError as error:
        raise UserError(message_of(error)) from None


@dataclass(frozen=True)
class FitSettings:
    """Settings of a fit.

    Attributes:
        table: file of the behaviour.
        model: models with their arguments; none for those that suit the table.
        units: numbers of units of networks.
        folds: folds of the cross-validation.
        seeds: networks whose probabilities are averaged.
        seed: random seed.
        subjects: each, pooled or hierarchical.
        test: file that is predicted by the fits to the whole table; None for none.
        columns: TOML file that maps the columns; None for a guess.
        roles: columns given by role.
        where: conditions that choose rows.
        derive: formulas that make columns.
        missed: entries of the choice that mean no answer.
    """

    table: str
    model: tuple[str, ...] = ()
    units: tuple[int, ...] = (2,)
    folds: int = 5
    seeds: int = 3
    seed: int = 0
    subjects: str = "each"
    test: str | None = None
    columns: str | None = None
    roles: Mapping[str, str | None] = field(default_factory=dict)
    where: tuple[str, ...] = ()
    derive: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()

    def check(self) -> None:
        """Refuse settings that make no sense.

        Raises:
            UserError: names the first.
        """
        check_known("treatment of subjects", self.subjects, validation.SUBJECTS)
        limits = [("folds", self.folds, 2, 1000), ("seeds", self.seeds, 1, 100), ("seed", self.seed, 0, 2**63 - 1)]
        for name, value, low, high in (*limits, *(("units", units, 1, MOST_UNITS) for units in self.units)):
            if isinstance(value, bool) or not isinstance(value, Integral) or not low <= value <= high:
                raise UserError(f"--{name} must be {low} to {high:,}, a whole number, not {value!r}")
        if not self.units:
            raise UserError("--units is empty; expected whole numbers, as in 1,2,4")

    def named(self, table: Behaviour) -> FitSettings:
        """Return the settings with the models that suit the table, if no model is named."""
        return self if self.model else replace(self, model=registry.suited(table, self.subjects))

    def read(self) -> validation.FitData:
        """Return the table, the test table, and how models are fitted."""
        columns = None if self.columns is None else Path(self.columns)
        options = {"where": self.where, "derive": self.derive, "missed": self.missed}
        table = read_table(Path(self.table), self.roles, columns, **options)
        test = None if self.test is None else read_table(Path(self.test), self.roles, columns, **options)
        if test is not None and (test.stimuli != table.stimuli or test.choices != table.choices):
            raise UserError(
                f"--test has stimuli {', '.join(test.stimuli) or 'none'} and choices {', '.join(test.choices)}, "
                f"expected {', '.join(table.stimuli) or 'none'} and {', '.join(table.choices)}"
            )
        return validation.FitData(table, validation.CrossValidation(self.folds, self.subjects, self.seed), test)

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> FitSettings:
        """Return the settings from the result of `to_dict`, also after JSON."""
        given: Any = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
        return cls(**given)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        values = {
            key: value for key, value in asdict(self).items() if value or key not in ("where", "derive", "missed")
        }
        return {**values, "roles": {key: value for key, value in self.roles.items() if value is not None}}


@dataclass(frozen=True)
class Place:
    """Location of a fit on disk.

    Attributes:
        runs: folder of all runs.
        name: of the fit; None for the next free one.
        overwrite: replace a fit of this name.
    """

    runs: Path = Path("runs")
    name: str | None = None
    overwrite: bool = False
