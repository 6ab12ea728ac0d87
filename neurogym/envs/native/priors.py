"""Two-choice perception with serial dependence: correct sides repeat or alternate in blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from neurogym.ceilings.processes import BlockProcess
from neurogym.envs.psychophysics import coherences, step_noise
from neurogym.envs.task import ObserverSettings, Rule, TaskInfo, TrialEnv, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import Count, NonNegative, Numbers, TwoProbabilities


class Priors(TrialEnv):
    """Report the stronger of two noisy stimuli; the correct side tends to repeat, or to alternate, block by block.

    What an agent can gain from the last outcome needs memory across trials.

    Args:
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).
        rep_prob: Probability that the correct side repeats, in the blocks that alternate.
        block_dur: Trials of a block.

    Raises:
        ValueError: If a probability is outside [0, 1] or a block has no trials.

    Source: Hermoso-Mendizabal et al., Response outcomes gate the impact of expectations on perceptual decisions.
    """

    metadata = TaskInfo(
        doi="10.1038/s41467-020-14824-w",
        tags=["perceptual", "two-alternative", "supervised"],
        needs_reward=True,
        necessary=("stimulus",),
    )
    default_timing = {"fixation": 100, "stimulus": 300, "decision": 100}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": -1.0, "miss": 0.0}
    rule = Rule(fixate=("fixation", "stimulus"), answer=("decision",))

    @usual_arguments()
    def __init__(self, sigma: NonNegative = 10.0, rep_prob: TwoProbabilities = (0.2, 0.8), block_dur: Count = 200):
        self._set_blocks(sigma, rep_prob, block_dur)

    def _set_blocks(self, sigma: float, rep_prob: tuple[float, float], block_dur: int) -> None:
        self.sigma, self.rep_prob, self.block_dur = step_noise(sigma, self.dt), rep_prob, block_dur
        self.conditions = {"ground_truth": (1, 2)}
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": [1, 2]})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})
        self.start_session()

    @property
    def ideal_observer(self) -> ObserverSettings:
        """Observer of a chain of sides; the strengths of the weaker stimulus are drawn from a continuum."""
        repeats = np.array([[[p, 1 - p], [1 - p, p]] for p in self.rep_prob])
        process = BlockProcess(repeats, 1 - np.eye(2), self.block_dur, self.block_dur)
        return ObserverSettings(draws=400, process=process)

    def start_session(self) -> None:
        """Reset the last correct side and the block."""
        self._done, self._side, self._first_block = 0, 0, 0

    def _draw_sides(self, trials: Trials) -> np.ndarray:
        """Correct side (1 or 2) of each trial: a chain with the block's probability of repetition."""
        if self._side == 0:
            self._side, self._first_block = 1 + int(trials.rng.integers(2)), int(trials.rng.integers(2))
        block = (self._first_block + (self._done + np.arange(trials.n)) // self.block_dur) % 2
        repeats = trials.rng.random(trials.n) < np.asarray(self.rep_prob)[block]
        sides = trials.given.get("ground_truth", 1 + (self._side - 1 + np.cumsum(~repeats)) % 2)
        self._done, self._side = self._done + trials.n, int(sides[-1])
        trials.info.update(ground_truth=sides, rep_prob=np.asarray(self.rep_prob)[block])
        return sides

    def _strengths(self, trials: Trials, sides: np.ndarray) -> np.ndarray:
        """Mean of the two stimuli, shape (n, 2)."""
        weaker = trials.info["weaker"] = 0.5 + 0.5 * trials.rng.random(trials.n)
        return np.where(np.arange(1, 3) == sides[:, None], 1.0, weaker[:, None])

    def _new_trials(self, trials: Trials) -> None:
        sides = self._draw_sides(trials)
        trials.add_ob(1, ["fixation", "stimulus"], where="fixation")
        trials.add_ob(self._strengths(trials, sides), "stimulus", where="stimulus")
        trials.add_randn(0, self.sigma, "stimulus", where="stimulus")
        trials.set_groundtruth(sides, "decision")


class RDMHist(Priors):
    """Report which of two noisy directions is stronger; directions repeat or alternate, block by block.

    Args:
        dt: Time step (ms).
        rewards: Replaces entries of ``default_rewards``.
        timing: Replaces entries of ``default_timing`` (ms).
        cohs: Coherences (percent): the two directions have strength (1 +- coh/100) / 2.
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).
        rep_prob: Probability that the correct side repeats, in the blocks that alternate.
        block_dur: Trials of a block.
        abort: Whether breaking fixation ends the trial.

    Source: Hermoso-Mendizabal et al., Response outcomes gate the impact of expectations on perceptual decisions.
    """

    default_timing = {"fixation": 750, "stimulus": 1000, "decision": 500}
    default_rewards = {"abort": -1.0, "correct": 1.0, "fail": -1.0, "miss": 0.0}

    @usual_arguments()
    def __init__(
        self,
        cohs: Numbers | None = None,
        sigma: NonNegative = 2**0.5,
        rep_prob: TwoProbabilities = (0.2, 0.8),
        block_dur: Count = 200,
    ):
        self._set_blocks(sigma, rep_prob, block_dur)
        self.cohs = coherences(cohs)
        self.conditions["coh"] = self.cohs

    @property
    def ideal_observer(self) -> ObserverSettings:
        """Observer of a chain of sides, with the listed coherences."""
        return replace(super().ideal_observer, conditions=("ground_truth", "coh"), draws=0)

    def _strengths(self, trials: Trials, sides: np.ndarray) -> np.ndarray:
        """Strength of the two directions, shape (n, 2)."""
        coh = trials.draw("coh")[:, None] / 100
        return (1 + np.where(np.arange(1, 3) == sides[:, None], coh, -coh)) / 2
