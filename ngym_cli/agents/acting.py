"""Agents that act on a batch of environments, in training, in evaluations and in figures: `Agent`, loop, and `Actor`.

An `Actor` is a recurrent policy as plain arrays. No torch here.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces

from ngym_cli.agents.compiled.network import ArrayState
from ngym_cli.agents.compiled.steps import Stepper
from ngym_cli.errors import DivergedError

#: Weight (in, out), bias and the name of the activation that follows, or "".
Layer = tuple[np.ndarray, np.ndarray, str]
#: Changes the state after a step in place, given the state before.
Perturb = Callable[[ArrayState, ArrayState], None]


class Act(NamedTuple):
    """Output of an agent step for a batch of environments.

    Attributes:
        actions: shape (environments, ...), as the environments take them.
        values: state values, shape (environments,), or None where the algorithm has none.
        activity: hidden activity, shape (environments, units), or None for a memoryless policy.
        logits: action preferences (means for continuous actions), shape (environments, actions), or None.
    """

    actions: np.ndarray
    values: np.ndarray | None = None
    activity: np.ndarray | None = None
    logits: np.ndarray | None = None


class Agent(Protocol):
    """Interface of agents that select actions for a batch of environments.

    A state is whatever the agent needs of earlier steps; it travels outside of the agent. Agents without memory have
    the empty state.
    """

    def initial_state(self, n_envs: int) -> Any:
        """Return the state before the first step of a number of environments."""
        return ()

    def restart(self, state: Any, starts: np.ndarray) -> Any:
        """Return a state without memory of what came before in the environments where ``starts`` is true."""
        return state

    def act(self, observations: np.ndarray, state: Any) -> tuple[Act, Any]:
        """Act once.

        Args:
            observations: shape (environments, ...).
            state: of `initial_state`, `restart` or the step before.

        Returns:
            The output and the state after the step.
        """


class AgentStep(NamedTuple):
    """Single step of a batch of environments.

    Attributes:
        seen: observations before the step, shape (environments, ...).
        act: output of the agent.
        observations: observations after the step, shape (environments, ...).
        rewards: shape (environments,).
        starts: whether the agent's state is reset before the next step, shape (environments,).
        infos: Stable-Baselines3's info dictionary of each environment.
        state: of the agent after the step.
    """

    seen: np.ndarray
    act: Act
    observations: np.ndarray
    rewards: np.ndarray
    starts: np.ndarray
    infos: list[dict[str, object]]
    state: Any


def rollout(
    venv: Any, agent: Agent, seen: Any = None, starts: np.ndarray | None = None, state: Any = None
) -> Iterator[AgentStep]:
    """Yield the steps of an agent that acts on a ``VecEnv``, endlessly.

    Args:
        venv: the batch; a ``TrialVecEnv`` also says which trials ended with the step and what was right.
        agent: the acting agent.
        seen: the observations to go on from; None: the batch is reset.
        starts: whether the agent's state is reset before the first step, shape (environments,); None: everywhere.
        state: of the agent before the first step; None: its initial state.
    """
    seen = venv.reset() if seen is None else seen
    starts = np.ones(venv.num_envs, bool) if starts is None else starts
    state = agent.initial_state(venv.num_envs) if state is None else state
    while True:
        act, state = agent.act(seen, agent.restart(state, starts))
        observations, rewards, starts, infos = venv.step(act.actions)
        yield AgentStep(seen, act, observations, rewards, starts, infos, state)
        seen = observations


class ReadOut(NamedTuple):
    """Layers that map the activity of the networks to actions and values.

    Attributes:
        policy: layers up to the action preferences, or means.
        value: layers up to the value.
        log_std: logarithms of standard deviations of continuous actions (action,); empty for discrete ones.
        decode: function of the output of the policy layers that gives means; None: the output is preferences or means.
    """

    policy: list[Layer]
    value: list[Layer]
    log_std: np.ndarray
    decode: Callable[[np.ndarray], np.ndarray] | None = None


class Actor(Agent):
    """Recurrent agent with fixed weights; build a new instance after each update.

    It takes the most probable actions; `bind` returns an agent of the same weights that draws.

    Args:
        networks: the actor's network and, if it is separate, the critic's.
        read_out: the layers of both heads.
        action_space: action space of the environments.
        front: from observations (environment, ...) to features; flattens them by default.
        chained: whether the critic's network reads the activity of the actor's network.

    Attributes:
        networks: the actor's network and, if it is separate, the critic's.
        read_out: the layers of both heads.
    """

    def __init__(
        self,
        networks: list[Stepper],
        read_out: ReadOut,
        action_space: spaces.Space[Any],
        front: Callable[[np.ndarray], np.ndarray] | None = None,
        chained: bool = False,
    ) -> None:
        self.action_space, self.discrete = action_space, isinstance(action_space, spaces.Discrete)
        self.networks, self.read_out = networks, read_out
        self._rng, self._deterministic = np.random.default_rng(0), True
        self._perturb: Perturb | None = None
        self._pi, self._vf, self.log_std, self._decode = read_out
        self._both = None
        linear = len(self._pi) == len(self._vf) == 1 and self._decode is None
        if linear and len(networks) == 1:  # both heads read the same units: one product
            (pi_weight, pi_bias, _), (vf_weight, vf_bias, _) = self._pi[0], self._vf[0]
            self._both = [(np.hstack([pi_weight, vf_weight]), np.hstack([pi_bias, vf_bias]), "")]
        self._front, self._chained = front, chained

    def bind(
        self, seed: int | np.random.Generator, deterministic: bool = True, perturb: Perturb | None = None
    ) -> Actor:
        """Return an agent with the same weights.

        Args:
            seed: random seed, or source, of drawn actions and of recurrent noise.
            deterministic: take the most probable action instead of drawing one.
            perturb: changes the new state of the actor's network in place before the read-out, given the state before.
        """
        agent = copy.copy(self)
        agent._rng, agent._deterministic, agent._perturb = np.random.default_rng(seed), deterministic, perturb
        return agent

    def initial_state(self, n_envs: int) -> ArrayState:
        """Zero state of every network, arrays (layer, environment, unit)."""
        shapes = [(each.shape[0], n_envs, size) for each in self.networks for size in each.state_sizes]
        return tuple(np.zeros(shape, np.float32) for shape in shapes)

    def restart(self, state: ArrayState, starts: np.ndarray) -> ArrayState:
        """Return a copy of the state with zeros in the environments where ``starts`` is true."""
        keep = ~np.asarray(starts, bool)[None, :, None]
        return tuple(array * keep for array in state)

    def act(self, observations: np.ndarray, state: ArrayState) -> tuple[Act, ArrayState]:
        """See `Agent`."""
        out = tuple(np.empty_like(array) for array in state)
        draws = [network.draw_noise(1, len(observations), self._rng) for network in self.networks]
        noise = [None if array is None else array[0] for array in draws]
        activity = self.step(self.features(observations), state, out, noise)
        logits, values = self.heads(activity)
        if not np.isfinite(logits).all():
            raise DivergedError("the network gives no action: its activity is not finite any more")
        actions = self.choose(logits, None if self._deterministic else self.draw(logits.shape, self._rng))
        return Act(within(self.action_space, actions), values, activity[0], logits), out

    def features(self, obs: np.ndarray) -> np.ndarray:
        """Inputs of the recurrent network."""
        return obs.reshape(len(obs), -1) if self._front is None else self._front(obs)

    def step(
        self, x: np.ndarray, state: ArrayState, out: ArrayState, noise: list[np.ndarray | None]
    ) -> list[np.ndarray]:
        """Advance every network and return the activity of each top layer (environment, unit), the actor's first."""
        activity, at = list[np.ndarray](), 0
        for network, draws in zip(self.networks, noise, strict=True):
            x = activity[0] if self._chained and activity else x
            before, after = (arrays[at : at + network.n_states] for arrays in (state, out))
            activity.append(network.step(x, before, after, draws))
            if self._perturb is not None and not at:
                self._perturb(before, after)
            at += network.n_states
        return activity

    def heads(self, activity: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Read the networks' activity out.

        Args:
            activity: result of `step`, the actor's first and the critic's last.

        Returns:
            Action preferences, or means for continuous actions (environment, action), and values (environment,).
        """
        if self._both is not None:
            both = _run(self._both, activity[0])
            return both[:, :-1], both[:, -1]
        preferences = _run(self._pi, activity[0])
        means = preferences if self._decode is None else self._decode(preferences)
        return means, _run(self._vf, activity[-1])[:, 0]

    def values(self, obs: np.ndarray, state: ArrayState) -> np.ndarray:
        """Values of observations (environment, ...) in a given state, without recurrent noise or state change."""
        out = tuple(np.empty_like(array) for array in state)
        return self.heads(self.step(self.features(obs), state, out, [None] * len(self.networks)))[1]

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Random draws that turn logits of this shape into actions: Gumbel (discrete) or normal (continuous)."""
        return exploration_draws(self.discrete, shape, rng)

    def choose(self, logits: np.ndarray, draws: np.ndarray | None) -> np.ndarray:
        """Actions of the policy: sampled with `draws`, or the most probable without."""
        if self.discrete:
            return (logits if draws is None else logits + draws).argmax(axis=-1)
        return logits if draws is None else logits + np.exp(self.log_std) * draws

    def log_probs(self, logits: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Log-probability (density for continuous actions) of each action."""
        if self.discrete:
            shifted = logits - logits.max(axis=-1, keepdims=True)
            chosen = np.take_along_axis(shifted, actions[..., None].astype(np.int64), axis=-1)[..., 0]
            return chosen - np.log(np.exp(shifted).sum(axis=-1))
        z = (actions - logits) * np.exp(-self.log_std)
        return -(0.5 * z * z + self.log_std + np.float32(0.5 * np.log(2 * np.pi))).sum(axis=-1)


def exploration_draws(discrete: bool, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Random draws that turn action preferences or means of this shape into actions: Gumbel, or normal."""
    if discrete:
        return -np.log(rng.standard_exponential(shape, dtype=np.float32) + np.float32(1e-30))
    return rng.standard_normal(shape, dtype=np.float32)


def within(space: spaces.Space[Any], actions: np.ndarray) -> np.ndarray:
    """Return actions in the form that environments accept: continuous actions in shape and bounds of the space."""
    if isinstance(space, spaces.Box):
        return np.clip(actions.reshape(-1, *space.shape), space.low, space.high)
    return actions


def _run(layers: list[Layer], x: np.ndarray) -> np.ndarray:
    for weight, bias, activation in layers:
        x = x @ weight
        x += bias
        if activation == "Tanh":
            np.tanh(x, out=x)
        elif activation == "ReLU":
            np.maximum(x, 0, out=x)
    return x
