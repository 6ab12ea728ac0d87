"""Every setting comes back from ``config.toml`` as it was: all tasks, all wrappers, all kinds of values."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neurogym.envs.registration import every_task
from ngym_cli.agents.defaults import prepare
from ngym_cli.config.model import from_dict
from ngym_cli.environments.stack import argument_types, find_wrapper, wrapper_names
from ngym_cli.errors import UserError
from ngym_cli.sweeps import recipe as recipes

WORDS = st.text("abcdefgh_", min_size=1, max_size=8).filter(lambda word: word not in ("true", "false", "null"))
NUMBERS = st.integers(-(10**9), 10**9) | st.floats(-1e6, 1e6)
SCALARS = st.none() | st.booleans() | NUMBERS | WORDS
VALUES = SCALARS | st.lists(SCALARS, min_size=1, max_size=4) | st.lists(st.lists(SCALARS, min_size=1), min_size=1)
TABLES = st.dictionaries(st.sampled_from(["a", "b", "t_max"]), VALUES, max_size=3)


def read_again(config):
    return from_dict(tomllib.loads(config.to_toml()))


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(task=st.sampled_from(every_task()), arguments=TABLES, network=TABLES, data=st.data())
def test_every_value_survives(task, arguments, network, data):
    name = data.draw(st.sampled_from([name for name in wrapper_names() if hasattr(find_wrapper(name), "__init__")]))
    expected = sorted({*argument_types(find_wrapper(name))} - {"name"}) or ["x"]  # "name" says which wrapper it is
    stack = [{"name": name, **data.draw(st.dictionaries(st.sampled_from(expected), VALUES, max_size=3))}]
    config = from_dict({"task": task, "task_args": arguments, "network_args": network, "wrappers": stack})
    assert read_again(config) == config
    assert config.task_args == arguments and {"name": name, **config.wrappers[0].args} == stack[0]


@pytest.mark.parametrize("task", every_task())
def test_the_resolved_configuration_of_a_task_survives(task):
    config, _ = prepare(from_dict({"task": task}))
    again = read_again(config)
    assert again.task_args == config.task_args and again.timing == config.timing
    assert again == from_dict(config.model_dump())


def test_no_value_is_a_value():
    config, properties = prepare(from_dict({"task": "MemoryRecall-v0", "task_args": {"t_max": "none"}}))
    assert properties.inner.arguments()["t_max"] is None and config.task_args["t_max"] is None
    again, properties = prepare(read_again(config))
    assert properties.inner.arguments()["t_max"] is None and again == config
    config, _ = prepare(from_dict({"task": "RDM-v0", "wrappers": "catch_trials:stim_th=none"}))
    assert config.wrappers[0].args["stim_th"] is None and prepare(read_again(config))[0] == config


def test_no_value_is_a_value_of_a_sweep():
    recipe = recipes.build({"run": {"task_args": {"t_max": None}}}, {"task_args.other": [None, 3]})
    again = recipes.Recipe(**tomllib.loads(recipe.to_toml()))
    assert again.grid == {"task_args.other": [None, 3]}


def test_older_names_of_hyperparameters_are_read():
    settings = {"task": "RDM-v0", "hyperparameters": {"trial_gamma": 0.5}}
    config = from_dict(settings)
    assert config.hyperparameters == {"inter_trial_discount": 0.5}
    with pytest.raises(UserError, match="trial_gamma is the older name of inter_trial_discount"):
        from_dict({"task": "RDM-v0", "hyperparameters": {"trial_gamma": 0.5, "inter_trial_discount": 0.1}})
