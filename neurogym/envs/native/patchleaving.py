"""Patch leaving: when to give up a patch that is running out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from neurogym.envs.task import Distribution, Rows, Rule, Score, TaskInfo, TrialEnv, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import Positive, Range

STAY, LEAVE = 0, 1
SMALLEST = 0.01  #: harvest below which a patch counts as empty, and is left by itself
Richness = Annotated[Sequence[float], Range(SMALLEST, above=True, size=0)]


class PatchLeaving(TrialEnv):
    """Harvest from a patch that runs out, and leave for the next one at the right time.

    A trial is the way to a patch and the stay there. Each step of the stay yields ``richness * exp(-decay * k)`` after
    k harvests; the size of the coming harvest is shown. Leaving takes a step and begins the next way. Harvest per step
    is highest in the long run if every patch is left as soon as the coming harvest is below the long-run rate (marginal
    value theorem). Performance falls from 1, for a stay within a harvest of the best, to 0 as the deviation grows to
    the best stay itself.

    Args:
        richness: First harvest of a patch, drawn uniformly.
        decay: Rate at which harvests fall off, per harvest.

    Raises:
        ValueError: If a richness or the decay is not positive, or no patch is worth a stay.

    Source: Charnov 1976; trained networks: Wispinski, Butcher, Mathewson, Chapman,
    Botvinick & Pilarski 2023, arXiv 2210.08085.
    """

    metadata = TaskInfo(
        doi="10.1016/0040-5809(76)90040-X",
        tags=["value-based", "timing"],
        history_dependent=True,
        necessary=("harvest",),
    )
    default_timing = {"travel": 1000}
    default_rewards = {"correct": 1.0}
    rule = Rule(fixate=(), answer=(), hold=STAY)

    @usual_arguments(abort=False)
    def __init__(self, richness: Richness = (0.4, 0.7, 1.0), decay: Positive = 0.1):
        self.decay = decay
        self.conditions = {"richness": np.array(richness, float, ndmin=1)}
        self.observation_space = spaces.channels({"travel": 0, "harvest": 1})
        self.action_space = spaces.Discrete(2, name={"stay": STAY, "leave": LEAVE})

    def stay(self, richness: np.ndarray, least: float) -> np.ndarray:
        """Number of harvests of more than ``least`` in patches of a given richness."""
        return np.maximum(np.ceil(np.log(np.asarray(richness) / least) / self.decay - 1e-9), 0)

    def harvested(self, richness: np.ndarray, count: np.ndarray) -> np.ndarray:
        """Sum of the first ``count`` harvests of patches of a given richness."""
        return richness * (1 - np.exp(-self.decay * np.asarray(count))) / (1 - np.exp(-self.decay))

    def best_rate(self) -> float:
        """Highest harvest per step in the long run.

        A forager that leaves at the rate of a policy has a higher rate than that policy, unless both are best.
        """
        sizes, travel = self.conditions["richness"], Distribution.of(self.timing["travel"])
        away = 1 + np.mean(travel.sample(np.random.default_rng(0), 1000) // self.dt)  # steps, with that of leaving
        rate, better = 0.0, float(np.mean(sizes) / (1 + away))
        while better > rate + 1e-12:
            rate, stays = better, self.stay(sizes, better)
            better = float(self.harvested(sizes, stays).mean() / (stays.mean() + away))
        return rate

    def _new_trials(self, trials: Trials) -> None:
        richness, rate = trials.draw("richness"), self.best_rate()
        best = trials.info["best_stay"] = self.stay(richness, rate).astype(int)
        longest = self.stay(richness, SMALLEST)
        trials.add_period(["travel", "patch", "empty"], [None, longest * self.dt, self.dt])
        trials.go, trials.go_period = trials.starts["patch"], "patch"

        def harvests(rows: Rows) -> np.ndarray:
            """Harvests before each row."""
            return rows.step - trials.starts["patch"][rows.trial]

        def size(rows: Rows) -> np.ndarray:
            return richness[rows.trial] * np.exp(-self.decay * harvests(rows))

        def score(rows: Rows) -> np.ndarray:
            off = np.abs(harvests(rows) - best[rows.trial])
            return np.clip(1 - (off - 1) / np.maximum(best[rows.trial], 1), 0, 1)

        trials.add_ob(1, "travel", where="travel")
        trials.add_ob(size, "patch", where="harvest")
        pay = trials.reward("correct")
        trials.set_action_reward("patch", STAY, lambda rows: pay[rows.trial] * size(rows), 0.0, False)
        trials.set_action_reward("patch", LEAVE, 0.0, score)
        trials.set_action_reward("empty", [STAY, LEAVE], 0.0, score)

    def oracle(self) -> int:
        """Leave when the coming harvest is not above the best rate."""
        stayed = self.t_ind - self.start_ind["patch"]
        return LEAVE if stayed >= self.trial["best_stay"] else STAY

    def closed_form(self) -> Score | None:
        """Exact by the marginal value theorem; rewards per trial are highest without leaving, so that none is given."""
        return {"performance": 1.0, "reward": None, "error": 0.0, "method": "exact: marginal value theorem"}
