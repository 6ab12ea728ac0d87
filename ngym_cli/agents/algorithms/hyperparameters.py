"""The hyperparameters of the algorithms: type, range, meaning and source of each, and every algorithm's defaults.

`ngym info ALGORITHM`, the check of ``--set`` and the complete configuration of a run all read this list. No torch here.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from ngym_cli.agents.options import Kind, Option

__all__ = ["BY_NAME", "FINAL_RATE", "hyperparameters"]

#: Fraction of the learning rate that is left at the end of a run, to which it falls linearly: an agent that has reached
#: the ceiling would otherwise keep wandering around it.
FINAL_RATE = 0.02

_GAE = "Schulman et al. 2016, arXiv:1506.02438"
_PPO = "Schulman et al. 2017, arXiv:1707.06347"
_TRPO = "Schulman et al. 2015, arXiv:1502.05477"
_DQN = "Mnih et al. 2015, 10.1038/nature14236"


def _option(
    name: str, kind: Kind, meaning: str, low: float | None = None, high: float | None = None, **more: Any
) -> Option:
    return Option(name, kind, None, meaning, low, high, **more)


_DEFINED = (
    _option(
        "learning_rate",
        "number",
        "step size of the optimiser at the beginning",
        0,
        10,
        above=True,
        also=("lr", "alpha", "rate", "step_size"),
    ),
    _option(
        "final_rate",
        "number",
        "fraction of the learning rate that is left at the end; it falls linearly",
        0,
        1,
        also=("lrschedule", "lr_schedule", "decay"),
    ),
    _option(
        "n_steps",
        "whole",
        "steps of each environment between two updates",
        1,
        also=("nsteps", "rollout", "rollout_length", "horizon"),
    ),
    _option("batch_size", "whole", "steps in a minibatch", 1, also=("minibatch", "bs")),
    _option("n_epochs", "whole", "times that each rollout is learned from", 1, also=("epochs", "noptepochs")),
    _option(
        "gamma", "number", "discount of reward per step within a trial", 0, 1, also=("discount", "discount_factor")
    ),
    _option(
        "trial_gamma", "number", "discount of what follows a trial, where the state carries over to the next", 0, 1
    ),
    _option(
        "gae_lambda",
        "number",
        "weight of long returns in the advantages",
        0,
        1,
        source=_GAE,
        also=("lambda", "lam", "gae"),
    ),
    _option(
        "clip_range",
        "number",
        "how far the ratio of new to old probability may move from 1",
        0,
        above=True,
        source=_PPO,
        also=("clip", "cliprange", "epsilon", "eps_clip"),
    ),
    _option(
        "clip_range_vf",
        "number",
        "how far a predicted value may move in one update; none: freely",
        0,
        above=True,
        none=True,
    ),
    _option("normalize_advantage", "truth", "scale advantages to mean 0 and s.d. 1 in each minibatch"),
    _option(
        "ent_coef",
        "number",
        "weight of the entropy of the policy in what is maximised",
        0,
        source="Mnih et al. 2016, arXiv:1602.01783",
        also=("entropy", "ent", "entropy_coef", "beta"),
    ),
    _option(
        "vf_coef", "number", "weight of the error of the predicted values", 0, also=("value_coef", "vf", "critic_coef")
    ),
    _option(
        "max_grad_norm",
        "number",
        "gradients longer than this are shortened to it",
        0,
        above=True,
        also=("clip_grad", "grad_clip", "gradient_clip"),
    ),
    _option(
        "target_kl",
        "number",
        "an update ends where the policy has moved this far (Kullback-Leibler divergence); none: it does not",
        0,
        above=True,
        none=True,
        source=_TRPO,
        also=("kl",),
    ),
    _option(
        "bptt",
        "whole",
        "longest stretch (steps) that gradients flow back through; none: the whole rollout",
        1,
        none=True,
        also=("truncation", "tbptt"),
    ),
    _option("rms_prop_eps", "number", "keeps the denominator of RMSprop from zero", 0, above=True),
    _option(
        "use_rms_prop",
        "truth",
        "RMSprop, as in the paper, instead of Adam",
        source="Mnih et al. 2016, arXiv:1602.01783",
    ),
    _option("seq_len", "whole", "steps of each sequence in a batch", 1, also=("sequence_length", "seqlen")),
    _option("n_updates", "whole", "updates between two looks at behaviour", 1),
    _option(
        "answer_share",
        "number",
        "fraction of a trial's weight on the steps in which an answer is due; none: steps weigh alike",
        0,
        1,
        above=True,
        none=True,
    ),
    _option(
        "loss_weight",
        "table",
        "weight of the steps of named periods, in place of answer_share (others weigh 1)",
        none=True,
    ),
    _option("task_weight", "table", "how often the trials of named tasks are drawn (others 1)", none=True),
    _option("draw", "word", "whether the task is drawn for each trial or each batch", words=("trial", "batch")),
    _option("l1_rate", "number", "penalty on the mean absolute activity of units", 0),
    _option("l2_rate", "number", "penalty on the mean squared activity of units", 0),
    _option("l1_weight", "number", "penalty on the mean absolute weight", 0),
    _option("l2_weight", "number", "penalty on the mean squared weight", 0, also=("weight_decay",)),
    _option(
        "participation",
        "number",
        "penalty on the fraction of dimensions that activity occupies; negative: activity is spread",
        also=("dimensionality",),
    ),
    _option(
        "consolidation",
        "number",
        "elastic weight consolidation: strength with which weights that earlier stages depend on keep their values",
        0,
        source="Kirkpatrick et al. 2017, 10.1073/pnas.1611835114",
        also=("ewc", "ewc_lambda", "elastic_weight_consolidation"),
    ),
    _option(
        "buffer_size", "whole", "steps that are remembered for learning", 1, source=_DQN, also=("replay_size", "memory")
    ),
    _option("learning_starts", "whole", "steps before learning begins", 0),
    _option(
        "tau",
        "number",
        "how far the target network follows at each of its updates (1: a copy)",
        0,
        1,
        source="Lillicrap et al. 2016, arXiv:1509.02971",
    ),
    _option("train_freq", "whole", "steps of each environment between two updates", 1, also=("train_frequency",)),
    _option("gradient_steps", "whole", "gradient steps at each update; -1: as many as steps were taken", -1),
    _option("optimize_memory_usage", "truth", "keep each observation once instead of twice"),
    _option("target_update_interval", "whole", "steps between two updates of the target network", 1, source=_DQN),
    _option("exploration_fraction", "number", "fraction of the run in which exploration falls", 0, 1),
    _option(
        "exploration_initial_eps",
        "number",
        "probability of a random action at the beginning",
        0,
        1,
        also=("epsilon", "eps"),
    ),
    _option("exploration_final_eps", "number", "probability of a random action at the end", 0, 1),
    _option("cg_max_steps", "whole", "steps of the conjugate gradient", 1, source=_TRPO),
    _option("cg_damping", "number", "added to the diagonal of the Fisher matrix", 0, source=_TRPO),
    _option(
        "line_search_shrinking_factor",
        "number",
        "by which the step shrinks at each try of the line search",
        0,
        1,
        above=True,
    ),
    _option("line_search_max_iter", "whole", "most tries of the line search", 1),
    _option("n_critic_updates", "whole", "updates of the predicted values for each of the policy", 1),
    _option("sub_sampling_factor", "whole", "every how many steps are used for the policy", 1),
)
#: Every hyperparameter of a built-in algorithm by its name.
BY_NAME = {option.name: option for option in _DEFINED}
_N_STEPS_OF_RETURN = Option("n_steps", "whole", 1, "steps of reward in the return that is learned from", 1)


_FREE_GRADIENT = dataclasses.replace(
    BY_NAME["max_grad_norm"], none=True, meaning="gradients longer than this are shortened to it; none: they are not"
)


def _with(**defaults: Any) -> tuple[Option, ...]:
    return tuple(BY_NAME[name].with_default(value) for name, value in {"final_rate": FINAL_RATE, **defaults}.items())


def _q_learning(*gradient: Option, **own: Any) -> tuple[Option, ...]:
    return (
        *_with(
            learning_rate=5e-4, buffer_size=50_000, learning_starts=1000, batch_size=128, tau=1.0, gamma=0.99,
            train_freq=4, gradient_steps=1, optimize_memory_usage=False, target_update_interval=2000,
        ),
        _N_STEPS_OF_RETURN,
        *gradient,
        *(BY_NAME[name].with_default(value) for name, value in own.items()),
    )  # fmt: skip


#: Penalties that every recurrent algorithm takes; configurations name those in use.
_PENALTIES = tuple(
    dataclasses.replace(BY_NAME[name], default=0.0, spelled=False)
    for name in ("l1_rate", "l2_rate", "l1_weight", "l2_weight", "participation", "consolidation")
)

_LISTS: dict[str, tuple[Option, ...]] = {
    "recurrent_ppo": (*_with(
        learning_rate=2e-3, n_steps=64, batch_size=512, n_epochs=4, bptt=None, gamma=0.9, trial_gamma=0.0,
        gae_lambda=0.95, clip_range=0.2, clip_range_vf=None, normalize_advantage=True, ent_coef=0.01, vf_coef=0.5,
        max_grad_norm=2.0, target_kl=None,
    ), *_PENALTIES),
    "recurrent_a2c": (*_with(
        learning_rate=3e-3, n_steps=32, gamma=0.99, trial_gamma=0.0, gae_lambda=0.95, normalize_advantage=False,
        ent_coef=0.0, vf_coef=0.5, max_grad_norm=0.5, rms_prop_eps=1e-5,
    ), *_PENALTIES),
    "reinforce": (*_with(
        learning_rate=4e-3, n_steps=64, gamma=0.98, normalize_advantage=True, ent_coef=0.01, vf_coef=0.5,
        max_grad_norm=1.0,
    ), *_PENALTIES),
    "supervised": (*_with(
        learning_rate=1e-2, final_rate=0.01, batch_size=16, seq_len=100, n_updates=20, n_steps=32, max_grad_norm=1.0,
        answer_share=0.5, loss_weight=None, task_weight=None, draw="trial", l1_rate=0.0, l2_rate=0.0, l1_weight=0.0,
        l2_weight=0.0,
    ), *_PENALTIES[-2:]),
    "ppo": _with(
        learning_rate=1e-3, n_steps=128, batch_size=2048, n_epochs=4, gamma=0.99, gae_lambda=0.95, clip_range=0.2,
        clip_range_vf=None, normalize_advantage=True, ent_coef=0.0, vf_coef=0.5, max_grad_norm=0.5, target_kl=None,
    ),
    "a2c": _with(
        learning_rate=7e-4, n_steps=16, gamma=0.99, gae_lambda=1.0, ent_coef=0.0, vf_coef=0.5, max_grad_norm=0.5,
        rms_prop_eps=1e-5, use_rms_prop=True, normalize_advantage=False,
    ),
    "dqn": _q_learning(
        BY_NAME["max_grad_norm"].with_default(10.0),
        exploration_fraction=0.1, exploration_initial_eps=1.0, exploration_final_eps=0.05,
    ),
    "qrdqn": _q_learning(
        _FREE_GRADIENT, exploration_fraction=0.005, exploration_initial_eps=1.0, exploration_final_eps=0.01
    ),
    "trpo": _with(
        learning_rate=1e-3, n_steps=128, batch_size=2048, gamma=0.99, cg_max_steps=15, cg_damping=0.1,
        line_search_shrinking_factor=0.8, line_search_max_iter=10, n_critic_updates=10, gae_lambda=0.95,
        normalize_advantage=True, target_kl=0.01, sub_sampling_factor=1,
    ),
}  # fmt: skip


def hyperparameters(algorithm: str) -> tuple[Option, ...]:
    """Return the hyperparameters of an algorithm, each with the default of the algorithm.

    Args:
        algorithm: a name in `ngym_cli.agents.algorithms.ALGORITHMS`.
    """
    return _LISTS[algorithm]
