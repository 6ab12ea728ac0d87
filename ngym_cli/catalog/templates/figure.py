"""A figure of your own: a function of a run's trials and recordings, with declared requirements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngym_cli import figure
from ngym_cli.figures.style import new_figure


# Needs: columns=(...) of the trial table; record=(...) of activity, values, logits, observations, actions, rewards.
@figure("mean activity in correct trials and errors", columns=("performance",), record=("activity",))
def my_figure(view: Any) -> Any:
    """Draw the mean activity over trial time for correct trials and errors."""
    recording = view.recording  # recording["activity"] is (steps, units); trial k is offsets[k]:offsets[k + 1]
    activity, offsets = recording["activity"].mean(axis=-1), recording.offsets
    correct = np.asarray(view.recorded.table["performance"][: len(recording)], float) > 0
    drawing, axes = new_figure()
    for label, chosen in (("correct", correct), ("error", ~correct)):
        trials = [activity[offsets[k] : offsets[k + 1]] for k in np.flatnonzero(chosen)]
        if not trials:
            view.left_out[label] = "no such trials"
            continue
        steps = max(map(len, trials))
        padded = np.full((len(trials), steps), np.nan)
        for row, trial in zip(padded, trials, strict=True):
            row[: len(trial)] = trial.reshape(len(trial), -1).mean(axis=1)
        axes.plot(np.arange(steps) * recording.dt, np.nanmean(padded, axis=0), label=f"{label}, n = {len(trials):,}")
    axes.set(xlabel="time (ms)", ylabel="mean activity (a.u.)")
    axes.legend()
    return drawing
