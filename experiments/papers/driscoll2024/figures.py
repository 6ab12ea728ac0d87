"""Rings of slow points that tasks share, units by task and period, lesions of groups, transfer by a new rule input."""

from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from neurogym.analysis import pca_trajectories
from neurogym.analysis.outcomes import by_task
from neurogym.analysis.results import UndeterminedError
from neurogym.dynamics import find_fixed_points
from ngym_cli.agents.dynamics import SLOW
from ngym_cli.agents.perturbation import Perturbation
from ngym_cli.figures.style import COLOURS, GREY, category_ticks, new_figure
from ngym_cli.papers.controls import UNTRAINED, cut, library
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns
from ngym_cli.runs.populations import period_spans

#: Step (ms); largest error of a right answer (rad), and output below which fixation is broken.
STEP, NEAR, BROKEN = 50, 0.1 * np.pi, 0.5
#: Angles of noise-free trials, and sectors of the circle in which slow points are counted.
ANGLES, SECTORS = 2 * np.pi * np.arange(24) / 24, 12
#: Lengths of the periods of noise-free trials (ms).
FIXATION, STIMULUS, DELAY, RESPONSE = 500, 900, 800, 500
#: Inputs between the rule of one task and that of another.
BETWEEN = 10
MEMORY = ("MemoryPro", "MemoryAnti")
INTEGRATE = (
    "IntegrationModality1",
    "IntegrationModality2",
    "ContextIntModality1",
    "ContextIntModality2",
    "IntegrationMultimodal",
)
MATCH = ("ReactMatch2Sample", "ReactNonMatch2Sample", "ReactCategoryPro", "ReactCategoryAnti")

#: What tasks compute in their periods.
COMPUTED = {
    "stimulus": [(task, "stimulus") for task in ("DelayPro", "MemoryPro")],
    "anti stimulus": [(task, "stimulus") for task in ("DelayAnti", "MemoryAnti")],
    "memory": [(task, "delay") for task in MEMORY],
    "first": [(task, "stimulus") for task in INTEGRATE],
    "first in memory": [(task, "delay") for task in INTEGRATE],
    "integration": [(task, "second") for task in INTEGRATE],
    "sample": [(task, "stimulus") for task in MATCH],
    "sample in memory": [(task, "delay") for task in MATCH],
    "answer": [(task, "response") for task in ("DelayPro", "DelayAnti", *MEMORY, *INTEGRATE)],
    "answer to a test": [(task, "response") for task in MATCH],
}
#: Lesions: periods in which a group of units is more active than in others, tasks that need it, and tasks that do not.
LESIONS = {
    "anti": (
        COMPUTED["anti stimulus"],
        COMPUTED["stimulus"],
        ("DelayAnti", "MemoryAnti", "ReactAnti"),
        ("DelayPro", "MemoryPro", "ReactPro"),
    ),
    "delay": (
        [*COMPUTED["memory"], *COMPUTED["first in memory"], *COMPUTED["sample in memory"]],
        [*COMPUTED["stimulus"], *COMPUTED["anti stimulus"]],
        (*MEMORY, *INTEGRATE, *MATCH),
        ("DelayPro", "DelayAnti", "ReactPro", "ReactAnti"),
    ),
    "modality 1": (
        [(task, "second") for task in INTEGRATE[:3:2]],
        [(task, "second") for task in INTEGRATE[1:4:2]],
        INTEGRATE[:3:2],
        INTEGRATE[1:4:2],
    ),
    "modality 2": (
        [(task, "second") for task in INTEGRATE[1:4:2]],
        [(task, "second") for task in INTEGRATE[:3:2]],
        INTEGRATE[1:4:2],
        INTEGRATE[:3:2],
    ),
}
#: Groups of units, and trials with each of them silenced.
GROUPS, LESIONED = 12, 750
#: Updates, trials of each, and learning rate with which a new rule input is learned; trials with which it is tested.
UPDATES, BATCH, RATE, TESTED = 600, 64, 0.03, 1000
#: What a run is marked with that follows a wrong strategy, together with the run itself.
RANDOM, FORGOTTEN = "random", "forgotten"


def control_random(run: PaperRun):
    """The trained networks, with random tasks, periods or units in place of those that belong together."""
    return run.as_variant(RANDOM)


def control_forgotten(run: PaperRun):
    """The trained networks, with the memory of another trial behind the stimulus."""
    return run.as_variant(FORGOTTEN)


# -- performance ------------------------------------------------------------------------------------------------------


def control_no_rule(run: PaperRun):
    """The trained networks without their inputs from the rule: the task is not known."""
    return cut(run, "task")


# -- rings of slow points ---------------------------------------------------------------------------------------------


class _Network:
    """Network of a run without noise, its tasks and its answers."""

    def __init__(self, run: PaperRun):
        self.of: PaperRun = run
        self.system: Any = run.system
        self.task = type(run.env)
        self.rule = dict(zip(self.task.names, run.channels("task"), strict=True))
        self.channels = self.system.inputs

    def inputs(self, task, fixation=1.0, angle=None, modality=0):
        """Inputs without noise, shape (1 or angles, channels)."""
        x = np.zeros((1 if angle is None else len(angle), self.channels))
        x[:, 0], x[:, self.rule[task]] = fixation, 1
        if angle is not None:
            x[:, 1 + 2 * modality], x[:, 2 + 2 * modality] = np.sin(angle), np.cos(angle)
        return x

    def run(self, state, inputs, duration):
        """State after a duration (ms) of constant input."""
        constant = np.broadcast_to(inputs, (duration // STEP, len(state), self.channels))
        return self.of.states(constant, state)[-1] if len(constant) else state

    def remembered(self, task, modality=0, duration=DELAY):
        """States in the delay of a task, one for each angle of the stimulus."""
        state = self.run(np.zeros((len(ANGLES), self.system.units)), self.inputs(task), FIXATION)
        state = self.run(state, self.inputs(task, angle=ANGLES, modality=modality), STIMULUS)
        return self.run(state, self.inputs(task), duration)

    def answer(self, state, task):
        """Fixation output and angle (rad) at the end of the response that follows states in the delay."""
        weights, bias = self.of.read_out
        output = self.run(state, self.inputs(task, fixation=0.0), RESPONSE) @ weights.T + bias
        return output[:, 0], np.arctan2(output[:, 1], output[:, 2]) % (2 * np.pi)


@cache
def _network(run: PaperRun):
    return _Network(run)


def _coverage(network, task, inputs):
    """Share of the sectors of the circle that are answered from a slow point under an input, and the points."""
    starts = np.concatenate([network.remembered(task, modality) for modality in (0, 1)])
    points = find_fixed_points(network.system, starts, inputs, slow=SLOW)
    return _sectors(network, task, points.points), points.points


def _sectors(network, task, points):
    """Share of the sectors of the circle that are answered from points in the delay."""
    if not len(points):
        return 0.0
    _, angle = network.answer(points, task)
    return len(np.unique((angle * SECTORS / (2 * np.pi)).astype(int))) / SECTORS


@cache
def _rings(run: PaperRun):
    """Coverage and slow points in the delay of each memory task."""
    network = _network(run)
    return {task: _coverage(network, task, network.inputs(task)) for task in MEMORY}


def ring_of_points(run: PaperRun):
    """Share of twelve sectors of the circle that are answered from a slow point in the delay, for each memory task."""
    return {task: ring[0] for task, ring in _rings(run).items()}


@cache
def _carried(run: PaperRun):
    """Slow points as the input of the delay goes over from one memory task to the other, each from those before."""
    network = _network(run)
    first, second = (network.inputs(task) for task in MEMORY)
    path = [_rings(run)[MEMORY[0]][1]]
    for fraction in np.linspace(0, 1, BETWEEN + 1)[1:]:
        if len(path[-1]):
            inputs = first + fraction * (second - first)
            path.append(find_fixed_points(network.system, path[-1], inputs, slow=SLOW).points)
    return path


def ring_is_carried(run: PaperRun):
    """Share of the sectors that are answered from slow points of one memory task that were carried to the other."""
    points = _carried(run)[-1]
    return _sectors(_network(run), MEMORY[1], points)


def _switched(run: PaperRun, first, second):
    """Answers after the rule of one task was exchanged for that of another behind the stimulus: share that agree.

    Within 18 degrees of the answer of the first task or, in all trials, of the opposite one: a memory that both tasks
    use may be of the stimulus, which the second task then answers by its own rule.
    """
    kind, run = run.variant, run.trained
    network, same_task, opposite = _network(run), [], []
    answer = ANGLES + np.pi * first.endswith("Anti")
    for modality in (0, 1):
        state = network.remembered(first, modality, 0)
        if kind == FORGOTTEN:
            state = np.random.default_rng(run.seed).permutation(state)
        fixation, angle = network.answer(network.run(state, network.inputs(second), DELAY), second)
        away = np.abs((angle - answer + np.pi) % (2 * np.pi) - np.pi)
        same_task.append((fixation < BROKEN) & (away < NEAR))
        opposite.append((fixation < BROKEN) & (away > np.pi - NEAR))
    return float(max(np.mean(same_task), np.mean(opposite)))


def memory_is_shared(run: PaperRun):
    """Share of answers that agree after the rule was exchanged for that of the other memory task."""
    return {f"{first} to {second}": _switched(run, first, second) for first, second in (MEMORY, MEMORY[::-1])}


def memory_is_not_shared_by_all(run: PaperRun):
    """That share less that after a change to tasks that remember the first of two stimuli."""
    shared = np.mean(list(memory_is_shared(run).values()))
    return float(shared - np.mean([_switched(run, first, second) for first in MEMORY for second in INTEGRATE]))


# -- units by task and period -----------------------------------------------------------------------------------------


@cache
def _variance(run: PaperRun):
    """Variance of each unit over time and trials, by task and period but fixation."""
    recording, table = run.recording("activity"), run.trials("activity")
    spans, tasks = period_spans(table, recording.offsets, recording.dt), np.asarray(table["task"]).astype(str)
    activity, variances = np.asarray(recording["activity"], float), {}
    for group in (group for places in COMPUTED.values() for group in places):
        task, period = group
        segments = [activity[spans[period][k]] for k in np.flatnonzero(tasks == task)]
        if not segments:
            raise UndeterminedError(f"no trial of {task} was recorded")
        variances[group] = np.concatenate(segments).var(axis=0)
    return variances


def _labels(run: PaperRun):
    kind, run = run.variant, run.trained
    labels = {group: name for name, places in COMPUTED.items() for group in places}
    if kind == RANDOM:
        order = np.random.default_rng(run.seed).permutation(list(labels.values()))
        labels = dict(zip(labels, order, strict=True))
    return labels


def _alike(run: PaperRun):
    """Similarity of all task periods, shape (periods, periods): cosine of the normalised variances of all units."""
    table = np.stack(list(_variance(run).values()), axis=1)
    table = table[table.sum(axis=1) > 1e-3]
    table = table / table.sum(axis=1, keepdims=True)
    table = table / np.linalg.norm(table, axis=0)
    return table.T @ table


def periods_by_computation(run: PaperRun):
    """Similarity of periods of two tasks with one computation less that of periods of one task with different ones.

    Beyond that difference in the untrained network, whose units follow the stimulus alone.
    """
    labels, network = _labels(run), run.trained
    return _contrast(labels, _alike(network)) - _contrast(labels, _alike(_untrained(network)))


@cache
def _untrained(run: PaperRun):
    """The network of a run before training, with the evaluation of activity alone."""
    return library(UNTRAINED, run.asked("activity"))


def _contrast(labels, alike):
    same, different = [], []
    for a, b in combinations(range(len(labels)), 2):
        (first, label), (two, other_what) = list(labels.items())[a], list(labels.items())[b]
        if label == other_what and first[0] != two[0]:
            same.append(alike[a, b])
        elif label != other_what and first[0] == two[0]:
            different.append(alike[a, b])
    return float(np.mean(same) - np.mean(different))


# -- lesions ----------------------------------------------------------------------------------------------------------


@cache
def _groups(run: PaperRun):
    """Group of each unit by its normalised variances (Ward linkage); -1 for silent units."""
    from scipy.cluster.hierarchy import fcluster, linkage

    table = np.stack(list(_variance(run).values()), axis=1)
    active = table.sum(axis=1) > 1e-3
    label = np.full(len(table), -1)
    share = table[active] / table[active].sum(axis=1, keepdims=True)
    label[active] = fcluster(linkage(share, "ward"), GROUPS, "maxclust") - 1
    return label


def _group_of(run: PaperRun, name):
    """Units of the group with most of the variance in the periods of a lesion beyond that in those of its opposite."""
    kind, run = run.variant, run.trained
    label, places = _groups(run), list(_variance(run))
    table = np.stack(list(_variance(run).values()), axis=1)
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1e-12)
    most, least = ([places.index(group) for group in LESIONS[name][k]] for k in (0, 1))
    gain = share[:, most].sum(axis=1) - share[:, least].sum(axis=1)
    best = max(range(label.max() + 1), key=lambda k: gain[label == k].sum())
    units = np.flatnonzero(label == best)
    if kind == RANDOM:
        return np.random.default_rng(run.seed).permutation(np.flatnonzero(label >= 0))[: len(units)]
    return units


@cache
def _lost(run: PaperRun, name):
    """Loss of performance in each task without the group of a lesion."""
    units, run = _group_of(run, name), run.trained
    lesion = Perturbation("lesion", units=tuple(map(int, units)))
    without = by_task(run.perturbed([lesion], LESIONED, seed=run.seed, references=False).table)
    return {task: value - without[task] for task, value in by_task(run.trials()).items()}


def lesions_are_selective(run: PaperRun):
    """Loss by a lesion in the tasks that need the group less that in the tasks that do not, for each lesion."""
    losses = {}
    for name, (_, _, need, spare) in LESIONS.items():
        lost = _lost(run, name)
        losses[name] = float(np.mean([lost[task] for task in need]) - np.mean([lost[task] for task in spare]))
    return losses


# -- transfer ---------------------------------------------------------------------------------------------------------


@cache
def transferred(run: PaperRun):
    """Performance in MemoryAnti after nothing but its rule input was learned, from 38,400 trials."""
    import torch

    network = _network(run)
    system, task = network.system, network.task(dt=STEP, tasks=["MemoryAnti"])
    task.reset(seed=run.seed)
    to = {name: torch.tensor(getattr(system, name), dtype=torch.float32) for name in ("recurrent", "weights", "bias")}
    read, bias = (torch.tensor(value, dtype=torch.float32) for value in run.read_out)
    activation = {"softplus": torch.nn.functional.softplus, "relu": torch.relu, "tanh": torch.tanh}[system.activation]
    rule = torch.zeros(system.units, requires_grad=True)
    optimiser = torch.optim.Adam([rule], RATE)

    def outputs(seen):
        drive = seen @ to["weights"].T + to["bias"] + rule
        state = torch.zeros(seen.shape[1], system.units)
        states = []
        for each in drive:
            state = torch.lerp(state, activation(each + state @ to["recurrent"].T), system.alpha)
            states.append(state)
        return torch.stack(states) @ read.T + bias

    for _ in range(UPDATES):
        seen, right, weight, _ = _trials(task, network, BATCH)
        loss = (weight[..., None] * (outputs(seen) - right) ** 2).sum() / weight.sum()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([rule], 1.0)
        optimiser.step()
    with torch.no_grad():
        seen, right, _, last = _trials(task, network, TESTED)
        ends = outputs(seen)[last, torch.arange(TESTED)].numpy()
    target = right[last, torch.arange(TESTED)].numpy()
    away = np.arctan2(ends[:, 1], ends[:, 2]) - np.arctan2(target[:, 1], target[:, 2])
    away = np.abs((away + np.pi) % (2 * np.pi) - np.pi)
    return float(((ends[:, 0] < 0.5) & (away < NEAR)).mean())


def _trials(task, network, n):
    """Trials side by side: inputs without rule, targets, weights of the steps, and the last step of each trial."""
    import torch

    trials = task.make_trials(n)
    rows, length = trials.rows(), trials.length
    shape = int(length.max()), n
    seen, right = np.zeros((*shape, network.channels), np.float32), np.zeros((*shape, 3), np.float32)
    weight = np.zeros(shape, np.float32)
    seen[rows.step, rows.trial], right[rows.step, rows.trial], weight[rows.step, rows.trial] = trials.ob, trials.gt, 1
    seen[..., list(network.rule.values())] = 0
    for period, size in (("go", 0), ("response", 25)):
        period_rows = trials.rows(period)
        weight[period_rows.step, period_rows.trial] = size
    return *(torch.from_numpy(array) for array in (seen, right, weight)), torch.from_numpy(length - 1)


def gain_by_motif(both: PaperRun, single: PaperRun):
    """Performance of networks that had learned both motifs less that of those that had learned one of them."""
    return transferred(both) - transferred(single)


# -- figures ----------------------------------------------------------------------------------------------------------


def figure_2_rings(paper: PaperRuns):
    """First network. Left: slow points in the delay of two memory tasks along the first two principal components;
    colours are the angles that are answered from them. Right: share of answers that agree after the rule was exchanged
    in the delay, a dot for each network. Two circles of colours are rings of memory; the higher the dots, the more the
    two tasks use one memory.
    """
    figure, (left, right) = new_figure(1, 2, width=4.2, height=3.6)
    networks = paper.runs("fifteen")
    network, rings = _network(networks[0]), _rings(networks[0])
    space = pca_trajectories(np.concatenate([ring[1] for ring in rings.values()])[None], 2)
    for (task, (_, points)), marker in zip(rings.items(), "os", strict=True):
        places, (_, angle) = space.project(points).T, network.answer(points, task)
        drawn = left.scatter(*places, c=np.degrees(angle), cmap="twilight", vmin=0, vmax=360, marker=marker, label=task)
    figure.colorbar(drawn, ax=left, label="answer (degrees)", fraction=0.046)
    share = [f"PC{k + 1} ({100 * share_of_variance:.0f} %)" for k, share_of_variance in enumerate(space.explained)]
    left.set(xlabel=share[0], ylabel=share[1], title=f"slow points in the delay, seed {networks[0].seed}")
    left.legend(loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2)
    for run in networks:
        right.plot(list(memory_is_shared(run).values()), "o", color=COLOURS[0])
    category_ticks(right, list(memory_is_shared(networks[0])))
    right.set(xlim=(-0.5, 1.5), ylim=(0, 1.03), ylabel="answers that agree", title="rule exchanged in the delay")
    return figure


def figure_3_periods_of_tasks(paper: PaperRuns):
    """First network: similarity (cosine of the normalised variances of all units) of the periods of all tasks, sorted
    by computation; lines separate computations. Bright blocks along the diagonal are computations for which tasks share
    units.
    """
    run = paper.runs("fifteen")[0]
    figure, axes = new_figure(1, 1, width=7.0, height=6.0)
    image = axes.imshow(_alike(run), cmap="cividis", vmin=0, vmax=1)
    edges = np.cumsum([len(places) for places in COMPUTED.values()])
    for edge in edges[:-1] - 0.5:
        axes.axvline(edge, color="white", linewidth=1)
        axes.axhline(edge, color="white", linewidth=1)
    middles = edges - np.array([len(places) for places in COMPUTED.values()]) / 2 - 0.5
    axes.set_xticks(middles, list(COMPUTED), rotation=60, ha="right")
    axes.set_yticks(middles, list(COMPUTED))
    axes.spines[:].set_visible(False)
    axes.set(title=f"periods of {len(_network(run).rule)} tasks, seed {run.seed}")
    figure.colorbar(image, ax=axes, label="similarity", fraction=0.046)
    return figure


def figure_5_lesions(paper: PaperRuns):
    """Loss of performance by lesions of four groups of units (columns) in tasks that need the motif and in tasks that
    do not; a dot for each network, mean over tasks. Lesions are selective where the first lie above the second.
    """
    figure, axes = new_figure(1, 1, width=5.0)
    for run in paper.runs("fifteen"):
        for k, (name, colour) in enumerate(zip(("need the motif", "do not"), COLOURS, strict=False)):
            means = [
                np.mean([_lost(run, motif)[task] for task in motif_tasks[2 + k]])
                for motif, motif_tasks in LESIONS.items()
            ]
            label = f"tasks that {name}" if run is paper.runs("fifteen")[0] else None
            axes.plot(np.arange(len(means)) + 0.2 * k - 0.1, means, "o", color=colour, label=label)
    axes.axhline(0, color=GREY, linewidth=0.8)
    category_ticks(axes, list(LESIONS))
    axes.set(ylabel="loss of performance")
    axes.legend()
    return figure


def figure_6_transfer(paper: PaperRuns):
    """Performance in MemoryAnti after nothing but its rule input was learned, from 38,400 trials, by what the network
    had learned before; a dot for each network. Dashed: chance. Both motifs are needed where the left dots lie higher.
    """
    figure, axes = new_figure(1, 1, width=4.0)
    names = {"both": "DelayAnti, MemoryPro\n(both motifs)", "one": "DelayPro, MemoryPro\n(one motif)"}
    for position, name in enumerate(names):
        values = [transferred(run) for run in paper.runs(name)]
        axes.plot(np.full(len(values), position), values, "o", color=COLOURS[0])
    axes.axhline(NEAR / np.pi, color=GREY, linestyle="--", linewidth=1)
    category_ticks(axes, list(names.values()))
    axes.set(xlim=(-0.5, 1.5), ylim=(0, 1.03), ylabel="performance in MemoryAnti")
    return figure
