"""A task of your own. Edit the example line by line and run ``ngym check`` after each step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neurogym.envs.task import NonNegative, Rule, TrialEnv, Trials, spaces


class MyTask(TrialEnv):
    """Say after a delay which of two noisy stimuli was stronger.

    Args:
        dt: Time step (ms).
        rewards: Replaces entries of ``default_rewards``.
        timing: Replaces entries of ``default_timing`` (ms).
        cohs: Differences between the stimuli (percent); one is drawn for each trial.
        sigma: Noise; its s.d. per step is sigma / sqrt(dt), so that difficulty does not depend on dt.
        abort: Whether breaking fixation ends the trial.
    """

    metadata = {
        # Title and DOI (https://doi.org/10...) of the paper, or None for both.
        "paper_name": None,
        "paper_link": None,
        # `ngym list tags` shows which there are.
        "tags": ["perceptual", "working memory", "two-alternative", "supervised"],
        # One line: what the agent does.
        "description": "say after a delay which of two noisy stimuli was stronger",
        # True if what is right in a trial depends on earlier trials (blocks, learning): memory is then kept.
        "history_dependent": False,
        # Where you depart from the paper, a sentence each.
        "differences": [],
        # What the task cannot be done without: names of channels or periods, or "history". `ngym check` hides each of
        # them and looks whether the score drops.
        "necessary": ("stimulus",),
    }

    # Period to duration in ms, in the order of the trial. Instead of a number: a list to draw from, or a distribution
    # such as ("uniform", (200, 600)) or ("truncated_exponential", (400, 200, 1000)).
    default_timing = {"fixation": 200, "stimulus": 500, "delay": 200, "decision": 200}

    # What is earned by breaking fixation, a right answer, a wrong one, none in time.
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0}

    # When to fixate (action 0) and when the first other action is the answer; right is what the ground truth says.
    # Periods can follow what the agent does: with jumps=(Jump("fixation", to="fixation", action=(1, 2)),), the trial
    # begins when fixation was held without a break (from neurogym.rules import Jump).
    rule = Rule(fixate=("fixation", "stimulus", "delay"), answer=("decision",))

    def __init__(
        self,
        dt: float = 100,
        rewards: dict | None = None,
        timing: dict | None = None,
        cohs: Sequence[float] | None = None,
        sigma: NonNegative = 1.0,  # a range, declared with the argument: -1 is refused
        abort: bool = False,
    ):
        super().__init__(dt=dt, rewards=rewards, timing=timing, abort=abort)
        self.cohs = np.array([6.4, 12.8, 25.6, 51.2] if cohs is None else cohs, dtype=float)
        self.sigma = sigma / np.sqrt(dt)
        # What can be asked of a trial, `env.new_trial(coh=51.2)`, and what is drawn otherwise: name to values.
        self.conditions = {"ground_truth": (1, 2), "coh": self.cohs}
        # Channels and actions by name; the names are used below, and in figures and `ngym info`.
        self.observation_space = spaces.Box(
            -np.inf, np.inf, shape=(3,), dtype=np.float32, name={"fixation": 0, "stimulus": [1, 2]}
        )
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

    def _new_trials(self, trials: Trials) -> None:
        """Describe ``trials.n`` trials at once; drawn values have a single entry per trial, shape (n,)."""
        # Conditions: all that is drawn goes into the trial's record, and into the trial table of a run.
        ground_truth = trials.draw("ground_truth")
        coh = trials.draw("coh")

        # Periods are those of `default_timing`, one after the other, unless others are added with `trials.add_period`.
        # What the agent sees: the fixation cue until it is time to answer, and the stimulus, shape (n, 2), with noise.
        trials.add_ob(1, ["fixation", "stimulus", "delay"], where="fixation")
        sign = np.where(ground_truth == 1, 1, -1)[:, None] * np.array([1, -1])
        trials.add_ob((1 + sign * coh[:, None] / 100) / 2, "stimulus", where="stimulus")
        trials.add_randn(0, self.sigma, "stimulus", where="stimulus")

        # What is right: fixation (0) everywhere but in the decision.
        trials.set_groundtruth(ground_truth, "decision")
