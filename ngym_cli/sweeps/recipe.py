"""Recipe of a sweep: a typed description from flags, a TOML file, or both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import Field, field_validator, model_validator

from ngym_cli.config.fields import Names, Options, Request, Section, checked, options_of
from ngym_cli.config.launch import LaunchSettings
from ngym_cli.config.model import RUN_SECTIONS, RunConfig, without_none
from ngym_cli.config.sections import with_none
from ngym_cli.config.trust import read_toml
from ngym_cli.config.values import Values, as_list, leaves, merge, nest
from ngym_cli.errors import UserError, option, unknown

#: Quantities that a search can maximise.
SearchMetric = Literal["performance", "reward_per_trial"]

#: Group of options in the help.
VARIED = "Parameters: one value, a,b,c or START:STOP"


class SearchSettings(Section):
    """Parameters drawn by Optuna instead of listed."""

    trials: int = Field(ge=1, le=1_000_000)
    space: dict[str, str] = Field({}, validate_default=True)
    maximize: SearchMetric = "performance"
    sampler: Literal["tpe", "random"] = "tpe"
    pruner: Literal["none", "median", "hyperband"] = "median"
    seed: int = Field(0, ge=0)

    @field_validator("space")
    @classmethod
    def _canonical_or_same(cls, space: dict[str, str]) -> dict[str, str]:
        from ngym_cli.sweeps.space import parse_kind

        canonical_space = {canonical(key): text for key, text in space.items()}
        for key, text in canonical_space.items():
            parse_kind(key, text)
        if not canonical_space:
            raise ValueError(f"a search needs {option('--space PARAMETER=KIND:...')}")
        return canonical_space


class SweepRequest(Request):
    """Train many agents: grids, seeds and searches.

    Every setting of ngym run (ngym run --help-all) takes several values here: a,b,c or, for whole numbers, START:STOP.
    Runs on this machine, a Ray cluster or Slurm. Run the same command again to resume.

    Examples:
        ngym sweep --alg recurrent_ppo,recurrent_a2c --seed 0:5
        ngym sweep --network lstm,gru --units 32,64 --seed 0:5 --on slurm --slurm partition=cpu
        ngym sweep --search 100 --space learning_rate=log:1e-4:1e-2
        ngym sweep status latest
    """

    common = ("task", "alg", "network", "varied.seed", "trials", "space", "on", "dry_run")

    what: str | None = None
    sweep: str | None = None
    varied: Annotated[dict[str, list[Any]], Options(RUN_SECTIONS, VARIED, many=True)] = {}
    zip: list[Names] = []
    search: Annotated[Values, Options((SearchSettings,))] = {}
    launch: Annotated[Values, Options((LaunchSettings,))] = {}
    detach: bool = False
    name: str | None = None
    sweeps_root: Path = Path("sweeps")
    trust: bool = False
    dry_run: bool = False
    print_config: bool = False
    as_json: bool = False

    @property
    def is_planned(self) -> bool:
        """Whether a plan or a recipe is printed and nothing is made."""
        return self.dry_run or self.print_config

    def tables(self) -> dict[str, Any]:
        """Return the tables of a recipe that are requested, without undefined ones."""
        tables = {"zip": zip_groups(self.zip), "search": self.search, "launch": self.launch}
        return {name: table for name, table in tables.items() if table}


class Recipe(Section):
    """Everything that determines a sweep: a recipe in TOML."""

    run: dict[str, Any] = Field(default_factory=dict, description="common settings, as in a run's configuration")
    grid: dict[str, list[Any]] = Field(
        default_factory=dict, description="parameter to its values; dotted keys reach into tables"
    )
    zip: list[list[str]] = Field(default_factory=list, description="parameters of the grid that change together")
    search: SearchSettings | None = None
    launch: LaunchSettings = Field(default_factory=LaunchSettings)

    @field_validator("grid", mode="before")
    @classmethod
    def _lists(cls, grid: object) -> dict[str, list[object]]:
        if not isinstance(grid, Mapping):
            raise ValueError("grid must be a table of parameters and their values")
        return {canonical(key): with_none(as_list(value, f"grid.{key}")) for key, value in leaves(grid)}

    @field_validator("zip")
    @classmethod
    def _names(cls, groups: list[list[str]]) -> list[list[str]]:
        return [[canonical(name) for name in group] for group in groups]

    @model_validator(mode="after")
    def _fits(self) -> Recipe:
        seen: set[str] = set()
        for group in self.zip:
            for name in group:
                if name not in self.grid:
                    raise ValueError(f"zip: '{name}' has no list of values")
                if name in seen:
                    raise ValueError(f"zip: '{name}' is zipped twice")
                seen.add(name)
            lengths = {name: len(self.grid[name]) for name in group}
            if len(set(lengths.values())) > 1:
                counts = ", ".join(f"{name} has {count}" for name, count in lengths.items())
                raise ValueError(f"zip: parameters that change together need equally many values: {counts}")
        if self.search is not None:
            several = [name for name, values in self.grid.items() if name != "seed" and len(values) > 1]
            if several:
                raise ValueError(
                    f"a search draws its parameters: pass {option(f'--space {several[0]}=choice:...')} instead of a "
                    "list"
                )
            if "seed" in self.search.space:
                raise ValueError(
                    f"the seed is not a parameter to search; {option('--seed 0:3')} gives every trial three seeds"
                )
        return self

    def swept(self) -> list[str]:
        """Return the parameters that differ between runs, in the given order, the seed last."""
        names = [name for name, values in self.grid.items() if len(values) > 1 and name != "seed"]
        searched = list(self.search.space) if self.search else []
        return [*names, *searched, *(["seed"] if len(self.grid.get("seed", [])) > 1 else [])]

    def identity(self) -> Values:
        """Return the content by which recipes are compared: everything except the launch settings."""
        return self.model_dump(exclude={"launch"}, exclude_none=True)

    def digest(self) -> str:
        """Return eight characters that identify the recipe; more trials of a search are the same recipe."""
        identity = self.identity()
        identity.get("search", {}).pop("trials", None)
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:8]

    def to_toml(self) -> str:
        """Return the recipe as TOML."""
        return tomli_w.dumps(without_none(self.model_dump(exclude_none=True), free=True))


#: Largest recipe in a sweep's folder (bytes); it may list the seeds of a hundred thousand runs.
MAX_RECIPE_BYTES = 4 << 20


def canonical(key: str) -> str:
    """Return the dotted key of a parameter; a name that no run configuration has is a hyperparameter.

    Raises:
        ValueError: if its table does not exist, with the nearest.
    """
    first, dot, _ = key.partition(".")
    if dot and first not in RunConfig.model_fields:
        raise ValueError(str(unknown("table of a run's configuration", first, RunConfig.model_fields)))
    return key if first in RunConfig.model_fields else f"hyperparameters.{key}"


def without(table: Mapping[str, Any], key: str) -> Values:
    """Return nested tables without a dotted key."""
    first, dot, rest = key.partition(".")
    if first not in table:
        return dict(table)
    remaining = {name: value for name, value in table.items() if name != first}
    if dot and isinstance(table[first], Mapping):
        inner = without(table[first], rest)
        return {**remaining, first: inner} if inner else remaining
    return remaining


def zip_groups(groups: Iterable[Sequence[str]]) -> list[list[str]]:
    """Return groups of parameters that change together by dotted keys.

    Args:
        groups: names of flags, or keys as in a recipe.

    Raises:
        UserError: on a group of fewer than two names, or a name that cannot be a parameter.
    """
    resolved = [[_key(name) for name in group] for group in groups]
    for group in resolved:
        if len(group) < 2:
            raise UserError(f"zip takes two parameters or more, as in units,timesteps, not '{','.join(group)}'")
    return resolved


def _key(name: str) -> str:
    name = name.strip().replace("-", "_")
    try:
        options = [option for option in options_of(SweepRequest) if option.many]
        keys = {word.strip("-").replace("-", "_"): each.entry for each in options for word in each.spellings}
        return keys.get(name) or canonical(name)
    except ValueError as error:
        raise UserError(f"zip: {error}") from None


def override(data: Mapping[str, object], tables: Mapping[str, object]) -> Values:
    """Return the tables of a recipe, overridden by flags; a launcher of the flags gets no Slurm options of the recipe.

    Args:
        data: tables of the recipe.
        tables: tables that flags give.
    """
    launch = tables.get("launch")
    if isinstance(launch, Mapping) and launch.get("on", "slurm") != "slurm":
        data = without(data, "launch.slurm")
    return merge(data, tables)


def build(data: Mapping[str, object], values: Mapping[str, Sequence[object]], source: str = "") -> Recipe:
    """Return the recipe of a TOML document, overridden by flags.

    Args:
        data: the document.
        values: lists of values from a `SweepRequest`; one value alone is the same for all runs.
        source: origin of the document, for messages.

    Raises:
        UserError: on anything that does not exist or does not fit.
    """
    zipped = data.get("zip", [])
    recipe = checked(Recipe, {key: value for key, value in data.items() if key != "zip"}, source)
    run, grid = recipe.run, dict[str, Sequence[object]](recipe.grid)
    for key, setting in values.items():
        items = as_list(setting, key)
        grid.pop(key, None)
        run = without(run, key)
        if len(items) > 1:
            grid[key] = items
        else:
            run = merge(run, nest({key: items[0]}))
    for key in [key for key, items in grid.items() if len(items) == 1]:
        run = merge(without(run, key), nest({key: grid.pop(key)[0]}))
    flat = {**recipe.model_dump(exclude_none=True), "run": run, "grid": grid}
    alone = {key for key, items in {**recipe.grid, **values}.items() if len(items) == 1}
    return checked(Recipe, {**flat, "zip": _without_single(zipped, alone)}, source)


def _without_single(groups: object, alone: set[str]) -> object:
    """Return zipped groups without the parameters that have a single value."""
    if not isinstance(groups, list) or not all(isinstance(group, list) for group in groups):
        return groups
    groups_left = [
        [name for name in group if not (isinstance(name, str) and _canonical_or_same(name) in alone)]
        for group in groups
    ]
    return [group for group in groups_left if group]


def _canonical_or_same(name: str) -> str:
    try:
        return canonical(name)
    except ValueError:
        return name


def read(path: Path) -> Recipe:
    """Read the recipe of a sweep's folder."""
    return checked(Recipe, read_toml(path, MAX_RECIPE_BYTES), str(path))


def differences(old: Recipe, new: Recipe) -> list[str]:
    """Return in words where two recipes differ."""
    first, second = dict(leaves(old.identity())), dict(leaves(new.identity()))
    return [
        f"{key}: {_text(first.get(key))} -> {_text(second.get(key))}"
        for key in dict.fromkeys([*first, *second])
        if first.get(key) != second.get(key)
    ]


def _text(value: object) -> str:
    text = "not given" if value is None else json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
