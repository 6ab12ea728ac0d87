"""Runs as objects: trial tables, new evaluations, figures, the trained agent and its network."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from ngym_cli import runs, terminal
from ngym_cli.agents import defaults
from ngym_cli.api import running, settings
from ngym_cli.api.evaluation import Evaluation, WithFigures
from ngym_cli.api.keywords import request_of, takes
from ngym_cli.api.results import as_image, scores_in_words
from ngym_cli.config.values import flatten
from ngym_cli.errors import UserError
from ngym_cli.evaluation.request import OF_SIMULATIONS, EvalRequest
from ngym_cli.evaluation.summary_text import EvaluationBar
from ngym_cli.fitting.stored_tables import stored_table
from ngym_cli.runs import records, summary
from ngym_cli.runs.trial_table import read_trials
from ngym_cli.terminal import REFERENCES

if TYPE_CHECKING:
    import gymnasium as gym
    import numpy as np
    from stable_baselines3.common.policies import BasePolicy

    from neurogym.dynamics.systems import System
    from ngym_cli.agents.loading import LoadedAgent, Move, State, StepModule
    from ngym_cli.api.options import EvaluateOptions
    from ngym_cli.config.model import ResolvedConfig
    from ngym_cli.runs.records import Summary

#: Options of ``ngym eval`` that ``Run.evaluate`` does not take.
EVAL_COMMAND_OPTIONS = ("run", "runs_root", "trust", "simulate", *OF_SIMULATIONS)


class Run(WithFigures):
    """A run of training, finished or not.

    Args:
        path: folder of the run.
        trust: accept user code named in the run's record.

    Attributes:
        path: folder of the run.
    """

    def __init__(self, path: str | Path, trust: bool = False):
        self.path, self._trust = Path(path), trust
        self.folder = self.path
        if not (self.path / runs.MANIFEST).is_file():
            runs.find(str(path))  # refuses a folder that is not a run
        self.manifest()

    @property
    def run(self) -> runs.RunFolder:
        """Folder of the run as an ``ngym_cli.runs.RunFolder``."""
        return runs.RunFolder(self.path)

    @property
    def name(self) -> str:
        """Name of the run."""
        return self.path.name

    def manifest(self) -> records.Manifest:
        """Return the record of the run, as in ``manifest.json``."""
        return self.run.manifest()

    @property
    def status(self) -> str:
        """State of the run: running, finished, interrupted, failed or crashed."""
        return str(self.manifest()["status"])

    @cached_property
    def config(self) -> ResolvedConfig:
        """Complete configuration, of the last stage."""
        return defaults.read_config(self.run, self._trust).in_stage(-1)

    @property
    def trials(self) -> settings.DataTable:
        """Trials of training as a pandas.DataFrame, or a pyarrow.Table where pandas is not installed."""
        folder = self.path / runs.TRIALS
        return settings.frame_of_trials(read_trials(folder) if folder.exists() else {})

    @property
    def evaluations(self) -> list[Evaluation]:
        """Evaluations on fresh trials, oldest first."""
        return [Evaluation(folder, self._trust) for folder in self.run.evaluations()]

    @property
    def performance(self) -> float | None:
        """Performance in the last evaluation of the run itself; None before the first."""
        score = self.manifest().get("performance")
        return None if score is None else float(score)

    @property
    def summary(self) -> Summary:
        """Results of the last evaluation of the run itself, as `Evaluation.summary` of others.

        Raises:
            UserError: before the run has ended.
        """
        final = self.path / "eval" / "final"
        if not (final / "summary.json").is_file():
            raise UserError(f"run {self.path} has no evaluation at its end: it is {self.status}")
        return Evaluation(final, self._trust).summary

    def to_dict(self) -> dict[str, object]:
        """Return settings and results as single values by name, a row of a table of runs.

        Example:
            >>> pandas.DataFrame([run.to_dict() for run in sweep.runs])  # doctest: +SKIP
        """
        manifest, scores = self.manifest(), self._scores()
        low, high = scores.get("performance_ci") or (None, None)
        names = ("performance", "reward_per_trial", *REFERENCES, "fixation_break_rate", "early_action_rate")
        settings_by_name = flatten(self.config.model_dump(exclude={"evaluation", "checkpoint"}, exclude_none=True))
        return {
            "path": str(self.path),
            "status": manifest["status"],
            **{name: manifest.get(name) for name in ("steps", "trials", "wall_seconds")},
            **{name: scores.get(name) for name in names},
            "performance_low": low,
            "performance_high": high,
            **settings_by_name,
        }

    @property
    def learning_curve(self) -> settings.DataTable:
        """Results along training, with a row per stretch of training trials and per evaluation on fresh trials.

        Columns are ``step`` (the last), ``source`` (training or evaluation), ``trials``, ``performance`` with the ends
        of its interval, and for training also ``reward_per_trial`` and ``fixation_break_rate``.
        """
        folder = self.path / runs.TRIALS
        table = read_trials(folder) if folder.exists() else {}
        return settings.frame_of_rows(summary.learning_curve(table, self.manifest().get("evaluations") or ()))

    @overload
    def evaluate(
        self,
        trials: float | None = None,
        *,
        checkpoints: None = None,
        progress: bool = True,
        **request: Unpack[EvaluateOptions],
    ) -> Evaluation: ...

    @overload
    def evaluate(
        self,
        trials: float | None = None,
        *,
        checkpoints: str,
        progress: bool = True,
        **request: Unpack[EvaluateOptions],
    ) -> list[Evaluation]: ...

    @takes(EvalRequest, EVAL_COMMAND_OPTIONS, lambda arguments: arguments["self"].config.task)
    def evaluate(
        self,
        trials: float | None = None,
        *,
        checkpoints: str | None = None,
        progress: bool = True,
        **request: Unpack[EvaluateOptions],
    ) -> Evaluation | list[Evaluation]:
        """Evaluate the trained agent on fresh trials; arguments as the flags of ``ngym eval``.

        Units to perturb are written as in ``0.2``, ``"units=3,7"`` or ``{"units": [3, 7]}``. A list of these is an
        evaluation each; with ``together=True`` all act in one evaluation.

        Args:
            trials: number of trials (2,000; for images 200).
            checkpoints: evaluate checkpoints: ``all``, ``best``, or numbers of steps separated by commas.
            progress: show a progress bar if it takes longer.
            **request: options of ``ngym eval``; settings of the task that differ from training are dictionaries;
                ``compare`` may be a DataFrame, a dict of arrays or a list of dicts.

        Returns:
            An `Evaluation`, or a list for ``checkpoints`` and several perturbations.

        Raises:
            UserError: if something does not exist or does not fit.
        """
        from ngym_cli.evaluation.service import evaluate

        if request.get("compare") is not None:
            request["compare"] = stored_table(request["compare"], runs.RUNS_ROOT)
        arguments = {"trials": trials, "checkpoints": checkpoints, **request}
        eval_request = request_of(EvalRequest, arguments, EVAL_COMMAND_OPTIONS)
        eval_request = eval_request.model_copy(update={"trust": self._trust})
        bar = EvaluationBar(terminal.console(stderr=True))
        folders = []
        for _, folder in evaluate([str(self.path)], runs.RUNS_ROOT, eval_request, bar.show if progress else None):
            bar.stop()
            folders.append(folder)
        evaluations = [Evaluation(folder, self._trust) for folder in folders]
        is_single = eval_request.checkpoints is None and len(eval_request.separately()) == 1
        return evaluations[0] if is_single else evaluations

    @takes()
    def resume(self, progress: bool = True) -> Run:
        """Continue an interrupted run from the last checkpoint.

        Args:
            progress: show a progress bar.

        Raises:
            UserError: if the run is finished or in use.
        """
        running.go_on(self.run, self._trust, progress)
        return self

    @takes()
    def report(self, out: str | Path | None = None) -> Path:
        """Write an HTML page about the run and return the path of the page.

        Args:
            out: file (default: ``report.html`` in the folder of the run); replaced if present.
        """
        from ngym_cli.figures import report

        return report.report(str(self.path), runs.RUNS_ROOT, Path(out) if out else None, self._trust, overwrite=True)

    @cached_property
    def agent(self) -> LoadedAgent:
        """Trained agent, see ``ngym_cli.agents.loading.LoadedAgent``."""
        from ngym_cli.agents.loading import LoadedAgent

        return LoadedAgent(self.run, self._trust)

    @property
    def policy(self) -> BasePolicy:
        """Policy, a ``torch.nn.Module`` with the interface of Stable-Baselines3."""
        return self.agent.policy

    @property
    def system(self) -> System:
        """Network as a dynamical system with derivatives, for the functions of ``neurogym.dynamics``.

        Raises:
            UserError: for agents without recurrent network, and several layers of a cell of your own.
        """
        from ngym_cli.agents.dynamics import system_of
        from ngym_cli.agents.trained import load_to_act, remembers

        actor = load_to_act(self.run, self.config)[0]
        if not remembers(actor):
            raise UserError("a memoryless agent has no recurrent dynamics")
        try:
            return system_of(actor.networks[0])
        except ValueError as error:
            raise UserError(str(error)) from None

    @property
    def module(self) -> StepModule:
        """Network step as a ``torch.nn.Module``; see `LoadedAgent`."""
        return self.agent.module

    @property
    def steps(self) -> int:
        """Steps of training."""
        return self.agent.steps

    @property
    def recurrent(self) -> bool:
        """Whether the agent has a state."""
        return self.agent.recurrent

    @property
    def resets(self) -> bool:
        """Whether the state was reset at each trial in training."""
        return self.agent.resets

    def make_env(self) -> gym.Env:
        """Return a new environment as in training (Gymnasium)."""
        return self.agent.make_env()

    def act(
        self, observation: object, state: State = None, deterministic: bool = True, seed: int | None = None
    ) -> Move:
        """Choose an action; see ``LoadedAgent.act``."""
        return self.agent.act(observation, state, deterministic, seed)

    def activity(self, observations: object, state: State = None) -> np.ndarray:
        """Return the activity along a sequence of observations; see ``LoadedAgent.activity``."""
        return self.agent.activity(observations, state)

    def __repr__(self) -> str:
        """Return a short description."""
        manifest = self.manifest()
        scores = scores_in_words(self._scores())
        return f"<Run {self.path}: {', '.join(filter(None, [manifest['status'], self._steps_in_words(), scores]))}>"

    def _scores(self) -> Mapping[str, Any]:
        """Return the scores of the last evaluation of the run itself: of the final model, or as recorded."""
        final = Evaluation(self.path / "eval" / "final", self._trust)
        return {**self.manifest(), **(final.summary if (final.folder / "summary.json").is_file() else {})}

    def _steps_in_words(self) -> str:
        """Return the number of steps, and of how many where training ended before."""
        manifest = self.manifest()
        steps, planned = manifest.get("steps") or 0, self.config.timesteps
        before = manifest["status"] != "running" and steps < planned
        return f"{steps:,} of {planned:,} steps" if before else f"{steps:,} steps"

    def _repr_html_(self) -> str:
        manifest = {**self._scores(), **self.manifest()}
        visible_names = (
            *("status", "task", "alg", "network", "seed", "steps", "trials", "performance", "performance_ci"),
            *(*REFERENCES, "fixation_break_rate", "early_action_rate"),
        )
        return settings.html(f"Run {self.path}", {name: manifest.get(name) for name in visible_names}) + self._curve()

    def _curve(self) -> str:
        """Return the learning curve as an image for HTML; empty if drawing fails."""
        try:
            return as_image(self.plot("learning"))
        except UserError:
            return ""
