"""Requests of ``ngym fit`` and ``ngym data``: tables of behaviour, roles of columns, settings of a fit."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, StrictInt, ValidationInfo, field_validator, model_validator

from ngym_cli.config.fields import Joined, Names, Options, Request, Section, Texts
from ngym_cli.config.launch import LaunchSettings
from ngym_cli.config.values import Values, parse_whole_numbers, split_entries
from ngym_cli.errors import UserError, check_known, option

if TYPE_CHECKING:
    from neurogym.behaviour.models.parameters import Prior


class ColumnRoles(Section):
    """Roles of the columns of a table of behaviour; None for a guess, the word "none" for no such column."""

    subject: Joined = None
    session: Joined = None
    trial: Joined = None
    choice: Joined = None
    correct: Joined = None
    reward: Joined = None
    ground_truth: Joined = None
    rt: Joined = None
    stimuli: Joined = None
    pulses: Joined = None
    duration: Joined = None
    state: Joined = None
    choice2: Joined = None
    gain: Joined = None
    loss: Joined = None
    confidence: Joined = None
    cue: Joined = None


class TableRequest(Request):
    """Ways in which the rows and columns of a table of behaviour are read."""

    columns: Path | None = None
    roles: Annotated[Values, Options((ColumnRoles,))] = {}
    where: Texts = []
    derive: Texts = []
    missed: Texts = []

    choices: Names = ()

    @field_validator("roles")
    @classmethod
    def _columns(cls, roles: Mapping[str, object]) -> dict[str, object]:
        return ColumnRoles.model_validate(dict(roles)).model_dump(exclude_none=True)

    def reading(self) -> dict[str, list[str]]:
        """Return the options of reading besides roles and columns, see `neurogym.behaviour.reading.read`."""
        return {"where": self.where, "derive": self.derive, "missed": self.missed, "choices": list(self.choices)}


def _unreadable(flag: str, entry: str) -> UserError:
    return UserError(f"{option(flag)}: expected {FORMS[flag]}, not '{entry.strip()}'")


def _named(flag: str, entries: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Yield each entry with the name and the value that it consists of.

    Args:
        flag: option with the entries.
        entries: as in ``NAME=VALUE``.

    Raises:
        UserError: for an entry without a name or a value, or a name that is given twice.
    """
    names = set[str]()
    for entry in entries:
        name, _, value = (each.strip() for each in (entry.rpartition if flag == "--prior" else entry.partition)("="))
        if not name or not value:
            raise _unreadable(flag, entry)
        if name in names:
            raise UserError(f"{option(flag)} names {name} twice")
        names.add(name)
        yield entry, name, value


def formulas(vary: Sequence[str]) -> dict[str, str]:
    """Return the formula of each parameter of ``--vary``.

    Args:
        vary: texts as in ``drift=coh*block``; several in one text with commas, as in ``drift=coh,bound=speed``.

    Raises:
        UserError: for a text without a parameter or a formula, or a parameter that is named twice.
    """
    entries = [entry for text in vary for entry in re.split(r",(?=\s*[A-Za-z_]+\s*=)", text)]
    return {name: formula for _, name, formula in _named("--vary", entries)}


def fixed_values(fix: Sequence[str]) -> dict[str, float]:
    """Return the value of each parameter of ``--fix``.

    Args:
        fix: texts as in ``lapse=0``; several in one text with commas.

    Raises:
        UserError: for a text without a parameter or a number, or a parameter that is named twice.
    """
    values: dict[str, float] = {}
    for entry, name, number in _named("--fix", [entry for text in fix for entry in split_entries(text)]):
        with contextlib.suppress(ValueError):
            values[name] = float(number)
        if not isfinite(values.get(name, float("nan"))):
            raise _unreadable("--fix", entry)
    return values


def priors_of(texts: Sequence[str]) -> dict[str, Prior]:
    """Return the prior of each parameter of ``--prior``.

    Args:
        texts: as in ``alpha=beta:1.1,1.1``.

    Raises:
        UserError: for a text of another form, or a parameter that is named twice.
    """
    from neurogym.behaviour.models.parameters import FAMILIES, Prior

    priors: dict[str, Prior] = {}
    for text, name, prior in _named("--prior", texts):
        family, _, numbers = prior.partition(":")
        check_known(f"family of {option('--prior')}", family, FAMILIES)
        try:
            first, second = (float(each) for each in numbers.split(","))
        except ValueError:
            raise _unreadable("--prior", text) from None
        positive = second > 0 and (first > 0 or family in ("normal", "lognormal"))
        if not (isfinite(first) and isfinite(second) and positive):
            raise _unreadable("--prior", text)
        priors[name] = Prior(family, first, second)
    return priors


#: Options whose entries are NAME=VALUE: what an entry is, and what reads all of an option.
FORMS = {
    "--vary": "PARAMETER=FORMULA, as in 'drift=coh*block'",
    "--fix": "PARAMETER=NUMBER, as in 'lapse=0'",
    "--prior": "NAME=FAMILY:NUMBER,NUMBER, as in alpha=beta:1.1,1.1",
}
READERS: dict[str, Callable[[Sequence[str]], object]] = {"vary": formulas, "fix": fixed_values, "prior": priors_of}


def columns_in(formula: str, flag: str) -> list[str]:
    """Return the columns that a formula names.

    Args:
        formula: right-hand side.
        flag: option that holds the formula, for messages.

    Raises:
        UserError: if it is not a formula, or formulaic is not installed.
    """
    from neurogym.behaviour.models.formulas import required_columns

    try:
        return required_columns(formula)
    except ValueError as error:
        raise UserError(f"{flag}: {error}") from None


class FitLaunch(LaunchSettings):
    """Settings of the execution of a fit of many subjects."""

    on: str = "local"
    workers: int | None = Field(None, ge=1)
    slurm: Values = {}


#: Settings of a fit that its record keeps whatever they are.
ALWAYS = ("columns", "roles", "table", "model", "units", "folds", "seeds", "test", "subjects", "seed")


class FitSettings(TableRequest):
    """Settings of a fit, which its record keeps."""

    table: Path
    model: Names = ()
    units: tuple[Annotated[StrictInt, Field(ge=1, le=65_536)], ...] = Field((2,), min_length=1)
    folds: int = Field(5, ge=1, le=1000)
    seeds: int = Field(3, ge=1, le=100)
    test: Path | None = None
    subjects: Literal["each", "pooled", "hierarchical"] = "each"
    seed: int = Field(0, ge=0)
    times: Literal["ddm", "lba"] | None = None
    deadline: float | None = Field(None, gt=0)
    transition: str | None = None
    between: str | None = None
    posterior: int = Field(0, ge=0)
    vary: Texts = []

    fix: Texts = []

    prior: list[str] = []

    @property
    def held_out(self) -> range:
        """Indices of the folds that are held out; session (or block) k of a subject is in fold k modulo ``folds``."""
        return range(self.folds if self.folds > 1 else 0)

    @field_validator(*READERS, mode="after")
    @classmethod
    def _readable(cls, texts: list[str], info: ValidationInfo) -> list[str]:
        READERS[str(info.field_name)](texts)
        return texts

    @field_validator("model", mode="before")
    @classmethod
    def _is_named(cls, model: object) -> object:
        if isinstance(model, str) and not split_entries(model):
            raise UserError(f"{option('--model')} is empty; expected names as in psytrack,gru")
        return model

    @field_validator("units", "design_trials", mode="before", check_fields=False)
    @classmethod
    def _numbers(cls, numbers: object, info: ValidationInfo) -> object:
        if isinstance(numbers, str):
            return parse_whole_numbers(numbers, option(f"--{str(info.field_name).replace('_', '-')}"))
        return [numbers] if isinstance(numbers, int | float) else numbers

    def reading(self) -> dict[str, list[str]]:
        """See `TableRequest.reading`; columns that formulas name are kept with the trials."""
        texts = [(text, "--vary") for text in formulas(self.vary).values()]
        texts += [(self.between, "--between")] if self.between else []
        names = dict.fromkeys(name for text, flag in texts for name in columns_in(text, flag))
        if any(each.partition(":")[0] == "glm-hmm" for each in self.model):
            names.pop("state", None)  # probabilities of the hidden states
        return {**super().reading(), "keep": list(names)}

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values; ways of reading and options of times that are not used are left out."""
        settings = self.model_dump(mode="json", include=set(FitSettings.model_fields))
        return {key: value for key, value in settings.items() if value or key in ALWAYS}


class FitRequest(FitSettings):
    """Fit models of choice to animals, humans or networks.

    Every trial is predicted by a model that was fitted without its session, from earlier trials of the session alone.

    Examples:
        ngym fit rat.csv
        ngym fit rat.csv --model psytrack,glm-hmm,gru --units 1,2,4
        ngym fit dots.csv --model ddm
        ngym fit people.csv --model q-learning --subjects hierarchical
    """

    common = ("model", "subjects", "choice", "stimuli", "reward", "rt", "folds", "name")

    further: list[Path] = []
    recover: int = Field(0, ge=0)
    design: Texts = []
    design_trials: tuple[Annotated[StrictInt, Field(ge=1, le=100_000)], ...] = Field((50, 100, 200), min_length=1)
    task_stimuli: str | None = None
    launch: Annotated[Values, Options((FitLaunch,))] = {}
    track: Names = ()
    name: str | None = None
    runs_root: Path = Path("runs")
    overwrite: bool = False
    subjects_shown: int = Field(1, ge=0)
    full: bool = False
    as_json: bool = False

    @model_validator(mode="after")
    def _has_models(self) -> Self:
        if self.task_stimuli and not self.design:
            raise UserError(f"{option('--task-stimuli')} requires {option('--design TASK')}")
        if self.design and len(self.model) * len(self.units) == 1:
            raise UserError(f"{option('--design')} compares models; name two or more with {option('--model')}")
        return self


class DataRequest(TableRequest):
    """Describe a table of choices: accuracy, bias, lapses, history.

    Formats are recognised: CSV, TSV, Parquet, Feather, MATLAB, NWB, NumPy, Excel, JSON; data of IBL, BIDS, jsPsych,
    PsychoPy, Bpod. Roles of columns follow from names and evidence, and are shown; what stays open is asked. Missed
    trials keep their place.

    Examples:
        ngym data rat.csv
        ngym data rat.csv --choice side --stimuli s1,s2 --json
        ngym data rat.csv --by block --where 'phase == test'
    """

    common = ("choice", "stimuli", "reward", "subject", "where", "by", "save_columns", "as_json")

    table: list[Path]
    data_dir: Path | None = None
    download: bool = False
    by: str | None = None
    subjects_shown: int = Field(20, ge=0)
    full: bool = False
    save_columns: Path | None = None
    out: Path | None = None
    overwrite: bool = False
    format: str = "png"
    as_json: bool = False
