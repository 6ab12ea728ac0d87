"""Blocks of trials: timing at any dt, layout, observations, ground truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neurogym as ngym
from neurogym import spaces
from neurogym.sampling.distributions import Distribution
from neurogym.trials import Trials

dts = st.sampled_from([8.3, 10, 12.5, 16.7, 20, 33.3, 50, 80, 100])
durations = st.lists(st.floats(0, 3000, allow_nan=False), min_size=1, max_size=6)


def task(dt=100.0, timing=None):
    env = ngym.TrialEnv(dt=dt, timing=timing)
    env.observation_space = spaces.Box(-1, 1, shape=(3,), dtype=np.float32, name={"fixation": 0, "stimulus": [1, 2]})
    env.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})
    env.np_random = np.random.default_rng(0)
    return env


@given(dt=dts, lengths=durations, n=st.integers(1, 5))
def test_periods_tile_the_trial_in_whole_steps(dt, lengths, n):
    env = task(dt, {f"p{i}": length for i, length in enumerate(lengths)})
    trials = Trials(env, n)
    trials.add_period(list(env.timing))
    steps = [int(np.floor(length / dt + 1e-6)) for length in lengths]
    if sum(steps) == 0:
        with pytest.raises(ValueError, match="no steps"):
            trials.rows()
        return
    assert trials.ob.shape == (n * sum(steps), 3)
    assert np.all(trials.length == sum(steps))
    position = 0
    for name, count in zip(env.timing, steps, strict=True):
        rows = trials.rows(name)
        assert len(rows.index) == n * count
        expected = np.concatenate([trial * sum(steps) + position + np.arange(count) for trial in range(n)])
        np.testing.assert_array_equal(rows.index, expected)
        position += count


@given(
    dt=dts,
    spec=st.one_of(
        st.tuples(st.just("uniform"), st.tuples(st.floats(0, 500), st.floats(500, 2000))),
        st.tuples(st.just("choice"), st.lists(st.floats(0, 2000), min_size=1, max_size=5)),
        st.tuples(
            st.just("truncated_exponential"), st.tuples(st.floats(1, 900), st.floats(0, 400), st.floats(500, 2000))
        ),
        st.tuples(st.just("constant"), st.floats(0, 2000)),
        st.lists(st.floats(0, 2000), min_size=1, max_size=5),
        st.floats(0, 2000),
    ),
)
@settings(max_examples=200)
def test_sampled_times_are_whole_steps_within_their_bounds(dt, spec):
    low, high = Distribution.of(spec).bounds()
    times = Trials(task(dt, {"delay": spec}), 50).sample_time("delay")
    np.testing.assert_allclose(times / dt, np.rint(times / dt), atol=1e-6)
    assert np.all(times <= high + 1e-3) and np.all(times > low - dt - 1e-6)


def test_until_fills_the_trial_up_to_a_time():
    env = task(timing={"fixation": ("uniform", (100, 900)), "rest": ("until", 1500)})
    trials = Trials(env, 100)
    trials.add_period(["fixation", "rest"])
    assert np.all(trials.length == 15)
    late = Trials(task(timing={"fixation": 2000, "rest": ("until", 1500)}), 1)
    late.add_period("fixation")
    with pytest.raises(ValueError, match="until 1500"):
        late.add_period("rest", after="fixation")


def test_numpy_numbers_are_durations():
    trials = Trials(task(timing={"a": np.int64(300), "b": np.array([200, 400]), "c": np.float32(100)}), 20)
    trials.add_period(["a", "b", "c"])
    assert set(trials.length) == {6, 8}


def test_before_after_and_overlap():
    trials = Trials(task(timing={"stimulus": 500, "cue": 200, "mask": 100}), 2)
    trials.add_period("stimulus", after=300)
    trials.add_period("cue", before="stimulus")
    trials.add_period("mask", after="cue")
    assert (trials.starts["cue"][0], trials.ends["cue"][0], trials.starts["mask"][0]) == (1, 3, 3)
    assert np.all(trials.length == 8)
    with pytest.raises(ValueError, match="start before the trial"):
        trials.add_period("early", 2000, before="stimulus")
    with pytest.raises(ValueError, match="did you mean 'stimulus'"):
        trials.add_period("late", 100, after="stimulu")
    with pytest.raises(ValueError, match="2 periods but 1 durations"):
        trials.add_period(["x", "y"], [100])


def test_observations_take_one_value_per_trial():
    env = task(timing={"fixation": 100, "stimulus": ("choice", (200, 400))})
    trials = Trials(env, 30)
    trials.add_period(["fixation", "stimulus"])
    level = np.arange(30)
    trials.add_ob(1, "fixation", where="fixation")
    trials.add_ob(level, "stimulus", where="stimulus")
    trials.add_ob(lambda rows: rows.step, where="fixation")
    rows = trials.rows("stimulus")
    np.testing.assert_array_equal(trials.ob[rows.index, 1], level[rows.trial])
    np.testing.assert_array_equal(trials.ob[:, 0], trials.rows().step + (trials.rows().step == 0))
    trials.set_ob(np.stack([level, -level], axis=1), "stimulus", where="stimulus")
    np.testing.assert_array_equal(trials.ob[rows.index, 2], -level[rows.trial])
    with pytest.raises(ValueError, match="did you mean 'stimulus'"):
        trials.add_ob(1, where="stimlus")
    with pytest.raises(ValueError, match="needs 30 entries"):
        trials.add_ob(np.ones(7))


def test_channels_are_met_in_any_order():
    for channels in ([2], [1, 2], [2, 0], [0, 2], [2, 1, 0], -1):
        trials = Trials(task(timing={"stimulus": 200}), 4)
        trials.add_period("stimulus")
        value = np.arange(1, 1 + np.size(channels))
        trials.add_ob(np.full((4, 3), 5.0), "stimulus")
        trials.set_ob(np.tile(value, (4, 1)), "stimulus", where=channels)
        expected = np.full(3, 5.0)
        expected[np.atleast_1d(channels)] = value
        np.testing.assert_array_equal(trials.ob, np.tile(expected, (8, 1)))


def test_noise_has_its_standard_deviation_where_asked():
    trials = Trials(task(timing={"fixation": 100, "stimulus": 2000}), 200)
    trials.add_period(["fixation", "stimulus"])
    trials.add_randn(0.5, 0.2, "stimulus", where="stimulus")
    noise = trials.ob[trials.rows("stimulus").index, 1:]
    assert noise.mean() == pytest.approx(0.5, abs=0.01) and noise.std() == pytest.approx(0.2, abs=0.01)
    assert not trials.ob[:, 0].any() and not trials.ob[trials.rows("fixation").index].any()


def test_ground_truth_by_label():
    trials = Trials(task(timing={"fixation": 100, "decision": 100}), 4)
    trials.add_period(["fixation", "decision"])
    trials.set_groundtruth(np.array([0, 1, 1, 0]), "decision", where="choice")
    np.testing.assert_array_equal(trials.gt, [0, 1, 0, 2, 0, 2, 0, 1])


def test_drawn_conditions_are_uniform_unless_given():
    env = task()
    env.conditions = {"coh": (0, 50), "angle": ("uniform", (0, 3))}
    trials = Trials(env, 4000, {"coh": np.full(4000, 50)})
    assert set(trials.draw("coh")) == {50}
    angle = trials.draw("angle")
    assert angle.min() >= 0 and angle.max() <= 3 and angle.mean() == pytest.approx(1.5, abs=0.06)
    weighted = trials.draw("catch", (0, 1), p=(0.9, 0.1))
    assert weighted.mean() == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("requested", [None, 300])
def test_rows_of_equal_layouts_are_the_same_and_changing_one_leaves_the_others(requested):
    timing = {"fixation": 200, "stimulus": 500, "decision": 100}
    alike, drawn = (Trials(task(100, times), 3) for times in (timing, {**timing, "stimulus": ("uniform", (500, 500))}))
    for trials in (alike, drawn):
        trials.add_period("fixation")
        trials.add_period("stimulus", requested, after="fixation")
        trials.add_period("decision", after="stimulus", min_steps=2)
    for periods in (None, "stimulus", ("decision", "fixation"), ()):
        for ours, reference in zip(alike.rows(periods), drawn.rows(periods), strict=True):
            np.testing.assert_array_equal(ours, reference)
    np.testing.assert_array_equal(alike.offset, drawn.offset)
    second = Trials(task(100, timing), 3)
    second.add_period("fixation")
    second.add_period("stimulus", requested, after="fixation")
    second.add_period("decision", after="stimulus", min_steps=2)
    before = second.rows("stimulus").index.copy()
    alike.move_period("stimulus", alike.starts["stimulus"] + 1, alike.ends["stimulus"])
    assert len(alike.rows("stimulus").index) == len(before) - 3
    np.testing.assert_array_equal(second.rows("stimulus").index, before)
    second.length = np.array([3, 3, 3])
    second.place(second.length)
    third = Trials(task(100, timing), 3)
    third.add_period(["fixation", "stimulus"], [200, requested])
    assert third.rows().index.size == third.length.sum() == third.total


def test_a_layout_whose_trials_are_shortened_by_hand_is_its_own():
    trials = Trials(task(100, {"fixation": 200, "stimulus": 500}), 2)
    trials.add_period(["fixation", "stimulus"])
    trials.length = np.array([4, 7])
    assert trials.ob.shape[0] == 11
    np.testing.assert_array_equal(trials.offset, [0, 4])
