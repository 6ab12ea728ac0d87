"""Running, drawing, and small helpers."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import neurogym as ngym
from neurogym.recording.files import ensure_dir, iso_timestamp
from neurogym.recording.rollout import run_env
from neurogym.utils import plotting, tasktools
from neurogym.wrappers import PassAction, PassReward


@pytest.fixture(autouse=True)
def _close():
    settings = dict(matplotlib.rcParams)
    yield
    assert settings == dict(matplotlib.rcParams)
    plt.close("all")


class Recurrent:
    """Counts the steps since its state was reset."""

    def __init__(self):
        self.counts = []

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        state = 0 if state is None or episode_start[0] else state + 1
        self.counts.append(state)
        return np.array([0]), state


def test_run_env() -> None:
    env = ngym.make("GoNogo-v0")
    data = run_env(env, num_trials=3, def_act=0)
    steps = len(data["ob"])
    assert data["ob"].shape == data["ob_cum"].shape == (45, 3) and steps == 45
    assert np.flatnonzero(data["perf"] != -1).tolist() == [14, 29, 44] and data["trial_starts"] == [0, 15, 30]
    assert data["initial_ob"].shape == (3,) and data["states"] is None
    assert np.all(data["actions_end_of_trial"][[14, 29, 44]] == 0) and data["actions_end_of_trial"][0] == -1
    assert len(run_env(env, num_steps=7)["rewards"]) == 7
    model = Recurrent()
    run_env(env, num_trials=2, model=model)
    assert max(model.counts) == 14
    model = Recurrent()
    run_env(env, num_trials=2, model=model, reset_each_trial=False)
    assert max(model.counts) == 29


def test_rewards_are_named_in_whole_words() -> None:
    figure = plotting.plot_env("PerceptualDecisionMaking-v0", num_steps=60, def_act=0)
    words = " ".join(label.get_text() for label in figure.axes[2].get_yticklabels())
    assert "correct 1.00" in words and "abort -0.10" in words


def test_plot_env(tmp_path) -> None:
    figure = plotting.plot_env("GoNogo-v0", num_steps=40, ob_traces=["Fixation cue", "NoGo", "Go"])
    assert len(figure.axes) == 4 and figure.axes[0].get_title() == "GoNogo env"
    assert len(plotting.plot_env("GoNogo-v0", num_steps=20, plot_performance=False).axes) == 3
    for name, created in (("a", "a.png"), ("b.pdf", "b.pdf"), ("c.svg", "c.svg"), ("d.e", "d.e.png")):
        plotting.plot_env("GoNogo-v0", num_steps=10, fname=tmp_path / name)
        assert (tmp_path / created).is_file()
    with pytest.raises(ValueError, match="one label"):
        plotting.plot_env("GoNogo-v0", num_steps=10, ob_traces=["one"])
    assert plotting.plot_env("ReachingDelayResponse-v0", num_steps=10)
    with pytest.raises(ValueError, match="vectors or images"):
        plotting.visualize_run(np.zeros((5, 2, 2)), np.zeros(5))
    assert plotting.fig_ is plotting.visualize_run
    assert len(plotting.visualize_run(np.zeros((9, 3)), np.zeros(9), states=np.zeros((9, 8))).axes) == 3


def test_images_become_a_movie(tmp_path) -> None:
    movie = plotting.visualize_run(np.zeros((4, 8, 8, 3)), np.zeros(4), fname=tmp_path / "movie.gif")
    assert movie is not None and (tmp_path / "movie.gif").is_file()


def test_psychometric_recovers_what_was_simulated() -> None:
    rng = np.random.default_rng(0)
    evidence = rng.choice([-51.2, -25.6, -12.8, -6.4, 0, 6.4, 12.8, 25.6, 51.2], 6000)
    choices = (rng.random(6000) < plotting.probit(evidence, 0.08, 0.4)).astype(int)
    ax = plt.figure().add_subplot()
    beta, alpha = plotting.plot_psychometric(evidence, choices, ax, title="t", legend="l")
    assert abs(beta - 0.08) < 0.01 and abs(alpha - 0.4) < 0.1
    assert ax.get_ylabel() == "P(Right)" and ax.get_xlim()[1] > 51.2
    with pytest.raises(ValueError):
        plotting.plot_psychometric([], [], ax)


def test_saved_data_over_training(tmp_path) -> None:
    settings = {"interval": 5, "verbose": False, "plot": {"create": False}}
    env = ngym.Monitor(ngym.make("GoNogo-v0"), config={"local_dir": tmp_path, "monitor": settings})
    env.reset(seed=0)
    for _ in range(15 * 60):
        env.step(0)
    names = plotting.order_by_sufix(env.save_dir.glob("trial_*.npz"))
    assert [int(name.split("_")[-1][:-4]) for name in names] == list(range(5, 61, 5))
    data = plotting.concatenate_files(env.save_dir)
    assert len(data["reward"]) == 60 and set(data) >= {"ground_truth", "outcome", "performance"}
    plotting.plot_rew_across_training(env.save_dir, window=10, zline=True, legend=True)
    assert (env.save_dir / "mean_reward_across_training.png").is_file()
    ax = plt.figure().add_subplot()
    plotting.plot_rew_across_training(env.save_dir, window=0.5, ax=ax, metric_name="performance")
    assert len(ax.lines[0].get_xdata()) == 31
    with pytest.raises(ValueError, match="no saved"):
        plotting.plot_rew_across_training(tmp_path / "nowhere")


def test_small_helpers(tmp_path) -> None:
    assert tasktools.to_map("a", "b") == tasktools.to_map(["a", "b"]) == {"a": 0, "b": 1}
    t, periods = tasktools.get_periods_idx(100, {"fixation": (0, 200), "stimulus": (200, 500), "tmax": 500})
    assert len(t) == 5 and periods["stimulus"].tolist() == [2, 3, 4]
    assert tasktools.minmax_number("uniform", (1, 4)) == (1, 4)
    assert np.isclose(tasktools.circular_dist(-1.5 * np.pi), 0.5 * np.pi)
    assert tasktools.divide(1, 0) == tasktools.divide(0, 0) == 0 and tasktools.divide(1, 4) == 0.25
    assert tasktools.correct_2AFC([1, 0, -1, 1]) == (0.75, 2 / 3)
    assert tasktools.compute_perf(0.5, 1, 2, 1.0) == (2 / 3, 3) and tasktools.compute_perf(0.5, 0, 2, 1.0) == (0.5, 2)
    assert ensure_dir(tmp_path / "a" / "b").is_dir() and len(iso_timestamp()) == 19


def _boxes(labels, renderer):
    return [label.get_window_extent(renderer) for label in labels if label.get_text() and label.get_visible()]


@pytest.mark.parametrize(
    ("task", "kwargs"),
    [
        ("GoNogo-v0", {"ob_traces": ["Fixation cue", "NoGo", "Go", "Previous reward", "Previous action"]}),
        ("yang19.go-v0", {}),
        ("ProbabilisticReasoning-v0", {}),
        ("HierarchicalReasoning-v0", {"num_steps": 40}),
        ("PerceptualDecisionMaking-v0", {"num_steps": 500}),
        ("ContextDecisionMaking-v0", {"num_steps": 37}),
    ],
)
def test_labels_do_not_touch_and_legends_cover_nothing(task, kwargs):
    env = PassAction(PassReward(ngym.make(task)))
    figure = plotting.plot_env(env, **{"num_steps": 100, **kwargs})
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(ax.get_xlim() if axis is ax.xaxis else ax.get_ylim())
            visible = [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            boxes = _boxes(visible, renderer)
            assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i]), (task, ax.get_ylabel())
        if ax.get_legend() is not None:
            assert ax.get_legend().get_window_extent(renderer).x0 >= ax.get_window_extent(renderer).x1 - 1
    plt.close(figure)


def test_reward_keys_need_not_be_words():
    env = ngym.make("GoNogo-v0")
    env.unwrapped.rewards = {0: -0.5, (1, "go"): 1.0}
    figure = plotting.plot_env(env, num_steps=20)
    assert [label.get_text() for label in figure.axes[2].get_yticklabels()] == ["0 -0.50", "(1, 'go') 1.00"]
    plt.close(figure)
