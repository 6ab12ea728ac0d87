"""What a Monitor writes and draws."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import neurogym as ngym
from neurogym.plotting.traces import plot_traces
from neurogym.wrappers import Monitor


def test_saving_again_before_a_trial_has_ended_keeps_what_was_written(tmp_path) -> None:
    env = Monitor(ngym.make("GoNogo-v0"), trigger="trial", interval=5, plot_create=False, save_dir=tmp_path)
    env.reset(seed=0)
    while env.num_tr < 5:
        env.step(0)
    (path,) = tmp_path.glob("*.npz")
    assert env.save_data() == path
    assert len(np.load(path)["reward"]) == 5


def test_traces_count_steps_and_say_why_there_are_none() -> None:
    figure, axes = plot_traces([np.ma.array(np.zeros((12, 2)))], "lstm")
    figure.canvas.draw()
    assert all(tick == int(tick) for tick in axes[0, 0].get_xticks())
    plt.close(figure)
    with pytest.raises(ValueError, match="training mode"):
        plot_traces([], "lstm")
