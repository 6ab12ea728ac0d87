"""Learners of gains and losses: separate rates and sensitivities, and models of the Iowa gambling task.

Tables with a gain and a loss for each choice are read as such; in tables with a single reward, what is above 0 is a
gain and what is below 0 a loss.
"""

from __future__ import annotations

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.agents import Agent, AgentState, ParameterValues
from neurogym.behaviour.models.base import ParallelTrials, UnfitError
from neurogym.behaviour.models.parameters import ModelParameter, positive, rate
from neurogym.behaviour.models.scales import power_of_ten, typical_outcome
from neurogym.behaviour.table import Behaviour

#: Base of choice consistency in PVL models: theta = 3^c - 1.
CONSISTENCY = 3.0
#: Exponent of choice consistency, which is near 1 in most samples (Ahn et al. 2008).
CHOICE_CONSISTENCY = ModelParameter("c", "unit", -1.4, 1.0, 0.0, 5.0)


class OutcomeAgent(Agent):
    """Base of learners that use gains and losses of a trial."""

    refuses_scales = True

    def check(self, table: Behaviour) -> None:
        """See `Agent.check`; outcomes of a size far from 1 are refused, for which the priors are not made."""
        super().check(table)
        size = typical_outcome(table)
        if self.refuses_scales and power_of_ten(size) != 1:
            scale = f"{power_of_ten(size):g}"
            cure = f"--derive reward=COLUMN/{scale} --reward reward"
            if np.isfinite(table.join("gain")).any():
                won, lost = (str(table.roles.get(role, role)) for role in ("gain", "loss"))
                cure = f"--derive won={won}/{scale} --derive lost={lost}/{scale} --gain won --loss lost"
            raise UnfitError(
                f"{self.name} expects outcomes near 1; those of the table have a typical size of {size:g} ({cure})"
            )

    def step(self, p: ParameterValues, state: AgentState, trial: ParallelTrials, chosen: FloatArray) -> AgentState:
        """See `Agent.step`."""
        gain, loss = outcomes(trial)
        new = self.learn(p, state, chosen, gain[..., None], loss[..., None])
        valid = trial.choice[..., None] >= 0
        return {key: np.where(valid, value, state[key]) for key, value in new.items()}

    def learn(
        self, p: ParameterValues, state: AgentState, chosen: FloatArray, gain: FloatArray, loss: FloatArray
    ) -> AgentState:
        """Return the state after a trial.

        Args:
            p: parameters.
            state: before the trial.
            chosen: 1 for the choice, 0 for others, shape (fit, 1, session, choice).
            gain: amount won, shape (fit, 1, session, 1).
            loss: amount lost, 0 or less, shape (fit, 1, session, 1).
        """
        raise NotImplementedError


def outcomes(trial: ParallelTrials) -> tuple[FloatArray, FloatArray]:
    """Return gains (0 or more) and losses (0 or less) of a trial; the sign of the reward where neither is known."""
    zero = np.zeros_like(trial.reward)
    gain = np.nan_to_num(zero if trial.gain is None else trial.gain)
    loss = -np.abs(np.nan_to_num(zero if trial.loss is None else trial.loss))
    separate = (gain != 0) | (loss != 0)
    return np.where(separate, gain, np.maximum(trial.reward, 0)), np.where(separate, loss, np.minimum(trial.reward, 0))


class GainLossLearner(OutcomeAgent):
    """Separate values of gains and of losses (Seymour et al. 2012, 10.1523/JNEUROSCI.0053-12.2012).

    G_c += alpha_gain (rho_gain gain - G_c), L_c += alpha_loss (rho_loss loss - L_c) for the choice c; values of other
    choices decay at the same rates. Logits G + L + kappa (last choice).
    """

    own = (
        rate("alpha_gain"),
        rate("alpha_loss"),
        positive("rho_gain", 3.0, 0.8),
        positive("rho_loss", 3.0, 0.8),
        ModelParameter("kappa", sd=1.5),
    )
    per_outcome = ("rho_gain", "rho_loss")
    refuses_scales = False

    def begin(self, p: ParameterValues, shape: tuple[int, ...]) -> AgentState:
        """See `Agent.begin`."""
        return {"gain": np.zeros(shape), "loss": np.zeros(shape), "last": np.zeros(shape)}

    def logits(self, p: ParameterValues, state: AgentState) -> FloatArray:
        """See `Agent.logits`."""
        return np.asarray(state["gain"] + state["loss"] + p["kappa"] * state["last"])

    def learn(
        self, p: ParameterValues, state: AgentState, chosen: FloatArray, gain: FloatArray, loss: FloatArray
    ) -> AgentState:
        """See `OutcomeAgent.learn`."""
        return {
            "gain": state["gain"] + p["alpha_gain"] * (chosen * p["rho_gain"] * gain - state["gain"]),
            "loss": state["loss"] + p["alpha_loss"] * (chosen * p["rho_loss"] * loss - state["loss"]),
            "last": chosen + np.zeros_like(state["last"]),
        }


def utility(gain: FloatArray, loss: FloatArray, shape: FloatArray, aversion: FloatArray) -> FloatArray:
    """Return the prospect utility of the net outcome (Tversky & Kahneman 1992), losses weighed by their aversion."""
    net = gain + loss
    size = np.maximum(np.abs(net), 1e-12) ** shape * (net != 0)
    return np.asarray(np.where(net >= 0, size, -aversion * size))


class PvlDelta(OutcomeAgent):
    """Prospect valence learning with the delta rule (Ahn et al. 2008, 10.1080/03640210802352992).

    Utility x^alpha of net gains and -lambda |x|^alpha of net losses; V_c += A (u - V_c) for the choice; logits
    (3^c - 1) V. Outcomes should be scaled so that typical ones are near 1 (points / 100 in the Iowa gambling task).
    """

    own = (
        rate("A"),
        ModelParameter("alpha", "unit", 0.0, 1.2, 0.0, 2.0),
        ModelParameter("lambda", "unit", -1.0, 1.2, 0.0, 10.0),
        CHOICE_CONSISTENCY,
    )

    def begin(self, p: ParameterValues, shape: tuple[int, ...]) -> AgentState:
        """See `Agent.begin`."""
        return {"value": np.zeros(shape)}

    def logits(self, p: ParameterValues, state: AgentState) -> FloatArray:
        """See `Agent.logits`."""
        return np.asarray((CONSISTENCY ** p["c"] - 1) * state["value"])

    def learn(
        self, p: ParameterValues, state: AgentState, chosen: FloatArray, gain: FloatArray, loss: FloatArray
    ) -> AgentState:
        """See `OutcomeAgent.learn`."""
        u = utility(gain, loss, p["alpha"], p["lambda"])
        return {"value": state["value"] + p["A"] * chosen * (u - state["value"])}


class ValuePlusPerseveration(OutcomeAgent):
    """Value plus perseveration (Worthy, Pang & Byrne 2013, 10.3389/fpsyg.2013.00640).

    V as in `PvlDelta`; perseveration P decays by K each trial and that of the choice gains epsP after a net gain or
    zero, epsN after a loss. Logits (3^c - 1) (w V + (1 - w) P).
    """

    own = (
        rate("A"),
        ModelParameter("alpha", "unit", 0.0, 1.2, 0.0, 2.0),
        ModelParameter("lambda", "unit", -1.0, 1.2, 0.0, 10.0),
        CHOICE_CONSISTENCY,
        ModelParameter("epsP", sd=4.0),
        ModelParameter("epsN", sd=4.0),
        rate("K"),
        rate("w"),
    )

    def begin(self, p: ParameterValues, shape: tuple[int, ...]) -> AgentState:
        """See `Agent.begin`."""
        return {"value": np.zeros(shape), "perseveration": np.zeros(shape)}

    def logits(self, p: ParameterValues, state: AgentState) -> FloatArray:
        """See `Agent.logits`."""
        mixed = p["w"] * state["value"] + (1 - p["w"]) * state["perseveration"]
        return np.asarray((CONSISTENCY ** p["c"] - 1) * mixed)

    def learn(
        self, p: ParameterValues, state: AgentState, chosen: FloatArray, gain: FloatArray, loss: FloatArray
    ) -> AgentState:
        """See `OutcomeAgent.learn`."""
        u = utility(gain, loss, p["alpha"], p["lambda"])
        boost = np.where(gain + loss >= 0, p["epsP"], p["epsN"])
        return {
            "value": state["value"] + p["A"] * chosen * (u - state["value"]),
            "perseveration": p["K"] * state["perseveration"] + chosen * boost,
        }


class OutcomeRepresentation(OutcomeAgent):
    """Outcome-representation learning (Haines, Vassileva & Ahn 2018, 10.1111/cogs.12688).

    Expected value EV_c += A (x - EV_c) and frequency of wins EF_c += A (sgn x - EF_c) for the choice, with A_rew for
    net gains or zero and A_pun for losses; the frequencies of the other options move to -sgn x / (options - 1) at the
    rate of the other sign. Perseverance is 1 after a choice and shrinks by 1 + K, K = 3^K' - 1, each trial. Logits
    EV + betaF EF + betaP PS.
    """

    own = (
        rate("A_rew"),
        rate("A_pun"),
        ModelParameter("K'", "unit", -1.4, 1.2, 0.0, 5.0),
        ModelParameter("betaF", sd=2.0),
        ModelParameter("betaP", sd=2.0),
    )

    def begin(self, p: ParameterValues, shape: tuple[int, ...]) -> AgentState:
        """See `Agent.begin`."""
        return {"value": np.zeros(shape), "frequency": np.zeros(shape), "perseverance": np.zeros(shape)}

    def logits(self, p: ParameterValues, state: AgentState) -> FloatArray:
        """See `Agent.logits`."""
        return np.asarray(state["value"] + p["betaF"] * state["frequency"] + p["betaP"] * state["perseverance"])

    def learn(
        self, p: ParameterValues, state: AgentState, chosen: FloatArray, gain: FloatArray, loss: FloatArray
    ) -> AgentState:
        """See `OutcomeAgent.learn`."""
        net = gain + loss
        won, sign = net >= 0, np.sign(net)
        chosen_rate = np.where(won, p["A_rew"], p["A_pun"])
        fictive_rate = np.where(won, p["A_pun"], p["A_rew"])
        fictive = -sign / (chosen.shape[-1] - 1)
        frequency = state["frequency"]
        moved = chosen * chosen_rate * (sign - frequency) + (1 - chosen) * fictive_rate * (fictive - frequency)
        perseverance = np.where(chosen > 0, 1.0, state["perseverance"])
        return {
            "value": state["value"] + chosen * chosen_rate * (net - state["value"]),
            "frequency": frequency + moved,
            "perseverance": perseverance / CONSISTENCY ** p["K'"],
        }
