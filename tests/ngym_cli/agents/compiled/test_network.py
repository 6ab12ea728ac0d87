"""The compiled passes compute what the networks compute in torch."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from neurogym import kernels
from ngym_cli import processes
from ngym_cli.agents.networks import NETWORKS, find_network

RECURRENT = [name for name, spec in NETWORKS.items() if spec.recurrent and not spec.spatial]
WITH_OPTIONS = [*((name, {}) for name in RECURRENT), ("ctrnn", {"activation": "softplus"})]
COUNTS = [9, 9, 7, 7, 7, 2, 1]
VARIANTS = [name for name in kernels.runnable() if name != kernels.PLAIN]
pytestmark = pytest.mark.skipif(not VARIANTS, reason="no compiled functions are built")


def build(name, inputs=3, units=21, layers=2, **options):
    torch.manual_seed(0)
    return find_network(name).load()(inputs, units, layers, **options)


def everything(net, run, seq, state, noise, counts=COUNTS):
    """Activity, last states and the gradients of both with respect to inputs, first states and weights."""
    leaves = [seq, *(array.requires_grad_() for array in state), *net.parameters()]
    activity, last = run(seq, counts, state, noise)
    outputs = [activity, *last]
    weights = [torch.linspace(-1, 2, array.numel(), dtype=array.dtype).view_as(array) for array in outputs]
    total = sum((array * weight).sum() for array, weight in zip(outputs, weights, strict=True))
    return [*outputs, *torch.autograd.grad(total, leaves)]


counts_of_sequences = st.lists(st.integers(1, 6), min_size=1, max_size=9).map(
    lambda lengths: [sum(length > t for length in lengths) for t in range(max(lengths))]
)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    kind=st.sampled_from(WITH_OPTIONS),
    units=st.sampled_from([2, 8, 21, 40]),
    layers=st.integers(1, 2),
    counts=counts_of_sequences,
    noise=st.sampled_from([0.0, 0.2]),
)
def test_sequences_and_their_gradients_equal_torchs_in_double_precision(kind, units, layers, counts, noise):
    name, options = kind
    noisy = {"noise": noise} if "noise" in NETWORKS[name].defaults else {}
    sizes = {"inhibitory": 0.5} if name == "ei_rnn" else {}
    net = build(name, units=units, layers=layers, **noisy, **sizes, **options)
    steps, n = sum(counts), counts[0]
    seq = torch.randn(steps, 3, dtype=torch.double)
    state = [torch.randn(layers, n, units, dtype=torch.double) for _ in range(net.n_states)]
    draws = torch.randn(steps, layers, units, dtype=torch.double) if any(noisy.values()) else None

    def results(network, dtype):
        inputs = [array.to(dtype).requires_grad_() for array in (seq, *state)]
        noise_draws = None if draws is None else draws.to(dtype)
        return everything(network, network.sequence, inputs[0], tuple(inputs[1:]), noise_draws, counts)

    exact = results(copy.deepcopy(net).double(), torch.double)
    for variant in VARIANTS:
        with kernels.use(variant):
            single = results(net, torch.float)
        for ours, expected in zip(single, exact, strict=True):
            scale = max(1.0, expected.abs().max().item())
            torch.testing.assert_close(ours.double() / scale, expected / scale, atol=2e-6, rtol=0)


@pytest.mark.parametrize(("name", "options"), WITH_OPTIONS)
def test_without_compiled_functions_nothing_changes_but_the_speed(name, options):
    net = build(name, **options)
    x = np.random.default_rng(0).standard_normal((sum(COUNTS), 3), dtype=np.float32)
    state = net.initial_state(9)
    before = tuple(np.random.default_rng(1).standard_normal(array.shape, dtype=np.float32) for array in state)
    results = []
    for form in (*VARIANTS, kernels.PLAIN):
        with kernels.use(form):
            out = tuple(np.empty_like(array) for array in before)
            net.stepper().step(x[:9], before, out)
            results.append([net.sequence(torch.from_numpy(x), COUNTS, state)[0].detach().numpy(), *out])
    for single in results[:-1]:
        for ours, expected in zip(single, results[-1], strict=True):
            np.testing.assert_allclose(ours, expected, atol=1e-5)


@pytest.mark.parametrize("counts", [COUNTS, [6] * 7, [13], [1, 1, 1]])
@pytest.mark.parametrize("name", RECURRENT)
def test_the_result_is_the_same_for_any_number_of_threads(name, counts, monkeypatch):
    monkeypatch.setattr(processes, "WORTH_SHARING", 1)
    noisy = {"noise": 0.2} if "noise" in NETWORKS[name].defaults else {}
    net = build(name, units=40, **noisy)
    seq = torch.randn(sum(counts), 3)
    state = tuple(torch.randn(2, counts[0], 40) for _ in range(net.n_states))
    noise = torch.randn(sum(counts), 2, 40) if noisy else None
    results = []
    for n in (1, 2, 3, 20):
        processes.set_learning_threads(n)
        try:
            results.append(everything(net, net.sequence, seq.requires_grad_(), state, noise, counts))
        finally:
            processes.set_learning_threads(1)
    for second in results[1:]:
        assert all(map(torch.equal, results[0], second))


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", ["lstm", "gru", "rnn"])
def test_huge_inputs_saturate_and_nan_stays(name):
    net = build(name, layers=1)
    seq = torch.tensor([[1e4, -1e4, 1e4], [-1e6, 1e6, 1e6], [torch.nan, 0, 0], [0, 0, 0]])
    activity, _ = net.sequence(seq, [4], net.initial_state(4))
    assert activity[:2].isfinite().all() and activity[:2].abs().max() <= 1
    assert activity[2].isnan().all()
    torch.testing.assert_close(activity[3], net.sequence(seq[3:], [1], net.initial_state(1))[0][0])


@pytest.mark.usefixtures("compiled")
def test_inputs_may_lie_in_any_order():
    net = build("lstm")
    arrays = [torch.randn(3, 8), *(torch.randn(21, 4, 2) for _ in range(2))]
    seq, *state = (array.permute(*reversed(range(array.ndim))) for array in arrays)
    in_order = [array.contiguous() for array in (seq, *state)]
    for ours, expected in zip(
        everything(net, net.sequence, seq.requires_grad_(), state, None, [4, 4]),
        everything(net, net.sequence, in_order[0].requires_grad_(), in_order[1:], None, [4, 4]),
        strict=True,
    ):
        assert torch.equal(ours, expected)


@pytest.mark.usefixtures("compiled")
def test_going_back_twice_is_refused():
    net = build("lstm")
    activity, _ = net.sequence(torch.randn(5, 3), [5], net.initial_state(5))
    activity.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="once"):
        activity.sum().backward()


@pytest.mark.usefixtures("compiled")
def test_steps_go_into_arrays_that_can_hold_them():
    stepper = build("gru", layers=1).stepper()
    state = (np.zeros((1, 4, 21), np.float32),)
    with pytest.raises(ValueError, match="C-contiguous float32"):
        stepper.step(np.zeros((4, 3), np.float32), state, (np.zeros((1, 4, 21)),))


@pytest.mark.usefixtures("compiled")
def test_what_does_not_fit_is_refused():
    """The compiled pass would read beyond the arrays."""
    net = build("gru", layers=1)
    state = (np.zeros((1, 4, 21), np.float32),)
    for shape in [(4, 2), (5, 3), (4, 4)]:
        with pytest.raises(ValueError, match=r"fit|packed"):
            net.stepper().step(np.zeros(shape, np.float32), state, (state[0].copy(),))
    for counts in ([4, 3], [3, 5], [5, 3], [4, 2**62, 2**62], [4, 4, 0], [9, -1], []):
        with pytest.raises(ValueError, match="not packed"):
            net.sequence(torch.zeros(8, 3), counts, net.initial_state(4))
    with pytest.raises(ValueError, match="expected 3 features, got 2"):
        net.sequence(torch.zeros(8, 2), [4, 4], net.initial_state(4))
