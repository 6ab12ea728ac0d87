"""Controls of a paper's claims: networks before training, and networks that follow a wrong strategy.

A claim tells something only if controls fail it. The control *untrained* is always there: the network of the same part
and seed with the weights from before training. The other is a function of `figures.py` whose name begins with
``control_``: it takes a trained run and returns a run that follows the wrong strategy, made with `cut`,
`shuffled`, `rewired` or `answered`.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ngym_cli import runs
from ngym_cli.agents import saving
from ngym_cli.agents.from_config import build_model, build_venv
from ngym_cli.evaluation import fresh_trials
from ngym_cli.papers.paper_runs import PaperRun

if TYPE_CHECKING:
    from torch import Tensor

    from neurogym.analysis.trial_tables import Table
    from ngym_cli.runs.records import Summary

UNTRAINED = "untrained"
#: Weights of the first layer's inputs, by the end of a tensor's name: rows of units, columns of channels.
INPUTS = "weight_ih_l0"
#: End of the name of the recurrent weights of the first layer: a row for each unit.
RECURRENT_WEIGHTS = "weight_hh_l0"
#: Name of the channels that wrappers add behind those of the task: last reward, last action.
FEEDBACK = "feedback"


def untrained(run: PaperRun) -> PaperRun:
    """Return the network of a run as it was before training, with evaluations like those of the trained network."""
    config = run.source.config
    venv = build_venv(config, 1)
    try:
        small = {name: 2 for name in ("n_steps", "batch_size", "buffer_size") if name in config.hyperparameters}
        fresh = build_model(config.model_copy(update={"hyperparameters": {**config.hyperparameters, **small}}), venv)
    finally:
        venv.close()
    weights = fresh.policy.state_dict()
    return rewired(run, lambda tensors: {name: weights[name] for name in tensors})


def cut(run: PaperRun, *channels: str, weights: str = INPUTS) -> PaperRun:
    """Return the trained network of a run without the weights of some of its inputs.

    Args:
        run: the run.
        channels: names of channels as in the task's ``observation_space.name``; ``feedback`` for the channels that
            wrappers add (last reward, last action).
        weights: end of the name of the input weights: rows of units, columns of channels. A cell of one's own may
            name them otherwise.

    Raises:
        ValueError: if there is no such channel, or the network has no weights of this name.
    """
    env: Any = run.agent.make_env()
    space = env.unwrapped.observation_space
    names, size, seen = space.name, space.shape[0], env.observation_space.shape[0]
    env.close()
    places: list[int] = []
    for name in channels:
        if name == FEEDBACK:
            places += range(size, seen)
        elif name in names:
            places += np.arange(size)[names[name]].reshape(-1).tolist()
        else:
            raise ValueError(f"the task has no channel '{name}'; it has {', '.join(map(str, names))}")

    def without(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        for value in _ending(tensors, weights):
            value[:, places] = 0
        return tensors

    return rewired(run, without)


def shuffled(run: PaperRun) -> PaperRun:
    """Return the network of a run with the recurrent weights of each unit in another order, by the run's seed.

    Raises:
        ValueError: if the network has no recurrent weights of the usual name.
    """
    rng = np.random.default_rng(run.seed)

    def mixed(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        weights = _ending(tensors, RECURRENT_WEIGHTS)[0].numpy()
        weights[:] = np.stack([rng.permutation(row) for row in weights])
        return tensors

    return rewired(run, mixed)


def _ending(tensors: dict[str, Tensor], name: str) -> list[Tensor]:
    """Return the tensors whose names end with a name.

    Raises:
        ValueError: if there are none.
    """
    matching = [value for key, value in tensors.items() if key.endswith(name)]
    if not matching:
        raise ValueError(f"the network has no weights {name} ({', '.join(tensors)}): change its own with rewired")
    return matching


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
        super().__init__(runs.RunFolder(run.path), run.seed, run.requested)
        self._strategy = strategy

    def trials(self, name: str | None = None) -> Table:
        """Return the trials of an evaluation as the strategy answers them."""
        return self._strategy(dict(super().trials(name)))

    def summary(self, name: str | None = None) -> Summary:
        """Return the summary of the strategy's answers."""
        table, properties = self.trials(name), self.source.properties
        evaluated = fresh_trials.EvaluatedTrials(table, fresh_trials.summarise(table, properties))
        fresh_trials.measure(evaluated, properties)
        return evaluated.summary

    def recording(self, name: str | None = None) -> object:  # type: ignore[override]
        """Refuse: a strategy has no activity.

        Raises:
            ValueError: always.
        """
        raise ValueError("a strategy has no activity")


def rewired(run: PaperRun, change: Callable[[dict[str, Tensor]], dict[str, Tensor]]) -> PaperRun:
    """Return the network of a run with other weights, and with evaluations of its own.

    Args:
        run: the run, which stays as it is.
        change: takes the weights by name, as in the run's file, and returns those of the control.
    """
    from safetensors.torch import save_file

    folder = tempfile.TemporaryDirectory(prefix="ngym-control-")
    path = Path(folder.name) / run.path.name
    path.mkdir()
    for name in (runs.CONFIG, runs.MANIFEST):
        shutil.copy(run.path / name, path / name)
    shutil.copytree(run.path / runs.MODEL, path / runs.MODEL)
    file = path / runs.MODEL / saving.WEIGHTS
    tensors = change(saving.read_weights(file))
    save_file({name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}, str(file))
    result = PaperRun.evaluated(runs.RunFolder(path), run.seed, run.requested)
    result.temporary_folder = folder
    return result
