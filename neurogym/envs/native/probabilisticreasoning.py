"""Probabilistic reasoning: adding up the evidence of shapes."""

from __future__ import annotations

import numpy as np

from neurogym.envs.psychophysics import exact_ceiling, steps_of
from neurogym.envs.task import ChoiceTask, Patterns, Rule, Score, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import Count, Numbers

WEIGHTS = (-10, -0.9, -0.7, -0.5, -0.3, 0.3, 0.5, 0.7, 0.9, 10)  #: base-10 log odds; 10 means certainty


def _periods(n_loc: int) -> dict[str, object]:
    shapes = {f"stimulus{i}": 500 for i in range(n_loc)}
    return {"fixation": 500, **shapes, "delay": ("uniform", (450, 550)), "decision": 500}


class ProbabilisticReasoning(ChoiceTask):
    """Add up the evidence of successive shapes, and choose the favoured target.

    Each shape has a weight; their sum is the log odds (base 10) that target 2 is rewarded. Which target is rewarded is
    drawn with these odds, so that even the best choice is sometimes wrong.

    Args:
        dt: Time step (ms).
        rewards: Replaces entries of ``default_rewards``.
        timing: Replaces entries of ``default_timing`` (ms).
        shape_weight: Weight of each shape. Default: ten shapes from -10 to 10.
        n_loc: Number of shapes shown in a trial, each at its own place.
        abort: Whether breaking fixation ends the trial.

    Raises:
        ValueError: If there is no shape or no place.

    Source: Yang & Shadlen 2007.
    """

    metadata = TaskInfo(
        doi="10.1038/nature05852",
        tags=["perceptual", "two-alternative", "supervised"],
        necessary=(),
    )
    default_timing = _periods(4)
    rule = Rule(fixate="*", answer=("decision",))

    @usual_arguments(defaults=lambda shape_weight, n_loc: {"default_timing": _periods(int(n_loc))})
    def __init__(self, shape_weight: Numbers | None = None, n_loc: Count = 4):
        self.n_loc = int(n_loc)
        self.shape_weight = np.array(WEIGHTS if shape_weight is None else shape_weight, dtype=float, ndmin=1)
        self.n_shape = n_shapes = len(self.shape_weight)
        self.shapes = np.arange(n_shapes)
        self.conditions = {
            "ground_truth": (0, 1),
            "shapes": Patterns(range(n_shapes), self.n_loc),
            "locs": Patterns(range(self.n_loc), self.n_loc, distinct=True),
        }
        self.locations = [range(1 + k * n_shapes, 1 + (k + 1) * n_shapes) for k in range(self.n_loc)]
        self.observation_space = spaces.channels(
            {"fixation": 0, **{f"loc{k}": channels for k, channels in enumerate(self.locations)}}
        )
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

    def _shapes(self, trials: Trials) -> np.ndarray:
        """Draw shapes in order of appearance, shape (n, n_loc), and the target according to the log odds."""
        rng, n = trials.rng, trials.n
        shapes, target = np.zeros((n, self.n_loc), int), np.zeros(n, int)
        left = np.arange(n)
        while len(left):  # shapes given the target: drawn jointly, kept if the target is as requested
            if "shapes" in trials.given:
                shapes[left] = np.stack(list(trials.given["shapes"]))[left]
            else:
                shapes[left] = rng.integers(len(self.shape_weight), size=(len(left), self.n_loc))
            odds = self.shape_weight[shapes[left]].sum(axis=1)
            target[left] = rng.random(len(left)) < 1 / (1 + 10**-odds)
            if "ground_truth" in trials.given:
                requested = np.asarray(trials.given["ground_truth"])
                target = requested if "shapes" in trials.given else target
                left = left[target[left] != requested[left]]
            else:
                left = left[:0]
        trials.info.update(ground_truth=target, shapes=shapes, log_odd=self.shape_weight[shapes].sum(axis=1))
        return shapes

    def _new_trials(self, trials: Trials) -> None:
        shapes = self._shapes(trials)
        locs = trials.rng.permuted(np.tile(np.arange(self.n_loc), (trials.n, 1)), axis=1)
        if "locs" in trials.given:
            locs = np.stack(list(trials.given["locs"]))
        trials.info["locs"] = locs
        steps = [f"stimulus{i}" for i in range(self.n_loc)]
        trials.add_ob(1, ["fixation", *steps, "delay"], where="fixation")
        n_shapes = len(self.shape_weight)
        for i in range(self.n_loc):
            channel = locs[:, i] * n_shapes + shapes[:, i]
            one_hot = np.arange(self.n_loc * n_shapes) == channel[:, None]
            trials.add_ob(one_hot, steps[i:], where=range(1, 1 + self.n_loc * n_shapes))
        trials.set_groundtruth(trials.info["ground_truth"], "decision", where="choice")

    def closed_form(self) -> Score | None:
        """Exact: the mean probability of the more likely target over all sums of weights."""
        if not all(steps_of(self, f"stimulus{k}").all() for k in range(self.n_loc)):
            return None
        odds, share = np.zeros(1), np.ones(1)
        for _ in range(self.n_loc):
            sums, index = np.unique(np.add.outer(odds, self.shape_weight).round(9), return_inverse=True)
            odds, share = sums, np.bincount(index.ravel(), np.repeat(share, self.n_shape)) / self.n_shape
        likely = 1 / (1 + 10 ** -np.abs(odds))
        return exact_ceiling(self, float(share @ likely), "enumeration of the shapes")
