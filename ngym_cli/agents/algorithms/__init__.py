"""Learning algorithms by name, from ``algorithms.toml``; only `AlgorithmSpec.load` and own algorithms import torch."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from pydantic.fields import FieldInfo

from neurogym.messages.plain_data import plain
from ngym_cli.agents import user_classes
from ngym_cli.agents.networks import NETWORKS, NetworkSpec
from ngym_cli.config import extensions, options
from ngym_cli.config.values import Values
from ngym_cli.errors import UserError, unknown

if TYPE_CHECKING:
    from gymnasium import Space

__all__ = ["ALGORITHMS", "AlgorithmSpec", "check_pairing", "check_ranges", "find_algorithm"]

RECURRENT_NETWORKS = tuple(name for name, spec in NETWORKS.items() if spec.recurrent)
LONGEST_ROLLOUT = 256
SMALLEST_IMAGE = 36  # pixels a side that the convolutional front end needs


@dataclass(frozen=True)
class AlgorithmSpec:
    """Selectable algorithm with compatible networks and action spaces, and with defaults.

    Attributes:
        actions: action spaces that it handles, of "discrete" and "box".
        networks: networks that it trains, the default first.
        n_envs: environments stepped side by side by default.
        timesteps: steps to learn from by default.
        supervised: whether it learns from the labels (the right actions) of trial-based tasks instead of reward.
        hyperparameters: hyperparameters that can be set.
        own_class: class of a user's own algorithm; None for built-in algorithms.
    """

    name: str
    summary: str
    paper: str
    path: str
    networks: tuple[str, ...]
    hyperparameters: dict[str, FieldInfo]
    actions: Sequence[str] = ("discrete", "box")
    n_envs: int = 64
    timesteps: int = 400_000
    supervised: bool = False
    own_class: type | None = None

    @cached_property
    def defaults(self) -> Values:
        """The default of every hyperparameter that configurations always name."""
        return options.defaults(self.hyperparameters, explicit=True)

    @cached_property
    def recurrent(self) -> bool:
        """Whether the algorithm trains networks with memory."""
        return self.networks[0] in RECURRENT_NETWORKS

    @property
    def knows_final_rate(self) -> bool:
        """Whether the class itself lets the learning rate fall, by an argument ``final_rate``."""
        if self.own_class is None:
            return self.supervised
        parameters, _ = user_classes.constructor_parameters(self.own_class)
        return any(parameter.name == "final_rate" for parameter in parameters)

    def rollout_for(self, trial_steps: int) -> dict[str, int]:
        """Defaults for the length of a rollout and the size of a minibatch, so that a rollout holds a whole trial.

        Without one, nothing is learned from its beginning to its end. Longer than `LONGEST_ROLLOUT` it is not made.

        Args:
            trial_steps: steps of the longest trials.
        """
        if not self.recurrent or self.supervised:
            return {}
        defaults = self.defaults
        times = max(1, -(-min(trial_steps, LONGEST_ROLLOUT) // defaults.get("n_steps", LONGEST_ROLLOUT)))
        return {name: times * defaults[name] for name in ("n_steps", "batch_size") if name in defaults}

    def load(self) -> type:
        """Import the class (this imports torch)."""
        return resolve_name(self.path) if self.own_class is None else self.own_class


def _built_in(name: str, recurrent: bool = False, **row: Any) -> AlgorithmSpec:
    """Return the entry of a built-in algorithm from its row in the file."""
    chosen, penalties = row.pop("hyperparameters"), FILE["penalties"] if recurrent else {}
    chosen = chosen | {name: default for name, default in penalties.items() if name not in chosen}
    networks = RECURRENT_NETWORKS if recurrent else ("mlp",)
    fields = options.options(FILE["hyperparameters"], chosen)
    return AlgorithmSpec(name, networks=networks, hyperparameters=fields, **row)


FILE = tomllib.loads(Path(__file__).with_name("algorithms.toml").read_text(encoding="utf-8"))
ALGORITHMS: dict[str, AlgorithmSpec] = {name: _built_in(name, **row) for name, row in FILE["algorithms"].items()}

#: Hyperparameters of built-in algorithms, without defaults.
HYPERPARAMETERS = {name: options.field(row) for name, row in FILE["hyperparameters"].items()}


def check_ranges(**values: object) -> None:
    """Refuse hyperparameters of a learner that is made without a configuration, by the table of all hyperparameters.

    Raises:
        ValueError: names the first that is out of range.
    """
    for name, value in values.items():
        try:
            options.read(name, HYPERPARAMETERS[name], plain(value))
        except UserError as error:
            raise ValueError(str(error)) from None


def find_algorithm(name: str) -> AlgorithmSpec:
    """Return the entry of an algorithm; torch is imported for a user's own only.

    Raises:
        UserError: if there is none, with the nearest name, or a user's own cannot be imported or used.
    """
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    cls = user_classes.algorithm_class(name)
    if cls is None:
        raise unknown("algorithm", name, [*ALGORITHMS, *extensions.offered("algorithm")])
    return _own_spec(name, cls)


def _own_spec(name: str, cls: type) -> AlgorithmSpec:
    """Return the entry of a user's own algorithm, with the settings of the built-in algorithm that is extended."""
    classes = {spec.load(): spec for spec in ALGORITHMS.values()}
    base = next((parent for parent in cls.__mro__ if parent in classes), None)
    if base is None and any(parent.__name__ == "RecurrentPPO" for parent in cls.__mro__):
        reason = "whose recurrent state is private; extend ngym_cli.RecurrentPPO instead"
        raise UserError(f"algorithm {name}: extends sb3-contrib's RecurrentPPO, {reason}")
    nearest = classes[base] if base is not None else ALGORITHMS["ppo"]
    usual = (
        nearest.hyperparameters
        if base is not None
        else {"final_rate": FieldInfo.merge_field_infos(HYPERPARAMETERS["final_rate"], default=1.0)}
    )
    fields = user_classes.algorithm_options(cls, base, usual, HYPERPARAMETERS)
    if base is None and "learning_rate" in fields:
        fields |= usual
    off_policy = base is None and "buffer_size" in fields
    return replace(
        nearest,
        name=name,
        summary=user_classes.summary_of(cls, "an algorithm of your own"),
        paper="",
        path=name,
        n_envs=8 if off_policy else nearest.n_envs,
        own_class=cls,
        hyperparameters=fields,
    )


def check_pairing(
    algorithm: AlgorithmSpec, network: NetworkSpec | None, observation_space: Space[object], action_space: Space[object]
) -> None:
    """Refuse incompatible combinations of algorithm, network and task before anything is built.

    Args:
        algorithm: entry of the algorithm.
        network: entry of the network; None for the algorithm's default.
        observation_space: of one environment (Gymnasium).
        action_space: of one environment (Gymnasium).

    Raises:
        UserError: says in a single line what does not fit and what would.
    """
    from gymnasium.spaces import Box, Discrete

    if network is not None and network.recurrent != algorithm.recurrent:
        raise UserError(f"{algorithm.name} does not train {network.name!r}; it trains {', '.join(algorithm.networks)}")
    kind = type(action_space).__name__.lower()
    if kind not in algorithm.actions:
        fitting = [spec.name for spec in ALGORITHMS.values() if kind in spec.actions]
        advice = f"use one of {', '.join(fitting)}" if fitting else "no algorithm takes them"
        raise UserError(f"{algorithm.name} does not take {type(action_space).__name__} actions; {advice}")
    if isinstance(action_space, Discrete) and action_space.start != 0:
        raise UserError(f"discrete actions must count from 0, not from {action_space.start}")
    if not isinstance(observation_space, Box | Discrete):
        raise UserError(f"observations must be Box or Discrete, not {type(observation_space).__name__}")
    shape = observation_space.shape or ()
    image = len(shape) == 3 and observation_space.dtype == "uint8"
    if network is not None and network.spatial and not image:
        raise UserError(f"network {network.name} reads places of images; expected images, got observations {shape}")
    if image and sorted(shape)[1] < SMALLEST_IMAGE:
        raise UserError(f"images must be at least {SMALLEST_IMAGE} pixels high and wide, got {shape}")
