"""Run as seen by figures: configuration, evaluations, training trials, network; and trials that are drawn together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.analysis.trial_tables import Table
from ngym_cli import runs
from ngym_cli.agents.acting import Actor
from ngym_cli.agents.defaults import read_config
from ngym_cli.agents.dynamics import read_outs, system_of
from ngym_cli.agents.saving import load_policy
from ngym_cli.agents.trained import load_to_act
from ngym_cli.environments.properties import inspect
from ngym_cli.errors import unknown
from ngym_cli.figures.style import FigureUnavailableError
from ngym_cli.runs import recordings, records
from ngym_cli.runs.trial_table import DECISION_ONSET, FIRST_ACTION, FIXATION, concatenate_runs, read_trials

if TYPE_CHECKING:
    from matplotlib.typing import ColorType
    from stable_baselines3.common.policies import BasePolicy

    from neurogym.dynamics.systems import System
    from ngym_cli.config.model import ResolvedConfig
    from ngym_cli.environments.properties import TaskProperties

#: Name of the channels that wrappers add behind those of the task: last reward, last action.
FEEDBACK = "feedback"


@dataclass(frozen=True)
class Evaluated:
    """Evaluation of a run: folder and summary."""

    folder: Path
    summary: records.Summary

    @property
    def perturbed(self) -> bool:
        """Whether units were lesioned, silenced, clamped or made noisy."""
        return bool(self.summary.get("perturbations"))

    @property
    def along_training(self) -> bool:
        """Whether the evaluation is of a checkpoint."""
        return self.summary.get("checkpoint") is not None

    @property
    def intact(self) -> bool:
        """Whether the evaluation is of the final, unperturbed network under the conditions of training."""
        return not self.perturbed and not self.along_training and not self.summary.get("changes")

    @property
    def recorded(self) -> bool:
        """Whether something was recorded step by step."""
        return (self.folder / recordings.ACTIVITY_FILE).is_file()

    def has(self, quantities: Sequence[str]) -> bool:
        """Return whether all quantities were recorded; without any, whether something was recorded.

        Args:
            quantities: names, as in ``ngym eval --record``.
        """
        return self.recorded and set(quantities) <= set(recordings.Recording(self.folder).quantities)


class Source:
    """Data of a run, read on first use.

    Args:
        run: the run.
        trust: accept user code named in the run's record.
        properties: properties of the task, where already known.
    """

    def __init__(self, run: runs.RunFolder, trust: bool = False, properties: TaskProperties | None = None):
        self.run, self.trust, self._properties = run, trust, properties
        self.manifest = run.manifest()

    @cached_property
    def config(self) -> ResolvedConfig:
        """Configuration of the run's last stage."""
        return read_config(self.run, self.trust).in_stage(-1)

    @cached_property
    def properties(self) -> TaskProperties:
        """Known properties of the task."""
        return inspect(self.config) if self._properties is None else self._properties

    @cached_property
    def evaluations(self) -> list[Evaluated]:
        """All evaluations of the run, oldest first."""
        folders = self.run.evaluations()
        return [Evaluated(folder, records.read(folder / "summary.json", records.Summary)) for folder in folders]

    def reread(self) -> None:
        """Read the list of evaluations again, after a new evaluation."""
        self.__dict__.pop("evaluations", None)

    @cached_property
    def training(self) -> Table:
        """Training trials, with the columns of a learning curve."""
        columns = (
            "trial",
            "step",
            "task",
            "performance",
            "reward",
            "aborts",
            *(FIXATION, DECISION_ONSET, FIRST_ACTION, "rt_from"),
            "outcome",
            "env",
            "linked",
            "session_trial",
        )
        if not self.manifest.get("trials") and not (self.run.path / runs.TRIALS).exists():
            return {}
        return read_trials(self.run.path / runs.TRIALS, columns)

    @cached_property
    def policy(self) -> BasePolicy:
        """Trained policy of the run.

        Raises:
            FigureUnavailableError: if the run has no model yet.
        """
        self._need_model()
        return load_policy(self.run, self.config)[0]

    @cached_property
    def actor(self) -> Actor | BasePolicy:
        """Acting copy of the trained policy; see ``policy``."""
        self._need_model()
        return load_to_act(self.run, self.config)[0]

    @cached_property
    def system(self) -> System:
        """Network as a dynamical system; see ``ngym_cli.agents.dynamics.system_of``."""
        actor: Any = self.actor
        return system_of(actor.networks[0])

    def outputs(self, states: np.ndarray) -> np.ndarray:
        """Return the outputs of the network in states, shape (states, outputs)."""
        return self._recurrent.heads([states[:, : self.units].astype(np.float32)] * 2)[0]

    @property
    def read_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights from units to outputs, shape (outputs, units), and biases, shape (outputs,)."""
        return read_outs(self._recurrent), np.asarray(self._recurrent.read_out.policy[0][1], float)

    @cached_property
    def _recurrent(self) -> Actor:
        loaded: Any = self.actor
        return loaded if isinstance(loaded, Actor) else loaded.actor()

    @property
    def units(self) -> int:
        """Number of units."""
        return int(self.config.units or 0)

    @property
    def dt(self) -> float:
        """Step of the task (ms)."""
        return float(self.properties.dt)

    @property
    def env(self) -> Any:
        """Task without wrappers, a ``neurogym.core.TrialEnv`` with attributes of its class."""
        return self.properties.inner

    def channels(self, name: str) -> list[int]:
        """Return the positions of a named channel, or of the channels that wrappers add (``feedback``).

        Raises:
            ValueError: if the task has no such channel.
        """
        space = self.env.observation_space
        size = int(space.shape[0])
        if name == FEEDBACK:
            return list(range(size, int(self.system.inputs)))
        if name not in space.name:
            raise ValueError(f"the task has no channel '{name}'; it has {', '.join(map(str, space.name))}")
        return np.arange(size)[space.name[name]].reshape(-1).tolist()

    def _need_model(self) -> None:
        if not (self.run.path / runs.MODEL).exists():
            raise FigureUnavailableError("the run has no model yet")

    @property
    def agent_name(self) -> str:
        """Algorithm and network, as in a legend: ``recurrent_ppo (lstm)``."""
        alg, network = self.property("alg"), self.manifest.get("network")
        return f"{alg} ({network})" if network else alg

    def main(self) -> Evaluated:
        """Return the latest evaluation of the intact network under the conditions of training, or else the latest.

        Raises:
            FigureUnavailableError: if there is none.
        """
        for_figures = recordings.RECORDING_NAME
        behaviour = [each for each in self.evaluations if each.folder.name != for_figures] or self.evaluations
        result = [each for each in behaviour if not each.along_training] or behaviour
        if not result:
            raise FigureUnavailableError("the run has no evaluation yet; ngym eval makes one")
        return ([each for each in result if each.intact] or result)[-1]

    def named(self, name: str) -> Evaluated:
        """Return an evaluation by name.

        Raises:
            UserError: if the name is unknown, with the nearest name.
        """
        for each in self.evaluations:
            if each.folder.name == name:
                return each
        raise unknown(f"evaluation of {self.run.name}", name, [each.folder.name for each in self.evaluations])

    def property(self, name: str) -> str:
        """Return the property that distinguishes runs: ``alg``, ``network``, ``seed``, ``task`` or ``run``."""
        return self.run.name if name == "run" else str(self.manifest.get(name, getattr(self.config, name)))


@dataclass
class Series:
    """Trials that are drawn together, with name and colour: of evaluations, or some of their trials.

    Attributes:
        label: name in the legend.
        colour: colour of the series.
        members: run and evaluation of each part; empty for trials of other origin.
        rows: the trials, by default all trials of the evaluations.
    """

    label: str
    colour: ColorType
    members: list[tuple[Source, Evaluated]] = field(default_factory=list)
    rows: Table | None = None

    def with_table(self, table: Table) -> Series:
        """Return a series of other trials, with the same label and colour."""
        return replace(self, rows=table)

    @cached_property
    def table(self) -> Table:
        """The trials; environments of different runs are distinguished."""
        if self.rows is not None:
            return self.rows
        return concatenate_runs(read_trials(evaluated.folder / "trials.parquet") for _, evaluated in self.members)

    @cached_property
    def recording(self) -> recordings.Recording:
        """Recording of the first evaluation.

        Raises:
            FigureUnavailableError: if nothing was recorded.
        """
        if not self.members[0][1].recorded:
            quantities = ",".join(recordings.NETWORK_QUANTITIES)
            raise FigureUnavailableError(f"nothing was recorded; ngym eval --record {quantities} does")
        return recordings.Recording(self.members[0][1].folder)

    def has(self, quantities: Sequence[str]) -> bool:
        """Return whether the first evaluation recorded all quantities.

        Args:
            quantities: names, as in ``ngym eval --record``.
        """
        return self.members[0][1].has(quantities)

    @property
    def text(self) -> str:
        """The label, with the number of runs where there are several."""
        return f"{self.label} ({len(self.members)} runs)" if len(self.members) > 1 else self.label
