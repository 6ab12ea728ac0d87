"""Every network: its gradient, its two forms, its resets and its own promises."""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch

from ngym_cli.agents.defaults import complete_arguments
from ngym_cli.agents.networks import NETWORKS, find_network
from ngym_cli.errors import UserError

RECURRENT = [name for name, spec in NETWORKS.items() if spec.recurrent and not spec.spatial]


def build(name, inputs=3, units=10, layers=1, **options):
    torch.manual_seed(0)
    return find_network(name).load()(inputs, units, layers, **options)


def run_stepper(net, seq, noise=None):
    state = tuple(array.numpy() for array in net.initial_state(seq.shape[1]))
    stepper, tops = net.stepper(), []
    for t, x in enumerate(seq):
        out = tuple(np.empty_like(array) for array in state)
        tops.append(stepper.step(x, state, out, None if noise is None else noise[t]).copy())
        state = out
    return np.stack(tops), state


@pytest.mark.parametrize("name", RECURRENT)
def test_gradients_are_those_of_finite_differences(name):
    net = build(name, units=4, layers=2).double()
    names = [name for name, _ in net.named_parameters()]
    seq = torch.randn(4, 2, 3, dtype=torch.double, requires_grad=True)
    state = tuple(torch.randn(2, 2, 4, dtype=torch.double, requires_grad=True) for _ in range(net.n_states))

    def run(seq, *rest):
        state, weights = rest[: net.n_states], rest[net.n_states :]
        features, last = torch.func.functional_call(net, dict(zip(names, weights, strict=True)), (seq, state))
        return features, *last

    assert torch.autograd.gradcheck(run, (seq, *state, *net.parameters()))


@pytest.mark.parametrize(("name", "reference"), [("lstm", torch.nn.LSTM), ("gru", torch.nn.GRU), ("rnn", torch.nn.RNN)])
def test_equals_torch(name, reference):
    net, expected = build(name), reference(3, 10)
    expected.load_state_dict(net.state_dict())
    seq = torch.randn(7, 4, 3)
    torch.testing.assert_close(net(seq)[0], expected(seq)[0])


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_inputs_of_a_wrong_size_are_refused(name):
    """Torch's LSTM would read beyond the arrays."""
    net = build(name)
    for features, n, says in ((5, 4, "expected 3 features, got 5"), (3, 2, "expected states of 4 sequences, got 2")):
        with torch.no_grad(), pytest.raises(ValueError, match=says):
            net.one_step(torch.zeros(4, features), net.initial_state(n))
        with torch.no_grad(), pytest.raises(ValueError, match=says):
            net.in_torch(torch.zeros(8, features), [4, 4], net.initial_state(n))


def test_leak_follows_the_time_constant():
    """Unconnected units fall to 1/e of where they were within one time constant, whatever the time step."""
    for dt in (10.0, 50.0, 100.0):
        net = build("ctrnn", tau=100.0, dt=dt)
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.zero_()
        features, _ = net(torch.zeros(round(100 / dt), 1, 3), (torch.ones(1, 1, 10),))
        np.testing.assert_allclose(features[-1].detach(), math.exp(-1), rtol=1e-5)


@pytest.mark.parametrize("name", ["ctrnn", "ei_rnn"])
def test_recurrent_noise_is_reproducible_and_the_same_in_both_forms(name):
    net = build(name, noise=0.1)
    seq = np.zeros((20, 8, 3), np.float32)
    draw = [net.draw_noise(20, 8, np.random.default_rng(3)) for _ in range(2)]
    np.testing.assert_array_equal(*draw)
    tops, _ = run_stepper(net, seq, draw[0])
    features, _ = net(torch.from_numpy(seq), noise=torch.from_numpy(draw[0]))
    np.testing.assert_allclose(tops, features.detach().numpy(), atol=1e-5)
    assert np.abs(tops - run_stepper(net, seq)[0]).max() > 0.01
    assert build("rnn").draw_noise(20, 8, np.random.default_rng(3)) is None


def test_signs_hold_after_training():
    net = build("ei_rnn", units=20, inhibitory=0.25)
    optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
    before = net.recurrent_weight(0).detach().clone()
    for _ in range(30):
        optimizer.zero_grad()
        (net(torch.randn(10, 8, 3))[0] - torch.randn(20)).pow(2).mean().backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    after = net.recurrent_weight(0).detach()
    assert not torch.allclose(before, after)
    assert (after[:, :15] >= 0).all()
    assert (after[:, 15:] <= 0).all()
    assert (after.diagonal() == 0).all()


def test_excitation_and_inhibition_balance_at_the_start():
    weight = build("ei_rnn", units=50).recurrent_weight(0).detach()
    excitation, inhibition = weight.clamp_min(0).sum(1), -weight.clamp_max(0).sum(1)
    torch.testing.assert_close(excitation, inhibition)
    assert torch.linalg.eigvals(weight).abs().max().item() == pytest.approx(1.0, rel=1e-3)


def test_gates_begin_with_time_constants_up_to_the_memory():
    torch.manual_seed(0)
    net = build("lstm", units=400, memory=50.0)
    gates = torch.sigmoid(net.bias_ih_l0 + net.bias_hh_l0)
    written, stored = gates[:400], gates[400:800]
    torch.testing.assert_close(written + stored, torch.ones(400))
    steps = 1 / (1 - stored) - 1  # how long a unit holds on, from the share that it keeps each step
    assert 1 <= steps.min() < 2 and 45 < steps.max() <= 50
    assert steps.mean().item() == pytest.approx(25.5, abs=2)


def test_the_update_gates_of_a_gru_begin_alike():
    torch.manual_seed(0)
    net = build("gru", units=400, memory=50.0)
    reset, stored, candidate = (net.bias_ih_l0 + net.bias_hh_l0).split(400)
    steps = torch.exp(stored)  # 1 / (1 - sigmoid(b)) - 1
    assert 1 <= steps.min() < 2 and 45 < steps.max() <= 50
    assert steps.mean().item() == pytest.approx(25.5, abs=2)
    assert not reset.any() and not candidate.any()
    assert net.weight_ih_l0.abs().max() > 10 * net.weight_hh_l0.abs().max()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("lstm", {"memory": 0.5}, "memory must be at least 1, not 0.5"),
        ("gru", {"memory": 0.5}, "memory must be at least 1, not 0.5"),
        ("rnn", {"activation": "sigmoid"}, "expected one of: relu, softplus, tanh"),
        ("ctrnn", {"tau": 0.0}, "tau must be above 0, not 0"),
        ("ctrnn", {"noise": -1.0}, "noise must be at least 0, not -1"),
        ("ei_rnn", {"density": 0.0}, "density must be above 0 and at most 1, not 0"),
    ],
)
def test_options_outside_their_range_are_refused(name, options, message):
    with pytest.raises(UserError, match=message):
        complete_arguments(find_network(name), {}, options)


@pytest.mark.parametrize(("options", "message"), [({"inhibitory": 1.0}, "population"), ({"mask": [[1.0]]}, "10 x 10")])
def test_options_that_do_not_fit_the_units_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        build("ei_rnn", **options)


def test_a_time_constant_beyond_what_numbers_hold_is_refused():
    with pytest.raises(ValueError, match=r"tau=1e\+30 ms is so long"):
        build("ctrnn", tau=1e30)


def test_options_are_completed_and_unknown_ones_refused():
    results = complete_arguments(find_network("ctrnn"), {"dt": 20.0}, {"tau": 50.0, "layers": 2})
    assert results.items() >= {"layers": 2, "shared": True, "readout": []}.items()
    assert results.items() >= {"activation": "relu", "tau": 50.0, "dt": 20.0, "noise": 0.0}.items()
    with pytest.raises(UserError, match="did you mean 'tau'"):
        complete_arguments(find_network("ctrnn"), {}, {"tua": 50.0})
    with pytest.raises(UserError, match="did you mean 'lstm'"):
        find_network("lstn")


def test_tables_do_not_import_torch():
    code = "import sys, ngym_cli.agents.networks, ngym_cli.agents.algorithms; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
