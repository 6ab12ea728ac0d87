"""Handing an LSTM agent to plain sb3-contrib."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from gymnasium import spaces
from sb3_contrib import RecurrentPPO as ContribRecurrentPPO
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from ngym_cli.agents.algorithms.recurrent_ppo import RecurrentPPO

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn


def to_contrib(model: RecurrentPPO) -> ContribRecurrentPPO:
    """The same agent as a plain sb3-contrib model, which acts the same and can be trained on.

    Raises:
        ValueError: if the network is not an LSTM, the only one that sb3-contrib has.
    """
    policy, env = model.policy, model.env
    assert env is not None  # our learners are constructed with an environment
    if policy.network_name != "lstm":
        raise ValueError(f"sb3-contrib has LSTM networks only; this agent has {policy.network_name!r}")
    shared = policy.lstm_critic is None
    limit = model.clip_range_vf
    plain = ContribRecurrentPPO(
        "CnnLstmPolicy" if policy.features_extractor_kwargs else "MlpLstmPolicy",
        PlainSpaces(env),
        learning_rate=_rate(model),
        n_steps=model.n_steps,
        batch_size=model.batch_size or model.n_steps * model.n_envs,
        n_epochs=model.n_epochs,
        gamma=model.gamma,
        gae_lambda=model.gae_lambda,
        clip_range=float(model.clip_range(1.0)),
        clip_range_vf=None if limit is None else float(limit(1.0)),
        normalize_advantage=model.normalize_advantage,
        ent_coef=model.ent_coef,
        vf_coef=model.vf_coef,
        max_grad_norm=model.max_grad_norm,
        target_kl=model.target_kl,
        device=model.device,
        policy_kwargs={
            "lstm_hidden_size": policy.lstm_actor.hidden_size,
            "n_lstm_layers": policy.lstm_actor.num_layers,
            "shared_lstm": shared,
            "enable_critic_lstm": not shared,
            "net_arch": policy.net_arch,
            "features_extractor_kwargs": policy.features_extractor_kwargs,
        },
    )
    names = plain.policy.state_dict()  # effective weights: constraints are not handed on
    plain.policy.load_state_dict({name: attrgetter(name)(policy).detach() for name in names})
    plain.num_timesteps = model.num_timesteps
    return plain


def _rate(model: RecurrentPPO) -> float | LinearSchedule:
    """Return the learning rate as a number, or as the library's linear schedule if the rate falls."""
    first, last = float(model.lr_schedule(1.0)), float(model.lr_schedule(0.0))
    return first if first == last else LinearSchedule(first, last, 1.0)


class PlainSpaces(VecEnvWrapper):
    """The same environments with Gymnasium's own spaces, so that a file of the model needs neither package.

    Args:
        venv: a batch of environments.
    """

    def __init__(self, venv: VecEnv) -> None:
        super().__init__(venv, plain_space(venv.observation_space), plain_space(venv.action_space))

    def reset(self) -> VecEnvObs:
        """Reset all environments."""
        return self.venv.reset()

    def step_wait(self) -> VecEnvStepReturn:
        """Step all environments."""
        return self.venv.step_wait()


def plain_space(space: spaces.Space) -> spaces.Space:
    """Return a space without channel names, as an instance of Gymnasium's own class."""
    if isinstance(space, spaces.Box):
        return spaces.Box(space.low, space.high, space.shape, space.dtype.type)
    return spaces.Discrete(int(space.n)) if isinstance(space, spaces.Discrete) else space


def export_to_contrib(model: RecurrentPPO, path: str | Path) -> None:
    """Write a zip file that `sb3_contrib.RecurrentPPO.load` opens without this package."""
    to_contrib(model).save(path)
