"""Tasks that no line here learns: who learned each task elsewhere, and what is missing here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Elsewhere:
    """Learners of a task that was not learned here.

    Attributes:
        by: who learned the task, and how.
        missing: what a learner here would need.
    """

    by: str
    missing: str

    def __str__(self) -> str:
        """Return both as a phrase."""
        return f"by {self.by}; missing here: {self.missing}"


#: Id of the task to its learners elsewhere; tasks whose recommended line, or default line where no settings are
#: recommended, was measured to learn have no entry.
ELSEWHERE: dict[str, Elsewhere] = {
    "DelayEstimation-v0": Elsewhere(
        "people, in the paper of the task",
        "an action that is an angle, so that neighbouring colours share what is learned, or a report by regression",
    ),
    "DualTask-v0": Elsewhere(
        "mice, in the paper of the task",
        "one task first, then both, as stages ([[stages]]), which is not measured",
    ),
    "DynamicForaging-v0": Elsewhere(
        "mice, in the paper of the task",
        "more steps: with --recommended it is at 90 % of the ceiling after 3,000,000 and still rises, because near the "
        "best moment to visit the poorer side both sides are worth almost the same",
    ),
    "HierarchicalReasoning-v0": Elsewhere(
        "monkeys, in the paper of the task",
        "an order of training from the interval alone to the hidden rule",
    ),
    "VisualSearch-v0": Elsewhere(
        "monkeys, in the paper of the task",
        "a gaze that moves by what the front end sees at a place (attention), or rewards for coming near the target",
    ),
}
