"""Trial history in contexts that come, go and are replaced."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import Effect, unknown
from neurogym.parameters.arguments import Count
from neurogym.trials import Trials
from neurogym.wrappers import transitions
from neurogym.wrappers.trial_history import TrialHistory


class TrialHistoryEvolution(TrialHistory):
    """Draw the ground truth from a set of random contexts, which is replaced now and then.

    A context defines the preferred choice after each choice. The trial's record has the context as
    ``trial_history_evolution_block`` (preferred successors, counted from 1, 0 for choices that are not in play),
    the number of its generation as ``trial_history_evolution_generation`` and the matrix as ``probs``.

    Args:
        env: A task with choices.
        probs: Probability of the preferred transition.
        ctx_dur: Trials in a context.
        num_contexts: Contexts in a generation.
        fix_2AFC: Whether the first two choices form a task of their own, half of the contexts repeating there and
            half alternating.
        death_prob: Probability per trial that the generation is replaced (which happens when the context changes).
        ctx_ch_prob: Probability that a context ends at a trial, in place of ``ctx_dur``.
        balanced_probs: Whether a context prefers each choice equally often.
        predef_tr_mats: Whether the contexts are repeating, ascending and descending in place of random ones.

    Raises:
        AttributeError: If the task has no choices.
        ValueError: If an argument is out of range.
    """

    state = ("generation", "_in_play", "_contexts")
    _key = "trial_history_evolution"

    def __init__(
        self,
        env: gym.Env,
        probs: float = 0.9,
        ctx_dur: Any = 200,
        num_contexts: Count = 3,
        fix_2AFC: bool = False,  # noqa: N803 - NeuroGym's name
        death_prob: float = 0.0001,
        ctx_ch_prob: float | None = None,
        balanced_probs: bool = False,
        predef_tr_mats: bool = False,
    ):
        self.num_contexts, self.fix_2AFC, self.predef_tr_mats = num_contexts, fix_2AFC, predef_tr_mats
        typical = 1 / ctx_ch_prob if ctx_ch_prob else float(np.mean(ctx_dur))
        self.replaced = min(1.0, death_prob * typical)
        self.generation = 0
        self._in_play: np.ndarray | None = None
        super().__init__(env, probs, ctx_dur, blk_ch_prob=ctx_ch_prob, balanced_probs=balanced_probs)

    def effect_on_ceiling(self) -> Effect:
        """Effect on the ceiling: unknown, since the generation of contexts is hidden."""
        return unknown("no exact observer is known for contexts that evolve")

    def start_session(self) -> None:
        """Begin with a new generation."""
        self.generation, self._in_play = 0, None
        super().start_session()

    def _first_block(self) -> None:
        self.generation += 1
        self._contexts = self._new_contexts()
        self._enter(int(self.task.np_random.integers(len(self._contexts))))

    def _next_block(self) -> None:
        if self.task.np_random.random() < self.replaced:
            self._first_block()
        else:
            self._enter(int(self.task.np_random.integers(len(self._contexts))))

    def _enter(self, i: int) -> None:
        targets, members = self._contexts[i], self._members()
        matrix = np.zeros((self.n_ch, self.n_ch))
        matrix[:, members] = 1 / len(members)
        matrix[np.ix_(members, members)] = transitions.preferring(targets, float(self.probs))
        mapping = np.full(self.n_ch, -1)
        mapping[members] = members[np.asarray(targets)]
        self._block, self._matrix = transitions.label(mapping), matrix

    def _members(self) -> np.ndarray:
        """Choices in play."""
        return np.arange(self.n_ch) if self._in_play is None else self._in_play

    def _new_contexts(self) -> list[np.ndarray]:
        """The generation: for each context the preferred successor of each choice in play."""
        rng, n = self.task.np_random, len(self._members())
        if self.predef_tr_mats:
            shifts = {tuple((np.arange(n) + shift) % n): None for shift in (0, 1, -1)}
            return [np.array(targets) for targets in shifts]
        contexts = []
        for i in range(self.num_contexts):
            if self.fix_2AFC and n >= 2:
                pair = np.array([0, 1]) if i % 2 else np.array([1, 0])
                rest = 2 + transitions.random_targets(rng, n - 2, self.balanced_probs) if n > 2 else np.array([], int)
                contexts.append(np.concatenate([pair, rest]))
            else:
                contexts.append(transitions.random_targets(rng, n, self.balanced_probs))
        return contexts

    def _among(self, active: tuple[Any, ...], matrix: np.ndarray) -> np.ndarray:
        """Return the matrix; when the choices in play change, make a new generation of contexts for the new choices."""
        if active == self._active:
            return self._matrix
        self._active = active
        members = np.flatnonzero(np.isin(self.choices, np.asarray(active)))
        if not np.array_equal(members, self._members()):
            self._in_play = members
            self._first_block()
            self.prev = int(self.task.np_random.choice(members))
        return self._matrix

    def revise(self, trials: Trials) -> None:
        """Record context, generation and matrix."""
        super().revise(trials)
        trials.info[f"{self._key}_generation"] = self.drawn[2]
