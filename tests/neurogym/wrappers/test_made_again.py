"""``env.spec.make()`` makes a stack again with every argument that its wrappers were given."""

import inspect
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import neurogym as ngym
from neurogym import wrappers
from tests.neurogym.wrappers.stacks import FRAMES, SINGLE, TASKS, put, rollout

#: Arguments that are not what a wrapper has by itself, where doubling or turning round the default does not do.
OTHER: dict[str, dict[str, Any]] = {
    "Monitor": {"name": "Mine", "trigger": "step", "interval": 5000, "verbose": False, "step_fn": None}
    | {"plot_create": False, "plot_steps": 77, "ext": "svg"}
}


def other_than(name: str, default: Any) -> Any:
    """A value that differs from a default."""
    if isinstance(default, bool):
        return not default
    if isinstance(default, int):
        return default + 1
    if isinstance(default, float):
        return default / 2
    return default


def arguments_of(env: gym.Env) -> dict[str, Any]:
    """The arguments of the outermost wrapper, as its specification has them."""
    return dict(env.spec.additional_wrappers[-1].kwargs or {})


def with_other_arguments(name: str) -> tuple[gym.Env, dict[str, Any]]:
    task = FRAMES if name == "MotionEnergy" else TASKS["Conditional" if name == "VariableMapping" else "RDM"]
    cls = getattr(wrappers, name)
    base = put(name, task)
    settings = arguments_of(base)
    for key, parameter in inspect.signature(cls).parameters.items():
        if key in ("env", "kwargs") or key in settings or parameter.default is inspect.Parameter.empty:
            continue
        for value in (other_than(key, parameter.default), parameter.default):
            try:
                cls(task(), **{**settings, key: value})
            except (ValueError, TypeError):
                continue
            settings[key] = value
            break
    settings.update(OTHER.get(name, {}))
    return cls(task(), **settings), settings


@pytest.mark.parametrize("name", SINGLE)
def test_a_stack_is_made_again_as_it_was(name: str) -> None:
    env, settings = with_other_arguments(name)
    again = env.spec.make()
    while type(again) is not type(env):
        again = again.env
    assert set(inspect.signature(type(env)).parameters) - {"env", "kwargs"} <= set(arguments_of(again))
    for key, value in settings.items():
        assert repr(arguments_of(again)[key]) == repr(value)
    for first, two in zip(rollout(env, seed=1), rollout(again, seed=1), strict=True):
        assert np.array_equal(first[0], two[0]) and first[1] == two[1]


def test_settings_of_a_monitor_are_made_again() -> None:
    env, _ = with_other_arguments("Monitor")
    again = env.spec.make()
    while not isinstance(again, wrappers.Monitor):
        again = again.env
    assert again.config == env.config
    assert again.config.monitor.plot.step == 77 and again.config.monitor.verbose is False


@pytest.mark.parametrize("name", SINGLE)
def test_it_works_on_what_gymnasium_makes(name: str) -> None:
    id_ = "NAltConditionalVisuomotor-v0" if name == "VariableMapping" else "PerceptualDecisionMaking-v0"
    ours, reference = (put(name, lambda make=make: make(id_)) for make in (ngym.make, gym.make))
    for first, two in zip(rollout(ours, seed=1), rollout(reference, seed=1), strict=True):
        assert np.array_equal(first[0], two[0]) and first[1] == two[1]
