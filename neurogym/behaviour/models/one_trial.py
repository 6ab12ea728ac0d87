"""Declaration of a model of one trial of one session; `neurogym.behaviour.models.agents` has an example."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

from neurogym.behaviour.models.base import require_rewards, require_two
from neurogym.behaviour.models.parameters import (
    ModelParameter,
    Prior,
    outcome_scale,
    power_of_ten,
    scaled,
    stimulus_weight,
    typical_size,
    with_priors,
)
from neurogym.behaviour.table import Behaviour

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


class Trial(Values):
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


class OneTrial:
    """A model of choices with a state that each trial updates.

    A subclass names its parameters as attributes and writes `begin`, `logits` and `update` in ``jax.numpy``.

    Args:
        name: name of the model.
        **options: settings that a subclass stands for, as plain values.

    Attributes:
        own: parameters besides the bias and the weights of stimuli.
        needs_rewards: whether a table without rewards is refused.
        two_choices: whether a table with more than two choices is refused.
        linear: whether a bias and a weight of each stimulus are added to the logits of each further choice.
        sees_cue: whether the cue of a trial takes the place of stimuli.
        two_stage: whether `second` gives second-stage choices.
    """

    own: tuple[ModelParameter, ...] = ()
    needs_rewards: bool = True
    two_choices: bool = False
    linear: bool = True
    sees_cue: bool = False
    two_stage: bool = False
    priors: Mapping[str, Prior] = MappingProxyType({})  #: priors that a user chose, by name of the parameter

    def __init_subclass__(cls) -> None:
        """Collect the parameters in their order, after those of the base."""
        named = {key: each for key, each in vars(cls).items() if isinstance(each, ModelParameter)}
        cls.own = (*cls.own, *(replace(each, name=each.name or key.rstrip("_")) for key, each in named.items()))

    def __init__(self, name: str, **options: Any):
        self.name, self.options = name, options

    def __eq__(self, other: object) -> bool:
        """Return whether another model is the same but for its name and priors."""
        return type(other) is type(self) and isinstance(other, OneTrial) and other.options == self.options

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
        if self.two_choices:
            require_two(table, self.name)

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
