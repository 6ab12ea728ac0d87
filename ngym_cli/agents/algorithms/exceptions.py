"""Tasks that other defaults suit better, each with its reason; measured in `experiments/defaults`. No torch here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["EXCEPTIONS", "Exceptional"]


@dataclass(frozen=True)
class Exceptional:
    """What is different for one task.

    Attributes:
        hyperparameters: of `recurrent_ppo`, in place of its defaults; what the user says comes first.
        reason: why.
    """

    hyperparameters: dict[str, Any]
    reason: str


#: Id of the task to what is different.
EXCEPTIONS: dict[str, Exceptional] = {
    "PulseDecisionMaking-v0": Exceptional(
        {"ent_coef": 0.03}, "an answer costs in 200 steps before it pays in one, so that answers are given up early"
    ),
    "OneTwoThreeGo-v0": Exceptional(
        {"ent_coef": 0.03}, "too early costs, too late does not, so responses are given up before their time is found"
    ),
    "DelayMatchSampleDistractor1D-v0": Exceptional(
        {"ent_coef": 0.1},
        "a wrong response costs what a right one gains and waiting costs nothing, so responses are given up early",
    ),
}
