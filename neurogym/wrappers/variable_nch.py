"""Blocks in which only some of the choices are in play."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import ClassVar

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import LEAVES, Effect, unknown
from neurogym.ceilings.processes import BlockProcess, draw
from neurogym.metadata import WrapperInfo
from neurogym.parameters.arguments import Probability
from neurogym.trials import Trials
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.hooks import Hooks
from neurogym.wrappers.sampling import BlockClock, choices_of, restrict


class Variable_nch(TrialWrapper):  # noqa: N801 - NeuroGym's name
    """Draw in each block how many choices, and which, are in play.

    The trial's record has their number as ``variable_nch_n`` and the choices, counted from 1 and joined by dashes, as
    ``variable_nch_choices``. Wrappers inside that decide the ground truth keep to them; without one it is drawn
    uniformly among them.

    Args:
        env: A task with choices.
        block_nch: Trials in a block, ``(low, high)``, or a probability; see :class:`SideBias`.
        blocks_probs: Weights of 2, 3, ... choices. Default (or all zero): equal.
        sorted_ch: Whether the first choices are in play, or a random subset.
        prob_12: Probability that a block uses exactly choices 1 and 2 (other blocks then have at least 3).

    Raises:
        AttributeError: If the task has no choices.
        ValueError: If there are fewer than two, a weight is negative or their number is wrong.
    """

    metadata = WrapperInfo(order="outside the wrapper that decides the ground truth, inside perf_phases")
    hooks = Hooks(changes=("conditions", "record"), history_dependent=True)
    state = ("_phase", "_active", "_clock", "_drawn")
    accepts = ("phase",)
    decides: ClassVar[tuple[str, ...]] = ("sel_chs",)
    inside_of = ("PerfPhases",)

    def __init__(
        self,
        env: gym.Env,
        block_nch: int = 100,
        blocks_probs: Sequence[float] | None = None,
        sorted_ch: bool = True,
        prob_12: Probability | None = None,
    ):
        self.choices = choices_of(env, "Variable_nch")
        self.max_nch = len(self.choices)
        if self.max_nch < 2:
            raise ValueError(f"Variable_nch needs at least two choices, {env.unwrapped} has {self.max_nch}")
        self.weights = np.ones(self.max_nch - 1) if blocks_probs is None else np.asarray(blocks_probs, dtype=float)
        if self.weights.shape != (self.max_nch - 1,) or np.any(self.weights < 0):
            raise ValueError(f"blocks_probs needs {self.max_nch - 1} weights of 0 or more, got {blocks_probs!r}")
        self.sorted_ch, self.prob_12 = sorted_ch, prob_12
        self._clock = BlockClock(block_nch, "block_nch")
        super().__init__(env)
        self._decided = any("ground_truth" in wrapper.decides for wrapper in self.task.session.wrappers)
        if not self._decided:
            self.decides = ("sel_chs", "ground_truth")  # type: ignore[misc]
        self._passes_on = "sel_chs" in self.task.conditions or self._decided
        self.start_session()

    def effect_on_ceiling(self) -> Effect:
        """Return the effect on the ceiling: none where both of two choices are always in play and were before."""
        if self.max_nch > 2:
            return unknown("no exact observer is known for choices that come and go")
        if self._decided or not self.task.traits.history_dependent:
            return LEAVES
        return Effect("ground truth", process=BlockProcess.independent(np.full(2, 0.5)))

    def start_session(self) -> None:
        """Begin a block."""
        self._clock.start(self.task.np_random)
        self._phase = self.max_nch
        self._active: tuple[int, ...] = ()

    def _draw_active(self) -> tuple[int, ...]:
        """Indices of the choices of a new block."""
        rng = self.task.np_random
        most = int(np.clip(self._phase, 2, self.max_nch))
        if self.prob_12 is not None and (most == 2 or rng.random() < self.prob_12):
            return (0, 1)
        weights = self.weights[: most - 1].copy()
        if self.prob_12 is not None:
            weights[0] = 0
        if not weights.any():
            weights[1 if self.prob_12 is not None else 0 :] = 1
        n = 2 + int(rng.choice(len(weights), p=weights / weights.sum()))
        return tuple(range(n)) if self.sorted_ch else tuple(np.sort(rng.permutation(self.max_nch)[:n]).tolist())

    def plan(self, n: int, conditions: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Draw the choices in play."""
        rest = {name: value for name, value in conditions.items() if name != "phase"}
        self._phase = int(conditions["phase"][0]) if "phase" in conditions else self.max_nch
        begins, rng = self._clock.changes(n, self.task.np_random), self.task.np_random
        drawn: list[tuple[int, ...]] = []
        starts = np.flatnonzero(begins) if self._active else np.union1d([0], np.flatnonzero(begins))
        bounds = [0, *starts.tolist(), n]
        for first, end in itertools.pairwise(bounds):
            if begins[first : first + 1].any() or not self._active:
                self._active = self._draw_active()
            drawn += [self._active] * (end - first)
        self._drawn = np.fromiter(drawn, object, n)
        active = [tuple(self.choices[list(each)].tolist()) for each in drawn]
        if self._passes_on:
            rest["sel_chs"] = np.fromiter(active, object, n)
        if not self._decided:
            p = restrict(np.full((n, self.max_nch), 1 / self.max_nch), self.choices, active)
            rest["ground_truth"] = self.choices[draw(rng, p)]
        return rest

    def revise(self, trials: Trials) -> None:
        """Record the choices in play."""
        trials.info["variable_nch_n"] = np.array([len(active) for active in self._drawn])
        names = {active: "-".join(str(i + 1) for i in active) for active in set(self._drawn)}
        trials.info["variable_nch_choices"] = np.array([names[active] for active in self._drawn], dtype=object)
