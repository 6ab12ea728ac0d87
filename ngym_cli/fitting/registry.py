"""Models of choices by name, from ``models.toml``."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
from pydantic.fields import FieldInfo

from neurogym.behaviour.models.base import Model, UnfitError, adopted
from neurogym.behaviour.table import Behaviour
from ngym_cli.config import options
from ngym_cli.config.extensions import find_extension, is_reference
from ngym_cli.config.values import Values, parse_call, parse_value
from ngym_cli.errors import UserError, check_known, option, unknown
from ngym_cli.fitting.request import FitSettings, fixed_values, formulas, priors_of

#: Arguments of a response that name parameters, besides those of ``models.toml``.
MAPPINGS = ("vary", "fix")


@dataclass(frozen=True)
class ModelSpec:
    """A model that ``ngym fit --model`` takes: a row of ``models.toml``, which explains the entries."""

    name: str
    summary: str
    path: str
    source: str = ""
    arguments: Mapping[str, FieldInfo] = field(default_factory=dict)
    fixed: Values = field(default_factory=dict)
    units: bool = False
    response: bool = False

    @property
    def defaults(self) -> Values:
        """Default of each argument."""
        return options.defaults(self.arguments)

    def build(self, name: str, **arguments: object) -> Model:
        """Return the model with a name of its own and arguments in place of the defaults."""
        response: Values = {key: arguments.pop(key) for key in (*RESPONSES, *MAPPINGS) if key in arguments}
        try:
            make = resolve_name(self.path)
        except ModuleNotFoundError as error:
            raise UserError(f"model {name} needs {error.name}: pip install 'ngym[fit]'") from error
        if self.response:
            response.pop("times", None)
            return make(name=name, **self.fixed, **response)
        return timed(make(name=name, **self.fixed, **{**self.defaults, **arguments}), response)

    @property
    def known(self) -> dict[str, FieldInfo]:
        """All arguments of a label of the model, those of a response among them."""
        return {**self.arguments, **RESPONSES}


def timed(model: Model, response: Mapping[str, Any]) -> Model:
    """Return a model with the response that takes time, or the model itself without one.

    Args:
        model: model of choices.
        response: arguments of the response, ``times`` among them.

    Raises:
        UserError: for arguments of a response without ``times``.
    """
    settings = dict(response)
    times = settings.pop("times", "none")
    if times == "none":
        if settings:
            raise UserError(
                f"model {model.name}: {next(iter(settings))} needs times=ddm or times=lba (or {option('--times')})"
            )
        return model
    try:
        make = resolve_name("neurogym.behaviour.models.with_times:TimedModel")
    except ModuleNotFoundError as error:
        raise UserError(f"{option('--times')} needs {error.name}: pip install 'ngym[fit]'") from error
    return make(model, times, **settings)


FILE = tomllib.loads(Path(__file__).with_name("models.toml").read_text(encoding="utf-8"))
#: Arguments of the response of a model of choices and times, by name.
RESPONSES: dict[str, FieldInfo] = {name: options.field(row) for name, row in FILE["responses"].items()}
MODELS: dict[str, ModelSpec] = {
    name: ModelSpec(name, **{**row, "arguments": options.options(FILE["arguments"], row.get("arguments", {}))})
    for name, row in FILE["models"].items()
}


def suited(table: Behaviour, subjects: str) -> tuple[str, ...]:
    """Return the models that are fitted to a table where none are named.

    Value learners are among them where rewards say more than which choice was correct, or where there are no stimuli;
    accumulators where times of pulses are known, two-step learners where second-stage states are, drift diffusion where
    reaction times are, learners of gains and losses where these are separate, go/no-go learners where cues are known.

    Args:
        table: the behaviour.
        subjects: treatment of subjects; only models of few parameters are fitted hierarchically.
    """
    chosen, two = table.join("choice") >= 0, len(table.choices) == 2
    reward, correct, rt = (table.join(name)[chosen] for name in ("reward", "correct", "rt"))
    rewarded, states = bool(np.isfinite(reward).any()), table.join("state")
    both_known = np.isfinite(reward) & np.isfinite(correct)
    learns = rewarded and (not table.stimuli or not np.array_equal(reward[both_known], correct[both_known]))
    linear, drift = [*["logistic"] * bool(table.stimuli), "logistic:history=5"], ":drift=true" if two else ""
    if two and rewarded and 0 < states.max() < 2:
        learners = ["model-free", "model-based", "hybrid"]
    elif np.isfinite(table.join("gain")).any():
        learners = ["gain-loss", *["pvl-delta", "vpp", "orl"] * (not two)]
    elif two and rewarded and (table.join("cue") >= 0).any():
        learners = ["go-no-go"]
    else:
        learners = ["q-learning", "q-learning-forgetting"] if learns else []
    if subjects == "hierarchical":
        return (*linear, *learners)
    if two and (len(table.stimuli) == 1 or not (table.stimuli or learners)) and np.isfinite(rt).mean() > 0.5:
        linear.append("ddm")
    linear += ["accumulator"] * bool(two and table.join("pulses").size)
    if two:
        linear += ["psytrack", "glm-hmm"]
    return (*linear, *learners, "gru", *["gru:drift=true"] * two, f"disentangled{drift}")


def unfit(models: Mapping[str, Model], table: Behaviour) -> dict[str, str]:
    """Return the models that a table does not suit, with the reason of each."""
    reasons = {}
    for label, model in models.items():
        try:
            model.check(table)
        except UnfitError as error:
            reasons[label] = str(error)
    return reasons


def _response(settings: FitSettings, drift: bool) -> Values:
    """Return arguments of the response of a model.

    Args:
        settings: of the fit.
        drift: whether the drift of the model may have a formula; that of other models is their logit.
    """
    vary = {name: text for name, text in formulas(settings.vary).items() if drift or name != "drift"}
    arguments: Values = {"deadline": settings.deadline, "vary": vary, "fix": fixed_values(settings.fix)}
    return {name: value for name, value in arguments.items() if value}


def build(
    texts: Sequence[str], units: Sequence[int], seeds: int, settings: FitSettings | None = None
) -> dict[str, Model]:
    """Return models by label.

    Args:
        texts: names, each with arguments as in ``glm-hmm:states=2``, or ``file.py:name``.
        units: numbers of units of each network that does not say its own.
        seeds: networks to average.
        settings: of the fit, which all models share.

    Raises:
        UserError: for a name or an argument that does not exist, or times or formulas that no model takes.
    """
    models: dict[str, Model] = {}
    shared = settings or FitSettings(table=Path())
    priors, vary = priors_of(shared.prior), formulas(shared.vary)
    for text in texts:
        try:
            built = _built(text, units, seeds, shared)
        except UnfitError as error:
            raise UserError(f"model '{text}': {error}") from None
        for label, model in built:
            if label in models:
                raise UserError(f"{option('--model')} names {label} twice")
            models[label] = model
            if priors and model.priors is not None:
                model.priors = priors
    if priors and not any(model.priors for model in models.values()):
        raise UserError(
            f"{option('--prior')} needs a learner, ddm, lba, a model with {option('--times')}, or a learner of your own"
        )
    if shared.transition and not any(parse_call(text, "model").name == "glm-hmm" for text in texts):
        raise UserError(f"{option('--transition')} needs {option('--model glm-hmm')}")
    has_times = any(each.has_times for each in models.values())
    if (vary or shared.deadline or shared.fix) and models and not has_times:
        flag = "--vary" if vary else "--fix" if shared.fix else "--deadline"
        raise UserError(
            f"{option(flag)} needs a model of times: {option('--model ddm')}, or {option('--times ddm')} for other "
            "models"
        )
    if "drift" in vary and models and not any(parse_call(text, "model").name == "ddm" for text in texts):
        raise UserError(
            f"{option('--vary drift')} needs {option('--model ddm')}; the drift of other models is their logit"
        )
    return models


def rebuild(label: str, record: Values) -> Model:
    """Return a model of a fit by its label, given the settings in the record of the fit."""
    settings = FitSettings.model_validate(record)
    return _built(label, (), settings.seeds, settings)[0][1]


def _built(text: str, units: Sequence[int], seeds: int, settings: FitSettings) -> list[tuple[str, Model]]:
    if text.partition(":")[0].endswith(".py") or (is_reference(text) and "=" not in text):
        response = {"times": settings.times, **_response(settings, drift=False)} if settings.times else {}
        return [(text, timed(own(text), response))]
    call = parse_call(text, "model")
    if call.name not in MODELS:
        offered = find_extension("model", call.name)
        if offered is not None:
            return [(text, _from_object(offered, text))]
        raise unknown("model", call.name, MODELS)
    spec = MODELS[call.name]
    if call.positional:
        raise UserError(f"model '{text}': expected {call.name}:KEY=VALUE")
    arguments: Values = {}
    for key, value in call.named:
        check_known(f"argument of model {call.name}", key, spec.known)
        arguments[key] = _read(text, spec, key, parse_value(value))
    if settings.transition and "transition" in spec.arguments:
        arguments = {"transition": settings.transition, **arguments}
    if settings.times and not spec.response:
        arguments = {"times": settings.times, **arguments}
    if spec.response or arguments.get("times", "none") != "none":
        arguments = {**_response(settings, drift=spec.response), **arguments}
    if not spec.units or "units" in arguments:
        more = {"seeds": seeds} if spec.units and "seeds" not in arguments else {}
        return [(text, spec.build(text, **more, **arguments))]
    each = []
    for count in units:
        label = f"{text}:units={_read(text, spec, 'units', count)}"
        each.append((label, spec.build(label, **{"seeds": seeds, **arguments, "units": count})))
    return each


def _read(text: str, spec: ModelSpec, key: str, value: object) -> object:
    """Return an argument of a model in its type; refuse a value of another type or beyond the limits."""
    try:
        return options.read(key, spec.known[key], value)
    except UserError as error:
        raise UserError(f"model '{text}': {error}") from None


def own(reference: str) -> Model:
    """Return a user's own model: a learner (see `neurogym.behaviour.models.agents`), or any class with ``fit``."""
    return _from_object(find_extension("model", reference), reference)


def _from_object(target: Any, name: str) -> Model:
    if not inspect.isclass(target):
        raise UserError(
            f"model {name}: expected a class with begin, logits and update, which takes the place of a function with "
            "PARAMETERS (ngym new model writes one)"
        )
    make: Any = target
    model: Any = make(name) if "name" in inspect.signature(target).parameters else make()
    if not callable(getattr(model, "fit", None)):
        raise UserError(f"model {name}: the class has no method fit(problems)")
    model.name = name
    own_model: Model = adopted(model, Model)
    return own_model
