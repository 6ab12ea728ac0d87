"""Discrimination of two intervals."""

from __future__ import annotations

import numpy as np

from neurogym.envs.task import ChoiceTask, TaskInfo, Trials, spaces, usual_arguments
from neurogym.envs.timing import possible_durations

MAX_ATTEMPTS = 1000  #: attempts to draw two different durations


class IntervalDiscrimination(ChoiceTask):
    """Report the longer of two stimuli.

    Source: Genovesio, Tsujimoto & Wise 2009.
    """

    metadata = TaskInfo(
        doi="10.1016/j.neuron.2009.06.018",
        tags=["timing", "working memory", "delayed response", "two-alternative", "supervised"],
        necessary=("stim1", "stim2"),
    )
    default_timing = {
        "fixation": 300,
        "stim1": ("uniform", (300, 600)),
        "delay1": ("uniform", (800, 1500)),
        "stim2": ("uniform", (300, 600)),
        "delay2": 500,
        "decision": 300,
    }

    @usual_arguments(dt=80)
    def __init__(self) -> None:
        self.conditions = {
            "ground_truth": (1, 2),
            "duration1": possible_durations(self.timing["stim1"], self.dt),
            "duration2": possible_durations(self.timing["stim2"], self.dt),
        }
        self.observation_space = spaces.channels({"fixation": 0, "stim1": 1, "stim2": 2})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice1": 1, "choice2": 2})

    def _durations(self, trials: Trials) -> tuple[np.ndarray, np.ndarray]:
        """Draw two different durations; unless requested, the longer duration is first or second equally often."""
        requested = [name for name in ("duration1", "duration2") if name in trials.given]
        wanted = trials.draw("ground_truth") if not requested or "ground_truth" in trials.given else None
        durations = [np.zeros(trials.n), np.zeros(trials.n)]
        bad = np.ones(trials.n, bool)
        for _ in range(MAX_ATTEMPTS):
            for k, period in enumerate(("stim1", "stim2")):
                drawn = trials.given.get(f"duration{k + 1}", trials.sample_time(period))
                durations[k] = np.where(bad, drawn, durations[k])
            longer = np.where(durations[0] > durations[1], 1, 2)
            bad = (durations[0] == durations[1]) | (wanted is not None and longer != wanted)
            if not bad.any():
                trials.info.update(ground_truth=longer, duration1=durations[0], duration2=durations[1])
                return durations[0], durations[1]
        conditions = {name: trials.given[name][0] for name in self.conditions if name in trials.given}
        raise ValueError(f"no two different durations of stim1 and stim2 were found for {conditions or self.timing}")

    def _new_trials(self, trials: Trials) -> None:
        first, second = self._durations(trials)
        trials.add_period(list(self.default_timing), [None, first, None, second, None, None])
        trials.add_ob(1, list(self.default_timing)[:-1], where="fixation")
        trials.add_ob(1, "stim1", where="stim1")
        trials.add_ob(1, "stim2", where="stim2")
        trials.set_groundtruth(trials.info["ground_truth"], "decision")
