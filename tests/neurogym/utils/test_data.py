"""Batches for supervised learning."""

import copy

import numpy as np
import pytest

import neurogym as ngym
from neurogym import wrappers as w
from neurogym.compat.leniency import LeniencyWarning
from neurogym.sampling.scheduler import RandomSchedule
from neurogym.utils.data import Dataset


def rdm(**kwargs):
    timing = {"fixation": 100, "stimulus": ("uniform", (200, 600)), "decision": 100}
    return ngym.make("PerceptualDecisionMaking-v0", **{"timing": timing, **kwargs})


def test_seeds_decide_everything() -> None:
    def batches(seed):
        dataset = Dataset(rdm(), batch_size=4, seq_len=50, seed=seed)
        return [dataset()[0] for _ in range(5)]

    assert np.array_equal(batches(1), batches(1)) and not np.array_equal(batches(1), batches(2))
    dataset = Dataset(rdm(), batch_size=4, seq_len=50)
    dataset.seed(1)
    assert np.array_equal([dataset()[0] for _ in range(5)], batches(1))
    first = batches(1)[0]
    assert len({first[:, b].tobytes() for b in range(4)}) == 4


def test_windows_are_complete_and_the_callers_own() -> None:
    dataset = Dataset(rdm(), batch_size=2, seq_len=20, seed=3, cache_len=100)
    saved = [dataset()[0] for _ in range(30)]
    before = copy.deepcopy(saved)
    saved[0][:] = 7
    assert np.array_equal(saved[1:], before[1:])
    uninterrupted = Dataset(rdm(), batch_size=2, seq_len=600, seed=3, cache_len=100)()[0]
    assert np.array_equal(np.concatenate(before), uninterrupted)  # nothing is left out between windows


def test_rows_are_those_of_the_trials() -> None:
    batch = Dataset(rdm(sigma=0), batch_size=3, seq_len=200, seed=0).sample()
    decision = batch.period == 3
    assert np.all((batch.targets != 0) == decision) and np.all(batch.inputs[decision] == 0)
    assert np.all(batch.inputs[batch.starts] == [1, 0, 0]) and batch.mask.all()
    assert np.all(batch.period[batch.starts] == 0)


def test_layout_and_iteration() -> None:
    dataset = Dataset(
        "PerceptualDecisionMaking-v0", {"dt": 50}, batch_size=5, seq_len=30, max_batch=3, batch_first=True
    )
    assert [len(list(dataset)) for _ in range(2)] == [3, 3] and len(dataset) == 3
    inputs, targets = next(dataset)
    assert inputs.shape == (5, 30, 3) and targets.shape == (5, 30) and dataset.env.unwrapped.dt == 50
    assert Dataset(rdm(), max_batch=None, seq_len=5) and Dataset(rdm())()[0].shape[0] == 1000
    with pytest.raises(TypeError):
        len(Dataset(rdm()))


def test_a_data_loader_can_index_it() -> None:
    dataset = Dataset(rdm(), batch_size=2, seq_len=10, max_batch=4, seed=5)
    direct = [dataset[i][0] for i in range(4)]
    assert np.array_equal(direct[2], copy.deepcopy(dataset)[2][0]) and not np.array_equal(direct[0], direct[1])
    with pytest.raises(IndexError):
        dataset[4]


def test_whole_trials_padded() -> None:
    dataset = Dataset(rdm(), batch_size=16, aligned=True, seed=0)
    batch = dataset.sample(coh=51.2)
    lengths = batch.mask.sum(axis=0).astype(int)
    assert len(set(lengths)) > 1 and batch.inputs.shape[0] == lengths.max() and len(batch.trials) == 16
    for b, length in enumerate(lengths):
        assert batch.starts[:, b].sum() == 1 and batch.starts[0, b]
        assert batch.targets[length - 1, b] == batch.trials[b]["ground_truth"] + 1
        assert not batch.inputs[length:, b].any() and np.all(batch.period[length:, b] == -1)
        assert batch.trials[b]["coh"] == 51.2
    with pytest.raises(ValueError, match="more than seq_len"):
        Dataset(rdm(), batch_size=16, aligned=True, seq_len=5)()


def test_conditions_take_effect_at_once() -> None:
    dataset = Dataset(rdm(sigma=0), batch_size=2, seq_len=100, seed=0)
    dataset()
    assert np.all(np.isin(dataset(ground_truth=1)[1], (0, 2)))
    with pytest.warns(LeniencyWarning, match="coherence"):
        dataset(coherence=3)


def test_wrappers_show_what_a_right_agent_sees() -> None:
    env = w.PassAction(w.PassReward(w.ReactionTime(rdm(), urgency=-0.01)))
    batch = Dataset(env, batch_size=3, seq_len=300, seed=0).sample()
    assert np.array_equal(batch.inputs[1:, :, 4], batch.targets[:-1].astype(np.float32))
    reward = batch.inputs[1:, :, 3]
    answered = (batch.targets[:-1] != 0) & (np.roll(batch.targets[:-1], 1, axis=0) == 0)
    assert np.allclose(reward[answered][1:], 0.99) and np.all(reward[~answered & ~batch.starts[1:]] <= 0)
    assert (batch.targets != 0).sum() > (batch.period == 3).sum() / 2  # the answer is right while the stimulus is on


@pytest.mark.parametrize(
    "make",
    [
        lambda: w.Noise(w.PassReward(rdm())),
        lambda: w.PassGT(rdm()),
        lambda: w.TimeOut(rdm()),
        lambda: w.SideBias(rdm(), [[0.2, 0.8], [0.8, 0.2]], 5),
        lambda: w.PassAction(ngym.make("ReachingDelayResponse-v0")),
        lambda: w.ScheduleEnvs([rdm(), rdm()], RandomSchedule(2), env_input=True),
        lambda: w.Combine(ngym.make("GoNogo-v0"), "GoNogo-v0"),
        lambda: w.LearnTransMatrix(rdm()),
    ],
)
def test_every_kind_of_stack_gives_batches(make) -> None:
    env = make()
    first, two = (Dataset(make(), batch_size=2, seq_len=60, seed=1)() for _ in range(2))
    assert first[0].shape == (60, 2, *env.observation_space.shape) and first[0].dtype == np.float32
    assert all(np.array_equal(a, b) for a, b in zip(first, two, strict=True))


def test_what_cannot_be_learned_from() -> None:
    for env in ("Bandit-v0", "DawTwoStep-v0"):
        with pytest.raises(ValueError, match="no ground truth"):
            Dataset(env)()
    with pytest.raises(TypeError):
        Dataset(3)
    with pytest.raises(ValueError, match="at least 1"):
        Dataset("GoNogo-v0", batch_size=0)
