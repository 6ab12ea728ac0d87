"""Decisions in a hidden context that changes now and then: of opposite responses, or of a pair of targets."""

from __future__ import annotations

import numpy as np

from neurogym.envs.psychophysics import coherences, step_noise, two_channels
from neurogym.envs.task import ChoiceTask, Rule, TaskInfo, TrialEnv, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import NonNegative, Probability


class _HiddenContext(TrialEnv):
    """Base of tasks with two contexts that change places with a small probability before each trial."""

    context: int | None

    def _contexts(self, trials: Trials, p_change: float) -> np.ndarray:
        """Context of each trial, 0 or 1: as requested, else the hidden context."""
        if "context" in trials.given:
            return trials.draw("context")
        if self.context is None:
            self.context = int(trials.rng.integers(2))
        changes = trials.rng.random(trials.n) < p_change
        context = trials.info["context"] = (self.context + np.cumsum(changes)) % 2
        self.context = int(context[-1])
        return context


class ContextSwitch(_HiddenContext):
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
        needs_reward=True,
        necessary=("history",),
    )
    default_rewards = {"correct": 1.0, "fail": 0.0}
    rule = Rule(fixate=(), answer=("decision",), hold=None)

    @usual_arguments(tables=("rewards",), abort=False)
    def __init__(self, p_switch: Probability = 0.1):
        self.p_switch, self.context = p_switch, 0
        self.conditions = {"stimulus": np.arange(2), "context": np.arange(2)}
        self.observation_space = spaces.channels({"stimulus": [0, 1]}, 0, 1)
        self.action_space = spaces.Discrete(2, name={"choice": [0, 1]})

    def start_session(self) -> None:
        """Draw the context."""
        self.context = int(self.np_random.integers(2))

    def _new_trials(self, trials: Trials) -> None:
        stimulus = trials.draw("stimulus")
        context = self._contexts(trials, self.p_switch)
        answer = trials.info["ground_truth"] = stimulus ^ context
        trials.add_period("decision", self.dt)
        trials.add_ob(np.eye(2)[stimulus], "decision")
        trials.set_groundtruth(answer, "decision")


class ChangingEnvironment(_HiddenContext, ChoiceTask):
    """Report motion direction on the pair of targets that is rewarded in the present context.

    There is a left and a right target for each of two contexts. The context stays for tens of trials and is not shown
    (unless requested): an error after clear motion reveals a change, an error after weak motion is ambiguous.

    Args:
        stim_scale: Multiplies the coherences 0, 6.4, 12.8, 25.6, 51.2 (percent).
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).
        cxt_ch_prob: Probability that the context changes from one trial to the next.
        cxt_cue: Show the context on a channel of its own.

    Raises:
        ValueError: If ``cxt_ch_prob`` is not a probability.

    Source: Purcell & Kiani 2016.
    """

    metadata = TaskInfo(
        doi="10.1073/pnas.1524685113",
        tags=["perceptual", "n-alternative", "context dependent", "learning", "supervised"],
        needs_reward=True,
        necessary=("stimulus", "history"),
    )
    default_timing = {
        "fixation": 500,
        "stimulus": ("truncated_exponential", (1000, 500, 1500)),
        "decision": 500,
    }

    @usual_arguments()
    def __init__(
        self,
        stim_scale: NonNegative = 1.0,
        sigma: NonNegative = 1.0,
        cxt_ch_prob: Probability = 0.05,
        cxt_cue: bool = False,
    ):
        self.sigma, self.cxt_ch_prob, self.cxt_cue = step_noise(sigma, self.dt), cxt_ch_prob, cxt_cue
        self.context = None
        self.conditions = {"side": (1, 2), "context": (0, 1), "coh": coherences() * stim_scale}
        names = {"context": 0} if cxt_cue else {}
        first = len(names)
        names |= {"fixation": first, "stimulus": range(first + 1, first + 3)}  # type: ignore[dict-item]
        self.observation_space = spaces.channels(names)
        self.action_space = spaces.Discrete(5, name={"fixation": 0, "context0": [1, 2], "context1": [3, 4]})

    def start_session(self) -> None:
        """Reset the context, which is drawn again for the first trial."""
        self.context = None

    def _new_trials(self, trials: Trials) -> None:
        side, coh, context = trials.draw("side"), trials.draw("coh"), self._contexts(trials, self.cxt_ch_prob)
        ground_truth = trials.info["ground_truth"] = side + 2 * context
        trials.add_ob(1, ["fixation", "stimulus"], where="fixation")
        trials.add_ob(two_channels(np.where(side == 1, coh, -coh)), "stimulus", where="stimulus")
        trials.add_randn(0, self.sigma, "stimulus", where="stimulus")
        if self.cxt_cue:
            trials.add_ob(context, where="context")
        trials.set_groundtruth(ground_truth, "decision")
