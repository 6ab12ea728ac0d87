"""Image tasks: what the frames show, and how fast they are drawn."""

import time

import numpy as np
import pytest

import neurogym as ngym
from neurogym.envs.image.spatialsuppressmotionimage import SpatialSuppressMotionImage

TASKS = ("RandomDotMotion-v0", "SpatialSuppressMotionImage-v0", "VisualSearch-v0")


def task(name, **kwargs):
    env = ngym.make(name, **kwargs).unwrapped
    env.reset(seed=0)
    return env


@pytest.mark.parametrize("name", TASKS)
def test_frames(name):
    env = task(name, win_kwargs={"size": (60, 40)})
    assert env.observation_space.shape == (40, 60, 3)
    assert env.ob.dtype == np.uint8
    with pytest.raises(ValueError, match="size"):
        ngym.make(name, win_kwargs={"sise": (60, 40)})
    with pytest.raises(ValueError, match="size"):
        ngym.make(name, win_kwargs={"size": (0, 40)})


@pytest.mark.parametrize("name", TASKS)
def test_speed_and_memory(name):
    env = task(name)
    start, steps = time.perf_counter(), 1000
    for _ in range(steps):
        env.step(env.oracle())
    assert steps / (time.perf_counter() - start) > 500
    assert env.cursor.block.n == 1
    assert env.cursor.block.fields["ob"].nbytes < 6e6


def motion(env, coh, direction):
    """Displacement of dots from frame to frame, shape (frames, dots, 2)."""
    x, y = env.dots(400, coh, direction, env.np_random)
    return np.stack([np.diff(x, axis=0), np.diff(y, axis=0)], axis=2)


@pytest.mark.parametrize("coh", [0.0, 0.256, 1.0])
def test_coherence_is_the_fraction_of_dots_that_move_together(coh):
    env = task("RandomDotMotion-v0")
    for direction in (0.0, np.pi / 2):
        step = 0.05 * np.array([np.cos(direction), np.sin(direction)])
        together = np.mean([np.isclose(motion(env, coh, direction), step).all(axis=2).mean() for _ in range(20)])
        assert together == pytest.approx(0.9 * 0.95 * coh, abs=0.05)  # lives of 10 frames, wrapped at the edge


@pytest.mark.parametrize(
    "kwargs", [{"stim_scale": 0.1}, {"timing": {"stimulus": 200}}, {"win_kwargs": {"size": (20, 20)}}]
)
def test_the_ceiling_is_unknown_where_pixels_hide_the_direction_of_single_dots(kwargs):
    assert task("RandomDotMotion-v0", **kwargs).ceiling() is None


def test_dots_move_towards_the_ground_truth():
    env = task("RandomDotMotion-v0", stim_scale=100 / 51.2)
    for ground_truth, sign in ((0, 1), (1, -1)):
        env.new_trial(coh=100.0, ground_truth=ground_truth)
        frames = env.view_ob("stimulus")[:, :, :, 0].astype(float)
        frames[:, 48:53, 48:53] = 0
        shifts = range(-7, 8)
        match = [np.sum(frames[:-2, :, :] * np.roll(frames[2:], -shift, axis=2)) for shift in shifts]
        assert list(shifts)[int(np.argmax(match))] == sign * 5  # pixels in two frames
    assert env.ob[0].any()  # the fixation mark
    assert not env.view_ob("decision").any()


def test_plaids_move_as_they_should():
    env = task("SpatialSuppressMotionImage-v0")
    for direction, (dx, dy) in {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}.items():
        env.new_trial(direction=direction, contrast=0.99)
        first, two = (env.ob[frame, :, :, 0].astype(float) for frame in (10, 13))
        shifts = [(x, y) for x in range(-2, 3) for y in range(-2, 3)]
        match = [np.sum((np.roll(first, (y, x), (0, 1)) - two)[20:80, 20:80] ** 2) for x, y in shifts]
        assert shifts[int(np.argmin(match))] == (dx, dy)


def test_plaid_contrast_follows_its_envelope():
    env = SpatialSuppressMotionImage(dt=1000 / 120, timing={"stimulus": 37 * 1000 / 120})
    env.reset(seed=0)
    rise = [0.0071, 0.0422, 0.1685, 0.4531, 0.8205]
    np.testing.assert_allclose(env.envelope(37), [*rise, *[1] * 27, *rise[::-1]], atol=2e-3)
    for contrast in (0.05, 0.99):
        env.new_trial(contrast=contrast, direction=2)
        swing = np.ptp(env.ob[15].astype(float)) / 254
        assert swing == pytest.approx(contrast, abs=0.02)
    small = SpatialSuppressMotionImage(diameter=0.25)
    small.reset(seed=0)
    small.new_trial(contrast=0.99)
    edges = small.ob[15, :, :, 0].astype(int)
    assert np.all(edges[:30] == 127)
    assert np.ptp(edges[45:55, 45:55]) > 100


def test_search_target_equals_the_sample():
    env = task("VisualSearch-v0", win_kwargs={"size": (80, 80)})
    for center in env.centers:
        trial = env.new_trial(ground_truth=center)
        np.testing.assert_array_equal(trial["centers"][0], center)
        assert {tuple(c) for c in trial["centers"]} == set(env.centers)
        sample, search = env.view_ob("sample")[0].astype(int), env.view_ob("decision")[0].astype(int)
        column, row = (int((center[0] + 1) * 40), int((1 - center[1]) * 40))
        cut = search[row - 15 : row + 15, column - 15 : column + 15]
        middle = sample[25:55, 25:55].copy()
        middle[12:19, 12:19] = cut[12:19, 12:19]  # the fixation mark lies over the sample
        assert np.abs(cut - middle).max() <= 2
        angles, colors = trial["angles"], trial["colors"]
        for angle, color in zip(angles[1:], colors[1:], strict=True):
            assert (angle != angles[0]) != (not np.allclose(color, colors[0]))


def test_search_is_answered_by_gaze():
    env = task("VisualSearch-v0")
    for gaze, performance in (((0.5, 0.5), 1.0), ((0.5, 0.42), 1.0), ((0.5, -0.5), 0.0)):
        env.new_trial(ground_truth=(0.5, 0.5))
        assert env.step(np.array([0.5, 0.5], np.float32))[1] == -0.1
        while not env.in_period("decision"):
            assert env.step(np.zeros(2, np.float32))[1] == 0
        _, reward, _, _, info = env.step(np.array(gaze, np.float32))
        assert info["new_trial"]
        assert reward == info["performance"] == performance


def test_chance_and_length_need_no_large_frames():
    env = task("RandomDotMotion-v0")
    start = time.perf_counter()
    assert env.chance()["performance"] == pytest.approx(0.5, abs=0.02)
    assert env.trial_length_stats()["max"] == 137
    assert time.perf_counter() - start < 10
    assert env.size == (100, 100)


def test_plaids_of_other_sizes_durations_and_diameters_are_others():
    """Frames that are kept for all environments must not be taken for others."""
    visible = {}
    for diameter, size, stimulus in ((1.0, 20, 300), (0.5, 20, 300), (1.0, 24, 300), (1.0, 20, 200)):
        env = ngym.make(
            "SpatialSuppressMotionImage-v0",
            diameter=diameter,
            win_kwargs={"size": (size, size)},
            timing={"stimulus": stimulus},
        )
        env.reset(seed=0)
        env.unwrapped.new_trial(direction=1, contrast=0.99)
        visible[diameter, size, stimulus] = env.unwrapped.ob.copy()
    frames = list(visible.values())
    assert all(a.shape != b.shape or (a != b).any() for i, a in enumerate(frames) for b in frames[:i])
    env.unwrapped.ob[...] = 0  # the trial is the environment's own
    env.unwrapped.new_trial(direction=1, contrast=0.99)
    np.testing.assert_array_equal(env.unwrapped.ob, frames[-1])
