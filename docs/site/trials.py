"""One trial of a task by the oracle for its page: figure, frames, thumbnail and caption."""

from __future__ import annotations

from typing import Any

import numpy as np

import neurogym as ngym
from ngym_cli.figures.style import new_figure, styled
from ngym_cli.figures.trial import TrialView, oracle_trial
from ngym_cli.figures.trial_drawing import largest, trials_figure

#: Seeds among which a informative_trial trial is looked for.
SEEDS = range(10)

#: Frames of an image task that are shown.
FRAMES = 6


def informative_trial(id_: str) -> TrialView:
    """Return the most instructive trial of a task: rewarded, with the strongest stimulus."""
    env = ngym.make(id_)
    if len(env.observation_space.shape or ()) > 1:
        return oracle_trial(env, 0)
    return max((oracle_trial(env, seed) for seed in SEEDS), key=_tells)


def _tells(trial: TrialView) -> tuple[bool, float]:
    values = [value for name, value in trial.record.items() if name.startswith("coh")]
    strengths = [abs(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return max(trial.rewards, default=0) > 0, sum(strengths)


def drawing(trial: TrialView) -> Any:
    """Draw a trial for the page of a task."""
    with styled():
        return trials_figure([trial], ("inputs", "choice", "reward") if trial.frames is None else ("choice", "reward"))


def strip(trial: TrialView) -> Any:
    """Draw some of the frames of a trial side by side."""
    assert trial.frames is not None
    shown = np.unique(np.linspace(0, len(trial) - 1, FRAMES).astype(int))
    with styled():
        figure, axes = new_figure(1, len(shown), width=1.4, height=1.6)
        for one, number in zip(axes, shown, strict=True):
            one.imshow(_image(trial.frames[number]), cmap="gray", vmin=0, vmax=255)
            one.set_title(f"{number * trial.dt:g} ms", fontsize=8)
            one.axis("off")
    return figure


def _image(frame: np.ndarray) -> np.ndarray:
    return np.squeeze(frame).astype(np.uint8)


def thumbnail(trial: TrialView) -> Any:
    """Draw a trial without any words, for the gallery."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.4, 1.2))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.axis("off")
    if trial.frames is not None:
        fullest = max(trial.frames, key=lambda frame: float(np.std(frame)))
        axes.imshow(_image(fullest), cmap="gray", vmin=0, vmax=255)
        return figure
    seen = np.ptp(trial.observations) > 0
    shown, labels = (trial.observations, trial.labels["observation"]) if seen else (_done(trial), {})
    axes.pcolormesh((shown / largest(shown, labels)).T[::-1], cmap="RdBu_r", vmin=-1, vmax=1, rasterized=True)
    return figure


def _done(trial: TrialView) -> np.ndarray:
    """Return what is done, as channels: for a trial in which nothing changes that is seen."""
    return (trial.actions == np.arange(trial.actions.max() + 2)).astype(float) if trial.discrete else trial.actions


def caption(trial: TrialView) -> str:
    """Return the content of the drawing in words, for readers who do not see it as well."""
    given = ", ".join(f"{name} {_short(value)}" for name, value in trial.record.items() if np.ndim(value) == 0)
    periods = ", ".join(name for name, _ in sorted(trial.periods.items(), key=lambda part: part[1]))
    earned = f"reward {trial.rewards.sum():g}"
    return f"One trial by the oracle, up to its answer: periods {periods}; {f'{given}; ' if given else ''}{earned}."


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
