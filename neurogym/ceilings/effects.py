"""What tasks and wrappers declare about the ceiling: the ideal observer of a task, the effect of a wrapper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from neurogym.ceilings.processes import BlockProcess

HOOKS = ("plan", "revise", "observe", "appended", "step", "reset", "new_trial", "trial_ended")
HOOKS_OF_GYMNASIUM = ("observation", "reward", "action")


@dataclass(frozen=True)
class ObserverSettings:
    """Ideal observer of a task with one answer, at the last step at the latest, and Gaussian noise of s.d. ``sigma``.

    Attributes:
        conditions: Conditions of which the task draws every combination with equal probability.
        draws: Noise-free trials that stand for a continuum; 0 if they follow from the conditions.
        floor: Whether observations are cut off at zero.
        process: Process that draws the ground truth, if trials are linked.
    """

    conditions: tuple[str, ...] = ()
    draws: int = 0
    floor: bool = False
    process: BlockProcess | None = None


EffectKind = Literal["leaves", "noise", "ground truth", "unknown"]


@dataclass(frozen=True)
class Effect:
    """Effect of a wrapper on the ceiling, and on what the agent learns about earlier trials.

    Attributes:
        kind: ``"leaves"`` the ceiling as it is; ``"noise"`` lowers it by Gaussian noise of known size; ``"ground
            truth"`` draws the right answers from a known ``process``, which the ideal observer follows; ``"unknown"``.
        why: For ``"unknown"``: the reason, as the end of a sentence.
        process: The process that draws the ground truth.
        reward: Whether the ideal agent's reward stays the same as well.
        tells_outcome: Whether the next trial shows if the last answer was correct, with or without ``pass_reward``.
        hides_outcome: Whether the last reward no longer shows if the last answer was correct.
    """

    kind: EffectKind
    why: str = ""
    process: BlockProcess | None = None
    reward: bool = True
    tells_outcome: bool = False
    hides_outcome: bool = False


LEAVES = Effect("leaves")
LEAVES_PERFORMANCE = Effect("leaves", reward=False)
TELLS_OUTCOME = Effect("leaves", tells_outcome=True)
HIDES_OUTCOME = Effect("leaves", reward=False, hides_outcome=True)
NOISE = Effect("noise")


def unknown(reason: str) -> Effect:
    """Return the effect of a wrapper for which no exact calculation is known."""
    return Effect("unknown", reason)


def effect_of(layer: Any) -> Effect:
    """Effect of a wrapper on the best possible score, as its class declares it."""
    for cls in type(layer).__mro__:
        declared = vars(cls)
        if "effect_on_ceiling" in declared or declared.get("ceiling_effect") is not None:
            return layer.effect_on_ceiling()
        if any(hook in declared for hook in HOOKS + HOOKS_OF_GYMNASIUM):  # inherited declarations are no longer valid
            break
    return Effect("unknown", "it does not say what it does to the ceiling")
