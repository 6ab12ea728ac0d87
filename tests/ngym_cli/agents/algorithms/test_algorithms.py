"""The table of algorithms, and what may be combined."""

import numpy as np
import pytest
from gymnasium import spaces

from ngym_cli.agents.algorithms import ALGORITHMS, check_pairing, find_algorithm
from ngym_cli.agents.from_config import make_model
from ngym_cli.agents.networks import find_network
from ngym_cli.errors import UserError

VECTOR = spaces.Box(-1, 1, (3,), np.float32)
BOX = spaces.Box(-1, 1, (2,), np.float32)


@pytest.mark.parametrize("name", [name for name, spec in ALGORITHMS.items() if not spec.supervised])
def test_every_algorithm_runs_on_what_it_says_it_takes(recall, name):
    spec = ALGORITHMS[name]
    for kind in spec.actions:
        check_pairing(spec, None, VECTOR, BOX if kind == "box" else spaces.Discrete(3))
        env = recall(n_envs=4, box=kind == "box")
        make_model(name, env, units=8, seed=0, device="cpu").learn(200)


def test_defaults_are_arguments_of_the_class():
    import inspect
    from dataclasses import fields

    from ngym_cli.agents.algorithms.objective import Penalties
    from ngym_cli.agents.algorithms.sb3 import Learner

    for spec in ALGORITHMS.values():
        expected = {key for base in spec.load().__mro__ if base is not object for key in signature(inspect, base)}
        expected |= {each.name for each in fields(Penalties)} if issubclass(spec.load(), Learner) else set()
        assert spec.defaults.keys() - {"final_rate"} <= expected, spec.name


def signature(inspect, cls):
    return inspect.signature(cls.__init__).parameters


@pytest.mark.parametrize(
    ("algorithm", "network", "observations", "actions", "message"),
    [
        ("ppoo", None, VECTOR, BOX, "unknown algorithm 'ppoo'"),
        ("recurrent_ppo", "lstn", VECTOR, BOX, "unknown network 'lstn'"),
        ("ppo", "lstm", VECTOR, BOX, "does not train 'lstm'; it trains mlp"),
        ("recurrent_ppo", "mlp", VECTOR, BOX, "it trains lstm, gru"),
        ("dqn", "mlp", VECTOR, BOX, "dqn does not take Box actions; use one of recurrent_ppo"),
        ("ppo", "mlp", VECTOR, spaces.MultiBinary(3), "no algorithm takes them"),
        ("ppo", "mlp", VECTOR, spaces.Discrete(3, start=1), "count from 0"),
        ("ppo", "mlp", spaces.Dict({"a": VECTOR}), BOX, "Box or Discrete, not Dict"),
        ("recurrent_ppo", "gru", spaces.Box(0, 255, (20, 20, 3), np.uint8), BOX, "at least 36 pixels"),
    ],
)
def test_wrong_pairings_are_refused(algorithm, network, observations, actions, message):
    with pytest.raises(UserError, match=message) as error:
        check_pairing(find_algorithm(algorithm), find_network(network), observations, actions)
    assert "\n" not in str(error.value)


def test_sources_are_given():
    assert all(spec.paper and spec.summary for spec in ALGORITHMS.values())
