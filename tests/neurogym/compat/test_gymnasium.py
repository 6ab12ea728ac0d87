"""What Gymnasium and scripts ask of an environment beside its steps: bounds, specifications, pictures, types."""

import json
import pickle
import warnings

import gymnasium
import matplotlib.pyplot as plt
import numpy as np
import pytest

import neurogym as ngym
from neurogym.compat.changes import ALIASES
from neurogym.compat.leniency import LeniencyWarning
from neurogym.wrappers import PassReward, RandomGroundTruth, ScheduleAttr

RDM = "PerceptualDecisionMaking-v0"


def test_infinite_bounds_stay_infinite():
    ours = ngym.spaces.Box(-np.inf, [0, np.inf, 2], dtype=np.float64)
    assert ours.high.tolist() == [0, np.inf, 2] and np.isinf(ours.low).all() and ours.dtype == np.float64
    env = ngym.make(RDM)
    for space in (env.observation_space, PassReward(env).observation_space):
        assert np.isinf(space.low).all() and np.isinf(space.high).all()
        space.seed(0)
        assert np.abs(space.sample()).max() < 100
    with pytest.raises(ValueError, match="unbounded"):
        gymnasium.wrappers.RescaleObservation(env, -1, 1)
    assert np.isfinite(ngym.make("ToneDetection-v0").action_space.n)


@pytest.mark.parametrize("id_", ["RDM-v0", "RDM-v1", "GoNogo-v0", "yang19.dm1-v0"])
def test_specifications_can_be_written_and_read(id_):
    for spec in (gymnasium.spec(id_), ngym.make(id_).spec):
        again = gymnasium.envs.registration.EnvSpec.from_json(spec.to_json())
        env = gymnasium.make(again)
        assert type(env.unwrapped) is type(ngym.make(id_).unwrapped)
        timing, usual = env.unwrapped.timing, ngym.make(id_).unwrapped.timing
        assert json.dumps(timing) == json.dumps(usual)  # tuples are lists there
    assert gymnasium.make_vec(id_, num_envs=2).num_envs == 2


def test_old_ids_are_made_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for id_ in ALIASES.keys() - {"RDM-v1"}:
            assert gymnasium.make(id_) is not None
    with pytest.warns(UserWarning, match="RDM-v1 is not a newer version of RDM-v0"):  # the only one that looks newer
        assert gymnasium.make("RDM-v1") is not None


@pytest.mark.parametrize("id_", ["yang19.dms-v0", "ReachingDelayResponse-v0"])
def test_a_frame_is_the_trial_so_far(id_):
    env = PassReward(ngym.make(id_, render_mode="rgb_array"))
    assert env.render_mode == "rgb_array" and "rgb_array" in env.metadata["render_modes"]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.unwrapped.render()
    env.reset(seed=0)
    frames = [env.render()]
    for _ in range(4):
        env.step(env.action_space.sample() * 0)
        frames.append(env.render())
    assert {frame.shape for frame in frames} == {(400, 600, 3)} and frames[0].dtype == np.uint8
    painted = [(frame < 250).any(axis=2).sum() for frame in frames]
    assert painted == sorted(painted) and painted[-1] > 1.2 * painted[0]
    pickle.loads(pickle.dumps(env)).step(env.action_space.sample() * 0)


def test_the_frame_after_a_trial_shows_the_whole_of_it():
    env = gymnasium.wrappers.RenderCollection(ngym.make("GoNogo-v0", render_mode="rgb_array"))
    env.reset(seed=0)
    while not env.step(0)[4]["new_trial"]:
        pass
    env.step(0)
    frames = env.render()
    painted = [(frame < 250).any(axis=2).sum() for frame in frames]
    assert painted[-2] > 0.99 * max(painted), "the frame after the last step of a trial shows all of its steps"
    assert painted[-1] < 0.5 * painted[-2], "the next frame shows the next trial"


def test_image_tasks_show_their_image():
    env = ngym.make("RandomDotMotion-v0", render_mode="rgb_array")
    ob, _ = env.reset(seed=0)
    np.testing.assert_array_equal(env.render(), ob)
    with pytest.raises(ValueError, match="did you mean 'rgb_array'"), pytest.warns(UserWarning, match="render_mode"):
        ngym.make("GoNogo-v0", render_mode="rgb")
    assert ngym.make("GoNogo-v0").unwrapped.render(mode="human") is None


def test_observations_that_a_wrapper_assigns_keep_their_type():
    class Doubled(ngym.TrialWrapper):
        def new_trial(self, **kwargs):
            trial = self.env.new_trial(**kwargs)
            self.unwrapped.ob = np.asarray(self.unwrapped.ob, dtype=np.float64) * 2
            return trial

    env = Doubled(ngym.make(RDM))
    first, _ = env.reset(seed=0)
    second = env.step(0)[0]
    plain = ngym.make(RDM)
    np.testing.assert_array_equal(first, 2 * plain.reset(seed=0)[0])
    assert first.dtype == second.dtype == np.float64


def test_names_of_channels_and_coherences_are_lists():
    env = ngym.make(RDM).unwrapped
    assert env.observation_space.name["stimulus"] == [1, 2] and env.action_space.name["choice"] == [1, 2]
    assert env.cohs == [0, 6.4, 12.8, 25.6, 51.2]
    assert ngym.make("ContextDecisionMaking-v0").unwrapped.cohs == [5, 15, 50]


def test_a_psychometric_figure_of_one_strength():
    figure, axes = plt.subplots()
    beta, alpha = ngym.plot_psychometric([10, 10, 10], [1, 0, 1], axes)
    assert np.isnan([beta, alpha]).all()
    assert axes.lines[0].get_ydata()[0] != axes.lines[0].get_ydata()[0]  # no curve
    plt.close(figure)
    with pytest.raises(ValueError, match="no trials"):
        ngym.plot_psychometric([], [], plt.gca())
    plt.close("all")


def test_conditions_that_nobody_takes_are_warned_of_and_have_no_effect():
    schedule = ngym.SequentialSchedule(2)
    with pytest.warns(LeniencyWarning, match="'p'"):
        env = RandomGroundTruth(ScheduleAttr(ngym.make(RDM), schedule, [{"p": (1, 0)}, {"p": (0, 1), "coh": 51.2}]))
    env.reset(seed=0)
    drawn = [env.new_trial() for _ in range(40)]
    assert {trial["ground_truth"] for trial in drawn} == {0, 1}
    assert all(trial["coh"] == 51.2 for trial in drawn if trial["schedule_attr_block"])


def test_noise_per_step_and_the_argument_that_it_follows_from_agree():
    env = ngym.make(RDM).unwrapped
    env.update(sigma=2)
    assert env.sigma == pytest.approx(0.2) and env.arguments()["sigma"] == 2
    env.sigma = 0.5
    assert env.sigma == 0.5
    env.update(dim_ring=2, cohs=[0])
    assert env.sigma == pytest.approx(0.5)
    env.reset(seed=0)
    visible = np.concatenate([env.ob[1:21, 1:] for _ in range(200) if env.new_trial()])
    assert visible.std() == pytest.approx(0.5, rel=0.05)
