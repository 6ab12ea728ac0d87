"""Hyperparameters of the algorithms: type, range, unit and default of each, without torch.

A configuration spells out every hyperparameter, so that it means the same under the next version of the library that
learns; those that are `OmittedByDefault` are named while they have another value than the default.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic.fields import FieldInfo

from ngym_cli.config.options import About, Float, OmittedByDefault, OptionTable, Switch, Table, Whole, word

LearningRate = Annotated[
    Float,
    Field(gt=0, le=10, description="step size of the optimiser at the beginning"),
    About(aliases=("lr", "alpha", "rate", "step_size")),
]
FinalRate = Annotated[
    Float,
    Field(ge=0, le=1, description="fraction of the learning rate that is left at the end; it falls linearly"),
    About(aliases=("lrschedule", "lr_schedule", "decay")),
]
NSteps = Annotated[
    Whole,
    Field(ge=1, description="steps of each environment between two updates"),
    About(aliases=("nsteps", "rollout", "rollout_length", "horizon")),
]
BatchSize = Annotated[
    Whole, Field(ge=1, description="steps in a minibatch"), About(aliases=("batch", "minibatch", "bs"))
]
NEpochs = Annotated[
    Whole, Field(ge=1, description="times that each rollout is learned from"), About(aliases=("epochs", "noptepochs"))
]
Gamma = Annotated[
    Float,
    Field(ge=0, le=1, description="discount of reward per step within a trial"),
    About(aliases=("discount", "discount_factor")),
]
InterTrialDiscount = Annotated[
    Float, Field(ge=0, le=1, description="discount of what follows a trial, where the state carries over to the next")
]
GaeLambda = Annotated[
    Float,
    Field(ge=0, le=1, description="weight of long returns in the advantages"),
    About(source="Schulman et al. 2016, arXiv:1506.02438", aliases=("lambda", "lam", "gae")),
]
ClipRange = Annotated[
    Float,
    Field(gt=0, description="how far the ratio of new to old probability may move from 1"),
    About(source="Schulman et al. 2017, arXiv:1707.06347", aliases=("clip", "cliprange", "epsilon", "eps_clip")),
]
ClipRangeVf = Annotated[
    Float | None, Field(gt=0, description="how far a predicted value may move in one update; none: freely")
]
NormalizeAdvantage = Annotated[Switch, Field(description="scale advantages to mean 0 and s.d. 1 in each minibatch")]
EntCoef = Annotated[
    Float,
    Field(ge=0, description="weight of the entropy of the policy in what is maximised"),
    About(source="Mnih et al. 2016, arXiv:1602.01783", aliases=("entropy", "ent", "entropy_coef", "beta")),
]
VfCoef = Annotated[
    Float,
    Field(ge=0, description="weight of the error of the predicted values"),
    About(aliases=("value_coef", "vf", "critic_coef")),
]
MaxGradNorm = Annotated[
    Float,
    Field(gt=0, description="gradients longer than this are shortened to it"),
    About(aliases=("clip_grad", "grad_clip", "gradient_clip")),
]
TargetKl = Annotated[
    Float | None,
    Field(
        gt=0,
        description="an update ends where the policy has moved this far (Kullback-Leibler divergence); "
        "none: it does not",
    ),
    About(source="Schulman et al. 2015, arXiv:1502.05477", aliases=("kl",)),
]
Bptt = Annotated[
    Whole | None,
    Field(ge=1, description="longest stretch (steps) that gradients flow back through; none: the whole rollout"),
    About(aliases=("truncation", "tbptt")),
]
RmsPropEps = Annotated[Float, Field(gt=0, description="keeps the denominator of RMSprop from zero")]
UseRmsProp = Annotated[
    Switch,
    Field(description="RMSprop, as in the paper, instead of Adam"),
    About(source="Mnih et al. 2016, arXiv:1602.01783"),
]
SeqLen = Annotated[
    Whole, Field(ge=1, description="steps of each sequence in a batch"), About(aliases=("sequence_length", "seqlen"))
]
NUpdates = Annotated[Whole, Field(ge=1, description="updates between two evaluations of behaviour")]
AnswerShare = Annotated[
    Float | None,
    Field(
        gt=0,
        lt=1,
        description="fraction of a trial's weight on the steps in which an answer is due; none: steps weigh alike",
    ),
]
LossWeight = Annotated[
    Table | None, Field(description="weight of the steps of named periods, in place of answer_share (others weigh 1)")
]
TaskWeight = Annotated[Table | None, Field(description="how often the trials of named tasks are drawn (others 1)")]
Draw = Annotated[
    Annotated[Literal["trial", "batch"], BeforeValidator(word)],
    Field(description="whether the task is drawn for each trial or each batch"),
]
L1Rate = Annotated[Float, Field(ge=0, description="penalty on the mean absolute activity of units")]
L2Rate = Annotated[Float, Field(ge=0, description="penalty on the mean squared activity of units")]
L1Weight = Annotated[Float, Field(ge=0, description="penalty on the mean absolute weight")]
L2Weight = Annotated[
    Float, Field(ge=0, description="penalty on the mean squared weight"), About(aliases=("weight_decay",))
]
Participation = Annotated[
    Float,
    Field(description="penalty on the fraction of dimensions that activity occupies; negative: activity is spread"),
    About(aliases=("dimensionality",)),
]
Consolidation = Annotated[
    Float,
    Field(
        ge=0,
        description="elastic weight consolidation: strength with which weights that earlier stages depend "
        "on keep their values",
    ),
    About(
        source="Kirkpatrick et al. 2017, 10.1073/pnas.1611835114",
        aliases=("ewc", "ewc_lambda", "elastic_weight_consolidation"),
    ),
]
Imitation = Annotated[
    Float,
    Field(
        ge=0,
        description="weight of the cross-entropy of the correct action, which the agent is told at each step while it "
        "acts itself; 0: learn from reward alone",
    ),
    About(source="Ross et al. 2011, arXiv:1011.0686", aliases=("teacher", "dagger")),
]
ValueTemperature = Annotated[
    Float,
    Field(
        ge=0,
        description="learn the returns of actions, with preferences as their differences divided by this; 0: follow "
        "the gradient of the policy, which is slow where actions are worth almost the same",
    ),
    About(source="Schulman et al. 2017, arXiv:1704.06440", aliases=("temperature", "soft_q")),
]
BufferSize = Annotated[
    Whole,
    Field(ge=1, description="steps that are remembered for learning"),
    About(source="Mnih et al. 2015, 10.1038/nature14236", aliases=("replay_size", "memory")),
]
LearningStarts = Annotated[Whole, Field(ge=0, description="steps before learning begins")]
Tau = Annotated[
    Float,
    Field(ge=0, le=1, description="how far the target network follows at each of its updates (1: a copy)"),
    About(source="Lillicrap et al. 2016, arXiv:1509.02971"),
]
TrainFreq = Annotated[
    Whole, Field(ge=1, description="steps of each environment between two updates"), About(aliases=("train_frequency",))
]
GradientSteps = Annotated[
    Whole, Field(ge=-1, description="gradient steps at each update; -1: as many as steps were taken")
]
OptimizeMemoryUsage = Annotated[Switch, Field(description="keep each observation once instead of twice")]
TargetUpdateInterval = Annotated[
    Whole,
    Field(ge=1, description="steps between two updates of the target network"),
    About(source="Mnih et al. 2015, 10.1038/nature14236"),
]
ExplorationFraction = Annotated[Float, Field(ge=0, le=1, description="fraction of the run in which exploration falls")]
ExplorationInitialEps = Annotated[
    Float,
    Field(ge=0, le=1, description="probability of a random action at the beginning"),
    About(aliases=("epsilon", "eps")),
]
ExplorationFinalEps = Annotated[Float, Field(ge=0, le=1, description="probability of a random action at the end")]
CgMaxSteps = Annotated[
    Whole,
    Field(ge=1, description="steps of the conjugate gradient"),
    About(source="Schulman et al. 2015, arXiv:1502.05477"),
]
CgDamping = Annotated[
    Float,
    Field(ge=0, description="added to the diagonal of the Fisher matrix"),
    About(source="Schulman et al. 2015, arXiv:1502.05477"),
]
LineSearchShrinkingFactor = Annotated[
    Float, Field(gt=0, le=1, description="by which the step shrinks at each try of the line search")
]
LineSearchMaxIter = Annotated[Whole, Field(ge=1, description="most tries of the line search")]
NCriticUpdates = Annotated[Whole, Field(ge=1, description="updates of the predicted values for each of the policy")]
SubSamplingFactor = Annotated[Whole, Field(ge=1, description="every how many steps are used for the policy")]


class Hyperparameters(OptionTable):
    """Hyperparameters of an algorithm."""


class PenaltyHyperparameters(Hyperparameters):
    """Weights of the penalties that every algorithm with recurrent networks can add to its loss."""

    l1_rate: Annotated[L1Rate, OmittedByDefault()] = 0.0
    l2_rate: Annotated[L2Rate, OmittedByDefault()] = 0.0
    l1_weight: Annotated[L1Weight, OmittedByDefault()] = 0.0
    l2_weight: Annotated[L2Weight, OmittedByDefault()] = 0.0
    participation: Annotated[Participation, OmittedByDefault()] = 0.0
    consolidation: Annotated[Consolidation, OmittedByDefault()] = 0.0


def with_penalties(settings: type[Hyperparameters]) -> dict[str, FieldInfo]:
    """Return the fields of an algorithm, followed by the penalties that it does not declare itself."""
    return {
        **settings.model_fields,
        **{
            name: field
            for name, field in PenaltyHyperparameters.model_fields.items()
            if name not in settings.model_fields
        },
    }


class RecurrentPPOHyperparameters(Hyperparameters):
    """Hyperparameters of recurrent_ppo, proximal policy optimisation over whole sequences."""

    final_rate: FinalRate = 0.02
    learning_rate: LearningRate = 0.002
    n_steps: NSteps = 64
    batch_size: BatchSize = 512
    n_epochs: NEpochs = 4
    bptt: Bptt = None
    gamma: Gamma = 0.9
    inter_trial_discount: InterTrialDiscount = 0.0
    gae_lambda: GaeLambda = 0.95
    clip_range: ClipRange = 0.2
    clip_range_vf: ClipRangeVf = None
    normalize_advantage: NormalizeAdvantage = True
    ent_coef: EntCoef = 0.01
    vf_coef: VfCoef = 0.5
    max_grad_norm: MaxGradNorm = 2.0
    target_kl: TargetKl = None
    value_temperature: Annotated[ValueTemperature, OmittedByDefault()] = 0.0
    imitation: Annotated[Imitation, OmittedByDefault()] = 0.0


class RecurrentA2CHyperparameters(Hyperparameters):
    """Hyperparameters of recurrent_a2c, synchronous advantage actor-critic, one update per short rollout."""

    final_rate: FinalRate = 0.02
    learning_rate: LearningRate = 0.003
    n_steps: NSteps = 32
    gamma: Gamma = 0.99
    inter_trial_discount: InterTrialDiscount = 0.0
    gae_lambda: GaeLambda = 0.95
    normalize_advantage: NormalizeAdvantage = False
    ent_coef: EntCoef = 0.0
    vf_coef: VfCoef = 0.5
    max_grad_norm: MaxGradNorm = 0.5
    rms_prop_eps: RmsPropEps = 1e-05


class ReinforceHyperparameters(Hyperparameters):
    """Hyperparameters of reinforce, policy gradient on whole trials with a learned baseline."""

    final_rate: FinalRate = 0.02
    learning_rate: LearningRate = 0.004
    n_steps: NSteps = 64
    gamma: Gamma = 0.98
    normalize_advantage: NormalizeAdvantage = True
    ent_coef: EntCoef = 0.01
    vf_coef: VfCoef = 0.5
    max_grad_norm: MaxGradNorm = 1.0


class SupervisedHyperparameters(Hyperparameters):
    """Hyperparameters of supervised, backpropagation through time on the right action of every step."""

    final_rate: FinalRate = 0.01
    learning_rate: LearningRate = 0.01
    batch_size: Annotated[BatchSize, Field(description="sequences in a batch")] = 16
    seq_len: SeqLen = 100
    n_updates: NUpdates = 20
    n_steps: NSteps = 32
    max_grad_norm: MaxGradNorm = 1.0
    answer_share: AnswerShare = 0.5
    loss_weight: LossWeight = None
    task_weight: TaskWeight = None
    draw: Draw = "trial"
    l1_rate: L1Rate = 0.0
    l2_rate: L2Rate = 0.0
    l1_weight: L1Weight = 0.0
    l2_weight: L2Weight = 0.0


class PPOHyperparameters(Hyperparameters):
    """Hyperparameters of ppo, proximal policy optimisation without memory."""

    final_rate: FinalRate = 0.02
    learning_rate: LearningRate = 0.001
    n_steps: NSteps = 128
    batch_size: BatchSize = 2048
    n_epochs: NEpochs = 4
    gamma: Gamma = 0.99
    gae_lambda: GaeLambda = 0.95
    clip_range: ClipRange = 0.2
    clip_range_vf: ClipRangeVf = None
    normalize_advantage: NormalizeAdvantage = True
    ent_coef: EntCoef = 0.0
    vf_coef: VfCoef = 0.5
    max_grad_norm: MaxGradNorm = 0.5
    target_kl: TargetKl = None


class A2CHyperparameters(Hyperparameters):
    """Hyperparameters of a2c, advantage actor-critic without memory."""

    final_rate: FinalRate = 0.02
    learning_rate: LearningRate = 0.0007
    n_steps: NSteps = 16
    gamma: Gamma = 0.99
    gae_lambda: GaeLambda = 1.0
    ent_coef: EntCoef = 0.0
    vf_coef: VfCoef = 0.5
    max_grad_norm: MaxGradNorm = 0.5
    rms_prop_eps: RmsPropEps = 1e-05
    use_rms_prop: UseRmsProp = True
    normalize_advantage: NormalizeAdvantage = False


class DQNHyperparameters(Hyperparameters):
    """Hyperparameters of dqn, deep Q-learning without memory."""

    final_rate: FinalRate = 0.02
    learning_rate: LearningRate = 0.0005
    buffer_size: BufferSize = 50000
    learning_starts: LearningStarts = 1000
    batch_size: BatchSize = 128
    tau: Tau = 1.0
    gamma: Gamma = 0.99
    train_freq: TrainFreq = 4
    gradient_steps: GradientSteps = 1
    optimize_memory_usage: OptimizeMemoryUsage = False
    target_update_interval: TargetUpdateInterval = 2000
    n_steps: Annotated[NSteps, Field(description="steps of reward in the return that is learned from"), About()] = 1
    max_grad_norm: MaxGradNorm = 10.0
    exploration_fraction: ExplorationFraction = 0.1
    exploration_initial_eps: ExplorationInitialEps = 1.0
    exploration_final_eps: ExplorationFinalEps = 0.05


class QRDQNHyperparameters(DQNHyperparameters):
    """Hyperparameters of qrdqn, quantile-regression deep Q-learning without memory."""

    max_grad_norm: Annotated[
        Float | None,
        Field(gt=0, description="gradients longer than this are shortened to it; none: they are not"),
        About(aliases=("clip_grad", "grad_clip", "gradient_clip")),
    ] = None  # type: ignore[assignment]
    exploration_fraction: ExplorationFraction = 0.005
    exploration_final_eps: ExplorationFinalEps = 0.01


class TRPOHyperparameters(Hyperparameters):
    """Hyperparameters of trpo, trust-region policy optimisation without memory."""

    final_rate: FinalRate = 0.02
    learning_rate: LearningRate = 0.001
    n_steps: NSteps = 128
    batch_size: BatchSize = 2048
    gamma: Gamma = 0.99
    cg_max_steps: CgMaxSteps = 15
    cg_damping: CgDamping = 0.1
    line_search_shrinking_factor: LineSearchShrinkingFactor = 0.8
    line_search_max_iter: LineSearchMaxIter = 10
    n_critic_updates: NCriticUpdates = 10
    gae_lambda: GaeLambda = 0.95
    normalize_advantage: NormalizeAdvantage = True
    target_kl: TargetKl = 0.01
    sub_sampling_factor: SubSamplingFactor = 1
