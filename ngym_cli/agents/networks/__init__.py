"""Recurrent networks by name. The table imports no torch; `NetworkSpec.load` and users' own cells do.

Options are declared in `ngym_cli.agents.networks.options` and checked before a network is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from pydantic.fields import FieldInfo

from ngym_cli.agents import own
from ngym_cli.agents.networks.options import (
    CommonOptions,
    CTRNNOptions,
    EIRNNOptions,
    GRUOptions,
    LSTMOptions,
    MLPOptions,
    RareOptions,
    RNNOptions,
)
from ngym_cli.config import options, parts
from ngym_cli.config.values import Values
from ngym_cli.errors import UserError, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from ngym_cli.agents.networks.base import RecurrentNetwork

__all__ = ["NETWORKS", "NetworkSpec", "find_network"]

#: Options of every recurrent network; the second ones are left alone by most runs.
COMMON, RARE = CommonOptions.model_fields, RareOptions.model_fields


@dataclass(frozen=True)
class NetworkSpec:
    """Selectable network with source and options.

    Attributes:
        own: options that not every recurrent network has, or that have other defaults.
        own_class: class of a user's own cell; None for built-in networks.
    """

    name: str
    summary: str
    paper: str
    path: str
    own: dict[str, FieldInfo]
    recurrent: bool = True
    own_class: type | None = None

    def load(self) -> Callable[..., RecurrentNetwork]:
        """Import the network's class, called with features, units, layers and options (this imports torch)."""
        if self.own_class is not None:
            from ngym_cli.agents.networks.cell import build_network

            return partial(build_network, self.own_class, self.name)
        return resolve_name(self.path)

    @cached_property
    def described(self) -> dict[str, FieldInfo]:
        """Options that can be set."""
        if not self.recurrent:
            return self.own
        return {**COMMON, **self.own, **{name: field for name, field in RARE.items() if name not in self.own}}

    @cached_property
    def defaults(self) -> Values:
        """Default of each of the network's own options."""
        return options.defaults(self.own)

    @cached_property
    def options(self) -> Values:
        """Default of every option."""
        return options.defaults(self.described)


BUILT_IN = (
    NetworkSpec(
        "lstm",
        "long short-term memory, gates that hold and release a cell state",
        "Hochreiter & Schmidhuber 1997, 10.1162/neco.1997.9.8.1735",
        "ngym_cli.agents.networks.built_in:LSTM",
        LSTMOptions.model_fields,
    ),
    NetworkSpec(
        "gru",
        "gated recurrent units, two gates and one state",
        "Cho et al. 2014, arXiv:1406.1078",
        "ngym_cli.agents.networks.built_in:GRU",
        GRUOptions.model_fields,
    ),
    NetworkSpec(
        "rnn",
        "plain recurrent network of tanh or rectified units",
        "Elman 1990, 10.1207/s15516709cog1402_1",
        "ngym_cli.agents.networks.built_in:RNN",
        RNNOptions.model_fields,
    ),
    NetworkSpec(
        "ctrnn",
        "leaky rate units with a time constant in ms and private recurrent noise",
        "Yang, Joglekar, Song, Newsome & Wang 2019, 10.1038/s41593-018-0310-2",
        "ngym_cli.agents.networks.built_in:CTRNN",
        CTRNNOptions.model_fields,
    ),
    NetworkSpec(
        "ei_rnn",
        "leaky rate units, each purely excitatory or inhibitory (Dale's law)",
        "Song, Yang & Wang 2016, 10.1371/journal.pcbi.1004792",
        "ngym_cli.agents.networks.built_in:EIRNN",
        EIRNNOptions.model_fields,
    ),
    NetworkSpec(
        "mlp",
        "feed-forward network without memory",
        "",
        "stable_baselines3.common.policies:ActorCriticPolicy",
        MLPOptions.model_fields,
        recurrent=False,
    ),
)

NETWORKS: dict[str, NetworkSpec] = {spec.name: spec for spec in BUILT_IN}


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
    found = own.network_options(cls, name)
    if taken := [option for option in found if option in COMMON]:
        raise UserError(f"network {name}: {taken[0]} is an option of every network; give the argument another name")
    return NetworkSpec(name, own.summary_of(cls, "a cell of your own"), "", name, found, own_class=cls)
