"""Recurrent networks by name. The table imports no torch; `NetworkSpec.load` and users' own cells do."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pkgutil import resolve_name
from typing import Any

from ngym_cli.agents import own
from ngym_cli.agents.networks import structure
from ngym_cli.agents.options import Option, Values
from ngym_cli.config import parts
from ngym_cli.errors import UserError, unknown

__all__ = ["COMMON", "NETWORKS", "OPTIONS", "NetworkSpec", "find_network"]

#: Options of every recurrent network: stacked layers; one network for actor and critic or one each; hidden layers of an
#: MLP between the network and the heads; how long the untrained agent waits.
COMMON: Values = {"layers": 1, "shared": True, "readout": [], "patience": None}

#: Further options of every recurrent network, which most runs leave alone.
RARE: Values = {"critic_reads": "observations", **structure.DEFAULTS}

#: Description of each option of a network; defaults are the network's own.
OPTIONS: dict[str, Option] = {
    option.name: option
    for option in (
        Option("layers", "whole", 1, "stacked layers", 1, 64, also=("n_layers", "num_layers", "depth")),
        Option("shared", "truth", True, "one network for actor and critic, or one each"),
        Option("readout", "list", [], "units of the hidden layers between the network and the heads",
               also=("net_arch",)),
        Option("critic_reads", "word", "observations", "inputs of a critic of its own (shared=false)",
               words=("observations", "activity"), source="Song, Yang & Wang 2017, 10.7554/eLife.21492",
               spelled=False),
        Option("patience", "number", None, "steps (mean) for which the untrained agent keeps its first action; none: "
               "all actions are equally likely", 1, above=True, none=True),
        Option("memory", "number", None, "time constants (steps) that the gates begin with are spread from 1 to this",
               1, source="Tallec & Ollivier 2018, arXiv:1804.11188"),
        Option("activation", "word", None, "what a unit does with its input", words=("tanh", "relu", "softplus")),
        Option("tau", "number", None, "time constant of the units (ms)", 0, above=True, also=("time_constant",)),
        Option("dt", "number", None, "time step of the task (ms); follows the task", 0, above=True),
        Option("noise", "number", None, "standard deviation of the recurrent noise", 0, also=("sigma_rec", "sigma")),
        *structure.OPTIONS,
    )
}  # fmt: skip


@dataclass(frozen=True)
class NetworkSpec:
    """Selectable network with source, options and defaults.

    Attributes:
        own_class: class of a user's own cell; None for built-in networks.
    """

    name: str
    summary: str
    paper: str
    path: str
    recurrent: bool = True
    defaults: Values = field(default_factory=dict)
    own_class: type | None = None

    def load(self) -> Any:
        """Import the network's class, called with features, units, layers and options (this imports torch)."""
        if self.own_class is not None:
            from ngym_cli.agents.networks.cell import build_network

            return partial(build_network, self.own_class, self.name)
        return resolve_name(self.path)

    @property
    def described(self) -> tuple[Option, ...]:
        """Options that can be set, with default values."""
        mine = {} if self.own_class is None else {o.name: o for o in own.network_options(self.own_class, self.name)}
        known = {**OPTIONS, **mine}
        return tuple(
            replace(known[name], default=default, spelled=known[name].spelled or name in self.defaults)
            for name, default in self.options.items()
        )

    @property
    def options(self) -> Values:
        """Default of every option, common options included."""
        every = {**COMMON, **self.defaults, **RARE}
        return {**every, **self.defaults} if self.recurrent else dict(self.defaults)


_SPECS = (
    NetworkSpec(
        "lstm",
        "long short-term memory, gates that hold and release a cell state",
        "Hochreiter & Schmidhuber 1997, 10.1162/neco.1997.9.8.1735",
        "ngym_cli.agents.networks.gates:LSTM",
        defaults={"memory": 30.0},
    ),
    NetworkSpec(
        "gru",
        "gated recurrent units, two gates and one state",
        "Cho et al. 2014, arXiv:1406.1078",
        "ngym_cli.agents.networks.gates:GRU",
        defaults={"memory": 30.0},
    ),
    NetworkSpec(
        "rnn",
        "plain recurrent network of tanh or rectified units",
        "Elman 1990, 10.1207/s15516709cog1402_1",
        "ngym_cli.agents.networks.leaky:RNN",
        defaults={"activation": "tanh"},
    ),
    NetworkSpec(
        "ctrnn",
        "leaky rate units with a time constant in ms and private recurrent noise",
        "Yang, Joglekar, Song, Newsome & Wang 2019, 10.1038/s41593-018-0310-2",
        "ngym_cli.agents.networks.leaky:CTRNN",
        defaults={"activation": "relu", "tau": 100.0, "dt": 100.0, "noise": 0.0},
    ),
    NetworkSpec(
        "ei_rnn",
        "leaky rate units, each purely excitatory or inhibitory (Dale's law)",
        "Song, Yang & Wang 2016, 10.1371/journal.pcbi.1004792",
        "ngym_cli.agents.networks.leaky:EIRNN",
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
        defaults={"layers": 2, "activation": "tanh"},
    ),
)
NETWORKS: dict[str, NetworkSpec] = {spec.name: spec for spec in _SPECS}


def find_network(name: str) -> NetworkSpec:
    """Return the entry of a network; torch is imported for a user's own cell only.

    Raises:
        UserError: if there is none, with the nearest name, or a user's own cell cannot be imported or is not a cell.
    """
    if name in NETWORKS:
        return NETWORKS[name]
    cls = own.network_class(name)
    if cls is None:
        raise unknown("network", name, [*NETWORKS, *parts.offered("network")])
    options = own.network_options(cls, name)
    taken = [option.name for option in options if option.name in COMMON]
    if taken:
        raise UserError(f"network {name}: {taken[0]} is an option of every network; give the argument another name")
    defaults = {option.name: option.default for option in options}
    return NetworkSpec(name, own.summary_of(cls, "a cell of your own"), "", name, defaults=defaults, own_class=cls)
