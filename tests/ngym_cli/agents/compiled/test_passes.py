"""Every variant of the compiled passes acts and finds gradients as agents in NumPy and torch do."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neurogym import kernels
from ngym_cli import processes
from ngym_cli.agents.algorithms.compiled_learner import CompiledLearner
from ngym_cli.agents.algorithms.objective import STATISTICS
from ngym_cli.agents.from_config import make_model
from ngym_cli.agents.networks import NETWORKS
from ngym_cli.agents.sequences import cut, minibatches
from ngym_cli.agents.supervised.objective import SupervisedKernel

VARIANTS = [name for name in kernels.runnable() if name != kernels.PLAIN]
RECURRENT = [name for name, spec in NETWORKS.items() if spec.recurrent and not spec.spatial]
NOISY = [name for name in RECURRENT if "noise" in NETWORKS[name].defaults]
TASKS = {False: "ContextDecisionMaking-v0", True: "ReachingDelayResponse-v0"}
pytestmark = pytest.mark.skipif(not VARIANTS, reason="no compiled functions are built")
#: Fixtures of these tests only hold classes and functions.
examples = settings(
    deadline=None, max_examples=40, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

#: Networks with their options.
agents = st.fixed_dictionaries(
    {
        "network": st.sampled_from(RECURRENT),
        "units": st.sampled_from([3, 8, 21, 40]),
        "layers": st.integers(1, 3),
        "shared": st.booleans(),
        "readout": st.sampled_from([None, [8], [40, 5]]),
        "noise": st.sampled_from([0.0, 0.1]),
    }
)


def options_of(agent):
    """Return name, units and arguments of a network."""
    arguments = {"layers": agent["layers"], "shared": agent["shared"]}
    if agent["readout"]:
        arguments["readout"] = agent["readout"]
    if agent["network"] in NOISY and agent["noise"]:
        arguments["noise"] = agent["noise"]
    if agent["network"] == "ei_rnn":
        arguments["inhibitory"] = 0.34
    return agent["network"], agent["units"], arguments


def build(env, agent, **hyperparameters):
    """Make a learner of rollouts of 24 steps."""
    options = {"n_steps": 24, **hyperparameters}
    return make_model("recurrent_ppo", env, *options_of(agent), options, seed=0, device="cpu")


def assert_gradients_close(ours, reference, name, tolerance=2e-5):
    scale = max(1.0, reference.abs().max().item())
    torch.testing.assert_close(ours / scale, reference / scale, atol=tolerance, rtol=1e-5, msg=lambda m: f"{name}: {m}")


@examples
@given(
    agent=agents,
    box=st.sampled_from([False, True, 2]),
    reset=st.booleans(),
    bptt=st.sampled_from([None, 5]),
    n_minibatches=st.integers(1, 4),
    clip_range_vf=st.sampled_from([None, 0.02]),
    drift=st.sampled_from([0.0, 0.1]),  # with more, rounding grows from step to step
    penalties=st.sampled_from([{}, {"l2_rate": 0.2}, {"l1_rate": 0.3, "l2_rate": 0.2}]),
    imitation=st.sampled_from([0.0, 0.7]),
)
def test_ppo_gradients_are_those_of_torch(
    recall, agent, box, reset, bptt, n_minibatches, clip_range_vf, drift, penalties, imitation
):
    options = {"ent_coef": 0.02, "bptt": bptt, "clip_range_vf": clip_range_vf, **penalties}
    model = build(recall(box=box, reset=reset), agent, **options)
    model.learn(model.n_steps * model.n_envs)
    if imitation and not box:
        model.imitation = imitation
        model.rollout_buffer.correct[:] = np.random.default_rng(0).integers(0, 3, model.rollout_buffer.correct.shape)
    with torch.no_grad():  # away from the rollout's weights, so that some ratios and values are clipped
        for parameter in model.policy.parameters():
            parameter += drift * torch.randn_like(parameter)
    segments, coefficients = cut(model.rollout_buffer.starts[:-1], bptt), model.coefficients()
    for minibatch in minibatches(segments, n_minibatches, np.random.default_rng(0)):
        with kernels.use(kernels.PLAIN):
            gradient, numbers = model.gradients()(minibatch)
        for name in VARIANTS:
            with kernels.use(name):
                fused = CompiledLearner(model.policy, model.rollout_buffer).gradient(minibatch, coefficients)
                differentiated = model.gradients()(minibatch)
            for result, statistics in (fused, differentiated):
                # The slope of |h| jumps at 0, where rounding decides about the sign of h.
                assert_gradients_close(result, gradient, name, 1e-4 if "l1_rate" in penalties else 2e-5)
                torch.testing.assert_close(statistics, numbers, atol=2e-6, rtol=1e-5)
                assert len(statistics) == len(STATISTICS)


@examples
@given(agent=agents, box=st.sampled_from([False, True, 2]), reset=st.booleans())
def test_acts_as_the_agent_in_numpy(recall, agent, box, reset):
    rollouts = {}
    for name in [kernels.PLAIN, *VARIANTS]:
        with kernels.use(name):
            model = build(recall(box=box, reset=reset), agent, n_epochs=1)
            assert bool(model.in_torch) == (name == kernels.PLAIN)
            model.learn(model.n_steps * model.n_envs)
            rollouts[name] = model.rollout_buffer
    reference = rollouts.pop(kernels.PLAIN)
    for name, rollout in rollouts.items():
        np.testing.assert_allclose(rollout.actions, reference.actions, atol=2e-5, err_msg=name)
        for column in ("logits", "log_probs", "values", "advantages"):
            ours, expected = getattr(rollout, column), getattr(reference, column)
            np.testing.assert_allclose(ours, expected, atol=2e-5, err_msg=f"{column}, {name}")
        for ours, expected in zip(rollout.states, reference.states, strict=True):
            np.testing.assert_allclose(ours, expected, atol=2e-5, err_msg=name)


@examples
@given(
    agent=agents,
    continuous=st.booleans(),
    reset=st.sampled_from(["trial", "never"]),
    batch_size=st.sampled_from([1, 3, 8, 50]),
    penalties=st.sampled_from([{}, {"l1_rate": 0.3}, {"l2_rate": 0.2, "l1_weight": 0.5, "l2_weight": 0.4}]),
)
def test_supervised_gradients_are_those_of_torch(learner, agent, continuous, reset, batch_size, penalties):
    network, units, arguments = options_of(agent)
    size = {"network": network, "units": units, "network_args": arguments, "batch_size": batch_size}
    model = learner(TASKS[continuous], reset=reset, **size, **penalties)
    material, sequences = model.batch()
    state, carried = model.rng.bit_generator.state, model.carried_state
    rates = model.penalties.l1_rate, model.penalties.l2_rate
    results = {}
    for name in [kernels.PLAIN, *VARIANTS]:
        model.rng.bit_generator.state = state
        model.carried_state = None if carried is None else tuple(array.clone() for array in carried)
        with kernels.use(name):
            model.compiled = None if name == kernels.PLAIN else SupervisedKernel(model.policy, rates)
            gradient, numbers = model.gradient(material, sequences)
        results[name] = gradient.clone(), numbers, model.carried_state or ()
    gradient, numbers, after = results.pop(kernels.PLAIN)
    for name, (ours, sums, states) in results.items():
        # The slope of |h| jumps at 0, where rounding decides about the sign of h.
        assert_gradients_close(ours, gradient, name, 1e-4 if "l1_rate" in penalties else 2e-5)
        torch.testing.assert_close(sums, numbers, atol=3e-6, rtol=1e-5)
        for array, reference in zip(states, after, strict=True):
            torch.testing.assert_close(array, reference, atol=2e-5, rtol=1e-5)


@settings(examples, max_examples=8)
@given(agent=agents, reset=st.booleans(), max_kl=st.sampled_from([np.inf, 1e-3]), shared_acting=st.booleans())
def test_updates_are_the_same_for_any_number_of_threads(recall, agent, reset, max_kl, shared_acting):
    """And an update of several minibatches is what its minibatches are one after the other."""
    worth_sharing = processes.WORTH_SHARING
    for name in VARIANTS:
        results = []
        for n in (1, 3, 20):
            with kernels.use(name), pytest.MonkeyPatch.context() as patch:
                patch.setattr(processes, "WORTH_SHARING", 1 if shared_acting else worth_sharing)
                processes.set_learning_threads(n)
                try:
                    model = build(recall(reset=reset), agent, batch_size=50, n_epochs=2, learning_rate=3e-3)
                    model.target_kl = None if max_kl == np.inf else max_kl
                    if n == 20:
                        patch.setattr(CompiledLearner, "apply", lambda *_: None)
                    for _ in range(2):
                        model.learn(model.n_steps * model.n_envs)
                finally:
                    processes.set_learning_threads(1)
            results.append(torch.nn.utils.parameters_to_vector(model.policy.parameters()))
        assert torch.equal(results[0], results[1])
        assert torch.equal(results[0], results[2])
