"""Recurrent networks by name. The table imports no torch; `NetworkSpec.load` and users' own cells do.

Options are declared in ``learners.toml`` and checked by `ngym_cli.config.options` before a network is made.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from pydantic.fields import FieldInfo

from ngym_cli.agents import own
from ngym_cli.config import options, parts
from ngym_cli.config.values import Values
from ngym_cli.errors import UserError, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from ngym_cli.agents.networks.base import RecurrentNetwork

__all__ = ["NETWORKS", "NetworkSpec", "find_network"]

#: Tables of algorithms, networks and options.
TABLES: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).parents[1].joinpath("learners.toml").read_text(encoding="utf-8")
)

#: Options of every recurrent network; the second ones are left alone by most runs.
COMMON = options.options(TABLES["network_options"], TABLES["common"])
RARE = options.options(TABLES["network_options"], TABLES["rare"], spelled=False)


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

    @property
    def described(self) -> dict[str, FieldInfo]:
        """Options that can be set."""
        if not self.recurrent:
            return self.own
        return {**COMMON, **self.own, **{name: field for name, field in RARE.items() if name not in self.own}}

    @property
    def defaults(self) -> Values:
        """Default of each of the network's own options."""
        return options.defaults(self.own)

    @property
    def options(self) -> Values:
        """Default of every option."""
        return options.defaults(self.described)


NETWORKS: dict[str, NetworkSpec] = {
    name: NetworkSpec(name, **{**row, "own": options.options(TABLES["network_options"], row["own"])})
    for name, row in TABLES["networks"].items()
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
    found = own.network_options(cls, name)
    if taken := [option for option in found if option in COMMON]:
        raise UserError(f"network {name}: {taken[0]} is an option of every network; give the argument another name")
    return NetworkSpec(name, own.summary_of(cls, "a cell of your own"), "", name, found, own_class=cls)
