"""Motion energy in place of frames."""

import numpy as np
import pytest

import neurogym as ngym
from neurogym.wrappers import MotionEnergy


def _shown(env, **conditions) -> np.ndarray:
    """What the agent sees in one trial, shape (steps, channels)."""
    env.reset(seed=3)
    env.new_trial(**conditions)
    seen = []
    for _ in range(137):
        ob, _, _, _, info = env.step(0)
        if info["new_trial"]:
            break
        seen.append(ob)
    return np.array(seen)


@pytest.mark.parametrize("heading", range(4))
def test_the_channel_of_the_direction_is_the_highest(heading: int) -> None:
    env = MotionEnergy(ngym.make("RandomDotMotion-v0", dim_ring=4), directions=4)
    energy = _shown(env, ground_truth=heading, coh=51.2)[:, 1:].mean(axis=0)
    assert energy.argmax() == heading
    assert energy[heading] == pytest.approx(-energy[(heading + 2) % 4])
    assert np.abs(energy[[(heading + 1) % 4, (heading + 3) % 4]]).max() < 0.2 * energy[heading]


def test_there_is_no_motion_before_two_frames_can_be_compared() -> None:
    env = MotionEnergy(ngym.make("RandomDotMotion-v0", timing={"fixation": 0}), delay=3)
    seen = _shown(env, coh=51.2)  # from the second step of the trial on
    moved = np.abs(seen[:, 1:]).sum(axis=1) > 0
    assert not moved[:2].any() and moved[2:100].mean() > 0.9
    assert np.all(seen[:100, 0] == 1)  # the mark


@pytest.mark.parametrize(
    ("task", "arguments", "error"),
    [
        ("RDM-v0", {}, TypeError),
        ("RandomDotMotion-v0", {"delay": 0}, ValueError),
        ("RandomDotMotion-v0", {"speed": -1}, ValueError),
        ("RandomDotMotion-v0", {"directions": 1}, ValueError),
    ],
)
def test_what_does_not_fit_is_refused(task: str, arguments: dict, error: type) -> None:
    with pytest.raises(error, match=r"MotionEnergy|delay|speed|directions"):
        MotionEnergy(ngym.make(task), **arguments)
