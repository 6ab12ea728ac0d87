"""Numbers that records measure, tried with a few steps."""

from experiments import trainings
from ngym_cli.config.model import from_dict
from ngym_cli.training import main_loop


def test_a_training_of_several_tasks_has_a_performance_of_each(tmp_path):
    settings = {"task": "yang19.go-v0+yang19.dm1-v0", "alg": "supervised", "units": 8, "timesteps": 1_000}
    outcome = main_loop.train(from_dict({**settings, "evaluation": {"trials": 50, "every": 0}}), tmp_path)
    row = trainings.row("supervised/yang19-ctrnn-256", 0, tmp_path / outcome.run.path)
    assert 0 <= row["performance"] <= 1 and row["tasks"].keys() == {"yang19.go-v0", "yang19.dm1-v0"}


def test_the_settings_of_every_training_are_those_of_a_run():
    for item in trainings.items():
        assert from_dict(trainings.settings(item)).evaluation.every == 0, item
