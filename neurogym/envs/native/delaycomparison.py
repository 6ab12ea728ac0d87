"""Delayed comparison of two magnitudes: of vibrations and of sounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neurogym.envs.psychophysics import step_noise
from neurogym.envs.task import ChoiceTask, ConditionValues, ObserverSettings, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import NonNegative

STIMULUS_PAIRS = ((18, 10), (22, 14), (26, 18), (30, 22), (34, 26))


class _Comparison(ChoiceTask):
    """Base of tasks that compare two noisy stimuli on one channel, shown successively with a delay in between."""

    sigma: float

    def _show(self, trials: Trials, channel: str, first: np.ndarray, second: np.ndarray) -> None:
        trials.add_ob(1, ["fixation", "stimulus1", "delay", "stimulus2"], where="fixation")
        trials.add_ob(first, "stimulus1", where=channel)
        trials.add_ob(second, "stimulus2", where=channel)
        trials.add_randn(0, self.sigma, ["stimulus1", "stimulus2"], where=channel)
        trials.set_groundtruth(trials.info["ground_truth"], "decision")


class DelayComparison(_Comparison):
    """Report the larger of two successive magnitudes (vibration frequencies).

    Args:
        vpairs: Pairs of magnitudes, the larger first.
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).

    Source: Barak, Tsodyks & Romo 2010.
    """

    metadata = TaskInfo(
        doi="10.1523/JNEUROSCI.1875-10.2010",
        tags=["perceptual", "working memory", "two-alternative", "supervised"],
        necessary=("stimulus1", "stimulus2"),
    )
    default_timing = {"fixation": 500, "stimulus1": 500, "delay": 1000, "stimulus2": 500, "decision": 100}
    vpairs = ConditionValues("vpair")
    ideal_observer = ObserverSettings(("ground_truth", "vpair"))

    @usual_arguments(first=("vpairs",))
    def __init__(self, vpairs: Sequence[tuple[float, float]] | None = None, sigma: NonNegative = 1.0):
        self.sigma = step_noise(sigma, self.dt)
        self.conditions = {
            "ground_truth": (1, 2),
            "vpair": [tuple(pair) for pair in (STIMULUS_PAIRS if vpairs is None else vpairs)],
        }
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": 1})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

    @property
    def vall(self) -> np.ndarray:
        """Magnitudes of all pairs, flattened."""
        return np.ravel(self.vpairs)

    @property
    def vmin(self) -> float:
        """The smallest magnitude."""
        return self.vall.min()

    @property
    def vmax(self) -> float:
        """The largest magnitude."""
        return self.vall.max()

    def represent(self, value: np.ndarray) -> np.ndarray:
        """Stimulus strength of a magnitude, 0.5 to 1 over the range of the pairs."""
        return (1 + (value - self.vmin) / (self.vmax - self.vmin)) / 2

    def _new_trials(self, trials: Trials) -> None:
        first_larger = trials.draw("ground_truth") == 1
        pair = np.stack(list(trials.draw("vpair")))
        v1 = trials.info["v1"] = np.where(first_larger, pair[:, 0], pair[:, 1])
        v2 = trials.info["v2"] = np.where(first_larger, pair[:, 1], pair[:, 0])
        self._show(trials, "stimulus", self.represent(v1), self.represent(v2))


LEVELS = (-2.0, -1.0, 0.0, 1.0, 2.0)  #: loudness, in steps between neighbours
NEIGHBOURING_LEVELS = tuple((a, b) for a in LEVELS for b in LEVELS if abs(a - b) == 1)


class AuditoryComparison(_Comparison):
    """Say which of two sounds was louder, with a delay of some seconds in between.

    Every pair is of neighbouring loudness levels, so that all but the softest and the loudest sound are the louder one
    as often as the softer one: neither sound alone tells the answer. Loudness fluctuates within a sound. Choose right
    if the first sound was louder, left if the second one was.

    Args:
        pairs: Loudness of the first and the second sound, on a logarithmic scale in steps between neighbouring levels;
            drawn uniformly. Default: all neighbours of five levels.
        sigma: Fluctuation of loudness; its s.d. per step is sigma / sqrt(dt / 100 ms), in the unit of ``pairs``.

    Raises:
        ValueError: If ``pairs`` does not list pairs of different loudness, or ``sigma`` is negative.

    Source: Akrami, Kopec, Diamond & Brody 2018 (rats waited 2 to 6 s; here the delay is a quarter
    of it by default: ``timing={"delay": ("uniform", (2000, 6000))}`` gives theirs).
    """

    metadata = TaskInfo(
        doi="10.1038/nature25510",
        tags=["perceptual", "auditory", "working memory", "two-alternative", "supervised"],
        necessary=("stimulus1", "stimulus2"),
        small={"timing": {"delay": 500}},
    )
    default_timing = {
        "fixation": 200,
        "stimulus1": 400,
        "delay": ("uniform", (500, 1500)),
        "stimulus2": 400,
        "decision": 100,
    }
    ideal_observer = ObserverSettings(("pair",))

    @usual_arguments()
    def __init__(self, pairs: Sequence[tuple[float, float]] = NEIGHBOURING_LEVELS, sigma: NonNegative = 1.0):
        if np.shape(pairs)[1:] != (2,) or any(first == second for first, second in pairs):
            raise ValueError(f"pairs must list pairs of different loudness, got {pairs!r}")
        self.sigma = step_noise(sigma, self.dt / 100)
        self.conditions = {"pair": [(float(first), float(second)) for first, second in pairs]}
        self.observation_space = spaces.channels({"fixation": 0, "sound": 1})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

    def _new_trials(self, trials: Trials) -> None:
        first, second = np.stack(list(trials.draw("pair"))).T
        trials.info.update(s1=first, s2=second, ground_truth=np.where(first > second, 2, 1))
        self._show(trials, "sound", first, second)
