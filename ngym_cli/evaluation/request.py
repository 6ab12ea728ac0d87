"""Request of ``ngym eval``: an evaluation of trained agents, or a simulation of fitted models."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, field_validator, model_validator

from ngym_cli.config.fields import Names, Options, Request, Section, Texts
from ngym_cli.config.model import CHANGED_CONDITIONS
from ngym_cli.config.sections import MOST_TRIALS
from ngym_cli.config.values import Values
from ngym_cli.errors import UserError, check_known, option

if TYPE_CHECKING:
    from ngym_cli.agents.perturbation import Perturbation

#: Longest name of an evaluation made from its settings; longer ones are cut and end with a digest of the full name.
LONGEST_LABEL = 120
#: Options that only evaluations of trained networks have, and those that only simulations have.
OF_NETWORKS = (
    *("checkpoints", "balanced", "device", "record", "spike_rate", "export"),
    *("compare_activity", "recording_by"),
)
OF_SIMULATIONS = ("fitted_model", "fitted_subject", "task_stimuli")


class Perturbations(Section):
    """Perturbations of the units of a network, each of which is an evaluation unless all act together."""

    lesion: Texts = []
    silence: Texts = []
    clamp: Texts = []
    noise: Texts = []


class EvalRequest(Request):
    """Evaluate trained agents on fresh trials.

    Weights are frozen, and the recurrent state is reset as in training. With --simulate a model fitted to choices acts.

    Examples:
        ngym eval latest --task-arg cohs=1/90 --balanced
        ngym eval latest --lesion 0.2
        ngym eval latest --record activity --export npz
        ngym eval latest --compare roitman2002
    """

    common = ("trials", "task_args", "balanced", "lesion", "record", "export", "compare", "name")

    run: list[str] = []
    trials: int | None = Field(None, ge=1, le=MOST_TRIALS)
    deterministic: bool | None = None
    balanced: bool = False
    seed: int = Field(0, ge=0)
    device: str = "cpu"
    checkpoints: str | None = None
    checkpoint: str | None = None
    changes: Annotated[Values, CHANGED_CONDITIONS] = {}
    perturbations: Annotated[Perturbations, Options((Perturbations,))] = Perturbations()
    together: bool = False
    simulate: str | None = None
    fitted_model: str | None = None
    fitted_subject: str | None = None
    task_stimuli: str | None = None
    record: Names | None = None
    spike_rate: float | None = Field(None, gt=0, le=1_000)
    export: Names = ()
    compare: Path | None = None
    columns: Path | None = None
    compare_activity: Path | None = None
    recording_by: Names | None = None
    name: str | None = None
    overwrite: bool = False
    runs_root: Path = Path("runs")
    trust: bool = False
    as_json: bool = False
    references: bool = Field(True, description="compute the scores of reference agents")

    @model_validator(mode="before")
    @classmethod
    def _words_of_a_perturbation(cls, data: object) -> object:
        """Give words such as ``period=delay`` among the runs to the perturbation, which then needs no quotes."""
        if not isinstance(data, Mapping):
            return data
        words = list(data.get("run") or ())
        loose = [word for word in words if "=" in word and not Path(word).exists()]
        if not loose:
            return data
        tables = data.get("perturbations")
        texts = {kind: text for kind, texts in dict(tables or {}).items() for text in texts}
        if len(texts) != 1 or sum(map(len, dict(tables or {}).values())) != 1:
            raise UserError(f"'{loose[0]}' is not a run; put the words of each perturbation in quotes")
        (kind, text), *_ = texts.items()
        return {
            **data,
            "run": [word for word in words if word not in loose],
            "perturbations": {kind: [" ".join([text, *loose])]},
        }

    @field_validator("record")
    @classmethod
    def _known_quantities(cls, record: tuple[str, ...] | None) -> tuple[str, ...] | None:
        from ngym_cli.evaluation.activity import parse_quantities

        return None if record is None else parse_quantities(record)

    @field_validator("export")
    @classmethod
    def _known_formats(cls, export: tuple[str, ...]) -> tuple[str, ...]:
        from ngym_cli.runs.folder import EXPORTS

        for word in export:
            check_known("export format", word, EXPORTS)
        return export

    @model_validator(mode="after")
    def _goes_together(self) -> EvalRequest:
        if self.simulate is not None:
            self._refuse_for_fitted_models()
        for name in OF_SIMULATIONS:
            if self.simulate is None and getattr(self, name) is not None:
                needed = option("--simulate TASK")
                flag = option(f"--{name.replace('_', '-')}")
                raise UserError(f"{flag} requires {needed}, which lets a fitted model act")
        for name in ("compare", "compare_activity"):
            if getattr(self, name) is not None and self.at_checkpoints:
                word = name.replace("_", "-")
                raise UserError(f"{option(f'--{word}')} takes the final model, not {option('--checkpoints')}")
        if self.compare is None and self.columns is not None:
            raise UserError(
                f"{option('--columns')} maps the columns of a table of trials, which {option('--compare')} names"
            )
        if self.recording_by is not None and self.compare_activity is None:
            flag = option("--recording-by")
            raise UserError(f"{flag} names conditions of the recording of {option('--compare-activity')}")
        if self.spike_rate is not None and "spikes" not in (self.record or ()):
            raise UserError(f"{option('--spike-rate')} is the rate of recorded spikes: add {option('--record spikes')}")
        if self.together and len(self.perturbed) < 2:
            raise UserError(f"{option('--together')} applies several perturbations at once: pass two or more")
        _ = self.separately()  # refuses what cannot be read
        return self

    def _refuse_for_fitted_models(self) -> None:
        """Refuse options that only evaluations of trained networks have."""
        perturbations = [kind for kind, texts in self.perturbations if texts]
        options = [name for name in OF_NETWORKS if getattr(self, name) != type(self).model_fields[name].default]
        for name in (*perturbations, *options):
            word = name.replace("_", "-")
            raise UserError(
                f"{option(f'--{word}')} is for evaluations of trained networks; {option('--simulate')} lets a "
                "fitted model act"
            )

    @property
    def at_checkpoints(self) -> str | None:
        """Checkpoints to evaluate; None for the final model."""
        return self.checkpoint if self.checkpoints is None else self.checkpoints

    @property
    def perturbed(self) -> tuple[Perturbation, ...]:
        """Perturbations of the network's units."""
        from ngym_cli.agents import perturbation

        return tuple(perturbation.parse(kind, text) for kind, texts in self.perturbations for text in texts)

    def separately(self) -> list[EvalRequest]:
        """Return the requests of single evaluations: one for each perturbation, unless all act together.

        Raises:
            UserError: if several evaluations would have one name.
        """
        if self.together or len(self.perturbed) < 2:
            return [self]
        if self.name is not None:
            raise UserError(
                f"{option('--name')} is of one evaluation, and each perturbation has its own; "
                f"{option('--together')} combines them"
            )
        texts = [(kind, text) for kind, texts in self.perturbations for text in texts]
        return [self.model_copy(update={"perturbations": Perturbations(**{kind: [text]})}) for kind, text in texts]

    def label(self, trials: int, or_more: bool = False) -> str:
        """Return the name of the evaluation's folder, which differs between settings.

        Args:
            trials: number of trials.
            or_more: whether trials are added until the interval of performance is narrow enough.
        """
        from ngym_cli import runs

        if self.name is not None:
            return self.name
        words = [f"trials{trials}{'-or-more' if or_more else ''}-seed{self.seed}"]
        words += ["stochastic"] if self.deterministic is False else []
        words += ["balanced"] if self.balanced else []
        words += [_changes_in_words(self.changes)] if self.changes else []
        label = "-".join([*words, *(each.label for each in self.perturbed)])
        if len(label) > LONGEST_LABEL:
            label = f"{label[: LONGEST_LABEL - 9]}-{hashlib.sha256(label.encode()).hexdigest()[:8]}"
        return runs.safe_name(label)


def _changes_in_words(changes: Mapping[str, Any]) -> str:
    """Return the changed settings, as part of a name."""
    words = []
    for key, value in changes.items():
        if key == "wrappers":
            stack = [[entry["name"], *_pairs({k: v for k, v in entry.items() if k != "name"})] for entry in value]
            words.append("+".join(word for entry in stack for word in entry) or "no-wrappers")
        else:
            words += _pairs(value if isinstance(value, Mapping) else {key: value})
    return "-".join(words).replace(":", "+").replace("/", "+")


def _pairs(values: Mapping[str, object]) -> list[str]:
    return [f"{name}{'+'.join(map(str, v)) if isinstance(v, list) else v}" for name, v in values.items()]
