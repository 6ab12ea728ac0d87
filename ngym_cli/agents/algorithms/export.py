"""Handing an LSTM agent to plain sb3-contrib."""

from __future__ import annotations

from pathlib import Path

from sb3_contrib import RecurrentPPO as ContribRecurrentPPO

from ngym_cli.agents.algorithms.recurrent_ppo import RecurrentPPO


def to_contrib(model: RecurrentPPO) -> ContribRecurrentPPO:
    """The same agent as a plain sb3-contrib model, which acts the same and can be trained on.

    Raises:
        ValueError: if the network is not an LSTM, the only one that sb3-contrib has.
    """
    policy = model.policy
    if policy.network_name != "lstm":
        raise ValueError(f"sb3-contrib has LSTM networks only; this agent has {policy.network_name!r}")
    shared = policy.lstm_critic is None
    plain = ContribRecurrentPPO(
        "CnnLstmPolicy" if policy.features_extractor_kwargs else "MlpLstmPolicy",
        model.env,  # type: ignore[arg-type]
        n_steps=model.n_steps,
        batch_size=model.batch_size,
        gamma=model.gamma,
        gae_lambda=model.gae_lambda,
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
    plain.policy.load_state_dict(policy.state_dict())
    return plain


def export_to_contrib(model: RecurrentPPO, path: str | Path) -> None:
    """Write a zip file that `sb3_contrib.RecurrentPPO.load` opens without this package."""
    to_contrib(model).save(path)
