"""Recurrent networks by name. The table imports no torch; `NetworkSpec.load` and users' own cells do.

The ranges of options in ``learners.toml`` are checked by `ngym_cli.agents.options`, before a network is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pkgutil import resolve_name
from typing import Any

from ngym_cli.agents import own
from ngym_cli.agents.options import Option, Values, read_options, tables
from ngym_cli.config import parts
from ngym_cli.errors import UserError, unknown

__all__ = ["NETWORKS", "NetworkSpec", "find_network"]

#: Options of every recurrent network; the second ones are left alone by most runs.
COMMON = read_options("network_options", tables()["common"])
RARE = read_options("network_options", tables()["rare"], spelled=False)


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
    own: tuple[Option, ...]
    recurrent: bool = True
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
        rare = (option for option in RARE if option.name not in self.defaults)
        return (*COMMON, *self.own, *rare) if self.recurrent else self.own

    @property
    def defaults(self) -> Values:
        """Default of each of the network's own options."""
        return {option.name: option.default for option in self.own}

    @property
    def options(self) -> Values:
        """Default of every option."""
        return {option.name: option.default for option in self.described}


NETWORKS: dict[str, NetworkSpec] = {
    name: NetworkSpec(name, **{**row, "own": read_options("network_options", row["own"])})
    for name, row in tables()["networks"].items()
}


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
    taken = [option.name for option in options if option.name in tables()["common"]]
    if taken:
        raise UserError(f"network {name}: {taken[0]} is an option of every network; give the argument another name")
    return NetworkSpec(name, own.summary_of(cls, "a cell of your own"), "", name, options, own_class=cls)
