"""The psychometric curves of NeuroGym's notebooks."""

from ngym_cli.figures.behaviour import psychometric_axes
from ngym_cli.figures.evidence import evidence_curve
from ngym_cli.figures.style import COLOURS, GREY, legend_below, new_figure
from ngym_cli.papers.controls import cut
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns

EVIDENCE = ("stim1_mod1", "stim2_mod1", "stim1_mod2", "stim2_mod2")
CONTEXT = ("supervised-context", "reward-context")


def control_no_evidence(run: PaperRun):
    """The trained networks without their inputs from the stimulus: they answer, but not to what was shown."""
    return cut(run, *(("stimulus",) if "Perceptual" in run.config.task else EVIDENCE))


def figure_1_random_dots(paper: PaperRuns):
    """Random dots, supervised: choices against signed coherence, trials of all networks; 95 % intervals. The curve
    passes one half without motion and ends near 0 and 1.
    """
    figure, axes = new_figure(width=4.6)
    psychometric_axes(axes, [paper.part("supervised-dots", "networks", COLOURS[0])], 0)
    return figure


def figure_2_context(paper: PaperRuns):
    """Choices against the evidence of each modality (columns) in each context (rows), of networks trained from labels
    and by reward; trials of all networks, 95 % intervals. On the diagonal the evidence decides; beside it curves are
    flat.
    """
    figure, axes = new_figure(2, 2, width=3, height=2.6, sharey=True)
    networks = [paper.part(name) for name in CONTEXT if paper.found.get(name)]
    for context in range(2):
        for modality in range(2):
            axis = axes[context][modality]
            for network in networks:
                evidence_curve(axis, network, context, modality)
            axis.axhline(0.5, color=GREY, linestyle=":", linewidth=1, zorder=0)
            axis.set(title=f"modality {modality + 1}, {'relevant' if context == modality else 'irrelevant'}")
        axes[context][0].set(ylabel=f"context {context + 1}\nP(second choice)", ylim=(-0.03, 1.03))
    for network in networks:
        axes[0][0].plot([], [], "o-", color=network.colour, label=network.label)
    legend_below(axes[0][0], 2)
    for axis in axes[1]:
        axis.set_xlabel("signed coherence (%)")
    return figure
