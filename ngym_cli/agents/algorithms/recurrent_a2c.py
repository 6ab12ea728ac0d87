"""Advantage actor-critic with a recurrent network (Mnih et al. 2016, arXiv:1602.01783; Wang et al. 2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ngym_cli.agents.algorithms.recurrent_ppo import RecurrentPPO
from ngym_cli.agents.networks.optimizers import RMSprop
from ngym_cli.agents.networks.policy import RecurrentPolicy

if TYPE_CHECKING:
    from stable_baselines3.common.type_aliases import Schedule
    from stable_baselines3.common.vec_env import VecEnv


class RecurrentA2C(RecurrentPPO):
    """Advantage actor-critic: a single RMSprop step per short rollout, with the state kept between rollouts.

    This is PPO with one epoch of one minibatch: the probability ratio is then 1, nothing is clipped, and the gradient
    is that of the plain policy gradient (Huang et al. 2022, arXiv:2205.09123).

    Args:
        policy: as for `RecurrentPPO`.
        env: a vectorised environment.
        learning_rate: step size, or a schedule of it.
        n_steps: length of a rollout; gradients flow back at most this far.
        normalize_advantage: scale advantages to unit variance.
        rms_prop_eps: keeps RMSprop's denominator from zero.
        policy_kwargs: chooses the network; an `optimizer_class` in it replaces RMSprop.
        kwargs: gamma, gae_lambda, ent_coef, vf_coef, max_grad_norm, seed and the like.
    """

    def __init__(
        self,
        policy: str | type[RecurrentPolicy],
        env: VecEnv,
        learning_rate: float | Schedule = 1e-3,
        n_steps: int = 32,
        normalize_advantage: bool = False,
        rms_prop_eps: float = 1e-5,
        policy_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        policy_kwargs = dict(policy_kwargs or {})
        if "optimizer_class" not in policy_kwargs:
            policy_kwargs["optimizer_class"] = RMSprop
            policy_kwargs["optimizer_kwargs"] = {"alpha": 0.99, "eps": rms_prop_eps}
        super().__init__(
            policy,
            env,
            learning_rate=learning_rate,
            n_steps=n_steps,
            batch_size=None,
            n_epochs=1,
            normalize_advantage=normalize_advantage,
            policy_kwargs=policy_kwargs,
            **kwargs,
        )
