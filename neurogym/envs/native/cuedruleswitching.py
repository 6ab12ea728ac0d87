"""Cued switching between two rules (Stroop-like)."""

from __future__ import annotations

import numpy as np

from neurogym.envs.task import ChoiceTask, Rule, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import Probability


class CuedRuleSwitching(ChoiceTask):
    """Respond to the colour or to the orientation of a stimulus, depending on a cue.

    Each feature calls for one of two responses; on incongruent trials they disagree, and the other feature must be
    ignored, as in the Stroop task. The record shows whether the rule has switched since the last trial and whether
    the features are congruent.

    Args:
        p_switch: Probability that the rule differs from that of the last trial.

    Raises:
        ValueError: If ``p_switch`` is outside [0, 1].

    Source: Buschman, Denovellis, Diogo, Bullock & Miller 2012; Stroop 1935,
    10.1037/h0054651.
    """

    metadata = TaskInfo(
        doi="10.1016/j.neuron.2012.09.029",
        tags=["perceptual", "context dependent", "two-alternative", "supervised"],
        necessary=("rule", "colour", "orientation"),
    )
    default_timing = {"fixation": 300, "cue": 500, "stimulus": 500, "decision": 500}
    rule = Rule(fixate=("fixation", "cue", "stimulus"), answer=("decision",))

    @usual_arguments()
    def __init__(self, p_switch: Probability = 0.5):
        self.p_switch = p_switch
        self.conditions = {"rule": ("colour", "orientation"), "colour": (1, 2), "orientation": (1, 2)}
        names = {"fixation": 0, "rule": [1, 2], "colour": [3, 4], "orientation": [5, 6]}
        self.observation_space = spaces.channels(names)
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})
        self.start_session()

    def start_session(self) -> None:
        """Reset the last rule."""
        self._last = -1

    def _draw_rules(self, trials: Trials) -> np.ndarray:
        """0 where the colour counts, 1 where the orientation does."""
        if "rule" in trials.given:
            current = (trials.given["rule"] == "orientation").astype(int)
        else:
            start = self._last if self._last >= 0 else int(trials.rng.integers(2))
            current = (start + np.cumsum(trials.rng.random(trials.n) < self.p_switch)) % 2
        last = np.concatenate([[self._last], current[:-1]])
        trials.info["switch"] = (last >= 0) & (current != last)
        trials.info["rule"] = np.array(self.conditions["rule"])[current]
        self._last = int(current[-1])
        return current

    def _new_trials(self, trials: Trials) -> None:
        by_orientation = self._draw_rules(trials)
        colour, orientation = trials.draw("colour"), trials.draw("orientation")
        trials.info["congruent"] = colour == orientation
        truth = trials.info["ground_truth"] = np.where(by_orientation, orientation, colour)
        trials.add_ob(1, ["fixation", "cue", "stimulus"], where="fixation")
        trials.add_ob(np.eye(2)[by_orientation], "cue", where="rule")
        trials.add_ob(np.eye(2)[colour - 1], "stimulus", where="colour")
        trials.add_ob(np.eye(2)[orientation - 1], "stimulus", where="orientation")
        trials.set_groundtruth(truth, "decision")
