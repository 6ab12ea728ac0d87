"""Controls of a paper's claims: networks that do something else than what the claim is about.

A claim tells something only if controls differ from it. The control *untrained* is always there. A claim names at
least one other: of `LIBRARY`, or a function ``control_...`` of the paper's `figures.py`, which takes a trained run and
returns a run that follows a wrong strategy, made with `cut`, `rewired` or `answered`.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from neurogym.analysis.results import UndeterminedError
from ngym_cli import runs
from ngym_cli.agents import saving, weights
from ngym_cli.agents.defaults import read_config
from ngym_cli.config.sections import WrapperConfig
from ngym_cli.evaluation import fresh_trials
from ngym_cli.figures.source import FEEDBACK
from ngym_cli.files.writing import write_tensors
from ngym_cli.papers.paper_runs import PaperRun
from ngym_cli.training.main_loop import train

if TYPE_CHECKING:
    from torch import Tensor

    from neurogym.analysis.trial_tables import Table
    from ngym_cli.runs.records import Summary

__all__ = ["FEEDBACK", "LIBRARY", "UNTRAINED", "answered", "cut", "library", "rewired"]

UNTRAINED = "untrained"
#: Controls of the library, and what each tests.
LIBRARY = {
    UNTRAINED: "the same networks before training: whether the number is there without learning",
    "halfway": "the networks with weights half-way between those before and after training: whether it takes the whole "
    "solution",
    "scrambled": "the trained networks with recurrent weights in other, random directions and with the same "
    "eigenvalues: whether it takes the learned dynamics",
    "shuffled_evidence": "networks trained and tested with the evidence of other trials: whether it takes evidence, in "
    "networks that answer as often",
}
#: Wrapper that shows the evidence of other trials.
SHUFFLED = "ngym_cli.environments.shuffled_evidence:ShuffledEvidence"


def library(name: str, run: PaperRun) -> PaperRun:
    """Return a control of the library for a trained run, with evaluations of its own.

    Args:
        name: a name in `LIBRARY`.
        run: the run, which stays as it is.

    Raises:
        ValueError: if the network has no recurrent weights of the usual name, or the task no evidence.
    """
    if name == "shuffled_evidence":
        return _with_shuffled_evidence(run)
    if name == "scrambled":
        return rewired(run, lambda tensors: weights.rotated(tensors, run.seed))
    before = weights.initial(run.config)
    if name == "halfway":
        return rewired(run, lambda tensors: weights.halfway(tensors, before))
    return rewired(run, lambda tensors: {key: before[key] for key in tensors})


def _with_shuffled_evidence(run: PaperRun) -> PaperRun:
    """Return a network of the same configuration and seed that was trained with the evidence of other trials."""
    config = read_config(run.run, trust=True)
    wrappers = [WrapperConfig(name=SHUFFLED), *config.wrappers]
    folder = tempfile.TemporaryDirectory(prefix="ngym-control-")
    trained = train(config.model_copy(update={"wrappers": wrappers}), Path(folder.name), run.path.name).run
    result = PaperRun.evaluated(trained, run.seed, run.requested)
    result.temporary_folder = folder
    return result


def cut(run: PaperRun, *channels: str, name: str = weights.INPUTS) -> PaperRun:
    """Return the trained network of a run without the weights of some of its inputs.

    Args:
        run: the run.
        channels: names of channels as in the task's ``observation_space.name``; ``feedback`` for the channels that
            wrappers add (last reward, last action).
        name: end of the name of the input weights: rows of units, columns of channels. A cell of one's own may name
            them otherwise.

    Raises:
        ValueError: if there is no such channel, or the network has no weights of this name.
    """
    places = [place for channel in channels for place in run.channels(channel)]
    return rewired(run, lambda tensors: weights.without_inputs(tensors, places, name))


def answered(run: PaperRun, strategy: Callable[[Table], Table]) -> PaperRun:
    """Return a run whose trials are answered by a strategy instead of the network; nothing is recorded.

    Args:
        run: the run, which gives the trials.
        strategy: takes the table of an evaluation's trials and returns the table with other answers.
    """
    return Answered(run, strategy)


class Answered(PaperRun):
    """Run whose trials are answered by a strategy; see `answered`."""

    def __init__(self, run: PaperRun, strategy: Callable[[Table], Table]):
        super().__init__(run.run, run.seed, run.requested)
        self._strategy = strategy

    def trials(self, name: str | None = None) -> Table:
        """Return the trials of an evaluation as the strategy answers them."""
        return self._strategy(dict(super().trials(name)))

    def summary(self, name: str | None = None) -> Summary:
        """Return the summary of the strategy's answers."""
        table, properties = self.trials(name), self.properties
        evaluated = fresh_trials.EvaluatedTrials(table, fresh_trials.summarise(table, properties))
        fresh_trials.measure(evaluated, properties)
        return evaluated.summary

    def recording(self, name: str | None = None) -> object:  # type: ignore[override]
        """Refuse: a strategy has no activity.

        Raises:
            UndeterminedError: always.
        """
        raise UndeterminedError("a strategy has no activity")


def rewired(run: PaperRun, change: Callable[[dict[str, Tensor]], dict[str, Tensor]]) -> PaperRun:
    """Return the network of a run with other weights, and with evaluations of its own.

    Args:
        run: the run, which stays as it is.
        change: takes the weights by name, as in the run's file, and returns those of the control.
    """
    folder = tempfile.TemporaryDirectory(prefix="ngym-control-")
    path = Path(folder.name) / run.path.name
    path.mkdir()
    for name in (runs.CONFIG, runs.MANIFEST):
        shutil.copy(run.path / name, path / name)
    shutil.copytree(run.path / runs.MODEL, path / runs.MODEL)
    file = path / runs.MODEL / saving.WEIGHTS
    tensors = change(saving.read_weights(file))
    write_tensors(file, {name: value.clone() for name, value in tensors.items()})
    result = PaperRun.evaluated(runs.RunFolder(path), run.seed, run.requested)
    result.temporary_folder = folder
    return result
