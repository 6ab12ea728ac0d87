"""Evidence in two modalities: one counts, depending on context, or both are added up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neurogym.envs.psychophysics import choice_ceiling, ring, ring_stimulus, step_noise
from neurogym.envs.task import (
    ChoiceTask,
    ConditionValues,
    ObserverSettings,
    Score,
    TaskInfo,
    Trials,
    spaces,
    usual_arguments,
)
from neurogym.parameters.arguments import AtLeastTwo, NonNegative, Whole

MANTE = (5, 15, 50)  #: coherences of either modality (percent)


class _TwoModalities(ChoiceTask):
    """Base of tasks with a ring of units for each of two modalities, and an action per direction.

    Attributes:
        modalities_at: Channels of either modality.
    """

    def _set_rings(self, dim_ring: int, sigma: float) -> None:
        self.sigma, self.dim_ring, self.theta = step_noise(sigma, self.dt), dim_ring, ring(dim_ring)
        self.modalities_at = [range(1, 1 + dim_ring), range(1 + dim_ring, 1 + 2 * dim_ring)]
        self.action_space = spaces.Discrete(1 + dim_ring, name={"fixation": 0, "choice": range(1, dim_ring + 1)})


class ContextDecisionMaking(_TwoModalities):
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
    ideal_observer = ObserverSettings(("ground_truth", "other_choice", "context", "coh_1", "coh_2"))

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
        self._set_rings(dim_ring, sigma)
        self.conditions = {
            "ground_truth": np.arange(1, dim_ring + 1),
            "other_choice": np.arange(1, dim_ring + 1),
            "context": (0, 1) if use_expl_context else (impl_context_modality,),
            "coh_1": np.array(MANTE),
            "coh_2": np.array(MANTE),
        }
        names: dict[str, spaces.Index] = {"fixation": 0}
        for m, channels in enumerate(self.modalities_at, start=1):
            names |= {f"stim{k}_mod{m}": channel for k, channel in enumerate(channels, start=1)}
        if use_expl_context:
            names |= {"context1": 1 + 2 * dim_ring, "context2": 2 + 2 * dim_ring}
        self.observation_space = spaces.channels(names)

    def _new_trials(self, trials: Trials) -> None:
        ground_truth, distracting = trials.draw("ground_truth"), trials.draw("other_choice")
        context = trials.draw("context")
        coherences = trials.draw("coh_1"), trials.draw("coh_2")
        trials.add_ob(1, ["fixation", "stimulus", "delay"], where="fixation")
        for m, (channels, coh) in enumerate(zip(self.modalities_at, coherences, strict=True)):
            direction = self.theta[np.where(context == m, ground_truth, distracting) - 1]
            trials.add_ob(ring_stimulus(self.theta, direction, coh), "stimulus", where=channels)
        trials.add_randn(0, self.sigma, "stimulus", where=range(1, 1 + 2 * len(self.theta)))
        if self.use_expl_context:
            trials.add_ob(context == 0, where="context1")
            trials.add_ob(context == 1, where="context2")
        trials.set_groundtruth(ground_truth - 1, "decision", where="choice")

    def closed_form(self) -> Score | None:
        """Exact for two directions: the mean of the samples of the relevant modality decides."""
        relevant = [self.conditions[f"coh_{context + 1}"] for context in self.conditions["context"]]
        if len(self.theta) != 2 or not all(np.array_equal(cohs, relevant[0]) for cohs in relevant):
            return None
        return choice_ceiling(self, relevant[0], self.sigma)


SUMS = (5, 15, 50)  #: of the coherences of both modalities (percent)
ALONE = 0.5  #: share of coherence in a single modality, as on average with both
TRIAL_KINDS = ("both", "conflict", "first", "second")


class MultiSensoryIntegration(_TwoModalities):
    """Report the direction that two noisy modalities show together.

    The coherences of the modalities add up to ``coh``; a part ``coh_prop`` of it is shown by the first. Conflict trials
    have a part above 1 or below 0: the weaker modality points the opposite way, the sum still decides. In trials with
    one modality the other is silent, and the one shows half of ``coh``, its average share in trials with both: an agent
    that adds up both is then as precise as two single modalities allow. The record has the strength of each modality
    (``coh_1``, ``coh_2``) and the presented modalities (``modality``).

    Args:
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).
        dim_ring: Number of directions, equally spaced.
        modalities: Kinds of trials, equally likely: ``"both"``, ``"conflict"``, ``"first"``, ``"second"``.

    Raises:
        ValueError: If ``modalities`` names anything else, or nothing.

    Source: after Raposo, Kaufman & Churchland 2014.
    """

    metadata = TaskInfo(
        doi="10.1038/nn.3865",
        tags=["perceptual", "two-alternative", "supervised"],
        necessary=(("stimulus_mod1", "stimulus_mod2"),),
        measures=("psychometric",),
    )
    default_timing = {"fixation": 300, "stimulus": 750, "decision": 100}
    cohs = ConditionValues("coh")

    @usual_arguments()
    def __init__(self, sigma: NonNegative = 1.0, dim_ring: AtLeastTwo = 2, modalities: Sequence[str] = ("both",)):
        self.modalities = (modalities,) if isinstance(modalities, str) else tuple(modalities)
        if not self.modalities or not set(self.modalities) <= set(TRIAL_KINDS):
            raise ValueError(f"modalities must be some of {', '.join(TRIAL_KINDS)}, got {modalities!r}")
        self._set_rings(dim_ring, sigma)
        self.conditions = {
            "ground_truth": np.arange(dim_ring),
            "coh": np.array(SUMS),
            "coh_prop": ("uniform", (-0.5, 1.5)),
            "modality": list(TRIAL_KINDS),
        }
        names = {f"stimulus_mod{m}": channels for m, channels in enumerate(self.modalities_at, start=1)}
        self.observation_space = spaces.channels({"fixation": 0, **names})

    def _parts(self, trials: Trials) -> np.ndarray:
        """Share of coherence in the first modality, and the type of trial, each as requested or drawn."""
        modality, drawn = trials.draw("modality", list(self.modalities)), trials.rng.random(trials.n)
        beyond = np.where(drawn < 0.5, -drawn, drawn + 0.5)  # -0.5 to 0, or 1 to 1.5
        kinds = [modality == name for name in ("conflict", "first", "second")]
        share = np.select(kinds, [beyond, 1.0, 0.0], default=drawn)
        if "coh_prop" in trials.given:
            share = np.asarray(trials.given["coh_prop"], dtype=float)
            named = np.select(
                [share == 1, share == 0, (share < 0) | (share > 1)], ["first", "second", "conflict"], "both"
            )
            if "modality" in trials.given and np.any(named != modality):
                raise ValueError(f"coh_prop={share[0]} makes a trial of modality {named[0]!r}, not {modality[0]!r}")
            trials.info["modality"] = named
        trials.info["coh_prop"] = share
        return share

    def _new_trials(self, trials: Trials) -> None:
        ground_truth, coh, share = trials.draw("ground_truth"), trials.draw("coh"), self._parts(trials)
        alone = np.where(np.isin(trials.info["modality"], ("first", "second")), ALONE, 1.0)
        trials.info.update(coh_1=alone * coh * share, coh_2=alone * coh * (1 - share))
        trials.add_ob(1, ["fixation", "stimulus"], where="fixation")
        silent = [trials.info["modality"] == modality for modality in ("second", "first")]
        for m, channels in enumerate(self.modalities_at):
            is_on = ~silent[m]
            stimulus = ring_stimulus(self.theta, self.theta[ground_truth], trials.info[f"coh_{m + 1}"])
            trials.add_ob(is_on[:, None] * stimulus, "stimulus", where=channels)
            trials.add_randn(0, self.sigma * is_on, "stimulus", where=channels)
        trials.set_groundtruth(ground_truth, "decision", where="choice")

    def closed_form(self) -> Score | None:
        """Ceiling, exact for two directions: the sum of all samples decides, with the noise of the shown modalities."""
        if len(self.theta) != 2:
            return None
        noise = [self.sigma * (1 / ALONE if m in ("first", "second") else np.sqrt(2)) for m in self.modalities]
        ceilings = [score for each in noise if (score := choice_ceiling(self, self.cohs, each)) is not None]
        if len(ceilings) < len(noise):
            return None
        mean = {key: float(np.mean([c[key] for c in ceilings])) for key in ("performance", "reward", "error")}
        return {**mean, "method": ceilings[0]["method"]}
