"""A user's own callback reaches TensorBoard and hears of the end, as with Stable-Baselines3."""

from __future__ import annotations

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from ngym_cli import runs

CALLBACK = """
from pathlib import Path
from stable_baselines3.common.callbacks import BaseCallback

class Mine(BaseCallback):
    def _on_step(self):
        self.logger.record("mine/value", 7.0)
        self.logger.record_mean("rollout/mine", self.n_calls % 2)
        self.logger.record("mine/text", "not a number")
        return True

    def _on_training_end(self):
        with Path("ended.txt").open("a") as file:
            file.write(f"{self.num_timesteps}\\n")
"""
SETTINGS = ("--task", "RDM-v0", "--n-envs", 4, "--units", 8, "--callback", "mine.py:Mine", "--name", "it")


def curves(folder):
    result = EventAccumulator(str(folder))
    result.Reload()
    return {tag: [point.value for point in result.Scalars(tag)] for tag in result.Tags()["scalars"]}


@pytest.mark.parametrize("alg", ["recurrent_ppo", "ppo", "reinforce"])
def test_values_of_a_callback_are_curves(tmp_path, ngym, alg):
    (tmp_path / "mine.py").write_text(CALLBACK)
    assert ngym("run", *SETTINGS, "--alg", alg, "--timesteps", 9000, "--eval-trials", 10).code == 0
    result = curves(runs.find("it").path)
    assert result["mine/value"] and set(result["mine/value"]) == {7.0}
    assert result["rollout/mine"] and all(0 <= value <= 1 for value in result["rollout/mine"])
    assert any(tag.startswith("train/") for tag in result)
    assert not any(tag.startswith(("time/iterations", "train/n_updates", "mine/text")) for tag in result)


@pytest.mark.parametrize("end", [("--until-performance", 0.01, "--eval-trials", 10), ("--eval-trials", 10)])
def test_the_end_of_a_run_is_passed_on_to_callbacks_once(tmp_path, ngym, end):
    (tmp_path / "mine.py").write_text(CALLBACK)
    assert ngym("run", *SETTINGS, "--timesteps", 9000, *end).code == 0
    assert len((tmp_path / "ended.txt").read_text().split()) == 1
