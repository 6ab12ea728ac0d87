"""Go / no-go."""

from __future__ import annotations

from neurogym.envs.task import ChoiceTask, TaskInfo, Trials, spaces, usual_arguments


class GoNogo(ChoiceTask):
    """Respond after a go stimulus and a delay, withhold after a no-go stimulus.

    Source: Zhang et al. 2019.
    """

    metadata = TaskInfo(
        doi="10.7554/eLife.43191",
        tags=["delayed response", "go-no-go", "supervised"],
        necessary=("stimulus",),
        measures=("detection",),
    )
    default_timing = {"fixation": 0, "stimulus": 500, "delay": 500, "decision": 500}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": -0.5, "miss": -0.5, "withhold": 0.0}

    @usual_arguments()
    def __init__(self) -> None:
        self.actions = [0, 1]
        self.conditions = {"ground_truth": (0, 1)}
        self.observation_space = spaces.channels({"fixation": 0, "nogo": 1, "go": 2})
        self.action_space = spaces.Discrete(2, name={"fixation": 0, "go": 1})

    def _new_trials(self, trials: Trials) -> None:
        go = trials.draw("ground_truth")
        trials.add_ob(1, ["fixation", "stimulus", "delay"], where="fixation")
        trials.add_ob(1 - go, "stimulus", where="nogo")
        trials.add_ob(go, "stimulus", where="go")
        trials.set_groundtruth(go, "decision")
