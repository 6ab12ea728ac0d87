"""Arguments of a paper's measures and figures: trained runs with evaluations, separately and together."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.analysis import Activity
from neurogym.analysis.results import UndeterminedError
from neurogym.analysis.trial_tables import Table
from neurogym.dynamics.systems import trajectories
from ngym_cli import runs
from ngym_cli.agents.perturbation import Perturbation
from ngym_cli.evaluation import fresh_trials, service
from ngym_cli.figures.source import Evaluated, Series, Source
from ngym_cli.figures.style import COLOURS, FigureUnavailableError
from ngym_cli.papers.model import EvaluationRequest, PaperConfig
from ngym_cli.papers.verdicts import Verdict
from ngym_cli.runs import recordings
from ngym_cli.runs.records import Summary
from ngym_cli.runs.trial_table import concatenate_runs, read_trials

if TYPE_CHECKING:
    from matplotlib.typing import ColorType

    from neurogym.dynamics.systems import System
    from ngym_cli.agents.loading import LoadedAgent
    from ngym_cli.evaluation.fresh_trials import EvaluatedTrials


class PaperRun(Source):
    """Trained network of a paper: a part with a seed; a script of a paper uses it and its base class.

    Args:
        run: the run.
        seed: the seed.
        requested: the part's evaluations, by name.

    Attributes:
        seed: the seed.
        path: the run folder.
        requested: the part's evaluations, by name.
        variant: wrong strategy that the analysis follows; empty for the trained run, see `as_variant`.
        trained: the run without a variant; the run itself if it has none.
        temporary_folder: what has to exist as long as the run is used.
    """

    def __init__(self, run: runs.RunFolder, seed: int, requested: Mapping[str, EvaluationRequest]):
        super().__init__(run, trust=True)
        self.path, self.seed, self.requested = run.path, seed, dict(requested)
        self.variant, self.trained = "", self
        self.temporary_folder: object = None

    @property
    def source(self) -> PaperRun:
        """Older name of the run itself, in scripts of papers."""
        return self

    @classmethod
    def evaluated(cls, run: runs.RunFolder, seed: int, requested: Mapping[str, EvaluationRequest]) -> PaperRun:
        """Return a run with all required evaluations; missing evaluations are made."""
        for name, each in requested.items():
            label = each.folder(name)
            if (run.path / "eval" / label / "summary.json").is_file():
                continue
            request = each.model_copy(update={"seed": each.seed + seed, "name": label, "trust": True})
            for _ in service.evaluate([str(run.path)], run.path.parent, request):
                pass
        return cls(run, seed, requested)

    def evaluation(self, name: str | None = None) -> Evaluated:
        """Return an evaluation by the name in `paper.toml`; by default the first evaluation.

        Raises:
            ValueError: if the paper has none of that name.
        """
        name = next(iter(self.requested)) if name is None else name
        if name not in self.requested:
            raise ValueError(f"no evaluation '{name}'; expected one of: {', '.join(self.requested)}")
        return self.named(self.requested[name].folder(name))

    def trials(self, name: str | None = None) -> Table:
        """Return the trials of an evaluation, a column each."""
        return read_trials(self.evaluation(name).folder / "trials.parquet")

    def summary(self, name: str | None = None) -> Summary:
        """Return the summary of an evaluation, see ``ngym_cli.evaluation.fresh_trials.summarise``."""
        return self.evaluation(name).summary

    def recording(self, name: str | None = None) -> recordings.Recording:
        """Return the step-by-step recording of an evaluation; needs ``record`` in `paper.toml`."""
        return recordings.Recording(self.evaluation(name).folder)

    def activity(self, name: str | None = None) -> Activity:
        """Return the recorded activity of an evaluation."""
        recording = self.recording(name)
        return Activity(recording["activity"], recording.offsets, recording.dt)

    @cached_property
    def agent(self) -> LoadedAgent:
        """Trained agent, as of ``ngym_cli.load``."""
        from ngym_cli.agents.loading import LoadedAgent

        return LoadedAgent(runs.find(str(self.path), runs.RUNS_ROOT), trust=True)

    def states(
        self,
        inputs: np.ndarray,
        start: np.ndarray | None = None,
        silenced: Sequence[int] = (),
        system: System | None = None,
    ) -> np.ndarray:
        """Return the states along given inputs; see ``neurogym.dynamics.trajectories``."""
        return trajectories(self.system if system is None else system, inputs, start, silenced)

    def asked(self, *evaluations: str, **changes: object) -> PaperRun:
        """Return the same run for a control that needs other evaluations.

        Args:
            evaluations: names of those that it needs; all by default.
            **changes: changes of every evaluation, as in `paper.toml`.
        """
        requested = {name: self.requested[name] for name in evaluations or self.requested}
        changed = {n: each.model_copy(update={"changes": {**each.changes, **changes}}) for n, each in requested.items()}
        return PaperRun(self.run, self.seed, changed if changes else requested)

    def as_variant(self, name: str) -> PaperRun:
        """Return the same run, marked with a wrong strategy that the paper's analyses follow."""
        other = copy.copy(self)
        other.variant, other.trained = name, self
        return other

    def measured(self, id_: str, name: str | None = None) -> float:
        """Return a measure that the task declares, by id.

        Raises:
            UndeterminedError: if these trials do not give it.
        """
        values = {row["id"]: row["value"] for row in self.summary(name)["measures"]}
        value = values.get(id_)
        if value is None:
            raise UndeterminedError(f"the trials do not give {id_}; they give {', '.join(values) or 'none'}")
        return float(value)

    def perturbed(
        self, perturbations: Sequence[Perturbation], trials: int, seed: int = 0, **options: Any
    ) -> EvaluatedTrials:
        """Return the evaluated trials of an agent with units lesioned, silenced, clamped or noisy.

        For perturbations that an analysis decides on; others are said in `paper.toml`.

        Args:
            perturbations: perturbations of the network.
            trials: number of trials.
            seed: determines them.
            **options: of ``ngym_cli.evaluation.fresh_trials.EvaluationSettings``.
        """
        settings = fresh_trials.EvaluationSettings(trials, seed, perturbations=tuple(perturbations), **options)
        return fresh_trials.evaluate(self.policy, self.config, self.properties, settings)


@dataclass(frozen=True)
class PaperRuns:
    """All trained networks of a paper, for figures.

    Attributes:
        folder: of the paper, which may contain data.
        config: content of `paper.toml`.
        found: the runs of each part, in the order of seeds.
        verdicts: the result of each claim.
    """

    folder: Path
    config: PaperConfig
    found: Mapping[str, Sequence[PaperRun]]
    verdicts: Mapping[str, Verdict]

    def runs(self, part_name: str) -> Sequence[PaperRun]:
        """Return the networks of a part, in the order of seeds.

        Raises:
            FigureUnavailableError: if no network is trained.
        """
        if not self.found.get(part_name):
            raise FigureUnavailableError(f"part {part_name} is not trained")
        return self.found[part_name]

    def trials(self, part_name: str, evaluation: str | None = None) -> Table:
        """Return the trials of all seeds of a part in a single table, with a column ``seed`` and distinct environments.

        Raises:
            FigureUnavailableError: if no network is trained.
        """
        read = ((run.seed, run.trials(evaluation)) for run in self.runs(part_name))
        return concatenate_runs({**table, "seed": np.full(len(table["trial"]), seed)} for seed, table in read)

    def part(
        self, part_name: str, label: str | None = None, colour: ColorType | None = None, evaluation: str | None = None
    ) -> Series:
        """Return the trials of a part for the panels of ``ngym_cli.figures``, with a label and a colour."""
        index = list(self.config.parts).index(part_name)
        words = self.config.parts[part_name].what if label is None else label
        return Series(words, colour or COLOURS[index % len(COLOURS)], rows=self.trials(part_name, evaluation))

    def value(self, claim: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the numbers of a claim, each with the mean over seeds, the interval and the value of each seed.

        Raises:
            FigureUnavailableError: if the claim was not measured.
        """
        verdict = self.verdicts.get(claim)
        if verdict is None or not verdict.numbers:
            raise FigureUnavailableError(f"claim {claim} is not measured")
        return verdict.numbers
