"""Multisensory rate discrimination."""

from __future__ import annotations

import numpy as np

from neurogym.envs.psychophysics import choice_ceiling, exact_ceiling, step_noise
from neurogym.envs.task import ChoiceTask, ObserverSettings, Score, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import NonNegative, Number, Positive

MODALITIES = ("visual", "auditory", "both")


class RateDiscrimination(ChoiceTask):
    """Report whether a train of flashes, of clicks, or of both is faster or slower than the boundary.

    Each modality has a channel that grows and one that falls with the rate, from ``baseline + lowest`` to ``baseline +
    lowest + span``. The noise is that of the input of all units, all the time, and their input cannot become negative;
    or it is that of the senses: only on what is shown, and of either sign (``sensory=True``, Song et al. 2017).

    Args:
        fmin: Lowest rate (Hz).
        fmax: Highest rate (Hz).
        freq_step: Distance of the rates (Hz); the boundary is the mean of the rates, which is left out.
        sigma: Noise of the units' input; its s.d. per step is sigma * sqrt(2 * tau / dt).
        tau: Time constant that the noise refers to (ms).
        baseline: Input of every channel all the time.
        lowest: Strength of a modality's channel at the end of the rates that it does not prefer, above the baseline.
        span: How much stronger it is at the other end.
        sensory: Whether only the channels of presented modalities are noisy, while they are, without a lower bound.

    Raises:
        ValueError: If there are not at least two rates, ``sigma`` is negative or ``span`` is not positive.

    Source: Raposo, Kaufman & Churchland 2014; with ``sensory`` Song, Yang & Wang 2017,
    10.7554/eLife.21492.
    """

    metadata = TaskInfo(
        doi="10.1038/nn.3865",
        tags=["perceptual", "two-alternative", "supervised"],
        necessary=(("visual", "auditory"), "visual", "auditory"),
        measures=("cue_combination",),
    )
    default_timing = {"fixation": 100, "stimulus": 1000, "decision": 100}

    @usual_arguments()
    def __init__(
        self,
        fmin: Number = 9,
        fmax: Number = 16,
        freq_step: Positive = 1,
        sigma: NonNegative = 0.2,
        tau: Positive = 100,
        baseline: Number = 0.2,
        lowest: Number = 0.4,
        span: Positive = 0.8,
        sensory: bool = False,
    ):
        rates = np.arange(fmin, fmax + 1e-9, freq_step)
        self.boundary = float(rates.mean()) if len(rates) else fmin
        self.rates = rates[np.abs(rates - self.boundary) > 1e-9]
        if len(self.rates) < 2:
            raise ValueError(f"expected at least two rates, got fmin={fmin!r}, fmax={fmax!r}, freq_step={freq_step!r}")
        self.sigma = step_noise(sigma * np.sqrt(2 * tau), self.dt)
        self.baseline, self.lowest, self.span, self.sensory = baseline, lowest, span, bool(sensory)
        self.conditions = {"modality": MODALITIES, "rate": self.rates}
        names = {"visual": [0, 2], "auditory": [1, 3], "start": 4}
        low = -np.inf if sensory else 0.0
        self.observation_space = spaces.channels(names, low, np.inf)
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "high": 1, "low": 2})

    def _new_trials(self, trials: Trials) -> None:
        modality, rate = trials.draw("modality"), trials.draw("rate")
        truth = trials.info["ground_truth"] = np.where(rate > self.boundary, 1, 2)
        trials.add_ob(1, ["fixation", "stimulus"], where="start")
        trials.add_ob(self.baseline)
        high = (rate - self.rates[0]) / (self.rates[-1] - self.rates[0])
        strength = self.lowest + self.span * np.column_stack([high, 1 - high])
        for name in ("visual", "auditory"):
            present = (modality == name) | (modality == "both")
            trials.add_ob(present[:, None] * strength, "stimulus", where=name)
            if self.sensory:
                trials.add_randn(0, self.sigma * present, "stimulus", where=name)
        if not self.sensory:
            trials.add_randn(0, self.sigma)
            np.maximum(trials.ob, 0, out=trials.ob)
        trials.set_groundtruth(truth, "decision")

    @property
    def ideal_observer(self) -> ObserverSettings:
        """Observer of the noise of all units, which is cut off at zero; sensory noise is of either sign."""
        return ObserverSettings(("modality", "rate"), floor=not self.sensory)

    def closed_form(self) -> Score | None:
        """Exact for sensory noise: the difference of the channels, summed over samples and modalities, decides."""
        if not self.sensory:
            return None
        kinds = self.conditions["modality"]
        noise = [self.sigma / (np.sqrt(2) if kind == "both" else 1) for kind in kinds]
        slope = 2 * self.span / (self.rates[-1] - self.rates[0])  # of the difference of the two channels, per Hz
        strength = 100 * slope * np.abs(self.rates - self.boundary)
        scores = [score for each in noise if (score := choice_ceiling(self, strength, each)) is not None]
        performance, error = (float(np.mean([score[key] for score in scores])) for key in ("performance", "error"))
        return exact_ceiling(self, performance, "sum of Gaussian samples", error)
