"""Base environment with a time step and a single random generator, and the events of a trial."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from neurogym.metadata import RENDER_MODES, TaskInfo, describe
from neurogym.sampling.generator import LegacyGenerator, generator_of
from neurogym.spaces import n_actions

NONE, CORRECT, ERROR, ABORT, MISS = range(5)
OUTCOME = 7  #: the part of an event that is its outcome
END = 8  #: added to an event that ends the trial

#: Report of a step or a trial: name to value.
Info = dict[str, Any]
#: What a reset returns: observation, info.
ResetResult = tuple[Any, Info]
#: What a step returns: observation, reward, terminated, truncated, info.
StepResult = tuple[Any, float, bool, bool, Info]

OUTCOMES = np.array(["none", "correct", "error", "abort", "miss"], dtype=object)


def outcome_of(performance: Any) -> Any:
    """Outcome of a trial that has none of its own: correct with a performance of at least 0.5; a number or an array."""
    return ERROR + (CORRECT - ERROR) * (performance >= 0.5)


class BaseEnv(gym.Env):
    """A Gymnasium environment with a time step.

    Args:
        dt: Time step in ms.

    Attributes:
        most_actions: Discrete actions below it are accepted, in place of those of the action space: next to tasks with
            more actions. What the task itself lacks is never right.

    Raises:
        ValueError: If ``dt`` is not a positive number.
    """

    metadata: dict[str, Any] = TaskInfo.of({"render_modes": [*RENDER_MODES]})
    observation_space: Any = None
    action_space: Any = None
    most_actions: int | None = None
    rule: ClassVar[Any] = None
    default_timing: ClassVar[Mapping[str, Any]] = {}
    rewards: Any
    timing: Any
    conditions: Any

    def __init_subclass__(cls, **kwargs: Any):
        """Add the metadata that Gymnasium requires, and the description."""
        super().__init_subclass__(**kwargs)
        if "metadata" in cls.__dict__:
            cls.metadata = TaskInfo.of({"render_modes": [*RENDER_MODES], **cls.metadata})
        describe(cls)

    def __init__(self, dt: float = 100):
        if not np.isscalar(dt) or isinstance(dt, str) or not np.isfinite(dt) or dt <= 0:
            raise ValueError(f"dt must be a positive number of ms, got {dt!r}")
        self.dt = dt
        self.performance: float = 0.0
        self.rewards = {}

    @property
    def accepted_actions(self) -> int:
        """Number of discrete actions that are accepted; 0 if actions are vectors."""
        return self.most_actions or n_actions(self.action_space)

    @property
    def rng(self) -> LegacyGenerator:
        """Random generator of the environment, with the method names of the old ``RandomState`` as well; settable."""
        return LegacyGenerator(self.np_random)

    @rng.setter
    def rng(self, generator: Any) -> None:
        self.np_random = generator_of(generator)

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Start the generator and the action space from ``seed``; ``reset(seed=seed)`` does the same and more."""
        self.np_random = np.random.Generator(np.random.PCG64(seed))
        self._np_random_seed = -1 if seed is None else seed
        if self.action_space is not None:  # an old constructor may seed before it makes the spaces
            self.action_space.seed(seed)
        return [seed]

    def render(self, mode: str | None = None) -> Any:
        """Return None: environments without trials have no picture."""
