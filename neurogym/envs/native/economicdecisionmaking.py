"""Economic choice between two juices."""

from __future__ import annotations

import numpy as np

from neurogym.envs.psychophysics import step_noise, steps_of
from neurogym.envs.task import ConditionValues, Rule, Score, TaskInfo, TrialEnv, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import NonNegative, Positive

OFFERS = ((0, 1), (1, 3), (1, 2), (1, 1), (2, 1), (3, 1), (4, 1), (6, 1), (2, 0))  #: drops of B, of A
WORTH = 2.2  #: drops of B worth one drop of A


class EconomicDecisionMaking(TrialEnv):
    """Choose between an amount of juice A and an amount of juice B, worth less per drop.

    The reward is the value of what was chosen; performance is 1 if it was the better option.

    Args:
        rewards: Replaces entries of ``default_rewards``; ``correct`` is the value of one drop of A.
        b_to_a: Drops of A worth one drop of B; 1/2.2 unless given, so that 1A = 2.2B.
        sigma: Noise of the offers; its s.d. per step is sigma / sqrt(dt).

    Raises:
        ValueError: If ``b_to_a`` is not positive or ``sigma`` is negative.

    Source: Padoa-Schioppa & Assad 2006.
    """

    metadata = TaskInfo(
        doi="10.1038/nature04676",
        tags=["perceptual", "value-based", "two-alternative", "supervised"],
        necessary=(("a1", "b1", "a2", "b2"), "n1", "n2"),
        measures=("indifference",),
    )
    default_timing = {"fixation": 1500, "offer_on": ("uniform", (1000, 2000)), "decision": 750}
    default_rewards = {"abort": -0.1, "correct": 0.22, "miss": 0.0}
    rule = Rule(fixate=("fixation", "offer_on"), answer=("decision",))
    juices = ConditionValues("juice")
    offers = ConditionValues("offer")

    @usual_arguments()
    def __init__(self, b_to_a: Positive = 1 / WORTH, sigma: NonNegative = 0.0):
        self.B_to_A, self.sigma = float(b_to_a), step_noise(sigma, self.dt)
        self.conditions = {"juice": [("a", "b"), ("b", "a")], "offer": list(OFFERS)}
        self.observation_space = spaces.channels({"fixation": 0, "a1": 1, "b1": 2, "a2": 3, "b2": 4, "n1": 5, "n2": 6})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice1": 1, "choice2": 2})

    @property
    def R_A(self) -> float:  # noqa: N802 - NeuroGym's name
        """Value of a drop of A."""
        return self.rewards["correct"]

    @property
    def R_B(self) -> float:  # noqa: N802 - NeuroGym's name
        """Value of a drop of B."""
        return self.B_to_A * self.R_A

    def _new_trials(self, trials: Trials) -> None:
        juice = trials.info["juice"] = np.stack(list(trials.draw("juice")))
        offer = trials.info["offer"] = np.stack(list(trials.draw("offer")))
        a_first = trials.info["a_first"] = juice[:, 0] == "a"
        n_b, n_a = offer.T
        trials.info.update(n_a=n_a, n_b=n_b)
        amounts = np.where(a_first[:, None], np.column_stack([n_a, n_b]), offer)
        drop = trials.reward("correct")[:, None] * np.where(juice == "a", 1.0, self.B_to_A)
        value = amounts * drop
        best = value >= value.max(axis=1, keepdims=True) - 1e-9

        trials.add_ob(1, ["fixation", "offer_on"], where="fixation")
        kinds = np.column_stack([a_first, ~a_first, ~a_first, a_first])
        trials.add_ob(np.column_stack([kinds, amounts / 5]), "offer_on", where=range(1, 7))
        if self.sigma:  # without noise nothing is drawn, so that a seed gives the trials it always gave
            trials.add_randn(0, self.sigma, "offer_on", where=range(1, 7))
        trials.set_action_reward("decision", [1, 2], value, best.astype(float))
        trials.set_groundtruth(1 + value.argmax(axis=1), "decision")

    def closed_form(self) -> Score | None:
        """Ceiling, exact without noise: the better option is always visible."""
        if self.sigma or not steps_of(self, "offer_on").all():
            return None
        best = np.mean([max(n_a, n_b * self.B_to_A) for n_b, n_a in self.offers]) * self.rewards["correct"]
        return {"performance": 1.0, "reward": float(best), "error": 0.0, "method": "exact: mean of the better offers"}
