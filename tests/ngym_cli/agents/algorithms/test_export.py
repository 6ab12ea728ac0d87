"""An LSTM agent loads in plain sb3-contrib and acts the same."""

import numpy as np
import pytest
from gymnasium import spaces
from sb3_contrib import RecurrentPPO as ContribRecurrentPPO

from ngym_cli.agents.formats import to_contrib
from ngym_cli.agents.from_config import make_model


@pytest.mark.parametrize("options", [{}, {"shared": False, "layers": 2}, {"readout": [8]}])
@pytest.mark.parametrize("box", [False, True])
def test_exported_agent_acts_the_same(recall, tmp_path, box, options):
    model = make_model("recurrent_ppo", recall(box=box), "lstm", 16, options, {"n_steps": 24}, seed=0, device="cpu")
    model.learn(500)
    to_contrib(model).save(tmp_path / "agent.zip")
    plain = ContribRecurrentPPO.load(tmp_path / "agent.zip", device="cpu")
    assert type(plain) is ContribRecurrentPPO
    assert type(plain.policy).__module__.startswith("sb3_contrib")
    rng, states, starts = np.random.default_rng(0), [None, None], np.ones(6, bool)
    for _ in range(20):
        obs = rng.standard_normal((6, 3), dtype=np.float32)
        actions = []
        for i, agent in enumerate((model, plain)):
            action, states[i] = agent.predict(obs, states[i], starts, deterministic=True)
            actions.append(action)
        np.testing.assert_allclose(*actions, atol=1e-5)
        starts = rng.random(6) < 0.2


def test_agents_that_see_images_are_refused(recall):
    env = recall()
    env.observation_space = spaces.Box(0, 255, (3, 36, 36), np.uint8)
    model = make_model("recurrent_ppo", env, "lstm", 16, hyperparameters={"n_steps": 24}, device="cpu")
    with pytest.raises(ValueError, match="convolutional network"):
        to_contrib(model)
