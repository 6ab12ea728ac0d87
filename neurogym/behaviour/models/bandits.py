"""Further learners of choices with rewards: uncertainty, attraction, fictive outcomes."""

from __future__ import annotations

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.agents import Agent, AgentState, ParameterValues
from neurogym.behaviour.models.parameters import ModelParameter, positive, rate


class KalmanBandit(Agent):
    """Kalman filter over the means of arms, with an uncertainty bonus (Daw et al. 2006, 10.1038/nature04766).

    Belief N(m_c, v_c) of each arm; after a reward the gain is v / (v + 1), in units of the noise of rewards; between
    trials means decay by ``decay`` towards 0 and variances become decay^2 v + q. Logits beta m + phi sqrt(v) + kappa
    (last choice); phi above 0 seeks uncertainty (Gershman 2018, 10.1016/j.cognition.2017.12.014).
    """

    own = (
        ModelParameter("decay", "unit", 3.0, 1.2),  # payoffs that drift slowly, as in Daw et al. 2006
        positive("q", 0.1, 1.0),
        positive("beta", 2.0, 0.8),
        ModelParameter("phi", sd=1.5),
        ModelParameter("kappa", sd=1.5),
    )
    per_outcome = ("beta",)

    def begin(self, p: ParameterValues, shape: tuple[int, ...]) -> AgentState:
        """See `Agent.begin`."""
        return {"mean": np.zeros(shape), "variance": np.ones(shape), "last": np.zeros(shape)}

    def logits(self, p: ParameterValues, state: AgentState) -> FloatArray:
        """See `Agent.logits`."""
        bonus = p["phi"] * np.sqrt(state["variance"])
        return np.asarray(p["beta"] * state["mean"] + bonus + p["kappa"] * state["last"])

    def update(self, p: ParameterValues, state: AgentState, chosen: FloatArray, reward: FloatArray) -> AgentState:
        """See `Agent.update`."""
        gain = chosen * state["variance"] / (state["variance"] + 1)
        mean = state["mean"] + gain * (reward - state["mean"])
        variance = state["variance"] * (1 - gain)
        return {
            "mean": p["decay"] * mean,
            "variance": p["decay"] ** 2 * variance + p["q"],
            "last": chosen + np.zeros_like(state["last"]),
        }


class ExperienceWeighted(Agent):
    """Experience-weighted attraction (Camerer & Ho 1999, 10.1111/1468-0262.00054).

    For the choice, experience N' = rho N + 1 and attraction A <- (phi N A + r) / N', as in den Ouden et al. (2013,
    10.1016/j.neuron.2013.08.030); other options keep theirs. Logits beta A; A begins at 0, N at 1.
    """

    own = (rate("phi"), rate("rho"), positive("beta"))
    per_outcome = ("beta",)

    def begin(self, p: ParameterValues, shape: tuple[int, ...]) -> AgentState:
        """See `Agent.begin`."""
        return {"attraction": np.zeros(shape), "experience": np.ones(shape)}

    def logits(self, p: ParameterValues, state: AgentState) -> FloatArray:
        """See `Agent.logits`."""
        return np.asarray(p["beta"] * state["attraction"])

    def update(self, p: ParameterValues, state: AgentState, chosen: FloatArray, reward: FloatArray) -> AgentState:
        """See `Agent.update`."""
        experience, attraction = state["experience"], state["attraction"]
        grown = p["rho"] * experience + 1
        return {
            "attraction": np.where(chosen > 0, (p["phi"] * experience * attraction + reward) / grown, attraction),
            "experience": np.where(chosen > 0, grown, experience),
        }


class FictiveLearner(Agent):
    """Fictive updating in reversal learning (Gläscher, Hampton & O'Doherty 2009, 10.1093/cercor/bhn098).

    Q_c += alpha (r - Q_c) for the choice and Q_u += alpha_fictive (1 - r - Q_u) for the others, as if these would have
    had the opposite outcome; rewards lie between 0 and 1 and others are clipped. Logits beta Q + kappa (last choice).
    """

    own = (rate("alpha"), rate("alpha_fictive"), positive("beta"), ModelParameter("kappa", sd=1.5))

    def begin(self, p: ParameterValues, shape: tuple[int, ...]) -> AgentState:
        """See `Agent.begin`."""
        return {"q": np.full(shape, 0.5), "last": np.zeros(shape)}

    def logits(self, p: ParameterValues, state: AgentState) -> FloatArray:
        """See `Agent.logits`."""
        return np.asarray(p["beta"] * state["q"] + p["kappa"] * state["last"])

    def update(self, p: ParameterValues, state: AgentState, chosen: FloatArray, reward: FloatArray) -> AgentState:
        """See `Agent.update`."""
        r = np.clip(reward, 0, 1)
        real, fictive = p["alpha"] * (r - state["q"]), p["alpha_fictive"] * (1 - r - state["q"])
        return {"q": state["q"] + np.where(chosen > 0, real, fictive), "last": chosen + np.zeros_like(state["last"])}
