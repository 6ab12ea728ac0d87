"""Settings of the execution of jobs: on this machine, a Ray cluster or Slurm."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field, field_validator

from ngym_cli.config.fields import Section
from ngym_cli.config.values import Values
from ngym_cli.errors import unknown


class LaunchSettings(Section):
    """Settings of the execution of runs, which are not part of a recipe's identity."""

    on: str = "local"
    workers: int | None = Field(None, ge=1)
    slurm: Values = {}

    @field_validator("slurm")
    @classmethod
    def _options(cls, options: Mapping[str, object]) -> dict[str, object]:
        return check_options(options)


#: Options that a sweep may set: of ``sbatch``, and of the launcher itself.
OPTIONS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("slurm.toml").read_text(encoding="utf-8"))

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
    checked_options: dict[str, object] = {}
    allowed = [*OPTIONS["sbatch"], *OPTIONS["launcher"]]
    for key, value in options.items():
        name = key.replace("-", "_")
        if name in ("output", "error"):
            raise ValueError(f"slurm: '{key}' cannot be set: the output of all jobs goes into the sweep's folder")
        if name not in allowed:
            raise ValueError(str(unknown("option of sbatch that a sweep may set", key, allowed)))
        if not isinstance(value, bool | int | float | str):
            raise ValueError(f"slurm: {key} must be a word or a number, not {value!r}")
        if isinstance(value, str) and (len(value) > LONGEST_OPTION or not _OPTION.fullmatch(value)):
            raise ValueError(f"slurm: {key} has letters that no option of sbatch takes: {value[:40]!r}")
        if name in OPTIONS["launcher"] and not isinstance(value, int):
            raise ValueError(f"slurm: {key} must be a number, not {value!r}")
        checked_options[name] = value
    return checked_options
