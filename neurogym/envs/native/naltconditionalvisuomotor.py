"""Conditional visuomotor association with several alternatives."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from neurogym.envs.psychophysics import step_noise
from neurogym.envs.task import ChoiceTask, ObserverSettings, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import AtLeastTwo, Count, NonNegative, Whole
from neurogym.sampling.distributions import distinct_patterns

MOST_PERMUTED = 6  #: with more stimuli only the mapping of the task and its reverse can be requested


class NAltConditionalVisuomotor(ChoiceTask):
    """Make the response associated with a pattern, after a delay.

    Which pattern goes with which response is arbitrary. Patterns and mapping follow from ``pattern_seed``, so that all
    copies of the task agree; the condition ``mapping`` changes it trial by trial (reversals).

    Args:
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).
        stim_scale: Contrast of the patterns, 0 to 1.
        n_ch: Bits of a pattern.
        n_stims: Number of patterns and responses, at least 2.
        pattern_seed: Seed of patterns and mapping.

    Raises:
        ValueError: If ``n_stims`` is less than 2 or there are not so many patterns.

    Source: Asaad, Rainer & Miller 1998.
    """

    metadata = TaskInfo(
        doi="10.1016/S0896-6273(00)80658-3",
        tags=["conditional", "n-alternative", "working memory", "supervised"],
        necessary=("stimulus",),
    )
    default_timing = {"fixation": 500, "stimulus": 500, "delay": 1000, "decision": 500}
    ideal_observer = ObserverSettings(("stims",))

    @usual_arguments()
    def __init__(
        self,
        sigma: NonNegative = 0.1,
        stim_scale: NonNegative = 1.0,
        n_ch: Count = 10,
        n_stims: AtLeastTwo = 2,
        pattern_seed: Whole = 0,
    ):
        if n_stims > 2**n_ch:
            raise ValueError(f"n_stims must be at most 2**n_ch = {2**n_ch}, got {n_stims!r}")
        rng = np.random.default_rng(pattern_seed)
        self.sigma, self.coh = step_noise(sigma, self.dt), 100 * stim_scale
        self.patterns = distinct_patterns(rng, n_stims, n_ch)
        self.mapping = tuple(int(action) for action in rng.permutation(n_stims) + 1)
        actions = range(1, n_stims + 1)
        few: Sequence[tuple[int, ...]] = (self.mapping, self.mapping[::-1])
        self.conditions = {
            "ground_truth": tuple(actions),
            "stims": tuple(range(n_stims)),
            "mapping": list(permutations(actions)) if n_stims <= MOST_PERMUTED else few,
        }
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": range(1, n_ch + 1)})
        self.action_space = spaces.Discrete(1 + n_stims, name={"fixation": 0, "choice": actions})

    def _new_trials(self, trials: Trials) -> None:
        mapping = np.stack(list(trials.draw("mapping", [self.mapping])))
        stims = trials.draw("stims")
        if "ground_truth" in trials.given:
            target = trials.draw("ground_truth")
            index = (mapping == target[:, None]).argmax(axis=1)
            if "stims" in trials.given and np.any(index != stims):
                raise ValueError(f"stims={stims.tolist()} does not lead to ground_truth={target.tolist()}")
            stims = trials.info["stims"] = index
        truth = trials.info["ground_truth"] = mapping[np.arange(trials.n), stims]
        trials.info["coh"] = np.full(trials.n, self.coh)
        trials.add_ob(1, ["fixation", "stimulus", "delay"], where="fixation")
        trials.add_ob((1 + (2 * self.patterns[stims] - 1) * self.coh / 100) / 2, "stimulus", where="stimulus")
        trials.add_randn(0, self.sigma, "stimulus", where="stimulus")
        trials.set_groundtruth(truth, "decision")
