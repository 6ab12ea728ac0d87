"""Models of choices by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neurogym.behaviour.models.base import Model
from neurogym.behaviour.table import Behaviour
from ngym_cli.config.parts import find_own, is_reference
from ngym_cli.config.values import parse_call, parse_value
from ngym_cli.errors import UserError, unknown


@dataclass(frozen=True)
class ModelSpec:
    """A model that ``ngym fit --model`` takes.

    Attributes:
        name: of the model.
        summary: description of the model in a line.
        source: paper or book.
        build: makes the model from arguments; ``name`` is among them.
        arguments: arguments that ``NAME:KEY=VALUE`` may set, with their defaults.
        units: whether ``--units`` makes one for each number of units.
        seconds: measured time of five folds of 10,000 trials on one core, of a single network where seeds are averaged.
    """

    name: str
    summary: str
    source: str
    build: Callable[..., Model]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    units: bool = False
    seconds: float = 5.0


def expected_seconds(labels: Sequence[str], trials: int, folds: int, seeds: int) -> float:
    """Return the expected time of fits on one core; a user's own models count as nothing.

    Args:
        labels: of the models.
        trials: of the table.
        folds: of the cross-validation.
        seeds: networks that are averaged where a label names no number.
    """
    total = 0.0
    for text in labels:
        call = parse_call(text.partition(".py:")[0], "model")
        if call.name in MODELS and ".py:" not in text:
            spec, given = MODELS[call.name], dict(call.named)
            nets = int(given.get("seeds", seeds if spec.units else spec.arguments.get("seeds", 1)))
            total += spec.seconds * nets
    return total * trials / 10_000 * (folds + 1) / 6


def _logistic(name: str, **given: Any) -> Model:
    from neurogym.behaviour.models.logistic import Logistic

    return Logistic(**given, name=name)


def _bias(name: str) -> Model:
    return _logistic(name, history=0, stimuli=False)


def _psytrack(name: str, history: int) -> Model:
    from neurogym.behaviour.models.drifting import Drifting

    return Drifting(history, name)


def _glm_hmm(name: str, states: int, history: int) -> Model:
    from neurogym.behaviour.models.glm_hmm import GlmHmm

    return GlmHmm(states, history, name)


def _q(rates: int = 1, forgetting: bool = False, perseveration: bool = False) -> Callable[..., Model]:
    def build(name: str, **given: Any) -> Model:
        from neurogym.behaviour.models.learning import QLearning, QOptions

        return QLearning(name, QOptions(**given))

    return build


def _learner(kind: str) -> Callable[..., Model]:
    def build(name: str) -> Model:
        from neurogym.behaviour.models import learning

        found: Model = getattr(learning, kind)(name)
        return found

    return build


def _two_step(w: float | None) -> Callable[..., Model]:
    def build(name: str) -> Model:
        from neurogym.behaviour.models.two_step import TwoStep

        return TwoStep(name, w)

    return build


def _diffusion(name: str) -> Model:
    from neurogym.behaviour.models.diffusion import Diffusion

    return Diffusion(name)


def _network(cell: str) -> Callable[..., Model]:
    def build(name: str, units: int, seeds: int, **training: Any) -> Model:
        from ngym_cli.fitting.networks import Recurrent, Training

        return Recurrent(cell, units, Training(seeds=seeds, **training), name)

    return build


def _disentangled(name: str, **given: Any) -> Model:
    from ngym_cli.fitting.disentangled import Bottlenecks, Disentangled

    return Disentangled(Bottlenecks(**given), name)


_Q = {"rates": 1, "forgetting": False, "perseveration": False}
_NET = {"units": 2, "seeds": 3, "learning_rate": 0.02, "weight_decay": 0.03, "l1": 1e-4, "drift": False}
#: Smallest and largest value of each argument that is a number.
LIMITS: dict[str, tuple[float, float]] = {
    "history": (0, 50), "states": (2, 4), "rates": (1, 2), "units": (1, 64), "latents": (1, 64), "seeds": (1, 100),
    "learning_rate": (1e-6, 1), "weight_decay": (0, 10), "l1": (0, 10), "penalty": (0, 10), "inputs": (0, 100),
}  # fmt: skip
_TINY = "Ji-An, Benna & Mattar 2025, 10.1038/s41586-025-09142-4"
_DAW = "Daw et al. 2011, 10.1016/j.neuron.2011.02.027"

MODELS: dict[str, ModelSpec] = {
    spec.name: spec
    for spec in (
        ModelSpec("bias", "constant preference", "", _bias, seconds=0.5),
        ModelSpec("logistic", "logistic regression on stimuli, with k trials of history (history=k)", "",
                  _logistic, {"history": 0}, seconds=1.5),
        ModelSpec("psytrack", "logistic weights that drift from trial to trial",
                  "Roy et al. 2021, 10.1016/j.neuron.2020.12.004", _psytrack, {"history": 1}, seconds=8),
        ModelSpec("glm-hmm", "hidden states with a logistic regression each",
                  "Ashwood et al. 2022, 10.1038/s41593-021-01007-z", _glm_hmm, {"states": 3, "history": 1}, seconds=9),
        ModelSpec("rescorla-wagner", "values that follow rewards, softmax choices",
                  "Rescorla & Wagner 1972; Sutton & Barto 2018, chapter 2", _q(), _Q),
        ModelSpec("q-learning", "Rescorla-Wagner values with perseveration", "Watkins 1989", _q(),
                  {**_Q, "perseveration": True}),
        ModelSpec("q-learning-two-rates", "separate rates for positive and negative errors",
                  "Daw, Kakade & Dayan 2002, 10.1016/S0893-6080(02)00052-7", _q(),
                  {**_Q, "rates": 2, "perseveration": True}),
        ModelSpec("q-learning-forgetting", "values of other choices decay",
                  "Ito & Doya 2009, 10.1523/JNEUROSCI.6157-08.2009", _q(),
                  {**_Q, "forgetting": True, "perseveration": True}),
        ModelSpec("win-stay-lose-shift", "repeat after reward, switch after none, with errors",
                  "Nowak & Sigmund 1993, 10.1038/364056a0", _learner("WinStayLoseShift")),
        ModelSpec("bayes-reversal", "Bayesian observer of two arms that swap roles",
                  "Costa et al. 2015, 10.1523/JNEUROSCI.1989-14.2015", _learner("BayesianReversal")),
        ModelSpec("model-free", "model-free learner of two-step tasks", _DAW, _two_step(0.0)),
        ModelSpec("model-based", "model-based learner of two-step tasks", _DAW, _two_step(1.0)),
        ModelSpec("hybrid", "mixture of model-free and model-based learning", _DAW, _two_step(None)),
        ModelSpec("ddm", "drift diffusion to bounds, choices and reaction times",
                  "Palmer, Huk & Shadlen 2005, 10.1167/5.5.1", _diffusion),
        *(ModelSpec(cell, f"recurrent network of {cell} units that sees past trials", _TINY, _network(cell), _NET,
                    units=True, seconds=9)
          for cell in ("gru", "lstm", "rnn", "ctrnn")),
        ModelSpec("disentangled", "recurrent network whose latents and updates pass noisy bottlenecks",
                  "Miller, Eckstein, Botvinick & Kurth-Nelson 2023, 10.1101/2023.06.23.546250", _disentangled,
                  {"latents": 5, "penalty": 3e-3, "inputs": 0.1, "seeds": 1, "drift": False}, seconds=85),
    )
}  # fmt: skip


def suited(table: Behaviour, subjects: str) -> tuple[str, ...]:
    """Return the models that are fitted to a table where none are named.

    Value learners are among them where rewards say more than which choice was correct, or where there are no stimuli;
    two-step learners where second-stage states are known, drift diffusion where reaction times are.

    Args:
        table: the behaviour.
        subjects: treatment of subjects; only models of few parameters are fitted hierarchically.
    """
    chosen, two = table.join("choice") >= 0, len(table.choices) == 2
    reward, correct, rt = (table.join(name)[chosen] for name in ("reward", "correct", "rt"))
    rewarded, states = bool(np.isfinite(reward).any()), table.join("state")
    known = np.isfinite(reward) & np.isfinite(correct)
    learns = rewarded and (not table.stimuli or not np.array_equal(reward[known], correct[known]))
    linear, drift = [*["logistic"] * bool(table.stimuli), "logistic:history=5"], ":drift=true" if two else ""
    if two and rewarded and 0 < states.max() < 2:
        learners = ["model-free", "model-based", "hybrid"]
    else:
        learners = ["q-learning", "q-learning-forgetting"] if learns else []
    if subjects == "hierarchical":
        return (*linear, *learners)
    if two and len(table.stimuli) == 1 and np.isfinite(rt).mean() > 0.5:
        linear.append("ddm")
    if two:
        linear += ["psytrack", "glm-hmm"]
    return (*linear, *learners, "gru", *["gru:drift=true"] * two, f"disentangled{drift}")


def build(texts: Sequence[str], units: Sequence[int], seeds: int) -> dict[str, Model]:
    """Return models by label.

    Args:
        texts: names, each with arguments as in ``glm-hmm:states=2``, or ``file.py:name``.
        units: numbers of units of each network that does not say its own.
        seeds: networks to average.

    Raises:
        UserError: for a name or an argument that does not exist.
    """
    found: dict[str, Model] = {}
    for text in texts:
        for label, model in _built(text, units, seeds):
            if label in found:
                raise UserError(f"--model names {label} twice")
            found[label] = model
    return found


def _built(text: str, units: Sequence[int], seeds: int) -> list[tuple[str, Model]]:
    if text.partition(":")[0].endswith(".py") or (is_reference(text) and "=" not in text):
        return [(text, own(text))]
    call = parse_call(text, "model")
    if call.name not in MODELS:
        offered = find_own("model", call.name)
        if offered is not None:
            return [(text, _from_object(offered, text))]
        raise unknown("model", call.name, MODELS)
    spec = MODELS[call.name]
    if call.positional:
        raise UserError(f"model '{text}': expected {call.name}:KEY=VALUE")
    given: dict[str, Any] = {}
    for key, value in call.named:
        if key not in spec.arguments:
            raise unknown(f"argument of model {call.name}", key, spec.arguments)
        default, read = spec.arguments[key], parse_value(value)
        fits = isinstance(read, bool) if isinstance(default, bool) else isinstance(read, int | float)
        if not fits or (isinstance(default, int) and not isinstance(read, int)):
            raise UserError(f"model '{text}': {key}={value}, expected a value like {default}")
        given[key] = _within(text, key, read)
    if not spec.units or "units" in given:
        more = {"seeds": seeds} if spec.units and "seeds" not in given else {}
        return [(text, spec.build(name=text, **{**spec.arguments, **more, **given}))]
    each = []
    for count in units:
        label = f"{text}:units={_within(text, 'units', count)}"
        arguments = {**spec.arguments, "seeds": seeds, **given, "units": count}
        each.append((label, spec.build(name=label, **arguments)))
    return each


def _within(text: str, key: str, value: Any) -> Any:
    """Return an argument of a model; refuse numbers beyond the limits."""
    low, high = LIMITS.get(key, (-np.inf, np.inf))
    if not low <= value <= high:
        raise UserError(f"model '{text}': {key} must be {low:g} to {high:g}, not {value}")
    return value


def own(reference: str) -> Model:
    """Return a user's own model: a class with ``fit``, or a plain function (see `neurogym.behaviour.models.own`)."""
    return _from_object(find_own("model", reference), reference)


def _from_object(found: Any, name: str) -> Model:
    if inspect.isclass(found):
        takes = inspect.signature(found).parameters
        make: Any = found
        model: Any = make(name) if "name" in takes else make()
        if not callable(getattr(model, "fit", None)):
            raise UserError(f"model {name}: the class has no method fit(problems)")
        model.name = name
        return model
    from neurogym.behaviour.models.own import FunctionModel

    bounds = getattr(found, "parameters", None)
    if bounds is None:
        bounds = getattr(inspect.getmodule(found), "PARAMETERS", None) or found.__globals__.get("PARAMETERS")
    if not isinstance(bounds, Mapping) or not bounds:
        raise UserError(f'model {name}: expected bounds next to it, as in PARAMETERS = {{"alpha": (0, 1)}}')
    for key, ends in bounds.items():
        if not isinstance(ends, Sequence) or len(ends) != 2:
            raise UserError(f"model {name}: bounds of {key} are {ends!r}, expected (low, high)")
    return FunctionModel(found, bounds, name)
