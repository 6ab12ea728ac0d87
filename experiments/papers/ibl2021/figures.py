"""Psychometric functions of networks in blocks of unequal sides, and the criteria by which mice are called trained."""

import numpy as np

from neurogym.analysis import block_psychometrics
from neurogym.analysis.block_bias import LEAST_EASY, LEAST_SHIFT, MOST_LAPSE
from neurogym.analysis.results import UndeterminedError
from neurogym.analysis.trial_tables import numbers, responded, select
from ngym_cli.figures.style import COLOURS, GREY, interval_points, new_figure
from ngym_cli.papers.controls import FEEDBACK, cut
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns

BLOCK = "side_bias_block"
#: Words and colour of each block; in block 0 the first choice (left) has probability 0.8, in block 1 the second.
BLOCKS = {"0": ("left 4 times as frequent", COLOURS[1]), "1": ("right 4 times as frequent", COLOURS[0])}


def _fits(table, draws=0):
    return block_psychometrics(table, BLOCK, n_boot=draws)


def bias_shift(run: PaperRun):
    """Point of subjective equality in blocks of the left side less that in blocks of the right side (% contrast).

    Positive where the side that is frequent is chosen more often; a bias the other way is negative.
    """
    fits = _fits(run.trials()).fits
    return fits["0"].threshold.value - fits["1"].threshold.value


def lapses(run: PaperRun):
    return _fits(run.trials()).lapse


def easy_accuracy(run: PaperRun):
    return _fits(run.trials()).easy.value


def thresholds(run: PaperRun):
    """Standard deviation (% contrast) of the cumulative Gaussian of each block."""
    return {BLOCKS[block][0]: 1 / fit.slope.value for block, fit in _fits(run.trials()).fits.items()}


def frequent_side_at_zero(run: PaperRun):
    table = run.trials()
    table = select(table, responded(table) & (table["coh"] == 0))
    if not len(table["choice"]):
        raise UndeterminedError("no trial without contrast is answered")
    return float(np.mean((numbers(table["choice"]) == 2) == (numbers(table[BLOCK]) == 1)))


def control_no_memory(run: PaperRun):
    """The trained networks without memory of trials before, nor inputs from the last reward and action: no block can be
    inferred.
    """
    return cut(run.asked(reset_state="trial"), FEEDBACK)


def _given(number):
    """Seeds that gave a number, as words, and their values."""
    numbered = [(str(s), v) for s, v in zip(number["seed_numbers"], number["seeds"], strict=True) if v is not None]
    return [seed for seed, _ in numbered], [value for _, value in numbered]


def figure_4_choices_by_block(paper: PaperRuns):
    """Left: choices of the right side by signed contrast in both kinds of block, trials of all networks together with
    95 % intervals over blocks of trials, and fitted functions with lapses. Right: by how much the point of subjective
    equality shifts towards the side that is frequent, a dot for each network; above the line mice count as trained.
    """
    figure, (left, right) = new_figure(1, 2, width=3.9)
    fits = _fits(paper.trials("blocks"))
    smooth = np.linspace(-100, 100, 801)
    for block, fit in fits.fits.items():
        words, colour = BLOCKS[block]
        left.plot(smooth, fit.predict(smooth), color=colour)
        interval_points(left, fit.data, color=colour, label=f"{words}, PSE {fit.threshold.value:+.1f} %")
    left.axhline(0.5, color=GREY, linestyle=":", linewidth=1, zorder=0)
    n = int(sum(fit.n for fit in fits.fits.values()))
    left.set(xlabel="contrast (%), right positive", ylabel="P(right)", title=f"choices by block, {n:,} trials")
    left.legend(loc="upper left", bbox_to_anchor=(0, -0.2))
    fits = paper.value("signed-shift")[""]
    seeds, shifts = _given(fits)
    right.plot(range(len(seeds)), shifts, "o", color=COLOURS[0], markersize=6)
    right.axhline(LEAST_SHIFT, color=GREY, linestyle="--", linewidth=1, label=f"criterion, {LEAST_SHIFT:g} %")
    right.set(xlabel="seed", ylabel="shift of the bias (% contrast)", title="shift between blocks")
    right.set_xticks(range(len(seeds)), seeds)
    right.set_xlim(-0.5, len(shifts) - 0.5)
    right.set_ylim(0, 1.25 * max(*shifts, LEAST_SHIFT))
    right.legend()
    return figure


def figure_criteria(paper: PaperRuns):
    """The other criteria by which a mouse counts as trained: largest lapse of either block and accuracy at the
    strongest contrast, a dot for each network; the criterion is met on the white side of the line.
    """
    figure, panels = new_figure(1, 2, width=3.0)
    rows = (
        ("lapses", MOST_LAPSE, "largest lapse", (0, 0.2), (MOST_LAPSE, 0.2)),
        ("easy-accuracy", LEAST_EASY, "accuracy at 100 % contrast", (0.8, 1.01), (0.8, LEAST_EASY)),
    )
    for axes, (claim, limit, words, shown, missed) in zip(panels, rows, strict=True):
        seeds, values = _given(paper.value(claim)[""])
        axes.plot(range(len(seeds)), values, "o", color=COLOURS[0], markersize=6, clip_on=False)
        axes.axhline(limit, color=GREY, linestyle="--", linewidth=1)
        axes.axhspan(*missed, color=GREY, alpha=0.15, linewidth=0)
        axes.set(xlabel="seed", ylabel=words, ylim=shown, xlim=(-0.5, len(values) - 0.5))
        axes.set_xticks(range(len(seeds)), seeds)
    return figure
