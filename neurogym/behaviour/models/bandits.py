"""Further learners of choices with rewards: uncertainty, attraction, fictive outcomes, Pavlovian bias."""

from __future__ import annotations

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.agents import Agent, AgentState, ModelParameter, ParameterValues, positive, rate
from neurogym.behaviour.models.base import ParallelTrials, UnfitError, one_hot, require_two
from neurogym.behaviour.table import Behaviour


class KalmanBandit(Agent):
    """Kalman filter over the means of arms, with an uncertainty bonus (Daw et al. 2006, 10.1038/nature04766).

    Belief N(m_c, v_c) of each arm; after a reward the gain is v / (v + 1), in units of the noise of rewards; between
    trials means decay by ``decay`` towards 0 and variances become decay^2 v + q. Logits beta m + phi sqrt(v) + kappa
    (last choice); phi above 0 seeks uncertainty (Gershman 2018, 10.1016/j.cognition.2017.12.014).
    """

    own = (
        rate("decay"), positive("q", 0.1, 1.0), positive("beta", 2.0, 0.8), ModelParameter("phi", sd=1.5),
        ModelParameter("kappa", sd=1.5),
    )  # fmt: skip

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
    """Experience-weighted attraction of two arms with one good arm (Camerer & Ho 1999, 10.1111/1468-0262.00054).

    N <- rho N + 1; attraction A_c <- (phi N_before A_c + r) / N for the choice, (phi N_before A_c) / N for others (as
    den Ouden et al. 2013, 10.1016/j.neuron.2013.08.030). Logits beta A.
    """

    own = (rate("phi"), rate("rho"), positive("beta"))

    def begin(self, p: ParameterValues, shape: tuple[int, ...]) -> AgentState:
        """See `Agent.begin`."""
        return {"attraction": np.zeros(shape), "experience": np.ones((*shape[:-1], 1))}

    def logits(self, p: ParameterValues, state: AgentState) -> FloatArray:
        """See `Agent.logits`."""
        return np.asarray(p["beta"] * state["attraction"])

    def update(self, p: ParameterValues, state: AgentState, chosen: FloatArray, reward: FloatArray) -> AgentState:
        """See `Agent.update`."""
        experience = p["rho"] * state["experience"] + 1
        attraction = chosen * (p["phi"] * state["experience"] * state["attraction"] + reward) / experience
        others = (1 - chosen) * state["attraction"]
        return {"attraction": attraction + others, "experience": experience}


class FictiveLearner(Agent):
    """Fictive updating in reversal learning (Gläscher, Hampton & O'Doherty 2009, 10.1093/cercor/bhn098).

    Q_c += alpha (r - Q_c) for the choice and Q_u += alpha_fictive (1 - r - Q_u) for the others, as if these would have
    had the opposite outcome; rewards are scaled to 0 and 1 by the table's. Logits beta Q + kappa (last choice).
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


#: Most cues of a go/no-go task.
CUES = 12


class GoNoGo(Agent):
    """Go/no-go learning with a go bias and a Pavlovian bias (Guitart-Masip et al. 2012, 10.1016/j.neuroimage.2012.04.024).

    Choice 1 is go. For each cue s, Q(s, a) += alpha (rho r - Q(s, a)) and V(s) += alpha (rho r - V(s)); the weight of
    go is Q(s, go) + b + pi V(s), that of no-go Q(s, no-go); responses lapse to a random one with rate xi.
    """

    own = (rate("alpha"), positive("rho", 4.0, 0.8), ModelParameter("b", sd=1.5), ModelParameter("pi", sd=1.0),
           ModelParameter("xi", "unit", -2.5, 1.2, 0.0, 1.0))  # fmt: skip

    def check(self, table: Behaviour) -> None:
        """See `Agent.check`."""
        super().check(table)
        require_two(table, self.name)
        cue = table.join("cue")
        if not (cue >= 0).any() or cue.max() >= CUES:
            raise UnfitError(f"{self.name} needs a column of at most {CUES} cues (--cue COLUMN)")

    def parameters(self, table: Behaviour) -> tuple[ModelParameter, ...]:
        """Return the model's own parameters and the weights of the stimuli; the bias is ``b``."""
        every = super().parameters(table)
        return tuple(each for each in every if each.name != "bias")
