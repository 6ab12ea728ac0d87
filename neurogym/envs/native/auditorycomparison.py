"""Delayed comparison of the loudness of two sounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neurogym.envs.psychophysics import step_noise
from neurogym.envs.task import NonNegative, Rule, TaskInfo, TrialEnv, Trials, spaces, usual_arguments

LEVELS = (-2.0, -1.0, 0.0, 1.0, 2.0)  #: loudness, in steps between neighbours
PAIRS = tuple((a, b) for a in LEVELS for b in LEVELS if abs(a - b) == 1)


class AuditoryComparison(TrialEnv):
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
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0}
    rule = Rule(fixate=("fixation",), answer=("decision",))

    @usual_arguments()
    def __init__(self, pairs: Sequence[tuple[float, float]] = PAIRS, sigma: NonNegative = 1.0):
        if np.shape(pairs)[1:] != (2,) or any(first == second for first, second in pairs):
            raise ValueError(f"pairs must list pairs of different loudness, got {pairs!r}")
        self.sigma = step_noise(sigma, self.dt / 100)
        self.conditions = {"pair": [(float(first), float(second)) for first, second in pairs]}
        self.observation_space = spaces.channels({"fixation": 0, "sound": 1})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

    def _new_trials(self, trials: Trials) -> None:
        first, second = np.stack(list(trials.draw("pair"))).T
        trials.info.update(s1=first, s2=second, ground_truth=np.where(first > second, 2, 1))
        trials.add_ob(1, ["fixation", "stimulus1", "delay", "stimulus2"], where="fixation")
        trials.add_ob(first, "stimulus1", where="sound")
        trials.add_ob(second, "stimulus2", where="sound")
        trials.add_randn(0, self.sigma, ["stimulus1", "stimulus2"], where="sound")
        trials.set_groundtruth(trials.info["ground_truth"], "decision")
