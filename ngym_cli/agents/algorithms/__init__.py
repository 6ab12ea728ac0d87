"""Learning algorithms by name. The table imports no torch; `AlgorithmSpec.load` and users' own algorithms do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from pydantic.fields import FieldInfo

from neurogym.messages.plain_data import plain
from ngym_cli.agents import own
from ngym_cli.agents.networks import NETWORKS, TABLES, find_network
from ngym_cli.config import options, parts
from ngym_cli.config.values import Values
from ngym_cli.errors import UserError, unknown

if TYPE_CHECKING:
    from gymnasium import Space

__all__ = ["ALGORITHMS", "AlgorithmSpec", "check_pairing", "check_ranges", "find_algorithm"]

RECURRENT = tuple(name for name, spec in NETWORKS.items() if spec.recurrent)
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
        needs_truth: whether it learns from the ground truth of trial-based tasks instead of reward.
        hyperparameters: hyperparameters that can be set.
        own_class: class of a user's own algorithm; None for built-in algorithms.
    """

    name: str
    summary: str
    paper: str
    path: str
    networks: tuple[str, ...]
    actions: frozenset[str]
    hyperparameters: dict[str, FieldInfo]
    n_envs: int = 64
    timesteps: int = 400_000
    needs_truth: bool = False
    own_class: type | None = None

    @property
    def defaults(self) -> Values:
        """The default of every hyperparameter that configurations always name."""
        return options.defaults(self.hyperparameters, spelled=True)

    @property
    def recurrent(self) -> bool:
        """Whether the algorithm trains networks with memory."""
        return self.networks[0] in RECURRENT

    def rollout_for(self, trial_steps: int) -> dict[str, int]:
        """Defaults for the length of a rollout and the size of a minibatch, so that a rollout holds a whole trial.

        Without one, nothing is learned from its beginning to its end. Longer than `LONGEST_ROLLOUT` it is not made.

        Args:
            trial_steps: steps of the longest trials.
        """
        if not self.recurrent or self.needs_truth:
            return {}
        defaults = self.defaults
        times = max(1, -(-min(trial_steps, LONGEST_ROLLOUT) // defaults.get("n_steps", LONGEST_ROLLOUT)))
        return {name: times * defaults[name] for name in ("n_steps", "batch_size") if name in defaults}

    def load(self) -> type:
        """Import the class (this imports torch)."""
        return resolve_name(self.path) if self.own_class is None else self.own_class


def _built_in(name: str, row: Values) -> AlgorithmSpec:
    """Return the entry of a built-in algorithm from the row in ``learners.toml``."""
    rare = {each: HYPERPARAMETERS[each]["default"] for each in row.get("rare", ())}
    usual = options.options(HYPERPARAMETERS, row["hyperparameters"])
    fields = {**usual, **options.options(HYPERPARAMETERS, rare, spelled=False)}
    networks = RECURRENT if row.get("memory") else ("mlp",)
    actions = frozenset(row.get("actions", ("discrete", "box")))
    settings = {key: value for key, value in row.items() if key not in ("rare", "memory")}
    return AlgorithmSpec(name, **{**settings, "hyperparameters": fields, "networks": networks, "actions": actions})


#: Hyperparameters of built-in algorithms, mostly without a default.
HYPERPARAMETERS: dict[str, options.OptionRow] = TABLES["hyperparameters"]

ALGORITHMS: dict[str, AlgorithmSpec] = {name: _built_in(name, row) for name, row in TABLES["algorithms"].items()}


def check_ranges(**given: object) -> None:
    """Refuse hyperparameters of a learner that is made without a configuration, by the table of all hyperparameters.

    Raises:
        ValueError: names the first that is out of range.
    """
    for name, value in given.items():
        try:
            options.read(name, options.option({**HYPERPARAMETERS[name], "default": None}), plain(value))
        except UserError as error:
            raise ValueError(str(error)) from None


def find_algorithm(name: str) -> AlgorithmSpec:
    """Return the entry of an algorithm; torch is imported for a user's own only.

    Raises:
        UserError: if there is none, with the nearest name, or a user's own cannot be imported or used.
    """
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    cls = own.algorithm_class(name)
    if cls is None:
        raise unknown("algorithm", name, [*ALGORITHMS, *parts.offered("algorithm")])
    return _own_spec(name, cls)


def _own_spec(name: str, cls: type) -> AlgorithmSpec:
    """Return the entry of a user's own algorithm, with the settings of the built-in algorithm that is extended."""
    classes = {spec.load(): spec for spec in ALGORITHMS.values()}
    base = next((parent for parent in cls.__mro__ if parent in classes), None)
    if base is None and any(parent.__name__ == "RecurrentPPO" for parent in cls.__mro__):
        why = "whose recurrent state is private; extend ngym_cli.RecurrentPPO instead"
        raise UserError(f"algorithm {name}: extends sb3-contrib's RecurrentPPO, {why}")
    nearest = classes[base] if base is not None else ALGORITHMS["ppo"]
    usual = nearest.hyperparameters if base is not None else options.options(HYPERPARAMETERS, {"final_rate": 1.0})
    fields = own.algorithm_options(cls, base, usual, HYPERPARAMETERS)
    if base is None and "learning_rate" in fields:
        fields |= usual
    off_policy = base is None and "buffer_size" in fields
    return replace(
        nearest,
        name=name,
        summary=own.summary_of(cls, "an algorithm of your own"),
        paper="",
        path=name,
        n_envs=8 if off_policy else nearest.n_envs,
        own_class=cls,
        hyperparameters=fields,
    )


def check_pairing(
    algorithm: str, network: str | None, observation_space: Space[object], action_space: Space[object]
) -> None:
    """Refuse incompatible combinations of algorithm, network and task before anything is built.

    Args:
        algorithm: a name in `ALGORITHMS` or a user's own.
        network: a name in `NETWORKS` or a user's own; None for the algorithm's default.
        observation_space: of one environment (Gymnasium).
        action_space: of one environment (Gymnasium).

    Raises:
        UserError: says in a single line what does not fit and what would.
    """
    from gymnasium.spaces import Box, Discrete

    spec = find_algorithm(algorithm)
    if network is not None and find_network(network).recurrent != spec.recurrent:
        raise UserError(f"{algorithm} does not train {network!r}; it trains {', '.join(spec.networks)}")
    kind = type(action_space).__name__.lower()
    if kind not in spec.actions:
        fitting = [other.name for other in ALGORITHMS.values() if kind in other.actions]
        advice = f"use one of {', '.join(fitting)}" if fitting else "no algorithm takes them"
        raise UserError(f"{algorithm} does not take {type(action_space).__name__} actions; {advice}")
    if isinstance(action_space, Discrete) and action_space.start != 0:
        raise UserError(f"discrete actions must count from 0, not from {action_space.start}")
    if not isinstance(observation_space, Box | Discrete):
        raise UserError(f"observations must be Box or Discrete, not {type(observation_space).__name__}")
    shape = observation_space.shape or ()
    image = len(shape) == 3 and observation_space.dtype == "uint8"
    if image and sorted(shape)[1] < SMALLEST_IMAGE:
        raise UserError(f"images must be at least {SMALLEST_IMAGE} pixels high and wide, got {shape}")
