"""Periods that follow what the agent did: rules with jumps."""

import numpy as np
import pytest

import neurogym as ngym
from neurogym import kernels, spaces
from neurogym.core import TrialEnv
from neurogym.envs.multi import ScheduleEnvs
from neurogym.rules import Jump, Rule
from neurogym.sampling.scheduler import RandomSchedule
from neurogym.state import capture, restore
from neurogym.vector import TrialVectorEnv, make_vec


class Paths(TrialEnv):
    """Three periods of random length with random jumps among them, some of which end the trial."""

    metadata = {"history_dependent": False}
    default_timing = {"a": ("uniform", (100, 400)), "b": ("uniform", (0, 300)), "c": 200}
    default_rewards = {"correct": 1.0, "fail": 0.0, "abort": -0.1}
    adapts = False

    def __init__(self, seed: int = 0, patience: float = 2000):
        super().__init__()
        rng = np.random.default_rng(seed)
        names = ["a", "b", "c"]
        jumps = tuple(
            Jump(
                str(rng.choice(names)),
                to=[*names, None][rng.integers(4)],
                action=[None, 0, (1, 2)][rng.integers(3)],
                at_end=bool(rng.integers(2)),
            )
            for _ in range(4)
        )
        self.rule = Rule(fixate=("a",), answer=("c",), jumps=jumps, patience=patience)
        self.conditions = {"ground_truth": (1, 2)}
        self.observation_space = spaces.channels({"row": 0, "trial": 1})
        self.action_space = spaces.Discrete(3)

    def _new_trials(self, trials):
        truth = trials.draw("ground_truth")
        trials.add_period(["a", "b", "c"])
        trials.add_ob(lambda rows: rows.step, where="row")
        trials.add_ob(trials.rng.random(trials.n), where="trial")
        trials.set_groundtruth(truth, "c")


class FollowedPaths(Paths):
    """The same with trials that are made one after the other."""

    def trial_ended(self, info):
        """Nothing is remembered."""


def run(batch, actions):
    """Everything that a batch returns of a sequence of actions, shape (steps, environments)."""
    results = []
    for each in actions:
        ob, reward, _, _, infos = batch.step(each)
        ended = np.flatnonzero(infos["new_trial"]).tolist()
        reported = [(i, *(infos[name][i] for name in ("trial_steps", "performance", "outcome", "rt"))) for i in ended]
        results.append((ob.tolist(), reward.tolist(), infos["gt"].tolist(), repr(reported)))
    return results


@pytest.mark.parametrize("task", [Paths, FollowedPaths])
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_a_batch_goes_the_ways_of_single_environments(task, compiled, seed, monkeypatch):
    if not compiled:
        monkeypatch.setattr(kernels, "get", lambda _: None)
    n, steps = 4, 250
    batch = make_vec(lambda: task(seed), n)
    assert isinstance(batch, TrialVectorEnv)
    ob, _ = batch.reset(seed=3)
    singles = [task(seed) for _ in range(n)]
    assert np.array_equal(ob, [env.reset(seed=3 + i)[0] for i, env in enumerate(singles)])
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        actions = rng.integers(3, size=n)
        ob, reward, _, _, infos = batch.step(actions)
        for i, env in enumerate(singles):
            private, gain, _, _, info = env.step(int(actions[i]))
            assert np.array_equal(private, ob[i]) and gain == reward[i] and info["gt"] == infos["gt"][i]
            assert info["new_trial"] == infos["new_trial"][i]
            for name in ("trial_steps", "trial_reward", "performance", "outcome", "rt") if info["new_trial"] else ():
                assert infos[name][i] == pytest.approx(info[name], nan_ok=True) or infos[name][i] == info[name]


@pytest.mark.parametrize("seed", range(4))
def test_no_trial_outlasts_the_patience(seed):
    env = Paths(seed, patience=1200)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    lengths, steps = [], 0
    for _ in range(1500):
        info = env.step(int(rng.integers(3)))[4]
        steps += 1
        if info["new_trial"]:
            assert info["trial_steps"] == steps
            lengths.append(steps)
            steps = 0
    assert max(lengths) <= 12


@pytest.mark.parametrize("task", [Paths, FollowedPaths])
def test_a_session_goes_on_from_the_middle_of_a_trial_that_has_jumped(task):
    rng = np.random.default_rng(1)
    actions = rng.integers(3, size=(80, 3))
    for cut in (3, 7, 20):
        batch = make_vec(lambda: task(2), 3)
        batch.reset(seed=5)
        run(batch, actions[:cut])
        state = batch.state()
        second = make_vec(lambda: task(2), 3)
        second.reset(seed=9)
        second.set_state(state)
        assert run(batch, actions[cut:]) == run(second, actions[cut:])
        env, copy = task(2), task(2)
        env.reset(seed=0), copy.reset(seed=1)
        for action in actions[:cut, 0]:
            env.step(int(action))
        restore(copy, capture(env))
        for action in actions[cut:, 0].tolist():
            assert repr(env.step(action)) == repr(copy.step(action))


def acted(env, *actions):
    """Steps of the layout after each action."""
    return [(env.step(action), env.t_ind)[1] for action in actions]


@pytest.fixture
def looking():
    env = ngym.make("LookThenChoose-v0").unwrapped
    env.reset(seed=0)
    return env


def test_a_break_begins_the_wait_again(looking):
    assert acted(looking, 0, 0, 1, 0, 2, 0, 0, 0) == [1, 2, 0, 1, 0, 1, 2, 3]


def test_a_response_opens_one_of_two_branches(looking):
    for look, first in ((1, 6), (2, 9)):
        looking.new_trial(place=look, ground_truth=2)
        acted(looking, 0, 0, 0, 0)
        ob = looking.step(look)[0]
        assert looking.t_ind == first and ob.tolist() == [1, 0, 0, 0, 1]
        assert acted(looking, 0, 0, 0)[-1] == 12  # both lead to the delay
    looking.new_trial(place=1, ground_truth=2)
    acted(looking, 0, 0, 0)
    assert looking.step(2)[0].tolist() == [1, 0, 0, 0, 0]  # nothing where there was no cue


def test_waiting_for_the_look_goes_on_until_patience_ends(looking):
    steps = [looking.step(0)[4] for _ in range(100)]
    assert [info["new_trial"] for info in steps].index(True) == 99
    assert steps[-1]["outcome"] == "miss" and steps[-1]["trial_steps"] == 100


def test_shown_trials_and_data_sets_follow_the_right_actions(looking):
    from neurogym.utils.data import Dataset

    inputs, targets = Dataset(looking, batch_size=2, seq_len=33)()
    assert inputs.shape[:2] == (33, 2)
    assert (np.diff(np.flatnonzero(targets[:, 0] > 0)) > 0).all()
    for trial in range(3):  # 11 steps each: wait, look, stimulus, delay, decision
        piece = targets[11 * trial : 11 * trial + 11, 0]
        assert np.flatnonzero(piece).tolist() == [3, 10]


@pytest.mark.parametrize(
    ("jump", "result"),
    [(Jump("a", to="d"), "'d'"), (Jump("d", to="a"), "'d'"), (Jump("a", to="b", action=3), "below 3, got.*action=3")],
)
def test_a_jump_that_cannot_be_is_refused(jump, result):
    env = Paths()
    env.rule = Rule(fixate=(), answer=("c",), jumps=(jump,))
    with pytest.raises(ValueError, match=result):
        env.reset(seed=0)


def test_a_task_with_jumps_is_not_one_of_several():
    with pytest.raises(ValueError, match="LookThenChoose-v0 has jumps"):
        ScheduleEnvs([ngym.make("LookThenChoose-v0")], RandomSchedule(1))
