"""Further learners of choices with rewards: uncertainty, attraction, fictive outcomes, foraging in patches."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from neurogym.behaviour.models.agents import Agent
from neurogym.behaviour.models.one_trial import State, Trial, Values
from neurogym.behaviour.models.parameters import positive, rate, real, unit


class KalmanBandit(Agent):
    """Kalman filter over the means of arms, with an uncertainty bonus (Daw et al. 2006, 10.1038/nature04766).

    Belief N(m_c, v_c) of each arm; after a reward the gain is v / (v + 1), in units of the noise of rewards; between
    trials means decay by ``decay`` towards 0 and variances become decay^2 v + q. Logits beta m + phi sqrt(v) + kappa
    (last choice); phi above 0 seeks uncertainty (Gershman 2018, 10.1016/j.cognition.2017.12.014).
    """

    decay = unit(3.0, 1.2)  # payoffs that drift slowly, as in Daw et al. 2006
    q, beta = positive(0.1, 1.0), positive(2.0, 0.8, per_outcome=True)
    phi, kappa = real(1.5), real(1.5)

    def begin(self, p: Values, n: int) -> State:
        """See `Agent.begin`."""
        return {"mean": jnp.zeros(n), "variance": jnp.ones(n), "last": jnp.zeros(n)}

    def logits(self, p: Values, state: Values, trial: Trial) -> Any:
        """See `Agent.logits`."""
        return p.beta * state.mean + p.phi * jnp.sqrt(state.variance) + p.kappa * state.last

    def update(self, p: Values, state: Values, trial: Trial) -> State:
        """See `Agent.update`."""
        gain = trial.chosen * state.variance / (state.variance + 1)
        mean = state.mean + gain * (trial.reward - state.mean)
        return {
            "mean": p.decay * mean,
            "variance": p.decay**2 * state.variance * (1 - gain) + p.q,
            "last": trial.chosen,
        }


class ExperienceWeighted(Agent):
    """Experience-weighted attraction (Camerer & Ho 1999, 10.1111/1468-0262.00054).

    For the choice, experience N' = rho N + 1 and attraction A <- (phi N A + r) / N', as in den Ouden et al. (2013,
    10.1016/j.neuron.2013.08.030); other options keep theirs. Logits beta A; A begins at 0, N at 1.
    """

    phi, rho, beta = rate(), rate(), positive(3.0, per_outcome=True)

    def begin(self, p: Values, n: int) -> State:
        """See `Agent.begin`."""
        return {"attraction": jnp.zeros(n), "experience": jnp.ones(n)}

    def logits(self, p: Values, state: Values, trial: Trial) -> Any:
        """See `Agent.logits`."""
        return p.beta * state.attraction

    def update(self, p: Values, state: Values, trial: Trial) -> State:
        """See `Agent.update`."""
        grown = p.rho * state.experience + 1
        attraction = (p.phi * state.experience * state.attraction + trial.reward) / grown
        return {
            "attraction": jnp.where(trial.chosen > 0, attraction, state.attraction),
            "experience": jnp.where(trial.chosen > 0, grown, state.experience),
        }


class FictiveLearner(Agent):
    """Fictive updating in reversal learning (Gläscher, Hampton & O'Doherty 2009, 10.1093/cercor/bhn098).

    Q_c += alpha (r - Q_c) for the choice and Q_u += alpha_fictive (1 - r - Q_u) for the others, as if these would have
    had the opposite outcome; rewards lie between 0 and 1 and others are clipped. Logits beta Q + kappa (last choice).
    """

    alpha, alpha_fictive, beta, kappa = rate(), rate(), positive(3.0), real(1.5)

    def begin(self, p: Values, n: int) -> State:
        """See `Agent.begin`."""
        return {"q": jnp.full(n, 0.5), "last": jnp.zeros(n)}

    def logits(self, p: Values, state: Values, trial: Trial) -> Any:
        """See `Agent.logits`."""
        return p.beta * state.q + p.kappa * state.last

    def update(self, p: Values, state: Values, trial: Trial) -> State:
        """See `Agent.update`."""
        r = jnp.clip(trial.reward, 0, 1)
        moved = jnp.where(trial.chosen > 0, p.alpha * (r - state.q), p.alpha_fictive * (1 - r - state.q))
        return {"q": state.q + moved, "last": trial.chosen}


class Forager(Agent):
    """Compare the next reward of a patch with the average reward (Constantino & Daw 2015, 10.3758/s13415-015-0350-y).

    The first choice stays in the patch, the second leaves. Staying is expected to give kappa times the last reward, or
    ``first`` in a new patch; the average reward rho per harvest, at first ``average``, moves by
    (1 - (1 - alpha)^time) (r / time - rho). Logit of leaving beta (rho - expected) + bias (marginal value theorem).

    Args:
        name: name of the model.
        travel: time to the next patch, in harvests.
    """

    two_choices = True
    alpha, kappa, beta = rate(high=0.5), rate(), positive(3.0, 0.8, per_outcome=True)
    first, average = positive(1.0, 0.5, in_outcomes=True), positive(0.5, 0.5, in_outcomes=True)

    def __init__(self, name: str, travel: float = 1.0):
        super().__init__(name, travel=travel)

    def begin(self, p: Values, n: int) -> State:
        """See `Agent.begin`."""
        return {"rho": p.average, "expected": p.first}

    def logits(self, p: Values, state: Values, trial: Trial) -> Any:
        """See `Agent.logits`."""
        return p.beta * jnp.stack([state.expected, state.rho])

    def update(self, p: Values, state: Values, trial: Trial) -> State:
        """See `Agent.update`."""
        left = trial.choice == 1
        time = jnp.where(left, self.options["travel"], 1.0)
        error = jnp.where(left, 0.0, trial.reward) / time - state.rho
        return {
            "rho": state.rho + (1 - (1 - p.alpha) ** time) * error,
            "expected": jnp.where(left, p.first, p.kappa * trial.reward),
        }
