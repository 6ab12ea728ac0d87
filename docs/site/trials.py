"""One trial of a task by the oracle, drawn: what it shows, when, what is right and what that earns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import neurogym as ngym
from neurogym.plotting.labels import legend_beside
from ngym_cli.catalog import oracle_trial
from ngym_cli.figures.channels import channel_image
from ngym_cli.figures.style import COLOURS, GREY, new_figure, styled
from ngym_cli.figures.wording import index_names

#: Seeds among which a telling trial is looked for.
SEEDS = range(10)

#: Lines that names of periods may take above a trial, beyond which they stand upright.
LEVELS = 3

#: Frames of an image task that are shown.
FRAMES = 6


def telling(id_: str) -> dict[str, Any]:
    """Return the trial of a task that says most of it: a rewarded one, with the strongest stimulus.

    Args:
        id_: of the task.
    """
    env = ngym.make(id_)
    return max((oracle_trial.draw(env, seed) for seed in SEEDS), key=_tells)


def _tells(trial: Mapping[str, Any]) -> tuple[bool, float]:
    strengths = [abs(value) for name, value in trial["conditions"].items() if name.startswith("coh") and _number(value)]
    return max(trial["rewards"], default=0) > 0, sum(strengths)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def drawing(found: Mapping[str, Any], frames: np.ndarray | None = None) -> Any:
    """Draw the trial of a page of ``ngym info``.

    Args:
        found: from ``describe``.
        frames: what is seen at each step, (steps, height, width, colours), where that is an image.
    """
    trial = found["trial"]
    steps = len(trial["actions"])
    edges = np.arange(steps + 1) * found["dt"]
    with styled():
        if frames is None:
            figure, (seen, done, got) = _panels(found)
            _channels(seen, edges, found)
        else:
            figure, (done, got) = new_figure(2, 1, width=6.4, height=1.3, sharex=True, height_ratios=[1.2, 0.8])
        _actions(done, edges, found)
        got.stairs(trial["rewards"], edges, color=COLOURS[2], linewidth=2)
        got.axhline(0, color=GREY, linewidth=0.5)
        got.set(ylabel="reward", xlabel="time (ms)", xlim=(0, edges[-1]))
        top = seen if frames is None else done
        _periods(figure.axes, top, found)
    return figure


def _panels(found: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the figure, higher where there are more channels."""
    channels = len(found["trial"]["observations"][0])
    high = min(3.2, 0.7 + 0.22 * channels)
    whole = high + 1.2 + 0.8
    figure, axes = new_figure(3, 1, width=6.4, height=(whole + 0.6) / 3, sharex=True, height_ratios=[high, 1.2, 0.8])
    return figure, axes


def _channels(axes: Any, edges: np.ndarray, found: Mapping[str, Any]) -> None:
    channel_image(axes, edges, np.array(found["trial"]["observations"]), found["observation"]["names"])
    axes.set_ylabel("what is seen")


def _actions(axes: Any, edges: np.ndarray, found: Mapping[str, Any]) -> None:
    trial = found["trial"]
    actions = np.array([np.ravel(action) for action in trial["actions"]], float)
    truth = trial["ground_truth"]
    right = np.array([]) if None in truth else np.array([np.ravel(one) for one in truth], float)
    for component in range(actions.shape[1]):
        words = {"label": "right"} if component == 0 else {}
        if right.size and right.shape == actions.shape:
            axes.stairs(right[:, component], edges, color=GREY, linewidth=5, alpha=0.4, baseline=None, **words)
        words = {"label": "done"} if component == 0 else {}
        axes.stairs(actions[:, component], edges, color=COLOURS[component % 6], linewidth=1.5, baseline=None, **words)
    named = index_names(found["action"]["names"])
    if actions.shape[1] == 1 and "n" in found["action"] and named and len(named) <= 6:
        axes.set_yticks(sorted(named), [named[index] for index in sorted(named)])
    elif "n" in found["action"]:
        axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel("action")
    legend_beside(axes)


def _periods(all_axes: list[Any], top: Any, found: Mapping[str, Any]) -> None:
    """Write the periods above the trial, and draw where they begin."""
    dt, whole = found["dt"], len(found["trial"]["actions"])
    spans = sorted((span[0], span[1], name) for name, span in found["trial"]["periods"].items() if span[1] > span[0])
    middles = [(begin + end) / 2 / whole for begin, end, _ in spans]
    heights = _heights([(middle, name) for middle, (_, _, name) in zip(middles, spans, strict=True)])
    upright = max(heights, default=0) >= LEVELS
    for middle, height, (begin, _, name) in zip(middles, heights, spans, strict=True):
        for axes in all_axes:
            axes.axvline(begin * dt, color="black", linewidth=0.6, linestyle=":", zorder=3)
        top.annotate(
            name, (middle, 1), xycoords="axes fraction", xytext=(0, 2 if upright else 2 + 9 * height),
            textcoords="offset points", ha="center", va="bottom", fontsize=8, rotation=90 if upright else 0,
        )  # fmt: skip


def _heights(names: list[tuple[float, str]]) -> list[int]:
    """Return on which line each name stands so that none touches the one before; places are fractions of the width."""
    found: list[int] = []
    last = -np.inf
    for middle, name in names:
        half = 0.0085 * len(name)
        found.append(found[-1] + 1 if middle - half < last else 0)
        last = middle + half
    return found


def frames_of(id_: str, seed: int) -> np.ndarray:
    """Return what the oracle sees at each step of one trial of an image task."""
    env = ngym.make(id_)
    seen, info = [env.reset(seed=seed)[0]], {}
    while not info.get("new_trial"):
        observation, *_, info = env.step(env.unwrapped.oracle())
        seen.append(observation)
    return np.array(seen[:-1])


def strip(frames: np.ndarray, dt: float) -> Any:
    """Draw some of the frames of a trial side by side."""
    shown = np.unique(np.linspace(0, len(frames) - 1, FRAMES).astype(int))
    with styled():
        figure, axes = new_figure(1, len(shown), width=1.4, height=1.6)
        for one, number in zip(axes, shown, strict=True):
            one.imshow(np.squeeze(frames[number]).astype(np.uint8), cmap="gray", vmin=0, vmax=255)
            one.set_title(f"{number * dt:g} ms", fontsize=8)
            one.axis("off")
    return figure


def thumbnail(found: Mapping[str, Any], frames: np.ndarray | None = None) -> Any:
    """Draw a trial without any words, for the gallery."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.4, 1.2))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.axis("off")
    if frames is not None:
        axes.imshow(np.squeeze(frames[len(frames) // 2]).astype(np.uint8), cmap="gray", vmin=0, vmax=255)
        return figure
    edges = np.arange(len(found["trial"]["actions"]) + 1.0)
    channel_image(axes, edges, np.array(found["trial"]["observations"]), found["observation"]["names"])
    return figure


def caption(found: Mapping[str, Any]) -> str:
    """Return what the drawing shows, for those who do not see it as well."""
    trial = found["trial"]
    given = ", ".join(f"{name} {_short(value)}" for name, value in trial["conditions"].items())
    periods = ", ".join(name for name, span in sorted(trial["periods"].items(), key=lambda part: part[1]))
    length = f"{len(trial['actions'])} steps of {found['dt']:g} ms"
    earned = f"reward {sum(trial['rewards']):g}"
    return f"One trial by the oracle: {length}, periods {periods}; {f'{given}; ' if given else ''}{earned}."


def _short(value: Any) -> str:
    return f"{value:.4g}" if _number(value) else str(value)
