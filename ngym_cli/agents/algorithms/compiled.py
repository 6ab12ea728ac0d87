"""Acting and gradients in compiled passes (`agent.c`), for agents on the CPU whose observations are flat.

Other agents, for example with image observations, act in NumPy and learn by automatic differentiation, which spends
more time on calls than on arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import compress
from math import inf

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import FlattenExtractor
from torch import Tensor, nn

from neurogym import kernels
from ngym_cli.agents import threads
from ngym_cli.agents.algorithms.rollout import Minibatches, PPOSettings, Rollout, Segments
from ngym_cli.agents.networks import loops
from ngym_cli.agents.networks.policy import RecurrentPolicy

BOARD, ENDED = 96, -1  #: numbers through which threads share an update; the first of them when it has ended
ACTIVATIONS: tuple[type[nn.Module], ...] = (nn.Tanh, nn.ReLU)  #: of read-outs, in the order of `agent.h`
MOST_LAYERS, MOST_HIDDEN = 8, 4  #: recurrent layers, hidden layers of a read-out
#: Arguments of an update in which no Adam step is taken.
NO_STEP = dict.fromkeys(("rate", "keep_mean", "keep_square", "small", "most"), 0.0)
NUMBERS = 6  #: results of an update for each minibatch: five sums over its steps, and the number of steps learned from


class Compiled:
    """An agent of which gradients are found in a compiled pass.

    Args:
        policy: a policy without an `obstacle`.
        valued: whether values are learned as well as actions; if not, the critic's weights have no part in it.

    Attributes:
        sizes: agent dimensions, as read by `parse_agent` in `fused.c`.
        dimensions: arguments of every compiled function that describe the agent.
        weights: in the order of `agent.c`.
        underlying: parameters that some of these are computed from.
        direct: whether all weights are parameters, none computed or fixed.
        weight_buffer: the numbers of all weights, as they were last taken.
        packed: memory for packed weights, for each thread that learns.
        workspaces: memory to work in, for each thread.
    """

    def __init__(self, policy: RecurrentPolicy, valued: bool) -> None:
        self.policy, self._valued, extractor = policy, valued, policy.mlp_extractor
        self._networks = policy.networks if valued else policy.networks[:1]
        heads = [(extractor.policy_net, policy.action_net), (extractor.value_net, policy.value_net)]
        self._heads = heads if valued else heads[:1]
        parameters, self.weights = list(policy.parameters()), self._find_weights()
        self._gradient = torch.zeros(sum(part.numel() for part in parameters))
        slots = self._gradient.split([part.numel() for part in parameters])
        self._gradient_of = {id(p): part.view_as(p) for p, part in zip(parameters, slots, strict=True)}
        known = {id(part) for part in self.weights}
        self.sizes, parts = self._find_sizes(), [part.numel() for part in self.weights]
        net = self._networks[0]
        self.dimensions = {"shape": self.sizes, "alpha": net.alpha, "noise_scale": net.noise_scale}
        modules = [*self._networks, *(part for head in self._heads for part in head)]
        # Parameters from which the weights are computed.
        self.underlying = [p for module in modules for p in module.parameters() if id(p) not in known]
        self.weight_buffer, self._gradient_buffer = np.empty(sum(parts), np.float32), torch.empty(sum(parts))
        self._weight_views, self._gradient_views = (
            [p.view_as(q) for p, q in zip(buffer.split(parts), self.weights, strict=True)]
            for buffer in (torch.from_numpy(self.weight_buffer), self._gradient_buffer)
        )
        begins = dict(zip(map(id, parameters), np.cumsum([0, *(part.numel() for part in parameters)]), strict=False))
        own = [(begins[id(part)], part.numel()) for part in self.weights if id(part) in begins]
        self.direct = len(own) == len(self.weights)
        # Positions of the weights among all parameters, and their sizes.
        self._places = np.array(own, np.int64).reshape(-1, 2).T.copy()

    @staticmethod
    def obstacle(policy: RecurrentPolicy, valued: bool = True) -> str:
        """Reason why this policy, with values or without, cannot act and learn in compiled passes; empty if it can."""
        space, actions = policy.observation_space, policy.action_space
        flat = isinstance(space, spaces.Box) and space.dtype in (np.float32, np.float64)
        flat = flat and policy.features_extractor_class is FlattenExtractor
        simple = isinstance(actions, spaces.Discrete) or (isinstance(actions, spaces.Box) and len(actions.shape) == 1)
        heads = [_hidden(part) for part in (policy.mlp_extractor.policy_net, policy.mlp_extractor.value_net)]
        usual = policy.activation_fn in ACTIVATIONS and max(map(len, heads)) <= MOST_HIDDEN
        weight = next(policy.parameters())
        obstacles = {
            "there are no compiled functions": not kernels.available(),
            "the step of the network is written in torch": policy.networks[0].cell is None,
            "the critic reads the activity of the actor": policy.chained and valued,
            "observations are not flat": not flat,
            "actions have several dimensions": not simple,
            "the layers of the read-out are not the usual ones": not usual,
            f"there are more than {MOST_LAYERS} layers": policy.networks[0].num_layers > MOST_LAYERS,
            f"numbers are {str(weight.dtype).removeprefix('torch.')} on {weight.device}": not loops.usable(weight),
        }
        return next((reason for reason, there in obstacles.items() if there), "")

    def make_room(self, n_envs: int, longest: int) -> None:
        """Allocate memory for sequences, given numbers of environments and steps."""
        found, noisy = np.empty(5, np.int64), int(bool(self._networks[0].noise_scale))
        kernels.named("sizes")(shape=self.sizes, noisy=noisy, envs=n_envs, longest=longest, found=found)
        _, packed, sums, work, chunks = found.tolist()
        n = min(threads.learning(), chunks)
        self.packed = [np.empty(packed, np.float32) for _ in range(n)]  # each thread that learns packs its own
        self.workspaces = [np.empty(work, np.float32) for _ in range(n)]
        self._sums = np.empty((chunks, sums), np.float32)

    def take_weights(self) -> None:
        """Copy the present weights into the compiled agent."""
        if self.underlying:
            self.weights = self._find_weights()  # kept, for they were computed for this
        with torch.no_grad():
            for place, part in zip(self._weight_views, self.weights, strict=True):
                place.copy_(part)

    def found_gradient(self) -> Tensor:
        """The gradient with respect to all parameters of the policy, overwritten by the next."""
        for part, slope in zip(self.weights, self._gradient_views, strict=True):
            if id(part) in self._gradient_of:
                self._gradient_of[id(part)].copy_(slope)
        if self.underlying:
            computed = [part.grad_fn is not None for part in self.weights]
            outputs, slopes = ([*compress(parts, computed)] for parts in (self.weights, self._gradient_views))
            found = torch.autograd.grad(outputs, self.underlying, slopes)
            for part, slope in zip(self.underlying, found, strict=True):
                self._gradient_of[id(part)].copy_(slope)
        return self._gradient

    def update(self, function: Callable[..., int], parts: Minibatches, n_envs: int, **own: object) -> np.ndarray:
        """Compute an update with all threads; without arrays of Adam, only the gradient.

        Args:
            function: the compiled function, from `kernels.named`.
            parts: sequences of each minibatch.
            n_envs: environments of the rollout that they lie in.
            **own: what is learned from, coefficients, and the optimiser step (or `NO_STEP`), by the names in `fused.c`.

        Returns:
            Sums over steps, and the number of these, of each minibatch that was looked at (minibatch, `NUMBERS`).
        """
        segments = parts.segments[parts.longest_first]
        board = np.zeros(BOARD, np.int64)  # its own, for threads may still look at that of the last update
        numbers = np.empty((len(parts), NUMBERS))
        n = len(self.workspaces)
        done = np.zeros(n, np.int64)
        sequences = {"first": segments.first(n_envs), "length": segments.length, "begin": parts.begin}
        weights = {"weights": self.weight_buffer, "place": self._places[0], "size": self._places[1]}
        slopes = {"slopes": self._gradient_buffer.numpy(), "gradient": self._gradient.numpy()}
        results = {"board": board, "sums": self._sums, "numbers": numbers}
        given = {**self.dimensions, **sequences, **weights, **slopes, **results, **own, "threads": n}

        def take_part(rank: int) -> None:
            done[rank] = function(rank=rank, packed=self.packed[rank], work=self.workspaces[rank], **given)

        try:
            threads.share(take_part, range(n))
        except BaseException:
            board[0] = ENDED  # so that no thread waits for a leader that never started
            raise
        return numbers[: done[0]]

    def _find_weights(self) -> list[Tensor]:
        """In the order of `agent.c`."""
        policy, found = self.policy, list[Tensor]()
        for net in self._networks:
            for layer in range(net.num_layers):
                found += net.weights(layer)
        for hidden, head in self._heads:
            for part in (*_hidden(hidden), head):
                found += [part.weight, part.bias]
        return [*found, policy.log_std] if isinstance(policy.action_space, spaces.Box) else found

    def _find_sizes(self) -> np.ndarray:
        """Agent dimensions that `parse_agent` in `fused.c` reads."""
        policy, net = self.policy, self._networks[0]
        cell, continuous = loops.CELLS.index(net.cell), isinstance(policy.action_space, spaces.Box)
        heads = [_hidden(policy.mlp_extractor.policy_net)]
        heads.append(_hidden(policy.mlp_extractor.value_net) if self._valued else [])
        network = (cell, net.input_size, net.hidden_size, net.num_layers, len(self._networks))
        read_out = (policy.action_net.out_features, continuous, ACTIVATIONS.index(policy.activation_fn))
        hidden = [part.out_features for head in heads for part in head]
        return np.array([*network, *read_out, *map(len, heads), self._valued, *hidden], np.int64)


class Fused(Compiled):
    """Compiled agent that acts into a rollout and computes the gradient of the objective over parts of the rollout.

    Args:
        policy: a policy without an `obstacle`.
        rollout: filled by `act`, read by `gradient`.
    """

    def __init__(self, policy: RecurrentPolicy, rollout: Rollout) -> None:
        super().__init__(policy, valued=True)
        self.rollout = rollout
        self._functions = {name: kernels.named(name) for name in ("prepare", "act", "learn")}
        n_steps, n_envs, _ = rollout.logits.shape
        self.make_room(n_envs, n_steps)
        n = min(len(self.workspaces), threads.enough_for(n_envs * len(self.weight_buffer), n_envs))
        bounds = [n_envs * k // n for k in range(n + 1)]
        self._shares = list(zip(self.workspaces, bounds, bounds[1:], strict=False))  # environments of each thread

    def act(self, t: int, draws: np.ndarray) -> None:
        """Fill step t of the rollout, whose observations and states are present, and write the states after step t.

        Args:
            t: the step; at step 0 the present weights are taken.
            draws: added to preferences before the largest is chosen (environment, action), float32.
        """
        if t == 0:
            self.take_weights()
            self._functions["prepare"](shape=self.sizes, weights=self.weight_buffer, packed=self.packed[0])
            given = {**self.dimensions, **self._columns(), "packed": self.packed[0], "logits": self.rollout.logits}
            self._acting = [{**given, "work": work, "begin": begin, "end": end} for work, begin, end in self._shares]
        threads.share(lambda part: self._functions["act"](time=t, draws=draws, **part), self._acting)

    def gradient(self, segments: Segments, goal: PPOSettings) -> tuple[Tensor, Tensor] | None:
        """The gradient with respect to all weights, overwritten by the next, and the numbers in `STATISTICS`.

        None if no step counts.

        Args:
            segments: sequences of the rollout.
            goal: coefficients of the objective.
        """
        self.take_weights()
        numbers = self._learn(Minibatches(segments, np.array([0, len(segments)])), goal, inf, NO_STEP)
        return (self.found_gradient(), numbers[0]) if len(numbers) else None

    def descend(self, parts: Minibatches, goal: PPOSettings, most_kl: float, max_norm: float) -> Tensor | None:
        """Take a gradient step per minibatch and return statistics (minibatch, `STATISTICS`).

        Returns None, without any step, if the optimiser has no compiled step or weights derive from other parameters.
        Minibatches without any step that counts are left out.

        Args:
            parts: sequences of the rollout, of each minibatch.
            goal: coefficients of the objective.
            most_kl: a KL divergence above which no step is taken any more.
            max_norm: length that longer gradients are shortened to.
        """
        adam = self.policy.descent.compiled(self.policy.optimizer) if self.direct else None
        return None if adam is None else self._learn(parts, goal, most_kl, {**adam, "most": max_norm})

    def _learn(self, parts: Minibatches, goal: PPOSettings, most_kl: float, adam: Mapping[str, object]) -> Tensor:
        """Compute an update, as in `gradient` and `descend`."""
        rollout = self.rollout
        targets = {"advantages": rollout.advantages, "returns": rollout.returns, "counts": rollout.counts}
        own = {**self._columns(), **targets, **adam, **goal._asdict(), "most_kl": most_kl}
        numbers = self.update(self._functions["learn"], parts, rollout.rewards.shape[1], **own)
        numbers = numbers[numbers[:, -1] > 0]  # of steps that count
        policy_loss, value_loss, entropy_loss = numbers.T[:3]
        numbers[:, -1] = policy_loss + goal.ent_coef * entropy_loss + goal.vf_coef * value_loss
        return torch.from_numpy(numbers.astype(np.float32))

    def _columns(self) -> dict[str, np.ndarray | None]:
        """Arguments of `act` and `learn` that describe the rollout."""
        rollout, n_states = self.rollout, self.policy.networks[0].n_states
        states = [f"{network}{part}" for network in ("", "critic_") for part in ("h", "c")[:n_states]]
        return {
            "obs": rollout.obs.reshape(*rollout.values.shape, -1),
            "chosen" if rollout.actions.ndim == 2 else "moved": rollout.actions,
            "values": rollout.values,
            "old": rollout.log_probs,
            **dict(zip(states, rollout.states, strict=False)),
            **dict(zip(("noise", "critic_noise"), rollout.noise, strict=False)),
        }


def _hidden(read_out: nn.Module) -> list[nn.Linear]:
    """The hidden layers of a read-out."""
    return [part for part in read_out.modules() if isinstance(part, nn.Linear)]
