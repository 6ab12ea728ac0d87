"""Task-specific defaults, each with a reason; measured in `experiments/defaults`. No torch here."""

from __future__ import annotations

from dataclasses import dataclass, field

from ngym_cli.agents.options import Values

__all__ = ["EXCEPTIONS", "Exceptional", "exceptional"]


@dataclass(frozen=True)
class Exceptional:
    """Task-specific defaults that replace the algorithm's defaults.

    Attributes:
        hyperparameters: replace the algorithm's defaults; settings of the user have priority.
        reason: why the defaults differ.
        algorithm: the task's default algorithm, to which the hyperparameters apply.
        network_args: replace the network's defaults, for networks that have these arguments.
    """

    hyperparameters: Values
    reason: str
    algorithm: str = "recurrent_ppo"
    network_args: Values = field(default_factory=dict)

    @property
    def settings(self) -> Values:
        """All that is different."""
        return {**self.hyperparameters, **self.network_args}


#: Id of the task to its defaults.
EXCEPTIONS: dict[str, Exceptional] = {
    "PulseDecisionMaking-v0": Exceptional(
        {"ent_coef": 0.03}, "an answer costs in 200 steps before it pays in one, so that answers are given up early"
    ),
    "OneTwoThreeGo-v0": Exceptional(
        {"ent_coef": 0.03}, "too early costs, too late does not, so responses are given up before their time is found"
    ),
    "DelayEstimation-v0": Exceptional(
        {"learning_rate": 5e-3},
        "colours are seen for 100 ms, too short for gates that open slowly, and 180 reports are to be told apart",
        network_args={"memory": 15.0},
    ),
    "DelayMatchSampleDistractor1D-v0": Exceptional(
        {"ent_coef": 0.1},
        "a wrong response costs what a right one gains and waiting costs nothing, so responses are given up early",
    ),
    "RDMHist-v0": Exceptional(
        {"ent_coef": 0.1},
        "a wrong response costs what a right one gains and no answer costs nothing, so answers are given up early",
    ),
    "SpatialSuppressMotionImage-v0": Exceptional(
        {"learning_rate": 3e-3}, "a convolutional front end takes smaller steps than recurrent weights", "supervised"
    ),
    "MemoryRecall-v0": Exceptional(
        {},
        "which of two patterns a cue recalls depends on how many elements they share, for which one layer is too few",
        "supervised",
        {"layers": 2},
    ),
}

#: Time constant of the discount in reaction-time tasks: a reward 100 ms later is worth 1 % less.
DISCOUNT_PER_100_MS = 0.99


def reaction_time(dt: float) -> Exceptional:
    """Return the defaults of reaction-time tasks, in which the agent decides when to respond.

    With the usual discount (0.9 per step) waiting never increases the return, and the agent responds after a single
    step at every coherence.

    Args:
        dt: time step (ms).
    """
    gamma = round(DISCOUNT_PER_100_MS ** (dt / 100), 6)
    return Exceptional({"gamma": gamma}, "time costs 1 % of the reward per 100 ms, so that looking longer can pay")


def exceptional(task: str, rt_from: str, dt: float) -> Exceptional | None:
    """Return the defaults specific to a task, or None.

    Args:
        task: id.
        rt_from: period from which its reaction times count; "stimulus" where it may be answered while it is seen.
        dt: time step (ms).
    """
    return reaction_time(dt) if rt_from == "stimulus" else EXCEPTIONS.get(task)
