"""Options of models of choices and times: recording, parameters that vary with columns, parameters that are fixed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import UnfitError
from neurogym.behaviour.models.evidence import Evidence, EvidencePolicy, Slope
from neurogym.behaviour.models.formulas import Formula
from neurogym.behaviour.models.parameters import ModelParameter
from neurogym.behaviour.models.responses import Response
from neurogym.behaviour.models.times import FASTEST, TimeSettings, time_settings
from neurogym.behaviour.table import Behaviour, Session
from neurogym.messages.options import option

#: Parameters that may be fixed at 0, the simpler model.
MAY_BE_ZERO = ("lapse", "eta", "sz", "st", "c")
#: Word of a formula for the probabilities of the hidden states of a model.
STATE = re.compile(r"\bstate\b")


@dataclass(frozen=True)
class TimeOptions:
    """Options of a model of choices and times.

    Attributes:
        deadline: time in s after which a trial without an answer ended, so that omissions count; 0 for none.
        fastest: answers faster than this (s) are left out as anticipations.
        contaminants: distribution of the times of contaminants, "uniform" or "exponential".
        vary: formula of trial columns for each parameter that varies, as in ``{"bound": "speed"}``.
        fix: value of each parameter that is fixed, as in ``{"lapse": 0}``; names that a model lacks are ignored.
    """

    deadline: float = 0.0
    fastest: float = FASTEST
    contaminants: str = "uniform"
    vary: Mapping[str, str] = field(default_factory=dict)
    fix: Mapping[str, float] = field(default_factory=dict)

    def settings(self, sessions: Sequence[Session]) -> tuple[TimeSettings, list[str]]:
        """Return the settings of the recording of sessions, and notes about trials that are read in a special way."""
        return time_settings(sessions, self.deadline, self.fastest, self.contaminants)

    @staticmethod
    def symbol(response: Response, name: str) -> str:
        """Return the symbol of a parameter that is named in words or by its symbol."""
        return response.words.get(name, name)

    def simplified(self, response: Any) -> Response:
        """Return a response with the fixed parameters as constants.

        Raises:
            UnfitError: for a value outside the range of a parameter, or a parameter that is fixed and varies.
        """
        every = {each.name: each for each in replace(response, constants={}).parameters}
        constants = dict(response.constants)
        for word, value in self.fix.items():
            name = self.symbol(response, word)
            if name in every:
                constants[name] = _in_range(every[name], word, value)
        for word in self.vary:
            if self.symbol(response, word) in {self.symbol(response, fixed) for fixed in self.fix}:
                raise UnfitError(f"{option('--fix')} and {option('--vary')} both name {word}")
        simpler: Response = replace(response, constants=constants)
        return simpler

    def names(self, response: Response, evidence: Sequence[ModelParameter]) -> list[str]:
        """Return the names that `fix` may have for a model."""
        every = [each.name for each in replace(response, constants={}).parameters]  # type: ignore[type-var]
        words = [word for word, name in response.words.items() if name in every]
        return list(dict.fromkeys([*words, *every, *(each.name for each in evidence)]))

    def formulas(self, response: Response, table: Behaviour, states: int = 0) -> dict[str, Formula]:
        """Return the formula of each parameter that varies with columns of a table, by symbol.

        Args:
            response: the response.
            table: sessions of the fit.
            states: number of hidden states of the model, whose probabilities are columns ``state_2``, ...

        Raises:
            UnfitError: for a parameter that does not exist or is fixed, or a formula that cannot be evaluated.
        """
        free = {"drift", *(each.name for each in response.parameters)}
        formulas = {}
        for name, text in self.vary.items():
            symbol = self.symbol(response, name)
            if symbol not in free:
                offered = [word for word, target in {"drift": "drift", **response.words}.items() if target in free]
                raise UnfitError(
                    f"{option('--vary')}: parameter '{name}' is not estimated; expected {', '.join(offered)}"
                )
            formulas[symbol] = Formula.of(with_states(text, states), table.sessions, table.stimuli)
        return formulas

    def stored_formulas(
        self, response: Response, arrays: Mapping[str, np.ndarray], table: Behaviour, states: int = 0
    ) -> dict[str, Formula]:
        """Return the formulas of `formula_arrays`."""
        formulas = {}
        for name, text in self.vary.items():
            symbol = self.symbol(response, name)
            prefix = f"vary.{symbol}."
            columns = {key.removeprefix(prefix): each for key, each in arrays.items() if key.startswith(prefix)}
            formulas[symbol] = Formula(with_states(text, states), columns, table.stimuli)
        return formulas


def with_states(text: str, states: int) -> str:
    """Return a formula in which ``state`` stands for the probabilities of all hidden states but the first."""
    if not states:
        return text
    return STATE.sub(f"({' + '.join(f'state_{k + 1}' for k in range(1, states))})", text)


def _in_range(parameter: ModelParameter, word: str, value: float) -> float:
    low = parameter.low if parameter.kind == "unit" else 0.0 if parameter.kind == "positive" else -np.inf
    high = parameter.high if parameter.kind == "unit" else np.inf
    open_end = parameter.kind == "positive" and parameter.name not in MAY_BE_ZERO
    if not low <= value <= high or (open_end and value <= 0):
        expected = f"between {low:g} and {high:g}" if high < np.inf else f"{low:g} or above"
        expected = f"above {low:g}" if open_end else expected
        raise UnfitError(f"{option('--fix')} {word}={value:g}: expected a value {expected}")
    return value


def formula_arrays(formulas: Mapping[str, Formula]) -> dict[str, np.ndarray]:
    """Return the training columns of formulas as arrays by name."""
    arrays = {}
    for name, each in formulas.items():
        for column, values in each.training.items():
            arrays[f"vary.{name}.{column}"] = values if values.dtype.kind in "biuf" else values.astype(str)
    return arrays


def settings_array(settings: TimeSettings) -> FloatArray:
    """Return the settings of the recording as an array."""
    return np.array([settings.deadline, settings.fastest, settings.longest, settings.withheld, settings.scale], float)


def settings_from(values: FloatArray) -> TimeSettings:
    """Return the settings of the recording from `settings_array`; earlier versions had no scale."""
    deadline, fastest, longest, withheld, *scale = values.tolist()
    return TimeSettings(deadline, fastest, longest, int(withheld), *scale)


class FixedEvidence:
    """Evidence of which some parameters are fixed.

    Args:
        evidence: evidence with all parameters.
        fix: value of each parameter that is fixed, by name; other names are ignored.
    """

    def __init__(self, evidence: Evidence, fix: Mapping[str, float]):
        self.evidence = evidence
        every = evidence.parameters
        self._free = np.array([each.name not in fix for each in every], bool)
        self._x = np.array(
            [each.unbounded(_in_range(each, each.name, fix[each.name])) if each.name in fix else 0.0 for each in every]
        )
        self.parameters = tuple(each for each, free in zip(every, self._free, strict=True) if free)

    def _complete(self, x: FloatArray) -> FloatArray:
        point = self._x.copy()
        point[self._free] = x
        return point

    def slope(self, x: FloatArray) -> Slope:
        """See `Evidence.slope`."""
        slope = self.evidence.slope(self._complete(x))
        return Slope(slope.value, slope.jacobian[..., self._free], slope.extra, slope.extra_slope[self._free])

    def policy(self, x: FloatArray) -> EvidencePolicy:
        """See `Evidence.policy`."""
        return self.evidence.policy(self._complete(x))


def fixed_evidence(evidence: Evidence, fix: Mapping[str, float]) -> Evidence:
    """Return evidence with the fixed parameters among its own as constants."""
    names = {each.name for each in evidence.parameters}
    return FixedEvidence(evidence, fix) if names & set(fix) else evidence
