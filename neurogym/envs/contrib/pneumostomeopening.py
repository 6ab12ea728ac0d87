"""Operant conditioning of breathing at the surface in the pond snail."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from neurogym.envs.task import ProgrammedTask, StepResult, TaskInfo, Trials, rules, spaces, usual_arguments
from neurogym.parameters.arguments import OneOf

OPEN, SKIN, UP, DOWN = range(4)
SURFACE, DEEPEST = 1, 4
OXYGEN = 10.0  #: what the snail can hold
#: What each kind of action earns, by phase of the experiment.
PHASES = {
    "default": {"swim": 0.1, "skin": 0.5, "pneumostome": 1.0},
    "training": {"swim": 0.1, "skin": 1.0, "pneumostome": -1.0},
    "testing": {"swim": 0.0, "skin": 0.0, "pneumostome": 0.0},
}
Phase = Annotated[str, OneOf(PHASES)]


class Pneumostomeopening(ProgrammedTask):
    """Breathe: by the skin anywhere, or at the surface by opening the breathing hole, which training punishes.

    A trial is a stay in the water that begins at a random depth. Opening the pneumostome gives much oxygen, but only
    at the surface; the skin gives a little; swimming uses it up. In the training phase every opening is punished, in
    the testing phase nothing is rewarded and openings are counted. Without oxygen the snail dies and the episode
    terminates. Performance is the fraction of steps with the best action of the phase (in testing: any but opening).

    Args:
        dt: Time step (ms).
        rewards: Replaces entries of the phase's rewards (``swim``, ``skin``, ``pneumostome``).
        timing: Replaces entries of ``default_timing`` (ms).
        phase: ``default``, ``training`` or ``testing``.

    Raises:
        ValueError: If ``phase`` is unknown.

    Source: Lukowiak, Ringseis, Spencer, Wildering & Syed 1996.
    """

    metadata = TaskInfo(
        doi="10.1242/jeb.199.3.683",
        tags=[
            "operant conditioning",
            "learning",
            "Lymnaea Stagnalis",
            "associative learning",
            "aerial respiratory behaviour",
            "hypoxia",
            "molluscan model",
            "system",
            "snail",
        ],
        necessary=(("depth1", "depth2", "depth3", "depth4"),),
    )
    default_timing = {"stay": 3000}
    default_rewards = PHASES["default"]

    @usual_arguments(abort=False, defaults=lambda phase: {"default_rewards": PHASES[phase]})
    def __init__(self, phase: Phase = "default"):
        self.phase, self._depth, self._oxygen = phase, SURFACE, OXYGEN
        self.conditions = {"depth": tuple(range(SURFACE, DEEPEST + 1))}
        names = {f"depth{d}": d - 1 for d in range(SURFACE, DEEPEST + 1)}
        self.observation_space = spaces.channels({**names, "oxygen": 4}, 0, 1)
        self.action_space = spaces.Discrete(
            4, name={"breathingpneumostome": OPEN, "breathingskin": SKIN, "up": UP, "down": DOWN}
        )

    @property
    def depth(self) -> int:
        """Present depth, 1 at the surface."""
        return self.trial["depth"] if self.t_ind == 0 else self._depth

    def _new_trials(self, trials: Trials) -> None:
        depth = trials.draw("depth")
        trials.add_period("stay", min_steps=1)
        trials.add_ob(np.column_stack([np.eye(DEEPEST)[depth - 1], np.ones(trials.n)]), "stay")

    def _step(self, action: int) -> StepResult:
        if self.t_ind == 0:
            self._depth, self._oxygen = self.trial["depth"], OXYGEN
        good = action != OPEN if self.phase == "testing" else action == self.oracle()
        self.performance += float(good) / len(self.ob)
        reward, gained = self._breathe(action) if action in (OPEN, SKIN) else (self.rewards["swim"], -1.0)
        self._depth = int(min(max(self._depth + (action == DOWN) - (action == UP), SURFACE), DEEPEST))
        self._oxygen = min(OXYGEN, self._oxygen + gained)
        later = self.ob[self.t_ind + 1 :]
        later[:, :DEEPEST] = 0
        later[:, self._depth - 1] = 1
        later[:, DEEPEST] = max(0.0, self._oxygen) / OXYGEN
        dead = self._oxygen <= 0
        if dead:
            self.report(rules.ERROR)
        return self.ob_now, reward, dead, False, {"new_trial": dead}

    def _breathe(self, action: int) -> tuple[float, float]:
        """Reward and oxygen gained by breathing."""
        if action == SKIN:
            return self.rewards["skin"], 1.0
        if self._depth > SURFACE:  # no air here, but training punishes every opening
            return min(0.0, self.rewards["pneumostome"]), -1.0
        return self.rewards["pneumostome"], 5.0

    def oracle(self) -> int:
        """Breathe in the rewarded way, after swimming up if that requires the surface."""
        if self.rewards["skin"] >= self.rewards["pneumostome"]:
            return SKIN
        return OPEN if self.depth == SURFACE else UP
