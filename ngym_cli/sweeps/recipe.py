"""Recipe of a sweep: a typed description from flags, a TOML file, or both."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import tomli_w
from pydantic import Field, field_validator, model_validator

from ngym_cli.config import RunConfig, Section, checked, leaves, merge, nest, read_toml
from ngym_cli.config.flags import FLAGS
from ngym_cli.config.values import (
    Values,
    as_list,
    parse_assignment,
    parse_assignments,
    parse_list,
    parse_scalar,
    parse_value,
    parse_whole_numbers,
    split_entries,
)
from ngym_cli.errors import UserError, unknown

#: Quantities that a search can maximise.
SearchMetric = Literal["performance", "reward_per_trial"]


class SearchSettings(Section):
    """Parameters drawn by Optuna instead of listed.

    Attributes:
        space: parameter -> log:LOW:HIGH, float:..., int:..., logint:..., choice:V1:V2.
    """

    trials: int = Field(ge=1, le=1_000_000)
    space: dict[str, str] = Field(default_factory=dict, validate_default=True)
    maximize: SearchMetric = "performance"
    sampler: Literal["tpe", "random"] = "tpe"
    pruner: Literal["none", "median", "hyperband"] = "median"
    seed: int = Field(0, ge=0)

    @field_validator("space")
    @classmethod
    def _known(cls, space: dict[str, str]) -> dict[str, str]:
        from ngym_cli.sweeps.space import parse_kind

        found = {canonical(key): text for key, text in space.items()}
        for key, text in found.items():
            parse_kind(key, text)
        if not found:
            raise ValueError("a search needs --space PARAMETER=KIND:...")
        return found


class LaunchSettings(Section):
    """Settings of the execution of runs, which are not part of a recipe's identity.

    Attributes:
        workers: most runs at a time.
    """

    on: str = "local"
    workers: int | None = Field(None, ge=1)
    slurm: Values = Field(default_factory=dict)

    @field_validator("slurm")
    @classmethod
    def _options(cls, options: Mapping[str, object]) -> dict[str, object]:
        return check_options(options)


class Recipe(Section):
    """Everything that determines a sweep.

    Attributes:
        run: common settings of all runs, with the keys of a run's configuration.
        grid: parameter to its values; dotted keys reach into tables (``hyperparameters.learning_rate``).
        zip: groups of parameters of the grid that change together.
        search: draws further parameters.
        launch: launch settings.
    """

    run: dict[str, Any] = Field(default_factory=dict)
    grid: dict[str, list[Any]] = Field(default_factory=dict)
    zip: list[list[str]] = Field(default_factory=list)
    search: SearchSettings | None = None
    launch: LaunchSettings = Field(default_factory=LaunchSettings)

    @field_validator("grid", mode="before")
    @classmethod
    def _lists(cls, grid: object) -> dict[str, list[object]]:
        if not isinstance(grid, Mapping):
            raise ValueError("grid must be a table of parameters and their values")
        return {canonical(key): as_list(value, f"grid.{key}") for key, value in leaves(grid)}

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
                    f"a search draws its parameters: say --space {several[0]}=choice:... instead of a list"
                )
            if "seed" in self.search.space:
                raise ValueError("the seed is not a parameter to search; --seed 0:3 gives every trial three seeds")
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
        return tomli_w.dumps(self.model_dump(exclude_none=True))


#: Largest recipe in a sweep's folder (bytes); it may list the seeds of a hundred thousand runs.
LARGEST = 4 << 20


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
    kept = {name: value for name, value in table.items() if name != first}
    if dot and isinstance(table[first], Mapping):
        inner = without(table[first], rest)
        return {**kept, first: inner} if inner else kept
    return kept


def from_flags(flags: Mapping[str, Any], wrappers: Iterable[str] | None = None) -> dict[str, Sequence[object]]:
    """Return the values that flags give to parameters, as lists.

    Args:
        flags: by name, as in ``ngym_cli.config.flags``: texts, of tables lists of ``NAME=VALUES``; None if not given.
        wrappers: one stack for each time the flag was given.

    Raises:
        UserError: on an empty list or a parameter given twice.
    """
    found: dict[str, Sequence[object]] = {}
    for name, text in flags.items():
        if text is None or text == []:
            continue
        flag = FLAGS[name]
        if flag.kind != "table":
            if flag.kind == "whole":
                found[flag.key] = parse_whole_numbers(text, flag.option)
            else:
                found[flag.key] = parse_list(text, str if flag.kind == "word" else parse_scalar, flag.option)
            continue
        for assignment in text:
            entry, value = parse_assignment(assignment, flag.option)
            key = f"{flag.key}.{entry}"
            if key in found:
                raise UserError(f"{flag.option}: '{entry}' is given twice")
            found[key] = parse_list(value, parse_value, f"{flag.option} {entry}")
    stacks = ["" if stack == "none" else stack for stack in wrappers or ()]
    return {**found, **({"wrappers": stacks} if stacks else {})}


def tables_from_flags(
    launch: Values, searched: Mapping[str, Any], zipped: Iterable[str] | None = None
) -> dict[str, object]:
    """Return the tables of a recipe that flags give, without undefined entries.

    Args:
        launch: from ``launch_from_flags``.
        searched: flags of the search.
        zipped: groups of parameters that change together, separated by commas.
    """
    search = {key: value for key, value in searched.items() if value is not None}
    if "space" in search:
        search["space"] = parse_assignments(search["space"], "--space", str)
    found = {"zip": zip_groups(map(split_entries, zipped or ())), "search": search, "launch": launch}
    return {name: table for name, table in found.items() if table}


def launch_from_flags(on: str | None, workers: int | None, slurm: Iterable[str] | None) -> Values:
    """Return the launch settings that flags give, without undefined entries.

    Args:
        on: launcher.
        workers: most runs at a time.
        slurm: each ``NAME=VALUE``.
    """
    pairs = (parse_assignment(text, "--slurm") for text in slurm or ())
    options = {key: value if ":" in value else parse_scalar(value) for key, value in pairs}
    given = {"on": on, "workers": workers, "slurm": options or None}
    return {key: value for key, value in given.items() if value is not None}


def launch_settings(on: str | None, workers: int | None, slurm: Iterable[str] | None) -> LaunchSettings:
    """Return launch settings from flags; arguments as of ``launch_from_flags``.

    Raises:
        UserError: if a setting does not exist or does not fit.
    """
    return build({"launch": launch_from_flags(on, workers, slurm)}, {}).launch


def zip_groups(groups: Iterable[Sequence[str]]) -> list[list[str]]:
    """Return groups of parameters that change together by dotted keys.

    Args:
        groups: names of flags, or keys as in a recipe.

    Raises:
        UserError: on a group of fewer than two names, or a name that cannot be a parameter.
    """
    found = [[_key(name) for name in group] for group in groups]
    for group in found:
        if len(group) < 2:
            raise UserError(f"zip takes two parameters or more, as in units,timesteps, not '{','.join(group)}'")
    return found


def _key(name: str) -> str:
    name = name.strip().replace("-", "_")
    try:
        return FLAGS[name].key if name in FLAGS else canonical(name)
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
        values: lists of values from ``from_flags``; one value alone is the same for all runs.
        source: origin of the document, for messages.

    Raises:
        UserError: on anything that does not exist or does not fit.
    """
    zipped = data.get("zip", [])
    recipe = checked(Recipe, {key: value for key, value in data.items() if key != "zip"}, source)
    run, grid = recipe.run, dict[str, Sequence[object]](recipe.grid)
    for key, given in values.items():
        items = as_list(given, key)
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
    kept = [[name for name in group if not (isinstance(name, str) and _known(name) in alone)] for group in groups]
    return [group for group in kept if group]


def _known(name: str) -> str:
    try:
        return canonical(name)
    except ValueError:
        return name


def read(path: Path) -> Recipe:
    """Read the recipe of a sweep's folder."""
    return checked(Recipe, read_toml(path, LARGEST), str(path))


def differences(old: Recipe, new: Recipe) -> list[str]:
    """Return in words where two recipes differ."""
    one, two = dict(leaves(old.identity())), dict(leaves(new.identity()))
    return [
        f"{key}: {_said(one.get(key))} -> {_said(two.get(key))}"
        for key in dict.fromkeys([*one, *two])
        if one.get(key) != two.get(key)
    ]


def _said(value: object) -> str:
    text = "not given" if value is None else json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


#: Options of ``sbatch`` (Slurm 24) that say what a job needs and whom it is for. Those that name files or commands, or
#: that the launcher sets itself, are not among them.
SBATCH_OPTIONS = (
    *("account", "acctg_freq", "begin", "cluster_constraint", "clusters", "comment", "constraint", "contiguous"),
    *("core_spec", "cores_per_socket", "cpu_freq", "cpus_per_gpu", "cpus_per_task", "deadline", "delay_boot"),
    *("dependency", "distribution", "exclude", "exclusive", "extra", "extra_node_info", "gpu_bind", "gpu_freq", "gpus"),
    *("gpus_per_node", "gpus_per_socket", "gpus_per_task", "gres", "gres_flags", "hint", "hold", "kill_on_invalid_dep"),
    *("licenses", "mail_type", "mail_user", "mcs_label", "mem", "mem_bind", "mem_per_cpu", "mem_per_gpu", "mincpus"),
    *("network", "nice", "no_kill", "nodelist", "nodes", "ntasks", "ntasks_per_core", "ntasks_per_gpu"),
    *("ntasks_per_node", "ntasks_per_socket", "oom_kill_step", "overcommit", "oversubscribe", "partition", "power"),
    *("prefer", "priority", "profile", "propagate", "qos", "reservation", "segment", "sockets_per_node"),
    *("spread_job", "switches", "thread_spec", "threads_per_core", "time", "time_min", "tmp", "tres_bind"),
    *("tres_per_task", "use_min_nodes", "wait_all_nodes", "wckey"),
)

#: Further options, for the launcher itself.
SWEEP_OPTIONS = ("runs_per_job", "array_parallelism", "signal_delay_s", "use_srun", "stderr_to_stdout")

#: What a word may be made of: what names, numbers, times, addresses and lists need, and nothing that a shell would act
#: on beyond a blank.
_OPTION = re.compile(r"[\w .,:;=+@%/\[\]()*!|&^~-]*", re.ASCII)

#: Longest value (letters).
LONGEST_OPTION = 1_000


def check_options(options: Mapping[str, object]) -> dict[str, object]:
    """Return options with names in Python spelling.

    Raises:
        ValueError: if a name is not allowed, or a value is not a plain word, a number or a truth value.
    """
    found: dict[str, object] = {}
    for key, value in options.items():
        name = key.replace("-", "_")
        if name in ("output", "error"):
            raise ValueError(f"slurm: '{key}' cannot be set: the output of all jobs goes into the sweep's folder")
        allowed = (*SBATCH_OPTIONS, *SWEEP_OPTIONS)
        if name not in allowed:
            raise ValueError(str(unknown("option of sbatch that a sweep may set", key, allowed)))
        if not isinstance(value, bool | int | float | str):
            raise ValueError(f"slurm: {key} must be a word or a number, not {value!r}")
        if isinstance(value, str) and (len(value) > LONGEST_OPTION or not _OPTION.fullmatch(value)):
            raise ValueError(f"slurm: {key} has letters that no option of sbatch takes: {value[:40]!r}")
        if name in SWEEP_OPTIONS and not isinstance(value, int):
            raise ValueError(f"slurm: {key} must be a number, not {value!r}")
        found[name] = value
    return found
