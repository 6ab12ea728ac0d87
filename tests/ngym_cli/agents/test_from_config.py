"""Every algorithm is built from its complete configuration and can be changed in each hyperparameter it lists."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import neurogym as ngym
from neurogym.envs.registration import every_task, metadata
from ngym_cli.agents.algorithms import ALGORITHMS, find_algorithm
from ngym_cli.agents.algorithms.sb3 import progress
from ngym_cli.agents.defaults import prepare, sized
from ngym_cli.agents.from_config import build_model, build_venv
from ngym_cli.agents.per_task import BUDGETS, EXCEPTIONS, OTHER_ALGORITHMS
from ngym_cli.agents.supervised.material import check
from ngym_cli.config.model import from_dict
from ngym_cli.config.trust import load
from ngym_cli.errors import UserError


@pytest.mark.parametrize("alg", [name for name in ALGORITHMS if name != "supervised"])
def test_every_algorithm_is_built_from_its_defaults(alg):
    config = prepare(from_dict({"task": "GoNogo-v0", "alg": alg, "n_envs": 2}))[0]
    assert set(config.hyperparameters) == set(find_algorithm(alg).defaults)
    model = build_model(config, build_venv(config, 2))
    assert model.lr_schedule(1.0) == pytest.approx(config.hyperparameters["learning_rate"])
    left = config.hyperparameters["learning_rate"] * config.hyperparameters["final_rate"]
    assert model.lr_schedule(0.0) == pytest.approx(left)


@pytest.mark.parametrize("alg", ALGORITHMS)
def test_schedules_stay_at_their_last_value_beyond_the_requested_steps(alg):
    config = prepare(from_dict({"task": "GoNogo-v0", "alg": alg, "n_envs": 8, "units": 4}))[0]
    model = build_model(config, build_venv(config, 8))
    for name in ("clip_range", "clip_range_vf"):
        if hasattr(model, name):
            setattr(model, name, lambda left: float(0.1 + left))  # negative far beyond the end
    model.learn(10)
    assert model.num_timesteps > 10
    last = config.hyperparameters["learning_rate"] * config.hyperparameters["final_rate"]
    left = progress(model)["counters"]["_current_progress_remaining"]
    assert model.lr_schedule(left) == pytest.approx(last) or alg == "supervised"
    assert all(group["lr"] > 0.99 * last for group in model.policy.optimizer.param_groups)


def test_the_time_step_of_the_task_reaches_networks_with_time_constants():
    config = prepare(from_dict({"task": "GoNogo-v0", "dt": 20, "network": "ctrnn"}))[0]
    assert config.network_args["dt"] == 20


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({"task": "RDM-v0"}, 300_000),
        ({"task": "NBack-v0"}, BUDGETS["NBack-v0"]),
        ({"task": "NBack-v0", "alg": "recurrent_a2c", "network": "gru"}, BUDGETS["NBack-v0"]),
        ({"task": "NBack-v0", "alg": "ppo"}, 400_000),
        ({"task": "GoNogo-v0", "alg": "supervised"}, 1_600_000),
        ({"task": "NBack-v0", "alg": "supervised"}, OTHER_ALGORITHMS["NBack-v0", "supervised"].timesteps),
        ({"task": "NBack-v0", "alg": "supervised", "stages": [{"name": "only"}]}, 1_600_000),
        ({"task": "NBack-v0", "timesteps": 1000}, 1000),
        ({"task": "NBack-v0+GoNogo-v0"}, 400_000),
        ({"task": "NBack-v0", "stages": [{"name": "only"}]}, 400_000),
        ({"task": "ReadySetGoSinglePrior-v0"}, BUDGETS["ReadySetGoSinglePrior-v0"]),
        ({"task": "ReadySetGoSinglePrior-v0", "alg": "recurrent_ppo"}, 400_000),
    ],
    ids=str,
)
def test_a_task_has_its_own_number_of_steps_for_what_it_is_learned_from(settings, steps):
    config = prepare(from_dict(settings))[0]
    assert config.timesteps == steps


def test_steps_are_given_for_tasks_that_exist():
    assert BUDGETS.keys() <= set(every_task())


def test_a_patient_network_keeps_its_first_action():
    config = prepare(from_dict({"task": "MotorTiming-v0"}))[0]
    patience = config.network_args["patience"]
    policy = build_model(config, build_venv(config, 1)).policy
    go = 1 / (1 + np.exp(policy.action_net.bias[0].item() - policy.action_net.bias[1].item()))
    assert go == pytest.approx(1 / patience)


@pytest.mark.parametrize(("task", "memory"), [("GoNogo-v0", 30), ("PulseDecisionMaking-v0", 250)])
def test_the_memory_of_the_network_is_as_long_as_a_trial(task, memory):
    config = prepare(from_dict({"task": task}))[0]
    assert config.network_args["memory"] == memory
    assert prepare(from_dict({"task": task, "network_args": {"memory": 5.0}}))[0].network_args["memory"] == 5


@pytest.mark.parametrize("alg", ["recurrent_ppo", "recurrent_a2c", "reinforce"])
def test_a_rollout_holds_a_trial(alg):
    settings = {"task": "PulseDecisionMaking-v0", "alg": alg}
    config, properties = prepare(from_dict(settings))
    assert properties.trial_steps == 250
    assert config.hyperparameters["n_steps"] == 256
    requested = from_dict({**settings, "hyperparameters": {"n_steps": 20}})
    assert prepare(requested)[0].hyperparameters["n_steps"] == 20


def test_a_task_may_have_its_own_defaults_and_the_user_has_the_last_word():
    settings = {"task": "DelayMatchSampleDistractor1D-v0"}
    config, properties = prepare(from_dict(settings))
    assert config.hyperparameters["ent_coef"] == EXCEPTIONS[properties.id].hyperparameters["ent_coef"]
    requested = from_dict({**settings, "hyperparameters": {"ent_coef": 0.02}})
    assert prepare(requested)[0].hyperparameters["ent_coef"] == 0.02
    another = from_dict({**settings, "alg": "recurrent_a2c"})
    assert prepare(another)[0].hyperparameters["ent_coef"] == 0.0


@pytest.mark.parametrize("task", EXCEPTIONS)
def test_exceptions_are_of_known_tasks_and_hyperparameters_and_say_why(task):
    algorithm = find_algorithm(EXCEPTIONS[task].algorithm)
    expected = algorithm.defaults
    assert from_dict({"task": task}).alg == EXCEPTIONS[task].algorithm
    assert prepare(from_dict({"task": task}))[1].id == task
    assert EXCEPTIONS[task].reason
    assert EXCEPTIONS[task].settings.items() - expected.items()
    assert set(EXCEPTIONS[task].hyperparameters) <= set(algorithm.hyperparameters)


@pytest.mark.parametrize(("task", "name"), OTHER_ALGORITHMS)
def test_defaults_of_another_algorithm_apply_with_it_alone(task, name):
    defaults, algorithm = OTHER_ALGORITHMS[task, name], find_algorithm(name)
    usual = from_dict({"task": task})
    assert usual.alg != name and defaults.reason and defaults.settings
    completed = prepare(usual.model_copy(update={"alg": name, "network": None}))[0]
    for key, value in defaults.settings.items():
        table = {"timesteps": completed.timesteps, **completed.network_args, **completed.hyperparameters}
        assert table[key] == value
    assert defaults.hyperparameters.items() <= completed.hyperparameters.items()
    assert set(defaults.hyperparameters) <= set(algorithm.hyperparameters)


def test_a_task_may_have_its_own_defaults_of_the_network_and_the_user_has_the_last_word():
    config, properties = prepare(from_dict({"task": "MemoryRecall-v0"}))
    custom = EXCEPTIONS[properties.id].network_args
    assert custom and custom.items() <= config.network_args.items()
    for more in ({"network_args": {"layers": 1}}, {"alg": "recurrent_ppo"}):
        assert prepare(from_dict({"task": "MemoryRecall-v0", **more}))[0].network_args["layers"] == 1


@pytest.mark.parametrize(
    ("network", "memory"), [(None, 2.0), ("gru", 2.0), ("lstm", 2.0), ("ctrnn", None), ("rnn", None)]
)
def test_gates_of_networks_that_hold_bits_begin_fast(network, memory):
    config = prepare(from_dict({"task": "FlipFlop-v0", "network": network}))[0]
    assert config.network_args.get("memory") == memory


@pytest.mark.parametrize("task", every_task())
def test_a_task_says_whether_it_is_learned_from_the_right_actions_and_the_user_has_the_last_word(task):
    supervised = metadata(task).get("supervised")
    assert from_dict({"task": task}).alg == ("supervised" if supervised else "recurrent_ppo")
    assert from_dict({"task": task, "alg": "reinforce"}).alg == "reinforce"
    if supervised:
        assert len(supervised.split()) > 5 and "supervised" in metadata(task)["tags"]
        check(ngym.make(task))


def test_a_task_that_is_taught_is_so_under_each_of_its_names_and_in_a_file(tmp_path):
    for name in ("CueSetGo", "CueSetGo-v0"):
        assert from_dict({"task": name}).alg == "supervised"
    file = tmp_path / "run.toml"
    file.write_text("seed = 3\n")
    assert load(file, {"task": "CueSetGo-v0"}).alg == "supervised"
    file.write_text('alg = "recurrent_a2c"\n')
    assert load(file, {"task": "CueSetGo-v0"}).alg == "recurrent_a2c"
    assert from_dict({"task": "RDM-v0+CueSetGo-v0"}).alg == from_dict({"task": "a.py:CueSetGo"}).alg == "recurrent_ppo"


@pytest.mark.parametrize(
    ("task", "every"), [("GoNogo-v0", 100_000), ("ReadySetGoSinglePrior-v0", 400_000), ("DualTask-v0", 1_250_000)]
)
def test_evaluations_do_not_take_more_steps_than_what_is_learned_in_between(task, every):
    config, properties = prepare(from_dict({"task": task}))
    results = config.evaluation
    assert results.every == every >= results.trials * properties.trial_steps
    assert prepare(from_dict({"task": task, "evaluation": {"every": 7}}))[0].evaluation.every == 7


@pytest.mark.parametrize("dt", [50, 100])
@pytest.mark.parametrize(
    "task", [{"task": "perceptualdecisionmaking.roitman02-v0"}, {"task": "RDM-v0", "wrappers": "reaction_time"}]
)
def test_where_the_agent_decides_when_to_answer_waiting_costs_the_same_at_every_time_step(task, dt):
    config = prepare(from_dict({**task, "dt": dt}))[0]
    gamma = config.hyperparameters["gamma"]
    assert gamma ** (100 / dt) == pytest.approx(0.99, abs=1e-5)
    requested = from_dict({**task, "dt": dt, "hyperparameters": {"gamma": 0.5}})
    assert prepare(requested)[0].hyperparameters["gamma"] == 0.5


@pytest.mark.parametrize("alg", [name for name in ALGORITHMS if name not in ("dqn", "qrdqn")])
@pytest.mark.parametrize("timesteps", [500, 2_000, 20_000])
def test_a_short_run_has_several_updates_and_no_more_steps_than_asked_for(alg, timesteps):
    config, properties = prepare(from_dict({"task": "RDM-v0", "alg": alg, "timesteps": timesteps}))
    expected = config.hyperparameters
    update = expected["batch_size"] * expected["seq_len"] * expected["n_updates"] if alg == "supervised" else None
    update = update or config.n_envs * expected["n_steps"]
    if alg != "supervised" or timesteps >= 16 * 100 * 8:
        assert timesteps / update >= 3
    assert config.evaluation.trials * properties.trial_steps <= max(4 * timesteps, 20 * properties.trial_steps)


@pytest.mark.parametrize("trial_steps", [22, 256])
@pytest.mark.parametrize("alg", ALGORITHMS)
def test_runs_of_the_default_length_have_the_usual_sizes(alg, trial_steps):
    algorithm = ALGORITHMS[alg]
    usual = algorithm.rollout_for(trial_steps)
    n_envs, sizes = sized(algorithm, usual, algorithm.timesteps, from_dict({"alg": alg}))
    assert n_envs == algorithm.n_envs
    assert {**algorithm.defaults, **sizes} == {**algorithm.defaults, **usual}


@pytest.mark.parametrize("usual_envs", [None, 512])
def test_longer_runs_have_at_least_as_many_gradient_steps(usual_envs):
    algorithm = ALGORITHMS["recurrent_ppo"]
    counts = []
    for timesteps in (1_000, 3_000, 8_000, 22_000, 60_000, 150_000, 400_000):
        n_envs, sizes = sized(algorithm, algorithm.rollout_for(22), timesteps, from_dict({}), usual_envs)
        rollout = n_envs * sizes["n_steps"]
        counts.append(timesteps // rollout * (rollout // sizes["batch_size"]))
    assert all(later >= 0.9 * earlier for earlier, later in itertools.pairwise(counts)), counts
    assert counts[3] >= 24 * 4


def test_evaluations_are_as_long_as_given_or_as_long_as_their_interval_needs(tmp_path):
    def half_width(**settings):
        config = prepare(from_dict({"task": "TwoStep-v0", **settings}))[0]
        return config.evaluation.half_width

    assert half_width() == 0.02
    assert half_width(evaluation={"trials": 300}) == half_width(timesteps=2_000) == 0
    assert half_width(evaluation={"trials": 300, "half_width": 0.01}) == 0.01
    file = tmp_path / "config.toml"
    file.write_text('task = "TwoStep-v0"\n[evaluation]\ntrials = 2000\nhalf_width = 0.02\n')
    assert load(file, {}).evaluation.half_width == 0.02
    assert load(file, {"evaluation": {"trials": 300}}).evaluation.half_width is None


def test_a_number_of_trials_is_taken_as_given_and_usual_numbers_are_completed(tmp_path):
    def evaluation(**settings):
        return prepare(from_dict({"task": "TwoStep-v0", **settings}))[0].evaluation

    assert evaluation(evaluation={"trials": 300}).exact and not evaluation().exact
    file = tmp_path / "config.toml"
    file.write_text('task = "TwoStep-v0"\n[evaluation]\ntrials = 2000\nexact = false\n')
    assert load(file, {}).evaluation.exact is False
    assert load(file, {"evaluation": {"trials": 300}}).evaluation.exact is None


def test_what_the_user_says_of_a_short_run_stands():
    settings = {"task": "RDM-v0", "timesteps": 2_000, "n_envs": 64, "hyperparameters": {"n_steps": 50}}
    config = prepare(from_dict({**settings, "evaluation": {"trials": 777}}))[0]
    assert (config.n_envs, config.hyperparameters["n_steps"], config.evaluation.trials) == (64, 50, 777)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("lr", 1e-3, "did you mean 'learning_rate'"),
        ("gamma", 1.5, "0 to 1"),
        ("clip_range", "none", "given a value"),
        ("entropy", 0.1, "did you mean 'ent_coef'"),
        ("normalize_advantage", 3, "true or false"),
    ],
)
def test_hyperparameters_are_checked_by_the_list(name, value, says):
    with pytest.raises(UserError, match=says):
        prepare(from_dict({"task": "GoNogo-v0", "hyperparameters": {name: value}}))
