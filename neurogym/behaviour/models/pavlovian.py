"""Go/no-go learning with a go bias and a Pavlovian bias (Guitart-Masip et al. 2012, 10.1016/j.neuroimage.2012.04.024).

Choice 1 is go. For each cue s, Q(s, a) += alpha (rho r - Q(s, a)) for the action that was chosen and V(s) += alpha
(rho r - V(s)). The weight of go is Q(s, go) + b + pi V(s), that of no-go Q(s, no-go); a share xi of responses is
random. The cue of a trial takes the place of the stimuli of other models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from neurogym.analysis.regression import log_softmax
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.agents import Agent, AgentPolicy, AgentState, ParameterValues
from neurogym.behaviour.models.base import Fitted, ParallelTrials, Problem, UnfitError, one_hot, predict, require_two
from neurogym.behaviour.models.parameters import ModelParameter, positive, rate, with_priors
from neurogym.behaviour.table import Behaviour, Session

#: Most cues of a task.
CUES = 12
#: Name of the stimulus that holds the cue.
CUE = "cue"


def with_cues(sessions: Sequence[Session]) -> list[Session]:
    """Return sessions whose only stimulus is the cue."""
    return [replace(each, stimuli=np.asarray(each.cue, float)[:, None]) for each in sessions]


class GoNoGo(Agent):
    """Go/no-go learner; see the module."""

    own = (
        rate("alpha"),
        positive("rho", 4.0, 0.8),
        ModelParameter("b", sd=1.5),
        ModelParameter("pi", sd=1.0),
        ModelParameter("xi", "unit", -2.5, 1.2, 0.0, 1.0),
    )
    per_outcome = ("rho",)

    def check(self, table: Behaviour) -> None:
        """See `Agent.check`."""
        super().check(table)
        require_two(table, self.name)
        cue = table.join("cue")
        if not (cue >= 0).any() or cue.max() >= CUES:
            raise UnfitError(f"{self.name} needs a column of at most {CUES} cues (--cue COLUMN)")

    def parameters(self, table: Behaviour) -> tuple[ModelParameter, ...]:
        """See `Agent.parameters`; the bias is ``b`` and stimuli have no weights."""
        return with_priors(self.scaled(table), self.priors)

    def fit(self, problems: Sequence[Problem]) -> list[Fitted]:
        """See `Model.fit`."""
        for each in problems:
            self.check(each.table)
        fits = super().fit([replace(each, table=self.with_cue_stimuli(each.table)) for each in problems])
        for fit in fits:
            assert isinstance(fit.policy, AgentPolicy)
            fit.policy = CuePolicy(fit.policy.agent, fit.policy.parameters, fit.policy.x, fit.policy.n_choices)
        return fits

    @staticmethod
    def with_cue_stimuli(table: Behaviour) -> Behaviour:
        """Return a table whose only stimulus is the cue."""
        return replace(table, sessions=tuple(with_cues(table.sessions)), stimuli=(CUE,))

    def from_arrays(self, arrays: Mapping[str, FloatArray], table: Behaviour) -> CuePolicy:
        """See `Model.from_arrays`."""
        return CuePolicy(self, self.parameters(table), arrays["x"], len(table.choices))

    def begin(self, p: ParameterValues, shape: tuple[int, ...]) -> AgentState:
        """See `Agent.begin`."""
        return {"q": np.zeros((*shape[:-1], CUES, shape[-1])), "v": np.zeros((*shape[:-1], CUES, 1))}

    def now(self, p: ParameterValues, state: AgentState, stimuli: FloatArray, n: int) -> FloatArray:
        """See `Agent.now`; the first stimulus is the cue."""
        cue = _cue(stimuli)
        weight = (state["q"] * cue).sum(-2)
        go = p["b"] + p["pi"] * (state["v"] * cue).sum(-2)
        weight = weight + np.concatenate([np.zeros_like(go), go], -1)
        log = log_softmax(weight)
        return np.asarray(np.logaddexp(np.log1p(-p["xi"]) + log, np.log(p["xi"] / n)))

    def step(self, p: ParameterValues, state: AgentState, trial: ParallelTrials, chosen: FloatArray) -> AgentState:
        """See `Agent.step`."""
        cue, outcome = _cue(trial.stimuli), (p["rho"] * trial.reward[..., None])[..., None]
        alpha, valid = p["alpha"][..., None], (trial.choice >= 0)[..., None, None]
        visited = cue * valid
        return {
            "q": state["q"] + alpha * visited * chosen[..., None, :] * (outcome - state["q"]),
            "v": state["v"] + alpha * visited * (outcome - state["v"]),
        }


def _cue(stimuli: FloatArray) -> FloatArray:
    """Return ones for the cue of a trial, shape (..., session, cue, 1)."""
    return one_hot(np.nan_to_num(stimuli[..., 0], nan=-1.0).astype(int), CUES)[..., None]


class CuePolicy(AgentPolicy):
    """Behaviour of a go/no-go learner; a trial's first stimulus is its cue."""

    sees_cue: ClassVar[bool] = True

    def predict(self, sessions: Sequence[Session]) -> list[FloatArray]:
        """Return the probability of each choice for each session, shape (trials, choices)."""
        plain = AgentPolicy(self.agent, self.parameters, self.x, self.n_choices)
        return predict(plain, with_cues(sessions))
