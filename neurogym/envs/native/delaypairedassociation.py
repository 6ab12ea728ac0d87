"""Delayed paired association of odours, alone and with an embedded go / no-go task."""

from __future__ import annotations

import numpy as np

from neurogym.compat.members import ConditionValues
from neurogym.envs.blocks import in_blocks
from neurogym.envs.psychophysics import step_noise
from neurogym.envs.task import (
    ChoiceTask,
    ObserverSettings,
    ProgrammedTask,
    StepResult,
    TaskInfo,
    Trials,
    spaces,
    usual_arguments,
)
from neurogym.parameters.arguments import Count, NonNegative, Probability
from neurogym.sampling.distributions import Distribution

ODOUR_PAIRS = ((1, 3), (1, 4), (2, 3), (2, 4))  #: odours 1 and 3 belong together, and 2 and 4


class DelayPairedAssociation(ChoiceTask):
    """Respond if the second of two odours belongs to the first, withhold if not.

    Args:
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).

    Source: Zhang et al. 2019.
    """

    metadata = TaskInfo(
        doi="10.7554/eLife.43191",
        tags=["perceptual", "working memory", "go-no-go", "supervised"],
        necessary=("stim1", "stim2"),
        measures=("detection",),
    )
    default_timing = {
        "fixation": 0,
        "stim1": 1000,
        "delay_btw_stim": 1000,
        "stim2": 1000,
        "delay_aft_stim": 1000,
        "decision": 500,
    }
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": -1.0, "miss": 0.0, "withhold": 0.0}
    pairs = ConditionValues("pair")
    association = 0  #: odours belong together if their difference modulo 2 is this
    ideal_observer = ObserverSettings(("pair",))

    @usual_arguments()
    def __init__(self, sigma: NonNegative = 1.0):
        self.sigma = step_noise(sigma, self.dt)
        self.conditions = {"ground_truth": (0, 1), "pair": list(ODOUR_PAIRS)}
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": range(1, 5)})
        self.action_space = spaces.Discrete(2, name={"fixation": 0, "go": 1})

    def _together(self, pair: np.ndarray) -> np.ndarray:
        """Whether the odours of each pair, shape (n, 2), belong together."""
        return (pair[:, 1] - pair[:, 0]) % 2 == self.association

    def _pairs(self, trials: Trials) -> np.ndarray:
        """Odours of each trial, shape (n, 2): as requested, else drawn in accordance with a requested ground truth."""
        if "pair" in trials.given:
            pair = np.stack(list(trials.given["pair"]))
            together = self._together(pair)
            if np.any(together != trials.given.get("ground_truth", together)):
                raise ValueError(f"pair {tuple(pair[0])} and ground_truth {trials.given['ground_truth'][0]} contradict")
            trials.info["ground_truth"] = together.astype(int)
            trials.info["pair"] = pair
            return pair
        pairs = np.array(self.pairs)
        together = self._together(pairs)
        if "ground_truth" in trials.given:
            fits = together == (trials.draw("ground_truth") == 1)[:, None]
            chosen = np.where(fits, trials.rng.random(fits.shape), -1.0).argmax(axis=1)
        else:
            chosen = trials.rng.integers(len(pairs), size=trials.n)
            trials.info["ground_truth"] = together[chosen].astype(int)
        pair = trials.info["pair"] = pairs[chosen]
        return pair

    def _new_trials(self, trials: Trials) -> None:
        first, second = self._pairs(trials).T
        trials.add_ob(1, list(self.default_timing)[:-1], where="fixation")
        trials.add_ob(np.arange(1, 5) == first[:, None], "stim1", where="stimulus")
        trials.add_ob(np.arange(1, 5) == second[:, None], "stim2", where="stimulus")
        trials.add_randn(0, self.sigma, ["stim1", "stim2"], where="stimulus")
        trials.set_groundtruth(trials.info["ground_truth"], "decision")


RULES = ((0, 0), (0, 1), (1, 0), (1, 1))
BACKGROUND = 0.01


class DualTask(ProgrammedTask):
    """Remember an odour until a paired odour appears, and do a go / no-go task in between.

    Respond at the end if the second odour goes with the first; respond in between after the go odour. Which odours
    are pairs (two ways) and which distractor means go (two ways) is never shown and changes every ``block_dur``
    trials, so that it must be learned from the outcomes. Performance is the mean of the two tasks.

    Args:
        block_dur: Trials until the rules change.
        first_rule: Probability with which each of the two tasks has its first rule in a block, as in shaping, where
            one rule is taught before it changes; none: another pair of rules than before, all equally often.
        abort: Whether responding outside the two response periods ends the trial.

    Raises:
        ValueError: If ``block_dur`` is less than 1.

    Source: Zhang et al. 2019.
    """

    metadata = TaskInfo(
        doi="10.7554/eLife.43191",
        tags=["perceptual", "working memory", "go-no-go", "supervised"],
        needs_reward=True,
        necessary=("stim1", "stim2", "distractor", "history"),
        small={"block_dur": 1_000_000},
    )
    default_timing = {
        "stim1": 1000,
        "delay1": 3000,
        "distractor": 600,
        "distractor_delay": 600,
        "distractor_decision": 400,
        "delay2": 1000,
        "stim2": 1000,
        "delay3": 1000,
        "decision": 400,
        "iti": 600,
    }
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": -1.0, "miss": -1.0}

    @usual_arguments()
    def __init__(self, block_dur: Count = 1000, first_rule: Probability | None = None):
        self.block_dur, self.first_rule = block_dur, first_rule
        self.conditions = {"first": (0, 1), "second": (0, 1), "odour": (0, 1), "rules": RULES}
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": range(1, 7)})
        self.action_space = spaces.Discrete(2, name={"fixation": 0, "go": 1})
        self.start_session()

    def start_session(self) -> None:
        """Reset the rules."""
        self._done, self._rules = 0, -1

    def _rules_of(self, trials: Trials) -> np.ndarray:
        """Pairing rule and go rule of each trial, shape (n, 2)."""

        def begin(present: int) -> tuple[int, int]:
            if self.first_rule is not None:
                pairing, go_rule = trials.rng.random(2) >= self.first_rule
                return 2 * int(pairing) + int(go_rule), self.block_dur
            return int(trials.rng.choice([rule for rule in range(len(RULES)) if rule != present])), self.block_dur

        drawn, self._rules, _ = in_blocks(trials.n, self._rules, -self._done % self.block_dur, begin)
        self._done += trials.n
        current = np.array(RULES)[drawn]
        if "rules" in trials.given:
            current = np.stack(list(trials.given["rules"])).astype(int)
        trials.info["rules"] = current
        return current

    def _new_trials(self, trials: Trials) -> None:
        pairing, go_rule = self._rules_of(trials).T
        first, second, odour = (trials.draw(name) for name in ("first", "second", "odour"))
        paired = trials.info["paired"] = ((first ^ second) == pairing).astype(int)
        go = trials.info["go"] = (odour == go_rule).astype(int)
        trials.info["ground_truth"] = paired
        trials.add_period(list(self.default_timing), min_steps=1)
        responses = ("distractor_decision", "decision")
        trials.add_ob(1, [name for name in self.default_timing if name not in responses], where="fixation")
        trials.add_ob(lambda rows: BACKGROUND * trials.rng.random((len(rows.index), 6)), where="stimulus")
        for period, odours in (("stim1", first), ("distractor", 2 + odour), ("stim2", 4 + second)):
            trials.add_ob(np.eye(6)[odours], period, where="stimulus")
        trials.set_groundtruth(go, "distractor_decision")
        trials.set_groundtruth(paired, "decision")

    def chance(self) -> dict[str, float]:
        """Exact where durations are fixed and breaking fixation does not end the trial."""
        durations = {name: Distribution.of(self.timing[name]).bounds() for name in self.default_timing}
        if self.abort or any(shortest != longest for shortest, longest in durations.values()):
            return super().chance()
        reward = 0.0
        for period, (duration, _) in durations.items():
            steps = max(1, int(duration / self.dt + 1e-6))
            if period in ("distractor_decision", "decision"):
                silent = 0.5**steps
                gain = (1 - silent) * (self.rewards["correct"] + self.rewards["fail"]) + silent * self.rewards["miss"]
                reward += 0.5 * gain
            elif period != "iti":
                reward += 0.5 * steps * self.rewards["abort"]
        return {"performance": 0.5, "reward": reward}

    def _step(self, action: int) -> StepResult:
        if self.t_ind == 0:
            self._answered = {"distractor_decision": False, "decision": False}
        reward, ended = 0.0, False
        for period, wanted in (("distractor_decision", "go"), ("decision", "paired")):
            if self.in_period(period):
                reward = self._answer(period, action, self.trial[wanted])
                break
        else:
            if action and not self.in_period("iti"):
                reward, ended = self.break_fixation()
        return self.ob_now, reward, False, False, {"new_trial": ended}

    def _answer(self, period: str, action: int, wanted: int) -> float:
        """Reward of an action in a response period: the first response counts, or no response by the end."""
        last = self.t_ind + 1 == self.end_ind[period]
        if self._answered[period] or not (action or last):
            return 0.0
        self._answered[period] = True
        good = bool(action) == bool(wanted)
        self.performance += 0.5 * good
        if good:
            return self.rewards["correct"] if wanted else 0.0
        return self.rewards["fail" if action else "miss"]
