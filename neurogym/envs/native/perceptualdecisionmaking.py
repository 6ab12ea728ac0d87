"""Perceptual decision-making: random dots in vector form, answered at once or after a delay, and pulses."""

from __future__ import annotations

import numpy as np

from neurogym.envs.psychophysics import (
    choice_ceiling,
    coherences,
    exact_ceiling,
    ring_stimulus,
    step_noise,
    two_channels,
)
from neurogym.envs.task import (
    ChoiceTask,
    ConditionValues,
    ObserverSettings,
    Patterns,
    Rule,
    Score,
    TaskInfo,
    Trials,
    spaces,
    usual_arguments,
)
from neurogym.parameters.arguments import AtLeastTwo, Count, NonNegative, Numbers, TwoProbabilities


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
    ideal_observer = ObserverSettings(("ground_truth", "coh"))

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

    def closed_form(self) -> Score | None:
        """Exact for two directions: the mean of the samples of the difference of the two channels decides."""
        return choice_ceiling(self, self.cohs, self.sigma) if len(self.theta) == 2 else None


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
    cohs = ConditionValues("coh")
    ideal_observer = ObserverSettings(("ground_truth", "coh"))

    @usual_arguments()
    def __init__(self, stim_scale: NonNegative = 1.0, sigma: NonNegative = 1.0):
        self.sigma = step_noise(sigma, self.dt)
        self.conditions = {"ground_truth": (1, 2), "coh": coherences() * stim_scale}
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

    def closed_form(self) -> Score | None:
        """Exact: the mean of the samples of the difference of the two channels decides."""
        return choice_ceiling(self, self.cohs, self.sigma)


def _periods(n_bin: int) -> dict[str, int]:
    bins = {name: ms for i in range(n_bin) for name, ms in ((f"cue{i}", 10), (f"bin{i}", 240))}
    return {"fixation": 500, **bins, "decision": 500}


class PulseDecisionMaking(ChoiceTask):
    """Report the side with more pulses. For equal numbers, a random side is correct.

    The record of a trial has the times of pulses on either side, as words, and the duration of the stimulus (ms).

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
    rule = Rule(fixate="*", answer=("decision",))

    @usual_arguments(dt=10, defaults=lambda p_pulse, n_bin: {"default_timing": _periods(int(n_bin))})
    def __init__(self, p_pulse: TwoProbabilities = (0.3, 0.7), n_bin: Count = 6):
        self.n_bin, self.p_pulse = int(n_bin), np.asarray(p_pulse, dtype=float)
        patterns = Patterns((0, 1), self.n_bin)
        self.conditions = {"ground_truth": (0, 1), "pulse1": patterns, "pulse2": patterns}
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": [1, 2]})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

    def _pulses(self, trials: Trials) -> np.ndarray:
        """Pulses in each bin on either side, shape (n, bins, 2), and the side that has more."""
        ground_truth = trials.draw("ground_truth")
        pulses = (trials.rng.random((trials.n, self.n_bin, 2)) < self.p_pulse).astype(int)
        requested = [side for side in (0, 1) if f"pulse{side + 1}" in trials.given]
        for side in requested:
            pulses[:, :, side] = np.stack(list(trials.given[f"pulse{side + 1}"]))
        count = pulses.sum(axis=1)
        more = np.where(count[:, 0] == count[:, 1], ground_truth, count.argmax(axis=1))
        if not requested:
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
        trials.add_period(list(self.default_timing), min_steps={f"cue{i}": 1 for i in range(self.n_bin)})
        trials.add_ob(1, list(self.default_timing)[:-1], where="fixation")
        for i in range(self.n_bin):
            trials.add_ob(pulses[:, i], f"cue{i}", where="stimulus")
        onset = (
            np.stack([trials.starts[f"cue{i}"] - trials.starts["cue0"] for i in range(self.n_bin)], axis=1) * self.dt
        )
        for side, name in enumerate(("left_pulses", "right_pulses")):
            rows = zip(onset, pulses[:, :, side] > 0, strict=True)
            trials.info[name] = np.array([" ".join(map(str, times[shown])) for times, shown in rows])
        trials.info["stimulus_duration"] = (trials.starts["decision"] - trials.starts["cue0"]) * self.dt
        trials.set_groundtruth(trials.info["ground_truth"], "decision", where="choice")

    def closed_form(self) -> Score | None:
        """Exact ceiling: pulses have no noise, so only ties require a guess."""
        likely, unlikely = (np.ones(1), np.ones(1))
        for _ in range(self.n_bin):
            likely, unlikely = (
                np.convolve(p, [1 - q, q]) for p, q in zip((likely, unlikely), self.p_pulse, strict=True)
            )
        return exact_ceiling(self, 1 - float(likely @ unlikely) / 2, "probability of a tie")
