"""Advantage actor-critic with a recurrent network (Mnih et al. 2016, arXiv:1602.01783), and REINFORCE.

REINFORCE learns from whole trials, with a learned baseline (Song, Yang & Wang 2017, doi:10.7554/eLife.21492).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from ngym_cli.agents.algorithms.recurrent_ppo import RecurrentPPO
from ngym_cli.agents.algorithms.rollout import Rollout
from ngym_cli.agents.networks.optimizer import RMSprop
from ngym_cli.agents.networks.policy import RecurrentPolicy

if TYPE_CHECKING:
    from stable_baselines3.common.type_aliases import Schedule


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


class Reinforce(RecurrentPPO):
    """Policy gradient with the return to the end of the trial, less a baseline that a critic network predicts.

    Steps of trials that have not ended within the rollout have no return yet and are not learned from. Without trials
    the rollout counts as one, closed by the baseline's prediction.

    With ``gamma=1`` a trial that a broken fixation ends at a cost returns the same however long fixation was held, and
    an agent that cannot yet hold it to the end learns nothing; any discount makes holding it longer the better.

    Args:
        policy: as for `RecurrentPPO`. The paper gives the baseline its own network (`shared=False`); with one for both
            the gradient of the baseline's error shapes it too, and random dots are learned several times sooner.
        env: a vectorised environment.
        n_steps: length of a rollout; several trials.
        kwargs: learning_rate, gamma, ent_coef, vf_coef, max_grad_norm, seed and the like.
    """

    def __init__(self, policy: str | type[RecurrentPolicy], env: VecEnv, n_steps: int = 128, **kwargs: Any) -> None:
        super().__init__(
            policy,
            env,
            n_steps=n_steps,
            batch_size=None,
            n_epochs=1,
            gae_lambda=1.0,
            inter_trial_discount=0.0,
            **kwargs,
        )

    def collect_rollouts(  # type: ignore[override]
        self, env: VecEnv, callback: BaseCallback, rollout_buffer: Rollout, n_rollout_steps: int
    ) -> bool:
        """Fill the rollout and mark the steps of trials that ended within the rollout."""
        going_on = super().collect_rollouts(env, callback, rollout_buffer, n_rollout_steps)
        ended = rollout_buffer.starts[1:] | rollout_buffer.ends
        rollout_buffer.counts[:] = np.logical_or.accumulate(ended[::-1])[::-1] if ended.any() else True
        return going_on
