"""Flags of ``ngym eval``, and the request that flags make: an evaluation, or a simulation of fitted models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ngym_cli import runs
from ngym_cli.agents import perturbation
from ngym_cli.config.values import split_entries
from ngym_cli.errors import UserError, check_known
from ngym_cli.evaluation.activity import PEAK_RATE, SPIKES, parse_quantities
from ngym_cli.evaluation.quota import Progress
from ngym_cli.evaluation.requests import EXPORTS, RequestedEvaluation, evaluate
from ngym_cli.runs.records import Summary

if TYPE_CHECKING:
    from ngym_cli.evaluation.simulation import SimulationRequest

#: Flags that a request takes as they are written.
AS_WRITTEN = ("trials", "seed", "balanced", "checkpoints", "changes", "name", "overwrite", "trust")

#: Request of an evaluation, or of a simulation of fitted models.
Request: TypeAlias = "RequestedEvaluation | SimulationRequest"


@dataclass(frozen=True)
class EvaluationFlags:
    """Flags of ``ngym eval`` as written; the help of the command explains them."""

    trials: int | None = None
    seed: int = 0
    deterministic: bool | None = None
    balanced: bool = False
    checkpoints: str | None = None
    lesion: Sequence[str] = ()
    silence: Sequence[str] = ()
    clamp: Sequence[str] = ()
    noise: Sequence[str] = ()
    simulate: str | None = None
    model: str | None = None
    subject: str | None = None
    stimuli: str | None = None
    record: str | None = None
    spike_rate: float | None = None
    export: str | None = None
    compare: Path | None = None
    columns: Path | None = None
    compare_activity: Path | None = None
    by: str | None = None
    changes: Mapping[str, object] = field(default_factory=dict)
    name: str | None = None
    overwrite: bool = False
    trust: bool = False

    def refuse_for_fitted_models(self) -> None:
        """Refuse flags that only evaluations of trained networks have.

        Raises:
            UserError: names the first.
        """
        for flag in ("checkpoints", "balanced", *perturbation.KINDS, "record", "spike_rate", "export", "by",
                     "compare_activity"):  # fmt: skip
            if getattr(self, flag) != getattr(EvaluationFlags, flag):
                word = flag.replace("_", "-")
                raise UserError(f"--{word} is for evaluations of trained networks; --simulate lets a fitted model act")


def request(references: Sequence[str], flags: EvaluationFlags) -> tuple[list[str], Request]:
    """Return the requested runs and the request; with ``simulate`` fits and a request of a simulation.

    Words such as ``period=delay`` among the runs belong to the preceding perturbation, so that
    ``--silence units=3,7 period=delay`` needs no quotes.

    Raises:
        UserError: on anything that cannot be read, or does not go together.
    """
    if flags.simulate is not None:
        from ngym_cli.evaluation.simulation import SimulationRequest

        flags.refuse_for_fitted_models()
        return list(references) or [runs.LATEST], SimulationRequest(
            {"task": flags.simulate, **flags.changes}, flags.model, flags.subject, flags.stimuli, flags.trials,
            flags.seed, bool(flags.deterministic), comparison_of(flags.compare, flags.columns), flags.overwrite,
            flags.name, flags.trust,
        )  # fmt: skip
    for flag in ("model", "subject", "stimuli"):
        if getattr(flags, flag) is not None:
            raise UserError(f"--{flag} belongs to --simulate TASK, which lets a fitted model act")
    given = [(kind, text) for kind in perturbation.KINDS for text in getattr(flags, kind)]
    loose = [word for word in references if "=" in word and not Path(word).exists()]
    if loose:
        if len(given) != 1:
            raise UserError(f"'{loose[0]}' is not a run; put the words of each perturbation in quotes")
        given = [(given[0][0], " ".join([given[0][1], *loose]))]
    for flag, given_path in (("--compare", flags.compare), ("--compare-activity", flags.compare_activity)):
        if given_path is not None and flags.checkpoints:
            raise UserError(f"{flag} takes the final model, not --checkpoints")
    if flags.by is not None and flags.compare_activity is None:
        raise UserError("--by names conditions of the recording of --compare-activity")
    quantities = () if flags.record is None else parse_quantities(flags.record)
    if flags.spike_rate is not None and SPIKES not in quantities:
        raise UserError("--spike-rate is the rate of recorded spikes: add --record spikes")
    exports = tuple(split_entries(flags.export or ""))
    for word in exports:
        check_known("export format", word, EXPORTS)
    names = [word for word in references if word not in loose] or [runs.LATEST]
    recording = flags.compare_activity
    return names, RequestedEvaluation(
        **{name: getattr(flags, name) for name in AS_WRITTEN},
        deterministic=flags.deterministic is not False,
        perturbations=tuple(perturbation.parse(kind, text) for kind, text in given),
        record=quantities,
        spike_rate=PEAK_RATE if flags.spike_rate is None else flags.spike_rate,
        exports=exports,
        compare=comparison_of(flags.compare, flags.columns),
        activity=None if recording is None else (recording, tuple(split_entries(flags.by or ""))),
    )


def comparison_of(compare: Path | None, columns: Path | None) -> tuple[Path, Path | None] | None:
    """Return the table of an animal and the map of its columns, or None.

    Raises:
        UserError: if only the map is given.
    """
    if compare is None and columns is not None:
        raise UserError("--columns maps the columns of a table of trials, which --compare names")
    return None if compare is None else (compare, columns)


def perform(
    references: Sequence[str], root: Path, asked: Request, progress: Progress | None = None
) -> Iterator[tuple[Summary, Path]]:
    """Evaluate runs or let the models of fits act, and yield each summary; arguments and errors as of `evaluate`."""
    if isinstance(asked, RequestedEvaluation):
        yield from evaluate(references, root, asked, progress)
        return
    from ngym_cli.evaluation import simulation
    from ngym_cli.fitting import folder as fits

    for fit in [fits.find(reference, root) for reference in references]:
        yield simulation.simulate(fit, root, asked, progress)
