"""A trained agent in Python: it acts as it was evaluated, shows its activity, and is handed to other programs."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

import ngym_cli
from ngym_cli.errors import UserError
from ngym_cli.training.main_loop import train


@pytest.fixture(scope="module")
def agents(tmp_path_factory):
    """Briefly trained agents by what they are."""
    from ngym_cli.config.model import from_dict

    root = tmp_path_factory.mktemp("agents") / "runs"
    small = {"task": "GoNogo-v0", "timesteps": 600, "n_envs": 4, "units": 8, "evaluation": {"every": 0, "trials": 5}}
    kinds = {
        "lstm": {},
        "gru": {"network": "gru", "network_args": {"layers": 2}},
        "ei_rnn": {"network": "ei_rnn", "network_args": {"shared": False}},
        "chained": {"network_args": {"shared": False, "critic_reads": "activity"}},
        "places": {"task": "ReachingDelayResponse-v0", "alg": "supervised", "network_args": {"places": 5}},
        "ppo": {"alg": "ppo", "hyperparameters": {"n_steps": 32, "batch_size": 64}},
        "dqn": {"alg": "dqn", "hyperparameters": {"learning_starts": 100}},
    }
    for name, more in kinds.items():
        train(from_dict({**small, **more}), root, name)
    return {name: ngym_cli.load(name, runs_root=root) for name in kinds}


KINDS = ("lstm", "gru", "ei_rnn", "chained", "places", "ppo", "dqn")
RECURRENT = KINDS[:5]


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_agent_acts_in_its_environment(agents, kind):
    agent = agents[kind]
    env, state = agent.make_env(), None
    observation, _ = env.reset(seed=0)
    for _ in range(60):
        action, state = agent.act(observation, state)
        assert env.action_space.contains(action)
        observation, _, _, _, info = env.step(action)
        if info["new_trial"] and agent.resets:
            state = None
    assert (state is not None) or kind not in RECURRENT or agent.resets


@pytest.mark.parametrize("kind", KINDS)
def test_several_environments_at_once_are_the_same_as_one_by_one(agents, kind):
    observations = np.random.default_rng(0).standard_normal((5, 4, *agents[kind].policy.observation_space.shape))
    observations = observations.astype(np.float32)
    together, state = [], None
    for row in observations:
        actions, state = agents[kind].act(row, state)
        together.append(actions)
    for env in range(4):
        state = None
        for step, row in enumerate(observations):
            action, state = agents[kind].act(row[env], state)
            np.testing.assert_allclose(action, together[step][env], atol=1e-5)


def test_activity_has_a_row_for_each_step_and_depends_on_what_came_before(agents):
    observations = np.random.default_rng(1).standard_normal((6, 2, 3)).astype(np.float32)
    agent = agents["lstm"]
    observations = observations[..., : agent.policy.observation_space.shape[0]]
    both = agent.activity(observations)
    assert both.shape == (6, 2, 8)
    np.testing.assert_allclose(agent.activity(observations[:, 0]), both[:, 0], atol=1e-6)
    assert not np.allclose(agent.activity(observations[3:]), both[3:])
    with pytest.raises(UserError, match="no recurrent network"):
        agents["ppo"].activity(observations)


@pytest.mark.parametrize("kind", RECURRENT)
def test_the_module_does_what_the_agent_does(agents, kind):
    agent = agents[kind]
    module = agent.module
    observations = np.random.default_rng(2).standard_normal((8, 3, *agent.policy.observation_space.shape))
    state, actor = module.example(3)[1:], agent.policy.actor()
    activity = agent.policy.initial_state(3)
    for row in observations.astype(np.float32):
        with torch.no_grad():
            logits, value, *state = module(torch.from_numpy(row), *state)
        np.testing.assert_allclose(value.numpy(), actor.values(row, activity), atol=1e-5)
        action, activity = agent.act(row, activity)
        if kind == "places":
            np.testing.assert_allclose(logits.numpy().clip(-1, 1), action, atol=1e-5)
        else:
            assert np.array_equal(logits.argmax(1).numpy(), action)
        for ours, expected in zip(state, activity, strict=True):
            np.testing.assert_allclose(ours.numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_torchscript_needs_no_ngym_and_is_the_same(agents, kind, ngym):
    agent = agents[kind]
    result = ngym("export", agent.run.path, "--to", "torchscript", "--overwrite")
    assert result.code == 0, result.err
    loaded = torch.jit.load(result.out.strip())
    inputs = agent.module.example(4)
    inputs = (torch.randn_like(inputs[0]), *inputs[1:])
    with torch.no_grad():
        for ours, reference in zip(agent.module(*inputs), loaded(*inputs), strict=True):
            torch.testing.assert_close(ours, reference, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", ["lstm", "ei_rnn", "chained", "places", "ppo"])
def test_onnx_is_the_same_for_any_number_of_environments(agents, kind, ngym):
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    agent = agents[kind]
    result = ngym("export", agent.run.path, "--to", "onnx", "--overwrite")
    assert result.code == 0, result.err
    session = runtime.InferenceSession(result.out.strip())
    for n in (1, 5):
        inputs = agent.module.example(n)
        inputs = (torch.randn_like(inputs[0]), *inputs[1:])
        names = [each.name for each in session.get_inputs()]
        results = session.run(None, {name: each.numpy() for name, each in zip(names, inputs, strict=True)})
        with torch.no_grad():
            for ours, reference in zip(agent.module(*inputs), results, strict=True):
                np.testing.assert_allclose(ours.numpy(), reference, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "cls"),
    [
        ("lstm", "sb3_contrib.RecurrentPPO"),
        pytest.param("ppo", "stable_baselines3.PPO", marks=pytest.mark.long),
    ],
)
def test_stable_baselines_loads_the_export_without_ngym_and_with_all_hyperparameters(agents, kind, cls, ngym):
    agent = agents[kind]
    result = ngym("export", agent.run.path, "--to", "sb3", "--overwrite")
    assert result.code == 0, result.err
    module, _, name = cls.rpartition(".")
    program = (
        "import sys; sys.modules['neurogym'] = sys.modules['ngym_cli'] = None\n"
        f"from {module} import {name}\n"
        f"m = {name}.load({result.out.strip()!r}, device='cpu')\n"
        "print(m.n_epochs, m.batch_size, m.gamma, m.ent_coef, m.max_grad_norm, m.clip_range(1.0), m.lr_schedule(1.0))\n"
        "import numpy as np; print(m.predict(np.zeros(m.observation_space.shape, 'float32'), deterministic=True)[0])"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    numbers, action = process.stdout.splitlines()
    expected = agent.config.hyperparameters
    names = ("n_epochs", "batch_size", "gamma", "ent_coef", "max_grad_norm", "clip_range", "learning_rate")
    assert [float(word) for word in numbers.split()] == pytest.approx([expected[each] for each in names])
    assert int(action) == agent.act(np.zeros(agent.policy.observation_space.shape, np.float32))[0]


def test_what_cannot_be_exported_is_refused_in_one_line(agents, ngym, tmp_path):
    for kind, to, says in (
        ("gru", "sb3", "LSTM networks only"),
        ("chained", "sb3", "no critic that reads the activity of the actor"),
        ("gru", "onxx", "did you mean 'onnx'"),
    ):
        result = ngym("export", agents[kind].run.path, "--to", to, "--out", tmp_path / "x.zip")
        assert (result.code, result.out) == (2, "")
        assert says in result.err and result.err.count("\n") == 1
    assert not (tmp_path / "x.zip").exists()
    (tmp_path / "mine.pt").write_text("mine")
    result = ngym("export", agents["gru"].run.path, "--to", "torchscript", "--out", tmp_path / "mine.pt")
    assert result.code == 2 and "exists" in result.err
    assert (tmp_path / "mine.pt").read_text() == "mine"
