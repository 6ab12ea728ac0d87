"""Model-free, model-based and hybrid learners of two-step tasks."""

from __future__ import annotations

import numpy as np

from neurogym.behaviour.models.agents import Agent, Parameter, State, Values, positive, rate
from neurogym.behaviour.models.base import Trial, UnfitError, log_softmax, one_hot, require_two
from neurogym.behaviour.table import Behaviour, Floats

#: Probability of the common transition that the model-based part assumes once it knows which one is common.
COMMON = 0.7


class TwoStep(Agent):
    """Hybrid of model-free and model-based learning (Daw et al. 2011, 10.1016/j.neuron.2011.02.027).

    Stage 2: Q2(s, a2) += alpha2 d2, d2 = r - Q2(s, a2). Stage 1: Q_MF(a) += alpha1 d1 + alpha1 lambda d2,
    d1 = Q2(s, a2) - Q_MF(a). Q_MB(a) = sum_s P(s | a) max Q2(s, .), P = .7 for the transition seen more often so far.
    Logits of stage 1: beta1 (w Q_MB + (1 - w) Q_MF + p rep(a)); of stage 2: beta2 Q2(s, .). Values begin at 0. Tables
    without second choices have one value per state.

    Args:
        name: name of the model.
        w: weight of the model-based part; free if None.
    """

    def __init__(self, name: str, w: float | None = None):
        super().__init__(name)
        self.w = w
        free = [rate("w")] if w is None else []
        mf = [rate("alpha1"), rate("lambda")] if w != 1 else []
        self.own = (
            *mf,
            rate("alpha2"),
            positive("beta1", 4.0),
            positive("beta2", 3.0),
            Parameter("p", sd=0.5),
            *free,
        )

    def check(self, table: Behaviour) -> None:
        """See `Agent.check`."""
        super().check(table)
        require_two(table, self.name)
        states = table.join("state")
        if not (states >= 0).any() or states.max() > 1 or table.join("choice2").max() > 1:
            raise UnfitError(f"{self.name} needs a column of second-stage states with two values (--state COLUMN)")

    def begin(self, p: Values, shape: tuple[int, ...]) -> State:
        """See `Agent.begin`."""
        return {
            "mf": np.zeros(shape),
            "q2": np.zeros((*shape[:-1], 2, 2)),
            "last": np.zeros((shape[0], 1, *shape[2:])),
            "seen": np.zeros((shape[0], 1, shape[2], 1)),
        }

    def logits(self, p: Values, state: State) -> Floats:
        """See `Agent.logits`."""
        same = 0.5 + (COMMON - 0.5) * np.sign(state["seen"])
        best = state["q2"].max(-1)
        mb = same * best + (1 - same) * best[..., ::-1]
        w = p["w"] if self.w is None else self.w
        value = w * mb + (1 - w) * state["mf"]
        return p["beta1"] * (value + p["p"] * state["last"])

    def second(self, p: Values, state: State, reached: np.ndarray) -> Floats:
        """Return the probabilities of the second-stage choices in the states that were reached."""
        q = (state["q2"] * one_hot(reached, 2)[..., None]).sum(-2)
        return np.exp(log_softmax(p["beta2"] * q))

    def extra_log_likelihood(self, p: Values, state: State, data: Trial, chosen: Floats) -> Floats:
        """See `Agent.extra_log_likelihood`: that of the second-stage choice."""
        q = (state["q2"] * one_hot(data.state, 2)[..., None]).sum(-2)
        return (log_softmax(p["beta2"] * q) * one_hot(data.choice2, 2)).sum(-1)

    def step(self, p: Values, state: State, trial: Trial, chosen: Floats) -> State:
        """See `Agent.step`."""
        reached, second = (
            one_hot(trial.state, 2),
            one_hot(np.where(trial.state >= 0, np.maximum(trial.choice2, 0), -1), 2),
        )
        if not (trial.choice2 >= 0).any():  # tables without second choices: both actions have the state's value
            second = np.where(trial.state[..., None] >= 0, 1.0, 0.0) * np.ones(2)
        taken = reached[..., None] * second[..., None, :]
        count = np.maximum(taken.sum((-1, -2)), 1)[..., None]
        value = (state["q2"] * taken).sum((-1, -2))[..., None] / count
        error = trial.reward[..., None] - value
        q2 = state["q2"] + p["alpha2"][..., None] * taken * error[..., None]
        mf = state["mf"]
        if self.w != 1:
            first = value - mf
            mf = mf + chosen * p["alpha1"] * (first + p["lambda"] * error)
        side = (2 * chosen[..., 1:] - 1) * (2 * reached[..., 1:] - 1)
        valid = (trial.choice >= 0)[..., None] & (trial.state >= 0)[..., None]
        new = {"mf": mf, "q2": q2, "last": chosen, "seen": state["seen"] + side}
        return {
            key: np.where(valid[..., None] if key == "q2" else valid, part, state[key]) for key, part in new.items()
        }
