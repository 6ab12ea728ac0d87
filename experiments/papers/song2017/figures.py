"""What was read off the behaviour of the networks of Song, Yang & Wang 2017, and figures laid out as theirs."""

import numpy as np

from neurogym.analysis import Curve, from_trials, rates, reaction_times
from neurogym.analysis.results import UndeterminedError
from neurogym.analysis.trial_tables import is_correct, numbers, responded, select
from ngym_cli.figures.behaviour import psychometric_axes
from ngym_cli.figures.evidence import evidence_curve
from ngym_cli.figures.style import COLOURS, GREY, interval_points, new_figure
from ngym_cli.papers.controls import cut
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns

#: What takes the sure reward.
SURE = 3
NAMES = ("rdm-fixed", "rdm-rt", "mante", "multisensory", "romo", "wager", "economic")
HIGHER_RATE = (2, 1)


def answered(*estimates: PaperRun):
    """Share of trials that ended with an answer, in each task."""
    return {name: _answered(run.trials()) for name, run in zip(NAMES, estimates, strict=True)}


def _answered(table):
    sure = (numbers(table["choice"]) == SURE) & np.asarray(table.get("wager", np.zeros(len(table["trial"]))), bool)
    return float(np.mean(responded(table) | sure))


def irrelevant_weight(run: PaperRun):
    """Weight of the irrelevant modality on the choice, over that of the relevant one."""
    context_use = from_trials.context_use(run.trials())
    return abs(context_use.irrelevant.value) / context_use.relevant.value


def incongruent(run: PaperRun):
    """Proportion correct where the irrelevant modality points the other way."""
    table = run.trials()
    second = numbers(table["ground_truth"]) != numbers(table["other_choice"])
    return float(np.mean(is_correct(table)[second]))


def _cues(table, draws=0):
    return from_trials.cue_combination(table, choices=HIGHER_RATE, signed="rate", lapse=0.0, n_boot=draws)


def sigmas(run: PaperRun):
    """Standard deviation of the cumulative Gaussian for each modality and for both (events a second)."""
    return {name: each.value for name, each in _cues(run.trials(), 2).sigma.items()}


def gain_of_both(run: PaperRun):
    """Sigma of both modalities over the smaller one of a single modality."""
    deviations = sigmas(run)
    alone = min(deviations["auditory"], deviations["visual"])
    if not alone:
        raise UndeterminedError("choices by a modality alone are a step, whose sigma is 0")
    return deviations["both"] / alone


def accuracy_of_decisions(run: PaperRun):
    """Proportion correct among directions answered."""
    table = run.trials()
    table = select(table, responded(table) & (numbers(table["choice"]) != SURE))
    if not len(table["trial"]):
        raise UndeterminedError("no direction is answered")
    return float(np.mean(is_correct(table)))


def sure_falls(run: PaperRun):
    """P(sure | offered) without motion less that with the strongest motion."""
    sure = from_trials.wagering(run.trials(), sure=SURE, n_boot=0).sure.value
    if len(sure) < 2:
        raise UndeterminedError("the sure reward is not offered, or no such trial is answered, at two coherences")
    return float(sure[0] - sure[-1])


def control_no_evidence(run: PaperRun):
    """The trained networks without their inputs from what is shown: they answer, but not to that."""
    unchanged = ("fixation", "start", "sure", "context1", "context2")
    return cut(run, *(name for name in _channels(run) if name not in unchanged))


def control_no_context(run: PaperRun):
    """The trained networks without their inputs from the cue of the context: both modalities count alike."""
    return cut(run, "context1", "context2")


def control_one_sense(run: PaperRun):
    """The trained networks without their inputs from clicks: one sense serves both."""
    return cut(run, "auditory")


def control_amounts(run: PaperRun):
    """The trained networks without their inputs from the kinds of the goods: the larger amount is chosen."""
    return cut(run, "a1", "b1", "a2", "b2")


def _channels(run: PaperRun):
    return run.env.observation_space.name


def figure_1_random_dots(paper: PaperRuns):
    """Random dots. Left: choices against motion coherence where the viewing time is fixed by the experimenter, and
    where it is the network's. Right: reaction time from motion onset of correct answers and errors in the latter.
    Trials of all networks; 95 % intervals. Both curves rise through one half without motion, and strong motion is
    answered sooner.
    """
    figure, (left, right) = new_figure(1, 2)
    drawn = [paper.part("rdm-fixed", "viewing time fixed", COLOURS[0]), paper.part("rdm-rt", "own time", COLOURS[1])]
    psychometric_axes(left, drawn, 0)
    left.set(title="choices")
    for outcome, face in (("correct", COLOURS[1]), ("error", "white")):
        table = paper.trials("rdm-rt")
        rows = [row for row in reaction_times(select(table, table["outcome"] == outcome), "coh") if row.n > 4]
        curve = Curve.estimates([r.condition["coh"] for r in rows], [r.mean for r in rows], [r.n for r in rows])
        interval_points(right, curve, fmt="o-", color=COLOURS[1], markerfacecolor=face, label=outcome)
    right.set(xlabel="motion coherence (%)", ylabel="reaction time (ms)", title="reaction time")
    right.set_ylim(bottom=0)
    right.legend()
    return figure


def figure_2_context(paper: PaperRuns):
    """Choices against the evidence of each modality (columns) in each context (rows). Trials of all networks; 95 %
    intervals. On the diagonal the evidence decides; beside it curves are flat.
    """
    figure, axes = new_figure(2, 2, width=3, height=2.6, sharey=True)
    networks = paper.part("mante", "networks")
    for context in range(2):
        for modality in range(2):
            axis = axes[context][modality]
            evidence_curve(axis, networks, context, modality)
            axis.axhline(0.5, color=GREY, linestyle=":", linewidth=1, zorder=0)
            axis.set(title=f"modality {modality + 1}, {'relevant' if context == modality else 'irrelevant'}")
        axes[context][0].set(ylabel=f"context {context + 1}\nP(second choice)", ylim=(-0.03, 1.03))
    for axis in axes[1]:
        axis.set_xlabel("signed coherence (%)")
    return figure


def figure_3_multisensory(paper: PaperRuns):
    """Left: choices of the higher rate for flashes, clicks and both, with cumulative Gaussians. Right: their standard
    deviations, of each network, beside what the two single ones allow. Intervals are 95 %. The curve of both senses is
    the steepest, and its standard deviation near what the single ones allow.
    """
    figure, (left, right) = new_figure(1, 2)
    cues = _cues(paper.trials("multisensory"), 200)
    for (name, fit), colour in zip(cues.fits.items(), COLOURS, strict=False):
        x = np.linspace(fit.data.x.min(), fit.data.x.max(), 200)
        left.plot(x, fit.predict(x), color=colour)
        interval_points(left, fit.data, color=colour, label=f"{name}, n = {fit.n:,}")
    left.axvline(12.5, color=GREY, linestyle=":", linewidth=1, zorder=0)
    left.set(xlabel="rate (events a second)", ylabel="P(higher)", title="choices")
    left.legend()
    names = [*cues.sigma, "optimal"]
    for run in paper.runs("multisensory"):
        each = _cues(run.trials(), 2)
        values = [*(estimate.value for estimate in each.sigma.values()), each.optimal_sigma.value]
        right.plot(names, values, "o", color=COLOURS[run.seed % len(COLOURS)], alpha=0.7, label=f"seed {run.seed}")
    right.set(ylabel="standard deviation (events a second)", title="precision", ylim=(0, 2.6))
    right.legend()
    return figure


def figure_4_comparison(paper: PaperRuns):
    """Proportion correct for each pair of vibrations, three seconds apart; the first one stands above. Trials of all
    networks; 95 % intervals. Low values would mean that the first vibration is forgotten.
    """
    figure, axes = new_figure(width=5.5)
    rows = rates(paper.trials("romo"), ("v1", "v2"))
    curve = Curve.estimates(range(len(rows)), [row.accuracy for row in rows], [row.n for row in rows])
    interval_points(axes, curve, color=COLOURS[0])
    axes.set_xticks(range(len(rows)), [f"{r.condition['v1']:g}\n{r.condition['v2']:g}" for r in rows])
    axes.axhline(0.5, color=GREY, linestyle=":", linewidth=1, zorder=0)
    axes.set(xlabel="frequencies, the first above (Hz)", ylabel="proportion correct", ylim=(0.4, 1.03))
    return figure


def figure_5_confidence(paper: PaperRuns):
    """Left: how often the sure reward is taken where it is offered, by coherence and viewing time. Right: proportion
    correct where it was offered and waived, and where it was not offered. Trials of all networks; 95 % intervals. The
    sure reward is taken less where motion is strong or long, and answers are right more often where it was waived than
    where it was not offered.
    """
    figure, (left, right) = new_figure(1, 2)
    table = paper.trials("wager")
    time = numbers(table["period_stimulus"])
    short = time <= np.median(time)
    for rows, colour, label in ((short, COLOURS[1], "short viewing"), (~short, COLOURS[0], "long viewing")):
        curve = from_trials.wagering(select(table, rows), sure=SURE, n_boot=0).sure
        interval_points(left, curve, fmt="o-", color=colour, label=label)
    left.set(xlabel="motion coherence (%)", ylabel="P(sure reward | offered)", ylim=(-0.03, 1.03), title="waiving")
    left.legend()
    wagers = from_trials.wagering(table, sure=SURE, n_boot=0)
    for curve, style, label in (
        (wagers.accuracy_offered, {"fmt": "o-"}, "offered and waived"),
        (wagers.accuracy_not_offered, {"fmt": "o--", "markerfacecolor": "white"}, "not offered"),
    ):
        interval_points(right, curve, color=COLOURS[0], label=label, **style)
    right.axhline(0.5, color=GREY, linestyle=":", linewidth=1, zorder=0)
    right.set(xlabel="motion coherence (%)", ylabel="proportion correct", ylim=(0.4, 1.03), title="accuracy")
    right.legend()
    return figure


def figure_6_economic_choice(paper: PaperRuns):
    """Choices of juice B for each offer, in the order of the ratio of amounts. Trials of all networks; 95 % intervals,
    and the ratio at which both are chosen equally often in the mean over networks. Choices pass one half where B offers
    2.2 times as much as A, whatever the amounts.
    """
    figure, axes = new_figure(width=5.5)
    indifference = from_trials.indifference_point(paper.trials("economic"), n_boot=0)
    curve = indifference.choices
    places = Curve(np.arange(len(curve.x), dtype=float), curve.value, curve.low, curve.high, curve.n)
    interval_points(axes, places, fmt="o-", color=COLOURS[0])
    names = {0.0: "only\nA", np.inf: "only\nB"}
    axes.set_xticks(places.x, [names.get(ratio, f"{ratio:.2g}") for ratio in curve.x])
    axes.axhline(0.5, color=GREY, linestyle=":", linewidth=1, zorder=0)
    value = paper.value("relative-value")[""]["value"]
    axes.set(xlabel="offered amounts, B : A", ylabel="P(B)", ylim=(-0.03, 1.03), title=f"1 A = {value:.2f} B")
    return figure
