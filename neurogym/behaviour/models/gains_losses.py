"""Learners of gains and losses: separate rates and sensitivities, and models of the Iowa gambling task.

Tables with a gain and a loss for each choice are read as such; in tables with a single reward, what is above 0 is a
gain and what is below 0 a loss.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from neurogym.behaviour.models.agents import Agent
from neurogym.behaviour.models.base import UnfitError
from neurogym.behaviour.models.one_trial import State, Trial, Values
from neurogym.behaviour.models.parameters import positive, power_of_ten, rate, real, typical_outcome, unit
from neurogym.behaviour.table import Behaviour
from neurogym.messages.options import option

#: Base of choice consistency in PVL models: theta = 3^c - 1; c is near 1 in most samples (Ahn et al. 2008).
CONSISTENCY = 3.0


class GainLossLearner(Agent):
    """Separate values of gains and of losses (Seymour et al. 2012, 10.1523/JNEUROSCI.0053-12.2012).

    G_c += alpha_gain (rho_gain gain - G_c), L_c += alpha_loss (rho_loss loss - L_c) for the choice c; values of other
    choices decay at the same rates. Logits G + L + kappa (last choice).
    """

    alpha_gain, alpha_loss = rate(), rate()
    rho_gain, rho_loss = positive(3.0, 0.8, per_outcome=True), positive(3.0, 0.8, per_outcome=True)
    kappa = real(1.5)

    def begin(self, p: Values, n: int) -> State:
        """See `Agent.begin`."""
        return {"gain": jnp.zeros(n), "loss": jnp.zeros(n), "last": jnp.zeros(n)}

    def logits(self, p: Values, state: Values, trial: Trial) -> Any:
        """See `Agent.logits`."""
        return state.gain + state.loss + p.kappa * state.last

    def update(self, p: Values, state: Values, trial: Trial) -> State:
        """See `Agent.update`."""
        return {
            "gain": state.gain + p.alpha_gain * (trial.chosen * p.rho_gain * trial.gain - state.gain),
            "loss": state.loss + p.alpha_loss * (trial.chosen * p.rho_loss * trial.loss - state.loss),
            "last": trial.chosen,
        }


class NearOne(Agent):
    """Base of learners whose priors are made for outcomes near 1, and cannot follow another size."""

    def check(self, table: Behaviour) -> None:
        """See `Agent.check`; outcomes of a size far from 1 are refused."""
        super().check(table)
        size = typical_outcome(table)
        if power_of_ten(size) != 1:
            scale = f"{power_of_ten(size):g}"
            cure = option(f"--derive reward=COLUMN/{scale} --reward reward")
            if np.isfinite(table.join("gain")).any():
                won, lost = (str(table.roles.get(role, role)) for role in ("gain", "loss"))
                cure = option(f"--derive won={won}/{scale} --derive lost={lost}/{scale} --gain won --loss lost")
            raise UnfitError(
                f"{self.name} expects outcomes near 1; those of the table have a typical size of {size:g} ({cure})"
            )


class PvlDelta(NearOne):
    """Prospect valence learning with the delta rule (Ahn et al. 2008, 10.1080/03640210802352992).

    Utility x^alpha of net gains and -lambda |x|^alpha of net losses (Tversky & Kahneman 1992); V_c += A (u - V_c) for
    the choice; logits (3^c - 1) V. Outcomes should be scaled so that typical ones are near 1 (points / 100 in the Iowa
    gambling task).
    """

    A, alpha, lambda_ = rate(), unit(0.0, 1.2, 0.0, 2.0), unit(-1.0, 1.2, 0.0, 10.0)
    c = unit(-1.4, 1.0, 0.0, 5.0)

    def begin(self, p: Values, n: int) -> State:
        """See `Agent.begin`."""
        return {"value": jnp.zeros(n)}

    def logits(self, p: Values, state: Values, trial: Trial) -> Any:
        """See `Agent.logits`."""
        return (CONSISTENCY**p.c - 1) * state.value

    def update(self, p: Values, state: Values, trial: Trial) -> State:
        """See `Agent.update`."""
        net = trial.gain + trial.loss
        size = jnp.maximum(jnp.abs(net), 1e-12) ** p.alpha * (net != 0)
        utility = jnp.where(net >= 0, size, -p["lambda"] * size)
        return {"value": state.value + p.A * trial.chosen * (utility - state.value)}


class ValuePlusPerseveration(PvlDelta):
    """Value plus perseveration (Worthy, Pang & Byrne 2013, 10.3389/fpsyg.2013.00640).

    V as in `PvlDelta`; perseveration P decays by K each trial and that of the choice gains epsP after a net gain or
    zero, epsN after a loss. Logits (3^c - 1) (w V + (1 - w) P).
    """

    epsP, epsN, K, w = real(4.0), real(4.0), rate(), rate()  # noqa: N815  # symbols of the paper

    def begin(self, p: Values, n: int) -> State:
        """See `Agent.begin`."""
        return {"value": jnp.zeros(n), "perseveration": jnp.zeros(n)}

    def logits(self, p: Values, state: Values, trial: Trial) -> Any:
        """See `Agent.logits`."""
        return (CONSISTENCY**p.c - 1) * (p.w * state.value + (1 - p.w) * state.perseveration)

    def update(self, p: Values, state: Values, trial: Trial) -> State:
        """See `Agent.update`."""
        boost = jnp.where(trial.gain + trial.loss >= 0, p.epsP, p.epsN)
        return {
            **super().update(p, state, trial),
            "perseveration": p.K * state.perseveration + trial.chosen * boost,
        }


class OutcomeRepresentation(NearOne):
    """Outcome-representation learning (Haines, Vassileva & Ahn 2018, 10.1111/cogs.12688).

    Expected value EV_c += A (x - EV_c) and frequency of wins EF_c += A (sgn x - EF_c) for the choice, with A_rew for
    net gains or zero and A_pun for losses; the frequencies of the other options move to -sgn x / (options - 1) at the
    rate of the other sign. Perseverance is 1 after a choice and shrinks by 1 + K, K = 3^K' - 1, each trial. Logits
    EV + betaF EF + betaP PS.
    """

    A_rew, A_pun, shrinking = rate(), rate(), unit(-1.4, 1.2, 0.0, 5.0, name="K'")
    betaF, betaP = real(2.0), real(2.0)  # noqa: N815  # symbols of the paper

    def begin(self, p: Values, n: int) -> State:
        """See `Agent.begin`."""
        return {"value": jnp.zeros(n), "frequency": jnp.zeros(n), "perseverance": jnp.zeros(n)}

    def logits(self, p: Values, state: Values, trial: Trial) -> Any:
        """See `Agent.logits`."""
        return state.value + p.betaF * state.frequency + p.betaP * state.perseverance

    def update(self, p: Values, state: Values, trial: Trial) -> State:
        """See `Agent.update`."""
        chosen, net = trial.chosen, trial.gain + trial.loss
        won, sign = net >= 0, jnp.sign(net)
        of_choice, of_others = jnp.where(won, p.A_rew, p.A_pun), jnp.where(won, p.A_pun, p.A_rew)
        fictive = -sign / (len(chosen) - 1)
        frequency = state.frequency
        moved = chosen * of_choice * (sign - frequency) + (1 - chosen) * of_others * (fictive - frequency)
        return {
            "value": state.value + chosen * of_choice * (net - state.value),
            "frequency": frequency + moved,
            "perseverance": jnp.where(chosen > 0, 1.0, state.perseverance) / CONSISTENCY ** p["K'"],
        }
