"""Compiled agents: act on batches of environments, find gradients of minibatches, and step down these."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from neurogym import kernels
from ngym_cli import processes
from ngym_cli.agents.compiled.network import AgentSizes, share_pass
from ngym_cli.agents.sequences import Sequences

#: Arrays and coefficients of a call, by the names in `python.c`.
Arguments = Mapping[str, object]

#: Arguments of an update in which no Adam step is taken.
NO_STEP: Arguments = dict.fromkeys(("rate", "keep_mean", "keep_square", "small", "most"), 0.0)
#: Results of each minibatch: five sums over its steps, the penalty on rates, and the number of steps learned from.
N_RESULTS = 7


class CompiledAgent:
    """Agent whose passes over batches of environments and sequences are compiled.

    Args:
        sizes: dimensions of the agent.
        places: position and size of each weight tensor in the vector of all parameters (2, tensor); empty if some
            weights are not parameters.
        n_parameters: numbers in the vector of all parameters.

    Attributes:
        weights: numbers of all weights, which the caller writes before `prepare` and `gradient`: for each network and
            layer those of h (gate * unit, unit), of the inputs (gate * unit, input) and two biases (gate * unit); for
            each read-out and its layers (out, in) and a bias (out); logarithms of standard deviations.
        weight_gradient: the gradient in the same order.
        vector_gradient: the gradient in the order of the vector of all parameters, written by `apply`.
        workspaces: memory to work in, for each thread.
    """

    def __init__(self, sizes: AgentSizes, places: np.ndarray, n_parameters: int) -> None:
        self.sizes, self._places = sizes, places
        self._shape = sizes.as_array()
        self._dimensions = {"shape": self._shape, "alpha": sizes.alpha, "noise_scale": sizes.noise_scale}
        names = ("prepare", "act", "gradient")
        self.functions: dict[str, Callable[..., int]] = {name: kernels.named(name) for name in names}
        n = sizes.buffer_sizes(1, 1, False)[0]
        self.weights, self.weight_gradient = np.empty(n, np.float32), np.empty(n, np.float32)
        self.vector_gradient = np.zeros(n_parameters, np.float32)
        self.workspaces: list[np.ndarray] = []
        self.shares: list[tuple[int, int]] = []

    def reserve(self, n_envs: int, longest: int) -> None:
        """Allocate memory for given numbers of environments and of steps of a sequence."""
        _, packed, sums, work, chunks = self.sizes.buffer_sizes(n_envs, longest, self.sizes.noise_scale > 0)
        n = min(processes.learning_threads(), chunks)
        self._packed = [np.empty(packed, np.float32) for _ in range(n)]  # each thread that learns packs its own
        self.workspaces = [np.empty(work, np.float32) for _ in range(n)]
        self._sums = np.empty((chunks, sums), np.float32)

    def prepare(self, columns: Arguments, n_envs: int) -> None:
        """Pack the present weights, and act into these arrays of a rollout until the next call.

        Args:
            columns: arrays (time, environment, ...) of the rollout.
            n_envs: environments.
        """
        self.functions["prepare"](shape=self._shape, weights=self.weights, packed=self._packed[0])
        n = min(len(self.workspaces), processes.useful_threads(n_envs * len(self.weights), n_envs))
        bounds = [n_envs * k // n for k in range(n + 1)]
        self.shares = list(itertools.pairwise(bounds))  # environments of each thread
        arguments = {**self._dimensions, **columns, "packed": self._packed[0]}
        self._acting: list[Arguments] = [
            {**arguments, "work": work, "begin": begin, "end": end}
            for work, (begin, end) in zip(self.workspaces, self.shares, strict=False)
        ]

    def act(self, time: int, draws: np.ndarray) -> None:
        """Take a step: fill actions, preferences, values and log-probabilities, and the states after the step.

        Args:
            time: step of the rollout, whose observations and states are present.
            draws: added to preferences before the largest is chosen, or noise of continuous actions
                (environment, action), float32.
        """
        act = self.functions["act"]
        processes.share_work(lambda arguments: act(time=time, draws=draws, **arguments), self._acting)

    def update(self, minibatches: Sequence[Sequences], columns: Arguments, adam: Arguments = NO_STEP) -> np.ndarray:
        """Find the gradient of each minibatch, and take a step of Adam down it, with all threads.

        Args:
            minibatches: sequences of the rollout, of each minibatch.
            columns: arrays of the rollout and coefficients of the objective.
            adam: vector of all parameters, moments and coefficients of Adam, and the length that longer gradients are
                shortened to; without arrays only the gradient of the present `weights` is found.

        Returns:
            Sums over steps of each minibatch that was looked at (minibatch, `N_RESULTS`). `weight_gradient` holds the
            gradient of the last.
        """
        results, ordered = np.empty((len(minibatches), N_RESULTS)), [each.longest_first() for each in minibatches]
        n = len(self.workspaces)
        counts = np.zeros(n, np.int64)
        arguments = {
            **self._dimensions,
            **{name: np.concatenate([vars(each)[name] for each in ordered]) for name in ("first", "length")},
            "begin": np.cumsum([0, *map(len, ordered)]),
            **{"weights": self.weights, "place": self._places[0], "size": self._places[1]},
            **{"slopes": self.weight_gradient, "gradient": self.vector_gradient},
            **{"sums": self._sums, "numbers": results},
            **columns,
            **adam,
            "threads": n,
        }

        def take_part(rank: int, team: np.ndarray) -> None:
            memory = {"packed": self._packed[rank], "work": self.workspaces[rank], "team": team}
            counts[rank] = self.functions["gradient"](rank=rank, **memory, **arguments)

        share_pass(n, take_part)
        return results[: counts[0]]


def apply_adam(adam: Arguments, gradient: np.ndarray, max_norm: float) -> None:
    """Take a step of Adam.

    Args:
        adam: vector of all parameters, moments and coefficients.
        gradient: float32, of the size of the vector.
        max_norm: length that longer gradients are shortened to.
    """
    weights = {"weights" if name == "vector" else name: value for name, value in adam.items()}
    kernels.named("adam")(gradient=gradient, most=max_norm, **weights)
