"""Accumulation of pulses on two sides."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurogym.envs.psychophysics import exact_ceiling
from neurogym.envs.task import Patterns, Rule, TaskInfo, TrialEnv, Trials, spaces
from neurogym.parameters.arguments import Count, TwoProbabilities


def _periods(n_bin: int) -> dict[str, int]:
    bins = {name: ms for i in range(n_bin) for name, ms in ((f"cue{i}", 10), (f"bin{i}", 240))}
    return {"fixation": 500, **bins, "decision": 500}


class PulseDecisionMaking(TrialEnv):
    """Report the side with more pulses. For equal numbers, a random side is correct.

    Args:
        dt: Time step (ms). A pulse lasts at least one step.
        rewards: Replaces entries of ``default_rewards``.
        timing: Replaces entries of ``default_timing`` (ms).
        p_pulse: Probability of a pulse in each bin, on one side and on the other.
        n_bin: Number of bins.
        abort: Whether breaking fixation ends the trial.

    Raises:
        ValueError: If ``p_pulse`` is not a pair of probabilities, or ``n_bin`` is less than 1.

    Source: Scott, Constantinople, Erlich, Tank & Brody 2015.
    """

    metadata = TaskInfo(
        doi="10.7554/eLife.11308",
        tags=["perceptual", "two-alternative", "supervised"],
        necessary=("stimulus",),
    )
    default_timing = _periods(6)
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0}
    rule = Rule(fixate="*", answer=("decision",))

    def __init__(
        self,
        dt: float = 10,
        rewards: dict | None = None,
        timing: dict | None = None,
        p_pulse: TwoProbabilities = (0.3, 0.7),
        n_bin: Count = 6,
        abort: bool = False,
    ):
        self.n_bin, self.p_pulse = int(n_bin), np.asarray(p_pulse, dtype=float)
        self.default_timing = _periods(self.n_bin)  # type: ignore[misc]
        super().__init__(dt=dt, rewards=rewards, timing=timing, abort=abort)
        patterns = Patterns((0, 1), self.n_bin)
        self.conditions = {"ground_truth": (0, 1), "pulse1": patterns, "pulse2": patterns}
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": [1, 2]})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

    def _pulses(self, trials: Trials) -> np.ndarray:
        """Pulses in each bin on either side, shape (n, bins, 2), and the side that has more."""
        ground_truth = trials.draw("ground_truth")
        pulses = (trials.rng.random((trials.n, self.n_bin, 2)) < self.p_pulse).astype(int)
        asked = [side for side in (0, 1) if f"pulse{side + 1}" in trials.given]
        for side in asked:
            pulses[:, :, side] = np.stack(list(trials.given[f"pulse{side + 1}"]))
        count = pulses.sum(axis=1)
        more = np.where(count[:, 0] == count[:, 1], ground_truth, count.argmax(axis=1))
        if not asked:
            pulses = np.where((more == ground_truth)[:, None, None], pulses, pulses[:, :, ::-1])
            count = pulses.sum(axis=1)
        elif "ground_truth" in trials.given and np.any(more != ground_truth):
            raise ValueError(f"ground_truth={ground_truth[0]} contradicts the pulses: {count[0].tolist()} on the sides")
        else:
            trials.info["ground_truth"] = more
        trials.info.update(pulse1=pulses[:, :, 0], pulse2=pulses[:, :, 1], count1=count[:, 0], count2=count[:, 1])
        return pulses

    def _new_trials(self, trials: Trials) -> None:
        pulses = self._pulses(trials)
        trials.add_period("fixation")
        before = "fixation"
        for i in range(self.n_bin):
            trials.add_period(f"cue{i}", after=before, min_steps=1)
            before = f"bin{i}"
            trials.add_period(before, after=f"cue{i}")
        trials.add_period("decision", after=before)
        trials.add_ob(1, where="fixation")
        trials.set_ob(0, "decision", where="fixation")
        for i in range(self.n_bin):
            trials.add_ob(pulses[:, i], f"cue{i}", where="stimulus")
        trials.set_groundtruth(trials.info["ground_truth"], "decision", where="choice")

    def ceiling(self) -> dict[str, Any]:
        """Exact ceiling: pulses have no noise, so only ties require a guess."""
        one, other = (np.ones(1), np.ones(1))
        for _ in range(self.n_bin):
            one, other = (np.convolve(p, [1 - q, q]) for p, q in zip((one, other), self.p_pulse, strict=True))
        return exact_ceiling(self, 1 - float(one @ other) / 2, "probability of a tie")
