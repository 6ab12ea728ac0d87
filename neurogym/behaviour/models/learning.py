"""Models that learn from rewards: values of arms, win-stay lose-shift, an observer of reversals, two-step tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neurogym.analysis.regression import log_softmax
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.agents import Agent, AgentState, ParameterValues
from neurogym.behaviour.models.base import ParallelTrials, UnfitError, one_hot, require_two
from neurogym.behaviour.models.parameters import ModelParameter, positive, rate
from neurogym.behaviour.table import Behaviour

#: Probability of the common transition that the model-based part assumes once it knows which one is common.
COMMON_TRANSITION = 0.7


@dataclass(frozen=True)
class QOptions:
    """Parts of a value learner.

    Attributes:
        rates: 1, or 2 for separate rates of positive and negative errors.
        forgetting: whether values of other choices fall to zero.
        perseveration: whether the last choice is repeated or avoided.
    """

    rates: int = 1
    forgetting: bool = False
    perseveration: bool = False


class QLearning(Agent):
    """Value learning with softmax choices (Watkins 1989; Sutton & Barto 2018, chapter 2).

    Q_c += alpha (r - Q_c) for the chosen c; with forgetting Q_u *= 1 - phi for the others (Ito & Doya 2009,
    10.1523/JNEUROSCI.6157-08.2009); with two rates alpha+ for r > Q_c, alpha- otherwise. Logits beta Q + kappa (last
    choice) + bias + stimuli. Values begin at 0.

    Args:
        name: name of the model.
        options: parts of the learner.
    """

    per_outcome = ("beta",)

    def __init__(self, name: str, options: QOptions):
        super().__init__(name)
        self.options = options
        rates = [rate("alpha")] if options.rates == 1 else [rate("alpha+"), rate("alpha-")]
        more = [rate("phi")] * options.forgetting + [ModelParameter("kappa", sd=1.5)] * options.perseveration
        self.own = (*rates, positive("beta"), *more)

    @classmethod
    def with_options(cls, name: str, **options: Any) -> QLearning:
        """Return the model with the attributes of `QOptions` as arguments."""
        return cls(name, QOptions(**options))

    def begin(self, p: ParameterValues, shape: tuple[int, ...]) -> AgentState:
        """See `Agent.begin`."""
        return {"q": np.zeros(shape), "last": np.zeros((shape[0], 1, *shape[2:]))}

    def logits(self, p: ParameterValues, state: AgentState) -> FloatArray:
        """See `Agent.logits`."""
        logits = p["beta"] * state["q"]
        return logits + p["kappa"] * state["last"] if self.options.perseveration else logits

    def update(self, p: ParameterValues, state: AgentState, chosen: FloatArray, reward: FloatArray) -> AgentState:
        """See `Agent.update`."""
        error = reward - state["q"]
        alpha = p["alpha"] if self.options.rates == 1 else np.where(error > 0, p["alpha+"], p["alpha-"])
        q = state["q"] + alpha * chosen * error
        if self.options.forgetting:
            q = q - p["phi"] * (1 - chosen) * state["q"]
        return {"q": q, "last": chosen}


class WinStayLoseShift(Agent):
    """Win-stay lose-shift with errors (Nowak & Sigmund 1993, 10.1038/364056a0).

    P(stay | reward) = 1 - epsilon_win, P(shift | no reward) = 1 - epsilon_lose; among several other choices shifts are
    uniform. A reward is what exceeds one half.
    """

    own = (rate("epsilon_win"), rate("epsilon_lose"))

    def begin(self, p: ParameterValues, shape: tuple[int, ...]) -> AgentState:
        """See `Agent.begin`."""
        return {"logits": np.zeros(shape)}

    def logits(self, p: ParameterValues, state: AgentState) -> FloatArray:
        """See `Agent.logits`."""
        return state["logits"]

    def update(self, p: ParameterValues, state: AgentState, chosen: FloatArray, reward: FloatArray) -> AgentState:
        """See `Agent.update`."""
        stay = np.where(reward > 0.5, 1 - p["epsilon_win"], p["epsilon_lose"])
        each = np.where(chosen > 0, stay, (1 - stay) / (chosen.shape[-1] - 1))
        return {"logits": np.log(np.clip(each, 1e-9, 1)) + np.zeros_like(state["logits"])}


class BayesianReversal(Agent):
    """Bayesian observer of two arms that swap roles with a hazard.

    After choice c and outcome r the log-odds that choice 1 is the good arm move by +-log(p / (1 - p)), then
    L <- log(((1 - h) e^L + h) / (1 - h + h e^L)) (Costa et al. 2015, 10.1523/JNEUROSCI.1989-14.2015). Logit beta L +
    kappa (last choice) + bias + stimuli.
    """

    own = (rate("p_reward", 1.0, 0.5), rate("hazard", 0.5), positive("beta", 1.0, 1.0), ModelParameter("kappa", sd=1.5))

    def check(self, table: Behaviour) -> None:
        """See `Agent.check`."""
        super().check(table)
        require_two(table, self.name)

    def begin(self, p: ParameterValues, shape: tuple[int, ...]) -> AgentState:
        """See `Agent.begin`."""
        return {"odds": np.zeros((*shape[:-1], 1)), "last": np.zeros((shape[0], 1, *shape[2:]))}

    def logits(self, p: ParameterValues, state: AgentState) -> FloatArray:
        """See `Agent.logits`."""
        second = p["beta"] * state["odds"]
        return np.concatenate([np.zeros_like(second), second], -1) + p["kappa"] * state["last"]

    def update(self, p: ParameterValues, state: AgentState, chosen: FloatArray, reward: FloatArray) -> AgentState:
        """See `Agent.update`."""
        side = chosen[..., 1:] - chosen[..., :1]
        step = np.log(p["p_reward"] / np.maximum(1 - p["p_reward"], 1e-9))
        odds = np.clip(state["odds"] + np.where(reward > 0.5, 1, -1) * side * step, -30, 30)
        h = p["hazard"]
        e = np.exp(odds)
        return {"odds": np.log(((1 - h) * e + h) / (1 - h + h * e)), "last": chosen}


class TwoStepLearner(Agent):
    """Hybrid of model-free and model-based learning (Daw et al. 2011, 10.1016/j.neuron.2011.02.027).

    Stage 2: Q2(s, a2) += alpha2 d2, d2 = r - Q2(s, a2). Stage 1: Q_MF(a) += alpha1 d1 + alpha1 lambda d2,
    d1 = Q2(s, a2) - Q_MF(a). Q_MB(a) = sum_s P(s | a) max Q2(s, .), P = .7 for the transition seen more often so far.
    Logits of stage 1: beta1 (w Q_MB + (1 - w) Q_MF + p rep(a)); of stage 2: beta2 Q2(s, .). Values begin at 0. Tables
    without second choices have one value per state.

    Args:
        name: name of the model.
        w: weight of the model-based part; free if None.
    """

    per_outcome = ("beta1", "beta2")
    in_outcomes = ("p",)

    def __init__(self, name: str, w: float | None = None):
        super().__init__(name)
        self.w = w
        free = [rate("w")] if w is None else []
        mf = [rate("alpha1"), rate("lambda")] if w != 1 else []
        temperatures = [positive("beta1", 4.0), positive("beta2", 3.0)]
        self.own = (*mf, rate("alpha2"), *temperatures, ModelParameter("p", sd=0.5), *free)

    def check(self, table: Behaviour) -> None:
        """See `Agent.check`."""
        super().check(table)
        require_two(table, self.name)
        states = table.join("state")
        if not (states >= 0).any() or states.max() > 1 or table.join("choice2").max() > 1:
            raise UnfitError(f"{self.name} needs a column of second-stage states with two values (--state COLUMN)")

    def begin(self, p: ParameterValues, shape: tuple[int, ...]) -> AgentState:
        """See `Agent.begin`."""
        return {
            "mf": np.zeros(shape),
            "q2": np.zeros((*shape[:-1], 2, 2)),
            "last": np.zeros((shape[0], 1, *shape[2:])),
            "seen": np.zeros((shape[0], 1, shape[2], 1)),
        }

    def logits(self, p: ParameterValues, state: AgentState) -> FloatArray:
        """See `Agent.logits`."""
        same = 0.5 + (COMMON_TRANSITION - 0.5) * np.sign(state["seen"])
        best = state["q2"].max(-1)
        mb = same * best + (1 - same) * best[..., ::-1]
        w = p["w"] if self.w is None else self.w
        value = w * mb + (1 - w) * state["mf"]
        return p["beta1"] * (value + p["p"] * state["last"])

    def second(self, p: ParameterValues, state: AgentState, reached: np.ndarray) -> FloatArray:
        """Return the probabilities of the second-stage choices in the states that were reached."""
        return np.exp(self._log_second(p, state, reached))

    @staticmethod
    def _log_second(p: ParameterValues, state: AgentState, reached: np.ndarray) -> FloatArray:
        q = (state["q2"] * one_hot(reached, 2)[..., None]).sum(-2)
        return log_softmax(p["beta2"] * q)

    def extra_log_likelihood(
        self, p: ParameterValues, state: AgentState, data: ParallelTrials, chosen: FloatArray
    ) -> FloatArray:
        """See `Agent.extra_log_likelihood`: that of the second-stage choice."""
        return (self._log_second(p, state, data.state) * one_hot(data.choice2, 2)).sum(-1)

    def step(self, p: ParameterValues, state: AgentState, trial: ParallelTrials, chosen: FloatArray) -> AgentState:
        """See `Agent.step`."""
        reached = one_hot(trial.state, 2)
        second = one_hot(np.where(trial.state >= 0, np.maximum(trial.choice2, 0), -1), 2)
        if not (trial.choice2 >= 0).any():  # tables without second choices: both actions have the state's value
            second = np.where(trial.state[..., None] >= 0, 1.0, 0.0) * np.ones(2)
        visited = reached[..., None] * second[..., None, :]
        value = (state["q2"] * visited).sum((-1, -2))[..., None] / np.maximum(visited.sum((-1, -2)), 1)[..., None]
        error = trial.reward[..., None] - value
        q2 = state["q2"] + p["alpha2"][..., None] * visited * error[..., None]
        mf = state["mf"]
        if self.w != 1:
            mf = mf + chosen * p["alpha1"] * (value - mf + p["lambda"] * error)
        side = (2 * chosen[..., 1:] - 1) * (2 * reached[..., 1:] - 1)
        valid = (trial.choice >= 0)[..., None] & (trial.state >= 0)[..., None]
        new = {"mf": mf, "q2": q2, "last": chosen, "seen": state["seen"] + side}
        return {
            key: np.where(valid[..., None] if key == "q2" else valid, entry, state[key]) for key, entry in new.items()
        }
