"""Sternberg's memory scanning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from neurogym.envs.task import ChoiceTask, Rows, Rule, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import AtLeastTwo, Range

Sizes = Annotated[Sequence[int], Range(1, whole=True, size=0)]


class Sternberg(ChoiceTask):
    """Report whether a probe was among the items of a list, shown successively before a delay.

    Args:
        timing: Replaces entries of ``default_timing`` (ms); ``item`` is the time from one item to the next.
        set_sizes: Lengths of the lists.
        n_items: Number of different items.

    Raises:
        ValueError: If a list would be empty or hold all of the items.

    Source: Sternberg 1966.
    """

    metadata = TaskInfo(
        doi="10.1126/science.153.3736.652",
        tags=["working memory", "reaction time", "two-alternative", "supervised"],
        necessary=("list", "probe"),
        small={"set_sizes": (1, 2), "n_items": 3},
    )
    default_timing = {"fixation": 500, "item": 1200, "delay": 2000, "probe": 1000}
    rule = Rule(fixate=("fixation",), answer=("probe",))

    @usual_arguments()
    def __init__(self, set_sizes: Sizes = (1, 2, 3, 4, 5, 6), n_items: AtLeastTwo = 10):
        if max(set_sizes) >= n_items:
            raise ValueError(f"set_sizes must lie between 1 and n_items - 1 = {n_items - 1}, got {set_sizes!r}")
        self.n_items = n_items
        self.conditions = {"set_size": tuple(set_sizes), "ground_truth": (1, 2)}
        self.observation_space = spaces.channels({"fixation": 0, "item": range(1, 1 + n_items)})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "match": 1, "non-match": 2})

    def _new_trials(self, trials: Trials) -> None:
        set_size, truth = trials.draw("set_size"), trials.draw("ground_truth")
        index = np.arange(trials.n)
        order = trials.rng.permuted(np.tile(np.arange(self.n_items), (trials.n, 1)), axis=1)
        place = trials.info["position"] = np.where(truth == 1, trials.rng.integers(set_size), -1)
        probe = trials.info["probe"] = np.where(truth == 1, order[index, place], order[:, -1])
        item = np.maximum(trials.steps(trials.sample_time("item")), 2)
        periods = ["fixation", "list", "delay", "probe"]
        trials.add_period(periods, [None, set_size * item * self.dt, None, None], min_steps={"probe": 1})
        start = trials.starts["list"]

        def items_at(rows: Rows) -> np.ndarray:
            """Show each item of the list, off in the last step, so that repeated items can be distinguished."""
            position, step = np.divmod(rows.step - start[rows.trial], item[rows.trial])
            on = step < item[rows.trial] - 1
            return np.eye(self.n_items)[order[rows.trial, position]] * on[:, None]

        trials.add_ob(1, ["fixation", "list", "delay"], where="fixation")
        trials.add_ob(items_at, "list", where="item")
        trials.add_ob(np.eye(self.n_items)[probe], "probe", where="item")
        trials.set_groundtruth(truth, "probe")
