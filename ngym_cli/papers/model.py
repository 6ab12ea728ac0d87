"""Typed content of `paper.toml`: settings with sources, parts that are trained, claims that are measured."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer, model_validator

from ngym_cli.config.fields import Section, checked
from ngym_cli.config.sections import TaskSettings
from ngym_cli.config.trust import read_toml
from ngym_cli.config.values import Values
from ngym_cli.errors import UserError, check_known, option, unknown
from ngym_cli.evaluation.request import OF_SIMULATIONS, EvalRequest
from ngym_cli.papers.verdicts import Criterion, parse_criterion

PAPER_FILE, SCRIPT = "paper.toml", "figures.py"

#: Source of a published number.
PROVENANCE = {
    "C": "the authors' released code or parameters",
    "P": "the paper's text",
    "F": "read off a figure by eye",
    "M": "recalled from a figure",
    "O": "printed by somebody's notebook",
    "R": "computed by us from the paper's raw data",
    "ours": "an ideal observer computed by us",
}
Provenance = Literal["C", "P", "F", "M", "O", "R", "ours"]

#: Names of parts, evaluations and claims: they become words on the command line and parts of file names.
NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
#: Configuration in the folder of this or another paper; papers with the same configuration share runs.
BESIDE = re.compile(r"(\.\./[A-Za-z0-9][A-Za-z0-9._-]*/)?[^/\\]+\.toml")


class SettingConfig(Section):
    """Setting of the paper and the place of publication."""

    what: str = Field(min_length=1)
    value: bool | int | float | str
    source: str = Field(min_length=1, description="where in the paper or its code")
    provenance: Provenance
    here: str = Field("", description="what is done here, where it differs, and why")


#: Fields of a request that are no part of an evaluation: a reproduction sets them.
REPRODUCTION_FIELDS = (
    *("run", "simulate", *OF_SIMULATIONS),
    *("name", "overwrite", "runs_root", "trust", "as_json", "references", "device"),
)


class EvaluationRequest(EvalRequest):
    """Fresh trials with frozen weights, from which claims are measured; the network's own seed is added to ``seed``."""

    def folder(self, name: str) -> str:
        """Return the name of the folder of this evaluation in a run: another when something is asked otherwise."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    @model_serializer(mode="wrap")
    def _as_recorded(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the settings that every record names, and further ones that are set."""
        settings = {key: value for key, value in dump(self).items() if key in self.model_fields_set}
        texts = {kind: texts[0] if len(texts) == 1 else texts for kind, texts in self.perturbations if texts}
        return {
            **settings,
            "trials": self.trials,
            "deterministic": self.deterministic is not False,
            "seed": self.seed,
            "balanced": self.balanced,
            "changes": self.changes,
            "record": list(self.record or ()),
            "perturbations": texts,
        }

    @model_validator(mode="before")
    @classmethod
    def _of_an_evaluation(cls, data: object) -> object:
        for key in data if isinstance(data, Mapping) else ():
            check_known("key", key, [name for name in cls.model_fields if name not in REPRODUCTION_FIELDS])
        return data

    @field_validator("changes")
    @classmethod
    def _of_the_task(cls, changes: Values) -> Values:
        for key in changes:
            check_known("change of an evaluation", key, [*TaskSettings.model_fields, "task", "reset_state"])
        return changes


class PartConfig(Section):
    """Network that is trained, once for each seed."""

    what: str = Field(min_length=1)
    config: str = Field(description="file of the run's configuration, in the same folder or in that of another paper")
    after: str | None = Field(None, description="part whose network, of the same seed, this one begins with")
    evaluations: dict[str, EvaluationRequest] = Field(default_factory=lambda: {"main": EvaluationRequest()})

    @field_validator("config")
    @classmethod
    def _in_folder(cls, config: str) -> str:
        if not BESIDE.fullmatch(config):
            expected = f"a TOML file next to {PAPER_FILE}, or of another paper (../PAPER/FILE.toml)"
            raise ValueError(f"'{config}': expected {expected}")
        return config

    @field_validator("evaluations")
    @classmethod
    def _named(cls, evaluations: dict[str, EvaluationRequest]) -> dict[str, EvaluationRequest]:
        for name in evaluations:
            _plain("evaluation", name)
        if not evaluations:
            raise ValueError("a part needs an evaluation")
        return evaluations


class ClaimConfig(Section):
    """Statement of the paper, and the measure that tests the statement here."""

    id: str
    title: str = Field(min_length=1)
    published: int | float | str | dict[str, int | float] = Field(description="what the paper has; a table: several")
    unit: str = ""
    where: str = Field(min_length=1, description="where it is printed")
    provenance: Provenance
    part: list[str] = Field(default_factory=list, description="part or parts that it is measured on")
    measure: str | None = Field(None, description="a function of figures.py, or a library measure")
    reached: str | None = Field(None, description="when it counts as reached")
    in_part: str | None = Field(None, description="when it counts as reached in part")
    control: list[str] = Field(default_factory=list, description="wrong strategies that must not reach it (figures.py)")
    untestable: str | None = Field(None, description="why it cannot be tested here")
    fitted: str = Field("", description="what was fitted or chosen on the same data, as the verdict says")
    note: str = ""

    @field_validator("part", "control", mode="before")
    @classmethod
    def _one_or_several(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _complete(self) -> ClaimConfig:
        _plain("claim", self.id)
        if self.untestable is not None:
            if self.measure or self.reached or self.in_part or self.part or self.control:
                raise ValueError(f"claim {self.id}: what cannot be tested has no part, measure, control or criterion")
            return self
        for key, needed in (("part", self.part), ("measure", self.measure), ("reached", self.reached)):
            if not needed:
                raise ValueError(f"claim {self.id}: {key} is missing; or add 'untestable' with the reason")
        for key, text in (("reached", self.reached), ("in_part", self.in_part)):
            if text is not None:
                try:
                    criterion = parse_criterion(text)
                except ValueError as error:
                    raise ValueError(f"claim {self.id}: {key}: {error}") from None
                if criterion.relative and isinstance(self.published, str):
                    raise ValueError(f"claim {self.id}: {key}: 'within' needs a published number, not a text")
        return self

    @property
    def criteria(self) -> tuple[Criterion | None, Criterion | None]:
        """Criteria for reaching the claim fully and in part."""
        first, second = (None if text is None else parse_criterion(text) for text in (self.reached, self.in_part))
        return first, second


class PaperConfig(Section):
    """Paper with reference, settings, parts and claims."""

    title: str = Field(min_length=1)
    citation: str = Field(min_length=1)
    doi: str = Field(pattern=r"^10\.\d{4,9}/\S+$")
    summary: str = Field(min_length=1, description="two plain sentences: what was done, what was found")
    seeds: int = Field(3, ge=1, le=10_000, description="networks of each part")
    minutes: float | None = Field(None, gt=0, description="what all seeds take on two cores, about")
    settings: list[SettingConfig] = Field(default_factory=list)
    parts: dict[str, PartConfig] = Field(default_factory=dict, description="none where nothing can be tested")
    claims: list[ClaimConfig] = Field(min_length=1)

    @model_validator(mode="after")
    def _fits(self) -> PaperConfig:
        for name, part_config in self.parts.items():
            _plain("part", name)
            if part_config.after is not None:
                if part_config.after not in self.parts:
                    raise ValueError(f"parts.{name}.after: {unknown('part', part_config.after, self.parts)}")
                self._order_of(name)
        names = [claim.id for claim in self.claims]
        for claim in self.claims:
            if names.count(claim.id) > 1:
                raise ValueError(f"claims: '{claim.id}' is there twice")
            if claim.id in self.parts:
                raise ValueError(
                    f"claims: '{claim.id}' is also the name of a part; {option('--only')} could not tell them apart"
                )
            for name in claim.part:
                if name not in self.parts:
                    raise ValueError(f"claim {claim.id}: {unknown('part', name, self.parts)}")
        return self

    def _order_of(self, name: str) -> list[str]:
        order = [name]
        while (before := self.parts[order[0]].after) is not None:
            if before in order:
                raise ValueError(f"parts.{name}.after: the parts begin with each other")
            if before not in self.parts:
                break
            order.insert(0, before)
        return order

    def with_earlier(self, names: list[str]) -> list[str]:
        """Return parts together with all prerequisites, each part after the prerequisites."""
        return list(dict.fromkeys(each for name in names for each in self._order_of(name)))


def _plain(kind: str, name: str) -> None:
    if not NAME_PATTERN.fullmatch(name):
        raise ValueError(f"{kind} '{name}': use letters, digits, dots, dashes and underscores, at most 40")


def read(folder: Path) -> PaperConfig:
    """Read and check the `paper.toml` of a folder.

    Raises:
        UserError: with file and key.
    """
    file = folder / PAPER_FILE
    if not file.is_file():
        raise UserError(f"{folder} is not the folder of a paper: it has no {PAPER_FILE}")
    config = checked(PaperConfig, read_toml(file), str(file))
    for name, part_config in config.parts.items():
        if not (folder / part_config.config).is_file():
            raise UserError(f"{file}: parts.{name}.config: no file {part_config.config} next to it")
    return config
