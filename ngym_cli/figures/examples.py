"""Example trials: observation, action, ground truth and reward on one time axis."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from ngym_cli.figures import registry
from ngym_cli.figures.channels import channel_image, largest, scale_words
from ngym_cli.figures.style import COLOURS, GREY, legend_below, new_figure
from ngym_cli.figures.view import View
from ngym_cli.figures.wording import index_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ngym_cli.agents.acting import Acting
    from ngym_cli.environments.trial_batch import TrialBatch


@dataclass
class Trace:
    """What happened in a stretch of steps of one environment; row t of each belongs to the same step.

    Attributes:
        observations: what the agent saw, (steps, channels).
        actions: what it did.
        ground_truth: what was right, or empty where the task does not say.
        rewards: what it got for it.
        ends: steps at which a trial ended.
        outcomes: of the trials that ended.
    """

    observations: list[np.ndarray] = field(default_factory=list)
    actions: list[Any] = field(default_factory=list)
    ground_truth: list[Any] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)


def record(venv: TrialBatch, agent: Acting, trials: int, most_steps: int = 2_000) -> Trace:
    """Step a batch of one environment until some trials have ended.

    Args:
        venv: a ``TrialBatch`` of one environment, seeded.
        agent: an agent for one environment.
        trials: how many trials to see.
        most_steps: give up after this many steps.
    """
    from ngym_cli.agents.acting import rollout

    trace = Trace()
    for step in itertools.islice(rollout(venv, agent), most_steps):
        trace.observations.append(np.ravel(step.seen[0]))
        trace.actions.append(np.ravel(step.act.actions[0]))
        trace.rewards.append(float(step.rewards[0]))
        if venv.ground_truth is not None:
            trace.ground_truth.append(np.ravel(venv.ground_truth[0]))
        if venv.finished is not None:
            trace.ends.append(len(trace.actions))
            trace.outcomes.append(str(venv.finished["outcome"][0]))
        if len(trace.ends) == trials:
            break
    return trace


def example_trials(trace: Trace, dt: float, labels: Mapping[str, Any]) -> Figure:
    """Draw consecutive trials.

    Args:
        trace: from ``record``.
        dt: time step in ms.
        labels: ``"observation"`` and ``"action"``: label to index or indices.
    """
    observations = np.array(trace.observations)
    steps = len(observations)
    edges = np.arange(steps + 1) * dt
    figure, (seen, done, got) = new_figure(
        3, 1, width=max(5.0, min(12.0, 0.09 * steps)), height=1.7, sharex=True, height_ratios=[2, 1.2, 0.8]
    )
    named = labels.get("observation", {})
    image = channel_image(seen, edges, observations, named)
    scale_words(seen, largest(observations, named), named)
    figure.colorbar(image, ax=[seen, done, got], label="share of the largest (at the right)", pad=0.06, shrink=0.6,
                    anchor=(0, 1), ticks=[-1, 0, 1])  # fmt: skip
    seen.set(ylabel="channel", title=f"example trials, n = {len(trace.ends)}")
    _actions(done, trace, edges, labels.get("action", {}))
    got.stairs(trace.rewards, edges, color=COLOURS[2])
    got.axhline(0, color=GREY, linewidth=0.5)
    got.set(ylabel="reward", xlabel="time (ms)")
    _mark_trials((seen, done, got), trace, dt)
    legend_below(done, 4)
    return figure


def _actions(axes: Axes, trace: Trace, edges: np.ndarray, labels: Mapping[str, object]) -> None:
    actions, truth = np.array(trace.actions, float), np.array(trace.ground_truth, float)
    for component in range(actions.shape[1]):
        mark = "" if actions.shape[1] == 1 else f" {component + 1}"
        if len(truth):
            axes.stairs(truth[:, component], edges, color=GREY, linewidth=4, alpha=0.5, label=f"ground truth{mark}")
        axes.stairs(actions[:, component], edges, color=COLOURS[component % 6], label=f"action{mark}", baseline=None)
    flat = index_names(labels)
    if actions.shape[1] == 1 and flat and len(flat) <= 8:
        axes.set_yticks(sorted(flat), [flat[index] for index in sorted(flat)])
    axes.set(ylabel="action")


def _mark_trials(all_axes: tuple, trace: Trace, dt: float) -> None:
    for end in trace.ends[:-1]:
        for axes in all_axes:
            axes.axvline(end * dt, color="black", linewidth=0.8)
    for begin, end, outcome in zip([0, *trace.ends], trace.ends, trace.outcomes, strict=False):
        all_axes[1].annotate(
            outcome,
            ((begin + end) / 2 * dt, 1),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            fontsize=8,
        )


#: Trials shown as examples.
EXAMPLES = 5


@registry.figure("consecutive trials: observation, action, ground truth, reward")
def examples(view: View) -> Figure:
    """Draw a few fresh trials of the first run."""
    from ngym_cli.agents.trained import agent_for
    from ngym_cli.environments.stack import build_batch
    from ngym_cli.environments.trial_batch import trials_of

    source = view.first
    venv = build_batch(source.config, 1)
    try:
        venv.seed(0)
        trace = record(trials_of(venv), agent_for(source.actor, 1, seed=0), EXAMPLES)
    finally:
        venv.close()
    return example_trials(trace, source.facts.dt, source.facts.labels)
