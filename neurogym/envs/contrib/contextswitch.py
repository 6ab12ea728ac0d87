"""Context switch: two opposite maps from stimulus to action that change places at random."""

from __future__ import annotations

import numpy as np

from neurogym.envs.task import Rule, TaskInfo, TrialEnv, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import Probability


class ContextSwitch(TrialEnv):
    """Respond to one of two stimuli by the current mapping. A trial is a single step.

    In context 0 stimulus k asks for action k, in context 1 for the other action. The context is hidden; only the
    rewards of earlier trials reveal the present context.

    Args:
        p_switch: Probability that the context changes before a trial.

    Raises:
        ValueError: If ``p_switch`` is not a probability.
    """

    metadata = TaskInfo(
        tags=["two-alternative", "context dependent", "conditional", "learning", "supervised"],
        carries=True,
        needs_reward=True,
        necessary=("history",),
    )
    default_rewards = {"correct": 1.0, "fail": 0.0}
    rule = Rule(fixate=(), answer=("decision",), hold=None)

    @usual_arguments(tables=("rewards",), abort=False)
    def __init__(self, p_switch: Probability = 0.1):
        self.p_switch, self.context = p_switch, 0
        self.conditions = {"stimulus": np.arange(2), "context": np.arange(2)}
        self.observation_space = spaces.Box(0, 1, shape=(2,), dtype=np.float32, name={"stimulus": [0, 1]})
        self.action_space = spaces.Discrete(2, name={"choice": [0, 1]})

    def start_session(self) -> None:
        """Draw the context."""
        self.context = int(self.np_random.integers(2))

    def _new_trials(self, trials: Trials) -> None:
        stimulus = trials.draw("stimulus")
        if "context" in trials.given:
            context = trials.draw("context")
        else:
            switches = trials.rng.random(trials.n) < self.p_switch
            context = trials.info["context"] = (self.context + np.cumsum(switches)) % 2
            self.context = int(context[-1])
        answer = trials.info["ground_truth"] = stimulus ^ context
        trials.add_period("decision", self.dt)
        trials.add_ob(np.eye(2)[stimulus], "decision")
        trials.set_groundtruth(answer, "decision")
