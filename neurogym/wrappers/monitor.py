"""Save behaviour and figures while an agent is trained."""

from __future__ import annotations

import copy
import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsFloat

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import LEAVES
from neurogym.compat.leniency import warn_once
from neurogym.compat.members import forgive_reset, takes_older_names
from neurogym.config import settings_of
from neurogym.messages.console import logger
from neurogym.messages.names import unknown
from neurogym.metadata import WrapperInfo
from neurogym.plotting.runs import visualize_run
from neurogym.plotting.training import draw_history, plot_traces
from neurogym.recording.files import ensure_dir, iso_timestamp, order_by_sufix
from neurogym.recording.probes import ActivationProbe
from neurogym.recording.rollout import ModelAgent, evaluate, row_of
from neurogym.spaces import Action
from neurogym.trials import Info, ResetResult
from neurogym.wrappers.forwarding import Forwarding

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from neurogym.config import Config

BASIC = ("action", "reward", "cum_reward", "performance")


class Monitor(Forwarding, gym.Wrapper, gym.utils.RecordConstructorArgs):
    """Save the agent's behaviour trial by trial, and draw figures at intervals.

    Files go to ``<local_dir>/<environment>/<time>/``, made when the first is written: ``trial_<n>.npz`` with one entry
    per trial since the last file (``action`` and ``reward`` of the last step, ``cum_reward``, ``performance``, and
    every number of ``info`` and of the trial's record), and figures ``task_<n>.<ext>``.

    Args:
        env: The environment, wrapped or not.
        config: A :class:`neurogym.config.Config`, a dictionary, or a TOML file; then the following are not used.
        name: Name of the monitor.
        trigger: ``"trial"``: save every ``interval`` trials; ``"step"``: at the first trial end after so many steps.
        interval: See ``trigger``.
        verbose: Whether to log each saving.
        plot_create: Whether to draw figures, one per saving.
        plot_steps: Steps in a figure.
        ext: Format of figures.
        step_fn: Called in place of the environment's ``step``.
        save_dir: Folder for the files of this run, in place of one named by the time.

    The names that these arguments had before version 2 (``folder``, ``sv_per``, ...) are understood.

    Attributes:
        data: What was collected since the last file, key to a list with one entry per trial; the records of the
            trials are under ``trial``.
        data_eval: What :meth:`evaluate_policy` collected last.
        probes: Name to the :class:`~neurogym.recording.probes.ActivationProbe` of :meth:`record_activations`.
        num_tr: Trials so far.

    Raises:
        ValueError: If a setting is unknown or does not fit.
    """

    metadata = WrapperInfo(order="outermost, to see what the agent sees")
    ceiling_effect = LEAVES
    state = ("num_tr", "cum_reward", "data", "data_eval", "steps_since_save", "_seen", "_recorded", "_evaluations")

    @takes_older_names("Monitor", {"timestep": "step"})
    def __init__(
        self,
        env: gym.Env,
        config: Config | Mapping[str, object] | str | Path | None = None,
        name: str | None = None,
        trigger: str = "trial",
        interval: int = 1000,
        verbose: bool = True,
        plot_create: bool = False,
        plot_steps: int = 1000,
        ext: str = "png",
        step_fn: Callable[..., Any] | None = None,
        save_dir: str | Path | None = None,
    ):
        arguments = {name: value for name, value in locals().items() if name not in ("self", "env")}
        gym.utils.RecordConstructorArgs.__init__(self, **arguments)

        gym.Wrapper.__init__(self, env)
        plot = {"create": plot_create, "step": plot_steps, "ext": ext}
        monitor = {"name": name or "", "trigger": trigger, "interval": interval, "verbose": verbose, "plot": plot}
        settings = settings_of(config, monitor, type(env.unwrapped).__name__)
        self.config, self.step_fn = settings, step_fn
        self.trigger, self.interval = settings.monitor.trigger, settings.monitor.interval
        self.num_tr = 0
        self.cum_reward = 0.0
        self.data_eval: dict[str, object] = {}
        self._save_dir = None if save_dir is None else Path(save_dir)
        self._folder: Path | None = None
        self.probes: dict[str, ActivationProbe] = {}
        self._recorded: dict[str, list[Any]] | None
        self.reset_data()
        self._seen: np.ndarray | None = None
        self._evaluations = 0

    @property
    def save_dir(self) -> Path:
        """Folder of this run, made on first access."""
        if self._folder is None:
            parent, stamp = Path(self.config.local_dir).expanduser() / self.config.env.name, iso_timestamp()
            names = itertools.chain([stamp], (f"{stamp}_{count}" for count in itertools.count(2)))
            unused = (parent / name for name in names if not (parent / name).exists())
            self._folder = ensure_dir(next(unused) if self._save_dir is None else self._save_dir)
        return self._folder

    # -- the cycle ----------------------------------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None, **old: object) -> ResetResult:
        """Start a session; what was collected stays."""
        forgive_reset(old)
        ob, info = self.env.reset(seed=seed, options=options)
        self.cum_reward, self._seen = 0.0, ob
        return ob, info

    def step(
        self, action: Action, collect_data: bool = True, record: bool | None = None
    ) -> tuple[np.ndarray, SupportsFloat, bool, bool, Info]:
        """Act, and collect what happened.

        Args:
            action: The action.
            collect_data: Whether the step is to be collected.
            record: The same under another name, which wins.
        """
        result = (self.step_fn or self.env.step)(action)
        ob, reward, terminated, truncated, info = result
        if collect_data if record is None else record:
            self._collect(action, float(reward), ob, info, bool(info.get("new_trial", terminated or truncated)))
        self._seen = ob
        if info.get("new_trial"):
            self.end_traces()
        return result

    def _collect(self, action: Action, reward: float, ob: np.ndarray, info: Info, over: bool) -> None:
        self.cum_reward += reward
        self.steps_since_save += 1
        self._record(action, reward, ob, info, over)
        if not over:
            return
        self.num_tr += 1
        row = {**row_of(action, reward, self.cum_reward, info), "trial": info.get("trial")}
        for key in {**self.data, **row}:
            column = self.data.setdefault(key, [np.nan] * (len(self.data["action"]) - ("action" in row)))
            column.append(row.get(key, np.nan))
        self.cum_reward = 0.0
        due = self.num_tr % self.interval == 0 if self.trigger == "trial" else self.steps_since_save >= self.interval
        if due:
            self.save_data()

    def save_data(self) -> Path:
        """Write the collected data to a file, clear the buffer, and return the file."""
        path = self.save_dir / f"trial_{self.num_tr}.npz"
        if not self.data["action"] and path.exists():  # no trial has ended since it was written
            return path
        columns = {key: np.array(values) for key, values in self.data.items()}
        columns = {key: column for key, column in columns.items() if column.dtype != object}
        temporary = path.with_suffix(".tmp.npz")
        np.savez(temporary, **columns)  # type: ignore[arg-type]
        temporary.replace(path)
        if self.config.monitor.verbose:
            means = [float(np.nanmean(columns[key])) for key in ("reward", "performance") if len(columns[key])]
            text = "%s: %d trials, mean reward %.3f, mean performance %.3f, saved to %s"
            logger.info(text, self.config.monitor.name, self.num_tr, *(means or [np.nan] * 2), path)
        self.reset_data()
        return path

    def reset_data(self) -> None:
        """Discard the data collected since the last file."""
        self.data: dict[str, list[Any]] = {key: [] for key in BASIC}
        names = ("ob", "actions", "rewards", "gt", "performance", "starts", "initial", "trial")
        self.steps_since_save, self._recorded = 0, {key: [] for key in names}

    # -- figures ------------------------------------------------------------------------------------------------------

    def _record(self, action: Action, reward: float, ob: np.ndarray, info: Info, over: bool) -> None:
        """Keep the first steps after each save; draw a figure when enough steps are recorded."""
        if not self.config.monitor.plot.create or self._recorded is None:
            return
        recorded = self._recorded
        if not recorded["ob"]:
            recorded["initial"], recorded["trial"] = [self._seen if self._seen is not None else ob], [self.num_tr]
        values = {"ob": ob, "actions": action, "rewards": reward, "gt": info.get("gt", 0)}
        values["performance"] = float(info.get("performance", -1)) if over else -1.0
        for key, value in values.items():
            recorded[key].append(value)
        if over:
            recorded["starts"].append(len(recorded["ob"]))
        plot = self.config.monitor.plot
        count = len(recorded["starts"] if plot.trigger == "trial" else recorded["ob"])
        if count >= (plot.value or plot.step):
            self._draw(recorded)
            self._recorded = None

    def _draw(self, recorded: dict[str, list[Any]]) -> None:
        columns = ("ob", "actions", "gt", "rewards", "performance")
        steps: dict[str, Any] = {key: np.array(recorded[key]) for key in columns}
        visualize_run(
            **steps,
            name=self.config.monitor.plot.title,
            fname=self.save_dir / f"task_{recorded['trial'][0]:06d}.{self.config.monitor.plot.ext}",
            env=self.env,
            initial_ob=recorded["initial"][0],
            trial_starts=[start for start in recorded["starts"] if start < len(recorded["ob"])],
        )

    def plot_training_history(
        self, figsize: tuple[float, float] = (12, 6), save_fig: bool = True, plot_performance: bool = True
    ) -> Figure | None:
        """Draw mean reward and performance of every file saved so far, over trials.

        Args:
            figsize: Inches.
            save_fig: Whether to save the figure as ``<environment>_training_history.png`` in the run's folder's root.
            plot_performance: Whether to draw performance, too.

        Returns:
            The figure; None (and a warning) if nothing has been saved.
        """
        files = order_by_sufix(list(self._folder.glob("trial_*.npz"))) if self._folder is not None else []
        if not files:
            logging.getLogger(__name__).warning("nothing has been saved yet: no training history to draw")
            return None
        name = self.config.env.name
        fname = Path(self.config.local_dir) / f"{name}_training_history.png" if save_fig else None
        return draw_history(files, name, figsize, plot_performance, fname)

    # -- evaluation ---------------------------------------------------------------------------------------------------

    def evaluate_policy(
        self,
        num_trials: int = 100,
        model: object = None,
        verbose: bool = True,
        reset_state_each_trial: bool = True,
        deterministic: bool = True,
        seed: int | None = None,
    ) -> dict[str, object]:
        """Run an agent on fresh trials, on a copy of the environment: nothing here is disturbed.

        Args:
            num_trials: Trials to run.
            model: Anything with ``predict``; None: random actions.
            verbose: Whether to log the result.
            reset_state_each_trial: Whether a recurrent model's state is reset at every trial; False for tasks
                that carry information across trials.
            deterministic: Whether the model takes its most probable action.
            seed: Seed of the trials; default another one with every evaluation.

        Returns:
            ``rewards`` (of the last step of each trial), ``cum_rewards``, ``performances``, and the mean of each,
            ``mean_reward``, ``mean_cum_reward``, ``mean_performance``. The trials themselves are in ``data_eval``.
        """
        self._evaluations += 1
        env = copy.deepcopy(self.env)
        agent = ModelAgent(env, model, None, reset_state_each_trial, deterministic)
        seed = 2**20 + self._evaluations if seed is None else seed
        self.data_eval, result = evaluate(env, agent, seed, num_trials, self.end_traces)
        if verbose:
            text = "%d trials: mean reward %.3f, mean performance %.3f"
            logger.info(text, num_trials, result["mean_reward"], result["mean_performance"])
        return result

    # -- activity of a network ----------------------------------------------------------------------------------------

    def record_activations(self, layer: object, name: str | None = None, steps: int | None = None) -> ActivationProbe:
        """Record the activity of a PyTorch layer while an agent acts, trial by trial.

        Args:
            layer: A Linear, RNN, GRU or LSTM layer, or an activation function.
            name: Name of the record, for :meth:`plot_activations`; default the kind of the layer.
            steps: Most steps of a trace; default, and at most, those of the longest trial.

        Raises:
            NotImplementedError: If the layer is of another kind.
        """
        longest = int(np.ceil(self.env.unwrapped.trial_length_stats(1000)["max"]))  # type: ignore[attr-defined]
        name = type(layer).__name__ if name is None else name
        if name in self.probes:
            logging.getLogger(__name__).warning("the record %r is replaced by a new one", name)
            self.probes[name].remove()
        self.probes[name] = ActivationProbe(layer, longest if steps is None else min(steps, longest), monitor=self)
        return self.probes[name]

    def end_traces(self) -> None:
        """End the trace of the trial in every record; called at the end of a trial."""
        for probe in self.probes.values():
            probe.trial_ended()

    def plot_activations(
        self,
        name: str,
        population: str,
        figsize: tuple[float, float] | None = None,
        neurons: Sequence[int] | None = None,
        mean: bool = False,
        batch_dim: int | None = None,
    ) -> tuple[Figure, np.ndarray]:
        """Draw the recorded activity, with a panel for each unit.

        Args:
            name: Name of the record.
            population: ``"output"``, ``"hidden"`` or ``"cell"``, as far as the layer has it.
            figsize: Inches; default 3 by 2 for each panel.
            neurons: Units to draw; default all.
            mean: Whether to draw the mean over trials in place of every trial.
            batch_dim: Accepted for old scripts; a trace is of one environment and has no such dimension.

        Returns:
            The figure and its axes.

        Raises:
            ValueError: If there is no such record, nothing was recorded or a unit does not exist.
            KeyError: If the layer has no such population.
        """
        if batch_dim is not None:
            warn_once(
                f"plot_activations(batch_dim={batch_dim!r}): traces have no batch dimension",
                "it is not used",
                TypeError,
            )
        if name not in self.probes:
            raise ValueError(unknown("record of activity", name, self.probes))
        history = self.probes[name].history
        if population not in history:
            raise KeyError(unknown("population", population, history))
        return plot_traces(history[population], f"{name}, {population}", figsize, neurons, mean)
