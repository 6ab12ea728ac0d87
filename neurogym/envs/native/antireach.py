"""Anti-reach: respond opposite to a stimulus on a ring."""

from __future__ import annotations

import numpy as np

from neurogym.envs.psychophysics import ring
from neurogym.envs.task import ChoiceTask, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import AtLeastTwo


class AntiReach(ChoiceTask):
    """Respond opposite to the stimulus, or towards the stimulus.

    Args:
        anti: Whether the response is opposite to the stimulus; False: towards it.
        dim_ring: Number of directions, equally spaced.

    Raises:
        ValueError: If ``dim_ring`` is less than 2.

    Source: Munoz & Everling 2004.
    """

    metadata = TaskInfo(
        doi="10.1038/nrn1345",
        tags=["perceptual", "n-alternative", "supervised"],
        necessary=("stimulus",),
    )
    default_timing = {"fixation": 500, "stimulus": 500, "delay": 0, "decision": 500}

    @usual_arguments(first=("anti",))
    def __init__(self, anti: bool = True, dim_ring: AtLeastTwo = 32):
        self.anti = bool(anti)
        self.dim_ring, self.theta = dim_ring, ring(dim_ring)
        self.conditions = {"ground_truth": np.arange(dim_ring), "anti": (False, True)}
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": range(1, dim_ring + 1)})
        self.action_space = spaces.Discrete(1 + dim_ring, name={"fixation": 0, "choice": range(1, dim_ring + 1)})

    def _new_trials(self, trials: Trials) -> None:
        ground_truth, anti = trials.draw("ground_truth"), trials.draw("anti", (self.anti,))
        direction = self.theta[ground_truth] + np.pi * anti
        trials.add_ob(1, ["fixation", "stimulus", "delay"], where="fixation")
        trials.add_ob(np.cos(self.theta - direction[:, None]), "stimulus", where="stimulus")
        trials.set_groundtruth(ground_truth, "decision", where="choice")
