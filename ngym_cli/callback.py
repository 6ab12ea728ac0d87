"""How a Stable-Baselines3 learner reports to a run."""

from __future__ import annotations

from typing import Any

from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger


class SessionCallback(BaseCallback):
    """Passes steps, rollouts and losses on to a ``Session``.

    Losses belong to the step at which the update was made; Stable-Baselines3 keeps them in its logger until the next
    rollout begins, where they are read.

    Args:
        session: the run.
    """

    def __init__(self, session: Any):
        """See the class."""
        super().__init__()
        self.session = session

    def _on_step(self) -> bool:
        return self.session.on_step(self.training_env.finished, self.num_timesteps)

    def _on_rollout_end(self) -> None:
        self.session.on_rollout()

    def _on_rollout_start(self) -> None:
        self._report_losses()

    def _on_training_end(self) -> None:
        self.session.on_rollout()
        self._report_losses()

    def _report_losses(self) -> None:
        values = {key: float(value) for key, value in self.model.logger.name_to_value.items() if key.startswith("train/")}
        if values:
            self.model.logger.name_to_value.clear()
            values.pop("train/n_updates", None)
            self.session.on_update({key.replace("train/", "loss/" if "loss" in key else "update/"): value for key, value in values.items()})


class _Quiet(Logger):
    """A logger that keeps what it is told until it is read, and writes nothing itself."""

    def dump(self, step: int = 0) -> None:
        """Keep everything."""


def keep_losses(model: Any) -> None:
    """Let a learner's logger keep the losses for the callback."""
    model.set_logger(_Quiet(None, []))
