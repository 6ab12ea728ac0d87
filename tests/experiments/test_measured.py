"""What records measure beside ``ngym run`` works as well, tried with a few steps."""

import pytest

from experiments import bandit, supervised


def test_a_bandit_learns_and_is_compared():
    result = bandit.run({"task": "ChangingBandit-v0", "wrappers": "pass_reward,pass_action", "timesteps": 20_000}, 3)
    assert result["thompson"] > 0


@pytest.mark.parametrize("network", [None, "ctrnn"])
def test_a_network_learns_by_supervision(network):
    result = supervised.run({"task": "GoNogo-v0", "network": network, "timesteps": 20_000}, 200)
    assert 0 <= result["performance"] <= 1
