"""Models with a few parameters and an update after each trial: one trial of one session, without further axes.

    import jax.numpy as jnp
    from neurogym.behaviour.models.agents import Agent
    from neurogym.behaviour.models.parameters import positive, rate

    class DualRate(Agent):
        fast, slow, beta = rate(), rate(), positive(3.0)

        def begin(self, p, n):
            return {"f": jnp.zeros(n), "s": jnp.zeros(n)}

        def logits(self, p, state, trial):
            return p.beta * (state.f + state.s)

        def update(self, p, state, trial):
            error = trial.chosen * (trial.reward - state.f - state.s)
            return {"f": state.f + p.fast * error, "s": state.s + p.slow * error}

Everything else follows: bias and weights of stimuli, likelihood with gradients, fits of many subjects and folds at
once, intervals, groups, posteriors, simulations and a response that takes time (see `neurogym.behaviour.models.scan`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from neurogym.analysis.regression import log_softmax
from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour.models.base import Fitted, ParallelTrials, Problem, UnfitError, require_rewards
from neurogym.behaviour.models.parameters import ModelParameter, Prior, scaled, stimulus_weight, with_priors
from neurogym.behaviour.models.scales import outcome_scale, power_of_ten, scale_notes, typical_size
from neurogym.behaviour.table import PADDING, Behaviour, Padded, Session, padded, rectangle

if TYPE_CHECKING:
    from neurogym.behaviour.models.scan import Scan

State = Mapping[str, Any]  #: numbers or arrays by name, of one session


class Values(SimpleNamespace):
    """Numbers by name: as attributes, or in brackets where a name is not one of Python's."""

    def __getitem__(self, name: str) -> Any:
        """Return a number."""
        return getattr(self, name)

    def __contains__(self, name: str) -> bool:
        """Return whether there is a number of this name."""
        return hasattr(self, name)

    def get(self, name: str, default: Any) -> Any:
        """Return a number, or another one where there is none of this name."""
        return getattr(self, name, default)


class Trial(NamedTuple):
    """Trial of one session.

    Attributes:
        choice: number of the choice, -1 for a miss.
        chosen: 1 for the choice and 0 for the others, shape (choices,).
        reward: 0 where unknown.
        gain: amount won, 0 or more; the reward above 0 where gains and losses are not separate.
        loss: amount lost, 0 or less; the reward below 0 where gains and losses are not separate.
        stimuli: of the trial, in the order of the table.
        cue: number of the cue, -1 for none.
        state: second-stage state, -1 for none.
        choice2: second-stage choice, -1 for none.
    """

    choice: Any
    chosen: Any
    reward: Any
    gain: Any
    loss: Any
    stimuli: Any
    cue: Any
    state: Any
    choice2: Any


class Agent:
    """A model of choices with a state that each trial updates.

    A subclass names its parameters as attributes and writes `begin`, `logits` and `update` in ``jax.numpy``.

    Args:
        name: name of the model.
        **options: settings that a subclass stands for, as plain values.

    Attributes:
        own: parameters besides the bias and the weights of stimuli.
        needs_rewards: whether a table without rewards is refused.
        linear: whether a bias and a weight of each stimulus are added to the logits of each further choice.
        sees_cue: whether the cue of a trial takes the place of stimuli.
        two_stage: whether `second` gives second-stage choices.
    """

    own: tuple[ModelParameter, ...] = ()
    needs_rewards: bool = True
    linear: bool = True
    sees_cue: bool = False
    two_stage: bool = False
    takes_prior: ClassVar[bool] = True
    priors: Mapping[str, Prior] = MappingProxyType({})  #: priors that a user chose, by name of the parameter

    def __init_subclass__(cls) -> None:
        """Collect the parameters in their order, after those of the base."""
        named = {key: each for key, each in vars(cls).items() if isinstance(each, ModelParameter)}
        cls.own = (*cls.own, *(replace(each, name=each.name or key.rstrip("_")) for key, each in named.items()))

    def __init__(self, name: str, **options: Any):
        self.name, self.options = name, options

    def __eq__(self, other: object) -> bool:
        """Return whether another model is the same but for its name and priors."""
        return type(other) is type(self) and isinstance(other, Agent) and other.options == self.options

    def __hash__(self) -> int:
        """Return the hash of the class and options."""
        return hash((type(self), tuple(self.options.items())))

    def begin(self, p: Values, n: int) -> State:
        """Return the state before the first trial of a session with ``n`` choices; by default there is none."""
        return {}

    def logits(self, p: Values, state: Values, trial: Trial) -> Any:
        """Return the logits (choices,) in a trial whose choice and outcome are not known yet."""
        raise NotImplementedError

    def update(self, p: Values, state: Values, trial: Trial) -> State:
        """Return the state after a trial; after a miss, the state stays as it is without a call."""
        return {}

    def second(self, p: Values, state: Values, reached: Any) -> Any:
        """Return the logits of the second-stage choices in the state that was reached."""
        return np.zeros(2)

    def check(self, table: Behaviour) -> None:
        """Refuse tables that do not suit the model.

        Raises:
            UnfitError: if the model does not suit the table, with the reason.
        """
        if self.needs_rewards:
            require_rewards(table, self.name)

    def parameters(self, table: Behaviour) -> tuple[ModelParameter, ...]:
        """Return all parameters: the model's own, the bias and the weight of each stimulus for each further choice.

        Priors follow the sizes of outcomes and stimuli. A table without trials, with which a stored fit is read, says
        names alone.
        """
        words = [""] if len(table.choices) == 2 else [f" -> {word}" for word in table.choices[1:]]
        stimuli = table.join("stimuli") if table.sessions else np.ones((1, len(table.stimuli)))
        sizes = [min(1.0, power_of_ten(typical_size(values))) for values in stimuli.T]
        linear = [ModelParameter("bias"), *map(stimulus_weight, table.stimuli, sizes)] if self.linear else []
        further = (replace(each, name=each.name + word) for word in words for each in linear)
        own = scaled(self.own, outcome_scale(table) if table.sessions else 1.0)
        return with_priors((*own, *further), self.priors)

    def fit(self, problems: Sequence[Problem]) -> list[Fitted]:
        """See `Model.fit`."""
        from neurogym.behaviour.models.maxima import fit_together

        for each in problems:
            self.check(each.table)
        fits = fit_together(self, problems)
        depending = [each.name for each in self.own if each.per_outcome or each.in_outcomes]
        for each, fit in zip(problems, fits, strict=True):
            fit.notes.extend(scale_notes(each.table, depending, fit.parameters))
        return fits

    def to_arrays(self, policy: AgentPolicy) -> dict[str, FloatArray]:
        """See `Model.to_arrays`."""
        return {"x": policy.x}

    def from_arrays(self, arrays: Mapping[str, FloatArray], table: Behaviour) -> AgentPolicy:
        """See `Model.from_arrays`."""
        return AgentPolicy(self, self.parameters(table), arrays["x"], len(table.choices))


def compiled(agent: Agent, parameters: Sequence[ModelParameter], n: int) -> Scan:
    """Return the compiled functions of a model.

    Raises:
        UnfitError: if JAX is not installed.
    """
    try:
        from neurogym.behaviour.models.scan import scan_of
    except ModuleNotFoundError as error:
        raise UnfitError(f"{agent.name} needs JAX: pip install 'ngym[fit]'") from error
    return scan_of(agent, parameters, n)


def together(agent: Agent, parameters: Sequence[ModelParameter], tables: Sequence[Behaviour]) -> Callable[[Any], Any]:
    """Return the log-likelihoods (tables,) of tables at points (tables, parameters), as a function of JAX."""
    return compiled(agent, parameters, len(tables[0].choices)).together(gathered(tables))


@dataclass
class AgentPolicy:
    """Behaviour of an agent with given parameters, in many sessions at once.

    States are those of the sessions and of further ones, so that numbers of sessions share compiled functions.
    """

    agent: Agent
    parameters: tuple[ModelParameter, ...]
    x: FloatArray
    n_choices: int

    @property
    def sees_cue(self) -> bool:
        """Whether the first stimulus of a trial is its cue."""
        return self.agent.sees_cue

    @property
    def values(self) -> dict[str, float]:
        """Parameters by name."""
        return {each.name: float(each.value(self.x[k])) for k, each in enumerate(self.parameters)}

    @property
    def _scan(self) -> Scan:
        return compiled(self.agent, self.parameters, self.n_choices)

    def begin(self, n: int) -> Any:
        """See `Policy.begin`."""
        return self._scan.begin_of(self.x, n)

    def logits(self, state: Any, stimuli: FloatArray) -> FloatArray:
        """Return the logit of each choice, shape (sessions, choices)."""
        none = np.full(len(stimuli), -1)
        trial = ParallelTrials(stimuli, none, np.zeros(len(stimuli)), none, none)
        return self._scan.stepped("logits", self.x, state, trial, self.sees_cue)

    def probabilities(self, state: Any, stimuli: FloatArray) -> FloatArray:
        """See `Policy.probabilities`."""
        return np.exp(log_softmax(self.logits(state, stimuli)))

    def advance(self, state: Any, trial: ParallelTrials) -> Any:
        """See `Policy.advance`."""
        return self._scan.stepped("advance", self.x, state, trial, self.sees_cue)

    def second(self, state: Any, reached: IntArray) -> FloatArray:
        """Return probabilities of the second-stage choices, shape (sessions, 2), in the states that were reached."""
        return np.exp(self._scan.second_of(self.x, state, reached))

    def logits_of(self, sessions: Sequence[Session]) -> list[FloatArray]:
        """Return the logits of all trials of each session, shape (trials, choices)."""
        rows = self._scan.rows_of(self.x, padded(sessions)).logits
        return [rows[k, : len(each)] for k, each in enumerate(sessions)]

    def predict(self, sessions: Sequence[Session]) -> list[FloatArray]:
        """Return the probability of each choice for each session, shape (trials, choices)."""
        return [np.exp(log_softmax(each)) for each in self.logits_of(sessions)]


def gathered(tables: Sequence[Behaviour]) -> Padded:
    """Return the sessions of all tables with a leading axis for the table; what is missing is padding."""
    each = [padded(table.sessions) for table in tables]
    arrays = {name: rectangle([getattr(data, name) for data in each], value) for name, value in PADDING.items()}
    return Padded(**arrays, lengths=np.array([sum(data.lengths) for data in each]))
