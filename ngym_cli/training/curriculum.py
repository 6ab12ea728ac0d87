"""Ordered stages of training: settings of each stage, criteria of advance, and the active stage.

A stage is the configuration of the run with what the stage says overriding it. Observations and actions stay the same,
so that the learner keeps its weights; evaluations are always of the last stage, the task that is to be learned.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Discrete, Space

from ngym_cli.agents.from_config import build_venv
from ngym_cli.config.model import ResolvedConfig, streams
from ngym_cli.config.sections import StageConfig
from ngym_cli.environments.properties import TaskProperties, inspect
from ngym_cli.environments.trial_batch import batch_of, trials_of
from ngym_cli.errors import UserError

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.vec_env import VecEnv


@dataclass(frozen=True)
class Stage:
    """Stage of a curriculum.

    Attributes:
        number: from 1.
        name: as given by the user.
        config: configuration during the stage.
        properties: known properties of the task.
        criterion: ends the stage.
    """

    number: int
    name: str
    config: ResolvedConfig
    properties: TaskProperties
    criterion: StageConfig

    @property
    def seed(self) -> int:
        """Seed of the environments; the first stage has the seed of a run without stages."""
        first = streams(self.config.seed)["environments"]
        return first if self.number == 1 else int(np.random.SeedSequence([first, self.number]).generate_state(1)[0])


def stages_of(config: ResolvedConfig, properties: TaskProperties) -> list[Stage]:
    """Build and try every stage of a configuration.

    Args:
        config: resolved configuration.
        properties: known properties of the run's task without stages.

    Raises:
        UserError: if a stage cannot be built, or sees or does something else than the rest.
    """
    stages = []
    for index, criterion in enumerate(config.stages):
        name = criterion.name or str(index + 1)
        stage_config = config.in_stage(index)
        try:
            stage_properties = inspect(stage_config, trained=True)
        except UserError as error:
            raise UserError(f"stage {name}: {error}") from error
        for space in ("observation_space", "action_space"):
            stage_size, usual_size = _size(getattr(stage_properties, space)), _size(getattr(properties, space))
            if stage_size != usual_size:
                difference = f"{space.replace('_', ' ')} is {stage_size}, but without stages it is {usual_size}"
                reason = "the learner keeps its weights, so all stages must be alike in this"
                raise UserError(f"stage {name}: {difference}; {reason}")
        stages.append(Stage(index + 1, name, stage_config, stage_properties, criterion))
    return stages


def _size(space: Space[Any]) -> str:
    return f"{space.n} choices" if isinstance(space, Discrete) else f"{type(space).__name__}{space.shape}"


class Curriculum:
    """Active stage of a run and progress within the stage.

    Args:
        stages: in their order.
    """

    def __init__(self, stages: Sequence[Stage]):
        self.stages = list(stages)
        self._index, self.trials = 0, 0
        self._scores: deque[float] = deque(maxlen=self.stage.criterion.window)
        self._started: list[dict[str, object]] = [self._beginning(0, 0, 0.0)]

    @property
    def stage(self) -> Stage:
        """The stage that is on."""
        return self.stages[self._index]

    @property
    def label(self) -> str:
        """The stage in words."""
        name = "" if self.stage.name == str(self.stage.number) else f": {self.stage.name}"
        return f"stage {self.stage.number} of {len(self.stages)}{name}"

    @property
    def is_last(self) -> bool:
        """Whether no stage follows."""
        return self._index + 1 == len(self.stages)

    def take(self, performance: np.ndarray) -> None:
        """Count trials of this stage."""
        self.trials += len(performance)
        self._scores.extend(float(score) for score in performance[-self.stage.criterion.window :])

    def ended(self) -> str | None:
        """Return the reason for the end of the present stage, or None."""
        criterion, scores = self.stage.criterion, self._scores
        if criterion.performance is not None and len(scores) >= criterion.window:
            mean = float(np.mean(scores))
            if mean >= criterion.performance:
                return f"performance {mean:.3f} over the last {len(scores):,} trials"
        if criterion.trials is not None and self.trials >= criterion.trials:
            return f"{self.trials:,} trials done"
        return None

    def advance(self, reason: str, step: int, trials: int, seconds: float) -> Stage:
        """Advance to the next stage and return the new stage.

        Args:
            reason: reason for the end of the last stage.
            step: steps taken in the run so far.
            trials: done in the run so far.
            seconds: since the run began.
        """
        self.close(reason)
        self._index, self.trials = self._index + 1, 0
        self._scores = deque(maxlen=self.stage.criterion.window)
        self._started.append(self._beginning(step, trials, seconds))
        return self.stage

    def close(self, reason: str) -> None:
        """Record why the present stage ended."""
        self._started[-1].update(ended=reason, trials=self.trials)

    def _beginning(self, step: int, trials: int, seconds: float) -> dict[str, object]:
        return {
            "stage": self.stage.number,
            "name": self.stage.name,
            "from_step": step,
            "from_trial": trials,
            "from_seconds": round(seconds, 3),
            "trials": None,
            "ended": None,
        }

    def record(self) -> list[dict[str, object]]:
        """Return the start of each stage and the reason of the end, for the manifest."""
        return [dict(row) for row in self._started]

    def state(self) -> dict[str, object]:
        """Return where the curriculum is, as plain data."""
        return {"index": self._index, "trials": self.trials, "scores": list(self._scores), "begun": self.record()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore the result of ``state``.

        Raises:
            UserError: if there is no such stage.
        """
        index = int(state["index"])
        if not 0 <= index < len(self.stages):
            raise UserError(f"the checkpoint is of stage {index + 1}, but there are {len(self.stages)}")
        self._index, self.trials = index, int(state["trials"])
        self._scores = deque(map(float, state["scores"]), maxlen=self.stage.criterion.window)
        self._started = [dict(row) for row in state["begun"]]


def renew(model: BaseAlgorithm, venv: VecEnv, config: ResolvedConfig, seed: int) -> None:
    """Replace a learner's environments between an update and the next rollout; the weights are kept.

    Args:
        model: a Stable-Baselines3 algorithm.
        venv: the batch that it learns from; what is inside is replaced.
        config: of the new environments.
        seed: of the new environments.
    """
    from ngym_cli.agents.algorithms import sb3

    learner = model if isinstance(model, sb3.Learner) else None
    if learner is not None:
        learner.end_stage()
    trials = trials_of(venv)
    old = trials.venv
    trials.replace(batch_of(build_venv(config, venv.num_envs)))
    old.close()
    venv.seed(seed)
    sb3.show(model, venv.reset())
    if learner is not None:
        learner.switch_env()
