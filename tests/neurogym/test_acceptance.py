"""The behaviours that scripts written for NeuroGym rely on, one test for each point that no other file holds."""

import gymnasium as gym
import numpy as np
import pytest
from neurogym.utils.plotting import plot_env

import neurogym as ngym
from neurogym import wrappers as w
from neurogym.compat.leniency import LeniencyWarning
from neurogym.sampling.scheduler import RandomBlockSchedule, RandomSchedule
from neurogym.utils.data import Dataset

SUPERVISED = ngym.all_envs(tag="supervised")


@pytest.mark.parametrize(("wrapper", "index"), [(w.PassAction, "action"), (w.PassReward, "reward")])
def test_01_last_entry_is_the_last_action_or_reward(wrapper, index: str) -> None:
    env = wrapper(ngym.make("PerceptualDecisionMaking-v0"))
    env.reset(seed=0)
    for _ in range(1000):
        action = env.action_space.sample()
        ob, reward, *_ = env.step(action)
        assert ob[-1] == np.float32(action if index == "action" else reward)


BAD_PROBS = [
    *((None, TypeError), (0.5, TypeError), ([0.2, 0.8], TypeError), ("ab", TypeError)),
    *(([[0.2, 0.7, 0.1]], ValueError), ([[0.2, 0.7]], ValueError), ([[-0.2, 1.2]], ValueError)),
]
BAD_DURATIONS = [
    *((0, ValueError), (-3, ValueError), (1.5, ValueError), (0.0, ValueError), ((5, 2), ValueError)),
    *(((1, 2, 3), ValueError), ((0, 4), ValueError), ((1.5, 4), TypeError), ([2, 4], TypeError), ("5", TypeError)),
]


@pytest.mark.parametrize(("probs", "error"), BAD_PROBS)
def test_02_side_bias_refuses_probabilities(probs, error) -> None:
    with pytest.raises(error):
        w.SideBias(ngym.make("PerceptualDecisionMaking-v0"), probs=probs)


@pytest.mark.parametrize(("duration", "error"), BAD_DURATIONS)
def test_02_side_bias_refuses_durations(duration, error) -> None:
    with pytest.raises(error):
        w.SideBias(ngym.make("PerceptualDecisionMaking-v0"), [[0.2, 0.8], [0.8, 0.2]], duration)


def test_03_schedule_of_all_yang19_tasks() -> None:
    names = ngym.get_collection("yang19")
    env = w.ScheduleEnvs([ngym.make(name) for name in names], RandomSchedule(len(names)), env_input=True)
    ob, _ = env.reset(seed=0)
    before = None
    for _ in range(300):
        env.new_trial()
        i = env.i_env
        assert i != before and env.trial["task"] == names[i]
        assert np.array_equal(env.ob[0, -20:], np.eye(20)[i]) and np.array_equal(
            env.observation_space.name["task"], range(33, 53)
        )
        before = i
        ob, *_ = env.step(0)
        assert np.array_equal(ob, env.ob[env.t_ind])


@pytest.mark.parametrize("name", SUPERVISED)
def test_09_dataset_of_every_supervised_task(name: str) -> None:
    dataset = Dataset(name, env_kwargs={"dt": 100}, batch_size=4, seq_len=40, seed=0)
    space, actions = dataset.env.observation_space, dataset.env.action_space
    inputs, targets = dataset()
    assert inputs.shape == (40, 4, *space.shape) and targets.shape == (40, 4, *actions.shape)
    assert inputs.dtype == space.dtype
    long = Dataset(ngym.make(name, dt=100), batch_size=4, seq_len=1000, seed=0)()
    assert all(piece.std(axis=1).any() for piece in long)


@pytest.mark.parametrize("name", ngym.all_envs())
def test_10_the_same_seed_gives_the_same_session(name: str) -> None:
    sessions = []
    for _ in range(2):
        env = ngym.make(name)
        env.unwrapped.seed(0)
        env.action_space.seed(0)
        env.reset(seed=0)
        steps = [(env.action_space.sample(), env.step(env.action_space.sample())) for _ in range(100)]
        sessions.append([(action, step[0], step[1]) for action, step in steps])
    for first, two in zip(*sessions, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(first, two, strict=True))


@pytest.mark.parametrize(
    "make", [lambda: ngym.TruncExp(400, 100, 900), lambda: RandomSchedule(5), lambda: RandomBlockSchedule(3, [4, 5, 6])]
)
def test_11_seeded_values(make) -> None:
    first, two, second = make(), make(), make()
    first.seed(3), two.seed(3), second.seed(4)
    values = [first() for _ in range(1000)]
    assert values == [two() for _ in range(1000)] != [second() for _ in range(1000)]


def test_12_config(tmp_path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[monitor.plot]\ntitle = "From the file"\n')
    config = ngym.Config(file, local_dir=tmp_path, monitor={"trigger": "step", "interval": 7})
    assert config.monitor.plot.title == "From the file"
    assert (config.monitor.trigger, config.monitor.interval, config.local_dir) == ("step", 7, tmp_path)
    assert ngym.Config(env={"name": "GoNogo"}).monitor.plot.title == "GoNogo"
    with pytest.raises(ValueError):
        ngym.Config(monitor={"trigger": "now"})
    for wrong, message in (
        ({"monitr": {}}, "did you mean 'monitor'"),
        ({"monitor": {"plot": {"stepp": 3}}}, "did you mean 'monitor.plot.step'"),
    ):
        with pytest.warns(LeniencyWarning, match=message):
            assert ngym.Config(**wrong).monitor == ngym.Config().monitor
    with pytest.warns(LeniencyWarning, match="no such configuration file"):
        assert ngym.Config(tmp_path / "other.toml").monitor.interval == 1000


class Right:
    """A model that always answers 1."""

    def predict(self, observation, deterministic=True):
        return np.array([1]), None


class OneStep(ngym.TrialEnv):
    """Trials of one step in which 1 is right."""

    observation_space = ngym.spaces.Box(0, 1, shape=(1,), dtype=np.float32)
    action_space = ngym.spaces.Discrete(2)

    def _new_trial(self, **kwargs):
        self.add_period("decision", 100)
        self.set_groundtruth(1)
        return {"ground_truth": 1}

    def _step(self, action):
        self.performance = float(action == 1)
        return self.ob_now, float(action == 1), False, False, {"new_trial": True, "gt": 1}


@pytest.mark.parametrize("trigger", ["trial", "step"])
def test_13_monitor(tmp_path, trigger: str) -> None:
    config = {
        "local_dir": tmp_path,
        "monitor": {"trigger": trigger, "interval": 10, "verbose": False, "plot": {"step": 5}},
    }
    env = w.Monitor(OneStep(), config=config)
    assert env.config.monitor.interval == env.interval == 10 and env.trigger == trigger
    env.reset(seed=0)
    for _ in range(5):
        env.step(1)
    assert all(len(env.data[key]) >= 1 for key in ("action", "reward", "cum_reward", "performance"))
    for _ in range(20):
        env.step(1)
    files = sorted(env.save_dir.glob("trial_*.npz"))
    assert [file.name for file in files] == ["trial_10.npz", "trial_20.npz"]
    saved = np.load(files[0])
    assert {"action", "reward", "cum_reward", "performance"} <= set(saved.files) and len(saved["reward"]) == 10
    assert list(env.save_dir.glob("task_*.png"))
    before = env.num_tr, {key: list(values) for key, values in env.data.items()}
    result = env.evaluate_policy(num_trials=8, model=Right(), verbose=False)
    assert len(result) == 6 and all(len(result[key]) == 8 for key in ("rewards", "cum_rewards", "performances"))
    assert result["mean_reward"] == result["mean_performance"] == 1.0
    assert before == (env.num_tr, env.data) and len(env.data_eval["action"]) == 8
    assert env.plot_training_history() is not None
    assert (tmp_path / "OneStep_training_history.png").is_file()


DRAWN = ("GoNogo-v0", "PerceptualDecisionMaking-v0", "ReachingDelayResponse-v0", "RandomDotMotion-v0", "Bandit-v0")
TASKS = [name for name in ngym.all_envs() if name != "Null-v0"]


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name not in DRAWN)) for name in TASKS])
def test_14_every_task_runs_and_is_drawn(name: str) -> None:
    import matplotlib.pyplot as plt

    env = ngym.make(name, dt=20)
    assert isinstance(env.new_trial(), dict)
    env.reset(seed=0)
    for _ in range(100):
        env.step(env.action_space.sample())
    still = 0 if isinstance(env.action_space, gym.spaces.Discrete) else np.zeros(env.action_space.shape, np.float32)
    plt.close(plot_env(env, num_trials=2, def_act=still))


def test_15_ids() -> None:
    assert ngym.make("GoNogo-v0").unwrapped.spec.id == ngym.make("GoNogo").unwrapped.spec.id == "GoNogo-v0"
    for unknown in ("Absent-v0", "Absent", "GoNogo-v7"):
        with pytest.raises(gym.error.Error):
            ngym.make(unknown)


def test_16_reaction_time_ends_with_the_answer() -> None:
    env = w.ReactionTime(ngym.make("PerceptualDecisionMaking-v0", timing={"fixation": 100, "stimulus": 2000}))
    env.reset(seed=0)
    evidence, ended = 0.0, 0
    for _ in range(3000):
        row = env.unwrapped.ob[env.unwrapped.t_ind]
        evidence += float(row[1] - row[2])
        visible = env.unwrapped.t_ind > 1
        action = 0 if abs(evidence) < 0.5 or not visible else (1 if evidence > 0 else 2)
        *_, info = env.step(action)
        assert info["new_trial"] == bool(action) or info["outcome"] == "miss"
        if info["new_trial"]:
            ended += 1
            evidence = 0.0
            assert info["tr_dur"] == info["trial_steps"] > 0
            assert action == 0 or info["rt"] == (info["trial_steps"] - 2) * 100
    assert ended > 100
