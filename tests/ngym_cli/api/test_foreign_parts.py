"""Parts of other libraries: cells and modules of torch, and callbacks of Stable-Baselines3 as objects."""

from __future__ import annotations

from pathlib import Path

import pytest
from stable_baselines3.common.callbacks import BaseCallback
from torch import nn

import ngym_cli as nc

MODULES = """
from torch import nn


class Mapping(nn.Module):
    def __init__(self, inputs, units, slow: int = 3):
        super().__init__()
        self.state_sizes = (slow,)
        self.read, self.out = nn.Linear(inputs + slow, slow), nn.Linear(slow, units)

    def forward(self, x, state):
        import torch

        after = torch.tanh(self.read(torch.cat([x, state], -1)))
        return self.out(after), after


class Stateless(nn.Module):
    def __init__(self, inputs, units):
        super().__init__()
        self.read = nn.Linear(inputs, units)

    def forward(self, x):
        return self.read(x)
"""


class Counting(BaseCallback):
    """Callback with an argument, which a record cannot hold."""

    def __init__(self, limit):
        super().__init__()
        self.limit, self.steps = limit, 0

    def _on_step(self):
        self.steps += 1
        return self.steps < self.limit


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("modules.py").write_text(MODULES)


def quick(**more):
    return nc.train("RDM-v0", timesteps=800, units=6, n_envs=4, progress=False, **more)


@pytest.mark.parametrize("cell", [nn.GRUCell, nn.LSTMCell, nn.RNNCell, "modules.py:Mapping"])
def test_cells_and_modules_of_torch_train_and_act_again(cell):
    run = quick(network=cell)
    again = nc.Run(run.path, trust=True)
    observation, _ = again.make_env().reset(seed=0)
    action, state = again.act(observation)
    assert action in (0, 1, 2) and state is not None
    assert run.evaluate(20, record="activity").activity.shape[1:] == (20, 6)


def test_modules_without_a_state_and_objects_are_refused():
    with pytest.raises(nc.UserError, match=r"no forward\(self, input, state\)"):
        quick(network="modules.py:Stateless")
    with pytest.raises(nc.UserError, match=r"GRU runs over whole sequences; expected torch\.nn\.GRUCell"):
        quick(network=nn.GRU)
    with pytest.raises(nc.UserError, match="expected the class GRUCell"):
        quick(network=nn.GRUCell(3, 6))


def test_callbacks_as_objects_are_called_and_named_as_lost_on_resuming():
    counting = Counting(10**9)
    with pytest.warns(UserWarning, match="continues without them"):
        run = quick(callbacks=[counting])
    assert counting.steps > 0 and run.config.callbacks == []
    with pytest.warns(UserWarning, match="continues without them"):
        stopped = quick(callbacks=lambda values, names: values["self"].num_timesteps < 100)
    assert stopped.manifest()["steps"] < 200
    with pytest.raises(nc.UserError, match="expected Stable-Baselines3 callbacks"):
        quick(callbacks=[3])
