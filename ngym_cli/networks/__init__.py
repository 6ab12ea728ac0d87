"""Recurrent networks by name. This table imports no torch; `NetworkSpec.load` does."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

__all__ = ["NETWORKS", "NetworkSpec", "network_spec"]


@dataclass(frozen=True)
class NetworkSpec:
    """What a user may choose: a network, its source and its own options with their defaults."""

    name: str
    summary: str
    paper: str
    path: str
    recurrent: bool = True
    defaults: dict[str, Any] = field(default_factory=dict)

    def load(self) -> type:
        """Import the class behind the name (this imports torch)."""
        module, name = self.path.split(":")
        return getattr(import_module(module), name)


_SPECS = (
    NetworkSpec(
        "lstm",
        "long short-term memory, gates that hold and release a cell state",
        "Hochreiter & Schmidhuber 1997, 10.1162/neco.1997.9.8.1735",
        "ngym_cli.networks.lstm:LSTM",
    ),
    NetworkSpec(
        "gru",
        "gated recurrent units, two gates and one state",
        "Cho et al. 2014, arXiv:1406.1078",
        "ngym_cli.networks.gru:GRU",
    ),
    NetworkSpec(
        "rnn",
        "plain recurrent network of tanh or rectified units",
        "Elman 1990, 10.1207/s15516709cog1402_1",
        "ngym_cli.networks.leaky:RNN",
        defaults={"activation": "tanh"},
    ),
    NetworkSpec(
        "ctrnn",
        "leaky rate units with a time constant in ms and private recurrent noise",
        "Yang, Joglekar, Song, Newsome & Wang 2019, 10.1038/s41593-018-0310-2",
        "ngym_cli.networks.leaky:CTRNN",
        defaults={"activation": "relu", "tau": 100.0, "dt": 100.0, "noise": 0.0},
    ),
    NetworkSpec(
        "ei_rnn",
        "leaky rate units, each purely excitatory or inhibitory (Dale's law)",
        "Song, Yang & Wang 2016, 10.1371/journal.pcbi.1004792",
        "ngym_cli.networks.ei:EIRNN",
        defaults={
            "tau": 100.0,
            "dt": 100.0,
            "noise": 0.0,
            "inhibitory": 0.2,
            "density": 1.0,
            "mask": None,
        },
    ),
    NetworkSpec(
        "mlp",
        "feed-forward network without memory",
        "",
        "stable_baselines3.common.policies:ActorCriticPolicy",
        recurrent=False,
    ),
)
NETWORKS: dict[str, NetworkSpec] = {spec.name: spec for spec in _SPECS}


def network_spec(name: str) -> NetworkSpec:
    """The spec called `name`; a ValueError names the known ones."""
    if name not in NETWORKS:
        raise ValueError(f"unknown network {name!r}; known networks: {', '.join(NETWORKS)}")
    return NETWORKS[name]
