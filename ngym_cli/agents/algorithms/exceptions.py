"""Task-specific defaults, each with a reason; measured in `experiments/defaults`. No torch here."""

from __future__ import annotations

from dataclasses import dataclass, field

from ngym_cli.agents.options import Values

__all__ = ["BUDGETS", "EXCEPTIONS", "TaskDefaults", "budget", "exceptional"]


@dataclass(frozen=True)
class TaskDefaults:
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
EXCEPTIONS: dict[str, TaskDefaults] = {
    "AntiReach-v0": TaskDefaults(
        {"ent_coef": 0.03}, "of 32 directions one or two are otherwise given up early and never reported again"
    ),
    "PulseDecisionMaking-v0": TaskDefaults(
        {"ent_coef": 0.03}, "an answer costs in 200 steps before it pays in one, so that answers are given up early"
    ),
    "MotorTiming-v0": TaskDefaults(
        {"ent_coef": 0.003, "target_kl": 0.02},
        "going at random in half of the steps never lasts to the long interval, and entropy leads back there; once all "
        "goes well, advantages are noise, and one update of full size can move the response out of its window",
        network_args={"patience": 24.0},
    ),
    "OneTwoThreeGo-v0": TaskDefaults(
        {"ent_coef": 0.03, "target_kl": 0.02},
        "too early costs, too late does not, so responses are given up before their time is found; once all goes well, "
        "one update of full size can move the response out of its window, as in MotorTiming",
    ),
    "DelayEstimation-v0": TaskDefaults(
        {"learning_rate": 5e-3},
        "colours are seen for 100 ms, too short for gates that open slowly, and 180 reports are to be told apart",
        network_args={"memory": 15.0},
    ),
    "DelayMatchSampleDistractor1D-v0": TaskDefaults(
        {"ent_coef": 0.1},
        "a wrong response costs what a right one gains and waiting costs nothing, so responses are given up early",
    ),
    "DynamicForaging-v0": TaskDefaults(
        {"n_steps": 256}, "which side is richer, and when the other was visited last, shows over dozens of trials"
    ),
    "EconomicDecisionMaking-v0": TaskDefaults(
        {"ent_coef": 0.1},
        "one drop of A is worth 0.22, two of B 0.20: of options that close one is otherwise given up early, and which "
        "side is chosen is left to chance",
    ),
    "PatchLeaving-v0": TaskDefaults(
        {"gamma": 0.99, "trial_gamma": 0.99}, "leaving a patch pays only by the patches that follow"
    ),
    "RDMHist-v0": TaskDefaults(
        {"ent_coef": 0.1},
        "a wrong response costs what a right one gains and no answer costs nothing, so answers are given up early",
    ),
    "ReversalLearning-v0": TaskDefaults(
        {"n_steps": 256, "ent_coef": 0.001},
        "which picture is better shows over a dozen trials of six steps, more than gates last and rollouts hold; with "
        "entropy, actions drawn at random find reversals, and the most probable action changes late",
        network_args={"memory": 100.0},
    ),
    "ReadySetGoDoublePrior-v0": TaskDefaults(
        {"max_grad_norm": 0.1},
        "gradients through 300 steps are long at times, and a long step loses intervals that were right",
        "supervised",
    ),
    "SpatialSuppressMotionImage-v0": TaskDefaults(
        {"learning_rate": 3e-3}, "a convolutional front end takes smaller steps than recurrent weights", "supervised"
    ),
    "MemoryRecall-v0": TaskDefaults(
        {},
        "which of two patterns a cue recalls depends on how many elements they share, for which one layer is too few",
        "supervised",
        {"layers": 2},
    ),
}

#: Id of the task to its default number of steps, where that of the algorithm (400,000 from reward, 1,600,000 from the
#: right actions) is too few for some seeds or more than a slow task needs: about twice the steps of the slowest seed.
#: Tasks that no line learns have few, so that a run that fails is short.
BUDGETS: dict[str, int] = {
    "AngleReproduction-v0": 1_400_000,
    "AntiReach-v0": 2_400_000,
    "ChangingEnvironment-v0": 1_400_000,
    "DelayEstimation-v0": 3_000_000,
    "DelayMatchSampleDistractor1D-v0": 600_000,
    "DriftingBandit-v0": 1_200_000,
    "DualTask-v0": 600_000,
    "DynamicForaging-v0": 3_000_000,
    "EconomicDecisionMaking-v0": 800_000,
    "GenTask-v0": 1_000_000,
    "HierarchicalReasoning-v0": 2_000_000,
    "MemoryRecall-v0": 2_000_000,
    "MotorTiming-v0": 800_000,
    "NBack-v0": 4_000_000,
    "OneTwoThreeGo-v0": 600_000,
    "PatchLeaving-v0": 1_500_000,
    "PostDecisionWager-v0": 600_000,
    "Priors-v0": 2_000_000,
    "ProbabilisticReasoning-v0": 800_000,
    "PulseDecisionMaking-v0": 3_200_000,
    "RDMHist-v0": 3_000_000,
    "RandomDotMotion-v0": 10_000,
    "Reaching1DWithSelfDistraction-v0": 600_000,
    "ReachingDelayResponse-v0": 800_000,
    "ReadySetGoDoublePrior-v0": 3_000_000,
    "ReadySetGoSinglePrior-v0": 2_800_000,
    "SpatialSuppressMotion-v0": 400_000,
    "SpatialSuppressMotionImage-v0": 1_000_000,
    "ReversalLearning-v0": 1_600_000,
    "Sternberg-v0": 5_000_000,
    "VisualSearch-v0": 100_000,
    "perceptualdecisionmaking.ibl20-v0": 1_200_000,
    "yang19.ctxdm1-v0": 3_000_000,
    "yang19.ctxdm2-v0": 3_000_000,
    "yang19.dm1-v0": 2_600_000,
    "yang19.dm2-v0": 2_600_000,
    "yang19.multidm-v0": 2_400_000,
}

#: Time constant of the discount in reaction-time tasks: a reward 100 ms later is worth 1 % less.
DISCOUNT_PER_100_MS = 0.99


def reaction_time(dt: float) -> TaskDefaults:
    """Return the defaults of reaction-time tasks, in which the agent decides when to respond.

    With the usual discount (0.9 per step) waiting never increases the return, and the agent responds after a single
    step at every coherence.

    Args:
        dt: time step (ms).
    """
    gamma = round(DISCOUNT_PER_100_MS ** (dt / 100), 6)
    return TaskDefaults({"gamma": gamma}, "time costs 1 % of the reward per 100 ms, so that looking longer can pay")


def exceptional(task: str, rt_from: str, dt: float) -> TaskDefaults | None:
    """Return the defaults specific to a task, or None.

    Args:
        task: id.
        rt_from: period from which its reaction times count; "stimulus" where it may be answered while it is seen.
        dt: time step (ms).
    """
    return reaction_time(dt) if rt_from == "stimulus" else EXCEPTIONS.get(task)


def budget(task: str, taught: bool, needs_truth: bool, recurrent: bool = True) -> int | None:
    """Return the default number of steps of a task, or None where the default of the algorithm applies.

    A task's number holds for every recurrent algorithm that learns from the same signal as the task's default
    algorithm: reward, or the right actions.

    Args:
        task: id.
        taught: whether the task is learned from the right actions by default.
        needs_truth: whether the algorithm of the run learns from the right actions.
        recurrent: whether the algorithm of the run trains networks with memory.
    """
    return BUDGETS.get(task) if recurrent and taught == needs_truth else None
