"""Simulated behaviour of fitted models in environments with rewards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import numpy as np

from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour.models.base import ParallelTrials, Policy
from neurogym.behaviour.table import Behaviour, Session, session

#: Bandit of simulations when rewards of other choices are not in the table.
BETTER, BLOCK = 0.8, (40, 60)
#: Two-step task: probability of the common transition, s.d. and range of the walk of reward probabilities.
COMMON, WALK, RANGE = 0.7, 0.025, (0.25, 0.75)


Second = Callable[[IntArray], FloatArray]  #: probabilities of the second choices in the states that were reached


class World:
    """Simulated environment that runs many sessions at once.

    Attributes:
        stimuli: shape (sessions, trials, stimuli).
        truth: correct choices, -1 where unknown, shape (sessions, trials).
    """

    stimuli: FloatArray
    truth: IntArray

    @property
    def n(self) -> int:
        """Number of sessions."""
        return len(self.truth)

    @property
    def trials(self) -> int:
        """Trials of each session."""
        return self.truth.shape[1]

    def rewards(self, t: int, choice: IntArray) -> FloatArray:
        """Return the reward of each session in trial ``t``, in a task without a second stage."""
        raise NotImplementedError

    def outcome(self, t: int, choice: IntArray, second: Second) -> tuple[FloatArray, IntArray, IntArray]:
        """Return reward, second-stage state and second-stage choice of trial ``t``."""
        none = np.full(len(choice), -1)
        return self.rewards(t, choice), none, none


@dataclass
class Decisions(World):
    """Trials of a table; correct choices have reward 1, choices in trials without a known correct one 0.

    Attributes:
        stimuli: shape (sessions, trials, stimuli).
        truth: correct choices, -1 where unknown, shape (sessions, trials).
        further: other columns of the trials that policies see, by name, shape (sessions, trials, ...).
    """

    stimuli: FloatArray
    truth: IntArray
    further: Mapping[str, FloatArray] = field(default_factory=dict)

    def rewards(self, t: int, choice: IntArray) -> FloatArray:
        """See `World.rewards`."""
        return (choice == self.truth[:, t]).astype(float)


class ReversingBandit(World):
    """Bandit with a good arm (probability .8) among poor arms (.2); the good arm changes every 40 to 60 trials.

    Args:
        n: number of sessions.
        trials: of each session.
        arms: number of arms.
        rng: source of randomness.
    """

    def __init__(self, n: int, trials: int, arms: int, rng: np.random.Generator):
        self.stimuli = np.zeros((n, trials, 0))
        self.truth = np.empty((n, trials), np.int64)
        for row in self.truth:
            at, better = 0, int(rng.integers(arms))
            while at < trials:
                end = at + int(rng.integers(BLOCK[0], BLOCK[1] + 1))
                row[at:end] = better
                better, at = (better + 1 + int(rng.integers(arms - 1))) % arms, end
        self._pays = rng.random((n, trials))

    def rewards(self, t: int, choice: IntArray) -> FloatArray:
        """See `World.rewards`."""
        return (self._pays[:, t] < np.where(choice == self.truth[:, t], BETTER, 1 - BETTER)).astype(float)


class TwoStepWorld(World):
    """Two-step task of Daw et al. 2011 (10.1016/j.neuron.2011.02.027): probabilities of reward walk slowly.

    Args:
        n: number of sessions.
        trials: of each session.
        rng: source of randomness.
    """

    def __init__(self, n: int, trials: int, rng: np.random.Generator):
        self.stimuli = np.zeros((n, trials, 0))
        self.truth = np.full((n, trials), -1)
        p = np.empty((trials, n, 2, 2))
        p[0] = rng.uniform(*RANGE, (n, 2, 2))
        low, high = RANGE
        for t in range(1, trials):
            p[t] = p[t - 1] + rng.normal(0, WALK, (n, 2, 2))
            p[t] = np.where(p[t] > high, 2 * high - p[t], np.where(p[t] < low, 2 * low - p[t], p[t]))
        self._p, self._rng = p, rng

    def outcome(self, t: int, choice: IntArray, second: Second) -> tuple[FloatArray, IntArray, IntArray]:
        """See `World.outcome`."""
        common = self._rng.random(self.n) < COMMON
        state = np.where(common, choice, 1 - choice)
        q = second(state)
        choice2 = (self._rng.random(self.n) < q[:, 1]).astype(np.int64)
        p = self._p[t, np.arange(self.n), state, choice2]
        return (self._rng.random(self.n) < p).astype(float), state, choice2


@dataclass
class Gambles(World):
    """World with a gain and a loss for each choice.

    Attributes:
        gain: of each option in each trial, shape (sessions, trials, options).
        loss: of each option in each trial, 0 or less, shape (sessions, trials, options).
    """

    gain: FloatArray
    loss: FloatArray

    def __post_init__(self) -> None:
        """Set stimuli and correct choices, of which there are none."""
        self.stimuli, self.truth = np.zeros((*self.gain.shape[:2], 0)), np.full(self.gain.shape[:2], -1)

    def rewards(self, t: int, choice: IntArray) -> FloatArray:
        """See `World.rewards`."""
        return np.add(*self.gains(t, choice))

    def gains(self, t: int, choice: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return gain and loss of trial ``t``."""
        rows = np.arange(len(choice))
        return self.gain[rows, t, choice], self.loss[rows, t, choice]


def iowa(n: int, trials: int, rng: np.random.Generator) -> Gambles:
    """Return the four decks of the Iowa gambling task, in hundreds of points (Bechara et al. 1994)."""
    gain = np.broadcast_to([1.0, 1.0, 0.5, 0.5], (n, trials, 4))
    rare = rng.random((n, trials, 4)) < [0.5, 0.1, 0.5, 0.1]
    return Gambles(gain, np.where(rare, [-2.5, -12.5, -0.5, -2.5], 0.0))


def gains_and_losses(n: int, trials: int, options: int, rng: np.random.Generator) -> Gambles:
    """Return a bandit whose probabilities of gaining 1 and of losing 1 walk apart (Seymour et al. 2012)."""
    steps = rng.normal(0, 2 * WALK, (2, n, trials, options))
    steps[:, :, 0] = rng.uniform(0.2, 0.8, (2, n, options))
    p = np.abs((np.cumsum(steps, 2) + 1) % 2 - 1)  # reflected at 0 and 1
    happened = rng.random(p.shape) < p
    return Gambles(happened[0].astype(float), -happened[1].astype(float))


class GoNoGoWorld(World):
    """Four cues: go or no-go, to win 1 or to avoid losing 1, with the better outcome in 80 % of correct trials.

    Args:
        n: number of sessions.
        trials: of each session.
        rng: source of randomness.
    """

    def __init__(self, n: int, trials: int, rng: np.random.Generator):
        self.cues = rng.permuted(np.tile(np.arange(trials) % 4, (n, 1)), axis=1)
        self.stimuli, self.truth = self.cues[..., None].astype(float), (self.cues < 2).astype(int)
        self._good = rng.random((n, trials)) < BETTER

    def rewards(self, t: int, choice: IntArray) -> FloatArray:
        """See `World.rewards`."""
        better = (choice == self.truth[:, t]) == self._good[:, t]
        return better - 1.0 * (self.cues[:, t] % 2 == 1)


def world_like(table: Behaviour, sessions: int, trials: int, rng: np.random.Generator) -> World:
    """Return a world like a table's: its trials if correct choices or pulses are known, else a bandit or two-step task.

    Stimuli without a correct choice are those of random trials of the table.
    """
    world = _world_like(table, sessions, trials, rng)
    if table.stimuli and not world.stimuli.shape[-1]:
        stimuli = np.nan_to_num(table.join("stimuli"))
        world.stimuli = stimuli[rng.integers(len(stimuli), size=(sessions, trials))]
    return world


def _world_like(table: Behaviour, sessions: int, trials: int, rng: np.random.Generator) -> World:
    if (table.join("state") >= 0).any():
        return TwoStepWorld(sessions, trials, rng)
    if (table.join("cue") >= 0).any() and len(table.choices) == 2:
        return GoNoGoWorld(sessions, trials, rng)
    if np.nan_to_num(table.join("loss").astype(float)).any():
        return gains_and_losses(sessions, trials, len(table.choices), rng)
    truth, stimuli = table.join("truth"), np.nan_to_num(table.join("stimuli"))
    complete = (truth >= 0) | np.isfinite(table.join("pulses")).any((1, 2))
    if table.stimuli and complete.any():
        drawn = rng.choice(np.flatnonzero(complete), (sessions, trials))
        return Decisions(
            stimuli[drawn], truth[drawn], {name: table.join(name)[drawn] for name in ("pulses", "duration")}
        )
    return ReversingBandit(sessions, trials, len(table.choices), rng)


def simulate(policy: Policy, world: World, table: Behaviour, rng: np.random.Generator) -> Behaviour:
    """Return the behaviour of a fitted model in a world.

    Args:
        policy: of the fitted model; one with times also gives reaction times.
        world: where to choose.
        table: names of choices and stimuli.
        rng: source of the choices.
    """
    timed: Any = policy
    state = policy.begin(world.n)
    further = world.further if isinstance(world, Decisions) else {}
    known = None
    if policy.sees_pulses:
        blank = np.zeros(world.trials, np.int64)
        seen = [session(blank, **{name: values[k] for name, values in further.items()}) for k in range(world.n)]
        known = np.stack(policy.predict(seen))
    rows: list[ParallelTrials] = []
    rt = np.full((world.n, world.trials), np.nan)
    stimuli = world.stimuli
    if isinstance(world, GoNoGoWorld) and not policy.sees_cue:
        stimuli = np.zeros((world.n, world.trials, len(table.stimuli)))
    for t in range(world.trials):
        if timed.has_times:
            choice, rt[:, t] = timed.respond(state, stimuli[:, t], rng)
        else:
            p = policy.probabilities(state, stimuli[:, t]) if known is None else known[:, t]
            choice = np.minimum((rng.random((world.n, 1)) > np.cumsum(p, 1)).sum(1), p.shape[1] - 1)
        reward, reached, second = world.outcome(t, np.maximum(choice, 0), partial(policy.second, state))
        reward = np.where(choice < 0, 0.0, reward)
        gain, loss = world.gains(t, np.maximum(choice, 0)) if isinstance(world, Gambles) else (None, None)
        rows.append(ParallelTrials(stimuli[:, t], choice, reward, reached, second, gain, loss))
        state = policy.advance(state, rows[-1])
    names = [each.name for each in fields(ParallelTrials) if getattr(rows[0], each.name) is not None]
    arrays = {name: np.stack([getattr(row, name) for row in rows], 1) for name in names}
    if isinstance(world, GoNoGoWorld):
        arrays |= {"cue": world.cues, "stimuli": np.zeros((world.n, world.trials, len(table.stimuli)))}
    arrays |= further
    sessions = []
    for k in range(world.n):
        own = {name: values[k] for name, values in arrays.items()}
        truth = world.truth[k]
        correct = np.where((truth >= 0) & (own["choice"] >= 0), own["choice"] == truth, np.nan)
        sessions.append(Session("simulated", str(k + 1), correct=correct, truth=truth, rt=rt[k], **own))
    return table.only(sessions)
