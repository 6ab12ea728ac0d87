"""Acting and gradients in one compiled pass (`agent.c`), for agents on the CPU whose observations are flat.

Others, images among them, act in NumPy and learn by automatic differentiation, which takes longer for its calls than
for its arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from math import inf
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import FlattenExtractor
from torch import Tensor, nn

from neurogym import kernels
from ngym_cli.agents import threads
from ngym_cli.agents.algorithms.objective import STATISTICS
from ngym_cli.agents.algorithms.rollout import Rollout
from ngym_cli.agents.algorithms.segments import Minibatches, Segments
from ngym_cli.agents.networks import loops
from ngym_cli.agents.networks.policy import RecurrentPolicy

SUMS = len(STATISTICS) - 1  #: statistics that are sums over steps; the last is the loss
BOARD, ENDED = 96, -1  #: numbers through which threads share an update; the first of them when it has ended
ACTIVATIONS: tuple[type[nn.Module], ...] = (nn.Tanh, nn.ReLU)  #: of read-outs, in the order of `agent.h`
MOST_LAYERS, MOST_HIDDEN = 8, 4  #: recurrent layers, hidden layers of a read-out
PACKED, WORKSPACE = 3, 4  #: places of packed weights and the workspace among the arguments of `act` and `learn`
NO_STEP = (None, None, None, None, 0.0, 0.0, 0.0, 0.0, 0.0)  #: in place of what a step of Adam needs


class Goal(NamedTuple):
    """What is maximised; see `Objective`.

    Attributes:
        normalize_advantage: scale advantages to mean 0 and standard deviation 1 over the sequences of a minibatch.
        clip: how far the probability ratio counts from 1.
        reach: how far values may go from the old ones; infinite for no limit.
        ent_coef: weight of the entropy.
        vf_coef: weight of the error of values.
    """

    normalize_advantage: bool
    clip: float
    reach: float
    ent_coef: float
    vf_coef: float


class Fused:
    """An agent that acts into a rollout and finds the gradient of the objective (see `Objective`) over parts of it.

    Args:
        policy: one for which `fits` holds.
        rollout: filled by `act`, read by `gradient`.
    """

    def __init__(self, policy: RecurrentPolicy, rollout: Rollout) -> None:
        self.policy, self.rollout = policy, rollout
        names = ("sizes", "prepare", "act", "learn")
        self._functions: dict[str, Any] = {name: kernels.get(name) for name in names}
        parameters, self._weights = list(policy.parameters()), self._find_weights()
        self._gradient = torch.zeros(sum(part.numel() for part in parameters))
        slots = self._gradient.split([part.numel() for part in parameters])
        self._gradient_of = {id(p): part.view_as(p) for p, part in zip(parameters, slots, strict=True)}
        known = {id(part) for part in self._weights}
        self._underlying = [part for part in parameters if id(part) not in known]  # that weights are computed from
        self._agent_sizes, net = self._find_sizes(), policy.networks[0]
        n_steps, n_envs, _ = rollout.logits.shape
        found = np.empty(5, np.int64)
        self._functions["sizes"](self._agent_sizes, int(bool(net.noise_scale)), n_envs, n_steps, found)
        weights, packed, sums, work, chunks = found.tolist()
        self._weight_buffer, self._gradient_buffer = np.empty(weights, np.float32), torch.empty(weights)
        parts = [part.numel() for part in self._weights]
        self._weight_views = [
            p.view_as(q) for p, q in zip(torch.from_numpy(self._weight_buffer).split(parts), self._weights, strict=True)
        ]
        self._gradient_views = [
            p.view_as(q) for p, q in zip(self._gradient_buffer.split(parts), self._weights, strict=True)
        ]
        n = min(threads.learning(), chunks)
        self._packed = [np.empty(packed, np.float32) for _ in range(n)]  # each thread that learns packs its own
        self._workspaces = [np.empty(work, np.float32) for _ in range(n)]
        self._shares = self._shared(n_envs)
        self._sums = np.empty((chunks, sums), np.float32)
        begins = dict(zip(map(id, parameters), np.cumsum([0, *(part.numel() for part in parameters)]), strict=False))
        own = [(begins[id(part)], part.numel()) for part in self._weights if id(part) in begins]
        # Where weights lie among all parameters, and how many numbers each has.
        self._places = np.array(own, np.int64).reshape(-1, 2).T.copy()

    @staticmethod
    def fits(policy: RecurrentPolicy) -> bool:
        """Whether this policy can act and learn in compiled passes."""
        space, actions = policy.observation_space, policy.action_space
        flat = isinstance(space, spaces.Box) and space.dtype in (np.float32, np.float64)
        flat = flat and policy.features_extractor_class is FlattenExtractor
        simple = isinstance(actions, spaces.Discrete) or (isinstance(actions, spaces.Box) and len(actions.shape) == 1)
        heads = [_hidden(part) for part in (policy.mlp_extractor.policy_net, policy.mlp_extractor.value_net)]
        usual = policy.activation_fn in ACTIVATIONS and max(map(len, heads)) <= MOST_HIDDEN
        known = policy.networks[0].cell is not None and policy.networks[0].num_layers <= MOST_LAYERS
        return flat and simple and usual and known and loops.usable(next(policy.parameters()))

    def act(self, t: int, draws: np.ndarray) -> None:
        """Fill step t of the rollout, whose observations and states are there, and the states after it.

        Args:
            t: the step; at step 0 the present weights are taken.
            draws: added to preferences before the largest is chosen (environment, action), float32.
        """
        if t == 0:
            self._take_weights()
            columns = self._columns()
            self._acting = [
                ((*columns[:WORKSPACE], workspace, *columns[WORKSPACE + 1 :]), begin, end)
                for workspace, begin, end in self._shares
            ]
        threads.share(lambda share: self._act_for(*share, t, draws), self._acting)

    def _act_for(self, columns: tuple[Any, ...], begin: int, end: int, t: int, draws: np.ndarray) -> None:
        """Let some environments act, each as it would among any others."""
        self._functions["act"](*columns, t, begin, end, self.rollout.logits, draws)

    def _shared(self, n_envs: int) -> list[tuple[np.ndarray, int, int]]:
        """The environments that each thread acts for, and the memory that it works in."""
        products = n_envs * sum(part.numel() for part in self._weights)
        n = min(len(self._workspaces), threads.enough_for(products, n_envs))
        bounds = [n_envs * k // n for k in range(n + 1)]
        return list(zip(self._workspaces, bounds, bounds[1:], strict=False))

    def gradient(self, segments: Segments, goal: Goal) -> tuple[Tensor, Tensor] | None:
        """The gradient with respect to all weights, overwritten by the next, and the numbers in `STATISTICS`.

        None if no step counts.

        Args:
            segments: sequences of the rollout.
            goal: what is maximised.
        """
        self._take_weights()
        numbers = self._learn(Minibatches(segments, np.array([0, len(segments)])), goal, inf, NO_STEP)
        if not len(numbers):
            return None
        for part, slope in zip(self._weights, self._gradient_views, strict=True):
            if id(part) in self._gradient_of:
                self._gradient_of[id(part)].copy_(slope)
        if self._underlying:
            computed = [part.grad_fn is not None for part in self._weights]
            outputs, slopes = ([*compress(parts, computed)] for parts in (self._weights, self._gradient_views))
            found = torch.autograd.grad(outputs, self._underlying, slopes)
            for part, slope in zip(self._underlying, found, strict=True):
                self._gradient_of[id(part)].copy_(slope)
        return self._gradient, numbers[0]

    def descend(self, parts: Minibatches, goal: Goal, most_kl: float, max_norm: float) -> Tensor | None:
        """Step down the gradient of one minibatch after the other; return their numbers (minibatch, `STATISTICS`).

        None, with nothing done, if the optimiser has no compiled step or weights are computed from others. Minibatches
        of which no step counts are left out.

        Args:
            parts: sequences of the rollout, of each minibatch.
            goal: what is maximised.
            most_kl: a KL divergence above which no step is taken any more.
            max_norm: length that longer gradients are shortened to.
        """
        adam = None if self._underlying else self.policy.compiled_step()
        return None if adam is None else self._learn(parts, goal, most_kl, (*adam, max_norm))

    def _learn(self, parts: Minibatches, goal: Goal, most_kl: float, adam: Sequence[object]) -> Tensor:
        """Let all threads share an update; without arrays of Adam, the gradient alone is found."""
        rollout, segments = self.rollout, parts.segments[parts.longest_first]
        first = segments.first(rollout.rewards.shape[1])
        board = np.zeros(BOARD, np.int64)  # its own, for threads may still look at that of the last update
        numbers = np.empty((len(parts), SUMS + 1))
        columns = (rollout.advantages, rollout.returns, rollout.counts, first, segments.length, parts.begin)
        sought = (*goal, most_kl)
        results = (self._sums, numbers, self._weight_buffer, self._gradient_buffer.numpy())
        given = (board, *columns, *sought, *results, *self._places, self._gradient.numpy(), *adam)
        agent, learn, n = self._columns(), self._functions["learn"], len(self._workspaces)
        done = np.zeros(n, np.int64)

        def take_part(rank: int) -> None:
            own = self._packed[rank], self._workspaces[rank]
            done[rank] = learn(*agent[:PACKED], *own, *agent[WORKSPACE + 1 :], rank, n, *given)

        try:
            threads.share(take_part, range(n))
        except BaseException:
            board[0] = ENDED  # so that nobody waits for a leader who never began
            raise
        numbers = numbers[: done[0]]
        numbers = numbers[numbers[:, SUMS] > 0]  # of steps that count
        policy_loss, value_loss, entropy_loss = numbers.T[:3]
        numbers[:, SUMS] = policy_loss + goal.ent_coef * entropy_loss + goal.vf_coef * value_loss
        return torch.from_numpy(numbers.astype(np.float32))

    def _find_weights(self) -> list[Tensor]:
        """In the order of `agent.c`."""
        policy, found = self.policy, list[Any]()
        for net in policy.networks:
            for layer in range(net.num_layers):
                found += net.weights(layer)
        extractor: Any = policy.mlp_extractor
        for hidden, head in ((extractor.policy_net, policy.action_net), (extractor.value_net, policy.value_net)):
            for part in (*_hidden(hidden), head):
                found += [part.weight, part.bias]
        return [*found, policy.log_std] if isinstance(policy.action_space, spaces.Box) else found

    def _find_sizes(self) -> np.ndarray:
        """What `parse_agent` in `fused.c` reads."""
        policy, rollout, net = self.policy, self.rollout, self.policy.networks[0]
        cell, continuous = loops.CELLS.index(net.cell), isinstance(policy.action_space, spaces.Box)
        heads = [_hidden(part) for part in (policy.mlp_extractor.policy_net, policy.mlp_extractor.value_net)]
        network = (cell, rollout.obs[0, 0].size, net.hidden_size, net.num_layers, len(policy.networks))
        read_out = (rollout.logits.shape[2], continuous, ACTIVATIONS.index(policy.activation_fn))
        hidden = [part.out_features for head in heads for part in head]
        return np.array([*network, *read_out, *map(len, heads), *hidden], np.int64)

    def _take_weights(self) -> None:
        """Let the compiled agent have the present weights."""
        if self._underlying:
            self._weights = self._find_weights()  # kept, for they were computed for this
        with torch.no_grad():
            for place, part in zip(self._weight_views, self._weights, strict=True):
                place.copy_(part)
        self._functions["prepare"](self._agent_sizes, self._weight_buffer, self._packed[0])

    def _columns(self) -> tuple[Any, ...]:
        """The agent and the rollout, as `act` and `learn` take them."""
        rollout, net, separate = self.rollout, self.policy.networks[0], len(self.policy.networks) == 2
        states = [[*rollout.states[k : k + net.n_states], None][:2] for k in (0, net.n_states)]
        h, c = zip(states[0], states[1] if separate else (None, None), strict=True)
        discrete = rollout.actions.ndim == 2
        chosen, moved = (rollout.actions, None) if discrete else (None, rollout.actions)
        noise = (*rollout.noise, None)[:2]
        obs = rollout.obs.reshape(*rollout.values.shape, -1)
        agent = (self._agent_sizes, net.alpha, net.noise_scale, self._packed[0], self._workspaces[0])
        return (*agent, obs, *noise, h[0], c[0], h[1], c[1], chosen, moved, rollout.values, rollout.log_probs)


def _hidden(read_out: nn.Module) -> list[nn.Linear]:
    """The hidden layers of a read-out."""
    return [part for part in read_out.modules() if isinstance(part, nn.Linear)]
