"""Attractors and preferences of units of networks that learned one task from reward or from labels."""

from functools import cache

import numpy as np

from neurogym.analysis import UndeterminedError
from ngym_cli.agents.dynamics import attractors_of_sets, input_sets, longest_period, visited_states
from ngym_cli.figures.style import COLOURS, new_figure
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns

#: Columns of the trials for whose values the mean input of the stimulus is held.
HELD = "context", "ground_truth"


@cache
def _found(run: PaperRun):
    """Attractors under the mean input of each context and direction."""
    activity, table, system = run.activity(), run.trials(), run.system
    observations = np.asarray(run.recording()["observations"], float)
    states, of_step = visited_states(system, activity, observations)
    sets = input_sets(table, activity, observations, HELD, ("stimulus",))
    return [found for _, found in attractors_of_sets(system, states, of_step, sets, longest_period(table, activity))]


def performance(reward: PaperRun, supervised: PaperRun):
    """Performance of both networks."""
    return {each: float(run.summary()["performance"]) for each, run in (("reward", reward), ("labels", supervised))}


def motion(run: PaperRun):
    """Share of inputs under which visited states end in motion that goes on: cycles, quasi-periodic or chaotic."""
    kinds = [{limit.kind for limit in found.limits} for found in _found(run)]
    return float(np.mean([bool(each & {"cycle", "quasi-periodic", "chaotic"}) for each in kinds]))


def points_only(run: PaperRun):
    """Share of inputs under which all visited states end at stable points."""
    return float(np.mean([{limit.kind for limit in found.limits} == {"point"} for found in _found(run)]))


def more_motion(reward: PaperRun, supervised: PaperRun):
    """That share after learning from reward less that after learning from labels."""
    return motion(reward) - motion(supervised)


def _balance(run: PaperRun):
    """Smaller over larger number of units that prefer either choice, before the answer."""
    choice, activity = run.trials()["choice"], run.activity()
    rate = np.stack([activity.values[end - 2] for end in activity.offsets[1:]])
    one, two = choice == 1, choice == 2
    if min(one.sum(), two.sum()) < 2:
        raise UndeterminedError("one choice only")
    preferred = np.sign(rate[one].mean(0) - rate[two].mean(0))
    numbers = (preferred > 0).sum(), (preferred < 0).sum()
    return float(min(numbers) / max(*numbers, 1))


def balance(reward: PaperRun, supervised: PaperRun):
    """That ratio after learning from reward less that after learning from labels."""
    return _balance(reward) - _balance(supervised)


def figure_attractors(paper: PaperRuns):
    """Share of the inputs of each network under which activity goes on moving, against the balance of its units, by
    what it learned from.
    """
    figure, (axes,) = new_figure(1, 1, width=4, squeeze=False)
    for colour, part in zip(COLOURS, ("reward", "supervised"), strict=False):
        runs = paper.runs(part)
        axes[0].plot([*map(_balance, runs)], [*map(motion, runs)], "o", color=colour, label=part)
    axes[0].set(xlabel="balance of the units' preferences", ylabel="share of inputs with motion")
    axes[0].legend()
    return figure
