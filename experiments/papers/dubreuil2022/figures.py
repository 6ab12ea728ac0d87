"""Populations of units in networks of rank one, and what they are needed for."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from neurogym.analysis.results import UndeterminedError
from neurogym.analysis.trial_tables import numbers
from ngym_cli.figures.style import COLOURS, GREY, new_figure
from ngym_cli.papers.controls import cut
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns

CONTEXTS = (0, 1)
#: Draws of new units from the fitted population, and units of each draw, as in the paper's large networks.
DRAWS, DRAWN = 3, 4096
#: Difference of mean gains between the contexts from which on a unit belongs to one of the two populations.
DIFFERENT = 0.1
#: Evaluation whose inputs are given to networks with other units.
INPUTS = "inputs"
#: What a run is marked with whose units are put into random populations, or drawn from one population.
RANDOM, ONE = "random populations", "one population"


@dataclass(frozen=True)
class Units:
    """Network of rank one, by its units: recurrent weights are ``m n^T / units``, the output is ``w tanh(h) / units``.

    Attributes:
        weights: columns m, n, w, bias, and the input of each channel, shape (units, 4 + channels).
        alpha: share of the way to the new value that a step goes.
        offset: of the output, in which the second choice is positive.
    """

    weights: np.ndarray
    alpha: float
    offset: float

    def drawn(self, seed):
        """Return a large network whose units come from one Gaussian that is fitted to the weights of these."""
        mean, covariance = self.weights.mean(axis=0), np.cov(self.weights.T)
        rng = np.random.default_rng(seed)
        return replace(self, weights=rng.multivariate_normal(mean, covariance, size=DRAWN).astype(np.float32))

    def without(self, units):
        """Return the network without some of its units: their activity is zero."""
        left = self.weights[~units].copy()
        left[:, [0, 2]] *= len(left) / len(self.weights)
        return replace(self, weights=left)

    def outputs(self, inputs):
        """Return the output after the last step, shape (trials,), and the mean rates of each trial."""
        m, n, w, bias = self.weights[:, :4].T
        into, size = self.weights[:, 4:].T, len(self.weights)
        rates = np.zeros((len(inputs), size), self.weights.dtype)
        total = np.zeros_like(rates)
        for t in range(inputs.shape[1]):
            drive = np.outer(rates @ n / size, m) + inputs[:, t] @ into + bias
            rates = (1 - self.alpha) * rates + self.alpha * np.tanh(drive)
            total += rates
        return rates @ w / size + self.offset, total / inputs.shape[1]


@cache
def _network(run: PaperRun):
    """The trained network by its units; large, with units of one population, where the run is marked so."""
    system: Any = run.system
    left, size, right = np.linalg.svd(system.recurrent)
    weights, biases = run.read_out
    units = len(system.recurrent)
    columns = [left[:, 0] * size[0] * units, right[0], (weights[2] - weights[1]) * units, system.bias]
    reduced = Units(np.column_stack([*columns, system.weights]), float(system.alpha), float(biases[2] - biases[1]))
    return reduced.drawn([run.seed, DRAWS]) if run.variant == ONE else reduced


@cache
def _trials(run: PaperRun):
    """Inputs, shape (trials, steps, channels), which answers are the second choice, and the context of each trial."""
    recording, table = run.recording(INPUTS), run.trials(INPUTS)
    steps = int(np.diff(recording.offsets).min())
    inputs = np.stack([recording["observations"][k : k + steps] for k in recording.offsets[:-1]]).astype(np.float32)
    truth = numbers(table["ground_truth"])
    context = numbers(table["context"]).astype(int) if "context" in table else np.zeros(len(truth), int)
    return inputs, truth == truth.max(), context


def _correct(run: PaperRun, network):
    """Proportion of trials whose output has the right sign."""
    inputs, second, _ = _trials(run)
    return float(np.mean((network.outputs(inputs)[0] > 0) == second))


@cache
def after_resampling(run: PaperRun):
    """Proportion of outputs with the right sign after all units were drawn anew from one Gaussian, mean of draws."""
    return float(np.mean([_correct(run, _network(run).drawn([run.seed, draw])) for draw in range(DRAWS)]))


def lost_by_resampling(run: PaperRun):
    """Proportion of outputs with the right sign less that after all units were drawn anew from one Gaussian."""
    return _correct(run, _network(run)) - after_resampling(run)


@cache
def _populations(run: PaperRun):
    """Units with a higher gain in the first context, and those with a higher gain in the second.

    The gain of a unit is the slope of tanh at its mean input, 1 - rate^2.
    """
    inputs, _, context = _trials(run)
    gain = 1 - _network(run).outputs(inputs)[1] ** 2
    more = gain[context == 0].mean(axis=0) - gain[context == 1].mean(axis=0)
    if run.variant == RANDOM:
        more = np.random.default_rng(run.seed).permutation(more)
    return more > DIFFERENT, more < -DIFFERENT


@cache
def _without(run: PaperRun):
    """Proportion correct in each context (columns) without each population (rows)."""
    inputs, second, context = _trials(run)
    performances = []
    for units in _populations(run):
        if not units.any():
            raise UndeterminedError("no unit has a clearly higher gain in one of the contexts")
        outputs = _network(run).without(units).outputs(inputs)[0]
        performances.append([_best(outputs[context == k], second[context == k]) for k in CONTEXTS])
    return np.array(performances)


def _best(outputs, second):
    """Proportion correct with the border between the choices where it is highest: without units outputs are shifted."""
    sorted_ = second[np.argsort(outputs)]
    below, above = np.append(0, np.cumsum(~sorted_)), np.append(sorted_[::-1].cumsum()[::-1], 0)
    return float((below + above).max() / len(second))


def double_dissociation(run: PaperRun):
    """Proportion correct in the context that is spared without a population less that in the other, for both of them.

    What one population costs in one context the other must cost in the other; the smaller of the two differences.
    """
    first, second = _without(run)
    return float(max(min(first[1] - first[0], second[0] - second[1]), min(first[0] - first[1], second[1] - second[0])))


def control_no_evidence(run: PaperRun):
    """The trained networks without their inputs from the stimulus: they answer, but not to what was shown."""
    return cut(run, *(name for name in run.env.observation_space.name if name.startswith("stim")))


def control_no_context(run: PaperRun):
    """The trained networks without their inputs from the cue of the context: both modalities count alike."""
    return cut(run, "context1", "context2")


def control_one_population(run: PaperRun):
    """The trained networks, all units drawn anew from one Gaussian that is fitted to the weights of theirs."""
    return run.as_variant(ONE)


def control_random_populations(run: PaperRun):
    """The trained networks, their units in random populations as large as those that were found."""
    return run.as_variant(RANDOM)


def figure_2_resampled_units(paper: PaperRuns):
    """Proportion correct of trained networks and after all units were drawn anew from one Gaussian population, a line
    for each network. Lines of integration stay where they are, those of context-dependent integration fall.
    """
    figure, axes = new_figure(width=4.2)
    for position, name in enumerate(("integration", "context")):
        for k, run in enumerate(paper.runs(name)):
            values = _correct(run, _network(run)), after_resampling(run)
            label = paper.config.parts[name].what if k == 0 else None
            axes.plot(
                [2.5 * position, 2.5 * position + 1], values, "o-", color=COLOURS[position], markersize=4, label=label
            )
    axes.axhline(0.5, color=GREY, linestyle=":", linewidth=1)
    axes.set_xticks([0, 1, 2.5, 3.5], ["trained", "drawn anew"] * 2)
    axes.set(ylabel="proportion correct", ylim=(0.3, 1.03))
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.12))
    return figure


def figure_6_each_population_held(paper: PaperRuns):
    """Proportion correct in each context without one population: 1, the units whose gain is clearly higher in context
    1, and 2, those whose gain is higher in context 2; a dot for each network. Each population costs one context only.
    """
    figure, axes = new_figure(width=4.2)
    for k, run in enumerate(paper.runs("context")):
        performances = _without(run)
        for context in CONTEXTS:
            places = np.arange(2) + 0.1 * (2 * context - 1)
            label = f"context {context + 1}" if k == 0 else None
            axes.plot(places, performances[:, context], "o", color=COLOURS[context], markersize=5, label=label)
    axes.axhline(0.5, color=GREY, linestyle=":", linewidth=1)
    axes.set_xticks([0, 1], ["without population 1", "without population 2"])
    axes.set(ylabel="proportion correct", ylim=(0, 1.03), xlim=(-0.5, 1.5))
    axes.legend()
    return figure
