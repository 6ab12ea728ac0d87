"""Agents that act on a batch of environments, in training, in evaluations and in figures: interface, loop, and `Actor`.

An `Actor` is a recurrent policy as plain arrays. No torch here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces

from ngym_cli.agents.compiled.steps import ArrayState, Stepper

#: Weight (in, out), bias and the name of the activation that follows, or "".
Layer = tuple[np.ndarray, np.ndarray, str]


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


class BatchAgent(Protocol):
    """Interface of agents that select actions for a batch of environments."""

    def act(self, observations: np.ndarray, starts: np.ndarray) -> Act:
        """Act once.

        Args:
            observations: shape (environments, ...).
            starts: shape (environments,); where true, nothing is remembered from before.
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
    """

    seen: np.ndarray
    act: Act
    observations: np.ndarray
    rewards: np.ndarray
    starts: np.ndarray
    infos: list[dict[str, object]]


def rollout(venv: Any, agent: BatchAgent, seen: Any = None, starts: np.ndarray | None = None) -> Iterator[AgentStep]:
    """Yield the steps of an agent that acts on a ``VecEnv``, endlessly.

    Args:
        venv: the batch; a ``TrialVecEnv`` also says which trials ended with the step and what was right.
        agent: the acting agent.
        seen: the observations to go on from; None: the batch is reset.
        starts: whether the agent's state is reset before the first step, shape (environments,); None: everywhere.
    """
    seen = venv.reset() if seen is None else seen
    starts = np.ones(venv.num_envs, bool) if starts is None else starts
    while True:
        act = agent.act(seen, starts)
        observations, rewards, starts, infos = venv.step(act.actions)
        yield AgentStep(seen, act, observations, rewards, starts, infos)
        seen = observations


class ReadOut(NamedTuple):
    """Layers that map the activity of the networks to actions and values.

    Attributes:
        policy: layers up to the action preferences, or means.
        value: layers up to the value.
        log_std: logarithms of standard deviations of continuous actions (action,); empty for discrete ones.
    """

    policy: list[Layer]
    value: list[Layer]
    log_std: np.ndarray


class Actor:
    """Agent with fixed weights; build a new instance after each update.

    Args:
        networks: the actor's network and, if it is separate, the critic's.
        read_out: the layers of both heads.
        action_space: action space of the environments.
        front: from observations (environment, ...) to features; flattens them by default.
        chained: whether the critic's network reads the activity of the actor's network.

    Attributes:
        networks: the actor's network and, if it is separate, the critic's.
        read_out: the layers of both heads.
        perturb: changes the new state of the actor's network in place before the read-out, given the state before.
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
        self.perturb: Callable[[ArrayState, ArrayState], None] | None = None
        self._pi, self._vf, self.log_std = read_out
        self._both = None
        if len(networks) == len(self._pi) == len(self._vf) == 1:  # both heads read the same units: one product
            (pi_weight, pi_bias, _), (vf_weight, vf_bias, _) = self._pi[0], self._vf[0]
            self._both = [(np.hstack([pi_weight, vf_weight]), np.hstack([pi_bias, vf_bias]), "")]
        self._front, self._chained = front, chained

    def initial_state(self, n_envs: int) -> ArrayState:
        """Zero state of every network, arrays (layer, environment, unit)."""
        shapes = [(each.shape[0], n_envs, size) for each in self.networks for size in each.state_sizes]
        return tuple(np.zeros(shape, np.float32) for shape in shapes)

    def act(
        self,
        obs: np.ndarray,
        state: ArrayState,
        episode_starts: np.ndarray,
        deterministic: bool,
        rng: np.random.Generator,
    ) -> tuple[Act, ArrayState]:
        """Act on a batch of environments.

        Args:
            obs: (environment, ...).
            state: from `initial_state` or the last call.
            episode_starts: (environment,); where true, the state is zeroed first.
            deterministic: take the most probable action.
            rng: source of the sampled actions and the recurrent noise.

        Returns:
            The output and the new state.
        """
        keep = ~np.asarray(episode_starts, bool)[None, :, None]
        state = tuple(array * keep for array in state)
        out = tuple(np.empty_like(array) for array in state)
        draws = [network.draw_noise(1, len(obs), rng) for network in self.networks]
        noise = [None if array is None else array[0] for array in draws]
        activity = self.step(self.features(obs), state, out, noise)
        logits, values = self.heads(activity)
        actions = self.choose(logits, None if deterministic else self.draw(logits.shape, rng))
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
            if self.perturb is not None and not at:
                self.perturb(before, after)
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
        return _run(self._pi, activity[0]), _run(self._vf, activity[-1])[:, 0]

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
