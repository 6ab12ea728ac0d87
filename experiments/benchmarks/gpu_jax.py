"""Recurrent PPO compiled end to end by JAX, as an anchor of what a GPU allows: random dots, LSTM, one program.

    python -m experiments.benchmarks.gpu_jax --units 1024 --envs 1024

The task is that of `dots.py` with a trial of one step of fixation, `STIMULUS` steps of two noisy channels and a step of
decision; the state is zeroed at each trial. Rollout, advantages and all epochs are a single compiled function; only JAX
is needed. Prints steps per second as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

STIMULUS, SIGMA, COHERENCE = 5, 3.0, 0.5  # steps, noise of a channel, evidence
LENGTH, CHANNELS, ACTIONS = STIMULUS + 2, 3, 3
GAMMA, LAMBDA, CLIP, VALUE, MAX_NORM = 0.99, 0.95, 0.2, 0.5, 0.5


class Environment(NamedTuple):
    """State of all environments: time in the trial, and the side with more evidence (0 or 1)."""

    time: jax.Array
    side: jax.Array


class Settings(NamedTuple):
    """Sizes of a rollout and of its updates."""

    n_envs: int
    n_steps: int
    n_epochs: int
    n_minibatches: int
    rate: float


def observe(env: Environment, key: jax.Array) -> jax.Array:
    """Fixation cue and two noisy channels (environment, channel)."""
    shows = (env.time > 0) & (env.time < LENGTH - 1)
    evidence = COHERENCE * jax.nn.one_hot(env.side, 2) + SIGMA * jax.random.normal(key, (*env.time.shape, 2)) / 10
    return jnp.concatenate([(env.time < LENGTH - 1)[:, None].astype(jnp.float32), shows[:, None] * evidence], axis=1)


def advance(env: Environment, action: jax.Array, key: jax.Array) -> tuple[Environment, jax.Array, jax.Array]:
    """Return the environments after a step, the rewards, and whether a trial ended."""
    decides = env.time == LENGTH - 1
    reward = jnp.where(decides, action == env.side + 1, -0.1 * (action != 0)).astype(jnp.float32)
    ended = decides | (action != 0)
    side = jnp.where(ended, jax.random.bernoulli(key, 0.5, env.side.shape).astype(jnp.int32), env.side)
    return Environment(jnp.where(ended, 0, env.time + 1), side), reward, ended


def make_weights(key: jax.Array, units: int) -> dict[str, jax.Array]:
    """LSTM and the two heads."""
    keys, bound = jax.random.split(key, 4), units**-0.5
    draw = partial(jax.random.uniform, minval=-bound, maxval=bound)
    return {
        "inputs": draw(keys[0], (CHANNELS, 4 * units)),
        "recurrent": draw(keys[1], (units, 4 * units)),
        "bias": jnp.zeros(4 * units),
        "heads": draw(keys[2], (units, ACTIONS + 1)) / 10,
    }


def cell(weights: dict[str, jax.Array], state: tuple[jax.Array, jax.Array], x: jax.Array) -> Any:
    """A step of the LSTM."""
    h, c = state
    gates = x @ weights["inputs"] + h @ weights["recurrent"] + weights["bias"]
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c


def roll_out(weights: dict[str, jax.Array], carry: Any, n_steps: int) -> tuple[Any, dict[str, jax.Array]]:
    """Step all environments; returns the state to go on from and columns (time, environment, ...)."""

    def step(carry: Any, _: None) -> tuple[Any, dict[str, jax.Array]]:
        env, state, starts, key = carry
        key, seen, drawn, new = jax.random.split(key, 4)
        obs = observe(env, seen)
        state = tuple(layer * ~starts[:, None] for layer in state)
        after = cell(weights, state, obs)
        outputs = after[0] @ weights["heads"]
        log_probs = jax.nn.log_softmax(outputs[:, :ACTIONS])
        action = jax.random.categorical(drawn, log_probs)
        log_prob = jnp.take_along_axis(log_probs, action[:, None], 1)[:, 0]
        env, reward, ended = advance(env, action, new)
        row = {"obs": obs, "starts": starts, "action": action, "log_prob": log_prob, "value": outputs[:, -1]}
        return (env, after, ended, key), {**row, "reward": reward, "ended": ended}

    return lax.scan(step, carry, None, n_steps)


def advantages(rows: dict[str, jax.Array], last: jax.Array) -> jax.Array:
    """Generalised advantage estimates (time, environment)."""

    def back(carry: Any, row: Any) -> Any:
        following, carried = carry
        reward, value, ended = row
        carried = reward + GAMMA * following * ~ended - value + GAMMA * LAMBDA * ~ended * carried
        return (value, carried), carried

    columns = rows["reward"], rows["value"], rows["ended"]
    return lax.scan(back, (last, jnp.zeros_like(last)), columns, reverse=True)[1]


def loss(weights: dict[str, jax.Array], state: Any, rows: dict[str, jax.Array]) -> jax.Array:
    """The clipped objective over sequences of all steps of some environments."""

    def step(state: Any, row: Any) -> Any:
        obs, starts = row
        after = cell(weights, tuple(layer * ~starts[:, None] for layer in state), obs)
        return after, after[0] @ weights["heads"]

    outputs = lax.scan(step, state, (rows["obs"], rows["starts"]))[1]
    log_probs = jax.nn.log_softmax(outputs[..., :ACTIONS])
    ratio = jnp.exp(jnp.take_along_axis(log_probs, rows["action"][..., None], -1)[..., 0] - rows["log_prob"])
    gain = (rows["advantage"] - rows["advantage"].mean()) / (rows["advantage"].std() + 1e-8)
    policy = -jnp.minimum(ratio * gain, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * gain).mean()
    return policy + VALUE * jnp.square(outputs[..., -1] - rows["advantage"] - rows["value"]).mean()


def adam(weights: Any, moments: Any, gradient: Any, rate: float) -> tuple[Any, Any]:
    """A step of Adam down a gradient that is shortened to `MAX_NORM`."""
    length = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(gradient)))
    gradient = jax.tree.map(lambda g: g * jnp.minimum(1.0, MAX_NORM / (length + 1e-6)), gradient)
    count, mean, square = moments
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, gradient)
    count = count + 1
    scale = jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    weights = jax.tree.map(lambda w, m, s: w - rate * scale * m / (jnp.sqrt(s) + 1e-5), weights, mean, square)
    return weights, (count, mean, square)


@partial(jax.jit, static_argnames="settings")
def iterate(weights: Any, moments: Any, carry: Any, settings: Settings) -> tuple[Any, Any, Any]:
    """A rollout and its updates."""
    first, width = carry[1], settings.n_envs // settings.n_minibatches
    carry, rows = roll_out(weights, carry, settings.n_steps)
    env, state, starts, key = carry
    key, seen, shuffled = jax.random.split(key, 3)
    following = cell(weights, tuple(layer * ~starts[:, None] for layer in state), observe(env, seen))[0]
    rows["advantage"] = advantages(rows, (following @ weights["heads"])[:, -1])

    def learn(learned: Any, chosen: jax.Array) -> Any:
        weights, moments = learned
        some = {name: column[:, chosen] for name, column in rows.items()}
        gradient = jax.grad(loss)(weights, tuple(layer[chosen] for layer in first), some)
        return adam(weights, moments, gradient, settings.rate), None

    orders = [jax.random.permutation(k, settings.n_envs) for k in jax.random.split(shuffled, settings.n_epochs)]
    chosen = jnp.concatenate([order.reshape(settings.n_minibatches, width) for order in orders])
    (weights, moments), _ = lax.scan(learn, (weights, moments), chosen)
    return weights, moments, (env, state, starts, key)


def measure(units: int, settings: Settings, seconds: float) -> dict[str, float]:
    """Steps per second, seconds of compilation, and the mean reward of the last rollout's values."""
    key = jax.random.key(0)
    weights = make_weights(key, units)
    moments = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, weights), jax.tree.map(jnp.zeros_like, weights))
    env = Environment(jnp.zeros(settings.n_envs, jnp.int32), jnp.zeros(settings.n_envs, jnp.int32))
    zeros = jnp.zeros((settings.n_envs, units))
    carry: Any = (env, (zeros, zeros), jnp.ones(settings.n_envs, bool), key)
    began = time.perf_counter()
    weights, moments, carry = jax.block_until_ready(iterate(weights, moments, carry, settings))
    compilation, speeds, began = time.perf_counter() - began, [], time.perf_counter()
    while not speeds or time.perf_counter() - began < seconds:
        start = time.perf_counter()
        weights, moments, carry = jax.block_until_ready(iterate(weights, moments, carry, settings))
        speeds.append(settings.n_steps * settings.n_envs / (time.perf_counter() - start))
    return {"steps_per_second": sorted(speeds)[len(speeds) // 2], "compilation_seconds": compilation}


def main() -> None:
    """Measure and print as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=1024)
    parser.add_argument("--envs", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--minibatches", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=3.0)
    arguments = parser.parse_args()
    settings = Settings(arguments.envs, arguments.steps, arguments.epochs, arguments.minibatches, 1e-3)
    result = {"device": str(jax.devices()[0]), **measure(arguments.units, settings, arguments.seconds)}
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
