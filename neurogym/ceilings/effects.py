"""What a wrapper does to the best possible score of what it is put on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from neurogym.ceilings.processes import Process

Kind = Literal["leaves", "noise", "ground truth", "unknown"]


@dataclass(frozen=True)
class Effect:
    """What a wrapper does to the ceiling.

    Attributes:
        kind: ``"leaves"`` it as it is; ``"noise"``: lowers it by Gaussian noise of known size; ``"ground truth"``:
            draws the right answers from a known ``process``, which the ideal observer follows; ``"unknown"``.
        why: For ``"unknown"``: the reason, as the end of a sentence.
        process: What draws the ground truth.
        reward: Whether the ideal agent's reward is left as well.
    """

    kind: Kind
    why: str = ""
    process: Process | None = None
    reward: bool = True


LEAVES = Effect("leaves")
LEAVES_PERFORMANCE = Effect("leaves", reward=False)
NOISE = Effect("noise")


def unknown(why: str) -> Effect:
    """The effect of a wrapper for which no exact calculation is known."""
    return Effect("unknown", why)
