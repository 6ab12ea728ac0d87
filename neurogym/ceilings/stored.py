"""Scores that were computed once and are stored with the package (``python -m experiments.ceilings``)."""

from __future__ import annotations

import functools
import inspect
import json
from importlib import resources

from neurogym.core import TrialEnv
from neurogym.envs import registration
from neurogym.messages.plain_data import plain
from neurogym.parameters.arguments import TAKEN
from neurogym.parameters.changes import arguments_of
from neurogym.sampling.distributions import Distribution
from neurogym.scores import Score

ScoresById = dict[str, Score]


@functools.cache
def table(name: str = "ceilings") -> ScoresById:
    """Id to what was computed at default parameters.

    Args:
        name: ``"ceilings"``: ``performance``, ``reward``, ``error`` and ``method`` of the ideal observer, and of tasks
            that need the last reward as input also ``without_reward``, what is left without it. ``"blind"``:
            ``performance``, ``error`` and ``method`` of the best blind agent. ``"chance"``: ``performance``, ``reward``
            and ``error`` of random actions.
    """
    return json.loads((resources.files("neurogym.ceilings") / f"{name}.json").read_text())


def id_of(env: TrialEnv) -> str:
    """Registered id of a task that was made by id; empty for any other."""
    if env.spec is None:
        return ""
    try:
        return registration.resolve(env.spec.id)
    except Exception:  # registered with Gymnasium by somebody else
        return ""


def stored(name: str, env: TrialEnv) -> Score | None:
    """Entry of a table for an environment that was made by id with the parameters' default values, else None."""
    result = table(name).get(id_of(env))
    return dict(result) if result is not None and is_usual(env) else None


def stored_ceiling(env: TrialEnv) -> Score | None:
    """The stored ceiling of an environment with the parameters' default values, else None."""
    score = stored("ceilings", env)
    return score and {name: score[name] for name in ("performance", "reward", "error", "method")}


def is_plain(env: TrialEnv) -> bool:
    """Whether the added wrappers leave trials and rewards unchanged."""
    hooks = [wrapper.hooks for wrapper in env.session.wrappers[own_wrappers(env) :]]
    return not any(each.changes or each.own_step or each.own_new_trial for each in hooks)


def is_usual(env: TrialEnv) -> bool:
    """Whether an environment that was made by id has the default values of all parameters, and has kept these."""
    id_ = id_of(env)
    if not id_ or env.spec is None:
        return False
    defaults, usual = inspect.signature(registration.entry(id_)).parameters, _usual(id_)
    effective = _effective(env)
    given = {name: value for name, value in env.spec.kwargs.items() if name not in effective}
    return all(name in defaults and _same(value, defaults[name].default) for name, value in given.items()) and all(
        _same(value, usual.get(name)) for name, value in effective.items()
    )


@functools.cache
def _usual(id_: str) -> dict[str, object]:
    return _effective(registration.make(id_).unwrapped)  # type: ignore[arg-type]


@functools.cache
def _own(id_: str) -> int:
    return len(registration.make(id_).unwrapped.session.wrappers)  # type: ignore[attr-defined]


def own_wrappers(env: TrialEnv) -> int:
    """Number of wrappers that are part of a registered task."""
    id_ = id_of(env)
    return _own(id_) if id_ and registration.group(id_) == "collections" and env.session.wrappers else 0


def _effective(env: TrialEnv) -> dict[str, object]:
    """Effective settings of an environment, which may have changed since it was made."""
    timing = {period: Distribution.of(duration) for period, duration in env.timing.items()}
    settings = {
        "dt": env.dt,
        "timing": timing,
        "rewards": env.rewards,
        "abort": env.abort,
        "conditions": env.conditions,
    }
    parameters = inspect.signature(type(env).__init__).parameters.keys() - settings.keys()
    taken = {name: arguments_of(env)[name] for name in parameters.intersection(TAKEN)}
    return settings | {name: vars(env)[name] for name in parameters & vars(env).keys()} | taken


def _same(value: object, default: object) -> bool:
    try:
        return bool(plain(value) == plain(default))
    except ValueError:  # arrays
        return False
