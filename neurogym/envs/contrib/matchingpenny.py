"""Matching pennies against an opponent that looks for patterns in what the agent does."""

from __future__ import annotations

from collections.abc import Mapping
from math import erfc, sqrt
from typing import Annotated

import numpy as np

from neurogym.envs.task import Info, Rule, TaskInfo, TrialEnv, Trials, spaces, usual_arguments, without_periods
from neurogym.parameters.arguments import OneOf, Probability

Opponent = Annotated[str, OneOf(("mean_action", "random", "algorithm1", "algorithm2"))]
LONGEST_PATTERN = 4  #: preceding trials that the opponent of the paper takes into account
SIGNIFICANT = 0.05
SHOWN = np.eye(3, 2, dtype=np.float32)  #: observations after the opponent chose 0 and 1, or did not yet choose
NOT_YET = 2


class MatchingPenny(TrialEnv):
    """Choose the same option as the opponent. A trial is a single step.

    The opponent predicts the agent: ``"random"`` does not; ``"mean_action"`` plays against the running mean of the
    agent's choices; ``"algorithm1"`` and ``"algorithm2"`` are those of the paper, which test whether the agent's next
    choice depends on its last up to four choices (and, in the second, on their outcomes too), and play against the
    strongest significant bias. Against these the best is to be unpredictable.

    Args:
        timing: Accepted for old scripts, with a warning; there are no periods to time.
        opponent_type: One of ``mean_action``, ``random``, ``algorithm1``, ``algorithm2``.
        learning_rate: Of the running mean.

    Raises:
        ValueError: If ``opponent_type`` is unknown, or ``learning_rate`` is not between 0 and 1.

    Source: Barraclough, Conroy & Lee 2004.
    """

    metadata = TaskInfo(
        doi="10.1038/nn1209",
        tags=["two-alternative", "learning"],
        history_dependent=True,
        necessary=("opponent",),
        probabilistic=True,
    )
    default_rewards = {"correct": 1.0, "fail": 0.0}
    rule = Rule(fixate=(), answer=("decision",), hold=None)

    @usual_arguments(tables=("rewards",), abort=False)
    def __init__(
        self,
        timing: Mapping[str, object] | None = None,
        opponent_type: Opponent = "mean_action",
        learning_rate: Probability = 0.2,
    ):
        without_periods(self, timing)
        self.opponent_type, self.learning_rate = opponent_type, learning_rate
        self.observation_space = spaces.channels({"opponent": [0, 1]}, 0, 1)
        self.action_space = spaces.Discrete(2, name={"choice": [0, 1]})
        self.start_session()

    def start_session(self) -> None:
        """Start with a new opponent without memory of the agent."""
        self.mean_action = 0.0
        self._last_opponent: int | None = None
        self._recent: list[int] = []  # the last trials, latest first
        self._counts: dict[tuple[int, ...], list[int]] = {}  # what followed each pattern: how often 0, how often 1

    def next_trial_depends_on(self) -> str:
        """Return a constant: the next trial depends only on requests of the session at description time."""
        return "opponent"

    def _new_trials(self, trials: Trials) -> None:
        probability = trials.per_trial(MatchingPenny._probability_of_1)
        opponent = (trials.rng.random(trials.n) < probability).astype(int)
        trials.info.update(opponent_action=opponent, ground_truth=opponent)
        trials.add_period("decision", self.dt)
        last = trials.per_trial(lambda task: NOT_YET if task._last_opponent is None else task._last_opponent)
        trials.add_ob(SHOWN[last], "decision")
        trials.set_groundtruth(opponent, "decision")

    def _probability_of_1(self) -> float:
        """Probability with which the opponent chooses 1."""
        if self.opponent_type == "random":
            return 0.5
        if self.opponent_type == "mean_action":
            return float(round(self.mean_action) == 0)
        return 1.0 - self._predicted()

    def _patterns(self) -> list[tuple[int, ...]]:
        """The last 0, 1, ... trials, as keys of ``_counts``."""
        return [tuple(self._recent[:n]) for n in range(min(len(self._recent), LONGEST_PATTERN) + 1)]

    def _predicted(self) -> float:
        """Probability that the agent chooses 1, by the pattern with the largest significant bias; else 0.5."""
        best = 0.5
        for pattern in self._patterns():
            zeros, ones = self._counts.get(pattern, (0, 0))
            n = zeros + ones
            if n == 0:
                continue
            # two-sided binomial test against 0.5, normal approximation with continuity correction
            if erfc(max(0, abs(ones - zeros) - 1) / sqrt(2 * n)) < SIGNIFICANT and abs(ones / n - 0.5) > abs(
                best - 0.5
            ):
                best = ones / n
        return best

    def trial_ended(self, info: Info) -> None:
        """Update the opponent's memory with the finished trial."""
        action, opponent = int(info["choice"]), int(info["trial"]["opponent_action"])
        self._last_opponent = opponent
        if action > 1:  # an action of another task, next to which this one is stepped
            return
        self.mean_action += self.learning_rate * (action - self.mean_action)
        counts = self._counts
        for pattern in self._patterns():
            if pattern in counts:
                counts[pattern][action] += 1
            else:
                counts[pattern] = [1 - action, action]
        seen = action if self.opponent_type != "algorithm2" else 2 * action + (action == opponent)
        self._recent = [seen, *self._recent[: LONGEST_PATTERN - 1]]
