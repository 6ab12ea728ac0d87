"""Users' own cells and algorithms from a single file: trained, resumed, evaluated, explained, checked, refused."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import pytest

from ngym_cli.agents.defaults import prepare
from ngym_cli.agents.networks import find_network
from ngym_cli.config.model import from_dict
from tests.ngym_cli.conftest import configuration
from tests.ngym_cli.sameness import resumed

CELL = """
import torch
from torch import nn
from ngym_cli import Cell


class Two(Cell):
    '''Units with a slow trace.

    Args:
        slow: size of the slow state.
        rate: share of the way that the trace goes in a step.
    '''

    def __init__(self, inputs, units, slow: int = 5, rate: float = 0.3):
        super().__init__(inputs, units)
        self.state_sizes = (units, slow)
        self.rate = rate
        self.read, self.recur = nn.Linear(inputs, units), nn.Linear(units + slow, units)
        self.down = nn.Linear(units, slow)

    def step(self, x, state):
        h, trace = state
        h = torch.tanh(self.read(x) + self.recur(torch.cat([h, trace], 1)))
        return h, torch.lerp(trace, self.down(h), self.rate)
"""

MISTAKES = {
    "a single array": "return torch.tanh(self.a(x) + self.b(state[0]))",
    "returned nothing": "torch.tanh(self.a(x) + self.b(state[0]))",
    "(6, 12), not (6, 1)": "return (torch.tanh(self.a(x) + self.b(state[0])).sum(1, keepdim=True),)",
    "state[0] in place": "h = state[0]; h += self.a(x); return (torch.tanh(self.b(h)),)",
    "on the others in the batch": "return (torch.tanh(self.a(x) - self.a(x).mean(0) + self.b(state[0])),)",
    "no gradient flows back": "return (torch.tanh(self.a(x) + self.b(state[0].detach())),)",
    "no gradient reaches b.weight": "return (torch.tanh(self.a(x) + self.b(state[0]).detach() + state[0]),)",
    "make parameters in __init__": "self.c = nn.Linear(len(x.T), 1); return (self.c(x) + self.b(state[0]),)",
    "neither parameter nor buffer": "self.w = x; return (torch.tanh(self.a(x) + self.b(state[0])),)",
    "draws at random": "return (torch.tanh(self.a(x) + self.b(state[0]) + torch.randn(len(x), 1)),)",
    "has no effect on the activity": "return (torch.tanh(self.a(x) + 0 * self.b(state[0])),)",
    "does not depend on the inputs": "return (torch.tanh(0 * self.a(x) + self.b(state[0]) + 1),)",
    "no attribute 'd'": "return self.d(x)",
    "type of x (float32), not float16": "return (torch.tanh(self.a(x) + self.b(state[0])).half(),)",
    "gives NaN or infinity": "return (torch.log(self.a(x) + self.b(state[0])),)",
}
CELL_OF_MISTAKE = """
import torch
from torch import nn
from ngym_cli import Cell


class Bad(Cell):
    def __init__(self, inputs, units):
        super().__init__(inputs, units)
        self.a, self.b = nn.Linear(inputs, units), nn.Linear(units, units)

    def step(self, x, state):
        {step}
"""

ALGORITHM = """
import stable_baselines3
from ngym_cli import RecurrentA2C, Supervised


class Bonus(RecurrentA2C):
    '''Actor-critic with a second bonus for entropy.

    Args:
        bonus: weight of the bonus.
    '''

    def __init__(self, policy, env, bonus: float = 0.1, learning_rate=2e-3, **kwargs):
        self.bonus = bonus
        super().__init__(policy, env, learning_rate=learning_rate, **kwargs)

    def loss(self, batch):
        loss, numbers = super().loss(batch)
        return loss - self.bonus * self.policy.evaluate_sequences(batch.sequences, batch.actions)[2].mean(), numbers


class Taught(Supervised):
    def __init__(self, policy, env, shift: float = 0.0, **kwargs):
        super().__init__(policy, env, **kwargs)


class Plain(stable_baselines3.A2C):
    def __init__(self, *args, shift: float = 0.0, **kwargs):
        super().__init__(*args, **kwargs)


class Closed(stable_baselines3.A2C):
    def __init__(self, policy, env):
        super().__init__(policy, env)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(CELL)
    (tmp_path / "alg.py").write_text(ALGORITHM)
    return tmp_path


def weights(path):
    return (path / "model" / "weights.safetensors").read_bytes()


def test_cell_with_two_arrays_is_trained_evaluated_recorded_and_exported(ngym, folder):
    small = ["--timesteps", "1000", "--units", "12", "--network", "mine.py:Two", "--network-arg", "slow=3"]
    for alg in ("recurrent_ppo", "supervised"):
        assert ngym("run", "--alg", alg, "--name", alg, *small).code == 0
        record = ["--record", "activity,observations", "--trials", "30"]
        process = ngym("eval", alg, *record)
        assert process.code == 0, process.err
    assert ngym("plot", "supervised", "fixed-points", "psth").code == 0
    assert ngym("export", "supervised", "--to", "torchscript").code == 0
    from ngym_cli import load

    agent = load("recurrent_ppo")
    state = agent.policy.initial_state(4)
    assert [array.shape for array in state] == [(1, 4, 12), (1, 4, 3)]
    once, after = agent.act(np.ones((4, agent.policy.observation_space.shape[0]), np.float32), state)
    assert len(once) == 4 and all(array.any() for array in after)


def test_acting_and_learning_agree_about_a_cell(folder):
    import torch

    from ngym_cli.agents.networks import find_network

    net = find_network("mine.py:Two").load()(4, 6, 2, slow=3, rate=0.5)
    xs, counts = torch.randn(7, 4), [3, 3, 1]
    state = net.initial_state(3)
    activity, after = net.sequence(xs, counts, state)
    at = 0
    for n in counts:
        state = tuple(array[:, :n] for array in state)
        top, state = net.one_step(xs[at : at + n], state)
        assert torch.allclose(top, activity[at : at + n], atol=1e-6)
        at += n
    assert torch.allclose(after[1][:, :1], state[1], atol=1e-6) and after[1].shape == (2, 3, 3)


@pytest.mark.parametrize(
    "pieces",
    [
        {"network": "mine.py:Two", "network_args": {"slow": 3}},
        {"alg": "alg.py:Bonus", "hyperparameters": {"bonus": 0.3}},
        *(
            pytest.param(settings, marks=pytest.mark.long)
            for settings in (
                {"network": "gru", "network_args": {"density": 0.5, "inhibitory": 0.25}},
                {"network": "lstm", "network_args": {"shared": False, "critic_reads": "activity"}},
                {"alg": "alg.py:Taught"},
                {"network": "mine.py:Two", "alg": "supervised"},
                {
                    "network": "mine.py:Two",
                    "network_args": {"input_density": 0.5, "fixed": ["bias"]},
                    "hyperparameters": {"l2_rate": 0.1},
                },
                {
                    "network": "rnn",
                    "network_args": {"fixed": ["input", "recurrent"], "radius": 0.9},
                    "alg": "supervised",
                },
                {"alg": "alg.py:Plain"},
            )
        ),
    ],
)
def test_own_parts_resume_to_the_bit(folder, pieces):
    resumed(configuration(**pieces), folder, 3000)


def test_subclass_with_its_own_loss_is_not_trained_by_the_compiled_pass(ngym, folder):
    for bonus in ("0", "0.5"):
        common = ["--alg", "alg.py:Bonus", "--timesteps", "2048", "--units", "8"]
        assert ngym("run", *common, "--set", f"bonus={bonus}", "--name", bonus.replace(".", "")).code == 0
    runs = folder / "runs" / "RDM-v0" / "alg.Bonus"
    assert weights(runs / "0") != weights(runs / "05")


def test_defaults_of_a_task_leave_arguments_of_an_own_cell_alone(folder):
    (folder / "mine.py").write_text(CELL.replace("slow", "memory"))
    config = prepare(from_dict({"task": "FlipFlop-v0", "network": "mine.py:Two"}))[0]
    assert config.network_args["memory"] == 5


def test_defaults_may_be_numbers_of_numpy_and_others_are_left_out(folder):
    arguments = "rate=np.sqrt(0.1), size=np.int64(3), kind=http.HTTPStatus.OK, gain=torch.tanh"
    (folder / "mine.py").write_text("import http, numpy as np" + CELL.replace("rate: float = 0.3", arguments))
    assert find_network("mine.py:Two").defaults == {"slow": 5, "rate": np.sqrt(0.1), "size": 3}


def test_hyperparameters_come_from_the_signature(folder):
    from ngym_cli.agents.algorithms import find_algorithm

    spec = find_algorithm("alg.py:Bonus")
    assert spec.defaults["bonus"] == 0.1 and spec.defaults["learning_rate"] == 2e-3
    assert spec.defaults["inter_trial_discount"] == find_algorithm("recurrent_a2c").defaults["inter_trial_discount"]
    assert spec.hyperparameters["bonus"].description == "weight of the bonus"
    foreign = find_algorithm("stable_baselines3:SAC")
    assert foreign.defaults["buffer_size"] == 1_000_000 and "action_noise" not in foreign.defaults


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--network", "mine.py:Tow"], "unknown class in mine.py 'Tow'; did you mean 'Two'?"),
        (["--network", "mine.py:Two", "--network-arg", "slw=3"], "did you mean 'slow'?"),
        (["--network", "mine.py:Two", "--network-arg", "slow=x"], "slow"),
        (["--network", "mine.py:Two", "--alg", "ppo"], "ppo does not train 'mine.py:Two'"),
        (["--network", "alg.py:Plain"], "expected a network cell"),
        (["--network", "gone.py:Two"], "no such network file: gone.py"),
        (["--alg", "alg.py:Bonus", "--set", "bonsu=1"], "did you mean 'bonus'?"),
        (["--alg", "alg.py:Closed"], "end the signature with **kwargs"),
        (["--alg", "mine.py:Two"], "expected a Stable-Baselines3 algorithm"),
        (["--alg", "sb3_contrib:RecurrentPPO"], "extend ngym_cli.RecurrentPPO"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(ngym, folder, flags, message):
    process = ngym("run", "--timesteps", "500", *flags)
    assert process.code == 2 and message in process.err and "Traceback" not in process.err
    assert len([line for line in process.err.splitlines() if line.startswith("ngym: ")]) == 1


def test_second_machine_without_the_file(ngym, folder):
    assert ngym("run", "--timesteps", "500", "--network", "mine.py:Two", "--name", "a").code == 0
    (folder / "mine.py").unlink()
    process = ngym("eval", "a", "--trust", "--trials", "20")
    assert process.code == 2 and "no such network file: mine.py" in process.err
    untrusted = ngym("eval", "a", "--trials", "20")
    assert untrusted.code == 2 and "copy the file mine.py here" in untrusted.err


@pytest.mark.parametrize("message", MISTAKES)
def test_check_names_the_mistake(folder, message):
    from ngym_cli.catalog import own_tasks

    (folder / "bad.py").write_text(CELL_OF_MISTAKE.format(step=MISTAKES[message]))
    (task,) = own_tasks.chosen(["bad.py:Bad"], False)
    result = own_tasks.check(task, lambda row: None)
    first = next(row for row in result["checks"] if row["status"] == "failed" and row["kind"] == "error")
    assert result["status"] == "failed" and message in first["problem"]


MISTAKEN_PARTS = """
import gymnasium as gym
import numpy as np
from ngym_cli import RecurrentA2C


class Required(gym.ObservationWrapper):
    def __init__(self, env, gain):
        super().__init__(env)


class Double(gym.ObservationWrapper):
    def observation(self, observation):
        return observation.astype(np.float64)


class Random(gym.ObservationWrapper):
    def observation(self, observation):
        return (observation + np.random.default_rng().normal(size=observation.shape)).astype(np.float32)


class Silent(gym.Wrapper):
    def step(self, action):
        return *self.env.step(action)[:4], {}


class Forgetful(RecurrentA2C):
    updates = 0

    def loss(self, batch):
        self.updates += 1
        loss, numbers = super().loss(batch)
        return loss * self.updates, numbers


class Idle(RecurrentA2C):
    def train(self):
        pass


def empty(view):
    from ngym_cli.figures.style import new_figure

    return new_figure()[0]
"""


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("Required", "argument gain of __init__ has no default"),
        ("Double", "the type float64, but observation_space says (3,) float32"),
        ("Random", "draw from self.np_random"),
        ("Silent", "no trial ends"),
        ("Forgetful", "own_state()"),
        ("Idle", "training does not change the weights"),
        ("empty", "nothing to draw"),
    ],
)
def test_check_names_the_mistake_of_a_wrapper_algorithm_or_figure(folder, section, message):
    from ngym_cli.catalog import own_tasks

    (folder / "bad.py").write_text(MISTAKEN_PARTS)
    (task,) = own_tasks.chosen([f"bad.py:{section}"], False)
    result = own_tasks.check(task, lambda row: None)
    failed = [row for row in result["checks"] if row["status"] == "failed"]
    assert len(failed) == 1 and message in failed[0]["problem"] and failed[0]["place"].startswith("bad.py:")


def test_check_passes_a_sound_cell_and_info_explains_it(ngym, folder):
    result = json.loads(ngym("check", "mine.py:Two", "--json").out)[0]
    assert result["status"] == "ok" and all(row["status"] == "ok" for row in result["checks"])
    page = json.loads(ngym("info", "mine.py:Two", "--json").out)
    assert page["kind"] == "network" and page["description"] == "Units with a slow trace"
    assert {"id": "slow", "default": 5, "meaning": "size of the slow state"}.items() <= page["options"][4].items()
    assert json.loads(ngym("info", "alg.py:Bonus", "--json").out)["kind"] == "algorithm"


@pytest.mark.usefixtures("in_process")
def test_sweep_over_own_parts(ngym, folder):
    summary = ngym(
        "sweep", "--network", "mine.py:Two,gru", "--timesteps", "600", "--units", "8", "--workers", "1", "--json"
    ).document
    assert [run["values"]["network"] for run in summary["runs"]] == ["mine.py:Two", "gru"]
    assert summary["counts"]["done"] == 2


FIGURE = """
from ngym_cli import figure
from ngym_cli.figures.style import new_figure


@figure("mean activity of units", record=("activity",))
def units(view):
    drawing, axes = new_figure()
    axes.plot(view.recording["activity"].reshape(view.recording.offsets[-1], -1).mean(axis=0))
    return drawing


def plain(view):
    "Rewards of trials."
    drawing, axes = new_figure()
    axes.plot(view.trials["reward"])
    return axes


def nothing(view):
    return new_figure()[0]


def wrong(view):
    return 3


def broken(view):
    return view.trials["no such column"]
"""


@pytest.mark.usefixtures("one_figure")
def test_own_figure_says_what_it_needs_and_is_drawn(ngym, folder):
    (folder / "fig.py").write_text(FIGURE)
    assert ngym("run", "--timesteps", "500", "--units", "8", "--name", "a").code == 0
    recorded = ngym("plot", "a", "fig.py:units")
    assert recorded.code == 0 and "recorded activity" in recorded.err
    drawn = ngym("plot", "a", "fig.py:units", "fig.py:plain", "--json")
    assert drawn.code == 0 and all((folder / row["path"]).is_file() for row in json.loads(drawn.out)), drawn.err
    for name, message in (("nothing", ""), ("wrong", "must return a matplotlib figure"), ("broken", "no such column")):
        refused = ngym("plot", "a", f"fig.py:{name}")
        assert refused.code == 2 and message in refused.err and "Traceback" not in refused.err
    page = ngym("report", "a", "--figure", "fig.py:units", "--json")
    assert page.code == 0 and "Mean activity of units" in (folder / json.loads(page.out)["id"]).read_text()
    assert json.loads(ngym("info", "fig.py:units", "--json").out)["record"] == ["activity"]
    assert "did you mean 'units'" in ngym("plot", "a", "fig.py:unit").err


def test_every_template_works_at_once(ngym, folder):
    for kind in ("task", "wrapper", "network", "algorithm", "figure"):
        assert ngym("new", kind, f"my_{kind}.py").code == 0
        assert ngym("new", kind, f"my_{kind}.py").code == 2
    assert ngym("new", "task", "by_trial.py", "--by-trial").code == 0
    pieces = ("my_task.py:MyTask", "by_trial.py:ByTrial", "my_network.py:MyNetwork", "my_wrapper.py:MyWrapper")
    assert ngym("check", *pieces, "my_algorithm.py:MyAlgorithm", "my_figure.py:my_figure").code == 0
    process = ngym(
        *"run --task my_task.py:MyTask --wrappers my_wrapper.py:MyWrapper:gains=1/0.5".split(),
        *"--network my_network.py:MyNetwork --network-arg traces=4".split(),
        *"--alg my_algorithm.py:MyAlgorithm --set value_penalty=0.02".split(),
        *"--timesteps 1000 --units 8 --eval-trials 20 --name all".split(),
    )
    assert process.code == 0, process.err
    assert ngym("eval", "all", "--record", "activity", "--trials", "40").code == 0
    assert ngym("plot", "all", "my_figure.py:my_figure").code == 0
    assert ngym("run", "--task", "by_trial.py:ByTrial", "--timesteps", "500", "--eval-trials", "20").code == 0
    wrong = ngym("new", "netwrk", "x.py")
    assert wrong.code == 2 and "did you mean 'network'" in wrong.err


def test_dry_run_and_configuration_make_nothing(ngym, folder):
    planned = ngym("run", "--dry-run", "--network", "mine.py:Two", "--timesteps", "2000", "--name", "a")
    assert planned.code == 0 and "mine.py:Two" in planned.out and "runs/RDM-v0/recurrent_ppo/a" in planned.out
    printed = ngym("run", "--print-config", "--network", "mine.py:Two", "--units", "8", "--timesteps", "1000")
    assert tomllib.loads(printed.out)["network_args"]["slow"] == 5 and not (folder / "runs").exists()
    (folder / "c.toml").write_text(printed.out)
    refused = ngym("run", "--config", "c.toml")
    assert refused.code == 2 and "--trust" in refused.err
    assert ngym("run", "--config", "c.toml", "--trust", "--tag", "pilot", "--name", "b").code == 0
    assert [row["id"] for row in json.loads(ngym("list", "runs", "--tag", "pilot", "--json").out)]
    assert ngym("run", "--tag", "a,b", "--timesteps", "500").code == 2
    assert ngym("run", "--dry-run", "--hyper", "x").code == 2


def test_best_checkpoint_by_name(ngym, folder):
    common = ["--timesteps", "6000", "--units", "8", "--checkpoint-every", "2000", "--eval-trials", "20"]
    assert ngym("run", *common, "--eval-every", "2000", "--name", "a").code == 0
    best = ngym("eval", "a", "--checkpoint", "best", "--trials", "20", "--json")
    assert best.code == 0, best.err
    marked = json.loads((folder / "runs/RDM-v0/recurrent_ppo/a/checkpoints/best.json").read_text())
    assert json.loads(best.out)[0]["checkpoint"] == marked["step"]


def test_packages_offer_parts(ngym, folder, monkeypatch):
    from ngym_cli.config import extensions

    info = folder / "cells-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: cells\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[ngym.networks]\ntwo = mine:Two\n")
    monkeypatch.syspath_prepend(str(folder))
    extensions.offered.cache_clear()
    try:
        rows = json.loads(ngym("list", "networks", "--json").out)
        assert rows[-1]["id"] == "two" and "package cells" in rows[-1]["description"]
        assert ngym("run", "--network", "two", "--timesteps", "500", "--units", "8").code == 0
    finally:
        extensions.offered.cache_clear()


MODELS = """
import jax.numpy as jnp
import numpy as np
from neurogym.behaviour.models.agents import Agent
from neurogym.behaviour.models.parameters import real

class Good(Agent):
    b, linear = real(3.0), False

    def logits(self, p, state, trial):
        return jnp.array([0.0, p.b])

class TooMany(Good):
    def logits(self, p, state, trial):
        return jnp.array([0.0, p.b, 1.0])

class Noisy(Good):
    def fit(self, problems):
        self.options = {"shift": np.random.randn()}
        return super().fit(problems)

    def logits(self, p, state, trial):
        return jnp.array([self.options["shift"], 0.01 * p.b])
"""


def test_checks_of_models(ngym, folder):
    (folder / "models.py").write_text(MODELS)
    expected = {"Good": None, "TooMany": "shape (3,), expected (2,)", "Noisy": "same seed differ"}
    names = [f"models.py:{name}" for name in expected]
    result = ngym("check", *names, "--json")
    assert result.code == 1
    for row, message in zip(json.loads(result.out), expected.values(), strict=True):
        failed = [check["problem"] for check in row["checks"] if check["status"] == "failed"]
        assert (row["status"], len(row["checks"])) == ("ok", 4) if message is None else message in failed[0]
    assert "kind" in ngym("info", names[0]).out
