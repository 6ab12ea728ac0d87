"""Models that learn from rewards: values of arms, an observer of reversals, two-step and go/no-go tasks."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from neurogym.behaviour.models.agents import Agent
from neurogym.behaviour.models.base import UnfitError
from neurogym.behaviour.models.one_trial import State, Trial, Values
from neurogym.behaviour.models.parameters import positive, rate, real, unit
from neurogym.behaviour.table import Behaviour
from neurogym.messages.options import option

#: Probability of the common transition that the model-based part assumes once it knows which one is common.
COMMON_TRANSITION = 0.7
#: Most cues of a task.
CUES = 12


class QLearning(Agent):
    """Value learning with softmax choices (Watkins 1989; Sutton & Barto 2018, chapter 2).

    Q_c += alpha (r - Q_c) for the chosen c; with forgetting Q_u *= 1 - phi for the others (Ito & Doya 2009,
    10.1523/JNEUROSCI.6157-08.2009); with two rates alpha+ for r > Q_c, alpha- otherwise. Logits beta Q + kappa (last
    choice) + bias + stimuli. Values begin at 0.

    Args:
        name: name of the model.
        rates: 1, or 2 for separate rates of positive and negative errors.
        forgetting: whether values of other choices fall to zero.
        perseveration: whether the last choice is repeated or avoided.
    """

    def __init__(self, name: str, rates: int = 1, forgetting: bool = False, perseveration: bool = False):
        super().__init__(name, rates=rates, forgetting=forgetting, perseveration=perseveration)
        names = ("alpha",) if rates == 1 else ("alpha+", "alpha-")
        more = [rate("phi")] * forgetting + [real(1.5, "kappa")] * perseveration
        self.own = (*map(rate, names), positive(3.0, name="beta", per_outcome=True), *more)

    def begin(self, p: Values, n: int) -> State:
        """See `Agent.begin`."""
        return {"q": jnp.zeros(n), "last": jnp.zeros(n)}

    def logits(self, p: Values, state: Values, trial: Trial) -> Any:
        """See `Agent.logits`."""
        return p.beta * state.q + p.get("kappa", 0.0) * state.last

    def update(self, p: Values, state: Values, trial: Trial) -> State:
        """See `Agent.update`."""
        error, chosen = trial.reward - state.q, trial.chosen
        alpha = p["alpha"] if "alpha" in p else jnp.where(error > 0, p["alpha+"], p["alpha-"])
        forgotten = p.get("phi", 0.0) * (1 - chosen) * state.q
        return {"q": state.q + alpha * chosen * error - forgotten, "last": chosen}


class WinStayLoseShift(Agent):
    """Win-stay lose-shift with errors (Nowak & Sigmund 1993, 10.1038/364056a0).

    P(stay | reward) = 1 - epsilon_win, P(shift | no reward) = 1 - epsilon_lose; among several other choices shifts are
    uniform. A reward is what exceeds one half.
    """

    epsilon_win, epsilon_lose = rate(), rate()

    def begin(self, p: Values, n: int) -> State:
        """See `Agent.begin`."""
        return {"logits": jnp.zeros(n)}

    def logits(self, p: Values, state: Values, trial: Trial) -> Any:
        """See `Agent.logits`."""
        return state.logits

    def update(self, p: Values, state: Values, trial: Trial) -> State:
        """See `Agent.update`."""
        stay = jnp.where(trial.reward > 0.5, 1 - p.epsilon_win, p.epsilon_lose)
        each = jnp.where(trial.chosen > 0, stay, (1 - stay) / (len(trial.chosen) - 1))
        return {"logits": jnp.log(jnp.clip(each, 1e-9, 1))}


class BayesianReversal(Agent):
    """Bayesian observer of two arms that swap roles with a hazard.

    After choice c and outcome r the log-odds that choice 1 is the good arm move by +-log(p / (1 - p)), then
    L <- log(((1 - h) e^L + h) / (1 - h + h e^L)) (Costa et al. 2015, 10.1523/JNEUROSCI.1989-14.2015). Logit beta L +
    kappa (last choice) + bias + stimuli.
    """

    two_choices = True
    p_reward, hazard, beta, kappa = rate(high=1.0, low=0.5), rate(high=0.5), positive(1.0, 1.0), real(1.5)

    def begin(self, p: Values, n: int) -> State:
        """See `Agent.begin`."""
        return {"odds": 0.0, "last": jnp.zeros(n)}

    def logits(self, p: Values, state: Values, trial: Trial) -> Any:
        """See `Agent.logits`."""
        return jnp.array([0.0, 1.0]) * p.beta * state.odds + p.kappa * state.last

    def update(self, p: Values, state: Values, trial: Trial) -> State:
        """See `Agent.update`."""
        side = trial.chosen[1] - trial.chosen[0]
        step = jnp.log(p.p_reward / jnp.maximum(1 - p.p_reward, 1e-9))
        e = jnp.exp(jnp.clip(state.odds + jnp.where(trial.reward > 0.5, 1, -1) * side * step, -30, 30))
        return {"odds": jnp.log(((1 - p.hazard) * e + p.hazard) / (1 - p.hazard + p.hazard * e)), "last": trial.chosen}


class TwoStepLearner(Agent):
    """Hybrid of model-free and model-based learning (Daw et al. 2011, 10.1016/j.neuron.2011.02.027).

    Stage 2: Q2(s, a2) += alpha2 d2, d2 = r - Q2(s, a2). Stage 1: Q_MF(a) += alpha1 d1 + alpha1 lambda d2,
    d1 = Q2(s, a2) - Q_MF(a). Q_MB(a) = sum_s P(s | a) max Q2(s, .), P = .7 for the transition seen more often so far.
    Logits of stage 1: beta1 (w Q_MB + (1 - w) Q_MF + p rep(a)); of stage 2: beta2 Q2(s, .). Values begin at 0. Trials
    without a second choice have one value per state.

    Args:
        name: name of the model.
        w: weight of the model-based part; free if None.
    """

    two_choices = two_stage = True

    def __init__(self, name: str, w: float | None = None):
        super().__init__(name, w=w)
        mf = [rate("alpha1"), rate("lambda")] if w != 1 else []
        temperatures = [positive(size, name=each, per_outcome=True) for each, size in (("beta1", 4.0), ("beta2", 3.0))]
        free = [rate("w")] if w is None else []
        self.own = (*mf, rate("alpha2"), *temperatures, real(0.5, "p", in_outcomes=True), *free)

    def check(self, table: Behaviour) -> None:
        """See `Agent.check`."""
        super().check(table)
        states = table.join("state")
        if not (states >= 0).any() or states.max() > 1 or table.join("choice2").max() > 1:
            raise UnfitError(
                f"{self.name} needs a column of second-stage states with two values ({option('--state COLUMN')})"
            )

    def begin(self, p: Values, n: int) -> State:
        """See `Agent.begin`."""
        return {"mf": jnp.zeros(2), "q2": jnp.zeros((2, 2)), "last": jnp.zeros(2), "seen": 0.0}

    def logits(self, p: Values, state: Values, trial: Trial) -> Any:
        """See `Agent.logits`."""
        same = 0.5 + (COMMON_TRANSITION - 0.5) * jnp.sign(state.seen)
        best = state.q2.max(1)
        w = p.get("w", self.options["w"])
        value = w * (same * best + (1 - same) * best[::-1]) + (1 - w) * state.mf
        return p.beta1 * (value + p.p * state.last)

    def second(self, p: Values, state: Values, reached: Any) -> Any:
        """See `Agent.second`."""
        return p.beta2 * state.q2[jnp.maximum(reached, 0)]

    def update(self, p: Values, state: Values, trial: Trial) -> State:
        """See `Agent.update`; a trial that reached no state changes nothing."""
        reached = jax.nn.one_hot(trial.state, 2)
        second = jnp.where(trial.choice2 >= 0, jax.nn.one_hot(trial.choice2, 2), jnp.ones(2))
        visited = reached[:, None] * second
        value = (state.q2 * visited).sum() / jnp.maximum(visited.sum(), 1)
        error = trial.reward - value
        moved = p.alpha1 * (value - state.mf + p["lambda"] * error) if "alpha1" in p else 0.0
        new = {
            "mf": state.mf + trial.chosen * moved,
            "q2": state.q2 + p.alpha2 * visited * error,
            "last": trial.chosen,
            "seen": state.seen + (2 * trial.chosen[1] - 1) * (2 * reached[1] - 1),
        }
        return {key: jnp.where(trial.state >= 0, each, state[key]) for key, each in new.items()}


class GoNoGo(Agent):
    """Go/no-go learning with a go bias and a Pavlovian bias (Guitart-Masip et al. 2012).

    Choice 1 is go. For each cue s, Q(s, a) += alpha (rho r - Q(s, a)) for the action that was chosen and V(s) += alpha
    (rho r - V(s)). The weight of go is Q(s, go) + b + pi V(s), that of no-go Q(s, no-go); a share xi of responses is
    random (10.1016/j.neuroimage.2012.04.024). The cue of a trial takes the place of the stimuli of other models.
    """

    alpha, rho = rate(), positive(4.0, 0.8, per_outcome=True)
    b, pi, xi = real(1.5), real(1.0), unit(-2.5, 1.2)
    linear, sees_cue, two_choices = False, True, True

    def check(self, table: Behaviour) -> None:
        """See `Agent.check`."""
        super().check(table)
        cue = table.join("cue")
        if not (cue >= 0).any() or cue.max() >= CUES:
            raise UnfitError(f"{self.name} needs a column of at most {CUES} cues ({option('--cue COLUMN')})")

    def begin(self, p: Values, n: int) -> State:
        """See `Agent.begin`."""
        return {"q": jnp.zeros((CUES, n)), "v": jnp.zeros(CUES)}

    def logits(self, p: Values, state: Values, trial: Trial) -> Any:
        """See `Agent.logits`."""
        cue = jax.nn.one_hot(trial.cue, CUES)
        weight = cue @ state.q + jnp.array([0.0, 1.0]) * (p.b + p.pi * (cue @ state.v))
        return jnp.logaddexp(jnp.log1p(-p.xi) + jax.nn.log_softmax(weight), jnp.log(p.xi / 2))

    def update(self, p: Values, state: Values, trial: Trial) -> State:
        """See `Agent.update`."""
        visited, outcome = p.alpha * jax.nn.one_hot(trial.cue, CUES), p.rho * trial.reward
        return {
            "q": state.q + visited[:, None] * trial.chosen * (outcome - state.q),
            "v": state.v + visited * (outcome - state.v),
        }
