"""Named spaces."""

import numpy as np
import pytest

from neurogym import spaces


def test_names_are_kept():
    box = spaces.Box(-1, 1, name={"fixation": 0, "stimulus": range(1, 3)}, shape=(3,), dtype=np.float32)
    assert box.name == {"fixation": 0, "stimulus": [1, 2]} and box.shape == (3,)
    assert spaces.Discrete(3, name={"choice": [1, 2]}, start=1).start == 1
    assert not hasattr(spaces.Discrete(3), "name") and spaces.names_of(spaces.Discrete(3)) == {}


@pytest.mark.parametrize("make", [lambda: spaces.Box(0, 1, name=["a"]), lambda: spaces.Discrete(2, name="a")])
def test_names_must_be_a_dictionary(make):
    with pytest.raises(TypeError, match="must be a dictionary"):
        make()


def test_appended_channels_have_a_name_of_their_own():
    box = spaces.Box(-1, 1, name={"fixation": 0}, shape=(1,), dtype=np.float32)
    wide = spaces.append_channels(spaces.append_channels(box, "reward", 1), "reward", 2)
    assert wide.name == {"fixation": 0, "reward": 1, "reward2": [2, 3]} and wide.shape == (4,)
    with pytest.raises(TypeError, match="one-dimensional"):
        spaces.append_channels(spaces.Box(0, 1, shape=(2, 2)), "reward", 1)


def test_channels_are_counted_from_their_names() -> None:
    space = spaces.channels({"fixation": 0, "stimulus": range(1, 4), "cue": [4]}, low=0.0)
    assert space.shape == (5,) and space.dtype == np.float32 and float(space.low[0]) == 0.0
    assert space.name == {"fixation": 0, "stimulus": [1, 2, 3], "cue": [4]}
