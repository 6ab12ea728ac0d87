"""Detection of a tone in noise."""

from __future__ import annotations

import numpy as np

from neurogym.envs.psychophysics import step_noise
from neurogym.envs.task import (
    Distribution,
    ObserverSettings,
    Rows,
    Rule,
    TaskInfo,
    TrialEnv,
    Trials,
    spaces,
    usual_arguments,
)
from neurogym.parameters.arguments import NonNegative


class ToneDetection(TrialEnv):
    """Report whether a brief tone occurred in noise, and at which of several moments.

    The answer is the action at the last step of the trial. The ground truth is "no tone" until the tone is over and its
    position from then on.

    Args:
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).
        timing: Replaces entries of ``default_timing`` (ms): ``stimulus`` is the length of the trial, ``toneTiming``
            lists the onsets, ``toneDur`` is the duration of the tone (at least one step).
        rewards: Replaces entries of ``default_rewards``: ``noresp`` is given for missing a tone, ``fail`` for another
            wrong answer.

    Raises:
        ValueError: If a tone does not end before the last step of the trial.

    Source: Costalupes 1985.
    """

    metadata = TaskInfo(
        doi="10.1523/JNEUROSCI.05-12-03261.1985",
        tags=["auditory", "perceptual", "supervised", "decision", "n-alternative"],
        necessary=("stimulus",),
    )
    default_timing = {"stimulus": 2000, "toneTiming": (500, 1000, 1500), "toneDur": 50}
    default_rewards = {"correct": 1.0, "fail": 0.0, "noresp": -0.1}
    rule = Rule(fixate=(), answer=("decision",), hold=None)
    ideal_observer = ObserverSettings(("condition",))

    @usual_arguments(dt=50, first=("sigma",), tables=("timing", "rewards"), abort=False)
    def __init__(self, sigma: NonNegative = 0.2):
        dt = self.dt
        self.sigma = step_noise(sigma, dt)
        onsets = np.atleast_1d(np.asarray(self.timing["toneTiming"], dtype=float))
        self.onsets = np.floor(onsets / dt + 1e-6).astype(int)
        self.tone = max(1, int(self.timing["toneDur"] / dt + 1e-6))
        shortest = Distribution.of(self.timing["stimulus"]).bounds()[0]
        if self.onsets.min() < 0 or (self.onsets.max() + self.tone + 1) * dt > shortest + 1e-6:
            raise ValueError(
                f"tones at {onsets.tolist()} ms must be over one step before the end of the trial ({shortest:g} ms)"
            )
        places = np.arange(len(onsets) + 1)
        self.conditions = {"condition": places, "ground_truth": places}
        self.observation_space = spaces.channels({"stimulus": 0})
        self.action_space = spaces.Discrete(len(places), name={"no tone": 0, "choice": range(1, len(places))})

    def _new_trials(self, trials: Trials) -> None:
        where = trials.draw("ground_truth" if "ground_truth" in trials.given else "condition")
        trials.info["condition"] = trials.info["ground_truth"] = where
        trials.add_period("stimulus")
        trials.add_period("decision", self.dt, after=(trials.length - 1) * self.dt)  # the last step of the stimulus
        onset = np.append(0, self.onsets)[where]
        offset = onset + self.tone

        def sounds(rows: Rows) -> np.ndarray:  # there is no tone in condition 0
            k = rows.trial
            return (rows.step >= onset[k]) & (rows.step < offset[k]) & (where[k] > 0)

        trials.add_ob(sounds, where="stimulus")
        trials.add_randn(0, self.sigma, where="stimulus")
        trials.set_groundtruth(lambda rows: where[rows.trial] * (rows.step >= offset[rows.trial]))
        silent = where == 0
        trials.set_action_reward(
            "decision", 0, np.where(silent, trials.reward("correct"), trials.reward("noresp")), 1.0 * silent
        )
