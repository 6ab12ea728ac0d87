"""Stable-Baselines3 callback through which a learner reports to a run."""

from __future__ import annotations

import math

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from ngym_cli.agents.networks import constraints
from ngym_cli.agents.networks.pruning import Pruning
from ngym_cli.environments.trial_batch import trials_of
from ngym_cli.training.curves import FEWEST_POINTS, STEPS_PER_POINT
from ngym_cli.training.session import TrainingSession


class SessionCallback(BaseCallback):
    """Passes steps, rollouts, losses and values that a user's callback records on to a ``TrainingSession``.

    Losses belong to the step at which the update was made; Stable-Baselines3 keeps them in its logger until the next
    rollout begins, where they are read.

    Args:
        session: the run.
    """

    def __init__(self, session: TrainingSession):
        super().__init__()
        self.session = session

    def _on_training_start(self) -> None:
        self.model.logger.name_to_value.update(self.session.curves.pending)

    def _on_step(self) -> bool:
        return self.session.on_step(trials_of(self.training_env).finished, self.num_timesteps)

    def _on_rollout_end(self) -> None:
        self.session.on_rollout()

    def _on_rollout_start(self) -> None:
        self._report_losses()
        self.session.between_updates()

    def _on_training_end(self) -> None:
        self.session.on_rollout()
        self._report_losses()

    def _report_losses(self) -> None:
        self.session.step = self.model.num_timesteps
        curves, logged = self.session.curves, self.model.logger.name_to_value
        pending = {key: float(value) for key, value in logged.items() if _is_curve(key, value)}
        for key, value in pending.items():
            if key.startswith("train/") and "loss" in key and not math.isfinite(value):
                raise FloatingPointError(f"{key.removeprefix('train/')} is {value}")
        curves.pending = pending
        if self.session.step - curves.reported < min(STEPS_PER_POINT, curves.timesteps // FEWEST_POINTS):
            return
        if pending:
            curves.reported, curves.pending = self.session.step, {}
            logged.clear()
            pending.pop("train/n_updates", None)
            self.session.on_update(pending)


class PruningCallback(BaseCallback):
    """Prunes a network before each rollout, and once more at the end.

    Sparsity is a function of the training step, so that a resumed run prunes as if never interrupted.

    Args:
        pruning: the schedule.
    """

    def __init__(self, pruning: Pruning):
        super().__init__()
        self.pruning = pruning

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        sparsity = self.pruning.at(self.model.num_timesteps)
        constraints.prune(self.model.policy, sparsity)
        self.model.logger.record("train/sparsity", sparsity)

    def _on_training_end(self) -> None:
        self._on_rollout_start()


#: Curves of Stable-Baselines3 of which a run has its own.
_OWN_CURVES = ("time/fps", "time/iterations", "time/time_elapsed", "time/total_timesteps", "time/episodes")


def _is_curve(key: str, value: object) -> bool:
    return isinstance(value, int | float | np.number) and key not in _OWN_CURVES


class _Quiet(Logger):
    """Logger that stores values until read, and writes nothing."""

    def dump(self, step: int = 0) -> None:
        """Keep everything."""


def keep_losses(model: BaseAlgorithm) -> None:
    """Make a learner's logger keep the losses for the callback."""
    model.set_logger(_Quiet(None, []))
