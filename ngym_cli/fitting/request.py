"""Requests of ``ngym fit`` and ``ngym data``: tables of behaviour, roles of columns, settings of a fit."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, StrictInt, ValidationInfo, field_validator, model_validator

from ngym_cli.config.fields import Flag, Joined, Names, Options, Request, Section, Texts, root_of, stimuli_in_task
from ngym_cli.config.launch import WHERE, LaunchSettings, parse_option
from ngym_cli.config.values import Values, parse_whole_numbers, split_entries
from ngym_cli.errors import UserError, check_known, option

if TYPE_CHECKING:
    from neurogym.behaviour.models.parameters import Prior

#: Groups of options in the help.
COLUMNS, SCORES, TIMES, DESIGN, OUTPUT = "Columns", "Scores", "Times and conditions", "Design", "Output"


class ColumnRoles(Section):
    """Roles of the columns of a table of behaviour; None for a guess, the word "none" for no such column."""

    subject: Annotated[Joined, Flag("Column of the subject.", COLUMNS)] = None
    session: Annotated[Joined, Flag("Column of the session.", COLUMNS)] = None
    trial: Annotated[Joined, Flag("Column of the trial's number in its session.", COLUMNS)] = None
    choice: Annotated[Joined, Flag("Column of the choice.", COLUMNS)] = None
    correct: Annotated[Joined, Flag("Column that says whether the choice was correct.", COLUMNS)] = None
    reward: Annotated[Joined, Flag("Column of the reward.", COLUMNS)] = None
    ground_truth: Annotated[Joined, Flag("Column of the correct choice.", COLUMNS)] = None
    rt: Annotated[Joined, Flag("Column of the reaction time (s or ms).", COLUMNS)] = None
    stimuli: Annotated[Joined, Flag("Columns of the stimuli, as in s1,s2; 'none' for none.", COLUMNS)] = None
    pulses: Annotated[
        Joined, Flag("Columns of the times of pulses on the left and on the right, as in l,r or l,r,ms.", COLUMNS)
    ] = None
    duration: Annotated[Joined, Flag("Column of the duration of the stimulus, beside pulses.", COLUMNS)] = None
    state: Annotated[Joined, Flag("Column of the second-stage state of a two-step task.", COLUMNS)] = None
    choice2: Annotated[Joined, Flag("Column of the second-stage choice of a two-step task.", COLUMNS)] = None
    gain: Annotated[Joined, Flag("Column of the amount won, beside --loss.", COLUMNS)] = None
    loss: Annotated[Joined, Flag("Column of the amount lost.", COLUMNS)] = None
    confidence: Annotated[Joined, Flag("Column of the confidence judgement.", COLUMNS)] = None
    cue: Annotated[Joined, Flag("Column of the cue before the choice (go/no-go).", COLUMNS)] = None


class TableRequest(Request):
    """Ways in which the rows and columns of a table of behaviour are read."""

    columns: Annotated[Path | None, Flag("TOML file that maps the columns, as for ngym eval --compare.")] = None
    roles: Annotated[Values, Options((ColumnRoles,))] = {}
    where: Annotated[
        Texts, Flag("Only rows with this condition, as in 'task == main' or 'rt < 2'; repeat for several.", COLUMNS)
    ] = []
    derive: Annotated[
        Texts,
        Flag("Make a column by a formula, as in signed=contrastRight-contrastLeft; repeat for several.", COLUMNS),
    ] = []
    missed: Annotated[
        Texts, Flag("Entry of the choice that means no answer; 'none' for none; repeat for several.", COLUMNS)
    ] = []

    choices: Annotated[
        Names, Flag("Options of the choice in order, as in left,right; other entries mean no answer.", COLUMNS)
    ] = ()

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

    on: Annotated[str, Flag("Fit subjects one by one: local, ray, ray:auto, ray:HOST:PORT or slurm.", WHERE)] = "local"
    workers: Annotated[
        int | None, Flag("Largest number of subjects at a time.", WHERE, default="one per core"), Field(ge=1)
    ] = None
    slurm: Annotated[
        Values, Flag("NAME=VALUE for sbatch, as in partition=gpu or time=2:00:00.", WHERE, parse=parse_option)
    ] = Field(default_factory=dict)


class FitSettings(TableRequest):
    """Settings of a fit, which its record keeps."""

    table: Annotated[Path, Flag("File or folder of trials in any format that ngym data reads.", positional=True)]
    model: Annotated[
        Names,
        Flag("Models, as in psytrack,gru (see ngym list models), or file.py:name.", default="what suits the table"),
    ] = ()
    units: Annotated[
        tuple[Annotated[StrictInt, Field(ge=1, le=65_536)], ...],
        Flag("Numbers of units of the networks, as in 1,2,4."),
        Field(min_length=1),
    ] = (2,)
    folds: Annotated[
        int, Flag("Folds of the cross-validation by session; 1 holds nothing out.", SCORES), Field(ge=1, le=1000)
    ] = 5
    seeds: Annotated[int, Flag("Networks whose probabilities are averaged.", SCORES), Field(ge=1, le=100)] = 3
    test: Annotated[
        Path | None, Flag("Table that is predicted; new subjects need --subjects pooled or hierarchical.", SCORES)
    ] = None
    subjects: Annotated[
        Literal["each", "pooled", "hierarchical"],
        Flag("Fit each subject, pooled over subjects, or hierarchical.", SCORES),
    ] = "each"
    seed: Annotated[int, Flag("Random seed.", SCORES), Field(ge=0)] = 0
    times: Annotated[
        Literal["ddm", "lba"] | None,
        Flag("Reaction times as well: the models drive a diffusion (ddm) or, for more options, a race (lba).", TIMES),
    ] = None
    deadline: Annotated[
        float | None, Flag("Time in s after which trials without an answer ended; omissions count.", TIMES), Field(gt=0)
    ] = None
    transition: Annotated[
        str | None,
        Flag(
            "Inputs of the transitions between states of glm-hmm: reward, choice or stimuli, as in reward+choice.",
            TIMES,
        ),
    ] = None
    between: Annotated[
        str | None, Flag("Covariates of subjects in a hierarchical fit, a formula as in 'age + group'.", TIMES)
    ] = None
    posterior: Annotated[
        int, Flag("Draws of the posterior in each of two chains (NUTS, extra fit); 0 for none.", SCORES), Field(ge=0)
    ] = 0
    vary: Annotated[
        Texts,
        Flag("Parameter of a diffusion by a formula of columns, as in 'drift=coh*block'; repeat for several.", TIMES),
    ] = []

    fix: Annotated[
        Texts,
        Flag("Fix a parameter of a model with times, as in lapse=0, drift_sd=0 or x0=0; repeat for several.", TIMES),
    ] = []

    prior: Annotated[
        list[str],
        Flag(
            "Prior of a parameter: beta, gamma, lognormal or normal, as in alpha=beta:1.1,1.1; repeat for several.",
            SCORES,
        ),
    ] = []

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

    @field_validator("units", mode="before")
    @classmethod
    def _numbers(cls, units: object) -> object:
        if isinstance(units, str):
            return parse_whole_numbers(units, option("--units"))
        return [units] if isinstance(units, int | float) else units

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
        optional = {
            *TableRequest.reading(self),
            "times",
            "deadline",
            "vary",
            "between",
            "posterior",
            "transition",
            "fix",
            "prior",
        }
        return {key: value for key, value in settings.items() if value or key not in optional}


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

    further: Annotated[list[Path], Flag("More files of the same table.", positional=True)] = []
    recover: Annotated[
        int,
        Flag("Simulations of each model that test the recovery of parameters and models.", SCORES),
        Field(ge=0),
    ] = 0
    design: Annotated[
        Texts,
        Flag(
            "Task in which new trials of the fitted models are simulated, to find what separates them; repeat for "
            "several.",
            DESIGN,
            completes="tasks",
        ),
    ] = []
    design_trials: Annotated[
        tuple[Annotated[StrictInt, Field(ge=1, le=100_000)], ...],
        Flag("Numbers of trials of --design, as in 100,300.", DESIGN),
        Field(min_length=1),
    ] = (50, 100, 200)
    task_stimuli: Annotated[str | None, stimuli_in_task(DESIGN, "--design-stimuli")] = None
    launch: Annotated[Values, Options((FitLaunch,))] = {}
    track: Annotated[
        Names, Flag("Also send scores, parameters and figures to wandb or mlflow.", OUTPUT, completes="trackers")
    ] = ()
    name: Annotated[str | None, Flag("Name of the fit; one that was interrupted resumes.", OUTPUT)] = None
    runs_root: Annotated[Path, root_of("runs", OUTPUT)] = Path("runs")
    overwrite: Annotated[bool, Flag("Replace a fit of this name.", OUTPUT)] = False
    subjects_shown: Annotated[
        int, Flag("Most subjects whose parameters of the best model are printed.", OUTPUT), Field(ge=0)
    ] = 1
    full: Annotated[bool, Flag("Print all models, subjects and notes.", OUTPUT)] = False
    as_json: Annotated[bool, Flag("Print the result as JSON.", OUTPUT, names=("--json",))] = False

    @field_validator("design_trials", mode="before")
    @classmethod
    def _numbers_of_trials(cls, trials: object) -> object:
        if isinstance(trials, str):
            return parse_whole_numbers(trials, option("--design-trials"))
        return [trials] if isinstance(trials, int | float) else trials

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

    table: Annotated[
        list[Path],
        Flag("Files or a folder with one row per trial, or a data set of ngym list data.", positional=True),
    ]
    data_dir: Annotated[Path | None, Flag("Folder of public data sets.", default="a cache in the home folder")] = None
    download: Annotated[bool, Flag("Fetch a public data set that is not there.")] = False
    by: Annotated[str | None, Flag("Column to split psychometric functions by, as in probabilityLeft.")] = None
    subjects_shown: Annotated[int, Flag("Most subjects that get a line."), Field(ge=0)] = 20
    full: Annotated[bool, Flag("Print all numbers, curves, columns and remarks, history weights last.")] = False
    save_columns: Annotated[Path | None, Flag("Write what was read as a file for --columns.", COLUMNS)] = None
    out: Annotated[Path | None, Flag("Folder for the figures; 'none' for none.", default="figures/TABLE")] = None
    overwrite: Annotated[bool, Flag("Replace figures and a file of columns that are there.")] = False
    format: Annotated[str, Flag("File format: png, svg or pdf.")] = "png"
    as_json: Annotated[bool, Flag("Print the statistics as JSON.", names=("--json",))] = False
