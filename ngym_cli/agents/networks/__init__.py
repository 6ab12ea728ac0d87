"""Networks by name, from ``networks.toml``; only `NetworkSpec.load` and own cells import torch."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from pydantic.fields import FieldInfo

from ngym_cli.agents import user_classes
from ngym_cli.config import extensions, options
from ngym_cli.config.values import Values
from ngym_cli.errors import UserError, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from ngym_cli.agents.networks.base import RecurrentNetwork


__all__ = ["NETWORKS", "NetworkSpec", "find_network"]

#: Features of each place of an image, of networks that read places.
SPATIAL_CHANNELS = 32

FILE = tomllib.loads(Path(__file__).with_name("networks.toml").read_text(encoding="utf-8"))
#: Options of every recurrent network; the second ones are left alone by most runs.
COMMON, RARE = (options.options(FILE["options"], FILE[part]) for part in ("common", "rare"))


@dataclass(frozen=True)
class NetworkSpec:
    """Selectable network with source and options.

    Attributes:
        own: options that not every recurrent network has, or that have other defaults.
        own_class: class of a user's own cell; None for built-in networks.
        spatial: whether the network reads features of each place of an image (`SPATIAL_CHANNELS`), not of the image.
    """

    name: str
    summary: str
    paper: str
    path: str
    own: dict[str, FieldInfo]
    recurrent: bool = True
    own_class: type | None = None
    spatial: bool = False

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


NETWORKS: dict[str, NetworkSpec] = {
    name: NetworkSpec(name, **{**row, "own": options.options(FILE["options"], row["own"])})
    for name, row in FILE["networks"].items()
}


def find_network(name: str) -> NetworkSpec:
    """Return the entry of a network; torch is imported for a user's own cell only.

    Raises:
        UserError: if there is none, with the nearest name, or a user's own cell cannot be imported or is not a cell.
    """
    if name in NETWORKS:
        return NETWORKS[name]
    cls = user_classes.network_class(name)
    if cls is None:
        raise unknown("network", name, [*NETWORKS, *extensions.offered("network")])
    fields = user_classes.network_options(cls, name)
    if reserved := [option for option in fields if option in COMMON]:
        raise UserError(f"network {name}: {reserved[0]} is an option of every network; give the argument another name")
    return NetworkSpec(name, user_classes.summary_of(cls, "a cell of your own"), "", name, fields, own_class=cls)
