"""Other presentations of the stimulus: in a selectable modality, and motion energy in place of frames."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from neurogym import spaces
from neurogym.ceilings.effects import LEAVES
from neurogym.metadata import WrapperInfo
from neurogym.parameters.arguments import AtLeastTwo, Count, Positive
from neurogym.spaces import Action
from neurogym.trials import Trials
from neurogym.wrappers.base import Field, Reward, TrialWrapper
from neurogym.wrappers.hooks import Hooks


class Modality(TrialWrapper):
    """Widen the observation to several rings of stimulus channels and show the stimulus on a single ring.

    Args:
        env: A task whose observation has channels ``stimulus``, the last ones.
        modality: Ring that shows the stimulus, from 0.
        n_modality: Number of rings.

    Raises:
        KeyError: If the task has no channels called ``stimulus``.
        ValueError: If there is no such ring, other channels follow the stimulus, or trials exist already.
    """

    metadata = WrapperInfo(doi="10.1038/s41593-018-0310-2", order="innermost")
    ceiling_effect = LEAVES
    inside_of = ("TrialWrapper",)

    def __init__(self, env: gym.Env, modality: int = 0, n_modality: int = 1):
        if not 0 <= modality < n_modality:
            raise ValueError(f"modality must lie between 0 and {n_modality - 1}, got {modality!r}")
        space = env.observation_space
        names = spaces.Labels(spaces.names_of(space))
        if "stimulus" not in names:
            raise KeyError(f"Modality needs observation channels called stimulus, {env} has {', '.join(names)}")
        columns = np.atleast_1d(names["stimulus"])
        if columns[-1] != space.shape[0] - 1:  # type: ignore[index]
            raise ValueError(f"Modality needs the stimulus on the last channels, {env} has {', '.join(names)}")
        super().__init__(env)
        self.modality, self.n_modality = modality, n_modality
        extra = (n_modality - 1) * len(columns)
        names["stimulus"] = (columns + modality * len(columns)).tolist()
        self.task.observation_space = spaces.Box(
            np.concatenate([space.low, np.repeat(space.low[columns[-1]], extra)]),  # type: ignore[attr-defined]
            np.concatenate([space.high, np.repeat(space.high[columns[-1]], extra)]),  # type: ignore[attr-defined]
            name=names,
            dtype=space.dtype.type,  # type: ignore[union-attr]
        )


LIT = 127  #: brightness above which a pixel counts


class MotionEnergy(TrialWrapper):
    """Show the energy of motion in several directions in place of frames, and the mark in the middle.

    A detector correlates each frame with an earlier frame (Reichardt 1961): it counts the lit pixels that have a lit
    pixel, at most one pixel off, where a dot was ``delay`` steps before. The channel of a direction is this count minus
    that of the opposite direction, divided by the square root of the number of lit pixels. It is 0 in the first
    ``delay`` steps of a trial.

    Args:
        env: A task that shows frames of shape (height, width, colours), bright on dark, as RandomDotMotion does.
        directions: Number of directions, equally spaced from rightwards on.
        delay: Steps between the two frames.
        speed: Displacement per step, as a fraction of the width of a frame.

    Raises:
        TypeError: If the observation is not a frame.
        ValueError: If ``directions``, ``delay`` or ``speed`` is out of range.
    """

    metadata = WrapperInfo(doi="10.1364/JOSAA.2.000284", order="innermost")
    hooks = Hooks(changes=("record",), shows="motion energy")
    ceiling_effect = LEAVES
    inside_of = ("TrialWrapper",)

    def __init__(self, env: gym.Env, directions: AtLeastTwo = 8, delay: Count = 4, speed: Positive = 0.025):
        space = env.observation_space
        if not isinstance(space, gym.spaces.Box) or len(space.shape) != 3:
            raise TypeError(f"MotionEnergy needs frames of shape (height, width, colours), not {space}")
        super().__init__(env)
        self.delay, self.speed = delay, speed
        self.angles = 2 * np.pi * np.arange(directions) / directions
        names = {"fixation": 0, "stimulus": range(1, 1 + directions)}
        self.observation_space = spaces.channels(names)
        self._field = f"motion{len(self.task.session.wrappers)}"

    def revise(self, trials: Trials) -> None:
        """Measure the motion in all frames."""
        lit = trials.ob[..., 0] > LIT
        for colour in range(1, trials.ob.shape[-1]):
            lit |= trials.ob[..., colour] > LIT
        row = np.arange(trials.total)
        first = np.asarray(trials.offset)[np.searchsorted(trials.offset, row, side="right") - 1]
        trials.fields[self._field] = np.column_stack([_middle(lit), self._energy(lit, row - first >= self.delay)])

    def observe(self, ob: np.ndarray, action: Action, reward: Reward, field: Field) -> np.ndarray:
        """Energy and mark at the present step."""
        return np.array(field(self._field))

    def _energy(self, lit: np.ndarray, late: np.ndarray) -> np.ndarray:
        """Opponent energy of each frame and direction, float32 (rows, directions).

        Args:
            lit: Bright pixels, bool (rows, height, width).
            late: Whether the trial has a frame ``delay`` steps before, bool (rows,).
        """
        total, height, width = lit.shape
        shift = self.speed * self.delay * width
        margin = int(np.ceil(shift)) + 1
        near = np.zeros((total, height + 2 * margin, width + 2 * margin), np.uint8)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                near[:, margin + dy : margin + dy + height, margin + dx : margin + dx + width] += lit
        frame, y, x = np.unravel_index(np.flatnonzero(lit & late[:, None, None]), lit.shape)
        step = near.shape[2]
        index = ((frame - self.delay) * near.shape[1] + y + margin) * step + x + margin
        down, right = (
            np.rint(shift * component).astype(int) for component in (-np.sin(self.angles), np.cos(self.angles))
        )
        energy = np.zeros((total, len(self.angles)), np.float32)
        for i, away in enumerate(down * step + right):
            balance = near.ravel()[index - away].astype(np.int8) - near.ravel()[index + away].astype(np.int8)
            energy[:, i] = np.bincount(frame, balance, total)
        return energy / np.sqrt(np.maximum(np.count_nonzero(lit, axis=(1, 2)), 1), dtype=np.float32)[:, None]


def _middle(lit: np.ndarray) -> np.ndarray:
    """Share of bright pixels in the square where a fixation mark is drawn, float32 (rows,)."""
    _, height, width = lit.shape
    half = max(1, width // 33) // 2
    rows, columns = (slice(side // 2 - half, side // 2 + half + 1) for side in (height, width))
    return lit[:, rows, columns].mean(axis=(1, 2), dtype=np.float32)
