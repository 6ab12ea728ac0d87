"""The learner computes what a naive step-by-step one would, and learns."""

import numpy as np
import pytest
import torch
from stable_baselines3.common.callbacks import BaseCallback

import neurogym as ngym
from neurogym import kernels
from neurogym.vector import make_vec
from neurogym.wrappers import wrapper_class
from ngym_cli.agents.algorithms.objective import LossCoefficients, Minibatch, action_value_loss
from ngym_cli.agents.algorithms.recurrent_ppo import RecurrentPPO
from ngym_cli.agents.algorithms.rollout import Experience
from ngym_cli.agents.algorithms.sb3 import TrialVecEnv
from ngym_cli.agents.from_config import make_model
from ngym_cli.agents.networks import NETWORKS
from ngym_cli.agents.sequences import cut, minibatches

RECURRENT = [name for name, spec in NETWORKS.items() if spec.recurrent and not spec.spatial]


def build(env, network="lstm", seed=0, network_args=None, algorithm="recurrent_ppo", **hyperparameters):
    if algorithm == "recurrent_ppo":
        hyperparameters = {"n_steps": 24, "batch_size": 48, "n_epochs": 2, **hyperparameters}
    return make_model(algorithm, env, network, 16, network_args, hyperparameters, seed=seed, device="cpu")


def before_update(model, check, rollouts=3):
    """Learn for some rollouts and call `check` before each update."""
    train = model.train

    def checked():
        check()
        train()

    model.train = checked
    model.learn(rollouts * model.n_steps * model.n_envs)


@pytest.mark.parametrize("bptt", [None, 3])
@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("network", RECURRENT)
def test_recomputed_log_probs_are_those_of_the_rollout(recall, network, reset, bptt):
    options = {"noise": 0.1} if "noise" in NETWORKS[network].defaults else {}
    model = build(recall(reset=reset), network, network_args={"layers": 2, **options}, bptt=bptt)
    checked = []

    def check():
        experience = Experience(model.rollout_buffer, model.device)
        for array in minibatches(cut(model.rollout_buffer.starts[:-1], bptt), 3, np.random.default_rng(0)):
            batch = next(experience.minibatches(array, False))
            values, log_probs, _ = model.policy.evaluate_sequences(batch.sequences, batch.actions)
            counts = batch.weight > 0
            torch.testing.assert_close(log_probs[counts], batch.log_probs[counts], atol=1e-5, rtol=0)
            torch.testing.assert_close(values[counts], batch.values[counts], atol=1e-5, rtol=0)
            checked.append(counts.sum().item())

    before_update(model, check)
    assert sum(checked) == 3 * 24 * 6


@pytest.mark.parametrize("box", [False, True])
@pytest.mark.parametrize("shared", [True, False])
def test_gradients_equal_a_step_by_step_reference(recall, box, shared):
    """A loop over single steps with torch's own cells and distributions, zeroing the state where it resets."""
    model = build(recall(box=box), network_args={"shared": shared}, ent_coef=0.02)
    policy, rollout = model.policy, model.rollout_buffer

    def reference():
        cells = []
        for net in policy.networks:
            cell = torch.nn.LSTMCell(3, 16)
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                delattr(cell, name)
                setattr(cell, name, getattr(net, f"{name}_l0"))
            cells.append(cell)
        states = [
            tuple(torch.from_numpy(array[0, 0]) for array in rollout.states[i : i + 2]) for i in (0, 2)[: len(cells)]
        ]
        log_probs, entropies, values = [], [], []
        for t in range(24):
            keep = torch.from_numpy(~rollout.starts[t]).float()[:, None]
            obs = torch.from_numpy(rollout.obs[t])
            states = [cell(obs, (h * keep, c * keep)) for cell, (h, c) in zip(cells, states, strict=True)]
            out = policy.action_net(states[0][0])
            actions = torch.from_numpy(rollout.actions[t])
            if box:
                law = torch.distributions.Independent(torch.distributions.Normal(out, policy.log_std.exp()), 1)
            else:
                law = torch.distributions.Categorical(logits=out)
            log_probs.append(law.log_prob(actions))
            entropies.append(law.entropy())
            values.append(policy.value_net(states[-1][0])[:, 0])
        advantages = torch.from_numpy(rollout.advantages)
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        ratio = (torch.stack(log_probs) - torch.from_numpy(rollout.log_probs)).exp()
        gain = torch.min(advantages * ratio, advantages * ratio.clamp(0.8, 1.2)).mean()
        error = (torch.from_numpy(rollout.returns) - torch.stack(values)).pow(2).mean()
        return -gain - 0.02 * torch.stack(entropies).mean() + 0.5 * error

    def check():
        with torch.no_grad():  # away from the rollout's weights, so that some ratios are clipped
            for parameter in policy.parameters():
                parameter += 0.05 * torch.randn_like(parameter)
        gradients = []
        segments = cut(rollout.starts[:-1])
        batch = next(Experience(rollout, model.device).minibatches(segments, True))
        for loss in (model.loss(batch)[0], reference()):
            gradients.append(policy.gradient(loss))
        torch.testing.assert_close(*gradients, atol=1e-5, rtol=1e-3)

    before_update(model, check)


@pytest.mark.parametrize(
    ("algorithm", "network"), [("recurrent_ppo", "lstm"), ("recurrent_a2c", "gru"), ("reinforce", "ei_rnn")]
)
def test_same_seed_same_weights(recall, algorithm, network):
    options = {"noise": 0.1} if network == "ei_rnn" else {}

    def weights(seed):
        model = build(recall(), network, seed, options, algorithm, n_steps=24)
        return model.learn(600).policy.state_dict()

    first, again, another = weights(1), weights(1), weights(2)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not all(torch.equal(first[name], another[name]) for name in first)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        *((name, 2, "0 to 1") for name in ("gamma", "gae_lambda", "inter_trial_discount")),
        ("bptt", 0, "at least 1"),
    ],
)
def test_settings_out_of_range_are_refused(recall, name, value, expected):
    with pytest.raises(ValueError, match=f"{name} must be {expected}, not {value}"):
        build(recall(), **{name: value})


@pytest.mark.parametrize(
    ("algorithm", "box"),
    [
        ("recurrent_ppo", False),
        *(
            pytest.param(algorithm, box, marks=pytest.mark.slow)
            for algorithm in ("recurrent_ppo", "recurrent_a2c", "reinforce")
            for box in (False, True)
            if (algorithm, box) != ("recurrent_ppo", False)
        ),
    ],
)
def test_learns_to_remember(recall, algorithm, box):
    env = recall(n_envs=32, box=box)
    speed = {"recurrent_ppo": 1e-2, "recurrent_a2c": 3e-3, "reinforce": 1e-2}[algorithm]
    model = build(env, algorithm=algorithm, n_steps=24, learning_rate=speed, gamma=0.99)
    model.learn(60_000 if algorithm == "recurrent_ppo" else 120_000)
    assert np.mean(env.finished[-500:]) > (0.5 if box else 0.9)


def test_reinforce_learns_from_finished_trials_only(recall):
    model = build(recall(), algorithm="reinforce", n_steps=24, gamma=1.0)

    def check():
        rollout = model.rollout_buffer
        for env in range(6):
            ends = np.flatnonzero(rollout.starts[1:, env])
            assert rollout.counts[: ends[-1] + 1, env].all()
            assert not rollout.counts[ends[-1] + 1 :, env].any()
            begin = 0
            for end in ends:  # the return is what the rest of the trial pays
                rest = rollout.rewards[begin : end + 1, env][::-1].cumsum()[::-1]
                np.testing.assert_allclose(rollout.returns[begin : end + 1, env], rest, atol=1e-5)
                begin = end + 1

    before_update(model, check)


def test_the_update_reports_what_is_not_finite(recall):
    model = build(recall())
    with torch.no_grad():
        model.policy.value_net.bias.fill_(float("nan"))
    with pytest.raises(FloatingPointError, match=r"step 144 .* value_loss nan"):
        model.learn(144)


def test_works_as_a_stable_baselines_model(recall, tmp_path):
    events = []

    class Record(BaseCallback):
        def _on_rollout_start(self):
            events.append("start")

        def _on_step(self):
            events.append("step")
            assert len(self.locals["dones"]) == 6
            return self.num_timesteps < 300

    model = build(recall())
    model.learn(10_000, callback=Record())
    assert events[:25] == ["start", *["step"] * 24]
    assert model.num_timesteps == 300
    assert "train/approx_kl" in model.logger.name_to_value
    model.save(tmp_path / "model.zip")
    again = RecurrentPPO.load(tmp_path / "model.zip", env=recall(), device="cpu")
    obs = np.ones((4, 3), np.float32)
    np.testing.assert_array_equal(model.predict(obs, deterministic=True)[0], again.predict(obs, deterministic=True)[0])
    again.learn(200)


def test_target_kl_stops_the_epochs(recall):
    free, bound = (build(recall(), n_epochs=10, learning_rate=0.01, target_kl=kl) for kl in (None, 1e-6))
    assert bound.learn(144).updates < free.learn(144).updates == 10


def test_preferences_become_differences_of_returns_divided_by_the_temperature():
    """Two of three actions are worth almost the same, which the gradient of the policy would take long to tell."""
    returns = torch.tensor([0.0, 0.40, 0.43])
    logits, values = torch.zeros(1, 3, requires_grad=True), torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([logits, values], lr=0.5)
    coefficients = LossCoefficients(False, 0.2, np.inf, 0.0, 0.5)
    actions, ones = torch.arange(3), torch.ones(3)
    for _ in range(2_000):
        with torch.no_grad():
            weight = torch.softmax(logits, -1)[0]
        batch = Minibatch(None, actions, weight, torch.log(weight), ones, returns, ones, actions)
        loss, numbers = action_value_loss(logits.expand(3, 3), values.expand(3), batch, coefficients, 0.05)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert (logits[0, 2] - logits[0, 1]).item() == pytest.approx(0.03 / 0.05, abs=0.02)
    assert values.item() == pytest.approx((weight * returns).sum().item(), abs=0.01)
    assert numbers[:2].abs().max() < 1e-2


def test_action_values_are_learned_by_torch_from_discrete_actions(recall):
    model = build(recall(), value_temperature=0.05)
    assert model.in_torch == "the objective is not the usual one"
    before = {name: tensor.clone() for name, tensor in model.policy.state_dict().items()}
    model.learn(600)
    assert any(not torch.equal(before[name], tensor) for name, tensor in model.policy.state_dict().items())
    with pytest.raises(ValueError, match="value_temperature needs actions to choose from"):
        build(recall(box=True), value_temperature=0.05)


def foraging_without_rewards():
    """Sessions in which nothing is paid, so that only correct actions can be learned from."""
    rewards = dict.fromkeys(("abort", "correct", "fail"), 0.0)

    def single():
        return wrapper_class("pass_action")(ngym.make("DynamicForaging-v0", rewards=rewards))

    venv = TrialVecEnv(make_vec(single, 8), "never")
    venv.seed(0)
    return venv


@pytest.mark.parametrize(("imitation", "learned"), [(0.0, False), (1.0, True)])
def test_imitation_teaches_correct_actions_where_trials_depend_on_the_agent(imitation, learned):
    settings = {"n_steps": 32, "batch_size": 256, "learning_rate": 0.01}
    model = build(foraging_without_rewards(), imitation=imitation, **settings)
    waits_when_due = []

    def check():
        rollout = model.rollout_buffer
        waits_when_due.append(np.mean((rollout.actions == 0) == (rollout.obs[..., 0] > 0)))

    before_update(model, check, 40)
    assert (np.mean(waits_when_due[-5:]) > 0.95) == learned


@pytest.mark.skipif(not kernels.available(), reason="no compiled functions are built")
@pytest.mark.parametrize(
    "objective",
    [{"imitation": 0.5}, {"l1_rate": 0.3, "l2_rate": 0.2}, {"l2_rate": 0.2, "l1_weight": 0.5, "l2_weight": 0.4}],
    ids=str,
)
def test_penalties_and_imitation_are_learned_as_in_torch(objective):
    weights, penalties = [], []
    for form, options in ((kernels.variant(), objective), (kernels.PLAIN, objective), (kernels.PLAIN, {})):
        with kernels.use(form):
            model = build(foraging_without_rewards(), **options)
            assert bool(model.in_torch) == (form == kernels.PLAIN)
            model.learn(2 * model.n_steps * model.n_envs)
        weights.append(torch.nn.utils.parameters_to_vector(model.policy.parameters()))
        penalties.append(model.logger.name_to_value.get("train/penalty_loss", 0.0))
    compiled, reference, without = weights
    assert (compiled - reference).norm() < 1e-4 * reference.norm()
    assert (without - reference).norm() > 1e-3 * reference.norm()
    assert penalties[0] == pytest.approx(penalties[1], rel=1e-4)
    assert bool(penalties[0]) == ("imitation" not in objective)


def test_imitation_needs_correct_discrete_actions(recall):
    with pytest.raises(ValueError, match="imitation needs actions to choose from"):
        build(recall(box=True), imitation=1.0)
    with pytest.raises(ValueError, match="choose one of them"):
        build(recall(), imitation=1.0, value_temperature=0.05)
    with pytest.raises(ValueError, match="Bandit has no ground truth"):
        build(TrialVecEnv(make_vec(lambda: ngym.make("Bandit-v0"), 2), "never"), imitation=1.0)
