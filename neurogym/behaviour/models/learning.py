"""Reinforcement learning of values in bandits, win-stay lose-shift, and the Bayesian observer of reversals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neurogym.behaviour.models.agents import Agent, Parameter, State, Values, positive, rate
from neurogym.behaviour.models.base import require_two
from neurogym.behaviour.table import Behaviour, Floats


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

    def __init__(self, name: str, options: QOptions):
        super().__init__(name)
        self.options = options
        rates = [rate("alpha")] if options.rates == 1 else [rate("alpha+"), rate("alpha-")]
        more = [rate("phi")] * options.forgetting + [Parameter("kappa", sd=1.5)] * options.perseveration
        self.own = (*rates, positive("beta"), *more)

    @classmethod
    def with_options(cls, name: str, **options: Any) -> QLearning:
        """Return the model with the attributes of `QOptions` as arguments."""
        return cls(name, QOptions(**options))

    def begin(self, p: Values, shape: tuple[int, ...]) -> State:
        """See `Agent.begin`."""
        return {"q": np.zeros(shape), "last": np.zeros((shape[0], 1, *shape[2:]))}

    def logits(self, p: Values, state: State) -> Floats:
        """See `Agent.logits`."""
        found = p["beta"] * state["q"]
        return found + p["kappa"] * state["last"] if self.options.perseveration else found

    def update(self, p: Values, state: State, chosen: Floats, reward: Floats) -> State:
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

    def begin(self, p: Values, shape: tuple[int, ...]) -> State:
        """See `Agent.begin`."""
        return {"logits": np.zeros(shape)}

    def logits(self, p: Values, state: State) -> Floats:
        """See `Agent.logits`."""
        return state["logits"]

    def update(self, p: Values, state: State, chosen: Floats, reward: Floats) -> State:
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

    own = (rate("p_reward", 1.0, 0.5), rate("hazard", 0.5), positive("beta", 1.0, 1.0), Parameter("kappa", sd=1.5))

    def check(self, table: Behaviour) -> None:
        """See `Agent.check`."""
        super().check(table)
        require_two(table, self.name)

    def begin(self, p: Values, shape: tuple[int, ...]) -> State:
        """See `Agent.begin`."""
        return {"odds": np.zeros((*shape[:-1], 1)), "last": np.zeros((shape[0], 1, *shape[2:]))}

    def logits(self, p: Values, state: State) -> Floats:
        """See `Agent.logits`."""
        second = p["beta"] * state["odds"]
        return np.concatenate([np.zeros_like(second), second], -1) + p["kappa"] * state["last"]

    def update(self, p: Values, state: State, chosen: Floats, reward: Floats) -> State:
        """See `Agent.update`."""
        side = chosen[..., 1:] - chosen[..., :1]
        step = np.log(p["p_reward"] / np.maximum(1 - p["p_reward"], 1e-9))
        odds = np.clip(state["odds"] + np.where(reward > 0.5, 1, -1) * side * step, -30, 30)
        h = p["hazard"]
        e = np.exp(odds)
        return {"odds": np.log(((1 - h) * e + h) / (1 - h + h * e)), "last": chosen}
