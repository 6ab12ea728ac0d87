"""Figures of what happens in an environment.

Matplotlib is imported where it is used, and its settings are changed only while a figure is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from neurogym.plotting.training import COLOURS, SETTINGS, save_figure
from neurogym.recording.rollout import run_env, unvectorised
from neurogym.spaces import Action, names_of

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from neurogym.config import PlotConfig


NAME_SIZES = (7, 6, 5)  #: of names on the y axis (points)


def plot_env(
    env: object,
    num_steps: int = 200,
    num_trials: int | None = None,
    def_act: Action | None = None,
    model: object = None,
    name: str | None = None,
    legend: bool = True,
    ob_traces: Sequence[str] | None = None,
    fig_kwargs: dict[str, Any] | None = None,
    fname: str | Path | None = None,
    plot_performance: bool = True,
    plot_config: PlotConfig | None = None,
) -> Figure | FuncAnimation:
    """Run an environment and draw what happened.

    Args:
        env: An environment or the id of one.
        num_steps: Steps to run.
        num_trials: Run until so many trials have ended instead.
        def_act: Constant action if there is no model; default random.
        model: Anything with ``predict``.
        name: Title; default the task's name.
        legend: Whether to draw legends.
        ob_traces: Label of each channel; then channels are drawn as lines in place of an image.
        fig_kwargs: Arguments of ``matplotlib.pyplot.subplots``.
        fname: File to save to.
        plot_performance: Whether to draw the panel of performance.
        plot_config: Settings of a Monitor's figures: gives the title and the format where these are not given.
    """
    if plot_config is not None:
        name = (plot_config.title or None) if name is None else name
        fname = fname if fname is None or Path(fname).suffix else Path(f"{fname}.{plot_config.ext}")
    if isinstance(env, str):
        env = gym.make(env, disable_env_checker=True)
    data = run_env(env, num_steps=num_steps, num_trials=num_trials, def_act=def_act, model=model)
    inner = unvectorised(env)
    return visualize_run(
        data["ob"],
        data["actions"],
        gt=data["gt"],
        rewards=data["rewards"],
        performance=data["perf"] if plot_performance else None,
        legend=legend,
        ob_traces=ob_traces,
        name=type(inner.unwrapped).__name__ if name is None else name,
        fname=fname,
        fig_kwargs=fig_kwargs,
        env=inner,
        initial_ob=data["initial_ob"],
        trial_starts=data["trial_starts"],
    )


def visualize_run(
    ob: np.ndarray,
    actions: np.ndarray,
    gt: np.ndarray | None = None,
    rewards: np.ndarray | None = None,
    performance: np.ndarray | None = None,
    states: np.ndarray | None = None,
    legend: bool = True,
    ob_traces: Sequence[str] | None = None,
    name: str = "",
    fname: str | Path | None = None,
    fig_kwargs: dict[str, Any] | None = None,
    env: gym.Env | None = None,
    initial_ob: np.ndarray | None = None,
    trial_starts: Sequence[int] | None = None,
) -> Figure | FuncAnimation:
    """Draw a run: each step with the observation on which the action was based.

    Args:
        ob: Observations returned by the steps, shape (steps, channels), or (steps, height, width, colours).
        actions: Shape (steps,) or (steps, components).
        gt: Ground truth at each step.
        rewards: Shape (steps,).
        performance: Shape (steps,); -1 where no trial ended.
        states: Activity, shape (steps, units); the second half of the units is drawn.
        legend: Whether to draw legends.
        ob_traces: Label of each channel; then channels are drawn as lines.
        name: Title.
        fname: File to save to.
        fig_kwargs: Arguments of ``matplotlib.pyplot.subplots``.
        env: Gives the names of channels and actions.
        initial_ob: Observation before the first step; default the first one.
        trial_starts: Steps at which trials began.

    Returns:
        The figure, or for images the animation.

    Raises:
        ValueError: If the observations are neither vectors nor images.
    """
    ob = np.asarray(ob)
    if ob.ndim not in (2, 4):
        raise ValueError(f"can draw observations that are vectors or images, not of shape {ob.shape[1:]}")
    ob = np.concatenate([ob[:1] if initial_ob is None else np.asarray(initial_ob)[None], ob[:-1]])
    if ob.ndim == 4:
        return plot_env_3dbox(ob, "" if fname is None else str(fname), env)
    return plot_env_1dbox(
        ob, actions, gt, rewards, performance, states, legend, ob_traces, name, fname, fig_kwargs, env, trial_starts
    )


def plot_env_1dbox(
    ob: np.ndarray,
    actions: np.ndarray,
    gt: np.ndarray | None = None,
    rewards: np.ndarray | None = None,
    performance: np.ndarray | None = None,
    states: np.ndarray | None = None,
    legend: bool = True,
    ob_traces: Sequence[str] | None = None,
    name: str = "",
    fname: str | Path | None = None,
    fig_kwargs: dict[str, Any] | None = None,
    env: gym.Env | None = None,
    trial_starts: Sequence[int] | None = None,
) -> Figure:
    """Panels of observations, actions with ground truth, and, if given, rewards, performance and states.

    See :func:`visualize_run`; here ``ob`` is what the agent saw at each step.

    Raises:
        ValueError: If there is not one label per channel.
    """
    import matplotlib.pyplot as plt

    curves = [("rewards", rewards), ("performance", performance), ("states", states)]
    panels = 2 + sum(values is not None for _, values in curves)
    steps = np.arange(1, len(ob) + 1)
    with plt.rc_context(SETTINGS):
        options = {"figsize": (6, 1.2 * panels), "sharex": True, "layout": "constrained", **(fig_kwargs or {})}
        figure, axes = plt.subplots(panels, 1, **options)
        draw_observations(axes[0], steps, np.asarray(ob), ob_traces, env, legend)
        axes[0].set_title(f"{name} env" if name else "")
        draw_actions(axes[1], steps, np.asarray(actions), gt, env, legend)
        rest = iter(axes[2:])
        if rewards is not None:
            draw_rewards(next(rest), steps, np.asarray(rewards), env)
        if performance is not None:
            _performance(next(rest), steps, np.asarray(performance))
        if states is not None:
            ax, units = next(rest), np.asarray(states)
            ax.imshow(units[:, units.shape[1] // 2 :].T, aspect="auto", origin="lower", extent=_extent(steps, units))
            ax.set_ylabel("Units")
        for ax in axes:
            for start in trial_starts or ():
                ax.axvline(start + 0.5, color="grey", linestyle="--", linewidth=0.8)
        every = 5 * max(1, int(np.ceil(len(steps) / 60)))
        axes[-1].set_xticks(np.arange(every, len(steps) + 1, every))
        axes[-1].set_xlim(0.5, len(steps) + 0.5)
        axes[-1].set_xlabel("Steps")
        save_figure(figure, fname)
    return figure


def _extent(steps: np.ndarray, image: np.ndarray) -> tuple[float, float, float, float]:
    return 0.5, len(steps) + 0.5, -0.5, image.shape[1] - 0.5


def draw_observations(
    ax: Axes, steps: np.ndarray, ob: np.ndarray, traces: Sequence[str] | None, env: gym.Env | None, legend: bool
) -> None:
    """Draw observations: an image, or a line for each label of ``traces``."""
    if traces:
        if len(traces) != ob.shape[1]:
            raise ValueError(f"ob_traces needs one label for each of the {ob.shape[1]} channels, got {len(traces)}")
        for i, label in enumerate(traces):
            ax.plot(steps, ob[:, i], color=COLOURS[i % len(COLOURS)], label=label)
        cues = [ob[:, i].max() for i, label in enumerate(traces) if "fix" in label.lower()]
        stimuli = [ob[:, i].mean() for i, label in enumerate(traces) if "fix" not in label.lower()]
        ticks = {float(np.max(cues)): "Fix. Cue"} if cues else {}
        if stimuli:
            ticks[float(np.mean(stimuli))] = "Stimuli"
        name_ticks(ax, ticks)
        if legend:
            legend_beside(ax)
    else:
        ax.imshow(ob.T, aspect="auto", origin="lower", extent=_extent(steps, ob), interpolation="nearest")
        names = names_of(env.observation_space) if env is not None else {}
        name_ticks(ax, {float(np.mean(index)): label for label, index in names.items()})
    ax.set_ylabel("Obs.")


def draw_actions(
    ax: Axes, steps: np.ndarray, actions: np.ndarray, gt: np.ndarray | None, env: gym.Env | None, legend: bool
) -> None:
    """Draw actions as solid lines and correct actions as dashed lines."""
    columns = actions.reshape(len(actions), int(np.prod(actions.shape[1:])))
    for i in range(columns.shape[1]):
        label = "Actions" if i == 0 else None
        ax.plot(steps, columns[:, i], marker="+", color=COLOURS[i % len(COLOURS)], label=label)
    if gt is not None:
        truth = np.asarray(gt).reshape(len(steps), -1)
        for i in range(truth.shape[1]):
            colour = COLOURS[(i + columns.shape[1]) % len(COLOURS)]
            ax.plot(steps, truth[:, i], "--", color=colour, label="Ground truth" if i == 0 else None)
    if legend:
        legend_beside(ax)
    if env is not None and isinstance(env.action_space, gym.spaces.Discrete):
        ticks: dict[float, str] = {}
        for label, index in names_of(env.action_space).items():
            listed = np.atleast_1d(index)
            for i, action in enumerate(listed):
                ticks[int(action)] = label if len(listed) == 1 else f"{label}_{i + 1}"
        if ticks:
            name_ticks(ax, ticks, join=False)
    ax.set_ylabel("Act.")


def draw_rewards(ax: Axes, steps: np.ndarray, rewards: np.ndarray, env: gym.Env | None) -> None:
    """Draw rewards, with the names of the task's rewards at the axis."""
    ax.plot(steps, rewards, color=COLOURS[1])
    named = {} if env is None else getattr(env.unwrapped, "rewards", {})
    if named:
        ticks: dict[float, list[str]] = {}
        for event, amount in named.items():
            if np.isscalar(amount):
                ticks.setdefault(float(np.asarray(amount)), []).append(str(event))
        name_ticks(ax, {amount: f"{'/'.join(events)} {amount:0.2f}" for amount, events in ticks.items()})
    ax.set_ylabel("Rew.")


def _performance(ax: Axes, steps: np.ndarray, performance: np.ndarray) -> None:
    ended = performance != -1
    ax.plot(steps[ended], performance[ended], "o", color="black", markersize=3)
    ax.set_ylim(-0.1, 1.1)
    ax.set_yticks([0, 0.5, 1])
    ax.set_ylabel("Perf.")
    if ended.any():
        ax.set_title(f"Mean performance: {performance[ended].mean():0.2f} (n = {ended.sum()} trials)")


def plot_env_3dbox(ob: np.ndarray, fname: str = "", env: gym.Env | None = None) -> FuncAnimation:
    """Movie of image observations, with a frame per time step.

    Args:
        ob: Frames, shape (steps, height, width, colours), 0 to 255.
        fname: File to save to (``.gif`` needs Pillow, others ffmpeg); nothing is saved without.
        env: Gives the time step; default 50 ms.

    Returns:
        The animation.
    """
    import matplotlib.pyplot as plt
    from matplotlib import animation

    task = None if env is None else env.unwrapped
    interval = float(getattr(task, "dt", 50.0))
    frames = np.asarray(ob).astype(np.uint8)
    figure, ax = plt.subplots()
    ax.axis("off")
    image = ax.imshow(frames[0], cmap="gray")

    def show(i: int) -> list[Any]:
        image.set_data(frames[i])
        return [image]

    movie = animation.FuncAnimation(figure, show, frames=len(frames), interval=interval, blit=True)
    if fname:
        movie.save(fname if Path(fname).suffix else f"{fname}.mp4", fps=round(1000 / interval), dpi=300)
    return movie


def legend_beside(ax: Axes) -> None:
    """Draw the legend next to the panel, without overlap."""
    columns = int(np.ceil(len(ax.get_legend_handles_labels()[1]) / 7))
    ax.legend(fontsize=6, loc="upper left", bbox_to_anchor=(1.0, 1.05), borderaxespad=0.2, ncols=columns)


def name_ticks(ax: Axes, names: Mapping[float, str], join: bool = True) -> None:
    """Names at places on the y axis, smaller where there is little room.

    Args:
        ax: The panel, with everything drawn.
        names: Place to name.
        join: Whether names that would touch even so share one label; else only the first of them is written.
    """
    limits = [*ax.get_ylim(), *names]
    figure: Any = ax.get_figure(root=True)
    inches = figure.get_figheight() / len(figure.axes)
    point = (max(limits) - min(limits)) / (72 * 0.6 * inches)  # the panel without its margins
    groups: list[list[float]] = []
    for size in NAME_SIZES:
        groups = _spread_out(sorted(names), 1.25 * size * point, join)
        if len(groups) == len(names):
            break
    labels = [[names[position] for position in group] for group in groups]
    places = [float(np.mean(group)) if join else group[0] for group in groups]
    ax.set_yticks(places, [_joined(group) if join else group[0] for group in labels], fontsize=size)


def _spread_out(places: Sequence[float], room: float, chain: bool) -> list[list[float]]:
    """Group places; different groups (or their first places) are at least ``room`` apart."""
    groups: list[list[float]] = []
    for position in places:
        if groups and position - groups[-1][-1 if chain else 0] < room:
            groups[-1].append(position)
        else:
            groups.append([position])
    return groups


def _joined(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} ... {names[-1]}"
