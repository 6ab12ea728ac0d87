"""Constraints on weights hold for every network, while it learns, acts, is saved and resumed."""

import copy
from contextlib import closing

import numpy as np
import pytest
import torch

from neurogym import kernels
from ngym_cli.agents.algorithms.objective import participation, silent_units
from ngym_cli.agents.defaults import prepare
from ngym_cli.agents.from_config import build_model, build_venv, make_model
from ngym_cli.agents.networks import NETWORKS, constraints, find_network, pruning
from ngym_cli.agents.networks.connectome import as_table, from_table
from ngym_cli.agents.networks.structure import Structure
from ngym_cli.agents.sequences import cut
from ngym_cli.config.model import from_dict
from ngym_cli.errors import UserError
from ngym_cli.training.sb3_callback import PruningCallback
from tests.ngym_cli.agents.conftest import Recall

OWN = """
import torch
from ngym_cli import Cell

class Own(Cell):
    "A cell with a second state, whose matrices have sources in rows."
    def __init__(self, inputs, units, slow=3):
        super().__init__(inputs, units)
        self.state_sizes = (units, slow)
        draw = lambda *shape: torch.nn.Parameter(torch.randn(*shape) / shape[0] ** 0.5)
        self.read, self.recur, self.bias = draw(inputs, units), draw(units, units), draw(units)
        self.down, self.up = draw(units, slow), draw(slow, units)
    def step(self, x, state):
        h, slow = state
        h = torch.tanh(x @ self.read + h @ self.recur + slow @ self.up + self.bias)
        return h, torch.lerp(slow, h @ self.down, 0.3)
"""
RECURRENT = [name for name, spec in NETWORKS.items() if spec.recurrent and not spec.spatial]
AREAS = {"V1": {"units": 6, "input": True}, "PFC": {"units": 4, "output": True, "from": {"V1": 1.0}}}
STRUCTURES = {
    "sparse": {"density": 0.4, "input_density": 0.5, "output_density": 0.5},
    "signed": {"inhibitory": 0.3, "density": 0.8},
    "low rank": {"rank": 2, "random": 0.5},
    "reservoir": {"fixed": ["input", "recurrent", "bias"], "radius": 0.9},
    "areas": {"areas": AREAS, "inhibitory": 0.25},
}


@pytest.fixture(params=[*RECURRENT, "own.py:Own"])
def network(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    return request.param


def build(network, alg="recurrent_ppo", env=None, seed=0, hyper=None, **args):
    return make_model(
        alg, env or Recall(), network, 10, args, {"n_steps": 24, **(hyper or {})}, seed=seed, device="cpu"
    )


def parts(net, kind):
    """Effective matrices (to, from), gate by gate."""
    results = [array.tensor.detach() for array in net.connections() if array.kind == kind]
    return [gate for matrix in results if len(matrix) % 10 == 0 for gate in matrix.split(10)]


def of_rank(net):
    """Fixed random parts of the recurrent weights, gate by gate."""
    for piece in net.connections():
        if piece.kind == "recurrent" and hasattr(piece.module, "parametrizations"):
            chi = (
                getattr(piece.module.parametrizations, piece.name)[0].chi
                if piece.name in piece.module.parametrizations
                else None
            )
            yield from () if chi is None else (chi.t() if piece.transposed else chi).split(10)


def recurrent(net):
    if net.signed:
        return [net.recurrent_weight(0).detach()]
    return [matrix for matrix in parts(net, "recurrent") if matrix.shape == (10, 10)]


@pytest.mark.parametrize("kind", STRUCTURES)
def test_constraints_hold_while_learning(network, kind):
    arguments = STRUCTURES[kind]
    if network == "ei_rnn" and kind in ("low rank", "areas"):
        with pytest.raises(UserError, match="signs of its own"):
            build(network, **arguments)
        return
    model = build(network, **arguments)
    net, head = model.policy.networks[0], model.policy.action_net
    before = {name: [array.clone() for array in parts(net, name)] for name in ("input", "recurrent", "bias")}
    missing = [matrix == 0 for matrix in recurrent(net)]
    unread = head.weight == 0
    model.learn(3 * model.n_steps * model.n_envs)
    for matrix, gone in zip(recurrent(net), missing, strict=True):
        if kind in ("sparse", "signed", "areas"):
            assert gone.any() and (matrix[gone] == 0).all() and (matrix[~gone] != 0).float().mean() > 0.9
        if kind == "signed":
            assert (matrix[:, :7] >= 0).all() and (matrix[:, 7:] <= 0).all() and matrix[:, 7:].any()
        if kind == "areas":  # of 6 and of 4 units, each with inhibitory units at its end
            assert not matrix[:6, 6:].any() and matrix[6:, :4].any() and not matrix[6:, 4:6].any()
            assert (matrix[:, :4] >= 0).all() and (matrix[:, 4:6] <= 0).all() and (matrix[6:, 9] <= 0).all()
    if kind == "low rank":
        for matrix, chi in zip(recurrent(net), of_rank(net), strict=True):
            assert torch.linalg.matrix_rank(matrix - chi, rtol=1e-4) == 2 < torch.linalg.matrix_rank(matrix)
    if kind == "sparse":
        assert unread.any() and (head.weight[unread] == 0).all()
    if kind == "areas":
        assert (head.weight[:, :6] == 0).all() and all((matrix[6:] == 0).all() for matrix in parts(net, "input"))
    after = {name: parts(net, name) for name in before}
    same = {name: all(map(torch.equal, before[name], after[name])) for name in before}
    assert all(same.values()) == (kind == "reservoir")


@pytest.mark.parametrize("kind", STRUCTURES)
@pytest.mark.parametrize("name", [each for each in RECURRENT if each != "ei_rnn"])
@pytest.mark.skipif(not kernels.available(), reason="no compiled functions are built")
def test_compiled_gradient_is_that_of_automatic_differentiation(name, kind):
    model = build(name, **STRUCTURES[kind])
    assert not model.in_torch
    model.learn(2 * model.n_steps * model.n_envs)
    segments = cut(model.rollout_buffer.starts[:-1])
    expected, numbers = model.gradients()(segments)
    compiled, same = model.compiled.gradient(segments, model.coefficients())
    torch.testing.assert_close(compiled, expected, atol=2e-6, rtol=1e-4)
    torch.testing.assert_close(same, numbers, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", STRUCTURES)
def test_constrained_weights_are_saved_and_copied(network, kind):
    if network == "ei_rnn" and kind in ("low rank", "areas"):
        return
    model, another = (build(network, seed=seed, **STRUCTURES[kind]) for seed in (0, 1))
    obs = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    before = model.policy.predict(obs, deterministic=True)[1]
    assert not all(map(np.array_equal, before, another.policy.predict(obs, deterministic=True)[1]))
    another.policy.load_state_dict(model.policy.state_dict())
    assert all(map(np.array_equal, before, another.policy.predict(obs, deterministic=True)[1]))
    doubled = copy.deepcopy(model.policy.networks[0]).double()
    assert next(doubled.buffers() if kind == "reservoir" else doubled.parameters()).dtype == torch.double


def test_plain_networks_have_no_constraints(network):
    model = build(network)
    assert not any("parametrizations" in name for name in model.policy.state_dict())
    assert find_network(network).options.keys() >= {"rank", "areas"}


def test_critic_that_reads_the_activity_leaves_the_actor_alone(network):
    model = build(network, shared=False, critic_reads="activity", hyper={"ent_coef": 0.0, "n_epochs": 1})
    reason = "step of the network is written in torch" if ":" in network else "critic reads the activity of the actor"
    assert model.in_torch == (f"the {reason}" if kernels.available() else "there are no compiled functions")
    actor, critic = model.policy.networks
    assert critic.input_size == 10 and actor.input_size == 3
    model.learn(model.n_steps * model.n_envs)
    rollout = model.rollout_buffer
    values = model.policy.actor().values(rollout.obs[-1], rollout.state(rollout.n_steps - 1))
    assert np.isfinite(values).all() and np.ptp(values) > 0
    experience = model.gradients()
    model.loss = lambda batch: (
        model.policy.evaluate_sequences(batch.sequences, batch.actions)[0].sum(),
        torch.zeros(1),
    )
    gradient, _ = experience(cut(rollout.starts[:-1]))
    pieces = dict(
        zip(
            [name for name, _ in model.policy.named_parameters()],
            gradient.split([p.numel() for p in model.policy.parameters()]),
            strict=True,
        )
    )
    assert all((piece == 0).all() for name, piece in pieces.items() if name.startswith("lstm_actor"))
    assert any((piece != 0).any() for name, piece in pieces.items() if name.startswith("lstm_critic"))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"rank": 2, "inhibitory": 0.2}, "rank and inhibitory"),
        ({"rank": 11}, "more than the 10 units"),
        ({"random": 1.0}, "random needs rank"),
        ({"fixed": ["inputs"]}, "did you mean 'input'"),
        ({"mask": [[1, 0], [0, 1]]}, "mask must be 10 x 10"),
        ({"mask": [[2.0]]}, "zeros and ones"),
        ({"inhibitory": 0.01}, "leaves one population empty"),
        ({"areas": {"A": {"units": 4, "input": True, "output": True}}}, "4 units altogether, but --units is 10"),
        ({"areas": {"A": {"units": 10, "input": True}}}, "no area has outputs"),
        ({"areas": {"A": {"units": 10, "input": [7], "output": True}}}, "no input channel 7"),
        ({"areas": {"A": {"units": 10, "input": True, "output": True, "from": {"B": 1}}}}, "unknown source"),
        ({"areas": {"A": {"units": 10, "inputs": True}}}, "did you mean 'input'"),
        ({"areas": {"A": {"units": 10, "input": ["dots"], "output": True}}}, "input must be numbers of channels"),
        ({"areas": AREAS, "layers": 2}, "single layer"),
        ({"readout": [8, "x"]}, "readout must be numbers of units, as in 64/32, not 'x'"),
        ({"readout": [0]}, "not '0'"),
        ({"critic_reads": "activity"}, "shared=false"),
    ],
)
def test_contradictions_are_refused_in_a_line(wrong, says):
    with pytest.raises((UserError, ValueError), match=says):
        build("gru", **wrong)


def test_cells_without_separate_matrices_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    joint = OWN.replace(
        "self.recur, self.bias = draw(inputs, units), draw(units, units)",
        "self.recur, self.bias = draw(inputs, units), draw(units + 3, units)",
    )
    (tmp_path / "own.py").write_text(
        joint.replace("h @ self.recur + slow @ self.up", "torch.cat([h, slow], 1) @ self.recur")
    )
    build("own.py:Own", input_density=0.5)
    with pytest.raises(UserError, match="no matrix of its own for recurrent activity"):
        build("own.py:Own", density=0.5)


def test_masks_are_kept_exactly():
    mask = np.eye(10)[::-1]
    model = build("rnn", mask=mask.tolist(), output_mask=[1] * 5 + [0] * 5, input_mask=[[1, 0, 0]] * 10)
    net = model.policy.networks[0]
    assert ((recurrent(net)[0] != 0).numpy() == mask.astype(bool)).all()
    assert not model.policy.action_net.weight[:, 5:].any() and not parts(net, "input")[0][:, 1:].any()


def connections(tmp_path, names="abcdefghij", **changes):
    """File of the connections of ten regions, and their first weights."""
    rng = np.random.default_rng(3)
    weights = (rng.random((10, 10)) < 0.4) * rng.uniform(0.1, 0.5, (10, 10)) * (1 - np.eye(10))
    path = tmp_path / "weights.csv"
    rows = [",".join(names), *(",".join(f"{value:.9g}" for value in row) for row in weights)]
    path.write_text("\n".join(rows))
    return str(path), weights.astype(np.float32)


@pytest.mark.parametrize("alg", ["recurrent_ppo", pytest.param("supervised", marks=pytest.mark.long)])
def test_a_connectome_from_a_file_is_where_learning_begins_and_its_mask_is_kept(network, alg, tmp_path):
    path, weights = connections(tmp_path)
    settings = {"task": "RDM-v0", "alg": alg, "network": network, "network_args": {"connectome": path}}
    config = prepare(from_dict({**settings, "timesteps": 1_000}))[0]
    assert config.units == 10 and Structure.of(config.network_args).connectome["names"] == list("abcdefghij")
    (tmp_path / "weights.csv").unlink()  # the configuration holds the connections
    with closing(build_venv(config, config.n_envs)) as venv:
        model = build_model(from_dict(config.model_dump(exclude_none=True)), venv)
        net = model.policy.networks[0]
        before = [np.abs(matrix.numpy()) for matrix in recurrent(net)]
        assert before and all(np.allclose(matrix, weights) for matrix in before)
        model.learn(1_000)
    for matrix, first in zip(recurrent(net), before, strict=True):
        assert not matrix.numpy()[weights == 0].any()
        assert not np.allclose(np.abs(matrix.numpy()), first)


def test_forms_of_a_connectome(tmp_path):
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((3, 3)) * (rng.random((3, 3)) < 0.7)
    expected = ("V1", "V2", "PFC")
    (tmp_path / "rows.csv").write_text(
        "\n".join(
            [",V1,V2,PFC", *(f"{name}," + ",".join(map(str, row)) for name, row in zip(expected, weights, strict=True))]
        )
    )
    np.savez(tmp_path / "all.npz", weights=weights, mask=np.ones((3, 3)), names=["V1", "V2", "PFC"])
    np.savez(tmp_path / "mask.npz", mask=np.eye(3, dtype=bool))
    (tmp_path / "binary.csv").write_text("0,1\n1,0\n")
    rows, every, mask, binary = (
        from_table(as_table(str(tmp_path / name))) for name in ("rows.csv", "all.npz", "mask.npz", "binary.csv")
    )
    assert np.array_equal(rows.weights, weights.astype(np.float32)) and rows.names == expected == every.names
    assert np.array_equal(rows.mask, weights != 0) and every.mask.all() and np.array_equal(every.weights, rows.weights)
    assert np.array_equal(mask.mask, np.eye(3)) and mask.weights is None and not mask.names
    assert np.array_equal(binary.mask, [[0, 1], [1, 0]]) and binary.weights is None


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("none.csv", None, "none.csv: No such file"),
        ("a.mat", "", "must be a file .npz or .csv, not '"),
        ("a.csv", "a,b\n1,2\n", "weights must be a square matrix .to, from., not 1 x 2"),
        ("a.csv", "a,b,c\n1,2\n3,4\n", "expected 2 different names of regions, got 3"),
        ("a.csv", "a,b\n1,2\n3\n", "row 2 has 1 entries, expected 2"),
        ("a.csv", "a,b\n1,nan\n3,4\n", "weights must be finite numbers"),
        ("a.csv", "a,b\n1,x\n3,4\n", "row 1 has 'x', expected a number"),
        ("a.csv", "a,a\n1,2\n3,4\n", "expected 2 different names of regions, got 1"),
        ("a.csv", ",a,b\na,1,2\nc,3,4\n", "row 2 is named 'c', not 'b' as its column"),
        ("a.csv", "a,b\n0,0\n0,0\n", "there is no connection"),
        ("a.csv", "", "weights must be a square matrix"),
        ("a.npz", {"weigths": np.eye(2)}, "unknown array of .*did you mean 'weights'"),
        ("a.npz", {"names": ["a"]}, "expected an array weights"),
        ("a.npz", {"weights": np.eye(2) * 3, "mask": np.zeros((2, 2))}, "there is no connection"),
        ("a.npz", {"weights": np.eye(2) * 3, "mask": 1 - np.eye(2)}, "no connection that the mask has not"),
        ("a.npz", {"weights": np.array([["a"]])}, "weights must be finite numbers"),
        ("a.npz", "no archive", "a.npz: "),
    ],
)
def test_a_file_without_connections_is_refused_in_a_line(tmp_path, name, content, says):
    if isinstance(content, dict):
        np.savez(tmp_path / name, **content)
    elif content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=says) as error:
        as_table(str(tmp_path / name))
    assert "\n" not in str(error.value)


def test_a_connectome_that_does_not_fit_is_refused(tmp_path):
    path, weights = connections(tmp_path)
    connectome = as_table(path)
    for network, wrong, says in (
        ("rnn", {"rank": 2}, "rank and connectome"),
        ("rnn", {"mask": np.eye(10).tolist()}, "mask and connectome"),
        ("rnn", {"connectome": {**connectome, "units": 9}}, "is damaged"),
        ("rnn", {"connectome": {**connectome, "weights": "eJw="}}, "is damaged"),
    ):
        with pytest.raises(UserError, match=says):
            build(network, **{"connectome": connectome, **wrong})
    np.savez(tmp_path / "signed.npz", weights=-weights)
    with pytest.raises(UserError, match="weights from unit 0 have not the sign of the unit"):
        build("ei_rnn", connectome=as_table(str(tmp_path / "signed.npz")))
    np.savez(tmp_path / "small.npz", weights=weights[:4, :4])
    with pytest.raises(UserError, match=r"connectome must be 10 x 10 \(to, from\), not 4 x 4"):
        build("gru", connectome=as_table(str(tmp_path / "small.npz")))


@pytest.mark.parametrize("alg", ["recurrent_ppo", pytest.param("supervised", marks=pytest.mark.long)])
def test_the_smallest_weights_are_pruned_and_do_not_return(network, alg):
    settings = {"task": "RDM-v0", "alg": alg, "network": network, "units": 10, "timesteps": 2_000}
    config = prepare(from_dict({**settings, "network_args": {"prune": "magnitude:0.6:by=1000"}}))[0]
    with closing(build_venv(config, config.n_envs)) as venv:
        model = build_model(config, venv)
        net = model.policy.networks[0]
        assert bool(model.in_torch) == (":" in network or not kernels.available())
        before = [matrix.clone() for matrix in [*recurrent(net), *parts(net, "input")]]
        constraints.prune(model.policy, 0.3)
        pruned = [matrix == 0 for matrix in [*recurrent(net), *parts(net, "input")]]
        for matrix, first, gone in zip([*recurrent(net), *parts(net, "input")], before, pruned, strict=True):
            assert gone.any() and first[gone].abs().mean() < 0.5 * first[~gone].abs().mean()
            assert torch.equal(matrix[~gone], first[~gone])
        model.learn(2_000, callback=PruningCallback(pruning.parse(config.network_args["prune"])))
    for matrix, gone in zip([*recurrent(net), *parts(net, "input")], pruned, strict=True):
        assert (matrix[gone] == 0).all()
    for weights in net.connections():
        if weights.kind != "bias":
            assert (weights.tensor == 0).float().mean() == pytest.approx(0.6, abs=0.01)


def test_a_schedule_of_pruning_rises_to_its_end():
    schedule = pruning.parse(pruning.complete("magnitude:0.9", 1000))
    assert schedule == (0.9, 500)
    shares = [schedule.at(step) for step in (0, 100, 250, 500, 10_000)]
    assert shares == sorted(shares) and shares[0] == 0 and shares[-2:] == [0.9, 0.9]
    assert shares[2] == pytest.approx(0.9 * (1 - 0.5**3))  # Zhu & Gupta 2017, equation 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("magnitud:0.9", "did you mean 'magnitude'"),
        ("magnitude", "needs a method and a final sparsity, as in"),
        ("magnitude:1", "sparsity of prune must be above 0 and below 1, not 1"),
        ("magnitude:0.5:buy=3", "did you mean 'by'"),
        ("magnitude:0.5:by=x", "'x' is not a whole number"),
        ("magnitude:0.5:by=0", "must be a step of the training"),
        ("magnitude:0.5:by=2e5", "by=200,000 must be a step of the training, which has 1,000"),
    ],
)
def test_a_schedule_that_cannot_be_read_is_refused(text, says):
    with pytest.raises(UserError, match=says):
        pruning.complete(text, 1000)


def test_spectral_radius_is_what_was_asked_for(network):
    model = build(network, radius=0.7)
    for matrix in recurrent(model.policy.networks[0]):
        assert torch.linalg.eigvals(matrix).abs().max() == pytest.approx(0.7, rel=1e-3)


@pytest.mark.parametrize("alg", ["recurrent_ppo", "recurrent_a2c", "reinforce"])
def test_penalties_act_under_learning_from_reward(alg):
    def rates(**penalties):
        model = build("ctrnn", alg, hyper={"learning_rate": 5e-3, **penalties})
        model.learn(20 * model.n_steps * model.n_envs)
        assert bool(model.in_torch) == ("participation" in penalties or not kernels.available())
        net = model.policy.networks[0]
        activity = torch.from_numpy(model.rollout_buffer.states[0][1:, -1].reshape(-1, 10))
        return (
            float(activity.square().mean()),
            float(participation(activity)),
            sum(m.abs().sum().item() for m in net.matrices()),
        )

    plain = rates()
    assert rates(l2_rate=50.0)[0] < 0.7 * plain[0]
    assert rates(participation=50.0)[1] < plain[1] < rates(participation=-50.0)[1]
    assert rates(l1_weight=50.0)[2] < 0.9 * plain[2]


def test_participation_and_silent_units():
    wide = torch.randn(20_000, 10, generator=torch.Generator().manual_seed(0))
    assert participation(wide).item() == pytest.approx(10, rel=0.02)
    assert participation(wide[:, :1].expand(-1, 10)).item() == pytest.approx(1, rel=1e-4)
    assert silent_units(np.concatenate([np.zeros((4, 3, 2)), np.ones((4, 3, 5))], -1)) == 2


@pytest.mark.parametrize("alg", ["recurrent_ppo", "supervised"])
def test_preferences_over_angles_are_a_few_harmonics_before_and_after_learning(alg):
    settings = {"task": "AntiReach-v0", "alg": alg, "network_args": {"ring": 3}, "units": 10, "timesteps": 4_000}
    config, properties = prepare(from_dict(settings))
    with closing(build_venv(config, config.n_envs)) as venv:
        model = build_model(config, venv)
        before = model.policy.action_net.weight.detach().clone()
        model.learn(4_000)
    weight, bias = model.policy.action_net.weight.detach(), model.policy.action_net.bias.detach()
    assert not torch.equal(weight, before)
    ring = properties.action_space.name["choice"]
    for rows in (weight[ring], bias[ring][:, None]):
        power = torch.fft.rfft(rows, dim=0).abs().square().sum(1)
        assert power[4:].sum() < 1e-8 * power.sum()
    assert torch.linalg.matrix_rank(weight[ring], atol=1e-5) == 7


def test_a_ring_needs_angles():
    for task, ring, says in (("GoNogo-v0", 1, "no 4 or more actions"), ("AntiReach-v0", 20, "at most 15 harmonics")):
        config = prepare(from_dict({"task": task, "network_args": {"ring": ring}}))[0]
        with closing(build_venv(config, 1)) as venv, pytest.raises(UserError, match=says):
            build_model(config, venv)
