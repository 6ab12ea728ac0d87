"""Choices, fixed points and targeted axes of networks that integrate one of two noisy sources."""

from functools import cache

import numpy as np

from neurogym.analysis import from_trials, pca_trajectories, targeted_axes
from neurogym.analysis.results import UndeterminedError
from neurogym.analysis.trial_tables import is_correct, numbers, responded, select
from neurogym.dynamics import find_fixed_points, selected_input
from ngym_cli.agents.dynamics import input_sets
from ngym_cli.figures.evidence import evidence_curve
from ngym_cli.figures.style import COLOURS, GREY, new_figure, shades
from ngym_cli.papers.controls import cut
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns

CONTEXTS = (0, 1)
#: Words for the contexts: in the paper the first source was the motion and the second the colour of the dots.
WORDS = {0: "modality 1 relevant", 1: "modality 2 relevant"}
#: Visited states from which slow points are looked for, and steps of the search: few, so that a search ends in the slow
#: part of state space where it began, along the line, and not at the one or two points at which the line ends.
STARTS, SEARCHED = 128, 15
#: Shares of the spread of visited states: movement in a step below which a point is slow, and how near visited states
#: have to come to a point.
SLOW, NEAR = 0.02, 0.2
#: Fewest answers of each choice from which axes are estimated.
LEAST = 20


def incongruent(run: PaperRun):
    """Proportion correct where the irrelevant source speaks for the other answer, in each context."""
    table = run.trials()
    against = table["other_choice"] != table["ground_truth"]
    results = {}
    for context in CONTEXTS:
        rows = select(table, against & (table["context"] == context))
        results[WORDS[context]] = float(np.mean(is_correct(rows)))
    return results


def selectivity(run: PaperRun):
    """Weight of the relevant source less that of the irrelevant one, over their sum."""
    return from_trials.context_use(run.trials()).selectivity.value


@cache
def _recorded(run: PaperRun):
    """Activity, observations and trials of the recorded evaluation."""
    observations = np.asarray(run.recording("activity")["observations"], float)
    return run.activity("activity"), observations, run.trials("activity")


@cache
def _points(run: PaperRun):
    """Slow points of each context under its mean input during the stimulus, at least three near visited states."""
    activity, observations, table = _recorded(run)
    system, points_of_context = run.system, {}
    for each in input_sets(table, activity, observations, ("context",), ("stimulus",)):
        visited = np.asarray(activity.values[each.steps], float)
        spread = np.sqrt(((visited - visited.mean(axis=0)) ** 2).sum(axis=1).mean())
        drawn = np.random.default_rng(0).choice(len(visited), min(STARTS, len(visited)), replace=False)
        slow = (SLOW * spread) ** 2 / 2
        points = find_fixed_points(system, visited[drawn], each.inputs, slow=slow, max_steps=SEARCHED)
        distances = np.array([np.linalg.norm(visited - point, axis=1).min() for point in points.points])
        if (distances < NEAR * spread).sum() >= 3:
            points_of_context[int(str(each.values["context"]))] = points.take(distances < NEAR * spread)
    return points_of_context


def _of_contexts(run: PaperRun, value):
    points_of_context = _points(run)
    if set(points_of_context) != set(CONTEXTS):
        raise UndeterminedError(f"slow points were found in {len(points_of_context)} of two contexts")
    return {WORDS[context]: float(value(points_of_context[context])) for context in CONTEXTS}


def leading_eigenvalue(run: PaperRun):
    """Largest eigenvalue, median of the points of each context: what is left after 100 ms."""
    steps = 100 / run.dt
    return _of_contexts(run, lambda points: _of_modes(points, 0) ** steps)


def next_eigenvalue(run: PaperRun):
    """Second largest eigenvalue, median of the points of each context: what is left after 100 ms."""
    steps = 100 / run.dt
    return _of_contexts(run, lambda points: _of_modes(points, 1) ** steps)


def _of_modes(points, mode):
    """Median size of an eigenvalue, from the largest."""
    return float(np.median(np.abs(points.eigenvalues[:, mode])))


def dominant_axis(run: PaperRun):
    """Share of the variance of the points along one axis, in each context."""

    def share(points):
        variance = np.linalg.svd(points.points - points.points.mean(axis=0), compute_uv=False) ** 2
        return variance[0] / variance.sum()

    return _of_contexts(run, share)


def _pushes(run: PaperRun):
    """Evidence of 100 % for the second choice in each source, in the space of inputs."""
    pushes = np.zeros((2, run.system.inputs))
    for source in range(2):
        for sign, choice in ((-0.5, 1), (0.5, 2)):
            pushes[source, run.channels(f"stim{choice}_mod{source + 1}")] = sign
    return pushes


def _selected(run: PaperRun):
    """Movement along the slow direction by evidence of each source at each point, by context."""
    system = run.system
    pushes, selected = _pushes(run), {}
    for context, points in _points(run).items():
        selected[context] = np.abs(selected_input(system, points, pushes))
    return selected


def irrelevant_selected(run: PaperRun):
    """Movement along the slow direction by irrelevant over that by relevant evidence, in each context."""
    selected = _selected(run)
    if set(selected) != set(CONTEXTS):
        raise UndeterminedError(f"slow points were found in {len(selected)} of two contexts")
    return {WORDS[c]: float(np.median(selected[c][:, 1 - c]) / np.median(selected[c][:, c])) for c in CONTEXTS}


@cache
def _axes(run: PaperRun):
    """Targeted axes of choice, both sources and context during the stimulus, and aligned activity."""
    activity, _, table = _recorded(run)
    rows = responded(table)
    onset = table["onset_stimulus"] / activity.dt
    steps = int(table["period_stimulus"][0] / activity.dt)
    aligned = activity.align(onset, start=0, stop=steps)[rows]
    table = select(table, rows)
    if min(np.bincount(numbers(table["choice"]).astype(int), minlength=3)[1:]) < LEAST:
        raise UndeterminedError(f"axes need {LEAST} answers of each choice, there are {len(aligned)} in all")
    relevant = numbers(table["ground_truth"]) * 2 - 3
    second = numbers(table["other_choice"]) * 2 - 3
    context = numbers(table["context"]).astype(int)
    signs = np.where(context == 0, relevant, second), np.where(context == 0, second, relevant)
    coherences = [sign * numbers(table[f"coh_{k}"]) for k, sign in enumerate(signs, start=1)]
    return targeted_axes(aligned, _variables(table, coherences)), aligned, table, coherences


def _variables(table, coherences):
    return {
        "choice": numbers(table["choice"]) * 2 - 3,
        "modality 1": coherences[0],
        "modality 2": coherences[1],
        "context": numbers(table["context"]) * 2 - 1,
    }


def _apart(run: PaperRun, axis, relevant, fraction=1.0):
    """Distance from the strongest evidence for choice 1 to that for choice 2 along an axis, by a source.

    Mean over both sources, each in the context in which it counts, or does not, and over the first part (a share) of
    the steps of the stimulus. Signed, and of the half of the trials that did not decide on the axes.
    """
    _, aligned, table, coherences = _axes(run)
    odd, separations = np.arange(len(aligned)) % 2 == 1, []
    steps = round(fraction * aligned.shape[1])
    for half in (odd, ~odd):
        variables = {name: values[~half] for name, values in _variables(table, coherences).items()}
        axes = targeted_axes(aligned[~half], variables)
        projected = axes.project(aligned)[:, :steps]
        for context in CONTEXTS:
            source = context if relevant else 1 - context
            projection = projected[..., axes.names.index(f"modality {source + 1}" if axis == "own" else axis)]
            rows = half & (table["context"] == context)
            strongest = [rows & (coherences[source] == end) for end in _ends(coherences[source])]
            if not all(each.any() for each in strongest):
                raise UndeterminedError(f"no trial with the strongest evidence of source {source + 1} is answered")
            ends = [projection[each].mean(axis=0) for each in strongest]
            separations.append((ends[1] - ends[0]).mean())
    return float(np.mean(separations))


def _ends(values):
    return values.min(), values.max()


def evidence_on_choice_axis(run: PaperRun):
    """Movement along the axis of choice by irrelevant evidence over that by relevant evidence."""
    return _apart(run, "choice", False) / _apart(run, "choice", True)


def gating(run: PaperRun):
    """Irrelevant over relevant evidence in their movement along their own axes, less the same along the axis of choice.

    1 where irrelevant evidence is there as much as relevant evidence and is not integrated; 0 where it is integrated
    as much as it is there. Over the first half of the stimulus: later on the states of relevant evidence saturate.
    """
    modality, choice = (_apart(run, axis, False, 0.5) / _apart(run, axis, True, 0.5) for axis in ("own", "choice"))
    return modality - choice


def line_along_choice(run: PaperRun):
    """Cosine of the angle between the axis along which points lie and the axis of choice, in each context."""
    axes, _, _, _ = _axes(run)
    choice = axes.axes[axes.names.index("choice")] * axes.sd  # the axis is one of standard deviations

    def cosine(points):
        line = np.linalg.svd(points.points - points.points.mean(axis=0), full_matrices=False)[2][0]
        return abs(line @ choice) / np.linalg.norm(choice)

    return _of_contexts(run, cosine)


def slowness(run: PaperRun):
    """Decay along the line over that in the slowest other direction, in each context: logarithms of eigenvalues."""
    return _of_contexts(run, lambda points: abs(np.log(_of_modes(points, 0))) / abs(np.log(_of_modes(points, 1))))


def control_no_context(run: PaperRun):
    """The trained networks without their inputs from the cue of the context: both sources count in both contexts."""
    return cut(run, "context1", "context2")


def control_no_evidence(run: PaperRun):
    """The trained networks without their inputs from both sources: they answer, but not to what was shown."""
    return cut(run, "stim1_mod1", "stim2_mod1", "stim1_mod2", "stim2_mod2")


def figure_1_choices(paper: PaperRuns):
    """Choices by the evidence of each source (columns) in each context (rows): trials of all networks, 95 % intervals.
    On the diagonal the source is relevant, beside it it is to be ignored.
    """
    figure, panels = new_figure(2, 2, width=2.8, height=2.4, sharex=True, sharey=True)
    networks = paper.part("context", "networks")
    for context in CONTEXTS:
        for source in range(2):
            axes = panels[context][source]
            evidence_curve(axes, networks, context, source)
            axes.axhline(0.5, color=GREY, linestyle=":", linewidth=1, zorder=0)
            kind = "relevant" if context == source else "irrelevant"
            axes.set(title=f"modality {source + 1}, {kind}", ylim=(-0.03, 1.03))
        panels[context][0].set_ylabel(f"context {context + 1}, P(choice 2)")
    for source in range(2):
        panels[1][source].set_xlabel(f"coherence of modality {source + 1} (%)")
    return figure


def figure_2_targeted_axes(paper: PaperRuns):
    """Mean trajectories of the first network during the stimulus in each context, in the plane of the axis of choice
    and that of a source, sorted by the evidence of that source from the strongest for choice 1 (yellow) to that
    for choice 2 (blue); a dot every 100 ms, one scale for all panels. Relevant evidence (on the diagonal) moves the
    state along both axes, irrelevant evidence along its own axis only.
    """
    figure, panels = new_figure(2, 2, width=3.0, height=2.6, sharex=True, sharey=True)
    run = paper.runs("context")[0]
    axes, aligned, table, coherences = _axes(run)
    projected = axes.project(aligned)
    along = projected[..., axes.names.index("choice")]
    every = max(1, round(100 / run.dt))
    for context in CONTEXTS:
        for source in range(2):
            panel, levels = panels[context][source], np.unique(coherences[source])
            across = projected[..., axes.names.index(f"modality {source + 1}")]
            for level, colour in zip(levels, shades(len(levels)), strict=True):
                rows = (table["context"] == context) & (coherences[source] == level)
                path = along[rows].mean(axis=0), across[rows].mean(axis=0)
                panel.plot(*path, "o-", color=colour, markersize=3, markevery=every)
            kind = "relevant" if context == source else "irrelevant"
            panel.set(
                title=f"context {context + 1}: modality {source + 1}, {kind}", ylabel=f"modality {source + 1} axis"
            )
    for source in range(2):
        panels[1][source].set_xlabel("choice axis (s.d. of units)")
    figure.suptitle(f"seed {run.seed}")
    return figure


def _slow_points(plane, run: PaperRun):
    """Slow points of each context and mean paths by relevant evidence, in a frame around the paths."""
    _, aligned, table, coherences = _axes(run)
    paths = {
        context: [
            aligned[(table["context"] == context) & (coherences[context] == level)].mean(axis=0)
            for level in np.unique(coherences[context])
        ]
        for context in CONTEXTS
    }
    space = pca_trajectories(np.stack([path for each in paths.values() for path in each]), 2)
    for context, colour in zip(CONTEXTS, COLOURS, strict=False):
        for path in paths[context]:
            plane.plot(*space.project(path).T, ".-", color=colour, linewidth=0.6, markersize=3, alpha=0.5)
    frame = plane.axis()
    for context, colour in zip(CONTEXTS, COLOURS, strict=False):
        if context not in _points(run):
            continue
        x, y = space.project(_points(run)[context].points).T
        inside = (frame[0] <= x) & (x <= frame[1]) & (frame[2] <= y) & (y <= frame[3])
        label = f"{WORDS[context]}, {inside.sum()} of {len(x)} points"
        plane.plot(x[inside], y[inside], "o", color=colour, markersize=6, label=label)
    share = [f"PC{k + 1} ({100 * share_of_variance:.0f} %)" for k, share_of_variance in enumerate(space.explained)]
    plane.set(xlabel=share[0], ylabel=share[1], title=f"slow points, seed {run.seed}")
    plane.legend(loc="upper left", bbox_to_anchor=(0, -0.2))


def _or_none(measure, run: PaperRun, context):
    """Value of a measure in a context; nan where slow points are missing."""
    try:
        return measure(run)[WORDS[context]]
    except ValueError:
        return np.nan


def figure_5_line_attractors(paper: PaperRuns):
    """Left: slow points of the first network in each context (large) and mean paths by the relevant evidence during the
    stimulus, along the principal components of the paths; points that no path comes near lie outside the frame. Middle:
    eigenvalues over 100 ms, largest (dots) and second largest (squares), median of the points of each network: the
    largest are near 1 (dashed). Right: movement along the slow direction by relevant (dots) and irrelevant evidence
    (squares): the former is larger.
    """
    figure, (plane, spectrum, selection) = new_figure(1, 3, width=3.1)
    networks = paper.runs("context")
    _slow_points(plane, networks[0])
    places = np.arange(len(networks))
    for context, colour, shift in zip(CONTEXTS, COLOURS, (-0.1, 0.1), strict=False):
        for k, eigenvalue in enumerate((leading_eigenvalue, next_eigenvalue)):
            values = [_or_none(eigenvalue, run, context) for run in networks]
            spectrum.plot(places + shift, values, "os"[k], color=colour, markersize=5)
        for k, relevant in enumerate((True, False)):
            source = context if relevant else 1 - context
            moved = [_selected(run).get(context) for run in networks]
            values = [np.nan if each is None else np.median(each[:, source]) for each in moved]
            selection.plot(places + shift, values, "os"[k], color=colour, markersize=5)
    for axes, words in ((spectrum, ("largest", "second")), (selection, ("relevant", "irrelevant"))):
        for marker, word in zip("os", words, strict=True):
            axes.plot([], [], marker, color=GREY, label=word)
        axes.set(xlabel="seed", xlim=(-0.5, len(networks) - 0.5))
        axes.set_xticks(places, [str(run.seed) for run in networks])
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2)
    spectrum.axhline(1, color=GREY, linestyle="--", linewidth=1)
    spectrum.set(ylabel="size of the eigenvalue", title="eigenvalues, median of points")
    selection.set(ylabel="movement by 100 % evidence", title="input along the slow direction")
    for axes in (spectrum, selection):
        axes.set_ylim(bottom=0)
    return figure
