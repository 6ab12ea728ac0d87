"""Populations of units in networks of rank one, and what they are needed for."""

from functools import cache

import numpy as np

from neurogym.analysis import Activity
from neurogym.analysis.trial_tables import is_correct, responded, select
from ngym_cli.agents.perturbation import Perturbation
from ngym_cli.figures.style import COLOURS, GREY, new_figure
from ngym_cli.papers.controls import cut, rewired
from ngym_cli.papers.paper_runs import PaperRun
from ngym_cli.runs import Run

CONTEXTS = (0, 1)
#: Draws of new units from the fitted population, and trials without a population.
DRAWS, TRIALS = 3, 1000
#: What a run is marked with whose units are put into random populations.
RANDOM = "random populations"
#: Weights of a unit, by the end of the tensor's name: with units along rows, and along columns.
ROWS = ("weight_hh_l0.original0", "weight_hh_l0.original1", "weight_ih_l0")
COLUMNS = ("action_net.weight",)


def _units(weights):
    """All weights of each unit: vectors of connectivity, inputs, read-out; shape (units, weights)."""
    found = [weights[name].numpy() for name in weights if name.endswith(ROWS)]
    found += [weights[name].numpy().T for name in weights if name.endswith(COLUMNS)]
    biases = sum(weights[name].numpy() for name in weights if "lstm_actor.bias" in name)
    return np.concatenate([*found, biases[:, None]], axis=1)


def _fill(weights, units):
    """Give units other weights, in the order of `_units`."""
    place = 0
    for name in [name for name in weights if name.endswith(ROWS)]:
        size = weights[name].shape[1]
        weights[name].numpy()[:] = units[:, place : place + size]
        place += size
    for name in [name for name in weights if name.endswith(COLUMNS)]:
        size = weights[name].shape[0]
        weights[name].numpy()[:] = units[:, place : place + size].T
        place += size
    first, *others = [name for name in weights if "lstm_actor.bias" in name]
    weights[first].numpy()[:] = units[:, place]
    for name in others:
        weights[name].numpy()[:] = 0
    return weights


def _drawn(run, draw):
    """The network with all units drawn anew from one Gaussian that is fitted to the weights of its units."""
    rng = np.random.default_rng([run.seed, draw])

    def anew(weights):
        units = _units(weights)
        return _fill(weights, rng.multivariate_normal(units.mean(axis=0), np.cov(units.T), size=len(units)))

    return rewired(run, anew)


def decisions(run):
    """Proportion correct of the answers that were given."""
    table = run.trials()
    given = responded(table)
    return float(np.mean(is_correct(select(table, given)))) if given.any() else np.nan


@cache
def after_resampling(run):
    """Proportion correct of answers after all units were drawn anew from one Gaussian, mean of draws that answer."""
    found = [decisions(_drawn(run, draw)) for draw in range(DRAWS)]
    return float(np.mean([each for each in found if np.isfinite(each)]))


def lost_by_resampling(run):
    """Proportion correct of answers less that after all units were drawn anew from one Gaussian."""
    return decisions(run) - after_resampling(run)


@cache
def _populations(run):
    """Units whose gain is higher in the first context, and all others.

    The gain of a unit is the slope of tanh at its mean input during the stimulus, 1 - rate^2.
    """
    recording, table = run.recording("activity"), run.trials("activity")
    activity = Activity(recording["activity"], recording.offsets, recording.dt)
    steps = int(table["period_stimulus"][0] / recording.dt)
    gain = 1 - activity.align(table["onset_stimulus"] / recording.dt, start=0, stop=steps).mean(axis=1) ** 2
    more = gain[table["context"] == 0].mean(axis=0) - gain[table["context"] == 1].mean(axis=0)
    if run.kept == RANDOM:
        more = np.random.default_rng(run.seed).permutation(more)
    return np.flatnonzero(more > 0), np.flatnonzero(more <= 0)


@cache
def _without(run):
    """Proportion correct in each context (columns) while each population (rows) stays as it was before the stimulus."""
    found = []
    for units in _populations(run):
        if not len(units):
            raise ValueError("all units have their higher gain in the same context")
        held = Perturbation("clamp", units=tuple(map(int, units)), period="stimulus")
        table = run.perturbed([held], TRIALS, seed=run.seed).table
        found.append([np.mean(is_correct(select(table, table["context"] == context))) for context in CONTEXTS])
    return np.array(found)


def double_dissociation(run):
    """Proportion correct in the context that is spared without a population less that in the other, for both of them.

    What one population costs in one context the other must cost in the other; the smaller of the two differences.
    """
    first, second = _without(run)
    return float(max(min(first[1] - first[0], second[0] - second[1]), min(first[0] - first[1], second[1] - second[0])))


def control_no_evidence(run):
    """The trained networks without their inputs from the stimulus: they answer, but not to what was shown."""
    channels = run.agent.make_env().unwrapped.observation_space.name
    return cut(run, *(name for name in channels if name.startswith("stim")))


def control_no_context(run):
    """The trained networks without their inputs from the cue of the context: both modalities count alike."""
    return cut(run, "context1", "context2")


def control_one_population(run):
    """The trained networks, all units drawn anew from one Gaussian that is fitted to the weights of theirs."""
    return _drawn(run, DRAWS)


def control_random_populations(run):
    """The trained networks, their units in random populations as large as those that were found."""
    found = PaperRun(Run(run.path), run.seed, run.requested)
    found.kept = RANDOM
    return found


def figure_2_resampled_units(paper):
    """Proportion correct of trained networks and after all units were drawn anew from one Gaussian population, a line
    for each network. Lines of integration stay where they are, those of context-dependent integration fall.
    """
    figure, axes = new_figure(width=4.2)
    for place, part in enumerate(("integration", "context")):
        for k, run in enumerate(paper.runs(part)):
            values = decisions(run), after_resampling(run)
            label = paper.config.parts[part].what if k == 0 else None
            axes.plot([2.5 * place, 2.5 * place + 1], values, "o-", color=COLOURS[place], markersize=4, label=label)
    axes.axhline(0.5, color=GREY, linestyle=":", linewidth=1)
    axes.set_xticks([0, 1, 2.5, 3.5], ["trained", "drawn anew"] * 2)
    axes.set(ylabel="proportion correct", ylim=(0.3, 1.03))
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.12))
    return figure


def figure_6_each_population_held(paper):
    """Proportion correct in each context while one population stays as it was before the stimulus: the units whose gain
    is higher in context 1, and all others; a dot for each network. In the paper each costs one context only.
    """
    figure, axes = new_figure(width=4.2)
    for k, run in enumerate(paper.runs("context")):
        found = _without(run)
        for context in CONTEXTS:
            places = np.arange(2) + 0.1 * (2 * context - 1)
            label = f"context {context + 1}" if k == 0 else None
            axes.plot(places, found[:, context], "o", color=COLOURS[context], markersize=5, label=label)
    axes.axhline(0.5, color=GREY, linestyle=":", linewidth=1)
    axes.set_xticks([0, 1], ["units of higher gain\nin context 1 held", "all others held"])
    axes.set(ylabel="proportion correct", ylim=(0, 1.03), xlim=(-0.5, 1.5))
    axes.legend()
    return figure
