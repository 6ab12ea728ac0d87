"""Random processes that draw successive ground truths, and the exact filter of an observer.

A process goes through blocks; in each a matrix says which ground truth follows which. The filter is the belief over
block, trials left in it, and last ground truth, of an observer that knows the process and counts trials.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neurogym.array_types import FloatArray, IntArray

LONGEST = 2000  #: trials of a block beyond which the belief would need too much memory
SESSIONS, FEWEST_SESSIONS, CELLS = 256, 16, 40_000  #: followed sessions, and the size of all beliefs together
WARM_UP, MEASURED = 400, 400  #: trials of a session, at most and at least


@dataclass(frozen=True)
class BlockProcess:
    """Blocks of Markov chains.

    Attributes:
        matrices: Probability of each ground truth after each, shape (blocks, choices, choices); row: the last one.
        next_block: Probability of the block that follows each block, shape (blocks, blocks).
        low: Fewest trials of a block.
        high: Most trials of a block; the number is uniform between the two.
        hazard: In place of a number: probability at each trial that a new block begins, the first trial included.
    """

    matrices: FloatArray
    next_block: FloatArray
    low: int = 1
    high: int = 1
    hazard: float | None = None

    @classmethod
    def independent(cls, p: FloatArray) -> BlockProcess:
        """Every trial by itself, with probabilities ``p``, shape (choices,)."""
        return cls(np.tile(p, (1, len(p), 1)), np.ones((1, 1)), hazard=0.0)

    @property
    def lengths(self) -> int:
        """Number of remaining block lengths that the observer must distinguish."""
        varies = self.hazard is None and len(self.matrices) > 1 and self.low < self.high
        return self.high if varies else 1

    @property
    def trials(self) -> float:
        """Mean length of a block, 1 for a single block."""
        if len(self.matrices) == 1:
            return 1.0
        return (self.low + self.high) / 2 if self.hazard is None else 1 / max(self.hazard, 1e-9)

    @property
    def remembers(self) -> bool:
        """Whether earlier trials are informative about the next trial."""
        first = self.matrices[:1, :1]
        return bool(np.ptp(self.matrices - first) > 1e-12)


class Filter:
    """Beliefs of observers that follow a process, a belief per session, initialised like the wrapper's sessions.

    Args:
        process: What is followed.
        n: Number of sessions.
    """

    def __init__(self, process: BlockProcess, n: int):
        self.process = process
        blocks, choices = process.matrices.shape[:2]
        self._lengths = np.zeros(process.lengths)
        self._lengths[process.low - 1 if process.lengths > 1 else 0 :] = 1.0
        self._lengths /= self._lengths.sum()
        start = np.full((blocks, 1, choices), 1 / (blocks * choices)) * self._lengths[:, None]
        self.belief = np.tile(start, (n, 1, 1, 1))  # session, block, trials left - 1, last ground truth
        self._left = process.high  # of the present block, where all are equally long

    def predict(self) -> FloatArray:
        """Probability of each ground truth in the coming trial, shape (sessions, choices)."""
        p = self.process
        if p.hazard is not None and p.hazard and len(p.matrices) > 1:
            moved = np.einsum("nblp,bc->nclp", self.belief, p.next_block)
            self.belief = (1 - p.hazard) * self.belief + p.hazard * moved
        self._joint = np.einsum("nblp,bpg->nblg", self.belief, p.matrices)
        return np.asarray(self._joint.sum(axis=(1, 2)))

    def update(self, weight: FloatArray) -> None:
        """Update the beliefs with the likelihood of the trial's ground truth.

        Args:
            weight: Likelihood of each ground truth, shape (sessions, choices).
        """
        joint = self._joint * weight[:, None, None, :]
        joint /= joint.sum(axis=(1, 2, 3), keepdims=True)
        if self.process.lengths > 1:
            over = np.einsum("nbp,bc->ncp", joint[:, :, 0], self.process.next_block)
            joint[:, :, :-1] = joint[:, :, 1:]
            joint[:, :, -1] = 0.0
            joint += over[:, :, None] * self._lengths[:, None]
        elif self.process.hazard is None and len(self.process.matrices) > 1:
            self._left -= 1
            if not self._left:
                joint = np.einsum("nblp,bc->nclp", joint, self.process.next_block)
                self._left = self.process.high
        self.belief = joint


class Sessions:
    """Sessions of ground truths, drawn from a process in the same way as by the wrapper.

    Args:
        process: What is drawn from.
        n: Number of sessions.
        rng: Generator.
    """

    def __init__(self, process: BlockProcess, n: int, rng: np.random.Generator):
        self.process, self.n, self.rng = process, n, rng
        blocks, choices = process.matrices.shape[:2]
        self._block, self._last = rng.integers(blocks, size=n), rng.integers(choices, size=n)
        self._left = rng.integers(process.low, process.high + 1, size=n)

    def draw(self) -> IntArray:
        """The ground truth of the next trial of each session, as an index, shape (sessions,)."""
        p = self.process
        self._left -= 1
        if len(p.matrices) > 1:
            over = self._left < 0 if p.hazard is None else self.rng.random(self.n) < p.hazard
            self._block = np.where(over, draw(self.rng, p.next_block[self._block]), self._block)
            self._left = np.where(over, self.rng.integers(p.low, p.high + 1, size=self.n) - 1, self._left)
        self._last = draw(self.rng, p.matrices[self._block, self._last])
        return self._last


def draw(rng: np.random.Generator, p: FloatArray) -> IntArray:
    """Draw an index for each row, with the probabilities of that row; shape (n,)."""
    edges = np.cumsum(p, axis=1)
    return np.minimum((rng.random((len(p), 1)) * edges[:, -1:] >= edges).sum(axis=1), p.shape[1] - 1)


def expected_accuracy(likelihood: FloatArray, truth: np.ndarray, p: FloatArray) -> tuple[float, float]:
    """Accuracy of the best answer if the ground truth has probabilities ``p``, with standard error."""
    best = (likelihood * p).max(axis=1) / (likelihood * p).sum(axis=1)
    pieces = [best[truth == g] for g in range(len(p))]
    mean = sum(q * piece.mean() for q, piece in zip(p, pieces, strict=True))
    error = np.sqrt(sum(q**2 * piece.var() / len(piece) for q, piece in zip(p, pieces, strict=True)))
    return float(mean), float(error)


def long_run_shares(process: BlockProcess) -> FloatArray:
    """Long-run frequency of each ground truth, from 2,000 trials of each of 200 sessions."""
    choices = process.matrices.shape[1]
    sessions = Sessions(process, 200, np.random.default_rng(0))
    drawn = np.concatenate([sessions.draw() for _ in range(2000)])
    return np.asarray(np.bincount(drawn, minlength=choices) / len(drawn))


def filtered_accuracy(
    likelihood: FloatArray, truth: np.ndarray, process: BlockProcess, outcome_shown: bool
) -> tuple[float, float]:
    """Accuracy of an observer who follows the process in the long run, with standard error over sessions.

    Args:
        likelihood: Of each ground truth, for trials that are drawn from, shape (n, choices).
        truth: Index of the ground truth of these trials, shape (n,).
        process: What draws the ground truth.
        outcome_shown: Whether the observer learns the outcome of each trial.
    """
    rng = np.random.default_rng(1)
    choices = likelihood.shape[1]
    size = len(process.matrices) * choices * process.lengths
    n = int(np.clip(CELLS // size, FEWEST_SESSIONS, SESSIONS))
    block = int(np.ceil(process.trials))
    warm, measured = min(2 * block + 20, WARM_UP), max(MEASURED, 2 * block)
    places = [np.flatnonzero(truth == g) for g in range(choices)]
    observer, sessions = Filter(process, n), Sessions(process, n, rng)
    total = np.zeros(n)
    for trial in range(warm + measured):
        prior, right = observer.predict(), sessions.draw()
        seen = np.empty((n, choices))
        for g in range(choices):
            at = right == g
            seen[at] = likelihood[rng.choice(places[g], size=np.count_nonzero(at))]
        post = prior * seen
        post /= post.sum(axis=1, keepdims=True)
        answer = post.argmax(axis=1)
        if trial >= warm:
            total += post.max(axis=1)
        if outcome_shown:  # an error leaves the other answers, as likely as the stimulus makes them
            hit = answer == right
            wrong_answers = seen * (np.arange(choices) != answer[:, None])
            seen = np.where(hit[:, None], np.eye(choices)[right], wrong_answers)
        observer.update(seen)
    each = total / measured
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(n))
