"""Context-dependent integration of one of two sources of evidence."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurogym.envs.psychophysics import choice_ceiling, ring, ring_stimulus, step_noise
from neurogym.envs.task import ChoiceTask, ConditionValues, Score, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import AtLeastTwo, NonNegative, Whole

MANTE = (5, 15, 50)  #: coherences of either modality (percent)


class ContextDecisionMaking(ChoiceTask):
    """Report the direction of the relevant of two noisy modalities and ignore the other.

    Which modality is relevant is fixed (implicit context), or drawn in each trial and shown by a cue that stays on
    for the whole trial (explicit context).

    Args:
        use_expl_context: Whether the context is drawn in each trial and cued.
        impl_context_modality: Relevant modality (0 or 1) if the context is implicit.
        dim_ring: Number of directions, equally spaced.
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).

    Raises:
        ValueError: If ``impl_context_modality`` is neither 0 nor 1.

    Source: Mante, Sussillo, Shenoy & Newsome 2013.
    """

    metadata = TaskInfo(
        doi="10.1038/nature12742",
        tags=["perceptual", "context dependent", "two-alternative", "supervised"],
        necessary=(("stim1_mod1", "stim2_mod1"),),
        measures=("context",),
    )
    default_timing = {
        "fixation": 300,
        "stimulus": 750,
        "delay": ("truncated_exponential", (600, 300, 3000)),
        "decision": 100,
    }
    cohs = ConditionValues("coh_1", "coh_2")
    contexts = ConditionValues("context")

    @usual_arguments(first=("use_expl_context", "impl_context_modality", "dim_ring"))
    def __init__(
        self,
        use_expl_context: bool = False,
        impl_context_modality: Whole = 0,
        dim_ring: AtLeastTwo = 2,
        sigma: NonNegative = 1.0,
    ):
        if not use_expl_context and impl_context_modality not in (0, 1):
            raise ValueError(f"impl_context_modality must be 0 or 1, got {impl_context_modality!r}")
        self.use_expl_context, self.impl_context_modality = bool(use_expl_context), impl_context_modality
        self.sigma, self.dim_ring, self.theta = step_noise(sigma, self.dt), dim_ring, ring(dim_ring)
        self.conditions = {
            "ground_truth": np.arange(1, dim_ring + 1),
            "other_choice": np.arange(1, dim_ring + 1),
            "context": (0, 1) if use_expl_context else (impl_context_modality,),
            "coh_1": np.array(MANTE),
            "coh_2": np.array(MANTE),
        }
        self.modalities = [range(1, 1 + dim_ring), range(1 + dim_ring, 1 + 2 * dim_ring)]
        names: dict[str, Any] = {"fixation": 0}
        for m, channels in enumerate(self.modalities, start=1):
            names |= {f"stim{k}_mod{m}": channel for k, channel in enumerate(channels, start=1)}
        if use_expl_context:
            names |= {"context1": 1 + 2 * dim_ring, "context2": 2 + 2 * dim_ring}
        self.observation_space = spaces.channels(names)
        self.action_space = spaces.Discrete(1 + dim_ring, name={"fixation": 0, "choice": range(1, dim_ring + 1)})

    def _new_trials(self, trials: Trials) -> None:
        ground_truth, other = trials.draw("ground_truth"), trials.draw("other_choice")
        context = trials.draw("context")
        coherences = trials.draw("coh_1"), trials.draw("coh_2")
        trials.add_ob(1, ["fixation", "stimulus", "delay"], where="fixation")
        for m, (channels, coh) in enumerate(zip(self.modalities, coherences, strict=True)):
            shown = self.theta[np.where(context == m, ground_truth, other) - 1]
            trials.add_ob(ring_stimulus(self.theta, shown, coh), "stimulus", where=channels)
        trials.add_randn(0, self.sigma, "stimulus", where=range(1, 1 + 2 * len(self.theta)))
        if self.use_expl_context:
            trials.add_ob(context == 0, where="context1")
            trials.add_ob(context == 1, where="context2")
        trials.set_groundtruth(ground_truth - 1, "decision", where="choice")

    def ceiling(self) -> Score | None:
        """Exact for two directions: the mean of the samples of the relevant modality decides."""
        return choice_ceiling(self, self.cohs, self.sigma) if len(self.theta) == 2 else super().ceiling()
