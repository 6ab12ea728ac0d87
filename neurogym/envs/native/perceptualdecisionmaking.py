"""Perceptual decision-making: random-dot motion in vector form, answered at once or after a delay."""

from __future__ import annotations

import numpy as np

from neurogym.envs.psychophysics import choice_ceiling, coherences, ring_stimulus, step_noise, two_channels
from neurogym.envs.task import ChoiceTask, ConditionValues, Score, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import AtLeastTwo, NonNegative, Numbers


class PerceptualDecisionMaking(ChoiceTask):
    """Report which of two (or of n) noisy motion directions is stronger.

    A ring of units shows motion towards the correct direction, stronger with higher coherence; the agent fixates
    during the stimulus and reports the direction when the fixation cue goes off.

    Args:
        cohs: Coherences (percent); drawn uniformly. Default 0, 6.4, 12.8, 25.6, 51.2.
        dim_ring: Number of directions, equally spaced.
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).

    Source: Britten, Shadlen, Newsome & Movshon 1992.
    """

    metadata = TaskInfo(
        doi="10.1523/JNEUROSCI.12-12-04745.1992",
        tags=["perceptual", "two-alternative", "supervised"],
        necessary=("stimulus",),
        measures=("psychometric",),
    )
    default_timing = {"fixation": 100, "stimulus": 2000, "delay": 0, "decision": 100}
    cohs = ConditionValues("coh")

    @usual_arguments(first=("dim_ring",))
    def __init__(self, cohs: Numbers | None = None, dim_ring: AtLeastTwo = 2, sigma: NonNegative = 1.0):
        self.sigma, self.dim_ring = step_noise(sigma, self.dt), dim_ring
        self.theta = np.linspace(0, 2 * np.pi, dim_ring + 1)[:-1]
        self.conditions = {"ground_truth": np.arange(dim_ring), "coh": coherences(cohs)}
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": range(1, dim_ring + 1)})
        self.action_space = spaces.Discrete(1 + dim_ring, name={"fixation": 0, "choice": range(1, dim_ring + 1)})

    def _new_trials(self, trials: Trials) -> None:
        ground_truth, coh = trials.draw("ground_truth"), trials.draw("coh")
        trials.add_ob(1, ["fixation", "stimulus", "delay"], where="fixation")
        trials.add_ob(ring_stimulus(self.theta, self.theta[ground_truth], coh), "stimulus", where="stimulus")
        trials.add_randn(0, self.sigma, "stimulus", where="stimulus")
        trials.set_groundtruth(ground_truth, "decision", where="choice")

    def ceiling(self) -> Score | None:
        """Exact for two directions: the mean of the samples of the difference of the two channels decides."""
        return choice_ceiling(self, self.cohs, self.sigma) if len(self.theta) == 2 else super().ceiling()


class PerceptualDecisionMakingDelayResponse(ChoiceTask):
    """Compare two noisy stimuli and report the stronger stimulus after a delay of random length.

    Args:
        stim_scale: Factor on the coherences 0, 6.4, 12.8, 25.6 and 51.2 percent.
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).

    Source: Inagaki, Fontolan, Romani & Svoboda 2019.
    """

    metadata = TaskInfo(
        doi="10.1038/s41586-019-0919-7",
        tags=["perceptual", "delayed response", "two-alternative", "supervised"],
        necessary=("stimulus",),
        measures=("psychometric",),
    )
    default_timing = {
        "fixation": 0,
        "stimulus": 1150,
        "delay": ("choice", (300, 500, 700, 900, 1200, 2000, 3200, 4000)),
        "decision": 1500,
    }

    @usual_arguments()
    def __init__(self, stim_scale: NonNegative = 1.0, sigma: NonNegative = 1.0):
        self.sigma = step_noise(sigma, self.dt)
        self.cohs = coherences() * stim_scale
        self.conditions = {"ground_truth": (1, 2), "coh": self.cohs}
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": [1, 2]})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

    def _new_trials(self, trials: Trials) -> None:
        ground_truth, coh = trials.draw("ground_truth"), trials.draw("coh")
        trials.info["sigma"] = np.full(trials.n, self.sigma)
        signed = np.where(ground_truth == 1, coh, -coh)
        trials.add_ob(1, ["fixation", "stimulus", "delay"], where="fixation")
        trials.add_ob(two_channels(signed), "stimulus", where="stimulus")
        trials.add_randn(0, self.sigma, "stimulus", where="stimulus")
        trials.set_groundtruth(ground_truth, "decision")

    def ceiling(self) -> Score | None:
        """Exact: the mean of the samples of the difference of the two channels decides."""
        return choice_ceiling(self, self.cohs, self.sigma)
