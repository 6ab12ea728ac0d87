"""A configuration whose defaults are spelled out means the same as the one it was made from."""

from __future__ import annotations

import pytest

from neurogym.envs import registration
from ngym_cli.agents.defaults import prepare
from ngym_cli.config.model import from_dict
from ngym_cli.environments.properties import inspect

FEW = (
    "PerceptualDecisionMaking-v0",
    "DawTwoStep-v0",
    "Detection-v0",
    "ToneDetection-v0",
    "perceptualdecisionmaking.ibl20-v0",
)
ALL = [pytest.param(task, marks=() if task in FEW else pytest.mark.long) for task in registration.every_task()]


@pytest.mark.parametrize("task", ALL)
def test_a_resolved_configuration_is_the_same_task(task):
    config, properties = prepare(from_dict({"task": task}))
    again, facts_again = prepare(from_dict(config.model_dump()))
    assert again.to_toml() == config.to_toml()
    assert facts_again.ceiling == properties.ceiling
    assert facts_again.chance == properties.chance
    assert inspect(again).observation_space == properties.observation_space
