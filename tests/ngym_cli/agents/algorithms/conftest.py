"""The state of training at some step."""

import copy
import json

from safetensors.torch import load_file, save_file
from stable_baselines3.common.callbacks import BaseCallback

from ngym_cli.agents.algorithms.training_state import load_training_state, training_state


class Snapshot(BaseCallback):
    """Keep all that is needed to go on from the first rollout start at or after a step."""

    def __init__(self, at, folder):
        super().__init__()
        self.at, self.folder, self.env = at, folder, None

    def _on_rollout_start(self):
        if self.env is None and self.model.num_timesteps >= self.at:
            tensors, info = training_state(self.model)
            save_file(tensors, self.folder / "state.safetensors")
            (self.folder / "state.json").write_text(json.dumps(info, allow_nan=False))
            self.env, self.steps = copy.deepcopy(self.training_env), self.model.num_timesteps

    def _on_step(self):
        return True

    def restore(self, model):
        """Put the state into another model."""
        info = json.loads((self.folder / "state.json").read_text())
        load_training_state(model, load_file(self.folder / "state.safetensors"), info)
