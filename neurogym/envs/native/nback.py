"""N-back."""

from __future__ import annotations

import numpy as np

from neurogym.envs.task import ChoiceTask, Rule, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import AtLeastTwo, Count, Probability


class NBack(ChoiceTask):
    """Report for each item of a sequence whether the item n positions before was equal. A trial is a sequence.

    An item is shown, then the fixation cue goes off for the response; the action at the end of that time counts. The
    first n items need none, and follow each other without a pause. Performance is the fraction answered correctly.

    Args:
        rewards: Replaces entries of ``default_rewards``; each item gives ``correct`` or ``fail``, or ``miss``.
        n: How far back to compare.
        length: Items of a sequence.
        n_items: Number of different items.
        p_match: Probability that an item is a match.

    Raises:
        ValueError: If the sequence is not longer than ``n``, there are less than two items or no such probability.

    Source: Kirchner 1958.
    """

    metadata = TaskInfo(
        doi="10.1037/h0043688",
        tags=["working memory", "two-alternative", "supervised"],
        necessary=("item",),
        small={"length": 3, "n_items": 3},
    )
    default_timing = {"stimulus": 500, "response": 300}
    rule = Rule(fixate="*", answer=())

    @usual_arguments()
    def __init__(self, n: Count = 2, length: Count = 12, n_items: AtLeastTwo = 8, p_match: Probability = 1 / 3):
        if n >= length:
            raise ValueError(f"n must lie between 1 and length - 1 = {length - 1}, got {n!r}")
        self.n, self.sequence, self.n_items, self.p_match = n, length, n_items, p_match
        self.observation_space = spaces.channels({"fixation": 0, "item": range(1, 1 + n_items)})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "match": 1, "non-match": 2})

    def _sequences(self, trials: Trials) -> tuple[np.ndarray, np.ndarray]:
        """Items and whether each is a match, shape (n, length)."""
        items = trials.rng.integers(self.n_items, size=(trials.n, self.sequence))
        match = trials.rng.random((trials.n, self.sequence)) < self.p_match
        match[:, : self.n] = False
        for k in range(self.n, self.sequence):
            different = (items[:, k - self.n] + trials.rng.integers(1, self.n_items, size=trials.n)) % self.n_items
            items[:, k] = np.where(match[:, k], items[:, k - self.n], different)
        return items, match

    def _new_trials(self, trials: Trials) -> None:
        items, match = self._sequences(trials)
        trials.info["matches"] = match.sum(axis=1)
        stimulus, response = (trials.sample_time(period) for period in self.default_timing)
        items_of = [f"item{k}" for k in range(self.sequence)]
        responses = [f"response{k}" for k in range(self.n, self.sequence)]
        for k, period in enumerate(items_of):
            trials.add_period(
                period, stimulus, after=f"response{k - 1}" if k > self.n else items_of[k - 1] if k else None
            )
            if k >= self.n:
                trials.add_period(f"response{k}", response, after=period, min_steps=1)
        trials.go, trials.go_period = trials.starts[responses[0]], responses[0]
        trials.add_ob(1, items_of, where="fixation")
        right = np.where(match, 1, 2)
        ends = np.stack([trials.ends[name] for name in responses], axis=1)
        for k, period in enumerate(items_of):
            trials.add_ob(np.eye(self.n_items)[items[:, k]], period, where="item")
        for k, period in enumerate(responses, start=self.n):
            trials.set_groundtruth(right[:, k], period)
        rows = trials.rows(responses)
        counts = (rows.step[:, None] == ends[rows.trial] - 1).any(axis=1)
        for action in (0, 1, 2):
            good = counts & (trials.gt[rows.index] == action)
            paid = np.where(good, trials.reward("correct")[rows.trial], 0.0)
            paid += np.where(counts & ~good, trials.reward("fail" if action else "miss")[rows.trial], 0.0)
            trials.set_action_reward(
                responses, action, lambda _, paid=paid: paid, lambda _, good=good: good / len(responses), ends=False
            )
